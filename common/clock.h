/*
 * Time and randomness come from here, so that a test can replace both and replay any run.
 *
 * Instants are int64_t microseconds since 1970 in UTC, "…_us"; durations say their unit in the
 * name. The system clock never goes backwards between two calls of clock_now_us() in one process,
 * and two calls never give the same instant: an order by time is an order of events.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct clock {
    int64_t (*now_us)(void *arg);
    void (*random)(void *arg, void *bytes, size_t size);
    void *arg;
};

extern const struct clock clock_system; /* thread-safe */

int64_t clock_now_us(const struct clock *clock);

/* CLOCK_MONOTONIC; for measuring and for timeouts of threads, never stored. */
int64_t clock_monotonic_us(void);

#define CLOCK_TEXT_SIZE 27 /* 2026-11-21T09:08:07.123456 and the end */

/* The form of the API: UTC, six decimals, no zone. Writes CLOCK_TEXT_SIZE bytes, returns `text`. */
char *clock_text(int64_t instant_us, char text[CLOCK_TEXT_SIZE]);

/* Parses ISO 8601 (date, or date and time, optional fraction, optional Z or ±hh:mm); 0 or -1. */
int clock_parse(const char *text, int64_t *ret_us);

#define UUID_SIZE 37 /* 36 characters and the end */

/* A random (version 4) UUID, lower case, with hyphens; returns `text`. */
char *clock_uuid(const struct clock *clock, char text[UUID_SIZE]);

#include <stdbool.h>

/* 32 hex digits, hyphens optional anywhere, any case; writes the canonical form when `ret` is
 * given. */
bool uuid_parse(const char *text, char ret[UUID_SIZE]);
