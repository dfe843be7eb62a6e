/*
 * Signs of life for callers who want to know that their call is still worked on (oslo.messaging's
 * call_monitor_timeout): while it is, they get a reply every so often that does not end it.
 *
 * Thread-safe.  `send` is called with the monitor's lock held: it must neither block nor come back
 * here.
 */
#pragma once

#include "rpc/envelope.h"

#include <sys/queue.h>

struct monitor;

/* One call, in the memory of whoever works on it. */
struct monitored {
    LIST_ENTRY(monitored) others;
    const struct envelope *called; /* NULL: not watched */
    int64_t next_us;
};

struct monitor *monitor_new(void (*send)(void *arg, const struct envelope *called), void *arg);
/* From now on, unless its caller has not asked for it. `called` lives until monitor_leave(). */
void monitor_watch(struct monitor *monitor, struct monitored *call, const struct envelope *called,
                   int64_t now_us);
/* Behind this nothing is sent for it any more. May come twice. */
void monitor_leave(struct monitor *monitor, struct monitored *call);
/* Sends what is due and says when something is due again; 0: never. */
int64_t monitor_beat(struct monitor *monitor, int64_t now_us);
/* Leaves every call, now and to come. */
void monitor_end(struct monitor *monitor);
void monitor_free(struct monitor *monitor);
