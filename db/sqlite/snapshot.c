#include "db/sqlite/snapshot.h"

#include "common/clock.h"

#include <stddef.h>

/* The writer makes its checkpoint after the first of them without a commit (writer.c). */
enum { QUIET_US = 100000, FREQUENT_US = 5000 };
enum { INDEX_BYTES = 32768 };

void snapshot_setup(struct snapshot *snapshot, sqlite3 *handle) {
    void volatile *index = NULL;
    sqlite3_file *database = NULL;

    sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &database);
    if (database->pMethods->xShmMap(database, 0, INDEX_BYTES, 0, &index) == SQLITE_OK)
        snapshot->index = (const _Atomic uint32_t *)index;
}

/* Each word before the later ones, and before what is read after them. */
static uint32_t header_word(const struct snapshot *snapshot, unsigned i) {
    return atomic_load_explicit(&snapshot->index[i], memory_order_acquire);
}

static bool is_unchanged(const struct snapshot *snapshot) {
    for (unsigned i = 0; i < SNAPSHOT_WORDS; i++)
        if (header_word(snapshot, i) != snapshot->header[i])
            return false;
    return true;
}

bool snapshot_is_newest(const struct snapshot *snapshot) {
    return snapshot->kept && is_unchanged(snapshot);
}

void snapshot_begin(struct snapshot *snapshot) {
    if (!snapshot->index || is_unchanged(snapshot))
        return;
    for (unsigned i = 0; i < SNAPSHOT_WORDS; i++)
        snapshot->header[i] = header_word(snapshot, i);
    snapshot->since_us = clock_monotonic_us();
}

bool snapshot_may_stay(struct snapshot *snapshot) {
    int64_t now_us, unused_us;

    if (!snapshot->index)
        return false;
    now_us = clock_monotonic_us();
    unused_us = now_us - snapshot->used_us;
    snapshot->used_us = now_us;
    return unused_us <= FREQUENT_US && now_us - snapshot->since_us >= QUIET_US;
}
