#include "db/migrate.h"

#include "common/assert.h"
#include "common/log.h"
#include "db/engine.h"
#include "db/reset.h"
#include "db/schema.h"

#include <ctype.h>
#include <string.h>

int migrate_newest(void) {
    return schema_texts[schema_text_count - 1].number;
}

/* Length of the first statement of a text, with its ';'. Bodies of triggers are not supported. */
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

/* A database that is not empty but has no schema of this program is left as it is. */
static int refuse_foreign(struct db_tx *tx, struct error *err) {
    autorows struct db_rows *rows = db_query(tx, err, tx->engine->tables_sql);
    int more = rows ? 0 : -1;

    while (rows && (more = db_next(rows, err)) > 0)
        if (table_has_objects(db_text(rows, 0)))
            return error_set(err, ERROR_BAD_REQUEST,
                             "It is a database of another program: it has a table \"%s\" and no "
                             "schema of scoria. Name a file that is missing, or an empty database.",
                             db_text(rows, 0));
    return more;
}

int migrate_number(struct db_tx *tx, int64_t *ret, struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct tables tables;

    *ret = 0;
    if (tables_read(tx, arena, &tables, err) < 0)
        return -1;
    for (unsigned i = 0; i < tables.count; i++)
        if (strcmp(tables.names[i], "schema_version") == 0)
            return db_query_int(tx, ret, err, "SELECT MAX(number) FROM schema_version") < 0 ? -1
                                                                                            : 0;
    return 0;
}

/* Of this number. */
static int refuse_others(struct db_tx *tx, int64_t number, struct error *err) {
    if (number > migrate_newest())
        return error_set(
            err, ERROR_BAD_REQUEST,
            "The schema has number %lld, newer than %d, the newest this program knows: "
            "use the newer program, or restore the copy of before the migration.",
            (long long)number, migrate_newest());
    return number == 0 ? refuse_foreign(tx, err) : 0;
}

int migrate_refuse(struct db_tx *tx, struct error *err) {
    int64_t number;

    return migrate_number(tx, &number, err) < 0 ? -1 : refuse_others(tx, number, err);
}

int migrate_check(struct db_tx *tx, struct error *err) {
    int64_t number;

    if (migrate_number(tx, &number, err) < 0 || refuse_others(tx, number, err) < 0)
        return -1;
    if (number == 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "It has no schema: \"scoria manage db sync\" makes one.");
    if (number < migrate_newest())
        return error_set(err, ERROR_BAD_REQUEST,
                         "The schema has number %lld, older than %d, the one this program reads: "
                         "use the program that serves this database, or stop that program and "
                         "migrate with \"scoria manage db sync\".",
                         (long long)number, migrate_newest());
    return 0;
}

/* Logged before the commit: a migration that fails afterwards is an error of the start. */
static int migrate(struct db_tx *tx, const struct migrate_settings *settings, int64_t number,
                   struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *copy = NULL;

    assert(number >= 0 && number < migrate_newest());
    if (number > 0 && settings->copy &&
        settings->copy(settings->arg, arena, number, &copy, err) < 0)
        return error_context(err, "the migration of schema %lld to %d", (long long)number,
                             migrate_newest());
    if (number > 0)
        log_info(NULL, "database schema migration", "from", LOG_INT(number), "to",
                 LOG_INT(migrate_newest()), "copy", copy, NULL);
    /* In place of most of the steps: altering tables that exist takes SQLite many times as long. */
    if (number == 0 && migrate_text(tx, schema_baseline, settings->serial_words, err) < 0)
        return error_context(err, "schema baseline");
    if (number == 0 && db_query_int(tx, &number, err, "SELECT MAX(number) FROM schema_version") < 0)
        return -1;
    assert(number > 0);
    for (const struct schema_text *text = schema_texts; text < schema_texts + schema_text_count;
         text++) {
        if (text->number <= number)
            continue;
        if (migrate_text(tx, text->sql, settings->serial_words, err) < 0)
            return error_context(err, "schema %s", text->name);
        if (db_run(tx, err, "INSERT INTO schema_version (number) VALUES ($1)",
                   DB_INT(text->number)) < 0)
            return -1;
    }
    return 0;
}

int migrate_run(struct db_tx *tx, const struct migrate_settings *settings, struct error *err) {
    int64_t number = 0;

    assert(tx->writes);
    if (db_run(tx, err, "CREATE TABLE IF NOT EXISTS schema_version (number BIGINT NOT NULL)") < 0 ||
        db_query_int(tx, &number, err, "SELECT MAX(number) FROM schema_version") < 0)
        return -1;
    if (refuse_others(tx, number, err) < 0)
        return -1;
    return number < migrate_newest() ? migrate(tx, settings, number, err) : 0;
}
