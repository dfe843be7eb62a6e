/*
 * The file system of a volume: detection, creation on a blank device, check, growth, and trim.
 *
 * Only libblkid decides what a device contains; only a device without any signature and with an
 * empty first sector is formatted, by programs that are never forced.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

#define FILESYSTEM_TYPE_SIZE 32

/* "ext4", "xfs"; "" is the default type.  NULL: an unsupported type. */
const char *filesystem_known(const char *type);

/* The type for the device when none is requested: the present one, otherwise the default type.
 * NULL: it could not be read. */
const char *filesystem_choose(const char *device, struct error *err);

/* The type of the device's content, "" when it is blank. -1: it could not be read, or has ambiguous
 * signatures. */
int filesystem_probe(const char *device, char ret_type[FILESYSTEM_TYPE_SIZE], struct error *err);

/*
 * Before a mount: creates a file system of `type` on a blank device, checks an existing one, and
 * grows an ext4 to the size of its device.  ERROR_PRECONDITION: other content, or blank and not
 * writable; ERROR_BACKEND: it is damaged.
 */
int filesystem_prepare(struct arena *arena, const char *device, const char *type, bool read_only,
                       struct error *err);

/* Grows a mounted one to the size of its device.  ERROR_PRECONDITION: it can grow only unmounted,
 * and will at its next mount. */
int filesystem_grow(struct arena *arena, const char *device, const char *type,
                    const char *mount_point, struct error *err);

/* The type of a mounted one; NULL: unsupported.  `directory`: any descriptor in it. */
const char *filesystem_mounted(int directory);
/* Has the kernel recorded errors in the file system of this loop device?  Of ext4 only. */
bool filesystem_has_errors(unsigned loop_number);

/* Frees the blocks of files deleted before. */
int filesystem_flush_deletions(int directory, struct error *err);

/*
 * Discards the free blocks of a device of so many bytes, in steps; may_continue() is called before
 * each.  Blocks of files deleted before are included.  1: completed, 0: interrupted; -1 with
 * ERROR_BAD_METHOD: not supported.
 */
int filesystem_trim(int directory, int64_t bytes, bool (*may_continue)(void *arg), void *arg,
                    struct error *err);
