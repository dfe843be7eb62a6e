/*
 * States that must not count: a reserved child, a needed replica that missed a write, a copy,
 * another owner's generation, another process's id.
 */
#include "tests/unit/replication/engine/target_test.h"

#include <stdatomic.h>
#include <sys/file.h>
#include <sys/syscall.h>

/* In place of the C library's: a file that is removed just before it is locked.  Replicas are
 * locked by threads. */
static const char *_Atomic removed;

int flock(int fd, int operation) {
    const char *path = atomic_exchange(&removed, NULL);

    if (path)
        unlink(path);
    return (int)syscall(SYS_flock, fd, operation);
}

/* The fourth replica replaces the first, in a pool with space for a few blocks; false: not possible
 * here. */
static bool serve_from_a_small_pool(void) {
    const struct replica fourth = { .pool = pools[3], .uid = uids[3] };

    if (!small_disk(pools[3], "size=200k"))
        return false;
    serve();
    assert_done(target_rebuild(target, &fourth, uids[0], 0, &err));
    await_job();
    ck_assert_msg(status.job == TARGET_REBUILT, "%s", status.job_error.message);
    settings.replicas[0] = fourth;
    return true;
}

static void read_state(unsigned i, struct replica_state *ret) {
    const struct replica replica = { .pool = pools[i], .uid = uids[i] };
    struct replica_probe probe;

    replica_probe(&replica, VOLUME, &probe);
    ck_assert_msg(probe.has_state, "%s", probe.why.message);
    *ret = probe.state;
}

/* Of two replicas and one that is being rebuilt, one fails: the others are no majority. */
START_TEST(a_reserved_child_counts_for_no_write) {
    const struct replica second = { .pool = pools[1], .uid = uids[1] };

    if (!serve_from_a_small_pool())
        return;
    assert_done(target_evict(target, uids[1], &err));
    assert_done(target_rebuild(target, &second, NULL, 1, &err)); /* which no call advances */
    ck_assert(!checker_write(&checker, 300));
}
END_TEST

/* One misses writes, and before that is detected the other one that has them is lost, too. */
START_TEST(a_block_is_refused_where_a_needed_replica_missed_a_write) {
    if (!serve_from_a_small_pool())
        return;
    write_some(300);
    ck_assert_int_eq(unlink(file_of(2, "data")), 0);
    watch();
    assert_voters(2);
    checker_disconnect(&checker);
    kill_daemon();
    target_close(target);
    open_target();
    ck_assert_int_eq(start(), 1);
    ck_assert(connect_checker());
    (void)checker_read(&checker); /* no wrong byte, whatever is refused */
    (void)resynchronize();
    (void)checker_read(&checker);
}
END_TEST

