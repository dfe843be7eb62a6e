/*
 * Messages through RabbitMQ, in oslo.messaging's wire format (rpc.h says what is promised).
 *
 * One connection and thread sends (sender.h), one takes (receiver.h), which exists only
 * in processes that subscribe.  A broker that is away, refuses the login or has queues of other
 * kinds is told of in the log and asked again after growing pauses; messages wait meanwhile.
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
    const char *server;  /* this node, of queues of its own; unused by processes that only send */
    unsigned workers;
    /* Every message is an inner notification that is ready; its topic is its queue.  In bare form
     * it is sent without the envelope. */
    bool notifications, bare;
};

/* -1: the URL or an option is wrong (ERROR_BAD_REQUEST). The broker is not asked yet. */
int rpc_amqp_new(const struct amqp_settings *settings, struct rpc **ret, struct error *err);
/* Deliveries begin. */
void rpc_amqp_start(struct rpc *rpc);
