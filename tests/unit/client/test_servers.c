#include "client/servers.h"

#include "client/compute_events.h"
#include "identity/own_user.h"
#include "tests/lib/check_main.h"
#include "tests/lib/script_keystone.h"

#include <stdio.h>
#include <string.h>

#define VOLUME       "11111111-1111-4111-8111-111111111111"
#define OTHER        "33333333-3333-4333-8333-333333333333"
#define SERVER       "22222222-2222-4222-8222-222222222222"
#define OURS         "44444444-4444-4444-8444-444444444444"
#define DISK         "/v2.1/servers/" SERVER "/os-volume_attachments/" VOLUME
#define LIST         "/v2.1/servers/detail?all_tenants=True&soft_deleted=True&uuid=" SERVER
#define ABSENT       "{\"itemNotFound\": {\"code\": 404, \"message\": \"not there\"}}"
#define UNUSED       "{\"servers\": []}"
#define ATTACHED(id) "{\"volumeAttachment\": {\"attachment_id\": \"" id "\"}}"
#define LISTED(id, task, volume)                                           \
    "{\"servers\": [{\"id\": \"" id "\", \"OS-EXT-STS:task_state\": " task \
    ", \"os-extended-volumes:volumes_attached\": [{\"id\": \"" volume "\"}]}]}"

static const struct option *const tables[] = { compute_client_options, own_user_options, NULL };

static const struct server_question question = {
    .server_id = SERVER, .volume_id = VOLUME, .attachment_id = OURS, .request_id = "req-5"
};

struct scene {
    struct script_server *nova;
    struct config *config;
    struct servers *servers;
    struct arena *arena;
    struct error err;
};

static void scene_begin(struct scene *scene) {
    char endpoint[128];

    *scene = (struct scene){ .nova = script_server_new(), .arena = arena_new() };
    snprintf(endpoint, sizeof(endpoint), "--compute.endpoint=%s/v2.1",
             script_server_url(scene->nova));
    ck_assert_int_eq(config_load(tables, NULL,
                                 (const char *const[]){ endpoint, "--compute.token=secret", NULL },
                                 &scene->config, &scene->err),
                     0);
    ck_assert_int_eq(servers_new(scene->config, &scene->servers, &scene->err), 0);
    ck_assert_ptr_nonnull(scene->servers);
}

static void scene_end(struct scene *scene) {
    servers_free(scene->servers);
    config_free(scene->config);
    script_server_free(scene->nova);
    arena_free(scene->arena);
}
#define autoscene __attribute__((cleanup(scene_end)))

static enum server_use ask(struct scene *scene, const struct script_rule *disk,
                           const struct script_rule *list) {
    script_server_clear(scene->nova);
    script_server_add(scene->nova, disk);
    script_server_add(scene->nova, list);
    return servers_ask(scene->servers, scene->arena, &question, &scene->err);
}

