/*
 * All possible fates of a few replicas while writers change the members and the wanted number, and
 * die between any two writes of a state: each world is made from the ones before, once, and a
 * volume served in it has each answered write.
 */
#include "replication/engine/quorum.h"

#include "tests/lib/check_main.h"

#include <limits.h>
#include <string.h>

#define VOLUME "00000000-0000-4000-8000-00000000f000"

enum { FEW = 4, WORLDS = 1 << 16, SLOTS = 1 << 18, NO_REPLICA = FEW };

#define DEAD UINT_MAX

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

/* A target that serves, or starts. */
struct life {
    bool votes[MEMBERS_MOST];
    struct place current;
    unsigned quorum, threshold; /* of the daemon, in bits; 0 threshold: no client is admitted */
    bool equal;                 /* the voters are known to be so */
    bool alone;                 /* all other replicas are reached and known */
};

static void as_generation(const struct place *place, struct generation *ret) {
    const struct world world = { .at[0] = *place };
    struct replica_state state;

    make_state(&world, 0, &state);
    *ret = state.generation;
}

static unsigned needed_of(const struct place *place) {
    struct generation generation;

    as_generation(place, &generation);
    return generation_needed(&generation);
}

static bool has_it(const struct place *at, const struct place *generation) {
    return at->number == generation->number && at->nonce == generation->nonce;
}

static unsigned count_old(const struct place *before, const struct place *next) {
    return (unsigned)__builtin_popcount(before->members & next->members);
}

/* As in target_state.c. */
static bool may_follow(const struct place *before, const struct place *tried,
                       const struct place *next) {
    const unsigned old = count_old(before, next);
    struct generation first, last, made;

    as_generation(before, &first);
    as_generation(tried, &last);
    as_generation(next, &made);
    return generation_follows(&first, &made) && generation_follows(&last, &made) &&
           (old == made.count || (old >= generation_needed(&first) &&
                                  (has_it(tried, before) || old >= generation_needed(&made))));
}

static void make_next(const struct world *world, const struct place *before,
                      const struct place *tried, const bool *votes, const struct step *step,
                      struct place *ret) {
    unsigned count = 0;

    *ret = (struct place){ .number = (uint8_t)(tried->number + 1),
                           .base = tried->number,
                           .base_nonce = tried->nonce,
                           .wanted = (uint8_t)(step->wanted ? step->wanted : before->wanted) };
    while (is_known(world, ret->number, ret->nonce))
        ret->nonce++;
    for (unsigned i = 0; i < FEW; i++) {
        if (votes[i] && i != step->without) {
            ret->members |= (uint8_t)(1U << i);
            count++;
        }
    }
    if (!has_it(tried, before) && step->with < FEW && votes[step->with] &&
        ret->wanted < tried->wanted)
        ret->wanted = tried->wanted;
    if (ret->wanted < count)
        ret->wanted = (uint8_t)count;
}

