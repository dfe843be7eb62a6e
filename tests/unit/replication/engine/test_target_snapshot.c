#include "replication/engine/replica_access.h"
#include "tests/unit/replication/engine/target_test.h"

#include <limits.h>
#include <stdatomic.h>

#define NAME       "00000000-0000-4000-8000-0000000000f1"
#define OTHER_NAME "00000000-0000-4000-8000-0000000000f2"
#define CLONE      "00000000-0000-4000-8000-00000000f001"
#define TURNS      4096
#define DEPTH      8

static const char *const clone_uids[] = {
    "00000000-0000-4000-8000-0000000000ca",
    "00000000-0000-4000-8000-0000000000cb",
    "00000000-0000-4000-8000-0000000000cc",
};

/* The writes, turn by turn: a turn begins when all of the one before was answered. */
static struct { uint32_t versions[BLOCKS]; /* after it */ } turns[TURNS];
static unsigned turned;

static void turn(void) {
    checker_send(&checker, DEPTH);
    ck_assert_msg(checker_wait(&checker), "%s", last_output());
    ck_assert_uint_lt(turned, TURNS);
    memcpy(turns[turned++].versions, checker.least, sizeof(turns[0].versions));
}

/* Between which two turns it was taken is drawn by the world. */
static void snap(const char *name) {
    int outcome = target_snapshot(target, name, 0, &err);

    ck_assert_msg(outcome == 1, "%s", err.message);
    do {
        turn();
        watch();
    } while (status.job == TARGET_SNAPSHOT);
    ck_assert_msg(status.job == TARGET_SNAPPED, "%s", status.job_error.message);
}

static const char *snapshot_file(unsigned i) {
    return file_of(i, "snapshot-" NAME);
}

static bool are_equal(unsigned a, unsigned b) {
    autoclose int one = open(snapshot_file(a), O_RDONLY), two = open(snapshot_file(b), O_RDONLY);
    static char first[STRIDE], second[STRIDE];

    for (int64_t at = 0; at < SIZE; at += STRIDE) {
        if (pread(one, first, STRIDE, at) != STRIDE || pread(two, second, STRIDE, at) != STRIDE ||
            memcmp(first, second, STRIDE) != 0)
            return false;
    }
    return true;
}

/* A volume of its own, made of the snapshot; the checker is that of its content. */
static void serve_clone(struct target_settings *cloned, int64_t size_bytes) {
    struct generation first;
    static char place[64];

    snprintf(place, sizeof(place), "%s/clone", top);
    *cloned = settings;
    cloned->volume = CLONE;
    cloned->run = place;
    cloned->size_bytes = size_bytes;
    generation_first(CLONE, size_bytes, clone_uids, REPLICAS, &first);
    for (unsigned i = 0; i < REPLICAS; i++) {
        const struct replica source = { .pool = pools[i], .uid = uids[i] };

        cloned->replicas[i] = (struct replica){ .pool = pools[i], .uid = clone_uids[i] };
        for (int twice = 0; twice < 2; twice++)
            assert_done(replica_snapshot_clone(&source, NAME, &cloned->replicas[i], CLONE, MAXIMUM,
                                               &first, NULL, &err));
    }
    strcpy(run, place);
    assert_done(target_open(cloned, &target, &err));
    serve();
}

