#include "tests/lib/check_main.h"

#include "http/client.h"
#include "http/server.h"
#include "tests/lib/exchange.h"
#include "tests/unit/compute/agent/agent_scene.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define ACTION "/v3/volumes/" VOLUME "/action"
#define EVENTS "/v2.1/os-server-external-events"
#define EXTENDED                                                                 \
    "{\"events\": [{\"name\": \"volume-extended\", \"server_uuid\": \"" INSTANCE \
    "\", \"tag\": \"" VOLUME "\"}]}"

struct scene {
    struct fake_hypervisor *fake;
    struct script_server *server;
    struct agent *agent;
    char url[URL_SIZE];
};

static struct scene *scene_new(void) {
    struct scene *scene = calloc(1, sizeof(*scene));
    struct disk disk;

    scene->fake = guest_new("", GIB, &disk);
    scene->server = volume_api_new(scene->url);
    script_server_add(scene->server, &(struct script_rule){
                                         .method = "GET",
                                         .path = "/v3/volumes/" VOLUME,
                                         .status = 200,
                                         .body = "{\"volume\": {\"id\": \"" VOLUME
                                                 "\", \"status\": \"extending\", \"size\": 1,"
                                                 " \"metadata\": {\"extend_new_size\": \"2\"}}}" });
    scene->agent = agent_new(scene->fake, scene->server, scene->url);
    return scene;
}

static void scene_end(struct scene *scene) {
    agent_stop(scene->agent);
    script_server_free(scene->server);
    fake_hypervisor_free(scene->fake);
    free(scene);
}

static struct test_exchange *send_request(struct scene *scene, const char *method, const char *path,
                                          const char *body) {
    static const struct http_header headers[] = { { "OpenStack-API-Version", "compute 2.93" },
                                                  { 0 } };
    struct test_exchange *test = test_exchange_new(method, path, headers, body);

    agent_handle(scene->agent, test_exchange_of(test));
    return test;
}

START_TEST(routes_are_found_and_others_are_not) {
    static const struct {
        const char *method, *path, *body;
        int status;
        const char *key; /* the answer's outer one */
    } rows[] = {
        { "GET", "", NULL, 200, "versions" },
        { "GET", "/", NULL, 200, "versions" },
        { "GET", "/v2.1", NULL, 200, "version" },
        { "GET", "/v2.1/", NULL, 200, "version" },
        { "POST", EVENTS, EXTENDED, 200, "events" },
        { "POST", "/v2.1/0123abc/os-server-external-events", EXTENDED, 200, "events" },
        { "POST", EVENTS, "{}", 400, "badRequest" },
        { "POST", "/v2.1//os-server-external-events", EXTENDED, 404, "itemNotFound" },
        { "POST", "/v2.1/a/b/os-server-external-events", EXTENDED, 404, "itemNotFound" },
        { "POST", "/v2.1/a/os-server-external-events/", EXTENDED, 404, "itemNotFound" },
        { "POST", "/v2/os-server-external-events", EXTENDED, 404, "itemNotFound" },
        { "GET", EVENTS, NULL, 405, "badMethod" },
        { "POST", "/", EXTENDED, 405, "badMethod" },
        { "DELETE", "/v2.1/", NULL, 405, "badMethod" },
        { "GET", "/v2.1/servers", NULL, 404, "itemNotFound" },
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct test_exchange *test =
            send_request(scene, rows[i].method, rows[i].path, rows[i].body);

        ck_assert_int_eq(test_exchange_await(test), rows[i].status);
        ck_assert_ptr_nonnull(json_object_get(test_exchange_json(test), rows[i].key));
        ck_assert_int_eq(strncmp(test_exchange_header(test, "X-OpenStack-Request-ID"), "req-", 4),
                         0);
        test_exchange_free(test);
    }
    scene_end(scene);
}
END_TEST

