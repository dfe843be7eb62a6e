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
#include "rpc/amqp/window.h"

struct sender;

struct sender_settings {
    struct link_settings link;
    const char *exchange; /* of topics */
    bool durable, auto_delete, quorum;
};

#define SENDER_DEAD_QUEUE "scoria.dead"

struct sender *sender_new(const struct sender_settings *settings);
/* Copies the message. `confirm` is called exactly once, from any thread: true when the broker has
 * it safely in a queue, false when it has not (no queue, or this sender stops). Thread-safe. */
void sender_put(struct sender *sender, const struct send_message *message,
                void (*confirm)(void *arg, bool taken), void *arg);
/* Sends what it can within two seconds and gives back the rest, as it does at once from then on. */
void sender_stop(struct sender *sender);
/* After sender_stop(), when nobody puts anything any more. */
void sender_free(struct sender *sender);
