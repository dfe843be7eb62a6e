/*
 * A regular file, or memory, as a volume_io.
 */
#pragma once

#include "data/volume_io.h"

/* Does this errno mean that the call does not support such a file or range?  EINVAL: a length that
 * is no multiple of its blocks, or a kind of file. */
bool file_io_unsupported(int number);

/*
 * Owns `fd` afterwards, also when it fails (NULL).  The file's length is the size; no other process
 * changes it meanwhile.  `sparse`: zero() and discard() deallocate; otherwise zero() keeps blocks
 * allocated and discard() does nothing.
 *
 * A file system without holes gets zeros written, and reports all of a file as one extent.  Written
 * bytes are passed to the storage every 128 MiB, so that the flush at the end is short.
 */
struct volume_io *file_io_open(int fd, bool writable, bool sparse, struct error *err);

/* Sparse, zeros at the start, gone when it is closed.  NULL: no memory file could be made. */
struct volume_io *file_io_open_memory(int64_t size, struct error *err);
