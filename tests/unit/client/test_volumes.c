#include "tests/lib/check_main.h"

#include "client/volumes.h"
#include "identity/own_user.h"
#include "tests/lib/script_keystone.h"

#include <stdio.h>
#include <string.h>

#define ID   "11111111-1111-4111-8111-111111111111"
#define PATH "/v3/volumes/" ID

/* A scripted volume API and a client of it. */
struct scene {
    struct script_server *server;
    struct arena *arena;
    char url[80];
    struct client api;
    struct error err;
};

static struct scene *scene_new(void) {
    struct scene *scene = calloc(1, sizeof(*scene));

    scene->server = script_server_new();
    scene->arena = arena_new();
    snprintf(scene->url, sizeof(scene->url), "%s/v3", script_server_url(scene->server));
    scene->api = volumes_client(scene->url, NULL, NULL);
    return scene;
}

static void scene_end(struct scene *scene) {
    script_server_free(scene->server);
    arena_free(scene->arena);
    free(scene);
}

static void answer(struct scene *scene, int status, const char *body) {
    script_server_clear(scene->server);
    script_server_add(scene->server, &(struct script_rule){ .status = status, .body = body });
}

static int read_it(struct scene *scene, struct remote_volume *ret) {
    return volumes_read(&scene->api, scene->arena, ID, "req-1", ret, &scene->err);
}

START_TEST(a_volume_is_read_with_its_target_and_attachments) {
    struct scene *scene = scene_new();
    const struct script_request *request;
    struct remote_volume volume;

    scene->api.token = "secret";
    answer(scene, 200,
           "{\"volume\": {\"id\": \"" ID "\", \"status\": \"extending\", \"size\": 2,"
           " \"metadata\": {\"extend_new_size\": \"5\"}, \"attachments\": ["
           "{\"server_id\": \"s1\", \"host_name\": \"h1\"}, {\"server_id\": null}]}}");
    ck_assert_int_eq(read_it(scene, &volume), 0);
    ck_assert_str_eq(volume.id, ID);
    ck_assert_str_eq(volume.status, "extending");
    ck_assert_int_eq(volume.size_gb, 2);
    ck_assert(volume.has_target);
    ck_assert_int_eq(volume.target_gb, 5);
    ck_assert_uint_eq(volume.attachment_count, 2);
    ck_assert_str_eq(volume.attachments[0].instance_uuid, "s1");
    ck_assert_str_eq(volume.attachments[0].host, "h1");
    ck_assert_ptr_null(volume.attachments[1].host);
    ck_assert_ptr_null(volume.attachments[1].instance_uuid);
    request = script_server_request(scene->server, "GET", PATH, 0);
    ck_assert(script_request_has(request, "OpenStack-API-Version", "volume 3.71"));
    ck_assert(script_request_has(request, "X-Auth-Token", "secret"));
    ck_assert(script_request_has(request, "X-OpenStack-Request-ID", "req-1"));
    scene_end(scene);
}
END_TEST

START_TEST(a_target_is_plain_digits_of_a_size_or_none) {
    static const struct {
        const char *text;
        int64_t target;
        bool has;
    } rows[] = {
        { "\"2147483647\"", 2147483647, true },
        { "\"2147483648\"", 0, true },
        { "\" 3 \"", 0, true },
        { "\"1_0\"", 0, true },
        { "\"+3\"", 0, true },
        { "\"-3\"", 0, true },
        { "\"\"", 0, true },
        { "\"3.0\"", 0, true },
        { "\"99999999999999999999\"", 0, true },
        { "3", 0, true },
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct remote_volume volume;
        char body[256];

        snprintf(body, sizeof(body),
                 "{\"volume\": {\"id\": \"" ID "\", \"status\": \"extending\", \"size\": 2,"
                 " \"metadata\": {\"extend_new_size\": %s}}}",
                 rows[i].text);
        answer(scene, 200, body);
        ck_assert_int_eq(read_it(scene, &volume), 0);
        ck_assert_int_eq(volume.target_gb, rows[i].target);
        ck_assert(volume.has_target == rows[i].has);
    }
    scene_end(scene);
}
END_TEST

START_TEST(a_volume_without_the_key_has_no_target) {
    struct scene *scene = scene_new();
    struct remote_volume volume;

    answer(scene, 200,
           "{\"volume\": {\"id\": \"" ID "\", \"status\": \"in-use\", \"size\": 2,"
           " \"metadata\": {}}}");
    ck_assert_int_eq(read_it(scene, &volume), 0);
    ck_assert(!volume.has_target);
    ck_assert_int_eq(volume.target_gb, 0);
    ck_assert_uint_eq(volume.attachment_count, 0);
    scene_end(scene);
}
END_TEST