START_TEST(a_target_stops_at_another_owners_generation) {
    const struct replica second = { .pool = pools[1], .uid = uids[1] };
    struct replica_state state;

    serve();
    write_some(10);
    read_state(1, &state);
    state.generation.id.number++;
    strcpy(state.generation.id.nonce, "another");
    assert_done(replica_write_state(&second, &state, &err));
    ck_assert_int_eq(target_watch(target, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    target_status(target, &status);
    ck_assert_int_eq(status.state, TARGET_DOWN);
    ck_assert(!daemon_runs(run));
    read_state(1, &state);
    ck_assert_str_eq(state.generation.id.nonce, "another");
}
END_TEST

START_TEST(a_stop_does_not_mark_another_owners_generation_clean) {
    const struct replica second = { .pool = pools[1], .uid = uids[1] };
    struct replica_state state;

    serve();
    read_state(1, &state);
    state.generation.id.number++;
    assert_done(replica_write_state(&second, &state, &err));
    stop();
    for (unsigned i = 0; i < REPLICAS; i++) {
        read_state(i, &state);
        ck_assert_int_eq(state.mark, REPLICA_DIRTY);
    }
}
END_TEST

static void copy_file(const char *from, const char *to) {
    char command[256];

    snprintf(command, sizeof(command), "cp -a --sparse=always %s %s", from, to);
    ck_assert_int_eq(system(command), 0);
}

/* A pool was moved while it was served: the file at its path was never written to by the daemon. */
START_TEST(a_copy_gets_no_generation) {
    struct replica_state before, after;
    char away[80];

    serve();
    write_some(10);
    read_state(1, &before);
    snprintf(away, sizeof(away), "%s-away", pools[1]);
    ck_assert_int_eq(rename(pools[1], away), 0);
    copy_file(away, pools[1]);
    write_some(10);
    ck_assert_int_eq(target_evict(target, uids[0], &err), -1); /* as the copy does not take it */
    read_state(1, &after);
    ck_assert(generation_same(&before.generation.id, &after.generation.id));
    write_some(10);
    read_all();
}
END_TEST

START_TEST(an_adoption_writes_no_unchanged_generation) {
    struct replica_state before, after;

    serve();
    read_state(1, &before);
    target_close(target);
    open_target();
    assert_voters(3);
    read_state(1, &after);
    ck_assert(generation_same(&before.generation.id, &after.generation.id));
    write_some(10);
    ck_assert_int_eq(unlink(file_of(1, "data")), 0);
    target_close(target);
    open_target();
    assert_voters(2);
    write_some(10);
    read_all();
}
END_TEST

START_TEST(growth_beyond_the_files_is_refused_without_effect) {
    serve();
    target_close(target);
    settings.maximum_bytes = MAXIMUM * 2;
    open_target();
    ck_assert_int_eq(target_resize(target, MAXIMUM + 512, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    target_status(target, &status);
    ck_assert_int_eq(status.state, TARGET_SERVING);
    ck_assert_int_eq(status.size_bytes, SIZE);
    write_some(10);
    read_all();
}
END_TEST

START_TEST(a_size_beyond_the_states_range_is_refused) {
    struct target *other;

    settings.maximum_bytes = VOLUME_BYTES_MOST + 512;
    ck_assert_int_eq(target_open(&settings, &other, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
}
END_TEST

/* The number in the file may be of another namespace of processes. */
START_TEST(only_the_lock_holder_is_killed) {
    char path[80], text[16] = "", strange[16];
    autoclose int fd = -1;
    pid_t bystander;

    serve();
    bystander = fork();
    if (bystander == 0)
        for (;;)
            pause();
    snprintf(path, sizeof(path), "%s/daemon", run);
    fd = open(path, O_RDWR);
    ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
    snprintf(strange, sizeof(strange), "%d\n", bystander);
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    ck_assert_int_gt(pwrite(fd, strange, strlen(strange), 0), 0);
    ck_assert_int_eq(daemon_kill(run, 50, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(waitpid(bystander, NULL, WNOHANG), 0);
    ck_assert(daemon_runs(run));
    kill(bystander, SIGKILL);
    waitpid(bystander, NULL, 0);
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    ck_assert_int_gt(pwrite(fd, text, strlen(text), 0), 0);
}
END_TEST

/* The former owner has removed the file that we have just opened: the next one has another lock. */
START_TEST(a_lock_on_a_removed_file_does_not_count) {
    struct target *other;
    char path[80];

    target_close(target);
    target = NULL;
    snprintf(path, sizeof(path), "%s/lock", run);
    removed = path;
    ck_assert_int_eq(target_open(&settings, &other, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    open_target();
}
END_TEST

/* A client writes the unreadable blocks again, and that is detected. */
static void decide_blocks(void) {
    const unsigned before = status.decisions;

    ck_assert(checker_recover(&checker));
    while (status.decisions == before) {
        poll(NULL, 0, 5);
        watch();
    }
}

START_TEST(a_rebuild_can_be_repeated_when_refused_blocks_are_written) {
    const struct replica third = { .pool = pools[2], .uid = uids[2] };

    serve();
    write_some(BLOCKS);
    assert_done(target_evict(target, uids[2], &err));
    damage(0, 3);
    damage(1, 5);
    checker.most[3]++; /* as if writes of them had been in flight: the client writes them again */
    checker.most[5]++;
    assert_done(target_rebuild(target, &third, NULL, 0, &err));
    await_job();
    ck_assert_int_eq(status.job, TARGET_REBUILD_FAILED);
    ck_assert_uint_eq(status.decisions, 0);
    decide_blocks();
    rebuild(2);
    assert_voters(REPLICAS);
}
END_TEST

/* Both copies of the block differ, and a client writes it again: the next pass begins at once. */
START_TEST(replicas_are_compared_again_when_refused_blocks_are_written) {
    struct target_scrub scrub = { 0 };
    unsigned before;

    serve();
    write_some(BLOCKS);
    assert_done(target_evict(target, uids[2], &err));
    kill_daemon();
    checker_disconnect(&checker);
    watch();
    ck_assert_int_eq(start(), 1);
    damage(0, 3);
    checker.most[3]++; /* as if a write of it had been in flight: the client writes it again */
    ck_assert_int_eq(target_scrub(target, &scrub, SIZE, &err), 0);
    ck_assert_int_eq(scrub.undecided, 1);
    before = status.resyncs;
    ck_assert(connect_checker());
    decide_blocks();
    ck_assert_uint_gt(status.resyncs, before);
    ck_assert(status.resynchronizing);
    ck_assert(resynchronize());
}
END_TEST

CHECK_MAIN_WITH("target refusals", adopt_daemons(), begin, end,
                a_reserved_child_counts_for_no_write,
                a_block_is_refused_where_a_needed_replica_missed_a_write,
                a_target_stops_at_another_owners_generation,
                a_stop_does_not_mark_another_owners_generation_clean, a_copy_gets_no_generation,
                an_adoption_writes_no_unchanged_generation,
                growth_beyond_the_files_is_refused_without_effect,
                a_size_beyond_the_states_range_is_refused, only_the_lock_holder_is_killed,
                a_lock_on_a_removed_file_does_not_count,
                a_rebuild_can_be_repeated_when_refused_blocks_are_written,
                replicas_are_compared_again_when_refused_blocks_are_written)
