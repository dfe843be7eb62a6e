#include "api/seats.h"

#include "tests/lib/check_main.h"

#include <stdio.h>

static bool take_seat(struct seats *seats, const char *project) {
    return seats_take(seats, project, project);
}

static bool has_to_go(struct seats *seats, const char *project) {
    return seats_too_many(seats, project, project);
}

static unsigned take_all(struct seats *seats, const char *project) {
    unsigned count = 0;

    while (take_seat(seats, project))
        count++;
    return count;
}

static void leave(struct seats *seats, const char *project, unsigned count) {
    while (count-- > 0)
        seats_leave(seats, project, project);
}

START_TEST(a_project_has_as_many_as_it_leaves_to_others) {
    struct seats *seats = seats_new(16);

    ck_assert_uint_eq(take_all(seats, "a"), 8);
    ck_assert_uint_eq(take_all(seats, "b"), 4);
    ck_assert_uint_eq(take_all(seats, "c"), 2);
    leave(seats, "a", 8);
    ck_assert_uint_eq(take_all(seats, "b"), 3); /* 7 of its own, 7 left */
    leave(seats, "b", 7);
    leave(seats, "c", 2);
    ck_assert_uint_eq(take_all(seats, "c"), 8);
    leave(seats, "c", 8);
    seats_free(seats);
}
END_TEST

enum { SEATS = 250, GREEDY = 8, MODEST = 100 };

static const char *name_of(unsigned i, char ret[8]) {
    snprintf(ret, 8, "p%u", i);
    return ret;
}

/* So many projects take all that they can: then there is none left. */
static struct seats *seats_all_taken(unsigned counts[]) {
    static const unsigned shares[GREEDY] = { 125, 63, 31, 16, 8, 4, 2, 1 };
    struct seats *seats = seats_new(SEATS);
    char name[8];

    for (unsigned i = 0; i < GREEDY; i++)
        for (counts[i] = 0; counts[i] < shares[i]; counts[i]++)
            ck_assert(take_seat(seats, name_of(i, name)));
    return seats;
}

/* In how many names the others have come, and what they have taken, does not matter. */
START_TEST(the_next_project_finds_a_seat) {
    unsigned counts[GREEDY + MODEST] = { 0 };
    struct seats *seats = seats_all_taken(counts);
    char name[8];

    for (unsigned i = GREEDY; i < GREEDY + MODEST; i++) {
        unsigned gone = 0;

        ck_assert(take_seat(seats, name_of(i, name)));
        counts[i]++;
        for (unsigned other = 0; other < GREEDY + MODEST; other++)
            if (has_to_go(seats, name_of(other, name))) {
                ck_assert_uint_ge(counts[other], 2);
                leave(seats, name, 1);
                counts[other]--;
                gone++;
            }
        ck_assert_uint_eq(gone, 1);
    }
    for (unsigned i = 0; i < GREEDY + MODEST; i++)
        leave(seats, name_of(i, name), counts[i]);
    ck_assert_uint_eq(take_all(seats, "a"), SEATS / 2);
    leave(seats, "a", SEATS / 2);
    seats_free(seats);
}
END_TEST

/* Seats are given twice for a moment, but few of them. */
START_TEST(who_does_not_go_is_waited_for) {
    unsigned counts[GREEDY], came = 0;
    struct seats *seats = seats_all_taken(counts);
    char name[8];

    while (take_seat(seats, name_of(GREEDY + came, name)))
        came++;
    ck_assert_uint_eq(came, SEATS / 8 + 1);
    leave(seats, "p0", 1);
    ck_assert(take_seat(seats, name));
    for (unsigned i = 0; i <= came; i++)
        leave(seats, name_of(GREEDY + i, name), 1);
    counts[0]--;
    for (unsigned i = 0; i < GREEDY; i++)
        leave(seats, name_of(i, name), counts[i]);
    ck_assert(!has_to_go(seats, "p0"));
    ck_assert_uint_eq(take_all(seats, "a"), SEATS / 2);
    leave(seats, "a", SEATS / 2);
    seats_free(seats);
}
END_TEST

START_TEST(the_smallest_room_has_a_seat) {
    struct seats *seats = seats_new(1);

    ck_assert_uint_eq(take_all(seats, "a"), 1);
    ck_assert_uint_eq(take_all(seats, "b"), 0);
    leave(seats, "a", 1);
    ck_assert_uint_eq(take_all(seats, "b"), 1);
    leave(seats, "b", 1);
    seats_free(seats);
    seats_free(NULL);
}
END_TEST

/* How many the projects of a group have, of whom those go that have to. */
static void even_out(struct seats *seats, const char *group, unsigned counts[], unsigned projects) {
    char name[8];

    for (unsigned i = 0; i < projects; i++)
        while (seats_too_many(seats, group, name_of(i, name))) {
            seats_leave(seats, group, name);
            counts[i]--;
        }
}

START_TEST(the_projects_of_a_group_share_its_share_evenly) {
    enum { PROJECTS = 5 };
    struct seats *seats = seats_new(SEATS);
    unsigned counts[PROJECTS] = { 0 }, others = 0;
    char name[8];

    for (unsigned i = 0; i < PROJECTS; i++)
        while (seats_take(seats, "proxy", name_of(i, name))) {
            counts[i]++;
            even_out(seats, "proxy", counts, PROJECTS);
        }
    for (unsigned i = 0; i < PROJECTS; i++)
        ck_assert_uint_eq(counts[i], SEATS / 2 / PROJECTS);
    others = take_all(seats, "elsewhere"); /* what they do among them costs no other group */
    ck_assert_uint_eq(others, SEATS / 4 + 1);
    for (unsigned i = 0; i < PROJECTS; i++)
        while (counts[i]-- > 0)
            seats_leave(seats, "proxy", name_of(i, name));
    leave(seats, "elsewhere", others);
    seats_free(seats);
}
END_TEST

/* Then a newcomer takes one of the largest group, though each of that has no more than it. */
START_TEST(a_group_of_many_projects_is_no_larger_than_others) {
    struct seats *seats = seats_new(4);
    char name[8];

    for (unsigned i = 0; i < 2; i++)
        ck_assert(seats_take(seats, "proxy", name_of(i, name)));
    ck_assert(seats_take(seats, "a", "a"));
    ck_assert(seats_take(seats, "b", "b"));
    ck_assert(!seats_take(seats, "a", "a"));
    ck_assert(seats_take(seats, "c", "c"));
    ck_assert(seats_too_many(seats, "proxy", "p0") != seats_too_many(seats, "proxy", "p1"));
    for (unsigned i = 0; i < 2; i++)
        seats_leave(seats, "proxy", name_of(i, name));
    leave(seats, "a", 1);
    leave(seats, "b", 1);
    leave(seats, "c", 1);
    ck_assert_uint_eq(take_all(seats, "a"), 2);
    leave(seats, "a", 2);
    seats_free(seats);
}
END_TEST

CHECK_MAIN("seats", the_projects_of_a_group_share_its_share_evenly,
           a_group_of_many_projects_is_no_larger_than_others,
           a_project_has_as_many_as_it_leaves_to_others, the_next_project_finds_a_seat,
           who_does_not_go_is_waited_for, the_smallest_room_has_a_seat)
