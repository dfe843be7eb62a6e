/*
 * qemu-img, for what system calls cannot do: qcow2 images made and grown, and the decrypted size of
 * encrypted ones.
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
    int64_t timeout_s;   /* after so long a run has failed */
};

/* Writes a qcow2 image with preallocated metadata into `path`. */
int qemu_img_create(struct arena *arena, const struct qemu_img *tool, const char *path,
                    int64_t bytes, struct error *err);

/* An image below another one: its name relative to that one's directory. */
struct qemu_img_below {
    const char *name, *format;
};

/* Writes an empty qcow2 image above another one, which is not opened. */
int qemu_img_create_above(struct arena *arena, const struct qemu_img *tool, const char *path,
                          int64_t bytes, const struct qemu_img_below *below, struct error *err);

/* DEFERRED: a guest holds the image (R28); every other failure is FAILED (R29). */
enum driver_outcome qemu_img_resize(struct arena *arena, const struct qemu_img *tool,
                                    const char *path, const char *format, int64_t bytes,
                                    struct error *err);

/*
 * What takes long: the fence is asked all the time and ends the program when it is lost.  These
 * open what the headers name: only files that were checked (chain.h).  DEFERRED as with resize.
 */

/* May this worker move what the image takes on the disk?  -1, ERROR_BUSY: a worker for long work
 * does it (driver_fence_take_long()).  The next two ask for themselves; a caller that writes
 * something down before asks first. */
int qemu_img_may_move(const char *path, const struct image_copy *how, struct error *err);
/* All of a qcow2 image goes into the one below it as well. */
enum driver_outcome qemu_img_commit(struct arena *arena, const struct qemu_img *tool,
                                    const char *path, int64_t all_bytes,
                                    const struct image_copy *how, struct error *err);
/* A qcow2 image reads the same and lies above another one, which must be there. */
enum driver_outcome qemu_img_rebase(struct arena *arena, const struct qemu_img *tool,
                                    const char *path, const struct qemu_img_below *below,
                                    int64_t all_bytes, const struct image_copy *how,
                                    struct error *err);

struct qemu_img_copy {
    const char *path, *format;
    bool thick;
};

/* A qcow2 image and what lies below it as one file. */
enum driver_outcome qemu_img_convert(struct arena *arena, const struct qemu_img *tool,
                                     const char *from, const struct qemu_img_copy *to,
                                     int64_t all_bytes, const struct image_copy *how,
                                     struct error *err);

/* Facts of an image, whoever has it open; never opens a backing image.  `format` as QEMU names
 * it. */
int qemu_img_info(struct arena *arena, const struct qemu_img *tool, const char *path,
                  const char *format, struct image_facts *ret, struct error *err);

/* The reader of what the program prints. */
int qemu_img_parse_info(const char *text, size_t size, const char *format, struct image_facts *ret,
                        struct error *err);
