/*
 * The files of a chain that a guest's host was asked to merge, noted in the volume's info, and the
 * outcome, read from the files.
 *
 *     "merging": {SNAPSHOT: FILE}      the file that drops out when the snapshot is deleted; noted
 *                                      before the request to the host, until the file is gone
 *     "unfinished": {SNAPSHOT: FILE}   the same without a merging host: it has declined, or
 *                                      qemu-img merges them without a guest
 *
 * If FILE is the snapshot's overlay, it is committed into the file below.  Else it is the file
 * below the overlay, and is pulled into that.  A host may merge late, after the end of its
 * operation: each operation on a chain begins with chain_enter(), which reads every note and
 * updates the info from the files.  A function that writes into a file of a chain, or reads one as
 * a snapshot's, calls chain_check_below() first, which needs no note: where two overlays lie above
 * one file, it can be the content of one snapshot only.
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

/* Locks the chain (chain_lock(), alone), reads it, and completes each noted merge that is done.
 * What an earlier worker left of the info is removed, also if nothing is left to do. */
int chain_enter(const struct chain_work *work, struct chain *ret, int *ret_lock, struct error *err);

/* The noted file that drops out with a snapshot; NULL: none is noted. */
const char *chain_noted(const struct chain *chain, const char *snapshot_id);
/* Notes it, before the request to a host or the start of qemu-img. */
int chain_note(const struct chain_work *work, const struct chain *chain, const char *snapshot_id,
               const char *file, bool by_host, struct error *err);
/* Removes the notes of a snapshot from an info that is about to be written. */
void chain_drop_note(json_t *info, const char *snapshot_id);

/* ERROR_CONFLICT while a host may still merge files for another snapshot than this one (NULL: for
 * any): a guest has the volume open, and later changes of the chain would be merged, too. */
int chain_check_others(const struct chain_work *work, const struct chain *chain,
                       const char *snapshot_id, struct error *err);
/* ERROR_BACKEND when an overlay of the info lies above `below` that is none of these two (NULL:
 * none).  A reader gets no error for an overlay that a note explains. */
int chain_check_below(const struct directory *directory, const struct chain *chain,
                      const char *below, const char *one, const char *other, bool writes,
                      struct error *err);
/* Later reads of the chain's files come from the disk, also where the kernel has lost writes of an
 * earlier attempt (image_reread()). */
int chain_reread(const struct directory *directory, const struct chain *chain, struct error *err);
