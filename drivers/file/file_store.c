#include "drivers/file/file_store.h"

#include "drivers/file/draft.h"
#include "drivers/file/volume_file.h"

#include <string.h>

int file_store_number(const struct file_store *store, const char *location) {
    if (store->single)
        return 0;
    for (int i = 0; i < store->count; i++) {
        if (strcmp(store->locations[i], location) == 0)
            return i;
    }
    return -1;
}

const struct directory *file_store_find(const struct file_store *store, const char *location,
                                        struct error *err) {
    int i = file_store_number(store, location);

    if (i >= 0)
        return store->use(store, i, err);
    error_set(err, ERROR_BACKEND, "The share %s is not one of backend %s.", location,
              store->backend);
    return NULL;
}

const struct directory *file_store_find_volume(const struct file_store *store,
                                               const struct driver_volume *volume,
                                               struct error *err) {
    if (volume->provider_location || store->single)
        return file_store_find(store, volume->provider_location, err);
    error_set(err, ERROR_NOT_FOUND, "Volume %s is recorded on no share.", volume->id);
    return NULL;
}

struct driver_created file_store_created(const struct file_store *store, struct arena *arena,
                                         const char *location, const char *format) {
    return (struct driver_created){ .provider_location = arena_text(
                                        arena, store->single ? store->locations[0] : location),
                                    .format = format };
}

bool file_store_may_have(const struct file_store *store, int i,
                         const struct driver_volume *volume) {
    const char *place = volume->tried               ? volume->tried
                        : store->pool_per_directory ? volume->pool
                                                    : NULL;
    int number = place ? file_store_number(store, place) : -1;

    if (place && !*place)
        return false;
    return number < 0 || number == i; /* a share of another name may be any */
}

/* An unusable directory keeps the file in no other one. */
static int delete_everywhere(const struct file_store *store, struct arena *arena,
                             const struct driver_volume *volume, struct error *err) {
    struct error failure = { .kind = ERROR_NONE };

    for (int i = 0; i < store->count; i++) {
        struct error why = { .kind = ERROR_NONE };
        const struct directory *directory;

        if (!file_store_may_have(store, i, volume))
            continue;
        directory = store->use(store, i, &why);
        if ((!directory ||
             directory_result(directory, volume_file_delete(directory, arena, volume, &why), &why) <
                 0) &&
            (failure.kind == ERROR_NONE || failure.kind == ERROR_UNAVAILABLE))
            failure = why;
    }
    return failure.kind == ERROR_NONE ? 0 : error_pass(err, &failure);
}

int file_store_delete_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                             struct error *err) {
    const struct file_store *store = handle;
    const struct directory *directory;

    if (!volume->provider_location)
        return delete_everywhere(store, arena, volume, err);
    directory = file_store_find(store, volume->provider_location, err);
    return directory
               ? directory_result(directory, volume_file_delete(directory, arena, volume, err), err)
               : -1;
}

/* A volume without a recorded share was never used. */
int file_store_rename_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                             const char *new_name_id, struct error *err) {
    const struct directory *directory = file_store_find_volume(handle, volume, err);

    return directory
               ? directory_result(
                     directory, volume_file_rename(directory, arena, volume, new_name_id, err), err)
               : -1;
}

enum driver_outcome file_store_extend_volume(void *handle, struct arena *arena,
                                             const struct driver_volume *volume, int64_t new_gb,
                                             struct error *err) {
    const struct directory *directory = file_store_find_volume(handle, volume, err);
    enum driver_outcome outcome;

    if (!directory)
        return DRIVER_FAILED;
    outcome = volume_file_extend(directory, arena, volume, new_gb, err);
    return directory_result(directory, outcome, err);
}

int file_store_get_size(void *handle, struct arena *arena, const struct driver_volume *volume,
                        int64_t *ret, struct error *err) {
    const struct directory *directory = file_store_find_volume(handle, volume, err);

    return directory ? volume_file_get_size(directory, arena, volume, ret, err) : -1;
}

int file_store_list_volumes(void *handle, struct arena *arena,
                            void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                            struct error *err) {
    const struct file_store *store = handle;

    (void)arena;
    for (int i = 0; i < store->count; i++) {
        const struct directory *directory = store->use(store, i, err);

        if (!directory || volume_file_list(directory, found, arg, err) < 0)
            return -1;
    }
    return 0;
}

int file_store_list_drafts(void *handle, struct arena *arena,
                           void (*found)(void *arg, const struct driver_draft *draft), void *arg,
                           struct error *err) {
    const struct file_store *store = handle;

    for (int i = 0; i < store->count; i++) {
        const struct directory *directory = store->use(store, i, err);

        if (!directory || draft_list(directory, arena, found, arg, err) < 0)
            return -1;
    }
    return 0;
}

int file_store_get_usage(void *handle, struct arena *arena, const struct driver_volume *volume,
                         int64_t *ret, struct error *err) {
    const struct directory *directory = file_store_find_volume(handle, volume, err);

    return directory ? volume_file_get_usage(directory, arena, volume, ret, err) : -1;
}

int file_store_reclaim_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                              const struct driver_progress *progress, int64_t *before,
                              struct error *err) {
    const struct directory *directory = file_store_find_volume(handle, volume, err);

    (void)before;
    return directory
               ? directory_result(directory,
                                  volume_file_reclaim(directory, arena, volume, progress, err), err)
               : -1;
}
