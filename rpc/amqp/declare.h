/*
 * Exchanges and queues, created when missing.  0 done, 1 refused by the broker (see err), -1 the
 * connection is lost.
 */
#pragma once

#include "rpc/amqp/link.h"

int declare_exchange(struct link *link, const char *name, const char *type, bool durable,
                     bool auto_delete, struct error *err);

struct declare_queue {
    const char *name;
    const char *exchange, *routing_key; /* NULL: not bound */
    bool durable, auto_delete, quorum;
    int32_t expires_ms;  /* 0: never */
    int32_t length_most; /* 0: unlimited; otherwise the oldest are dropped */
};

int declare_queue(struct link *link, const struct declare_queue *queue, struct error *err);

/* Requests the deliveries of a queue on an unused channel, and the creation of the queue; the event
 * LINK_TAKEN or LINK_REFUSED has the result.  -1: the connection is lost. */
struct declare_source {
    struct declare_queue queue;
    const char *exchange_type;
    bool exchange_auto_delete;
    unsigned prefetch;
};

int declare_source(struct link *link, unsigned channel, const struct declare_source *source,
                   struct error *err);
