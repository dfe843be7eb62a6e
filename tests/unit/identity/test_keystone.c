#include "identity/keystone.h"

#include "common/clock.h"
#include "tests/lib/check_main.h"
#include "tests/lib/script_keystone.h"
#include "tests/lib/wall.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define TIMEOUT_MS 30000

struct scene {
    struct script_server *server;
    struct keystone *keystone;
    struct arena *arena;
    struct error err;
    struct keystone_settings settings;
    char url[80];
};

static struct scene *scene_new(void) {
    struct scene *scene = calloc(1, sizeof(*scene));

    scene->server = script_server_new();
    scene->arena = arena_new();
    snprintf(scene->url, sizeof(scene->url), "%s/v3", script_server_url(scene->server));
    scene->settings = (struct keystone_settings){
        .auth_url = scene->url,
        .username = "scoria",
        .password = "s3\"cr3t",
        .user_domain_id = "default",
        .project_name = "service",
        .project_domain_name = "Default",
        .interface = "public",
    };
    scene->keystone = keystone_new(&scene->settings);
    return scene;
}

static struct scene *scene_begun(void) {
    struct scene *scene = scene_new();

    script_keystone_begin(scene->server);
    return scene;
}

static void scene_end(struct scene *scene) {
    keystone_free(scene->keystone);
    script_server_free(scene->server);
    arena_free(scene->arena);
    free(scene);
}

/* Another one of its settings at the same server. */
static void scene_renew(struct scene *scene) {
    keystone_free(scene->keystone);
    scene->keystone = keystone_new(&scene->settings);
}

static int64_t in_ms(int64_t ms) {
    return clock_monotonic_us() + ms * 1000;
}

static int get_token(struct scene *scene, const char **ret) {
    return keystone_token(scene->keystone, scene->arena, in_ms(TIMEOUT_MS), ret, &scene->err);
}

static void expect_token(struct scene *scene, const char *wanted) {
    const char *token = NULL;

    ck_assert_msg(get_token(scene, &token) == 0, "%s", scene->err.message);
    ck_assert_str_eq(token, wanted);
}

