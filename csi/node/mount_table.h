/*
 * The kernel's table of mounts: where else a volume's device is shown, and what the table tells of
 * a mount that cannot be asked itself any more.
 */
#pragma once

#include "common/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct mount_table_query {
    const char *table;  /* NULL: /proc/self/mountinfo */
    const char *root;   /* mounts below it count */
    unsigned device;    /* number of the loop device */
    const char *except; /* at this path or below it they do not */
};

/* How many mounts show all of the device's file system, or the device itself: one directory of it
 * mounted alone does not count.  -1: the table cannot be read. */
int mount_table_count(const struct mount_table_query *query, struct error *err);

struct mount_table_entry {
    int id;
    dev_t device;   /* of the file system */
    bool read_only; /* the file system, not this mount of it alone */
    bool stopped;   /* the kernel takes no writes any more, because of errors */
};

/* The mount that a descriptor, O_PATH does, is in. -1: the tables cannot be read. */
int mount_table_find(int fd, struct mount_table_entry *ret, struct error *err);
