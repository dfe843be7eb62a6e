/*
 * Generations of a target whose pools fail while they are written, in an order drawn from a seed:
 * whichever of them have taken which one, their replicas can be served afterwards, as no data are
 * lost.
 */
#include "replication/engine/target.private.h"

#include "tests/lib/check_main.h"
#include "tests/lib/reasons.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VOLUME "00000000-0000-4000-8000-00000000f000"
#define SIZE   (INT64_C(1) << 20)
#define SEEDS  500
#define STEPS  24

static const char *const uids[] = { "00000000-0000-4000-8000-00000000000a",
                                    "00000000-0000-4000-8000-00000000000b",
                                    "00000000-0000-4000-8000-00000000000c",
                                    "00000000-0000-4000-8000-00000000000d",
                                    "00000000-0000-4000-8000-00000000000e" };

enum { COUNT = 5, NEVER = 1000 };

/* A pool takes so many states, then it fails; the first that it refuses may be there afterwards. */
static struct {
    struct replica_state state;
    unsigned takes;
    bool keeps_refused;
} disks[COUNT];

static struct target *target;
static struct error err;
static unsigned seed, first_seed, step;
static char run[64];
static bool serves;

static unsigned draw(unsigned most) {
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % most;
}

static int call(void *arg, struct replica_request *request, struct error *why) {
    unsigned i = 0;

    (void)arg;
    while (strcmp(uids[i], request->replica->uid) != 0)
        i++;
    if (request->kind == ACCESS_PROBE) {
        *request->probe = (struct replica_probe){ .health = REPLICA_GOOD,
                                                  .held = true,
                                                  .bytes = SIZE,
                                                  .has_state = true,
                                                  .state = disks[i].state };
        return 0;
    }
    ck_assert_int_eq(request->kind, ACCESS_WRITE_STATE);
    if (disks[i].takes > 0 || disks[i].keeps_refused)
        disks[i].state = *request->state;
    disks[i].keeps_refused &= disks[i].takes > 0;
    if (disks[i].takes == 0)
        return error_set(why, ERROR_BACKEND, "the pool fails");
    disks[i].takes--;
    return 0;
}

static const struct replica_access access_of_all = { .call = call };

static void begin(void) {
    begin_log("TARGET_LOG");
    strcpy(run, "/tmp/test-state-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(run));
}

static void end(void) {
    char command[96];

    snprintf(command, sizeof(command), "rm -r %s", run);
    ck_assert_int_eq(system(command), 0);
    assert_reasons();
}

static void open_target(unsigned count) {
    struct target_settings settings = { .run = run,
                                        .volume = VOLUME,
                                        .size_bytes = SIZE,
                                        .maximum_bytes = SIZE,
                                        .local = &access_of_all,
                                        .count = COUNT };

    for (unsigned i = 0; i < COUNT; i++) {
        settings.replicas[i] = (struct replica){ .pool = "/pool", .uid = uids[i] };
        disks[i].state = (struct replica_state){ .mark = REPLICA_EMPTY };
        disks[i].takes = NEVER;
        strcpy(disks[i].state.volume, VOLUME);
        strcpy(disks[i].state.replica, uids[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        disks[i].state.mark = REPLICA_CLEAN;
        generation_first(VOLUME, SIZE, uids, count, &disks[i].state.generation);
    }
    ck_assert_int_eq(target_open(&settings, &target, &err), 0);
    serves = false;
}

static void draw_faults(void) {
    for (unsigned i = 0; i < COUNT; i++) {
        disks[i].takes = draw(2) ? NEVER : draw(4);
        disks[i].keeps_refused = draw(3) == 0;
    }
}

/* All pools are present, and none is damaged. */
static void plan(struct quorum_plan *ret) {
    target_plan(target, ret);
    ck_assert_msg(ret->verdict == QUORUM_SERVES || ret->verdict == QUORUM_RESYNC,
                  "seed %u, step %u: verdict %d, %u of %u", first_seed, step, ret->verdict,
                  ret->voters, ret->needed);
}

static void start(void) {
    struct quorum_plan found;

    TARGET_FOREACH(member, target)
    member_next(member, MEMBER_OPENED);
    plan(&found);
    target->current = found.current;
    for (unsigned i = 0; i < COUNT; i++) {
        if (found.votes[i])
            member_next(&target->members[i], MEMBER_CHOSEN);
    }
    serves = generation_change(target, (struct change){ 0 }, &err) == 0;
}

/* As target_evict(). */
static void evict(const struct member *member) {
    const char *uid = member->replica.uid;

    if (member_votes(member) &&
        (quorum_spares(&target->current, uid) || !generation_has(&target->current, uid)))
        (void)generation_change(target, (struct change){ .without = uid }, &err);
}

static void empty(const struct member *member) {
    struct replica_state *state = &disks[member - target->members].state;

    state->mark = REPLICA_EMPTY;
    state->generation = (struct generation){ 0 };
}

/* Another voter, which is replaced; NULL: one more joins. */
static const char *draw_replaced(void) {
    const struct member *member = &target->members[draw(COUNT)];
    const char *uid = member->replica.uid;

    return member_votes(member) && quorum_spares(&target->current, uid) ? uid : NULL;
}

/* It may miss a write while it joins, and is copied again (target_rebuild.c). */
static void rebuild(struct member *member) {
    const char *uid = member->replica.uid, *replaced = draw_replaced();

    if (member_votes(member) || target->current.count == COUNT ||
        generation_leave(target, uid, &err) < 0)
        return;
    member_next(member, MEMBER_REBUILDS);
    empty(member);
    if (generation_change(target, (struct change){ .with = uid, .without = replaced }, &err) < 0 ||
        !member_votes(member))
        member_next(member, MEMBER_EVICTED);
    else if (draw(2)) {
        member_next(member, MEMBER_EVICTED);
        if (generation_leave(target, uid, &err) == 0)
            empty(member);
    }
}

static void take_step(void) {
    struct member *member = &target->members[draw(COUNT)];
    struct quorum_plan found;

    draw_faults();
    if (!serves || draw(6) == 0)
        start();
    else if (member_votes(member))
        evict(member);
    else
        rebuild(member);
    plan(&found);
}

static void walk(unsigned count) {
    for (first_seed = 0; first_seed < SEEDS; first_seed++) {
        seed = first_seed;
        open_target(count);
        for (step = 0; step < STEPS; step++)
            take_step();
        target_close(target);
    }
}

START_TEST(failing_pools_leave_enough_replicas) {
    walk(COUNT);
}
END_TEST

START_TEST(failing_pools_leave_enough_replicas_while_there_are_more) {
    walk(1);
    walk(3);
}
END_TEST

CHECK_MAIN_WITH("target state", true, begin, end, failing_pools_leave_enough_replicas,
                failing_pools_leave_enough_replicas_while_there_are_more)
