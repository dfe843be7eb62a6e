#include "provision/backoff.h"

#include "tests/lib/check_main.h"

#include <stdio.h>

#define A "aaaaaaaa-0000-4000-8000-000000000000"
#define B "bbbbbbbb-0000-4000-8000-000000000000"

START_TEST(pauses_double_from_five_milliseconds_to_a_thousand_seconds) {
    struct backoff *backoff = backoff_new();
    int64_t wanted = 5000;

    ck_assert(backoff_is_empty(backoff));
    ck_assert_int_eq(backoff_next_us(backoff), INT64_MAX);
    for (int i = 0; i < 100; i++) {
        backoff_fail(backoff, A, 1000);
        ck_assert_int_eq(backoff_next_us(backoff), 1000 + wanted);
        wanted = wanted * 2 < 1000 * SECOND_US ? wanted * 2 : 1000 * SECOND_US;
    }
    backoff_forget(backoff, A);
    ck_assert(backoff_is_empty(backoff));
    backoff_fail(backoff, A, 0);
    ck_assert_int_eq(backoff_next_us(backoff), 5000);
    backoff_free(backoff);
}
END_TEST

START_TEST(the_soonest_is_due_first_and_none_before_its_time) {
    struct backoff *backoff = backoff_new();

    backoff_fail(backoff, B, 0);
    backoff_fail(backoff, A, 100);
    ck_assert_ptr_null(backoff_due(backoff, 4999));
    ck_assert(backoff_waits(backoff, B, 4999));
    ck_assert_str_eq(backoff_due(backoff, 5000), B);
    ck_assert(!backoff_waits(backoff, B, 5000));
    backoff_forget(backoff, B);
    ck_assert_ptr_null(backoff_due(backoff, 5000));
    backoff_hurry(backoff, B, 1);
    ck_assert_ptr_null(backoff_due(backoff, 1));
    backoff_hurry(backoff, A, 1);
    ck_assert_str_eq(backoff_due(backoff, 1), A);
    ck_assert(!backoff_waits(backoff, A, 1));
    backoff_fail(backoff, A, 1);
    ck_assert_int_eq(backoff_next_us(backoff), 10001); /* it failed once before */
    backoff_forget(backoff, "cccccccc-0000-4000-8000-000000000000");
    backoff_free(backoff);
}
END_TEST

/* Whoever is hurried again and again is not before others each time. */
START_TEST(who_was_due_before_comes_before_who_is_hurried) {
    struct backoff *backoff = backoff_new();

    backoff_fail(backoff, B, 0);
    backoff_fail(backoff, A, 100000);
    backoff_hurry(backoff, A, 5001);
    ck_assert_str_eq(backoff_due(backoff, 6000), B);
    backoff_hurry_all(backoff, 6000);
    ck_assert_str_eq(backoff_due(backoff, 6000), B);
    backoff_forget(backoff, B);
    ck_assert_int_eq(backoff_next_us(backoff), 5001);
    backoff_free(backoff);
}
END_TEST

START_TEST(no_more_are_kept_than_there_is_room_for) {
    struct backoff *backoff = backoff_new();
    unsigned kept = 0;
    char id[UUID_SIZE];

    for (unsigned i = 0; i < BACKOFF_KEPT + 100; i++) {
        snprintf(id, sizeof id, "%08x-0000-4000-8000-000000000000", i * 2654435761U);
        backoff_fail(backoff, id, 0);
        kept += backoff_waits(backoff, id, 0);
    }
    ck_assert_uint_eq(kept, BACKOFF_KEPT);
    backoff_free(backoff);
}
END_TEST

CHECK_MAIN("backoff", pauses_double_from_five_milliseconds_to_a_thousand_seconds,
           the_soonest_is_due_first_and_none_before_its_time,
           who_was_due_before_comes_before_who_is_hurried, no_more_are_kept_than_there_is_room_for)
