/*
 * Sends messages to the broker on a connection and thread of its own, and reports the broker's
 * confirmation of each.
 *
 * Messages of one key are sent one after the other: the next when the previous one is confirmed.
 * One that cannot be delivered fails those after it, too, so that their order is kept when they are
 * sent again.  While the broker is unreachable messages wait here.
 */
#pragma once

#include "rpc/amqp/link.h"
#include "rpc/amqp/window.h"

struct sender;

struct sender_settings {
    struct link_settings link;
    const char *exchange; /* of topics */
    bool durable, auto_delete, quorum;
};

#define SENDER_DEAD_QUEUE "scoria.dead"

struct sender *sender_new(const struct sender_settings *settings);
/* Copies the message.  `confirm` is called exactly once, from any thread: true when the broker has
 * stored it in a queue, false otherwise (no queue, or this sender stops). Thread-safe. */
void sender_put(struct sender *sender, const struct send_message *message,
                void (*confirm)(void *arg, bool taken), void *arg);
/* Sends what it can within two seconds and fails the rest, and all later ones. */
void sender_stop(struct sender *sender);
/* After sender_stop() and the last sender_put(). */
void sender_free(struct sender *sender);
