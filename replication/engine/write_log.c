#include "replication/engine/write_log.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "common/hex.h"
#include "replication/engine/write_log_format.h"

#include <pthread.h>
#include <stdlib.h>

#define DIRECTORY  "write-logs"
#define STEPS_MOST (4 << 20)

_Static_assert(sizeof(struct write_log_entry) == 48, "an entry has 48 bytes");
_Static_assert(sizeof(struct write_log_header) <= WRITE_LOG_HEADER, "the header has a page");
_Static_assert(NONCE_SIZE <= sizeof(((struct write_log_header *)NULL)->nonce), "a nonce fits");
_Static_assert(LENGTH(((struct write_log_block *)NULL)->sums) == WRITE_LOG_SECTORS,
               "a block has eight sectors");

static void prepare(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, write_log_prepare);
}

uint32_t write_log_sum_of(const void *data, size_t size) {
    prepare();
    return write_log_sum(data, size);
}

const char *write_log_directory(struct arena *arena, const char *run) {
    const char *slash = strrchr(run, '/');

    return arena_format(arena, "%.*s/" DIRECTORY, slash ? (int)(slash - run) : 0, run);
}

static const char *path_of(struct arena *arena, const char *directory, const char *replica) {
    return arena_join(arena, directory, "/", replica, NULL);
}

/* ---- begin and end ---- */

static void close_log(struct write_log_header *log) {
    munmap(log, WRITE_LOG_SIZE);
}

static bool is_of(const struct write_log_header *log, const struct generation_id *generation) {
    return generation->number > 0 && atomic_load(&log->generation) == generation->number &&
           strncmp(log->nonce, generation->nonce, sizeof(log->nonce)) == 0;
}

/* A store to memory that a full file system cannot back would end the daemon. */
static bool reserve(const char *path) {
    autoclose int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

    return fd >= 0 && posix_fallocate(fd, 0, (off_t)WRITE_LOG_SIZE) == 0;
}

static void log_header_begin(struct write_log_header *log, const struct generation_id *before,
                             const struct generation_id *next) {
    if (!is_of(log, before)) {
        atomic_store(&log->generation, 0);
        atomic_store(&log->floor, atomic_load(&log->made));
    }
    /* Between the first and the last store it is of no generation. */
    atomic_store(&log->generation, 0);
    memset(log->nonce, 0, sizeof(log->nonce));
    memcpy(log->nonce, next->nonce, strnlen(next->nonce, NONCE_SIZE - 1));
    atomic_store(&log->generation, next->number);
    atomic_store(&log->active, 1);
}

int write_log_begin(const char *directory, const char *replica, const struct generation_id *before,
                    const struct generation_id *next, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *path = path_of(arena, directory, replica);
    struct write_log_header *log;

    prepare();
    log = next->number > 0 ? write_log_open_in(directory, replica) : write_log_map(path);
    if (!log && next->number > 0)
        return error_set(err, ERROR_BACKEND, "cannot create the write log %s", path);
    if (!log) /* a log that cannot be opened cannot be ended otherwise */
        unlink(path);
    if (log && next->number == 0) {
        atomic_store(&log->active, 0);
        atomic_store(&log->generation, 0);
    } else if (log && !is_of(log, next)) {
        if (!reserve(path)) {
            close_log(log);
            return error_set(err, ERROR_BACKEND, "no space for the write log %s", path);
        }
        log_header_begin(log, before, next);
    }
    if (log)
        close_log(log);
    return 0;
}

int write_log_remove(const char *directory, const char *replica) {
    autoarena struct arena *arena = arena_new();
    const char *path = path_of(arena, directory, replica);

    if (unlink(path) < 0 && errno != ENOENT && errno != ENOTDIR)
        return -1;
    unlink(arena_join(arena, path, WRITE_LOG_NEW, NULL)); /* of a process that was killed */
    rmdir(directory);                                     /* unless it has others */
    return 0;
}

/* ---- reading ---- */

static bool is_whole(const struct write_log_entry *entry) {
    return entry->check == write_log_check(entry);
}

static void read_entries(struct write_log_header *log, struct arena *arena, struct write_log *ret) {
    uint64_t made = atomic_load(&log->made), first = atomic_load(&log->floor);

    if (first > made)
        return;
    if (made - first > WRITE_LOG_ENTRIES)
        first = made - WRITE_LOG_ENTRIES;
    assert(first <= made && made - first <= WRITE_LOG_ENTRIES);
    ret->entries = arena_alloc(arena, (size_t)(made - first + 1) * sizeof(*ret->entries));
    for (; first < made; first++) {
        struct write_log_entry *entry = &ret->entries[ret->count];

        *entry = write_log_entries(log)[first % WRITE_LOG_ENTRIES];
        ret->count += entry->number == (uint32_t)first && is_whole(entry);
    }
}

