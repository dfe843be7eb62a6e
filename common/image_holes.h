/*
 * Holes of a file: its data extents, and zeros that are deallocated in place.
 *
 * Readers see the same bytes at any moment, so the work can be interrupted anywhere and repeated;
 * files that share blocks with this one keep theirs.  Only ranges that were read as zeros are
 * punched, whatever the file system reports as holes.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct image_extent {
    off_t begin, end;
};

/* The next data extent from there on; after the last one start and end are the length.  A file
 * system without hole information reports one extent. */
int image_find_data(int fd, off_t length, off_t from, struct image_extent *ret, struct error *err);

/* `size` is at least 1. */
bool image_is_zero(const void *bytes, size_t size);

/* Allocated bytes, after a flush. */
int image_get_usage(int fd, int64_t *ret_bytes, struct error *err);

struct image_puncher {
    int fd;      /* open for reading and writing */
    off_t worth; /* shorter runs of zeros between data stay: it bounds the number of extents */
    /* Called before each step with its offset: -1 cancels the work. */
    int (*may)(void *arg, off_t at, struct error *err);
    /* Is that page used by a reader?  NULL: all are. */
    bool (*is_read)(const void *arg, off_t at);
    void *arg;
    /* Internal: */
    off_t length;
    off_t run, run_end; /* a run of zeros that is not punched yet */
    off_t hole_end;     /* end of the last known hole */
    bool holes_known;   /* the file system reports data extents */
    char *buffer;
    int priority; /* previous I/O priority of the thread */
};

#define IMAGE_PUNCH_WORTH ((off_t)1 << 16)

/* Requires that the file has no writers: a hole is punched behind its end as a test.  Lowers the
 * I/O priority of the thread until the end of the work.  Uses at most 1 MiB of memory.
 * ERROR_BAD_REQUEST: the file system does not support holes.  After a failure no end is needed. */
int image_puncher_begin(struct image_puncher *puncher, struct error *err);
/* Finds the ranges that may contain zeros to reclaim, after a flush; changes nothing, and may take
 * long. */
int image_puncher_scan(struct image_puncher *puncher, struct error *err);
/* Punches the zeros between `from` and `end`, which may be the length.  Requires that the file has
 * no writers, and that `fd` holds the locks that guarantee it.  Not flushed. */
int image_puncher_punch(struct image_puncher *puncher, off_t from, off_t end, struct error *err);
void image_puncher_end(struct image_puncher *puncher);
