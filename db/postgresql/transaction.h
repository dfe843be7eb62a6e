/*
 * Transactions on PostgreSQL.
 *
 * Bodies are written as if there were one writer.  There are several, in several processes: each
 * transaction is SERIALIZABLE, and one that the server refuses because of another is run again,
 * after a short random pause, until a deadline.  Every third attempt is exclusive (commit.h), so
 * that contention alone reaches no deadline.  This is the only place that retries.  Readers have
 * one snapshot (REPEATABLE READ READ ONLY).
 */
#pragma once

#include "db/postgresql/postgresql.h"

/* Runs a group of bodies as one transaction and reports each result. */
void transaction_run(struct postgresql_db *db, struct db_job *first, unsigned count);
int transaction_read(struct postgresql_db *db, db_body *body, void *arg, struct error *err);
