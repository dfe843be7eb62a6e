/*
 * Images of an image service by id, URL and name: each response, and each rule of visibility.  Then
 * new images.
 */
#include "client/images.h"

#include "common/clock.h"
#include "identity/own_user.h"
#include "tests/lib/check_main.h"
#include "tests/lib/script_server.h"
#include "json/json.h"

#include <stdio.h>
#include <string.h>

#define ID      "11111111-1111-4111-8111-111111111111"
#define URL     "http://elsewhere:9292/v2/images/" ID
#define OTHER   "22222222-2222-4222-8222-222222222222"
#define PROJECT "33333333333343338333333333333333"
#define USER    "44444444444444448444444444444444"
#define BY_ID   "/v2/images/" ID
#define BY_NAME "/v2/images?limit=100&name="
#define MEMBER  "/v2/images/" ID "/members/" PROJECT
#define MISSING "<html><body>404 Not Found</body></html>"

#define IMAGE(id, members) \
    "{\"id\": \"" id "\", \"name\": \"a\", \"status\": \"active\"" members "}"
#define PUBLIC       ", \"visibility\": \"public\""
#define LIST(images) "{\"images\": [" images "]}"

static const struct option *const tables[] = { images_options, own_user_options, NULL };

struct scene {
    struct script_server *glance;
    struct config *config;
    struct images *images;
    struct arena *arena;
    struct error err;
};

static void scene_begin(struct scene *scene) {
    char servers[128];

    *scene = (struct scene){ .glance = script_server_new(), .arena = arena_new() };
    snprintf(servers, sizeof(servers), "--glance_api_servers=%s", script_server_url(scene->glance));
    ck_assert_int_eq(config_load(tables, NULL,
                                 (const char *const[]){ servers, "--glance_num_retries=0", NULL },
                                 &scene->config, &scene->err),
                     0);
    ck_assert_int_eq(images_new(scene->config, &scene->images, &scene->err), 0);
    ck_assert_ptr_nonnull(scene->images);
}

static void scene_end(struct scene *scene) {
    images_free(scene->images);
    config_free(scene->config);
    script_server_free(scene->glance);
    arena_free(scene->arena);
}
#define autoscene __attribute__((cleanup(scene_end)))

static void answer(struct scene *scene, const char *path, int status, const char *body) {
    script_server_add(scene->glance, &(struct script_rule){ "GET", path, status, .body = body });
}

static const struct images_caller member = { .project_id = PROJECT, .user_id = USER };

/* The id of the found image; NULL: none. */
static const char *find(struct scene *scene, const char *reference,
                        const struct images_caller *caller) {
    const json_t *image = images_find(scene->images, scene->arena, reference, caller, &scene->err);

    return json_text_of(image, "id");
}

START_TEST(without_an_address_there_is_no_image_service) {
    struct config *config;
    struct images *images;
    struct error err;

    ck_assert_int_eq(config_load(tables, NULL, NULL, &config, &err), 0);
    ck_assert_int_eq(images_new(config, &images, &err), 0);
    ck_assert_ptr_null(images);
    config_free(config);
}
END_TEST

START_TEST(an_image_is_found_by_id_by_url_and_by_name) {
    static const char *const references[] = { ID, URL, "a" };
    autoscene struct scene scene;

    scene_begin(&scene);
    answer(&scene, BY_ID, 200, IMAGE(ID, PUBLIC));
    answer(&scene, BY_NAME "a", 200, LIST(IMAGE(ID, PUBLIC)));
    for (size_t i = 0; i < LENGTH(references); i++)
        ck_assert_str_eq(find(&scene, references[i], &member), ID);
}
END_TEST

