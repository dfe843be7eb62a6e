#include "tests/lib/check_main.h"

#include "common/log.h"
#include "compute/agent/event.h"
#include "tests/lib/exchange.h"
#include "tests/lib/fake_hypervisor.h"
#include "tests/lib/script_server.h"

#include <stdio.h>
#include <string.h>

#define VOLUME   "11111111-1111-4111-8111-111111111111"
#define INSTANCE "22222222-2222-4222-8222-222222222222"
#define UNKNOWN  "33333333-3333-4333-8333-333333333333"
#define READ     "/v3/volumes/" VOLUME

#define EVENT(name, instance, rest) \
    "{\"name\": \"" name "\", \"server_uuid\": \"" instance "\"" rest "}"
#define EVENTS(list) "{\"events\": [" list "]}"
#define TAG          ", \"tag\": \"" VOLUME "\""
#define EXTENDED     EVENT("volume-extended", INSTANCE, TAG)

/* A host with one instance; the volume API knows no volume, so that jobs end at once. */
struct scene {
    struct fake_hypervisor *fake;
    struct script_server *server;
    struct jobs *jobs;
    struct test_exchange *test;
    char url[80];
};

static struct scene *scene_new(void) {
    struct scene *scene = calloc(1, sizeof(*scene));
    struct job_settings settings = { .host = "here", .workers = 1, .retry_ms = 1 };

    log_open(-1, LOG_ERROR, LOG_TEXT);
    scene->fake = fake_hypervisor_new();
    fake_hypervisor_add_instance(scene->fake, INSTANCE);
    scene->server = script_server_new();
    script_server_add(scene->server, &(struct script_rule){ .status = 404, .body = "{}" });
    snprintf(scene->url, sizeof(scene->url), "%s/v3", script_server_url(scene->server));
    settings.hypervisor = fake_hypervisor_of(scene->fake);
    settings.api.url = scene->url;
    scene->jobs = jobs_new(&settings);
    return scene;
}

static void scene_end(struct scene *scene) {
    if (scene->test)
        test_exchange_free(scene->test);
    jobs_stop(scene->jobs);
    script_server_free(scene->server);
    fake_hypervisor_free(scene->fake);
    free(scene);
}

/* The status of the answer; 0 when the body was refused before, with its kind in *err. */
static int post_at(struct scene *scene, const char *version, const char *body, struct error *err) {
    const struct http_header headers[] = {
        { "OpenStack-API-Version", version },
        { "X-OpenStack-Request-ID", "req-9" },
        { 0 },
    };
    struct event_request *request;

    if (scene->test)
        test_exchange_free(scene->test);
    scene->test = test_exchange_new("POST", "/", headers, body);
    request = event_read(test_exchange_of(scene->test), err);
    if (!request)
        return 0;
    event_answer(request, fake_hypervisor_of(scene->fake), scene->jobs);
    return test_exchange_await(scene->test);
}

static int post(struct scene *scene, const char *body) {
    struct error err = { 0 };

    return post_at(scene, "compute 2.93", body, &err);
}

static const json_t *event_at(struct scene *scene, size_t i) {
    return json_array_get(json_object_get(test_exchange_json(scene->test), "events"), i);
}

static const char *text(const json_t *event, const char *key) {
    return json_string_value(json_object_get(event, key));
}

static json_int_t code(const json_t *event) {
    return json_integer_value(json_object_get(event, "code"));
}

START_TEST(an_event_of_an_instance_here_is_accepted_and_starts_a_job) {
    struct scene *scene = scene_new();
    const json_t *event;

    ck_assert_int_eq(post(scene, EVENTS(EXTENDED)), 200);
    event = event_at(scene, 0);
    ck_assert_str_eq(text(event, "name"), "volume-extended");
    ck_assert_str_eq(text(event, "server_uuid"), INSTANCE);
    ck_assert_str_eq(text(event, "tag"), VOLUME);
    ck_assert_str_eq(text(event, "status"), "completed");
    ck_assert_int_eq(code(event), 200);
    ck_assert_str_eq(test_exchange_header(scene->test, "OpenStack-API-Version"), "compute 2.93");
    ck_assert_str_eq(test_exchange_header(scene->test, "Content-Type"), "application/json");
    ck_assert(script_server_await(scene->server, "GET", READ, 1));
    ck_assert(script_request_has(script_server_request(scene->server, "GET", READ, 0),
                                 "X-OpenStack-Request-ID", "req-9"));
    scene_end(scene);
}
END_TEST

START_TEST(ids_are_understood_in_any_form_and_echoed_as_sent) {
    struct scene *scene = scene_new();

    ck_assert_int_eq(post(scene, EVENTS(EVENT("volume-extended", "22222222222242228222222222222222",
                                              ", \"tag\": \"11111111111141118111111111111111\""))),
                     200);
    ck_assert_str_eq(text(event_at(scene, 0), "server_uuid"), "22222222222242228222222222222222");
    ck_assert_str_eq(text(event_at(scene, 0), "tag"), "11111111111141118111111111111111");
    ck_assert(script_server_await(scene->server, "GET", READ, 1));
    scene_end(scene);
}
END_TEST

