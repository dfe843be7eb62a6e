/*
 * A checksum of a volume's content that does not depend on the extents in which it is read: each
 * block with other bytes than zeros is added with its place, in order.
 */
#pragma once

#include "data/volume_io.h"

#define COPY_DIGEST_SIZE 32
#define COPY_BLOCK       ((int64_t)1 << 20)

/* A block of COPY_BLOCK bytes, with zeros behind the end of the volume. */
void copy_digest_add(unsigned char digest[COPY_DIGEST_SIZE], int64_t begin,
                     const unsigned char *block);
/* Adds all of an object, read into `buffer`, which has COPY_BLOCK bytes; may(arg, at) is called
 * before each block. */
int copy_digest_read(struct volume_io *io, unsigned char *buffer,
                     int (*may)(void *arg, int64_t at, struct error *err), void *arg,
                     unsigned char ret_digest[COPY_DIGEST_SIZE], struct error *err);
