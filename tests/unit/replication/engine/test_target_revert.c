#include "replication/engine/replica_snapshot.h"
#include "tests/unit/replication/engine/target_test.h"

#define NAME "00000000-0000-4000-8000-0000000000f1"
#define NONE "00000000-0000-4000-8000-0000000000f2"

static uint32_t then[BLOCKS]; /* the snapshot's content */

static void expect_then(void) {
    memcpy(checker.least, then, sizeof(then));
    memcpy(checker.most, then, sizeof(then));
}

/* A volume with a snapshot, and with later writes; it is not served. */
static void prepare(void) {
    serve();
    write_some(120);
    ck_assert_int_eq(target_snapshot(target, NAME, 0, &err), 1);
    do {
        watch();
    } while (status.job == TARGET_SNAPSHOT);
    ck_assert_msg(status.job == TARGET_SNAPPED, "%s", status.job_error.message);
    memcpy(then, checker.least, sizeof(then));
    write_some(120);
    stop();
    target_close(target);
}

static void open_sealed(bool sealed) {
    settings.sealed = sealed;
    open_target();
}

static void begin_revert(int64_t speed) {
    ck_assert_int_eq(start(), 0); /* an overwritten volume is not resynchronized */
    assert_done(target_revert(target, NAME, speed, &err));
}

static void await_revert(enum target_job outcome) {
    do {
        poll(NULL, 0, 2);
        watch();
    } while (status.job == TARGET_REVERT);
    ck_assert_msg(status.job == outcome, "%d: %s", status.job, status.job_error.message);
}

static void revert(void) {
    begin_revert(0);
    await_revert(TARGET_REVERTED);
}

/* As any volume after a clean stop, with so many voters. */
static void assert_reverted(unsigned voters) {
    assert_done(target_stop(target, &err));
    target_close(target);
    open_sealed(false);
    ck_assert_int_eq(start(), 0);
    ck_assert(connect_checker());
    expect_then();
    read_all();
    assert_voters(voters);
    ck_assert_int_eq(status.failures, 0);
}

START_TEST(all_replicas_get_the_snapshots_content) {
    struct error reason;

    prepare();
    open_sealed(false);
    serve();
    ck_assert_int_eq(target_revert(target, NAME, 0, &reason), -1);
    ck_assert_int_eq(reason.kind, ERROR_CONFLICT);
    read_all(); /* and nothing has changed */
    stop();
    target_close(target);

    open_sealed(true);
    ck_assert_int_eq(start(), 0);
    ck_assert(!connect_checker());
    ck_assert_int_eq(target_revert(target, NONE, 0, &reason), -1);
    ck_assert_int_eq(reason.kind, ERROR_NOT_FOUND);
    ck_assert_int_eq(target_revert(target, "../data", 0, &reason), -1);
    ck_assert_int_eq(reason.kind, ERROR_BAD_REQUEST);
    revert();
    ck_assert(!connect_checker());
    assert_done(target_revert(target, NAME, 0, &err)); /* it may come twice */
    await_revert(TARGET_REVERTED);
    assert_reverted(3);
    assert_equal(0, 1);
    assert_equal(0, 2);

    write_some(60); /* a volume like any other; and it is repeated */
    stop();
    target_close(target);
    open_sealed(true);
    revert();
    assert_reverted(3);
}
END_TEST

START_TEST(a_stopped_revert_is_not_repeated_block_by_block) {
    prepare();
    open_sealed(true);
    begin_revert(1);
    watch();
    ck_assert_int_eq(status.job, TARGET_REVERT);
    assert_done(target_rebuild_stop(target, &err));
    await_revert(TARGET_REVERT_FAILED);
    assert_done(target_stop(target, &err));
    revert();
    assert_reverted(3);
}
END_TEST

/* After any death at any time: no client is admitted, and the next owner repeats all of it. */
START_TEST(an_interrupted_revert_is_repeated) {
    prepare();
    for (int round = 0; round < 4; round++) {
        open_sealed(true);
        begin_revert(round % 2 ? 1 : 64 << 20);
        poll(NULL, 0, round * 10);
        if (round < 2)
            kill_daemon(); /* with the agent, or without */
        watch();
        ck_assert_int_ne(status.job, TARGET_REVERTED);
        ck_assert(!connect_checker());
        target_close(target);
    }
    open_sealed(true);
    target_status(target, &status); /* that of before has ended */
    ck_assert_int_eq(status.state, TARGET_DOWN);
    revert();
    assert_reverted(3);
    assert_equal(0, 1);
    assert_equal(0, 2);
}
END_TEST

START_TEST(a_returned_replica_does_not_vote_until_it_is_rebuilt) {
    char away[80];

    prepare();
    snprintf(away, sizeof(away), "%s.away", pools[2]);
    ck_assert_int_eq(rename(pools[2], away), 0);
    open_sealed(true);
    revert();
    assert_done(target_stop(target, &err));
    ck_assert_int_eq(rename(away, pools[2]), 0);
    assert_reverted(2);
    rebuild(2);
    read_all();
    stop();
    assert_equal(0, 2);
}
END_TEST

/* A replica is lost during the revert: the others are incomplete before all was written again. */
START_TEST(a_replica_that_misses_a_part_is_evicted) {
    prepare();
    open_sealed(true);
    begin_revert(1);
    ck_assert_int_eq(unlink(file_of(1, "data")), 0);
    await_revert(TARGET_REVERT_FAILED);
    assert_done(target_stop(target, &err));
    target_close(target);
    open_sealed(true);
    revert();
    assert_reverted(2);
    assert_equal(0, 2);
}
END_TEST

static void damage_snapshot(unsigned i, unsigned block, unsigned at) {
    autoclose int fd = open(file_of(i, "snapshot-" NAME), O_WRONLY);

    ck_assert_int_eq(pwrite(fd, "junk", 4, block * STRIDE + at), 4);
}

START_TEST(the_files_of_the_snapshot_vote) {
    prepare();
    damage_snapshot(0, 3, 100);
    damage_snapshot(1, 3, 8192); /* of one request, and not of one block */
    open_sealed(true);
    revert();
    assert_reverted(3);
    stop();
    target_close(target);

    assert_done(replica_snapshot_delete(&settings.replicas[2], NAME, &err));
    open_sealed(true);
    begin_revert(0);
    await_revert(TARGET_REVERT_FAILED); /* of two that differ neither is known to be right */
    ck_assert(!connect_checker());
}
END_TEST

START_TEST(a_volume_that_has_grown_is_not_reverted) {
    struct error reason;

    prepare();
    settings.size_bytes = SIZE * 2;
    open_sealed(true);
    ck_assert_int_eq(start(), 0);
    ck_assert_int_eq(target_revert(target, NAME, 0, &reason), -1);
    ck_assert_int_eq(reason.kind, ERROR_CONFLICT);
    assert_done(target_stop(target, &err));
}
END_TEST

CHECK_MAIN_WITH("target revert", adopt_daemons(), begin, end,
                all_replicas_get_the_snapshots_content,
                a_stopped_revert_is_not_repeated_block_by_block, an_interrupted_revert_is_repeated,
                a_returned_replica_does_not_vote_until_it_is_rebuilt,
                a_replica_that_misses_a_part_is_evicted, the_files_of_the_snapshot_vote,
                a_volume_that_has_grown_is_not_reverted)
