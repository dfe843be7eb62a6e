/*
 * Publishes outbox rows through the rpc engine and deletes each when the engine confirms it.  Woken
 * by commits of this process; scans periodically for rows of other processes.  It leaves those to
 * their writers for a while if these can reach the same subscribers.
 *
 * The rows of a topic and project keep their order, and so do those of a key while its object
 * belongs to one project; rows of a new owner may overtake earlier ones.  Rows of work wait as long
 * as it takes; those of notifications have a limit.
 */
#pragma once

#include "db/db.h"
#include "rpc/rpc.h"

struct relay;

enum relay_use {
    RELAY_STEPS,  /* nothing runs by itself, relay_step() does (tests) */
    RELAY_SHARED, /* other processes write rows for this one: scans once a second */
    RELAY_ALONE,  /* only tools do: while there is no row, every five seconds */
};

struct relay *relay_new(struct db *db, struct rpc *rpc, enum relay_use use);
/* Bytes of notifications that may wait in the database: above that the oldest are deleted, of the
 * projects with most, until an eighth is free.  No limit initially; from any thread. */
void relay_limit(struct relay *relay, size_t notification_bytes);
/* Publishes new rows and deletes confirmed ones; returns the number of published ones, or -1. */
int relay_step(struct relay *relay, struct error *err);
/* Before the rpc engine and the database stop.  Unconfirmed rows are published again by the next
 * relay; later confirmations are ignored.  NULL is fine. */
void relay_stop(struct relay *relay);
