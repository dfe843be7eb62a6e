/*
 * A volume without a majority is served from one replica on an operator's request, and replicas
 * that return later are not members of it.
 */
#include "tests/unit/replication/engine/target_test.h"

static uint32_t then[BLOCKS]; /* the content of the recovered replica */

static void remember(void) {
    memcpy(then, checker.least, sizeof(then));
}

static void expect_then(void) {
    memcpy(checker.least, then, sizeof(then));
    memcpy(checker.most, then, sizeof(then));
}

static void move_away(unsigned i) {
    char away[80];

    snprintf(away, sizeof(away), "%s.away", pools[i]);
    ck_assert_int_eq(rename(pools[i], away), 0);
}

static void bring_back(unsigned i) {
    char away[80];

    snprintf(away, sizeof(away), "%s.away", pools[i]);
    ck_assert_int_eq(rename(away, pools[i]), 0);
}

static struct replica_state state_of(unsigned i) {
    const struct replica replica = { .pool = pools[i], .uid = uids[i] };
    struct replica_probe probe;

    replica_probe(&replica, VOLUME, &probe);
    ck_assert(probe.has_state);
    return probe.state;
}

static void put_state(unsigned i, const struct replica_state *state) {
    const struct replica replica = { .pool = pools[i], .uid = uids[i] };

    assert_done(replica_write_state(&replica, state, &err));
}

static void reopen(void) {
    target_close(target);
    open_target();
}

static void recover(int64_t recovery, const char *uid) {
    settings.recovery = recovery;
    settings.recover_from = uid;
    settings.dry_run = false;
    reopen();
}

static void assert_lacks_quorum(void) {
    ck_assert_int_eq(start(), -1);
    ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    target_status(target, &status);
    ck_assert_int_eq(status.state, TARGET_DOWN);
    ck_assert_int_eq(status.finding, TARGET_LACKS_QUORUM);
}

static void assert_flaw(const char *uid, enum target_flaw expected) {
    enum target_flaw flaw = TARGET_NO_FLAW;

    ck_assert_int_eq(target_may_recover(target, uid, &flaw, &err),
                     expected == TARGET_NO_FLAW ? 0 : -1);
    ck_assert_msg(flaw == expected, "%d: %s", flaw, err.message);
}

static void scale(unsigned count) {
    while (target_scale(target, settings.replicas, count, 0, &err) > 0) {
        do {
            poll(NULL, 0, 2);
            watch();
        } while (status.job == TARGET_REBUILD);
    }
    assert_voters(count);
}

/* The third misses the others' writes, in generations that it does not have; then it is alone. */
static void let_the_third_miss_writes(void) {
    serve();
    write_some(200);
    remember();
    assert_done(target_evict(target, uids[2], &err));
    write_some(200);
    rebuild(2);
    assert_done(target_evict(target, uids[2], &err));
    remember();
    write_some(200);
    stop();
    move_away(0);
    move_away(1);
    assert_lacks_quorum();
}

START_TEST(returned_replicas_do_not_vote_after_a_forced_recovery) {
    let_the_third_miss_writes();
    assert_flaw(uids[2], TARGET_NO_FLAW);
    assert_flaw(uids[0], TARGET_UNREACHABLE);
    assert_flaw(uids[3], TARGET_UNUSABLE);

    recover(1, uids[2]);
    expect_then();
    serve();
    assert_voters(1);
    read_all();
    write_some(100);
    stop();

    bring_back(0); /* a majority of the volume that was, and later */
    bring_back(1);
    ck_assert_int_gt(state_of(2).generation.id.number, state_of(0).generation.id.number);
    move_away(2);
    recover(1, NULL);
    assert_lacks_quorum();
    bring_back(2);
    serve();
    assert_voters(1);
    read_all();
    checker_disconnect(&checker);
    scale(3);
    ck_assert(connect_checker());
    read_all();
    write_some(50);
    stop();
    assert_equal(0, 2);
    assert_equal(1, 2);
    ck_assert_int_eq(start(), 0);
}
END_TEST

/* Both have a generation that the other does not have, of one number. */
START_TEST(of_one_number_the_recovered_generation_counts) {
    struct replica_state lost;

    let_the_third_miss_writes();
    recover(1, uids[2]);
    expect_then();
    serve();
    stop();
    bring_back(0);
    lost = state_of(0);
    ck_assert_int_lt(lost.generation.id.number, generation_floor(1));
    lost.generation.id.number = generation_floor(1) - 1; /* the highest number of earlier writers */
    lost.generation.wanted = 1;
    put_state(0, &lost);
    serve();
    assert_voters(1);
    read_all();
    stop();
}
END_TEST

START_TEST(a_served_volume_needs_no_recovery) {
    settings.dry_run = true;
    reopen();
    ck_assert_int_eq(start(), -1);
    ck_assert_int_eq(err.kind, ERROR_CONFLICT);
    target_status(target, &status);
    ck_assert_int_eq(status.finding, TARGET_HAS_QUORUM);
    ck_assert(!daemon_runs(run));

    settings.dry_run = false; /* and after an unclean stop it has them, too */
    reopen();
    serve();
    write_some(50);
    kill_daemon();
    checker_disconnect(&checker);
    settings.dry_run = true;
    reopen();
    ck_assert_int_eq(start(), -1);
    target_status(target, &status);
    ck_assert_int_eq(status.finding, TARGET_HAS_QUORUM);
    ck_assert(!daemon_runs(run));
    settings.dry_run = false;
    reopen();
    serve();
    read_all();
    stop();
}
END_TEST

