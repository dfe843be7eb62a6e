/*
 * Objects outside the service, beside the volumes of the same handle.
 */
#include "drivers/memory.private.h"

/* `taken`: by an earlier call. */
static int find_source(const struct memory *memory, const struct memory_volume *taken,
                       const char *source_name, const struct memory_volume **ret,
                       struct error *err) {
    *ret = taken;
    if (!*ret)
        *ret = memory_find_foreign(memory, source_name);
    if (!*ret)
        return error_set(err, ERROR_BAD_REQUEST, "There is no object \"%.255s\".", source_name);
    if ((*ret)->kind == MEMORY_FOREIGN && (*ret)->bytes == 0)
        return error_set(err, ERROR_BAD_REQUEST, "The object \"%.255s\" is empty.", source_name);
    if ((*ret)->kind == MEMORY_FOREIGN && (*ret)->locked)
        return error_set(err, ERROR_CONFLICT, "The object \"%.255s\" is open in a running guest.",
                         source_name);
    return 0;
}

int memory_get_manageable(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const char *source_name, int64_t *ret_bytes, struct error *err) {
    struct memory *memory = handle;
    const struct memory_volume *found;
    scoped_lock(&memory->mutex);

    (void)arena;
    if (memory_check_order(memory, "get_manageable", err) < 0 ||
        find_source(memory, memory_find(memory, volume->name_id), source_name, &found, err) < 0)
        return -1;
    *ret_bytes = found->bytes;
    return 0;
}

int memory_manage_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                         const char *source_name, struct driver_created *ret, struct error *err) {
    struct memory *memory = handle;
    const struct memory_volume *found;
    scoped_lock(&memory->mutex);

    if (memory_check_order(memory, "manage_volume", err) < 0 ||
        find_source(memory, memory_find(memory, volume->name_id), source_name, &found, err) < 0)
        return -1;
    if (found->kind == MEMORY_FOREIGN) {
        if (memory_act(memory, "manage_volume", volume->name_id, volume->fence, err) < 0 ||
            find_source(memory, memory_find(memory, volume->name_id), source_name, &found, err) < 0)
            return -1;
        if (found->kind == MEMORY_FOREIGN) {
            memory_add(memory, volume->name_id, volume->name_id, found->bytes)->content =
                found->content;
            memory_remove_foreign(memory, source_name);
        }
    }
    *ret = (struct driver_created){ .provider_location = arena_text(arena, "memory"),
                                    .format = "raw" };
    return 0;
}

int memory_unmanage_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                           struct error *err) {
    const char *name = arena_format(arena, DRIVER_UNMANAGED_PREFIX "%s", volume->id);
    struct memory *memory = handle;
    const struct memory_volume *found;
    scoped_lock(&memory->mutex);

    if (memory_check_order(memory, "unmanage_volume", err) < 0)
        return -1;
    found = memory_find(memory, volume->name_id);
    if (!found)
        return 0;
    if (found->locked)
        return error_set(err, ERROR_BACKEND, "Volume %s is open in a running guest.", volume->id);
    if (memory_act(memory, "unmanage_volume", volume->name_id, volume->fence, err) < 0)
        return -1;
    found = memory_find(memory, volume->name_id); /* another worker may have been faster */
    if (found && memory_find_foreign(memory, name))
        return error_set(err, ERROR_BACKEND, "There is an object %s already.", name);
    if (found) {
        memory_add_foreign(memory, name, found->bytes)->content = found->content;
        memory_take_out(memory, volume->name_id);
    }
    return 0;
}

/* ---- snapshots ---- */

int memory_get_manageable_snapshot(void *handle, struct arena *arena,
                                   const struct driver_volume *volume,
                                   const struct driver_snapshot *snapshot, const char *source_name,
                                   struct driver_candidate *ret, struct error *err) {
    struct memory *memory = handle;
    const struct memory_volume *taken, *found;
    struct memory_volume *of;
    scoped_lock(&memory->mutex);

    (void)arena;
    if (memory_check_order(memory, "get_manageable_snapshot", err) < 0 ||
        memory_demand(memory, volume->name_id, false, &of, err) < 0)
        return -1;
    taken = memory_find_snapshot(memory, snapshot->name_id);
    if (find_source(memory, taken, source_name, &found, err) < 0)
        return -1;
    *ret = (struct driver_candidate){ .source_name = source_name, .bytes = found->bytes };
    return 0;
}

