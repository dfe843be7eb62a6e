/*
 * What the configuration says of volumes that are files, whatever directory they are in.
 */
#pragma once

#include "drivers/driver.h"
#include "drivers/file/qemu_img.h"

#include <sys/types.h>

struct directory_settings {
    struct qemu_img qemu_img;
    bool sparse;                   /* raw: blocks are taken when they are written */
    bool qcow2;                    /* format of new volumes; else raw */
    bool overlays;                 /* a snapshot that shares no blocks is a qcow2 overlay */
    mode_t mode;                   /* of new files */
    int64_t copy_bytes_per_second; /* of each copy; 0: no limit */
    bool over_subscription_given;  /* by the backend's own section: then it is reported */
    double over_subscription;      /* sparse files may grow to this multiple of the free room */
    int64_t reserved_percent;      /* of the whole room, kept free */
};

extern const struct option directory_options[];

/* What they and the options of every backend say; the rest is the driver's own. */
void directory_settings_load(const struct driver_backend *backend, struct directory_settings *ret);
/* How much room a backend with such settings reports beside its numbers; a new reference. */
json_t *directory_capabilities(const struct directory_settings *settings, unsigned features);
