/* …/os-assisted-volume-snapshots as the whole agent answers it. */
#include "tests/lib/check_main.h"

#include "http/client.h"
#include "http/server.h"
#include "tests/lib/exchange.h"
#include "tests/unit/compute/agent/agent_scene.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SNAPSHOT "33333333-3333-4333-8333-333333333333"
#define BASE     "volume-" VOLUME
#define FIRST    BASE ".aaaaaaaa-5555-4555-8555-555555555555"
#define SECOND   BASE ".bbbbbbbb-5555-4555-8555-555555555555"
#define OTHER    "volume-" SNAPSHOT
#define ACTION   "/v3/snapshots/" SNAPSHOT "/action"
#define ROUTE    "/v2.1/os-assisted-volume-snapshots"
#define DELETED  ROUTE "/" SNAPSHOT

#define CREATE_OF(volume, info) \
    "{\"snapshot\": {\"volume_id\": \"" volume "\", \"create_info\": {" info "}}}"
#define INFO(file) \
    "\"snapshot_id\": \"" SNAPSHOT "\", \"type\": \"qcow2\", \"new_file\": \"" file "\""
#define CREATE CREATE_OF(VOLUME, INFO(FIRST))

#define MERGE_OF(volume, file, target)                                              \
    "{\"volume_id\": \"" volume "\", \"type\": \"qcow2\", \"file_to_merge\": " file \
    ", \"merge_target_file\": " target "}"
#define MERGE(file, target) MERGE_OF(VOLUME, file, target)
#define QUOTED(text)        "\"" text "\""

struct scene {
    struct fake_hypervisor *fake;
    struct script_server *server;
    struct agent *agent;
    struct disk disk;
    struct test_exchange *test;
    char url[URL_SIZE];
};

static struct scene *scene_new(void) {
    struct scene *scene = calloc(1, sizeof(*scene));

    scene->fake = guest_new("/there/" BASE, 0, &scene->disk);
    fake_hypervisor_put_file(scene->fake, "/there/" FIRST);
    scene->server = volume_api_new(scene->url);
    scene->agent = agent_new(scene->fake, scene->server, scene->url);
    return scene;
}

static void scene_end(struct scene *scene) {
    if (scene->test)
        test_exchange_free(scene->test);
    agent_stop(scene->agent);
    script_server_free(scene->server);
    fake_hypervisor_free(scene->fake);
    free(scene);
}

static int send_request(struct scene *scene, const char *method, const char *path,
                        const char *query, const char *body) {
    if (scene->test)
        test_exchange_free(scene->test);
    scene->test = test_exchange_new(method, path, NULL, body);
    if (query)
        test_exchange_of(scene->test)->query = query;
    agent_handle(scene->agent, test_exchange_of(scene->test));
    return test_exchange_await(scene->test);
}

/* With the JSON as the query's delete_info. */
static int request_delete(struct scene *scene, const char *path, const char *info) {
    autoarena struct arena *arena = arena_new();
    char *query = arena_alloc(arena, 3 * strlen(info) + 20), *end = query;

    end += sprintf(end, "delete_info=");
    for (; *info; info++)
        end += sprintf(end, "%%%02X", (unsigned char)*info);
    return send_request(scene, "DELETE", path, query, NULL);
}

static void await_jobs(struct scene *scene) {
    const struct timespec pause = { .tv_nsec = 1000000 };

    while (agent_open_jobs(scene->agent) > 0)
        nanosleep(&pause, NULL);
}

static void await_merge(struct scene *scene) {
    const struct timespec pause = { .tv_nsec = 1000000 };

    while (fake_hypervisor_count(scene->fake, FAKE_MERGE_DISK) == 0)
        nanosleep(&pause, NULL);
}

static const char *last_report(struct scene *scene) {
    unsigned count = script_server_count(scene->server, "POST", ACTION);

    return script_server_request(scene->server, "POST", ACTION, count - 1)->body;
}

