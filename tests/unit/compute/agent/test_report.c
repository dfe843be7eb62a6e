#include "tests/lib/check_main.h"

#include "common/log.h"
#include "compute/agent/report.h"
#include "tests/lib/fake_hypervisor.h"
#include "tests/lib/script_server.h"

#include <stdio.h>
#include <string.h>

#define VOLUME   "11111111-1111-4111-8111-111111111111"
#define INSTANCE "22222222-2222-4222-8222-222222222222"
#define REPORT   "/v3/os-services/report"
#define FIRST    "/v3/volumes/detail?all_tenants=1&status=extending&limit=100"
#define READ     "/v3/volumes/" VOLUME

#define ITEM(id, status, metadata, attachment)                                               \
    "{\"id\": \"" id "\", \"status\": \"" status "\", \"size\": 1, \"metadata\": {" metadata \
    "}, \"attachments\": [" attachment "]}"
#define TARGET "\"extend_new_size\": \"3\""
#define HERE   "{\"server_id\": \"" INSTANCE "\", \"host_name\": \"here\"}"
#define THERE  "{\"server_id\": \"" INSTANCE "\", \"host_name\": \"there\"}"

struct scene {
    struct fake_hypervisor *fake;
    struct script_server *server;
    struct worker_pool *pool;
    struct jobs *jobs;
    struct reporter *reporter;
    char url[80];
};

static struct scene *scene_new(void) {
    struct scene *scene = calloc(1, sizeof(*scene));

    log_open(-1, LOG_ERROR, LOG_TEXT);
    scene->fake = fake_hypervisor_new();
    scene->server = script_server_new();
    snprintf(scene->url, sizeof(scene->url), "%s/v3", script_server_url(scene->server));
    return scene;
}

static void start_every(struct scene *scene, int64_t heartbeat_ms) {
    struct client api = volumes_client(scene->url, NULL, NULL);
    struct job_settings job_settings = { .hypervisor = fake_hypervisor_of(scene->fake),
                                         .api = api,
                                         .host = "here",
                                         .workers = 1,
                                         .retry_ms = 1,
                                         .busy_ms = 1,
                                         .unreachable_ms = 1 };
    struct reporter_settings settings = {
        .api = api,
        .host = "here",
        .endpoint = "http://here/v2.1",
        .heartbeat_ms = heartbeat_ms,
        .retry_ms = 1,
    };

    scene->pool = worker_pool_new("test", 1);
    scene->jobs = jobs_new(&job_settings);
    settings.pool = scene->pool;
    settings.jobs = scene->jobs;
    scene->reporter = reporter_new(&settings);
}

static void start(struct scene *scene) {
    start_every(scene, 20);
}

static void scene_end(struct scene *scene) {
    worker_pool_stop(scene->pool);
    reporter_free(scene->reporter);
    jobs_stop(scene->jobs);
    script_server_free(scene->server);
    fake_hypervisor_free(scene->fake);
    free(scene);
}

static void answer_times(struct scene *scene, const char *path, int status, const char *body,
                         unsigned times) {
    script_server_add(
        scene->server,
        &(struct script_rule){ .path = path, .status = status, .body = body, .times = times });
}

static void answer(struct scene *scene, const char *path, int status, const char *body) {
    answer_times(scene, path, status, body, 0);
}

static unsigned lists(struct scene *scene) {
    return script_server_count(scene->server, "GET", "/v3/volumes/detail*");
}

START_TEST(heartbeats_continue_and_the_list_is_queried_once) {
    struct scene *scene = scene_new();

    answer(scene, REPORT, 200, "{}");
    answer(scene, FIRST, 200, "{\"volumes\": []}");
    start(scene);
    ck_assert(script_server_await(scene->server, "PUT", REPORT, 4));
    ck_assert_uint_eq(lists(scene), 1);
    ck_assert_ptr_nonnull(
        strstr(script_server_request(scene->server, "PUT", REPORT, 0)->body, "http://here/v2.1"));
    scene_end(scene);
}
END_TEST

START_TEST(extends_on_this_host_are_resumed_over_all_pages) {
    struct scene *scene = scene_new();

    answer(scene, REPORT, 200, "{}");
    answer(scene, FIRST, 200,
           "{\"volumes\": [" ITEM("99999999-9999-4999-8999-999999999999", "extending", TARGET,
                                  THERE) "]}");
    answer(scene, FIRST "&marker=99999999-9999-4999-8999-999999999999", 200,
           "{\"volumes\": [" ITEM(VOLUME, "extending", TARGET, THERE "," HERE) "]}");
    answer(scene, FIRST "&marker=" VOLUME, 200, "{\"volumes\": []}");
    answer(scene, NULL, 404, NULL);
    start(scene);
    ck_assert(script_server_await(scene->server, "GET", READ, 1));
    ck_assert(script_server_await(scene->server, "PUT", REPORT, 3));
    ck_assert_uint_eq(lists(scene), 3);
    ck_assert_uint_eq(script_server_count(scene->server, "GET", "/v3/volumes/9*"), 0);
    scene_end(scene);
}
END_TEST

