/*
 * Image files above each other as one volume_io: served by a qemu-nbd of its own, so that no parser
 * of qcow2 is needed here and a defect of QEMU's costs another process.
 *
 * The files and their formats are those stated here: no header is followed, no format probed.
 * qemu-nbd takes QEMU's locks on the files.  Its socket exists for the only connection and has no
 * name afterwards; it ends with that connection, also when this process is killed.  Reads after a
 * flush come from the storage, except qcow2's tables, which qemu-nbd keeps in its memory.
 */
#pragma once

#include "data/volume_io.h"

struct chain_io_file {
    const char *path; /* absolute */
    const char *format;
};

struct chain_io_settings {
    const char *program; /* executable, usually "qemu-nbd" */
    int64_t timeout_ms;  /* of each call, as in nbd_io.h, and of the start */
    /* 0, or the files are of an untrusted source: qemu-nbd has limits of memory and of this
     * processor time, writes no file, and its end is the image's failure (ERROR_BACKEND). */
    int64_t untrusted_cpu_seconds;
};

/* From the active file down to the base.  `writable`: the active file alone is written.
 * ERROR_CONFLICT: another program has a file open in a way that excludes this one. */
struct volume_io *chain_io_open(const struct chain_io_settings *settings,
                                const struct chain_io_file *files, size_t count, bool writable,
                                struct error *err);