START_TEST(the_response_of_nova_decides) {
    static const struct {
        int status;
        const char *disk;
        int list_status;
        const char *list;
        enum server_use use;
    } rows[] = {
        { 200, ATTACHED(OURS), 500, "", SERVER_USES },
        { 404, ABSENT, 200, UNUSED, SERVER_USES_NOT },
        { 404, ABSENT, 200, LISTED(SERVER, "null", OTHER), SERVER_USES_NOT },
        { 200, ATTACHED(OTHER), 200, LISTED(SERVER, "null", VOLUME), SERVER_USES_NOT },
        /* it moves: the other attachment is where it goes to, or comes from */
        { 200, ATTACHED(OTHER), 200, LISTED(SERVER, "\"migrating\"", VOLUME), SERVER_USE_UNKNOWN },
        { 404, ABSENT, 200, LISTED(SERVER, "\"deleting\"", OTHER), SERVER_USE_UNKNOWN },
        /* our user does not see it */
        { 404, ABSENT, 403, "{\"forbidden\": {\"code\": 403}}", SERVER_USE_UNKNOWN },
        { 404, ABSENT, 200, LISTED(SERVER, "null", VOLUME), SERVER_USE_UNKNOWN },
        { 404, ABSENT, 200, LISTED(OTHER, "null", OTHER), SERVER_USE_UNKNOWN },
        { 404, ABSENT, 404, ABSENT, SERVER_USE_UNKNOWN },
        { 404, ABSENT, 200, "{}", SERVER_USE_UNKNOWN },
        { 404, ABSENT, 200, "[]", SERVER_USE_UNKNOWN },
        { 404, ABSENT, 200, "{\"servers\": [{\"id\": \"" SERVER "\"}]}", SERVER_USE_UNKNOWN },
        { 404, ABSENT, 200, "no JSON", SERVER_USE_UNKNOWN },
        { 200, ATTACHED(OTHER), 200, UNUSED, SERVER_USE_UNKNOWN },
        /* one that is too old, refuses us, or is in trouble */
        { 200, "{\"volumeAttachment\": {\"id\": \"" VOLUME "\"}}", 200, UNUSED,
          SERVER_USE_UNKNOWN },
        { 200, "{}", 200, UNUSED, SERVER_USE_UNKNOWN },
        { 200, "no JSON", 200, UNUSED, SERVER_USE_UNKNOWN },
        { 406, "", 200, UNUSED, SERVER_USE_UNKNOWN },
        { 401, "", 200, UNUSED, SERVER_USE_UNKNOWN },
        { 403, "", 200, UNUSED, SERVER_USE_UNKNOWN },
        { 500, "", 200, UNUSED, SERVER_USE_UNKNOWN },
        { 503, "", 200, UNUSED, SERVER_USE_UNKNOWN },
        { 204, "", 200, UNUSED, SERVER_USE_UNKNOWN },
    };
    autoscene struct scene scene;

    scene_begin(&scene);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct script_rule disk = { "GET", DISK, rows[i].status, .body = rows[i].disk };
        const struct script_rule list = { "GET", LIST, rows[i].list_status, .body = rows[i].list };

        scene.err.message[0] = '\0';
        ck_assert_msg(ask(&scene, &disk, &list) == rows[i].use, "row %zu: %s", i,
                      scene.err.message);
        if (rows[i].use == SERVER_USE_UNKNOWN)
            ck_assert_str_ne(scene.err.message, "");
    }
}
END_TEST

START_TEST(a_query_has_the_services_token) {
    autoscene struct scene scene;
    const struct script_request *request;

    scene_begin(&scene);
    ck_assert_int_eq(ask(&scene, &(struct script_rule){ .status = 200, .body = ATTACHED(OURS) },
                         &(struct script_rule){ .status = 500 }),
                     SERVER_USES);
    request = script_server_request(scene.nova, "GET", DISK, 0);
    ck_assert_ptr_nonnull(request);
    ck_assert(script_request_has(request, "OpenStack-API-Version", "compute 2.89"));
    ck_assert(script_request_has(request, "X-Auth-Token", "secret"));
    ck_assert(script_request_has(request, "X-OpenStack-Request-ID", "req-5"));
}
END_TEST

START_TEST(a_missing_service_decides_nothing) {
    static const enum script_manner manners[] = { SCRIPT_HALF, SCRIPT_CLOSE };
    autoscene struct scene scene;

    scene_begin(&scene);
    for (size_t i = 0; i < LENGTH(manners); i++) {
        const struct script_rule disk = { .status = 404, .body = ABSENT, .manner = manners[i] };

        ck_assert_int_eq(ask(&scene, &disk, &disk), SERVER_USE_UNKNOWN);
    }
    script_server_pause(scene.nova);
    ck_assert_int_eq(servers_ask(scene.servers, scene.arena, &question, &scene.err),
                     SERVER_USE_UNKNOWN);
    script_server_resume(scene.nova);
}
END_TEST

START_TEST(an_id_leads_nowhere_else) {
    autoscene struct scene scene;
    struct server_question wrong = question;

    scene_begin(&scene);
    wrong.server_id = "../servers/" SERVER;
    ck_assert_int_eq(servers_ask(scene.servers, scene.arena, &wrong, &scene.err),
                     SERVER_USE_UNKNOWN);
    ck_assert_uint_eq(script_server_count(scene.nova, NULL, NULL), 0);
}
END_TEST

START_TEST(without_an_endpoint_and_a_user_no_service_is_queried) {
    struct servers *servers;
    struct config *config;
    struct error err;

    ck_assert_int_eq(config_load(tables, NULL, (const char *const[]){ NULL }, &config, &err), 0);
    ck_assert_int_eq(servers_new(config, &servers, &err), 0);
    ck_assert_ptr_null(servers);
    servers_free(servers);
    config_free(config);
}
END_TEST

CHECK_MAIN("servers", the_response_of_nova_decides, a_query_has_the_services_token,
           a_missing_service_decides_nothing, an_id_leads_nowhere_else,
           without_an_endpoint_and_a_user_no_service_is_queried)
