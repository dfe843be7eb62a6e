/*
 * One message that came in, until it is acknowledged or forgotten.
 *
 *     arrived --> work --0--> done                    (answer sent, acknowledged)
 *                  ^ |---refused--> aside --confirmed--> done
 *                  | '---failed--> pause --> work     (or, when many pause: behind the others)
 *                  '-----------------'
 *
 * Whatever is not done when the connection breaks is delivered again by the broker.
 */
#pragma once

#include "rpc/amqp/monitor.h"
#include "rpc/amqp/receiver.h"
#include "rpc/amqp/recent.h"
#include "rpc/envelope.h"

#include <sys/queue.h>

struct delivery {
    LIST_ENTRY(delivery) all;
    STAILQ_ENTRY(delivery) done;
    struct receiver *receiver;
    struct subscription *subscription;
    const char *queue;   /* the subscription's */
    unsigned generation; /* of the connection that it came on */
    unsigned channel;
    uint64_t tag;
    struct arena *arena;
    struct envelope envelope;
    struct monitored monitored;
    const char *key; /* the envelope's; "" when there is none */
    char *body;
    size_t size;
    char content_type[64];
    int attempts;
    const char *reason;                      /* of putting it aside */
    void (*step)(struct delivery *delivery); /* what a worker does with it next */
};

/* Reads it and hands it to the workers, or puts it aside. Takes body of `event` over. */
void delivery_begin(struct delivery *delivery, struct link_event *event);

/* ---- what the receiver does for it; thread-safe ---- */

/* Every topic has workers of its own: one whose backend does not answer takes nobody else's. */
struct subscription {
    char *topic;
    rpc_consumer *consumer;
    void *arg;
    struct worker_pool *pool; /* of the receiver's lock; made for the first message */
    struct recent handled;    /* ids of messages; guarded by the receiver */
};

struct sender *receiver_sender(struct receiver *receiver);
const struct clock *receiver_clock(const struct receiver *receiver);
/* Has a worker run delivery->step, after so many ms; not while it drains. */
void receiver_later(struct delivery *delivery, int64_t pause_ms);
/* Is it of a connection that is gone? Then nothing needs to be done any more. */
bool receiver_lost(struct delivery *delivery);
/* Was it handled already, and its acknowledgement or the sender's confirmation lost? */
bool receiver_handled(struct delivery *delivery);
void receiver_remember(struct delivery *delivery);
/* Acknowledges (unless it is lost) and frees it. */
void receiver_done(struct delivery *delivery);
/* May one more wait for its pause in here? (Those that wait keep the place of others.) */
bool receiver_may_pause(struct receiver *receiver);
void receiver_paused(struct receiver *receiver, int change);
/* Its caller hears of it now and then, until receiver_answer(). */
void receiver_watch(struct delivery *delivery);
/* Sends an answer, again and again for a minute when its queue is not there; then answers to that
 * queue are dropped for a minute. */
void receiver_answer(struct delivery *delivery, const char *body);
