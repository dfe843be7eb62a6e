/*
 * A file system over a directory that may be frozen: reads are answered, and each write waits in
 * the kernel until it is thawed, whatever becomes of its process.  Only this process and its
 * children have it, and it goes with them.
 */
#pragma once

#include "tests/lib/small_disk.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

/* `image` is made.  False: not ours to do here. */
static inline bool frozen_disk_mount(const char *directory, const char *image) {
    char command[400];
    int fd = own_mounts() ? open(image, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    bool made = fd >= 0 && ftruncate(fd, (off_t)256 << 20) == 0;

    if (fd >= 0)
        close(fd);
    snprintf(command, sizeof(command),
             "mkfs.ext4 -q %s </dev/null >/dev/null 2>&1 && mount -o loop %s %s 2>/dev/null", image,
             image, directory);
    return made && system(command) == 0;
}

static inline int frozen_disk_do(const char *directory, unsigned long request) {
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = fd < 0 ? -1 : ioctl(fd, request, 0);

    if (fd >= 0)
        close(fd);
    return result;
}

/* Whatever becomes of this process: processes that wait for a frozen disk could not be ended. */
static inline bool thaw_at_the_end(const char *directory) {
    int disk = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pid_t parent = getpid(), pid = disk < 0 ? -1 : fork();
    sigset_t end;
    int number;

    if (pid == 0) {
        setsid();
        dup2(disk, 0);
        close_range(1, ~0U, 0); /* locks of this process are among them */
        sigemptyset(&end);
        sigaddset(&end, SIGUSR2);
        sigprocmask(SIG_BLOCK, &end, NULL);
        if (prctl(PR_SET_PDEATHSIG, SIGUSR2) == 0 && getppid() == parent)
            sigwait(&end, &number);
        ioctl(0, FITHAW, 0);
        _exit(0);
    }
    if (disk >= 0)
        close(disk);
    return pid > 0;
}

static inline bool disk_freeze(const char *directory) {
    return thaw_at_the_end(directory) && frozen_disk_do(directory, FIFREEZE) == 0;
}

static inline bool disk_thaw(const char *directory) {
    return frozen_disk_do(directory, FITHAW) == 0;
}
