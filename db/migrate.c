#include "db/migrate.h"

#include "db/schema.h"

#include <ctype.h>
#include <string.h>

int migrate_newest(void) {
    return schema_texts[schema_text_count - 1].number;
}

/* Length of the first statement of a text, with its ';'. A trigger's body would need more. */
static size_t statement_length(const char *sql) {
    const char *at = sql;

    while (*at && *at != ';') {
        if (at[0] == '-' && at[1] == '-')
            at += strcspn(at, "\n");
        else if (*at == '\'')
            at += 1 + strcspn(at + 1, "'");
        if (*at)
            at++;
    }
    return (size_t)(at - sql) + (*at == ';');
}

static const char *blank_skip(const char *sql) {
    for (;;) {
        if (isspace((unsigned char)*sql))
            sql++;
        else if (sql[0] == '-' && sql[1] == '-')
            sql += strcspn(sql, "\n");
        else
            return sql;
    }
}

static const char *serial_replaced(struct arena *arena, const char *sql, const char *words) {
    static const char mark[] = "@serial@";
    const char *found = strstr(sql, mark);

    if (!found)
        return sql;
    return arena_format(arena, "%.*s%s%s", (int)(found - sql), sql, words, found + strlen(mark));
}

int migrate_text(struct db_tx *tx, const char *sql, const char *serial_words, struct error *err) {
    for (sql = blank_skip(sql); *sql; sql = blank_skip(sql)) {
        autoarena struct arena *arena = arena_new();
        size_t length = statement_length(sql);
        const char *statement = arena_text_n(arena, sql, length);

        if (db_run(tx, err, serial_replaced(arena, statement, serial_words)) < 0)
            return -1;
        sql += length;
    }
    return 0;
}

static int version_read(struct db_tx *tx, int64_t *ret, struct error *err) {
    *ret = 0;
    if (db_run(tx, err, "CREATE TABLE IF NOT EXISTS schema_version (number BIGINT NOT NULL)") < 0)
        return -1;
    return db_query_int(tx, ret, err, "SELECT MAX(number) FROM schema_version");
}

int migrate_run(struct db_tx *tx, const char *serial_words, struct error *err) {
    int64_t version;

    if (version_read(tx, &version, err) < 0)
        return -1;
    if (version > migrate_newest())
        return error_set(
            err, ERROR_BAD_REQUEST,
            "The schema has number %lld, newer than %d, the newest this program knows.",
            (long long)version, migrate_newest());
    for (const struct schema_text *text = schema_texts; text < schema_texts + schema_text_count;
         text++) {
        if (text->number <= version)
            continue;
        if (migrate_text(tx, text->sql, serial_words, err) < 0)
            return error_context(err, "schema %s", text->name);
        if (db_run(tx, err, "INSERT INTO schema_version (number) VALUES ($1)",
                   DB_INT(text->number)) < 0)
            return -1;
    }
    return 0;
}
