#include "replication/node/pool_lock.h"

#include "common/arena.h"
#include "common/cleanup.h"
#include "common/detached_call.h"
#include "common/log.h"
#include "common/same_file.h"
#include "replication/node/pool_status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_SIZE 1024
#define BEGIN_US  INT64_C(2000000)

void pool_lock_end(struct pool_lock *lock) {
    cleanup_close(&lock->fd);
    lock->fd = -1;
}

int pool_lock_keep(struct pool_lock *lock, const char *path, struct error *err) {
    const int flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    autoarena struct arena *arena = arena_new();
    const char *mark = arena_join(arena, path, "/" POOL_MARK, NULL);
    struct stat held, now;

    if (lock->fd >= 0 && fstat(lock->fd, &held) == 0 && lstat(mark, &now) == 0 &&
        is_same_file(&held, &now))
        return 0;
    pool_lock_end(lock);
    /* Locks on NFS require a file open for writing; a read-only file system has none. */
    lock->fd = open(mark, O_RDWR | flags);
    if (lock->fd < 0 && errno != ENOENT)
        lock->fd = open(mark, O_RDONLY | flags);
    if (lock->fd < 0 && errno == ENOENT)
        return 0;
    if (lock->fd >= 0 && flock(lock->fd, LOCK_EX | LOCK_NB) == 0) {
        lock->no_lock = false;
        return 0;
    }
    if (lock->fd >= 0 && errno == EWOULDBLOCK) {
        pool_lock_end(lock);
        return error_set(err, ERROR_CONFLICT, "%s is in use by another storage agent", path);
    }
    if (!lock->no_lock)
        log_warning(NULL, "pool is used without a lock", "path", path, "reason", strerror(errno),
                    NULL);
    lock->no_lock = true;
    pool_lock_end(lock);
    return 0;
}

/* ---- with a timeout ---- */

struct work {
    char path[PATH_MAX], name[NAME_SIZE];
    struct pool_lock lock;
    struct error err;
    int result;
};

static void run(void *arg, const atomic_bool *abandoned) {
    struct work *work = arg;
    struct pool_status status;

    (void)abandoned;
    pool_status_read(work->path, work->name, &status);
    if (pool_is_marked(&status))
        work->result = pool_lock_keep(&work->lock, work->path, &work->err);
}

static void drop(void *arg) {
    pool_lock_end(&((struct work *)arg)->lock);
}

int pool_lock_begin(struct pool_lock *lock, const char *path, const char *name, struct error *err) {
    static const struct detached_function function = { run, drop };
    const struct detached_limit limit = { .us = BEGIN_US };
    struct detached_calls *calls = detached_calls_new("pool lock", NULL, NULL);
    struct work work = { .lock = *lock };
    int code;

    snprintf(work.path, sizeof(work.path), "%s", path);
    snprintf(work.name, sizeof(work.name), "%s", name);
    code = detached_call(calls, path, &function, &work, sizeof(work), &limit);
    detached_calls_free(calls);
    if (code != 0)
        return 0;
    *lock = work.lock;
    return work.result < 0 ? error_pass(err, &work.err) : 0;
}
