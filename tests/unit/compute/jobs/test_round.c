#include "tests/lib/check_main.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "compute/jobs/round.h"

#define HOUR_MS INT64_C(3600000)

enum { BUSY, UNRESPONSIVE };

START_TEST(pauses_between_tries_double_up_to_a_bound) {
    static const int64_t pauses_ms[] = { 10, 20, 40, 80, 160, 320, 600, 600 };
    struct round_pace pace = { 0 };

    for (size_t i = 0; i < LENGTH(pauses_ms); i++)
        ck_assert_int_eq(round_pause_ms(&pace, ROUND_RETRIES, 10), pauses_ms[i]);
    for (unsigned i = 0; i < 100; i++)
        ck_assert_int_eq(round_pause_ms(&pace, ROUND_RETRIES, 10), 600);
}
END_TEST

START_TEST(a_refusal_has_a_long_pause_and_counts_as_a_try) {
    struct round_pace pace = { 0 };

    ck_assert_int_eq(round_pause_ms(&pace, ROUND_RETRIES_SLOWLY, 10), 3000);
    ck_assert_int_eq(round_pause_ms(&pace, ROUND_RETRIES, 10), 20);
}
END_TEST

START_TEST(a_wait_is_not_a_failure) {
    struct round_pace pace = { .tries = 3 };

    ck_assert_int_eq(round_pause_ms(&pace, ROUND_WAITS, 10), 10);
    ck_assert_uint_eq(pace.tries, 3);
}
END_TEST

START_TEST(a_wait_has_its_timeout) {
    struct round_pace pace = { 0 };

    ck_assert(!round_may_wait(&pace, BUSY, 0));
    ck_assert(round_may_wait(&pace, BUSY, HOUR_MS));
    pace.waits_since_us = clock_monotonic_us() - 2000;
    ck_assert(round_may_wait(&pace, BUSY, HOUR_MS));
    ck_assert(!round_may_wait(&pace, BUSY, 2));
}
END_TEST

START_TEST(each_wait_has_its_own_timeout) {
    int64_t begin_us = clock_monotonic_us();
    struct round_pace pace = { .waits_for = BUSY, .waits_since_us = 1 };

    ck_assert(round_may_wait(&pace, UNRESPONSIVE, HOUR_MS));
    ck_assert_int_ge(pace.waits_since_us, begin_us);
    pace.waits_since_us = 1;
    ck_assert(round_may_wait(&pace, BUSY, HOUR_MS));
    ck_assert_int_ge(pace.waits_since_us, begin_us);
}
END_TEST

CHECK_MAIN("round", pauses_between_tries_double_up_to_a_bound,
           a_refusal_has_a_long_pause_and_counts_as_a_try, a_wait_is_not_a_failure,
           a_wait_has_its_timeout, each_wait_has_its_own_timeout)
