#include "replication/engine/quorum.h"

#include "tests/lib/check_main.h"

#include <stdio.h>
#include <string.h>

#define VOLUME "00000000-0000-4000-8000-00000000f000"
#define OTHER  "00000000-0000-4000-8000-00000000f001"

static const char *const uids[] = {
    "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b",
    "00000000-0000-4000-8000-00000000000c", "00000000-0000-4000-8000-00000000000d",
    "00000000-0000-4000-8000-00000000000e", "00000000-0000-4000-8000-00000000000f",
    "00000000-0000-4000-8000-000000000010", "00000000-0000-4000-8000-000000000011",
};

/* "abc" are members; `nonce` distinguishes generations of one number. */
static struct generation generation(int64_t number, char nonce, int64_t base, char base_nonce,
                                    unsigned wanted, const char *members) {
    struct generation made = { .id = { number, { nonce } },
                               .base = { base, { base_nonce } },
                               .wanted = wanted };

    for (; *members; members++)
        generation_add(&made, uids[*members - 'a']);
    return made;
}

static struct replica_state state(char replica, enum replica_mark mark, struct generation known) {
    struct replica_state made = { .mark = mark, .generation = known };

    strcpy(made.volume, VOLUME);
    strcpy(made.replica, uids[replica - 'a']);
    return made;
}

/* The states of the replicas, as rows: "-" is unreachable. 1: the first generation {abc}; 2: {abc}
 * made from it; x, y: {ac}, {bc} made from 2, by writers without knowledge of each other; 3: {ab}
 * made from 2; 4: {abc} made from 3; E: empty, F: of another volume. "!": clean, "?": disputed,
 * else dirty. */
static const struct replica_state *make(char replica, const char *word, struct replica_state *ret) {
    const enum replica_mark mark = word[1] == '!'   ? REPLICA_CLEAN
                                   : word[1] == '?' ? REPLICA_DISPUTED
                                                    : REPLICA_DIRTY;

    switch (word[0]) {
    case '1':
        *ret = state(replica, mark, generation(1, 'o', 0, 0, 3, "abc"));
        break;
    case '2':
        *ret = state(replica, mark, generation(2, 'p', 1, 'o', 3, "abc"));
        break;
    case '3':
        *ret = state(replica, mark, generation(3, 'q', 2, 'p', 3, "ab"));
        break;
    case 'x':
        *ret = state(replica, mark, generation(3, 'x', 2, 'p', 3, "ac"));
        break;
    case 'y':
        *ret = state(replica, mark, generation(3, 'y', 2, 'p', 3, "bc"));
        break;
    case '4':
        *ret = state(replica, mark, generation(4, 'r', 3, 'q', 3, "abc"));
        break;
    case 'E':
        *ret = state(replica, REPLICA_EMPTY, generation(9, 'e', 8, 'd', 3, "abc"));
        break;
    case 'F':
        *ret = state(replica, mark, generation(9, 'f', 8, 'd', 3, "abc"));
        strcpy(ret->volume, OTHER);
        break;
    default:
        return NULL;
    }
    return ret;
}

struct row {
    const char *a, *b, *c;
    enum quorum_verdict verdict;
    const char *voters;
};

