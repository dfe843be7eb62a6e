/*
 * The database: one interface for both engines.
 *
 * Each change of rows is a body run in ONE transaction; a body may run again, after a serialization
 * failure or with its group, so it has no effect outside the database and the memory of its arena.
 * A body that returns -1 is rolled back; any other result commits and is returned to the caller.
 *
 * SQLite: one writer thread takes the queued bodies in groups, and commits each group with one
 * flush; readers run beside it, each with a connection of its own.
 *
 * On both engines the projects with queued bodies take turns (db/job_queue.h).
 *
 * PostgreSQL: see postgresql.h.  While the server is unreachable calls fail with ERROR_UNAVAILABLE.
 * A commit whose response was lost is neither repeated blindly nor reported as failed:
 * postgresql/commit.h.
 *
 * SQL is one text for both engines: parameters are $1, $2, …; BIGINT for instants (µs) and sizes;
 * booleans are 0/1 integers; only features of both engines.
 */
#pragma once

#include "common/arena.h"
#include "common/clock.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;
struct db_tx; /* an open transaction; valid only inside its body */

typedef int db_body(struct db_tx *tx, void *arg, struct error *err);

/* How a program uses a database. */
enum db_access {
    DB_SERVES,  /* creates a missing database, and migrates its schema */
    DB_CHANGES, /* changes rows only; the schema must be the one of this program */
    DB_READS,   /* read-only; the schema must be the one of this program */
    DB_LOOKS,   /* read-only; the schema may have any number, or be missing */
};

struct db_settings {
    const char *url;    /* "sqlite:///absolute/path", "sqlite://" (in memory), or "postgresql://…"
                          * with libpq's parameters */
    bool inline_writes; /* no writer thread: bodies run in the caller's thread (tests, tools) */
    unsigned group_most; /* most bodies in one commit; 0: 64 */
    enum db_access access;
    const struct clock *clock; /* this machine's; NULL: clock_system */
    unsigned pool_most;        /* PostgreSQL: most reading connections; 0: 10 */
    unsigned pool_wait_ms;     /* PostgreSQL: longest wait for one of them; 0: 30 s */
};

/* Opens or creates the database (a PostgreSQL one must exist) and migrates its schema to the newest
 * (see migrate.h); with another access a missing one is refused.  A file that is not a database, or
 * is corrupt, read-only or newer than the program is refused with its path; a server with its host
 * and database, never with a password. */
int db_open(const struct db_settings *settings, struct db **ret, struct error *err);
/* Is this SQLite file unused by other programs?  ERROR_CONFLICT if not.  Writes nothing.  Not while
 * it is open here. */
int db_is_unused(const char *url, struct error *err);
void db_close(struct db *db); /* finishes queued bodies; NULL is fine */

/* Runs `body` in a write transaction and waits until it is durable. Thread-safe. */
int db_transaction(struct db *db, db_body *body, void *arg, struct error *err);

/*
 * As db_transaction(), for a change that need not survive a power failure: one that records the
 * current work of a process, or avoids repeating finished work.  On SQLite it does not wait for the
 * disk: only a power failure can undo it, together with every later commit.  A PostgreSQL server
 * can crash alone, so there it is as durable as any.
 */
int db_transaction_unsynced(struct db *db, db_body *body, void *arg, struct error *err);

/* Runs `body` on a consistent snapshot in the calling thread; it must not write.  Thread-safe. */
int db_read(struct db *db, db_body *body, void *arg, struct error *err);

/*
 * As db_read(), for a body with an unknown cost: it is aborted when it exceeds a small budget,
 * *ret_over is set and its results are void.  An engine that cannot abort does not start it.
 */
int db_read_briefly(struct db *db, db_body *body, void *arg, bool *ret_over, struct error *err);

/*
 * As db_transaction() without waiting: `done` is called with the result, from the writer's thread,
 * after the commit, and must be quick.  The job is the caller's memory until `done` is called.
 */
struct db_job {
    db_body *body;
    void (*done)(struct db_job *job, int result, struct error *err);
    void *arg;
    const char *group; /* jobs of different groups take turns; NULL: the service's own */
    bool unsynced;     /* as by db_transaction_unsynced() */
    bool awaited;      /* a thread waits for the result */
    /* the queue's */
    struct db_job *next, *next_group, *group_last;
};
void db_submit(struct db *db, struct db_job *job);

