/*
 * Snapshots as overlays: what chain.h tells, step by step.
 */
#pragma once

#include "drivers/file/image_source.h"

/* The volume, which `source` is, goes on above its image of this moment. */
enum driver_outcome chain_snapshot_create(const struct directory *directory, struct arena *arena,
                                          const struct driver_volume *volume,
                                          const struct driver_snapshot *snapshot,
                                          const struct image_source *source, struct error *err);
/* The same, whoever writes to the image below; the name of the overlay. */
int chain_snapshot_put(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, const struct driver_snapshot *snapshot,
                       const struct image_source *source, const char **ret, struct error *err);
/* Nothing happens for a snapshot without an overlay. */
enum driver_outcome chain_snapshot_delete(const struct directory *directory, struct arena *arena,
                                          const struct driver_volume *volume,
                                          const struct driver_snapshot *snapshot,
                                          const struct driver_progress *progress,
                                          struct error *err);
/* Fills a draft with an empty image above the one that `below` names, with so many bytes. */
int chain_snapshot_fill(const struct draft *draft, struct arena *arena,
                        const struct qemu_img_below *below, int64_t bytes, struct error *err);
