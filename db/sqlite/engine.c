#include "common/assert.h"
#include "common/heap.h"
#include "common/thread.h"
#include "common/ticker.h"
#include "db/clock.h"
#include "db/migrate.h"
#include "db/reset.h"
#include "db/sqlite/backup.h"
#include "db/sqlite/reserve.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/statement.h"
#include "db/sqlite/writer.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct sqlite_db {
    struct db base;
    char *path;            /* "": in memory */
    struct writer *writer; /* NULL: read-only */
    bool untouched;        /* read-only: and no file beside it changes */

    pthread_mutex_t lock;       /* guards the members below */
    struct connection *readers; /* those that no thread uses */
    struct ticker *releaser;    /* of snapshots; NULL: none was kept yet */
    bool releasing;             /* it looks at the readers in RELEASE_MS */
};

/* A snapshot is kept for as long after its last use, twice at most. */
enum { RELEASE_MS = 10, REST_MS = 3600000 };

static struct sqlite_db *sqlite_db(struct db *db) {
    return (struct sqlite_db *)db; /* its first member */
}

static struct connection *reader_open(const struct sqlite_db *db, struct error *err) {
    const struct connection *writer = db->writer ? writer_connection(db->writer) : NULL;
    const enum sqlite_use use = writer          ? SQLITE_READER
                                : db->untouched ? SQLITE_UNTOUCHED
                                                : SQLITE_LOOKER;
    struct connection *reader;

    if ((writer && sqlite_check_place(writer, err) < 0) ||
        sqlite_open(db->path, use, &reader, err) < 0)
        return NULL;
    if (!writer)
        return reader;
    if (sqlite_is_same_file(reader, writer)) {
        snapshot_setup(&reader->snapshot, reader->handle);
        return reader;
    }
    reader->leaves_log = true;
    sqlite_close(reader);
    error_set(err, ERROR_UNAVAILABLE, "%s is not the open database any more.", db->path);
    return NULL;
}

/* The one used last is taken first: with few readers at once few connections have the schema, and
 * warm caches. */
static struct connection *reader_take(struct sqlite_db *db, struct error *err) {
    struct connection *reader;

    pthread_mutex_lock(&db->lock);
    reader = db->readers;
    if (reader)
        db->readers = reader->next;
    pthread_mutex_unlock(&db->lock);
    if (!reader)
        reader = reader_open(db, err);
    if (reader)
        sqlite_map_use(&reader->map);
    return reader;
}

static int64_t release_snapshots(void *arg) {
    struct sqlite_db *db = arg;
    int64_t until_us = clock_monotonic_us() - RELEASE_MS * 1000;
    bool any = false;

    scoped_lock(&db->lock);
    for (struct connection *reader = db->readers; reader; reader = reader->next) {
        if (reader->snapshot.kept && reader->snapshot.used_us <= until_us) {
            sqlite_map_use(&reader->map);
            sqlite_tx_release(reader);
            sqlite_map_use(NULL);
        }
        any |= reader->snapshot.kept;
    }
    db->releasing = any;
    return any ? RELEASE_MS : REST_MS;
}

/* The lock is held. */
static void release_later(struct sqlite_db *db) {
    if (db->releaser && !db->releasing)
        ticker_wake(db->releaser);
    else if (!db->releaser)
        db->releaser = ticker_start("db-snapshots", release_snapshots, db);
    db->releasing = true;
}

static void reader_put(struct sqlite_db *db, struct connection *reader) {
    sqlite_map_use(NULL);
    scoped_lock(&db->lock);
    reader->next = db->readers;
    db->readers = reader;
    if (reader->snapshot.kept)
        release_later(db);
}

static int copy_before(void *arg, struct arena *arena, int64_t number, const char **ret,
                       struct error *err) {
    const struct sqlite_db *db = arg;

    return sqlite_backup(db->path, number, arena, ret, err);
}

static int schema_body(struct db_tx *tx, void *arg, struct error *err) {
    struct sqlite_db *db = arg;
    const struct migrate_settings settings = { .serial_words = sqlite_engine.serial_words,
                                               .copy = *db->path ? copy_before : NULL,
                                               .arg = db };
    int64_t ahead_us;

    if (migrate_run(tx, &settings, err) < 0 ||
        clock_of_boot(tx, db->base.local, &ahead_us, err) < 0)
        return -1;
    atomic_store(&db->base.ahead_us, ahead_us);
    return 0;
}

