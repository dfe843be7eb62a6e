/* Overlays that go on top of several disks of one guest at one moment, or on top of none. */
#include "tests/lib/check_main.h"

#include "common/clock.h"
#include "common/worker.h"
#include "compute/jobs/assist_job.h"
#include "tests/unit/compute/agent/agent_scene.h"

#include <string.h>
#include <time.h>

#define OTHER_VOLUME              "44444444-4444-4444-8444-444444444444"
#define OTHER_INSTANCE            "66666666-6666-4666-8666-666666666666"
#define FIRST                     "33333333-3333-4333-8333-333333333333" /* the smaller one does it */
#define SECOND                    "55555555-5555-4555-8555-555555555555"
#define OVERLAY(volume, snapshot) "volume-" volume "." snapshot
#define ACTION(snapshot)          "/v3/snapshots/" snapshot "/action"

/* Two disks of one running guest, with an overlay for each; pauses of a millisecond. */
struct scene {
    struct fake_hypervisor *fake;
    struct script_server *server;
    struct worker_pool *pool;
    struct assists *assists;
    char url[URL_SIZE];
};

static void start_agent(struct scene *scene, int64_t set_timeout_ms) {
    struct assist_settings settings = {
        .hypervisor = fake_hypervisor_of(scene->fake),
        .api = volumes_client(scene->url, NULL, NULL),
        .host = "here",
        .pool = scene->pool = worker_pool_new("test", 2),
        .retry_ms = 1,
        .busy_ms = 60000,
        .unreachable_ms = 60000,
        .set_timeout_ms = set_timeout_ms,
    };

    scene->assists = assists_new(&settings);
}

static void put_disk(struct scene *scene, const char *instance) {
    struct disk disk = { .state = DISK_RUNNING,
                         .target = "vdb",
                         .format = "raw",
                         .source = "/there/volume-" OTHER_VOLUME };

    snprintf(disk.instance_uuid, sizeof(disk.instance_uuid), "%s", instance);
    fake_hypervisor_put(scene->fake, OTHER_VOLUME, &disk);
}

static struct scene *scene_new(int64_t set_timeout_ms, const char *instance_of_other) {
    struct scene *scene = calloc(1, sizeof(*scene));
    struct disk disk;

    scene->fake = guest_new("/there/volume-" VOLUME, 0, &disk);
    scene->server = volume_api_new(scene->url);
    put_disk(scene, instance_of_other);
    fake_hypervisor_put_file(scene->fake, "/there/" OVERLAY(VOLUME, FIRST));
    fake_hypervisor_put_file(scene->fake, "/there/" OVERLAY(OTHER_VOLUME, SECOND));
    start_agent(scene, set_timeout_ms);
    return scene;
}

static void stop_agent(struct scene *scene) {
    worker_pool_stop(scene->pool);
    assists_free(scene->assists);
}

static void scene_end(struct scene *scene) {
    stop_agent(scene);
    script_server_free(scene->server);
    fake_hypervisor_free(scene->fake);
    free(scene);
}

static void answer(struct scene *scene, const char *path, int status, unsigned times) {
    script_server_add(scene->server,
                      &(struct script_rule){ .path = path, .status = status, .times = times });
}

static const char *const both[] = { FIRST, SECOND };

static const struct assist first = {
    .volume_id = VOLUME,
    .snapshot_id = FIRST,
    .instance_uuid = INSTANCE,
    .change = { .new_file = OVERLAY(VOLUME, FIRST) },
    .set_ids = both,
    .set_count = 2,
};
static const struct assist second = {
    .volume_id = OTHER_VOLUME,
    .snapshot_id = SECOND,
    .instance_uuid = INSTANCE,
    .change = { .new_file = OVERLAY(OTHER_VOLUME, SECOND) },
    .set_ids = both,
    .set_count = 2,
};

static void put(struct scene *scene, const struct assist *assist) {
    struct error err = { 0 };

    ck_assert_int_eq(assists_put(scene->assists, assist, &err), 0);
}

