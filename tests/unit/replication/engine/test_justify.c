/*
 * The chosen content where replicas differ: all small cases against a second formulation of the
 * rule, and a walk in which replicas are written, killed, rot and lose their logs.
 */
#include "replication/engine/justify.h"
#include "replication/engine/write_log_format.h"
#include "tests/lib/check_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTENTS 3
#define EVIDENCE (CONTENTS + 2) /* no entry, one without a sum, or one of a content */
#define VOTERS   3

static unsigned char contents[CONTENTS][JUSTIFY_SECTOR];

static void begin(void) {
    write_log_prepare();
    for (unsigned i = 0; i < CONTENTS; i++)
        memset(contents[i], (int)(i + 1), JUSTIFY_SECTOR);
}

static void end(void) {
}

static struct write_log_block evidence_of(unsigned which) {
    struct write_log_block block = { .mask = which > 0, .known = which > 1 };

    if (which > 1)
        block.sums[0] = write_log_sum_of(contents[which - 2], JUSTIFY_SECTOR);
    return block;
}

/* -1: undecided, -2: equal. */
static int expected(const unsigned *content, const unsigned *evidence, unsigned count,
                    unsigned needed) {
    unsigned equal[CONTENTS] = { 0 };

    for (unsigned i = 0; i < count; i++)
        equal[content[i]]++;
    if (equal[content[0]] == count)
        return -2;
    for (unsigned i = 0; i < CONTENTS; i++) {
        if (equal[i] >= needed)
            return (int)i;
    }
    for (unsigned i = 0; i < count; i++) {
        for (unsigned j = 0; j < count; j++) {
            if (evidence[j] == content[i] + 2)
                return (int)content[i];
        }
    }
    return -1;
}

static void check_case(unsigned code, unsigned count, unsigned needed) {
    struct write_log_block logged[VOTERS];
    struct justify_version versions[VOTERS];
    unsigned content[VOTERS], evidence[VOTERS];
    unsigned char ret[JUSTIFY_SECTOR] = { 0 };
    enum justify_outcome outcome;
    int wanted;

    for (unsigned i = 0; i < count; i++) {
        content[i] = code % CONTENTS;
        code /= CONTENTS;
        evidence[i] = code % EVIDENCE;
        code /= EVIDENCE;
        logged[i] = evidence_of(evidence[i]);
        versions[i] =
            (struct justify_version){ contents[content[i]], evidence[i] ? &logged[i] : NULL };
    }
    wanted = expected(content, evidence, count, needed);
    outcome = justify(versions, count, needed, JUSTIFY_SECTOR, ret);
    ck_assert_int_eq(outcome, wanted == -2   ? JUSTIFY_EQUAL
                              : wanted == -1 ? JUSTIFY_UNDECIDED
                                             : JUSTIFY_CHOSEN);
    if (wanted >= 0)
        ck_assert_mem_eq(ret, contents[wanted], JUSTIFY_SECTOR);
}

static void check_cases(unsigned count, unsigned needed) {
    unsigned cases = 1;

    for (unsigned i = 0; i < count; i++)
        cases *= CONTENTS * EVIDENCE;
    for (unsigned code = 0; code < cases; code++)
        check_case(code, count, needed);
}

START_TEST(only_content_that_a_newest_entry_confirms_is_chosen) {
    for (unsigned count = 2; count <= VOTERS; count++)
        check_cases(count, count);
}
END_TEST

START_TEST(as_many_equal_as_are_needed_decide_before_any_entry) {
    check_cases(3, 2);
}
END_TEST

START_TEST(sectors_of_a_block_are_decided_one_by_one) {
    static unsigned char one[JUSTIFY_BLOCK], two[JUSTIFY_BLOCK], ret[JUSTIFY_BLOCK];
    struct write_log_block first = { .mask = 1, .known = 1 }, last = { .mask = 128, .known = 128 };
    struct justify_version versions[] = { { one, &first }, { two, &last } };

    memset(one, 1, JUSTIFY_SECTOR);
    memset(two + (size_t)7 * JUSTIFY_SECTOR, 2, JUSTIFY_SECTOR);
    first.sums[0] = write_log_sum_of(one, JUSTIFY_SECTOR);
    last.sums[7] = write_log_sum_of(two + (size_t)7 * JUSTIFY_SECTOR, JUSTIFY_SECTOR);
    ck_assert_int_eq(justify(versions, 2, 2, JUSTIFY_BLOCK, ret), JUSTIFY_CHOSEN);
    ck_assert_int_eq(ret[0], 1);
    ck_assert_int_eq(ret[JUSTIFY_SECTOR], 0);
    ck_assert_int_eq(ret[7 * JUSTIFY_SECTOR], 2);
    two[JUSTIFY_SECTOR] ^= 1; /* rot, in a sector without an entry */
    ck_assert_int_eq(justify(versions, 2, 2, JUSTIFY_BLOCK, ret), JUSTIFY_UNDECIDED);
}
END_TEST