static int check_body(struct db_tx *tx, void *arg, struct error *err) {
    struct sqlite_db *db = arg;
    int64_t ahead_us;

    if (migrate_check(tx, err) < 0 || clock_read(tx, db->base.local, &ahead_us, err) < 0)
        return -1;
    atomic_store(&db->base.ahead_us, ahead_us);
    return 0;
}

static struct sqlite_db *db_new(const char *path, const struct clock *local) {
    struct sqlite_db *db = heap_new(sizeof(*db));

    db->path = heap_text(path);
    db->base.engine = &sqlite_engine;
    db->base.local = local ? local : &clock_system;
    pthread_mutex_init(&db->lock, NULL);
    return db;
}

static void engine_close(struct db *base) {
    struct sqlite_db *db = sqlite_db(base);
    struct connection *next;

    if (db->releaser)
        ticker_stop(db->releaser);
    for (struct connection *reader = db->readers; reader; reader = next) {
        next = reader->next;
        sqlite_close(reader);
    }
    /* the last connection checkpoints the WAL */
    if (db->writer)
        writer_stop(db->writer);
    pthread_mutex_destroy(&db->lock);
    free(db->path);
    free(db);
}

/* A tool creates nothing, not even an empty file. */
static int check_there(const char *path, struct error *err) {
    if (!*path)
        return error_set(err, ERROR_NOT_FOUND, "There is no database in memory.");
    if (access(path, F_OK) == 0)
        return 0;
    return errno == ENOENT || errno == ENOTDIR
               ? error_set(err, ERROR_NOT_FOUND, "There is no database %s.", path)
               : error_errno(err, ERROR_UNAVAILABLE, "database %s", path);
}

/* Reads the schema and leaves every file as it is. */
static int check_untouched(const char *path, db_body *body, struct error *err) {
    struct connection *connection;
    int result;

    if (sqlite_open(path, SQLITE_UNTOUCHED, &connection, err) < 0)
        return -1;
    result = sqlite_tx_read(connection, body, NULL, err);
    sqlite_close(connection);
    return result < 0 ? error_context(err, "database %s", path) : 0;
}

/* Refuses a file that is another program's, or of another release. */
static int schema_of_own_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    return migrate_check(tx, err);
}

static int open_to_read(const struct db_settings *settings, const char *path, enum db_access access,
                        struct db **ret, struct error *err) {
    struct sqlite_db *db;

    if (access == DB_READS && check_untouched(path, schema_of_own_body, err) < 0)
        return -1;
    db = db_new(path, settings->clock);
    db->untouched = access == DB_LOOKS;
    if (access == DB_READS) {
        struct connection *reader = reader_take(db, err);

        if (!reader) { /* the error has its context */
            engine_close(&db->base);
            return -1;
        }
        reader_put(db, reader);
        if (db_read(&db->base, check_body, db, err) < 0) {
            engine_close(&db->base);
            return error_context(err, "database %s", path);
        }
    }
    *ret = &db->base;
    return 0;
}

/* A connection that writes changes the file already when it is opened. */
static int check_to_change(const struct db_settings *settings, const char *path,
                           struct error *err) {
    struct db *db;

    if (open_to_read(settings, path, DB_READS, &db, err) < 0)
        return -1;
    engine_close(db);
    return 0;
}

static int refuse_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    return migrate_refuse(tx, err);
}

/* The same for a file that may be another program's, as it has no reserve.  Reading it so needs no
 * space. */
static int check_to_serve(const char *path, struct error *err) {
    struct stat found;

    if (!*path || sqlite_reserve_exists(path) || stat(path, &found) < 0 || found.st_size == 0)
        return 0;
    return check_untouched(path, refuse_body, err);
}

static int engine_open(const struct db_settings *settings, struct db **ret, struct error *err) {
    struct connection *connection;
    const char *path;
    struct sqlite_db *db;

    if (sqlite_path(settings->url, &path, err) < 0)
        return -1;
    if (settings->access != DB_SERVES && check_there(path, err) < 0)
        return -1;
    if (settings->access >= DB_READS)
        return open_to_read(settings, path, settings->access, ret, err);
    if ((settings->access == DB_CHANGES ? check_to_change(settings, path, err)
                                        : check_to_serve(path, err)) < 0)
        return -1;
    if (sqlite_open(path, SQLITE_WRITER, &connection, err) < 0)
        return -1;
    db = db_new(path, settings->clock);
    db->writer = writer_new(connection, settings->group_most);
    /* The next durable commit flushes the schema, too, and nothing outlives a power failure without
     * it. */
    if (db_transaction_unsynced(&db->base, settings->access == DB_SERVES ? schema_body : check_body,
                                db, err) < 0) {
        engine_close(&db->base);
        return error_context(err, "database %s", *path ? path : "in memory");
    }
    statement_forget_all(connection->statements);
    sqlite3_db_release_memory(connection->handle); /* every page of a new schema */
    if (!settings->inline_writes)
        writer_start(db->writer);
    *ret = &db->base;
    return 0;
}

