/*
 * Replies to callers: responses, and heartbeats while their call is handled.  Thread-safe.
 */
#pragma once

#include "common/clock.h"
#include "rpc/amqp/monitor.h"
#include "rpc/amqp/sender.h"

struct answers;

struct answers *answers_new(struct sender *sender, const struct clock *clock);
void answers_start(struct answers *answers);
/* No response is retried from now on. */
void answers_drain(struct answers *answers);
/* Waits for current retries; no more heartbeats. */
void answers_stop(struct answers *answers);
void answers_free(struct answers *answers); /* when the sender has stopped */

/* Sends a response, and retries for a minute while its queue does not exist; then responses to that
 * queue are dropped for a minute. */
void answers_send(struct answers *answers, const char *queue, const char *body);

/* Sends heartbeats to the caller until answers_leave(). */
void answers_watch(struct answers *answers, struct monitored *call, const struct envelope *called);
void answers_leave(struct answers *answers, struct monitored *call);
/* Sends the heartbeats that are due, and returns the time of the next; 0: never. */
int64_t answers_beat(struct answers *answers, int64_t now_us);