static void await_end(struct scene *scene) {
    const struct timespec pause = { .tv_nsec = 1000000 };

    while (assists_open(scene->assists) > 0)
        nanosleep(&pause, NULL);
}

static unsigned calls(struct scene *scene) {
    return fake_hypervisor_count(scene->fake, FAKE_SNAPSHOT_DISKS);
}

static void assert_chains(struct scene *scene, bool taken) {
    autofree char *one = fake_hypervisor_chain(scene->fake, VOLUME);
    autofree char *other = fake_hypervisor_chain(scene->fake, OTHER_VOLUME);

    ck_assert_str_eq(one, taken ? OVERLAY(VOLUME, FIRST) " volume-" VOLUME : "volume-" VOLUME);
    ck_assert_str_eq(other, taken ? OVERLAY(OTHER_VOLUME, SECOND) " volume-" OTHER_VOLUME
                                  : "volume-" OTHER_VOLUME);
}

/* Was that among the reports? */
static bool was_reported(struct scene *scene, const char *path, const char *status,
                         const char *more) {
    for (unsigned i = 0; i < script_server_count(scene->server, "POST", path); i++) {
        const char *body = script_server_request(scene->server, "POST", path, i)->body;

        if (strstr(body, status) && strstr(body, more))
            return true;
    }
    return false;
}

#define assert_done(scene, path)                                          \
    do {                                                                  \
        ck_assert(was_reported(scene, path, "\"creating\"", "\"90%\""));  \
        ck_assert(!was_reported(scene, path, "\"error\"", "\"status\"")); \
    } while (0)
#define assert_failed(scene, path)                                       \
    do {                                                                 \
        ck_assert(was_reported(scene, path, "\"error\"", "\"status\"")); \
        ck_assert(!was_reported(scene, path, "\"creating\"", "\"90%"));  \
    } while (0)

static void await_failure(struct scene *scene, const char *path) {
    const struct timespec pause = { .tv_nsec = 1000000 };

    while (!was_reported(scene, path, "\"error\"", "\"status\""))
        nanosleep(&pause, NULL);
}

START_TEST(a_complete_set_is_taken_by_one_call) {
    for (int i = 0; i < 2; i++) {
        struct scene *scene = scene_new(60000, INSTANCE);

        answer(scene, NULL, 202, 0);
        put(scene, i ? &second : &first);
        ck_assert(
            script_server_await(scene->server, "POST", i ? ACTION(SECOND) : ACTION(FIRST), 1));
        ck_assert_uint_eq(calls(scene), 0);
        put(scene, i ? &second : &first); /* again */
        put(scene, i ? &first : &second);
        await_end(scene);
        ck_assert_uint_eq(calls(scene), 1);
        assert_chains(scene, true);
        assert_done(scene, ACTION(FIRST));
        assert_done(scene, ACTION(SECOND));
        scene_end(scene);
    }
}
END_TEST

/* Whichever of them waits, and nothing is taken of it alone. */
START_TEST(an_incomplete_set_fails_after_the_timeout) {
    for (int i = 0; i < 2; i++) {
        struct scene *scene = scene_new(5, INSTANCE);

        answer(scene, NULL, 202, 0);
        put(scene, i ? &second : &first);
        await_end(scene);
        ck_assert_uint_eq(calls(scene), 0);
        assert_chains(scene, false);
        assert_failed(scene, i ? ACTION(SECOND) : ACTION(FIRST));
        scene_end(scene);
    }
}
END_TEST

/* Cancelled, or ended by a deadline: the service waits for no report of it. */
START_TEST(a_member_that_is_not_awaited_blocks_the_set) {
    struct scene *scene = scene_new(5, INSTANCE);

    answer(scene, ACTION(SECOND), 400, 0);
    answer(scene, NULL, 202, 0);
    put(scene, &second);
    put(scene, &first);
    await_end(scene);
    ck_assert_uint_eq(calls(scene), 0);
    assert_chains(scene, false);
    assert_failed(scene, ACTION(FIRST));
    scene_end(scene);
}
END_TEST

