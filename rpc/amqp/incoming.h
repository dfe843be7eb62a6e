/*
 * Assembles frames of the broker to events.
 */
#pragma once

#include "common/error.h"
#include "rpc/amqp/event.h"

#include <amqp.h>

/* Header of scoria: number of failed attempts to handle a message. */
#define HEADER_ATTEMPTS "x-scoria-attempts"

/* Of one connection; initially zero except for the first two. */
struct incoming {
    amqp_connection_state_t connection;
    const char *where; /* for messages */
    struct content *contents[LINK_CHANNELS];
    bool blocked; /* the broker accepts no messages at present */
};

/* One frame; the event becomes LINK_NOTHING while it is incomplete.  -1: the connection is lost. */
int incoming_take(struct incoming *incoming, const amqp_frame_t *frame, struct link_event *event,
                  struct error *err);
/* Frees incomplete messages. */
void incoming_end(struct incoming *incoming);
