#include "tests/unit/replication/engine/target_test.h"

#define PART            (SIZE / 7)
#define REPORTS_LATE_MS 1300

/* All of it in parts, while the checker writes. */
static struct target_scrub scrub_all(void) {
    struct target_scrub scrub = { 0 };
    int outcome;

    do {
        outcome = target_scrub(target, &scrub, PART, &err);
        ck_assert_msg(outcome >= 0, "%s", err.message);
        checker_send(&checker, 4);
        watch();
        ck_assert_msg(checker_wait(&checker), "%s", last_output());
    } while (outcome > 0);
    return scrub;
}

static void assert_mismatches(int64_t a, int64_t b, int64_t c) {
    target_status(target, &status);
    ck_assert_int_eq(status.replicas[0].mismatches, a);
    ck_assert_int_eq(status.replicas[1].mismatches, b);
    ck_assert_int_eq(status.replicas[2].mismatches, c);
}

/* Between the blocks of the checker, within one compared block. */
static void damage_behind(unsigned i, unsigned block) {
    autoclose int fd = open(file_of(i, "data"), O_WRONLY);
    char junk[3000];

    memset(junk, (int)('A' + i), sizeof(junk));
    ck_assert_int_eq(pwrite(fd, junk, sizeof(junk), block * STRIDE + 9000), sizeof(junk));
}

static void repair_while_writing(unsigned i) {
    assert_done(target_repair(target, uids[i], 0, &err));
    ck_assert_int_eq(target_repair(target, uids[i], 0, &err), -1);
    do {
        checker_send(&checker, 8);
        watch();
        ck_assert_msg(checker_wait(&checker), "%s", last_output());
    } while (status.job == TARGET_REPAIR);
    ck_assert_msg(status.job == TARGET_REPAIRED, "%s", status.job_error.message);
    ck_assert_str_eq(status.job_replica, uids[i]);
}

/* What was read before its repair may be reported after it. */
static void repair_reported_late(void) {
    poll(NULL, 0, REPORTS_LATE_MS);
    watch();
    for (unsigned i = 0; i < status.count; i++) {
        if (status.replicas[i].mismatches == 0)
            continue;
        assert_done(target_repair(target, uids[i], 0, &err));
        do {
            watch();
        } while (status.job == TARGET_REPAIR);
        ck_assert_msg(status.job == TARGET_REPAIRED, "%s", status.job_error.message);
    }
}

START_TEST(equal_replicas_have_no_damage) {
    struct target_scrub scrub;

    serve();
    write_some(200);
    scrub = scrub_all();
    ck_assert_int_eq(scrub.at_bytes, SIZE);
    ck_assert_int_eq(scrub.damaged + scrub.undecided, 0);
    assert_mismatches(0, 0, 0);
    ck_assert(!status.resynchronizing);
}
END_TEST

START_TEST(damage_is_found_reported_and_repaired_in_use) {
    struct target_scrub scrub;

    serve();
    write_some(100);
    for (unsigned block = 0; block < 40; block += 4) {
        damage_behind(1, block);
        damage_behind(2, block + 1);
    }
    damage_behind(1, BLOCKS - 1);
    scrub = scrub_all();
    ck_assert_int_eq(scrub.damaged, 21);
    ck_assert_int_eq(scrub.undecided, 0);
    assert_mismatches(0, 11, 10);
    ck_assert(!status.resynchronizing); /* damage makes no stop unclean */

    repair_while_writing(1);
    repair_while_writing(2);
    repair_reported_late();
    assert_mismatches(0, 0, 0);
    scrub = scrub_all();
    ck_assert_int_eq(scrub.damaged, 0);
    read_all();
    stop();
    assert_equal(0, 1);
    assert_equal(0, 2);
}
END_TEST

