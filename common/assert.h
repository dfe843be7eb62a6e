/*
 * A broken promise between our own functions: assert(condition) logs the condition, its file, line
 * and function, and aborts the process.  It is part of the product: NDEBUG does not remove it.
 *
 * A condition has no side effects and costs no more than some comparisons.  What comes from a
 * client, a disk, a peer or the system is never asserted but an error.  <assert.h> is not used
 * beside this header (tests/lint/headers.sh).
 */
#pragma once

#undef assert
#define assert(condition)                                                                        \
    (__builtin_expect(!(condition), 0) ? assert_failed(#condition, __FILE__, __LINE__, __func__) \
                                       : (void)0)

_Noreturn void assert_failed(const char *condition, const char *file, int line,
                             const char *function) __attribute__((cold));
