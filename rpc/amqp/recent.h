/*
 * The most recent names, in a fixed number, each for a limited time.  Not thread-safe.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { RECENT_MOST = 16, RECENT_NAME = 256 };

/* Initially zero.  Longer names, and "", are not kept. */
struct recent {
    struct {
        char name[RECENT_NAME];
        int64_t until_us;
    } rows[RECENT_MOST];
    unsigned next;
};

/* Replaces the oldest. */
void recent_put(struct recent *recent, const char *name, int64_t until_us);
bool recent_has(const struct recent *recent, const char *name, int64_t now_us);
