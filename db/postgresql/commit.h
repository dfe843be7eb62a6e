/*
 * Commits whose outcome is known, also when the connection dies in the middle.
 *
 * Each session that writes owns a row of the table commit_marks.  The last statement of each of its
 * transactions sets the row's mark to the transaction's number, so a commit and its mark take
 * effect together; without the row it does not commit.  When the answer to COMMIT is lost, another
 * session locks that row (which waits for a server process that is still at it), reads the mark,
 * and makes it -1 if it is an older one: a COMMIT that is still on its way then fails, because it
 * would change a row that changed since its snapshot.  So the mark tells the truth and keeps it,
 * and the transaction may be run again.
 *
 * Rows are cleared away a day after their session began, which is an hour at most before it
 * commits. A process that stood still for so long, or a server whose clock jumped, finds no row:
 * that is doubt and no permission, and the caller is told so.
 *
 * (pg_xact_status() of the transaction's number would not do: after a crash the server may give a
 * number that never reached its disk to another transaction.)
 */
#pragma once

#include "db/postgresql/session.h"

enum commit_outcome { COMMIT_FAILED = -1, COMMIT_DONE, COMMIT_AGAIN, COMMIT_IN_DOUBT };

/* The table, for the engine's first look at a database. */
extern const char commit_table_sql[];

/* Gives the session its row if it has none. Outside a transaction. */
int commit_register(struct session *session, const struct clock *random, struct error *err);

enum commit_outcome commit_run(struct session *session, struct error *err);

/* What became of a commit in doubt, through another session: DONE, AGAIN, IN_DOUBT when this
 * session fails, too (ask again), or FAILED: nobody can know any more. */
enum commit_outcome commit_ask(struct session *session, const char *writer, int64_t mark,
                               struct error *err);