static void expect_none(struct scene *scene, const char *reason) {
    const char *token;

    ck_assert_int_eq(get_token(scene, &token), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    ck_assert_msg(strstr(scene->err.message, reason), "%s", scene->err.message);
    ck_assert_ptr_null(strstr(scene->err.message, "cr3t"));
}

static unsigned posts(struct scene *scene) {
    return script_server_count(scene->server, "POST", NULL);
}

static const char *posted(struct scene *scene, unsigned index) {
    return script_server_request(scene->server, "POST", KEYSTONE_TOKENS, index)->body;
}

START_TEST(a_token_is_requested_once_and_kept) {
    struct scene *scene = scene_begun();

    expect_token(scene, KEYSTONE_OWN);
    expect_token(scene, KEYSTONE_OWN);
    ck_assert_uint_eq(posts(scene), 1);
    ck_assert_uint_eq(script_server_count(scene->server, "GET", "/v3"), 1);
    ck_assert_str_eq(posted(scene, 0),
                     "{\"auth\":{\"identity\":{\"methods\":[\"password\"],\"password\":{\"user\":{"
                     "\"name\":\"scoria\",\"domain\":{\"id\":\"default\"},\"password\":"
                     "\"s3\\\"cr3t\"}}},\"scope\":{\"project\":{\"name\":\"service\",\"domain\":{"
                     "\"name\":\"Default\"}}}}}");
    scene_end(scene);
}
END_TEST

START_TEST(a_kept_token_ignores_changes_of_the_wall_clock) {
    struct scene *scene = scene_begun();

    expect_token(scene, KEYSTONE_OWN);
    wall_step(31536000);
    expect_token(scene, KEYSTONE_OWN);
    wall_step(-2 * 31536000);
    expect_token(scene, KEYSTONE_OWN);
    wall_step(31536000);
    ck_assert_uint_eq(posts(scene), 1);
    scene_end(scene);
}
END_TEST

START_TEST(ids_scopes_and_credentials_have_their_own_forms) {
    struct scene *scene = scene_begun();

    scene->settings.user_id = "u";
    scene->settings.project_id = "p";
    scene_renew(scene);
    expect_token(scene, KEYSTONE_OWN);
    ck_assert_str_eq(posted(scene, 0),
                     "{\"auth\":{\"identity\":{\"methods\":[\"password\"],\"password\":{\"user\":{"
                     "\"id\":\"u\",\"password\":\"s3\\\"cr3t\"}}},\"scope\":{\"project\":{\"id\":"
                     "\"p\"}}}}");
    scene->settings.system_scope = true;
    scene_renew(scene);
    expect_token(scene, KEYSTONE_OWN);
    ck_assert_ptr_nonnull(strstr(posted(scene, 1), "\"scope\":{\"system\":{\"all\":true}}}}"));
    scene->settings.by_application_credential = true;
    scene->settings.application_credential_id = "a";
    scene->settings.application_credential_secret = "b";
    scene_renew(scene);
    expect_token(scene, KEYSTONE_OWN);
    ck_assert_str_eq(posted(scene, 2),
                     "{\"auth\":{\"identity\":{\"methods\":[\"application_credential\"],"
                     "\"application_credential\":{\"id\":\"a\",\"secret\":\"b\"}}}}");
    scene_end(scene);
}
END_TEST

START_TEST(a_refused_token_is_renewed_and_an_older_one_is_not) {
    struct scene *scene = scene_begun();

    expect_token(scene, KEYSTONE_OWN);
    keystone_token_refused(scene->keystone, "an older one");
    expect_token(scene, KEYSTONE_OWN);
    ck_assert_uint_eq(posts(scene), 1);
    keystone_token_refused(scene->keystone, KEYSTONE_OWN);
    expect_token(scene, KEYSTONE_OWN);
    ck_assert_uint_eq(posts(scene), 2);
    scene_end(scene);
}
END_TEST

static void grant(struct scene *scene, int status, const char *header, const char *body) {
    script_server_add(
        scene->server,
        &(struct script_rule){
            .method = "POST", .status = status, .header = header, .body = body, .times = 1 });
}

START_TEST(a_token_is_replaced_before_it_expires) {
    struct scene *scene = scene_new();
    char body[128];

    snprintf(body, sizeof(body), "{\"token\": {\"expires_at\": \"%s\"}}",
             script_keystone_time(600));
    grant(scene, 201, "X-Subject-Token: short", body);
    grant(scene, 201, "X-Subject-Token: endless", "{\"token\": {}}");
    script_keystone_begin(scene->server);
    expect_token(scene, "short");
    boot_pass(590);
    expect_token(scene, "endless");
    expect_token(scene, "endless");
    ck_assert_uint_eq(posts(scene), 2);
    scene_end(scene);
}
END_TEST

START_TEST(a_token_that_arrives_expired_points_to_the_clocks) {
    struct scene *scene = scene_new();
    autoarena struct arena *arena = arena_new();
    const char *token = NULL;
    struct error err = { 0 };
    char body[128];

    snprintf(body, sizeof(body), "{\"token\": {\"expires_at\": \"%s\"}}",
             script_keystone_time(-100));
    grant(scene, 201, "X-Subject-Token: late", body);
    script_keystone_begin(scene->server);
    ck_assert_int_eq(
        keystone_token(scene->keystone, arena, clock_monotonic_us() + 20000000, &token, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.message, "check the clocks"));
    ck_assert_ptr_null(token);
    ck_assert_uint_eq(posts(scene), 1);
    scene_end(scene);
}
END_TEST

START_TEST(invalid_responses_give_no_token) {
    static const struct {
        int status;
        const char *header, *body, *reason;
    } cases[] = {
        { 401, NULL, "{}", "credentials of the service" },
        { 500, NULL, "{}", "with 500" },
        { 201, NULL, "{\"token\": {}}", "Unexpected response" },
        { 201, "X-Subject-Token:", "{\"token\": {}}", "Unexpected response" },
        { 201, "X-Subject-Token: t", "no json", "Unexpected response" },
        { 201, "X-Subject-Token: t", "{\"token\": {\"expires_at\": \"2001-01-01T00:00:00Z\"}}",
          "check the clocks" },
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(cases); i++)
        grant(scene, cases[i].status, cases[i].header, cases[i].body);
    script_keystone_begin(scene->server);
    for (size_t i = 0; i < LENGTH(cases); i++)
        expect_none(scene, cases[i].reason);
    expect_token(scene, KEYSTONE_OWN); /* and none of it sticks */
    scene_end(scene);
}
END_TEST

START_TEST(the_version_is_found_in_a_list_too) {
    struct scene *scene = scene_new();
    char body[512];

    snprintf(body, sizeof(body),
             "{\"versions\": {\"values\": [{\"id\": \"v2.0\", \"links\": [{\"rel\": \"self\", "
             "\"href\": \"http://127.0.0.1:1/v2.0\"}]}, {\"id\": \"v3.14\", \"links\": [{\"rel\": "
             "\"other\"}, {\"rel\": \"self\", \"href\": \"%s/v3/\"}]}]}}",
             script_server_url(scene->server));
    script_server_add(scene->server,
                      &(struct script_rule){ .path = "/v3", .status = 300, .body = body });
    script_keystone_begin(scene->server);
    expect_token(scene, KEYSTONE_OWN);
    scene_end(scene);
}
END_TEST

START_TEST(without_version_3_there_is_no_token) {
    static const struct script_rule rules[] = {
        { .path = "/v3", .status = 404, .times = 1 },
        { .path = "/v3", .status = 200, .body = "{}", .times = 1 },
        { .path = "/v3", .status = 200, .body = "{\"version\": {\"id\": \"v3\"}}", .times = 1 },
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(rules); i++)
        script_server_add(scene->server, &rules[i]);
    script_keystone_begin(scene->server);
    expect_none(scene, "with 404");
    expect_none(scene, "no version 3");
    expect_none(scene, "no version 3");
    expect_token(scene, KEYSTONE_OWN);
    scene_end(scene);
}
END_TEST

START_TEST(refused_connections_are_retried_and_requests_time_out) {
    struct scene *scene = scene_begun();
    int64_t begin, time_ms = 100;
    const char *token;

    script_server_pause(scene->server);
    scene->settings.retries = 1;
    scene_renew(scene);
    begin = clock_monotonic_us();
    expect_none(scene, "Keystone:");
    ck_assert_int_ge(clock_monotonic_us() - begin, 100000);
    ck_assert_int_eq(keystone_token(scene->keystone, scene->arena, in_ms(0), &token, &scene->err),
                     -1);
    script_server_resume(scene->server);
    expect_token(scene, KEYSTONE_OWN);
    script_server_clear(scene->server);
    script_server_add(scene->server, &(struct script_rule){ .manner = SCRIPT_SILENT });
    keystone_token_refused(scene->keystone, KEYSTONE_OWN);
    do { /* until the request arrived before its time was over */
        time_ms *= 2;
        begin = clock_monotonic_us();
        ck_assert_int_eq(
            keystone_token(scene->keystone, scene->arena, in_ms(time_ms), &token, &scene->err), -1);
        ck_assert_int_lt(clock_monotonic_us() - begin, 25000000); /* unlimited, it takes 30 s */
    } while (posts(scene) < 2 && time_ms < 10000);
    ck_assert_uint_ge(posts(scene), 2);
    scene_end(scene);
}
END_TEST

static void *request_in_thread(void *arg) {
    struct scene *scene = arg;
    struct arena *arena = arena_new();
    const char *token = NULL;
    struct error err;
    int result = keystone_token(scene->keystone, arena, in_ms(TIMEOUT_MS), &token, &err);

    arena_free(arena);
    return result == 0 ? scene : NULL;
}

#define ASKERS 8

static unsigned request_all(struct scene *scene) {
    pthread_t threads[ASKERS];
    unsigned good = 0;
    void *result;

    for (size_t i = 0; i < ASKERS; i++)
        pthread_create(&threads[i], NULL, request_in_thread, scene);
    for (size_t i = 0; i < ASKERS; i++) {
        pthread_join(threads[i], &result);
        good += result != NULL;
    }
    return good;
}

START_TEST(concurrent_threads_share_one_request) {
    struct scene *scene = scene_begun();

    ck_assert_uint_eq(request_all(scene), ASKERS);
    ck_assert_uint_eq(posts(scene), 1);
    script_server_clear(scene->server);
    keystone_token_refused(scene->keystone, KEYSTONE_OWN);
    ck_assert_uint_eq(request_all(scene), 0);
    scene_end(scene);
}
END_TEST

static int find(struct scene *scene, const char *type, const char **ret) {
    const char *const types[] = { "none-such", type, NULL };

    return keystone_endpoint(scene->keystone, scene->arena, in_ms(TIMEOUT_MS), types, ret,
                             &scene->err);
}

START_TEST(endpoints_come_from_the_catalog) {
    struct scene *scene = scene_begun();
    const char *url;

    ck_assert_int_eq(find(scene, "compute", &url), 0);
    ck_assert_ptr_nonnull(strstr(url, "/compute/v2.1"));
    ck_assert_int_eq(url[strlen(url) - 1], '1');
    scene->settings.region = "one";
    scene->settings.interface = "internal";
    scene_renew(scene);
    ck_assert_int_eq(find(scene, "compute", &url), 0);
    ck_assert_str_eq(url, "http://internal");
    ck_assert_int_eq(find(scene, "volumev3", &url), -1);
    scene->settings.region = "two";
    scene_renew(scene);
    ck_assert_int_eq(find(scene, "compute", &url), -1);
    ck_assert_ptr_nonnull(strstr(scene->err.message, "in region two"));
    script_server_clear(scene->server);
    keystone_token_refused(scene->keystone, KEYSTONE_OWN);
    ck_assert_int_eq(find(scene, "compute", &url), -1);
    scene_end(scene);
}
END_TEST

/* It is the whole cloud's, and its administrators' to write: files of this machine are not
 * theirs. */
START_TEST(a_catalog_names_no_socket_of_this_machine) {
    struct scene *scene = scene_new();
    const char *url;
    char body[512];

    snprintf(body, sizeof(body),
             "{\"token\": {\"expires_at\": \"%s\", \"catalog\": [{\"type\": \"compute\", "
             "\"endpoints\": [{\"interface\": \"public\", \"url\": "
             "\"http+unix://%%2Frun%%2Fdocker.sock/v1\"}]}]}}",
             script_keystone_time(3600));
    script_server_add(scene->server, &(struct script_rule){ .method = "POST",
                                                            .path = KEYSTONE_TOKENS,
                                                            .status = 201,
                                                            .body = body,
                                                            .header = "X-Subject-Token: x" });
    script_keystone_begin(scene->server);
    ck_assert_int_eq(find(scene, "compute", &url), -1);
    ck_assert_ptr_nonnull(strstr(scene->err.message, "The catalog has no public endpoint"));
    scene_end(scene);
}
END_TEST

static int validate(struct scene *scene, bool allow_expired, bool catalog,
                    struct http_answer *ret) {
    const struct keystone_question question = { "theirs", allow_expired, catalog,
                                                in_ms(TIMEOUT_MS) };

    return keystone_validate(scene->keystone, scene->arena, &question, ret, &scene->err);
}

START_TEST(a_token_is_validated_as_the_middleware_does) {
    static const struct {
        bool allow_expired, catalog;
        const char *path;
    } cases[] = {
        { false, true, KEYSTONE_TOKENS },
        { false, false, KEYSTONE_TOKENS "?nocatalog" },
        { true, true, KEYSTONE_TOKENS "?allow_expired=1" },
        { true, false, KEYSTONE_TOKENS "?nocatalog&allow_expired=1" },
    };
    struct scene *scene = scene_begun();
    struct http_answer answer;

    script_keystone_answer(scene->server, 200, "{\"token\": {}}", 0);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct script_request *request;

        ck_assert_int_eq(validate(scene, cases[i].allow_expired, cases[i].catalog, &answer), 0);
        ck_assert_int_eq(answer.status, 200);
        request = script_server_request(scene->server, "GET", cases[i].path, 0);
        ck_assert_ptr_nonnull(request);
        ck_assert(script_request_has(request, "X-Auth-Token", KEYSTONE_OWN));
        ck_assert(script_request_has(request, "X-Subject-Token", "theirs"));
        ck_assert(script_request_has(request, "OpenStack-Identity-Access-Rules", "1"));
    }
    ck_assert_uint_eq(posts(scene), 1);
    scene_end(scene);
}
END_TEST