/* 0, or how many failed; -1 died. */
static int write_to(struct world *world, unsigned which, const struct place *next, bool *votes,
                    const struct step *step, unsigned *left) {
    int failed = 0;

    for (unsigned i = 0; i < FEW; i++) {
        const uint8_t has = world->at[i].has || i == step->with;

        if (!(which & 1U << i))
            continue;
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

static int write_next(struct world *world, const struct place *before, const struct place *next,
                      bool *votes, const struct step *step, unsigned *left) {
    const unsigned old = next->members & before->members, new = next->members & ~old;
    const bool enough = count_old(before, next) >= needed_of(next);
    int failed;

    failed = write_to(world, enough ? old : new, next, votes, step, left);
    return failed != 0 ? failed : write_to(world, enough ? new : old, next, votes, step, left);
}

/* As in target_state.c. */
static bool joins_beside_failing(struct world *world, const struct place *before, struct life *life,
                                 bool *votes, const struct step *step, unsigned *left) {
    struct place *tried = &life->current;
    unsigned taken = 0;
    int failed;

    if (step->with == NO_REPLICA || !(tried->members & 1U << step->with) ||
        tried->base != before->number || tried->base_nonce != before->nonce)
        return false;
    for (unsigned i = 0; i < FEW; i++)
        taken += votes[i] && i != step->with && tried->members & 1U << i;
    if (taken == 0 || taken + 1 < needed_of(tried) ||
        (unsigned)__builtin_popcount(before->members) - taken >= needed_of(before))
        return false;
    failed = write_to(world, 1U << step->with, tried, votes, step, left);
    if (failed < 0)
        *left = DEAD;
    life->equal = false;
    return failed == 0;
}

/* As generation_change(): the next generation, or the last one that was tried, is the current one
 * afterwards. */
static enum outcome change(struct world *world, struct life *life, const struct step *step) {
    const struct place before = life->current;
    bool votes[MEMBERS_MOST] = { false };
    unsigned left = step->dies, behind = 0;
    int failed;

    for (unsigned i = 0; i < FEW; i++) {
        votes[i] = life->votes[i];
        behind |= votes[i] && !has_it(&world->at[i], &before) ? 1U << i : 0;
    }
    failed = write_to(world, behind, &before, votes, step, &left);
    if (failed < 0 || (failed > 0 && (step->wanted > 0 || step->with < FEW)))
        return failed < 0 ? DIED : REFUSED;
    if (step->with < FEW)
        votes[step->with] = true;
    do {
        const struct place tried = life->current;
        struct place next;

        make_next(world, &before, &tried, votes, step, &next);
        if (!may_follow(&before, &tried, &next)) {
            if (joins_beside_failing(world, &before, life, votes, step, &left))
                break;
            return left == DEAD ? DIED : REFUSED;
        }
        life->current = next;
        failed = write_next(world, &before, &next, votes, step, &left);
    } while (failed > 0);
    if (failed < 0)
        return DIED;
    for (unsigned i = 0; i < FEW; i++)
        life->votes[i] = life->current.members & 1U << i;
    return DONE;
}

/* ---- writes of clients ---- */

static void plan_with(const struct world *world, unsigned reached, struct quorum_plan *ret) {
    struct replica_state made[FEW];
    const struct replica_state *states[FEW] = { NULL };

    for (unsigned i = 0; i < FEW; i++) {
        make_state(world, i, &made[i]);
        if (reached & 1U << i)
            states[i] = &made[i];
    }
    quorum_plan(VOLUME, states, FEW, 0, ret);
}

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

/* No write comes, or one is answered, by as many of the daemon's replicas as are needed. If one
 * replica alone fails, and all are there again, it can be read. */
static void write_some(const struct world *before, const struct life *life,
                       const struct step *step) {
    const unsigned failing = step->fails < FEW ? 1U << step->fails : 0;

    remember(*before);
    for (unsigned answers = 1; answers < 1U << FEW && life->threshold > 0; answers++) {
        struct world world = *before;
        struct quorum_plan plan;
        bool readable = false;

        if ((answers & life->quorum) != answers ||
            (unsigned)__builtin_popcount(answers) < life->threshold)
            continue;
        for (unsigned i = 0; i < FEW; i++)
            world.at[i].has = answers >> i & 1;
        remember(world);
        if (!life->alone || (life->quorum & ~answers & ~failing))
            continue;
        plan_with(&world, (1U << FEW) - 1, &plan);
        ck_assert_msg(evaluate(&world, &plan, &readable) && readable,
                      "%c fails, and an answered write cannot be read:%s",
                      step->fails < FEW ? 'a' + step->fails : '-', describe(&world, &plan));
    }
}

/* The writer stops and marks some clean, if they are known to be equal. */
static void stop(const struct world *before, const struct life *life) {
    struct world world = *before;

    for (unsigned i = 0; i < FEW && life->equal; i++)
        world.at[i].has = life->votes[i];
    for (unsigned i = 0; i < FEW && life->equal; i++) {
        if (!life->votes[i])
            continue;
        world.at[i].clean = 1;
        remember(world);
    }
}

/* Of a target that is not serving yet, or has to restart for another threshold, no client is
 * admitted. */
static bool exclude(struct life *life, const struct step *step, unsigned needed) {
    const unsigned leaving = step->without < FEW ? 1U << step->without : 0;

    if (life->threshold == 0)
        return true;
    if (needed > life->threshold)
        life->threshold = 0;
    else if (needed == life->threshold)
        life->quorum &= ~leaving;
    return (unsigned)__builtin_popcount(life->quorum) >= life->threshold;
}

static unsigned needed_next(const struct life *life, const struct step *step) {
    const unsigned members = (unsigned)__builtin_popcount(life->current.members),
                   count = members + (step->with < FEW) - (step->without < FEW);
    struct generation next = { .wanted = step->wanted ? step->wanted : life->current.wanted };

    if (next.wanted < count)
        next.wanted = count;
    return generation_needed(&next);
}

/* Each owner dies when the daemon writes to one replica less, before a state is written: the next
 * one adopts the daemon, or ends it if a replica that votes is none of its own, as in
 * target_watch.c. Another one had missed a write that was answered before. */
static void adopt(const struct world *before, const struct life *at_first, unsigned quorum) {
    for (unsigned missed = 0; missed < FEW && at_first->alone; missed++) {
        const unsigned answers = at_first->quorum & ~(1U << missed);
        struct world world = *before;
        struct life life = *at_first;
        struct quorum_plan plan;
        bool ends = false, readable = false;

        if (answers == at_first->quorum ||
            (unsigned)__builtin_popcount(answers) < at_first->threshold)
            continue;
        for (unsigned i = 0; i < FEW; i++)
            world.at[i].has = answers >> i & 1;
        plan_with(&world, (1U << FEW) - 1, &plan);
        for (unsigned i = 0; i < FEW; i++) {
            life.votes[i] = plan.votes[i] && quorum >> i & 1;
            ends |= plan.votes[i] && !life.votes[i];
        }
        if (!ends)
            (void)change(&world, &life,
                         &(struct step){ NO_REPLICA, NO_REPLICA, 0, NO_REPLICA, false, DEAD });
        plan_with(&world, (1U << FEW) - 1, &plan);
        ck_assert_msg(evaluate(&world, &plan, &readable) && readable,
                      "%c missed an answered write that is lost by an adoption:%s", 'a' + missed,
                      describe(&world, &plan));
        remember(world);
    }
}

static void try_step(const struct world *before, const struct life *at_first, struct step step) {
    const unsigned needed = needed_next(at_first, &step);
    enum outcome outcome = DIED;

    for (step.dies = 0; outcome == DIED; step.dies++) {
        struct world world = *before;
        struct life life = *at_first;

        if (!exclude(&life, &step, needed))
            return;
        if (step.dies == 0 && life.threshold > 0 && life.quorum != at_first->quorum)
            adopt(before, at_first, life.quorum);
        if (step.with < FEW)
            world.at[step.with] = (struct place){ 0 };
        outcome = change(&world, &life, &step);
        write_some(&world, &life, &step);
        if (outcome == DONE) {
            life.quorum = life.current.members;
            life.threshold = needed_of(&life.current);
            write_some(&world, &life, &step);
            stop(&world, &life);
        }
    }
}

static void try_faults(const struct world *world, const struct life *life, struct step step) {
    for (step.fails = 0; step.fails <= FEW; step.fails++) {
        step.lies = false;
        try_step(world, life, step);
        step.lies = true;
        if (step.fails < FEW)
            try_step(world, life, step);
    }
}

/* As before, with one more, without one, with fewer wanted. Of voters that may lack a write no
 * fewer are wanted, and unreadable content is not copied. A replica joins when the generation is
 * without it. */
static void try_changes(const struct world *world, const struct life *life, bool readable) {
    unsigned count = 0;

    for (unsigned i = 0; i < FEW; i++)
        count += life->votes[i];
    try_faults(world, life, (struct step){ NO_REPLICA, NO_REPLICA, 0, 0, 0, 0 });
    if (life->equal)
        try_faults(world, life, (struct step){ NO_REPLICA, NO_REPLICA, count, 0, 0, 0 });
    for (unsigned i = 0; i < FEW; i++) {
        if (!life->votes[i]) {
            if (readable && !(life->current.members & 1U << i))
                try_faults(world, life, (struct step){ NO_REPLICA, i, 0, 0, 0, 0 });
            continue;
        }
        try_faults(world, life, (struct step){ i, NO_REPLICA, 0, 0, 0, 0 });
        if (count > 1 && life->equal && (count == 2 || count > needed_of(&life->current)))
            try_faults(world, life, (struct step){ i, NO_REPLICA, count - 1, 0, 0, 0 });
        for (unsigned j = 0; j < FEW && readable; j++) {
            if (!life->votes[j] && !(life->current.members & 1U << j))
                try_faults(world, life, (struct step){ i, j, 0, 0, 0, 0 });
        }
    }
}

/* A target that starts with these replicas. It serves if all have the generation already: then the
 * changes are those of a serving one. */
static void begin_life(const struct world *world, const struct quorum_plan *plan,
                       struct life *ret) {
    bool serves = true;

    *ret = (struct life){ .equal = false };
    memcpy(ret->votes, plan->votes, sizeof(ret->votes));
    for (unsigned i = 0; i < FEW; i++) {
        struct replica_state state;

        make_state(world, i, &state);
        if (generation_same(&state.generation.id, &plan->current.id))
            ret->current = world->at[i];
        if (plan->votes[i])
            ret->quorum |= 1U << i;
    }
    ret->current.clean = ret->current.has = 0;
    for (unsigned i = 0; i < FEW; i++)
        serves &= !plan->votes[i] || (has_it(&world->at[i], &ret->current) && !world->at[i].clean);
    if (serves && ret->quorum == ret->current.members)
        ret->threshold = plan->needed;
}

static void go_on(const struct world *world, unsigned reached) {
    struct world level = *world;
    struct quorum_plan plan;
    bool readable = false;
    struct life life;

    plan_with(world, reached, &plan);
    if (!evaluate(world, &plan, &readable))
        return;
    served++;
    begin_life(world, &plan, &life);
    if (plan.verdict == QUORUM_RESYNC && plan.voters > 1)
        try_changes(world, &life, readable);
    if (!readable)
        return;
    for (unsigned i = 0; i < FEW; i++)
        level.at[i].has |= plan.votes[i];
    life.equal = true;
    life.alone = reached == (1U << FEW) - 1;
    try_changes(&level, &life, true);
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
