/*
 * qemu-img, for work that system calls cannot do: qcow2 images made and grown, and the decrypted
 * size of encrypted ones.
 *
 * The format is always stated, the path always absolute, every run has a deadline and limits, and
 * locking is never switched off.
 */
#pragma once

#include "common/arena.h"
#include "drivers/driver_call.h"
#include "drivers/file/image.h"
#include "drivers/file/image_copy.h"

struct qemu_img {
    const char *program; /* executable, usually "qemu-img" */
    int64_t timeout_s;   /* the deadline of a run */
};

/* Writes a qcow2 image with preallocated metadata into `path`. */
int qemu_img_create(struct arena *arena, const struct qemu_img *tool, const char *path,
                    int64_t bytes, struct error *err);

/* A backing image: its name relative to the overlay's directory. */
struct qemu_img_below {
    const char *name, *format;
};

/* Writes an empty qcow2 image above a backing image, which is not opened. */
int qemu_img_create_above(struct arena *arena, const struct qemu_img *tool, const char *path,
                          int64_t bytes, const struct qemu_img_below *below, struct error *err);

/* DEFERRED: a guest holds the image (R28); every other failure is FAILED (R29). */
enum driver_outcome qemu_img_resize(struct arena *arena, const struct qemu_img *tool,
                                    const char *path, const char *format, int64_t bytes,
                                    struct error *err);

/* Writes the name of another backing image, which is not opened, into the header of a qcow2 image.
 * DEFERRED as above. */
enum driver_outcome qemu_img_point(struct arena *arena, const struct qemu_img *tool,
                                   const char *path, const struct qemu_img_below *below,
                                   struct error *err);

/*
 * Long runs: the fence is checked all the time and ends the program when it is lost.  These open
 * the files in the headers: only checked ones (chain.h).  DEFERRED as with resize.
 */

/* May this worker move the image's allocated bytes?  -1, ERROR_BUSY: a worker for long work does it
 * (driver_fence_take_long()).  The next two check this themselves; a caller that writes a note
 * before checks first. */
int qemu_img_may_move(const char *path, const struct image_copy *how, struct error *err);
/* Merges a whole qcow2 image into its backing image. */
enum driver_outcome qemu_img_commit(struct arena *arena, const struct qemu_img *tool,
                                    const char *path, int64_t all_bytes,
                                    const struct image_copy *how, struct error *err);
/* Gives a qcow2 image another backing image, which must exist; its content stays the same. */
enum driver_outcome qemu_img_rebase(struct arena *arena, const struct qemu_img *tool,
                                    const char *path, const struct qemu_img_below *below,
                                    int64_t all_bytes, const struct image_copy *how,
                                    struct error *err);

struct qemu_img_copy {
    const char *path, *format;
    bool thick;
};

/* A qcow2 image and its backing chain as one file. */
enum driver_outcome qemu_img_convert(struct arena *arena, const struct qemu_img *tool,
                                     const char *from, const struct qemu_img_copy *to,
                                     int64_t all_bytes, const struct image_copy *how,
                                     struct error *err);

/* Facts of an image, even while it is open elsewhere; never opens a backing image.  `format` in
 * QEMU's terms. */
int qemu_img_info(struct arena *arena, const struct qemu_img *tool, const char *path,
                  const char *format, struct image_facts *ret, struct error *err);

/* The parser of the program's output. */
int qemu_img_parse_info(const char *text, size_t size, const char *format, struct image_facts *ret,
                        struct error *err);
