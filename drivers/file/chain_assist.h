/*
 * Snapshots as overlays below a running guest: prepare_assist() and settle_assist() of driver.h
 * once the directory is known.
 *
 * To make one, the overlay is made as ever, and the info names it as the active file before anybody
 * asks the guest's host: it is empty, so a reader sees the same whether the guest writes the
 * overlay or still the file below.  How that ended tell QEMU's locks and the overlay itself:
 *
 *     writes the overlay      the snapshot is made
 *     writes the file below   it is not
 *     nobody writes           it is made if the overlay has data, or if that was reported
 *
 * To undo it, the overlay is locked as QEMU does, so that no guest can begin to write to it, and
 * loses its name, so that a host that is late finds nothing; then the info gets its old words.
 */
#pragma once

#include "drivers/file/directory.h"

int chain_assist_prepare(const struct directory *directory, struct arena *arena,
                         const struct driver_volume *volume, const struct driver_snapshot *snapshot,
                         bool deletes, struct driver_assist *ret, struct error *err);
int chain_assist_settle(const struct directory *directory, struct arena *arena,
                        const struct driver_volume *volume, const struct driver_snapshot *snapshot,
                        bool deletes, enum driver_told told, struct error *err);