/* ---- the walk ---- */

#define WALKS   400
#define STEPS   60
#define BLOCKS  12
#define SIDES   2
#define FLIGHTS 4

/* One value for each sector, which fills it. */
struct side {
    unsigned content[BLOCKS][WRITE_LOG_SECTORS];
    bool rotten[BLOCKS][WRITE_LOG_SECTORS];
    struct write_log_header *log;
};

static struct side sides[SIDES];
static unsigned acknowledged[BLOCKS][WRITE_LOG_SECTORS]; /* the last value */
static unsigned values;

struct flight {
    unsigned block, from, to, value;
};

static void fill(unsigned char *to, unsigned value) {
    for (unsigned i = 0; i < WRITE_LOG_SECTOR / sizeof(value); i++)
        memcpy(to + i * sizeof(value), &value, sizeof(value));
}

/* The entry first; the write itself may fail, or stop in its middle. */
static void write_side(struct side *side, const struct flight *flight, unsigned end) {
    unsigned char data[WRITE_LOG_BLOCK];
    struct iovec iov[2] = { { data, 700 }, { data + 700, 0 } };
    size_t size = (size_t)(flight->to - flight->from) * WRITE_LOG_SECTOR;

    for (unsigned i = 0; i < flight->to - flight->from; i++)
        fill(data + (size_t)i * WRITE_LOG_SECTOR, flight->value);
    iov[0].iov_len = size < 700 ? size : 700;
    iov[1].iov_len = size - iov[0].iov_len;
    write_log_append(side->log,
                     (uint64_t)flight->block * WRITE_LOG_BLOCK +
                         (uint64_t)flight->from * WRITE_LOG_SECTOR,
                     iov, 2);
    for (unsigned i = flight->from; i < end; i++) {
        side->content[flight->block][i] = flight->value;
        side->rotten[flight->block][i] = false;
    }
}

static struct flight random_flight(void) {
    struct flight flight = { .block = (unsigned)random() % BLOCKS,
                             .from = (unsigned)random() % WRITE_LOG_SECTORS,
                             .value = ++values };

    flight.to = flight.from + 1 + (unsigned)random() % (WRITE_LOG_SECTORS - flight.from);
    return flight;
}

static void write_and_answer(void) {
    struct flight flight = random_flight();

    for (unsigned i = 0; i < SIDES; i++)
        write_side(&sides[i], &flight, flight.to);
    for (unsigned i = flight.from; i < flight.to; i++)
        acknowledged[flight.block][i] = flight.value;
}

static void rot(void) {
    struct side *side = &sides[random() % SIDES];
    unsigned block = (unsigned)random() % BLOCKS, sector = (unsigned)random() % WRITE_LOG_SECTORS;

    side->content[block][sector] = ++values;
    side->rotten[block][sector] = true;
}

/* At most one for each block: as far as each side came. */
static void kill_writes(void) {
    struct flight flights[FLIGHTS];

    for (unsigned i = 0; i < FLIGHTS; i++) {
        bool same = false;

        flights[i] = random_flight();
        for (unsigned j = 0; j < i; j++)
            same |= flights[j].block == flights[i].block;
        for (unsigned j = 0; j < SIDES && !same; j++) {
            unsigned length = flights[i].to - flights[i].from;

            if (random() % 3)
                write_side(&sides[j], &flights[i],
                           flights[i].from + (unsigned)random() % (length + 1));
        }
    }
}