int memory_manage_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                           const struct driver_snapshot *snapshot,
                           const struct driver_candidate *source, struct driver_created *ret,
                           struct error *err) {
    struct memory *memory = handle;
    const struct memory_volume *found;
    scoped_lock(&memory->mutex);

    (void)volume;
    if (memory_check_order(memory, "manage_snapshot", err) < 0)
        return -1;
    if (!memory_find_snapshot(memory, snapshot->name_id)) {
        if (find_source(memory, NULL, source->source_name, &found, err) < 0 ||
            memory_act(memory, "manage_snapshot", snapshot->name_id, snapshot->fence, err) < 0 ||
            find_source(memory, memory_find_snapshot(memory, snapshot->name_id),
                        source->source_name, &found, err) < 0)
            return -1;
        if (found->kind == MEMORY_FOREIGN) {
            memory_add_snapshot(memory, snapshot->name_id, found);
            memory_remove_foreign(memory, source->source_name);
        }
    }
    *ret = (struct driver_created){ .provider_location = arena_text(arena, "memory"),
                                    .format = "raw" };
    return 0;
}

int memory_unmanage_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                             const struct driver_snapshot *snapshot, struct error *err) {
    const char *name = arena_format(arena, DRIVER_UNMANAGED_PREFIX "%s", snapshot->name_id);
    struct memory *memory = handle;
    const struct memory_volume *found;
    scoped_lock(&memory->mutex);

    (void)volume;
    if (memory_check_order(memory, "unmanage_snapshot", err) < 0)
        return -1;
    if (!memory_find_snapshot(memory, snapshot->name_id))
        return 0;
    if (memory_act(memory, "unmanage_snapshot", snapshot->name_id, snapshot->fence, err) < 0)
        return -1;
    found = memory_find_snapshot(memory, snapshot->name_id);
    if (found && memory_find_foreign(memory, name))
        return error_set(err, ERROR_BACKEND, "There is an object %s already.", name);
    if (found) {
        memory_add_foreign(memory, name, found->bytes)->content = found->content;
        memory_take_out_snapshot(memory, snapshot->name_id);
    }
    return 0;
}

/* ---- list ---- */

struct telling {
    enum memory_kind kind;
    void (*found)(void *arg, const struct driver_candidate *candidate);
    void *arg;
};

static void report(void *arg, const char *name, int64_t bytes) {
    const struct telling *telling = arg;
    bool is_foreign = telling->kind == MEMORY_FOREIGN;
    const struct driver_candidate candidate = {
        .source_name = name,
        .name_id = is_foreign ? NULL : name,
        .bytes = is_foreign ? bytes : -1, /* like storage that opens no image to report it */
        .refusal = !is_foreign  ? "is the service's"
                   : bytes == 0 ? "is empty"
                                : NULL,
    };

    telling->found(telling->arg, &candidate);
}

static int list(struct memory *memory, const char *call, enum memory_kind kind,
                void (*found)(void *arg, const struct driver_candidate *candidate), void *arg,
                struct error *err) {
    struct telling ours = { kind, found, arg }, foreign = { MEMORY_FOREIGN, found, arg };
    scoped_lock(&memory->mutex);

    if (memory_check_order(memory, call, err) < 0)
        return -1;
    memory_visit(memory, kind, report, &ours);
    memory_visit(memory, MEMORY_FOREIGN, report, &foreign);
    return 0;
}

int memory_list_manageable(void *handle, struct arena *arena, const char *pool,
                           void (*found)(void *arg, const struct driver_candidate *candidate),
                           void *arg, struct error *err) {
    (void)arena;
    (void)pool;
    return list(handle, "list_manageable", MEMORY_VOLUME, found, arg, err);
}

int memory_list_manageable_snapshots(void *handle, struct arena *arena, const char *pool,
                                     void (*found)(void *arg,
                                                   const struct driver_candidate *candidate),
                                     void *arg, struct error *err) {
    (void)arena;
    (void)pool;
    return list(handle, "list_manageable_snapshots", MEMORY_SNAPSHOT, found, arg, err);
}
