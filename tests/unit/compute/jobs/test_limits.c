#include "tests/lib/check_main.h"

#include "client/volumes.h"
#include "common/log.h"
#include "compute/hypervisor/timed_hypervisor.h"
#include "compute/jobs/limits.h"
#include "tests/lib/fake_hypervisor.h"
#include "tests/lib/script_server.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define VOLUME   "11111111-1111-4111-8111-111111111111"
#define OTHER    "33333333-3333-4333-8333-333333333333"
#define SWAPPED  "44444444-4444-4444-8444-444444444444"
#define INSTANCE "22222222-2222-4222-8222-222222222222"
#define PATH     "/v3/os-volume-limits?host=a%2Fb"

#define ANSWER(rows)        "{\"volume_limits\": [" rows "]}"
#define ROW(volume, limits) "{\"volume_id\": \"" volume "\", \"limits\": {" limits "}}"

static struct fake_hypervisor *fake;
static struct script_server *server;
static struct limiter *limiter;
static struct hypervisor *patient;

static void put_disk(const char *volume, enum disk_state state) {
    struct disk disk = { .state = state, .target = "vda" };

    snprintf(disk.source, sizeof disk.source, "/image-of-%s", volume);
    strcpy(disk.instance_uuid, INSTANCE);
    fake_hypervisor_put(fake, volume, &disk);
}

static void begin_agent(void) {
    static char url[80];
    struct limiter_settings settings = { .hypervisor = patient, .host = "a/b", .pause_ms = 1 };

    snprintf(url, sizeof url, "%s/v3", script_server_url(server));
    settings.api = volumes_client(url, NULL, NULL);
    limiter = limiter_new(&settings);
}

static void begin(void) {
    log_open(-1, LOG_ERROR, LOG_TEXT);
    fake = fake_hypervisor_new();
    patient = timed_hypervisor_new(fake_hypervisor_of(fake), 60000);
    server = script_server_new();
    put_disk(VOLUME, DISK_RUNNING);
    put_disk(OTHER, DISK_RUNNING);
}

static void end_agent(void) {
    limiter_free(limiter);
    limiter = NULL;
}

static void end(void) {
    if (limiter)
        end_agent();
    script_server_free(server);
    patient->free(patient); /* and its requests */
}

static void respond(int status, const char *body) {
    script_server_clear(server);
    script_server_add(server,
                      &(struct script_rule){ .path = PATH, .status = status, .body = body });
}

