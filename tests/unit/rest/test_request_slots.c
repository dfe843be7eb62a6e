#include "rest/request_slots.h"

#include "tests/lib/check_main.h"

#include <stdio.h>

static bool take_slot(struct request_slots *slots, const char *project) {
    return request_slots_take(slots, project, project);
}

static bool has_to_go(struct request_slots *slots, const char *project) {
    return request_slots_too_many(slots, project, project);
}

static unsigned take_all(struct request_slots *slots, const char *project) {
    unsigned count = 0;

    while (take_slot(slots, project))
        count++;
    return count;
}

static void leave(struct request_slots *slots, const char *project, unsigned count) {
    while (count-- > 0)
        request_slots_leave(slots, project, project);
}

START_TEST(a_project_has_as_many_as_it_leaves_to_others) {
    struct request_slots *slots = request_slots_new(16);

    ck_assert_uint_eq(take_all(slots, "a"), 8);
    ck_assert_uint_eq(take_all(slots, "b"), 4);
    ck_assert_uint_eq(take_all(slots, "c"), 2);
    leave(slots, "a", 8);
    ck_assert_uint_eq(take_all(slots, "b"), 3); /* 7 of its own, 7 left */
    leave(slots, "b", 7);
    leave(slots, "c", 2);
    ck_assert_uint_eq(take_all(slots, "c"), 8);
    leave(slots, "c", 8);
    request_slots_free(slots);
}
END_TEST

enum { SLOTS = 250, GREEDY = 8, MODEST = 100 };

static const char *name_of(unsigned i, char ret[8]) {
    snprintf(ret, 8, "p%u", i);
    return ret;
}

/* So many projects take all that they can: then there is none left. */
static struct request_slots *slots_all_taken(unsigned counts[]) {
    static const unsigned shares[GREEDY] = { 125, 63, 31, 16, 8, 4, 2, 1 };
    struct request_slots *slots = request_slots_new(SLOTS);
    char name[8];

    for (unsigned i = 0; i < GREEDY; i++)
        for (counts[i] = 0; counts[i] < shares[i]; counts[i]++)
            ck_assert(take_slot(slots, name_of(i, name)));
    return slots;
}

/* In how many names the others have come, and their requests, does not matter. */
START_TEST(the_next_project_finds_a_slot) {
    unsigned counts[GREEDY + MODEST] = { 0 };
    struct request_slots *slots = slots_all_taken(counts);
    char name[8];

    for (unsigned i = GREEDY; i < GREEDY + MODEST; i++) {
        unsigned gone = 0;

        ck_assert(take_slot(slots, name_of(i, name)));
        counts[i]++;
        for (unsigned other = 0; other < GREEDY + MODEST; other++)
            if (has_to_go(slots, name_of(other, name))) {
                ck_assert_uint_ge(counts[other], 2);
                leave(slots, name, 1);
                counts[other]--;
                gone++;
            }
        ck_assert_uint_eq(gone, 1);
    }
    for (unsigned i = 0; i < GREEDY + MODEST; i++)
        leave(slots, name_of(i, name), counts[i]);
    ck_assert_uint_eq(take_all(slots, "a"), SLOTS / 2);
    leave(slots, "a", SLOTS / 2);
    request_slots_free(slots);
}
END_TEST

/* Slots are given twice for a moment, but few of them. */
START_TEST(a_slot_is_reassigned_before_its_request_has_ended) {
    unsigned counts[GREEDY], came = 0;
    struct request_slots *slots = slots_all_taken(counts);
    char name[8];

    while (take_slot(slots, name_of(GREEDY + came, name)))
        came++;
    ck_assert_uint_eq(came, SLOTS / 8 + 1);
    leave(slots, "p0", 1);
    ck_assert(take_slot(slots, name));
    for (unsigned i = 0; i <= came; i++)
        leave(slots, name_of(GREEDY + i, name), 1);
    counts[0]--;
    for (unsigned i = 0; i < GREEDY; i++)
        leave(slots, name_of(i, name), counts[i]);
    ck_assert(!has_to_go(slots, "p0"));
    ck_assert_uint_eq(take_all(slots, "a"), SLOTS / 2);
    leave(slots, "a", SLOTS / 2);
    request_slots_free(slots);
}
END_TEST

START_TEST(the_smallest_limit_has_a_slot) {
    struct request_slots *slots = request_slots_new(1);

    ck_assert_uint_eq(take_all(slots, "a"), 1);
    ck_assert_uint_eq(take_all(slots, "b"), 0);
    leave(slots, "a", 1);
    ck_assert_uint_eq(take_all(slots, "b"), 1);
    leave(slots, "b", 1);
    request_slots_free(slots);
    request_slots_free(NULL);
}
END_TEST

/* The slots of a group's projects when some are evicted. */
static void even_out(struct request_slots *slots, const char *group, unsigned counts[],
                     unsigned projects) {
    char name[8];

    for (unsigned i = 0; i < projects; i++)
        while (request_slots_too_many(slots, group, name_of(i, name))) {
            request_slots_leave(slots, group, name);
            counts[i]--;
        }
}

START_TEST(the_projects_of_a_group_share_its_share_evenly) {
    enum { PROJECTS = 5 };
    struct request_slots *slots = request_slots_new(SLOTS);
    unsigned counts[PROJECTS] = { 0 }, others = 0;
    char name[8];

    for (unsigned i = 0; i < PROJECTS; i++)
        while (request_slots_take(slots, "proxy", name_of(i, name))) {
            counts[i]++;
            even_out(slots, "proxy", counts, PROJECTS);
        }
    for (unsigned i = 0; i < PROJECTS; i++)
        ck_assert_uint_eq(counts[i], SLOTS / 2 / PROJECTS);
    others = take_all(slots, "elsewhere"); /* requests among them cost no other group */
    ck_assert_uint_eq(others, SLOTS / 4 + 1);
    for (unsigned i = 0; i < PROJECTS; i++)
        while (counts[i]-- > 0)
            request_slots_leave(slots, "proxy", name_of(i, name));
    leave(slots, "elsewhere", others);
    request_slots_free(slots);
}
END_TEST

/* Then a newcomer takes one of the largest group, though each of that has no more than it. */
START_TEST(a_group_of_many_projects_is_no_larger_than_others) {
    struct request_slots *slots = request_slots_new(4);
    char name[8];

    for (unsigned i = 0; i < 2; i++)
        ck_assert(request_slots_take(slots, "proxy", name_of(i, name)));
    ck_assert(request_slots_take(slots, "a", "a"));
    ck_assert(request_slots_take(slots, "b", "b"));
    ck_assert(!request_slots_take(slots, "a", "a"));
    ck_assert(request_slots_take(slots, "c", "c"));
    ck_assert(request_slots_too_many(slots, "proxy", "p0") !=
              request_slots_too_many(slots, "proxy", "p1"));
    for (unsigned i = 0; i < 2; i++)
        request_slots_leave(slots, "proxy", name_of(i, name));
    leave(slots, "a", 1);
    leave(slots, "b", 1);
    leave(slots, "c", 1);
    ck_assert_uint_eq(take_all(slots, "a"), 2);
    leave(slots, "a", 2);
    request_slots_free(slots);
}
END_TEST

CHECK_MAIN("slots", the_projects_of_a_group_share_its_share_evenly,
           a_group_of_many_projects_is_no_larger_than_others,
           a_project_has_as_many_as_it_leaves_to_others, the_next_project_finds_a_slot,
           a_slot_is_reassigned_before_its_request_has_ended, the_smallest_limit_has_a_slot)
