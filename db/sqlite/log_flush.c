#include "db/sqlite/log_flush.h"

#include "common/assert.h"

#include <stddef.h>

/* The members are the functions of the connection's log alone. */
static struct connection *connection_of(const sqlite3_file *file) {
    return (struct connection *)((uintptr_t)file->pMethods - offsetof(struct connection, log));
}

static int log_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at) {
    struct connection *connection = connection_of(file);

    connection->log_begins |= at == 0;
    return connection->sqlites_log->xWrite(file, bytes, size, at);
}

static int log_sync(sqlite3_file *file, int flags) {
    struct connection *connection = connection_of(file);

    if (connection->unsynced && !connection->log_begins)
        return SQLITE_OK;
    connection->log_begins = false;
    return connection->sqlites_log->xSync(file, flags);
}

int sqlite_log_flush_begin(struct connection *connection, struct error *err) {
    sqlite3_file *file = NULL;

    assert(!connection->sqlites_log);
    if (sqlite3_file_control(connection->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) !=
        SQLITE_OK)
        return connection_error(connection, err);
    if (!file || !file->pMethods || file->pMethods->iVersion > 3)
        return 0; /* later functions may pass this one by: each commit is flushed */
    connection->sqlites_log = file->pMethods;
    connection->log = *file->pMethods;
    connection->log.xWrite = log_write;
    connection->log.xSync = log_sync;
    file->pMethods = &connection->log;
    return 0;
}
