/*
 * The queues of a receiver, each on its own channel.  Used by the receiver's thread once it runs.
 */
#pragma once

#include "rpc/amqp/inbox.h"
#include "rpc/amqp/link.h"

struct source {
    struct source *next;
    struct subscription *subscription;
    char *exchange, *routing_key, *queue;
    bool fanout;
    unsigned channel;
    enum { SOURCE_CLOSED, SOURCE_ASKED, SOURCE_OPEN } state;
    struct backoff backoff;
    int64_t late_us; /* when to log that the broker is unresponsive; 0: logged */
};

struct sources {
    const struct source_settings *settings;
    const struct link_settings *link_settings;
    struct source *first;
    unsigned count;
    bool cancelled;
};

/* The three queues of a topic: see receiver.h.  -1: too many for one connection. */
int sources_add(struct sources *sources, struct subscription *subscription, struct error *err);
void sources_free(struct sources *sources);

/* Requests deliveries for those that are closed and due. */
int sources_take(struct sources *sources, struct link *link, struct error *err);
/* No more deliveries. */
int sources_cancel(struct sources *sources, struct link *link, struct error *err);
/* The connection is lost. */
void sources_close(struct sources *sources);

/* NULL: none has this channel. */
struct source *source_of(const struct sources *sources, unsigned channel);
void source_opened(struct source *source);
/* A refused source is requested again after a growing pause. */
void source_refused(struct source *source, const struct sources *sources, const struct link *link,
                    const char *why);
