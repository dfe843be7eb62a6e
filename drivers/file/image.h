/*
 * Image files by system calls: the facts in their headers, raw files made and grown, QEMU's locks.
 *
 * A descriptor comes from image_open(): always a regular file, never reached through a symbolic
 * link.  The format is the recorded one, never derived from the content: a guest can write any
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

/* The header's facts; valid only after the checks of image_read_facts(). */
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
 * Flushes the file and its length.  A failure leaves an unknown state and fails the whole call.
 *
 * The kernel forgets pages that it could not write, and reports that once to each descriptor that
 * was open then; a later successful flush proves nothing about them.  So
 *
 * - the descriptor whose flush counts is opened before the first write, also before a program runs
 *   that writes: its own flush may consume the error, and its exit status need not report it
 *   (qemu-img rebase).
 * - a step that an earlier attempt may have left in memory does not count as done.  The state of
 *   the disk decides (image_reread(), image_read_flushed()), or it is done again, and flushed.
 * - a file gets its own name when it is flushed, so one under its name is whole.  One without
 *   content may be flushed with its name (metadata_order.h).
 *
 * Names and lengths are in the journal of the file system, which stops writing when it fails.
 */
int image_flush(int fd, struct error *err);

/* Flushes, and drops the kernel's pages of the file: it is read from the disk again. */
int image_reread(int fd, struct error *err);

/* As image_read_facts(), flushed: virtual_bytes is the size on the disk.  The kernel forgets a
 * failed flush, so the header is read from the disk again and not from memory. */
int image_read_flushed(int fd, const char *format, struct image_facts *ret, struct error *err);

/* Was a qcow2 image written to since it was made empty?  1 yes, 0 no. */
int image_was_written(int fd, struct error *err);

/* Does the content begin like qcow2 or LUKS?  Only to find a false record (D12): never to choose
 * how a file is read. */
bool image_looks_qcow2(int fd);
bool image_looks_luks(int fd);

/* The fence reads the database, too slow for each of many small effects.  Its answer is valid for a
 * short time from the query.  *checked_us: 0 before the first. */
int image_fence_check(const struct driver_fence *fence, int64_t *checked_us, struct error *err);

/*
 * Makes the file as long as `bytes`, and flushes it; a file that is long enough stays, also when it
 * became so during the call.  The new part reads as zeros; when not sparse its blocks are
 * allocated.  After a failure the length is unchanged, except for a sparse file that could not be
 * flushed.  On file systems without fallocate (NFS before 4.2) the length is set after a last
 * check: there the fence alone keeps a paused worker from undoing another worker's growth.
 */
int image_grow_raw(int fd, int64_t bytes, bool sparse, const struct driver_fence *fence,
                   struct error *err);
/* The same for a file private to this call: only the fence decides whether it may take long.
 * `only_content`: a length or blocks without content are not flushed, a later flush of the caller
 * has them. */
int image_fill_raw(int fd, int64_t bytes, bool sparse, bool only_content,
                   const struct driver_fence *worker, struct error *err);
