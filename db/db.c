#include "db/db.h"

#include "db/migrate.h"
#include "db/reset.h"
#include "db/sqlite.h"
#include "db/writer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct db {
    char *path; /* "": in memory */
    struct writer *writer;
    pthread_key_t reader_key; /* the calling thread's connection */

    pthread_mutex_t lock; /* guards the list */
    struct connection *readers;
};

static void readers_add(struct db *db, struct connection *reader) {
    reader->db = db;
    pthread_mutex_lock(&db->lock);
    reader->next = db->readers;
    if (reader->next)
        reader->next->previous = reader;
    db->readers = reader;
    pthread_mutex_unlock(&db->lock);
}

/* Called when a thread that has read ends. */
static void reader_end(void *object) {
    struct connection *reader = object;
    struct db *db = reader->db;

    pthread_mutex_lock(&db->lock);
    if (reader->previous)
        reader->previous->next = reader->next;
    else
        db->readers = reader->next;
    if (reader->next)
        reader->next->previous = reader->previous;
    pthread_mutex_unlock(&db->lock);
    sqlite_close(reader);
}

static struct connection *reader_of_thread(struct db *db, struct error *err) {
    struct connection *reader = pthread_getspecific(db->reader_key);

    if (reader)
        return reader;
    if (sqlite_open(db->path, false, &reader, err) < 0)
        return NULL;
    if (pthread_setspecific(db->reader_key, reader) != 0)
        abort();
    readers_add(db, reader);
    return reader;
}

static int schema_body(struct db_tx *tx, void *arg, struct error *err) {
    (void)arg;
    return migrate_run(tx, sqlite_serial_words, err);
}

static struct db *db_new(const char *path, struct connection *connection, unsigned group_most) {
    struct db *db = calloc(1, sizeof(*db));

    if (!db || !(db->path = strdup(path)) || pthread_key_create(&db->reader_key, reader_end) != 0)
        abort();
    pthread_mutex_init(&db->lock, NULL);
    db->writer = writer_new(connection, group_most);
    return db;
}

int db_open(const struct db_settings *settings, struct db **ret, struct error *err) {
    struct connection *connection;
    const char *path;
    struct db *db;

    if (sqlite_path(settings->url, &path, err) < 0 || sqlite_open(path, true, &connection, err) < 0)
        return -1;
    db = db_new(path, connection, settings->group_most);
    if (writer_transaction(db->writer, schema_body, NULL, err) < 0) {
        db_close(db);
        return error_context(err, "database %s", *path ? path : "in memory");
    }
    statement_forget_all(&connection->statements);
    if (!settings->inline_writes)
        writer_start(db->writer);
    *ret = db;
    return 0;
}

void db_close(struct db *db) {
    struct connection *next;

    if (!db)
        return;
    pthread_key_delete(db->reader_key);
    for (struct connection *reader = db->readers; reader; reader = next) {
        next = reader->next;
        sqlite_close(reader);
    }
    /* The last connection to go brings the WAL into the file. */
    writer_stop(db->writer);
    pthread_mutex_destroy(&db->lock);
    free(db->path);
    free(db);
}

int db_transaction(struct db *db, db_body *body, void *arg, struct error *err) {
    return writer_transaction(db->writer, body, arg, err);
}

int db_read(struct db *db, db_body *body, void *arg, struct error *err) {
    struct connection *reader;

    if (*db->path == '\0')
        return writer_read(db->writer, body, arg, err);
    reader = reader_of_thread(db, err);
    return reader ? sqlite_read(reader, body, arg, err) : -1;
}

void db_submit(struct db *db, struct db_job *job) {
    writer_submit(db->writer, job);
}

void db_on_outbox(struct db *db, void (*hook)(void *arg), void *arg) {
    writer_on_outbox(db->writer, hook, arg);
}

void db_tx_wrote_outbox(struct db_tx *tx) {
    tx->wrote_outbox = true;
}

int db_reset_from(struct db *db, struct db *pristine, struct error *err) {
    return reset_rows(writer_connection(db->writer), writer_connection(pristine->writer), err);
}

void db_set_fault(struct db *db, db_fault *fault, void *arg) {
    writer_set_fault(db->writer, fault, arg);
}

char *db_copy(const struct db_rows *rows, unsigned column, struct arena *arena) {
    return arena_text(arena, db_text(rows, column));
}

int db_query_int_values(struct db_tx *tx, int64_t *ret, struct error *err, const char *sql,
                        const struct db_value *values, size_t count) {
    autorows struct db_rows *rows = db_query_values(tx, err, sql, values, count);
    int more = rows ? db_next(rows, err) : -1;

    if (more <= 0)
        return more;
    if (db_is_null(rows, 0))
        return 0;
    *ret = db_int(rows, 0);
    return 1;
}

char *db_places(struct arena *arena, unsigned first, unsigned count) {
    enum { PLACE_SIZE = 12 }; /* "$4294967295," */
    char *text = arena_alloc(arena, (size_t)count * PLACE_SIZE + 1);
    char *at = text;

    for (unsigned i = 0; i < count; i++)
        at += sprintf(at, "%s$%u", i ? "," : "", first + i);
    return text;
}
