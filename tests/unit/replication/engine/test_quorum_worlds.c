/*
 * All possible fates of a few replicas while writers change the members and the wanted number, and
 * die between any two writes of a state: each world is made from the ones before, once, and a
 * volume served in it has each answered write.
 */
#include "replication/engine/quorum.h"

#include "tests/lib/check_main.h"

#include <string.h>

#define VOLUME "00000000-0000-4000-8000-00000000f000"

enum { FEW = 4, WORLDS = 1 << 16, SLOTS = 1 << 18, NO_REPLICA = FEW };

static const char *const uids[FEW] = {
    "00000000-0000-4000-8000-00000000000a",
    "00000000-0000-4000-8000-00000000000b",
    "00000000-0000-4000-8000-00000000000c",
    "00000000-0000-4000-8000-00000000000d",
};

/* The state of one replica (number 0: it is empty), and has it the last answered write? */
struct place {
    uint8_t number, nonce, base, base_nonce, wanted, members, clean, has;
};

struct world {
    struct place at[FEW];
};

static struct world worlds[WORLDS];
static uint32_t slots[SLOTS];
static unsigned known, served;

/* ---- visited worlds ---- */

/* The same world, whatever happened before: numbers count from the least one. */
static void simplify(struct world *world) {
    uint8_t least = UINT8_MAX;

    for (unsigned i = 0; i < FEW; i++) {
        if (world->at[i].number == 0)
            memset(&world->at[i], 0, sizeof(world->at[i]));
        else if (world->at[i].number < least)
            least = world->at[i].number;
    }
    for (unsigned i = 0; i < FEW; i++) {
        struct place *place = &world->at[i];

        if (place->number == 0)
            continue;
        if (place->base < least)
            place->base = place->base_nonce = 0;
        else
            place->base = (uint8_t)(place->base - least + 1);
        place->number = (uint8_t)(place->number - least + 1);
    }
}

static void remember(struct world world) {
    const unsigned char *bytes = (const unsigned char *)&world;
    uint32_t hash = 2166136261U;

    simplify(&world);
    for (size_t i = 0; i < sizeof(world); i++)
        hash = (hash ^ bytes[i]) * 16777619U;
    for (hash %= SLOTS; slots[hash]; hash = (hash + 1) % SLOTS) {
        if (memcmp(&worlds[slots[hash] - 1], &world, sizeof(world)) == 0)
            return;
    }
    if (known == WORLDS)
        return;
    worlds[known++] = world;
    slots[hash] = known;
}

/* ---- steps of a writer ---- */

static void make_id(uint8_t number, uint8_t nonce, struct generation_id *ret) {
    *ret = (struct generation_id){ .number = number };
    ret->nonce[0] = (char)('A' + nonce);
}

static void make_state(const struct world *world, unsigned i, struct replica_state *ret) {
    const struct place *place = &world->at[i];

    *ret = (struct replica_state){ .mark = place->number == 0 ? REPLICA_EMPTY
                                           : place->clean     ? REPLICA_CLEAN
                                                              : REPLICA_DIRTY };
    strcpy(ret->volume, VOLUME);
    strcpy(ret->replica, uids[i]);
    make_id(place->number, place->nonce, &ret->generation.id);
    make_id(place->base, place->base_nonce, &ret->generation.base);
    ret->generation.wanted = place->wanted;
    for (unsigned j = 0; j < FEW; j++) {
        if (place->members & 1U << j)
            generation_add(&ret->generation, uids[j]);
    }
}

static bool is_known(const struct world *world, uint8_t number, uint8_t nonce) {
    for (unsigned i = 0; i < FEW; i++) {
        const struct place *place = &world->at[i];

        if ((place->number == number && place->nonce == nonce) ||
            (place->base == number && place->base_nonce == nonce))
            return true;
    }
    return false;
}

struct step {
    unsigned without, with, wanted; /* as in generation_change() */
    unsigned fails;                 /* does not take its state, */
    bool lies;                      /* or has it and reports a failure */
    unsigned dies;                  /* after so many writes */
};

enum outcome { DIED, REFUSED, DONE };

static void make_next(const struct world *world, const struct generation *before,
                      const struct place *current, const bool *votes, const struct step *step,
                      struct place *ret) {
    unsigned count = 0;

    *ret = (struct place){ .number = (uint8_t)(current->number + 1),
                           .base = current->number,
                           .base_nonce = current->nonce,
                           .wanted = (uint8_t)(step->wanted ? step->wanted : before->wanted) };
    while (is_known(world, ret->number, ret->nonce))
        ret->nonce++;
    for (unsigned i = 0; i < FEW; i++) {
        if (votes[i] && i != step->without) {
            ret->members |= (uint8_t)(1U << i);
            count++;
        }
    }
    if (ret->wanted < count)
        ret->wanted = (uint8_t)count;
}

