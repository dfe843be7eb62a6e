#include "drivers/file/remotefs.h"

#include "drivers/file/remotefs.private.h"
#include "drivers/file/snapshot_file_manage.h"
#include "drivers/file/volume_file.h"

#include <string.h>

static bool is_in_pool(const struct remotefs *remotefs, const struct mounted_share *share,
                       const char *pool) {
    return !remotefs->kind->pool_per_share || !pool || strcmp(share->share.address, pool) == 0;
}

/* "<share>/<file>", or a plain name; NULL: not on this share, but perhaps on one that is exported
 * from below it. */
static const char *name_on(const char *address, const char *source_name) {
    size_t length = strlen(address);

    if (strncmp(source_name, address, length) == 0 && source_name[length] == '/')
        source_name += length + 1;
    return strchr(source_name, '/') ? NULL : source_name;
}

/* The share of the source, or of the volume after an earlier call.  An unreachable share may have
 * another file of that name. */
static const struct mounted_share *find_source(const struct remotefs *remotefs, struct arena *arena,
                                               const struct driver_volume *volume,
                                               const char *source_name, struct error *err) {
    const struct mounted_share *found = NULL;

    for (int i = 0; i < remotefs->count; i++) {
        const struct mounted_share *share = &remotefs->shares[i];
        const char *name = name_on(share->share.address, source_name);
        int taken, there;

        if (!name || !is_in_pool(remotefs, share, volume->pool))
            continue;
        if (!remotefs_use_share(remotefs, share->share.address, err))
            return NULL;
        taken = volume_file_exists(&share->directory, arena, volume, err);
        there = taken == 0 ? volume_file_has(&share->directory, name, err) : 0;
        if (taken != 0 || there < 0)
            return taken > 0 ? share : NULL;
        if (there && found) {
            error_set(err, ERROR_BAD_REQUEST,
                      "Several shares have a file \"%.255s\": say <share>/<file>.", name);
            return NULL;
        }
        found = there ? share : found;
    }
    if (!found)
        error_set(err, ERROR_BAD_REQUEST, "There is no file \"%.255s\" in the pool.", source_name);
    return found;
}

int remotefs_get_manageable(void *handle, struct arena *arena, const struct driver_volume *volume,
                            const char *source_name, int64_t *ret_bytes, struct error *err) {
    const struct mounted_share *share = find_source(handle, arena, volume, source_name, err);

    return share ? volume_file_get_manageable(&share->directory, arena, volume,
                                              name_on(share->share.address, source_name), ret_bytes,
                                              err)
                 : -1;
}

int remotefs_manage_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                           const char *source_name, struct driver_created *ret, struct error *err) {
    const struct mounted_share *share = find_source(handle, arena, volume, source_name, err);
    const char *format;

    if (!share || volume_file_manage(&share->directory, arena, volume,
                                     name_on(share->share.address, source_name), &format, err) < 0)
        return -1;
    *ret = (struct driver_created){ .provider_location = arena_text(arena, share->share.address),
                                    .format = format };
    return 0;
}

/* Without a recorded share any may have it. */
int remotefs_unmanage_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                             struct error *err) {
    const struct remotefs *remotefs = handle;
    const struct directory *directory;

    if (volume->provider_location) {
        directory = remotefs_volume_directory(remotefs, volume, err);
        return directory ? volume_file_unmanage(directory, arena, volume, err) : -1;
    }
    for (int i = 0; i < remotefs->count; i++) {
        const struct mounted_share *share =
            remotefs_use_share(remotefs, remotefs->shares[i].share.address, err);

        if (!share || volume_file_unmanage(&share->directory, arena, volume, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- snapshots: on the share of their volume ---- */

static int refuse_elsewhere(const char *source_name, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST, "\"%.255s\" is no file on the share of the volume.",
                     source_name);
}

int remotefs_get_manageable_snapshot(void *handle, struct arena *arena,
                                     const struct driver_volume *volume,
                                     const struct driver_snapshot *snapshot,
                                     const char *source_name, struct driver_candidate *ret,
                                     struct error *err) {
    const struct directory *directory = remotefs_volume_directory(handle, volume, err);
    const char *name = directory ? name_on(volume->provider_location, source_name) : NULL;

    if (!name)
        return directory ? refuse_elsewhere(source_name, err) : -1;
    return snapshot_file_get_manageable(directory, arena, volume, snapshot, name, ret, err);
}

int remotefs_manage_snapshot(void *handle, struct arena *arena, const struct driver_volume *volume,
                             const struct driver_snapshot *snapshot,
                             const struct driver_candidate *source, struct driver_created *ret,
                             struct error *err) {
    const struct directory *directory = remotefs_volume_directory(handle, volume, err);
    struct driver_candidate there = *source;

    there.source_name = directory ? name_on(volume->provider_location, source->source_name) : NULL;
    if (!there.source_name)
        return directory ? refuse_elsewhere(source->source_name, err) : -1;
    if (snapshot_file_manage(directory, arena, volume, snapshot, &there, err) < 0)
        return -1;
    *ret =
        (struct driver_created){ .provider_location = arena_text(arena, volume->provider_location),
                                 .format = volume->format };
    return 0;
}

int remotefs_unmanage_snapshot(void *handle, struct arena *arena,
                               const struct driver_volume *volume,
                               const struct driver_snapshot *snapshot, struct error *err) {
    const struct directory *directory = remotefs_volume_directory(handle, volume, err);

    return directory ? snapshot_file_unmanage(directory, arena, volume, snapshot, err) : -1;
}

/* ---- list ---- */

struct share_candidates {
    const struct mounted_share *share;
    struct arena *arena;
    void (*found)(void *arg, const struct driver_candidate *candidate);
    void *arg;
};

static void report_with_share(void *arg, const struct driver_candidate *candidate) {
    const struct share_candidates *candidates = arg;
    struct driver_candidate named = *candidate;

    named.source_name = arena_format(candidates->arena, "%s/%s", candidates->share->share.address,
                                     candidate->source_name);
    if (candidate->volume)
        named.volume = arena_format(candidates->arena, "%s/%s", candidates->share->share.address,
                                    candidate->volume);
    candidates->found(candidates->arg, &named);
}

typedef int list_function(const struct directory *directory, struct arena *arena,
                          void (*found)(void *arg, const struct driver_candidate *candidate),
                          void *arg, struct error *err);

static int list(const struct remotefs *remotefs, struct arena *arena, const char *pool,
                list_function *function,
                void (*found)(void *arg, const struct driver_candidate *candidate), void *arg,
                struct error *err) {

    for (int i = 0; i < remotefs->count; i++) {
        const struct mounted_share *share = &remotefs->shares[i];
        struct share_candidates candidates = { share, arena, found, arg };

        if (!is_in_pool(remotefs, share, pool))
            continue;
        if (!remotefs_use_share(remotefs, share->share.address, err) ||
            function(&share->directory, arena, report_with_share, &candidates, err) < 0)
            return -1;
    }
    return 0;
}

int remotefs_list_manageable(void *handle, struct arena *arena, const char *pool,
                             void (*found)(void *arg, const struct driver_candidate *candidate),
                             void *arg, struct error *err) {
    return list(handle, arena, pool, volume_file_list_manageable, found, arg, err);
}

int remotefs_list_manageable_snapshots(void *handle, struct arena *arena, const char *pool,
                                       void (*found)(void *arg,
                                                     const struct driver_candidate *candidate),
                                       void *arg, struct error *err) {
    return list(handle, arena, pool, snapshot_file_list_manageable, found, arg, err);
}
