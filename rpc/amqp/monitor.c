#include "rpc/amqp/monitor.h"

#include "common/heap.h"
#include "common/thread.h"

#include <stdlib.h>

LIST_HEAD(monitored_calls, monitored);

struct monitor {
    void (*send)(void *arg, const struct envelope *called);
    void *arg;

    pthread_mutex_t lock; /* guards the members below, and every call in the list */
    struct monitored_calls calls;
    bool ended;
};

struct monitor *monitor_new(void (*send)(void *arg, const struct envelope *called), void *arg) {
    struct monitor *monitor = heap_new(sizeof(*monitor));

    monitor->send = send;
    monitor->arg = arg;
    LIST_INIT(&monitor->calls);
    pthread_mutex_init(&monitor->lock, NULL);
    return monitor;
}

void monitor_watch(struct monitor *monitor, struct monitored *call, const struct envelope *called,
                   int64_t now_us) {
    if (!called->reply_queue || called->beat_ms == 0)
        return;
    scoped_lock(&monitor->lock);
    if (!monitor->ended) {
        call->called = called;
        call->next_us = now_us + called->beat_ms * 1000;
        LIST_INSERT_HEAD(&monitor->calls, call, others);
    }
}

/* Called with the lock held. */
static void leave(struct monitored *call) {
    if (call->called)
        LIST_REMOVE(call, others);
    call->called = NULL;
}

void monitor_leave(struct monitor *monitor, struct monitored *call) {
    scoped_lock(&monitor->lock);
    leave(call);
}

int64_t monitor_beat(struct monitor *monitor, int64_t now_us) {
    int64_t next_us = 0;

    scoped_lock(&monitor->lock);
    for (struct monitored *call = LIST_FIRST(&monitor->calls); call;
         call = LIST_NEXT(call, others)) {
        if (call->next_us <= now_us) { /* missed heartbeats are not made up for */
            monitor->send(monitor->arg, call->called);
            call->next_us = now_us + call->called->beat_ms * 1000;
        }
        if (next_us == 0 || call->next_us < next_us)
            next_us = call->next_us;
    }
    return next_us;
}

void monitor_end(struct monitor *monitor) {
    scoped_lock(&monitor->lock);
    monitor->ended = true;
    while (!LIST_EMPTY(&monitor->calls))
        leave(LIST_FIRST(&monitor->calls));
}

void monitor_free(struct monitor *monitor) {
    pthread_mutex_destroy(&monitor->lock);
    free(monitor);
}
