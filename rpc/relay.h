/*
 * Brings outbox rows to the rpc engine and deletes each when the engine confirms it.  Woken by
 * commits of this process; looks by itself once a second for rows of other processes.  Those it
 * leaves to their writers for a while when these can reach the same places.
 *
 * It keeps the order of the rows of a topic and project, so of a key as long as what that names is
 * of one project; what is given to another may overtake what was asked for before.
 */
#pragma once

#include "db/db.h"
#include "rpc/rpc.h"

struct relay;

/* `threaded` false: nothing runs by itself, relay_step() does (tests). */
struct relay *relay_new(struct db *db, struct rpc *rpc, bool threaded);
/* Publishes what is new and deletes what is confirmed; returns how many were published, or -1. */
int relay_step(struct relay *relay, struct error *err);
/* Before the rpc engine and the database stop. What is not confirmed yet is published again by the
 * next relay; confirmations that come later are taken and forgotten.  NULL is fine. */
void relay_stop(struct relay *relay);
