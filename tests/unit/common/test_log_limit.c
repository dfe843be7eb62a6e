#include "common/log_limit.h"

#include "tests/lib/check_main.h"

#include <stdio.h>

#define NOW INT64_C(1000000)

START_TEST(an_object_has_one_line_a_minute_with_the_number_of_omitted_ones) {
    struct log_limit limit = LOG_LIMIT;
    unsigned others = 7;

    ck_assert(log_limit_allows(&limit, "a", NOW, &others));
    ck_assert_uint_eq(others, 0);
    for (int i = 0; i < 1000; i++)
        ck_assert(!log_limit_allows(&limit, "a", NOW + i, &others));
    ck_assert(!log_limit_allows(&limit, "a", NOW + LOG_LIMIT_US - 1, &others));
    ck_assert(log_limit_allows(&limit, "a", NOW + LOG_LIMIT_US, &others));
    ck_assert_uint_eq(others, 1001);
    ck_assert(!log_limit_allows(&limit, "a", NOW + LOG_LIMIT_US, &others));
}
END_TEST

START_TEST(an_object_suppresses_no_line_of_another) {
    struct log_limit limit = LOG_LIMIT;
    unsigned others;

    for (int i = 0; i < 1000; i++)
        log_limit_allows(&limit, "flood", NOW, &others);
    ck_assert(log_limit_allows(&limit, "another", NOW, &others));
    ck_assert_uint_eq(others, 0);
}
END_TEST

START_TEST(omitted_lines_are_counted_by_object) {
    struct log_limit limit = LOG_LIMIT;
    unsigned others, taken = 0;
    char key[16];

    for (unsigned i = 0; i < 10000; i++) {
        snprintf(key, sizeof key, "%u", i);
        log_limit_allows(&limit, key, NOW, &others);
    }
    for (unsigned i = 10000; i < 20000; i++) {
        snprintf(key, sizeof key, "%u", i);
        if (!log_limit_allows(&limit, key, NOW + LOG_LIMIT_US, &others))
            continue;
        ck_assert_uint_eq(others, 0);
        taken++;
    }
    ck_assert_uint_gt(taken, 0);
}
END_TEST

START_TEST(any_number_of_objects_has_a_bound_of_lines) {
    struct log_limit limit = LOG_LIMIT;
    unsigned others, lines = 0;
    char key[16];

    for (unsigned i = 0; i < 100000; i++) {
        snprintf(key, sizeof key, "%u", i);
        lines += log_limit_allows(&limit, key, NOW, &others);
    }
    ck_assert_uint_le(lines, LOG_LIMIT_KEYS);
    ck_assert_uint_gt(lines, LOG_LIMIT_KEYS / 2);
}
END_TEST

CHECK_MAIN("log limit", an_object_has_one_line_a_minute_with_the_number_of_omitted_ones,
           an_object_suppresses_no_line_of_another, omitted_lines_are_counted_by_object,
           any_number_of_objects_has_a_bound_of_lines)