static void as_generation(const struct place *place, struct generation *ret) {
    const struct world world = { .at[0] = *place };
    struct replica_state state;

    make_state(&world, 0, &state);
    *ret = state.generation;
}

/* 0, or how many failed; -1 died. */
static int write_next(struct world *world, const struct place *next, bool *votes,
                      const struct step *step, unsigned *left) {
    int failed = 0;

    for (unsigned turn = 0; turn <= FEW; turn++) {
        unsigned i = turn == FEW ? step->with : turn;
        bool has;

        if (i == FEW || (i == step->with && (turn < FEW || failed > 0)) ||
            !(next->members & 1U << i))
            continue;
        has = world->at[i].has || i == step->with;
        if (i != step->fails && (*left)-- == 0)
            return -1;
        if (i != step->fails || step->lies) {
            world->at[i] = *next;
            world->at[i].has = has;
        }
        if (i == step->fails) {
            votes[i] = false;
            failed++;
        }
    }
    return failed;
}

/* First the counting generation is written to its voters without it. */
static int roll(struct world *world, const struct place *current, bool *votes,
                const struct step *step, unsigned *left) {
    for (unsigned i = 0; i < FEW; i++) {
        struct place *at = &world->at[i];
        uint8_t has = at->has;

        if (!votes[i] || (at->number == current->number && at->nonce == current->nonce))
            continue;
        if (i == step->fails) {
            votes[i] = false;
            return 1;
        }
        if ((*left)-- == 0)
            return -1;
        *at = *current;
        at->has = has;
    }
    return 0;
}

static enum outcome change(struct world *world, const struct quorum_plan *plan,
                           const struct place *current, const struct step *step,
                           struct place *ret) {
    const struct generation before = plan->current;
    unsigned left = step->dies;
    bool votes[MEMBERS_MOST];
    struct place next = *current;
    int failed;

    memcpy(votes, plan->votes, sizeof(votes));
    failed = roll(world, current, votes, step, &left);
    if (failed < 0 || (failed > 0 && (step->wanted > 0 || step->with < FEW)))
        return failed < 0 ? DIED : REFUSED;
    if (step->with < FEW) {
        world->at[step->with] = (struct place){ 0 };
        votes[step->with] = true;
    }
    do {
        struct generation tried, made;
        struct place last = next;

        make_next(world, &before, &last, votes, step, &next);
        as_generation(&last, &tried);
        as_generation(&next, &made);
        if (!generation_follows(&before, &made) || !generation_follows(&tried, &made))
            return REFUSED;
        failed = write_next(world, &next, votes, step, &left);
    } while (failed > 0);
    *ret = next;
    return failed < 0 ? DIED : DONE;
}

/* No write comes, or a write is answered, by all members or by all that are needed; then the writer
 * dies, or stops and marks some clean, if they are known to be equal. */
static void write_and_end(const struct world *before, const struct place *current, bool equal) {
    struct generation generation;

    remember(*before);
    as_generation(current, &generation);
    for (unsigned missing = 0; missing <= FEW; missing++) {
        struct world world = *before;
        bool misses = missing < FEW;

        if (misses && (!(current->members & 1U << missing) ||
                       generation.count <= generation_needed(&generation)))
            continue;
        for (unsigned i = 0; i < FEW; i++)
            world.at[i].has = i != missing && (current->members & 1U << i);
        remember(world);
        for (unsigned i = 0; i < FEW && !misses && equal; i++) {
            if (!(current->members & 1U << i))
                continue;
            world.at[i].clean = 1;
            remember(world);
        }
    }
}

static void try_step(const struct world *before, const struct quorum_plan *plan,
                     const struct place *current, struct step step, bool equal) {
    enum outcome outcome = DIED;

    for (step.dies = 0; outcome == DIED; step.dies++) {
        struct world world = *before;
        struct place next;

        outcome = change(&world, plan, current, &step, &next);
        if (outcome == DONE)
            write_and_end(&world, &next, equal);
        else
            remember(world);
    }
}

static void try_faults(const struct world *world, const struct quorum_plan *plan,
                       const struct place *current, struct step step, bool equal) {
    for (step.fails = 0; step.fails <= FEW; step.fails++) {
        step.lies = false;
        try_step(world, plan, current, step, equal);
        step.lies = true;
        if (step.fails < FEW)
            try_step(world, plan, current, step, equal);
    }
}

/* As before, with one more, without one, with fewer wanted. Of voters that may lack a write no
 * fewer are wanted, and unreadable content is not copied. */
