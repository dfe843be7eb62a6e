/*
 * Existing files that become snapshots, and snapshots that are let go of: the calls of driver.h
 * once the directory is known.
 *
 * A file of its own gets a snapshot's name.  What lies in the volume's own chain (chain.h) is named
 * by the file above it, its overlay, and stays where it is: the info alone gives it to another
 * snapshot, and names one that is nobody's "unmanaged-<id>".
 */
#pragma once

#include "drivers/driver_call.h"
#include "drivers/file/directory.h"

int snapshot_file_get_manageable(const struct directory *directory, struct arena *arena,
                                 const struct driver_volume *volume,
                                 const struct driver_snapshot *snapshot, const char *source_name,
                                 struct driver_candidate *ret, struct error *err);
int snapshot_file_manage(const struct directory *directory, struct arena *arena,
                         const struct driver_volume *volume, const struct driver_snapshot *snapshot,
                         const struct driver_candidate *source, struct error *err);
int snapshot_file_unmanage(const struct directory *directory, struct arena *arena,
                           const struct driver_volume *volume,
                           const struct driver_snapshot *snapshot, struct error *err);
int snapshot_file_list_manageable(const struct directory *directory, struct arena *arena,
                                  void (*found)(void *arg,
                                                const struct driver_candidate *candidate),
                                  void *arg, struct error *err);