static void pause_shortly(void) {
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void await(const char *volume, enum io_limit limit, int64_t value) {
    while (fake_hypervisor_limit(fake, volume, limit) != value)
        pause_shortly();
}

/* Two looks that have begun now are over. */
static void await_looks(void) {
    ck_assert(
        script_server_await(server, "GET", PATH, script_server_count(server, "GET", PATH) + 3));
}

START_TEST(disks_get_the_limits_of_their_volumes) {
    respond(200,
            ANSWER(ROW(VOLUME, "\"total_iops_sec\": 100, \"read_iops_sec\": 5, \"colour\": 1")));
    begin_agent();
    await(VOLUME, IO_TOTAL_REQUESTS, 100);
    ck_assert_int_eq(fake_hypervisor_limit(fake, VOLUME, IO_READ_REQUESTS), 0);
    respond(200,
            ANSWER(ROW(VOLUME, "\"read_bytes_sec\": 7") "," ROW(OTHER, "\"total_iops_sec\": 9")));
    await(VOLUME, IO_READ_BYTES, 7);
    await(OTHER, IO_TOTAL_REQUESTS, 9);
    ck_assert_int_eq(fake_hypervisor_limit(fake, VOLUME, IO_TOTAL_REQUESTS), 0);
    respond(200, ANSWER(ROW(OTHER, "\"total_iops_sec\": 9")));
    await(VOLUME, IO_READ_BYTES, 0);
    ck_assert_int_eq(fake_hypervisor_limit(fake, OTHER, IO_TOTAL_REQUESTS), 9);
}
END_TEST

START_TEST(unchanged_limits_are_not_set_again) {
    unsigned count;

    respond(200, ANSWER(ROW(VOLUME, "\"total_iops_sec\": 100")));
    begin_agent();
    await(VOLUME, IO_TOTAL_REQUESTS, 100);
    await_looks();
    count = fake_hypervisor_count(fake, FAKE_LIMIT_DISK);
    await_looks();
    ck_assert_uint_eq(fake_hypervisor_count(fake, FAKE_LIMIT_DISK), count);
    ck_assert_uint_eq(count, 1);
}
END_TEST

START_TEST(a_restarted_guest_is_limited_again) {
    respond(200, ANSWER(ROW(VOLUME, "\"total_iops_sec\": 100")));
    begin_agent();
    await(VOLUME, IO_TOTAL_REQUESTS, 100);
    put_disk(VOLUME, DISK_OFF);
    fake_hypervisor_set_limit(fake, VOLUME, IO_TOTAL_REQUESTS, 0);
    await_looks();
    ck_assert_int_eq(fake_hypervisor_limit(fake, VOLUME, IO_TOTAL_REQUESTS), 0);
    put_disk(VOLUME, DISK_RUNNING);
    await(VOLUME, IO_TOTAL_REQUESTS, 100);
}
END_TEST

/* Nova swaps the volume of a disk and leaves the serial number. */
START_TEST(a_swapped_disk_gets_the_limits_of_the_volume_of_its_file) {
    respond(200, ANSWER(ROW(VOLUME, "\"total_iops_sec\": 100")));
    begin_agent();
    await(VOLUME, IO_TOTAL_REQUESTS, 100);
    fake_hypervisor_swap(fake, VOLUME, SWAPPED);
    respond(200, ANSWER(ROW(SWAPPED, "\"total_iops_sec\": 7")));
    await(VOLUME, IO_TOTAL_REQUESTS, 7);
    /* the former volume is another disk by now, with the same serial number */
    fake_hypervisor_swap(fake, OTHER, VOLUME);
    respond(200,
            ANSWER(ROW(SWAPPED, "\"total_iops_sec\": 8") "," ROW(VOLUME, "\"total_iops_sec\": 9")));
    await(VOLUME, IO_TOTAL_REQUESTS, 8);
    await(OTHER, IO_TOTAL_REQUESTS, 9);
    respond(200, ANSWER(ROW(VOLUME, "\"total_iops_sec\": 9")));
    await(VOLUME, IO_TOTAL_REQUESTS, 0);
    await_looks();
    ck_assert_int_eq(fake_hypervisor_limit(fake, VOLUME, IO_TOTAL_REQUESTS), 0);
    ck_assert_int_eq(fake_hypervisor_limit(fake, OTHER, IO_TOTAL_REQUESTS), 9);
}
END_TEST

/* As that of a volume that was migrated. */
START_TEST(the_serial_number_decides_where_a_file_has_another_name) {
    fake_hypervisor_swap(fake, VOLUME, SWAPPED);
    respond(200, ANSWER(ROW(VOLUME, "\"total_iops_sec\": 100")));
    begin_agent();
    await(VOLUME, IO_TOTAL_REQUESTS, 100);
}
END_TEST

START_TEST(an_agent_recognizes_the_limits_of_its_predecessor) {
    respond(200, ANSWER(ROW(VOLUME, "\"total_iops_sec\": 100")));
    begin_agent();
    await(VOLUME, IO_TOTAL_REQUESTS, 100);
    end_agent();
    respond(200, ANSWER(""));
    begin_agent();
    await(VOLUME, IO_TOTAL_REQUESTS, 0);
}
END_TEST

START_TEST(foreign_limits_stay_without_own_ones) {
    fake_hypervisor_set_limit(fake, OTHER, IO_WRITE_BYTES, 77);
    respond(200, ANSWER(ROW(VOLUME, "\"total_iops_sec\": 100") "," ROW(
                     OTHER, "\"total_iops_sec_max\": 100"))); /* the peak of nothing */
    begin_agent();
    await(VOLUME, IO_TOTAL_REQUESTS, 100);
    respond(200, ANSWER(""));
    await(VOLUME, IO_TOTAL_REQUESTS, 0);
    await_looks();
    ck_assert_int_eq(fake_hypervisor_limit(fake, OTHER, IO_WRITE_BYTES), 77);
    respond(200, ANSWER(ROW(OTHER, "\"total_bytes_sec\": 5")));
    await(OTHER, IO_TOTAL_BYTES, 5);
    ck_assert_int_eq(fake_hypervisor_limit(fake, OTHER, IO_WRITE_BYTES), 0);
}
END_TEST

START_TEST(limits_stay_without_a_valid_reply_of_the_api) {
    static const struct {
        int status;
        const char *body;
    } cases[] = {
        { 500, "{}" },
        { 403, NULL },
        { 404, NULL },
        { 200, "{}" },
        { 200, "nonsense" },
        { 200, ANSWER("{}") },
        { 200, ANSWER("{\"volume_id\": \"" OTHER "\"}") },
        { 200, ANSWER(ROW(OTHER, "\"total_iops_sec\": 1") ", 7") },
    };

    respond(200, ANSWER(ROW(VOLUME, "\"total_iops_sec\": 100")));
    begin_agent();
    await(VOLUME, IO_TOTAL_REQUESTS, 100);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        respond(cases[i].status, cases[i].body);
        await_looks();
        ck_assert_int_eq(fake_hypervisor_limit(fake, VOLUME, IO_TOTAL_REQUESTS), 100);
        ck_assert_int_eq(fake_hypervisor_limit(fake, OTHER, IO_TOTAL_REQUESTS), 0);
    }
}
END_TEST

