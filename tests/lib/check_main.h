/*
 * The main function of a test program: CHECK_MAIN("extend", test_a, test_b, …) runs each test in a
 * process of its own and exits 0 when all passed.
 */
#pragma once

#include "common/cleanup.h"

#include <check.h>
#include <stdbool.h>
#include <stdlib.h>

/* An assertion that holds writes its line to a file, for the message about a later crash: in a loop
 * once is enough. */
static inline void mark_line(const char *file, int line) {
    static _Thread_local const char *last_file;
    static _Thread_local int last_line;

    if (line == last_line && file == last_file)
        return;
    last_file = file;
    last_line = line;
    _mark_point(file, line);
}
#define _mark_point mark_line

/* Of a long walk over cases that hardly differ: each of them, or with $WALK_STEP one in so many,
 * from the $WALK_FIRST on.  Not each build has to run all of it again. */
static inline unsigned walk_number(const char *name, unsigned otherwise) {
    const char *text = getenv(name);

    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}
#define WALK_STEP  walk_number("WALK_STEP", 1)
#define WALK_FIRST walk_number("WALK_FIRST", 0)
/* What some step of a walk has to meet need not be met by a part of its steps. */
#define WALK_IS_WHOLE (WALK_STEP == 1)

#define CHECK_MAIN(name, ...) CHECK_MAIN_WITH(name, true, NULL, NULL, __VA_ARGS__)

/* Each test between begin() and end(), in its process; where none can run, the program exits as
 * skipped. */
#define CHECK_MAIN_WITH(name, possible, begin, end, ...) \
    CHECK_MAIN_LOOP(name, possible, begin, end, 0, 1, __VA_ARGS__)

/* The first `loops` tests run `times` times each, with _i from 0: a walk with a process, and the
 * time limit of a test, for each of its parts. */
#define CHECK_MAIN_LOOP(name, possible, begin, end, loops, times, ...)                           \
    int main(void) {                                                                             \
        const TTest *const tests[] = { __VA_ARGS__ };                                            \
        Suite *suite = suite_create(name);                                                       \
        TCase *cases = tcase_create(name);                                                       \
        SRunner *runner;                                                                         \
        int failed;                                                                              \
                                                                                                 \
        if (!(possible))                                                                         \
            return 77;                                                                           \
        setenv("SCORIA_STATE_TABLES", "strict", 1);                                              \
        tcase_set_timeout(cases, 240);                                                           \
        tcase_add_checked_fixture(cases, begin, end);                                            \
        for (size_t i = 0; i < LENGTH(tests); i++)                                               \
            tcase_add_loop_test(cases, tests[i], 0, i + 1 > (size_t)(loops) ? 1 : (int)(times)); \
        suite_add_tcase(suite, cases);                                                           \
        runner = srunner_create(suite);                                                          \
        srunner_run_all(runner, CK_NORMAL);                                                      \
        failed = srunner_ntests_failed(runner);                                                  \
        srunner_free(runner);                                                                    \
        return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;                                        \
    }
