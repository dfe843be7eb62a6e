/*
 * Declarations of loop.c (one device) for loop_find.c (all devices).
 */
#pragma once

#include "common/loop.h"

#include <limits.h>

#define LOOP_DEVICES "/sys/block"

/* The state of a device.  If its file's server does not respond, the recorded state. */
struct loop_seen {
    struct loop_info64 info;
    bool stale;        /* its file returns only errors, permanently */
    bool unresponsive; /* no response: info, if `known`, is the recorded one */
    bool known;
    bool numbered;       /* the kernel numbers devices, so those of the driver are recorded */
    char path[PATH_MAX]; /* of the file, as reported by the kernel */
};

/* 1: opened, and *ret_seen has the present or, of a stale one, the recorded state; 0: no file; -1:
 * the query failed. */
int loop_open_seen(unsigned number, struct loop *ret, struct loop_seen *ret_seen,
                   struct error *err);
/* The path of the file of a device ("loop0"), as reported by the kernel; -1 with errno: it has
 * none. */
int loop_backing(const char *device, char *ret, size_t size);
