/*
 * Reports what delays the shutdown: operations in progress.  They are logged soon after the first
 * signal and then every ten seconds; at a second signal they are left to the next start or to
 * another manager, without loss.  Signals before that report belong to the first one: timeout(1),
 * shells and init programs of containers signal both the process and its group.
 */
#include "cmd/part.h"
#include "common/arena.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/thread.h"
#include "manager/runtime/manager.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
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
        log_info(NULL, "waiting for an operation", "kind", list[i].kind, "operation_id",
                 list[i].operation_id, "volume_id", list[i].volume_id, "for_s",
                 LOG_INT(list[i].for_us / 1000000), "percent",
                 list[i].percent < 0 ? NULL : LOG_INT(list[i].percent), NULL);
    return count;
}

static void *watch_end(void *arg) {
    struct end_watch *watch = arg;
    struct pollfd ready[] = { { .fd = watch->signals, .events = POLLIN },
                              { .fd = watch->stop, .events = POLLIN } };

    int64_t first_us = clock_monotonic_us() + FIRST_MS * INT64_C(1000);
    unsigned left;

    for (;;) {
        int64_t left_us = first_us - clock_monotonic_us();
        int count = poll(ready, LENGTH(ready), left_us > 0 ? (int)(left_us / 1000) + 1 : AGAIN_MS);

        if (count > 0 && ready[1].revents)
            return NULL;
        if (count > 0 && left_us > 0) {
            struct signalfd_siginfo info;

            if (read(watch->signals, &info, sizeof info) < 0)
                log_warning(NULL, "cannot read a signal", "reason", strerror(errno), NULL);
        } else if (count > 0) {
            left = tell(watch);
            log_warning(NULL, "second signal: operations in progress are left to other managers",
                        "count", LOG_INT(left), NULL);
            _exit(EXIT_SUCCESS);
        } else if (count == 0)
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
    log_error(NULL, "cannot report the operations that delay the shutdown", NULL);
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
