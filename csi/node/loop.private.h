/*
 * What looking for a device (loop_find.c) takes from looking at one (loop.c).
 */
#pragma once

#include "csi/node/loop.h"

#include <limits.h>

#define LOOP_DEVICES "/sys/block"

/* What is known of a device.  What its kernel or the file's server does not tell now may have been
 * seen before. */
struct loop_seen {
    struct loop_info64 info;
    bool dead;   /* its file answers nothing but errors, for good */
    bool silent; /* so info, if `known`, is what was seen before */
    bool known;
    bool numbered;       /* so what we have made is known */
    char path[PATH_MAX]; /* of the file, as the kernel shows it */
};

/* 1 opened, and *ret_seen says what is behind it, or was if it is dead; 0 nothing is; -1 it cannot
 * be asked. */
int loop_open_seen(unsigned number, struct loop *ret, struct loop_seen *ret_seen,
                   struct error *err);
/* Where the file of a device ("loop0") is, as the kernel shows it; -1 with errno: it has none. */
int loop_backing(const char *device, char *ret, size_t size);
