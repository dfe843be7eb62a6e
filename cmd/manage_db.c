#include "cmd/manage.h"
#include "cmd/parts.h"
#include "cmd/table.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "db/copy.h"
#include "db/migrate.h"

#include <string.h>
#include <unistd.h>

static int fail(const char *what, const struct error *err) {
    fprintf(stderr, "scoria manage db %s: %s\n", what, err->message);
    return EXIT_FAILURE;
}

static int with_db(const char *what, const struct config *config, enum db_access access,
                   bool json) {
    struct error err;
    struct db *db;
    int64_t number;
    int status = EXIT_SUCCESS;

    if (parts_open_db_as(config, access, &db, &err) < 0)
        return fail(what, &err);
    if (copy_schema_number(db, &number, &err) < 0)
        status = fail(what, &err);
    else if (json)
        printf("{\"schema\": %lld, \"newest\": %d}\n", (long long)number, migrate_newest());
    else
        printf("schema %lld, newest %d\n", (long long)number, migrate_newest());
    db_close(db);
    return status;
}

int manage_db_sync(const struct config *config, bool json) {
    return with_db("sync", config, DB_SERVES, json);
}

int manage_db_version(const struct config *config, bool json) {
    return with_db("version", config, DB_LOOKS, json);
}

/* ---- copy ---- */

static void print_progress(void *arg, const char *table, int64_t rows) {
    (void)arg;
    fprintf(stderr, "%s: %lld rows\n", table, (long long)rows);
}

static int check_target(const struct config *config, struct error *err) {
    struct db *db;
    int result;

    if (parts_open_db_as(config, DB_LOOKS, &db, err) < 0)
        return -1;
    result = copy_check_target(db, err);
    db_close(db);
    return result;
}

/* From the file that was the database before [database] connection was changed.  Reading alone
 * creates a log beside it: the target is looked at before. */
static int copy_to(const struct config *config, struct copy *copy, struct error *err) {
    const char *path =
        arena_format(copy->arena, "%s/scoria.db", config_text(config, "DEFAULT", "state_path"));
    const struct db_settings source = { .url = arena_format(copy->arena, "sqlite://%s", path),
                                        .inline_writes = true,
                                        .access = DB_READS };
    int result;

    if (access(path, F_OK) < 0)
        return error_errno(err, ERROR_NOT_FOUND, "no database to copy: %s", path);
    if (db_is_unused(source.url, err) < 0 || check_target(config, err) < 0 ||
        db_open(&source, &copy->from, err) < 0)
        return -1;
    result = parts_open_db_as(config, DB_SERVES, &copy->to, err);
    if (result == 0) {
        result = copy_database(copy, err);
        db_close(copy->to);
    }
    db_close(copy->from);
    return result;
}

int manage_db_copy(const struct config *config, bool json) {
    autoarena struct arena *arena = arena_new();
    struct copy copy = { .arena = arena, .progress = print_progress };
    const char *url = config_text(config, "database", "connection");
    struct error err;
    static const char *const names[] = { "table", "rows", NULL };
    json_t *list;
    struct table printed;

    if (!url || strncmp(url, "postgres", strlen("postgres")) != 0) {
        error_set(&err, ERROR_BAD_REQUEST,
                  "[database] connection must name the PostgreSQL database to copy to");
        return fail("copy", &err);
    }
    if (copy_to(config, &copy, &err) < 0)
        return fail("copy", &err);
    list = json_array();
    table_begin(&printed, copy.arena, names, 1 << 1);
    for (unsigned i = 0; i < copy.count; i++) {
        const struct copy_table *table = &copy.tables[i];

        json_array_append_new(
            list, json_pack("{ss sI}", "table", table->name, "rows", (json_int_t)table->rows));
        table_add(&printed,
                  (const char *const[]){
                      table->name, arena_format(copy.arena, "%lld", (long long)table->rows) });
    }
    if (!json)
        table_print(&printed);
    if (json)
        manage_print_json(list);
    else
        json_decref(list);
    return EXIT_SUCCESS;
}
