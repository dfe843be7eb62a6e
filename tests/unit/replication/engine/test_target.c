#include "tests/unit/replication/engine/target_test.h"

START_TEST(writes_are_on_all_replicas_and_a_stop_is_clean) {
    serve();
    assert_voters(3);
    write_some(100);
    read_all();
    stop();
    assert_equal(0, 1);
    assert_equal(0, 2);

    ck_assert_int_eq(start(), 0); /* nothing to resynchronize */
    ck_assert(connect_checker());
    read_all();
    assert_done(target_start(target, &err)); /* it is already */
    stop();
    stop();
}
END_TEST

START_TEST(replicas_are_resynchronized_after_a_start_that_serves_at_once) {
    serve();
    write_some(50);
    for (int i = 0; i < 3; i++) {
        checker_send(&checker, 10);
        kill_daemon();
        checker_wait(&checker);
        ck_assert_int_eq(target_watch(target, &err), -1);
        target_status(target, &status);
        ck_assert_int_eq(status.state, TARGET_DOWN);

        ck_assert_int_eq(start(), 1);
        assert_voters(3);
        ck_assert(connect_checker()); /* before anything is compared */
        read_all();
        write_some(20);
    }
    stop();
    ck_assert_int_eq(start(), 1); /* the stop was not clean: they may differ still */
    ck_assert(resynchronize());
    stop();
    assert_equal(0, 1);
    assert_equal(0, 2);
    start_clean();
}
END_TEST

START_TEST(the_daemon_outlives_its_owner_and_is_adopted) {
    serve();
    write_some(20);
    target_close(target);
    write_some(20);

    open_target();
    assert_voters(3);
    ck_assert_int_eq(status.state, TARGET_SERVING);
    ck_assert(status.resynchronizing); /* the daemon's reports of meanwhile are lost */
    write_some(20);
    stop();
    ck_assert_int_eq(start(), 1);
    ck_assert(connect_checker());
    read_all();
}
END_TEST

