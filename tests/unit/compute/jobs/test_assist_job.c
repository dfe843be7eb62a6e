#include "tests/lib/check_main.h"

#include "common/clock.h"
#include "common/worker.h"
#include "compute/jobs/assist_job.h"
#include "tests/unit/compute/agent/agent_scene.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SNAPSHOT "33333333-3333-4333-8333-333333333333"
#define BASE     "volume-" VOLUME
#define FIRST    BASE ".aaaaaaaa-5555-4555-8555-555555555555"
#define SECOND   BASE ".bbbbbbbb-5555-4555-8555-555555555555"
#define THIRD    BASE ".cccccccc-5555-4555-8555-555555555555"
#define ACTION   "/v3/snapshots/" SNAPSHOT "/action"

#define REPORT(status, percent) \
    "{\"os-update_snapshot_status\": {\"status\": \"" status "\", \"progress\": \"" percent "%\"}}"

/* A running guest whose disk is in BASE, and a scripted volume API; pauses of a millisecond. */
struct scene {
    struct fake_hypervisor *fake;
    struct script_server *server;
    struct worker_pool *pool;
    struct assists *assists;
    struct disk disk;
    char url[URL_SIZE];
};

static void start_agent(struct scene *scene, int64_t busy_ms, int64_t unreachable_ms) {
    struct assist_settings settings = {
        .hypervisor = fake_hypervisor_of(scene->fake),
        .host = "here",
        .retry_ms = 1,
        .busy_ms = busy_ms,
        .unreachable_ms = unreachable_ms,
    };

    settings.api = volumes_client(scene->url, NULL, NULL);
    settings.pool = scene->pool = worker_pool_new("test", 2);
    scene->assists = assists_new(&settings);
}

static void stop_agent(struct scene *scene) {
    worker_pool_stop(scene->pool);
    assists_free(scene->assists);
}

static struct scene *scene_with(int64_t busy_ms, int64_t unreachable_ms) {
    struct scene *scene = calloc(1, sizeof(*scene));

    scene->fake = guest_new("/there/" BASE, 0, &scene->disk);
    scene->server = volume_api_new(scene->url);
    fake_hypervisor_put_file(scene->fake, "/there/" FIRST);
    start_agent(scene, busy_ms, unreachable_ms);
    return scene;
}

static struct scene *scene_new(void) {
    return scene_with(60000, 60000);
}

/* With overlays: THIRD above SECOND above FIRST above BASE. */
static struct scene *scene_with_chain(void) {
    struct scene *scene = scene_new();

    fake_hypervisor_put_above(scene->fake, VOLUME, "/there/" FIRST);
    fake_hypervisor_put_above(scene->fake, VOLUME, "/there/" SECOND);
    fake_hypervisor_put_above(scene->fake, VOLUME, "/there/" THIRD);
    return scene;
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

static const struct assist create = {
    .volume_id = VOLUME,
    .snapshot_id = SNAPSHOT,
    .instance_uuid = INSTANCE,
    .request_id = "req-7",
    .change = { .new_file = FIRST },
};

static struct assist merge(const char *file, const char *target) {
    struct assist assist = { .volume_id = VOLUME,
                             .snapshot_id = SNAPSHOT,
                             .instance_uuid = INSTANCE,
                             .change = { .remove = true } };