START_TEST(an_invalid_response_counts_as_none) {
    static const char *const bodies[] = {
        "",
        "no json",
        "[]",
        "{}",
        "{\"volume\": 1}",
        "{\"volume\": {\"id\": \"" ID "\"}}",
        "{\"volume\": {\"id\": \"" ID "\", \"status\": \"in-use\", \"size\": -1}}",
        "{\"volume\": {\"id\": \"" ID "\", \"status\": \"in-use\", \"size\": 99999999999}}",
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(bodies); i++) {
        struct remote_volume volume = { .size_gb = 7 };

        answer(scene, 200, bodies[i]);
        ck_assert_int_eq(read_it(scene, &volume), -1);
        ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
        ck_assert_int_eq(volume.size_gb, 7);
    }
    scene_end(scene);
}
END_TEST

START_TEST(a_failure_has_the_kind_of_its_status) {
    static const struct {
        int status;
        enum error_kind kind;
    } rows[] = {
        { 400, ERROR_BAD_REQUEST }, { 401, ERROR_UNAUTHORIZED },   { 403, ERROR_FORBIDDEN },
        { 404, ERROR_NOT_FOUND },   { 406, ERROR_NOT_ACCEPTABLE }, { 500, ERROR_UNAVAILABLE },
        { 503, ERROR_UNAVAILABLE }, { 302, ERROR_UNAVAILABLE },    { 418, ERROR_BACKEND },
        { 504, ERROR_UNAVAILABLE }, { 408, ERROR_UNAVAILABLE },    { 425, ERROR_UNAVAILABLE },
        { 429, ERROR_UNAVAILABLE },
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct remote_volume volume;

        answer(scene, rows[i].status, NULL);
        ck_assert_int_eq(read_it(scene, &volume), -1);
        ck_assert_int_eq(scene->err.kind, rows[i].kind);
    }
    scene_end(scene);
}
END_TEST