/* It holds all of some turn, and of the next one some. */
static void assert_one_moment(unsigned from, unsigned to) {
    unsigned at = to - 1;

    for (unsigned i = 0; i < BLOCKS; i++) {
        ck_assert_uint_ge(checker.least[i], turns[from].versions[i]);
        while (at > from && turns[at].versions[i] > checker.least[i])
            at--;
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        ck_assert_msg(checker.least[i] <= turns[at + 1 < to ? at + 1 : at].versions[i],
                      "block %u is of a later moment than another, in turn %u of %u to %u", i, at,
                      from, to);
}

START_TEST(a_snapshot_is_of_one_moment_while_others_write) {
    struct target_settings cloned;
    struct target *source;
    unsigned from;
    char first_run[64];

    turned = 0;
    serve();
    write_some(200);
    turn();
    from = turned - 1;
    snap(NAME);
    ck_assert_int_eq(target_snapshot(target, NAME, 0, &err), 0);
    ck_assert(are_equal(0, 1));
    ck_assert(are_equal(0, 2));
    read_all();
    checker_disconnect(&checker);
    source = target;
    strcpy(first_run, run);

    memcpy(checker.least, turns[from].versions, sizeof(turns[0].versions));
    serve_clone(&cloned, SIZE);
    read_all();
    assert_one_moment(from, turned);
    write_some(20);
    stop();
    assert_done(target_start(target, &err)); /* a volume like any other */
    stop();
    target_close(target);
    target = source;
    strcpy(run, first_run);
}
END_TEST

START_TEST(a_snapshot_is_independent_of_later_changes) {
    const struct replica second = { .pool = pools[1], .uid = uids[1] };
    struct replica_snapshot found[2];
    struct replica_copy copy = { .ends = false };
    struct target_settings cloned;
    struct generation small;
    uint32_t versions[BLOCKS];
    struct target *source;
    char first_run[64];

    turned = 0;
    serve();
    write_some(100);
    ck_assert_int_eq(target_snapshot(target, NAME, 0, &err), 1);
    do {
        watch();
    } while (status.job == TARGET_SNAPSHOT);
    ck_assert_int_eq(status.job, TARGET_SNAPPED);
    memcpy(versions, checker.least, sizeof(versions));
    write_some(100);
    assert_done(target_evict(target, uids[1], &err));
    rebuild(1);
    checker_disconnect(&checker);
    assert_done(target_resize(target, SIZE * 2, &err));
    ck_assert_int_eq(replica_snapshot_list(&second, found, 2, &err), 1);
    ck_assert_str_eq(found[0].name, NAME);
    ck_assert_int_eq(found[0].size_bytes, SIZE);
    ck_assert_int_gt(found[0].used_bytes, 0);
    ck_assert_int_lt(found[0].used_bytes, SIZE / 8); /* holes stay holes */

    source = target;
    strcpy(first_run, run);
    memcpy(checker.least, versions, sizeof(versions));
    memcpy(checker.most, versions, sizeof(versions));
    generation_first(CLONE, SIZE - 512, clone_uids, 1, &small);
    ck_assert_int_eq(replica_snapshot_clone(
                         &second, NAME, &(struct replica){ .pool = pools[1], .uid = clone_uids[1] },
                         CLONE, MAXIMUM, &small, NULL, &err),
                     -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    serve_clone(&cloned, SIZE * 2);
    read_all();
    stop();
    target_close(target);
    target = source;
    strcpy(run, first_run);

    for (int twice = 0; twice < 2; twice++)
        assert_done(replica_snapshot_delete(&second, NAME, &err));
    ck_assert(!replica_snapshot_is_there(&second, NAME));
    for (int twice = 0; twice < 2; twice++) /* as beside one that did not vote then */
        assert_done(replica_snapshot_copy(&settings.replicas[0], NAME, &second, &copy, &err));
    ck_assert_int_eq(atomic_load(&copy.done_bytes) > 0, atomic_load(&copy.total_bytes) > 0);
    ck_assert_int_lt(atomic_load(&copy.done_bytes), SIZE / 8); /* holes are not counted */
    ck_assert(are_equal(0, 1));
    ck_assert_int_eq(replica_snapshot_copy(&second, OTHER_NAME, &settings.replicas[0], NULL, &err),
                     -1);
    ck_assert_int_eq(err.kind, ERROR_NOT_FOUND);
    assert_done(replica_snapshot_delete(&second, NAME, &err));
    ck_assert_int_eq(replica_snapshot_list(&second, found, 2, &err), 0);
    stop();
    assert_done(replica_delete(&settings.replicas[0], &err)); /* with its snapshot */
    ck_assert_int_eq(access(file_of(0, ""), F_OK), -1);
}
END_TEST

START_TEST(an_interrupted_snapshot_does_not_exist) {
    struct replica_snapshot found[2];

    turned = 0;
    serve();
    write_some(96);
    for (int round = 0; round < 3; round++) {
        ck_assert_int_eq(target_snapshot(target, round ? OTHER_NAME : NAME, 1, &err), 1);
        ck_assert_int_eq(target_snapshot(target, CLONE, 1, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_CONFLICT);
        write_some(10);
        watch();
        ck_assert_int_eq(status.job, TARGET_SNAPSHOT);
        if (round == 0) {
            assert_done(target_rebuild_stop(target, &err));
            while (status.job == TARGET_SNAPSHOT)
                watch();
        } else if (round == 1) {
            target_close(target);
            open_target();
        } else {
            kill_daemon();
            checker_disconnect(&checker);
        }
        watch();
        ck_assert_int_eq(status.job, round == 1 ? TARGET_NO_JOB : TARGET_SNAPSHOT_FAILED);
        ck_assert_int_eq(replica_snapshot_list(&settings.replicas[0], found, 2, &err), 0);
    }
    serve();
    read_all();
    snap(NAME);
    ck_assert_int_eq(replica_snapshot_list(&settings.replicas[0], found, 2, &err), 1);
    ck_assert_int_eq(access(file_of(0, "snapshot-" OTHER_NAME ".new"), F_OK), -1);
}
END_TEST

/* One of the three replicas is in a pool of its own; false: that is not possible here. */
static bool serve_with_little_space(void) {
    const struct replica fourth = { .pool = pools[3], .uid = uids[3] };

    if (!small_disk(pools[3], "size=500k"))
        return false;
    turned = 0;
    serve();
    assert_done(target_rebuild(target, &fourth, uids[0], 0, &err));
    await_job();
    ck_assert_msg(status.job == TARGET_REBUILT, "%s", status.job_error.message);
    settings.replicas[0] = fourth;
    write_some(120);
    assert_voters(3);
    return true;
}

static void snap_without_the_fourth(const char *name) {
    struct replica_snapshot found;

    ck_assert_int_eq(target_snapshot(target, name, 0, &err), 1);
    do {
        watch();
    } while (status.job == TARGET_SNAPSHOT);
    ck_assert_msg(status.job == TARGET_SNAPPED, "%s", status.job_error.message);
    ck_assert_int_eq(replica_snapshot_list(&settings.replicas[0], &found, 1, &err), 0);
}

/* The daemon reports once a second about a node: of the next snapshot's at once, too. */
START_TEST(a_full_pool_has_no_copy_and_the_volume_continues) {
    if (!serve_with_little_space())
        return;
    snap_without_the_fourth(NAME);
    snap_without_the_fourth(OTHER_NAME);
    ck_assert(are_equal(1, 2));
    assert_voters(3);
    read_all();
    ck_assert_int_eq(status.failures, 0);
    ck_assert(!status.resynchronizing);
    stop();
    umount2(pools[3], MNT_DETACH);
}
END_TEST

START_TEST(a_new_owner_receives_the_reports_of_each_copy) {
    if (!serve_with_little_space())
        return;
    snap_without_the_fourth(NAME);
    target_close(target);
    open_target();
    assert_voters(3);
    snap_without_the_fourth(OTHER_NAME);
    read_all();
    stop();
    umount2(pools[3], MNT_DETACH);
}
END_TEST

/* Pools of the second and the third replica, from the completion of a snapshot on: they fail; or
 * complete it, and do not answer any more. */
static bool fail_to_complete, are_silent;

static bool is_first(const struct replica *replica) {
    return strcmp(replica->uid, uids[0]) == 0;
}

static int complete_the_first(void *arg, struct replica_request *request, struct error *error) {
    bool completes = request->kind == ACCESS_SNAPSHOT && request->step == REPLICA_SNAPSHOT_COMPLETE;
    bool snapshots = request->kind == ACCESS_SNAPSHOT || request->kind == ACCESS_SNAPSHOT_SIZE;

    (void)arg;
    if (is_first(request->replica) || !snapshots ||
        !(are_silent || (completes && fail_to_complete)))
        return replica_request(&replica_local, request, error);
    if (completes && are_silent)
        replica_request(&replica_local, request, error);
    return error_set(error, ERROR_UNAVAILABLE, "it is not known");
}

static void fail_the_others(bool silent) {
    static const struct replica_access access = { .call = complete_the_first };

    fail_to_complete = !silent;
    are_silent = false;
    settings.local = &access;
    target_close(target);
    open_target();
    turned = 0;
    serve();
    assert_done(target_snapshot(target, NAME, 0, &err));
    are_silent = silent;
    do {
        turn();
        watch();
    } while (status.job == TARGET_SNAPSHOT);
    ck_assert_int_eq(status.job, TARGET_SNAPSHOT_FAILED);
    ck_assert(!replica_snapshot_is_there(&settings.replicas[0], NAME));
}

START_TEST(too_few_complete_copies_are_no_snapshot) {
    fail_the_others(false);
    fail_to_complete = false;
    snap(NAME);
    ck_assert(are_equal(0, 1));
}
END_TEST

/* An unknown one might be complete, and the next of its name is of another moment. */
START_TEST(complete_copies_elsewhere_are_the_snapshot) {
    fail_the_others(true);
    ck_assert_int_eq(target_snapshot(target, NAME, 0, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    are_silent = false;
    ck_assert_int_eq(target_snapshot(target, NAME, 0, &err), 0);
    ck_assert(!replica_snapshot_is_there(&settings.replicas[0], NAME));
    ck_assert(are_equal(1, 2));
}
END_TEST

/* The host ends at the call for a snapshot with that number. */
static atomic_int calls_left;

static int until_the_end(void *arg, struct replica_request *request, struct error *error) {
    (void)arg;
    if (request->kind == ACCESS_SNAPSHOT)
        atomic_fetch_sub(&calls_left, 1);
    return atomic_load(&calls_left) < 0 ? error_set(error, ERROR_UNAVAILABLE, "the host has ended")
                                        : replica_request(&replica_local, request, error);
}

/* true: it ended while a snapshot was taken. */
static bool end_in_a_snapshot(int calls) {
    static const struct replica_access access = { .call = until_the_end };

    settings.local = &access;
    atomic_store(&calls_left, INT_MAX);
    open_target();
    serve();
    write_some(50);
    atomic_store(&calls_left, calls);
    (void)target_snapshot(target, NAME, 0, &err);
    do {
        watch();
    } while (status.job == TARGET_SNAPSHOT && atomic_load(&calls_left) >= 0);
    checker_disconnect(&checker);
    target_close(target);
    kill_daemon();
    settings.local = NULL;
    return atomic_load(&calls_left) < 0;
}

static void snap_without_the_first(const char *hidden) {
    ck_assert_int_eq(rename(pools[0], hidden), 0);
    open_target();
    serve();
    write_some(50);
    if (target_snapshot(target, NAME, 0, &err) == 1) {
        do {
            watch();
        } while (status.job == TARGET_SNAPSHOT);
        ck_assert_msg(status.job == TARGET_SNAPPED, "%s", status.job_error.message);
    }
    stop();
    target_close(target);
    ck_assert_int_eq(rename(hidden, pools[0]), 0);
}

START_TEST(a_replica_that_was_away_holds_no_snapshot_of_another_moment) {
    char hidden[64];

    snprintf(hidden, sizeof(hidden), "%s/hidden", top);
    target_close(target);
    for (int calls = 5; end_in_a_snapshot(calls); calls++) {
        snap_without_the_first(hidden);
        open_target();
        serve();
        rebuild(0);
        ck_assert_int_eq(access(file_of(0, "snapshot-" NAME ".complete"), F_OK), -1);
        for (unsigned i = 1; i < REPLICAS; i++)
            ck_assert_msg(!replica_snapshot_is_there(&settings.replicas[0], NAME) ||
                              !replica_snapshot_is_there(&settings.replicas[i], NAME) ||
                              are_equal(0, i),
                          "replica %u has another moment, after %d calls", i, calls);
        ck_assert(replica_snapshot_is_there(&settings.replicas[1], NAME) ||
                  replica_snapshot_is_there(&settings.replicas[2], NAME));
        for (unsigned i = 0; i < REPLICAS; i++)
            assert_done(replica_snapshot_delete(&settings.replicas[i], NAME, &err));
        stop();
        target_close(target);
    }
    target = NULL;
}
END_TEST

START_TEST(an_invalid_name_is_refused) {
    static const char *const names[] = { "", "x", "../../etc",
                                         "00000000-0000-4000-8000-0000000000F1" };
    struct error reason;

    serve();
    for (size_t i = 0; i < LENGTH(names); i++) {
        ck_assert_int_eq(target_snapshot(target, names[i], 0, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
        ck_assert_int_eq(replica_snapshot_delete(&settings.replicas[0], names[i], &reason), -1);
        ck_assert(!replica_snapshot_is_there(&settings.replicas[0], names[i]));
    }
}
END_TEST

CHECK_MAIN_WITH("target snapshot", adopt_daemons(), begin, end,
                a_snapshot_is_of_one_moment_while_others_write,
                a_snapshot_is_independent_of_later_changes, an_interrupted_snapshot_does_not_exist,
                a_full_pool_has_no_copy_and_the_volume_continues,
                a_new_owner_receives_the_reports_of_each_copy,
                too_few_complete_copies_are_no_snapshot, complete_copies_elsewhere_are_the_snapshot,
                a_replica_that_was_away_holds_no_snapshot_of_another_moment,
                an_invalid_name_is_refused)