    snprintf(assist.change.file_to_merge, OVERLAY_NAME_SIZE, "%s", file);
    snprintf(assist.change.merge_target, OVERLAY_NAME_SIZE, "%s", target);
    return assist;
}

static void put(struct scene *scene, const struct assist *assist) {
    struct error err = { 0 };

    ck_assert_int_eq(assists_put(scene->assists, assist, &err), 0);
}

static void await_end(struct scene *scene) {
    const struct timespec pause = { .tv_nsec = 1000000 };

    for (int i = 0; i < 60000 && assists_open(scene->assists) > 0; i++)
        nanosleep(&pause, NULL);
    ck_assert_uint_eq(assists_open(scene->assists), 0);
}

static void run(struct scene *scene, const struct assist *assist) {
    put(scene, assist);
    await_end(scene);
}

static unsigned reports(struct scene *scene) {
    return script_server_count(scene->server, "POST", ACTION);
}

static const char *report(struct scene *scene, unsigned i) {
    return script_server_request(scene->server, "POST", ACTION, i)->body;
}

static const char *last_report(struct scene *scene) {
    return report(scene, reports(scene) - 1);
}

static unsigned count(struct scene *scene, enum fake_call call) {
    return fake_hypervisor_count(scene->fake, call);
}

/* The first of that kind among the reports, which comes. */
static void await_report(struct scene *scene, const char *wanted) {
    for (unsigned i = 0;; i++) {
        ck_assert(script_server_await(scene->server, "POST", ACTION, i + 1));
        if (strcmp(report(scene, i), wanted) == 0)
            return;
    }
}

static void await_merge(struct scene *scene) {
    const struct timespec pause = { .tv_nsec = 1000000 };

    while (count(scene, FAKE_MERGE_DISK) == 0)
        nanosleep(&pause, NULL);
}

START_TEST(an_overlay_goes_on_top_and_is_reported) {
    struct scene *scene = scene_new();

    answer(scene, ACTION, 202, 0);
    run(scene, &create);
    assert_chain_of(scene->fake, FIRST " " BASE);
    ck_assert_uint_eq(reports(scene), 2);
    ck_assert_str_eq(report(scene, 0), REPORT("creating", "0"));
    ck_assert_str_eq(report(scene, 1), REPORT("creating", "90"));
    ck_assert(script_request_has(script_server_request(scene->server, "POST", ACTION, 1),
                                 "X-OpenStack-Request-ID", "req-7"));
    ck_assert_uint_eq(count(scene, FAKE_SNAPSHOT_DISKS), 1);
    scene_end(scene);
}
END_TEST

/* So the guest can be started when images were merged while it was off. */
START_TEST(the_definition_loses_its_backing_chain) {
    for (int fails = 0; fails <= 1; fails++) {
        struct scene *scene = scene_new();

        if (fails)
            fake_hypervisor_fail(scene->fake, FAKE_FORGET_CHAIN, ERROR_BACKEND, 1, false);
        answer(scene, ACTION, 202, 0);
        run(scene, &create);
        assert_chain_of(scene->fake, FIRST " " BASE);
        ck_assert_str_eq(last_report(scene), REPORT("creating", "90"));
        ck_assert_int_eq(fake_hypervisor_forgot_chain(scene->fake, VOLUME), !fails);
        run(scene, &create); /* as a request to an agent whose report was lost */
        ck_assert(fake_hypervisor_forgot_chain(scene->fake, VOLUME));
        scene_end(scene);
    }
}
END_TEST

START_TEST(an_existing_overlay_is_reported_as_done) {
    struct scene *scene = scene_with_chain();
    const struct assist requests[] = { create, merge(SECOND, ""),
                                       merge(BASE ".dddddddd-5555-4555-8555-555555555555", BASE) };

    answer(scene, ACTION, 202, 0);
    for (size_t i = 0; i < LENGTH(requests); i++) {
        run(scene, &requests[i]);
        ck_assert_uint_eq(reports(scene), i + 1);
        ck_assert_str_eq(last_report(scene),
                         i == 0 ? REPORT("creating", "90") : REPORT("deleting", "90"));
    }
    ck_assert_uint_eq(count(scene, FAKE_SNAPSHOT_DISKS) + count(scene, FAKE_MERGE_DISK), 0);
    assert_chain_of(scene->fake, THIRD " " SECOND " " FIRST " " BASE);
    scene_end(scene);
}
END_TEST

START_TEST(images_are_merged_as_requested) {
    static const struct {
        const char *file, *target, *chain;
    } rows[] = {
        { SECOND, FIRST, THIRD " " FIRST " " BASE },
        { FIRST, BASE, THIRD " " SECOND " " BASE },
        { FIRST, "", THIRD " " FIRST " " BASE },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = scene_with_chain();
        const struct assist assist = merge(rows[i].file, rows[i].target);

        answer(scene, ACTION, 202, 0);
        put(scene, &assist);
        await_merge(scene);
        fake_hypervisor_end_job(scene->fake, VOLUME, true);
        await_end(scene);
        assert_chain_of(scene->fake, rows[i].chain);
        ck_assert_str_eq(report(scene, 0), REPORT("deleting", "0"));
        ck_assert_str_eq(last_report(scene), REPORT("deleting", "90"));
        ck_assert_uint_eq(count(scene, FAKE_MERGE_DISK), 1);
        scene_end(scene);
    }
}
END_TEST

/* The blocks are in the chain by QEMU's memory alone until then. */
START_TEST(a_merge_is_reported_only_once_it_is_flushed) {
    for (int refused = 0; refused <= 1; refused++) {
        struct scene *scene = scene_with_chain();
        const struct assist assist = merge(SECOND, FIRST);

        fake_hypervisor_fail(scene->fake, FAKE_FLUSH_DISK,
                             refused ? ERROR_BACKEND : ERROR_UNAVAILABLE, 3, false);
        answer(scene, ACTION, 202, 0);
        put(scene, &assist);
        await_merge(scene);
        fake_hypervisor_end_job(scene->fake, VOLUME, true);
        await_end(scene);
        ck_assert_uint_eq(count(scene, FAKE_FLUSH_DISK), refused ? 1 : 4);
        ck_assert_str_eq(last_report(scene),
                         refused ? REPORT("error_deleting", "90") : REPORT("deleting", "90"));
        run(scene, &assist); /* as again, when the snapshot is deleted once more */
        ck_assert_uint_eq(count(scene, FAKE_FLUSH_DISK), refused ? 2 : 5);
        scene_end(scene);
    }
}
END_TEST

START_TEST(the_last_overlay_absorbs_all_images_below) {
    struct scene *scene = scene_new();
    const struct assist assist = merge("", "");

    fake_hypervisor_put_above(scene->fake, VOLUME, "/there/" FIRST);
    answer(scene, ACTION, 202, 0);
    put(scene, &assist);
    await_merge(scene);
    fake_hypervisor_end_job(scene->fake, VOLUME, true);
    await_end(scene);
    assert_chain_of(scene->fake, FIRST);
    ck_assert_str_eq(last_report(scene), REPORT("deleting", "90"));
    run(scene, &assist);
    ck_assert_uint_eq(count(scene, FAKE_MERGE_DISK), 1);
    scene_end(scene);
}
END_TEST

/* More than one image would go, another snapshot's among them; or the one that the guest writes
 * to. */
START_TEST(a_change_that_does_not_fit_the_chain_is_not_started) {
    const struct assist requests[] = {
        merge("", ""),         merge(BASE, ""),
        merge(THIRD, ""),      merge(THIRD, SECOND),
        merge(SECOND, BASE),   merge(FIRST, SECOND),
        merge(SECOND, SECOND), merge("volume-" SNAPSHOT "." SNAPSHOT, "volume-" SNAPSHOT),
    };
    struct scene *scene = scene_with_chain();

    answer(scene, ACTION, 202, 0);
    for (size_t i = 0; i < LENGTH(requests); i++) {
        run(scene, &requests[i]);
        ck_assert_uint_eq(reports(scene), i + 1);
        ck_assert_str_eq(last_report(scene), REPORT("error_deleting", "90"));
    }
    ck_assert_uint_eq(count(scene, FAKE_MERGE_DISK), 0);
    assert_chain_of(scene->fake, THIRD " " SECOND " " FIRST " " BASE);
    scene_end(scene);
}
END_TEST

START_TEST(an_overlay_of_another_volume_is_not_used) {
    struct scene *scene = scene_new();
    struct assist assist = create;

    snprintf(assist.change.new_file, OVERLAY_NAME_SIZE, "volume-" SNAPSHOT "." SNAPSHOT);
    fake_hypervisor_put_file(scene->fake, "/there/volume-" SNAPSHOT "." SNAPSHOT);
    answer(scene, ACTION, 202, 0);
    run(scene, &assist);
    ck_assert_str_eq(last_report(scene), REPORT("error", "90"));
    assert_chain_of(scene->fake, BASE);
    scene_end(scene);
}
END_TEST

/* Requested late, or by a service that has given up meanwhile. */
START_TEST(a_change_that_is_not_awaited_is_not_started) {
    static const int statuses[] = { 400, 404 };
    const struct assist requests[] = { create, merge(FIRST, BASE) };

    for (size_t i = 0; i < LENGTH(statuses) * LENGTH(requests); i++) {
        struct scene *scene = i % 2 ? scene_with_chain() : scene_new();

        answer(scene, ACTION, statuses[i / 2], 0);
        run(scene, &requests[i % 2]);
        ck_assert_uint_eq(reports(scene), 1);
        ck_assert_uint_eq(count(scene, FAKE_SNAPSHOT_DISKS) + count(scene, FAKE_MERGE_DISK), 0);
        scene_end(scene);
    }
}
END_TEST

/* The agent stands still between its look and its call; meanwhile the service has given up and
 * taken the overlay's name away, or the disk has got another overlay. */
START_TEST(a_late_call_changes_nothing) {
    for (int i = 0; i < 2; i++) {
        struct scene *scene = scene_new();

        answer(scene, ACTION, 202, 0);
        fake_hypervisor_hold(scene->fake);
        put(scene, &create);
        fake_hypervisor_await_held(scene->fake);
        if (i == 0)
            fake_hypervisor_remove_files(scene->fake);
        else
            fake_hypervisor_put_above(scene->fake, VOLUME, "/there/" SECOND);
        fake_hypervisor_release(scene->fake);
        await_end(scene);
        ck_assert_str_eq(last_report(scene), REPORT("error", "90"));
        assert_chain_of(scene->fake, i == 0 ? BASE : SECOND " " BASE);
        scene_end(scene);
    }
}
END_TEST

START_TEST(a_failure_is_reported_unless_it_took_effect) {
    for (int after = 0; after < 2; after++) {
        struct scene *scene = scene_new();

        answer(scene, ACTION, 202, 0);
        fake_hypervisor_fail(scene->fake, FAKE_SNAPSHOT_DISKS, ERROR_BACKEND, 1, after);
        run(scene, &create);
        ck_assert_str_eq(last_report(scene),
                         after ? REPORT("creating", "90") : REPORT("error", "90"));
        assert_chain_of(scene->fake, after ? FIRST " " BASE : BASE);
        ck_assert_uint_eq(count(scene, FAKE_SNAPSHOT_DISKS), 1);
        scene_end(scene);
    }
}
END_TEST

/* Nova starts its guests with the files that it has recorded. */
START_TEST(a_disk_recorded_by_nova_keeps_its_file) {
    const struct assist assist = merge(FIRST, BASE);

    for (int remove = 0; remove < 2; remove++) {
        struct scene *scene = scene_new();

        scene->disk.recorded = true;
        fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
        if (remove) {
            fake_hypervisor_put_above(scene->fake, VOLUME, "/there/" FIRST);
            fake_hypervisor_put_above(scene->fake, VOLUME, "/there/" SECOND);
        }
        answer(scene, ACTION, 202, 0);
        run(scene, remove ? &assist : &create);
        ck_assert_str_eq(last_report(scene),
                         remove ? REPORT("error_deleting", "90") : REPORT("error", "90"));
        assert_chain_of(scene->fake, remove ? SECOND " " FIRST " " BASE : BASE);
        ck_assert_uint_eq(count(scene, FAKE_SNAPSHOT_DISKS), 0);
        ck_assert_uint_eq(count(scene, FAKE_MERGE_DISK), 0);
        scene_end(scene);
    }
}
END_TEST

START_TEST(a_hypervisor_that_answers_late_is_waited_for) {
    static const enum fake_call calls[] = { FAKE_FIND_DISK, FAKE_LIST_CHAIN, FAKE_SNAPSHOT_DISKS };
    static const enum error_kind kinds[] = { ERROR_UNAVAILABLE, ERROR_CONFLICT };

    for (size_t i = 0; i < LENGTH(calls) * LENGTH(kinds); i++) {
        struct scene *scene = scene_new();

        answer(scene, ACTION, 202, 0);
        fake_hypervisor_fail(scene->fake, calls[i / 2], kinds[i % 2], 3, false);
        run(scene, &create);
        ck_assert_str_eq(last_report(scene), REPORT("creating", "90"));
        assert_chain_of(scene->fake, FIRST " " BASE);
        scene_end(scene);
    }
}
END_TEST

START_TEST(an_unresponsive_or_busy_disk_fails_after_the_timeout) {
    static const enum error_kind kinds[] = { ERROR_UNAVAILABLE, ERROR_CONFLICT, ERROR_BACKEND };
    static const enum fake_call calls[] = { FAKE_FIND_DISK, FAKE_LIST_CHAIN, FAKE_MERGE_DISK };
    const struct assist assist = merge(SECOND, FIRST);

    for (size_t i = 0; i < LENGTH(calls) * LENGTH(kinds); i++) {
        struct scene *scene = scene_with_chain();

        stop_agent(scene);
        start_agent(scene, 1, 1);
        answer(scene, ACTION, 202, 0);
        fake_hypervisor_fail(scene->fake, calls[i / 3], kinds[i % 3], 1000000, false);
        run(scene, &assist);
        ck_assert_str_eq(last_report(scene), REPORT("error_deleting", "90"));
        assert_chain_of(scene->fake, THIRD " " SECOND " " FIRST " " BASE);
        scene_end(scene);
    }
}
END_TEST

START_TEST(a_job_shows_how_far_it_is) {
    struct scene *scene = scene_with_chain();
    const struct assist assist = merge(FIRST, BASE);

    answer(scene, ACTION, 202, 0);
    put(scene, &assist);
    await_merge(scene);
    fake_hypervisor_job(scene->fake, VOLUME, 50, 100);
    await_report(scene, REPORT("deleting", "44"));
    fake_hypervisor_job(scene->fake, VOLUME, 100, 100); /* not the end yet */
    await_report(scene, REPORT("deleting", "89"));
    fake_hypervisor_end_job(scene->fake, VOLUME, true);
    await_end(scene);
    ck_assert_str_eq(last_report(scene), REPORT("deleting", "90"));
    scene_end(scene);
}
END_TEST

/* The job is not awaited any more: the guest is left alone with it. */
START_TEST(a_job_that_is_not_awaited_is_not_watched) {
    struct scene *scene = scene_with_chain();
    const struct assist assist = merge(FIRST, BASE);

    answer(scene, ACTION, 202, 3);
    answer(scene, ACTION, 400, 0);
    run(scene, &assist);
    ck_assert_uint_eq(reports(scene), 4);
    fake_hypervisor_end_job(scene->fake, VOLUME, true);
    run(scene, &assist);
    ck_assert_uint_eq(count(scene, FAKE_MERGE_DISK), 1);
    ck_assert_str_eq(last_report(scene), REPORT("deleting", "90"));
    scene_end(scene);
}
END_TEST

START_TEST(a_job_that_ends_without_success_is_a_failure) {
    struct scene *scene = scene_with_chain();
    const struct assist assist = merge(FIRST, BASE);

    answer(scene, ACTION, 202, 0);
    put(scene, &assist);
    await_merge(scene);
    fake_hypervisor_end_job(scene->fake, VOLUME, false);
    await_end(scene);
    ck_assert_str_eq(last_report(scene), REPORT("error_deleting", "90"));
    ck_assert_uint_eq(count(scene, FAKE_MERGE_DISK), 1);
    assert_chain_of(scene->fake, THIRD " " SECOND " " FIRST " " BASE);
    scene_end(scene);
}
END_TEST

/* An agent that died has begun it: the next one, requested again, waits for it. */
START_TEST(a_job_of_a_previous_agent_is_adopted) {
    struct scene *scene = scene_with_chain();
    const struct assist assist = merge(FIRST, BASE);

    answer(scene, ACTION, 202, 0);
    put(scene, &assist);
    await_merge(scene);
    stop_agent(scene);
    start_agent(scene, 60000, 60000);
    ck_assert_uint_eq(assists_open(scene->assists), 0);
    fake_hypervisor_job(scene->fake, VOLUME, 1, 2);
    put(scene, &assist);
    await_report(scene, REPORT("deleting", "44"));
    fake_hypervisor_end_job(scene->fake, VOLUME, true);
    await_end(scene);
    ck_assert_uint_eq(count(scene, FAKE_MERGE_DISK), 1);
    ck_assert_str_eq(last_report(scene), REPORT("deleting", "90"));
    scene_end(scene);
}
END_TEST

/* As above, by an agent of a release that did not refuse it. */
START_TEST(a_merge_that_runs_below_a_disk_recorded_by_nova_is_adopted) {
    struct scene *scene = scene_new();
    struct hypervisor *hypervisor = fake_hypervisor_of(scene->fake);
    const struct assist assist = merge(FIRST, BASE);
    autoarena struct arena *arena = arena_new();
    struct error err = { 0 };
    struct disk disk;

    scene->disk.recorded = true;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    fake_hypervisor_put_above(scene->fake, VOLUME, "/there/" FIRST);
    fake_hypervisor_put_above(scene->fake, VOLUME, "/there/" SECOND);
    ck_assert_int_eq(hypervisor->find_disk(hypervisor, arena, INSTANCE, VOLUME, &disk, &err), 0);
    ck_assert_int_eq(
        hypervisor->merge_disk(hypervisor, arena, &disk, "/there/" FIRST, "/there/" BASE, &err), 0);
    fake_hypervisor_job(scene->fake, VOLUME, 1, 2);
    answer(scene, ACTION, 202, 0);
    put(scene, &assist);
    await_report(scene, REPORT("deleting", "44"));
    fake_hypervisor_end_job(scene->fake, VOLUME, true);
    await_end(scene);
    ck_assert_str_eq(last_report(scene), REPORT("deleting", "90"));
    ck_assert_uint_eq(count(scene, FAKE_MERGE_DISK), 1);
    assert_chain_of(scene->fake, SECOND " " BASE);
    scene_end(scene);
}
END_TEST

START_TEST(a_foreign_block_job_is_waited_for) {
    struct scene *scene = scene_with(1, 1);

    answer(scene, ACTION, 202, 0);
    fake_hypervisor_job(scene->fake, VOLUME, 1, 2);
    put(scene, &create);
    ck_assert(script_server_await(scene->server, "POST", ACTION, 5));
    assert_chain_of(scene->fake, BASE);
    fake_hypervisor_end_job(scene->fake, VOLUME, false);
    await_end(scene);
    assert_chain_of(scene->fake, FIRST " " BASE);
    ck_assert_str_eq(last_report(scene), REPORT("creating", "90"));
    scene_end(scene);
}
END_TEST

START_TEST(a_guest_that_is_off_is_a_failure) {
    const struct assist requests[] = { create, merge(FIRST, BASE) };

    for (size_t i = 0; i < LENGTH(requests); i++) {
        struct scene *scene = scene_new();

        scene->disk.state = DISK_OFF;
        fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
        answer(scene, ACTION, 202, 0);
        run(scene, &requests[i]);
        ck_assert_uint_eq(reports(scene), 1);
        ck_assert_str_eq(last_report(scene),
                         i == 0 ? REPORT("error", "90") : REPORT("error_deleting", "90"));
        scene_end(scene);
    }
}
END_TEST

START_TEST(a_guest_that_moves_is_waited_for) {
    struct scene *scene = scene_with(1, 1);

    scene->disk.job = scene->disk.moving = true;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    answer(scene, ACTION, 202, 0);
    put(scene, &create);
    ck_assert(script_server_await(scene->server, "POST", ACTION, 5));
    scene->disk.job = scene->disk.moving = false;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    await_end(scene);
    assert_chain_of(scene->fake, FIRST " " BASE);
    scene_end(scene);
}
END_TEST

#define READ(host)                                                                                 \
    "{\"volume\": {\"id\": \"" VOLUME "\", \"status\": \"in-use\", \"size\": 1, "                  \
    "\"metadata\": {}, \"attachments\": [{\"server_id\": \"" INSTANCE "\", \"host_name\": \"" host \
    "\"}]}}"

/* It has moved to another host, which is requested as well: that one's end counts. */
START_TEST(a_guest_that_has_left_is_a_failure_unless_it_is_elsewhere) {
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        struct scene *scene = scene_with(1, 1);

        fake_hypervisor_remove(scene->fake, VOLUME);
        answer(scene, ACTION, 202, 0);
        script_server_add(scene->server, &(struct script_rule){ .path = "/v3/volumes/" VOLUME,
                                                                .status = 200,
                                                                .body = elsewhere ? READ("there")
                                                                                  : READ("here") });
        run(scene, &create);
        ck_assert_str_eq(last_report(scene),
                         elsewhere ? REPORT("creating", "0") : REPORT("error", "90"));
        scene_end(scene);
    }
}
END_TEST