START_TEST(only_200_and_404_decide_about_the_caller) {
    struct scene *scene = scene_begun();
    struct http_answer answer;

    script_keystone_answer(scene->server, 401, "{}", 1);
    script_keystone_answer(scene->server, 404, KEYSTONE_UNKNOWN, 1);
    script_keystone_answer(scene->server, 401, "{}", 2);
    script_keystone_answer(scene->server, 403, "{}", 1);
    ck_assert_int_eq(validate(scene, false, true, &answer), 0);
    ck_assert_int_eq(answer.status, 404);
    ck_assert_uint_eq(posts(scene), 2); /* our own token was refused, so it was renewed */
    ck_assert_int_eq(validate(scene, false, true, &answer), -1);
    ck_assert_ptr_nonnull(strstr(scene->err.message, "token of the service"));
    ck_assert_uint_eq(posts(scene), 3);
    ck_assert_int_eq(validate(scene, false, true, &answer), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(scene->err.message, "403"));
    ck_assert_int_eq(validate(scene, false, true, &answer), -1); /* 500 */
    script_server_add(scene->server, &(struct script_rule){ .manner = SCRIPT_CLOSE });
    ck_assert_int_eq(validate(scene, false, true, &answer), -1);
    script_server_clear(scene->server);
    keystone_token_refused(scene->keystone, KEYSTONE_OWN);
    ck_assert_int_eq(validate(scene, false, true, &answer), -1);
    scene_end(scene);
}
END_TEST

