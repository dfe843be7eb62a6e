#include "drivers/memory.h"

#include "common/words.h"
#include "data/volume_io.h"
#include "drivers/memory.private.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct option own_options[] = {
    { .section = OPTION_BACKEND, .key = "memory_capacity_gb", .type = OPTION_INT, .fallback = "1000000", .min = 0, .max = INT64_MAX / GIB,
      .help = "Capacity in GiB that a backend with the driver memory reports." },
    OPTIONS_END
};
/* clang-format on */

static const struct option *const memory_options[] = { own_options, NULL };

int memory_check_order(struct memory *memory, const char *call, struct error *err) {
    if (!memory->failing_call || strcmp(memory->failing_call, call) != 0)
        return 0;
    memory->failing_call = NULL;
    return memory->is_full ? error_set(err, ERROR_BACKEND, "The pool has no space.")
                           : error_set(err, memory->failure, "Injected failure of %s.", call);
}

static int pause_at(const struct memory *memory, enum memory_point point, const char *call,
                    const char *name_id, struct error *err) {
    if (!memory->between || memory->between(memory->between_arg, point, call, name_id))
        return 0;
    return error_set(err, ERROR_BACKEND, "The process died in %s.", call);
}

int memory_act(struct memory *memory, const char *call, const char *name_id,
               const struct driver_fence *fence, struct error *err) {
    int allowed;

    pthread_mutex_unlock(&memory->mutex);
    allowed = pause_at(memory, MEMORY_LOOKED, call, name_id, err);
    if (allowed == 0)
        allowed = driver_fence_check(fence, err);
    if (allowed == 0)
        allowed = pause_at(memory, MEMORY_FENCED, call, name_id, err);
    pthread_mutex_lock(&memory->mutex);
    return allowed;
}

static int act(struct memory *memory, const char *call, const struct driver_volume *volume,
               struct error *err) {
    return memory_act(memory, call, volume->name_id, volume->fence, err);
}

static int memory_open(const struct driver_backend *backend, void **ret_handle, struct error *err) {
    const char *pool = config_text(backend->config, backend->name, "volume_backend_name");

    (void)err;
    *ret_handle = memory_new(pool ? pool : backend->name,
                             config_int(backend->config, backend->name, "memory_capacity_gb"));
    return 0;
}

static void memory_close(void *handle) {
    struct memory *memory = handle;

    tdestroy(memory->volumes, free);
    pthread_mutex_destroy(&memory->mutex);
    free(memory);
}

static int memory_get_pools(void *handle, struct arena *arena, struct driver_pool **ret,
                            struct error *err) {
    struct memory *memory = handle;
    struct driver_pool *pool = arena_alloc(arena, sizeof(*pool));
    scoped_lock(&memory->mutex);

    if (memory_check_order(memory, "get_pools", err) < 0)
        return -1;
    *pool = (struct driver_pool){
        .name = memory->pool,
        .total_gb = (double)memory->capacity_gb,
        .free_gb = (double)memory->capacity_gb - (double)memory->used_bytes / (double)GIB,
        .capabilities = driver_capabilities(driver_supported(&memory_driver)),
    };
    json_object_set_new(pool->capabilities, POOL_ENDS_CONNECTIONS,
                        json_boolean(memory->holds_connections));
    json_object_set_new(pool->capabilities, POOL_MOVES_INSTANCES,
                        json_boolean(memory->shares_connections));
    *ret = pool;
    return 1;
}

/* The last byte that is not zero stands for the content. */
static int read_content(const struct driver_content *content, int64_t *ret, struct error *err) {
    autovolumeio struct volume_io *io = NULL;
    unsigned char bytes[4096];

    if (content->open(content->arg, &io, err) < 0)
        return -1;
    for (int64_t at = 0; at < io->size; at += (int64_t)sizeof(bytes)) {
        int64_t left = io->size - at;
        size_t size = left < (int64_t)sizeof(bytes) ? (size_t)left : sizeof(bytes);

        if (driver_progress_report(content->progress, at, io->size, err) < 0 ||
            volume_io_read(io, bytes, size, at, err) < 0)
            return -1;
        for (size_t i = 0; i < size; i++)
            *ret = bytes[i] ? bytes[i] : *ret;
    }
    return 0;
}

static bool is_made(struct memory *memory, const struct driver_volume *volume) {
    scoped_lock(&memory->mutex);
    return memory_find(memory, volume->name_id) != NULL;
}

