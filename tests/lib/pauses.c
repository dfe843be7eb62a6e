/*
 * Preloaded, makes scoria and its tests pause now and then where threads and processes meet: at
 * messages, files, locks.  A test that passes only when no thread is late fails sooner or later.
 *
 *     PAUSES_PER_MILLE   of the calls have one (10)
 *     PAUSES_MOST_MS     the longest; most are far shorter (50)
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SHORTEST_US 100

static uint64_t random_word(void) {
    static _Thread_local uint64_t state;

    if (state == 0) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        state = ((uint64_t)now.tv_nsec << 32) ^ (uint64_t)gettid() ^ 1;
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* The servers beside them only took longer. */
static bool takes_part(void) {
    static const char *const names[] = { "scoria", "python3", "test_", "engine" };

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(program_invocation_short_name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static uint64_t setting(const char *name, uint64_t fallback) {
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : fallback;
}

/* Most are short; one in ten or so is the longest. */
static void pause_now_and_then(void) {
    static uint64_t per_mille, most_us;
    struct timespec pause = { 0 };
    int before = errno;
    uint64_t us = SHORTEST_US;

    if (most_us == 0) {
        per_mille = takes_part() ? setting("PAUSES_PER_MILLE", 10) : 0;
        most_us = setting("PAUSES_MOST_MS", 50) * 1000;
    }
    if (random_word() % 1000 >= per_mille)
        return;
    while (us < most_us && random_word() % 8 != 0)
        us += us * (random_word() % 1000) / 1000;
    if (us > most_us)
        us = most_us;
    pause.tv_sec = (time_t)(us / 1000000);
    pause.tv_nsec = (long)(us % 1000000 * 1000);
    nanosleep(&pause, NULL);
    errno = before;
}

/* PAUSING(type of the result, name, parameters with types, their names): the call between two
 * pauses. */
#define PAUSING(type, name, parameters, arguments)              \
    type name parameters {                                      \
        static type(*_Atomic call) parameters;                  \
        type result;                                            \
                                                                \
        if (!call)                                              \
            call = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
        pause_now_and_then();                                   \
        result = call arguments;                                \
        pause_now_and_then();                                   \
        return result;                                          \
    }

/* clang-format off */
PAUSING(ssize_t, read, (int fd, void *bytes, size_t size), (fd, bytes, size))
PAUSING(ssize_t, write, (int fd, const void *bytes, size_t size), (fd, bytes, size))
PAUSING(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
PAUSING(ssize_t, send, (int fd, const void *bytes, size_t size, int flags), (fd, bytes, size, flags))
PAUSING(ssize_t, recv, (int fd, void *bytes, size_t size, int flags), (fd, bytes, size, flags))
PAUSING(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
PAUSING(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), (fd, message, flags))
PAUSING(int, poll, (struct pollfd *files, nfds_t count, int timeout), (files, count, timeout))
PAUSING(int, fsync, (int fd), (fd))
PAUSING(int, fdatasync, (int fd), (fd))
PAUSING(pid_t, fork, (void), ())
/* clang-format on */

/* There are many more of these. */
int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    static int (*_Atomic call)(pthread_mutex_t * mutex);
    int result;

    if (!call)
        call = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    result = call(mutex);
    if (random_word() % 32 == 0)
        pause_now_and_then();
    return result;
}