static void begin_walk(unsigned seed) {
    srandom(seed);
    memset(acknowledged, 0, sizeof(acknowledged));
    values = 0;
    for (unsigned i = 0; i < SIDES; i++) {
        struct write_log_header *log = calloc(1, WRITE_LOG_SIZE);

        *log = (struct write_log_header){ .magic = WRITE_LOG_MAGIC };
        sides[i] = (struct side){ .log = log };
        atomic_store(&log->made, (uint64_t)random() << 20 | 12345);
        atomic_store(&log->floor, atomic_load(&log->made));
    }
}

/* As write_log_read() has it, of memory. */
static unsigned read_side(struct arena *arena, const struct side *side,
                          struct write_log_block *ret) {
    struct write_log log = { .generation = { .number = 1 } };
    uint64_t made = atomic_load(&side->log->made), at = atomic_load(&side->log->floor);

    log.entries = arena_alloc(arena, (size_t)(made - at + 1) * sizeof(*log.entries));
    for (; at < made; at++)
        log.entries[log.count++] = write_log_entries(side->log)[at % WRITE_LOG_ENTRIES];
    return write_log_blocks(&log, ret, BLOCKS);
}

static const struct write_log_block *find(const struct write_log_block *blocks, unsigned count,
                                          unsigned block) {
    for (unsigned i = 0; i < count; i++) {
        if (blocks[i].block == block)
            return &blocks[i];
    }
    return NULL;
}

static bool any_rotten(unsigned block) {
    bool rotten = false;

    for (unsigned i = 0; i < SIDES; i++) {
        for (unsigned j = 0; j < WRITE_LOG_SECTORS; j++)
            rotten |= sides[i].rotten[block][j];
    }
    return rotten;
}

/* No rotten content is chosen, and none older than an answered write. */
static void check_chosen(unsigned block, const unsigned char *chosen) {
    for (unsigned j = 0; j < WRITE_LOG_SECTORS; j++) {
        unsigned value;
        bool sound = false;

        memcpy(&value, chosen + (size_t)j * WRITE_LOG_SECTOR, sizeof(value));
        for (unsigned i = 0; i < SIDES; i++)
            sound |= sides[i].content[block][j] == value && !sides[i].rotten[block][j];
        ck_assert(sound);
        ck_assert_uint_ge(value, acknowledged[block][j]);
    }
}

static void check_walk(void) {
    autoarena struct arena *arena = arena_new();
    struct write_log_block logged[SIDES][BLOCKS];
    unsigned counts[SIDES];

    for (unsigned i = 0; i < SIDES; i++)
        counts[i] = read_side(arena, &sides[i], logged[i]);
    for (unsigned block = 0; block < BLOCKS; block++) {
        static unsigned char bytes[SIDES][JUSTIFY_BLOCK], chosen[JUSTIFY_BLOCK];
        struct justify_version versions[SIDES];
        enum justify_outcome outcome;

        for (unsigned i = 0; i < SIDES; i++) {
            for (unsigned j = 0; j < WRITE_LOG_SECTORS; j++)
                fill(bytes[i] + (size_t)j * WRITE_LOG_SECTOR, sides[i].content[block][j]);
            versions[i] = (struct justify_version){ bytes[i], find(logged[i], counts[i], block) };
        }
        outcome = justify(versions, SIDES, SIDES, JUSTIFY_BLOCK, chosen);
        if (outcome == JUSTIFY_CHOSEN)
            check_chosen(block, chosen);
        else
            ck_assert(outcome == JUSTIFY_EQUAL || any_rotten(block));
    }
}

START_TEST(rot_and_outdated_content_are_never_chosen) {
    for (unsigned seed = 1; seed <= WALKS; seed++) {
        begin_walk(seed);
        for (unsigned i = 0; i < STEPS; i++) {
            if (seed % 2 && random() % 20 == 0)
                rot();
            else
                write_and_answer();
        }
        kill_writes();
        if (seed % 3 == 0)
            rot();
        check_walk();
        for (unsigned i = 0; i < SIDES; i++)
            free(sides[i].log);
    }
}
END_TEST

CHECK_MAIN_WITH("justify", true, begin, end, only_content_that_a_newest_entry_confirms_is_chosen,
                as_many_equal_as_are_needed_decide_before_any_entry,
                sectors_of_a_block_are_decided_one_by_one,
                rot_and_outdated_content_are_never_chosen)