static const char *message(struct scene *scene) {
    const char *text = json_string_value(
        json_object_get(json_object_get(test_exchange_json(scene->test), "badRequest"), "message"));

    return text ? text : "";
}

START_TEST(a_create_is_answered_as_nova_does) {
    static const char *const paths[] = { ROUTE, "/v2.1/0123abc/os-assisted-volume-snapshots" };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(paths); i++) {
        const json_t *snapshot;

        ck_assert_int_eq(send_request(scene, "POST", paths[i], NULL, CREATE), 200);
        snapshot = json_object_get(test_exchange_json(scene->test), "snapshot");
        ck_assert_uint_eq(json_object_size(snapshot), 2);
        ck_assert(json_is_null(json_object_get(snapshot, "id")));
        ck_assert_str_eq(json_string_value(json_object_get(snapshot, "volumeId")), VOLUME);
        ck_assert_str_eq(test_exchange_header(scene->test, "OpenStack-API-Version"), "compute 2.1");
    }
    ck_assert_int_eq(send_request(scene, "POST", ROUTE, NULL,
                                  CREATE_OF(VOLUME, "\"id\": \"mine\", " INFO(FIRST))),
                     200);
    ck_assert_str_eq(json_string_value(json_object_get(
                         json_object_get(test_exchange_json(scene->test), "snapshot"), "id")),
                     "mine");
    await_jobs(scene);
    assert_chain_of(scene->fake, FIRST " " BASE);
    scene_end(scene);
}
END_TEST

START_TEST(a_delete_is_answered_as_nova_does) {
    static const char *const paths[] = { DELETED,
                                         "/v2.1/0123abc/os-assisted-volume-snapshots/" SNAPSHOT };
    struct scene *scene = scene_new();

    fake_hypervisor_put_above(scene->fake, VOLUME, "/there/" FIRST);
    for (size_t i = 0; i < LENGTH(paths); i++) {
        ck_assert_int_eq(request_delete(scene, paths[i], MERGE("null", "null")), 204);
        ck_assert_uint_eq(test_exchange_of(scene->test)->reply_size, 0);
    }
    ck_assert(script_server_await(scene->server, "POST", ACTION, 2));
    fake_hypervisor_end_job(scene->fake, VOLUME, true);
    await_jobs(scene);
    assert_chain_of(scene->fake, FIRST);
    scene_end(scene);
}
END_TEST