static int memory_create_volume(void *handle, struct arena *arena,
                                const struct driver_volume *volume, struct driver_created *ret,
                                struct error *err) {
    struct memory *memory = handle;
    const struct memory_volume *made;
    int64_t content = 0;

    *ret = (struct driver_created){ .tried = "memory" };
    if (driver_fence_check(volume->fence, err) < 0 ||
        (volume->content && !is_made(memory, volume) &&
         read_content(volume->content, &content, err) < 0))
        return -1;
    scoped_lock(&memory->mutex);
    if (memory_check_order(memory, "create_volume", err) < 0)
        return -1;
    made = memory_find(memory, volume->name_id);
    if (made && made->bytes != volume->size_gb * GIB)
        return error_set(err, ERROR_BACKEND, "Volume %s exists already with another size.",
                         volume->name_id);
    if (!made) {
        if (act(memory, "create_volume", volume, err) < 0)
            return -1;
        if (!memory_find(memory,
                         volume->name_id)) /* another worker may have been faster meanwhile */
            memory_add(memory, volume->name_id, volume->name_id, volume->size_gb * GIB)->content =
                content;
    }
    *ret = (struct driver_created){ .provider_location = arena_text(arena, "memory"),
                                    .format = "raw" };
    return 0;
}

static int memory_delete_volume(void *handle, struct arena *arena,
                                const struct driver_volume *volume, struct error *err) {
    struct memory *memory = handle;
    const struct memory_volume *found;

    (void)arena;
    if (driver_fence_check(volume->fence, err) < 0)
        return -1;
    scoped_lock(&memory->mutex);
    if (memory_check_order(memory, "delete_volume", err) < 0)
        return -1;
    if (!memory_find(memory, volume->name_id))
        return 0;
    if (act(memory, "delete_volume", volume, err) < 0)
        return -1;
    found = memory_find(memory, volume->name_id);
    if (found && memory->defers_snapshots)
        memory_take_out_snapshots(memory, found);
    memory_take_out(memory, volume->name_id);
    return 0;
}

static int memory_rename_volume(void *handle, struct arena *arena,
                                const struct driver_volume *volume, const char *new_name_id,
                                struct error *err) {
    struct memory *memory = handle;
    const struct memory_volume *found;

    if (driver_fence_check(volume->fence, err) < 0)
        return -1;
    scoped_lock(&memory->mutex);
    if (memory_check_order(memory, "rename_volume", err) < 0)
        return -1;
    if (memory_find(memory, volume->name_id) && act(memory, "rename_volume", volume, err) < 0)
        return -1;
    found =
        memory_find(memory, volume->name_id); /* another worker may have been faster meanwhile */
    if (found && found == memory_find(memory, new_name_id))
        return 0;
    if (found && memory_find(memory, new_name_id))
        return error_set(err, ERROR_BACKEND, "Volume %s exists already.", new_name_id);
    if (found) {
        struct memory_volume *renamed =
            memory_add(memory, new_name_id, found->made_as, found->bytes);

        renamed->locked = found->locked;
        renamed->content = found->content;
        renamed->waste = found->waste;
        memory_take_out(memory, volume->name_id);
    }
    (void)arena;
    return 0;
}

static enum driver_outcome memory_extend_volume(void *handle, struct arena *arena,
                                                const struct driver_volume *volume, int64_t new_gb,
                                                struct error *err) {
    struct memory *memory = handle;
    struct memory_volume *found;
    int allowed;

    (void)arena;
    if (driver_fence_check(volume->fence, err) < 0)
        return DRIVER_FAILED;
    scoped_lock(&memory->mutex);
    if (memory_check_order(memory, "extend_volume", err) < 0 ||
        memory_demand(memory, volume->name_id, false, &found, err) < 0)
        return DRIVER_FAILED;
    if (found->bytes >= new_gb * GIB)
        return DRIVER_DONE;
    if ((double)memory->used_bytes + (double)(new_gb * GIB - found->bytes) >
        (double)memory->capacity_gb * (double)GIB)
        return error_set(err, ERROR_BACKEND, "The pool has no space.");
    if (found->locked || found->busy || found->readers != 0)
        return DRIVER_DEFERRED;
    found->busy = true; /* the image's lock, which is released on every path */
    allowed = act(memory, "extend_volume", volume, err);
    if (memory_demand(memory, volume->name_id, false, &found, err) < 0)
        return DRIVER_FAILED;
    found->busy = false;
    if (allowed < 0)
        return DRIVER_FAILED;
    if (found->bytes < new_gb * GIB)
        memory_resize(memory, found, new_gb * GIB);
    return DRIVER_DONE;
}

