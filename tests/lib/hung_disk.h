/*
 * A file system over a directory that never answers: each process that touches it waits in the
 * kernel.  Only this process and its children have it, and it goes with them.
 */
#pragma once

#include "tests/lib/small_disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* A descriptor for hung_disk_end(); -1: not ours to do here. */
static inline int hung_disk(const char *directory) {
    char options[80];
    int fd = own_mounts() ? open("/dev/fuse", O_RDWR | O_CLOEXEC) : -1;

    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
    if (fd >= 0 && mount("hung", directory, "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Waiting processes get an error, and the directory is as before. */
static inline void hung_disk_end(const char *directory, int fd) {
    umount2(directory, MNT_DETACH);
    close(fd);
}
