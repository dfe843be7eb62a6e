/*
 * Messages through RabbitMQ, in oslo.messaging's wire format, with the guarantees of rpc.h.
 *
 * One connection and thread sends (sender.h), another receives (receiver.h), which exists only in
 * processes that subscribe.  A broker that is unreachable, refuses the login or has queues of other
 * kinds is logged and retried with growing pauses; messages wait meanwhile.
 */
#pragma once

#include "common/clock.h"
#include "config/config.h"
#include "rpc/rpc.h"

extern const struct option amqp_options[];

struct amqp_settings {
    const struct config *config; /* lives as long as the engine */
    const struct clock *clock;
    const char *url;     /* transport_url */
    const char *program; /* of the connections' names in the broker */
    const char *server;  /* this node, for queues of its own; unused by processes that only send */
    unsigned workers;
    /* Every message is a complete inner notification; its topic is its queue.  With `bare` it is
     * sent without the envelope. */
    bool notifications, bare;
};

/* -1: the URL or an option is invalid (ERROR_BAD_REQUEST). Does not connect yet. */
int rpc_amqp_new(const struct amqp_settings *settings, struct rpc **ret, struct error *err);
/* Starts deliveries. */
void rpc_amqp_start(struct rpc *rpc);
