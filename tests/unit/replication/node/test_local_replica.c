#include "replication/node/local_replica.h"

#include "replication/engine/replica_epoch.h"
#include "tests/lib/held_calls.h"
#include "tests/lib/replica_requests.h"
#include "tests/unit/replication/node/storage_test.h"

#define EPOCH   5
#define MAXIMUM (INT64_C(1) << 30)

static struct pool_calls *calls; /* without a short timeout */
static struct pool_calls *short_calls;
static struct replica_access near, hasty;
static struct replica replica;
static struct generation first;

static void begin(void) {
    begin_storage();
    replica = (struct replica){ .pool = paths[0], .uid = uids[0] };
    calls = pool_calls_new(NULL, 600000);
    near = local_replica_access(calls);
    short_calls = pool_calls_new(NULL, 1000);
    hasty = local_replica_access(short_calls);
    generation_first(VOLUME, SIZE, uids, POOLS, &first);
    ck_assert_int_eq(replica_create(&replica, VOLUME, MAXIMUM, &first, &err), 0);
}

static void end(void) {
    pool_calls_free(calls);
    pool_calls_free(short_calls);
    end_storage();
}

static void assert_left(int result) {
    ck_assert_int_eq(result, -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.message, "does not answer"));
    ck_assert_uint_eq(calls_held(), 1);
    ck_assert_int_gt(pool_calls_unresponsive_ms(short_calls, paths[0]), 0);
}

static void await_return(void) {
    calls_let_go();
    while (pool_calls_are_abandoned(short_calls))
        poll(NULL, 0, 1);
}

static struct replica_state next_state(void) {
    struct replica_state state = { .mark = REPLICA_DIRTY, .generation = first };

    strcpy(state.volume, VOLUME);
    strcpy(state.replica, uids[0]);
    state.generation.id.number = 7;
    return state;
}

static struct replica_probe probe(void) {
    struct replica_probe seen;

    ck_assert_int_eq(request_probe(&near, &replica, VOLUME, EPOCH, &seen, &err), 0);
    return seen;
}

static int write_state(const struct replica_access *access, int64_t epoch) {
    const struct replica_state state = next_state();

    return request_write_state(access, &replica, epoch, &state, &err);
}

