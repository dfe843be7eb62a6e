/*
 * A thread with its own session: receives notifications of other processes (NOTIFY), sends those of
 * this process, and measures the server's clock.
 *
 * NOTIFY is sent here, after the commit and many at once, not in the transaction: there it would
 * serialize the commits of all processes.  Notifications lost with a connection or a process are
 * compensated by their receivers' polling.
 */
#pragma once

#include "db/postgresql/session.h"

struct postgresql_db;
struct listener;

struct listener *listener_start(struct postgresql_db *db);
void listener_stop(struct listener *listener);
void listener_tell(struct listener *listener, enum db_event event); /* does not wait */
