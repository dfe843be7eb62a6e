/*
 * A file that a process serves, for tests of servers that are unresponsive or have died.
 */
#pragma once

#include "tests/unit/csi/node/node_test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* QEMU shows the file `name` as one of its own over `place`; its process. */
static __attribute__((unused)) pid_t show_file(const char *name, const char *place) {
    autoclose int below = image_make(place, 0);
    struct stat before, now;
    pid_t process = fork();

    ck_assert_int_eq(fstat(below, &before), 0);
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execlp("qemu-storage-daemon", "qemu-storage-daemon", "--blockdev",
               arena_format(arena, "driver=file,node-name=image,locking=off,filename=%s",
                            path_of(name)),
               "--export",
               arena_format(arena, "type=fuse,id=shown,node-name=image,writable=on,mountpoint=%s",
                            path_of(place)),
               NULL);
        _exit(127);
    }
    do {
        ck_assert_int_eq(waitpid(process, NULL, WNOHANG), 0);
        ck_assert_int_eq(stat(path_of(place), &now), 0);
    } while (now.st_dev == before.st_dev);
    return process;
}

static __attribute__((unused)) void hide_file(pid_t process, const char *place) {
    ck_assert_int_eq(kill(process, SIGKILL), 0);
    ck_assert_int_eq(waitpid(process, NULL, 0), process);
    ck_assert_int_eq(shell("umount -l %s", path_of(place)), 0);
}
