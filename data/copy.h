/*
 * The content of one volume_io becomes that of another one, with zeros after it where the target is
 * larger.
 *
 * Zeros are not moved, and space that the source does not use is not used in the target.  A copy
 * can be resumed: its position is recorded after a flush of the target.  It can be verified: the
 * target is read back and its checksum compared with that of the bytes that were read.  Without
 * verification the kernel moves the bytes where both ends allow it.
 *
 * The source is read, and the target written, in the order of the bytes.  Runs in the calling
 * thread, and has a buffer of 1 MiB at most.  The source does not change meanwhile, also between an
 * interruption and the resumption.  Rate limits and deadlines are filters around the two ends
 * (throttle_io.h, deadline_io.h).
 */
#pragma once

#include "data/copy_digest.h"

/* A copy from the start has the position { 0 }; others are multiples of COPY_BLOCK, or the end. */
struct copy_position {
    int64_t at;                             /* everything before it is copied and durable */
    unsigned char digest[COPY_DIGEST_SIZE]; /* of everything before it; unused without `verify` */
};

struct copy {
    struct volume_io *from, *to; /* stay the caller's */
    bool blank;                  /* the target reads as zeros before the copy */
    bool verify;
    /* The fencing check before each change of the target and each flush; -1 ends the copy. */
    int (*may)(void *arg, struct error *err);
    /* At least about once a second while the ends respond; -1 cancels the copy.  A verification
     * counts as much as the copy. */
    int (*report)(void *arg, int64_t done_bytes, int64_t all_bytes, struct error *err);
    /* Optional: the position after about every `record_bytes` of the source, and at the end. */
    int (*record)(void *arg, const struct copy_position *position, struct error *err);
    int64_t record_bytes;
    void *arg;
};

/*
 * From a recorded position on.  0: all of it is in the target, durable and, where requested,
 * verified.  -1: the target's content behind the last recorded position is undefined.
 * ERROR_BAD_REQUEST: the target is smaller than the source, or the position is not one of this
 * copy.  ERROR_BACKEND also when the verification finds other bytes: then no position is valid any
 * more.
 */
int copy_run(const struct copy *copy, const struct copy_position *start, struct error *err);

#define COPY_POSITION_TEXT 96 /* with the terminating NUL */

/* As text, to be stored; returns `text`. */
char *copy_position_print(const struct copy_position *position, char text[COPY_POSITION_TEXT]);
/* 0, or -1: not such a text. */
int copy_position_parse(const char *text, struct copy_position *ret);
