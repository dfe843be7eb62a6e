#include "drivers/file/remotefs.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "common/md5.h"
#include "common/utf8.h"
#include "drivers/file/mounted_share.h"
#include "drivers/file/volume_file.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct remotefs {
    struct arena *arena; /* holds this struct and what it points to */
    struct mounter mounter;
    const char *base; /* without symbolic links */
    const char *pool;
    pthread_mutex_t mounting; /* held by the one thread that mounts */
    struct mounted_share *shares;
    int count;
};

static const char *get_text(const struct remotefs *remotefs, const char *key) {
    return config_text(remotefs->mounter.backend.config, remotefs->mounter.backend.name, key);
}

static const char *backend_name(const struct remotefs *remotefs) {
    return remotefs->mounter.backend.name;
}

/* ---- shares ---- */

/* Mounts what is not mounted and repairs what no longer answers; one thread at a time, the others
 * go on with what there is.  *ret_last: why the last one of those that failed did. */
static void attach_shares(struct remotefs *remotefs, struct arena *arena, struct error *ret_last) {
    if (pthread_mutex_trylock(&remotefs->mounting) != 0)
        return;
    for (int i = 0; i < remotefs->count; i++) {
        struct mounted_share *share = &remotefs->shares[i];

        if (mounted_share_attach(&remotefs->mounter, arena, share, ret_last) < 0)
            log_error(NULL, "share cannot be used", "backend", backend_name(remotefs), "share",
                      share->share.address, "reason", ret_last->message, NULL);
    }
    pthread_mutex_unlock(&remotefs->mounting);
}

static struct mounted_share *find_share(const struct remotefs *remotefs, const char *address) {
    for (int i = 0; i < remotefs->count; i++) {
        if (strcmp(remotefs->shares[i].share.address, address) == 0)
            return &remotefs->shares[i];
    }
    return NULL;
}

/* The share named by `address`, when it can be used. */
static struct mounted_share *use_share(const struct remotefs *remotefs, const char *address,
                                       struct error *err) {
    struct mounted_share *share = find_share(remotefs, address);

    if (share && mounted_share_ready(share))
        return share;
    if (share)
        error_set(err, ERROR_UNAVAILABLE, "The share %s is not mounted.", address);
    else
        error_set(err, ERROR_BACKEND, "The share %s is not one of backend %s.", address,
                  backend_name(remotefs));
    return NULL;
}

/* The directory of a volume that was made. */
static const struct directory *volume_directory(const struct remotefs *remotefs,
                                                const struct driver_volume *volume,
                                                struct error *err) {
    const struct mounted_share *share;

    if (!volume->provider_location) {
        error_set(err, ERROR_NOT_FOUND, "Volume %s is recorded on no share.", volume->id);
        return NULL;
    }
    share = use_share(remotefs, volume->provider_location, err);
    return share ? &share->directory : NULL;
}

/* ---- open and close ---- */

static int load_shares(struct remotefs *remotefs, struct error *err) {
    struct share *shares;
    int count = remotefs->mounter.kind->load_shares(&remotefs->mounter.backend, remotefs->arena,
                                                    &shares, err);

    if (count < 0)
        return -1;
    if (count == 0)
        return error_set(err, ERROR_BAD_REQUEST, "Backend %s has no share.",
                         backend_name(remotefs));
    remotefs->shares = arena_alloc(remotefs->arena, (size_t)count * sizeof(*remotefs->shares));
    remotefs->count = count;
    for (int i = 0; i < count; i++) {
        char hex[MD5_HEX_SIZE];

        md5_hex(shares[i].address, strlen(shares[i].address), hex);
        remotefs->shares[i].share = shares[i];
        remotefs->shares[i].point = arena_format(remotefs->arena, "%s/%s", remotefs->base, hex);
    }
    return 0;
}

static int load_base(struct remotefs *remotefs, struct error *err) {
    const char *base = get_text(remotefs, remotefs->mounter.kind->base_key);
    autofree char *real = NULL;

    if (!base)
        base = arena_format(remotefs->arena, "%s/mnt", remotefs->mounter.backend.state_directory);
    if (base[0] != '/')
        return error_set(err, ERROR_BAD_REQUEST, "%s: \"%s\" is not an absolute path.",
                         remotefs->mounter.kind->base_key, base);
    if (directory_make(base, 0755, err) < 0)
        return -1;
    real = realpath(base, NULL);
    if (!real)
        return error_errno(err, ERROR_BACKEND, "finding the directory %s", base);
    if (!utf8_valid(real, strlen(real)))
        return error_set(err, ERROR_BAD_REQUEST, "%s: \"%s\" is not UTF-8.",
                         remotefs->mounter.kind->base_key, real);
    remotefs->base = arena_text(remotefs->arena, real);
    return 0;
}

