/*
 * Holes of a file: where its data are, and zeros that become holes in place.
 *
 * No byte that anybody reads changes when a hole is made where zeros were read, at no moment, so it
 * can end anywhere and begin again; files that share blocks with this one keep theirs.  What a file
 * system says of its holes is never believed so far that something is punched that nobody has read.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct image_extent {
    off_t begin, end;
};

/* The next data from there on; behind the last ones both are the length.  A file system that does
 * not know its holes has none. */
int image_find_data(int fd, off_t length, off_t from, struct image_extent *ret, struct error *err);

/* Bytes that the file takes, flushed before they are counted. */
int image_get_usage(int fd, int64_t *ret_bytes, struct error *err);

struct image_digger {
    int fd;      /* open for reading and writing */
    off_t worth; /* fewer zeros between data are no hole: a file has few extents so */
    /* Asked before each step, at a place: -1 ends the work. */
    int (*may)(void *arg, off_t at, struct error *err);
    /* Does anybody read that page?  NULL: every one. */
    bool (*is_read)(const void *arg, off_t at);
    void *arg;
    /* Its own: */
    off_t length;
    off_t run, run_end; /* nothing is in there, and it is not punched yet */
    off_t hole_end;     /* of the last hole that is known */
    bool holes_told;    /* the file system knows where there are data */
    char *buffer;
    int priority; /* that the thread had before */
};

#define IMAGE_DIG_WORTH ((off_t)1 << 16)

/* Nobody writes to the file meanwhile: it is punched behind its end, to see whether it can be.
 * Until the end of the work the thread reads and writes behind everybody else.  At most 1 MiB of
 * memory.  ERROR_BAD_REQUEST: this file system takes no part of a file back.  Behind a failure
 * there is nothing to be ended. */
int image_digger_begin(struct image_digger *digger, struct error *err);
/* Looks where there may be anything to do, flushed; changes nothing, and can take its time. */
int image_digger_look(struct image_digger *digger, struct error *err);
/* Zeros between `from` and `end`, which may be the length, become holes.  Nobody writes to the file
 * meanwhile, and `fd` holds the locks that see to it.  Not flushed. */
int image_digger_dig(struct image_digger *digger, off_t from, off_t end, struct error *err);
void image_digger_end(struct image_digger *digger);
