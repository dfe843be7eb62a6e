#include "drivers/file/file_store.h"
#include "drivers/file/snapshot_file_manage.h"
#include "drivers/file/volume_file.h"

#include <string.h>

static bool is_in_pool(const struct file_store *store, int i, const char *pool) {
    return !store->pool_per_directory || !pool || strcmp(store->locations[i], pool) == 0;
}

/* "<location>/<file>", or a plain name; NULL: not there, but perhaps on a share that is exported
 * from below it. */
static const char *name_at(const struct file_store *store, const char *location,
                           const char *source_name) {
    size_t length = store->single ? 0 : strlen(location);

    if (store->single)
        return source_name;
    if (strncmp(source_name, location, length) == 0 && source_name[length] == '/')
        source_name += length + 1;
    return strchr(source_name, '/') ? NULL : source_name;
}

/* Number of the directory of the source, or of the volume after an earlier call; or -1.  An
 * unusable one may have another file of that name. */
static int find_source(const struct file_store *store, struct arena *arena,
                       const struct driver_volume *volume, const char *source_name,
                       struct error *err) {
    int found = -1;

    for (int i = 0; i < store->count && !store->single; i++) {
        const char *name = name_at(store, store->locations[i], source_name);
        const struct directory *directory;
        int taken, there;

        if (!name || !is_in_pool(store, i, volume->pool))
            continue;
        directory = store->use(store, i, err);
        if (!directory)
            return -1;
        taken = volume_file_exists(directory, arena, volume, err);
        there = taken == 0 ? volume_file_has(directory, name, err) : 0;
        if (taken != 0 || there < 0)
            return taken > 0 ? i : -1;
        if (there && found >= 0)
            return error_set(err, ERROR_BAD_REQUEST,
                             "Several shares have a file \"%.255s\": say <share>/<file>.", name);
        found = there ? i : found;
    }
    if (store->single)
        return 0;
    return found >= 0 ? found
                      : error_set(err, ERROR_BAD_REQUEST,
                                  "There is no file \"%.255s\" in the pool.", source_name);
}

int file_store_get_manageable(void *handle, struct arena *arena, const struct driver_volume *volume,
                              const char *source_name, int64_t *ret, struct error *err) {
    const struct file_store *store = handle;
    int i = find_source(store, arena, volume, source_name, err);
    const struct directory *directory = i >= 0 ? store->use(store, i, err) : NULL;

    return directory ? volume_file_get_manageable(directory, arena, volume,
                                                  name_at(store, store->locations[i], source_name),
                                                  ret, err)
                     : -1;
}

int file_store_manage_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                             const char *source_name, struct driver_created *ret,
                             struct error *err) {
    const struct file_store *store = handle;
    int i = find_source(store, arena, volume, source_name, err);
    const struct directory *directory = i >= 0 ? store->use(store, i, err) : NULL;
    const char *format;

    if (!directory)
        return -1;
    if (volume_file_manage(directory, arena, volume,
                           name_at(store, store->locations[i], source_name), &format, err) < 0)
        return directory_result(directory, -1, err);
    *ret = file_store_created(store, arena, store->locations[i], format);
    return 0;
}

int file_store_inspect_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                              const struct driver_recorded *recorded, struct driver_inspected *ret,
                              struct error *err) {
    const struct directory *directory = file_store_find_volume(handle, volume, err);

    if (!directory)
        return -1;
    if (volume_file_inspect(directory, arena, volume, recorded, ret, err) < 0)
        return error_context(err, "%s", directory->path);
    ret->provider_location =
        file_store_created(handle, arena, volume->provider_location, ret->format).provider_location;
    return 0;
}

