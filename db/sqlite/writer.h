/*
 * The one writer of a database.  Queued bodies are taken in groups, and a group is committed with
 * one flush.  A body that fails undoes only itself: when it had changed anything, the group is
 * rolled back and runs again with a savepoint for each body.  Results are reported after the flush;
 * a group that cannot be committed fails as a whole and leaves nothing.
 * A group without durable changes is not flushed.  After a failed flush nothing is committed until
 * the log is repaired (sqlite_renew()).
 *
 * Without a thread (writer_start() not called) each body is a group of its own, run by its caller.
 */
#pragma once

#include "db/sqlite/sqlite.h"

struct writer;

/* Takes over the connection. */
struct writer *writer_new(struct connection *connection, unsigned group_most);
void writer_start(struct writer *writer);
void writer_stop(struct writer *writer); /* finishes queued bodies, closes the connection */

void writer_submit(struct writer *writer, struct db_job *job);

/* Runs a read-only body on the writer's own connection: a database in memory has no other. */
int writer_read(struct writer *writer, db_body *body, void *arg, struct error *err);

struct connection *writer_connection(struct writer *writer);
void writer_on_event(struct writer *writer, enum db_event event, void (*hook)(void *arg),
                     void *arg);
void writer_set_fault(struct writer *writer, db_fault *fault, void *arg);
