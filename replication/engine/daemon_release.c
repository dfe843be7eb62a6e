/*
 * Part of the object that a storage daemon is started with: gives its files back
 * (daemon_release.h).
 */
#include "replication/engine/daemon_release.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAUSE_US    1000
#define PAUSES_MOST 300
#define STACK_SIZE  (64 * 1024)
#define FDS_MOST    4096

static atomic_uint closing;
static int dead_end = -1; /* of a path alone: each request fails, and no read ends as at an end */
static int fds[FDS_MOST];
static unsigned fd_count;

/* The number stays taken: what a thread of QEMU does with it later fails, and reaches no other
 * file. */
static void *replace(void *fd) {
    dup2(dead_end, (int)(intptr_t)fd);
    atomic_fetch_sub(&closing, 1);
    return NULL;
}

static int is_socket(int fd) {
    int type;
    socklen_t size = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
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

/* A file system may hold up the closing of a file: each has a thread. */
static void release(int fd) {
    atomic_fetch_add(&closing, 1);
    if (start(replace, (void *)(intptr_t)fd) != 0)
        replace((void *)(intptr_t)fd);
}

static void list_fds(void) {
    DIR *list = opendir("/proc/self/fd");
    const struct dirent *entry;

    while (list && fd_count < FDS_MOST && (entry = readdir(list))) {
        int fd = atoi(entry->d_name);

        if (entry->d_name[0] != '.' && fd != dirfd(list) && fd != DAEMON_LOCK_FD)
            fds[fd_count++] = fd;
    }
    if (list)
        closedir(list);
}

/* Clients and the monitor first: none of them hears of what follows. */
static void release_all(void) {
    list_fds();
    dead_end = open("/", O_PATH | O_CLOEXEC);
    if (dead_end < 0)
        return;
    for (unsigned i = 0; i < fd_count; i++) {
        if (is_socket(fds[i])) {
            dup2(dead_end, fds[i]);
            fds[i] = -1;
        }
    }
    for (unsigned i = 0; i < fd_count; i++) {
        if (fds[i] >= 0)
            release(fds[i]);
    }
    for (unsigned i = 0; i < PAUSES_MOST && atomic_load(&closing) > 0; i++)
        usleep(PAUSE_US);
    close(DAEMON_LOCK_FD);
}

static void *await_signal(void *arg) {
    sigset_t *set = arg;
    int number;

    while (sigwait(set, &number) != 0)
        ;
    release_all();
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