/*
 * Notifications between processes.  The hook is called from a thread of the database; at most one
 * for an event, NULL removes it.  It must be quick and must not call back; the previous one no
 * longer runs when this returns.  On PostgreSQL events of other processes are included; one may be
 * lost with a connection, so its receivers also poll at intervals.
 */
enum db_event {
    DB_OUTBOX, /* after each commit that wrote the outbox (db_tx_notifies), of this process, too */
    DB_DOCUMENTS, /* the same for commits that changed documents */
    DB_ENDED,     /* another process called db_notify(): operations have ended */
    DB_EVENTS
};
void db_on_event(struct db *db, enum db_event event, void (*hook)(void *arg), void *arg);
void db_notify(struct db *db, enum db_event event); /* notifies the other processes; does not
                                                          * wait */
void db_tx_notifies(struct db_tx *tx, enum db_event event); /* at the commit */

/*
 * The continuation of a body behind its commit, in this process.  `run` is called once, from a
 * thread of the database, must be quick and must not call back: with true once the body's result
 * was reported, or with false when the body or its commit has failed, or runs again.  The memory is
 * the caller's until then.
 */
struct db_sequel {
    void (*run)(struct db_sequel *sequel, bool committed);
    struct db_sequel *before; /* the transaction's */
};
bool db_has_sequels(struct db *db); /* false: the engine has none */
/* Several run in their order. */
void db_tx_continues(struct db_tx *tx, struct db_sequel *sequel);

/*
 * `shared` is the database's clock (db/clock.h), common to all processes and never going back;
 * `now` is the wall clock of the server, with SQLite of this machine; `steady` and randomness are
 * local to the process.  Lives as long as `db`.
 */
const struct clock *db_clock(struct db *db);
/* False for some seconds after the start when the server's clock may just have been set: rows of
 * other processes may then look older than they are, and no lease or deadline expires. */
bool db_clock_sure(struct db *db);

/*
 * For tests: resets a world in 0.1 ms (SQLite). Makes the rows of every table of `db` those of
 * `pristine`, which has the same schema; prepared statements stay.  Both are opened with
 * inline_writes, and idle.
 */
int db_reset_from(struct db *db, struct db *pristine, struct error *err);

/*
 * For tests: `fault` is called at "before_commit" (a non-zero return rolls back) and at
 * "after_commit" (a non-zero return fails the call although the change is committed, like a crash
 * of the server at that moment); it sets `err`. Set while idle; NULL removes it.  DB_FAULT_AGAIN at
 * "before_commit" is a serialization failure on PostgreSQL: the body runs again.
 */
enum { DB_FAULT_AGAIN = 2 };
typedef int db_fault(void *arg, const char *point, struct error *err);
void db_set_fault(struct db *db, db_fault *fault, void *arg);

/* ---- statements, inside a body ---- */

enum db_value_type { DB_VALUE_NULL, DB_VALUE_TEXT, DB_VALUE_INT, DB_VALUE_REAL };

struct db_value {
    enum db_value_type type;
    union {
        const char *text;
        int64_t integer;
        double real;
    };
};

static inline struct db_value db_text_value(const char *text) {
    return text ? (struct db_value){ .type = DB_VALUE_TEXT, .text = text } : (struct db_value){ 0 };
}
static inline struct db_value db_int_value(int64_t integer) {
    return (struct db_value){ .type = DB_VALUE_INT, .integer = integer };
}
#define DB_TEXT(value) db_text_value(value) /* NULL text is SQL NULL */
#define DB_INT(value)  db_int_value((int64_t)(value))
#define DB_BOOL(value) db_int_value((value) ? 1 : 0)
#define DB_NULL        ((struct db_value){ 0 })
/* An instant that may be unset: 0 is stored as NULL. */
#define DB_TIME(value) ((value) ? db_int_value(value) : DB_NULL)

