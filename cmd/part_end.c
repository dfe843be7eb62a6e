/*
 * Reports what delays the shutdown: operations in progress.  They are logged soon after the first
 * signal and then every ten seconds; at a second signal they are left to the next start or to
 * another manager, without loss.
 */
#include "cmd/part.h"
#include "common/arena.h"
#include "common/cleanup.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"
#include "manager/manager.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { FIRST_MS = 1000, AGAIN_MS = 10000, TOLD_MOST = 20 };

struct end_watch {
    struct parts *parts;
    sigset_t ends;
    int signals, stop; /* descriptors */
    pthread_t thread;
};

static void tell_one(const struct manager_work *work) {
    log_info(NULL, "waiting for an operation", "kind", work->kind, "operation_id",
             work->operation_id, "volume_id", work->volume_id, "for_s",
             LOG_INT(work->for_us / 1000000), "percent",
             work->percent < 0 ? NULL : LOG_INT(work->percent), NULL);
}

static unsigned tell(struct end_watch *watch) {
    const struct parts *parts = watch->parts;
    autoarena struct arena *arena = arena_new();
    struct manager_work *list;
    unsigned count = parts->manager ? manager_running(parts->manager, arena, &list) : 0;

    if (count == 0)
        return 0;
    log_info(NULL, "stopping: waiting for operations, a second signal skips the wait", "count",
             LOG_INT(count), "at_most_s",
             LOG_INT(config_int(parts->config, "DEFAULT", "graceful_shutdown_timeout")), NULL);
    for (unsigned i = 0; i < count && i < TOLD_MOST; i++)
        tell_one(&list[i]);
    return count;
}

static void leave(struct end_watch *watch) {
    unsigned count = tell(watch);

    log_warning(NULL, "second signal: operations in progress are left to other managers", "count",
                LOG_INT(count), NULL);
    _exit(EXIT_SUCCESS);
}

static void *watch_end(void *arg) {
    struct end_watch *watch = arg;
    struct pollfd ready[] = { { .fd = watch->signals, .events = POLLIN },
                              { .fd = watch->stop, .events = POLLIN } };

    for (int wait_ms = FIRST_MS;; wait_ms = AGAIN_MS) {
        int count = poll(ready, LENGTH(ready), wait_ms);

        if (count > 0 && ready[1].revents)
            return NULL;
        if (count > 0 && ready[0].revents)
            leave(watch);
        if (count == 0)
            tell(watch);
    }
}

void part_end_watch(struct parts *parts, const sigset_t *ends) {
    struct end_watch *watch = heap_new(sizeof *watch);

    *watch = (struct end_watch){ .parts = parts, .ends = *ends };
    watch->signals = signalfd(-1, ends, SFD_CLOEXEC);
    watch->stop = eventfd(0, EFD_CLOEXEC);
    parts->end = watch;
    if (watch->signals >= 0 && watch->stop >= 0 &&
        thread_start(&watch->thread, "end", watch_end, watch) == 0)
        return;
    log_error(NULL, "cannot report what delays the shutdown", NULL);
    watch->parts = NULL;
    pthread_sigmask(SIG_UNBLOCK, ends, NULL);
}

void part_end_forget(struct parts *parts) {
    struct end_watch *watch = parts->end;

    if (!watch)
        return;
    if (watch->parts && eventfd_write(watch->stop, 1) == 0)
        pthread_join(watch->thread, NULL);
    pthread_sigmask(SIG_UNBLOCK, &watch->ends, NULL);
    if (watch->signals >= 0)
        close(watch->signals);
    if (watch->stop >= 0)
        close(watch->stop);
    free(watch);
    parts->end = NULL;
}
