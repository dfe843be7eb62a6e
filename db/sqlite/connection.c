#include "db/sqlite/connection.h"

#include "common/cleanup.h"
#include "common/log.h"

#include <errno.h>
#include <string.h>

struct failure {
    int code; /* extended code, or primary code for all of its kind */
    enum error_kind kind;
    const char *text;
};

static const struct failure failures[] = {
    { SQLITE_CONSTRAINT_UNIQUE, ERROR_COLLISION, "The database refused a duplicate" },
    { SQLITE_CONSTRAINT_PRIMARYKEY, ERROR_COLLISION, "The database refused a duplicate" },
    { SQLITE_CONSTRAINT_FOREIGNKEY, ERROR_COLLISION, "The database refused a broken reference" },
    { SQLITE_BUSY, ERROR_UNAVAILABLE, "The database is locked by another program" },
    { SQLITE_LOCKED, ERROR_UNAVAILABLE, "The database is locked by another program" },
    { SQLITE_FULL, ERROR_UNAVAILABLE, "The disk of the database is full" },
    { SQLITE_IOERR, ERROR_UNAVAILABLE, "The disk of the database fails" },
    { SQLITE_CANTOPEN, ERROR_UNAVAILABLE, "The database or a file beside it cannot be opened" },
    { SQLITE_READONLY_ROLLBACK, ERROR_CONFLICT,
      "A change of another program was interrupted: open the file with that program, or sqlite3" },
    { SQLITE_READONLY, ERROR_UNAVAILABLE, "The database or its directory is read-only" },
    { SQLITE_PERM, ERROR_UNAVAILABLE, "The database must not be opened" },
    { SQLITE_CORRUPT, ERROR_UNAVAILABLE, "The database is corrupt" },
    { SQLITE_NOTADB, ERROR_UNAVAILABLE, "The file is not a database" },
};

static const struct failure *failure_find(int code) {
    for (size_t i = 0; i < LENGTH(failures); i++)
        if (failures[i].code == code || failures[i].code == (code & 0xff))
            return &failures[i];
    return NULL;
}

/* A file beside the database that gets no space, as the index of its log, is an error of I/O. */
static bool is_full(int code, int number) {
    return (code & 0xff) == SQLITE_FULL ||
           ((code & 0xff) == SQLITE_IOERR && (number == ENOSPC || number == EDQUOT));
}

int connection_note_failure(struct connection *connection) {
    int code = sqlite3_extended_errcode(connection->handle);

    if (is_full(code, sqlite3_system_errno(connection->handle)))
        connection->full = true;
    if (code == SQLITE_IOERR_FSYNC && !connection->in_doubt) {
        connection->in_doubt = true;
        log_error(NULL, "flush of the database failed; requests wait until its log is repaired",
                  "path", sqlite3_db_filename(connection->handle, "main"), NULL);
    }
    return code;
}

int connection_error(struct connection *connection, struct error *err) {
    int code = connection_note_failure(connection);
    const char *detail = sqlite3_errmsg(connection->handle);
    int number = sqlite3_system_errno(connection->handle);
    const struct failure *failure = failure_find(is_full(code, number) ? SQLITE_FULL : code);

    if (!failure)
        return error_set(err, ERROR_INTERNAL, "The database failed: %s", detail);
    if ((code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN)
        detail = number ? strerror(number) : detail;
    return error_set(err, failure->kind, "%s: %s", failure->text, detail);
}
