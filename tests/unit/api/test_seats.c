#include "api/seats.h"

#include "tests/lib/check_main.h"

static unsigned take_all(struct seats *seats, const char *project) {
    unsigned count = 0;

    while (seats_take(seats, project))
        count++;
    return count;
}

static void leave(struct seats *seats, const char *project, unsigned count) {
    while (count-- > 0)
        seats_leave(seats, project);
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

/* However many have come before it, as long as each took what it could and no more than that. */
START_TEST(the_next_project_finds_a_seat) {
    struct seats *seats = seats_new(250);
    unsigned counts[8];
    char name[2] = "a";

    for (unsigned i = 0; i < 7; i++, name[0]++) {
        counts[i] = take_all(seats, name);
        ck_assert_uint_ge(counts[i], 1);
    }
    for (unsigned i = 7; i-- > 0;) {
        name[0]--;
        leave(seats, name, counts[i]);
    }
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

CHECK_MAIN("seats", a_project_has_as_many_as_it_leaves_to_others, the_next_project_finds_a_seat,
           the_smallest_room_has_a_seat)
