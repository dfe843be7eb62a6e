/*
 * Volumes as files of one local directory: the backend without external dependencies.
 */
#include "common/assert.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/utf8.h"
#include "drivers/file/directory_claim.h"
#include "drivers/file/file_store.h"
#include "drivers/file/metadata_order.h"
#include "drivers/file/mount.h"
#include "drivers/file/volume_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct file_backend {
    struct file_store store;
    struct arena *arena; /* holds this struct and its strings */
    struct directory_settings settings;
    struct directory directory;
    struct shared_flush flush; /* of the directory */
    const char *pool;
    const char *raw_type; /* driver_volume_type of a raw file */
    bool only_raw;        /* configured as gpfs: only raw volumes can be connected */
};

static const char *const connection_types[] = { "auto", "local", "gpfs", NULL };

/* clang-format off */
static const struct option own_options[] = {
    { .section = OPTION_BACKEND, .key = "file_volume_directory", .type = OPTION_TEXT,
      .help = "Directory of the volume files, an absolute path. It is created when it is "
              "missing, accessible to the service alone. Unset: the directory volumes below "
              "state_path." },
    { .section = OPTION_BACKEND, .key = "file_connection_type", .type = OPTION_WORD, .fallback = "auto", .words = connection_types,
      .help = "driver_volume_type of connections to a volume. Nova takes local for a block device, and gpfs for the "
              "path of a raw file; agents of this service and its driver for Kubernetes take both. auto: gpfs for raw "
              "files where [compute] service is nova, else local." },
    SPARSE_OPTION("file_sparsed_volumes"),
    QCOW2_OPTION("file_qcow2_volumes", "false"),
    OVERLAYS_OPTION("file_snapshot_overlays"),
    OPTIONS_END
};
/* clang-format on */

static const struct option *const file_options[] = { directory_options, mount_options, own_options,
                                                     NULL };

/* The directory may be on NFS, where the mount options decide whether locks are shared. */
static int check_locks(struct file_backend *backend, const char *table, struct error *err) {
    autofree char *path = realpath(backend->directory.path, NULL);
    struct mount_entry entry;
    int found = path ? mount_find(backend->arena, table, path, &entry, err) : 0;

    if (found < 0)
        return -1;
    backend->directory.locks_trusted = !found || mount_shares_locks(&entry);
    if (!backend->directory.locks_trusted)
        log_warning(NULL,
                    "locks of this mount say nothing; attached volumes grow on the compute side",
                    "directory", backend->directory.path, "options", entry.options, NULL);
    return 0;
}

/* For a read-only caller: makes nothing. */
static int check_there(const char *path, struct error *err) {
    if (access(path, F_OK) == 0)
        return 0;
    return error_errno(err, ERROR_UNAVAILABLE, "The directory %s", path);
}

static void file_close(void *handle) {
    struct file_backend *backend = handle;

    close(backend->directory.fd);
    arena_free(backend->arena);
}

/* Nova reads gpfs connections as raw. */
static int read_connection_type(const struct driver_backend *source, struct file_backend *backend,
                                struct error *err) {
    const char *type = config_text(source->config, source->name, "file_connection_type");

    backend->only_raw = strcmp(type, "gpfs") == 0;
    backend->raw_type =
        backend->only_raw || (strcmp(type, "auto") == 0 && source->for_nova) ? "gpfs" : "local";
    if (backend->only_raw && (backend->settings.qcow2 || backend->settings.overlays))
        return error_set(err, ERROR_BAD_REQUEST,
                         "file_connection_type = gpfs is for raw files: file_qcow2_volumes and "
                         "file_snapshot_overlays of backend %s must be false.",
                         source->name);
    return 0;
}

static const struct directory *use_directory(const struct file_store *store, int i,
                                             struct error *err) {
    const struct file_backend *backend = (const void *)store;

    (void)i, (void)err;
    return &backend->directory;
}

