/*
 * qemu-img, for what system calls cannot do: qcow2 images made and grown, and the decrypted size of
 * encrypted ones.
 *
 * The format is always stated, the path always absolute, every run has a deadline and limits, and
 * locking is never switched off.
 */
#pragma once

#include "common/arena.h"
#include "drivers/driver.h"
#include "drivers/file/image.h"

struct qemu_img {
    const char *program; /* executable, usually "qemu-img" */
    int64_t timeout_s;   /* after so long a run has failed */
};

/* Writes a qcow2 image with preallocated metadata into `path`. */
int qemu_img_create(struct arena *arena, const struct qemu_img *tool, const char *path,
                    int64_t bytes, struct error *err);

/* DEFERRED: a guest holds the image (R28); every other failure is FAILED (R29). */
enum driver_outcome qemu_img_resize(struct arena *arena, const struct qemu_img *tool,
                                    const char *path, const char *format, int64_t bytes,
                                    struct error *err);

/* Facts of an image, whoever has it open; never opens a backing image.  `format` as QEMU names
 * it. */
int qemu_img_info(struct arena *arena, const struct qemu_img *tool, const char *path,
                  const char *format, struct image_facts *ret, struct error *err);

/* The reader of what the program prints. */
int qemu_img_parse_info(const char *text, size_t size, const char *format, struct image_facts *ret,
                        struct error *err);
