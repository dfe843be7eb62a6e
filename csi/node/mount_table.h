/*
 * The kernel's table of mounts: where else a volume's device is shown.
 */
#pragma once

#include "common/error.h"

struct mount_table_query {
    const char *table;  /* NULL: /proc/self/mountinfo */
    const char *root;   /* mounts below it count */
    unsigned device;    /* number of the loop device */
    const char *except; /* at this path or below it they do not */
};

/* How many mounts show all of the device's file system, or the device itself: one directory of it
 * mounted alone does not count.  -1: the table cannot be read. */
int mount_table_count(const struct mount_table_query *query, struct error *err);