/* The worker that waited for the other has removed its overlay in the last moment. */
START_TEST(a_late_call_changes_no_member) {
    struct scene *scene = scene_new(60000, INSTANCE);

    answer(scene, NULL, 202, 0);
    fake_hypervisor_hold(scene->fake);
    put(scene, &first);
    put(scene, &second);
    fake_hypervisor_await_held(scene->fake);
    fake_hypervisor_remove_files(scene->fake);
    fake_hypervisor_put_file(scene->fake, "/there/" OVERLAY(VOLUME, FIRST));
    fake_hypervisor_release(scene->fake);
    await_failure(scene, ACTION(FIRST));
    ck_assert_uint_eq(calls(scene), 1);
    assert_chains(scene, false);
    assert_failed(scene, ACTION(FIRST));
    scene_end(scene);
}
END_TEST

START_TEST(disks_of_two_guests_are_refused_at_once) {
    struct scene *scene = scene_new(60000, OTHER_INSTANCE);
    struct assist elsewhere = second;

    elsewhere.instance_uuid = OTHER_INSTANCE;
    answer(scene, NULL, 202, 0);
    put(scene, &elsewhere);
    put(scene, &first);
    await_failure(scene, ACTION(FIRST));
    ck_assert_uint_eq(calls(scene), 0);
    scene_end(scene);
}
END_TEST

/* It was taken at another moment. */
START_TEST(a_member_with_its_overlay_fails_the_others) {
    struct scene *scene = scene_new(60000, INSTANCE);

    answer(scene, ACTION(SECOND), 503, 0);
    answer(scene, NULL, 202, 0);
    fake_hypervisor_put_above(scene->fake, OTHER_VOLUME, "/there/" OVERLAY(OTHER_VOLUME, SECOND));
    put(scene, &second);
    put(scene, &first);
    await_failure(scene, ACTION(FIRST));
    ck_assert_uint_eq(calls(scene), 0);
    scene_end(scene);
}
END_TEST

/* The agent has died behind the call: each is requested again, and needs no other. */
START_TEST(each_member_reports_for_itself) {
    struct scene *scene = scene_new(60000, INSTANCE);

    answer(scene, NULL, 202, 0);
    fake_hypervisor_put_above(scene->fake, VOLUME, "/there/" OVERLAY(VOLUME, FIRST));
    fake_hypervisor_put_above(scene->fake, OTHER_VOLUME, "/there/" OVERLAY(OTHER_VOLUME, SECOND));
    put(scene, &second);
    await_end(scene);
    assert_done(scene, ACTION(SECOND));
    put(scene, &first);
    await_end(scene);
    assert_done(scene, ACTION(FIRST));
    ck_assert_uint_eq(calls(scene), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_request_with_another_set_is_refused) {
    static const char *const others[] = { FIRST, INSTANCE };
    struct scene *scene = scene_new(60000, INSTANCE);
    struct assist changed = first;
    struct error err = { 0 };

    answer(scene, NULL, 202, 0);
    put(scene, &first);
    changed.set_ids = others;
    ck_assert_int_eq(assists_put(scene->assists, &changed, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    changed.set_count = 0;
    ck_assert_int_eq(assists_put(scene->assists, &changed, &err), -1);
    scene_end(scene);
}
END_TEST

CHECK_MAIN("snapshot_set", a_complete_set_is_taken_by_one_call,
           an_incomplete_set_fails_after_the_timeout, a_member_that_is_not_awaited_blocks_the_set,
           a_late_call_changes_no_member, disks_of_two_guests_are_refused_at_once,
           a_member_with_its_overlay_fails_the_others, each_member_reports_for_itself,
           a_request_with_another_set_is_refused)