START_TEST(a_report_is_repeated_until_it_is_taken) {
    static const int statuses[] = { 500, 503, 401, 429 };

    for (size_t i = 0; i < LENGTH(statuses); i++) {
        struct scene *scene = scene_new();

        answer(scene, ACTION, 202, 1);
        answer(scene, ACTION, statuses[i], 3);
        answer(scene, ACTION, 202, 0);
        run(scene, &create);
        ck_assert_uint_ge(reports(scene), 5);
        ck_assert_str_eq(last_report(scene), REPORT("creating", "90"));
        ck_assert_uint_eq(count(scene, FAKE_SNAPSHOT_DISKS), 1);
        scene_end(scene);
    }
}
END_TEST

START_TEST(a_repeated_request_joins_and_is_checked_once_more) {
    struct scene *scene = scene_new();
    struct assist other = create;
    struct error err = { 0 };

    answer(scene, ACTION, 202, 0);
    fake_hypervisor_hold(scene->fake);
    put(scene, &create);
    fake_hypervisor_await_held(scene->fake);
    for (int i = 0; i < 5; i++)
        put(scene, &create);
    ck_assert_uint_eq(assists_open(scene->assists), 1);
    snprintf(other.change.new_file, OVERLAY_NAME_SIZE, SECOND);
    ck_assert_int_eq(assists_put(scene->assists, &other, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    fake_hypervisor_release(scene->fake);
    await_end(scene);
    ck_assert_uint_eq(reports(scene), 3); /* 0, 90, and 90 of the second look */
    ck_assert_uint_eq(count(scene, FAKE_SNAPSHOT_DISKS), 1);
    scene_end(scene);
}
END_TEST

START_TEST(open_jobs_are_bounded) {
    struct scene *scene = scene_new();
    struct error err = { 0 };
    struct assist assist = create;
    char id[UUID_SIZE];
    int taken = 0;

    fake_hypervisor_hold(scene->fake);
    answer(scene, ACTION, 202, 0);
    answer(scene, NULL, 404, 0);
    put(scene, &create);
    fake_hypervisor_await_held(scene->fake); /* and so none of this volume runs */
    assist.snapshot_id = id;
    for (int i = 0; i < 2000 && err.kind == ERROR_NONE; i++) {
        snprintf(id, sizeof(id), "%08x-5555-4555-8555-555555555555", (unsigned)i);
        taken += assists_put(scene->assists, &assist, &err) == 0;
    }
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(taken, 1023);
    put(scene, &create); /* joins all the same */
    fake_hypervisor_release(scene->fake);
    scene_end(scene);
}
END_TEST

CHECK_MAIN("assist_job", a_disk_recorded_by_nova_keeps_its_file,
           an_overlay_goes_on_top_and_is_reported, the_definition_loses_its_backing_chain,
           an_existing_overlay_is_reported_as_done, images_are_merged_as_requested,
           a_merge_is_reported_only_once_it_is_flushed, the_last_overlay_absorbs_all_images_below,
           a_change_that_does_not_fit_the_chain_is_not_started,
           an_overlay_of_another_volume_is_not_used, a_change_that_is_not_awaited_is_not_started,
           a_late_call_changes_nothing, a_failure_is_reported_unless_it_took_effect,
           a_hypervisor_that_answers_late_is_waited_for,
           an_unresponsive_or_busy_disk_fails_after_the_timeout, a_job_shows_how_far_it_is,
           a_job_that_is_not_awaited_is_not_watched, a_job_that_ends_without_success_is_a_failure,
           a_job_of_a_previous_agent_is_adopted,
           a_merge_that_runs_below_a_disk_recorded_by_nova_is_adopted,
           a_foreign_block_job_is_waited_for, a_guest_that_is_off_is_a_failure,
           a_guest_that_moves_is_waited_for,
           a_guest_that_has_left_is_a_failure_unless_it_is_elsewhere,
           a_report_is_repeated_until_it_is_taken,
           a_repeated_request_joins_and_is_checked_once_more, open_jobs_are_bounded)