/* Without a recorded location any directory of its pool may have it. */
int file_store_unmanage_volume(void *handle, struct arena *arena,
                               const struct driver_volume *volume, struct error *err) {
    const struct file_store *store = handle;
    const struct directory *directory;

    if (volume->provider_location) {
        directory = file_store_find(store, volume->provider_location, err);
        return directory ? directory_result(
                               directory, volume_file_unmanage(directory, arena, volume, err), err)
                         : -1;
    }
    for (int i = 0; i < store->count; i++) {
        if (!file_store_may_have(store, i, volume))
            continue;
        directory = store->use(store, i, err);
        if (!directory || volume_file_unmanage(directory, arena, volume, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- snapshots: in the directory of their volume ---- */

static int refuse_elsewhere(const char *source_name, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST, "\"%.255s\" is no file on the share of the volume.",
                     source_name);
}

int file_store_get_manageable_snapshot(void *handle, struct arena *arena,
                                       const struct driver_volume *volume,
                                       const struct driver_snapshot *snapshot,
                                       const char *source_name, struct driver_candidate *ret,
                                       struct error *err) {
    const struct directory *directory = file_store_find_volume(handle, volume, err);
    const char *name = directory ? name_at(handle, volume->provider_location, source_name) : NULL;

    if (!name)
        return directory ? refuse_elsewhere(source_name, err) : -1;
    return snapshot_file_get_manageable(directory, arena, volume, snapshot, name, ret, err);
}

int file_store_manage_snapshot(void *handle, struct arena *arena,
                               const struct driver_volume *volume,
                               const struct driver_snapshot *snapshot,
                               const struct driver_candidate *source, struct driver_created *ret,
                               struct error *err) {
    const struct directory *directory = file_store_find_volume(handle, volume, err);
    struct driver_candidate there = *source;

    if (!directory)
        return -1;
    there.source_name = name_at(handle, volume->provider_location, source->source_name);
    if (!there.source_name)
        return refuse_elsewhere(source->source_name, err);
    if (snapshot_file_manage(directory, arena, volume, snapshot, &there, err) < 0)
        return directory_result(directory, -1, err);
    *ret = file_store_created(handle, arena, volume->provider_location, volume->format);
    return 0;
}

int file_store_unmanage_snapshot(void *handle, struct arena *arena,
                                 const struct driver_volume *volume,
                                 const struct driver_snapshot *snapshot, struct error *err) {
    const struct directory *directory = file_store_find_volume(handle, volume, err);

    return directory
               ? directory_result(directory,
                                  snapshot_file_unmanage(directory, arena, volume, snapshot, err),
                                  err)
               : -1;
}

/* ---- list ---- */

struct located_candidates {
    const char *location;
    struct arena *arena;
    void (*found)(void *arg, const struct driver_candidate *candidate);
    void *arg;
};

static void report_with_location(void *arg, const struct driver_candidate *candidate) {
    const struct located_candidates *candidates = arg;
    struct driver_candidate named = *candidate;

    named.source_name =
        arena_format(candidates->arena, "%s/%s", candidates->location, candidate->source_name);
    if (candidate->volume)
        named.volume =
            arena_format(candidates->arena, "%s/%s", candidates->location, candidate->volume);
    candidates->found(candidates->arg, &named);
}

typedef int list_function(const struct directory *directory, struct arena *arena,
                          void (*found)(void *arg, const struct driver_candidate *candidate),
                          void *arg, struct error *err);

static int list(const struct file_store *store, struct arena *arena, const char *pool,
                list_function *function,
                void (*found)(void *arg, const struct driver_candidate *candidate), void *arg,
                struct error *err) {
    for (int i = 0; i < store->count; i++) {
        struct located_candidates candidates = { store->locations[i], arena, found, arg };
        const struct directory *directory;

        if (!is_in_pool(store, i, pool))
            continue;
        directory = store->use(store, i, err);
        if (!directory || (store->single ? function(directory, arena, found, arg, err)
                                         : function(directory, arena, report_with_location,
                                                    &candidates, err)) < 0)
            return -1;
    }
    return 0;
}

int file_store_list_manageable(void *handle, struct arena *arena, const char *pool,
                               void (*found)(void *arg, const struct driver_candidate *candidate),
                               void *arg, struct error *err) {
    return list(handle, arena, pool, volume_file_list_manageable, found, arg, err);
}

int file_store_list_manageable_snapshots(void *handle, struct arena *arena, const char *pool,
                                         void (*found)(void *arg,
                                                       const struct driver_candidate *candidate),
                                         void *arg, struct error *err) {
    return list(handle, arena, pool, snapshot_file_list_manageable, found, arg, err);
}
