#include "drivers/memory.h"

#include "common/cleanup.h"
#include "drivers/memory.private.h"

#include <assert.h>
#include <search.h>
#include <stdio.h>
#include <string.h>

static int compare(const void *one, const void *other) {
    const struct memory_volume *volume = one;

    return strcmp(volume->name_id, ((const struct memory_volume *)other)->name_id);
}

static struct memory_volume *volume_new(const char *name_id, const char *made_as, int64_t bytes) {
    size_t length = strlen(name_id) + 1, length_as = strlen(made_as) + 1;
    struct memory_volume *volume = malloc(sizeof(*volume) + length + length_as);

    assert(volume);
    volume->bytes = bytes;
    volume->locked = volume->busy = false;
    memcpy(volume->name_id, name_id, length);
    volume->made_as = memcpy(volume->name_id + length, made_as, length_as);
    return volume;
}

struct memory_volume *memory_find(const struct memory *memory, const char *name_id) {
    autofree struct memory_volume *key = volume_new(name_id, "", 0);
    struct memory_volume *const *place = tfind(key, &memory->volumes, compare);

    return place ? *place : NULL;
}

void memory_resize(struct memory *memory, struct memory_volume *volume, int64_t bytes) {
    memory->used_bytes += bytes - volume->bytes;
    volume->bytes = bytes;
}

struct memory_volume *memory_add(struct memory *memory, const char *name_id, const char *made_as,
                                 int64_t bytes) {
    struct memory_volume *volume = volume_new(name_id, made_as, bytes);
    const void *place = tsearch(volume, &memory->volumes, compare);

    assert(place);
    (void)place;
    memory->used_bytes += bytes;
    memory->count++;
    return volume;
}

bool memory_take_out(struct memory *memory, const char *name_id) {
    struct memory_volume *volume = memory_find(memory, name_id);

    if (!volume)
        return false;
    tdelete(volume, &memory->volumes, compare);
    memory_resize(memory, volume, 0);
    memory->count--;
    free(volume);
    return true;
}

struct search {
    const char *made_as;
    struct memory_volume *found;
};

static void compare_first(const void *node, VISIT order, void *arg) {
    struct memory_volume *volume = *(struct memory_volume *const *)node;
    struct search *search = arg;

    if ((order == postorder || order == leaf) && strcmp(volume->made_as, search->made_as) == 0)
        search->found = volume;
}

/* As who has it open finds it: also under the name that it was made with. */
static struct memory_volume *find_object(const struct memory *memory, const char *name_id) {
    struct search search = { name_id, memory_find(memory, name_id) };

    if (!search.found)
        twalk_r(memory->volumes, compare_first, &search);
    return search.found;
}

void *memory_new(const char *pool, int64_t capacity_gb) {
    size_t length = strlen(pool) + 1;
    struct memory *memory = calloc(1, sizeof(*memory) + length);

    assert(memory);
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
    if (!volume || (locked && volume->busy))
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
