/*
 * A volume with faults, in an order that a seed decides, while the checker writes: all is repaired
 * or refused, never is a byte wrong, and never is an answered write lost. $FAULTS is their number,
 * $FAULT_SEED the seed.
 */
#include "replication/engine/replica_snapshot.h"
#include "tests/unit/replication/engine/target_test.h"

#include <stdlib.h>

#define TRIES 20000
#define ALL   4 /* pools: one more than replicas, but when there is to be another number */

static unsigned fault;
static bool damaged; /* more than that would be more than three replicas tolerate */
static bool away[ALL];

/* The assigned replicas. */
static struct replica assignment[ALL];
static unsigned assigned;

static void make_assignment(unsigned first, unsigned count) {
    assigned = count;
    for (unsigned i = 0; i < count; i++)
        assignment[i] = settings.replicas[(first + i) % ALL];
}

static void move_pool(unsigned i, bool goes) {
    char elsewhere[80];

    snprintf(elsewhere, sizeof(elsewhere), "%s-away", pools[i]);
    if (away[i] != goes)
        ck_assert_int_eq(rename(goes ? pools[i] : elsewhere, goes ? elsewhere : pools[i]), 0);
    away[i] = goes;
}

/* A refusal is only for too few replicas, or for their differences. */
static bool try_start(void) {
    target_status(target, &status);
    if (status.state == TARGET_SERVING)
        return true;
    if (start() >= 0)
        return true;
    ck_assert_msg(err.kind == ERROR_UNAVAILABLE, "fault %u: %s", fault, err.message);
    ck_assert(!daemon_runs(run));
    return false;
}

static void repair_outvoted(void) {
    target_status(target, &status);
    for (unsigned i = 0; i < status.count; i++) {
        if (status.replicas[i].votes && status.replicas[i].mismatches > 0)
            (void)target_repair(target, status.replicas[i].replica.uid, 0, &err);
    }
}

/* A write in flight to two replicas when their daemon dies is refused until it is overwritten. */
static void resynchronize_in_part(void) {
    struct target_scrub scrub = { 0 };

    if (status.state != TARGET_SERVING || status.job == TARGET_REBUILD ||
        status.job == TARGET_REPAIR)
        return;
    if (status.resynchronizing || status.job == TARGET_REBUILD_FAILED) {
        if (!checker_recover(&checker))
            return;
        while (target_scrub(target, &scrub, SIZE, &err) > 0)
            ;
    }
    repair_outvoted();
}

/* As a controller would: present replicas are used, stale ones rebuilt, until all are healthy. */
static void heal(void) {
    for (unsigned i = 0; i < ALL; i++)
        move_pool(i, false);
    for (unsigned tries = 0; tries < TRIES; tries++) {
        watch();
        if (status.state != TARGET_SERVING) {
            checker_disconnect(&checker); /* it may not have noticed */
            ck_assert_msg(try_start(), "fault %u: %s", fault, err.message);
        }
        if (checker.fd < 0)
            ck_assert(connect_checker());
        resynchronize_in_part();
        if (status.state == TARGET_SERVING &&
            target_scale(target, assignment, assigned, 0, &err) == 0) {
            ck_assert(connect_checker()); /* it may have restarted for that */
            return;
        }
        checker_send(&checker, 2);
        checker_wait(&checker);
        poll(NULL, 0, 2);
    }
    ck_abort_msg("fault %u: not healed: %s", fault, err.message);
}

/* Undetected damage would meet the next one; and two do not tolerate as much as three. */
static void heal_wholly(void) {
    if (assigned < REPLICAS)
        make_assignment(0, REPLICAS);
    heal();
    ck_assert_msg(checker_recover(&checker), "fault %u", fault);
    watch();
    ck_assert_msg(resynchronize(), "fault %u: not resynchronized", fault);
    damaged = false;
}

/* ---- faults ---- */

static void daemon_dies(void) {
    kill_daemon();
}

static void owner_dies(void) {
    target_close(target);
    target = NULL;
    checker_send(&checker, 4);
    open_target();
}

static void both_die(void) {
    target_close(target);
    kill_daemon();
    open_target();
}