START_TEST(a_404_of_another_server_decides_nothing_about_a_token) {
    static const char *const bodies[] = {
        "default backend - 404", "{}", "{\"error\": {\"message\": \"no such route\"}}",
        "{\"itemNotFound\": {\"code\": 404, \"message\": \"The resource could not be found.\"}}"
    };
    struct scene *scene = scene_begun();
    struct http_answer answer;

    for (size_t i = 0; i < LENGTH(bodies); i++) {
        script_keystone_answer(scene->server, 404, bodies[i], 1);
        ck_assert_int_eq(validate(scene, false, true, &answer), -1);
        ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
        ck_assert_ptr_nonnull(strstr(scene->err.message, "404"));
    }
    scene_end(scene);
}
END_TEST

/* ---- settings ---- */

static const struct option options[] = {
    KEYSTONE_OPTIONS("nova"),
    { .section = "nova", .key = "interface", .type = OPTION_TEXT, .fallback = "public" },
    KEYSTONE_OPTIONS("service_user"),
    { .section = "service_user", .key = "interface", .type = OPTION_TEXT, .fallback = "internal" },
    OPTIONS_END,
};

struct read {
    struct config *config;
    struct keystone_settings settings;
    struct error err;
    int result;
};

#define READ(...) read_section((const char *const[]){ __VA_ARGS__, NULL })