START_TEST(an_invalid_body_is_refused_and_the_field_named) {
    static const struct {
        const char *body, *named;
    } rows[] = {
        { "", "JSON" },
        { "[]", "body" },
        { "{}", "snapshot" },
        { "{\"snapshot\": []}", "snapshot" },
        { "{\"snapshot\": {\"volume_id\": \"" VOLUME "\"}}", "create_info" },
        { "{\"snapshot\": {\"create_info\": {" INFO(FIRST) "}}}", "volume_id" },
        { "{\"more\": 1, \"snapshot\": {}}", "more" },
        { CREATE_OF("x", INFO(FIRST)), "volume_id" },
        { CREATE_OF(VOLUME,
                    "\"snapshot_id\": \"x\", \"type\": \"qcow2\", \"new_file\": \"" FIRST "\""),
          "snapshot_id" },
        { CREATE_OF(VOLUME, "\"snapshot_id\": \"" SNAPSHOT
                            "\", \"type\": \"raw\", \"new_file\": \"" FIRST "\""),
          "type" },
        { CREATE_OF(VOLUME, "\"snapshot_id\": \"" SNAPSHOT "\", \"type\": \"qcow2\""), "new_file" },
        { CREATE_OF(VOLUME, "\"more\": 1, " INFO(FIRST)),
          "'more' is not a known key of 'create_info'" },
        { CREATE_OF(VOLUME, "\"together\": [], " INFO(FIRST)), "together" },
        { CREATE_OF(VOLUME, "\"together\": [\"" SNAPSHOT "\"], " INFO(FIRST)), "together" },
        { CREATE_OF(VOLUME, "\"together\": [\"" SNAPSHOT "\", \"x\"], " INFO(FIRST)), "together" },
        { CREATE_OF(VOLUME, "\"together\": [\"" SNAPSHOT "\", \"" SNAPSHOT "\"], " INFO(FIRST)),
          "together" },
        { CREATE_OF(VOLUME, "\"together\": [\"" VOLUME "\", \"" INSTANCE "\"], " INFO(FIRST)),
          "together" },
        { CREATE_OF(VOLUME, INFO("")), "new_file" },
        { CREATE_OF(VOLUME, INFO("image")), "new_file" },
        { CREATE_OF(VOLUME, INFO("/there/" FIRST)), "new_file" },
        { CREATE_OF(VOLUME, INFO("../" FIRST)), "new_file" },
        { CREATE_OF(VOLUME, INFO("./" FIRST)), "new_file" },
        { CREATE_OF(VOLUME, INFO(FIRST "/")), "new_file" },
        { CREATE_OF(VOLUME, INFO(FIRST ".")), "new_file" },
        { CREATE_OF(VOLUME, INFO(FIRST "." SNAPSHOT)), "new_file" },
        { CREATE_OF(VOLUME, INFO(BASE ".")), "new_file" },
        { CREATE_OF(VOLUME, INFO(BASE "..")), "new_file" },
        { CREATE_OF(VOLUME, INFO(BASE ".info")), "new_file" },
        { CREATE_OF(VOLUME, INFO(BASE "/../" FIRST)), "new_file" },
        { CREATE_OF(VOLUME, INFO(BASE "\\n")), "new_file" },
        { CREATE_OF(VOLUME, INFO("volume-")), "new_file" },
        { CREATE_OF(VOLUME, INFO("VOLUME-" VOLUME)), "new_file" },
        { CREATE_OF(VOLUME, INFO("volume-AAAAAAAA-5555-4555-8555-555555555555")), "new_file" },
        { CREATE_OF(VOLUME, INFO("volume-11111111111141118111111111111111")), "new_file" },
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(rows); i++) {
        ck_assert_int_eq(send_request(scene, "POST", ROUTE, NULL, rows[i].body), 400);
        ck_assert_msg(strstr(message(scene), rows[i].named), "%s -> %s", rows[i].body,
                      message(scene));
    }
    ck_assert_uint_eq(agent_open_jobs(scene->agent), 0);
    ck_assert_uint_eq(fake_hypervisor_count(scene->fake, FAKE_FIND_DISK), 0);
    scene_end(scene);
}
END_TEST

START_TEST(an_invalid_delete_info_is_refused_and_the_field_named) {
    static const struct {
        const char *info, *named;
    } rows[] = {
        { "", "delete_info" },
        { "{", "delete_info" },
        { "[]", "delete_info" },
        { "{}", "volume_id" },
        { MERGE_OF("x", "null", "null"), "volume_id" },
        { "{\"volume_id\": \"" VOLUME "\", \"type\": \"qcow2\"}", "file_to_merge" },
        { "{\"volume_id\": \"" VOLUME "\", \"type\": \"qcow2\", \"file_to_merge\": null}",
          "merge_target_file" },
        { "{\"volume_id\": \"" VOLUME "\", \"type\": \"raw\", \"file_to_merge\": null, "
          "\"merge_target_file\": null}",
          "type" },
        { MERGE("1", "null"), "file_to_merge" },
        { MERGE("null", QUOTED(BASE)), "file_to_merge" },
        { MERGE(QUOTED("../" FIRST), "null"), "file_to_merge" },
        { MERGE(QUOTED("/there/" FIRST), QUOTED(BASE)), "file_to_merge" },
        { MERGE(QUOTED(FIRST), QUOTED("/there/" BASE)), "merge_target_file" },
        { MERGE(QUOTED(FIRST), QUOTED(OTHER)), "merge_target_file" },
        { MERGE(QUOTED(FIRST), "true"), "merge_target_file" },
    };
    static const char *const queries[] = { "",
                                           "delete_info",
                                           "delete_infos={}",
                                           "delete_info=%",
                                           "delete_info=%00",
                                           "delete_info={}&delete_info={}" };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(rows); i++) {
        ck_assert_int_eq(request_delete(scene, DELETED, rows[i].info), 400);
        ck_assert_msg(strstr(message(scene), rows[i].named), "%s -> %s", rows[i].info,
                      message(scene));
    }
    for (size_t i = 0; i < LENGTH(queries); i++) {
        ck_assert_int_eq(send_request(scene, "DELETE", DELETED, queries[i], NULL), 400);
        ck_assert_ptr_nonnull(strstr(message(scene), "delete_info"));
    }
    ck_assert_int_eq(request_delete(scene, ROUTE "/x", MERGE("null", "null")), 400);
    ck_assert_uint_eq(fake_hypervisor_count(scene->fake, FAKE_FIND_DISK), 0);
    scene_end(scene);
}
END_TEST

