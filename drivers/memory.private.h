/*
 * What a handle holds, for the driver and for what others do to its volumes.
 */
#pragma once

#include "drivers/memory.h"

#include <pthread.h>

struct memory_volume {
    int64_t bytes;
    bool locked;
    bool busy;           /* an extend holds the lock */
    const char *made_as; /* its first name, behind the one that it has */
    char name_id[];      /* the key of the tree */
};

struct memory {
    pthread_mutex_t mutex; /* guards everything below but the pool */
    void *volumes;         /* search tree */
    size_t count;
    int64_t used_bytes;
    const char *failing_call;
    enum error_kind failure;
    memory_between *between;
    void *between_arg;
    int64_t capacity_gb;
    char pool[];
};

static inline void memory_let_go(pthread_mutex_t **mutex) {
    pthread_mutex_unlock(*mutex);
}

static inline pthread_mutex_t *memory_hold(struct memory *memory) {
    pthread_mutex_lock(&memory->mutex);
    return &memory->mutex;
}

/* Holds the mutex until the end of the block. */
#define HOLD(memory) \
    pthread_mutex_t *held_ __attribute__((cleanup(memory_let_go), unused)) = memory_hold(memory)

/* All with the mutex held. */
struct memory_volume *memory_find(const struct memory *memory, const char *name_id);
struct memory_volume *memory_add(struct memory *memory, const char *name_id, const char *made_as,
                                 int64_t bytes);
void memory_resize(struct memory *memory, struct memory_volume *volume, int64_t bytes);
bool memory_take_out(struct memory *memory, const char *name_id);
