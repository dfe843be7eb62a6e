/*
 * A filter that computes the SHA-256 of all bytes while they are read once, in order.  It reports
 * no zeros, so that a reader reads everything; it is not writable.
 */
#pragma once

#include "data/volume_io.h"

#define CHECKSUM_IO_SIZE 32

/* Owns `next`. */
struct volume_io *checksum_io_open(struct volume_io *next);
/* ERROR_CONFLICT: not all bytes were read, or in another order. */
int checksum_io_get(struct volume_io *io, unsigned char ret[CHECKSUM_IO_SIZE], struct error *err);