static int memory_get_size(void *handle, struct arena *arena, const struct driver_volume *volume,
                           int64_t *ret_bytes, struct error *err) {
    struct memory *memory = handle;
    struct memory_volume *found;
    scoped_lock(&memory->mutex);

    (void)arena;
    if (memory_check_order(memory, "get_size", err) < 0 ||
        memory_demand(memory, volume->name_id, false, &found, err) < 0)
        return -1;
    *ret_bytes = found->bytes;
    return 0;
}

static int memory_connect(void *handle, struct arena *arena, const struct driver_volume *volume,
                          const json_t *connector, json_t **ret, struct error *err) {
    const char *host = json_string_value(json_object_get(connector, "host"));
    struct memory *memory = handle;
    struct memory_volume *found;
    bool first;
    scoped_lock(&memory->mutex);

    if (memory_check_order(memory, "connect", err) < 0 ||
        memory_demand(memory, volume->name_id, false, &found, err) < 0)
        return -1;
    if (memory->holds_connections) {
        first = !found->host[0] || strcmp(found->host, host) == 0;
        if (!first &&
            !(memory->shares_connections && (words_list_has(volume->hosts, found->host) ||
                                             words_list_has(volume->hosts, found->other))))
            return error_set(err, ERROR_CONFLICT, "The volume is connected to another host.");
        snprintf(first ? found->host : found->other, sizeof found->host, "%s", host);
    }
    *ret = json_pack("{s:s, s:{s:s, s:s, s:s}}", "driver_volume_type", "local", "data",
                     "device_path", arena_format(arena, "memory:%s", volume->name_id), "name",
                     volume->name_id, "format", "raw");
    return 0;
}

static int memory_disconnect(void *handle, struct arena *arena, const struct driver_volume *volume,
                             struct error *err) {
    struct memory *memory = handle;
    struct memory_volume *found;
    scoped_lock(&memory->mutex);

    (void)arena;
    if (memory_check_order(memory, "disconnect", err) < 0 ||
        act(memory, "disconnect", volume, err) < 0)
        return -1;
    found = memory_find(memory, volume->name_id);
    if (found && !words_list_has(volume->hosts, found->other))
        found->other[0] = '\0';
    if (found && (!volume->hosts || !*volume->hosts))
        found->host[0] = '\0';
    return 0;
}

static int memory_list_volumes(void *handle, struct arena *arena,
                               void (*found)(void *arg, const char *name_id, int64_t bytes),
                               void *arg, struct error *err) {
    struct memory *memory = handle;
    scoped_lock(&memory->mutex);

    (void)arena;
    if (memory_check_order(memory, "list_volumes", err) < 0)
        return -1;
    memory_visit(memory, MEMORY_VOLUME, found, arg);
    return 0;
}

const struct driver memory_driver = {
    .name = "memory",
    .vendor_name = "Open Source",
    .storage_protocol = "memory",
    .properties =
        DRIVER_CONTENT | DRIVER_MULTIATTACH | DRIVER_ONLINE_EXTEND | DRIVER_THIN | DRIVER_THICK,
    .options = memory_options,
    .open = memory_open,
    .close = memory_close,
    .get_pools = memory_get_pools,
    .create_volume = memory_create_volume,
    .delete_volume = memory_delete_volume,
    .rename_volume = memory_rename_volume,
    .extend_volume = memory_extend_volume,
    .get_size = memory_get_size,
    .connect = memory_connect,
    .disconnect = memory_disconnect,
    .list_volumes = memory_list_volumes,
    .create_snapshot = memory_create_snapshot,
    .delete_snapshot = memory_delete_snapshot,
    .prepare_assist = memory_prepare_assist,
    .complete_assist = memory_complete_assist,
    .list_snapshots = memory_list_snapshots,
    .clone_volume = memory_clone_volume,
    .clone_snapshot = memory_clone_snapshot,
    .revert_volume = memory_revert_volume,
    .get_manageable = memory_get_manageable,
    .manage_volume = memory_manage_volume,
    .unmanage_volume = memory_unmanage_volume,
    .list_manageable = memory_list_manageable,
    .get_manageable_snapshot = memory_get_manageable_snapshot,
    .manage_snapshot = memory_manage_snapshot,
    .unmanage_snapshot = memory_unmanage_snapshot,
    .list_manageable_snapshots = memory_list_manageable_snapshots,
    .get_usage = memory_get_usage,
    .reclaim_volume = memory_reclaim_volume,
    .open_volume_data = memory_open_volume_data,
    .open_snapshot_data = memory_open_snapshot_data,
};
