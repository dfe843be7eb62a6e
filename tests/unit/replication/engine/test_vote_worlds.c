/*
 * All possible fates of two blocks on three replicas, in each order of writes that some miss, late
 * reports, evictions, resumptions, comparisons, repairs, rebuilds and restarts: no block is read
 * with other than an allowed content, one whose last write was answered is read, and a volume whose
 * blocks are read can become whole without a client.
 */
#include "common/log.h"
#include "replication/engine/target.private.h"

#include "tests/lib/check_main.h"

#include <string.h>

enum { REPLICAS = 3, NEEDED = 2, BLOCKS = 2, ALL = (1U << REPLICAS) - 1 };
enum { WORLDS = 1 << 20, SLOTS = 1 << 22 };

#define NONE UINT8_MAX

/* Contents are numbered in the order of the replicas; the set of allowed ones is one bit each: that
 * of the last answered write, and those of later writes that were refused. */
struct world {
    uint8_t content[BLOCKS][REPLICAS]; /* NONE where the replica does not vote */
    uint8_t allowed[BLOCKS];
    uint8_t state[REPLICAS];
    uint8_t answered;   /* blocks whose last write was answered */
    uint8_t mismatches; /* replicas known to be outvoted */
    uint8_t unseen;     /* replicas whose missed write is not reported yet */
    uint8_t phase, compared, refused;
};

static struct world worlds[WORLDS];
static uint32_t slots[SLOTS];
static uint8_t heals[WORLDS];
static uint32_t known;

static struct target target;

/* ---- the content for clients ---- */

static bool votes(const struct world *world, unsigned i) {
    return world->state[i] >= MEMBER_IS_VOTING;
}

/* NONE: no majority. */
static uint8_t read_block(const struct world *world, unsigned block) {
    for (unsigned i = 0; i < REPLICAS; i++) {
        unsigned same = 0;

        for (unsigned j = 0; j < REPLICAS; j++)
            same += votes(world, j) && world->content[block][i] == world->content[block][j];
        if (votes(world, i) && same >= NEEDED)
            return world->content[block][i];
    }
    return NONE;
}

static bool is_readable(const struct world *world) {
    for (unsigned block = 0; block < BLOCKS; block++)
        if (read_block(world, block) == NONE)
            return false;
    return true;
}

static bool is_whole(const struct world *world) {
    for (unsigned i = 0; i < REPLICAS; i++)
        if (world->state[i] != MEMBER_IS_VOTING || world->content[0][i] != world->content[0][0] ||
            world->content[1][i] != world->content[1][0])
            return false;
    return world->phase == TARGET_IS_IN_SYNC && !world->unseen && !world->mismatches;
}

static void describe(const struct world *world, const char *what) {
    fprintf(stderr, "%s: phase %u, compared %u, mismatches %x, unseen %x\n", what, world->phase,
            world->compared, world->mismatches, world->unseen);
    for (unsigned i = 0; i < REPLICAS; i++)
        fprintf(stderr, "  replica %u: state %u, %u %u\n", i, world->state[i], world->content[0][i],
                world->content[1][i]);
    fprintf(stderr, "  allowed %x %x, answered %x\n", world->allowed[0], world->allowed[1],
            world->answered);
}

static void check(const struct world *world) {
    for (unsigned block = 0; block < BLOCKS; block++) {
        uint8_t content = read_block(world, block);
        bool fits = content == NONE ? !(world->answered & 1U << block)
                                    : (world->allowed[block] & 1U << content) != 0;

        if (!fits)
            describe(world, "wrong");
        ck_assert_msg(fits, "block %u", block);
    }
}

/* ---- visited worlds ---- */

/* The same world with the replicas in this order, without its past. */
static struct world reorder(const struct world *world, const uint8_t *order) {
    struct world ret = *world;

    ret.mismatches = ret.unseen = 0;
    for (unsigned i = 0; i < REPLICAS; i++) {
        ret.state[i] = world->state[order[i]];
        ret.mismatches |= (uint8_t)((world->mismatches >> order[i] & 1U) << i);
        ret.unseen |= (uint8_t)((world->unseen >> order[i] & 1U) << i);
    }
    for (unsigned block = 0; block < BLOCKS; block++) {
        uint8_t names[REPLICAS + 1], next = 0;

        memset(names, NONE, sizeof(names));
        ret.allowed[block] = 0;
        for (unsigned i = 0; i < REPLICAS; i++) {
            uint8_t content = world->content[block][order[i]];

            ret.content[block][i] = NONE;
            if (!votes(&ret, i))
                continue;
            if (names[content] == NONE) {
                ret.allowed[block] |= (uint8_t)((world->allowed[block] >> content & 1U) << next);
                names[content] = next++;
            }
            ret.content[block][i] = names[content];
        }
    }
    return ret;
}

