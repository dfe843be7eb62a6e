/*
 * An export of an NBD server at a Unix socket as a volume_io.
 *
 * Every call ends in time: after `timeout_ms` without its complete reply it fails with
 * ERROR_UNAVAILABLE, as all later ones do.  So do those after a reply that breaks the protocol
 * (ERROR_BACKEND); the chunks of a read must come in the order of their offsets, as QEMU's do.  A
 * server without structured replies or without "base:allocation" reports no zeros; one without
 * write-zeroes gets zeros written; discards need trim.
 */
#pragma once

#include "data/volume_io.h"

/* ERROR_UNAVAILABLE: no server, or it does not respond; ERROR_NOT_FOUND: it has no such export.
 * `writable` requires an export that is not read-only (ERROR_BACKEND). */
struct volume_io *nbd_io_open(const char *path, const char *export, bool writable,
                              int64_t timeout_ms, struct error *err);
/* The same with a connected socket, which it owns, also when it fails. */
struct volume_io *nbd_io_open_socket(int fd, const char *export, bool writable, int64_t timeout_ms,
                                     struct error *err);
/* The server writes this file through the cache of this host: its pages are dropped after each
 * flush, so that later reads come from the storage.  Owns the descriptor. */
void nbd_io_drop_cache(struct volume_io *io, int fd);
/* The server has this image alone and runs on this host: where it ends, or does not respond, the
 * image is the reason (ERROR_BACKEND). */
void nbd_io_blame_image(struct volume_io *io);
/* The close waits until the server's process, which has the other end of this pipe open, has ended,
 * for the timeout at most.  Owns the descriptor. */
void nbd_io_await_end(struct volume_io *io, int pipe_fd);
