/*
 * Snapshots as overlays below a running guest: prepare_assist() and complete_assist() of driver.h
 * once the directory is known.
 *
 * To make one, the overlay is made as usual, and the info names it as the active file before the
 * request to the guest's host: it is empty, so a reader sees the same whether the guest writes the
 * overlay or still the file below.  QEMU's locks and the overlay itself give the outcome:
 *
 *     writes the overlay      the snapshot is made
 *     writes the file below   it is not
 *     no guest writes         it is made if the overlay has data, or if that was reported
 *
 * To undo it, the overlay is locked as QEMU does, so that no guest can begin to write to it, and
 * loses its name, so that a late host finds nothing; then the old info is restored.
 */
#pragma once

#include "drivers/file/directory.h"

int chain_assist_prepare(const struct directory *directory, struct arena *arena,
                         const struct driver_volume *volume, const struct driver_snapshot *snapshot,
                         bool deletes, struct driver_assist *ret, struct error *err);
int chain_assist_complete(const struct directory *directory, struct arena *arena,
                          const struct driver_volume *volume,
                          const struct driver_snapshot *snapshot, bool deletes,
                          enum driver_reported told, struct error *err);
