/*
 * Receives messages from the broker on a connection and thread of its own; workers of each topic
 * handle them, and each is acknowledged when it is handled.
 *
 * For a topic T and a server S there are three queues, as in oslo.messaging: T (received by any
 * server), T.S (by this one), and one of T's fanout (by every server). Missing ones are created
 * after every connect.
 */
#pragma once

#include "rpc/amqp/sender.h"
#include "rpc/amqp/source.h"

struct receiver;

/* `sender` sends responses and dead letters. */
struct receiver *receiver_new(const struct receiver_settings *settings, struct sender *sender);
/* Before receiver_start(). -1 ERROR_CONFLICT: the topic has a consumer. */
int receiver_subscribe(struct receiver *receiver, const char *topic, rpc_consumer *consumer,
                       void *arg, struct error *err);
void receiver_start(struct receiver *receiver);
/* Receives no more messages, waits for running consumers.  Then the sender is stopped. */
void receiver_drain(struct receiver *receiver);
/* Acknowledges handled messages, closes the connection; the broker delivers the rest to other
 * consumers. */
void receiver_free(struct receiver *receiver);
