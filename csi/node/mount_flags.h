/*
 * The mount flags that a volume may request: a strict list, as any author of a claim can set them.
 * Messages do not contain flags: they may hold secrets.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOUNT_FLAGS_MOST 32

struct mount_flags {
    uint64_t attributes; /* of the mount: MOUNT_ATTR_…, always with "nodev" */
    bool read_only;
    const char *options[MOUNT_FLAGS_MOST]; /* of the file system, ended by NULL */
};

/* `type`: "ext4" or "xfs"; NULL: either. -1 with ERROR_BAD_REQUEST: an unknown flag, or too
 * many. */
int mount_flags_parse(const char *type, char *const *flags, size_t count, struct mount_flags *ret,
                      struct error *err);