static void load_mounter(struct mounter *mounter, const struct remotefs_kind *kind,
                         const struct driver_backend *backend, struct arena *arena) {
    const struct config *config = backend->config;
    const char *program = config_text(config, backend->name, "mount_program");
    const char *secure = config_text(config, backend->name, "nas_secure_file_permissions");

    mounter->kind = kind;
    mounter->backend = (struct driver_backend){
        .name = arena_text(arena, backend->name),
        .config = config,
        .state_directory = arena_text(arena, backend->state_directory),
        .knows = backend->knows,
        .knows_arg = backend->knows_arg,
    };
    directory_settings_load(backend, &mounter->settings);
    mounter->settings.sparse = config_bool(config, backend->name, kind->sparse_key);
    mounter->settings.qcow2 = config_bool(config, backend->name, kind->qcow2_key);
    mounter->settings.mode = strcmp(secure, "false") == 0 ? 0666 : 0660;
    mounter->programs = (struct mount_programs){
        .mount = program ? program : kind->mount_program,
        .umount = config_text(config, backend->name, "umount_program"),
        .table = config_text(config, backend->name, "mount_table"),
        .timeout_s = config_int(config, backend->name, "mount_timeout"),
    };
}

static void cleanup_remotefs(struct remotefs **remotefs) {
    if (*remotefs)
        remotefs_close(*remotefs);
}

int remotefs_open(const struct remotefs_kind *kind, const struct driver_backend *backend,
                  void **ret_handle, struct error *err) {
    struct arena *arena = arena_new();
    struct remotefs *remotefs __attribute__((cleanup(cleanup_remotefs))) =
        arena_alloc(arena, sizeof(*remotefs));
    const char *pool = config_text(backend->config, backend->name, "volume_backend_name");
    struct error problem = { .kind = ERROR_NONE };

    remotefs->arena = arena;
    pthread_mutex_init(&remotefs->mounting, NULL);
    load_mounter(&remotefs->mounter, kind, backend, arena);
    remotefs->pool = arena_text(arena, pool ? pool : backend->name);
    if (load_base(remotefs, err) < 0 || load_shares(remotefs, err) < 0)
        return -1;
    attach_shares(remotefs, arena, &problem);
    /* A server that is away comes back; options that nobody understands do not get better. */
    if (problem.kind == ERROR_BAD_REQUEST)
        return error_set(err, problem.kind, "%s", problem.message);
    *ret_handle = take(remotefs);
    return 0;
}

void remotefs_close(void *handle) {
    struct remotefs *remotefs = handle;
    bool unmount =
        config_bool(remotefs->mounter.backend.config, backend_name(remotefs), "unmount_at_stop");

    for (int i = 0; i < remotefs->count; i++)
        mounted_share_detach(&remotefs->mounter, remotefs->arena, &remotefs->shares[i], unmount);
    pthread_mutex_destroy(&remotefs->mounting);
    arena_free(remotefs->arena);
}

/* ---- pools ---- */

/* Adds a share's room to its pool: its own, or the only one. */
static int add_room(const struct remotefs *remotefs, const struct mounted_share *share,
                    struct driver_pool *pools, int count, struct error *err) {
    bool own = remotefs->mounter.kind->pool_per_share || count == 0;
    struct driver_pool *pool = &pools[own ? count : 0];
    double total_gb, free_gb;

    if (directory_get_room(&share->directory, &total_gb, &free_gb, err) < 0)
        return -1;
    if (own) {
        pool->name = remotefs->mounter.kind->pool_per_share ? share->share.address : remotefs->pool;
        pool->capabilities = directory_capabilities(&remotefs->mounter.settings,
                                                    remotefs->mounter.kind->driver->features);
    }
    pool->total_gb += total_gb;
    pool->free_gb += free_gb;
    return count + own;
}

