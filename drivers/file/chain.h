/*
 * Volumes whose snapshots are qcow2 overlays, where a file system cannot share blocks.
 *
 *     volume-<id>  ←  volume-<id>.<snapshot>  ←  volume-<id>.<snapshot>      volume-<id>.info
 *
 * A snapshot's content is the file below the overlay that bears its id; the overlay holds what was
 * written since.  Names below are relative, and in the directory itself.  The info is JSON as other
 * implementations of this API write it: "active" is the file that guests use, and each snapshot's
 * id has the name of its overlay.  Unknown keys are kept.  Without an info the volume's own file is
 * active.
 *
 * The info is authoritative.  It alone defines which file is active and which snapshots exist, it
 * is replaced in one step, and each step before that preserves the images it names:
 *
 *     create   an empty overlay gets its name (without a reader yet), then the info names it
 *     delete   the overlay is written into the file below, which is the content that goes; what
 *              is above still sees its own.  Then the overlay above, if there is one, is put above
 *              the file below: both read the same.  Then the info loses the snapshot, then the
 *              overlay its name.  Begun again it does all of that again, which changes nothing.
 *     revert   an empty overlay takes the place of the active one
 *     rename   the info alone gets the new name; the files keep the one that they were born with
 *     delete   of the volume: the info says "deleted" in place of "active", then the files go,
 *              the info last
 *
 * A late worker would give the volume an old info.  It has that under a name of its attempt
 * (draft.h), and each later operation on the volume removes those names first
 * (chain_remove_drafts()), so the late worker finds nothing.  The other steps are harmless when
 * late: an overlay's name is never used again, the programs that write into files refuse those that
 * a guest has open, and putting one file above another needs both to be there.
 *
 * Headers are verified: each name is the base's or one of its overlays', a regular file and no
 * link; formats are stated by the header and must be those that we know; nothing keeps its data
 * elsewhere; and the chain is finite.
 */
#pragma once

#include "drivers/file/directory.h"
#include "drivers/file/image.h"

#define CHAIN_SNAPSHOTS_MOST 100
#define CHAIN_FILES_MOST     (CHAIN_SNAPSHOTS_MOST + 1)

struct chain {
    const char *info_name;
    json_t *info;       /* NULL: there is none; the arena's */
    const char *base;   /* name of the file below all others */
    const char *active; /* of the file that guests use */
    bool deleted;       /* a delete of the volume has begun: none of its files can be used */
};

struct chain_link {
    const char *name, *format;
    int64_t virtual_bytes;
};

/* Of the volume whose own file has this name. */
int chain_read(const struct directory *directory, struct arena *arena, const char *volume_name,
               struct chain *ret, struct error *err);
/* Are there overlays below the active file, or is it one? */
bool chain_is_layered(const struct chain *chain);
/* The name of a snapshot's overlay; NULL when the id cannot stand there. */
const char *chain_overlay(const struct chain *chain, struct arena *arena, const char *snapshot_id,
                          struct error *err);
/* The file with the data written since a snapshot: its overlay, or a later overlay into which a
 * guest's host has merged it. */
const char *chain_file_of(const struct chain *chain, struct arena *arena, const char *snapshot_id,
                          struct error *err);
/* Does the info name the file, as the active one or as a snapshot's? */
bool chain_names(const struct chain *chain, const char *name);
/* The id in an overlay's name after "volume-", or NULL. */
const char *chain_snapshot_id(const char *rest);
/* The name of an overlay while its creation is undone (chain_assist.h); an overlay whose undoing
 * was interrupted has its own name again. */
const char *chain_name_undone(struct arena *arena, const char *overlay);
int chain_restore(const struct directory *directory, struct arena *arena, const char *overlay,
                  struct error *err);
/* The overlay's own name; any other name is returned unchanged. */
const char *chain_name_before_undone(struct arena *arena, const char *name);
/* Is it the base's name, or one of its overlays'? */
bool chain_owns(const struct chain *chain, const char *name);
bool chain_has(const struct chain *chain, const char *snapshot_id);

/*
 * Calls about a volume and about its snapshots may run side by side on one chain: a call that
 * changes it locks it `alone`, a long reader shares the lock.  ERROR_BUSY: another call has it,
 * perhaps of a paused process; it is not waited for (driver_fence_busy()).  A volume without
 * overlays is locked, too: QEMU's locks of a paused worker look like those of a guest, and are met
 * by holders of this lock alone.  The descriptor is the lock, -1 where there is nothing to lock:
 * neither an info nor a file.  The locked file is the one that has the name by then; a holder that
 * replaces it locks the new one first.  The chain may have changed since it was read.
 */
int chain_lock(const struct directory *directory, const struct chain *chain, bool alone,
               const struct driver_fence *fence, int *ret_fd, struct error *err);
/* The same, alone, for a delete, of which an earlier one may have removed the file before it ended:
 * there is nothing to lock then, whatever the info has. */
int chain_lock_to_delete(const struct directory *directory, const struct chain *chain,
                         const struct driver_fence *fence, int *ret_fd, struct error *err);
/* The same, alone, for a resize.  The only file of a volume without overlays grows also while a
 * paused worker has the lock: *ret_fd is -1 then.  A delete waits for that worker. */
int chain_lock_to_grow(const struct directory *directory, const struct chain *chain,
                       const struct driver_fence *fence, int *ret_fd, struct error *err);
/* The same lock on an open file that is, or is about to become, a volume's own. */
int chain_lock_file(int fd, bool alone, const struct driver_fence *fence, struct error *err);

/* The place of a file among the links of a walk; -1: none. */
int chain_place_of(const struct chain_link *links, int count, const char *name);

/* The files from the one named `from` downwards, checked; how many. `base_format`: the recorded
 * one. */
int chain_walk(const struct directory *directory, struct arena *arena, const struct chain *chain,
               const char *from, const char *base_format, struct chain_link links[CHAIN_FILES_MOST],
               struct error *err);

/* A late earlier worker can no longer change the info. */
int chain_remove_drafts(const struct directory *directory, struct arena *arena,
                        const struct chain *chain, struct error *err);
/* The info becomes `info`, on the disk. */
int chain_write(const struct directory *directory, struct arena *arena, const struct chain *chain,
                const json_t *info, unsigned attempt, const struct driver_fence *fence,
                struct error *err);

/* The chain with a snapshot's overlay, which becomes `active` there: found by name, or by any info
 * that names it.  1 found, 0 there is none. */
int chain_find_snapshot(const struct directory *directory, struct arena *arena,
                        const char *snapshot_id, struct chain *ret, struct error *err);

/* The chain with this base: found by the info of that name or, as a volume may have another name by
 * now, by any other.  1 found, 0 no info has it. */
int chain_find_base(const struct directory *directory, struct arena *arena, const char *base,
                    struct chain *ret, struct error *err);
