/*
 * Managing and unmanaging snapshots: the calls of driver.h once the directory is known.
 *
 * A separate file gets a snapshot's name.  A file in the volume's own chain (chain.h) is named by
 * the file above it, its overlay, and stays in place: only the info assigns it to another snapshot,
 * and names an unmanaged one "unmanaged-<id>".
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
