/*
 * One connection to the broker: opened with TLS and login, its events, its output.  All waits have
 * timeouts.
 *
 * A link belongs to one thread; only link_interrupt() may be called by another.
 */
#pragma once

#include "common/backoff.h"
#include "rpc/amqp/event.h"
#include "rpc/amqp/settings.h"

#include <amqp.h>
#include <pthread.h>

struct link;

struct link *link_new(const struct link_settings *settings);
void link_free(struct link *link);

bool link_is_open(const struct link *link);
int link_fd(const struct link *link);
/* "host:port/vhost" of the last attempt. */
const char *link_where(const struct link *link);

/* Tries the hosts once each, in random order; on success both channels are open. */
int link_open(struct link *link, struct error *err);
/* Before link_drop(): the pause after a failure.  Grows with each until link_works(), or a
 * connection that lived for a while. */
int64_t link_pause_ms(struct link *link);
struct backoff_limits link_pauses(const struct link_settings *settings);
void link_works(struct link *link);
/* Orderly; for one that has not failed. */
void link_close(struct link *link);
/* Without a farewell: the library reads beyond its memory when it continues after malformed
 * frames. */
void link_drop(struct link *link);
/* Aborts the link thread's I/O, for good. */
void link_interrupt(struct link *link);

/* The next event, without waiting; -1: the connection is lost. */
int link_next(struct link *link, struct link_event *ret, struct error *err);
/* Would a publish be accepted at once?  Not while the broker is blocked. */
bool link_can_send(const struct link *link);
bool link_is_blocked(const struct link *link);
/* The longest time until the next link_next(), because of heartbeats. */
int link_idle_ms(const struct link *link);

#define LINK_CONSUMER "scoria" /* of the deliveries of a channel */

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
int link_cancel(struct link *link, unsigned channel, struct error *err);

/* For declare.c: the library's connection, and a channel opened again. */
amqp_connection_state_t link_connection(const struct link *link);
int link_open_channel(struct link *link, unsigned channel, struct error *err);
