#include "drivers/memory.private.h"

#include <string.h>

static const char created_format[] = "raw";

static struct driver_created describe(struct arena *arena) {
    return (struct driver_created){ .provider_location = arena_text(arena, "memory"),
                                    .format = created_format };
}

/* A guest has it, and the storage cannot take a moment below a guest. */
static bool must_defer(const struct memory *memory, const struct driver_volume *volume,
                       const struct memory_volume *found) {
    return (volume->attached || found->locked) && memory->defers_snapshots;
}

/* ---- snapshots ---- */

enum driver_outcome memory_create_snapshot(void *handle, struct arena *arena,
                                           const struct driver_volume *volume,
                                           const struct driver_snapshot *snapshot,
                                           const struct driver_progress *progress,
                                           struct driver_created *ret, struct error *err) {
    struct memory *memory = handle;
    struct memory_volume *source;

    if (driver_fence_check(snapshot->fence, err) < 0 ||
        driver_progress_report(progress, 0, volume->size_gb * GIB, err) < 0)
        return DRIVER_FAILED;
    scoped_lock(&memory->mutex);
    if (memory_check_order(memory, "create_snapshot", err) < 0)
        return DRIVER_FAILED;
    if (!memory_find_snapshot(memory, snapshot->name_id)) {
        if (memory_demand(memory, volume->name_id, false, &source, err) < 0)
            return DRIVER_FAILED;
        if (must_defer(memory, volume, source))
            return DRIVER_DEFERRED;
        if (memory_act(memory, "create_snapshot", snapshot->name_id, snapshot->fence, err) < 0 ||
            memory_demand(memory, volume->name_id, false, &source, err) < 0)
            return DRIVER_FAILED;
        /* The moment is when no other call can come between; another worker may have been faster
         * meanwhile. */
        if (!memory_find_snapshot(memory, snapshot->name_id))
            memory_add_snapshot(memory, snapshot->name_id, source);
    }
    *ret = describe(arena);
    return DRIVER_DONE;
}

enum driver_outcome memory_delete_snapshot(void *handle, struct arena *arena,
                                           const struct driver_volume *volume,
                                           const struct driver_snapshot *snapshot,
                                           const struct driver_progress *progress,
                                           struct error *err) {
    struct memory *memory = handle;
    const struct memory_volume *above, *found;

    (void)arena;
    if (driver_fence_check(snapshot->fence, err) < 0 ||
        driver_progress_report(progress, 0, snapshot->size_gb * GIB, err) < 0)
        return DRIVER_FAILED;
    scoped_lock(&memory->mutex);
    if (memory_check_order(memory, "delete_snapshot", err) < 0)
        return DRIVER_FAILED;
    found = memory_find_snapshot(memory, snapshot->name_id);
    if (!found) {
        memory_remove_request(memory, snapshot->name_id);
        return DRIVER_DONE;
    }
    above = memory_find(memory, volume->name_id);
    if (above && must_defer(memory, volume, above))
        return DRIVER_DEFERRED;
    if (snapshot->with_volume && memory->defers_snapshots && above &&
        strcmp(found->made_as, above->made_as) == 0)
        return DRIVER_WITH_VOLUME;
    if (memory_act(memory, "delete_snapshot", snapshot->name_id, snapshot->fence, err) < 0)
        return DRIVER_FAILED;
    memory_take_out_snapshot(memory, snapshot->name_id);
    return DRIVER_DONE;
}

/* ---- assisted work of a guest's host ---- */

int memory_prepare_assist(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const struct driver_snapshot *snapshot, bool deletes,
                          struct driver_assist *ret, struct error *err) {
    struct memory *memory = handle;
    struct memory_volume *found;
    scoped_lock(&memory->mutex);

    if (memory_check_order(memory, "prepare_assist", err) < 0 ||
        memory_act(memory, "prepare_assist", snapshot->name_id, snapshot->fence, err) < 0 ||
        memory_demand(memory, volume->name_id, false, &found, err) < 0)
        return -1;
    if (deletes && !memory_find_snapshot(memory, snapshot->name_id))
        return 1;
    memory_add_request(memory, snapshot->name_id, found->made_as, deletes);
    *ret = (struct driver_assist){ 0 };
    if (deletes)
        ret->file_to_merge = arena_text(arena, snapshot->name_id);
    else
        ret->new_file = arena_text(arena, snapshot->name_id);
    return 0;
}

/* The host has done it, or has not: the report adds nothing. */
int memory_complete_assist(void *handle, struct arena *arena, const struct driver_volume *volume,
                           const struct driver_snapshot *snapshot, bool deletes,
                           enum driver_reported told, struct driver_created *ret,
                           struct error *err) {
    struct memory *memory = handle;
    scoped_lock(&memory->mutex);

    (void)volume;
    (void)told;
    if (memory_check_order(memory, "complete_assist", err) < 0 ||
        memory_act(memory, "complete_assist", snapshot->name_id, snapshot->fence, err) < 0)
        return -1;
    memory_remove_request(memory, snapshot->name_id);
    *ret = describe(arena);
    return !memory_find_snapshot(memory, snapshot->name_id) == deletes;
}

int memory_list_snapshots(void *handle, struct arena *arena,
                          void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                          struct error *err) {
    struct memory *memory = handle;
    scoped_lock(&memory->mutex);

    (void)arena;
    if (memory_check_order(memory, "list_snapshots", err) < 0)
        return -1;
    memory_visit(memory, MEMORY_SNAPSHOT, found, arg);
    return 0;
}

/* ---- clones ---- */

