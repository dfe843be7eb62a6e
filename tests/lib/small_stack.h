/*
 * Recursion over input, at its bound, on the smallest stack that a thread has (common/thread.h).
 * Half of it is left to the callers; the sanitizers' larger frames have all of it.
 */
#pragma once

#include "common/arena.h"
#include "common/thread.h"

#include <check.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SMALL_STACK_CALLERS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SMALL_STACK_CALLERS 0
#endif
#endif
#ifndef SMALL_STACK_CALLERS
#define SMALL_STACK_CALLERS (THREAD_STACK_SIZE / 2)
#endif

#define SMALL_STACK_JSON 64 /* of json_parse() and yaml_read() */

static inline void on_small_stack(void *(*run)(void *arg), void *arg) {
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    ck_assert_int_eq(
        pthread_attr_setstacksize(&attributes, THREAD_STACK_SIZE - SMALL_STACK_CALLERS), 0);
    ck_assert_int_eq(pthread_create(&thread, &attributes, run, arg), 0);
    pthread_attr_destroy(&attributes);
    pthread_join(thread, NULL);
}

/* `depth` times `open`, the core, and `close` as often. */
static inline char *nested(struct arena *arena, unsigned depth, const char *open, const char *core,
                           const char *close) {
    size_t size = depth * (strlen(open) + strlen(close)) + strlen(core) + 1;
    char *text = arena_alloc(arena, size), *at = text;

    for (unsigned i = 0; i < depth; i++)
        at = stpcpy(at, open);
    at = stpcpy(at, core);
    for (unsigned i = 0; i < depth; i++)
        at = stpcpy(at, close);
    return text;
}
