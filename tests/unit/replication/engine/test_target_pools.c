/*
 * A pool that refuses writes, vanishes or is full, while the volume is in use: it loses its
 * replica, and no write.
 */
#include "replication/engine/write_log.h"
#include "tests/unit/replication/engine/target_test.h"

static struct replica all[REPLICAS]; /* the first one in a pool of its own file system */

static bool mount_pool(const char *size) {
    return small_disk(pools[REPLICAS], size);
}

static void remount_pool(unsigned long flags) {
    ck_assert_int_eq(mount(NULL, pools[REPLICAS], NULL, MS_REMOUNT | flags, NULL), 0);
}

static enum replica_health health(void) {
    unsigned i = 0;

    while (strcmp(status.replicas[i].replica.uid, uids[REPLICAS]) != 0)
        i++;
    return status.replicas[i].probe.health;
}

/* Rebuilds replicas that do not vote. */
static void make_whole(void) {
    while (target_scale(target, all, REPLICAS, 0, &err) > 0)
        await_job();
    assert_voters(REPLICAS);
}

/* Of three replicas one is in a file system that is mounted and unmounted; false: that is not
 * possible here. */
static bool serve_with_pool(const char *size) {
    if (!mount_pool(size))
        return false;
    all[0] = (struct replica){ .pool = pools[REPLICAS], .uid = uids[REPLICAS] };
    all[1] = settings.replicas[1];
    all[2] = settings.replicas[2];
    serve();
    ck_assert_int_eq(target_scale(target, all, REPLICAS, 0, &err), 1);
    await_job();
    ck_assert_msg(status.job == TARGET_REBUILT, "%s", status.job_error.message);
    settings.replicas[0] = all[0];
    write_some(50);
    return true;
}

static void assert_equal_at_last(void) {
    read_all();
    stop();
    assert_equal(REPLICAS, 1);
    assert_equal(REPLICAS, 2);
    umount2(pools[REPLICAS], MNT_DETACH);
}

START_TEST(a_read_only_pool_is_excluded) {
    if (!serve_with_pool("size=8m"))
        return;
    stop();
    remount_pool(MS_RDONLY);
    serve();
    assert_voters(2);
    write_some(50);
    watch();
    ck_assert_int_eq(health(), REPLICA_READ_ONLY);
    ck_assert_int_eq(target_scale(target, all, REPLICAS, 0, &err), -1);
    write_some(20);
    remount_pool(0);
    make_whole();
    assert_equal_at_last();
}
END_TEST

START_TEST(a_vanished_pool_loses_its_replica) {
    if (!serve_with_pool("size=8m"))
        return;
    ck_assert_int_eq(umount2(pools[REPLICAS], MNT_DETACH), 0);
    for (int i = 0; i < 5; i++) {
        write_some(10);
        watch();
    }
    assert_voters(2);
    ck_assert_int_eq(health(), REPLICA_GONE);
    ck_assert_int_eq(status.failures, 0);
    ck_assert(mount_pool("size=8m")); /* another disk at its path */
    make_whole();
    assert_equal_at_last();
}
END_TEST

START_TEST(a_full_pool_takes_no_copy) {
    struct replica four[REPLICAS + 1];

    if (!mount_pool("size=100k"))
        return;
    serve();
    write_some(96);
    memcpy(four, settings.replicas, sizeof(all));
    four[REPLICAS] = (struct replica){ .pool = pools[REPLICAS], .uid = uids[REPLICAS] };
    ck_assert_int_eq(target_scale(target, four, REPLICAS + 1, 0, &err), 1);
    do {
        checker_send(&checker, 4);
        watch();
        ck_assert_msg(checker_wait(&checker), "%s",
                      last_output()); /* and no client is disconnected */
    } while (status.job == TARGET_REBUILD);
    ck_assert_int_eq(status.job, TARGET_REBUILD_FAILED);
    ck_assert_msg(strstr(status.job_error.message, "space") != NULL, "%s",
                  status.job_error.message);
    assert_voters(3);
    ck_assert_uint_eq(status.wanted, 3);
    remount_pool(0);
    ck_assert_int_eq(mount(NULL, pools[REPLICAS], NULL, MS_REMOUNT, "size=16m"),
                     0); /* there is space now */
    ck_assert_int_eq(target_scale(target, four, REPLICAS + 1, 0, &err), 1);
    target_status(target, &status);
    ck_assert_str_eq(status.job_error.message, ""); /* of the one before */
    checker_disconnect(&checker);
    await_job();
    ck_assert_msg(status.job == TARGET_REBUILT, "%s", status.job_error.message);
    ck_assert_uint_eq(status.wanted, 4);
    ck_assert(connect_checker());
    assert_equal_at_last();
}
END_TEST

