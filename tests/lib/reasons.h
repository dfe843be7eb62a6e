/*
 * The log of a test's program, read at the end: each warning has a reason.
 */
#pragma once

#include "common/log.h"
#include "tests/lib/check_main.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int reasons_fd = -1;

/* To stderr when that variable is there. */
static inline void begin_log(const char *variable) {
    if (!getenv(variable) && reasons_fd < 0)
        reasons_fd = memfd_create("log", MFD_CLOEXEC);
    log_open(getenv(variable) ? 2 : reasons_fd, LOG_INFO, LOG_TEXT);
}

/* All that was logged so far; malloc'd. */
static inline char *read_log(void) {
    off_t size = lseek(reasons_fd, 0, SEEK_END);
    char *text = calloc(1, size > 0 ? (size_t)size + 1 : 1);

    ck_assert_ptr_nonnull(text);
    if (size > 0)
        ck_assert_int_eq(pread(reasons_fd, text, (size_t)size, 0), size);
    return text;
}

static inline bool was_logged(const char *words) {
    char *text = read_log();
    bool found = reasons_fd < 0 || strstr(text, words);

    free(text);
    return found;
}

static inline void assert_reasons(void) {
    char *text = read_log(), *next = text;

    for (char *line = strsep(&next, "\n"); line; line = strsep(&next, "\n"))
        ck_assert_msg(!strstr(line, " reason=\"\"") && !strstr(line, " reason=-"), "%s", line);
    free(text);
}
