/*
 * The names that came last, of a fixed number, each for a while.  Not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { RECENT_MOST = 16, RECENT_NAME = 256 };

/* Zero at first. Longer names are not kept, nor "". */
struct recent {
    struct {
        char name[RECENT_NAME];
        int64_t until_us;
    } rows[RECENT_MOST];
    unsigned next;
};

/* Takes the place of the oldest. */
void recent_put(struct recent *recent, const char *name, int64_t until_us);
bool recent_has(const struct recent *recent, const char *name, int64_t now_us);
