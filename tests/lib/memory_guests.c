#include "tests/lib/memory_guests.h"

#include "drivers/memory.private.h"

#include <search.h>
#include <stdio.h>
#include <string.h>

struct search {
    const char *made_as;
    struct memory_volume *found;
};

static void compare_first(const void *node, VISIT order, void *arg) {
    struct memory_volume *volume = *(struct memory_volume *const *)node;
    struct search *search = arg;

    if ((order == postorder || order == leaf) && volume->kind == MEMORY_VOLUME &&
        strcmp(volume->made_as, search->made_as) == 0)
        search->found = volume;
}

/* By the present name, or by the name that it was made with. */
static struct memory_volume *find_object(const struct memory *memory, const char *name_id) {
    struct search search = { name_id, memory_find(memory, name_id) };

    if (!search.found)
        twalk_r(memory->volumes, compare_first, &search);
    return search.found;
}

bool memory_lock(void *handle, const char *name_id, bool locked) {
    struct memory *memory = handle;
    struct memory_volume *volume;
    scoped_lock(&memory->mutex);

    volume = find_object(memory, name_id);
    if (!volume || (locked && (volume->busy || volume->readers != 0)))
        return false;
    volume->locked = locked;
    return true;
}

bool memory_grow(void *handle, const char *name_id, int64_t bytes) {
    struct memory *memory = handle;
    struct memory_volume *volume;
    scoped_lock(&memory->mutex);

    volume = find_object(memory, name_id);
    if (volume)
        memory_resize(memory, volume, bytes);
    return volume != NULL;
}

bool memory_remove(void *handle, const char *name_id) {
    struct memory *memory = handle;
    const struct memory_volume *volume;
    scoped_lock(&memory->mutex);

    volume = find_object(memory, name_id);
    return volume && memory_take_out(memory, volume->name_id);
}

bool memory_take(void *handle, const char *name) {
    struct memory *memory = handle;
    scoped_lock(&memory->mutex);

    if (!memory_find_foreign(memory, name))
        return false;
    memory_remove_foreign(memory, name);
    return true;
}

bool memory_lock_foreign(void *handle, const char *name, bool locked) {
    struct memory *memory = handle;
    struct memory_volume *foreign;
    scoped_lock(&memory->mutex);

    foreign = memory_find_foreign(memory, name);
    if (foreign)
        foreign->locked = locked;
    return foreign;
}

bool memory_put(void *handle, const char *name, int64_t bytes, int64_t content) {
    struct memory *memory = handle;
    scoped_lock(&memory->mutex);

    if (memory_find_foreign(memory, name))
        return false;
    memory_add_foreign(memory, name, bytes)->content = content;
    return true;
}

bool memory_has(void *handle, const char *name) {
    struct memory *memory = handle;
    scoped_lock(&memory->mutex);

    return memory_find_foreign(memory, name);
}

bool memory_write(void *handle, const char *name_id, int64_t content) {
    struct memory *memory = handle;
    struct memory_volume *volume;
    scoped_lock(&memory->mutex);

    volume = find_object(memory, name_id);
    if (volume)
        volume->content = content;
    return volume != NULL;
}

bool memory_waste(void *handle, const char *name_id, int64_t bytes) {
    struct memory *memory = handle;
    struct memory_volume *volume;
    scoped_lock(&memory->mutex);

    volume = find_object(memory, name_id);
    if (volume)
        volume->waste += bytes;
    return volume != NULL;
}

bool memory_trim(void *handle, const char *name_id) {
    struct memory *memory = handle;
    struct memory_volume *volume;
    scoped_lock(&memory->mutex);

    volume = find_object(memory, name_id);
    if (volume)
        volume->waste = 0;
    return volume != NULL;
}

int64_t memory_read(void *handle, const char *name_id) {
    struct memory *memory = handle;
    const struct memory_volume *volume;
    scoped_lock(&memory->mutex);

    volume = find_object(memory, name_id);
    return volume ? volume->content : -1;
}