START_TEST(a_malformed_or_crowded_request_reaches_nothing) {
    struct scene *scene = scene_new();

    for (int i = 0; i < 2; i++) {
        struct test_exchange *test = test_exchange_new("POST", EVENTS, NULL, EXTENDED);

        test_exchange_of(test)->malformed = i == 0 ? "why" : NULL;
        test_exchange_of(test)->over_limit = i == 1;
        agent_handle(scene->agent, test_exchange_of(test));
        ck_assert_int_eq(test_exchange_await(test), i == 0 ? 400 : 503);
        test_exchange_free(test);
    }
    ck_assert_uint_eq(agent_open_jobs(scene->agent), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_fault_has_code_and_message) {
    struct scene *scene = scene_new();
    struct test_exchange *test = send_request(scene, "GET", "/nowhere", NULL);
    const json_t *fault = json_object_get(test_exchange_json(test), "itemNotFound");

    ck_assert_int_eq(json_integer_value(json_object_get(fault, "code")), 404);
    ck_assert_ptr_nonnull(json_string_value(json_object_get(fault, "message")));
    ck_assert_str_eq(test_exchange_header(test, "Content-Type"), "application/json");
    test_exchange_free(test);
    scene_end(scene);
}
END_TEST

/* The whole way, through a real server. */
START_TEST(an_event_over_http_grows_the_disk_and_is_reported) {
    struct scene *scene = scene_new();
    const struct http_mount mounts[] = { { "/compute", agent_handle, scene->agent }, { 0 } };
    struct http_server_settings settings = { .address = "127.0.0.1",
                                             .threads = 1,
                                             .mounts = mounts };
    const struct http_header headers[] = { { "OpenStack-API-Version", "compute 2.93" }, { 0 } };
    struct http_call call = { .method = "POST", .headers = headers, .body = EXTENDED };
    autoarena struct arena *arena = arena_new();
    struct http_server *server;
    struct http_answer answer;
    struct error err = { 0 };

    ck_assert_int_eq(http_server_start(&settings, &server, &err), 0);
    call.url = arena_format(arena, "http://127.0.0.1:%u/compute" EVENTS, http_server_port(server));
    ck_assert_int_eq(http_call(arena, &call, &answer, &err), 0);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_ptr_nonnull(strstr(answer.body, "\"code\":200"));
    ck_assert(script_server_await(scene->server, "POST", ACTION, 1));
    ck_assert_str_eq(script_server_request(scene->server, "POST", ACTION, 0)->body,
                     "{\"os-extend_volume_completion\": {\"error\": false}}");
    ck_assert_int_eq(fake_hypervisor_capacity(scene->fake, VOLUME), 2 * GIB);
    http_server_stop(server, 1000);
    scene_end(scene);
}
END_TEST

START_TEST(heartbeats_begin_with_the_agent) {
    struct scene *scene = scene_new();

    ck_assert(script_server_await(scene->server, "PUT", "/v3/os-services/report", 1));
    scene_end(scene);
}
END_TEST

START_TEST(every_exchange_is_answered_when_the_agent_stops) {
    struct scene *scene = scene_new();
    struct test_exchange *tests[50];

    for (size_t i = 0; i < LENGTH(tests); i++)
        tests[i] = send_request(scene, "POST", EVENTS, EXTENDED);
    scene_end(scene);
    for (size_t i = 0; i < LENGTH(tests); i++) {
        int status = test_exchange_await(tests[i]);

        ck_assert(status == 200 || status == 503);
        test_exchange_free(tests[i]);
    }
}
END_TEST

START_TEST(open_jobs_are_counted) {
    struct scene *scene = scene_new();
    struct test_exchange *test;

    ck_assert_uint_eq(agent_open_jobs(scene->agent), 0);
    fake_hypervisor_hold(scene->fake);
    test = send_request(scene, "POST", EVENTS, EXTENDED);
    ck_assert_int_eq(test_exchange_await(test), 200);
    ck_assert_uint_eq(agent_open_jobs(scene->agent), 1);
    fake_hypervisor_await_held(scene->fake);
    fake_hypervisor_release(scene->fake);
    test_exchange_free(test);
    scene_end(scene);
}
END_TEST

START_TEST(an_agent_without_its_parts_does_not_start) {
    struct scene *scene = scene_new();
    struct hypervisor *hypervisor = fake_hypervisor_of(scene->fake);
    const struct agent_settings rows[] = {
        { .volume_url = "http://v", .own_url = "http://o", .hypervisor = hypervisor },
        { .host = "h", .own_url = "http://o", .hypervisor = hypervisor },
        { .host = "h", .volume_url = "http://v", .hypervisor = hypervisor },
        { .host = "h", .volume_url = "http://v", .own_url = "http://o" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct agent *agent = NULL;
        struct error err = { 0 };

        ck_assert_int_eq(agent_start(&rows[i], &agent, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
        ck_assert_ptr_null(agent);
    }
    scene_end(scene);
}
END_TEST

CHECK_MAIN("agent", routes_are_found_and_others_are_not, a_fault_has_code_and_message,
           a_malformed_or_crowded_request_reaches_nothing,
           an_event_over_http_grows_the_disk_and_is_reported, heartbeats_begin_with_the_agent,
           every_exchange_is_answered_when_the_agent_stops, open_jobs_are_counted,
           an_agent_without_its_parts_does_not_start)
