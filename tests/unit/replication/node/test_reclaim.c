/*
 * Reclaim of space of the replicas of a pool, as their documents request it.
 */
#include "common/image_lock.h"
#include "replication/engine/replica_epoch.h"
#include "replication/node/pools.h"
#include "replication/node/reclaim_jobs.h"

#include "tests/unit/replication/node/storage_test.h"

#include <dirent.h>

#define MIB (INT64_C(1) << 20)

static struct pools *pools;
static int generation;

static void start(void) {
    struct pool_settings *settings = arena_alloc(arena, sizeof(*settings));
    const struct pools_settings all = {
        .pools = settings,
        .count = 1,
        .node = NODE,
        .api = api,
        .reports = reports,
        .heartbeat_ms = 2000,
        .check_ms = 5,
    };

    *settings = (struct pool_settings){ .name = names[0],
                                        .path = paths[0],
                                        .labels = json_keep(arena, json_object()) };
    ck_assert_int_eq(pools_start(&all, &pools, &err), 0);
}

static const char *data(void) {
    return arena_join(arena, paths[0], "/", uids[0], "/data", NULL);
}

static int64_t used(void) {
    struct stat facts;

    ck_assert_int_eq(stat(data(), &facts), 0);
    return (int64_t)facts.st_blocks * 512;
}

/* `reported`: its present status; NULL: none. */
static void assign(int number, const char *reported) {
    json_t *document = replica_document(0, ++generation);
    struct assignment *assignment;

    if (number > 0)
        json_object_set_new(json_object_get(document, "spec"), "reclaim",
                            json_pack("{s:i}", "number", number));
    set_phase(document, "Healthy");
    if (reported)
        json_object_set(json_object_get(document, "status"), "reclaim",
                        json_parse(arena, reported, strlen(reported), &err));
    assignment = assignment_of(ASSIGNMENT_REPLICA, document);
    pools_set(pools, &assignment, 1);
    assignment_release(assignment);
}

static const json_t *reported_reclaim(void) {
    return json_object_get(reported(uids[0]), "reclaim");
}

static int64_t figure(const char *key) {
    return json_integer_value(json_object_get(reported_reclaim(), key));
}

static bool is_reported(int number, const char *phase) {
    const char *found = json_text_of(reported_reclaim(), "phase");

    return figure("number") == number && found && strcmp(found, phase) == 0;
}

static void await(int number, const char *phase) {
    int64_t until_us = clock_monotonic_us() + 60 * SECOND_US;

    while (!is_reported(number, phase)) {
        ck_assert_msg(clock_monotonic_us() < until_us, "%s", json_text(arena, reported_reclaim()));
        poll(NULL, 0, 5);
    }
}

static void await_message(const char *text) {
    const char *found;

    while (!(found = json_text_of(reported_reclaim(), "message")) || !strstr(found, text))
        poll(NULL, 0, 5);
}

static void write_at(int64_t at, int byte, int64_t size) {
    autoclose int fd = open(data(), O_WRONLY);
    char *bytes = arena_alloc(arena, (size_t)size);

    memset(bytes, byte, (size_t)size);
    ck_assert_int_eq(pwrite(fd, bytes, (size_t)size, at), size);
    ck_assert_int_eq(fsync(fd), 0);
}

static void assert_byte(int64_t at, int byte) {
    autoclose int fd = open(data(), O_RDONLY);
    char found;

    ck_assert_int_eq(pread(fd, &found, 1, at), 1);
    ck_assert_int_eq(found, byte);
}

/* A replica of 64 MiB with 1 MiB of data and 8 of zeros. */
static void begin(void) {
    const struct replica place = { .pool = paths[0], .uid = uids[0] };
    struct generation first;

    begin_storage();
    begin_reports(1);
    generation = 0;
    ck_assert_int_eq(pool_mark(paths[0], names[0], &err), 0);
    generation_first(VOLUME, SIZE, (const char *const[]){ uids[0], uids[1], uids[2] }, 3, &first);
    ck_assert_int_eq(replica_create(&place, VOLUME, INT64_C(1) << 30, &first, &err), 0);
    write_at(0, 'a', MIB);
    write_at(MIB, 0, 8 * MIB);
    answer("GET", NULL, 200, "{\"replica_pool\": {}}");
    answer("PUT", NULL, 200, "{}");
    start();
}

static void end(void) {
    ck_assert(pools_stop(pools, 60000));
    end_storage();
}

START_TEST(space_is_reclaimed_once_for_each_number) {
    int64_t before = used();

    assign(1, NULL);
    await(1, "Done");
    ck_assert_int_eq(figure("beforeBytes"), before);
    ck_assert_int_eq(figure("afterBytes"), used());
    ck_assert_int_ge(before - used(), 8 * MIB);
    ck_assert_ptr_null(json_object_get(reported_reclaim(), "message"));
    ck_assert_str_eq(reported_phase(uids[0]), "Healthy");
    assert_byte(0, 'a');
    assert_byte(MIB - 1, 'a');
    assert_byte(MIB, 0);

    write_at(MIB, 0, 8 * MIB);
    assign(1, NULL); /* the same request again has no effect */
    while (json_integer_value(json_object_get(reported(uids[0]), "observedGeneration")) <
           generation)
        poll(NULL, 0, 5);
    ck_assert(is_reported(1, "Done"));
    ck_assert_int_ge(used(), 8 * MIB);
    assign(2, NULL);
    await(2, "Done");
    ck_assert_int_lt(used(), 2 * MIB);

    assign(0, NULL);
    while (reported_reclaim())
        poll(NULL, 0, 5);
}
END_TEST

