/*
 * Events of a connection to the broker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Channels.  Each consumed queue has its own: a queue that hangs, for example without a majority,
 * or that the broker refuses, does not affect the others. */
enum { LINK_WORK = 1, LINK_DECLARE = 2, LINK_SOURCES = 3, LINK_CHANNELS = 1024 };

/* Larger bodies are dropped. */
#define LINK_BODY_MOST ((size_t)1024 * 1024)

enum link_event_kind {
    LINK_NOTHING,  /* no complete event yet */
    LINK_ACK,      /* tag, multiple */
    LINK_NACK,     /* tag, multiple */
    LINK_RETURNED, /* id, text */
    LINK_DELIVERED,
    LINK_TAKEN,     /* deliveries start */
    LINK_CANCELLED, /* deliveries have ended */
    LINK_REFUSED,   /* text: the channel is closed */
};

struct link_event {
    enum link_event_kind kind;
    uint64_t tag;
    bool multiple;
    unsigned channel;
    char id[32];           /* message_id of the returned message */
    char text[256];        /* reason of the return or of the refusal */
    char content_type[64]; /* "" when missing */
    int attempts;          /* header of scoria */
    char *body;            /* freed by the receiver; NULL when it was too large */
    size_t size;
};