START_TEST(each_response_without_the_image_has_its_error) {
    static const struct {
        int status;
        const char *by_id;
        int list_status;
        const char *by_name;
        enum error_kind kind;
    } rows[] = {
        { 404, MISSING, 200, LIST(""), ERROR_BAD_REQUEST },
        { 403, MISSING, 403, MISSING, ERROR_BAD_REQUEST },
        { 401, MISSING, 401, MISSING, ERROR_BAD_REQUEST },
        { 404, MISSING, 503, MISSING, ERROR_UNAVAILABLE },
        { 500, MISSING, 503, MISSING, ERROR_UNAVAILABLE },
        { 200, "no JSON", 200, "[]", ERROR_UNAVAILABLE },
        { 200, IMAGE(OTHER, PUBLIC), 200, LIST(""), ERROR_BAD_REQUEST },
        { 200, "{}", 200, "{}", ERROR_BAD_REQUEST },
        { 302, "", 302, "", ERROR_BAD_REQUEST },
        /* a server that ignores the filter */
        { 404, MISSING, 200, LIST(IMAGE(OTHER, PUBLIC)), ERROR_BAD_REQUEST },
    };
    autoscene struct scene scene;

    scene_begin(&scene);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        script_server_clear(scene.glance);
        answer(&scene, BY_ID, rows[i].status, rows[i].by_id);
        answer(&scene, BY_NAME "*", rows[i].list_status, rows[i].by_name);
        ck_assert_msg(!find(&scene, ID, &member), "row %zu", i);
        ck_assert_msg(scene.err.kind == rows[i].kind, "row %zu: %s", i, scene.err.message);
    }
}
END_TEST

START_TEST(a_server_that_is_away_is_no_missing_image) {
    autoscene struct scene scene;

    scene_begin(&scene);
    script_server_pause(scene.glance);
    ck_assert_ptr_null(find(&scene, ID, &member));
    ck_assert_int_eq(scene.err.kind, ERROR_UNAVAILABLE);
}
END_TEST

START_TEST(a_name_of_several_images_is_a_conflict) {
    autoscene struct scene scene;

    scene_begin(&scene);
    answer(&scene, BY_NAME "a", 200, LIST(IMAGE(ID, PUBLIC) ", " IMAGE(OTHER, PUBLIC)));
    ck_assert_ptr_null(find(&scene, "a", &member));
    ck_assert_int_eq(scene.err.kind, ERROR_CONFLICT);
}
END_TEST

START_TEST(only_visible_images_count_where_callers_have_no_token) {
    static const struct {
        const char *image;
        int member_status;
        const char *member;
        bool is_visible;
    } rows[] = {
        { IMAGE(ID, PUBLIC), 404, MISSING, true },
        { IMAGE(ID, ", \"visibility\": \"private\""), 404, MISSING, false },
        { IMAGE(ID, ", \"visibility\": \"community\""), 404, MISSING, false },
        { IMAGE(ID, ", \"visibility\": \"private\", \"owner\": \"" PROJECT "\""), 404, MISSING,
          true },
        { IMAGE(ID, ", \"visibility\": \"private\", \"owner_id\": \"" PROJECT "\""), 404, MISSING,
          true },
        { IMAGE(ID, ", \"visibility\": \"private\", \"user_id\": \"" USER "\""), 404, MISSING,
          true },
        { IMAGE(ID, ", \"visibility\": \"shared\""), 200, "{\"status\": \"accepted\"}", true },
        { IMAGE(ID, ", \"visibility\": \"shared\""), 200, "{\"status\": \"pending\"}", false },
        { IMAGE(ID, ", \"visibility\": \"shared\""), 404, MISSING, false },
        { IMAGE(ID, ""), 404, MISSING, false },
    };
    static const struct images_caller admin = { .is_admin = true };
    autoscene struct scene scene;

    scene_begin(&scene);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        script_server_clear(scene.glance);
        answer(&scene, BY_ID, 200, rows[i].image);
        answer(&scene, MEMBER, rows[i].member_status, rows[i].member);
        answer(&scene, BY_NAME "*", 200, LIST(""));
        ck_assert_msg((find(&scene, ID, &member) != NULL) == rows[i].is_visible, "row %zu", i);
        ck_assert_msg(find(&scene, ID, &admin) != NULL, "row %zu", i);
    }
}
END_TEST

START_TEST(a_callers_own_token_is_sent_and_decides) {
    static const struct images_caller caller = { .token = "secret", .project_id = PROJECT };
    autoscene struct scene scene;

    scene_begin(&scene);
    answer(&scene, BY_ID, 200, IMAGE(ID, ", \"visibility\": \"community\""));
    ck_assert_str_eq(find(&scene, ID, &caller), ID);
    ck_assert(script_request_has(script_server_request(scene.glance, "GET", BY_ID, 0),
                                 "X-Auth-Token", "secret"));
}
END_TEST

