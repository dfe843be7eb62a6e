/*
 * A small file system over a directory, which only this process and its children have, and which
 * goes with them, whatever comes of the test.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mount.h>

/* Threads that are there already see none of them.  False: not ours to do here. */
static inline bool own_mounts(void) {
    static bool own; /* processes started after the first see the second, too */

    own = own ||
          (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    return own;
}

/* The same.  `size`: "size=200k". */
static inline bool small_disk(const char *directory, const char *size) {
    return own_mounts() && mount("tmpfs", directory, "tmpfs", 0, size) == 0;
}