/* Requests that are impossible now: certain refusals, of which nothing remains. */
START_TEST(an_impossible_request_is_refused_immediately) {
    struct scene *scene = scene_new();

    ck_assert_int_eq(
        send_request(scene, "POST", ROUTE, NULL, CREATE_OF(VOLUME, INFO(OTHER "." SNAPSHOT))), 400);
    ck_assert_int_eq(request_delete(scene, DELETED, MERGE(QUOTED(BASE), "null")), 400);
    scene->disk.read_only = true;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    ck_assert_int_eq(send_request(scene, "POST", ROUTE, NULL, CREATE), 400);
    scene->disk.state = DISK_OFF;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    ck_assert_int_eq(send_request(scene, "POST", ROUTE, NULL, CREATE), 400);
    ck_assert_ptr_nonnull(strstr(message(scene), "not running"));
    ck_assert_uint_eq(agent_open_jobs(scene->agent), 0);
    ck_assert_uint_eq(script_server_count(scene->server, "POST", "/v3/snapshots/*"), 0);
    scene_end(scene);
}
END_TEST

START_TEST(an_unresponsive_hypervisor_is_reported) {
    struct scene *scene = scene_new();

    fake_hypervisor_fail(scene->fake, FAKE_FIND_DISK, ERROR_UNAVAILABLE, 1, false);
    ck_assert_int_eq(send_request(scene, "POST", ROUTE, NULL, CREATE), 503);
    ck_assert_uint_eq(agent_open_jobs(scene->agent), 0);
    ck_assert_int_eq(send_request(scene, "POST", ROUTE, NULL, CREATE), 200);
    ck_assert(script_server_await(scene->server, "POST", ACTION, 2));
    scene_end(scene);
}
END_TEST

/* As when libvirtd and the agent have just been started, so that requests are repeated: both are
 * there before the guests are. */
START_TEST(a_guest_that_is_not_seen_yet_is_waited_for) {
    for (int deletes = 0; deletes <= 1; deletes++) {
        struct scene *scene = scene_new();

        if (deletes)
            fake_hypervisor_put_above(scene->fake, VOLUME, "/there/" FIRST);
        fake_hypervisor_hide(scene->fake, true);
        ck_assert_int_eq(deletes ? request_delete(scene, DELETED, MERGE("null", "null"))
                                 : send_request(scene, "POST", ROUTE, NULL, CREATE),
                         deletes ? 204 : 200);
        ck_assert(script_server_await(scene->server, "POST", ACTION, 1)); /* reports that it
                                                                           * waits */
        ck_assert_uint_eq(agent_open_jobs(scene->agent), 1);
        fake_hypervisor_hide(scene->fake, false);
        if (deletes) {
            await_merge(scene);
            fake_hypervisor_end_job(scene->fake, VOLUME, true);
        }
        await_jobs(scene);
        assert_chain_of(scene->fake, deletes ? FIRST : FIRST " " BASE);
        ck_assert_ptr_nonnull(strstr(last_report(scene), "90%"));
        scene_end(scene);
    }
}
END_TEST

