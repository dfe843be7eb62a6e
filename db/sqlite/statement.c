#include "db/sqlite/statement.h"

#include "common/assert.h"
#include "common/heap.h"
#include "common/words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The hash of a long text costs as much as a small transaction, so two texts with addresses that
 * collide must not displace each other at each use. */
enum { HINTS_TRIED = 4 };

static struct sqlite_rows **hint_place(struct statement_cache *cache, const char *sql, unsigned i) {
    uint64_t address = (uintptr_t)sql;
    unsigned first = (unsigned)((address * 0x9e3779b97f4a7c15u) >> 56);

    return &cache->hints[(first + i) % STATEMENT_BUCKETS];
}
_Static_assert(STATEMENT_BUCKETS == 256, "hint_place() uses eight bits");

static struct sqlite_rows *hint_find(struct statement_cache *cache, const char *sql) {
    for (unsigned i = 0; i < HINTS_TRIED; i++) {
        struct sqlite_rows *rows = *hint_place(cache, sql, i);

        if (rows && rows->sql && strcmp(rows->sql, sql) == 0)
            return rows;
    }
    return NULL;
}

/* In a free place, or that of the statement used least recently. */
static void hint_put(struct statement_cache *cache, const char *sql, struct sqlite_rows *rows) {
    struct sqlite_rows **oldest = hint_place(cache, sql, 0);

    for (unsigned i = 0; i < HINTS_TRIED && *oldest; i++) {
        struct sqlite_rows **place = hint_place(cache, sql, i);

        if (!*place || cache->tick - (*place)->used > cache->tick - (*oldest)->used)
            oldest = place;
    }
    *oldest = rows;
}

/* SQLite numbers a parameter "$2" by its position, "?2" by its number, as PostgreSQL does. */
static char *places_numbered(const char *sql) {
    char *text = heap_text(sql);
    char quote = '\0';

    for (char *at = text; *at; at++) {
        if (quote)
            quote = *at == quote ? '\0' : quote;
        else if (*at == '\'' || *at == '"')
            quote = *at;
        else if (*at == '$' && isdigit((unsigned char)at[1]))
            *at = '?';
    }
    return text;
}

static sqlite3_stmt *statement_prepare(struct connection *connection, const char *sql,
                                       struct error *err) {
    sqlite3_stmt *statement = NULL;
    char *text = places_numbered(sql);
    int rc = sqlite3_prepare_v3(connection->handle, text, -1, SQLITE_PREPARE_PERSISTENT, &statement,
                                NULL);

    free(text);
    if (rc != SQLITE_OK) {
        connection_error(connection, err);
        return NULL;
    }
    assert(statement); /* an empty text is a bug */
    return statement;
}

static void statement_drop(struct sqlite_rows *rows) {
    assert(!rows->busy);
    sqlite3_finalize(rows->statement);
    free(rows->sql);
    *rows = (struct sqlite_rows){ .sql = NULL };
}

/* A free entry for another statement; NULL when all are busy. */
static struct sqlite_rows *statement_room(struct statement_cache *cache) {
    struct sqlite_rows *oldest = NULL, **place;

    assert(cache->count <= STATEMENTS_MOST);
    if (cache->count < STATEMENTS_MOST)
        return &cache->kept[cache->count++];
    for (struct sqlite_rows *rows = cache->kept; rows < cache->kept + STATEMENTS_MOST; rows++)
        if (!rows->busy && (!oldest || cache->tick - rows->used > cache->tick - oldest->used))
            oldest = rows;
    if (oldest && oldest->statement) {
        place = &cache->buckets[oldest->hash % STATEMENT_BUCKETS];
        while (*place != oldest)
            place = &(*place)->next;
        *place = oldest->next;
        statement_drop(oldest);
    }
    return oldest;
}

static struct sqlite_rows *statement_find(struct statement_cache *cache, const char *sql,
                                          uint32_t *ret_hash) {
    struct sqlite_rows *rows = hint_find(cache, sql);

    if (rows)
        return rows;
    *ret_hash = word_hash(sql);
    rows = cache->buckets[*ret_hash % STATEMENT_BUCKETS];
    while (rows && (rows->hash != *ret_hash || strcmp(rows->sql, sql) != 0))
        rows = rows->next;
    if (rows)
        hint_put(cache, sql, rows);
    return rows;
}

static struct sqlite_rows *statement_keep(struct statement_cache *cache, const char *sql,
                                          uint32_t hash, sqlite3_stmt *statement) {
    struct sqlite_rows *rows = statement_room(cache);

    if (!rows)
        return NULL;
    rows->statement = statement;
    rows->hash = hash;
    rows->sql = heap_text(sql);
    rows->next = cache->buckets[hash % STATEMENT_BUCKETS];
    cache->buckets[hash % STATEMENT_BUCKETS] = rows;
    hint_put(cache, sql, rows);
    return rows;
}

static struct sqlite_rows *statement_take(struct connection *connection, const char *sql,
                                          struct error *err) {
    struct statement_cache *cache = connection->statements;
    uint32_t hash = 0;
    struct sqlite_rows *found = statement_find(cache, sql, &hash);
    struct sqlite_rows *rows = found;

    if (!rows || rows->busy) {
        sqlite3_stmt *statement = statement_prepare(connection, sql, err);

        if (!statement)
            return NULL;
        rows = found ? NULL : statement_keep(cache, sql, hash, statement);
        if (!rows) {
            /* the cached statement is busy, as in a query inside the rows of the same query */
            rows = heap_new(sizeof(*rows));
            rows->statement = statement;
        }
    }
    assert(!rows->busy);
    rows->base.engine = &sqlite_engine;
    rows->connection = connection;
    rows->busy = true;
    rows->used = ++cache->tick;
    cache->open++;
    return rows;
}

