/*
 * Time and randomness come from here, so that a test can replace both and replay any run.
 *
 * Three kinds of time, which must not be mixed:
 *
 *   now     the wall's: what is shown.  An operator or NTP may step it: nothing is decided by it.
 *   steady  CLOCK_BOOTTIME: fences, waits and lives inside a process.  It also passes while the
 *           process is stopped and the machine suspended; it means nothing to another machine.
 *   shared  the database's (db/db.h): leases, deadlines, reports, what several processes compare.
 *
 * Instants are int64_t microseconds, those of `now` since 1970 in UTC, "…_us"; durations say their
 * unit in the name.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define SECOND_US INT64_C(1000000)

static inline struct timespec clock_timespec(int64_t us) {
    return (struct timespec){ .tv_sec = (time_t)(us / SECOND_US),
                              .tv_nsec = (long)(us % SECOND_US * 1000) };
}

struct clock {
    int64_t (*now_us)(void *arg);
    int64_t (*steady_us)(void *arg);
    int64_t (*shared_us)(void *arg);
    void (*random)(void *arg, void *bytes, size_t size);
    void *arg;
};

extern const struct clock clock_system; /* thread-safe; `shared` is `steady` */

/* Strictly increasing within a process, unless the wall clock was set back by a second or more: an
 * order by time is an order of events. */
int64_t clock_now_us(const struct clock *clock);
int64_t clock_steady_us(const struct clock *clock);
int64_t clock_shared_us(const struct clock *clock);

/* CLOCK_BOOTTIME: lifetimes and leases within this machine; includes time while suspended. */
int64_t clock_boottime_us(void);
/* CLOCK_MONOTONIC: for measurements and timeouts of threads, never stored.  Stops while the machine
 * is suspended. */
int64_t clock_monotonic_us(void);

/* `now_us` of the wall clock, or the instant after *last if that is close. */
int64_t clock_next_us(_Atomic int64_t *last, int64_t now_us);

#define CLOCK_TEXT_SIZE 27 /* 2026-11-21T09:08:07.123456 and the terminating NUL */

/* The form of the API: UTC, six decimals, no zone. Writes CLOCK_TEXT_SIZE bytes, returns `text`. */
char *clock_text(int64_t instant_us, char text[CLOCK_TEXT_SIZE]);

/* Parses ISO 8601 (date, or date and time, optional fraction, optional Z or ±hh:mm); 0 or -1. */
int clock_parse(const char *text, int64_t *ret_us);

#define UUID_SIZE 37 /* 36 characters and the terminating NUL */

/* A random (version 4) UUID, lower case, with hyphens; returns `text`. */
char *clock_uuid(const struct clock *clock, char text[UUID_SIZE]);

#include <stdbool.h>

/* 32 hex digits, hyphens optional anywhere, any case; writes the canonical form when `ret` is
 * given. */
bool uuid_parse(const char *text, char ret[UUID_SIZE]);
bool uuid_is_canonical(const char *text);