int64_t memory_read_snapshot(void *handle, const char *name_id) {
    struct memory *memory = handle;
    const struct memory_volume *snapshot;
    scoped_lock(&memory->mutex);

    snapshot = memory_find_snapshot(memory, name_id);
    return snapshot ? snapshot->content : -1;
}

bool memory_assist(void *handle, const char *name_id) {
    struct memory *memory = handle;
    const struct memory_volume *asked, *volume;
    scoped_lock(&memory->mutex);

    asked = memory_find_request(memory, name_id);
    volume = asked ? find_object(memory, asked->made_as) : NULL;
    if (!volume)
        return false;
    if (asked->deletes)
        memory_take_out_snapshot(memory, name_id);
    else if (!memory_find_snapshot(memory, name_id))
        memory_add_snapshot(memory, name_id, volume);
    return true;
}

static bool may_be_made(struct memory *memory, const char *name_id) {
    const struct memory_volume *asked;
    scoped_lock(&memory->mutex);

    asked = memory_find_request(memory, name_id);
    return asked && !asked->deletes && find_object(memory, asked->made_as);
}

bool memory_assist_all(void *handle, const char (*name_ids)[37], unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (!may_be_made(handle, name_ids[i]))
            return false;
    for (unsigned i = 0; i < count; i++)
        memory_assist(handle, name_ids[i]);
    return true;
}

void memory_defer_snapshots(void *handle, bool defers) {
    struct memory *memory = handle;
    scoped_lock(&memory->mutex);

    memory->defers_snapshots = defers;
}

void memory_hold_connections(void *handle) {
    struct memory *memory = handle;
    scoped_lock(&memory->mutex);

    memory->holds_connections = true;
}

void memory_share_connections(void *handle) {
    struct memory *memory = handle;

    memory_hold_connections(handle);
    scoped_lock(&memory->mutex);
    memory->shares_connections = true;
}

const char *memory_connected_too(void *handle, const char *name_id) {
    struct memory *memory = handle;
    const struct memory_volume *volume;
    scoped_lock(&memory->mutex);

    volume = find_object(memory, name_id);
    return volume && volume->other[0] ? volume->other : NULL;
}

const char *memory_connected(void *handle, const char *name_id) {
    struct memory *memory = handle;
    const struct memory_volume *volume;
    scoped_lock(&memory->mutex);

    volume = find_object(memory, name_id);
    return volume && volume->host[0] ? volume->host : NULL;
}

void memory_watch(void *handle, memory_between *between, void *arg) {
    struct memory *memory = handle;

    memory->between = between;
    memory->between_arg = arg;
}

void memory_fail_next(void *handle, const char *call, enum error_kind kind) {
    struct memory *memory = handle;
    scoped_lock(&memory->mutex);

    memory->failing_call = call;
    memory->failure = kind;
    memory->is_full = false;
}

void memory_fill_before(void *handle, const char *call) {
    struct memory *memory = handle;

    memory_fail_next(handle, call, ERROR_BACKEND);
    scoped_lock(&memory->mutex);
    memory->is_full = true;
}

bool memory_made_as(void *handle, const char *name_id, char *ret, size_t size) {
    struct memory *memory = handle;
    const struct memory_volume *volume;
    scoped_lock(&memory->mutex);

    volume = memory_find(memory, name_id);
    if (volume)
        snprintf(ret, size, "%s", volume->made_as);
    return volume != NULL;
}

size_t memory_count(void *handle) {
    struct memory *memory = handle;
    scoped_lock(&memory->mutex);

    return memory->count;
}

int64_t memory_bytes(void *handle, const char *name_id) {
    struct memory *memory = handle;
    const struct memory_volume *volume;
    scoped_lock(&memory->mutex);

    volume = find_object(memory, name_id);
    return volume ? volume->bytes : -1;
}
