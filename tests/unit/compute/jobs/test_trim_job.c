#include "tests/lib/check_main.h"

#include "common/worker.h"
#include "compute/hypervisor/timed_hypervisor.h"
#include "compute/jobs/trim_job.h"
#include "tests/unit/compute/agent/agent_scene.h"

#include <string.h>
#include <time.h>

#define TRIM   "44444444-4444-4444-8444-444444444444"
#define ACTION "/v3/volumes/" VOLUME "/action"

#define REPORT(rest)   "{\"os-update_reclaim_space\":{\"id\":\"" TRIM "\",\"status\":" rest "}}"
#define REPORT_BEGIN   REPORT("\"running\"")
#define REPORT_RUNNING REPORT("\"running\",\"progress\":50")
#define REPORT_DONE    REPORT("\"done\"")

/* A running guest with a disk that can be trimmed, and a scripted volume API; pauses of a
 * millisecond. */
struct scene {
    struct fake_hypervisor *fake;
    struct script_server *server;
    struct hypervisor *patient; /* has the fake one; NULL: there is none */
    struct worker_pool *pool;
    struct trims *trims;
    struct disk disk;
    char url[URL_SIZE];
};

static void scene_begin(struct scene *scene, int64_t busy_ms, int64_t unreachable_ms,
                        bool patient) {
    struct trim_settings settings = {
        .host = "here", .retry_ms = 1, .busy_ms = busy_ms, .unreachable_ms = unreachable_ms
    };

    scene->fake = guest_new("/there/volume-" VOLUME, 0, &scene->disk);
    scene->disk.discards = true;
    fake_hypervisor_put(scene->fake, VOLUME, &scene->disk);
    scene->server = volume_api_new(scene->url);
    settings.hypervisor = fake_hypervisor_of(scene->fake);
    if (patient)
        settings.hypervisor = scene->patient = timed_hypervisor_new(settings.hypervisor, 60000);
    settings.api = volumes_client(scene->url, NULL, NULL);
    settings.pool = scene->pool = worker_pool_new("test", 2);
    scene->trims = trims_new(&settings);
}

static struct scene *scene_with(int64_t busy_ms, int64_t unreachable_ms) {
    struct scene *scene = calloc(1, sizeof(*scene));

    scene_begin(scene, busy_ms, unreachable_ms, false);
    return scene;
}

static struct scene *scene_new(void) {
    return scene_with(60000, 60000);
}

static void scene_end(struct scene *scene) {
    worker_pool_stop(scene->pool);
    trims_free(scene->trims);
    script_server_free(scene->server);
    if (scene->patient)
        scene->patient->free(scene->patient);
    else
        fake_hypervisor_free(scene->fake);
    free(scene);
}

static void answer(struct scene *scene, int status, unsigned times) {
    script_server_add(scene->server,
                      &(struct script_rule){ .path = ACTION, .status = status, .times = times });
}

static void put(struct scene *scene) {
    const struct trim trim = { TRIM, VOLUME, INSTANCE, "req-7" };
    struct error err = { 0 };

    ck_assert_int_eq(trims_put(scene->trims, &trim, &err), 0);
}

