/*
 * A filter that computes a checksum of all bytes while they are read once, in order.  It reports
 * no zeros, so that a reader reads everything; it is not writable.
 *
 * The bytes of a read are added while the next are read, by a thread of the filter where an object
 * has more than VOLUME_IO_MOST: SHA-512 is slower than most sources and storages.
 */
#pragma once

#include "data/volume_io.h"

#define CHECKSUM_IO_TEXT 129 /* lower-case digits of the longest, and NUL */

bool checksum_io_knows(const char *algorithm);

/*
 * `algorithm`: "md5", "sha1", "sha256", "sha384" or "sha512", as image services name them.
 * `padded`: zeros at the end are no content, and are not read (http_source_io.h).  Owns `next`,
 * also when it fails: NULL, ERROR_BAD_REQUEST: an unknown algorithm.
 */
struct volume_io *checksum_io_open(struct volume_io *next, const char *algorithm, bool padded,
                                   struct error *err);
/* The read of the last bytes fails with ERROR_BACKEND unless the checksum has these digits, and any
 * read in another order with ERROR_BAD_REQUEST. */
struct volume_io *checksum_io_open_expecting(struct volume_io *next, const char *algorithm,
                                             const char *expected, struct error *err);
/* ERROR_CONFLICT: not all bytes were read, or in another order. */
int checksum_io_get(struct volume_io *io, char ret[CHECKSUM_IO_TEXT], struct error *err);
