/*
 * Requests with a deferred response: parked until an event, checked in the order of their arrival,
 * on notification and every 100 ms (the event may be of another process).
 *
 * One lock guards the list and the flags; nothing else is done while it is held.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct waiting;

struct waiter { /* embedded in the request */
    STAILQ_ENTRY(waiter) next;
    int64_t deadline_us; /* monotonic */
};

enum waiting_reason { WAITING_LOOK, WAITING_TIMEOUT, WAITING_STOP };

/* True: the waiter is done and its memory gone.  After TIMEOUT and STOP it must be. */
typedef bool waiting_check(struct waiter *waiter, enum waiting_reason reason);

/* Without `threaded` nothing runs by itself: waiting_look() checks, in the caller's thread.  NULL
 * when no thread can be started. */
struct waiting *waiting_new(waiting_check *check, bool threaded);
void waiting_put(struct waiting *waiting, struct waiter *waiter, int64_t timeout_ms);
void waiting_look(struct waiting *waiting);
void waiting_free(struct waiting *waiting); /* every waiter gets WAITING_STOP */
