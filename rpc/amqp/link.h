/*
 * One connection to the broker: opened with TLS and login, its frames put together to events,
 * declarations.  Everything that waits has a time limit.
 *
 * A link belongs to one thread; only link_interrupt() may be called by another.
 */
#pragma once

#include "common/clock.h"
#include "rpc/amqp/url.h"

#include <amqp.h>
#include <pthread.h>

struct link_settings {
    const struct amqp_url *url;
    const struct clock *clock;
    const char *program;                        /* of the connection's name in the broker */
    const char *ca_file, *cert_file, *key_file; /* NULL: the system's; none */
    bool verify;
    int heartbeat_s; /* 0: none */
    int64_t retry_ms, retry_more_ms,
        retry_most_ms; /* pauses: first, how much longer each, longest */
};

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

struct link;

struct link *link_new(const struct link_settings *settings);
void link_free(struct link *link);

bool link_is_open(const struct link *link);
int link_fd(const struct link *link);
/* "host:port/vhost" of the last attempt. */
const char *link_where(const struct link *link);

/* Tries the hosts in turn, once each, shuffled; then both channels are open. */
int link_open(struct link *link, struct error *err);
/* Before link_close(): how long to wait after a failure.  Grows with each until link_works(), or a
 * connection that lived for a while. */
int64_t link_pause_ms(struct link *link);
void link_works(struct link *link);
/* In order when it is still alive. */
void link_close(struct link *link);
/* Ends whatever the link's thread is sending or receiving, for good. */
void link_interrupt(struct link *link);

/* The next event, without waiting; -1: the connection is lost. */
int link_next(struct link *link, struct link_event *ret, struct error *err);
/* Would a publish be taken at once?  Not while the broker says that it takes none (blocked). */
bool link_can_send(const struct link *link);
bool link_is_blocked(const struct link *link);
/* When next to call link_next() at the latest, for the sake of heartbeats. */
int link_idle_ms(const struct link *link);

struct link_publish {
    const char *exchange, *routing_key, *id;
    const char *content_type;
    const char *body;
    size_t size;
    int attempts;       /* 0: no such header */
    const char *reason; /* NULL: no such header */
};

/* -1: the connection is lost. */
int link_publish(struct link *link, const struct link_publish *message, struct error *err);
int link_ack(struct link *link, unsigned channel, uint64_t tag, struct error *err);
int link_confirms(struct link *link, struct error *err);

/* Declarations.  0 done, 1 the broker refuses (err says why), -1 the connection is lost. */

int link_exchange(struct link *link, const char *name, const char *type, bool durable,
                  bool auto_delete, struct error *err);

struct link_queue {
    const char *name;
    const char *exchange, *routing_key; /* NULL: not bound */
    bool durable, auto_delete, quorum;
    int32_t expires_ms;  /* 0: never */
    int32_t length_most; /* 0: any; else the oldest go */
};

int link_queue(struct link *link, const struct link_queue *queue, struct error *err);

/* Asks for the deliveries of a queue on a channel that is not in use, and for the queue to be made;
 * LINK_TAKEN or LINK_REFUSED tells the end.  -1: the connection is lost. */
struct link_source {
    struct link_queue queue;
    const char *exchange_type;
    bool exchange_auto_delete;
    unsigned prefetch;
};

int link_take(struct link *link, unsigned channel, const struct link_source *source,
              struct error *err);
int link_cancel(struct link *link, unsigned channel, struct error *err);