START_TEST(no_response_is_unavailable) {
    static const enum script_manner manners[] = { SCRIPT_CLOSE, SCRIPT_HALF };
    struct scene *scene = scene_new();
    struct remote_volume volume;

    for (size_t i = 0; i < LENGTH(manners); i++) {
        script_server_clear(scene->server);
        script_server_add(scene->server, &(struct script_rule){ .status = 200,
                                                                .body = "{\"volume\": {}}",
                                                                .manner = manners[i] });
        ck_assert_int_eq(read_it(scene, &volume), -1);
        ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    }
    script_server_pause(scene->server);
    ck_assert_int_eq(read_it(scene, &volume), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    scene_end(scene);
}
END_TEST

START_TEST(extending_volumes_are_listed_page_by_page) {
    struct scene *scene = scene_new();
    struct remote_volume *volumes;
    const char *query = "/v3/volumes/detail?all_tenants=1&status=extending&limit=100";

    answer(scene, 200,
           "{\"volumes\": [{\"id\": \"a\", \"status\": \"extending\", \"size\": 1},"
           " {\"id\": \"b\", \"status\": \"extending\", \"size\": 2}]}");
    ck_assert_int_eq(volumes_extending(&scene->api, scene->arena, NULL, &volumes, &scene->err), 2);
    ck_assert_str_eq(volumes[1].id, "b");
    ck_assert_uint_eq(script_server_count(scene->server, "GET", query), 1);
    answer(scene, 200, "{\"volumes\": []}");
    ck_assert_int_eq(volumes_extending(&scene->api, scene->arena, "b", &volumes, &scene->err), 0);
    ck_assert_uint_eq(
        script_server_count(scene->server, "GET",
                            "/v3/volumes/detail?all_tenants=1&status=extending&limit=100&marker=b"),
        1);
    scene_end(scene);
}
END_TEST

START_TEST(an_invalid_list_is_a_failure) {
    static const char *const bodies[] = { "", "{}", "{\"volumes\": {}}", "{\"volumes\": [1]}" };
    struct scene *scene = scene_new();
    struct remote_volume *volumes;

    for (size_t i = 0; i < LENGTH(bodies); i++) {
        answer(scene, 200, bodies[i]);
        ck_assert_int_eq(volumes_extending(&scene->api, scene->arena, NULL, &volumes, &scene->err),
                         -1);
        ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    }
    answer(scene, 403, NULL);
    ck_assert_int_eq(volumes_extending(&scene->api, scene->arena, NULL, &volumes, &scene->err), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_FORBIDDEN);
    scene_end(scene);
}
END_TEST

START_TEST(a_heartbeat_names_host_and_endpoint) {
    struct scene *scene = scene_new();
    const struct script_request *request;

    answer(scene, 200, "{}");
    ck_assert_int_eq(
        volumes_report(&scene->api, scene->arena, "h\"1", "http://h1/v2.1", &scene->err), 0);
    request = script_server_request(scene->server, "PUT", "/v3/os-services/report", 0);
    ck_assert_ptr_nonnull(request);
    ck_assert_ptr_nonnull(strstr(request->body, "\"binary\":\"scoria-compute\""));
    ck_assert_ptr_nonnull(strstr(request->body, "\"host\":\"h\\\"1\""));
    ck_assert_ptr_nonnull(strstr(request->body, "\"endpoint\":\"http://h1/v2.1\""));
    scene_end(scene);
}
END_TEST

static enum complete_outcome complete(struct scene *scene, bool failed) {
    return volumes_complete(&scene->api, scene->arena, ID, NULL, NULL, failed, &scene->err);
}

START_TEST(a_completion_has_error_as_a_boolean) {
    struct scene *scene = scene_new();

    answer(scene, 202, NULL);
    ck_assert_int_eq(complete(scene, false), COMPLETE_TAKEN);
    ck_assert_int_eq(complete(scene, true), COMPLETE_TAKEN);
    ck_assert_str_eq(script_server_request(scene->server, "POST", PATH "/action", 0)->body,
                     "{\"os-extend_volume_completion\": {\"error\": false}}");
    ck_assert_str_eq(script_server_request(scene->server, "POST", PATH "/action", 1)->body,
                     "{\"os-extend_volume_completion\": {\"error\": true}}");
    scene_end(scene);
}
END_TEST

START_TEST(responses_to_a_completion_are_distinguished) {
    static const struct {
        int status;
        enum complete_outcome outcome;
    } rows[] = {
        { 202, COMPLETE_TAKEN },   { 400, COMPLETE_UNWANTED }, { 404, COMPLETE_UNWANTED },
        { 401, COMPLETE_REFUSED }, { 403, COMPLETE_REFUSED },  { 406, COMPLETE_REFUSED },
        { 409, COMPLETE_FAILED },  { 500, COMPLETE_FAILED },   { 503, COMPLETE_FAILED },
        { 504, COMPLETE_FAILED },  { 301, COMPLETE_FAILED },   { 429, COMPLETE_FAILED },
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(rows); i++) {
        answer(scene, rows[i].status, NULL);
        ck_assert_int_eq(complete(scene, false), rows[i].outcome);
        ck_assert_int_eq(volumes_complete(&scene->api, scene->arena, ID, NULL, NULL, false, NULL),
                         rows[i].outcome);
    }
    script_server_pause(scene->server);
    ck_assert_int_eq(complete(scene, false), COMPLETE_FAILED);
    scene_end(scene);
}
END_TEST

START_TEST(the_catalog_leads_to_the_volume_api) {
    static const struct option *const tables[] = { own_user_options, NULL };
    struct scene *scene = scene_new();
    const struct script_request *request;
    struct remote_volume volume;
    struct config *config;
    char url[128];
    const char *arguments[] = { url, "--service_user.username=scoria",
                                "--service_user.password=secret",
                                "--service_user.project_name=service", NULL };

    snprintf(url, sizeof(url), "--service_user.auth_url=%s/v3", script_server_url(scene->server));
    ck_assert_int_eq(config_load(tables, NULL, arguments, &config, &scene->err), 0);
    ck_assert_int_eq(own_user_new(config, "service_user", &scene->api.user, &scene->err), 0);
    scene->api.url = NULL;
    scene->api.token = "not this one";
    ck_assert_int_eq(read_it(scene, &volume), -1); /* no Keystone yet */
    ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    script_keystone_begin(scene->server);
    script_server_add(scene->server,
                      &(struct script_rule){ .path = "/volume/v3/volumes/" ID,
                                             .status = 200,
                                             .body = "{\"volume\": {\"id\": \"" ID
                                                     "\", \"status\": \"in-use\", \"size\": 2}}" });
    ck_assert_msg(read_it(scene, &volume) == 0, "%s", scene->err.message);
    ck_assert_int_eq(volume.size_gb, 2);
    request = script_server_request(scene->server, "GET", "/volume/v3/volumes/" ID, 0);
    ck_assert(script_request_has(request, "X-Auth-Token", KEYSTONE_OWN));
    ck_assert_ptr_null(strstr(request->head, "not this one"));
    own_user_free(scene->api.user);
    config_free(config);
    scene_end(scene);
}
END_TEST

CHECK_MAIN("volumes", the_catalog_leads_to_the_volume_api,
           a_volume_is_read_with_its_target_and_attachments,
           a_target_is_plain_digits_of_a_size_or_none, a_volume_without_the_key_has_no_target,
           an_invalid_response_counts_as_none, a_failure_has_the_kind_of_its_status,
           no_response_is_unavailable, extending_volumes_are_listed_page_by_page,
           an_invalid_list_is_a_failure, a_heartbeat_names_host_and_endpoint,
           a_completion_has_error_as_a_boolean, responses_to_a_completion_are_distinguished)
