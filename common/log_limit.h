/*
 * Log lines that a client or an agent can cause as often as it likes: of one object (its key) one a
 * minute is written, with how many were left out since the one before; of all objects together
 * LOG_LIMIT_KEYS a minute.  Any thread may use one.
 *
 *     static struct log_limit refused = LOG_LIMIT;
 *
 *     if (log_limit_allows(&refused, id, clock_monotonic_us(), &others))
 *         log_warning(NULL, "report refused", "id", id, "others", LOG_INT(others), NULL);
 */
#pragma once

#include "common/clock.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define LOG_LIMIT_KEYS 128
#define LOG_LIMIT_US   (60 * SECOND_US)

struct log_limit {
    pthread_mutex_t lock;
    struct log_limit_key {
        uint32_t hash;
        unsigned others;   /* lines that were left out */
        int64_t logged_us; /* 0: never */
    } keys[LOG_LIMIT_KEYS];
};

#define LOG_LIMIT \
    { .lock = PTHREAD_MUTEX_INITIALIZER }

/* True: the line is to be written, and *ret_others were left out before it. */
bool log_limit_allows(struct log_limit *limit, const char *key, int64_t now_us,
                      unsigned *ret_others);
