#include "declared/settled.h"

#include "common/assert.h"
#include "common/heap.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    int64_t version;
    unsigned walk; /* that met it last */
    bool is_settled;
};

struct settled {
    struct entry *entries; /* in the order of their versions */
    size_t count, capacity;
    unsigned walk; /* the last one */
};

struct settled *settled_new(void) {
    return heap_new(sizeof(struct settled));
}

void settled_free(struct settled *settled) {
    if (settled)
        free(settled->entries);
    free(settled);
}

/* Its index, or that of its insertion; usually a new one is the last. */
static size_t index_of(const struct settled *settled, int64_t version) {
    size_t first = 0, end = settled->count;

    if (end > 0 && settled->entries[end - 1].version < version)
        return end;
    while (first < end) {
        size_t middle = first + (end - first) / 2;

        if (settled->entries[middle].version < version)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

/* The entry at this index; NULL: it is unknown. */
static struct entry *entry_at(const struct settled *settled, size_t index, int64_t version) {
    return index < settled->count && settled->entries[index].version == version
               ? &settled->entries[index]
               : NULL;
}

void settled_put(struct settled *settled, int64_t version, bool is_settled) {
    size_t index = index_of(settled, version);
    struct entry *entry = entry_at(settled, index, version);

    if (entry)
        entry->is_settled = is_settled;
    if (entry || !is_settled || settled->count == SETTLED_KEPT)
        return;
    if (settled->count == settled->capacity) {
        settled->capacity = settled->capacity ? 2 * settled->capacity : 64;
        settled->entries = heap_grow(settled->entries, settled->count * sizeof *settled->entries,
                                     settled->capacity * sizeof *settled->entries);
    }
    assert(index <= settled->count && settled->count < settled->capacity);
    memmove(&settled->entries[index + 1], &settled->entries[index],
            (settled->count - index) * sizeof *settled->entries);
    settled->entries[index] = (struct entry){ version, settled->walk, true };
    settled->count++;
}

void settled_clear(struct settled *settled) {
    settled->count = 0;
}

bool settled_meet(struct settled *settled, int64_t version, unsigned walk) {
    struct entry *entry = entry_at(settled, index_of(settled, version), version);

    settled->walk = walk;
    if (entry)
        entry->walk = walk;
    return entry && entry->is_settled;
}

void settled_prune(struct settled *settled, int64_t last, unsigned walk) {
    size_t kept = 0;

    for (size_t i = 0; i < settled->count; i++)
        if (settled->entries[i].version > last || settled->entries[i].walk == walk)
            settled->entries[kept++] = settled->entries[i];
    settled->count = kept;
}