/* Of worlds that differ by the order of the replicas alone, one. */
static struct world simplify(const struct world *world) {
    static const uint8_t orders[][REPLICAS] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                                { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    struct world least = reorder(world, orders[0]);

    for (unsigned i = 1; i < LENGTH(orders); i++) {
        struct world other = reorder(world, orders[i]);

        if (memcmp(&other, &least, sizeof(other)) < 0)
            least = other;
    }
    return least;
}

/* Its number from 1 on; 0: it was not known, and is not added. */
static uint32_t find(const struct world *given, bool add) {
    const struct world world = simplify(given);
    const unsigned char *bytes = (const unsigned char *)&world;
    uint32_t hash = 2166136261U;

    for (size_t i = 0; i < sizeof(world); i++)
        hash = (hash ^ bytes[i]) * 16777619U;
    for (hash %= SLOTS; slots[hash]; hash = (hash + 1) % SLOTS) {
        if (memcmp(&worlds[slots[hash] - 1], &world, sizeof(world)) == 0)
            return slots[hash];
    }
    if (!add)
        return 0;
    ck_assert_uint_lt(known, WORLDS);
    check(&world);
    worlds[known++] = world;
    slots[hash] = known;
    return known;
}

/* ---- the target in a world ---- */

static const char *const uids[REPLICAS] = { "a", "b", "c" };

/* A target is large: only the fields that a step reads or changes are set again. */
static void begin(void) {
    target = (struct target){ .count = REPLICAS,
                              .size_bytes = BLOCKS,
                              .threshold = NEEDED,
                              .current = { .wanted = REPLICAS } };
    for (unsigned i = 0; i < REPLICAS; i++)
        target.members[i].replica.uid = uids[i];
}

static void load(const struct world *world) {
    target.phase = world->phase;
    target.compared_bytes = world->compared;
    target.current.count = 0;
    for (unsigned i = 0; i < REPLICAS; i++) {
        struct member *member = &target.members[i];

        member->state = world->state[i];
        member->mismatches = world->mismatches >> i & 1;
        member->reported_us = world->unseen & 1U << i ? INT64_MAX / 2 : -EVENTS_LATE_US;
        if (votes(world, i))
            generation_add(&target.current, uids[i]);
    }
}

static void save(struct world *world) {
    world->phase = (uint8_t)target.phase;
    world->compared = (uint8_t)target.compared_bytes;
    world->mismatches = 0;
    for (unsigned i = 0; i < REPLICAS; i++) {
        world->state[i] = (uint8_t)target.members[i].state;
        world->mismatches |= (uint8_t)((target.members[i].mismatches > 0) << i);
    }
}

/* ---- steps: false, it cannot happen ---- */

/* `argument`: the block, and the replicas that miss the write. */
static bool write_block(struct world *world, unsigned argument) {
    unsigned block = argument % BLOCKS, missing = argument / BLOCKS, done = 0;
    const uint8_t content = REPLICAS; /* another than any */

    for (unsigned i = 0; i < REPLICAS; i++) {
        if (!votes(world, i))
            continue;
        if (missing & 1U << i) { /* that one misses writes is known already */
            world->unseen |= (uint8_t)((world->state[i] == MEMBER_IS_VOTING) << i);
            continue;
        }
        world->content[block][i] = content;
        done++;
    }
    world->answered &= (uint8_t) ~(1U << block);
    world->allowed[block] |= (uint8_t)(1U << content);
    if (done >= NEEDED) {
        world->answered |= (uint8_t)(1U << block);
        world->allowed[block] = (uint8_t)(1U << content);
    }
    return true;
}

static bool report(struct world *world, unsigned i) {
    if (i >= REPLICAS || !(world->unseen & 1U << i))
        return false;
    target_note_failing(&target, &target.members[i], MEMBER_MISSED);
    world->unseen &= (uint8_t) ~(1U << i);
    return true;
}

/* As target_exclude() does, reports are received before. */
static bool evict(struct world *world, unsigned i) {
    if (i >= REPLICAS || world->unseen || target.members[i].state != MEMBER_IS_FAILING ||
        target_needs(&target, &target.members[i]))
        return false;
    member_next(&target.members[i], MEMBER_EVICTED);
    target.members[i].mismatches = 0;
    return true;
}

static bool resume(struct world *world, unsigned argument) {
    struct error err;

    (void)world;
    return argument == 0 && target_resume(&target, &err) == 0;
}

/* The node requests that where too few others have each write, or blocks have no majority. */
static bool resume_needed(struct world *world, unsigned argument) {
    unsigned complete = 0;

    for (unsigned i = 0; i < REPLICAS; i++)
        complete += world->state[i] == MEMBER_IS_VOTING;
    return (complete < NEEDED || (target_is_resynchronizing(&target) && world->refused)) &&
           resume(world, argument);
}

/* Differences are noted when reports have been received. */
static bool compare(struct world *world, unsigned argument) {
    unsigned block = world->compared;
    uint8_t content;

    if (argument > 0 || !target_is_resynchronizing(&target) || block >= BLOCKS)
        return false;
    content = read_block(world, block);
    for (unsigned i = 0; i < REPLICAS; i++) {
        if (!votes(world, i) || world->content[block][i] == content)
            continue;
        if (world->unseen)
            return false;
        if (content != NONE && !member_fails(&target.members[i]))
            target.members[i].mismatches++;
    }
    if (content == NONE) {
        target_next(&target, TARGET_BLOCK_UNDECIDED);
        world->refused |= (uint8_t)(1U << block);
    }
    target.compared_bytes++;
    target_note_compared(&target);
    return true;
}

/* As target_watch() does. */
static bool note(struct world *world, unsigned argument) {
    (void)world;
    target_note_compared(&target);
    return argument == 0;
}

static bool compare_again(struct world *world, unsigned argument) {
    if (argument > 0 || target.phase != TARGET_IS_UNDECIDED || world->compared < BLOCKS)
        return false;
    target_next(&target, TARGET_COMPARISON_BEGUN);
    world->refused = 0;
    return true;
}

static bool decide(struct world *world, unsigned argument) {
    if (argument > 0 || target.phase != TARGET_IS_UNDECIDED || world->compared < BLOCKS)
        return false;
    for (unsigned block = 0; block < BLOCKS; block++)
        if (world->refused & 1U << block && read_block(world, block) == NONE)
            return false;
    target_next(&target, TARGET_DECIDED);
    world->refused = 0;
    return true;
}

static void copy_to(struct world *world, unsigned i) {
    for (unsigned block = 0; block < BLOCKS; block++)
        world->content[block][i] = read_block(world, block);
}

static bool repair(struct world *world, unsigned i) {
    if (i >= REPLICAS || target.members[i].mismatches == 0 || !is_readable(world))
        return false;
    copy_to(world, i);
    target.members[i].mismatches = 0;
    target_note_compared(&target);
    return true;
}

static bool rebuild(struct world *world, unsigned i) {
    if (i >= REPLICAS || votes(world, i) || !is_readable(world))
        return false;
    copy_to(world, i);
    member_next(&target.members[i], MEMBER_REBUILDS);
    member_next(&target.members[i], MEMBER_JOINS);
    return true;
}

static bool restart(struct world *world, unsigned argument) {
    if (argument > 0)
        return false;
    TARGET_FOREACH(member, &target) {
        bool voted = member_votes(member);

        member_next(member, MEMBER_OPENED);
        if (voted)
            member_next(member, MEMBER_CHOSEN);
        member->mismatches = 0;
    }
    world->unseen = world->refused = 0;
    target_next(&target, TARGET_ENDED);
    target_next(&target, TARGET_STARTS);
    target_next(&target, TARGET_SERVES_UNCLEAN);
    return true;
}

static const struct step {
    bool (*do_it)(struct world *world, unsigned argument);
    unsigned arguments;
    bool heals; /* it happens without a client */
} steps[] = {
    { write_block, BLOCKS *(ALL + 1), false },
    { report, REPLICAS, true },
    { evict, REPLICAS, true },
    { resume, 1, false },
    { resume_needed, 1, true },
    { compare, 1, true },
    { compare_again, 1, true },
    { note, 1, true },
    { decide, 1, true },
    { repair, REPLICAS, true },
    { rebuild, REPLICAS, true },
    { restart, 1, false },
};

static bool follows(const struct world *before, const struct step *step, unsigned argument,
                    struct world *ret) {
    *ret = *before;
    load(before);
    if (!step->do_it(ret, argument))
        return false;
    save(ret);
    return true;
}

/* Can it become whole by steps that need no client, with those that are known to lead there? */
static bool is_healed(const struct world *world) {
    struct world next;

    for (unsigned i = 0; i < LENGTH(steps); i++)
        for (unsigned k = 0; steps[i].heals && k < steps[i].arguments; k++)
            if (follows(world, &steps[i], k, &next) && heals[find(&next, false) - 1])
                return true;
    return is_whole(world);
}

START_TEST(each_answered_write_is_read_whatever_two_replicas_miss) {
    struct world first = { .allowed = { 1, 1 },
                           .state = { MEMBER_IS_VOTING, MEMBER_IS_VOTING, MEMBER_IS_VOTING },
                           .answered = (1U << BLOCKS) - 1,
                           .phase = TARGET_IS_IN_SYNC };
    struct world next;
    uint32_t healed = 0, before, stuck = 0;

    log_open(2, LOG_ERROR, LOG_TEXT);
    begin();
    find(&first, true);
    for (uint32_t n = 0; n < known; n++) {
        for (unsigned i = 0; i < LENGTH(steps); i++)
            for (unsigned k = 0; k < steps[i].arguments; k++)
                if (follows(&worlds[n], &steps[i], k, &next))
                    find(&next, true);
    }
    do {
        before = healed;
        for (uint32_t n = known; n-- > 0;) {
            if (heals[n] || !is_healed(&worlds[n]))
                continue;
            heals[n] = 1;
            healed++;
        }
    } while (healed > before);
    for (uint32_t n = 0; n < known; n++) {
        if (heals[n] || !is_readable(&worlds[n]))
            continue;
        if (stuck++ == 0)
            describe(&worlds[n], "stuck");
    }
    fprintf(stderr, "%u worlds, %u become whole without a client\n", known, healed);
    ck_assert_uint_eq(stuck, 0);
}
END_TEST

CHECK_MAIN("vote worlds", each_answered_write_is_read_whatever_two_replicas_miss)