static void await_end(struct scene *scene) {
    const struct timespec pause = { .tv_nsec = 1000000 };

    for (int i = 0; i < 60000 && trims_open(scene->trims) > 0; i++)
        nanosleep(&pause, NULL);
    ck_assert_uint_eq(trims_open(scene->trims), 0);
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

static void await_report(struct scene *scene, const char *wanted) {
    for (unsigned i = 0;; i++) {
        ck_assert(script_server_await(scene->server, "POST", ACTION, i + 1));
        if (strcmp(report(scene, i), wanted) == 0)
            return;
    }
}

static unsigned trims(struct scene *scene) {
    return fake_hypervisor_count(scene->fake, FAKE_TRIM_DISK);
}

/* By it the places of a host are shared out. */
START_TEST(a_trim_is_accounted_to_the_project_of_the_volume) {
    struct scene *scene = scene_new();

    script_server_add(scene->server, &(struct script_rule){
                                         .path = "/v3/volumes/" VOLUME,
                                         .status = 200,
                                         .body = "{\"volume\": {\"id\": \"" VOLUME
                                                 "\", \"status\": \"reclaiming\", \"size\": 1, "
                                                 "\"os-vol-tenant-attr:tenant_id\": \"of-it\"}}" });
    answer(scene, 202, 0);
    put(scene);
    await_end(scene);
    ck_assert_str_eq(fake_hypervisor_trimmed_for(scene->fake), "of-it");
    ck_assert_str_eq(last_report(scene), REPORT_DONE);
    scene_end(scene);
}
END_TEST

START_TEST(a_guest_trims_and_that_is_reported) {
    struct scene *scene = scene_new();

    answer(scene, 202, 0);
    put(scene);
    await_end(scene);
    ck_assert_uint_eq(reports(scene), 2);
    ck_assert_str_eq(report(scene, 0), REPORT_BEGIN);
    ck_assert_str_eq(report(scene, 1), REPORT_DONE);
    ck_assert(script_request_has(script_server_request(scene->server, "POST", ACTION, 1),
                                 "X-OpenStack-Request-ID", "req-7"));
    ck_assert_uint_eq(trims(scene), 1);
    scene_end(scene);
}
END_TEST

START_TEST(a_running_trim_reports_periodically) {
    struct scene *scene = scene_new();

    answer(scene, 202, 0);
    fake_hypervisor_trims(scene->fake, true);
    put(scene);
    put(scene); /* it is requested again */
    await_report(scene, REPORT_RUNNING);
    ck_assert_uint_eq(trims_open(scene->trims), 1);
    fake_hypervisor_trims(scene->fake, false);
    await_end(scene);
    ck_assert_str_eq(last_report(scene), REPORT_DONE);
    scene_end(scene);
}
END_TEST

/* Before it begins, and while the guest is at it. */
START_TEST(a_trim_that_is_not_awaited_ends) {
    for (int begun = 0; begun <= 1; begun++) {
        struct scene *scene = scene_new();

        if (begun)
            answer(scene, 202, 1);
        answer(scene, 400, 0);
        fake_hypervisor_trims(scene->fake, true);
        put(scene);
        await_end(scene);
        ck_assert_int_eq((int)reports(scene), begun + 1);
        ck_assert(begun ? trims(scene) > 0 : trims(scene) == 0);
        scene_end(scene);
    }
}
END_TEST

/* The end is kept, and the guest does not trim again. */
START_TEST(a_report_is_repeated_until_it_is_taken) {
    struct scene *scene = scene_new();

    answer(scene, 202, 1);
    answer(scene, 500, 3);
    answer(scene, 202, 0);
    put(scene);
    await_end(scene);
    ck_assert_uint_eq(reports(scene), 5);
    ck_assert_str_eq(last_report(scene), REPORT_DONE);
    ck_assert_uint_eq(trims(scene), 1);
    scene_end(scene);
}
END_TEST

START_TEST(a_failure_has_a_reason_and_whether_a_retry_may_succeed) {
    static const struct {
        enum error_kind kind;
        const char *sent;
    } rows[] = {
        { ERROR_BAD_REQUEST, "\"error\",\"reason\":\"unsupported\"" },
        { ERROR_CONFLICT, "\"error\",\"reason\":\"busy\"" },
        { ERROR_UNAVAILABLE, "\"error\",\"reason\":\"failed\"" },
        { ERROR_BACKEND, "\"error\",\"reason\":\"failed\"" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = scene_with(1, 1);

        answer(scene, 202, 0);
        fake_hypervisor_fail(scene->fake, FAKE_TRIM_DISK, rows[i].kind, 100000, false);
        put(scene);
        await_end(scene);
        ck_assert_ptr_nonnull(strstr(last_report(scene), rows[i].sent));
        ck_assert_ptr_nonnull(strstr(last_report(scene), "\"message\":\"a fault of the test\""));
        scene_end(scene);
    }
}
END_TEST

/* Others at the guest, and an unresponsive hypervisor. */
START_TEST(a_temporary_obstacle_is_waited_for) {
    static const struct {
        enum fake_call call;
        enum error_kind kind;
    } rows[] = { { FAKE_TRIM_DISK, ERROR_CONFLICT },
                 { FAKE_TRIM_DISK, ERROR_UNAVAILABLE },
                 { FAKE_FIND_DISK, ERROR_UNAVAILABLE } };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = scene_new();

        answer(scene, 202, 0);
        fake_hypervisor_fail(scene->fake, rows[i].call, rows[i].kind, 3, false);
        put(scene);
        await_end(scene);
        ck_assert_str_eq(last_report(scene), REPORT_DONE);
        scene_end(scene);
    }
}
END_TEST

/* Behind a hypervisor with deadlines each begins well and is found failed a round later. */
START_TEST(a_permanent_obstacle_is_not_waited_for) {
    struct scene *scene = calloc(1, sizeof(*scene));

    scene_begin(scene, 1, 1, true);
    answer(scene, 202, 0);
    fake_hypervisor_fail(scene->fake, FAKE_TRIM_DISK, ERROR_CONFLICT, 1000000, false);
    put(scene);
    await_end(scene);
    ck_assert_msg(strstr(last_report(scene), "\"error\",\"reason\":\"busy\""), "%s",
                  last_report(scene));
    scene_end(scene);
}
END_TEST

START_TEST(a_disk_that_cannot_be_trimmed_is_refused) {
    static const struct {
        struct disk disk;
        enum error_kind kind;
        const char *why;
    } rows[] = {
        { { .state = DISK_RUNNING }, ERROR_BAD_REQUEST, "discard='unmap'" },
        { { .state = DISK_RUNNING, .discards = true, .read_only = true },
          ERROR_BAD_REQUEST,
          "read-only" },
        { { .state = DISK_OFF, .discards = true }, ERROR_CONFLICT, "not running" },
        { { .state = DISK_RUNNING, .discards = true, .moving = true }, ERROR_CONFLICT, "migrated" },
    };
    const struct trim trim = { TRIM, VOLUME, INSTANCE, NULL };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = scene_with(1, 1);
        struct disk disk = rows[i].disk, found;
        struct error err = { 0 };

        snprintf(disk.instance_uuid, sizeof(disk.instance_uuid), "%s", INSTANCE);
        fake_hypervisor_put(scene->fake, VOLUME, &disk);
        ck_assert_int_eq(
            trim_check_disk(fake_hypervisor_of(scene->fake), NULL, &trim, &found, &err), -1);
        ck_assert_int_eq(err.kind, rows[i].kind);
        ck_assert_ptr_nonnull(strstr(err.message, rows[i].why));
        answer(scene, 202, 0);
        put(scene);
        await_end(scene);
        ck_assert_ptr_nonnull(strstr(last_report(scene), "\"error\""));
        ck_assert_uint_eq(trims(scene), 0);
        scene_end(scene);
    }
}
END_TEST

CHECK_MAIN("trim_job", a_trim_is_accounted_to_the_project_of_the_volume,
           a_guest_trims_and_that_is_reported, a_running_trim_reports_periodically,
           a_trim_that_is_not_awaited_ends, a_report_is_repeated_until_it_is_taken,
           a_failure_has_a_reason_and_whether_a_retry_may_succeed,
           a_temporary_obstacle_is_waited_for, a_permanent_obstacle_is_not_waited_for,
           a_disk_that_cannot_be_trimmed_is_refused)
