/*
 * Image files by system calls: what a file says of itself, raw files made and grown, QEMU's locks.
 *
 * A descriptor comes from image_open(): always a regular file, never reached through a symbolic
 * link.  The format is the recorded one and content is never asked for it: a guest can write any
 * header into a raw volume.  Nothing here shrinks a file.  Everything is thread-safe for different
 * files.
 */
#pragma once

#include "common/error.h"
#include "common/image_lock.h"
#include "drivers/driver_call.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What the header says; believed only after the checks of image_read_facts(). */
struct image_facts {
    int64_t virtual_bytes;
    bool encrypted;          /* the content is; a secret is needed to resize it */
    bool external_data;      /* qcow2 whose clusters lie in another file */
    char backing[1024];      /* name of the image below as written in the header, "" for none */
    char backing_format[16]; /* as the header states it, "" when it does not */
};

bool image_format_known(const char *format); /* "raw" or "qcow2"; NULL is neither */

/* openat() of a regular file; -1 with ERROR_NOT_FOUND when there is none. */
int image_open(int directory_fd, const char *name, int flags, struct error *err);
/* The same for one that may be missing: 1 it is open, 0 there is none. */
int image_find(int directory_fd, const char *name, int flags, int *ret_fd, struct error *err);

/* Facts of an open image of the given format.  raw: the length of the file. */
int image_read_facts(int fd, const char *format, struct image_facts *ret, struct error *err);

/*
 * Brings the file to the disk, its length too.  What a failure leaves there is unknown: it fails
 * what it is a part of.
 *
 * The kernel forgets pages that it could not write, and says so once to each descriptor that was
 * open then; a later flush that succeeds proves nothing of them.  So
 *
 * - the descriptor whose flush counts is opened before the first write, also before a program runs
 *   that writes: its own flush may take the error, and its exit status need not tell (qemu-img
 *   rebase).
 * - a step that an earlier attempt may have left in memory is not taken as done.  It is judged by
 *   what the disk has (image_reread(), image_read_flushed()) or done again, and flushed.
 * - a file gets its own name when it is flushed, so one under its name is whole.
 *
 * Names and lengths are in the journal of the file system, which stops writing when it fails.
 */
int image_flush(int fd, struct error *err);

/* Flushes, and drops what the kernel has of the file: it is read from the disk again. */
int image_reread(int fd, struct error *err);

/* As image_read_facts(), flushed: virtual_bytes is what the disk has.  The kernel forgets a flush
 * that failed, so a header is read from the disk again and not from memory. */
int image_read_flushed(int fd, const char *format, struct image_facts *ret, struct error *err);

/* Has anybody written to a qcow2 image since it was made empty?  1 yes, 0 no. */
int image_was_written(int fd, struct error *err);

/* Does the content begin like qcow2 or LUKS?  Only to find a record that cannot be true (D12):
 * never to choose how a file is read. */
bool image_looks_qcow2(int fd);
bool image_looks_luks(int fd);

/* The fence reads the database, too often for each of many small effects.  Its answer is believed
 * for a moment from when it was asked.  *asked_us: 0 before the first. */
int image_fence_check(const struct driver_fence *fence, int64_t *asked_us, struct error *err);

/*
 * Makes the file as long as `bytes`, and flushes it; one that is so long already stays, also when
 * it became so during the call.  The new part reads as zeros; when not sparse its blocks are taken.
 * After a failure the length is what it was, but for a sparse file that could not be flushed.  On
 * file systems without fallocate (NFS before 4.2) the length is set after a last look: there the
 * fence alone keeps a paused worker from undoing what another one did meanwhile.
 */
int image_grow_raw(int fd, int64_t bytes, bool sparse, const struct driver_fence *fence,
                   struct error *err);
/* The same of a file that only this call knows: the fence says alone whether it may take long. */
int image_fill_raw(int fd, int64_t bytes, bool sparse, const struct driver_fence *worker,
                   struct error *err);
