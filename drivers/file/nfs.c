/*
 * Volumes on NFS shares of any server.
 */
#include "drivers/file/nfs.h"

/* clang-format off */
const struct option nfs_own_options[] = {
    { .section = OPTION_BACKEND, .key = "nfs_shares_config", .type = OPTION_TEXT,
      .help = "File with the shares, one a line: address:/path [-o options]. Not read when nas_host "
              "and nas_share_path are set." },
    { .section = OPTION_BACKEND, .key = "nas_host", .type = OPTION_TEXT,
      .help = "Name or address of the server of the only share; an IPv6 address in brackets." },
    { .section = OPTION_BACKEND, .key = "nas_share_path", .type = OPTION_TEXT,
      .help = "Path of the only share on the server nas_host." },
    { .section = OPTION_BACKEND, .key = "nas_mount_options", .type = OPTION_TEXT,
      .help = "Options to mount with, in place of nfs_mount_options. With nas_host the compute side "
              "gets them, too." },
    { .section = OPTION_BACKEND, .key = "nfs_mount_options", .type = OPTION_TEXT,
      .help = "Options to mount with, see nfs(5). Those of a share come after them. When none names "
              "a version, 4.2 and 4.1 are tried first." },
    { .section = OPTION_BACKEND, .key = "nfs_mount_attempts", .type = OPTION_INT, .fallback = "3", .min = 1, .max = 100,
      .help = "Attempts to mount a share, a second apart, before it counts as failed." },
    { .section = OPTION_BACKEND, .key = "nfs_mount_point_base", .type = OPTION_TEXT,
      .help = "Directory below which the shares are mounted. Unset: the directory mnt below "
              "state_path." },
    SPARSE_OPTION("nfs_sparsed_volumes"),
    QCOW2_OPTION("nfs_qcow2_volumes", "false"),
    OVERLAYS_OPTION("nfs_snapshot_support"),
    OPTIONS_END
};
/* clang-format on */

const struct option *const nfs_options[] = { directory_options, mount_options, nfs_own_options,
                                             NULL };

static const char *text_or_empty(const struct driver_backend *backend, const char *key) {
    const char *text = config_text(backend->config, backend->name, key);

    return text ? text : "";
}

static int parse_option(const struct driver_backend *backend, struct arena *arena, const char *key,
                        const char **ret, struct error *err) {
    const char *text = text_or_empty(backend, key);

    *ret = share_parse_options(arena, text);
    if (!*ret)
        return error_set(err, ERROR_BAD_REQUEST, "%s: \"%s\" is no list of mount options.", key,
                         text);
    return 0;
}

int nfs_load_shares(const struct driver_backend *backend, struct arena *arena, struct share **ret,
                    struct error *err) {
    const char *file = config_text(backend->config, backend->name, "nfs_shares_config");
    const char *host = text_or_empty(backend, "nas_host");
    const char *path = text_or_empty(backend, "nas_share_path");
    bool is_only = *host && *path;
    struct share *share;

    if (!is_only && !file)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Neither nfs_shares_config nor nas_host with nas_share_path is set.");
    if (!is_only) {
        int count = shares_read(arena, file, ret, err);

        return count < 0 ? error_context(err, "nfs_shares_config") : count;
    }
    share = arena_alloc(arena, sizeof(*share));
    share->address = arena_format(arena, "%s:%s", host, path);
    if (share_check_address(share->address, err) < 0)
        return error_context(err, "nas_host and nas_share_path");
    if (parse_option(backend, arena, "nas_mount_options", &share->options, err) < 0)
        return -1;
    *ret = share;
    return 1;
}

int nfs_mount(const struct driver_backend *backend, struct arena *arena,
              const struct mount_programs *programs, const struct share *share, const char *point,
              struct error *err) {
    const char *key =
        *text_or_empty(backend, "nas_mount_options") ? "nas_mount_options" : "nfs_mount_options";
    const char *options;

    if (parse_option(backend, arena, key, &options, err) < 0)
        return -1;
    options = arena_format(arena, "%s%s%s", options, *options && *share->options ? "," : "",
                           share->options);
    return mount_nfs(arena, programs, share->address, options, point,
                     config_int(backend->config, backend->name, "nfs_mount_attempts"), err);
}

static const struct remotefs_kind kind = {
    .driver = &nfs_driver,
    NFS_KIND,
};

static int nfs_open(const struct driver_backend *backend, void **ret_handle, struct error *err) {
    return remotefs_open(&kind, backend, ret_handle, err);
}

const struct driver nfs_driver = {
    .name = "nfs",
    .class_path = "cinder.volume.drivers.nfs.NfsDriver",
    .vendor_name = "Open Source",
    .storage_protocol = "nfs",
    .properties = REMOTEFS_PROPERTIES,
    .options = nfs_options,
    .open = nfs_open,
    REMOTEFS_CALLS,
};
