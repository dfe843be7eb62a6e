#include "drivers/memory.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "drivers/memory.private.h"

#include <search.h>
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
                                          const struct memory_volume *volume) {
    struct memory_volume *ret =
        add(memory, name_id, volume->made_as, MEMORY_SNAPSHOT, volume->bytes);

    ret->content = volume->content;
    return ret;
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
    const struct memory_volume *found;
};

static void compare_node(const void *node, VISIT order, void *arg) {
    const struct memory_volume *volume = *(struct memory_volume *const *)node;
    struct search *search = arg;

    if ((order == postorder || order == leaf) && volume->kind == MEMORY_SNAPSHOT &&
        strcmp(volume->made_as, search->made_as) == 0)
        search->found = volume;
}

void memory_take_out_snapshots(struct memory *memory, const struct memory_volume *volume) {
    struct search search = { volume->made_as, NULL };

    do {
        search.found = NULL;
        twalk_r(memory->volumes, compare_node, &search);
    } while (search.found && take_out(memory, search.found->name_id, MEMORY_SNAPSHOT));
}

void *memory_new(const char *pool, int64_t capacity_gb) {
    size_t length = strlen(pool) + 1;
    struct memory *memory = heap_new(sizeof(*memory) + length);

    pthread_mutex_init(&memory->mutex, NULL);
    memory->capacity_gb = capacity_gb;
    memcpy(memory->pool, pool, length);
    return memory;
}