START_TEST(a_replica_in_use_is_awaited) {
    autoclose int daemon = open(data(), O_RDWR);

    ck_assert_int_eq(image_lock_writer(daemon, false, &err), IMAGE_LOCKED);
    assign(1, NULL);
    await_message("is in use");
    ck_assert(is_reported(1, "Pending"));
    ck_assert_int_ge(used(), 9 * MIB);
    cleanup_close(&daemon);
    daemon = -1;
    await(1, "Done");
    ck_assert_int_lt(used(), 2 * MIB);
}
END_TEST

/* A restarted agent reports the outcome of an earlier one. */
START_TEST(a_finished_reclaim_is_reported_and_not_repeated) {
    assign(3, "{\"number\":3,\"phase\":\"Done\",\"beforeBytes\":9000,\"afterBytes\":4096}");
    await(3, "Done");
    ck_assert_int_eq(figure("beforeBytes"), 9000);
    ck_assert_int_eq(figure("afterBytes"), 4096);
    assign(4, "{\"number\":4,\"phase\":\"Failed\",\"reason\":\"unsupported\"}");
    await(4, "Failed");
    ck_assert_str_eq(json_text_of(reported_reclaim(), "reason"), "unsupported");
    ck_assert_int_ge(used(), 9 * MIB);
    assign(5, "{\"number\":5,\"phase\":\"Pending\"}");
    await(5, "Done");
    ck_assert_int_lt(used(), 2 * MIB);
}
END_TEST

START_TEST(the_reclaim_of_an_unreadable_replica_fails_with_a_reason) {
    const char *state = arena_join(arena, paths[0], "/", uids[0], "/state", NULL);
    autoclose int fd = open(state, O_WRONLY | O_TRUNC);

    ck_assert_int_eq(pwrite(fd, "x", 1, 0), 1);
    assign(1, NULL);
    await(1, "Failed");
    ck_assert_str_eq(json_text_of(reported_reclaim(), "reason"), "failed");
    ck_assert_ptr_nonnull(json_text_of(reported_reclaim(), "message"));
    ck_assert_int_ge(used(), 9 * MIB);
}
END_TEST

/* ---- several ---- */

static struct replica places[POOLS];

static void make_others(void) {
    for (unsigned i = 0; i < POOLS; i++) {
        struct generation first;

        places[i] = (struct replica){ .pool = paths[0], .uid = uids[i] };
        generation_first(VOLUME, SIZE, (const char *const[]){ uids[i] }, 1, &first);
        ck_assert_int_eq(replica_create(&places[i], VOLUME, INT64_C(1) << 30, &first, &err), 0);
    }
}

static bool is_running(void) {
    DIR *tasks = opendir("/proc/self/task");
    const struct dirent *task;
    bool found = false;

    while ((task = readdir(tasks))) {
        const char *path = arena_join(arena, "/proc/self/task/", task->d_name, "/comm", NULL);
        autoclose int fd = open(path, O_RDONLY);
        char name[16] = "";

        found |= fd >= 0 && read(fd, name, sizeof(name) - 1) > 0 && strcmp(name, "reclaim\n") == 0;
    }
    closedir(tasks);
    return found;
}

static void await_end(void) {
    while (is_running())
        poll(NULL, 0, 1);
}

static int make(struct reclaim_jobs *jobs, unsigned which) {
    struct replica_reclaimed reclaimed = { 0 };

    return reclaim_jobs_run(jobs, &places[which], &reclaimed, &err);
}

START_TEST(an_outcome_is_returned_to_its_requester) {
    struct reclaim_jobs *jobs = reclaim_jobs_new();

    make_others();
    ck_assert_int_eq(make(jobs, 0), 1);
    await_end();
    ck_assert_int_eq(make(jobs, 1), 1);
    ck_assert_int_eq(make(jobs, 2), 1);
    ck_assert_int_eq(make(jobs, 0), 0);
    ck_assert_int_lt(used(), 2 * MIB);
    reclaim_jobs_free(jobs);
}
END_TEST

START_TEST(the_longest_waiting_replica_is_next) {
    struct reclaim_jobs *jobs = reclaim_jobs_new();

    make_others();
    ck_assert_int_eq(make(jobs, 0), 1);
    ck_assert_int_eq(make(jobs, 1), 1);
    ck_assert_int_eq(make(jobs, 2), 1);
    reclaim_jobs_cancel(jobs, uids[0]); /* replaced by newer requests */
    await_end();
    ck_assert_int_eq(make(jobs, 0), 1);
    ck_assert_int_eq(make(jobs, 2), 1);
    ck_assert(!reclaim_jobs_have(jobs, uids[0]) && !reclaim_jobs_have(jobs, uids[2]));
    ck_assert_int_eq(make(jobs, 1), 1);
    ck_assert(reclaim_jobs_have(jobs, uids[1]));

    ck_assert_int_eq(make(jobs, 0), 1);
    ck_assert(reclaim_jobs_have(jobs, uids[0])); /* it is next */
    reclaim_jobs_cancel(jobs, uids[0]); /* and no other replica waits for a cancelled one */
    ck_assert(!reclaim_jobs_have(jobs, uids[0]));
    await_end();
    ck_assert_int_eq(make(jobs, 1), 0);
    ck_assert_int_eq(make(jobs, 2), 1);
    ck_assert(reclaim_jobs_have(jobs, uids[2]));
    reclaim_jobs_stop(jobs, uids[2]);
    reclaim_jobs_free(jobs);
}
END_TEST

CHECK_MAIN_WITH("reclaim", true, begin, end, space_is_reclaimed_once_for_each_number,
                a_replica_in_use_is_awaited, a_finished_reclaim_is_reported_and_not_repeated,
                the_reclaim_of_an_unreadable_replica_fails_with_a_reason,
                an_outcome_is_returned_to_its_requester, the_longest_waiting_replica_is_next)