START_TEST(another_server_is_asked_where_one_does_not_respond) {
    autoscene struct scene scene;
    struct script_server *away = script_server_new();
    char servers[256];

    scene_begin(&scene);
    images_free(scene.images);
    config_free(scene.config);
    snprintf(servers, sizeof(servers), "--glance_api_servers=%s,%s", script_server_url(away),
             script_server_url(scene.glance));
    script_server_pause(away);
    ck_assert_int_eq(config_load(tables, NULL,
                                 (const char *const[]){ servers, "--glance_num_retries=0", NULL },
                                 &scene.config, &scene.err),
                     0);
    ck_assert_int_eq(images_new(scene.config, &scene.images, &scene.err), 0);
    answer(&scene, BY_ID, 200, IMAGE(ID, PUBLIC));
    for (int i = 0; i < 4; i++)
        ck_assert_str_eq(find(&scene, ID, &member), ID);
    script_server_free(away);
}
END_TEST

/* Nor is a request by name sent to a server that does not respond to one by id. */
START_TEST(an_unavailable_service_is_not_asked_again_by_name) {
    autoscene struct scene scene;

    scene_begin(&scene);
    answer(&scene, BY_ID, 503, MISSING);
    answer(&scene, BY_NAME "*", 200, LIST(IMAGE(ID, PUBLIC)));
    ck_assert_ptr_null(find(&scene, ID, &member));
    ck_assert_int_eq(scene.err.kind, ERROR_UNAVAILABLE);
    ck_assert_ptr_null(script_server_request(scene.glance, "GET", BY_NAME "*", 0));
}
END_TEST

/* ---- new images ---- */

static void answer_to(struct scene *scene, const char *method, const char *path, int status,
                      const char *body) {
    script_server_add(scene->glance, &(struct script_rule){ method, path, status, .body = body });
}

static const char *create(struct scene *scene, const struct images_caller *caller) {
    return json_text_of(
        images_create(scene->images, scene->arena, "{\"name\": \"n\"}", caller, &scene->err), "id");
}

static const json_t *sent(struct scene *scene, const struct script_request *request) {
    return json_parse(scene->arena, request->body, strlen(request->body), NULL);
}

START_TEST(an_image_is_created_on_behalf_of_its_caller) {
    static const struct images_caller caller = { .token = "secret", .request_id = "req-1" };
    autoscene struct scene scene;
    const struct script_request *request;

    scene_begin(&scene);
    answer_to(&scene, "POST", "/v2/images", 201, IMAGE(ID, ""));
    ck_assert_str_eq(create(&scene, &caller), ID);
    request = script_server_request(scene.glance, "POST", "/v2/images", 0);
    ck_assert_str_eq(json_text_of(sent(&scene, request), "name"), "n");
    ck_assert(uuid_parse(json_text_of(sent(&scene, request), "id"), NULL));
    ck_assert(script_request_has(request, "X-Auth-Token", "secret"));
    ck_assert(script_request_has(request, "X-OpenStack-Request-ID", "req-1"));
}
END_TEST

START_TEST(a_refused_image_is_a_bad_request) {
    static const struct {
        int status;
        const char *body;
        enum error_kind kind;
    } rows[] = {
        { 400, MISSING, ERROR_BAD_REQUEST }, { 401, MISSING, ERROR_BAD_REQUEST },
        { 403, MISSING, ERROR_BAD_REQUEST }, { 409, MISSING, ERROR_BAD_REQUEST },
        { 413, MISSING, ERROR_BAD_REQUEST }, { 302, "", ERROR_BAD_REQUEST },
        { 503, MISSING, ERROR_UNAVAILABLE }, { 201, "no JSON", ERROR_UNAVAILABLE },
        { 201, "{}", ERROR_UNAVAILABLE },    { 201, "{\"id\": \"../x\"}", ERROR_UNAVAILABLE },
    };
    autoscene struct scene scene;

    scene_begin(&scene);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        script_server_clear(scene.glance);
        answer_to(&scene, "POST", "/v2/images", rows[i].status, rows[i].body);
        ck_assert_msg(!create(&scene, &member), "row %zu", i);
        ck_assert_msg(scene.err.kind == rows[i].kind, "row %zu: %s", i, scene.err.message);
    }
}
END_TEST