START_TEST(each_event_has_its_code_in_the_order_of_the_request) {
    struct scene *scene = scene_new();

    ck_assert_int_eq(
        post(scene,
             EVENTS(EVENT("volume-extended", UNKNOWN, TAG) "," EXTENDED "," EVENT(
                 "volume-extended", INSTANCE, "") "," EVENT("network-changed", INSTANCE,
                                                            ", \"status\": \"in-progress\""))),
        207);
    ck_assert_int_eq(code(event_at(scene, 0)), 404);
    ck_assert_str_eq(text(event_at(scene, 0), "status"), "failed");
    ck_assert_int_eq(code(event_at(scene, 1)), 200);
    ck_assert_int_eq(code(event_at(scene, 2)), 400);
    ck_assert_str_eq(text(event_at(scene, 2), "status"), "failed");
    ck_assert_ptr_null(text(event_at(scene, 2), "tag"));
    ck_assert_int_eq(code(event_at(scene, 3)), 200);
    ck_assert_str_eq(text(event_at(scene, 3), "status"), "in-progress");
    ck_assert_ptr_null(event_at(scene, 4));
    ck_assert(script_server_await(scene->server, "GET", READ, 1));
    scene_end(scene);
}
END_TEST

START_TEST(an_unknown_instance_is_207_even_alone_and_starts_nothing) {
    struct scene *scene = scene_new();

    ck_assert_int_eq(post(scene, EVENTS(EVENT("volume-extended", UNKNOWN, TAG))), 207);
    ck_assert_int_eq(post(scene, EVENTS(EVENT("volume-extended", UNKNOWN, ""))), 207);
    ck_assert_int_eq(code(event_at(scene, 0)), 404);
    ck_assert_uint_eq(jobs_open(scene->jobs), 0);
    ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_tag_that_is_no_volume_starts_nothing) {
    static const char *const tags[] = { ", \"tag\": \"\"", ", \"tag\": \"vol\"",
                                        ", \"tag\": \"../" VOLUME "\"" };

    for (size_t i = 0; i < LENGTH(tags); i++) {
        struct scene *scene = scene_new();
        char body[256];

        snprintf(body, sizeof(body),
                 "{\"events\": [{\"name\": \"volume-extended\", \"server_uuid\": \"" INSTANCE
                 "\"%s}]}",
                 tags[i]);
        ck_assert_int_eq(post(scene, body), 207);
        ck_assert_int_eq(code(event_at(scene, 0)), 400);
        ck_assert_uint_eq(jobs_open(scene->jobs), 0);
        scene_end(scene);
    }
}
END_TEST

START_TEST(names_follow_the_microversion) {
    static const struct {
        const char *name, *before, *since;
    } rows[] = {
        { "network-changed", NULL, "compute 2.1" },
        { "network-vif-plugged", NULL, "compute 2.1" },
        { "network-vif-unplugged", NULL, "compute 2.1" },
        { "network-vif-deleted", NULL, "compute 2.1" },
        { "volume-extended", "compute 2.50", "compute 2.51" },
        { "power-update", "compute 2.75", "compute 2.76" },
        { "accelerator-request-bound", "compute 2.81", "compute 2.82" },
        { "volume-reimaged", "compute 2.92", "compute 2.93" },
        { "no-such-event", "compute 2.93", NULL },
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct error err = { 0 };
        char body[256];

        snprintf(body, sizeof(body),
                 "{\"events\": [{\"name\": \"%s\", \"server_uuid\": \"" INSTANCE "\"" TAG "}]}",
                 rows[i].name);
        if (rows[i].before) {
            ck_assert_int_eq(post_at(scene, rows[i].before, body, &err), 0);
            ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
            ck_assert_ptr_nonnull(strstr(err.message, rows[i].name));
        }
        if (rows[i].since)
            ck_assert_int_eq(post_at(scene, rows[i].since, body, &err), 200);
    }
    ck_assert(script_server_await(scene->server, "GET", READ, 1));
    scene_end(scene);
}
END_TEST

