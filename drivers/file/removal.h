/*
 * Removes the name of an image of a volume or a snapshot.
 *
 * All of this holds when the name is removed, and is checked right before:
 *
 *     the file     the name still leads to the file that is open and locked here
 *     no user      no QEMU program has it open, and QEMU's locks keep each from opening
 *                  it until it is gone
 *     no info      no info of a living volume names it, as the active file, as a snapshot's or as
 *                  its base, whatever the volume's present name
 *     the fence    the operation is still this worker's
 *
 * The file of a chain is removed with the chain locked (chain_lock()), so that no info begins to
 * name it meanwhile.  Where locks of other hosts do not show, the other three remain.
 */
#pragma once

#include "common/image_lock.h"
#include "drivers/file/directory.h"

/* 0 it is gone, or was, and is not flushed; 1 an info names it, and it stays.  -1: also when a
 * guest has it open. */
int removal_image(const struct directory *directory, struct arena *arena, const char *name,
                  const struct driver_fence *fence, struct error *err);
/*
 * The same for a file that no info can name: the image of a volume without an info of its own,
 * under the name in its row, for the worker whose lease holds.  Only a late worker can have a
 * former name of the volume, and must read every info of the directory.
 */
int removal_unnamed(const struct directory *directory, const char *name,
                    const struct driver_fence *fence, struct error *err);
/* 0 no guest has it open; -1, where the lock check failed with the `err` of that. */
int removal_refuse_held(enum image_hold hold, const char *name, struct error *err);

/* The same for a file that the caller has found unused and holds by the locks of `fd`. */
int removal_held(const struct directory *directory, const char *name, int fd,
                 const struct driver_fence *fence, struct error *err);