START_TEST(extends_of_other_hosts_are_left_alone) {
    struct scene *scene = scene_new();

    answer(scene, REPORT, 200, "{}");
    answer(scene, FIRST, 200,
           "{\"volumes\": [" ITEM(VOLUME, "extending", TARGET, THERE) "," /* another host */
           ITEM(VOLUME, "extending", TARGET, "") ","                      /* not listening */
           ITEM(VOLUME, "extending", "", HERE) ","                        /* not handed over */
           ITEM(VOLUME, "in-use", TARGET, HERE) ","                       /* not extending */
           ITEM("strange", "extending", TARGET, HERE) "]}");
    answer(scene, NULL, 200, "{\"volumes\": []}");
    start(scene);
    ck_assert(script_server_await(scene->server, "PUT", REPORT, 3));
    ck_assert_uint_eq(jobs_open(scene->jobs), 0);
    ck_assert_uint_eq(script_server_count(scene->server, "GET", READ), 0);
    scene_end(scene);
}
END_TEST

START_TEST(an_attachment_without_a_known_instance_is_resumed_too) {
    struct scene *scene = scene_new();

    answer(scene, REPORT, 200, "{}");
    answer(scene, FIRST, 200,
           "{\"volumes\": [" ITEM(VOLUME, "extending", TARGET,
                                  "{\"server_id\": \"odd\", \"host_name\": \"here\"}") "]}");
    answer(scene, FIRST "&marker=" VOLUME, 200, "{\"volumes\": []}");
    answer(scene, NULL, 404, NULL);
    start(scene);
    ck_assert(script_server_await(scene->server, "GET", READ, 1));
    scene_end(scene);
}
END_TEST

START_TEST(after_an_outage_the_list_is_queried_again) {
    struct scene *scene = scene_new();

    answer(scene, REPORT, 200, "{}");
    answer(scene, FIRST, 200, "{\"volumes\": []}");
    start(scene);
    ck_assert(script_server_await(scene->server, "PUT", REPORT, 2));
    ck_assert_uint_eq(lists(scene), 1);
    script_server_clear(scene->server);
    answer(scene, FIRST, 200, "{\"volumes\": []}");
    answer_times(scene, REPORT, 503, "{}", 3);
    answer(scene, REPORT, 200, "{}");
    ck_assert(script_server_await(scene->server, "GET", FIRST, 2));
    ck_assert(script_server_await(scene->server, "PUT", REPORT, 8));
    ck_assert_uint_eq(lists(scene), 2);
    scene_end(scene);
}
END_TEST

START_TEST(an_api_that_has_not_started_is_awaited) {
    struct scene *scene = scene_new();

    answer(scene, REPORT, 200, "{}");
    answer(scene, FIRST, 200, "{\"volumes\": []}");
    script_server_pause(scene->server);
    start_every(scene, 50);
    script_server_resume(scene->server);
    ck_assert(script_server_await(scene->server, "GET", FIRST, 1));
    scene_end(scene);
}
END_TEST

START_TEST(a_refused_heartbeat_does_not_stop_the_resumption) {
    struct scene *scene = scene_new();

    answer(scene, REPORT, 404, NULL);
    answer(scene, FIRST, 200, "{\"volumes\": []}");
    start(scene);
    ck_assert(script_server_await(scene->server, "PUT", REPORT, 3));
    ck_assert_uint_eq(lists(scene), 1);
    scene_end(scene);
}
END_TEST

START_TEST(a_failed_list_is_queried_again_soon) {
    struct scene *scene = scene_new();

    answer(scene, REPORT, 200, "{}");
    answer_times(scene, FIRST, 500, "{}", 2);
    answer(scene, FIRST, 200, "{\"volumes\": []}");
    start_every(scene, 3600000);
    ck_assert(script_server_await(scene->server, "GET", FIRST, 3));
    scene_end(scene);
}
END_TEST

START_TEST(an_endless_list_is_abandoned) {
    struct scene *scene = scene_new();

    answer(scene, REPORT, 200, "{}");
    answer(scene, "/v3/volumes/detail*", 200,
           "{\"volumes\": [" ITEM(VOLUME, "extending", TARGET, THERE) "]}");
    start(scene);
    ck_assert(script_server_await(scene->server, "PUT", REPORT, 2));
    scene_end(scene);
}
END_TEST

CHECK_MAIN("report", heartbeats_continue_and_the_list_is_queried_once,
           extends_on_this_host_are_resumed_over_all_pages, extends_of_other_hosts_are_left_alone,
           an_attachment_without_a_known_instance_is_resumed_too,
           after_an_outage_the_list_is_queried_again, an_api_that_has_not_started_is_awaited,
           a_refused_heartbeat_does_not_stop_the_resumption, a_failed_list_is_queried_again_soon,
           an_endless_list_is_abandoned)
