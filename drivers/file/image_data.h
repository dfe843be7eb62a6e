/*
 * The bytes of a volume or a snapshot: its own raw file, or its qcow2 image and the files below it
 * through qemu-nbd (data/chain_io.h).  The calls of driver.def once the directory is known.
 */
#pragma once

#include "data/volume_io.h"
#include "drivers/file/directory.h"

/* A file of one format that is private to the caller, for writing. */
struct volume_io *image_data_open_file(const struct directory *directory, struct arena *arena,
                                       const char *name, const char *format, struct error *err);
int image_data_open_volume(const struct directory *directory, struct arena *arena,
                           const struct driver_volume *volume, bool writable,
                           struct volume_io **ret, struct error *err);
int image_data_open_snapshot(const struct directory *directory, struct arena *arena,
                             const struct driver_volume *volume,
                             const struct driver_snapshot *snapshot, struct volume_io **ret,
                             struct error *err);
