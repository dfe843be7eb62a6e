#include "drivers/file/remotefs.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "common/md5.h"
#include "common/utf8.h"
#include "drivers/file/remotefs.private.h"

#include <stdlib.h>
#include <string.h>

/* ---- shares ---- */

/* Mounts missing shares and repairs dead ones; one thread at a time, the others continue with the
 * present ones.  *ret_last: the error of the last share that failed. */
static void attach_shares(struct remotefs *remotefs, struct arena *arena, struct error *ret_last) {
    if (pthread_mutex_trylock(&remotefs->mounting) != 0)
        return;
    for (int i = 0; i < remotefs->store.count; i++) {
        struct mounted_share *share = &remotefs->shares[i];

        if (mounted_share_attach(&remotefs->mounter, arena, share, ret_last) < 0)
            log_error(NULL, "share cannot be used", "backend", remotefs->mounter.backend.name,
                      "share", share->share.address, "reason", ret_last->message, NULL);
    }
    pthread_mutex_unlock(&remotefs->mounting);
}

/* ---- open and close ---- */

static const struct directory *use_share(const struct file_store *store, int i, struct error *err) {
    const struct remotefs *remotefs = (const void *)store;
    const struct mounted_share *share = &remotefs->shares[i];

    if (mounted_share_ready(share))
        return &share->directory;
    error_set(err, ERROR_UNAVAILABLE, "The share %s is not mounted.", share->share.address);
    return NULL;
}

static int load_shares(struct remotefs *remotefs, struct error *err) {
    const char **locations;
    struct share *shares;
    int count =
        remotefs->kind->load_shares(&remotefs->mounter.backend, remotefs->arena, &shares, err);

    if (count < 0)
        return -1;
    if (count == 0)
        return error_set(err, ERROR_BAD_REQUEST, "Backend %s has no share.",
                         remotefs->mounter.backend.name);
    remotefs->shares = arena_alloc(remotefs->arena, (size_t)count * sizeof(*remotefs->shares));
    locations = arena_alloc(remotefs->arena, (size_t)count * sizeof(*locations));
    for (int i = 0; i < count; i++) {
        char hex[MD5_HEX_SIZE];

        md5_hex(shares[i].address, strlen(shares[i].address), hex);
        locations[i] = shares[i].address;
        remotefs->shares[i].share = shares[i];
        remotefs->shares[i].point = arena_format(remotefs->arena, "%s/%s", remotefs->base, hex);
    }
    remotefs->store = (struct file_store){ .backend = remotefs->mounter.backend.name,
                                           .count = count,
                                           .locations = locations,
                                           .pool_per_directory = remotefs->kind->pool_per_share,
                                           .use = use_share };
    return 0;
}

static int load_base(struct remotefs *remotefs, struct error *err) {
    const struct driver_backend *backend = &remotefs->mounter.backend;
    const char *base = config_text(backend->config, backend->name, remotefs->kind->base_key);
    autofree char *real = NULL;

    if (!base)
        base = arena_format(remotefs->arena, "%s/mnt", remotefs->mounter.backend.state_directory);
    if (base[0] != '/')
        return error_set(err, ERROR_BAD_REQUEST, "%s: \"%s\" is not an absolute path.",
                         remotefs->kind->base_key, base);
    if (directory_make(base, 0755, err) < 0)
        return error_context(err, "%s", remotefs->kind->base_key);
    real = realpath(base, NULL);
    if (!real)
        return error_errno(err, ERROR_BACKEND, "finding the directory %s", base);
    if (!utf8_valid(real, strlen(real)))
        return error_set(err, ERROR_BAD_REQUEST, "%s: \"%s\" is not UTF-8.",
                         remotefs->kind->base_key, real);
    remotefs->base = arena_text(remotefs->arena, real);
    return 0;
}

static void load_mounter(struct mounter *mounter, const struct remotefs_kind *kind,
                         const struct driver_backend *backend, struct arena *arena) {
    const struct config *config = backend->config;
    const char *secure = config_text(config, backend->name, "nas_secure_file_permissions");

    mounter->method = &kind->method;
    mounter->backend = *backend;
    mounter->backend.name = arena_text(arena, backend->name);
    mounter->backend.state_directory = arena_text(arena, backend->state_directory);
    directory_settings_load(backend, &mounter->settings);
    config_fill(config, backend->name, kind->options, &mounter->settings);
    mounter->settings.mode = strcmp(secure, "false") == 0 ? 0666 : 0660;
    config_fill(config, backend->name, mount_options, &mounter->programs);
    if (!mounter->programs.mount)
        mounter->programs.mount = kind->mount_program;
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
    remotefs->kind = kind;
    load_mounter(&remotefs->mounter, kind, backend, arena);
    remotefs->pool = arena_text(arena, pool ? pool : backend->name);
    if (load_base(remotefs, err) < 0 || load_shares(remotefs, err) < 0)
        return -1;
    attach_shares(remotefs, arena, &problem);
    /* An unreachable server may come back; invalid options stay invalid. */
    if (problem.kind == ERROR_BAD_REQUEST)
        return error_pass(err, &problem);
    *ret_handle = take(remotefs);
    return 0;
}

void remotefs_close(void *handle) {
    struct remotefs *remotefs = handle;
    bool unmount = config_bool(remotefs->mounter.backend.config, remotefs->mounter.backend.name,
                               "unmount_at_stop");

    for (int i = 0; i < remotefs->store.count; i++)
        mounted_share_detach(&remotefs->mounter, remotefs->arena, &remotefs->shares[i], unmount);
    pthread_mutex_destroy(&remotefs->mounting);
    arena_free(remotefs->arena);
}

/* ---- pools ---- */

int remotefs_get_pools(void *handle, struct arena *arena, struct driver_pool **ret,
                       struct error *err) {
    struct remotefs *remotefs = handle;
    struct driver_pool *pools = arena_alloc(arena, (size_t)remotefs->store.count * sizeof(*pools));
    struct error problem = { .message = "none is mounted" };
    int count = 0;

    attach_shares(remotefs, arena, &problem);
    for (int i = 0; i < remotefs->store.count; i++) {
        const struct mounted_share *share = &remotefs->shares[i];
        bool own = remotefs->store.pool_per_directory || count == 0;
        struct driver_pool *pool = &pools[own ? count : 0]; /* its own, or the only one */
        double total_gb, free_gb;

        /* An unreachable share adds no capacity; attach_shares() has logged it. */
        if (!mounted_share_ready(share) ||
            directory_get_space(&share->directory, &total_gb, &free_gb, &problem) < 0)
            continue;
        if (own) {
            pool->name = remotefs->store.pool_per_directory ? share->share.address : remotefs->pool;
            pool->capabilities = directory_capabilities(
                &remotefs->mounter.settings,
                directory_features(&share->directory, driver_supported(remotefs->kind->driver)));
        }
        pool->total_gb += total_gb;
        pool->free_gb += free_gb;
        count += own;
    }
    if (count == 0)
        return error_set(err, ERROR_UNAVAILABLE, "No share of backend %s answers: %s",
                         remotefs->mounter.backend.name, problem.message);
    *ret = pools;
    return count;
}
