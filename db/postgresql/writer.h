/*
 * Threads that run queued bodies.  A thread takes the waiting ones, up to a group, and runs them as
 * one transaction (see transaction_run()): bodies that change one row, such as a project's quota,
 * would otherwise wait for each other's flush.
 */
#pragma once

#include "db/db.h"

struct postgresql_db;
struct postgresql_writer;

/* Without threads (0) each body is run by its caller. */
struct postgresql_writer *postgresql_writer_new(struct postgresql_db *db, unsigned threads,
                                                unsigned group_most);
void postgresql_writer_stop(struct postgresql_writer *writer); /* finishes queued bodies */
void postgresql_writer_submit(struct postgresql_writer *writer, struct db_job *job);
