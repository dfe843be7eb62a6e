/*
 * The main function of a test program: CHECK_MAIN("extend", test_a, test_b, …) runs each test in a
 * process of its own and exits 0 when all passed.
 */
#pragma once

#include "common/cleanup.h"

#include <check.h>
#include <stdlib.h>

/* Of a long walk over cases that hardly differ: each of them, or with $WALK_STEP one in so many,
 * from the $WALK_FIRST on.  What each build runs again need not be all of it. */
static inline unsigned walk_number(const char *name, unsigned otherwise) {
    const char *text = getenv(name);

    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}
#define WALK_STEP  walk_number("WALK_STEP", 1)
#define WALK_FIRST walk_number("WALK_FIRST", 0)

#define CHECK_MAIN(name, ...)                             \
    int main(void) {                                      \
        const TTest *const tests[] = { __VA_ARGS__ };     \
        Suite *suite = suite_create(name);                \
        TCase *cases = tcase_create(name);                \
        SRunner *runner;                                  \
        int failed;                                       \
                                                          \
        tcase_set_timeout(cases, 240);                    \
        for (size_t i = 0; i < LENGTH(tests); i++)        \
            tcase_add_test(cases, tests[i]);              \
        suite_add_tcase(suite, cases);                    \
        runner = srunner_create(suite);                   \
        srunner_run_all(runner, CK_NORMAL);               \
        failed = srunner_ntests_failed(runner);           \
        srunner_free(runner);                             \
        return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE; \
    }