START_TEST(other_paths_and_methods_are_not_there) {
    static const struct {
        const char *method, *path;
        int status;
    } rows[] = {
        { "GET", ROUTE, 405 },
        { "DELETE", ROUTE, 405 },
        { "GET", DELETED, 405 },
        { "POST", DELETED, 405 },
        { "DELETE", ROUTE "/", 404 },
        { "DELETE", DELETED "/x", 404 },
        { "DELETE", "/v2.1//os-assisted-volume-snapshots/" SNAPSHOT, 404 },
        { "DELETE", "/v2.1/a/b/os-assisted-volume-snapshots/" SNAPSHOT, 404 },
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(rows); i++)
        ck_assert_int_eq(send_request(scene, rows[i].method, rows[i].path, NULL, NULL),
                         rows[i].status);
    scene_end(scene);
}
END_TEST

START_TEST(versions_are_negotiated_and_large_bodies_refused) {
    static const struct http_header wrong[] = { { "OpenStack-API-Version", "compute 2.94" },
                                                { 0 } };
    struct scene *scene = scene_new();

    scene->test = test_exchange_new("POST", ROUTE, wrong, CREATE);
    agent_handle(scene->agent, test_exchange_of(scene->test));
    ck_assert_int_eq(test_exchange_await(scene->test), 406);
    test_exchange_free(scene->test);
    scene->test = test_exchange_new("POST", ROUTE, NULL, "");
    test_exchange_of(scene->test)->too_large = true;
    agent_handle(scene->agent, test_exchange_of(scene->test));
    ck_assert_int_eq(test_exchange_await(scene->test), 413);
    scene_end(scene);
}
END_TEST

/* Through a real server, as the service sends requests. */
START_TEST(create_and_delete_are_served_over_http) {
    struct scene *scene = scene_new();
    const struct http_mount mounts[] = { { "/compute", agent_handle, scene->agent }, { 0 } };
    struct http_server_settings settings = { .address = "127.0.0.1",
                                             .threads = 1,
                                             .mounts = mounts };
    struct http_call call = { .method = "POST", .body = CREATE };
    autoarena struct arena *arena = arena_new();
    struct http_server *server;
    struct http_answer answer;
    struct error err = { 0 };

    ck_assert_int_eq(http_server_start(&settings, &server, &err), 0);
    call.url = arena_format(arena, "http://127.0.0.1:%u/compute" ROUTE, http_server_port(server));
    ck_assert_int_eq(http_call(arena, &call, &answer, &err), 0);
    ck_assert_int_eq(answer.status, 200);
    await_jobs(scene);
    call = (struct http_call){ .method = "DELETE",
                               .url = arena_format(
                                   arena,
                                   "%s/" SNAPSHOT "?delete_info=%%7B%%22volume_id%%22:%%22" VOLUME
                                   "%%22,%%22type%%22:+%%22qcow2%%22,%%22file_to_merge%%22:null,"
                                   "%%22merge_target_file%%22:null%%7D",
                                   call.url) };
    ck_assert_int_eq(http_call(arena, &call, &answer, &err), 0);
    ck_assert_int_eq(answer.status, 204);
    http_server_stop(server, 1000);
    scene_end(scene);
}
END_TEST

CHECK_MAIN("assist", a_create_is_answered_as_nova_does, a_delete_is_answered_as_nova_does,
           an_invalid_body_is_refused_and_the_field_named,
           an_invalid_delete_info_is_refused_and_the_field_named,
           an_impossible_request_is_refused_immediately, an_unresponsive_hypervisor_is_reported,
           a_guest_that_is_not_seen_yet_is_waited_for, other_paths_and_methods_are_not_there,
           versions_are_negotiated_and_large_bodies_refused, create_and_delete_are_served_over_http)