void write_log_read(struct arena *arena, const char *directory, const char *replica,
                    struct write_log *ret) {
    struct write_log_header *log;

    prepare();
    log = write_log_map(path_of(arena, directory, replica));
    *ret = (struct write_log){ .count = 0 };
    if (!log)
        return;
    ret->generation.number = atomic_load(&log->active) ? atomic_load(&log->generation) : 0;
    memcpy(ret->generation.nonce, log->nonce, NONCE_SIZE - 1);
    if (ret->generation.number > 0)
        read_entries(log, arena, ret);
    close_log(log);
}

/* ---- as text ---- */

const char *write_log_text(struct arena *arena, const struct write_log *log) {
    size_t size = log->count * sizeof(*log->entries);
    char *text = arena_alloc(arena, size * 2 + 1);

    hex_encode(log->entries, size, text);
    return text;
}

void write_log_parse(struct arena *arena, const char *text, struct write_log *ret) {
    const size_t digits = 2 * sizeof(*ret->entries);
    size_t most = strlen(text) / digits;

    prepare();
    most = most < WRITE_LOG_ENTRIES ? most : WRITE_LOG_ENTRIES;
    ret->count = 0;
    ret->entries = arena_alloc(arena, (most + 1) * sizeof(*ret->entries));
    for (size_t i = 0; i < most; i++, text += digits) {
        struct write_log_entry *entry = &ret->entries[ret->count];

        ret->count += hex_decode(text, entry, sizeof(*entry)) && is_whole(entry);
    }
}

/* ---- blocks ---- */

/* Adds an older entry: sectors that are known already stay. */
static void add_older(struct write_log_block *block, unsigned mask, unsigned known,
                      const uint32_t *sums) {
    unsigned new = mask & ~(unsigned)block->mask;

    for (unsigned i = 0; i < WRITE_LOG_SECTORS; i++) {
        if (new >> i & 1)
            block->sums[i] = sums[i];
    }
    block->mask = (uint8_t)(block->mask | new);
    block->known = (uint8_t)(block->known | (new &known));
}

struct listing {
    uint32_t *slots; /* 1 + the index of a block; 0: free */
    size_t size;     /* a power of 2: the table is never full */
    struct write_log_block *blocks;
    unsigned count, most;
    uint64_t steps; /* of runs: when they are used up, older entries are skipped */
};

static void list_block(struct listing *listing, uint64_t block, unsigned mask, unsigned known,
                       const uint32_t *sums) {
    const size_t last = listing->size - 1;
    size_t at = (size_t)(block * UINT64_C(0x9e3779b97f4a7c15) >> 32) & last;
    uint32_t *slot;

    assert((listing->size & last) == 0);
    while (listing->slots[at] && listing->blocks[listing->slots[at] - 1].block != block)
        at = (at + 1) & last;
    slot = &listing->slots[at]; /* the block's, or the free one for it */
    assert(listing->count <= listing->most);
    if (!*slot && listing->count == listing->most)
        return;
    if (!*slot) {
        listing->blocks[listing->count] = (struct write_log_block){ .block = block };
        *slot = ++listing->count;
    }
    add_older(&listing->blocks[*slot - 1], mask, known, sums);
}

/* Applies a run to the listed blocks; to others, if it is short. */
static void list_run(struct listing *listing, const struct write_log_entry *entry) {
    static const unsigned char zeros[WRITE_LOG_SECTOR];
    uint64_t first = entry->where >> 16, length = entry->sums[0] | (uint64_t)entry->sums[1] << 32;
    uint32_t sum = write_log_sum(zeros, sizeof(zeros));
    const uint32_t sums[WRITE_LOG_SECTORS] = { sum, sum, sum, sum, sum, sum, sum, sum };
    unsigned known = (unsigned)entry->where & 0xff, before = listing->count;

    listing->steps += length < listing->most ? length : listing->most + before;
    if (length >= listing->most) {
        for (unsigned i = 0; i < before; i++) {
            struct write_log_block *block = &listing->blocks[i];

            if (block->block >= first && block->block - first < length)
                add_older(block, 0xff, known, sums);
        }
    }
    for (uint64_t i = 0; i < length && i < listing->most; i++)
        list_block(listing, first + i, 0xff, known, sums);
}

unsigned write_log_blocks(const struct write_log *log, struct write_log_block *ret, unsigned most) {
    struct listing listing = { .blocks = ret, .most = most, .size = 16 };

    assert(most > 0);
    prepare();
    while (listing.size < (size_t)most * 2)
        listing.size *= 2;
    listing.slots = heap_new(listing.size * sizeof(*listing.slots));
    assert(listing.size >= (size_t)most * 2); /* never full */
    for (unsigned i = log->count; i > 0 && listing.steps < STEPS_MOST; i--) {
        const struct write_log_entry *entry = &log->entries[i - 1];
        unsigned mask = (unsigned)(entry->where >> 8) & 0xff;

        if (mask)
            list_block(&listing, entry->where >> 16, mask, (unsigned)entry->where & 0xff,
                       entry->sums);
        else
            list_run(&listing, entry);
    }
    assert(listing.count <= most);
    free(listing.slots);
    return listing.count;
}