START_TEST(a_responsive_pool_is_accessed_as_without_timeouts) {
    unsigned char sums[2][REPLICA_SUM_SIZE];
    const struct replica other = { .pool = paths[1], .uid = uids[1] };
    struct replica_data data;
    int64_t at = 0;

    ck_assert_int_eq(request_open(&near, &replica, VOLUME, EPOCH, &data, &err), 0);
    ck_assert_str_eq(data.host, "");
    ck_assert_str_eq(data.export, replica_data_path(arena, &replica));
    ck_assert_int_eq(write_state(&near, EPOCH), 0);
    ck_assert_int_eq(probe().state.generation.id.number, 7);
    ck_assert_int_eq(probe().epoch, EPOCH);
    ck_assert_int_eq(request_flush(&near, &replica, EPOCH, &err), 0);
    ck_assert_int_eq(request_sums(&near, &replica, EPOCH, &at, SIZE, 2, sums, &err), 0);
    ck_assert_int_eq(at, SIZE);
    ck_assert_int_eq(request_reset(&near, &replica, VOLUME, MAXIMUM, EPOCH, &err), 0);
    ck_assert_int_eq(probe().state.mark, REPLICA_EMPTY);
    ck_assert_int_eq(request_close(&near, &replica, EPOCH, &err), 0);

    ck_assert_int_eq(write_state(&near, EPOCH - 1), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(request_flush(&near, &other, EPOCH, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_NOT_FOUND);
}
END_TEST

START_TEST(an_abandoned_open_records_its_epoch_late) {
    struct replica_data data;

    calls_hold("flock", "/epoch");
    assert_left(request_open(&hasty, &replica, VOLUME, EPOCH, &data, &err));
    await_return();
    ck_assert_int_eq(probe().epoch, EPOCH);
}
END_TEST

START_TEST(an_abandoned_write_of_a_state_refuses_further_calls) {
    calls_hold("fsync", "/state.new");
    assert_left(write_state(&hasty, EPOCH));
    assert_left(request_flush(&hasty, &replica, EPOCH, &err));
    assert_left(request_reset(&hasty, &replica, VOLUME, MAXIMUM, EPOCH, &err));
    ck_assert_int_eq(probe().state.generation.id.number, 1);
    await_return();
    ck_assert_int_eq(probe().state.generation.id.number, 7);
}
END_TEST

/* Meanwhile it was opened in a higher epoch. */
START_TEST(a_late_call_changes_nothing_of_a_higher_epoch) {
    calls_hold("flock", "/epoch");
    assert_left(write_state(&hasty, EPOCH));
    calls_hold_no_more();
    ck_assert_int_eq(replica_epoch_take(&replica, EPOCH + 1, &err), 0);
    await_return();
    ck_assert_int_eq(probe().epoch, EPOCH + 1);
    ck_assert_int_eq(probe().state.generation.id.number, 1);
}
END_TEST

START_TEST(a_reset_does_not_wait_for_an_unresponsive_pool) {
    calls_hold("ftruncate", "/data");
    assert_left(request_reset(&hasty, &replica, VOLUME, MAXIMUM, EPOCH, &err));
    await_return();
    ck_assert_int_eq(probe().state.mark, REPLICA_EMPTY);
}
END_TEST

START_TEST(a_flush_does_not_wait_for_an_unresponsive_pool) {
    calls_hold("fsync", "/data");
    assert_left(request_flush(&hasty, &replica, EPOCH, &err));
    await_return();
}
END_TEST

/* However many dirty pages there are, no single call writes all of them. */
START_TEST(a_flush_is_written_piece_by_piece) {
    autoclose int fd = open(replica_data_path(arena, &replica), O_WRONLY | O_CLOEXEC);

    ck_assert_int_eq(pwrite(fd, "x", 1, 0), 1);
    ck_assert_int_eq(pwrite(fd, "x", 1, MAXIMUM - 1), 1);
    calls_hold("sync_file_range", "/data");
    assert_left(request_flush(&hasty, &replica, EPOCH, &err));
    await_return();
    calls_count("sync_file_range", "/data");
    ck_assert_int_eq(request_flush(&near, &replica, EPOCH, &err), 0);
    ck_assert_uint_eq(calls_counted(), 2); /* no piece for a hole */
}
END_TEST

START_TEST(a_comparison_does_not_wait_for_an_unresponsive_pool) {
    unsigned char sums[1][REPLICA_SUM_SIZE] = { { 0 } };
    int64_t at = 0;
    autoclose int fd = open(replica_data_path(arena, &replica), O_WRONLY | O_CLOEXEC);

    ck_assert_int_eq(write(fd, "x", 1), 1);
    calls_hold("pread", "/data");
    assert_left(request_sums(&hasty, &replica, EPOCH, &at, SIZE, 1, sums, &err));
    ck_assert_int_eq(at, 0);
    await_return();
    ck_assert_int_eq(request_sums(&near, &replica, EPOCH, &at, SIZE, 1, sums, &err), 1);
}
END_TEST

START_TEST(a_read_does_not_wait_for_an_unresponsive_pool) {
    char bytes[2] = "--";
    autoclose int fd = open(replica_data_path(arena, &replica), O_WRONLY | O_CLOEXEC);

    ck_assert_int_eq(pwrite(fd, "xy", 2, 4096), 2);
    calls_hold("pread", "/data");
    assert_left(request_read(&hasty, &replica, 4096, 2, bytes, &err));
    await_return();
    ck_assert_mem_eq(bytes, "--", 2);
    ck_assert_int_eq(request_read(&near, &replica, 4096, 2, bytes, &err), 0);
    ck_assert_mem_eq(bytes, "xy", 2);
    ck_assert_int_eq(request_read(&near, &replica, MAXIMUM, 2, bytes, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BACKEND);
}
END_TEST

#define SNAPSHOT "00000000-0000-4000-8000-0000000000e1"

static int snapshot(const struct replica_access *access, enum replica_snapshot_step step) {
    return request_snapshot(access, &replica, step, SNAPSHOT, SIZE, &err);
}

static int64_t snapshot_size(void) {
    return request_snapshot_size(&near, &replica, SNAPSHOT);
}

static bool is_begun(void) {
    return access(replica_snapshot_path(arena, &replica, SNAPSHOT), F_OK) == 0;
}

START_TEST(a_snapshot_is_taken_as_without_timeouts) {
    ck_assert_int_eq(snapshot(&near, REPLICA_SNAPSHOT_BEGIN), 0);
    ck_assert(is_begun());
    ck_assert_int_eq(snapshot_size(), 0);
    ck_assert_int_eq(snapshot(&near, REPLICA_SNAPSHOT_TIDY), 0);
    ck_assert(!is_begun());
    ck_assert_int_eq(snapshot(&near, REPLICA_SNAPSHOT_BEGIN), 0);
    ck_assert_int_eq(snapshot(&near, REPLICA_SNAPSHOT_END), -1);
    ck_assert_int_eq(err.kind, ERROR_NOT_FOUND);
    ck_assert_int_eq(snapshot(&near, REPLICA_SNAPSHOT_COMPLETE), 0);
    ck_assert_int_eq(snapshot_size(), 0);
    ck_assert_int_eq(snapshot(&near, REPLICA_SNAPSHOT_TIDY), 0);
    ck_assert_int_eq(snapshot(&near, REPLICA_SNAPSHOT_END), 0);
    ck_assert_int_eq(snapshot_size(), SIZE);
    ck_assert_int_eq(snapshot(&near, REPLICA_SNAPSHOT_TIDY), 0);
    ck_assert_int_eq(snapshot_size(), SIZE);
    ck_assert_int_eq(snapshot(&near, REPLICA_SNAPSHOT_DELETE), 0);
    ck_assert_int_eq(snapshot_size(), 0);
}
END_TEST

START_TEST(a_snapshot_does_not_wait_for_an_unresponsive_pool) {
    calls_hold("ftruncate", ".new");
    assert_left(snapshot(&hasty, REPLICA_SNAPSHOT_BEGIN));
    ck_assert_int_eq(request_snapshot_size(&hasty, &replica, SNAPSHOT), -1);
    await_return();
    ck_assert_int_eq(snapshot_size(), 0);
    ck_assert(!is_begun());
}
END_TEST

/* The snapshots of other replicas may be deleted by then, and the next one of that name be of
 * another moment. */
START_TEST(a_late_snapshot_is_removed) {
    ck_assert_int_eq(snapshot(&near, REPLICA_SNAPSHOT_BEGIN), 0);
    calls_hold("fsync", ".new");
    assert_left(snapshot(&hasty, REPLICA_SNAPSHOT_COMPLETE));
    await_return();
    ck_assert_int_eq(snapshot_size(), 0);
    ck_assert(!is_begun()); /* nor does a file as large as the volume remain */
}
END_TEST

START_TEST(a_snapshot_is_written_piece_by_piece) {
    autoclose int fd = -1;

    ck_assert_int_eq(snapshot(&near, REPLICA_SNAPSHOT_BEGIN), 0);
    fd = open(replica_snapshot_path(arena, &replica, SNAPSHOT), O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(write(fd, "x", 1), 1);
    calls_hold("sync_file_range", ".new");
    assert_left(snapshot(&hasty, REPLICA_SNAPSHOT_COMPLETE));
    await_return();
    ck_assert_int_eq(snapshot_size(), 0);
    ck_assert(!is_begun());
}
END_TEST

START_TEST(a_snapshot_that_is_cancelled_late_is_removed) {
    ck_assert_int_eq(snapshot(&near, REPLICA_SNAPSHOT_BEGIN), 0);
    ck_assert_int_eq(snapshot(&near, REPLICA_SNAPSHOT_COMPLETE), 0);
    ck_assert_int_eq(snapshot(&near, REPLICA_SNAPSHOT_END), 0);
    calls_hold("unlinkat", "snapshot-" SNAPSHOT);
    assert_left(snapshot(&hasty, REPLICA_SNAPSHOT_DELETE));
    await_return();
    ck_assert_int_eq(snapshot_size(), 0);
}
END_TEST

START_TEST(a_cleanup_does_not_wait_for_an_unresponsive_pool) {
    ck_assert_int_eq(snapshot(&near, REPLICA_SNAPSHOT_BEGIN), 0);
    calls_hold("unlinkat", ".new");
    assert_left(snapshot(&hasty, REPLICA_SNAPSHOT_TIDY));
    await_return();
    ck_assert(!is_begun());
}
END_TEST

START_TEST(a_late_lock_is_released) {
    int lock = -1;

    calls_hold("flock", "/lock");
    assert_left(request_lock(&hasty, &replica, &lock, &err));
    ck_assert_int_eq(lock, -1);
    await_return();
    ck_assert_int_eq(request_lock(&near, &replica, &lock, &err), 0);
    ck_assert_int_ge(lock, 0);
    close(lock);
}
END_TEST

static bool is_there(const struct replica *seen) {
    return access(arena_join(arena, seen->pool, "/", seen->uid, NULL), F_OK) == 0;
}

START_TEST(a_replica_created_late_is_removed) {
    const struct replica other = { .pool = paths[0], .uid = uids[1] };

    calls_hold("mkdirat", uids[1]);
    assert_left(request_create(&hasty, &other, VOLUME, MAXIMUM, &err));
    await_return();
    ck_assert(!is_there(&other));
    ck_assert_int_eq(request_create(&near, &other, VOLUME, MAXIMUM, &err), 0);
    ck_assert(is_there(&other));
}
END_TEST

/* Nor is a replica deleted that another caller created. */
START_TEST(an_existing_replica_stays_when_its_creation_is_late) {
    const struct replica other = { .pool = paths[0], .uid = uids[1] };
    struct replica_probe seen;

    calls_hold("mkdirat", uids[1]);
    assert_left(request_create(&hasty, &other, VOLUME, MAXIMUM, &err));
    calls_hold_no_more();
    ck_assert_int_eq(replica_create(&other, VOLUME, MAXIMUM, &first, &err), 0);
    await_return();
    replica_probe(&other, VOLUME, &seen);
    ck_assert_int_eq(seen.state.mark, REPLICA_CLEAN);
}
END_TEST

START_TEST(an_abandoned_adoption_records_its_epoch_late) {
    calls_hold("flock", "/epoch");
    assert_left(request_adopt(&hasty, &replica, EPOCH, &err));
    await_return();
    ck_assert_int_eq(probe().epoch, EPOCH);
    ck_assert_int_eq(request_adopt(&near, &replica, EPOCH - 1, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
}
END_TEST

CHECK_MAIN_WITH(
    "local_replica", true, begin, end, a_responsive_pool_is_accessed_as_without_timeouts,
    an_abandoned_open_records_its_epoch_late, an_abandoned_write_of_a_state_refuses_further_calls,
    a_late_call_changes_nothing_of_a_higher_epoch, a_reset_does_not_wait_for_an_unresponsive_pool,
    a_flush_does_not_wait_for_an_unresponsive_pool, a_flush_is_written_piece_by_piece,
    a_snapshot_is_written_piece_by_piece, a_comparison_does_not_wait_for_an_unresponsive_pool,
    a_snapshot_is_taken_as_without_timeouts, a_snapshot_does_not_wait_for_an_unresponsive_pool,
    a_late_snapshot_is_removed, a_snapshot_that_is_cancelled_late_is_removed,
    a_cleanup_does_not_wait_for_an_unresponsive_pool, a_read_does_not_wait_for_an_unresponsive_pool,
    a_late_lock_is_released, a_replica_created_late_is_removed,
    an_existing_replica_stays_when_its_creation_is_late,
    an_abandoned_adoption_records_its_epoch_late)
