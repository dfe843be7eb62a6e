/*
 * Snapshots as overlays: the steps of chain.h.
 */
#pragma once

#include "drivers/file/chain_merge.h"
#include "drivers/file/image_source.h"

/* The volume, which `source` is, continues in an overlay above its present image. */
enum driver_outcome chain_snapshot_create(const struct directory *directory, struct arena *arena,
                                          const struct driver_volume *volume,
                                          const struct driver_snapshot *snapshot,
                                          const struct image_source *source, struct error *err);
/* The same, also while the image below is written; returns the name of the overlay. */
int chain_snapshot_put(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, const struct driver_snapshot *snapshot,
                       const struct image_source *source, const char **ret, struct error *err);
/* Does nothing for a snapshot without an overlay. */
enum driver_outcome chain_snapshot_delete(const struct directory *directory, struct arena *arena,
                                          const struct driver_volume *volume,
                                          const struct driver_snapshot *snapshot,
                                          const struct driver_progress *progress,
                                          struct error *err);
/* Of the snapshots that are deleted for their users and still in the chain (chain_merge.h): merges
 * their files, unless a guest has the volume open.  The caller has locked the chain. */
int chain_snapshot_end_deletes(const struct chain_work *work,
                               const struct driver_progress *progress, struct error *err);
/* Fills a draft with an empty image of so many bytes above the one named `below`. */
int chain_snapshot_fill(const struct draft *draft, struct arena *arena,
                        const struct qemu_img_below *below, int64_t bytes, struct error *err);