START_TEST(other_events_need_their_tag_but_no_work) {
    struct scene *scene = scene_new();

    ck_assert_int_eq(post(scene, EVENTS(EVENT("power-update", INSTANCE, ""))), 207);
    ck_assert_int_eq(post(scene, EVENTS(EVENT("accelerator-request-bound", INSTANCE, ""))), 207);
    ck_assert_int_eq(post(scene, EVENTS(EVENT("power-update", INSTANCE, ", \"tag\": \"x\""))), 200);
    ck_assert_int_eq(post(scene, EVENTS(EVENT("network-changed", INSTANCE, ""))), 200);
    ck_assert_uint_eq(jobs_open(scene->jobs), 0);
    ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_body_against_the_schema_is_refused_whole) {
    static const char *const bodies[] = {
        "",
        "no json",
        "[]",
        "{}",
        "{\"events\": []}",
        "{\"events\": {}}",
        "{\"events\": [1]}",
        "{\"events\": [" EXTENDED "], \"more\": 1}",
        EVENTS("{}"),
        EVENTS("{\"name\": \"volume-extended\"}"),
        EVENTS("{\"server_uuid\": \"" INSTANCE "\"}"),
        EVENTS(EVENT("volume-extended", "no uuid", TAG)),
        EVENTS(EVENT("volume-extended", INSTANCE, TAG ", \"status\": \"done\"")),
        EVENTS(EVENT("volume-extended", INSTANCE, TAG ", \"more\": 1")),
        EVENTS(EVENT("volume-extended", INSTANCE, ", \"tag\": 1")),
        EVENTS(EVENT("volume-extended", INSTANCE, ", \"tag\": null")),
        EVENTS(EXTENDED "," EVENT("volume-extended", "x", TAG)),
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(bodies); i++) {
        struct error err = { 0 };

        ck_assert_int_eq(post_at(scene, "compute 2.51", bodies[i], &err), 0);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    }
    ck_assert_uint_eq(fake_hypervisor_count(scene->fake, FAKE_HAS_INSTANCE), 0);
    ck_assert_uint_eq(jobs_open(scene->jobs), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_tag_longer_than_255_characters_is_refused) {
    struct scene *scene = scene_new();
    struct error err = { 0 };
    char body[512];

    snprintf(body, sizeof(body),
             "{\"events\": [{\"name\": \"network-changed\", \"server_uuid\": \"" INSTANCE
             "\", \"tag\": \"%0256d\"}]}",
             0);
    ck_assert_int_eq(post_at(scene, "compute 2.51", body, &err), 0);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    scene_end(scene);
}
END_TEST

START_TEST(the_version_is_checked_first) {
    struct scene *scene = scene_new();
    struct error err = { 0 };

    ck_assert_int_eq(post_at(scene, "compute 2.94", "no json", &err), 0);
    ck_assert_int_eq(err.kind, ERROR_NOT_ACCEPTABLE);
    scene_end(scene);
}
END_TEST

START_TEST(a_body_that_is_too_large_is_refused) {
    struct test_exchange *test = test_exchange_new("POST", "/", NULL, "");
    struct error err = { 0 };

    test_exchange_of(test)->too_large = true;
    ck_assert_ptr_null(event_read(test_exchange_of(test), &err));
    ck_assert_int_eq(err.kind, ERROR_TOO_LARGE);
    test_exchange_free(test);
}
END_TEST

START_TEST(an_unresponsive_hypervisor_refuses_the_whole_request) {
    struct scene *scene = scene_new();
    const json_t *fault;

    fake_hypervisor_fail(scene->fake, FAKE_HAS_INSTANCE, ERROR_BACKEND, 1, false);
    ck_assert_int_eq(post(scene, EVENTS(EXTENDED "," EXTENDED)), 503);
    fault = json_object_get(test_exchange_json(scene->test), "serviceUnavailable");
    ck_assert_int_eq(code(fault), 503);
    ck_assert_ptr_nonnull(text(fault, "message"));
    ck_assert_uint_eq(jobs_open(scene->jobs), 0);
    ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(too_many_jobs_refuse_the_whole_request) {
    struct scene *scene = scene_new();
    struct error err = { 0 };
    char id[37];

    script_server_clear(scene->server);
    script_server_add(scene->server, &(struct script_rule){ .manner = SCRIPT_SILENT });
    for (int i = 0; i < 1024; i++) {
        snprintf(id, sizeof(id), "44444444-1111-4111-8111-%012d", i);
        ck_assert_int_eq(jobs_put(scene->jobs, id, INSTANCE, NULL, &err), 0);
    }
    ck_assert_int_eq(post(scene, EVENTS(EXTENDED)), 503);
    script_server_free(scene->server); /* so that the job that waits for it ends */
    scene->server = script_server_new();
    scene_end(scene);
}
END_TEST

CHECK_MAIN("event", an_event_of_an_instance_here_is_accepted_and_starts_a_job,
           ids_are_understood_in_any_form_and_echoed_as_sent,
           each_event_has_its_code_in_the_order_of_the_request,
           an_unknown_instance_is_207_even_alone_and_starts_nothing,
           a_tag_that_is_no_volume_starts_nothing, names_follow_the_microversion,
           other_events_need_their_tag_but_no_work, a_body_against_the_schema_is_refused_whole,
           a_tag_longer_than_255_characters_is_refused, the_version_is_checked_first,
           a_body_that_is_too_large_is_refused,
           an_unresponsive_hypervisor_refuses_the_whole_request,
           too_many_jobs_refuse_the_whole_request)
