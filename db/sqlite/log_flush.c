#include "db/sqlite/log_flush.h"

#include "common/assert.h"
#include "common/heap.h"

#include <stddef.h>
#include <string.h>

enum { COLLECTED_MOST = 1 << 16 };

/* The members are the functions of the connection's log alone. */
static struct connection *connection_of(const sqlite3_file *file) {
    return (struct connection *)((uintptr_t)file->pMethods - offsetof(struct connection, log));
}

/* Those of a write that failed are forgotten: the commit fails with it. */
static int write_collected(sqlite3_file *file, struct connection *connection) {
    size_t size = connection->log_size;

    connection->log_size = 0;
    return size == 0 ? SQLITE_OK
                     : connection->sqlites_log->xWrite(file, connection->log_bytes, (int)size,
                                                       connection->log_at);
}

/* SQLite writes each frame in two parts, one frame behind the other. */
static int log_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 at) {
    struct connection *connection = connection_of(file);
    bool follows = at == connection->log_at + (sqlite3_int64)connection->log_size &&
                   connection->log_size + (size_t)size <= COLLECTED_MOST;
    int code = connection->log_size > 0 && !follows ? write_collected(file, connection) : SQLITE_OK;

    connection->log_begins |= at == 0;
    if (code != SQLITE_OK)
        return code;
    if (!connection->collects || size > COLLECTED_MOST)
        return connection->sqlites_log->xWrite(file, bytes, size, at);
    if (connection->log_size == 0)
        connection->log_at = at;
    memcpy(connection->log_bytes + connection->log_size, bytes, (size_t)size);
    connection->log_size += (size_t)size;
    return SQLITE_OK;
}

static int log_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 at) {
    struct connection *connection = connection_of(file);
    int code = write_collected(file, connection);

    return code == SQLITE_OK ? connection->sqlites_log->xRead(file, bytes, size, at) : code;
}

static int log_sync(sqlite3_file *file, int flags) {
    struct connection *connection = connection_of(file);
    int code = write_collected(file, connection);

    if (code != SQLITE_OK)
        return code;
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
    connection->log.xRead = log_read;
    connection->log.xWrite = log_write;
    connection->log.xSync = log_sync;
    file->pMethods = &connection->log;
    /* Otherwise SQLite writes behind the flush, too. */
    if (connection->log.xDeviceCharacteristics(file) & SQLITE_IOCAP_POWERSAFE_OVERWRITE)
        connection->log_bytes = heap_new(COLLECTED_MOST);
    return 0;
}

void sqlite_log_commit_begin(struct connection *connection, bool unsynced) {
    assert(!connection->unsynced && !connection->collects && connection->log_size == 0);
    connection->unsynced = unsynced;
    connection->collects = connection->log_bytes;
}

void sqlite_log_commit_end(struct connection *connection, bool done) {
    assert(!done || connection->log_size == 0);
    connection->log_size = 0;
    connection->unsynced = connection->collects = false;
}
