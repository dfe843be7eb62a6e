/*
 * One thread with a session of its own: hears what other processes tell (NOTIFY), tells them what
 * ours has to say, and measures the server's clock.
 *
 * NOTIFY is sent here, after the commit and many at a time, not in the transaction: there it would
 * make commits of all processes wait for each other.  What is lost with a connection or a process
 * is found by the regular look of those who listen.
 */
#pragma once

#include "db/postgresql/session.h"

struct postgresql_db;
struct listener;

struct listener *listener_start(struct postgresql_db *db);
void listener_stop(struct listener *listener);
void listener_tell(struct listener *listener, enum db_event event); /* does not wait */
