/*
 * The kernel's mount table: other mounts of a volume's device, and the state of a mount that does
 * not respond itself.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct mount_table_query {
    const char *table;  /* NULL: /proc/self/mountinfo */
    const char *root;   /* only mounts below it count */
    unsigned device;    /* number of the loop device */
    const char *except; /* mounts at or below this path do not count */
};

/* The number of mounts of the device's whole file system, or of the device itself: a bind mount of
 * a subdirectory does not count. -1: the table cannot be read. */
int mount_table_count(const struct mount_table_query *query, struct error *err);

struct mount_table_entry {
    int id;
    dev_t device;   /* of the file system */
    bool read_only; /* the file system, not only this mount */
    bool stopped;   /* the kernel refuses writes, because of errors */
};

/* The mount of a descriptor, also of O_PATH.  -1: the tables cannot be read. */
int mount_table_find(int fd, struct mount_table_entry *ret, struct error *err);