/* It may have been created all the same. */
START_TEST(an_image_without_a_usable_response_is_deleted_by_the_id_that_was_sent) {
    static const struct {
        int status;
        const char *body;
        enum script_manner manner;
        bool is_deleted;
    } rows[] = {
        { 503, MISSING, SCRIPT_WHOLE, true },
        { 201, "no JSON", SCRIPT_WHOLE, true },
        { 201, IMAGE(ID, ""), SCRIPT_CLOSE, true },
        { 403, MISSING, SCRIPT_WHOLE, false },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autoscene struct scene scene;
        const struct script_request *created, *deleted;

        scene_begin(&scene);
        script_server_add(scene.glance,
                          &(struct script_rule){ "POST", "/v2/images", rows[i].status,
                                                 .body = rows[i].body, .manner = rows[i].manner });
        answer_to(&scene, "DELETE", "/v2/images/*", 204, "");
        ck_assert_ptr_null(create(&scene, &member));
        created = script_server_request(scene.glance, "POST", "/v2/images", 0);
        deleted = script_server_request(scene.glance, "DELETE", "/v2/images/*", 0);
        ck_assert_msg((deleted != NULL) == rows[i].is_deleted, "row %zu", i);
        if (deleted)
            ck_assert_str_eq(deleted->path + strlen("/v2/images/"),
                             json_text_of(sent(&scene, created), "id"));
    }
}
END_TEST

/* It may have expired meanwhile. */
START_TEST(an_image_is_deleted_by_the_service_where_the_callers_token_is_refused) {
    static const struct images_caller caller = { .token = "secret", .project_id = PROJECT };
    static const int statuses[] = { 401, 403 };

    for (size_t i = 0; i < LENGTH(statuses); i++) {
        autoscene struct scene scene;

        scene_begin(&scene);
        script_server_add(scene.glance, &(struct script_rule){ "DELETE", BY_ID, statuses[i],
                                                               .body = MISSING, .times = 1 });
        answer_to(&scene, "DELETE", BY_ID, 204, "");
        ck_assert_int_eq(images_delete(scene.images, scene.arena, ID, &caller, &scene.err), 0);
        ck_assert_uint_eq(script_server_count(scene.glance, "DELETE", BY_ID), 2);
        ck_assert(script_request_has(script_server_request(scene.glance, "DELETE", BY_ID, 0),
                                     "X-Auth-Token", "secret"));
        ck_assert(!script_request_has(script_server_request(scene.glance, "DELETE", BY_ID, 1),
                                      "X-Auth-Token", "secret"));
    }
}
END_TEST

START_TEST(an_image_is_read_and_deleted_by_its_id) {
    static const struct {
        int status;
        enum error_kind got, deleted;
    } rows[] = {
        { 404, ERROR_NOT_FOUND, ERROR_NONE },
        { 403, ERROR_BACKEND, ERROR_BACKEND },
        { 409, ERROR_BACKEND, ERROR_BACKEND },
        { 503, ERROR_UNAVAILABLE, ERROR_UNAVAILABLE },
    };
    autoscene struct scene scene;

    scene_begin(&scene);
    answer(&scene, BY_ID, 200, IMAGE(ID, ""));
    answer_to(&scene, "DELETE", BY_ID, 204, "");
    ck_assert_ptr_nonnull(images_get(scene.images, scene.arena, ID, &member, &scene.err));
    ck_assert_int_eq(images_delete(scene.images, scene.arena, ID, &member, &scene.err), 0);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        int deleted;

        script_server_clear(scene.glance);
        answer_to(&scene, NULL, BY_ID, rows[i].status, MISSING);
        ck_assert_ptr_null(images_get(scene.images, scene.arena, ID, &member, &scene.err));
        ck_assert_msg(scene.err.kind == rows[i].got, "row %zu: %s", i, scene.err.message);
        deleted = images_delete(scene.images, scene.arena, ID, &member, &scene.err);
        ck_assert_int_eq(deleted, rows[i].deleted == ERROR_NONE ? 0 : -1);
        if (deleted < 0)
            ck_assert_msg(scene.err.kind == rows[i].deleted, "row %zu: %s", i, scene.err.message);
    }
}
END_TEST

CHECK_MAIN("images", without_an_address_there_is_no_image_service,
           an_image_is_found_by_id_by_url_and_by_name,
           each_response_without_the_image_has_its_error, a_server_that_is_away_is_no_missing_image,
           a_name_of_several_images_is_a_conflict,
           only_visible_images_count_where_callers_have_no_token,
           a_callers_own_token_is_sent_and_decides,
           another_server_is_asked_where_one_does_not_respond,
           an_unavailable_service_is_not_asked_again_by_name,
           an_image_is_created_on_behalf_of_its_caller, a_refused_image_is_a_bad_request,
           an_image_without_a_usable_response_is_deleted_by_the_id_that_was_sent,
           an_image_is_deleted_by_the_service_where_the_callers_token_is_refused,
           an_image_is_read_and_deleted_by_its_id)
