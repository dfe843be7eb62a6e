/*
 * Which files of a chain the host of a guest was asked to merge, as the volume's info notes it, and
 * how that ended, as the files say it.
 *
 *     "merging": {SNAPSHOT: FILE}      the file that drops out when the snapshot is deleted; noted
 *                                      before the host is asked, and kept until the file is gone
 *     "unfinished": {SNAPSHOT: FILE}   the same where no host is at it: one has said that it does
 *                                      not merge them, or qemu-img does without a guest
 *
 * Where FILE is the snapshot's overlay it is committed into the file below.  Else it is the file
 * below the overlay, which is pulled into that.  A host may merge late, when its operation has
 * ended: each way of working on a chain begins with chain_enter(), which looks at every note and
 * brings the info up to the files.  Whatever writes into a file of a chain, or reads one as a
 * snapshot's, asks chain_check_below() first, which needs no note: where two overlays lie above one
 * file, it can be the content of one snapshot only.
 */
#pragma once

#include "drivers/file/volume_image.h"

struct chain_work {
    const struct directory *directory;
    struct arena *arena;
    const struct driver_volume *volume;
    const struct driver_fence *fence;
    unsigned attempt;
};

/* Locks the chain (chain_lock(), alone), reads it, and ends each noted merge that is done. */
int chain_enter(const struct chain_work *work, struct chain *ret, int *ret_lock, struct error *err);

/* The file that drops out with a snapshot, as it is noted; NULL: none is. */
const char *chain_noted(const struct chain *chain, const char *snapshot_id);
/* Notes it, before a host is asked or qemu-img runs. */
int chain_note(const struct chain_work *work, const struct chain *chain, const char *snapshot_id,
               const char *file, bool by_host, struct error *err);
/* Removes what is noted of a snapshot from an info that is about to be written. */
void chain_drop_note(json_t *info, const char *snapshot_id);

/* ERROR_CONFLICT while a host may still merge files for another snapshot than this one (NULL: for
 * any): a guest has the volume open, and what is built on the chain would be merged, too. */
int chain_check_others(const struct chain_work *work, const struct chain *chain,
                       const char *snapshot_id, struct error *err);
/* ERROR_BACKEND when an overlay of the info lies above `below` that is none of these two (NULL:
 * none).  Who only reads is told of none that a note explains. */
int chain_check_below(const struct directory *directory, const struct chain *chain,
                      const char *below, const char *one, const char *other, bool writes,
                      struct error *err);
/* What is read of the chain's files next comes from the disk, also where the kernel has lost what
 * an earlier attempt wrote (image_reread()). */
int chain_reread(const struct directory *directory, const struct chain *chain, struct error *err);