struct statement_cache *statement_cache_new(void) {
    struct statement_cache *cache = heap_new(sizeof(*cache));

    return cache;
}

void statement_forget_all(struct statement_cache *cache) {
    assert(cache->open == 0);
    for (unsigned i = 0; i < cache->count; i++)
        statement_drop(&cache->kept[i]);
    memset(cache, 0, sizeof(*cache));
}

void statement_cache_free(struct statement_cache *cache) {
    statement_forget_all(cache);
    free(cache);
}

static int value_bind(sqlite3_stmt *statement, int place, const struct db_value *value,
                      sqlite3_destructor_type lifetime) {
    assert(place > 0);
    switch (value->type) {
    case DB_VALUE_TEXT:
        return sqlite3_bind_text(statement, place, value->text, -1, lifetime);
    case DB_VALUE_INT:
        return sqlite3_bind_int64(statement, place, value->integer);
    case DB_VALUE_REAL:
        return sqlite3_bind_double(statement, place, value->real);
    case DB_VALUE_NULL:
        break;
    }
    return sqlite3_bind_null(statement, place);
}

static struct sqlite_rows *sqlite_rows(const struct db_rows *rows) {
    return (struct sqlite_rows *)(uintptr_t)rows; /* its first member */
}

int statement_next(struct db_rows *base, struct error *err) {
    const struct sqlite_rows *rows = sqlite_rows(base);

    assert(rows->busy);
    switch (sqlite3_step(rows->statement)) {
    case SQLITE_ROW:
        return 1;
    case SQLITE_DONE:
        return 0;
    default:
        return connection_error(rows->connection, err);
    }
}

void statement_end(struct db_rows *base) {
    struct sqlite_rows *rows = sqlite_rows(base);

    assert(rows->busy && rows->connection->statements->open > 0);
    rows->connection->statements->open--;
    if (!rows->sql) {
        sqlite3_finalize(rows->statement);
        free(rows);
        return;
    }
    sqlite3_reset(rows->statement);
    sqlite3_clear_bindings(rows->statement);
    rows->busy = false;
}

static struct sqlite_rows *statement_start(struct db_tx *base, struct error *err, const char *sql,
                                           const struct db_value *values, size_t count,
                                           sqlite3_destructor_type lifetime) {
    struct sqlite_tx *tx = (struct sqlite_tx *)base; /* its first member */
    struct sqlite_rows *rows = statement_take(tx->connection, sql, err);

    if (!rows)
        return NULL;
    assert((size_t)sqlite3_bind_parameter_count(rows->statement) == count);
    assert(base->writes || sqlite3_stmt_readonly(rows->statement));
    for (size_t i = 0; i < count; i++)
        if (value_bind(rows->statement, (int)i + 1, &values[i], lifetime) != SQLITE_OK) {
            connection_error(tx->connection, err);
            statement_end(&rows->base);
            return NULL;
        }
    return rows;
}

int statement_run(struct db_tx *tx, struct error *err, const char *sql,
                  const struct db_value *values, size_t count) {
    /* The caller's values outlive the statement's run, so they are not copied. */
    struct sqlite_rows *rows = statement_start(tx, err, sql, values, count, SQLITE_STATIC);
    sqlite3 *handle;
    int more;

    if (!rows)
        return -1;
    handle = rows->connection->handle;
    while ((more = statement_next(&rows->base, err)) > 0)
        ;
    statement_end(&rows->base);
    return more < 0 ? -1 : sqlite3_changes(handle);
}

struct db_rows *statement_query(struct db_tx *tx, struct error *err, const char *sql,
                                const struct db_value *values, size_t count) {
    struct sqlite_rows *rows = statement_start(tx, err, sql, values, count, SQLITE_TRANSIENT);

    return rows ? &rows->base : NULL;
}

unsigned statement_columns(const struct db_rows *rows) {
    return (unsigned)sqlite3_column_count(sqlite_rows(rows)->statement);
}

enum db_value_type statement_type(const struct db_rows *rows, unsigned column) {
    static const enum db_value_type types[] = {
        [SQLITE_NULL] = DB_VALUE_NULL,  [SQLITE_INTEGER] = DB_VALUE_INT,
        [SQLITE_FLOAT] = DB_VALUE_REAL, [SQLITE_TEXT] = DB_VALUE_TEXT,
        [SQLITE_BLOB] = DB_VALUE_TEXT,
    };

    return types[sqlite3_column_type(sqlite_rows(rows)->statement, (int)column)];
}

const char *statement_text(const struct db_rows *rows, unsigned column) {
    return (const char *)sqlite3_column_text(sqlite_rows(rows)->statement, (int)column);
}

int64_t statement_integer(const struct db_rows *rows, unsigned column) {
    return sqlite3_column_int64(sqlite_rows(rows)->statement, (int)column);
}

double statement_real(const struct db_rows *rows, unsigned column) {
    return sqlite3_column_double(sqlite_rows(rows)->statement, (int)column);
}
