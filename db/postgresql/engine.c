#include "common/heap.h"
#include "db/migrate.h"
#include "db/postgresql/clock.h"
#include "db/postgresql/commit.h"
#include "db/postgresql/listener.h"
#include "db/postgresql/postgresql.h"
#include "db/postgresql/query.h"
#include "db/postgresql/transaction.h"
#include "db/postgresql/writer.h"
#include "db/reset.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "common/thread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION_LEAST = 130000, CONNECT_MS = 5000, STATEMENT_MS = 20000, INLINE_WRITERS = 4 };
enum { POOL_MOST = 10, POOL_WAIT_MS = 30000, GROUP_MOST = 64, WRITERS = 1 };

static struct postgresql_db *postgresql_db(struct db *db) {
    return (struct postgresql_db *)db; /* its first member */
}

/* ---- opening ---- */

static int check_version(const struct session *session, struct error *err) {
    int version = PQserverVersion(session->server.handle);

    if (version >= VERSION_LEAST)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST, "The server is PostgreSQL %d; at least %d is needed.",
                     version / 10000, VERSION_LEAST / 10000);
}

/* A database of a provider other than the C library does not use datcollate; the columns for that
 * came with later versions.  All built-in providers order by bytes. */
#define SELECT_ORDER                                                                          \
    "SELECT CASE to_jsonb(d) ->> 'datlocprovider' WHEN 'b' THEN 'C' WHEN 'i' THEN 'ICU ' || " \
    "COALESCE(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale', '') "              \
    "ELSE datcollate END FROM pg_database d WHERE datname = current_database()"

/* Names are compared and ordered byte by byte, as in SQLite. */
static int check_order(struct session *session, struct error *err) {
    static const char *const orders[] = { "C", "POSIX", "C.UTF-8", "C.utf8", "ucs_basic" };
    char order[64], encoding[32];

    if (session_text(session, "SHOW server_encoding", encoding, sizeof(encoding), err) < 0 ||
        session_text(session, SELECT_ORDER, order, sizeof(order), err) < 0)
        return -1;
    for (size_t i = 0; strcmp(encoding, "UTF8") == 0 && i < LENGTH(orders); i++)
        if (strcmp(orders[i], order) == 0)
            return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "The database has encoding %s and order %s; make it with CREATE DATABASE … "
                     "TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'.",
                     encoding, order);
}

static int check_writable(struct session *session, bool serves, struct error *err) {
    char standby[8], fsync[8];

    if (session_text(session, "SELECT pg_is_in_recovery()", standby, sizeof(standby), err) < 0 ||
        session_text(session, "SHOW fsync", fsync, sizeof(fsync), err) < 0)
        return -1;
    if (strcmp(standby, "t") == 0)
        return error_set(err, ERROR_UNAVAILABLE, "The server is a standby: it is read-only.");
    if (serves && strcmp(fsync, "on") != 0)
        log_warning(NULL,
                    "the database server runs with fsync = off: a crash of its host loses "
                    "what was answered",
                    NULL);
    return 0;
}

static int schema_body(struct db_tx *tx, void *arg, struct error *err) {
    const struct migrate_settings settings = { .serial_words = postgresql_engine.serial_words };
    int64_t unset = 0;

    (void)arg;
    if (db_run(tx, err, commit_table_sql) < 0 || migrate_run(tx, &settings, err) < 0 ||
        postgresql_clock_begin(tx, err) < 0)
        return -1;
    /* The row of an operation is updated a few times in its short life, in place if its page has
     * space.  Left alone when an operator has set a value. */
    if (db_query_int(tx, &unset, err,
                     "SELECT COUNT(*) FROM pg_class WHERE oid = CAST('operations' AS regclass) "
                     "AND reloptions IS NULL") < 0)
        return -1;
    return unset ? db_run(tx, err, "ALTER TABLE operations SET (fillfactor = 50)") : 0;
}

/* Processes that start together do this one after the other; users of another schema of the same
 * database do not wait for them. */
