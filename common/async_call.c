#include "common/async_call.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#define PATIENCE_US  (5 * SECOND_US) /* a server that is merely busy has responded by then */
#define IMPATIENT_US SECOND_US       /* while another one is unresponsive already */

static struct detached_calls *calls;

static void async_calls_begin(void) {
    calls = detached_calls_new("storage", NULL, NULL);
}

int async_call(const char *about, const struct detached_function *function, void *work,
               size_t size) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct detached_limit limit = { .us = PATIENCE_US };

    pthread_once(&once, async_calls_begin);
    if (detached_calls_abandoned(calls) > 0)
        limit.us = IMPATIENT_US;
    return detached_call(calls, about, function, work, size, &limit);
}

/* ---- probe ---- */

static void probe(void *path, const atomic_bool *abandoned) {
    struct statx ignored;

    (void)abandoned;
    (void)!statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_FORCE_SYNC,
                 STATX_BASIC_STATS, &ignored);
}

int async_probe(const char *path, struct error *err) {
    static const struct detached_function function = { .run = probe };
    autofree char *copy = heap_text(path);
    int reason = async_call(path, &function, copy, strlen(copy) + 1);

    if (reason == 0)
        return 0;
    errno = reason == EAGAIN ? EAGAIN : ETIMEDOUT;
    return error_errno(err, ERROR_UNAVAILABLE, "querying the server of %s", path);
}
