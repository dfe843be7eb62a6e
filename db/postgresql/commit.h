/*
 * Commits with a known outcome, also when the connection is lost meanwhile.
 *
 * Each writing session owns a row of the table commit_marks.  The last statement of each of its
 * transactions sets the row's mark to the transaction's number, so a commit and its mark take
 * effect together; without the row it does not commit.  When the response to COMMIT is lost,
 * another session locks that row (which waits for a server process that still works on it), reads
 * the mark, and sets it to -1 if it is an older one: a COMMIT still in flight then fails, because
 * it would change a row that changed since its snapshot.  So the mark is final, and the transaction
 * may be run again.
 *
 * Rows are removed a day after their session began, and a session commits for an hour at most.  A
 * process that was suspended for so long, or a server whose clock jumped, finds no row: then the
 * outcome is unknown, and the caller gets that as an error.
 *
 * The table is also the lock between writers and an exclusive one.  Transactions are SERIALIZABLE,
 * and the server refuses one that may be part of a cycle of dependencies.  For that it keeps the
 * reads and writes of finished transactions while an overlapping one is open, in any database of
 * the server.  Above ten for each permitted connection it keeps only a summary of the older ones,
 * by which even the previous change of the same session counts as concurrent: then it refuses the
 * same transaction at every attempt until the open one ends.  So a transaction that is refused
 * repeatedly runs exclusively, which needs none of these checks.
 *
 * (pg_xact_status() of the transaction's number would not do: after a crash the server may assign a
 * number that never reached its disk to another transaction.)
 */
#pragma once

#include "db/postgresql/session.h"

enum commit_outcome { COMMIT_FAILED = -1, COMMIT_DONE, COMMIT_AGAIN, COMMIT_IN_DOUBT };

/* The table, created when a database is opened first. */
extern const char commit_table_sql[];

/* Assigns a row to the session if it has none.  Outside a transaction. */
int commit_register(struct session *session, const struct clock *random, struct error *err);

/* Begins a transaction concurrent with other writers, together with its first statement. */
void commit_begin(struct session *session);
/* Begins a transaction when no other writer has one; the other writers wait until it ends. */
int commit_begin_exclusive(struct session *session, struct error *err);

enum commit_outcome commit_run(struct session *session, struct error *err);

/* Determines the outcome of a commit in doubt, through another session: DONE, AGAIN, IN_DOUBT when
 * this session fails, too (repeat), or FAILED: it cannot be determined any more. */
enum commit_outcome commit_ask(struct session *session, const char *writer, int64_t mark,
                               struct error *err);