static int schema_update(struct session *session, struct error *err) {
    struct postgresql_tx tx = { .base = { .engine = &postgresql_engine, .writes = true },
                                .session = session };

    if (session_run(session,
                    "BEGIN ISOLATION LEVEL READ COMMITTED;"
                    "SELECT pg_advisory_xact_lock(hashtext('scoria schema'), "
                    "hashtext(current_schema()))",
                    err) < 0 ||
        session_body(&tx, schema_body, NULL, err) < 0)
        return -1;
    return session_run(session, "COMMIT", err);
}

static int check_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    return migrate_check(tx, err);
}

/* Leaves the database unchanged. */
static int schema_check(struct session *session, struct error *err) {
    struct postgresql_tx tx = { .base = { .engine = &postgresql_engine }, .session = session };
    int result;

    if (session_run(session, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", err) < 0)
        return -1;
    result = session_body(&tx, check_body, NULL, err);
    session_rollback(session);
    return result;
}

static int schema_prepare(struct postgresql_db *db, const struct db_settings *settings,
                          struct session *session, struct error *err) {
    switch (settings->access) {
    case DB_SERVES:
        return check_writable(session, !settings->inline_writes, err) < 0 ||
                       schema_update(session, err) < 0
                   ? -1
                   : postgresql_clock_measure(db, session, err);
    case DB_CHANGES:
        return check_writable(session, false, err) < 0 || schema_check(session, err) < 0
                   ? -1
                   : postgresql_clock_measure(db, session, err);
    case DB_READS:
        return schema_check(session, err) < 0 ? -1 : postgresql_clock_read(db, session, err);
    case DB_LOOKS:
        break;
    }
    return 0;
}

static int database_prepare(struct postgresql_db *db, const struct db_settings *settings,
                            struct error *err) {
    struct session *session;
    int result;

    if (session_open(&db->writers.settings, &session, err) < 0)
        return -1;
    result = check_version(session, err) < 0 || check_order(session, err) < 0 ||
                     schema_prepare(db, settings, session, err) < 0
                 ? error_context(err, "database %s", db->writers.settings.where)
                 : 0;
    session_close(session);
    return result;
}

/* ---- the engine ---- */

static void engine_close(struct db *base) {
    struct postgresql_db *db = postgresql_db(base);

    session_pool_refuse(&db->writers);
    if (db->writer)
        postgresql_writer_stop(db->writer);
    if (db->listener)
        listener_stop(db->listener);
    session_pool_end(&db->writers);
    session_pool_end(&db->readers);
    pthread_mutex_destroy(&db->hook_lock);
    free(db);
}

static int pools_init(const struct db_settings *settings, struct postgresql_db *db,
                      struct error *err) {
    unsigned most = settings->pool_most ? settings->pool_most : POOL_MOST;
    unsigned wait_ms = settings->pool_wait_ms ? settings->pool_wait_ms : POOL_WAIT_MS;
    struct session_settings reading, writing;

    if (session_settings_read(settings->url, &reading, err) < 0 ||
        session_settings_read(settings->url, &writing, err) < 0)
        return -1;
    reading.connect_ms = writing.connect_ms = CONNECT_MS;
    reading.statement_ms = writing.statement_ms = STATEMENT_MS;
    writing.writes = true;
    reading.read_only = writing.read_only = settings->access >= DB_READS;
    session_pool_init(&db->readers, &reading, most, wait_ms);
    session_pool_init(&db->writers, &writing, settings->inline_writes ? INLINE_WRITERS : WRITERS,
                      wait_ms);
    return 0;
}

static int engine_open(const struct db_settings *settings, struct db **ret, struct error *err) {
    struct postgresql_db *db = heap_new(sizeof(*db));

    db->base.engine = &postgresql_engine;
    db->base.local = settings->clock ? settings->clock : &clock_system;
    if (pools_init(settings, db, err) < 0) {
        free(db);
        return -1;
    }
    pthread_mutex_init(&db->hook_lock, NULL);
    if (database_prepare(db, settings, err) < 0) {
        engine_close(&db->base);
        return -1;
    }
    db->writer = postgresql_writer_new(db, settings->inline_writes ? 0 : WRITERS,
                                       settings->group_most ? settings->group_most : GROUP_MOST);
    if (!settings->inline_writes)
        db->listener = listener_start(db);
    *ret = &db->base;
    return 0;
}

static int engine_read(struct db *db, db_body *body, void *arg, struct error *err) {
    return transaction_read(postgresql_db(db), body, arg, err);
}

static void engine_submit(struct db *db, struct db_job *job) {
    postgresql_writer_submit(postgresql_db(db)->writer, job);
}

static void engine_on_event(struct db *base, enum db_event event, void (*hook)(void *arg),
                            void *arg) {
    struct postgresql_db *db = postgresql_db(base);

    scoped_lock(&db->hook_lock);
    db->hooks[event].run = hook;
    db->hooks[event].arg = arg;
}

static void engine_tell(struct db *base, enum db_event event) {
    struct postgresql_db *db = postgresql_db(base);

    if (db->listener)
        listener_tell(db->listener, event);
}

static int64_t engine_now_us(struct db *db) {
    return clock_steady_us(db->local) + atomic_load(&postgresql_db(db)->offset_us);
}

static void engine_set_fault(struct db *base, db_fault *fault, void *arg) {
    struct postgresql_db *db = postgresql_db(base);

    db->fault = fault;
    db->fault_arg = arg;
}

static int reset_rows(struct session *to, struct session *from, struct error *err) {
    struct postgresql_tx write = { .base = { .engine = &postgresql_engine, .writes = true },
                                   .session = to };
    struct postgresql_tx read = { .base = { .engine = &postgresql_engine }, .session = from };

    session_begin(to, "BEGIN");
    if (rows_replace(&write.base, &read.base, err) < 0 ||
        postgresql_engine.serial_go_on(&write.base, "outbox", err) < 0 ||
        session_run(to, "COMMIT", err) < 0) {
        session_rollback(to);
        return -1;
    }
    return 0;
}

static int engine_reset_from(struct db *base, struct db *pristine, struct error *err) {
    struct postgresql_db *db = postgresql_db(base);
    struct postgresql_db *source = postgresql_db(pristine);
    struct session *to, *from;
    int result;

    if (session_pool_take(&db->writers, &to, err) < 0)
        return -1;
    if (session_pool_take(&source->readers, &from, err) < 0) {
        session_pool_give(&db->writers, to);
        return -1;
    }
    result = reset_rows(to, from, err);
    session_pool_give(&db->writers, to);
    session_pool_give(&source->readers, from);
    return result;
}

static int engine_serial_go_on(struct db_tx *tx, const char *table, struct error *err) {
    autoarena struct arena *arena = arena_new();
    int64_t is_serial = 0, number;

    if (db_query_int(tx, &is_serial, err,
                     "SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = "
                     "current_schema() AND table_name = $1 AND is_identity = 'YES'",
                     DB_TEXT(table)) < 0)
        return -1;
    if (!is_serial)
        return 0;
    return db_query_int(tx, &number, err,
                        arena_format(arena,
                                     "SELECT setval(pg_get_serial_sequence('%s', 'id'), "
                                     "(SELECT COALESCE(MAX(id), 0) + 1 FROM %s), false)",
                                     table, table)) < 0
               ? -1
               : 0;
}

static const char *const schemes[] = { "postgresql", "postgres", "postgresql+psycopg2", NULL };

const struct db_engine postgresql_engine = {
    .schemes = schemes,
    .serial_words = "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
    /* Without those of extensions, as PostGIS' spatial_ref_sys is one. */
    .tables_sql = "SELECT relname FROM pg_class t WHERE relkind = 'r' AND relnamespace = "
                  "CAST(current_schema() AS regnamespace) AND relname <> 'commit_marks' AND NOT "
                  "EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = t.oid AND d.deptype = 'e' "
                  "AND d.classid = CAST('pg_class' AS regclass)) ORDER BY oid",
    .serial_go_on = engine_serial_go_on,
    .open = engine_open,
    .close = engine_close,
    .read = engine_read,
    .submit = engine_submit,
    .on_event = engine_on_event,
    .tell = engine_tell,
    .now_us = engine_now_us,
    .reset_from = engine_reset_from,
    .set_fault = engine_set_fault,
    .run = postgresql_query_run,
    .query = postgresql_query_begin,
    .next = postgresql_query_next,
    .rows_end = postgresql_query_end,
    .columns = postgresql_query_columns,
    .type = postgresql_query_type,
    .text = postgresql_query_text,
    .integer = postgresql_query_integer,
    .real = postgresql_query_real,
};
