/*
 * The files of a chain that a guest's host was asked to merge, noted in the volume's info, and the
 * outcome, read from the files.
 *
 *     "merging": {SNAPSHOT: FILE}      the file that drops out when the snapshot is deleted; noted
 *                                      before the request to the host, until the file is gone
 *     "unfinished": {SNAPSHOT: FILE}   the same without a merging host: it has declined, or
 *                                      qemu-img merges them without a guest
 *     "unflushed": {SNAPSHOT: FILE}    the same of a snapshot that is deleted for its user: the
 *                                      files are merged in the memory of QEMU, or are still to be
 *                                      merged without a guest
 *
 * If FILE is the snapshot's overlay, it is committed into the file below.  Else it is the file
 * below the overlay, and is pulled into that.  A host may merge late, after the end of its
 * operation: each operation on a chain begins with chain_enter(), which reads every note and
 * updates the info from the files.  A function that writes into a file of a chain, or reads one as
 * a snapshot's, calls chain_check_below() first, which needs no note: where two overlays lie above
 * one file, it can be the content of one snapshot only.
 *
 * QEMU writes the header of a merge at its end, but the tables that lead to the merged clusters
 * only at the next flush of the guest.  So the headers show which file has dropped out, and the
 * tables on the disk whether it is still needed (qcow2_use_covers()):
 *
 *     all entries there      the info loses the snapshot, then the file goes
 *     not, a guest runs      the file stays, noted as unflushed, and the info keeps the snapshot:
 *                            each later operation looks again, and the guest may go on, have
 *                            snapshots, and pull more into the same file
 *     not, no guest          the header gets the file again (chain_repair()).  Nothing has written
 *                            to that since, and what is above takes precedence, so the content is
 *                            what the guest saw, whatever part was merged; a crash leaves the one
 *                            header or the other, and the step is repeated.  The next operation
 *                            without a guest merges the files of the snapshot as of any other
 *                            (chain_snapshot_end_deletes())
 *
 * Not protected: a guest that is started again before any operation on the volume has repaired the
 * header sees the disk without the merged clusters.  And where the power of its host fails between
 * a merge and the next flush, a table may have reached the disk before the clusters that it leads
 * to, as QEMU orders the two by flushes alone.  An entry on the disk counts as the proof here; the
 * contents of the clusters are not compared.
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

/* Before a guest may start, or a reader that does not change the chain: each merge whose tables the
 * disk lacks is undone in the header, unless a guest has the volume open.  Does nothing then, or
 * without a note; otherwise it locks the chain, for a moment and the reading of tables. */
int chain_repair(const struct chain_work *work, struct error *err);

enum chain_note { CHAIN_MERGING, CHAIN_UNFINISHED, CHAIN_UNFLUSHED };

/* The noted file that drops out with a snapshot; NULL: none is noted. */
const char *chain_noted(const struct chain *chain, const char *snapshot_id);
bool chain_has_notes(const struct chain *chain);
/* Is the snapshot in the info although it is deleted for its user? */
bool chain_is_unflushed(const struct chain *chain, const char *snapshot_id);
/* Notes it, before the request to a host or the start of qemu-img.  A commit of the file takes the
 * place of an earlier pull, which its host has declined: the file drops out for this one. */
int chain_note(const struct chain_work *work, const struct chain *chain, const char *snapshot_id,
               const char *file, enum chain_note why, struct error *err);
/* Removes the notes of a snapshot from an info that is about to be written. */
void chain_drop_note(json_t *info, const char *snapshot_id);

/* chain_file_of(); where that was pulled and is noted as unflushed, the file that has it. */
const char *chain_upper(const struct chain *chain, struct arena *arena, const char *snapshot_id,
                        struct error *err);
/* *ret: the noted file that was committed into the one below this snapshot's overlay.
 * It lies above that one, so both have what was committed, whatever QEMU has flushed.  1: found. */
int chain_find_committed(const struct directory *directory, struct arena *arena,
                         const struct chain *chain, const char *snapshot_id, const char *below,
                         const char **ret, struct error *err);

/* ERROR_CONFLICT while a host may still merge files for another snapshot than this one (NULL: for
 * any): a guest has the volume open, and later changes of the chain would be merged, too. */
int chain_check_others(const struct chain_work *work, const struct chain *chain,
                       const char *snapshot_id, struct error *err);
/* ERROR_CONFLICT where a merge of these links below a guest would make a file that is noted as
 * unflushed useless; `pulls`: into the first of them, which may have any number of such files. */
int chain_check_flushed(const struct chain *chain, struct arena *arena,
                        const struct chain_link *links, int count, bool pulls, struct error *err);
/* ERROR_BACKEND when an overlay of the info lies above `below` that is none of these two (NULL:
 * none).  A reader gets no error for an overlay that a note explains. */
int chain_check_below(const struct directory *directory, const struct chain *chain,
                      const char *below, const char *one, const char *other, bool writes,
                      struct error *err);
/* Later reads of the chain's files come from the disk, also where the kernel has lost writes of an
 * earlier attempt (image_reread()). */
int chain_reread(const struct directory *directory, const struct chain *chain, struct error *err);
