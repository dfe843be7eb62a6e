/*
 * Two targets of one volume that reach the same files, as two hosts reach one pool, each with an
 * epoch of its own.
 */
#include "tests/unit/replication/engine/target_test.h"

#include "replication/engine/replica_epoch.h"

static char other_run[64];
static struct target *other;
static struct error why;

static void begin_two(void) {
    begin();
    snprintf(other_run, sizeof(other_run), "%s/other", top);
    other = NULL;
}

static void end_two(void) {
    target_close(other);
    daemon_kill(other_run, 10000, &why);
    end();
}

static void reopen(int64_t epoch) {
    target_close(target);
    settings.epoch = epoch;
    open_target();
}

static void open_other(int64_t epoch) {
    struct target_settings its = settings;

    its.run = other_run;
    its.epoch = epoch;
    ck_assert_int_eq(target_open(&its, &other, &why), 0);
}

static int start_other(void) {
    int outcome = target_start(other, &why);

    while (outcome > 0) {
        poll(NULL, 0, 2);
        outcome = target_start(other, &why);
    }
    return outcome;
}

static void assert_epochs(int64_t epoch) {
    target_status(target, &status);
    for (unsigned i = 0; i < REPLICAS; i++)
        ck_assert_int_eq(replica_epoch(&settings.replicas[i], &err), epoch);
}

START_TEST(all_replicas_of_a_served_volume_have_its_epoch) {
    reopen(3);
    serve();
    write_some(20);
    assert_epochs(3);
    stop();
    reopen(4);
    serve();
    read_all();
    assert_epochs(4);
}
END_TEST

START_TEST(a_lower_epoch_never_starts_and_changes_nothing) {
    struct replica_state before;

    reopen(5);
    serve();
    write_some(20);
    stop();
    watch();
    before = status.replicas[0].probe.state;
    reopen(4);
    ck_assert_int_eq(start(), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert(!daemon_runs(run));
    assert_epochs(5);
    target_status(target, &status);
    for (unsigned i = 0; i < REPLICAS; i++)
        ck_assert_int_eq(status.replicas[i].probe.epoch, 5);
    reopen(5);
    serve();
    read_all();
    stop();
    ck_assert_int_eq(before.mark, REPLICA_CLEAN);
}
END_TEST

/* The files are held: the next one does not start, but their holder finds its epoch, and stops. */
START_TEST(a_target_stops_at_a_higher_epoch) {
    reopen(1);
    serve();
    write_some(20);
    open_other(2);
    ck_assert_int_eq(start_other(), -1);
    ck_assert_int_eq(why.kind, ERROR_CONFLICT);
    ck_assert(!daemon_runs(other_run));
    watch();
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(status.state, TARGET_DOWN);
    ck_assert(!daemon_runs(run));
    ck_assert_int_eq(start(), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(start_other(), 0);
    checker_disconnect(&checker);
    strcpy(run, other_run);
    ck_assert(connect_checker());
    read_all();
}
END_TEST

/* A target that was suspended between its probe and its write cannot write a generation any more.
 */
START_TEST(no_generation_of_a_lower_epoch_is_written) {
    reopen(1);
    serve();
    write_some(20);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(replica_epoch_take(&settings.replicas[i], 2, &err), 0);
    ck_assert_int_eq(target_evict(target, uids[2], &err), -1);
    for (unsigned i = 0; i < REPLICAS; i++) {
        struct replica_probe probe;

        replica_probe(&settings.replicas[i], VOLUME, &probe);
        ck_assert_uint_eq(probe.state.generation.count,
                          i < 2 ? REPLICAS : probe.state.generation.count);
    }
}
END_TEST

START_TEST(a_running_daemon_is_adopted_in_its_epoch_and_in_the_next) {
    reopen(1);
    serve();
    write_some(20);
    reopen(1);
    target_status(target, &status);
    ck_assert_int_eq(status.state, TARGET_SERVING);
    reopen(2);
    target_status(target, &status);
    ck_assert_int_eq(status.state, TARGET_SERVING);
    assert_epochs(2);
    write_some(20);
    reopen(1);
    target_status(target, &status);
    ck_assert_int_eq(status.state, TARGET_DOWN);
    assert_epochs(2);
}
END_TEST

CHECK_MAIN_WITH("target epoch", adopt_daemons(), begin_two, end_two,
                all_replicas_of_a_served_volume_have_its_epoch,
                a_lower_epoch_never_starts_and_changes_nothing, a_target_stops_at_a_higher_epoch,
                no_generation_of_a_lower_epoch_is_written,
                a_running_daemon_is_adopted_in_its_epoch_and_in_the_next)
