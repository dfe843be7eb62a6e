#include "drivers/file/remotefs.h"

#include "common/assert.h"
#include "drivers/file/draft.h"
#include "drivers/file/remotefs.private.h"
#include "drivers/file/volume_file.h"

#include <string.h>

static struct mounted_share *find_share(const struct remotefs *remotefs, const char *address) {
    for (int i = 0; i < remotefs->count; i++) {
        if (strcmp(remotefs->shares[i].share.address, address) == 0)
            return &remotefs->shares[i];
    }
    return NULL;
}

static int check_ready(const struct mounted_share *share, struct error *err) {
    if (mounted_share_ready(share))
        return 0;
    return error_set(err, ERROR_UNAVAILABLE, "The share %s is not mounted.", share->share.address);
}

struct mounted_share *remotefs_use_share(const struct remotefs *remotefs, const char *address,
                                         struct error *err) {
    struct mounted_share *share = find_share(remotefs, address);

    if (!share)
        error_set(err, ERROR_BACKEND, "The share %s is not one of backend %s.", address,
                  remotefs->mounter.backend.name);
    return share && check_ready(share, err) == 0 ? share : NULL;
}

const struct directory *remotefs_volume_directory(const struct remotefs *remotefs,
                                                  const struct driver_volume *volume,
                                                  struct error *err) {
    const struct mounted_share *share;

    if (!volume->provider_location) {
        error_set(err, ERROR_NOT_FOUND, "Volume %s is recorded on no share.", volume->id);
        return NULL;
    }
    share = remotefs_use_share(remotefs, volume->provider_location, err);
    return share ? &share->directory : NULL;
}

/* Of the shares of the volume's pool: the one that has its file, else the one with most space.  An
 * earlier attempt may have made the file on any share: then all of them are searched. */
static struct mounted_share *choose_share(const struct remotefs *remotefs, struct arena *arena,
                                          const struct driver_volume *volume, struct error *err) {
    struct mounted_share *best = NULL;
    double most_gb = -1;

    error_set(err, ERROR_UNAVAILABLE, "No share of backend %s is mounted.",
              remotefs->mounter.backend.name);
    for (int i = 0; i < remotefs->count; i++) {
        struct mounted_share *share = &remotefs->shares[i];
        double total_gb, free_gb;
        int exists;

        if (!mounted_share_ready(share) && volume->attempt > 1) {
            error_set(err, ERROR_UNAVAILABLE,
                      "The share %s is not mounted, and may have the volume already.",
                      share->share.address);
            return NULL;
        }
        if (!mounted_share_ready(share))
            continue;
        exists = volume_file_exists(&share->directory, arena, volume, err);
        if (exists != 0)
            return exists < 0 ? NULL : share;
        if (directory_check_writable(&share->directory, err) == 0 &&
            directory_check_space(&share->directory, volume->size_gb * GIB, err) == 0 &&
            directory_get_space(&share->directory, &total_gb, &free_gb, err) == 0 &&
            free_gb > most_gb) {
            most_gb = free_gb;
            best = share;
        }
    }
    return best;
}

int remotefs_create_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                           struct driver_created *ret, struct error *err) {
    const struct remotefs *remotefs = handle;
    const char *location = remotefs->kind->pool_per_share && !volume->provider_location
                               ? volume->pool
                               : volume->provider_location;
    const struct mounted_share *share = location ? remotefs_use_share(remotefs, location, err)
                                                 : choose_share(remotefs, arena, volume, err);
    const char *format;

    if (!share || volume_file_create(&share->directory, arena, volume, &format, err) < 0)
        return -1;
    *ret = (struct driver_created){ .provider_location = arena_text(arena, share->share.address),
                                    .format = format };
    return 0;
}

/* A create that never ended has recorded no share: the file may be on any. */
static int delete_everywhere(const struct remotefs *remotefs, struct arena *arena,
                             const struct driver_volume *volume, struct error *err) {
    for (int i = 0; i < remotefs->count; i++) {
        const struct mounted_share *share = &remotefs->shares[i];

        if (check_ready(share, err) < 0 ||
            volume_file_delete(&share->directory, arena, volume, err) < 0)
            return -1;
    }
    return 0;
}

