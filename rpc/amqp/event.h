/*
 * What a connection to the broker tells its owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Channels.  Each queue that is taken from has one of its own: a queue that hangs, as one without a
 * majority does, or that the broker refuses, is no hindrance to the others. */
enum { LINK_WORK = 1, LINK_DECLARE = 2, LINK_SOURCES = 3, LINK_CHANNELS = 1024 };

/* Bodies above are not kept. */
#define LINK_BODY_MOST ((size_t)1024 * 1024)

enum link_event_kind {
    LINK_NOTHING,  /* no whole event has come */
    LINK_ACK,      /* tag, multiple */
    LINK_NACK,     /* tag, multiple */
    LINK_RETURNED, /* id, text */
    LINK_DELIVERED,
    LINK_TAKEN,     /* deliveries begin */
    LINK_CANCELLED, /* deliveries have ended */
    LINK_REFUSED,   /* text: the channel is closed */
};

struct link_event {
    enum link_event_kind kind;
    uint64_t tag;
    bool multiple;
    unsigned channel;
    char id[32];           /* message_id of what came back */
    char text[256];        /* why it came back, or what is refused */
    char content_type[64]; /* "" when missing */
    int attempts;          /* header of ours */
    char *body;            /* the receiver frees it; NULL when it was too large */
    size_t size;
};