static int engine_read(struct db *base, db_body *body, void *arg, struct error *err) {
    struct sqlite_db *db = sqlite_db(base);
    struct connection *reader;
    int result;

    if (*db->path == '\0')
        return writer_read(db->writer, body, arg, err);
    reader = reader_take(db, err);
    if (!reader)
        return -1;
    result = sqlite_tx_read(reader, body, arg, err);
    if (!reader->map.lost) {
        reader_put(db, reader);
        return result;
    }
    sqlite_close(reader);
    return error_set(err, ERROR_UNAVAILABLE,
                     "The disk of the database fails: a part of the file cannot be read");
}

static int engine_read_briefly(struct db *db, db_body *body, void *arg, bool *ret_over,
                               struct error *err) {
    struct sqlite_brief brief = { .body = body, .arg = arg };
    int result = engine_read(db, sqlite_tx_briefly, &brief, err);

    *ret_over = brief.over;
    return result;
}

static void engine_submit(struct db *db, struct db_job *job) {
    struct error err = { .kind = ERROR_NONE };

    if (sqlite_db(db)->writer)
        writer_submit(sqlite_db(db)->writer, job);
    else
        job->done(job, error_set(&err, ERROR_INTERNAL, "The database was opened read-only."), &err);
}

/* Commits of this process only: processes that share a file poll it. */
static void engine_on_event(struct db *db, enum db_event event, void (*hook)(void *arg),
                            void *arg) {
    if (sqlite_db(db)->writer)
        writer_on_event(sqlite_db(db)->writer, event, hook, arg);
}

static void engine_tell(struct db *db, enum db_event event) {
    (void)db;
    (void)event;
}

/* Of this machine: there is no server. */
static int64_t engine_now_us(struct db *db) {
    return clock_now_us(db->local);
}

static int engine_reset_from(struct db *db, struct db *pristine, struct error *err) {
    struct connection *connection = writer_connection(sqlite_db(db)->writer);
    struct sqlite_tx to = { .base = { .engine = &sqlite_engine, .writes = true },
                            .connection = connection };
    struct sqlite_tx from = { .base = { .engine = &sqlite_engine },
                              .connection = writer_connection(sqlite_db(pristine)->writer) };

    assert(db != pristine);
    if (sqlite_tx_control(connection, "BEGIN IMMEDIATE", err) < 0)
        return -1;
    if (rows_replace(&to.base, &from.base, err) < 0 ||
        sqlite_tx_control(connection, "COMMIT", err) < 0) {
        sqlite_tx_rollback(connection);
        return -1;
    }
    return 0;
}

static void engine_set_fault(struct db *db, db_fault *fault, void *arg) {
    writer_set_fault(sqlite_db(db)->writer, fault, arg);
}

/* Automatic in SQLite. */
static int engine_serial_go_on(struct db_tx *tx, const char *table, struct error *err) {
    (void)tx;
    (void)table;
    (void)err;
    return 0;
}

static int engine_check_space(struct db_tx *tx, struct error *err) {
    return sqlite_check_space(((struct sqlite_tx *)tx)->connection, err);
}

static const char *const schemes[] = { "sqlite", NULL };

const struct db_engine sqlite_engine = {
    .schemes = schemes,
    .has_sequels = true,
    .serial_words = SQLITE_SERIAL_WORDS,
    .tables_sql = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid",
    .serial_go_on = engine_serial_go_on,
    .open = engine_open,
    .alone = sqlite_is_unused,
    .close = engine_close,
    .read = engine_read,
    .read_briefly = engine_read_briefly,
    .submit = engine_submit,
    .on_event = engine_on_event,
    .tell = engine_tell,
    .now_us = engine_now_us,
    .reset_from = engine_reset_from,
    .set_fault = engine_set_fault,
    .check_space = engine_check_space,
    .run = statement_run,
    .query = statement_query,
    .next = statement_next,
    .rows_end = statement_end,
    .columns = statement_columns,
    .type = statement_type,
    .text = statement_text,
    .integer = statement_integer,
    .real = statement_real,
};
