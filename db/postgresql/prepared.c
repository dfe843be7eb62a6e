#include "db/postgresql/prepared.h"

#include "db/postgresql/answer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the catalog, where they never change. */
enum { OID_BOOL = 16, OID_INT8 = 20, OID_INT2 = 21, OID_INT4 = 23, OID_TEXT = 25 };
enum { OID_FLOAT4 = 700, OID_FLOAT8 = 701, OID_NUMERIC = 1700 };

static const Oid place_types[] = {
    [DB_VALUE_NULL] = 0,
    [DB_VALUE_TEXT] = OID_TEXT,
    [DB_VALUE_INT] = OID_INT8,
    [DB_VALUE_REAL] = OID_FLOAT8,
};

struct postgresql_rows {
    struct db_rows base;
    struct session *session;
    PGresult *result;
    int row;
};

static struct postgresql_rows *postgresql_rows(const struct db_rows *rows) {
    return (struct postgresql_rows *)(uintptr_t)rows; /* its first member */
}

static uint32_t text_hash(const char *text) {
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

static bool prepared_fits(const struct prepared *prepared, const struct db_value *values,
                          size_t count) {
    if (prepared->count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (values[i].type != DB_VALUE_NULL && prepared->types[i] != values[i].type)
            return false;
    return true;
}

static struct prepared *prepared_find(struct prepared_cache *cache, const char *sql, uint32_t hash,
                                      const struct db_value *values, size_t count) {
    struct prepared *prepared = cache->buckets[hash % PREPARED_BUCKETS];

    for (; prepared; prepared = prepared->next)
        if (prepared->hash == hash && strcmp(prepared->sql, sql) == 0 &&
            prepared_fits(prepared, values, count))
            return prepared;
    return NULL;
}

static void prepared_drop(struct prepared_cache *cache, struct prepared *prepared) {
    struct prepared **place = &cache->buckets[prepared->hash % PREPARED_BUCKETS];

    while (*place != prepared)
        place = &(*place)->next;
    *place = prepared->next;
    free(prepared->sql);
    free(prepared->types);
    prepared->sql = NULL;
}

void prepared_forget_all(struct prepared_cache *cache) {
    for (unsigned i = 0; i < cache->count; i++)
        if (cache->kept[i].sql)
            prepared_drop(cache, &cache->kept[i]);
    cache->count = 0;
}

/* A free place; the server's memory of its former statement is given back. */
static struct prepared *prepared_room(struct session *session, struct error *err) {
    struct prepared_cache *cache = &session->prepared;
    struct prepared *oldest = &cache->kept[0];
    char sql[40];

    if (cache->count < PREPARED_MOST)
        return &cache->kept[cache->count++];
    for (struct prepared *other = cache->kept; other < cache->kept + PREPARED_MOST; other++)
        if (!other->sql || (oldest->sql && cache->tick - other->used > cache->tick - oldest->used))
            oldest = other;
    if (!oldest->sql)
        return oldest;
    snprintf(sql, sizeof(sql), "DEALLOCATE s%u", oldest->number);
    prepared_drop(cache, oldest);
    return session_run(session, sql, err) < 0 ? NULL : oldest;
}

static int prepared_send(struct session *session, unsigned number, const char *sql,
                         const struct db_value *values, size_t count, struct error *err) {
    Oid *types = arena_alloc(session->scratch, count * sizeof(*types) + 1);
    PGresult *result;
    char name[16];

    snprintf(name, sizeof(name), "s%u", number);
    for (size_t i = 0; i < count; i++)
        types[i] = place_types[values[i].type];
    if (!PQsendPrepare(session->handle, name, sql, (int)count, types))
        return answer_lost(session, "it cannot be written to", err);
    result = answer_read(session, err);
    PQclear(result);
    return result ? 0 : -1;
}

static struct prepared *prepared_make(struct session *session, const char *sql, uint32_t hash,
                                      const struct db_value *values, size_t count,
                                      struct error *err) {
    struct prepared_cache *cache = &session->prepared;
    struct prepared *prepared = prepared_room(session, err);

    if (!prepared)
        return NULL;
    prepared->number = cache->numbers++;
    prepared->sql = NULL;
    if (prepared_send(session, prepared->number, sql, values, count, err) < 0)
        return NULL;
    prepared->sql = strdup(sql);
    prepared->types = malloc(count + 1);
    if (!prepared->sql || !prepared->types)
        abort();
    for (size_t i = 0; i < count; i++)
        prepared->types[i] = (unsigned char)values[i].type;
    prepared->count = count;
    prepared->hash = hash;
    prepared->next = cache->buckets[hash % PREPARED_BUCKETS];
    cache->buckets[hash % PREPARED_BUCKETS] = prepared;
    return prepared;
}

static const char *value_text(struct arena *arena, const struct db_value *value) {
    switch (value->type) {
    case DB_VALUE_TEXT:
        return value->text;
    case DB_VALUE_INT:
        return arena_format(arena, "%lld", (long long)value->integer);
    case DB_VALUE_REAL:
        return arena_format(arena, "%.17g", value->real);
    case DB_VALUE_NULL:
        break;
    }
    return NULL;
}

static PGresult *prepared_start(struct session *session, const char *sql,
                                const struct db_value *values, size_t count, struct error *err) {
    uint32_t hash = text_hash(sql);
    struct prepared *prepared;
    const char **texts;
    char name[16];

    arena_reset(session->scratch);
    prepared = prepared_find(&session->prepared, sql, hash, values, count);
    /* A text that the server refuses spoils the part of the transaction that it belongs to. */
    if (!prepared && session_ahead_now(session, err) < 0)
        return NULL;
    if (!prepared && !(prepared = prepared_make(session, sql, hash, values, count, err)))
        return NULL;
    prepared->used = ++session->prepared.tick;
    snprintf(name, sizeof(name), "s%u", prepared->number);
    texts = arena_alloc(session->scratch, count * sizeof(*texts) + 1);
    for (size_t i = 0; i < count; i++)
        texts[i] = value_text(session->scratch, &values[i]);
    return session_execute(session, name, (int)count, texts, err);
}

int prepared_run(struct db_tx *base, struct error *err, const char *sql,
                 const struct db_value *values, size_t count) {
    struct postgresql_tx *tx = (struct postgresql_tx *)base; /* its first member */
    PGresult *result;
    int changed;

    assert(base->writes);
    result = prepared_start(tx->session, sql, values, count, err);
    if (!result)
        return -1;
    tx->changed = true;
    changed = atoi(PQcmdTuples(result));
    PQclear(result);
    return changed;
}

struct db_rows *prepared_query(struct db_tx *base, struct error *err, const char *sql,
                               const struct db_value *values, size_t count) {
    struct postgresql_tx *tx = (struct postgresql_tx *)base; /* its first member */
    PGresult *result = prepared_start(tx->session, sql, values, count, err);
    struct postgresql_rows *rows;

    if (!result)
        return NULL;
    rows = calloc(1, sizeof(*rows));
    if (!rows)
        abort();
    rows->base.engine = base->engine;
    rows->session = tx->session;
    rows->result = result;
    rows->row = -1;
    rows->session->open++;
    return &rows->base;
}

int prepared_next(struct db_rows *base, struct error *err) {
    struct postgresql_rows *rows = postgresql_rows(base);

    (void)err;
    if (rows->row + 1 >= PQntuples(rows->result))
        return 0;
    rows->row++;
    return 1;
}

void prepared_end(struct db_rows *base) {
    struct postgresql_rows *rows = postgresql_rows(base);

    rows->session->open--;
    PQclear(rows->result);
    free(rows);
}

unsigned prepared_columns(const struct db_rows *rows) {
    return (unsigned)PQnfields(postgresql_rows(rows)->result);
}

enum db_value_type prepared_type(const struct db_rows *base, unsigned column) {
    const struct postgresql_rows *rows = postgresql_rows(base);

    if (PQgetisnull(rows->result, rows->row, (int)column))
        return DB_VALUE_NULL;
    switch (PQftype(rows->result, (int)column)) {
    case OID_BOOL:
    case OID_INT2:
    case OID_INT4:
    case OID_INT8:
        return DB_VALUE_INT;
    case OID_FLOAT4:
    case OID_FLOAT8:
    case OID_NUMERIC:
        return DB_VALUE_REAL;
    default:
        return DB_VALUE_TEXT;
    }
}

const char *prepared_text(const struct db_rows *base, unsigned column) {
    const struct postgresql_rows *rows = postgresql_rows(base);

    if (PQgetisnull(rows->result, rows->row, (int)column))
        return NULL;
    return PQgetvalue(rows->result, rows->row, (int)column);
}

int64_t prepared_integer(const struct db_rows *rows, unsigned column) {
    const char *text = prepared_text(rows, column);

    if (!text)
        return 0;
    return *text == 't' ? 1 : strtoll(text, NULL, 10);
}

double prepared_real(const struct db_rows *rows, unsigned column) {
    const char *text = prepared_text(rows, column);

    return text ? strtod(text, NULL) : 0;
}
