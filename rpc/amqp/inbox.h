/*
 * Received messages, between the receiver's thread, which receives and acknowledges them, and the
 * workers, which handle them.  Thread-safe.
 */
#pragma once

#include "common/arena.h"
#include "common/clock.h"
#include "rpc/amqp/monitor.h"
#include "rpc/amqp/recent.h"
#include "rpc/envelope.h"
#include "rpc/rpc.h"

#include <sys/queue.h>

struct answers;
struct inbox;
struct sender;

/* Every topic has its own workers: an unresponsive backend does not occupy those of another. */
struct subscription {
    struct subscription *next; /* the receiver's */
    char *topic;
    rpc_consumer *consumer;
    void *arg;
    struct worker_pool *pool; /* of the inbox's lock; created for the first message */
    struct recent handled;    /* ids of messages; of the inbox's lock */
};

/* Shared by all deliveries of a receiver. */
struct delivery_means {
    struct inbox *inbox;
    struct answers *answers;
    struct sender *sender;
    const struct clock *clock;
};

/* One message, until it is acknowledged or dropped: see delivery.h. */
struct delivery {
    LIST_ENTRY(delivery) all;
    STAILQ_ENTRY(delivery) done;
    const struct delivery_means *means;
    struct subscription *subscription;
    const char *queue;   /* the source's */
    unsigned generation; /* of its connection */
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
    const char *reason;                      /* for moving it to the dead letters */
    void (*step)(struct delivery *delivery); /* the next step of a worker */
};

/* workers: of each topic; paused_most: deliveries that may pause at the same time. */
struct inbox *inbox_new(unsigned workers, int paused_most);
void inbox_free(struct inbox *inbox); /* when it is empty */

/* ---- the receiver's side ---- */

/* Readable when there is work for the receiver's thread. */
int inbox_fd(const struct inbox *inbox);
void inbox_wake(struct inbox *inbox);
void inbox_quiet(struct inbox *inbox); /* clears that state */

/* Deliveries of the previous connection are lost from here on. */
void inbox_connected(struct inbox *inbox, bool connected);
void inbox_add(struct inbox *inbox, struct delivery *delivery);
/* The next finished one, removed from every list; NULL: there is none. */
struct delivery *inbox_done(struct inbox *inbox, bool *ret_lost);
/* Any one, removed from the list of all; for the end. */
struct delivery *inbox_rest(struct inbox *inbox);
/* No further work for workers. */
void inbox_drain(struct inbox *inbox);

/* ---- the delivery's side ---- */

/* Runs delivery->step in a worker, after so many ms; not while draining. */
void inbox_later(struct delivery *delivery, int64_t pause_ms);
/* Is it of a lost connection?  Then it needs no further work. */
bool inbox_lost(struct delivery *delivery);
/* Was it handled already, and its acknowledgement or the sender's confirmation lost? */
bool inbox_handled(struct delivery *delivery);
void inbox_remember(struct delivery *delivery);
/* The receiver acknowledges it (unless it is lost) and frees it. */
void inbox_finish(struct delivery *delivery);
/* May another one pause here?  (Paused ones occupy slots.) */
bool inbox_may_pause(struct inbox *inbox);
void inbox_paused(struct inbox *inbox, int change);