START_TEST(a_target_has_one_owner) {
    struct target_settings elsewhere = settings;
    struct target *other = NULL;
    char place[64];

    ck_assert_int_eq(target_open(&settings, &other, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);

    /* The same replicas from another run directory: their files are locked. */
    serve();
    snprintf(place, sizeof(place), "%s/other", top);
    elsewhere.run = place;
    assert_done(target_open(&elsewhere, &other, &err));
    ck_assert_int_eq(target_start(other, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert(!daemon_runs(place));
    target_close(other);
    write_some(10);
    read_all();
}
END_TEST

static void reopen(int64_t timeout_ms) {
    target_close(target);
    settings.timeout_ms = timeout_ms;
    open_target();
}

/* Only the queries to an unresponsive daemon are limited: a start may take longer. */
START_TEST(an_unresponsive_daemon_is_ended) {
    char text[16] = "", path[80];
    autoclose int fd = -1;
    int64_t limit_ms;

    serve();
    limit_queries(5000);
    limit_ms = settings.timeout_ms;
    write_some(10);
    checker_disconnect(&checker);
    snprintf(path, sizeof(path), "%s/daemon", run);
    fd = open(path, O_RDONLY);
    ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
    kill((pid_t)strtol(text, NULL, 10), SIGSTOP);

    ck_assert_int_eq(target_watch(target, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(target_watch(target, &err), -1);
    target_status(target, &status);
    ck_assert_int_eq(status.state, TARGET_DOWN);
    ck_assert(!daemon_runs(run));
    reopen(LIMIT_MS);
    serve();
    read_all();

    checker_disconnect(&checker); /* the same, found by the next owner */
    ck_assert_int_gt(pread(fd, text, sizeof(text) - 1, 0), 0);
    kill((pid_t)strtol(text, NULL, 10), SIGSTOP);
    reopen(limit_ms);
    ck_assert(!daemon_runs(run));
    reopen(LIMIT_MS);
    serve();
    read_all();
}
END_TEST

START_TEST(a_missing_replica_is_evicted_and_rebuilt_in_use) {
    serve();
    write_some(50);
    ck_assert_int_eq(unlink(file_of(1, "data")), 0);
    watch();
    assert_voters(2);
    write_some(50);
    read_all();

    rebuild(1);
    assert_voters(3);
    write_some(20);
    read_all();
    stop();
    assert_equal(0, 1);
    assert_equal(0, 2);
    ck_assert_int_eq(start(), 0); /* it was evicted durably before it voted again */
}
END_TEST

START_TEST(a_rebuild_continues_under_writes_and_can_be_stopped) {
    const struct replica second = { .pool = pools[1], .uid = uids[1] };

    serve();
    write_some(96);
    assert_done(target_evict(target, uids[1], &err));
    assert_done(target_evict(target, uids[1], &err));
    ck_assert_int_eq(target_evict(target, uids[0], &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    assert_done(target_rebuild(target, &second, NULL, 1, &err));
    ck_assert_int_eq(target_rebuild(target, &second, NULL, 0, &err), -1);
    for (int i = 0; i < 5; i++) {
        write_some(10);
        watch();
    }
    ck_assert_int_eq(status.job, TARGET_REBUILD);
    assert_done(target_rebuild_stop(target, &err));
    await_job();
    ck_assert_int_eq(status.job, TARGET_REBUILD_FAILED);
    assert_voters(2);

    assert_done(target_rebuild(target, &second, NULL, 0, &err));
    do {
        checker_send(&checker, 8);
        watch();
        ck_assert_msg(checker_wait(&checker), "%s", last_output());
    } while (status.job == TARGET_REBUILD);
    ck_assert_int_eq(status.job, TARGET_REBUILT);
    read_all();
    stop();
    assert_equal(0, 1);
    assert_equal(0, 2);
}
END_TEST

START_TEST(an_interrupted_rebuild_never_votes) {
    const struct replica second = { .pool = pools[1], .uid = uids[1] };

    serve();
    write_some(96);
    assert_done(target_evict(target, uids[1], &err));
    assert_done(target_rebuild(target, &second, NULL, 1, &err));
    target_close(target); /* its owner dies: the next one ends its orphaned job */
    open_target();
    assert_voters(2);
    write_some(10);
    rebuild(1);
    assert_done(target_evict(target, uids[1], &err));
    assert_done(target_rebuild(target, &second, NULL, 1, &err));
    kill_daemon();
    watch();
    ck_assert_int_eq(status.job, TARGET_REBUILD_FAILED);
    serve();
    assert_voters(2);
    read_all();
    rebuild(1);
    read_all();
}
END_TEST

START_TEST(a_returned_stale_replica_is_not_read) {
    char away[80];

    serve();
    write_some(50);
    stop();
    snprintf(away, sizeof(away), "%s-away", pools[2]);
    ck_assert_int_eq(rename(pools[2], away), 0);
    serve();
    assert_voters(2);
    write_some(80);
    stop();
    ck_assert_int_eq(rename(away, pools[2]), 0);
    ck_assert_int_eq(rename(pools[0], away),
                     0); /* now another one is missing: the latest cannot be determined */
    ck_assert_int_eq(start(), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.message, "1 of 2"));
    ck_assert(!daemon_runs(run));
    ck_assert_int_eq(rename(away, pools[0]), 0);
    serve();
    assert_voters(2);
    read_all();
    rebuild(2);
    read_all();
}
END_TEST

START_TEST(two_replicas_with_different_damage_are_repaired) {
    serve();
    write_some(200);
    checker_disconnect(&checker);
    for (unsigned block = 0; block < BLOCKS; block += 8) {
        damage(0, block);
        damage(1, block + 1);
        damage(2, block + 2);
    }
    ck_assert(connect_checker());
    read_all(); /* each block has its majority */
    (void)resynchronize();
    stop();
    assert_equal(0, 1);
    assert_equal(0, 2);
}
END_TEST

static void write_over_state(unsigned i, const char *text) {
    autofile FILE *file = fopen(file_of(i, "state"), "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
}

START_TEST(an_unreadable_state_is_replaced_and_a_foreign_one_stays) {
    const struct replica second = { .pool = pools[1], .uid = uids[1] };
    static char other[8192];

    serve();
    write_some(20);
    stop();
    write_over_state(1, "junk");
    serve();
    assert_voters(2);
    rebuild(1);
    assert_voters(3);
    read_all();
    stop();

    {
        autofile FILE *file = fopen(file_of(2, "state"), "r");

        ck_assert_uint_gt(fread(other, 1, sizeof(other) - 1, file), 0);
    }
    write_over_state(1, other);
    serve();
    assert_voters(2);
    ck_assert_int_eq(target_rebuild(target, &second, NULL, 0, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    read_all();
}
END_TEST

START_TEST(a_damaged_replica_is_replaced_while_it_still_votes) {
    const struct replica fourth = { .pool = pools[3], .uid = uids[3] };

    serve();
    write_some(200);
    for (unsigned block = 0; block < BLOCKS; block += 2) {
        damage(0, block);
        damage(1, block + 1);
    }
    assert_done(target_rebuild(target, &fourth, uids[0], 0, &err));
    await_job();
    ck_assert_msg(status.job == TARGET_REBUILT, "%s", status.job_error.message);
    assert_voters(3);
    ck_assert_uint_eq(status.count, 3);
    read_all();
    settings.replicas[0] = fourth;
    target_close(target);
    open_target();
    assert_voters(3);
    stop();
    assert_equal(2, 3);
    serve();
    read_all();
}
END_TEST

static void assert_other_bytes(unsigned a, unsigned b, unsigned block) {
    autoclose int one = open(file_of(a, "data"), O_RDONLY);
    autoclose int two = open(file_of(b, "data"), O_RDONLY);
    char first[CHECKER_BLOCK], second[CHECKER_BLOCK];

    ck_assert_int_eq(pread(one, first, sizeof(first), block * STRIDE), sizeof(first));
    ck_assert_int_eq(pread(two, second, sizeof(second), block * STRIDE), sizeof(second));
    ck_assert(memcmp(first, second, sizeof(first)) != 0);
}

START_TEST(a_block_without_majority_is_refused_and_never_guessed) {
    serve();
    write_some(200);
    damage(0, 5);
    damage(1, 5);
    ck_assert(!checker_read(&checker));
    watch();
    ck_assert_int_gt(status.failures, 0);
    stop();
    assert_done(start());
    ck_assert(connect_checker());
    ck_assert(!checker_read(&checker));
}
END_TEST

START_TEST(a_full_pool_loses_its_replica_but_no_write) {
    const struct replica fourth = { .pool = pools[3], .uid = uids[3] };

    if (!small_disk(pools[3], "size=200k"))
        return; /* not possible here */
    serve();
    assert_done(target_rebuild(target, &fourth, uids[0], 0, &err));
    await_job();
    ck_assert_msg(status.job == TARGET_REBUILT, "%s", status.job_error.message);
    write_some(300);
    watch();
    assert_voters(2);
    read_all();
    ck_assert_int_eq(target_evict(target, uids[1], &err), -1);

    checker_disconnect(&checker); /* and it never votes again with its present data */
    kill_daemon();
    watch();
    settings.replicas[0] = fourth;
    target_close(target);
    open_target();
    serve();
    assert_voters(2);
    read_all();
    stop();
    umount2(pools[3], MNT_DETACH);
}
END_TEST

/* Two remain, one of them is damaged, and their daemon is killed: neither is chosen. */
START_TEST(a_damaged_block_of_one_of_two_is_never_served_nor_copied) {
    serve();
    write_some(200);
    damage(1, 7);
    assert_done(target_evict(target, uids[0], &err));
    ck_assert(!checker_read(&checker));
    watch();
    checker_disconnect(&checker);
    for (unsigned turn = 0; turn < 3; turn++) {
        if (turn == 0)
            kill_daemon();
        else if (turn == 1)
            stop();
        else
            assert_done(target_resize(target, SIZE * 2, &err));
        watch();
        assert_done(start());
        ck_assert(connect_checker());
        ck_assert(!checker_read(&checker));
        (void)resynchronize();
        checker_disconnect(&checker);
        ck_assert(connect_checker());
        ck_assert(!checker_read(&checker));
        checker_disconnect(&checker);
    }
    assert_other_bytes(1, 2, 7);
    ck_assert(connect_checker());
    write_some(1000); /* an overwritten block is equal again */
    read_all();
}
END_TEST

START_TEST(a_volume_grows_by_zeros) {
    char zero[CHECKER_BLOCK] = { 0 }, data[CHECKER_BLOCK];
    autoclose int fd = -1;

    serve();
    write_some(96);
    checker_disconnect(&checker);
    ck_assert_int_eq(target_resize(target, SIZE - 512, &err), -1);
    ck_assert_int_eq(target_resize(target, MAXIMUM + 512, &err), -1);
    assert_done(target_resize(target, SIZE * 2, &err));
    assert_voters(3);
    ck_assert_int_eq(status.size_bytes, SIZE * 2);
    ck_assert(connect_checker());
    read_all();
    stop();
    fd = open(file_of(0, "data"), O_RDONLY);
    ck_assert_int_eq(pread(fd, data, sizeof(data), SIZE), sizeof(data));
    ck_assert_mem_eq(data, zero, sizeof(data));

    target_close(target); /* an owner with the old size does not shrink it */
    open_target();
    serve();
    target_status(target, &status);
    ck_assert_int_eq(status.size_bytes, SIZE * 2);
}
END_TEST

START_TEST(limits_change_while_a_volume_is_served) {
    serve();
    assert_done(target_set_qos(target, &(struct target_qos){ .iops = 1000000 }, &err));
    write_some(10);
    assert_done(target_set_qos(target, &(struct target_qos){ 0 }, &err));
    write_some(10);
}
END_TEST

START_TEST(invalid_settings_are_refused) {
    static const unsigned counts[] = { 0, 9, 10 };
    struct target_settings wrong;
    struct target *other;

    for (size_t i = 0; i < LENGTH(counts); i++) {
        wrong = settings;
        wrong.count = counts[i];
        ck_assert_int_eq(target_open(&wrong, &other, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    }
    wrong = settings;
    wrong.replicas[1] = wrong.replicas[0];
    ck_assert_int_eq(target_open(&wrong, &other, &err), -1);
    wrong = settings;
    wrong.size_bytes = MAXIMUM * 2;
    ck_assert_int_eq(target_open(&wrong, &other, &err), -1);
    wrong = settings;
    wrong.run = "relative";
    ck_assert_int_eq(target_open(&wrong, &other, &err), -1);
    wrong = settings;
    wrong.program = "/no/such/program";
    target_close(target);
    assert_done(target_open(&wrong, &target, &err));
    ck_assert_int_eq(target_start(target, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_INTERNAL);
    target_close(target);
    wrong.program = "/bin/true";
    assert_done(target_open(&wrong, &target, &err));
    ck_assert_int_eq(target_start(target, &err), -1);
}
END_TEST

START_TEST(one_replica_is_served_without_a_vote) {
    target_close(target);
    settings.count = 1;
    settings.volume = "00000000-0000-4000-8000-00000000f001";
    settings.replicas[0].uid = uids[3];
    open_target();
    create_replicas();
    serve();
    write_some(50);
    kill_daemon();
    checker_disconnect(&checker);
    watch();
    ck_assert_int_eq(start(), 0);
    ck_assert(connect_checker());
    read_all();
}
END_TEST

CHECK_MAIN_WITH("target", adopt_daemons(), begin, end,
                writes_are_on_all_replicas_and_a_stop_is_clean,
                replicas_are_resynchronized_after_a_start_that_serves_at_once,
                the_daemon_outlives_its_owner_and_is_adopted, a_target_has_one_owner,
                an_unresponsive_daemon_is_ended, a_missing_replica_is_evicted_and_rebuilt_in_use,
                a_rebuild_continues_under_writes_and_can_be_stopped,
                an_interrupted_rebuild_never_votes, a_returned_stale_replica_is_not_read,
                two_replicas_with_different_damage_are_repaired,
                an_unreadable_state_is_replaced_and_a_foreign_one_stays,
                a_damaged_replica_is_replaced_while_it_still_votes,
                a_block_without_majority_is_refused_and_never_guessed,
                a_full_pool_loses_its_replica_but_no_write,
                a_damaged_block_of_one_of_two_is_never_served_nor_copied, a_volume_grows_by_zeros,
                limits_change_while_a_volume_is_served, invalid_settings_are_refused,
                one_replica_is_served_without_a_vote)
