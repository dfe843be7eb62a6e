#include "drivers/file/remotefs.h"

#include "common/assert.h"
#include "drivers/file/remotefs.private.h"
#include "drivers/file/volume_file.h"

/* Of the shares of the volume's pool: the one that has its file, else the one with most space.  An
 * earlier attempt may have made the file on any share: then all of them are searched. */
static const char *choose_location(const struct remotefs *remotefs, struct arena *arena,
                                   const struct driver_volume *volume, struct error *err) {
    const char *best = NULL;
    double most_gb = -1;

    error_set(err, ERROR_UNAVAILABLE, "No share of backend %s is mounted.",
              remotefs->mounter.backend.name);
    for (int i = 0; i < remotefs->store.count; i++) {
        const struct mounted_share *share = &remotefs->shares[i];
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
            return exists < 0 ? NULL : share->share.address;
        if (directory_check_writable(&share->directory, err) == 0 &&
            directory_check_space(&share->directory, volume->size_gb * GIB, err) == 0 &&
            directory_get_space(&share->directory, &total_gb, &free_gb, err) == 0 &&
            free_gb > most_gb) {
            most_gb = free_gb;
            best = share->share.address;
        }
    }
    return best;
}

int remotefs_create_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                           struct driver_created *ret, struct error *err) {
    const struct remotefs *remotefs = handle;
    const char *location = remotefs->store.pool_per_directory && !volume->provider_location
                               ? volume->pool
                               : volume->provider_location;
    const struct directory *directory;
    const char *format;

    if (!location)
        location = choose_location(remotefs, arena, volume, err);
    *ret = (struct driver_created){ .tried = location ? arena_text(arena, location) : "" };
    directory = location ? file_store_find(&remotefs->store, location, err) : NULL;
    if (!directory)
        return -1;
    if (volume_file_create(directory, arena, volume, &format, err) < 0)
        return directory_result(directory, -1, err);
    *ret = file_store_created(&remotefs->store, arena, location, format);
    return 0;
}

int remotefs_connect(void *handle, struct arena *arena, const struct driver_volume *volume,
                     const json_t *connector, json_t **ret, struct error *err) {
    const struct remotefs *remotefs = handle;
    const struct directory *directory = file_store_find_volume(&remotefs->store, volume, err);
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
    options = remotefs->shares[file_store_number(&remotefs->store, volume->provider_location)]
                  .share.options;
    if (*options)
        json_object_set_new(json_object_get(info, "data"), "options",
                            json_string(arena_format(arena, "-o %s", options)));
    *ret = info;
    return 0;
}
