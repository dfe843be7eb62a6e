/*
 * How an image of a volume or a snapshot loses its name.
 *
 * All of this is true when the name goes, and is found out right before that:
 *
 *     the file     the name still leads to the file that is open and locked here
 *     no user      no program of QEMU's has it open, and QEMU's locks keep each from opening it
 *                  until it is gone
 *     no info      that is not being deleted names it, as the active file, as a snapshot's or as
 *                  its base, whatever the volume is called by now
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
 * The same of a file that no info can name: the image of a volume that has no info of its own,
 * under the name that its row has, for the worker whose lease holds.  Only a worker that is late
 * can have a name that the volume had before, and needs the look at every info of the directory.
 */
int removal_unnamed(const struct directory *directory, const char *name,
                    const struct driver_fence *fence, struct error *err);
/* 0 no guest has it open; -1, as `err` says already where the lock could not be asked for. */
int removal_refuse_held(enum image_hold hold, const char *name, struct error *err);

/* The same of a file that the caller has found unused, and keeps so by the locks of `fd`. */
int removal_held(const struct directory *directory, const char *name, int fd,
                 const struct driver_fence *fence, struct error *err);
