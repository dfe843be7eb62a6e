/*
 * A test program that includes this has a wall's clock of its own, which wall_step() sets, one
 * since boot, which boot_pass() lets go on, and one for measuring, which monotonic_pass() does: the
 * kernel waits by its own.  Every other clock is the machine's.  Once in a program.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t wall_ahead_s, boot_ahead_s, monotonic_ahead_s;

/* In place of the C library's. */
int clock_gettime(clockid_t id, struct timespec *now) {
    if (syscall(SYS_clock_gettime, id, now) < 0)
        return -1;
    if (id == CLOCK_REALTIME)
        now->tv_sec += (time_t)atomic_load(&wall_ahead_s);
    if (id == CLOCK_BOOTTIME)
        now->tv_sec += (time_t)atomic_load(&boot_ahead_s);
    if (id == CLOCK_MONOTONIC)
        now->tv_sec += (time_t)atomic_load(&monotonic_ahead_s);
    return 0;
}

static inline void wall_step(int64_t seconds) {
    atomic_fetch_add(&wall_ahead_s, seconds);
}

static inline void boot_pass(int64_t seconds) {
    atomic_fetch_add(&boot_ahead_s, seconds);
}

static inline void monotonic_pass(int64_t seconds) {
    atomic_fetch_add(&monotonic_ahead_s, seconds);
}
