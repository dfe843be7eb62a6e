/*
 * Takes messages from the broker on a connection and thread of its own and has workers handle
 * them, each topic its own; each is acknowledged when its work is done.
 *
 * For a topic T and a server S there are three queues, as oslo.messaging has them: T (any server
 * takes a message), T.S (this one), and one of T's fanout (every server).  All of them are made
 * when they are missing, after every reconnection.
 */
#pragma once

#include "rpc/amqp/sender.h"
#include "rpc/amqp/source.h"

struct receiver;

struct receiver_settings {
    struct link_settings link;
    struct source_settings source;
    unsigned workers; /* of each topic */
};

/* `sender` carries answers, and messages that are put aside. */
struct receiver *receiver_new(const struct receiver_settings *settings, struct sender *sender);
/* Before receiver_start(). -1 ERROR_CONFLICT: the topic has a consumer. */
int receiver_subscribe(struct receiver *receiver, const char *topic, rpc_consumer *consumer,
                       void *arg, struct error *err);
void receiver_start(struct receiver *receiver);
/* Takes no more messages, waits for the consumers that run. Then the sender is stopped. */
void receiver_drain(struct receiver *receiver);
/* Acknowledges what is done, ends the connection; the broker gives the rest to somebody else. */
void receiver_free(struct receiver *receiver);