static void try_changes(const struct world *world, const struct quorum_plan *plan,
                        const struct place *current, bool equal, bool readable) {
    const unsigned count = plan->voters;

    try_faults(world, plan, current, (struct step){ NO_REPLICA, NO_REPLICA, 0, 0, 0, 0 }, equal);
    if (equal)
        try_faults(world, plan, current, (struct step){ NO_REPLICA, NO_REPLICA, count, 0, 0, 0 },
                   equal);
    for (unsigned i = 0; i < FEW; i++) {
        if (!plan->votes[i]) {
            if (readable)
                try_faults(world, plan, current, (struct step){ NO_REPLICA, i, 0, 0, 0, 0 }, equal);
            continue;
        }
        try_faults(world, plan, current, (struct step){ i, NO_REPLICA, 0, 0, 0, 0 }, equal);
        if (count > 1 && equal)
            try_faults(world, plan, current, (struct step){ i, NO_REPLICA, count - 1, 0, 0, 0 },
                       equal);
        for (unsigned j = 0; j < FEW && readable; j++) {
            if (!plan->votes[j])
                try_faults(world, plan, current, (struct step){ i, j, 0, 0, 0, 0 }, equal);
        }
    }
}

/* ---- reads ---- */

static const char *describe(const struct world *world, const struct quorum_plan *plan) {
    static char text[400];
    size_t length = 0;

    for (unsigned i = 0; i < FEW; i++) {
        const struct place *at = &world->at[i];

        length += (size_t)snprintf(text + length, sizeof(text) - length,
                                   " %c%s: %u%c from %u%c, {%x} of %u%s%s;", 'a' + i,
                                   plan->votes[i] ? " votes" : "", at->number, 'A' + at->nonce,
                                   at->base, 'A' + at->base_nonce, at->members, at->wanted,
                                   at->clean ? ", clean" : "", at->has ? "" : ", stale");
    }
    return text;
}

/* Can it be served; and content without the last answered write is never read. */
static bool evaluate(const struct world *world, const struct quorum_plan *plan,
                     bool *ret_readable) {
    unsigned have = 0, stale = 0;

    if (plan->verdict != QUORUM_SERVES && plan->verdict != QUORUM_RESYNC)
        return false;
    for (unsigned i = 0; i < FEW; i++) {
        have += plan->votes[i] && world->at[i].has;
        stale += plan->votes[i] && !world->at[i].has;
    }
    ck_assert_msg(plan->verdict == QUORUM_SERVES ? stale == 0 : stale < plan->needed,
                  "%u have an answered write and %u have not, and %u are needed:%s", have, stale,
                  plan->needed, describe(world, plan));
    *ret_readable = have >= plan->needed;
    return true;
}

static void find_current(const struct world *world, const struct quorum_plan *plan,
                         struct place *ret) {
    for (unsigned i = 0; i < FEW; i++) {
        struct replica_state state;

        make_state(world, i, &state);
        if (generation_same(&state.generation.id, &plan->current.id))
            *ret = world->at[i];
    }
    ret->clean = ret->has = 0;
}

static void go_on(const struct world *world, unsigned reached) {
    struct replica_state made[FEW];
    const struct replica_state *states[FEW] = { NULL };
    struct world level = *world;
    struct quorum_plan plan;
    bool readable = false;
    struct place current = { 0 };

    for (unsigned i = 0; i < FEW; i++) {
        make_state(world, i, &made[i]);
        if (reached & 1U << i)
            states[i] = &made[i];
    }
    quorum_plan(VOLUME, states, FEW, 0, &plan);
    if (!evaluate(world, &plan, &readable))
        return;
    served++;
    find_current(world, &plan, &current);
    if (plan.verdict == QUORUM_RESYNC && plan.voters > 1)
        try_changes(world, &plan, &current, false, readable);
    if (!readable)
        return;
    for (unsigned i = 0; i < FEW; i++)
        level.at[i].has |= plan.votes[i];
    try_changes(&level, &plan, &current, true, true);
}

START_TEST(a_served_volume_has_each_answered_write) {
    unsigned most = walk_number("WORLDS", 9000 / WALK_STEP);

    known = served = 0;
    memset(slots, 0, sizeof(slots));
    for (unsigned count = 1; count <= FEW; count++) {
        struct world first = { 0 };

        for (unsigned i = 0; i < count; i++)
            first.at[i] =
                (struct place){ 1, 1, 0, 0, (uint8_t)count, (uint8_t)((1U << count) - 1), 1, 1 };
        remember(first);
    }
    for (unsigned i = 0; i < known && i < most; i++) {
        for (unsigned reached = 1; reached < 1U << FEW; reached++)
            go_on(&worlds[i], reached);
    }
    fprintf(stderr, "%u worlds, %u served\n", known, served);
    ck_assert_uint_gt(known, most);
}
END_TEST

CHECK_MAIN("quorum worlds", a_served_volume_has_each_answered_write)
