#include "drivers/memory.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "drivers/memory.private.h"

#include <search.h>
#include <stdio.h>
#include <string.h>

static int compare(const void *one, const void *other) {
    const struct memory_volume *left = one, *right = other;

    if (left->kind != right->kind)
        return left->kind > right->kind ? 1 : -1;
    return strcmp(left->name_id, right->name_id);
}

static struct memory_volume *volume_new(const char *name_id, const char *made_as,
                                        enum memory_kind kind) {
    size_t length = strlen(name_id) + 1, length_as = strlen(made_as) + 1;
    struct memory_volume *volume = heap_new(sizeof(*volume) + length + length_as);

    volume->kind = kind;
    memcpy(volume->name_id, name_id, length);
    volume->made_as = memcpy(volume->name_id + length, made_as, length_as);
    return volume;
}

static struct memory_volume *memory_volume_find(const struct memory *memory, const char *name_id,
                                                enum memory_kind kind) {
    autofree struct memory_volume *key = volume_new(name_id, "", kind);
    struct memory_volume *const *place = tfind(key, &memory->volumes, compare);

    return place ? *place : NULL;
}

struct memory_volume *memory_find(const struct memory *memory, const char *name_id) {
    return memory_volume_find(memory, name_id, MEMORY_VOLUME);
}

struct memory_volume *memory_find_snapshot(const struct memory *memory, const char *name_id) {
    return memory_volume_find(memory, name_id, MEMORY_SNAPSHOT);
}

struct memory_volume *memory_find_foreign(const struct memory *memory, const char *name) {
    return memory_volume_find(memory, name, MEMORY_FOREIGN);
}

int memory_demand(const struct memory *memory, const char *name_id, bool snapshot,
                  struct memory_volume **ret, struct error *err) {
    *ret = memory_volume_find(memory, name_id, snapshot ? MEMORY_SNAPSHOT : MEMORY_VOLUME);
    if (!*ret)
        return error_set(err, ERROR_NOT_FOUND, "There is no %s %s.",
                         snapshot ? "snapshot" : "volume", name_id);
    return 0;
}

void memory_resize(struct memory *memory, struct memory_volume *volume, int64_t bytes) {
    if (volume->kind == MEMORY_VOLUME)
        memory->used_bytes += bytes - volume->bytes;
    volume->bytes = bytes;
}

static struct memory_volume *add(struct memory *memory, const char *name_id, const char *made_as,
                                 enum memory_kind kind, int64_t bytes) {
    struct memory_volume *volume = volume_new(name_id, made_as, kind);
    const void *place = tsearch(volume, &memory->volumes, compare);

    assert(place);
    (void)place;
    memory_resize(memory, volume, bytes);
    memory->count += kind == MEMORY_VOLUME;
    return volume;
}

struct memory_volume *memory_add(struct memory *memory, const char *name_id, const char *made_as,
                                 int64_t bytes) {
    return add(memory, name_id, made_as, MEMORY_VOLUME, bytes);
}

struct memory_volume *memory_add_snapshot(struct memory *memory, const char *name_id,
                                          int64_t bytes) {
    return add(memory, name_id, name_id, MEMORY_SNAPSHOT, bytes);
}

struct memory_volume *memory_add_foreign(struct memory *memory, const char *name, int64_t bytes) {
    return add(memory, name, name, MEMORY_FOREIGN, bytes);
}

static bool take_out(struct memory *memory, const char *name_id, enum memory_kind kind) {
    struct memory_volume *volume = memory_volume_find(memory, name_id, kind);

    if (!volume)
        return false;
    tdelete(volume, &memory->volumes, compare);
    memory_resize(memory, volume, 0);
    memory->count -= kind == MEMORY_VOLUME;
    free(volume);
    return true;
}

bool memory_take_out(struct memory *memory, const char *name_id) {
    return take_out(memory, name_id, MEMORY_VOLUME);
}

void memory_take_out_snapshot(struct memory *memory, const char *name_id) {
    take_out(memory, name_id, MEMORY_SNAPSHOT);
}

void memory_remove_foreign(struct memory *memory, const char *name) {
    take_out(memory, name, MEMORY_FOREIGN);
}

struct memory_volume *memory_find_request(const struct memory *memory, const char *name_id) {
    return memory_volume_find(memory, name_id, MEMORY_REQUEST);
}

void memory_remove_request(struct memory *memory, const char *name_id) {
    take_out(memory, name_id, MEMORY_REQUEST);
}

/* The last request counts. */
void memory_add_request(struct memory *memory, const char *name_id, const char *volume,
                        bool deletes) {
    memory_remove_request(memory, name_id);
    add(memory, name_id, volume, MEMORY_REQUEST, 0)->deletes = deletes;
}

struct visit {
    enum memory_kind kind;
    void (*found)(void *arg, const char *name_id, int64_t bytes);
    void *arg;
};

static void visit_node(const void *node, VISIT order, void *arg) {
    const struct memory_volume *volume = *(struct memory_volume *const *)node;
    const struct visit *visit = arg;

    if ((order == postorder || order == leaf) && volume->kind == visit->kind)
        visit->found(visit->arg, volume->name_id, volume->bytes);
}

void memory_visit(const struct memory *memory, enum memory_kind kind,
                  void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg) {
    struct visit visit = { kind, found, arg };

    twalk_r(memory->volumes, visit_node, &visit);
}

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

void *memory_new(const char *pool, int64_t capacity_gb) {
    size_t length = strlen(pool) + 1;
    struct memory *memory = heap_new(sizeof(*memory) + length);

    pthread_mutex_init(&memory->mutex, NULL);
    memory->capacity_gb = capacity_gb;
    memcpy(memory->pool, pool, length);
    return memory;
}

