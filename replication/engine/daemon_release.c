/*
 * Part of the object that is preloaded into a storage daemon: releases its files
 * (daemon_release.h).
 */
#include "replication/engine/daemon_release.h"

#include "common/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_US     1000
#define CLOSE_MOST   300  /* pauses, for files whose closing takes time */
#define CANCEL_MOST  300  /* pauses, for rings in use by a thread */
#define REQUEST_MOST 3000 /* pauses, for requests in flight */
#define STACK_SIZE   (64 * 1024)
#define FDS_MOST     4096
#define RINGS_MOST   64

static atomic_uint closing, locked, cancelling;
static int dead_end = -1; /* of a path alone: each request fails, and no read returns end of file */
static int fds[FDS_MOST], rings[RINGS_MOST];
static unsigned fd_count, ring_count;

/* The path of a descriptor's file; empty: unknown. */
static void read_path(int fd, char ret[PATH_MAX]) {
    char link[32];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, ret, PATH_MAX - 1);
    ret[length > 0 ? length : 0] = '\0';
}

/* The number stays in use: a later request of a QEMU thread on it fails, and reaches no other file.
 */
static void replace(int fd) {
    dup2(dead_end, fd);
    atomic_fetch_sub(&closing, 1);
}

static void *replace_and_await(void *arg) {
    struct flock lock = { .l_type = F_WRLCK };
    char path[PATH_MAX];
    struct stat facts;
    int fd = (int)(intptr_t)arg, file;

    read_path(fd, path);
    replace(fd);
    /* A request in flight keeps its file, with all locks, whatever became of the descriptor. */
    file =
        stat(path, &facts) == 0 && S_ISREG(facts.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    while (file >= 0 && fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK) {
        usleep(PAUSE_US);
        lock = (struct flock){ .l_type = F_WRLCK };
    }
    if (file >= 0)
        close(file);
    atomic_fetch_sub(&locked, 1);
    return NULL;
}

static int start(void *(*run)(void *arg), void *arg) {
    pthread_attr_t attributes;
    pthread_t thread;
    int code;

    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    code = pthread_create(&thread, &attributes, run, arg);
    pthread_attr_destroy(&attributes);
    return code;
}

/* A file system may delay the closing of a file: each has a thread. Without a thread the lock is
 * not awaited: that would delay the other files. */
static void release(int fd) {
    atomic_fetch_add(&closing, 1);
    atomic_fetch_add(&locked, 1);
    if (start(replace_and_await, (void *)(intptr_t)fd) == 0)
        return;
    replace(fd);
    atomic_fetch_sub(&locked, 1);
}

static void list_fds(void) {
    autodirectory DIR *list = opendir("/proc/self/fd");
    const struct dirent *entry;
    char path[PATH_MAX];

    while (list && fd_count < FDS_MOST && (entry = readdir(list))) {
        int fd = atoi(entry->d_name);

        if (entry->d_name[0] == '.' || fd == dirfd(list) || fd == DAEMON_LOCK_FD)
            continue;
        read_path(fd, path);
        if (strcmp(path, "anon_inode:[io_uring]") == 0 && ring_count < RINGS_MOST)
            rings[ring_count++] = fd;
        else
            fds[fd_count++] = fd;
    }
}

/*
 * Without a limit: a descriptor that is not replaced when the process is killed keeps its file. The
 * table of descriptors changes before the old file is closed, so no disk delays this.
 */
static void await_replaced(void) {
    for (unsigned i = 0; i < fd_count; i++) {
        while (fds[i] >= 0 && !(fcntl(fds[i], F_GETFL) & O_PATH))
            usleep(PAUSE_US);
    }
    for (unsigned i = 0; i < CLOSE_MOST && atomic_load(&closing) > 0; i++)
        usleep(PAUSE_US);
}

static void *cancel(void *arg) {
    struct io_uring_sync_cancel_reg all = { .fd = -1,
                                            .flags =
                                                IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL };

    syscall(SYS_io_uring_register, (int)(intptr_t)arg, IORING_REGISTER_SYNC_CANCEL, &all, 1);
    atomic_fetch_sub(&cancelling, 1);
    return NULL;
}

/*
 * The kernel puts writes of io_uring to regular files into queues by a hash of the file: a write to
 * one replica may be queued behind a stuck one to another, and keeps its file until that one ends,
 * even beyond the death of the process. Such a write is cancelled (since Linux 6.0). A thread that
 * is stuck while it submits has its ring locked: its cancellation may never end.
 */
static void cancel_queued(void) {
    for (unsigned i = 0; i < ring_count; i++) {
        atomic_fetch_add(&cancelling, 1);
        if (start(cancel, (void *)(intptr_t)rings[i]) != 0)
            atomic_fetch_sub(&cancelling, 1);
    }
    for (unsigned i = 0; i < CANCEL_MOST && atomic_load(&cancelling) > 0; i++)
        usleep(PAUSE_US);
}

/* Is it a socket of a client or the monitor, or their listener? Those have the name of the
 * listener, and connections to remote replicas have none. 1, 0, -1 it is no socket. */
static int is_named(int fd) {
    struct sockaddr_un address;
    int type;
    socklen_t size = sizeof(type);

    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
        return -1;
    size = sizeof(address);
    return getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
           size > offsetof(struct sockaddr_un, sun_path);
}

static void end_sockets(int named) {
    for (unsigned i = 0; i < fd_count; i++) {
        if (fds[i] >= 0 && is_named(fds[i]) >= named) {
            shutdown(fds[i], SHUT_RDWR); /* a thread that polls it would keep it open */
            dup2(dead_end, fds[i]);
            fds[i] = -1;
        }
    }
}

/* Clients and the monitor first: none of them receives an effect of the next steps, such as the
 * error of a write to a disconnected replica. */
static void release_all(void) {
    list_fds();
    dead_end = open("/", O_PATH | O_CLOEXEC);
    if (dead_end < 0)
        return;
    end_sockets(1);
    end_sockets(0);
    for (unsigned i = 0; i < fd_count; i++) {
        if (fds[i] >= 0)
            release(fds[i]);
    }
    await_replaced();
    daemon_writes_end();
    cancel_queued();
    close(DAEMON_LOCK_FD);
}

static void *await_signal(void *arg) {
    const struct timespec interval = { .tv_sec = DAEMON_TRIM_S };
    sigset_t *set = arg;

    while (sigtimedwait(set, NULL, &interval) < 0) {
        if (errno == EAGAIN)
            daemon_trim();
    }
    release_all();
    /* A dying process that waits for one stuck request closes no other file: it lives until they
     * are unlocked. */
    for (unsigned i = 0; i < REQUEST_MOST && atomic_load(&locked) > 0; i++)
        usleep(PAUSE_US);
    kill(getpid(), SIGKILL);
    return NULL;
}

/* Before QEMU makes threads, which all have the signal blocked as this one has; without a thread
 * that waits for it the signal kills. */
__attribute__((constructor)) static void prepare(void) {
    static sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, DAEMON_RELEASE_SIGNAL);
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) == 0 && start(await_signal, &set) != 0)
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