static unsigned index_of(const struct replica *replica) {
    unsigned i = 0;

    while (strcmp(uids[i], replica->uid) != 0)
        i++;
    return i;
}

static unsigned draw_assigned(void) {
    return index_of(&assignment[checker_draw(&checker, assigned)]);
}

static void file_is_unlinked(void) {
    unlink(file_of(draw_assigned(), "data"));
}

static void file_is_cut(void) {
    const char *path = file_of(draw_assigned(), "data");

    ck_assert_int_eq(truncate(path, checker_draw(&checker, BLOCKS) * STRIDE + 7), 0);
}

static void state_is_lost(void) {
    unlink(file_of(draw_assigned(), "state"));
}

/* A block that is intact in the one may be damaged in the other. */
static void two_are_damaged(void) {
    unsigned first = checker_draw(&checker, assigned);
    unsigned one = index_of(&assignment[first]),
             other = index_of(&assignment[(first + 1) % assigned]);

    damaged = true;
    checker_wait(&checker); /* a write in flight would come before or after the damage */
    for (unsigned block = 0; block < BLOCKS; block += 1 + checker_draw(&checker, 20))
        damage(block % 2 ? one : other, block);
}

/* As an administrator restores a disk from its backup, which may be of this generation. */
static void old_copy_returns(void) {
    unsigned i = draw_assigned();
    char command[512];

    damaged = true;
    snprintf(command, sizeof(command), "cp -a %s/%s %s/copy", pools[i], uids[i], pools[i]);
    ck_assert_int_eq(system(command), 0);
    checker_write(&checker, 1 + checker_draw(&checker, 40));
    if (checker_draw(&checker, 2))
        stop();
    else
        kill_daemon();
    if (checker_draw(&checker, 2) && start() >= 0 && connect_checker())
        checker_write(&checker, 10);
    target_close(target);
    kill_daemon();
    snprintf(command, sizeof(command), "rm -r %s/%s && mv %s/copy %s/%s", pools[i], uids[i],
             pools[i], pools[i], uids[i]);
    ck_assert_int_eq(system(command), 0);
    open_target();
}

static void pool_goes(void) {
    move_pool(draw_assigned(), true);
}

static void pool_goes_and_daemon_dies(void) {
    pool_goes();
    kill_daemon();
}

/* Returns stale, as the heal returns all. */
static void pool_goes_for_long(void) {
    pool_goes();
    watch();
    if (try_start() && (checker.fd >= 0 || connect_checker()))
        checker_write(&checker, 30);
    if (checker_draw(&checker, 2))
        kill_daemon();
}

static void ends_in_order(void) {
    checker_wait(&checker);
    stop();
}

/* A process that uses all functions of a target, until it is killed. */
static _Noreturn void work(unsigned which) {
    struct target *mine;

    if (target_open(&settings, &mine, &err) < 0)
        _exit(0);
    for (;; which++) {
        const struct replica replica = { .pool = pools[which % REPLICAS],
                                         .uid = uids[which % REPLICAS] };

        switch (which % 6) {
        case 0:
            (void)target_stop(mine, &err);
            break;
        case 1:
            (void)target_evict(mine, replica.uid, &err);
            break;
        case 2:
            (void)target_rebuild(mine, &replica, NULL, 0, &err);
            break;
        case 3:
            (void)target_watch(mine, &err);
            break;
        case 4:
            for (unsigned i = 0; i < 100; i++) {
                (void)target_scale(mine, assignment, 1 + which % assigned, 0, &err);
                (void)target_watch(mine, &err);
            }
            break;
        default:
            break;
        }
        while (target_start(mine, &err) > 0)
            ;
        for (unsigned i = 0; i < 20; i++)
            (void)target_watch(mine, &err);
    }
}

/* A daemon that is just being started has its owner's lock for a moment longer. */
static void open_patiently(void) {
    for (unsigned tries = 0; target_open(&settings, &target, &err) < 0; tries++) {
        ck_assert_int_eq(err.kind, ERROR_CONFLICT);
        ck_assert_uint_lt(tries, TRIES);
        poll(NULL, 0, 2);
    }
}