bool memory_lock(void *handle, const char *name_id, bool locked) {
    struct memory *memory = handle;
    struct memory_volume *volume;
    HOLD(memory);

    volume = find_object(memory, name_id);
    if (!volume || (locked && (volume->busy || volume->readers != 0)))
        return false;
    volume->locked = locked;
    return true;
}

bool memory_grow(void *handle, const char *name_id, int64_t bytes) {
    struct memory *memory = handle;
    struct memory_volume *volume;
    HOLD(memory);

    volume = find_object(memory, name_id);
    if (volume)
        memory_resize(memory, volume, bytes);
    return volume != NULL;
}

bool memory_remove(void *handle, const char *name_id) {
    struct memory *memory = handle;
    const struct memory_volume *volume;
    HOLD(memory);

    volume = find_object(memory, name_id);
    return volume && memory_take_out(memory, volume->name_id);
}

bool memory_take(void *handle, const char *name) {
    struct memory *memory = handle;
    HOLD(memory);

    if (!memory_find_foreign(memory, name))
        return false;
    memory_remove_foreign(memory, name);
    return true;
}

bool memory_lock_foreign(void *handle, const char *name, bool locked) {
    struct memory *memory = handle;
    struct memory_volume *foreign;
    HOLD(memory);

    foreign = memory_find_foreign(memory, name);
    if (foreign)
        foreign->locked = locked;
    return foreign;
}

bool memory_put(void *handle, const char *name, int64_t bytes, int64_t content) {
    struct memory *memory = handle;
    HOLD(memory);

    if (memory_find_foreign(memory, name))
        return false;
    memory_add_foreign(memory, name, bytes)->content = content;
    return true;
}

bool memory_has(void *handle, const char *name) {
    struct memory *memory = handle;
    HOLD(memory);

    return memory_find_foreign(memory, name);
}

bool memory_write(void *handle, const char *name_id, int64_t content) {
    struct memory *memory = handle;
    struct memory_volume *volume;
    HOLD(memory);

    volume = find_object(memory, name_id);
    if (volume)
        volume->content = content;
    return volume != NULL;
}

bool memory_waste(void *handle, const char *name_id, int64_t bytes) {
    struct memory *memory = handle;
    struct memory_volume *volume;
    HOLD(memory);

    volume = find_object(memory, name_id);
    if (volume)
        volume->waste += bytes;
    return volume != NULL;
}

bool memory_trim(void *handle, const char *name_id) {
    struct memory *memory = handle;
    struct memory_volume *volume;
    HOLD(memory);

    volume = find_object(memory, name_id);
    if (volume)
        volume->waste = 0;
    return volume != NULL;
}

int64_t memory_read(void *handle, const char *name_id) {
    struct memory *memory = handle;
    const struct memory_volume *volume;
    HOLD(memory);

    volume = find_object(memory, name_id);
    return volume ? volume->content : -1;
}

int64_t memory_read_snapshot(void *handle, const char *name_id) {
    struct memory *memory = handle;
    const struct memory_volume *snapshot;
    HOLD(memory);

    snapshot = memory_find_snapshot(memory, name_id);
    return snapshot ? snapshot->content : -1;
}

bool memory_assist(void *handle, const char *name_id) {
    struct memory *memory = handle;
    const struct memory_volume *asked, *volume;
    HOLD(memory);

    asked = memory_find_request(memory, name_id);
    volume = asked ? find_object(memory, asked->made_as) : NULL;
    if (!volume)
        return false;
    if (asked->deletes)
        memory_take_out_snapshot(memory, name_id);
    else if (!memory_find_snapshot(memory, name_id))
        memory_add_snapshot(memory, name_id, volume->bytes)->content = volume->content;
    return true;
}

static bool may_be_made(struct memory *memory, const char *name_id) {
    const struct memory_volume *asked;
    HOLD(memory);

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
    HOLD(memory);

    memory->defers_snapshots = defers;
}

void memory_hold_connections(void *handle) {
    struct memory *memory = handle;
    HOLD(memory);

    memory->holds_connections = true;
}

void memory_share_connections(void *handle) {
    struct memory *memory = handle;

    memory_hold_connections(handle);
    HOLD(memory);
    memory->shares_connections = true;
}

const char *memory_connected_too(void *handle, const char *name_id) {
    struct memory *memory = handle;
    const struct memory_volume *volume;
    HOLD(memory);

    volume = find_object(memory, name_id);
    return volume && volume->other[0] ? volume->other : NULL;
}

const char *memory_connected(void *handle, const char *name_id) {
    struct memory *memory = handle;
    const struct memory_volume *volume;
    HOLD(memory);

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
    HOLD(memory);

    memory->failing_call = call;
    memory->failure = kind;
    memory->is_full = false;
}

void memory_fill_before(void *handle, const char *call) {
    struct memory *memory = handle;

    memory_fail_next(handle, call, ERROR_BACKEND);
    HOLD(memory);
    memory->is_full = true;
}

bool memory_made_as(void *handle, const char *name_id, char *ret, size_t size) {
    struct memory *memory = handle;
    const struct memory_volume *volume;
    HOLD(memory);

    volume = memory_find(memory, name_id);
    if (volume)
        snprintf(ret, size, "%s", volume->made_as);
    return volume != NULL;
}

size_t memory_count(void *handle) {
    struct memory *memory = handle;
    HOLD(memory);

    return memory->count;
}

int64_t memory_bytes(void *handle, const char *name_id) {
    struct memory *memory = handle;
    const struct memory_volume *volume;
    HOLD(memory);

    volume = find_object(memory, name_id);
    return volume ? volume->bytes : -1;
}
