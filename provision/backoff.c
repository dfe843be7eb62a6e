#include "provision/backoff.h"

#include "common/heap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    char id[UUID_SIZE];
    unsigned char failures;
    int64_t due_us;
};

struct backoff {
    struct entry *entries; /* in the order of their ids */
    size_t count, room;
};

struct backoff *backoff_new(void) {
    return heap_new(sizeof(struct backoff));
}

void backoff_free(struct backoff *backoff) {
    if (backoff)
        free(backoff->entries);
    free(backoff);
}

/* Where it stands, or would. */
static size_t place_of(const struct backoff *backoff, const char *id) {
    size_t first = 0, end = backoff->count;

    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (strcmp(backoff->entries[middle].id, id) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static struct entry *find(const struct backoff *backoff, const char *id) {
    size_t place = place_of(backoff, id);

    return place < backoff->count && strcmp(backoff->entries[place].id, id) == 0
               ? &backoff->entries[place]
               : NULL;
}

static void grow(struct backoff *backoff) {
    size_t room = backoff->room ? 2 * backoff->room : 16;
    struct entry *entries = heap_new(room * sizeof *entries);

    if (backoff->count > 0)
        memcpy(entries, backoff->entries, backoff->count * sizeof *entries);
    free(backoff->entries);
    backoff->entries = entries;
    backoff->room = room;
}

/* NULL: there is no room. */
static struct entry *insert(struct backoff *backoff, const char *id) {
    size_t place = place_of(backoff, id);
    struct entry *entry;

    if (backoff->count == BACKOFF_KEPT)
        return NULL;
    if (backoff->count == backoff->room)
        grow(backoff);
    entry = &backoff->entries[place];
    memmove(entry + 1, entry, (backoff->count - place) * sizeof *entry);
    *entry = (struct entry){ .failures = 0 };
    assert(strlen(id) < sizeof entry->id);
    strcpy(entry->id, id);
    backoff->count++;
    return entry;
}

static int64_t pause_us(unsigned failures) {
    int64_t pause = BACKOFF_FIRST_US;

    while (failures-- > 0 && pause < BACKOFF_MOST_US)
        pause *= 2;
    return pause < BACKOFF_MOST_US ? pause : BACKOFF_MOST_US;
}

void backoff_fail(struct backoff *backoff, const char *id, int64_t now_us) {
    struct entry *entry = find(backoff, id);

    if (!entry)
        entry = insert(backoff, id);
    if (!entry)
        return;
    entry->due_us = now_us + pause_us(entry->failures);
    if (entry->failures < 63)
        entry->failures++;
}

void backoff_forget(struct backoff *backoff, const char *id) {
    struct entry *entry = find(backoff, id);

    if (!entry)
        return;
    backoff->count--;
    memmove(entry, entry + 1,
            (backoff->count - (size_t)(entry - backoff->entries)) * sizeof *entry);
}

void backoff_hurry(struct backoff *backoff, const char *id, int64_t now_us) {
    struct entry *entry = find(backoff, id);

    if (entry && entry->due_us > now_us)
        entry->due_us = now_us;
}

void backoff_hurry_all(struct backoff *backoff, int64_t now_us) {
    for (size_t i = 0; i < backoff->count; i++)
        if (backoff->entries[i].due_us > now_us)
            backoff->entries[i].due_us = now_us;
}

bool backoff_is_empty(const struct backoff *backoff) {
    return backoff->count == 0;
}

bool backoff_waits(const struct backoff *backoff, const char *id, int64_t now_us) {
    const struct entry *entry = find(backoff, id);

    return entry && entry->due_us > now_us;
}

static const struct entry *next(const struct backoff *backoff) {
    const struct entry *soonest = NULL;

    for (size_t i = 0; i < backoff->count; i++)
        if (!soonest || backoff->entries[i].due_us < soonest->due_us)
            soonest = &backoff->entries[i];
    return soonest;
}

const char *backoff_due(const struct backoff *backoff, int64_t now_us) {
    const struct entry *soonest = next(backoff);

    return soonest && soonest->due_us <= now_us ? soonest->id : NULL;
}

int64_t backoff_next_us(const struct backoff *backoff) {
    const struct entry *soonest = next(backoff);

    return soonest ? soonest->due_us : INT64_MAX;
}