/* Their states are a majority, and too few of them can be served. */
START_TEST(a_replica_that_cannot_be_opened_has_no_vote) {
    serve();
    write_some(200);
    remember();
    stop();
    ck_assert_int_eq(truncate(file_of(0, "data"), SIZE), 0);
    ck_assert_int_eq(truncate(file_of(1, "data"), SIZE), 0);
    settings.size_bytes = 2 * SIZE;
    reopen();
    ck_assert_int_eq(start(), -1);

    settings.dry_run = true;
    reopen();
    assert_lacks_quorum();
    ck_assert(!daemon_runs(run));
    assert_flaw(uids[0], TARGET_UNUSABLE);
    assert_flaw(uids[2], TARGET_NO_FLAW);
    recover(1, uids[2]);
    expect_then();
    serve();
    assert_voters(1);
    read_all();
    stop();
}
END_TEST

START_TEST(a_block_that_differs_is_refused_until_a_forced_recovery) {
    serve();
    write_some(200);
    remember();
    damage(1, 7);
    assert_done(target_evict(target, uids[0], &err));
    ck_assert(!checker_read(&checker));
    watch();
    checker_disconnect(&checker);
    kill_daemon();
    watch();
    serve();
    ck_assert(!checker_read(&checker));
    stop();
    recover(1, uids[2]);
    expect_then();
    serve();
    assert_voters(1);
    read_all();
    stop();
}
END_TEST

START_TEST(no_recovery_from_an_incomplete_replica) {
    struct replica_state state;

    let_the_third_miss_writes();
    state = state_of(2);
    state.mark = REPLICA_EMPTY; /* as one is until it is rebuilt */
    put_state(2, &state);
    assert_lacks_quorum();
    assert_flaw(uids[2], TARGET_NOT_REBUILT);
    recover(1, uids[2]);
    assert_lacks_quorum();
    ck_assert_int_eq(state_of(2).mark, REPLICA_EMPTY);

    state.mark = REPLICA_DIRTY;
    state.generation.size_bytes = 512; /* it has missed that the volume grew */
    put_state(2, &state);
    ck_assert_int_eq(truncate(file_of(2, "data"), SIZE - 512), 0);
    assert_lacks_quorum();
    assert_flaw(uids[2], TARGET_UNUSABLE);
    ck_assert_int_eq(state_of(2).generation.id.number, state.generation.id.number);
    ck_assert_int_eq(unlink(file_of(2, "state")), 0);
    assert_lacks_quorum();
    assert_flaw(uids[2], TARGET_UNREACHABLE);
}
END_TEST

/* After a death before the recovery is confirmed it is repeated: no write is lost by that, and an
 * older copy of the replica is not recovered again. */
START_TEST(a_recovery_is_applied_once) {
    struct replica_state before;

    let_the_third_miss_writes();
    before = state_of(2);
    recover(1, uids[2]);
    expect_then();
    serve();
    write_some(100);
    checker_disconnect(&checker);
    kill_daemon();
    reopen();
    serve();
    read_all();
    stop();

    bring_back(0);
    settings.replicas[1] = settings.replicas[2];
    settings.count = 2;
    reopen();
    serve();
    checker_disconnect(&checker);
    scale(2);
    stop();
    put_state(2, &before); /* a copy has replaced it */
    assert_lacks_quorum();
    ck_assert_int_eq(state_of(2).generation.id.number, before.generation.id.number);
}
END_TEST

/* The next recovery may name another one: that one outranks the first. */
START_TEST(the_next_recovery_may_name_another_replica) {
    let_the_third_miss_writes();
    recover(7, uids[2]);
    expect_then();
    serve();
    write_some(100);
    stop();
    bring_back(0);
    move_away(2);
    recover(9, uids[0]);
    assert_done(start());
    assert_voters(1);
    stop();
    bring_back(2);
    recover(9, NULL);
    assert_done(start());
    assert_voters(1);
    ck_assert_int_lt(state_of(2).generation.id.number, state_of(0).generation.id.number);
    stop();
}
END_TEST

/* Why a number is never given twice: the replica recovered first counts as recovered by the second
 * request as well, and the replica that was named stays behind. */
START_TEST(of_two_recoveries_of_one_number_the_second_is_not_applied) {
    int64_t before;

    let_the_third_miss_writes();
    recover(7, uids[2]);
    expect_then();
    serve();
    stop();
    bring_back(0);
    before = state_of(0).generation.id.number;
    recover(7, uids[0]);
    assert_done(start());
    stop();
    ck_assert_int_eq(state_of(0).generation.id.number, before);
    ck_assert_int_gt(state_of(2).generation.id.number, before);
}
END_TEST

START_TEST(the_number_of_recoveries_is_limited) {
    struct target_settings wrong = settings;
    struct target *none = NULL;

    wrong.recovery = RECOVERIES_MOST + 1;
    target_close(target);
    target = NULL;
    ck_assert_int_eq(target_open(&wrong, &none, &err), -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
}
END_TEST

CHECK_MAIN_WITH("target recovery", adopt_daemons(), begin, end,
                returned_replicas_do_not_vote_after_a_forced_recovery,
                of_one_number_the_recovered_generation_counts, a_served_volume_needs_no_recovery,
                a_replica_that_cannot_be_opened_has_no_vote,
                a_block_that_differs_is_refused_until_a_forced_recovery,
                no_recovery_from_an_incomplete_replica, a_recovery_is_applied_once,
                the_next_recovery_may_name_another_replica,
                of_two_recoveries_of_one_number_the_second_is_not_applied,
                the_number_of_recoveries_is_limited)