/* clang-format off */
#define DB_VALUES(...) (const struct db_value[]){ { 0 }, ##__VA_ARGS__ }
#define DB_COUNT(...)  (sizeof(DB_VALUES(__VA_ARGS__)) / sizeof(struct db_value) - 1)
/* clang-format on */

/* Before a change that adds objects: ERROR_UNAVAILABLE when only deletes may still use the disk
 * space of the database. */
int db_check_space(struct db_tx *tx, struct error *err);

/* Runs a statement without rows.  Returns the number of rows changed, or -1 (ERROR_COLLISION for a
 * violated uniqueness or reference, ERROR_UNAVAILABLE for a full or failing disk, else
 * ERROR_INTERNAL). A failed statement leaves the transaction usable on SQLite only: return. */
#define db_run(tx, err, sql, ...) \
    db_run_values(tx, err, sql, DB_VALUES(__VA_ARGS__) + 1, DB_COUNT(__VA_ARGS__))
int db_run_values(struct db_tx *tx, struct error *err, const char *sql,
                  const struct db_value *values, size_t count);
/* The same where the number of rows does not matter: 0, or -1. */
#define db_change(tx, err, sql, ...) \
    db_change_values(tx, err, sql, DB_VALUES(__VA_ARGS__) + 1, DB_COUNT(__VA_ARGS__))
static inline int db_change_values(struct db_tx *tx, struct error *err, const char *sql,
                                   const struct db_value *values, size_t count) {
    return db_run_values(tx, err, sql, values, count) < 0 ? -1 : 0;
}

/*
 * Runs a query.  Rows are read one by one:
 *
 *     autorows struct db_rows *rows = db_query(tx, err, "SELECT id FROM volumes WHERE host = $1", DB_TEXT(host));
 *     if (!rows) return -1;
 *     while ((more = db_next(rows, err)) > 0) … db_text(rows, 0) …
 *     if (more < 0) return -1;
 *
 * Text of a column lives until the next db_next() or the end of the rows: copy what you keep.
 */
struct db_rows;
#define db_query(tx, err, sql, ...) \
    db_query_values(tx, err, sql, DB_VALUES(__VA_ARGS__) + 1, DB_COUNT(__VA_ARGS__))
struct db_rows *db_query_values(struct db_tx *tx, struct error *err, const char *sql,
                                const struct db_value *values, size_t count);
int db_next(struct db_rows *rows, struct error *err); /* 1 a row, 0 no more, -1 failed */
void db_rows_end(struct db_rows *rows);               /* NULL is fine */
static inline void cleanup_rows(struct db_rows **rows) {
    db_rows_end(*rows);
}
#define autorows __attribute__((cleanup(cleanup_rows)))

bool db_is_null(const struct db_rows *rows, unsigned column);
const char *db_text(const struct db_rows *rows, unsigned column); /* NULL for SQL NULL */
int64_t db_int(const struct db_rows *rows, unsigned column);      /* 0 for SQL NULL */
bool db_bool(const struct db_rows *rows, unsigned column);
unsigned db_columns(const struct db_rows *rows);
struct db_value db_value(const struct db_rows *rows, unsigned column); /* its text lives as above */
/* Copies into the arena; NULL for SQL NULL. */
char *db_copy(const struct db_rows *rows, unsigned column, struct arena *arena);

/* One integer of one row: 1 with *ret set, 0 when there is no row (or it is NULL), -1 failed. */
#define db_query_int(tx, ret, err, sql, ...) \
    db_query_int_values(tx, ret, err, sql, DB_VALUES(__VA_ARGS__) + 1, DB_COUNT(__VA_ARGS__))
/* Is there such a row?  1, 0 when there is none, or -1. */
#define db_query_any(tx, err, sql, ...) \
    db_query_int_values(tx, NULL, err, sql, DB_VALUES(__VA_ARGS__) + 1, DB_COUNT(__VA_ARGS__))
int db_query_int_values(struct db_tx *tx, int64_t *ret, struct error *err, const char *sql,
                        const struct db_value *values, size_t count);

/* "$first,$first+1,…" for `count` values: the inside of IN (…). Statement texts are cached, so
 * round `count` up to a power of two and repeat the last value. */
char *db_places(struct arena *arena, unsigned first, unsigned count);