static struct read read_section(const char *const *arguments) {
    static const struct option *const tables[] = { options, NULL };
    struct read read = { 0 };

    ck_assert_int_eq(config_load(tables, NULL, arguments, &read.config, &read.err), 0);
    read.result = keystone_settings_read(read.config, "nova", &read.settings, &read.err);
    return read;
}

START_TEST(a_section_without_a_url_has_no_user) {
    struct read read = READ("--nova.username=x");

    ck_assert_int_eq(read.result, 1);
    config_free(read.config);
}
END_TEST

START_TEST(a_section_may_lead_to_another) {
    struct read read = READ("--nova.auth_section=service_user", "--nova.region_name=one",
                            "--service_user.auth_url=http://k", "--service_user.username=u",
                            "--service_user.password=p", "--service_user.project_name=s",
                            "--service_user.user_domain_name=D", "--service_user.insecure=true");

    ck_assert_msg(read.result == 0, "%s", read.err.message);
    ck_assert_str_eq(read.settings.username, "u");
    ck_assert_str_eq(read.settings.user_domain_name, "D");
    ck_assert_ptr_null(read.settings.user_domain_id);
    ck_assert_str_eq(read.settings.project_domain_id, "default");
    ck_assert_str_eq(read.settings.interface, "public");
    ck_assert_str_eq(read.settings.region, "one");
    ck_assert(read.settings.peer.insecure);
    config_free(read.config);
}
END_TEST

