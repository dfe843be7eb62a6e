/*
 * The snapshot of a connection that reads, kept for its next body while the database does not
 * change.  To begin and to end one takes two statements, and two system calls for a lock on the
 * index of the log, both under a mutex of all connections of the process.
 *
 * The index begins with two copies of a header (https://sqlite.org/walformat.html), and a commit of
 * any process changes both before it returns.  So a snapshot that was begun after they were read is
 * the newest one as long as they are the same: SQLite's own test when it begins one.
 *
 * A checkpoint spares what a snapshot may need, so one is kept only where none is to be expected:
 * nothing was committed or copied to the file for as long as the writer waits before its
 * checkpoint, and the connection is used all the time.  Its owner ends it (sqlite_tx_release())
 * soon after the last use.
 */
#pragma once

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Both copies, and the number of frames that were copied to the file. */
enum { SNAPSHOT_WORDS = 25 };

struct snapshot {
    const _Atomic uint32_t *index;   /* of the log, shared by processes; NULL: none is kept */
    uint32_t header[SNAPSHOT_WORDS]; /* as read before the transaction began */
    int64_t since_us; /* it has been the same, as far as this connection has read it */
    int64_t used_us;  /* the end of the last body */
    bool kept;        /* the transaction is open, and no body runs */
};

/* From now on it may be kept.  Of an open connection to a file in WAL mode. */
void snapshot_setup(struct snapshot *snapshot, sqlite3 *handle);

/* Is there a kept one, and no newer one? */
bool snapshot_is_newest(const struct snapshot *snapshot);

/* Before the transaction begins. */
void snapshot_begin(struct snapshot *snapshot);

/* After a body: may the transaction stay open? */
bool snapshot_may_stay(struct snapshot *snapshot);
