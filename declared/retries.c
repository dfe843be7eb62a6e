#include "declared/retries.h"

#include "common/assert.h"
#include "common/backoff.h"
#include "common/heap.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    char id[UUID_SIZE];
    struct backoff backoff;
};

static const struct backoff_limits limits = { .first_us = RETRIES_FIRST_US,
                                              .most_us = RETRIES_MOST_US };

struct retries {
    struct entry *entries; /* in the order of their ids */
    size_t count, capacity;
};

struct retries *retries_new(void) {
    return heap_new(sizeof(struct retries));
}

void retries_free(struct retries *retries) {
    if (retries)
        free(retries->entries);
    free(retries);
}

/* Its index, or that of its insertion. */
static size_t index_of(const struct retries *retries, const char *id) {
    size_t first = 0, end = retries->count;

    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (strcmp(retries->entries[middle].id, id) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static struct entry *retry_find(const struct retries *retries, const char *id) {
    size_t index = index_of(retries, id);

    return index < retries->count && strcmp(retries->entries[index].id, id) == 0
               ? &retries->entries[index]
               : NULL;
}

/* NULL: the limit is reached. */
static struct entry *insert(struct retries *retries, const char *id) {
    size_t index = index_of(retries, id);
    struct entry *entry;

    if (retries->count == RETRIES_KEPT)
        return NULL;
    if (retries->count == retries->capacity) {
        retries->capacity = retries->capacity ? 2 * retries->capacity : 16;
        retries->entries = heap_grow(retries->entries, retries->count * sizeof *retries->entries,
                                     retries->capacity * sizeof *retries->entries);
    }
    entry = &retries->entries[index];
    memmove(entry + 1, entry, (retries->count - index) * sizeof *entry);
    *entry = (struct entry){ .id = "" };
    assert(strlen(id) < sizeof entry->id);
    strcpy(entry->id, id);
    retries->count++;
    return entry;
}

void retries_fail(struct retries *retries, const char *id, int64_t now_us) {
    struct entry *entry = retry_find(retries, id);

    if (!entry)
        entry = insert(retries, id);
    if (entry)
        backoff_fail(&entry->backoff, &limits, now_us);
}

void retries_forget(struct retries *retries, const char *id) {
    struct entry *entry = retry_find(retries, id);

    if (!entry)
        return;
    retries->count--;
    memmove(entry, entry + 1,
            (retries->count - (size_t)(entry - retries->entries)) * sizeof *entry);
}

void retries_requeue(struct retries *retries, const char *id, int64_t now_us) {
    struct entry *entry = retry_find(retries, id);

    if (entry && entry->backoff.due_us > now_us)
        entry->backoff.due_us = now_us;
}

void retries_requeue_all(struct retries *retries, int64_t now_us) {
    for (size_t i = 0; i < retries->count; i++)
        if (retries->entries[i].backoff.due_us > now_us)
            retries->entries[i].backoff.due_us = now_us;
}

bool retries_is_empty(const struct retries *retries) {
    return retries->count == 0;
}

bool retries_waits(const struct retries *retries, const char *id, int64_t now_us) {
    const struct entry *entry = retry_find(retries, id);

    return entry && backoff_waits(&entry->backoff, now_us);
}

static const struct entry *next(const struct retries *retries) {
    const struct entry *soonest = NULL;

    for (size_t i = 0; i < retries->count; i++)
        if (!soonest || retries->entries[i].backoff.due_us < soonest->backoff.due_us)
            soonest = &retries->entries[i];
    return soonest;
}

const char *retries_due(const struct retries *retries, int64_t now_us) {
    const struct entry *soonest = next(retries);

    return soonest && soonest->backoff.due_us <= now_us ? soonest->id : NULL;
}

int64_t retries_next_us(const struct retries *retries) {
    const struct entry *soonest = next(retries);

    return soonest ? soonest->backoff.due_us : INT64_MAX;
}
