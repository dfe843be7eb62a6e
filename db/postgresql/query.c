#include "db/postgresql/query.h"

#include "common/assert.h"
#include "common/heap.h"
#include "db/postgresql/session.h"

#include <stdio.h>
#include <stdlib.h>

/* Constants of the catalog. */
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

/* The evicted statement is deallocated at the server. */
static struct prepared *query_prepare(struct session *session, const char *sql,
                                      const struct db_value *values, size_t count,
                                      struct error *err) {
    struct prepared_cache *cache = &session->prepared;
    bool forgotten;
    struct prepared *prepared = prepared_room(cache, &forgotten);
    char deallocate[40], name[16];
    PGresult *result;
    Oid *types;

    snprintf(deallocate, sizeof(deallocate), "DEALLOCATE s%u", prepared->number);
    if (forgotten && session_run(session, deallocate, err) < 0)
        return NULL;
    prepared->number = cache->numbers++;
    types = arena_alloc(session->server.scratch, count * sizeof(*types) + 1);
    snprintf(name, sizeof(name), "s%u", prepared->number);
    for (size_t i = 0; i < count; i++)
        types[i] = place_types[values[i].type];
    if (!PQsendPrepare(session->server.handle, name, sql, (int)count, types)) {
        server_lost(&session->server, "it cannot be written to", err);
        return NULL;
    }
    result = server_read(&session->server, err);
    PQclear(result);
    if (!result)
        return NULL;
    prepared_keep(cache, prepared, sql, values, count);
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

static PGresult *query_start(struct session *session, const char *sql,
                             const struct db_value *values, size_t count, struct error *err) {
    struct prepared *prepared;
    const char **texts;
    char name[16];

    assert(values || count == 0);
    arena_reset(session->server.scratch);
    prepared = prepared_find(&session->prepared, sql, values, count);
    /* A text refused by the server aborts its part of the transaction. */
    if (!prepared && session_ahead_now(session, err) < 0)
        return NULL;
    if (!prepared && !(prepared = query_prepare(session, sql, values, count, err)))
        return NULL;
    prepared->used = ++session->prepared.tick;
    snprintf(name, sizeof(name), "s%u", prepared->number);
    texts = arena_alloc(session->server.scratch, count * sizeof(*texts) + 1);
    for (size_t i = 0; i < count; i++)
        texts[i] = value_text(session->server.scratch, &values[i]);
    return session_execute(session, name, (int)count, texts, err);
}

int postgresql_query_run(struct db_tx *base, struct error *err, const char *sql,
                         const struct db_value *values, size_t count) {
    struct postgresql_tx *tx = (struct postgresql_tx *)base; /* its first member */
    PGresult *result;
    int changed;

    assert(base->writes);
    result = query_start(tx->session, sql, values, count, err);
    if (!result)
        return -1;
    tx->changed = true;
    changed = atoi(PQcmdTuples(result));
    PQclear(result);
    return changed;
}

struct db_rows *postgresql_query_begin(struct db_tx *base, struct error *err, const char *sql,
                                       const struct db_value *values, size_t count) {
    struct postgresql_tx *tx = (struct postgresql_tx *)base; /* its first member */
    PGresult *result = query_start(tx->session, sql, values, count, err);
    struct postgresql_rows *rows;

    if (!result)
        return NULL;
    rows = heap_new(sizeof(*rows));
    rows->base.engine = base->engine;
    rows->session = tx->session;
    rows->result = result;
    rows->row = -1;
    rows->session->open++;
    return &rows->base;
}

int postgresql_query_next(struct db_rows *base, struct error *err) {
    struct postgresql_rows *rows = postgresql_rows(base);

    assert(rows->session->open > 0);
    (void)err;
    if (rows->row + 1 >= PQntuples(rows->result))
        return 0;
    rows->row++;
    return 1;
}

void postgresql_query_end(struct db_rows *base) {
    struct postgresql_rows *rows = postgresql_rows(base);

    assert(rows->session->open > 0);
    rows->session->open--;
    PQclear(rows->result);
    free(rows);
}

unsigned postgresql_query_columns(const struct db_rows *rows) {
    return (unsigned)PQnfields(postgresql_rows(rows)->result);
}

enum db_value_type postgresql_query_type(const struct db_rows *base, unsigned column) {
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

const char *postgresql_query_text(const struct db_rows *base, unsigned column) {
    const struct postgresql_rows *rows = postgresql_rows(base);

    if (PQgetisnull(rows->result, rows->row, (int)column))
        return NULL;
    return PQgetvalue(rows->result, rows->row, (int)column);
}

int64_t postgresql_query_integer(const struct db_rows *rows, unsigned column) {
    const char *text = postgresql_query_text(rows, column);

    if (!text)
        return 0;
    return *text == 't' ? 1 : strtoll(text, NULL, 10);
}

double postgresql_query_real(const struct db_rows *rows, unsigned column) {
    const char *text = postgresql_query_text(rows, column);

    return text ? strtod(text, NULL) : 0;
}