static int file_open(const struct driver_backend *source, void **ret_handle, struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct file_backend *backend = arena_alloc(arena, sizeof(*backend));
    const char *path = config_text(source->config, source->name, "file_volume_directory");
    const char *name = config_text(source->config, source->name, "volume_backend_name");
    struct metadata_order order;

    backend->arena = arena;
    backend->pool = arena_text(arena, name ? name : source->name);
    directory_settings_load(source, &backend->settings);
    config_fill(source->config, source->name, own_options, &backend->settings);
    if (read_connection_type(source, backend, err) < 0)
        return -1;
    path =
        path ? arena_text(arena, path) : arena_format(arena, "%s/volumes", source->state_directory);
    if (path[0] != '/' || !utf8_valid(path, strlen(path)))
        return error_set(err, ERROR_BAD_REQUEST,
                         "file_volume_directory: \"%s\" is not an absolute path in UTF-8.", path);
    if ((source->probe_only ? check_there(path, err) : directory_make(path, 0711, err)) < 0 ||
        directory_open(path, &backend->settings, &backend->directory, err) < 0)
        return error_context(err, "file_volume_directory");
    if (directory_claim(&backend->directory, source, NULL, err) < 0 ||
        check_locks(backend, config_text(source->config, source->name, "mount_table"), err) < 0) {
        close(backend->directory.fd);
        return -1;
    }
    order = metadata_order_of(backend->directory.fd);
    backend->directory.keeps_order = order.kept;
    backend->directory.keeps_unnamed =
        order.unnamed && directory_links_unnamed(&backend->directory);
    shared_flush_init(&backend->flush);
    backend->directory.flush = &backend->flush;
    backend->store = (struct file_store){
        .count = 1, .locations = &backend->directory.path, .single = true, .use = use_directory
    };
    *ret_handle = backend;
    arena = NULL; /* owned by the backend from now on */
    return 0;
}

static int file_get_pools(void *handle, struct arena *arena, struct driver_pool **ret,
                          struct error *err) {
    const struct file_backend *backend = handle;
    struct driver_pool *pool = arena_alloc(arena, sizeof(*pool));

    pool->name = backend->pool;
    if (directory_check_place(&backend->directory, err) < 0 ||
        directory_check_writable(&backend->directory, err) < 0 ||
        directory_get_space(&backend->directory, &pool->total_gb, &pool->free_gb, err) < 0)
        return -1;
    pool->capabilities = directory_capabilities(
        &backend->settings,
        directory_features(&backend->directory, driver_supported(&file_driver)));
    *ret = pool;
    return 1;
}

static int file_create_volume(void *handle, struct arena *arena, const struct driver_volume *volume,
                              struct driver_created *ret, struct error *err) {
    const struct file_backend *backend = handle;
    const char *format;

    if (volume_file_create(&backend->directory, arena, volume, &format, err) < 0)
        return directory_result(&backend->directory, -1, err);
    *ret = file_store_created(&backend->store, arena, backend->directory.path, format);
    return 0;
}

static int file_connect(void *handle, struct arena *arena, const struct driver_volume *volume,
                        const json_t *connector, json_t **ret, struct error *err) {
    const struct file_backend *backend = handle;
    struct volume_image image;
    bool raw;

    if (volume_file_connect(&backend->directory, arena, volume, &image, err) < 0)
        return -1;
    raw = strcmp(image.format, "raw") == 0;
    if (connector && backend->only_raw && !raw)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Volume %s is a %s image, and connections of type gpfs are read as raw.",
                         volume->id, image.format);
    *ret = json_pack("{s:s, s:{s:s, s:s, s:s}}", "driver_volume_type",
                     raw ? backend->raw_type : "local", "data", "device_path",
                     directory_path(&backend->directory, arena, image.name), "name", image.name,
                     "format", image.format);
    assert(*ret); /* the path is UTF-8: file_open() */
    volume_file_report_discard(&backend->directory, &image, *ret);
    return 0;
}

const struct driver file_driver = {
    .name = "file",
    .vendor_name = "Open Source",
    .storage_protocol = "file",
    .properties =
        DRIVER_CONTENT | DRIVER_MULTIATTACH | DRIVER_ONLINE_EXTEND | DRIVER_THIN | DRIVER_THICK,
    .options = file_options,
    .open = file_open,
    .close = file_close,
    .get_pools = file_get_pools,
    .create_volume = file_create_volume,
    .connect = file_connect,
    FILE_STORE_CALLS,
};
