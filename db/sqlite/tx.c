#include "db/sqlite/tx.h"

#include "common/assert.h"
#include "db/sqlite/log_flush.h"
#include "db/sqlite/statement.h"

int sqlite_tx_control(struct connection *connection, const char *sql, struct error *err) {
    struct sqlite_tx tx = { .base = { .engine = &sqlite_engine, .writes = true },
                            .connection = connection };

    return statement_run(&tx.base, err, sql, NULL, 0) < 0 ? -1 : 0;
}

int sqlite_tx_commit(struct connection *connection, bool unsynced, struct error *err) {
    int result;

    sqlite_log_commit_begin(connection, unsynced);
    result = sqlite_tx_control(connection, "COMMIT", err);
    sqlite_log_commit_end(connection, result == 0); /* a checkpoint flushes the log */
    return result;
}

bool sqlite_tx_gave_up(const struct connection *connection) {
    return sqlite3_get_autocommit(connection->handle) != 0;
}

void sqlite_tx_rollback(struct connection *connection) {
    if (!sqlite_tx_gave_up(connection))
        sqlite_tx_control(connection, "ROLLBACK", NULL);
}

static _Thread_local bool inside_body;

bool sqlite_tx_inside(void) {
    return inside_body;
}

int sqlite_tx_run(struct sqlite_tx *tx, db_body *body, void *arg, struct error *err) {
    int result;

    assert(!inside_body);
    inside_body = true;
    result = body(&tx->base, arg, err);
    inside_body = false;
    assert(tx->connection->statements->open == 0);
    return result;
}

/* SQLite counts the steps of its virtual machine and calls back at intervals; a row of a list takes
 * about a hundred. */
#define TICK_STEPS  1000
#define BRIEF_TICKS 10

static int brief_tick(void *arg) {
    struct sqlite_brief *brief = arg;

    brief->over |= ++brief->ticks >= BRIEF_TICKS;
    return brief->over;
}

/* The statements that open and close the transaction around it are never aborted. */
int sqlite_tx_briefly(struct db_tx *base, void *arg, struct error *err) {
    struct sqlite_tx *tx = (struct sqlite_tx *)base; /* its first member */
    struct sqlite_brief *brief = arg;
    int result;

    assert(!((struct sqlite_brief *)arg)->over);
    sqlite3_progress_handler(tx->connection->handle, TICK_STEPS, brief_tick, brief);
    result = brief->body(base, brief->arg, err);
    sqlite3_progress_handler(tx->connection->handle, 0, NULL, NULL);
    return result;
}

void sqlite_tx_release(struct connection *connection) {
    if (connection->snapshot.kept)
        sqlite_tx_rollback(connection);
    connection->snapshot.kept = false;
}

int sqlite_tx_read(struct connection *connection, db_body *body, void *arg, struct error *err) {
    struct sqlite_tx tx = { .base = { .engine = &sqlite_engine }, .connection = connection };
    struct snapshot *snapshot = &connection->snapshot;
    int result;

    assert(!inside_body);
    if (!snapshot_is_newest(snapshot)) {
        sqlite_tx_release(connection);
        snapshot_begin(snapshot);
        if (sqlite_tx_control(connection, "BEGIN", err) < 0)
            return -1;
    }
    result = sqlite_tx_run(&tx, body, arg, err);
    snapshot->kept = snapshot_may_stay(snapshot) && result >= 0 && !sqlite_tx_gave_up(connection);
    /* nothing was written: any end is fine */
    if (!snapshot->kept)
        sqlite_tx_rollback(connection);
    return result;
}
