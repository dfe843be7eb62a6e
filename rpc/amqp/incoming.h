/*
 * Frames of the broker put together to events.
 */
#pragma once

#include "common/error.h"
#include "rpc/amqp/event.h"

#include <amqp.h>

/* Header of ours: how often a message was handled in vain. */
#define HEADER_ATTEMPTS "x-scoria-attempts"

/* Of one connection; zero at first but for the first two. */
struct incoming {
    amqp_connection_state_t connection;
    const char *where; /* for messages */
    struct content *contents[LINK_CHANNELS];
    bool blocked; /* the broker takes no messages at present */
};

/* One frame; the event becomes LINK_NOTHING while it is not whole. -1: the connection is lost. */
int incoming_take(struct incoming *incoming, const amqp_frame_t *frame, struct link_event *event,
                  struct error *err);
/* Frees what was on its way. */
void incoming_end(struct incoming *incoming);
