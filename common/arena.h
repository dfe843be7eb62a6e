/*
 * Memory of one request or one job: everything allocated from an arena dies with it, so code that
 * works inside a request contains no free().  An arena belongs to one thread at a time.
 *
 * An allocation that fails stops the process: it may die at any moment anyway and recovers from
 * that; sizes that a client can choose are bounded before they get here.  Under AddressSanitizer
 * every piece is its own malloc, so that overruns and uses after the end are seen.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *arena);  /* NULL is fine */
void arena_reset(struct arena *arena); /* empties it and keeps the first block for the next use */

/* Bytes allocated from the system, and counted ones. */
size_t arena_bytes(const struct arena *arena);
/* Counts the memory of an object that a deferral releases. */
void arena_count(struct arena *arena, size_t bytes);

void *arena_alloc(struct arena *arena, size_t size);   /* zeroed, aligned for any type */
void *arena_reserve(struct arena *arena, size_t size); /* as arena_alloc() but not zeroed */
void *arena_copy(struct arena *arena, const void *bytes, size_t size);
char *arena_text(struct arena *arena, const char *text); /* NULL gives NULL */
char *arena_text_n(struct arena *arena, const char *text, size_t length);
char *arena_lower(struct arena *arena, const char *text); /* a copy in lower case, of ASCII */
char *arena_format(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_vformat(struct arena *arena, const char *format, va_list values)
    __attribute__((format(printf, 2, 0)));
/* Concatenates texts up to NULL, at a third of the cost of arena_format(). */
char *arena_join(struct arena *arena, ...) __attribute__((sentinel));

/* Runs release(object) when the arena is freed or reset, last registered first. */
void arena_defer(struct arena *arena, void (*release)(void *object), void *object);

static inline void cleanup_arena(struct arena **arena) {
    arena_free(*arena);
}
#define autoarena __attribute__((cleanup(cleanup_arena)))
