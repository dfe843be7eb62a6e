#include "csi/node/async_call.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>

#define PATIENCE_US  (5 * SECOND_US) /* a server that is merely busy has answered by then */
#define IMPATIENT_US SECOND_US       /* while another one says nothing already */

/* Of the caller and of the thread: the last one to use it frees it. */
struct call {
    LIST_ENTRY(call) next; /* of those that are waited for no more */
    char *about;
    async_function *run, *drop;
    void *arg;
    pthread_cond_t changed;
    bool returned, abandoned;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the rest */
static LIST_HEAD(call_list, call) silent = LIST_HEAD_INITIALIZER(silent);

static void call_free(struct call *call) {
    pthread_cond_destroy(&call->changed);
    free(call->about);
    free(call);
}

static void *work(void *arg) {
    struct call *call = arg;

    bool abandoned;

    call->run(call->arg);
    pthread_mutex_lock(&lock);
    call->returned = true;
    abandoned = call->abandoned;
    if (abandoned)
        LIST_REMOVE(call, next);
    else
        pthread_cond_signal(&call->changed);
    pthread_mutex_unlock(&lock);
    if (abandoned) {
        call->drop(call->arg);
        call_free(call);
    }
    return NULL;
}

/* NULL: no thread is to be had. */
static struct call *begin(const char *about, async_function *run, async_function *drop, void *arg) {
    struct call *call = heap_new(sizeof(*call));
    pthread_t thread;

    *call = (struct call){ .about = heap_text(about), .run = run, .drop = drop, .arg = arg };
    thread_cond_init(&call->changed);
    if (thread_start(&thread, "storage", work, call) == 0) {
        pthread_detach(thread);
        return call;
    }
    call_free(call);
    return NULL;
}

static bool is_silent(const char *about) {
    const struct call *call = LIST_FIRST(&silent);

    while (call && strcmp(call->about, about) != 0)
        call = LIST_NEXT(call, next);
    return call != NULL;
}

/* With the lock. */
static int await(struct call *call) {
    int64_t until_us = clock_monotonic_us() + (LIST_EMPTY(&silent) ? PATIENCE_US : IMPATIENT_US);

    while (!call->returned && thread_cond_wait(&call->changed, &lock, until_us))
        ;
    if (!call->returned) {
        call->abandoned = true;
        LIST_INSERT_HEAD(&silent, call, next);
        return ETIMEDOUT;
    }
    call_free(call);
    return 0;
}

int async_call(const char *about, async_function *run, async_function *drop, void *arg) {
    struct call *call = NULL;
    int reason = ETIMEDOUT;

    pthread_mutex_lock(&lock);
    if (!is_silent(about)) {
        call = begin(about, run, drop, arg);
        reason = call ? await(call) : EAGAIN;
    }
    pthread_mutex_unlock(&lock);
    if (!call)
        drop(arg);
    errno = reason;
    return reason ? -1 : 0;
}

/* ---- is anything there? ---- */

static void probe(void *path) {
    struct statx ignored;

    (void)!statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_FORCE_SYNC,
                 STATX_BASIC_STATS, &ignored);
}

int async_probe(const char *path, struct error *err) {
    char *copy = heap_text(path);

    if (async_call(path, probe, free, copy) < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "asking the server of %s", path);
    free(copy);
    return 0;
}
