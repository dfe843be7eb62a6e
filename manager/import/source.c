#include "manager/import/source.h"

#include "common/cleanup.h"
#include "common/percent.h"
#include "db/db.h"
#include "manager/import/mariadb.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- the address ---- */

static int take_parameter(struct arena *arena, const char *text, size_t length,
                          struct mariadb_address *ret, struct error *err) {
    const struct {
        const char *key;
        const char **value; /* NULL: without effect here */
    } known[] = {
        { "charset=", NULL },          { "unix_socket=", &ret->unix_socket },
        { "ssl_ca=", &ret->ssl_ca },   { "ssl_cert=", &ret->ssl_cert },
        { "ssl_key=", &ret->ssl_key },
    };

    for (size_t i = 0; i < LENGTH(known); i++) {
        size_t prefix = strlen(known[i].key);

        if (length < prefix || strncmp(text, known[i].key, prefix) != 0)
            continue;
        if (known[i].value)
            *known[i].value = percent_decode_lenient(arena, text + prefix, length - prefix);
        return 0;
    }
    return error_set(err, ERROR_BAD_REQUEST,
                     "The parameter %.*s of the database's address is not supported: charset, "
                     "unix_socket, ssl_ca, ssl_cert and ssl_key are.",
                     (int)strcspn(text, "=&"), text);
}

static int take_host(struct arena *arena, const char *text, size_t length,
                     struct mariadb_address *ret, struct error *err) {
    const char *bracket = *text == '[' ? memchr(text, ']', length) : NULL;
    size_t host = bracket ? (size_t)(bracket - text) + 1 : strcspn(text, ":/?");
    char *end;

    if (host > length)
        host = length;
    if (host > 0)
        ret->host = bracket ? arena_text_n(arena, text + 1, host - 2)
                            : percent_decode_lenient(arena, text, host);
    if (host == length)
        return 0;
    ret->port = (unsigned)strtoul(text + host + 1, &end, 10);
    if (text[host] == ':' && end == text + length && ret->port > 0 && ret->port <= UINT16_MAX)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST, "The database's address has no valid port.");
}

static int source_parse(struct arena *arena, const char *url, struct mariadb_address *ret,
                        struct error *err) {
    const char *text = strstr(url, "://"), *at = NULL, *end, *query;

    *ret = (struct mariadb_address){ 0 };
    if (!text)
        return error_set(err, ERROR_BAD_REQUEST, "The database's address is no URL.");
    text += strlen("://");
    end = text + strcspn(text, "/?");
    for (const char *c = text; c < end; c++) /* a password may have '@' */
        at = *c == '@' ? c : at;
    if (at) {
        const char *colon = memchr(text, ':', (size_t)(at - text)), *name_end = colon ? colon : at;

        ret->user = percent_decode_lenient(arena, text, (size_t)(name_end - text));
        if (colon)
            ret->password = percent_decode_lenient(arena, colon + 1, (size_t)(at - colon) - 1);
        text = at + 1;
    }
    if (take_host(arena, text, (size_t)(end - text), ret, err) < 0)
        return -1;
    query = end + strcspn(end, "?");
    if (*end != '/' || query - end < 2)
        return error_set(err, ERROR_BAD_REQUEST, "The database's address names no database.");
    ret->database = percent_decode_lenient(arena, end + 1, (size_t)(query - end) - 1);
    while (*query) {
        size_t length = strcspn(++query, "&"); /* behind "?" or "&" */

        if (length > 0 && take_parameter(arena, query, length, ret, err) < 0)
            return -1;
        query += length;
    }
    return 0;
}

/* ---- the engines of this service ---- */

struct reading {
    struct arena *arena;
    const char *const *queries;
    size_t count;
    struct source_table *tables;
};

static int read_queries(struct db_tx *tx, void *arg, struct error *err) {
    const struct reading *reading = arg;

    for (size_t i = 0; i < reading->count; i++) {
        enum { COLUMNS_MOST = 64 };
        autorows struct db_rows *rows = db_query(tx, err, reading->queries[i]);
        struct source_table *table = &reading->tables[i];
        const char *cells[COLUMNS_MOST];
        int more;

        if (!rows)
            return -1;
        *table = (struct source_table){ .columns = db_columns(rows) };
        while ((more = db_next(rows, err)) > 0) {
            for (unsigned j = 0; j < table->columns && j < COLUMNS_MOST; j++)
                cells[j] = db_text(rows, j);
            source_table_add(reading->arena, table, cells);
        }
        if (more < 0)
            return -1;
    }
    return 0;
}

static int read_by_own(const char *url, struct reading *reading, struct error *err) {
    const struct db_settings settings = { .url = url, .inline_writes = true, .access = DB_LOOKS };
    struct db *db;
    int result;

    if (db_open(&settings, &db, err) < 0)
        return -1;
    result = db_read(db, read_queries, reading, err);
    db_close(db);
    return result;
}

/* Is its scheme that one, with or without "+driver"? */
static bool is_of(const char *url, const char *scheme) {
    size_t length = strlen(scheme);

    return strncmp(url, scheme, length) == 0 && (url[length] == '+' || url[length] == ':');
}

static int read_by_scheme(const char *url, struct reading *reading, struct error *err) {
    struct arena *arena = reading->arena;
    const char *rest = strstr(url, "://");
    struct mariadb_address address;

    if (rest && (is_of(url, "postgresql") || is_of(url, "postgres")))
        return read_by_own(arena_format(arena, "postgresql%s", rest), reading, err);
    /* There a path has one slash more. */
    if (rest && is_of(url, "sqlite") && rest[strlen("://")] == '/')
        return read_by_own(arena_format(arena, "sqlite://%s", rest + strlen(":///")), reading, err);
    if (rest && (is_of(url, "mysql") || is_of(url, "mariadb")))
        return source_parse(arena, url, &address, err) < 0
                   ? -1
                   : mariadb_read(arena, &address, reading->queries, reading->count,
                                  reading->tables, err);
    return error_set(err, ERROR_BAD_REQUEST,
                     "The database's address must begin with mysql, postgresql or sqlite.");
}

int source_read(struct arena *arena, const char *url, const char *const *queries, size_t count,
                struct source_table *ret, struct error *err) {
    struct reading reading = { arena, queries, count, ret };

    if (read_by_scheme(url, &reading, err) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        source_table_sort(arena, &ret[i]);
    return 0;
}
