#include "rpc/backlog.private.h"

#include "common/arena.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "common/words.h"

#include <stdlib.h>
#include <string.h>

struct part {
    struct part *next;
    size_t bytes;
    char project[];
};

struct row {
    int64_t id;
    size_t bytes;
    struct part *part;
};

struct backlog {
    struct arena *arena;
    struct part *parts[256]; /* by project */
    struct row *rows;
    size_t count, room;
    size_t bytes;
};

struct backlog *backlog_new(void) {
    struct backlog *backlog = heap_new(sizeof(*backlog));

    backlog->arena = arena_new();
    return backlog;
}

void backlog_free(struct backlog *backlog) {
    arena_free(backlog->arena);
    free(backlog->rows);
    free(backlog);
}

void backlog_clear(struct backlog *backlog) {
    arena_reset(backlog->arena);
    memset(backlog->parts, 0, sizeof(backlog->parts));
    free(backlog->rows);
    backlog->rows = NULL;
    backlog->count = backlog->room = 0;
    backlog->bytes = 0;
}

static struct part *part_of(struct backlog *backlog, const char *project) {
    struct part **bucket = &backlog->parts[word_hash(project) % LENGTH(backlog->parts)];
    struct part *part = *bucket;

    while (part && strcmp(part->project, project) != 0)
        part = part->next;
    if (part)
        return part;
    part = arena_alloc(backlog->arena, sizeof(*part) + strlen(project) + 1);
    strcpy(part->project, project);
    part->next = *bucket;
    *bucket = part;
    return part;
}

void backlog_add(struct backlog *backlog, int64_t id, const char *project, size_t bytes) {
    struct part *part = part_of(backlog, project);

    if (backlog->count == backlog->room) {
        backlog->room = backlog->room ? 2 * backlog->room : 64;
        backlog->rows = heap_grow(backlog->rows, backlog->count * sizeof(*backlog->rows),
                                  backlog->room * sizeof(*backlog->rows));
    }
    backlog->rows[backlog->count++] = (struct row){ id, bytes, part };
    part->bytes += bytes;
    backlog->bytes += bytes;
}

size_t backlog_bytes(const struct backlog *backlog) {
    return backlog->bytes;
}

static size_t bytes_with_share(const struct backlog *backlog, size_t share) {
    size_t bytes = 0;

    for (size_t i = 0; i < LENGTH(backlog->parts); i++)
        for (const struct part *part = backlog->parts[i]; part; part = part->next)
            bytes += part->bytes < share ? part->bytes : share;
    return bytes;
}

/* The largest equal share with which all together have no more than `bytes_most`. */
static size_t share_of(const struct backlog *backlog, size_t bytes_most) {
    size_t low = 0, high = bytes_most;

    while (low < high) {
        size_t share = high - (high - low) / 2;

        if (bytes_with_share(backlog, share) <= bytes_most)
            low = share;
        else
            high = share - 1;
    }
    return low;
}

size_t backlog_cut(struct backlog *backlog, size_t bytes_most, const int64_t **ret) {
    size_t share, left = 0, count = 0;
    int64_t *ids;

    if (backlog->bytes <= bytes_most)
        return 0;
    share = share_of(backlog, bytes_most);
    ids = arena_alloc(backlog->arena, backlog->count * sizeof(*ids));
    for (size_t i = 0; i < backlog->count; i++) {
        const struct row *row = &backlog->rows[i];

        if (row->part->bytes <= share) {
            backlog->rows[left++] = *row;
            continue;
        }
        ids[count++] = row->id;
        row->part->bytes -= row->bytes;
        backlog->bytes -= row->bytes;
    }
    backlog->count = left;
    *ret = ids;
    return count;
}