START_TEST(a_failed_disk_affects_no_other_and_is_retried) {
    fake_hypervisor_fail(fake, FAKE_LIST_LIMITS, ERROR_UNAVAILABLE, 2, false);
    fake_hypervisor_fail(fake, FAKE_LIMIT_DISK, ERROR_UNAVAILABLE, 3, false);
    respond(200,
            ANSWER(ROW(VOLUME, "\"total_iops_sec\": 8") "," ROW(OTHER, "\"total_iops_sec\": 9")));
    begin_agent();
    await(VOLUME, IO_TOTAL_REQUESTS, 8);
    await(OTHER, IO_TOTAL_REQUESTS, 9);
    ck_assert_uint_ge(fake_hypervisor_count(fake, FAKE_LIST_LIMITS), 4);
}
END_TEST

static bool is_logged(int log, const char *part) {
    char text[4096];
    ssize_t size = pread(log, text, sizeof(text) - 1, 0);

    ck_assert_int_ge(size, 0);
    text[size] = '\0';
    return strstr(text, part) != NULL;
}

START_TEST(a_hypervisor_is_reported_as_failed_only_after_it_has_responded) {
    int log = memfd_create("log", MFD_CLOEXEC);

    log_open(log, LOG_INFO, LOG_TEXT);
    fake_hypervisor_fail(fake, FAKE_LIST_LIMITS, ERROR_UNAVAILABLE, 3, false);
    respond(200, ANSWER(ROW(VOLUME, "\"total_iops_sec\": 8")));
    begin_agent();
    await(VOLUME, IO_TOTAL_REQUESTS, 8);
    ck_assert(is_logged(log, " INFO I/O limits of disks cannot be set yet"));
    ck_assert(!is_logged(log, "WARNING"));
    fake_hypervisor_fail(fake, FAKE_LIST_LIMITS, ERROR_UNAVAILABLE, 3, false);
    while (!is_logged(log, " WARNING I/O limits of disks cannot be set"))
        pause_shortly();
    end_agent();
    close(log);
}
END_TEST

START_TEST(a_failure_of_another_kind_is_reported_at_the_start) {
    int log = memfd_create("log", MFD_CLOEXEC);

    log_open(log, LOG_INFO, LOG_TEXT);
    fake_hypervisor_fail(fake, FAKE_LIST_LIMITS, ERROR_BACKEND, 1, false);
    respond(200, ANSWER(ROW(VOLUME, "\"total_iops_sec\": 8")));
    begin_agent();
    while (!is_logged(log, " WARNING I/O limits of disks cannot be set"))
        pause_shortly();
    end_agent();
    close(log);
}
END_TEST

START_TEST(a_host_without_limits_is_checked_once) {
    respond(200, ANSWER(""));
    begin_agent();
    await_looks();
    await_looks();
    ck_assert_uint_eq(fake_hypervisor_count(fake, FAKE_LIST_LIMITS), 1);
    ck_assert_uint_eq(fake_hypervisor_count(fake, FAKE_LIMIT_DISK), 0);
}
END_TEST

CHECK_MAIN_WITH("limits", true, begin, end, disks_get_the_limits_of_their_volumes,
                unchanged_limits_are_not_set_again, a_restarted_guest_is_limited_again,
                a_swapped_disk_gets_the_limits_of_the_volume_of_its_file,
                the_serial_number_decides_where_a_file_has_another_name,
                an_agent_recognizes_the_limits_of_its_predecessor,
                foreign_limits_stay_without_own_ones, limits_stay_without_a_valid_reply_of_the_api,
                a_failed_disk_affects_no_other_and_is_retried,
                a_hypervisor_is_reported_as_failed_only_after_it_has_responded,
                a_failure_of_another_kind_is_reported_at_the_start,
                a_host_without_limits_is_checked_once)
