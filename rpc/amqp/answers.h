/*
 * What callers get: answers, and signs of life while their call is worked on.  Thread-safe.
 */
#pragma once

#include "common/clock.h"
#include "rpc/amqp/monitor.h"
#include "rpc/amqp/sender.h"

struct answers;

struct answers *answers_new(struct sender *sender, const struct clock *clock);
void answers_start(struct answers *answers);
/* From now on no answer is sent a second time. */
void answers_drain(struct answers *answers);
/* Waits for what is being sent again; no more signs of life. */
void answers_stop(struct answers *answers);
void answers_free(struct answers *answers); /* when the sender has stopped */

/* Sends an answer, again and again for a minute when its queue is not there; then answers to that
 * queue are dropped for a minute. */
void answers_send(struct answers *answers, const char *queue, const char *body);

/* The caller hears of it now and then, from here until answers_leave(). */
void answers_watch(struct answers *answers, struct monitored *call, const struct envelope *called);
void answers_leave(struct answers *answers, struct monitored *call);
/* Sends the signs that are due, and says when one is due again; 0: never. */
int64_t answers_beat(struct answers *answers, int64_t now_us);