static const struct row rows[] = {
    /* as it was created, and after a clean stop */
    { "1!", "1!", "1!", QUORUM_SERVES, "abc" },
    { "2!", "2!", "2!", QUORUM_SERVES, "abc" },
    { "2!", "-", "2!", QUORUM_SERVES, "ac" },
    { "-", "-", "2!", QUORUM_NONE, "c" },
    { "-", "-", "-", QUORUM_NONE, "" },
    /* one is not clean: it may be a copy of before that */
    { "2!", "2", "2", QUORUM_RESYNC, "abc" },
    { "2", "-", "2!", QUORUM_RESYNC, "ac" },
    /* the writer died */
    { "2", "2", "2", QUORUM_RESYNC, "abc" },
    { "2", "2", "-", QUORUM_RESYNC, "ab" },
    { "3", "3", "-", QUORUM_RESYNC, "ab" },
    { "3", "3", "2", QUORUM_RESYNC, "ab" }, /* c is stale */
    { "3", "3", "2!", QUORUM_RESYNC, "ab" },
    { "3!", "3!", "2!", QUORUM_SERVES, "ab" },
    { "3?", "3", "2", QUORUM_RESYNC, "ab" }, /* as earlier versions have written it */
    { "2?", "2", "2", QUORUM_RESYNC, "abc" },
    { "3", "-", "2", QUORUM_NONE, "a" },
    { "-", "3!", "2!", QUORUM_NONE, "b" },
    { "3!", "-", "1!", QUORUM_NONE, "a" },
    { "-", "2", "2", QUORUM_RESYNC, "bc" }, /* 3 was not written completely */
    /* between the writes of a new generation */
    { "2", "1!", "1!", QUORUM_RESYNC, "abc" },
    { "2", "2", "1!", QUORUM_RESYNC, "abc" },
    { "2", "-", "1!", QUORUM_RESYNC, "ac" },
    { "-", "1!", "1!", QUORUM_SERVES, "bc" },
    { "3", "2", "2", QUORUM_RESYNC, "ab" },
    { "2", "2", "3", QUORUM_RESYNC, "ab" }, /* a replica with it that is no member */
    { "4", "3", "-", QUORUM_RESYNC, "ab" }, /* c may have a write that one of them missed */
    { "4", "3!", "2", QUORUM_RESYNC, "ab" },
    { "-", "3", "4", QUORUM_NONE, "bc" }, /* c is the last that has it: a and b do, or did */
    { "4", "4", "4", QUORUM_RESYNC, "abc" },
    /* two without knowledge of each other */
    { "x", "y", "-", QUORUM_NONE, "a" },
    { "x", "y", "y", QUORUM_RESYNC, "bc" },
    { "x!", "y!", "y!", QUORUM_SERVES, "bc" },
    { "x", "y", "x", QUORUM_RESYNC, "ac" },
    { "x", "-", "y", QUORUM_NONE, "a" },
    { "x", "y", "2", QUORUM_AMBIGUOUS, NULL },
    { "x", "2", "-", QUORUM_NONE, "a" },
    { "x", "2", "2", QUORUM_RESYNC, "ac" }, /* b may have a write that c lacks: not all have x */
    /* these never vote */
    { "E", "2!", "2!", QUORUM_SERVES, "bc" },
    { "E", "E", "2!", QUORUM_NONE, "c" },
    { "E", "E", "E", QUORUM_NONE, "" },
    { "F", "2!", "2!", QUORUM_SERVES, "bc" },
    { "F", "F", "2!", QUORUM_NONE, "c" },
    { "1!", "1!", "2", QUORUM_RESYNC, "abc" },
    { "1!", "1!", "3", QUORUM_NONE, "" }, /* copies of an old state, of before 3 */
    { "1!", "3!", "3!", QUORUM_NONE, "b" },
};

static void plan_row(const struct row *row, int64_t floor, struct quorum_plan *plan) {
    struct replica_state made[3];
    const struct replica_state *states[3] = { make('a', row->a, &made[0]),
                                              make('b', row->b, &made[1]),
                                              make('c', row->c, &made[2]) };

    quorum_plan(VOLUME, states, 3, floor, plan);
}

static void voters_text(const struct quorum_plan *plan, char text[4]) {
    size_t length = 0;

    for (unsigned i = 0; i < 3; i++) {
        if (plan->votes[i])
            text[length++] = (char)('a' + i);
    }
    text[length] = '\0';
}

START_TEST(each_row_has_its_verdict) {
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct row *row = &rows[i];
        struct quorum_plan plan;
        char voters[4];

        plan_row(row, 0, &plan);
        voters_text(&plan, voters);
        ck_assert_msg(plan.verdict == row->verdict, "row %zu (%s %s %s): verdict %d", i, row->a,
                      row->b, row->c, plan.verdict);
        ck_assert_msg(!row->voters || strcmp(voters, row->voters) == 0,
                      "row %zu (%s %s %s): %s vote", i, row->a, row->b, row->c, voters);
    }
}
END_TEST

/* No generation of before the last forced recovery counts, whatever majority it has. */
START_TEST(replicas_of_before_a_forced_recovery_never_vote) {
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct quorum_plan plan;

        plan_row(&rows[i], generation_floor(1), &plan);
        ck_assert_int_eq(plan.verdict, QUORUM_NONE);
        ck_assert_uint_eq(plan.voters, 0);
    }
}
END_TEST

