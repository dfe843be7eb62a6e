/*
 * Sends messages to the broker on a connection and thread of its own, and says of each when the
 * broker has it.
 *
 * Messages of one key are sent one after the other: the next when the broker has confirmed the one
 * before.  One that cannot be delivered takes those behind it with it, so that their order stays
 * when they are given to send again.  While the broker is away messages wait here.
 */
#pragma once

#include "rpc/amqp/link.h"

struct sender;

struct sender_settings {
    struct link_settings link;
    const char *exchange; /* of topics */
    bool durable, auto_delete, quorum;
};

enum send_where {
    SEND_TOPIC,        /* the exchange of topics; somebody must have bound a queue */
    SEND_NOTIFICATION, /* the same; the queue is made when it is missing */
    SEND_QUEUE,        /* straight to a queue that must be there */
    SEND_DEAD,         /* the queue of messages put aside, made when it is missing */
};

#define SENDER_DEAD_QUEUE "scoria.dead"

struct send_message {
    enum send_where where;
    const char *routing_key, *key; /* key "": no order */
    const char *content_type;
    const char *body;
    size_t size;
    int attempts;       /* see link_publish */
    const char *reason; /* see link_publish */
};

struct sender *sender_new(const struct sender_settings *settings);
/* Copies the message. `confirm` is called exactly once, from any thread: true when the broker has
 * it safely in a queue, false when it has not (no queue, or this sender stops). Thread-safe. */
void sender_put(struct sender *sender, const struct send_message *message,
                void (*confirm)(void *arg, bool taken), void *arg);
/* Sends what it can within two seconds, gives back the rest. */
void sender_stop(struct sender *sender);
