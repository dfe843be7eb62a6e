#include "common/backoff.h"

#include "common/cleanup.h"
#include "tests/lib/check_main.h"

#include <limits.h>
#include <string.h>

static uint64_t draw;

static void draw_fixed(void *arg, void *bytes, size_t size) {
    (void)arg;
    memcpy(bytes, &draw, size);
}

static const struct clock fixed_clock = { .random = draw_fixed };

START_TEST(a_pause_doubles_with_each_failure_up_to_the_limit) {
    static const struct backoff_limits limits = { .first_us = 1000, .most_us = 10000 };
    static const int64_t pauses_us[] = { 0, 1000, 2000, 4000, 8000, 10000, 10000 };

    for (unsigned i = 0; i < LENGTH(pauses_us); i++)
        ck_assert_int_eq(backoff_pause_us(&limits, i), pauses_us[i]);
    ck_assert_int_eq(backoff_pause_us(&limits, UINT_MAX), 10000);
}
END_TEST

START_TEST(a_pause_may_grow_by_a_part_of_itself_or_by_a_step) {
    static const struct backoff_limits half = { .first_us = 1000,
                                                .most_us = 2000,
                                                .growth_percent = 50 };
    static const struct backoff_limits steps = { .first_us = 1000,
                                                 .most_us = 3000,
                                                 .step_us = 600 };

    ck_assert_int_eq(backoff_pause_us(&half, 2), 1500);
    ck_assert_int_eq(backoff_pause_us(&half, 3), 2000);
    ck_assert_int_eq(backoff_pause_us(&steps, 1), 1000);
    ck_assert_int_eq(backoff_pause_us(&steps, 2), 1600);
    ck_assert_int_eq(backoff_pause_us(&steps, 3), 2200);
    ck_assert_int_eq(backoff_pause_us(&steps, UINT_MAX), 3000);
}
END_TEST

START_TEST(limits_without_a_first_pause_or_below_it_end_at_once) {
    static const struct backoff_limits nothing = { .first_us = 0,
                                                   .most_us = SECOND_US,
                                                   .jitter_percent = 100 };
    static const struct backoff_limits low = { .first_us = SECOND_US,
                                               .most_us = 1000,
                                               .step_us = 1 };

    ck_assert_int_eq(backoff_pause_us(&nothing, UINT_MAX), 0);
    ck_assert_int_eq(backoff_pause_us(&low, 1), 1000);
}
END_TEST

START_TEST(jitter_leaves_out_no_more_than_its_part) {
    static const struct backoff_limits limits = {
        .first_us = 1000, .most_us = 4000, .jitter_percent = BACKOFF_JITTER, .clock = &fixed_clock
    };

    draw = 0;
    ck_assert_int_eq(backoff_pause_us(&limits, 3), 4000);
    draw = 999;
    ck_assert_int_eq(backoff_pause_us(&limits, 3), 3001);
    draw = 1000;
    ck_assert_int_eq(backoff_pause_us(&limits, 3), 4000);
    draw = UINT64_MAX;
    ck_assert_int_gt(backoff_pause_us(&limits, 1), 750);
    ck_assert_int_eq(backoff_pause_us(&limits, 0), 0);
}
END_TEST

START_TEST(pauses_of_callers_differ_with_jitter) {
    static const struct backoff_limits limits = { .first_us = 1000 * SECOND_US,
                                                  .most_us = 1000 * SECOND_US,
                                                  .jitter_percent = 100 };
    int64_t first_us = backoff_pause_us(&limits, 1), next_us = first_us;

    for (int i = 0; i < 10 && next_us == first_us; i++) {
        next_us = backoff_pause_us(&limits, 1);
        ck_assert_int_gt(next_us, 0);
        ck_assert_int_le(next_us, 1000 * SECOND_US);
    }
    ck_assert_int_ne(next_us, first_us);
}
END_TEST

START_TEST(an_attempt_waits_until_it_is_due_and_a_success_resets_the_pause) {
    static const struct backoff_limits limits = { .first_us = 1000, .most_us = 60000 };
    struct backoff backoff = { 0 };

    ck_assert(!backoff_waits(&backoff, 0));
    ck_assert_int_eq(backoff_fail(&backoff, &limits, 5000), 1000);
    ck_assert(backoff_waits(&backoff, 5999));
    ck_assert(!backoff_waits(&backoff, 6000));
    ck_assert_int_eq(backoff_fail(&backoff, &limits, 6000), 2000);
    ck_assert_int_eq(backoff.due_us, 8000);
    ck_assert_uint_eq(backoff.failures, 2);
    backoff_reset(&backoff);
    ck_assert(!backoff_waits(&backoff, 0));
    ck_assert_int_eq(backoff_fail(&backoff, &limits, 0), 1000);
    backoff.failures = UINT_MAX;
    ck_assert_int_eq(backoff_fail(&backoff, &limits, 0), 60000);
    ck_assert_uint_eq(backoff.failures, UINT_MAX);
}
END_TEST

CHECK_MAIN("backoff", a_pause_doubles_with_each_failure_up_to_the_limit,
           a_pause_may_grow_by_a_part_of_itself_or_by_a_step,
           limits_without_a_first_pause_or_below_it_end_at_once,
           jitter_leaves_out_no_more_than_its_part, pauses_of_callers_differ_with_jitter,
           an_attempt_waits_until_it_is_due_and_a_success_resets_the_pause)