/* Unnoticed, between two probes, while a client writes. */
static void exchange_while_written(const char *by) {
    char aside[80];

    checker_send(&checker, 8);
    snprintf(aside, sizeof(aside), "%s/aside", top);
    ck_assert_int_eq(rename(pools[1], aside), 0);
    if (by)
        ck_assert_int_eq(rename(by, pools[1]), 0);
    else if (mkdir(pools[1], 0700) == 0) /* as its agent creates it again, on request */
        assert_done(replica_create(&settings.replicas[1], VOLUME, MAXIMUM, NULL, &err));
    watch();
    watch();
    ck_assert_int_eq(status.state, TARGET_SERVING);
    assert_voters(2);
    ck_assert_msg(checker_wait(&checker), "%s", last_output()); /* and no client is disconnected */
    ck_assert_int_eq(status.failures, 0);
}

static void make_whole_at_last(void) {
    memcpy(all, settings.replicas, sizeof(all));
    make_whole();
    read_all();
    stop();
    assert_equal(0, 1);
    assert_equal(0, 2);
}

START_TEST(a_replaced_disk_has_no_vote) {
    serve();
    write_some(50);
    exchange_while_written(NULL);
    make_whole_at_last();
}
END_TEST

/* The volume continues without its pool for two generations; then it is rebuilt in another
 * directory, and the first one returns. */
START_TEST(an_outdated_disk_has_no_vote) {
    char old[80];

    snprintf(old, sizeof(old), "%s/old", top);
    ck_assert_int_eq(rename(pools[1], old), 0);
    ck_assert_int_eq(mkdir(pools[1], 0700), 0);
    serve();
    write_some(20);
    memcpy(all, settings.replicas, sizeof(all));
    make_whole();
    exchange_while_written(old);
    make_whole_at_last();
}
END_TEST

static void move_pool(unsigned i, const char *name) {
    char aside[80];

    snprintf(aside, sizeof(aside), "%s/%s%u", top, name, i);
    ck_assert_int_eq(rename(pools[i], aside), 0);
}

static void move_pool_back(unsigned i, const char *name) {
    char aside[80];

    snprintf(aside, sizeof(aside), "%s/%s%u", top, name, i);
    ck_assert_int_eq(rename(aside, pools[i]), 0);
}