START_TEST(a_scrub_is_continued_by_the_next_owner) {
    struct target_scrub scrub = { 0 };

    serve();
    write_some(96);
    damage_behind(0, 1);
    damage_behind(0, BLOCKS - 2);
    ck_assert_int_eq(target_scrub(target, &scrub, SIZE / 2, &err), 1);
    ck_assert_int_eq(scrub.damaged, 1);
    target_close(target);
    open_target();
    ck_assert_int_eq(target_scrub(target, &scrub, SIZE, &err), 0);
    ck_assert_int_eq(scrub.damaged, 2);
    ck_assert_int_eq(target_scrub(target, &scrub, SIZE, &err), 0);
    kill_daemon();
    watch();
    ck_assert_int_eq(target_scrub(target, &scrub, SIZE, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
}
END_TEST

START_TEST(a_block_without_majority_is_reported_and_not_repaired) {
    struct target_scrub scrub;

    serve();
    write_some(96);
    damage_behind(0, 3);
    damage_behind(1, 3);
    scrub = scrub_all();
    ck_assert_int_eq(scrub.undecided, 1);
    ck_assert_int_eq(scrub.damaged, 0);
    assert_done(target_repair(target, uids[1], 0, &err));
    do {
        watch();
    } while (status.job == TARGET_REPAIR);
    ck_assert_int_eq(status.job, TARGET_REPAIR_FAILED);
    checker_disconnect(&checker);
    poll(NULL, 0, REPORTS_LATE_MS); /* the last report of a read is received */
    watch();
    stop();
    ck_assert_int_eq(start(), 0); /* a clean stop: damage causes no resynchronization */
}
END_TEST

/* No two agree about 64 KiB, and each block has its majority: as torn writes leave it. */
START_TEST(blocks_of_one_piece_are_repaired_one_by_one) {
    const unsigned block = 3;
    struct target_scrub scrub;

    serve();
    write_some(96);
    for (unsigned i = 0; i < REPLICAS; i++) {
        autoclose int fd = open(file_of(i, "data"), O_WRONLY);

        ck_assert_int_eq(pwrite(fd, "torn", 4, block * STRIDE + (1 + i) * 8192), 4);
    }
    scrub = scrub_all();
    ck_assert_int_eq(scrub.damaged, 3);
    ck_assert_int_eq(scrub.undecided, 0);
    for (unsigned i = 0; i < REPLICAS; i++)
        repair_while_writing(i);
    read_all();
    stop();
    assert_equal(0, 1);
    assert_equal(0, 2);
}
END_TEST

START_TEST(an_interrupted_repair_is_repeated) {
    serve();
    write_some(96);
    damage_behind(1, 3);
    assert_done(target_repair(target, uids[1], 1, &err));
    write_some(20);
    target_close(target);
    open_target();
    repair_while_writing(1);
    assert_done(target_repair(target, uids[1], 1, &err));
    kill_daemon();
    checker_disconnect(&checker);
    watch();
    ck_assert_int_eq(status.job, TARGET_REPAIR_FAILED);
    serve();
    watch();
    ck_assert_int_eq(status.job, TARGET_NO_JOB); /* of these replicas nobody has failed yet */
    read_all();
    ck_assert_int_eq(scrub_all().damaged, 0);
}
END_TEST

/* Blocks that change permanently: each would be read for a second. */
static void await_repair(enum target_job outcome) {
    do {
        poll(NULL, 0, 2);
        watch();
    } while (status.job == TARGET_REPAIR);
    ck_assert_msg(status.job == outcome, "%d: %s", status.job, status.job_error.message);
}

START_TEST(a_stopped_repair_is_not_repeated_block_by_block) {
    serve();
    write_some(BLOCKS);
    assert_done(target_repair(target, uids[1], 1, &err));
    watch();
    ck_assert_int_eq(status.job, TARGET_REPAIR);
    assert_done(target_rebuild_stop(target, &err));
    assert_done(target_rebuild_stop(target, &err));
    await_repair(TARGET_REPAIR_FAILED);
    assert_done(target_rebuild_stop(target, &err)); /* nothing runs */
    ck_assert_int_eq(status.job, TARGET_REPAIR_FAILED);
    assert_done(target_repair(target, uids[1], 0, &err));
    await_repair(TARGET_REPAIRED);
    read_all();
}
END_TEST

START_TEST(permanent_writes_delay_a_scrub_for_a_limited_time) {
    struct target_scrub scrub = { 0 };
    pid_t writer;

    serve();
    write_some(96);
    limit_queries(3000);
    writer = fork();
    if (writer == 0) {
        autoclose int fd = open(file_of(1, "data"), O_WRONLY);

        for (unsigned turn = 0;; turn++) {
            for (int64_t block = 0; block < BLOCKS; block++)
                (void)!pwrite(fd, &turn, sizeof(turn), block * STRIDE);
            usleep(5000);
        }
    }
    ck_assert_int_eq(target_scrub(target, &scrub, SIZE, &err), 1); /* there is more */
    kill(writer, SIGKILL);
    ck_assert_int_eq(waitpid(writer, NULL, 0), writer);
    ck_assert_int_gt(scrub.busy, 0);
    ck_assert_int_gt(scrub.at_bytes, 0);
}
END_TEST

CHECK_MAIN_WITH("target scrub", adopt_daemons(), begin, end, equal_replicas_have_no_damage,
                damage_is_found_reported_and_repaired_in_use,
                a_scrub_is_continued_by_the_next_owner,
                a_block_without_majority_is_reported_and_not_repaired,
                blocks_of_one_piece_are_repaired_one_by_one, an_interrupted_repair_is_repeated,
                a_stopped_repair_is_not_repeated_block_by_block,
                permanent_writes_delay_a_scrub_for_a_limited_time)
