/*
 * A replica with failing probes, as when its disk or its host is busy: its condition is unknown, so
 * it is not changed.  Calls that wait for all disks of a start, at once.
 */
#include "tests/unit/replication/engine/target_test.h"

#include "common/clock.h"
#include "common/thread.h"
#include "replication/engine/replica_access.h"

static struct replica_access local;
static const char *unprobed; /* the uid of the replica with failing probes; NULL: none */
static bool
    awaited[ACCESS_SNAPSHOT_SIZE + 1]; /* a call of this kind awaits those of all replicas */
static unsigned begun[ACCESS_SNAPSHOT_SIZE + 1];
static bool joined, left, closed; /* the last replica: by generations, and by the daemon then */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;

/* Calls come one after the other: the first waits in vain. */
static void await_others(enum access_kind kind) {
    const int64_t until_us = clock_monotonic_us() + 20 * SECOND_US;

    pthread_mutex_lock(&lock);
    begun[kind]++;
    pthread_cond_broadcast(&changed);
    while (begun[kind] % REPLICAS > 0 && awaited[kind]) {
        if (!thread_cond_wait(&changed, &lock, until_us))
            awaited[kind] = false;
    }
    pthread_mutex_unlock(&lock);
}

static void note_state(const struct replica_state *state) {
    struct replica_probe probe;
    struct replica_request request = {
        .kind = ACCESS_PROBE, .replica = &settings.replicas[2], .volume = VOLUME, .probe = &probe
    };
    bool has = generation_has(&state->generation, uids[2]);
    struct error ignored;

    pthread_mutex_lock(&lock);
    if (joined && !has && !left) {
        left = true;
        (void)replica_request(&replica_local, &request, &ignored);
        closed = !probe.held;
    }
    joined |= has;
    pthread_mutex_unlock(&lock);
}

static int call(void *arg, struct replica_request *request, struct error *error) {
    (void)arg;
    if (request->kind == ACCESS_WRITE_STATE)
        note_state(request->state);
    await_others(request->kind);
    if (request->kind != ACCESS_PROBE || !unprobed || strcmp(unprobed, request->replica->uid) != 0)
        return replica_request(&replica_local, request, error);
    *request->probe = (struct replica_probe){ .health = REPLICA_FAILING, .epoch = -1 };
    error_set(&request->probe->why, ERROR_UNAVAILABLE, "Input/output error");
    return 0;
}

static void begin_probes(void) {
    unprobed = NULL;
    memset(awaited, 0, sizeof(awaited));
    memset(begun, 0, sizeof(begun));
    thread_cond_init(&changed);
    local.call = call;
    begin();
    target_close(target);
    settings.local = &local;
    open_target();
}

/* It was complete when it was opened, and the daemon has it open. */
START_TEST(a_replica_with_a_failed_probe_votes_after_an_unclean_stop) {
    serve();
    write_some(50);
    kill_daemon();
    checker_disconnect(&checker);
    ck_assert_int_eq(start(), 1);
    unprobed = uids[1];
    watch();
    ck_assert(connect_checker());
    assert_voters(3);
    ck_assert(!was_logged("too short"));
    unprobed = NULL;
    read_all();
    ck_assert(resynchronize());
    stop();
    assert_equal(0, 1);
    assert_equal(0, 2);
}
END_TEST

START_TEST(a_volume_grows_when_all_probes_succeed) {
    serve();
    unprobed = uids[2];
    ck_assert_int_eq(target_resize(target, SIZE * 2, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert(strstr(err.message, "could not be probed: Input/output error"));
    assert_voters(3);
    ck_assert_int_eq(status.size_bytes, SIZE);
    write_some(20);
    unprobed = NULL;
    checker_disconnect(&checker);
    assert_done(target_resize(target, SIZE * 2, &err));
    assert_voters(3);
}
END_TEST

START_TEST(a_replica_with_a_failed_probe_is_not_rebuilt) {
    struct stat before, after;

    serve();
    write_some(50);
    assert_done(target_evict(target, uids[2], &err));
    ck_assert_int_eq(stat(file_of(2, "data"), &before), 0);
    unprobed = uids[2];
    ck_assert_int_eq(target_rebuild(target, &settings.replicas[2], NULL, 0, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    ck_assert_int_eq(stat(file_of(2, "data"), &after), 0);
    ck_assert_int_eq(after.st_blocks, before.st_blocks);
    ck_assert_int_eq(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
    assert_voters(2);
    write_some(20);
    unprobed = NULL;
    rebuild(2);
    assert_voters(3);
    read_all();
}
END_TEST

START_TEST(a_stop_names_the_replica_with_a_failed_probe) {
    serve();
    write_some(20);
    unprobed = uids[0];
    stop();
    ck_assert(was_logged("could not be probed: Input/output error"));
    ck_assert(!was_logged("is stale"));
    unprobed = NULL;
    ck_assert_int_eq(start(), 1);
    assert_voters(3);
}
END_TEST

/* Each waits for a disk: a volume would start as many times later. */
START_TEST(replicas_are_opened_and_written_at_once) {
    awaited[ACCESS_OPEN] = awaited[ACCESS_WRITE_STATE] = true;
    serve();
    ck_assert_uint_eq(begun[ACCESS_OPEN], REPLICAS);
    ck_assert_uint_eq(begun[ACCESS_WRITE_STATE], REPLICAS);
    write_some(20);
    stop();
    ck_assert_uint_eq(begun[ACCESS_WRITE_STATE], 2 * REPLICAS);
    ck_assert(awaited[ACCESS_OPEN] && awaited[ACCESS_WRITE_STATE]); /* still: none came alone */
}
END_TEST

/* It misses a write in the moment in which it joins. */
START_TEST(a_replica_that_fails_to_join_leaves_the_daemon_first) {
    if (!own_mounts())
        return;
    target_close(target);
    ck_assert(small_disk(pools[2], "size=1m"));
    open_target();
    create_replicas();
    serve();
    assert_done(target_evict(target, uids[2], &err));
    joined = left = closed = false;
    assert_done(target_rebuild(target, &settings.replicas[2], NULL, 0, &err));
    while (!joined) {
        watch();
        ck_assert_msg(status.job == TARGET_REBUILD, "%s", status.job_error.message);
    }
    fill(2);
    write_some(40);
    await_job();
    ck_assert_int_eq(status.job, TARGET_REBUILD_FAILED);
    watch();
    assert_voters(2);
    ck_assert(left && closed);
    read_all();
    umount2(pools[2], MNT_DETACH);
}
END_TEST

CHECK_MAIN_WITH("target probes", adopt_daemons(), begin_probes, end,
                replicas_are_opened_and_written_at_once,
                a_replica_with_a_failed_probe_votes_after_an_unclean_stop,
                a_volume_grows_when_all_probes_succeed,
                a_replica_with_a_failed_probe_is_not_rebuilt,
                a_stop_names_the_replica_with_a_failed_probe,
                a_replica_that_fails_to_join_leaves_the_daemon_first)