static void assert_refuses_writes(void) {
    watch();
    ck_assert_int_eq(status.state, TARGET_DOWN);
    ck_assert_msg(strstr(err.message, "can be written to, and") != NULL, "%s", err.message);
    ck_assert(!daemon_runs(run));
    checker_disconnect(&checker);
    ck_assert_int_eq(target_start(target, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
}

START_TEST(fewer_linked_replicas_than_the_quorum_take_no_writes) {
    serve();
    write_some(50);
    move_pool(0, "away");
    move_pool(1, "away");
    assert_refuses_writes();
    move_pool_back(0, "away");
    serve();
    read_all();
    stop();
}
END_TEST

START_TEST(the_loss_of_a_second_pool_stops_the_writes) {
    serve();
    write_some(30);
    move_pool(0, "away");
    watch();
    assert_voters(2);
    write_some(30);
    move_pool(2, "away");
    assert_refuses_writes();
    move_pool_back(0, "away"); /* stale: it forms no quorum with the one that stayed */
    ck_assert_int_eq(start(), -1);
    move_pool_back(2, "away");
    serve();
    read_all();
    stop();
}
END_TEST

START_TEST(an_error_names_each_unusable_replica) {
    serve();
    write_some(10);
    stop();
    for (unsigned i = 0; i < REPLICAS; i++)
        move_pool(i, "away");
    ck_assert_int_eq(start(), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_msg(strstr(err.message, "None of the 3 replicas of the volume") != NULL, "%s",
                  err.message);
    for (unsigned i = 0; i < REPLICAS; i++) {
        ck_assert_ptr_nonnull(strstr(err.message, uids[i]));
        move_pool_back(i, "away");
    }
    serve();
    read_all();
    stop();
}
END_TEST

/* A copy of the replica, which another program has open, does not stand for the file that the
 * daemon writes to. */
START_TEST(a_replica_whose_path_leads_to_another_open_file_is_excluded) {
    autoclose int other = -1;
    struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 100, .l_len = 200 };
    char command[700], path[300];

    serve();
    write_some(30);
    watch();
    assert_voters(REPLICAS);
    snprintf(path, sizeof(path), "%s/copy", top);
    snprintf(command, sizeof(command), "cp -a '%s' '%s'", pools[1], path);
    ck_assert_int_eq(system(command), 0);
    move_pool(1, "away");
    ck_assert_int_eq(rename(path, pools[1]), 0);
    other = open(file_of(1, "data"), O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(other, 0);
    ck_assert_int_eq(fcntl(other, F_OFD_SETLK, &lock), 0);
    watch();
    assert_voters(REPLICAS - 1);
    write_some(30);
    read_all();
    stop();
}
END_TEST

/* One that takes no more states, nor data for new blocks. */
static void fail_pool(void) {
    fill(REPLICAS);
    ck_assert_int_eq(unlink(file_of(REPLICAS, "state.new")), 0);
    ck_assert_int_eq(mkdir(file_of(REPLICAS, "state.new"), 0700), 0);
}

static void make_space(unsigned i) {
    char path[80];

    snprintf(path, sizeof(path), "%s/filler", pools[i]);
    ck_assert_int_eq(unlink(path), 0);
}

static void mend_pool(void) {
    make_space(REPLICAS);
    ck_assert_int_eq(rmdir(file_of(REPLICAS, "state.new")), 0);
}

/* As a loss of power does. */
static void lose_write_logs(void) {
    autoarena struct arena *arena = arena_new();

    for (unsigned i = 0; i < LENGTH(uids); i++)
        ck_assert_int_eq(write_log_remove(write_log_directory(arena, run), uids[i]), 0);
}

/* The pool of a replica that stays fails; another one leaves. */
static void leave_while_a_pool_fails(const struct replica *assigned, unsigned count) {
    fail_pool();
    (void)target_scale(target, assigned, count, 0, &err);
    await_job();
    for (int i = 0; i < 3; i++) {
        checker_write(&checker, 10);
        watch();
    }
    kill_daemon();
    checker_disconnect(&checker);
    lose_write_logs();
    mend_pool();
    serve();
    ck_assert(checker_recover(&checker)); /* unanswered writes alone may be refused */
}

START_TEST(a_failing_pool_and_a_replaced_replica_cost_no_answered_write) {
    const struct replica new = { .pool = pools[REPLICAS + 1], .uid = uids[REPLICAS + 1] };

    if (!serve_with_pool("size=1m"))
        return;
    leave_while_a_pool_fails((struct replica[]){ all[0], all[1], new }, REPLICAS);
}
END_TEST

/* Its data have space, and its state has none: the copy is not discarded for that. */
START_TEST(a_replica_joins_beside_one_that_takes_no_state) {
    if (!serve_with_pool("size=8m"))
        return;
    assert_done(target_evict(target, uids[2], &err));
    fail_pool();
    (void)target_scale(target, all, REPLICAS, 0, &err);
    await_job();
    ck_assert_msg(status.job == TARGET_REBUILT, "%s", status.job_error.message);
    watch();
    assert_voters(2); /* without it */
    ck_assert(!status.replicas[0].votes || strcmp(status.replicas[0].replica.uid, all[0].uid) != 0);
    write_some(30);
    mend_pool();
    make_whole();
    assert_equal_at_last();
}
END_TEST

/* The daemon reports one bad request of a replica in each second: here the first, of damaged data,
 * and not the missed write. */
START_TEST(a_replica_stays_while_another_may_have_missed_a_write) {
    if (!own_mounts())
        return;
    target_close(target);
    ck_assert(small_disk(pools[0], "size=1m"));
    open_target();
    create_replicas();
    serve();
    write_some(30);
    damage(0, 0);
    fill(0);
    read_all();
    write_some(30);
    ck_assert_int_eq(target_evict(target, uids[2], &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    read_all();
    umount2(pools[0], MNT_DETACH);
}
END_TEST

static void mount_pools_of_replicas(void) {
    target_close(target);
    for (unsigned i = 1; i < REPLICAS; i++)
        ck_assert(small_disk(pools[i], "size=16m"));
    open_target();
    create_replicas();
}

static void compare_all(struct target_scrub *scrub) {
    int outcome;

    do {
        outcome = target_scrub(target, scrub, SIZE, &err);
        assert_done(outcome);
    } while (outcome > 0);
    target_status(target, &status);
}

static void unmount_pools_of_replicas(void) {
    for (unsigned i = 1; i < REPLICAS; i++)
        umount2(pools[i], MNT_DETACH);
}

/* As a node does when there is space again. */
static void resume_and_resynchronize(void) {
    for (watch(); status.failed > 0; watch()) {
        if (target_resume(target, &err) < 0)
            ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE); /* the last reports may come later */
        poll(NULL, 0, 50);
    }
    ck_assert(status.resynchronizing);
    while (!resynchronize()) /* a late report of a read requires another repair */
        ck_assert_uint_eq(status.failed, 0);
    read_all();
    assert_equal(0, 1);
    assert_equal(0, 2);
    for (unsigned i = 0; i < REPLICAS; i++)
        ck_assert_int_eq(status.replicas[i].errors, 0);
    unmount_pools_of_replicas();
}

/* Each lacks answered writes that the other one has: no watch comes between them. */
START_TEST(answered_writes_that_two_replicas_fail_in_turn_are_read) {
    if (!own_mounts())
        return;
    mount_pools_of_replicas();
    serve();
    fill(2);
    write_some(20);
    make_space(2);
    fill(1);
    write_some(20);
    watch();
    assert_voters(REPLICAS);
    ck_assert_uint_eq(status.failed, 2);
    read_all();
    watch();
    assert_voters(REPLICAS);
    make_space(1);
    resume_and_resynchronize();
}
END_TEST

/* Two old copies are a majority. */
START_TEST(blocks_are_read_that_two_full_pools_have_refused) {
    if (!own_mounts())
        return;
    mount_pools_of_replicas();
    serve();
    write_some(10);
    fill(1);
    fill(2);
    checker_send(&checker, 10);
    ck_assert(!checker_wait(&checker));
    watch();
    assert_voters(REPLICAS);
    read_all();
    make_space(1);
    make_space(2);
    resume_and_resynchronize();
}
END_TEST

/* Before all are compared another one may lack a write that it has. */
START_TEST(a_replica_that_fails_during_a_resynchronization_leaves_after_it) {
    struct target_scrub scrub = { 0 };

    if (!own_mounts())
        return;
    mount_pools_of_replicas();
    serve();
    write_some(30);
    kill_daemon();
    lose_write_logs();
    damage(1, 0); /* as a write that it has missed before the power failed */
    serve();
    ck_assert(status.resynchronizing);
    fill(2);
    write_some(30);
    watch();
    assert_voters(REPLICAS);
    ck_assert_uint_eq(status.failed, 1);
    read_all();
    ck_assert_int_eq(target_scrub(target, &scrub, SIZE, &err), 0);
    ck_assert_int_eq(scrub.undecided, 0);
    target_status(target, &status);
    ck_assert_int_gt(status.replicas[1].mismatches, 0);
    assert_voters(REPLICAS);
    repair(1);
    ck_assert(!status.resynchronizing);
    watch();
    assert_voters(REPLICAS - 1);
    ck_assert(!status.replicas[2].votes);
    read_all();
    unmount_pools_of_replicas();
}
END_TEST

/* Its report is received by the comparison itself. */
START_TEST(a_replica_that_fails_while_others_are_compared_hides_no_difference) {
    struct target_scrub scrub = { 0 };

    if (!own_mounts())
        return;
    mount_pools_of_replicas();
    serve();
    write_some(30);
    kill_daemon();
    lose_write_logs();
    for (unsigned block = 0; block < BLOCKS; block++)
        damage(1, block); /* as writes that it has missed before the power failed */
    serve();
    ck_assert(status.resynchronizing);
    fill(2);
    write_some(30);
    compare_all(&scrub);
    ck_assert_uint_eq(status.failed, 1);
    ck_assert(status.resynchronizing);
    ck_assert_int_eq(scrub.undecided, 0);
    ck_assert_int_gt(status.replicas[1].mismatches, 0);
    watch();
    assert_voters(REPLICAS);
    repair(1);
    watch();
    assert_voters(REPLICAS - 1);
    read_all();
    unmount_pools_of_replicas();
}
END_TEST

/* Its client writes all the time. */
START_TEST(a_replica_resumes_while_another_one_fails) {
    struct target_scrub scrub = { 0 };

    if (!own_mounts())
        return;
    mount_pools_of_replicas();
    serve();
    fill(2);
    write_some(20);
    fill(1);
    make_space(2);
    write_some(20);
    watch();
    ck_assert_uint_eq(status.failed, 2);
    make_space(1);
    fill(2);
    for (int i = 0; i < 15; i++, watch())
        poll(NULL, 0, 200); /* the last reports have come */
    for (int64_t before = status.replicas[2].errors; status.replicas[2].errors == before; watch())
        write_some(5);
    assert_done(target_resume(target, &err));
    target_status(target, &status);
    ck_assert_uint_eq(status.failed, 1);
    ck_assert(status.resynchronizing);
    compare_all(&scrub);
    repair(1);
    watch();
    assert_voters(REPLICAS - 1);
    ck_assert(!status.replicas[2].votes);
    read_all();
    assert_equal(0, 1);
    unmount_pools_of_replicas();
}
END_TEST

/* Too few lacked no write when all were compared; since then another one has joined. */
START_TEST(a_failing_replica_leaves_when_another_one_is_rebuilt) {
    struct target_scrub scrub = { 0 };

    if (!own_mounts())
        return;
    mount_pools_of_replicas();
    serve();
    write_some(20);
    assert_done(target_evict(target, uids[1], &err));
    kill_daemon();
    lose_write_logs();
    serve();
    assert_voters(2);
    fill(2);
    checker_send(&checker, 10);
    ck_assert(!checker_wait(&checker));
    watch();
    make_space(2);
    ck_assert(checker_recover(&checker));
    watch();
    ck_assert_uint_eq(status.failed, 1);
    compare_all(&scrub);
    ck_assert_int_eq(scrub.undecided, 0);
    ck_assert(status.resynchronizing);
    rebuild(1);
    for (int i = 0; i < 2; i++)
        watch();
    assert_voters(2);
    ck_assert(!status.resynchronizing && !status.replicas[2].votes);
    read_all();
    unmount_pools_of_replicas();
}
END_TEST

START_TEST(a_volume_with_two_full_pools_starts) {
    if (!own_mounts())
        return;
    mount_pools_of_replicas();
    serve();
    write_some(10);
    fill(1);
    fill(2);
    checker_send(&checker, 10);
    ck_assert(!checker_wait(&checker));
    watch();
    assert_voters(REPLICAS);
    kill_daemon();
    checker_disconnect(&checker);
    serve();
    assert_voters(REPLICAS);
    read_all();
    unmount_pools_of_replicas();
}
END_TEST

/* One is lost, the next one is full, and nothing but their write logs decides. */
START_TEST(a_restart_decides_about_blocks_that_a_full_pool_has_refused) {
    if (!own_mounts())
        return;
    mount_pools_of_replicas();
    serve();
    write_some(10);
    assert_done(target_evict(target, uids[2], &err));
    watch();
    fill(1);
    checker_send(&checker, 10);
    ck_assert(!checker_wait(&checker));
    watch();
    assert_voters(2);
    make_space(1);
    checker_disconnect(&checker);
    assert_done(target_restart(target, &err));
    target_status(target, &status);
    ck_assert_int_gt(status.decided_blocks, 0);
    ck_assert(connect_checker());
    read_all();
    ck_assert(resynchronize());
    assert_equal(0, 1);
    unmount_pools_of_replicas();
}
END_TEST

START_TEST(a_failing_pool_and_a_removed_replica_cost_no_answered_write) {
    if (!serve_with_pool("size=1m"))
        return;
    leave_while_a_pool_fails((struct replica[]){ all[0], all[1] }, REPLICAS - 1);
}
END_TEST

CHECK_MAIN_WITH("target pools", adopt_daemons(), begin, end, a_read_only_pool_is_excluded,
                a_vanished_pool_loses_its_replica, a_full_pool_takes_no_copy,
                a_replaced_disk_has_no_vote, an_outdated_disk_has_no_vote,
                fewer_linked_replicas_than_the_quorum_take_no_writes,
                the_loss_of_a_second_pool_stops_the_writes, an_error_names_each_unusable_replica,
                a_replica_whose_path_leads_to_another_open_file_is_excluded,
                a_failing_pool_and_a_replaced_replica_cost_no_answered_write,
                a_failing_pool_and_a_removed_replica_cost_no_answered_write,
                answered_writes_that_two_replicas_fail_in_turn_are_read,
                blocks_are_read_that_two_full_pools_have_refused,
                a_replica_that_fails_during_a_resynchronization_leaves_after_it,
                a_replica_that_fails_while_others_are_compared_hides_no_difference,
                a_replica_resumes_while_another_one_fails,
                a_failing_replica_leaves_when_another_one_is_rebuilt,
                a_volume_with_two_full_pools_starts,
                a_restart_decides_about_blocks_that_a_full_pool_has_refused,
                a_replica_joins_beside_one_that_takes_no_state,
                a_replica_stays_while_another_may_have_missed_a_write)
