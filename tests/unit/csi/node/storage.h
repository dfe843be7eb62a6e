/*
 * The file system below the images of a scene: it fails, and another one comes in its place.
 */
#pragma once

#include "tests/unit/csi/node/scene.h"

#include <stdint.h>
#include <sys/ioctl.h>

/* As after an error of the storage that a file system does not get over. */
static __attribute__((unused)) void shut_down(const char *name) {
    uint32_t without_flush = 2;
    autoclose int fd = open(path_of(name), O_RDONLY | O_CLOEXEC);

    ck_assert_int_eq(ioctl(fd, _IOR('X', 125, uint32_t), &without_flush), 0);
}

static __attribute__((unused)) void mount_storage(void) {
    ck_assert_int_eq(
        shell(
            "cd %s && rm -f disk && truncate -s 700M disk && mkfs.xfs -q disk && mount -o loop disk images",
            base),
        0);
}

static __attribute__((unused)) void unmount_storage(void) {
    wait_for_devices(1); /* that of the storage alone */
    ck_assert_int_eq(shell("umount %s/images", base), 0);
}

/* Another file system comes in the place of the failed one, with the same files. */
static __attribute__((unused)) void replace_storage(void) {
    ck_assert_int_eq(shell("cd %s && sync && cp --sparse=always disk other && umount -l images && "
                           "mount -o loop,nouuid other images",
                           base),
                     0);
}
