/*
 * The file system in a volume: what is there, making one where there is nothing, checking, growing,
 * and giving room back.
 *
 * libblkid alone says what is on a device; only one on which it finds nothing at all, and whose
 * first sector is empty, is formatted, by programs that are never told to force anything.
 */
#pragma once

#include "common/arena.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

#define FILESYSTEM_TYPE_SIZE 32

/* "ext4", "xfs"; "" is the usual one.  NULL: this type is none that volumes have here. */
const char *filesystem_known(const char *type);

/* Of the device's file system, when any will do: the type that is there, else the usual one.  NULL:
 * it could not be read. */
const char *filesystem_choose(const char *device, struct error *err);

/* What is on the device: its type, "" when it is blank.  -1: it could not be read, or holds what
 * says two things at once. */
int filesystem_probe(const char *device, char ret_type[FILESYSTEM_TYPE_SIZE], struct error *err);

/*
 * Before it is mounted: makes one of `type` on a blank device, checks one that is there and lets an
 * ext4 have all of a device that has grown.  ERROR_PRECONDITION: it holds something else, or may
 * not be written and is blank; ERROR_BACKEND: it is damaged.
 */
int filesystem_prepare(struct arena *arena, const char *device, const char *type, bool read_only,
                       struct error *err);

/* Lets a mounted one have all of its device.  ERROR_PRECONDITION: it can do that only unmounted,
 * and will when it is mounted the next time. */
int filesystem_grow(struct arena *arena, const char *device, const char *type,
                    const char *mount_point, struct error *err);

/* The type of one that is mounted; NULL: none of ours. `directory`: any descriptor in it. */
const char *filesystem_mounted(int directory);
/* Has the kernel found errors in the one on this loop device, now or before?  ext4 counts them. */
bool filesystem_has_errors(unsigned loop_number);

/* What was deleted just before is free then. */
int filesystem_settle(int directory, struct error *err);

/*
 * Tells the device, of so many bytes, which blocks are free, in steps; goes_on() is asked before
 * each.  What was deleted just before counts.  1 there is no more to do, 0 it was ended before; -1
 * with ERROR_BAD_METHOD when it cannot be done there.
 */
int filesystem_trim(int directory, int64_t bytes, bool (*goes_on)(void *arg), void *arg,
                    struct error *err);
