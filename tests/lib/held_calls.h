/*
 * A program that includes this may have its own calls to the file system held, as a disk does that
 * ceases to answer in the middle of one: of one function, for files of one name.  Held calls go on
 * when all are released.  Once in a program.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t changed;
    const char *function, *end; /* of the path; NULL: nothing is held */
    unsigned count;             /* that are held */
    unsigned times;             /* that they were released */
    bool only_counts;           /* and holds nothing */
    unsigned counted;
} held_calls = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static inline void calls_watch(const char *function, const char *end, bool only_counts) {
    pthread_mutex_lock(&held_calls.lock);
    held_calls.end = end;
    held_calls.function = function;
    held_calls.only_counts = only_counts;
    held_calls.counted = 0;
    pthread_mutex_unlock(&held_calls.lock);
}

static inline void calls_hold(const char *function, const char *end) {
    calls_watch(function, end, false);
}

/* Holds none, and counts them. */
static inline void calls_count(const char *function, const char *end) {
    calls_watch(function, end, true);
}

static inline unsigned calls_read(const unsigned *of) {
    unsigned count;

    pthread_mutex_lock(&held_calls.lock);
    count = *of;
    pthread_mutex_unlock(&held_calls.lock);
    return count;
}

static inline unsigned calls_counted(void) {
    return calls_read(&held_calls.counted);
}

/* Those that are held are so on. */
static inline void calls_hold_no_more(void) {
    pthread_mutex_lock(&held_calls.lock);
    held_calls.function = NULL;
    pthread_mutex_unlock(&held_calls.lock);
}

static inline void calls_let_go(void) {
    pthread_mutex_lock(&held_calls.lock);
    held_calls.function = NULL;
    held_calls.times++;
    pthread_cond_broadcast(&held_calls.changed);
    pthread_mutex_unlock(&held_calls.lock);
}

static inline unsigned calls_held(void) {
    return calls_read(&held_calls.count);
}

static inline bool ends_with(const char *path, const char *end) {
    size_t length = strlen(path), most = strlen(end);

    return length >= most && strcmp(path + length - most, end) == 0;
}

/* Of a file of that path. */
static inline void pass_path(const char *function, const char *path) {
    unsigned times;

    pthread_mutex_lock(&held_calls.lock);
    times = held_calls.times;
    if (held_calls.function && strcmp(held_calls.function, function) == 0 &&
        ends_with(path, held_calls.end)) {
        held_calls.counted++;
        held_calls.count++;
        while (held_calls.times == times && !held_calls.only_counts)
            pthread_cond_wait(&held_calls.changed, &held_calls.lock);
        held_calls.count--;
    }
    pthread_mutex_unlock(&held_calls.lock);
}

static inline void pass_call(const char *function, int fd) {
    char link[40], path[4096] = "";

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    (void)!readlink(link, path, sizeof(path) - 1);
    pass_path(function, path);
}

/* In place of the C library's: */

int fsync(int fd) {
    pass_call("fsync", fd);
    return (int)syscall(SYS_fsync, fd);
}

int flock(int fd, int operation) {
    pass_call("flock", fd);
    return (int)syscall(SYS_flock, fd, operation);
}

int ftruncate(int fd, off_t size) {
    pass_call("ftruncate", fd);
    return (int)syscall(SYS_ftruncate, fd, size);
}

int mkdirat(int directory, const char *name, mode_t mode) {
    pass_path("mkdirat", name);
    return (int)syscall(SYS_mkdirat, directory, name, mode);
}

int unlinkat(int directory, const char *name, int flags) {
    pass_path("unlinkat", name);
    return (int)syscall(SYS_unlinkat, directory, name, flags);
}

int sync_file_range(int fd, off_t at, off_t size, unsigned flags) {
    pass_call("sync_file_range", fd);
    return (int)syscall(SYS_sync_file_range, fd, at, size, flags);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t at) {
    pass_call("pread", fd);
    return syscall(SYS_pread64, fd, bytes, size, at);
}
