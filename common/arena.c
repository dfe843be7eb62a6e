#include "common/arena.h"

#include <ctype.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define ONE_MALLOC_A_PIECE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ONE_MALLOC_A_PIECE 1
#endif
#endif
#ifndef ONE_MALLOC_A_PIECE
#define ONE_MALLOC_A_PIECE 0
#endif

#define FIRST_BLOCK   ((size_t)8192)
#define LARGEST_BLOCK ((size_t)256 * 1024)

struct block {
    struct block *next;
    alignas(max_align_t) char bytes[];
};

struct deferral {
    struct deferral *next;
    void (*release)(void *object);
    void *object;
};

/* The arena itself stands at the start of its first block. */
struct arena {
    char *free, *end;     /* free part of the current block */
    struct block *blocks; /* all blocks but the first */
    struct deferral *deferred;
    size_t next_block;
    size_t bytes; /* of all blocks but the first, and counted ones */
    alignas(max_align_t) char first[];
};

static void *allocate(size_t size) {
    void *memory = malloc(size);

    if (!memory) {
        fputs("out of memory\n", stderr);
        abort();
    }
    return memory;
}

static void start_first_block(struct arena *arena) {
    arena->free = arena->first;
    arena->end = ONE_MALLOC_A_PIECE ? arena->free : (char *)arena + FIRST_BLOCK;
    arena->next_block = 2 * FIRST_BLOCK;
    arena->blocks = NULL;
    arena->bytes = 0;
    arena->deferred = NULL;
}

struct arena *arena_new(void) {
    struct arena *arena = allocate(FIRST_BLOCK);

    start_first_block(arena);
    return arena;
}

/* Each deferral is removed before it runs, so that it may use the arena. */
static void run_deferred(struct arena *arena) {
    while (arena->deferred) {
        struct deferral *deferral = arena->deferred;

        arena->deferred = deferral->next;
        deferral->release(deferral->object);
    }
}

static void free_blocks(struct block *block) {
    while (block) {
        struct block *next = block->next;

        free(block);
        block = next;
    }
}

void arena_reset(struct arena *arena) {
    run_deferred(arena);
    free_blocks(arena->blocks);
    start_first_block(arena);
}

void arena_free(struct arena *arena) {
    if (!arena)
        return;
    run_deferred(arena);
    free_blocks(arena->blocks);
    free(arena);
}

size_t arena_bytes(const struct arena *arena) {
    return FIRST_BLOCK + arena->bytes;
}

void arena_count(struct arena *arena, size_t bytes) {
    arena->bytes += bytes;
}

static char *add_block(struct arena *arena, size_t size) {
    struct block *block;

    if (size > PTRDIFF_MAX - sizeof(*block)) {
        fputs("an allocation of impossible size\n", stderr);
        abort();
    }
    block = allocate(sizeof(*block) + size);
    block->next = arena->blocks;
    arena->blocks = block;
    arena->bytes += size;
    return block->bytes;
}

/* Large pieces get a block of their own, small ones start the next block. */
static void *take_from_new_block(struct arena *arena, size_t size) {
    char *start;

    if (ONE_MALLOC_A_PIECE || size > arena->next_block / 4)
        return add_block(arena, size);
    start = add_block(arena, arena->next_block);
    arena->free = start + size;
    arena->end = start + arena->next_block;
    if (arena->next_block < LARGEST_BLOCK)
        arena->next_block *= 2;
    return start;
}

static inline void *take_piece(struct arena *arena, size_t size, size_t alignment) {
    size_t gap = -(uintptr_t)arena->free & (alignment - 1);
    size_t left = (size_t)(arena->end - arena->free);
    char *start;

    if (left < gap || left - gap < size || ONE_MALLOC_A_PIECE)
        return take_from_new_block(arena, size);
    start = arena->free + gap;
    arena->free = start + size;
    return start;
}

void *arena_reserve(struct arena *arena, size_t size) {
    return take_piece(arena, size, alignof(max_align_t));
}

void *arena_alloc(struct arena *arena, size_t size) {
    return memset(arena_reserve(arena, size), 0, size);
}

void *arena_copy(struct arena *arena, const void *bytes, size_t size) {
    void *copy = arena_reserve(arena, size);

    if (size > 0)
        memcpy(copy, bytes, size);
    return copy;
}

char *arena_text_n(struct arena *arena, const char *text, size_t length) {
    char *copy = take_piece(arena, length + 1, 1);

    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

char *arena_text(struct arena *arena, const char *text) {
    return text ? arena_text_n(arena, text, strlen(text)) : NULL;
}

char *arena_lower(struct arena *arena, const char *text) {
    char *copy = arena_text(arena, text);

    for (char *c = copy; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return copy;
}

char *arena_vformat(struct arena *arena, const char *format, va_list values) {
    size_t left = (size_t)(arena->end - arena->free);
    char *text = arena->free;
    va_list again;
    int length;

    va_copy(again, values);
    /* Most texts fit into the current block and are formatted once. */
    length = vsnprintf(left > 0 ? text : NULL, left, format, values);
    if (length < 0) {
        fputs("a text that cannot be formatted\n", stderr);
        abort();
    }
    text = take_piece(arena, (size_t)length + 1, 1);
    if ((size_t)length >= left)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *arena_format(struct arena *arena, const char *format, ...) {
    va_list values;
    char *text;

    va_start(values, format);
    text = arena_vformat(arena, format, values);
    va_end(values);
    return text;
}

char *arena_join(struct arena *arena, ...) {
    size_t length = 0;
    const char *text;
    char *joined, *end;
    va_list texts;

    va_start(texts, arena);
    while ((text = va_arg(texts, const char *)))
        length += strlen(text);
    va_end(texts);
    joined = end = take_piece(arena, length + 1, 1);
    va_start(texts, arena);
    while ((text = va_arg(texts, const char *)))
        end = stpcpy(end, text);
    va_end(texts);
    *end = '\0';
    return joined;
}

void arena_defer(struct arena *arena, void (*release)(void *object), void *object) {
    struct deferral *deferral = arena_reserve(arena, sizeof(*deferral));

    *deferral = (struct deferral){ arena->deferred, release, object };
    arena->deferred = deferral;
}
