/*
 * Certificates of a key manager: the requests, and each response that is refused.
 */
#include "client/key_manager.h"

#include "identity/own_user.h"
#include "tests/lib/check_main.h"
#include "tests/lib/script_server.h"

#include <string.h>

#define ID      "11111111-1111-4111-8111-111111111111"
#define SECRET  "/v1/secrets/" ID
#define PAYLOAD SECRET "/payload"
#define TYPE(type) \
    "{\"secret_type\": \"certificate\", \"content_types\": {\"default\": \"" type "\"}}"
#define OCTETS TYPE("application/octet-stream")

static const struct option *const tables[] = { key_manager_options, own_user_options, NULL };

struct scene {
    struct script_server *barbican;
    struct config *config;
    struct key_manager *manager;
    struct arena *arena;
    struct error err;
};

static void begin_with(struct scene *scene, const char *behind, const char *option) {
    const char *options[3] = { NULL };

    *scene = (struct scene){ .barbican = script_server_new(), .arena = arena_new() };
    options[0] = arena_join(scene->arena,
                            "--barbican.barbican_endpoint=", script_server_url(scene->barbican),
                            behind, NULL);
    options[1] = option;
    ck_assert_int_eq(config_load(tables, NULL, options, &scene->config, &scene->err), 0);
    ck_assert_int_eq(key_manager_new(scene->config, &scene->manager, &scene->err), 0);
}

static void scene_begin(struct scene *scene) {
    begin_with(scene, "", NULL);
    ck_assert_ptr_nonnull(scene->manager);
}

static void scene_end(struct scene *scene) {
    key_manager_free(scene->manager);
    config_free(scene->config);
    script_server_free(scene->barbican);
    arena_free(scene->arena);
}
#define autoscene __attribute__((cleanup(scene_end)))

static void answer(struct scene *scene, const char *path, int status, const char *body) {
    script_server_add(scene->barbican, &(struct script_rule){ "GET", path, status, .body = body });
}

static const char *get(struct scene *scene, const char *id) {
    const struct key_manager_call call = { .id = id, .token = "caller's", .request_id = "req-1" };
    size_t size = 0;
    const void *bytes =
        key_manager_certificate(scene->manager, scene->arena, &call, &size, &scene->err);

    return bytes ? arena_text_n(scene->arena, bytes, size) : NULL;
}

static unsigned count(const struct scene *scene, const char *path) {
    return script_server_count(scene->barbican, "GET", path);
}

START_TEST(a_certificate_is_read_with_the_token_of_the_caller) {
    static const char *const roots[] = { "", "/", "/v1", "/v1/" };

    for (size_t i = 0; i < LENGTH(roots); i++) {
        autoscene struct scene scene;
        const struct script_request *request;

        begin_with(&scene, roots[i], NULL);
        answer(&scene, SECRET, 200, TYPE("text/plain"));
        answer(&scene, PAYLOAD, 200, "the certificate");
        ck_assert_str_eq(get(&scene, ID), "the certificate");
        request = script_server_request(scene.barbican, "GET", SECRET, 0);
        ck_assert(script_request_has(request, "Accept", "application/json"));
        request = script_server_request(scene.barbican, "GET", PAYLOAD, 0);
        ck_assert(script_request_has(request, "Accept", "text/plain"));
        ck_assert(!script_request_has(request, "Accept", "application/json"));
        ck_assert(script_request_has(request, "X-Auth-Token", "caller's"));
        ck_assert(script_request_has(request, "X-OpenStack-Request-ID", "req-1"));
    }
}
END_TEST

START_TEST(a_refusal_has_its_kind) {
    static const struct {
        int status;
        enum error_kind kind;
    } rows[] = {
        { 401, ERROR_FORBIDDEN },   { 403, ERROR_FORBIDDEN },   { 404, ERROR_NOT_FOUND },
        { 406, ERROR_UNAVAILABLE }, { 500, ERROR_UNAVAILABLE }, { 302, ERROR_UNAVAILABLE },
    };

    for (size_t i = 0; i < 2 * LENGTH(rows); i++) {
        autoscene struct scene scene;

        scene_begin(&scene);
        if (i % 2)
            answer(&scene, SECRET, 200, OCTETS);
        answer(&scene, i % 2 ? PAYLOAD : SECRET, rows[i / 2].status, "{\"code\": 1}");
        ck_assert_ptr_null(get(&scene, ID));
        ck_assert_int_eq(scene.err.kind, rows[i / 2].kind);
    }
}
END_TEST