/* The source of a clone: a volume or a snapshot. */
struct source {
    const char *call;
    const char *name_id;
    bool snapshot;
    int64_t size_gb;
    const struct driver_volume *volume; /* NULL of a snapshot */
};

static int make_clone(struct memory *memory, const struct driver_volume *volume,
                      const struct source *source, struct error *err) {
    int64_t bytes = volume->size_gb * GIB;
    struct memory_volume *from;

    if (memory_demand(memory, source->name_id, source->snapshot, &from, err) < 0)
        return -1;
    if (source->volume && must_defer(memory, source->volume, from))
        return error_set(err, ERROR_CONFLICT, "Volume %s is in use.", source->name_id);
    if (memory_act(memory, source->call, volume->name_id, volume->fence, err) < 0 ||
        memory_demand(memory, source->name_id, source->snapshot, &from, err) < 0)
        return -1;
    if (memory_find(memory, volume->name_id)) /* another worker was faster meanwhile */
        return 0;
    if (bytes < from->bytes)
        bytes = from->bytes;
    memory_add(memory, volume->name_id, volume->name_id, bytes)->content = from->content;
    return 0;
}

static int make_or_accept(struct memory *memory, struct arena *arena,
                          const struct driver_volume *volume, const struct source *source,
                          const struct driver_progress *progress, struct driver_created *ret,
                          struct error *err) {
    if (driver_fence_check(volume->fence, err) < 0 ||
        driver_progress_report(progress, 0, volume->size_gb * GIB, err) < 0)
        return -1;
    if (volume->size_gb < source->size_gb)
        return error_set(err, ERROR_BAD_REQUEST, "Volume %s would be smaller than its source.",
                         volume->id);
    scoped_lock(&memory->mutex);
    if (memory_check_order(memory, source->call, err) < 0)
        return -1;
    if (!memory_find(memory, volume->name_id) && make_clone(memory, volume, source, err) < 0)
        return -1;
    *ret = describe(arena);
    return 0;
}

int memory_clone_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                        const struct driver_volume *source, const struct driver_progress *progress,
                        struct driver_created *ret, struct error *err) {
    const struct source from = { "clone_volume", source->name_id, false, source->size_gb, source };

    return make_or_accept(handle, arena, volume, &from, progress, ret, err);
}

int memory_clone_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const struct driver_snapshot *source,
                          const struct driver_progress *progress, struct driver_created *ret,
                          struct error *err) {
    const struct source from = { "clone_snapshot", source->name_id, true, source->size_gb, NULL };

    return make_or_accept(handle, arena, volume, &from, progress, ret, err);
}

/* ---- revert ---- */

static int check_unused(const struct driver_volume *volume, const struct memory_volume *found,
                        struct error *err) {
    if (volume->attached || found->locked)
        return error_set(err, ERROR_BACKEND, "Volume %s is in use.", volume->name_id);
    return 0;
}

int memory_revert_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const struct driver_snapshot *snapshot,
                         const struct driver_progress *progress, struct error *err) {
    struct memory *memory = handle;
    struct memory_volume *found, *source;

    (void)arena;
    if (driver_fence_check(volume->fence, err) < 0 ||
        driver_progress_report(progress, 0, snapshot->size_gb * GIB, err) < 0)
        return -1;
    scoped_lock(&memory->mutex);
    if (memory_check_order(memory, "revert_volume", err) < 0 ||
        memory_demand(memory, volume->name_id, false, &found, err) < 0 ||
        check_unused(volume, found, err) < 0 ||
        memory_act(memory, "revert_volume", volume->name_id, volume->fence, err) < 0 ||
        memory_demand(memory, volume->name_id, false, &found, err) < 0 ||
        memory_demand(memory, snapshot->name_id, true, &source, err) < 0 ||
        check_unused(volume, found, err) < 0)
        return -1;
    memory_resize(memory, found, source->bytes);
    found->content = source->content;
    return 0;
}

/* ---- unused space ---- */

/* A non-empty object has as many bytes as its number. */
int memory_get_usage(void *handle, struct arena *arena, const struct driver_volume *volume,
                     int64_t *ret_bytes, struct error *err) {
    struct memory *memory = handle;
    struct memory_volume *found;
    scoped_lock(&memory->mutex);

    (void)arena;
    if (memory_check_order(memory, "get_usage", err) < 0 ||
        memory_demand(memory, volume->name_id, false, &found, err) < 0)
        return -1;
    *ret_bytes = found->content + found->waste;
    return 0;
}

int memory_reclaim_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const struct driver_progress *progress, int64_t *ret_before,
                          struct error *err) {
    struct memory *memory = handle;
    struct memory_volume *found;
    int allowed;

    (void)arena, (void)ret_before;
    if (driver_fence_check(volume->fence, err) < 0 ||
        driver_progress_report(progress, 0, volume->size_gb * GIB, err) < 0)
        return -1;
    scoped_lock(&memory->mutex);
    if (memory_check_order(memory, "reclaim_volume", err) < 0 ||
        memory_demand(memory, volume->name_id, false, &found, err) < 0)
        return -1;
    if (volume->attached || found->locked)
        return error_set(err, ERROR_CONFLICT, "Volume %s is open in a running guest.",
                         volume->name_id);
    found->busy = true; /* no guest opens it meanwhile */
    allowed = memory_act(memory, "reclaim_volume", volume->name_id, volume->fence, err);
    if (memory_demand(memory, volume->name_id, false, &found, err) < 0)
        return -1;
    found->busy = false;
    if (allowed == 0)
        found->waste = 0;
    return allowed;
}
