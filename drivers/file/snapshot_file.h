/*
 * One snapshot as a file beside its volume: the calls of driver.h once the directory is known.
 *
 * The file is independent of all others.  Where configured, and the file system does not share
 * blocks, the snapshot is the volume's image itself, which continues in an overlay (chain.h).
 */
#pragma once

#include "drivers/file/volume_file.h"

/* In the format of its volume. */
enum driver_outcome snapshot_file_create(const struct directory *directory, struct arena *arena,
                                         const struct driver_volume *volume,
                                         const struct driver_snapshot *snapshot,
                                         const struct driver_progress *progress, struct error *err);
enum driver_outcome snapshot_file_delete(const struct directory *directory, struct arena *arena,
                                         const struct driver_volume *volume,
                                         const struct driver_snapshot *snapshot,
                                         const struct driver_progress *progress, struct error *err);
/* As volume_file_list(); an overlay without a complete chain below it has no size. */
int snapshot_file_list(const struct directory *directory, struct arena *arena,
                       void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                       struct error *err);
