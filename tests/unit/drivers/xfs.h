/*
 * A file system that shares blocks of files, for the rest of this process and its children.
 */
#pragma once

#include "tests/unit/drivers/driver_test.h"

#include <sched.h>
#include <sys/mount.h>

/* An XFS in a file that has no name any more is mounted over /tmp, so that every file of a test
 * lies on it; it goes with the process.  false: this is not root, or has no XFS, and it prints
 * that. */
static inline bool xfs_enter(void) {
    char image[] = "/tmp/scoria-xfs-XXXXXX";
    autoclose int fd = mkstemp(image), above = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool entered;

    ck_assert(fd >= 0 && above >= 0);
    ck_assert_int_eq(ftruncate(fd, 8 * GIB), 0);
    entered = unshare(CLONE_NEWNS) == 0 &&
              mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
              BENCH_RUN("mkfs.xfs", "-q", image) == 0 &&
              BENCH_RUN("mount", "-o", "loop", image, "/tmp") == 0;
    ck_assert_int_eq(unlinkat(above, strrchr(image, '/') + 1, 0), 0);
    if (!entered)
        fputs("not tested: XFS needs root, mkfs.xfs and loop devices\n", stderr);
    return entered;
}
