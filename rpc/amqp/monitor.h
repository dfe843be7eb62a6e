/*
 * Heartbeats for callers that request them (oslo.messaging's call_monitor_timeout): while a call is
 * handled its caller gets periodic replies that do not end it.
 *
 * Thread-safe.  `send` is called with the monitor's lock held: it must neither block nor call back.
 */
#pragma once

#include "rpc/envelope.h"

#include <sys/queue.h>

struct monitor;

/* One call, in the memory of its handler. */
struct monitored {
    LIST_ENTRY(monitored) others;
    const struct envelope *called; /* NULL: not watched */
    int64_t next_us;
};

struct monitor *monitor_new(void (*send)(void *arg, const struct envelope *called), void *arg);
/* Starts heartbeats if the caller requested them.  `called` lives until monitor_leave(). */
void monitor_watch(struct monitor *monitor, struct monitored *call, const struct envelope *called,
                   int64_t now_us);
/* Nothing is sent for it afterwards.  May be called twice. */
void monitor_leave(struct monitor *monitor, struct monitored *call);
/* Sends due heartbeats and returns the time of the next; 0: never. */
int64_t monitor_beat(struct monitor *monitor, int64_t now_us);
/* Leaves every call, current and future. */
void monitor_end(struct monitor *monitor);
void monitor_free(struct monitor *monitor);
