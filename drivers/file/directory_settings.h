/*
 * Options of volumes that are files, for any directory.
 */
#pragma once

#include "drivers/driver.h"
#include "drivers/file/qemu_img.h"

#include <sys/types.h>

struct directory_settings {
    struct qemu_img qemu_img;
    bool sparse;                   /* raw: blocks are allocated when they are written */
    bool qcow2;                    /* format of new volumes; else raw */
    bool overlays;                 /* a snapshot that shares no blocks is a qcow2 overlay */
    mode_t mode;                   /* of new files */
    int64_t copy_bytes_per_second; /* of each copy; 0: no limit */
    bool over_subscription_given;  /* set in the backend's own section: then it is reported */
    double over_subscription;      /* sparse files may grow to this multiple of the free space */
    int64_t reserved_percent;      /* of the total capacity, kept free */
};

extern const struct option directory_options[];

/* Options with a key of their own for each driver. */
#define FILES_OPTION(key_, member_, fallback_, help_)                                       \
    {                                                                                       \
        .section = OPTION_BACKEND, .key = key_, .type = OPTION_BOOL, .fallback = fallback_, \
        .help = help_, OPTION_FILLS(struct directory_settings, member_)                     \
    }
#define SPARSE_OPTION(key)                                                                    \
    FILES_OPTION(                                                                             \
        key, sparse, "true",                                                                  \
        "Raw volumes are sparse: space is allocated as data are written. When false, all of " \
        "it is allocated when the volume is created.")
#define QCOW2_OPTION(key, fallback) \
    FILES_OPTION(key, qcow2, fallback, "Create volumes as qcow2 images instead of raw files.")
#define OVERLAYS_OPTION(key)                                                                   \
    FILES_OPTION(                                                                              \
        key, overlays, "false",                                                                \
        "Where files cannot share blocks, a snapshot takes constant time all the same: the "   \
        "volume continues in a qcow2 overlay above its former image. When false it is a full " \
        "copy.")

/* Reads the other options and those of every backend; the driver fills in its own. */
void directory_settings_load(const struct driver_backend *backend, struct directory_settings *ret);
/* The capabilities in the capacity report of a backend with such settings; a new reference. */
json_t *directory_capabilities(const struct directory_settings *settings, unsigned features);