int remotefs_delete_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                           struct error *err) {
    const struct remotefs *remotefs = handle;
    const struct directory *directory;

    if (!volume->provider_location)
        return delete_everywhere(remotefs, arena, volume, err);
    directory = remotefs_volume_directory(remotefs, volume, err);
    return directory ? volume_file_delete(directory, arena, volume, err) : -1;
}

/* A volume without a recorded share was never used. */
int remotefs_rename_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                           const char *new_name_id, struct error *err) {
    const struct directory *directory = remotefs_volume_directory(handle, volume, err);

    return directory ? volume_file_rename(directory, arena, volume, new_name_id, err) : -1;
}

enum driver_outcome remotefs_extend_volume(void *handle, struct arena *arena,
                                           const struct driver_volume *volume, int64_t new_gb,
                                           struct error *err) {
    const struct directory *directory = remotefs_volume_directory(handle, volume, err);

    return directory ? volume_file_extend(directory, arena, volume, new_gb, err) : DRIVER_FAILED;
}

int remotefs_get_size(void *handle, struct arena *arena, const struct driver_volume *volume,
                      int64_t *ret_bytes, struct error *err) {
    const struct directory *directory = remotefs_volume_directory(handle, volume, err);

    return directory ? volume_file_get_size(directory, arena, volume, ret_bytes, err) : -1;
}

int remotefs_connect(void *handle, struct arena *arena, const struct driver_volume *volume,
                     const json_t *connector, json_t **ret, struct error *err) {
    const struct remotefs *remotefs = handle;
    const struct directory *directory = remotefs_volume_directory(remotefs, volume, err);
    struct volume_image image;
    const char *options;
    json_t *info;

    (void)connector;
    if (!directory || volume_file_connect(directory, arena, volume, &image, err) < 0)
        return -1;
    info =
        json_pack("{s:s, s:s, s:{s:s, s:s, s:s}}", "driver_volume_type",
                  remotefs->kind->volume_type, "mount_point_base", remotefs->base, "data", "export",
                  volume->provider_location, "name", image.name, "format", image.format);
    assert(info); /* base and shares are UTF-8: checked when opened */
    volume_file_report_discard(directory, &image, info);
    options = find_share(remotefs, volume->provider_location)->share.options;
    if (*options)
        json_object_set_new(json_object_get(info, "data"), "options",
                            json_string(arena_format(arena, "-o %s", options)));
    *ret = info;
    return 0;
}

int remotefs_list_volumes(void *handle, struct arena *arena,
                          void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                          struct error *err) {
    const struct remotefs *remotefs = handle;

    (void)arena;
    for (int i = 0; i < remotefs->count; i++) {
        const struct mounted_share *share = &remotefs->shares[i];

        if (check_ready(share, err) < 0 || volume_file_list(&share->directory, found, arg, err) < 0)
            return -1;
    }
    return 0;
}

int remotefs_list_drafts(void *handle, struct arena *arena,
                         void (*found)(void *arg, const struct driver_draft *draft), void *arg,
                         struct error *err) {
    const struct remotefs *remotefs = handle;

    for (int i = 0; i < remotefs->count; i++) {
        const struct mounted_share *share = &remotefs->shares[i];

        if (check_ready(share, err) < 0 ||
            draft_list(&share->directory, arena, found, arg, err) < 0)
            return -1;
    }
    return 0;
}

int remotefs_get_usage(void *handle, struct arena *arena, const struct driver_volume *volume,
                       int64_t *ret_bytes, struct error *err) {
    const struct directory *directory = remotefs_volume_directory(handle, volume, err);

    return directory ? volume_file_get_usage(directory, arena, volume, ret_bytes, err) : -1;
}

int remotefs_reclaim_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                            const struct driver_progress *progress, int64_t *ret_before,
                            struct error *err) {
    const struct directory *directory = remotefs_volume_directory(handle, volume, err);

    (void)ret_before;
    return directory ? volume_file_reclaim(directory, arena, volume, progress, err) : -1;
}
