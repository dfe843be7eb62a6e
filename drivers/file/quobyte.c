/*
 * Volumes on a Quobyte file system: one share, qcow2 by default.
 */
#include "drivers/file/remotefs.h"

#include <string.h>

/* clang-format off */
static const struct option own_options[] = {
    { .section = OPTION_BACKEND, .key = "quobyte_volume_url", .type = OPTION_TEXT,
      .help = "Quobyte volume to mount: quobyte://<registry>[,<registry>…]/<volume>." },
    { .section = OPTION_BACKEND, .key = "quobyte_client_cfg", .type = OPTION_TEXT,
      .help = "Configuration file of the Quobyte client." },
    { .section = OPTION_BACKEND, .key = "quobyte_mount_point_base", .type = OPTION_TEXT,
      .help = "Directory below which the volume is mounted. Unset: the directory mnt below "
              "state_path." },
    SPARSE_OPTION("quobyte_sparsed_volumes"),
    QCOW2_OPTION("quobyte_qcow2_volumes", "true"),
    OVERLAYS_OPTION("quobyte_snapshot_overlays"),
    OPTIONS_END
};
/* clang-format on */

static const struct option *const quobyte_options[] = { directory_options, mount_options,
                                                        own_options, NULL };

static bool is_printable(const char *text) {
    for (; *text; text++) {
        if (*text <= ' ' || *text >= 0x7f)
            return false;
    }
    return true;
}

static int quobyte_load_shares(const struct driver_backend *backend, struct arena *arena,
                               struct share **ret, struct error *err) {
    static const char scheme[] = "quobyte://";
    const char *url = config_text(backend->config, backend->name, "quobyte_volume_url");
    struct share *share = arena_alloc(arena, sizeof(*share));

    if (!url)
        return error_set(err, ERROR_BAD_REQUEST, "quobyte_volume_url is not set.");
    if (strncmp(url, scheme, sizeof(scheme) - 1) == 0)
        url += sizeof(scheme) - 1;
    /* Not '-': the share must never be taken for an option of the program. */
    if (!is_printable(url) || strlen(url) > 255 || url[0] == '-' || url[0] == '/' ||
        !strchr(url, '/') || strstr(url, ".."))
        return error_set(err, ERROR_BAD_REQUEST,
                         "quobyte_volume_url: \"%.255s\" is not quobyte://<registry>/<volume>.",
                         url);
    *share = (struct share){ .address = arena_text(arena, url), .options = "" };
    *ret = share;
    return 1;
}

static int quobyte_mount(const struct driver_backend *backend, struct arena *arena,
                         const struct mount_programs *programs, const struct share *share,
                         const char *point, struct error *err) {
    const char *config = config_text(backend->config, backend->name, "quobyte_client_cfg");

    return mount_quobyte(arena, programs, share->address, config, point, err);
}

static int quobyte_check_mount(const struct mount_entry *entry, struct error *err) {
    if (strncmp(entry->source, "quobyte@", 8) == 0 || strcmp(entry->type, "fuse.quobyte") == 0)
        return 0;
    return error_set(err, ERROR_BACKEND, "%s is a mount of %s (%s), not of Quobyte.", entry->point,
                     entry->source, entry->type);
}

static const struct remotefs_kind kind = {
    .driver = &quobyte_driver,
    .volume_type = "quobyte",
    .mount_program = "mount.quobyte",
    .base_key = "quobyte_mount_point_base",
    .options = own_options,
    .load_shares = quobyte_load_shares,
    .method = { .mount = quobyte_mount, .check = quobyte_check_mount },
};

static int quobyte_open(const struct driver_backend *backend, void **ret_handle,
                        struct error *err) {
    return remotefs_open(&kind, backend, ret_handle, err);
}

const struct driver quobyte_driver = {
    .name = "quobyte",
    .class_path = "cinder.volume.drivers.quobyte.QuobyteDriver",
    .vendor_name = "Quobyte",
    .storage_protocol = "quobyte",
    .properties = REMOTEFS_PROPERTIES,
    .options = quobyte_options,
    .open = quobyte_open,
    REMOTEFS_CALLS,
};