int remotefs_get_pools(void *handle, struct arena *arena, struct driver_pool **ret,
                       struct error *err) {
    struct remotefs *remotefs = handle;
    struct driver_pool *pools = arena_alloc(arena, (size_t)remotefs->count * sizeof(*pools));
    struct error problem = { .message = "none is mounted" };
    int count = 0;

    attach_shares(remotefs, arena, &problem);
    for (int i = 0; i < remotefs->count; i++) {
        const struct mounted_share *share = &remotefs->shares[i];
        int more =
            mounted_share_ready(share) ? add_room(remotefs, share, pools, count, &problem) : count;

        /* A share without an answer is not room; attach_shares() has said so. */
        count = more < 0 ? count : more;
    }
    if (count == 0)
        return error_set(err, ERROR_UNAVAILABLE, "No share of backend %s answers: %s",
                         backend_name(remotefs), problem.message);
    *ret = pools;
    return count;
}

/* ---- volumes ---- */

/* Among the shares of the volume's pool: the one that has its file, else the one with most room.
 * An attempt before this one may have made the file, on any share: then all of them are asked. */
static struct mounted_share *choose_share(const struct remotefs *remotefs, struct arena *arena,
                                          const struct driver_volume *volume, struct error *err) {
    struct mounted_share *best = NULL;
    double most_gb = -1;

    error_set(err, ERROR_UNAVAILABLE, "No share of backend %s is mounted.", backend_name(remotefs));
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
        if (directory_check_room(&share->directory, volume->size_gb * GIB, err) == 0 &&
            directory_get_room(&share->directory, &total_gb, &free_gb, err) == 0 &&
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
    const char *location = remotefs->mounter.kind->pool_per_share && !volume->provider_location
                               ? volume->pool
                               : volume->provider_location;
    const struct mounted_share *share =
        location ? use_share(remotefs, location, err) : choose_share(remotefs, arena, volume, err);
    const char *format;

    if (!share || volume_file_create(&share->directory, arena, volume, &format, err) < 0)
        return -1;
    *ret = (struct driver_created){ .provider_location = arena_text(arena, share->share.address),
                                    .format = format };
    return 0;
}

/* A create that never ended left no record of its share: the file may be on any. */
static int delete_everywhere(const struct remotefs *remotefs, struct arena *arena,
                             const struct driver_volume *volume, struct error *err) {
    for (int i = 0; i < remotefs->count; i++) {
        const struct mounted_share *share =
            use_share(remotefs, remotefs->shares[i].share.address, err);

        if (!share || volume_file_delete(&share->directory, arena, volume, err) < 0)
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
    directory = volume_directory(remotefs, volume, err);
    return directory ? volume_file_delete(directory, arena, volume, err) : -1;
}

/* One without a record of its share has never been anybody's. */
int remotefs_rename_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                           const char *new_name_id, struct error *err) {
    const struct directory *directory = volume_directory(handle, volume, err);

    return directory ? volume_file_rename(directory, arena, volume, new_name_id, err) : -1;
}

enum driver_outcome remotefs_extend_volume(void *handle, struct arena *arena,
                                           const struct driver_volume *volume, int64_t new_gb,
                                           struct error *err) {
    const struct directory *directory = volume_directory(handle, volume, err);

    return directory ? volume_file_extend(directory, arena, volume, new_gb, err) : DRIVER_FAILED;
}

int remotefs_get_size(void *handle, struct arena *arena, const struct driver_volume *volume,
                      int64_t *ret_bytes, struct error *err) {
    const struct directory *directory = volume_directory(handle, volume, err);

    return directory ? volume_file_get_size(directory, arena, volume, ret_bytes, err) : -1;
}

int remotefs_connect(void *handle, struct arena *arena, const struct driver_volume *volume,
                     const json_t *connector, json_t **ret, struct error *err) {
    const struct remotefs *remotefs = handle;
    const struct directory *directory = volume_directory(remotefs, volume, err);
    struct volume_image image;
    const char *options;
    json_t *info;

    (void)connector;
    if (!directory || volume_file_connect(directory, arena, volume, &image, err) < 0)
        return -1;
    info =
        json_pack("{s:s, s:s, s:{s:s, s:s, s:s}}", "driver_volume_type",
                  remotefs->mounter.kind->volume_type, "mount_point_base", remotefs->base, "data",
                  "export", volume->provider_location, "name", image.name, "format", image.format);
    assert(info); /* base and shares are UTF-8: checked when opened */
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
        const struct mounted_share *share =
            use_share(remotefs, remotefs->shares[i].share.address, err);

        if (!share || volume_file_list(&share->directory, found, arg, err) < 0)
            return -1;
    }
    return 0;
}
