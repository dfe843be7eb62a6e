/*
 * Looks at what lies in a pool that may cease to answer in the middle of one.  Each is made by a
 * thread of its own, which is left behind when it takes too long: who is held by the kernel cannot
 * be ended.  It has its copy of what it works on and nothing else, and what it finds too late is
 * dropped.  Where one was left no other is begun before it has come back.
 *
 * Belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct looks;

struct looks *looks_new(void);
/* Those that are left behind end by themselves, when they can. */
void looks_free(struct looks *looks);

/* run() of a copy of `work`, which is `size` bytes that point to nothing, and only looks: true, and
 * *work is what it made of it; false: the pool does not answer, and *work is as it was. */
bool looks_do(struct looks *looks, const char *pool, void (*run)(void *work), void *work,
              size_t size);

/* 0: none was left there, or all have come back; else for how many milliseconds one has not, of
 * which no more than some seconds lie between two that asked. */
int64_t looks_silence_ms(struct looks *looks, const char *pool);