/* Its payload is not requested: it may be one that only its owner uses. */
START_TEST(another_secret_is_refused_unread) {
    static const struct {
        const char *secret;
        enum error_kind kind;
    } rows[] = {
        { "{\"secret_type\": \"passphrase\", \"content_types\": {\"default\": \"text/plain\"}}",
          ERROR_BAD_REQUEST },
        { "{\"content_types\": {\"default\": \"text/plain\"}}", ERROR_BAD_REQUEST },
        { "{\"secret_type\": \"certificate\"}", ERROR_BAD_REQUEST },
        { TYPE("a\\r\\nX-Header: b"), ERROR_BAD_REQUEST },
        { "[]", ERROR_BAD_REQUEST },
        { "<html>", ERROR_UNAVAILABLE },
        { "", ERROR_UNAVAILABLE },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autoscene struct scene scene;

        scene_begin(&scene);
        answer(&scene, SECRET, 200, rows[i].secret);
        answer(&scene, PAYLOAD, 200, "secret");
        ck_assert_ptr_null(get(&scene, ID));
        ck_assert_int_eq(scene.err.kind, rows[i].kind);
        ck_assert_uint_eq(count(&scene, PAYLOAD), 0);
    }
}
END_TEST

START_TEST(an_id_that_is_none_is_not_requested) {
    static const char *const ids[] = { "", "x", "../orders", ID "/payload" };
    autoscene struct scene scene;

    scene_begin(&scene);
    for (size_t i = 0; i < LENGTH(ids); i++) {
        ck_assert_ptr_null(get(&scene, ids[i]));
        ck_assert_int_eq(scene.err.kind, ERROR_BAD_REQUEST);
    }
    ck_assert_uint_eq(count(&scene, NULL), 0);
}
END_TEST

START_TEST(a_certificate_above_the_limit_is_refused) {
    static char text[KEY_MANAGER_CERTIFICATE_MOST + 2];

    for (size_t above = 0; above <= 1; above++) {
        autoscene struct scene scene;

        scene_begin(&scene);
        memset(text, 'c', KEY_MANAGER_CERTIFICATE_MOST + above);
        answer(&scene, SECRET, 200, OCTETS);
        answer(&scene, PAYLOAD, 200, text);
        ck_assert((get(&scene, ID) == NULL) == (above > 0));
        if (above)
            ck_assert_int_eq(scene.err.kind, ERROR_TOO_LARGE);
    }
}
END_TEST

/* Parsed, a list of empty objects would take sixty times its bytes. */
START_TEST(a_long_response_is_not_read) {
    static char text[100 << 10];
    autoscene struct scene scene;

    scene_begin(&scene);
    text[0] = '[';
    for (size_t at = 1; at + 3 < sizeof text; at += 3)
        memcpy(text + at, "{},", 4);
    answer(&scene, SECRET, 200, text);
    ck_assert_ptr_null(get(&scene, ID));
    ck_assert_int_eq(scene.err.kind, ERROR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(scene.err.message, "larger than 65536 bytes"));
}
END_TEST

START_TEST(a_key_manager_that_hangs_is_given_up) {
    for (int i = 0; i < 2; i++) {
        autoscene struct scene scene;

        begin_with(&scene, "", "--barbican.barbican_request_timeout=1");
        if (i)
            answer(&scene, SECRET, 200, OCTETS);
        script_server_add(scene.barbican, &(struct script_rule){ .manner = SCRIPT_SILENT });
        ck_assert_ptr_null(get(&scene, ID));
        ck_assert_int_eq(scene.err.kind, ERROR_UNAVAILABLE);
    }
}
END_TEST

START_TEST(a_lost_response_is_requested_again) {
    autoscene struct scene scene;

    scene_begin(&scene);
    script_server_add(scene.barbican, &(struct script_rule){ .manner = SCRIPT_CLOSE, .times = 1 });
    answer(&scene, SECRET, 200, OCTETS);
    script_server_add(scene.barbican, &(struct script_rule){ "GET", PAYLOAD, 503, .times = 1 });
    answer(&scene, PAYLOAD, 200, "c");
    ck_assert_str_eq(get(&scene, ID), "c");
}
END_TEST

START_TEST(without_an_address_or_with_another_backend_there_is_none) {
    static const char *const options[] = {
        NULL, "--key_manager.backend=cinder.keymgr.conf_key_mgr.ConfKeyManager"
    };
    autoscene struct scene scene;

    begin_with(&scene, "", options[1]);
    ck_assert_ptr_null(scene.manager);
    config_free(scene.config);
    ck_assert_int_eq(config_load(tables, NULL, options, &scene.config, &scene.err), 0);
    ck_assert_int_eq(key_manager_new(scene.config, &scene.manager, &scene.err), 0);
    ck_assert_ptr_null(scene.manager);
}
END_TEST

CHECK_MAIN("key_manager", a_certificate_is_read_with_the_token_of_the_caller,
           a_refusal_has_its_kind, another_secret_is_refused_unread,
           an_id_that_is_none_is_not_requested, a_certificate_above_the_limit_is_refused,
           a_long_response_is_not_read, a_key_manager_that_hangs_is_given_up,
           a_lost_response_is_requested_again,
           without_an_address_or_with_another_backend_there_is_none)
