/*
 * The content of a volume as an image of any format that qemu-img writes, for the upload of one.
 *
 * qemu-img never sees the volume: the content is first copied into a file without a name, of which
 * it makes another one.  Both end with the process, take no space for zeros, and are only made
 * where a part of the file system stays free for other files, those promised space among them.
 */
#pragma once

#include "data/volume_io.h"

struct converted_image_settings {
    const char *program;     /* "qemu-img" */
    const char *directory;   /* of the files; made when it is missing */
    const char *disk_format; /* converted_image_is_known() */
    int64_t idle_ms;         /* a program that consumes no processor time for so long has failed */
    /* At least twice a second: -1 ends the work. */
    int (*may)(void *arg, struct error *err);
    /* As that of a copy; of the first of the two steps. */
    int (*report)(void *arg, int64_t done_bytes, int64_t all_bytes, struct error *err);
    void *arg;
};

bool converted_image_is_known(const char *disk_format);

/* Size of the largest volume that an image of a known format holds. */
int64_t converted_image_most_gb(const char *disk_format);

/* Limit of the processor time of a program that converts from or to any format: more than it takes
 * on any machine. */
int64_t converted_image_cpu_seconds(int64_t virtual_bytes);

/* Reads `source`, which stays the caller's.  The image is read-only, of the requested format and of
 * the size of the source, or NULL. */
struct volume_io *converted_image_io_open(struct volume_io *source,
                                          const struct converted_image_settings *settings,
                                          struct error *err);