START_TEST(missing_options_are_named) {
    static const struct {
        const char *arguments[7];
        const char *reason;
    } cases[] = {
        { { "--nova.auth_section=what" }, "[nova] auth_section: there is no section [what]" },
        { { "--nova.auth_url=u" }, "[nova] username" },
        { { "--nova.auth_url=u", "--nova.username=x" }, "[nova] password" },
        { { "--nova.auth_url=u", "--nova.user_id=x", "--nova.password=y" }, "[nova] project_name" },
        { { "--nova.auth_url=u", "--nova.user_id=x", "--nova.password=y",
            "--nova.system_scope=some" },
          "some is not all" },
        { { "--nova.auth_url=u", "--nova.auth_type=v3applicationcredential" },
          "[nova] application_credential_id" },
        { { "--nova.auth_url=u", "--nova.auth_type=v3applicationcredential",
            "--nova.application_credential_id=x" },
          "[nova] application_credential_secret" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct read read = read_section(cases[i].arguments);

        ck_assert_int_eq(read.result, -1);
        ck_assert_msg(strstr(read.err.message, cases[i].reason), "%s", read.err.message);
        config_free(read.config);
    }
    struct read read =
        READ("--nova.auth_url=u", "--nova.auth_type=v3applicationcredential",
             "--nova.application_credential_id=x", "--nova.application_credential_secret=y");
    ck_assert_int_eq(read.result, 0);
    ck_assert(read.settings.by_application_credential);
    config_free(read.config);
}
END_TEST

CHECK_MAIN(
    "keystone", a_token_is_requested_once_and_kept, a_kept_token_ignores_changes_of_the_wall_clock,
    ids_scopes_and_credentials_have_their_own_forms,
    a_refused_token_is_renewed_and_an_older_one_is_not, a_token_is_replaced_before_it_expires,
    a_token_that_arrives_expired_points_to_the_clocks, invalid_responses_give_no_token,
    the_version_is_found_in_a_list_too, without_version_3_there_is_no_token,
    refused_connections_are_retried_and_requests_time_out, concurrent_threads_share_one_request,
    endpoints_come_from_the_catalog, a_catalog_names_no_socket_of_this_machine,
    a_token_is_validated_as_the_middleware_does, only_200_and_404_decide_about_the_caller,
    a_404_of_another_server_decides_nothing_about_a_token, a_section_without_a_url_has_no_user,
    a_section_may_lead_to_another, missing_options_are_named)
