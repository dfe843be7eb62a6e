/* …/os-volume-trims as the whole agent answers it. */
#include "tests/lib/check_main.h"

#include "tests/lib/exchange.h"
#include "tests/unit/compute/agent/agent_scene.h"

#include <string.h>
#include <time.h>

#define ID     "44444444-4444-4444-8444-444444444444"
#define ROUTE  "/v2.1/os-volume-trims"
#define ACTION "/v3/volumes/" VOLUME "/action"

#define TRIM_OF(id, volume, more)                                                           \
    "{\"trim\": {\"id\": " id ", \"volume_id\": " volume ", \"instance_uuid\": \"" INSTANCE \
    "\"" more "}}"
#define TRIM TRIM_OF("\"" ID "\"", "\"" VOLUME "\"", "")

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

    scene->fake = guest_new("/there/volume-" VOLUME, 0, &scene->disk);
    scene->disk.discards = true;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
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

static int send_request(struct scene *scene, const char *body) {
    if (scene->test)
        test_exchange_free(scene->test);
    scene->test = test_exchange_new("POST", ROUTE, NULL, body);
    agent_handle(scene->agent, test_exchange_of(scene->test));
    return test_exchange_await(scene->test);
}

static void await_jobs(struct scene *scene) {
    const struct timespec pause = { .tv_nsec = 1000000 };

    while (agent_open_jobs(scene->agent) > 0)
        nanosleep(&pause, NULL);
}

START_TEST(a_valid_trim_is_accepted) {
    struct scene *scene = scene_new();

    ck_assert_int_eq(send_request(scene, TRIM), 202);
    ck_assert_uint_eq(test_exchange_of(scene->test)->reply_size, 0);
    await_jobs(scene);
    ck_assert_uint_eq(fake_hypervisor_count(scene->fake, FAKE_TRIM_DISK), 1);
    ck_assert_uint_eq(script_server_count(scene->server, "POST", ACTION), 2);
    scene_end(scene);
}
END_TEST

/* 400 never, 409 not now, 503 unknown: callers distinguish them. */
START_TEST(permanent_and_temporary_refusals_differ) {
    struct scene *scene = scene_new();

    fake_hypervisor_fail(scene->fake, FAKE_FIND_DISK, ERROR_UNAVAILABLE, 1, false);
    ck_assert_int_eq(send_request(scene, TRIM), 503);
    scene->disk.discards = false;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    ck_assert_int_eq(send_request(scene, TRIM), 400);
    scene->disk.discards = true;
    scene->disk.state = DISK_OFF;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    ck_assert_int_eq(send_request(scene, TRIM), 409);
    fake_hypervisor_remove(scene->fake, VOLUME);
    ck_assert_int_eq(send_request(scene, TRIM), 409);
    await_jobs(scene);
    ck_assert_uint_eq(fake_hypervisor_count(scene->fake, FAKE_TRIM_DISK), 0);
    scene_end(scene);
}
END_TEST

START_TEST(an_incomplete_request_is_refused) {
    static const char *const bodies[] = {
        NULL,
        "",
        "[]",
        "{\"trim\": null}",
        "{\"trim\": {}}",
        TRIM_OF("7", "\"" VOLUME "\"", ""),
        TRIM_OF("\"x\"", "\"" VOLUME "\"", ""),
        TRIM_OF("\"" ID "\"", "null", ""),
        TRIM_OF("\"" ID "\"", "\"" VOLUME "\"", ", \"more\": 1"),
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(bodies); i++)
        ck_assert_int_eq(send_request(scene, bodies[i]), 400);
    await_jobs(scene);
    ck_assert_uint_eq(fake_hypervisor_count(scene->fake, FAKE_TRIM_DISK), 0);
    scene_end(scene);
}
END_TEST

CHECK_MAIN("trim", a_valid_trim_is_accepted, permanent_and_temporary_refusals_differ,
           an_incomplete_request_is_refused)