/* A volume of three was recovered from one; the other two had continued, or returned. */
START_TEST(a_recovered_replica_outranks_all_earlier_ones) {
    const int64_t floor = generation_floor(1);
    const struct generation others = generation(floor - 1, 'z', floor - 2, 'y', 3, "bc");
    const struct replica_state made[] = {
        state('a', REPLICA_DIRTY, generation(floor, 's', 2, 'p', 1, "a")),
        state('b', REPLICA_CLEAN, others),
        state('c', REPLICA_CLEAN, others),
    };
    const struct replica_state *states[] = { &made[0], &made[1], &made[2] };
    struct quorum_plan plan;

    for (int64_t since = 0; since <= floor; since += floor) {
        quorum_plan(VOLUME, states, 3, since, &plan);
        ck_assert_int_eq(plan.verdict, QUORUM_SERVES);
        ck_assert(plan.votes[0] && !plan.votes[1] && !plan.votes[2]);
    }
    states[0] = NULL;
    quorum_plan(VOLUME, states, 3, floor, &plan);
    ck_assert_int_eq(plan.verdict, QUORUM_NONE);
}
END_TEST

/* Fewer members may have the content before an answered write than are needed to read it, in the
 * generation of the write and in each that may follow it. */
START_TEST(stale_replicas_never_form_a_quorum) {
    for (unsigned wanted = 1; wanted <= REPLICAS_MOST; wanted++) {
        const struct generation made = { .wanted = wanted, .count = wanted };

        ck_assert_uint_lt(wanted - generation_needed(&made), generation_needed(&made));
        if (wanted > 1) {
            const struct generation fewer = { .wanted = wanted - 1 };

            ck_assert_uint_lt(wanted - generation_needed(&made), generation_needed(&fewer));
        }
    }
}
END_TEST

START_TEST(one_replica_is_its_own_majority) {
    const struct replica_state alone =
        state('a', REPLICA_DIRTY, generation(7, 'n', 6, 'm', 1, "a"));
    const struct replica_state *const states[] = { &alone };
    struct quorum_plan plan;

    quorum_plan(VOLUME, states, 1, 0, &plan);
    ck_assert_int_eq(plan.verdict, QUORUM_SERVES);
    ck_assert(!plan.stopped_clean);
    ck_assert(!quorum_spares(&plan.current, uids[0]));
}
END_TEST

START_TEST(a_duplicate_replica_votes_once) {
    const struct replica_state one =
        state('a', REPLICA_CLEAN, generation(2, 'p', 1, 'o', 3, "abc"));
    const struct replica_state *const states[] = { &one, &one, &one };
    struct quorum_plan plan;

    quorum_plan(VOLUME, states, 3, 0, &plan);
    ck_assert_int_eq(plan.verdict, QUORUM_NONE);
    ck_assert_uint_eq(plan.voters, 1);
}
END_TEST

START_TEST(a_replica_is_spared_down_to_the_majority) {
    const struct generation three = generation(2, 'p', 1, 'o', 3, "abc"),
                            two = generation(3, 'q', 2, 'p', 3, "ab");

    ck_assert(quorum_spares(&three, uids[2]));
    ck_assert(!quorum_spares(&two, uids[0]));
    ck_assert(!quorum_spares(&three, uids[4]));
}
END_TEST

/* The daemon ended while the last of seven replicas was being replaced: the new one has joined, and
 * the old one is listed still. */
START_TEST(a_replica_behind_the_replaced_one_votes) {
    const struct generation seven = generation(2, 'p', 1, 'o', 7, "abcdefh");
    struct replica_state made[MEMBERS_MOST];
    const struct replica_state *states[MEMBERS_MOST] = { NULL };
    struct quorum_plan plan;

    for (unsigned i = 0; i < MEMBERS_MOST; i++)
        made[i] = state((char)('a' + i), REPLICA_CLEAN, seven);
    for (unsigned i = 4; i < MEMBERS_MOST; i++) /* a minority without it */
        states[i] = &made[i];
    states[6] = NULL;
    states[3] = &made[3];
    quorum_plan(VOLUME, states, MEMBERS_MOST, 0, &plan);
    ck_assert_int_eq(plan.verdict, QUORUM_SERVES);
    ck_assert_uint_eq(plan.voters, 4);
    for (unsigned i = 0; i < MEMBERS_MOST; i++)
        ck_assert_int_eq(plan.votes[i], states[i] != NULL);
}
END_TEST

CHECK_MAIN("quorum", each_row_has_its_verdict, replicas_of_before_a_forced_recovery_never_vote,
           a_recovered_replica_outranks_all_earlier_ones, stale_replicas_never_form_a_quorum,
           one_replica_is_its_own_majority, a_duplicate_replica_votes_once,
           a_replica_is_spared_down_to_the_majority, a_replica_behind_the_replaced_one_votes)
