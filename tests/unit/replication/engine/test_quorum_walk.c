/*
 * A volume in a world with faults: replicas come and go, miss writes, their states are written one
 * by one and the writer may die between any two. A write is a number that replaces the one before;
 * it is answered if as many replicas have it as are needed. Served content is never older than the
 * last answered, or served, write.
 */
#include "replication/engine/quorum.h"

#include "tests/lib/check_main.h"

#include <string.h>

#define VOLUME "00000000-0000-4000-8000-00000000f000"

static const char *const uids[] = {
    "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b",
    "00000000-0000-4000-8000-00000000000c", "00000000-0000-4000-8000-00000000000d",
    "00000000-0000-4000-8000-00000000000e", "00000000-0000-4000-8000-00000000000f",
    "00000000-0000-4000-8000-000000000010",
};

enum { COUNT = 7 };

struct copy {
    struct replica_state state;
    unsigned last; /* the write that it has */
    bool away, serves, missed;
};

struct world {
    struct copy copies[COUNT];
    struct generation current;
    unsigned wanted, version, answered, served, refused;
};

static unsigned seed;

static unsigned draw(unsigned most) {
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % most;
}

/* The content that a quorum reads; false: none has as many votes as are needed. */
static bool is_read(struct world *world, const struct quorum_plan *plan) {
    unsigned most = 0, winner = 0;

    for (unsigned i = 0; i < world->wanted; i++) {
        unsigned votes = 0;

        for (unsigned j = 0; plan->votes[i] && j < world->wanted; j++)
            votes += plan->votes[j] && world->copies[j].last == world->copies[i].last;
        if (votes > most) {
            most = votes;
            winner = world->copies[i].last;
        }
    }
    ck_assert_msg(plan->verdict == QUORUM_RESYNC || most == plan->voters, "not equal");
    if (most < plan->needed)
        return false;
    ck_assert_msg(winner >= world->answered, "seed %u: %u is served, and %u was answered", seed,
                  winner, world->answered);
    world->answered = winner;
    return true;
}

/* Repairs outvoted replicas. */
static void resynchronize(struct world *world, const struct quorum_plan *plan) {
    for (unsigned i = 0; i < world->wanted; i++) {
        if (plan->votes[i])
            world->copies[i].last = world->answered;
    }
}

static void mark(struct world *world, enum replica_mark mark) {
    for (unsigned i = 0; i < world->wanted; i++) {
        if (generation_has(&world->current, world->copies[i].state.replica))
            world->copies[i].state.mark = mark;
    }
}

/* A generation of the serving members; false: they would be too few, or the writer died meanwhile.
 */
static bool go_on(struct world *world, enum replica_mark mark) {
    struct generation next;
    unsigned die = draw(world->wanted * 6);

    generation_next(&world->current, &clock_system, &next);
    for (unsigned i = 0; i < world->wanted; i++) {
        if (world->copies[i].serves)
            generation_add(&next, world->copies[i].state.replica);
    }
    if (next.count < generation_needed(&next))
        return false;
    for (unsigned i = 0; i < world->wanted; i++) {
        if (world->copies[i].serves && die-- == 0)
            return false;
        if (world->copies[i].serves) {
            world->copies[i].state.generation = next;
            world->copies[i].state.mark = mark;
        }
    }
    world->current = next;
    return true;
}

static void write_once(struct world *world) {
    unsigned having = 0;

    world->version++;
    for (unsigned i = 0; i < world->wanted; i++) {
        struct copy *copy = &world->copies[i];

        if (!copy->serves)
            continue;
        if (draw(4) == 0) {
            copy->missed = true;
        } else {
            copy->last = world->version;
            having++;
        }
    }
    if (having >= generation_needed(&world->current))
        world->answered = world->version;
}

/* Evicts one that missed a write; false: the writer died. */
static bool evict(struct world *world) {
    struct copy *bad = NULL;

    for (unsigned i = 0; i < world->wanted; i++) {
        struct copy *copy = &world->copies[i];

        if (!copy->serves || !copy->missed)
            continue;
        bad = bad ? bad : copy;
    }
    if (!bad)
        return true;
    if (!quorum_spares(&world->current, bad->state.replica))
        return true;
    bad->serves = bad->missed = false;
    return go_on(world, REPLICA_DIRTY);
}

/* From a start to a stop, clean or not. */
static void serve(struct world *world, const struct quorum_plan *plan, bool equal) {
    world->current = plan->current;
    for (unsigned i = 0; i < world->wanted; i++) {
        world->copies[i].serves = plan->votes[i];
        world->copies[i].missed = false;
    }
    if (!go_on(world, REPLICA_DIRTY))
        return;
    for (unsigned steps = draw(6); steps > 0; steps--) {
        write_once(world);
        if (draw(2) && !evict(world))
            return;
    }
    for (unsigned i = 0; i < world->wanted; i++) {
        if (world->copies[i].serves && world->copies[i].missed)
            return;
    }
    if (equal && draw(2))
        mark(world, REPLICA_CLEAN);
}

/* Stale ones are rebuilt before they vote. */
static void rebuild(struct world *world, const struct quorum_plan *plan) {
    world->current = plan->current;
    for (unsigned i = 0; i < world->wanted; i++) {
        struct copy *copy = &world->copies[i];

        copy->serves = !copy->away;
        if (copy->serves)
            copy->last = world->answered;
    }
    (void)go_on(world, REPLICA_DIRTY);
}

static void step_world(struct world *world) {
    const struct replica_state *states[COUNT];
    struct quorum_plan plan;
    bool readable, equal;

    for (unsigned i = 0; i < world->wanted; i++) {
        world->copies[i].away = draw(5) == 0;
        states[i] = world->copies[i].away ? NULL : &world->copies[i].state;
    }
    quorum_plan(VOLUME, states, world->wanted, 0, &plan);
    if (plan.verdict != QUORUM_SERVES && plan.verdict != QUORUM_RESYNC)
        return;
    readable = is_read(world, &plan);
    if (readable) {
        world->served++;
    } else { /* no content is chosen, and none can be copied */
        ck_assert_int_eq(plan.verdict, QUORUM_RESYNC);
        world->refused++;
    }
    if (readable && draw(3) == 0) {
        rebuild(world, &plan);
        return;
    }
    equal = plan.verdict == QUORUM_SERVES || (readable && draw(2));
    if (readable && equal)
        resynchronize(world, &plan);
    serve(world, &plan, equal);
}

static void run_world(unsigned wanted) {
    struct world world = { .wanted = wanted };
    struct generation first;

    generation_first(VOLUME, 0, uids, wanted, &first);
    for (unsigned i = 0; i < wanted; i++) {
        world.copies[i].state =
            (struct replica_state){ .mark = REPLICA_CLEAN, .generation = first };
        strcpy(world.copies[i].state.volume, VOLUME);
        strcpy(world.copies[i].state.replica, uids[i]);
    }
    for (unsigned step = 0; step < 200; step++)
        step_world(&world);
    ck_assert_uint_gt(world.served, 0);
}

START_TEST(no_answered_write_is_ever_outvoted) {
    for (unsigned run = 0; run < 400; run++) {
        seed = run;
        run_world(3 + run % 3 * 2);
    }
}
END_TEST

CHECK_MAIN("quorum walk", no_answered_write_is_ever_outvoted)
