#include "declared/retries.h"

#include "tests/lib/check_main.h"

#include <stdio.h>

#define A "aaaaaaaa-0000-4000-8000-000000000000"
#define B "bbbbbbbb-0000-4000-8000-000000000000"

START_TEST(pauses_double_from_five_milliseconds_to_a_thousand_seconds) {
    struct retries *retries = retries_new();
    int64_t wanted = 5000;

    ck_assert(retries_is_empty(retries));
    ck_assert_int_eq(retries_next_us(retries), INT64_MAX);
    for (int i = 0; i < 100; i++) {
        retries_fail(retries, A, 1000);
        ck_assert_int_eq(retries_next_us(retries), 1000 + wanted);
        wanted = wanted * 2 < 1000 * SECOND_US ? wanted * 2 : 1000 * SECOND_US;
    }
    retries_forget(retries, A);
    ck_assert(retries_is_empty(retries));
    retries_fail(retries, A, 0);
    ck_assert_int_eq(retries_next_us(retries), 5000);
    retries_free(retries);
}
END_TEST

START_TEST(the_soonest_is_due_first_and_none_before_its_time) {
    struct retries *retries = retries_new();

    retries_fail(retries, B, 0);
    retries_fail(retries, A, 100);
    ck_assert_ptr_null(retries_due(retries, 4999));
    ck_assert(retries_waits(retries, B, 4999));
    ck_assert_str_eq(retries_due(retries, 5000), B);
    ck_assert(!retries_waits(retries, B, 5000));
    retries_forget(retries, B);
    ck_assert_ptr_null(retries_due(retries, 5000));
    retries_requeue(retries, B, 1);
    ck_assert_ptr_null(retries_due(retries, 1));
    retries_requeue(retries, A, 1);
    ck_assert_str_eq(retries_due(retries, 1), A);
    ck_assert(!retries_waits(retries, A, 1));
    retries_fail(retries, A, 1);
    ck_assert_int_eq(retries_next_us(retries), 10001); /* it failed once before */
    retries_forget(retries, "cccccccc-0000-4000-8000-000000000000");
    retries_free(retries);
}
END_TEST

/* An id that is requeued repeatedly does not precede others each time. */
START_TEST(retries_due_before_come_before_requeued_ones) {
    struct retries *retries = retries_new();

    retries_fail(retries, B, 0);
    retries_fail(retries, A, 100000);
    retries_requeue(retries, A, 5001);
    ck_assert_str_eq(retries_due(retries, 6000), B);
    retries_requeue_all(retries, 6000);
    ck_assert_str_eq(retries_due(retries, 6000), B);
    retries_forget(retries, B);
    ck_assert_int_eq(retries_next_us(retries), 5001);
    retries_free(retries);
}
END_TEST

START_TEST(the_number_of_kept_retries_is_limited) {
    struct retries *retries = retries_new();
    unsigned kept = 0;
    char id[UUID_SIZE];

    for (unsigned i = 0; i < RETRIES_KEPT + 100; i++) {
        snprintf(id, sizeof id, "%08x-0000-4000-8000-000000000000", i * 2654435761U);
        retries_fail(retries, id, 0);
        kept += retries_waits(retries, id, 0);
    }
    ck_assert_uint_eq(kept, RETRIES_KEPT);
    retries_free(retries);
}
END_TEST

CHECK_MAIN("retries", pauses_double_from_five_milliseconds_to_a_thousand_seconds,
           the_soonest_is_due_first_and_none_before_its_time,
           retries_due_before_come_before_requeued_ones, the_number_of_kept_retries_is_limited)