static void worker_dies_anywhere(void) {
    unsigned which = checker_draw(&checker, 6), us = checker_draw(&checker, 30000) * 10;
    pid_t worker;

    target_close(target);
    target = NULL;
    worker = fork();
    if (worker == 0)
        work(which);
    for (unsigned waited = 0; waited < us; waited += 5000) {
        checker_send(&checker, 3);
        checker_wait(&checker);
        usleep(us < 5000 ? us : 5000);
        if (checker.fd < 0)
            connect_checker();
    }
    kill(worker, SIGKILL);
    ck_assert_int_eq(waitpid(worker, NULL, 0), worker);
    open_patiently();
}

/* Another number of replicas, of other ones; the owner may not complete the change. */
static void number_changes(void) {
    unsigned steps = checker_draw(&checker, 100);

    make_assignment(checker_draw(&checker, ALL), 1 + checker_draw(&checker, ALL));
    while (steps-- > 0) {
        (void)target_scale(target, assignment, assigned, 0, &err);
        watch();
        if (checker.fd < 0 && status.state == TARGET_SERVING)
            connect_checker();
        checker_send(&checker, 2);
        checker_wait(&checker);
    }
}

/* One of before is deleted; this one is made, or does not exist. */
static void snapshot_is_made(void) {
    static const char name[] = "00000000-0000-4000-8000-0000000000f1";
    unsigned steps = checker_draw(&checker, 100);

    for (unsigned i = 0; i < ALL; i++)
        (void)replica_snapshot_delete(&settings.replicas[i], name, &err);
    (void)target_snapshot(target, name, 0, &err);
    while (steps-- > 0) {
        watch();
        checker_send(&checker, 2);
        checker_wait(&checker);
    }
    if (checker_draw(&checker, 3) == 0)
        kill_daemon();
}

static void number_changes_and_daemon_dies(void) {
    number_changes();
    kill_daemon();
}

static void number_changes_and_owner_dies(void) {
    number_changes();
    owner_dies();
}

static const struct {
    void (*inject_fault)(void);
    bool spoils; /* a permanent loss: only when all are healthy */
} faults[] = {
    { number_changes, false },
    { number_changes_and_daemon_dies, false },
    { daemon_dies, false },
    { owner_dies, false },
    { number_changes_and_owner_dies, false },
    { snapshot_is_made, false },
    { both_die, false },
    { worker_dies_anywhere, false },
    { ends_in_order, false },
    { pool_goes, false },
    { pool_goes_for_long, false },
    { pool_goes_and_daemon_dies, false },
    { file_is_unlinked, true },
    { file_is_cut, true },
    { state_is_lost, true },
    { two_are_damaged, true },
    { old_copy_returns, true },
};

static void inject_fault(void) {
    unsigned drawn = checker_draw(&checker, LENGTH(faults));

    if (getenv("TARGET_LOG"))
        fprintf(stderr, "fault %u is %u\n", fault, drawn);
    if (faults[drawn].spoils || damaged)
        heal_wholly();
    else
        heal();
    checker_write(&checker, 1 + checker_draw(&checker, 40));
    checker_send(&checker, checker_draw(&checker, CHECKER_DEPTH));
    faults[drawn].inject_fault();
    checker_wait(&checker);
    if (checker_draw(&checker, 2))
        watch();
}

START_TEST(no_fault_loses_an_answered_write) {
    unsigned seed = walk_number("FAULT_SEED", 1), count = walk_number("FAULTS", 16);

    checker.seed = seed;
    fprintf(stderr, "FAULT_SEED=%u FAULTS=%u\n", seed, count);
    target_close(target); /* it was made with three; the fourth is there for later */
    settings.count = ALL;
    settings.replicas[REPLICAS] =
        (struct replica){ .pool = pools[REPLICAS], .uid = uids[REPLICAS] };
    make_assignment(0, REPLICAS);
    open_target();
    serve();
    for (fault = 0; fault < count; fault++)
        inject_fault();
    make_assignment(0, REPLICAS);
    heal_wholly();
    stop();
    assert_equal(0, 1);
    assert_equal(0, 2);
    start_clean();
    ck_assert_uint_gt(checker.answered, count);
}
END_TEST

CHECK_MAIN_WITH("target faults", adopt_daemons(), begin, end, no_fault_loses_an_answered_write)
