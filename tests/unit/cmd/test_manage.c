#include "cmd/drivers.h"
#include "cmd/line.h"
#include "cmd/manage.h"
#include "db/db.h"
#include "db/migrate.h"
#include "rest/route.h"
#include "tests/unit/cmd/cmd_test.h"

#include <fcntl.h>
#include <jansson.h>
#include <sqlite3.h>

static json_t *json_of(const struct home *home, const char *line) {
    const struct output *output = program_output(home, line);
    json_t *value;

    ck_assert_msg(output->status == EXIT_SUCCESS, "%s: %s", line, output->error);
    value = json_loads(output->text, 0, NULL);
    ck_assert_msg(value != NULL, "%s: %s", line, output->text);
    return value;
}

static const char *member(const json_t *list, size_t i, const char *key) {
    return json_string_value(json_object_get(json_array_get(list, i), key));
}

START_TEST(routes_are_those_of_the_tables) {
    json_t *list = json_of(NULL, "manage routes --format=json");
    size_t count = 0;

    for (unsigned i = 0; api_routes[i]; i++)
        for (const struct route *route = api_routes[i]; route->method; route++)
            if (!(route->flags & ROUTE_ABSENT)) {
                ck_assert_pstr_eq(member(list, count, "path"), route->path);
                ck_assert_pstr_eq(member(list, count, "action"), route->action);
                ck_assert_pstr_eq(member(list, count, "policy"), route->rule);
                assert_has(program_output(NULL, "manage routes")->text, route->path);
                count++;
            }
    ck_assert_uint_eq(json_array_size(list), count);
    json_decref(list);
}
END_TEST

START_TEST(drivers_are_those_of_the_list) {
    json_t *list = json_of(NULL, "manage drivers --format json");
    const struct output *output = program_output(NULL, "manage drivers");
    size_t count = 0;

    for (; drivers[count]; count++) {
        ck_assert_pstr_eq(member(list, count, "driver"), drivers[count]->name);
        assert_has(output->text, drivers[count]->name);
    }
    ck_assert_uint_eq(json_array_size(list), count);
    json_decref(list);
}
END_TEST

START_TEST(samples_have_all_known_options) {
    assert_has(program_output(NULL, "manage config")->text, "enabled_backends");
    assert_has(program_output(NULL, "manage options-man")->text, "enabled_backends");
    assert_has(program_output(NULL, "manage policy")->text, "volume:extend");
}
END_TEST

/* ---- with a database ---- */

static int run_body(struct db_tx *tx, void *sql, struct error *err) {
    return db_run(tx, err, (const char *)sql);
}

static void run_sql(const struct home *home, const char *sql) {
    char url[128];
    struct db_settings settings = { .url = url, .inline_writes = true };
    struct error err;
    struct db *db;

    snprintf(url, sizeof url, "sqlite://%s/scoria.db", home->path);
    ck_assert_int_eq(db_open(&settings, &db, &err), 0);
    ck_assert_msg(db_transaction(db, run_body, (void *)(uintptr_t)sql, &err) >= 0, "%s",
                  err.message);
    db_close(db);
}

static json_int_t schema_of(const struct home *home, const char *line) {
    json_t *output = json_of(home, line);
    json_int_t number = json_integer_value(json_object_get(output, "schema"));

    ck_assert_int_eq(json_integer_value(json_object_get(output, "newest")), migrate_newest());
    json_decref(output);
    return number;
}

START_TEST(the_schema_is_brought_up_to_date_by_sync_alone) {
    autohome struct home home;

    home_make(&home);
    ck_assert_int_eq(schema_of(&home, "manage db sync --format=json"), migrate_newest());
    ck_assert_int_eq(schema_of(&home, "manage db version --format=json"), migrate_newest());
}
END_TEST

static bool is_empty(const char *path) {
    DIR *directory = opendir(path);
    unsigned count = 0;

    ck_assert_ptr_nonnull(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count == 2;
}

/* With words that make sense to those that want some. */
static const char *line_of(const struct command_word *word, char *line, size_t size) {
    static const struct {
        const char *name, *more;
    } own[] = {
        { "apply", " -f /dev/null" }, { "wait", " volumeconfig x --for=delete" },
        { "salvage", " x" },          { "drain", " x" },
        { "host rename", " x y" },    { "import-cinder", " /dev/null" },
    };
    const char *more = word->run_on ? " volumeconfig x" : "";

    for (size_t i = 0; i < LENGTH(own); i++)
        if (strcmp(word->name, own[i].name) == 0)
            more = own[i].more;
    snprintf(line, size, "manage %s%s%s", word->name, more,
             word->effect >= WORD_READS_API ? " --api=http://127.0.0.1:9/v3" : "");
    return line;
}

START_TEST(each_command_accepts_each_option_of_its_help) {
    const struct command *manage = command_find("manage");
    char line[160], more[240];
    autohome struct home home;

    home_make(&home);
    for (const struct command_word *word = manage_words; word->name; word++)
        for (const struct line_option *option = line_options; option->name; option++) {
            const struct output *output;

            if (!option->read || !(option->words || option->behind) ||
                !line_option_is_of(option, manage, word))
                continue;
            snprintf(more, sizeof more, "%s %s%s", line_of(word, line, sizeof line), option->name,
                     !option->value                           ? ""
                     : strcmp(option->name, "--format") == 0  ? "=json"
                     : strcmp(option->name, "--timeout") == 0 ? "=1s"
                     : strcmp(option->name, "--for") == 0     ? "=delete"
                                                              : "=/dev/null");
            output = program_output(&home, more);
            ck_assert_msg(output->status != EXIT_USAGE &&
                              !strstr(output->error, "unexpected argument") &&
                              !strstr(output->error, "unknown") && !strstr(output->error, "usage"),
                          "%s: %s", more, output->error);
        }
}
END_TEST

START_TEST(tools_that_only_read_make_nothing) {
    char line[160], missing[64];
    autohome struct home home;

    home_make(&home);
    snprintf(missing, sizeof missing, "%s/typo", home.path);
    for (const struct command_word *word = manage_words; word->name; word++) {
        const struct output *output;

        if (strcmp(word->name, "db sync") == 0)
            continue;
        output = program_output(&home, line_of(word, line, sizeof line));
        ck_assert_msg(is_empty(home.path), "%s", line);
        if (word->effect == WORD_READS_DATABASE || strcmp(word->name, "host rename") == 0) {
            ck_assert_int_eq(output->status, EXIT_FAILURE);
            assert_has(output->error, "There is no database in ");
            assert_has(output->error, home.path);
        }
        if (word->effect == WORD_PRINTS)
            ck_assert_int_eq(output->status, EXIT_SUCCESS);
    }
    snprintf(line, sizeof line, "manage check --state_path=%s", missing);
    ck_assert_int_eq(program_output(&home, line)->status, EXIT_FAILURE);
    ck_assert_int_ne(access(missing, F_OK), 0);
}
END_TEST

static void add_schema(const struct home *home, int number) {
    char sql[80];

    snprintf(sql, sizeof sql, "INSERT INTO schema_version (number) VALUES (%d)", number);
    run_sql(home, sql);
}

/* As a program of before has left it. */
static void make_older(const struct home *home) {
    sqlite3 *raw;
    char path[64], sql[80];

    snprintf(path, sizeof path, "%s/scoria.db", home->path);
    snprintf(sql, sizeof sql, "DELETE FROM schema_version WHERE number > %d", migrate_newest() - 1);
    ck_assert_int_eq(sqlite3_open(path, &raw), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(raw, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(raw);
}

static void assert_reads_refuse(const struct home *home, const char *why) {
    static const char *const lines[] = { "manage check", "manage operations" };

    for (size_t i = 0; i < 2; i++) {
        const struct output *output = program_output(home, lines[i]);

        ck_assert_int_eq(output->status, EXIT_FAILURE);
        ck_assert_str_eq(output->text, "");
        assert_has(output->error, why);
    }
}

START_TEST(tools_that_only_read_migrate_nothing) {
    char older[64];
    autohome struct home home;

    home_make(&home);
    program_output(&home, "manage db sync");
    make_older(&home);
    snprintf(older, sizeof older, "The schema has number %d, older than %d", migrate_newest() - 1,
             migrate_newest());
    assert_reads_refuse(&home, older);
    ck_assert_int_eq(schema_of(&home, "manage db version --format=json"), migrate_newest() - 1);
}
END_TEST

START_TEST(tools_read_no_newer_schema) {
    autohome struct home home;

    home_make(&home);
    program_output(&home, "manage db sync");
    add_schema(&home, migrate_newest() + 1);
    assert_reads_refuse(&home, "use the newer program");
    ck_assert_int_eq(schema_of(&home, "manage db version --format=json"), migrate_newest() + 1);
}
END_TEST

START_TEST(a_copy_needs_a_target_server) {
    autohome struct home home;

    home_make(&home);
    ck_assert_int_eq(program_output(&home, "manage db copy")->status, EXIT_FAILURE);
    assert_has(program_output(&home, "manage db copy")->error, "[database] connection must name");
    assert_has(program_output(&home, "manage db copy --database.connection=postgresql://x")->error,
               "no database to copy");
}
END_TEST

#define NO_DIRECTORY "has neither storage nor volumes: file_volume_directory: The directory "

START_TEST(a_check_reports_inconsistencies) {
    const struct output *output;
    json_t *list;
    autohome struct home home;

    home_make(&home);
    program_output(&home, "manage db sync");
    list = json_of(&home, "manage check --format=json");
    ck_assert_uint_eq(json_array_size(list), 0);
    json_decref(list);
    output = program_output(&home, "manage check");
    assert_has(output->text, NO_DIRECTORY); /* and none is made */
    assert_has(output->text, "\n0 findings\n");
    output = program_output(&home, "manage check");
    assert_has(output->text, NO_DIRECTORY);
    run_sql(&home, "INSERT INTO quota_usages (project_id, resource, used) "
                   "VALUES ('some' || char(27) || 'body', 'volumes', 7)");
    output = program_output(&home, "manage check");
    ck_assert_int_eq(output->status, EXIT_FAILURE);
    assert_has(output->text, "P2  ");
    assert_has(output->text, "some?body"); /* and no control characters of a terminal */
    assert_has(output->text, "1 finding\n");
    output = program_output(&home, "manage check --format=json");
    ck_assert_int_eq(output->status, EXIT_FAILURE);
    list = json_loads(output->text, 0, NULL);
    ck_assert_uint_eq(json_array_size(list), 1);
    ck_assert_pstr_eq(member(list, 0, "promise"), "P2");
    json_decref(list);
    assert_has(program_output(&home, "manage check --file.volume_driver=odd")->error,
               "scoria manage check: ");
}
END_TEST

static void record_volume(const struct home *home, int number) {
    char sql[512];

    snprintf(sql, sizeof sql,
             "INSERT INTO volumes (id, project_id, user_id, host, availability_zone, size_gb, "
             "largest_gb, status, status_by_reset, attach_status, bootable, multiattach, "
             "use_quota, format, provider_location, created_at) "
             "VALUES ('00000000-0000-0000-0000-00000000000%d', 'p', 'u', 'n@file#file', 'nova', 1, "
             "1, 'available', 0, 'detached', 0, 0, 0, 'raw', '%s/volumes', 1)",
             number, home->path);
    run_sql(home, sql);
}

START_TEST(a_mount_that_is_missing_is_one_finding) {
    static const char line[] = "manage check --host=n";
    const struct output *output;
    char path[64], marker[80];
    autohome struct home home;

    home_make(&home);
    snprintf(path, sizeof path, "%s/volumes", home.path);
    snprintf(marker, sizeof marker, "%s/.scoria-file", path);
    program_output(&home, "manage db sync");
    ck_assert_int_eq(mkdir(path, 0711), 0);
    record_volume(&home, 1);
    record_volume(&home, 2);
    for (int i = 0; i < 2; i++) { /* a look leaves no marker for the next one */
        output = program_output(&home, line);
        ck_assert_int_eq(output->status, EXIT_FAILURE);
        assert_has(output->text, "P3  backend n@file: its storage is not there: ");
        assert_has(output->text, path);
        assert_has(output->text, "make a file .scoria-file in it");
        assert_has(output->text, "\n1 finding\n");
        ck_assert_int_ne(access(marker, F_OK), 0);
    }
    close(open(marker, O_CREAT | O_WRONLY, 0600)); /* the right place, and they are gone */
    output = program_output(&home, line);
    assert_has(output->text, "volume 00000000-0000-0000-0000-000000000001: ");
    assert_has(output->text, "volume 00000000-0000-0000-0000-000000000002: ");
}
END_TEST

static void assert_rename_fails(const struct home *home, const char *words, const char *why) {
    char line[160];
    const struct output *output;

    snprintf(line, sizeof line, "manage host rename %s", words);
    output = program_output(home, line);
    ck_assert_int_eq(output->status, EXIT_FAILURE);
    ck_assert_str_eq(output->text, "");
    assert_has(output->error, "scoria manage host rename: ");
    assert_has(output->error, why);
}

START_TEST(a_renamed_host_is_reported_with_its_objects) {
    const struct output *output;
    autohome struct home home;
    json_t *tree;

    home_make(&home);
    program_output(&home, "manage db sync");
    record_volume(&home, 1);
    run_sql(&home, "INSERT INTO services (id, binary_name, host, availability_zone, disabled, "
                   "frozen, reported_at, created_at) "
                   "VALUES ('s', 'cinder-volume', 'n@file', 'nova', 0, 0, 1, 1)");
    output = program_output(&home, "manage check --host=m");
    assert_has(output->text, "P5  host n@file has 1 volumes, 0 groups and 0 operations, and no "
                             "manager since ");
    assert_rename_fails(&home, "", "the old name and the new one are missing");
    assert_rename_fails(&home, "n", "the old name and the new one are missing");
    assert_rename_fails(&home, "n m x", "unexpected argument \"x\"");
    assert_rename_fails(&home, "x m", "Nothing has the host x.");
    output = program_output(&home, "manage host rename n m --dry-run");
    assert_has(output->text, "n would become m\nvolumes     1\n");
    tree = json_of(&home, "manage host rename n m --format=json");
    ck_assert_int_eq(json_integer_value(json_object_get(tree, "volumes")), 1);
    ck_assert(json_is_false(json_object_get(tree, "dry_run")));
    json_decref(tree);
    ck_assert_ptr_null(strstr(program_output(&home, "manage check --host=m")->text, "no manager"));
}
END_TEST

/* An earlier run ended behind the rows. */
START_TEST(a_rename_without_the_stored_name_is_completed) {
    char stored[80], text[8] = "";
    autohome struct home home;
    FILE *file;

    home_make(&home);
    snprintf(stored, sizeof stored, "%s/host", home.path);
    program_output(&home, "manage db sync");
    record_volume(&home, 1);
    ck_assert_int_eq(program_output(&home, "manage host rename n m")->status, EXIT_SUCCESS);
    file = fopen(stored, "w");
    fputs("n\n", file);
    fclose(file);
    assert_rename_fails(&home, "n x", "Nothing has the host n.");
    assert_rename_fails(&home, "o m", "Nothing has the host o.");
    assert_has(program_output(&home, "manage host rename n m")->text,
               "n is now m\nvolumes     0\n");
    file = fopen(stored, "r");
    ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
    fclose(file);
    ck_assert_int_eq(text[0], 'm');
    assert_rename_fails(&home, "n m", "Nothing has the host n.");
}
END_TEST

START_TEST(operations_are_listed) {
    const struct output *output;
    json_t *list;
    autohome struct home home;

    home_make(&home);
    program_output(&home, "manage db sync");
    list = json_of(&home, "manage operations --format=json");
    ck_assert_uint_eq(json_array_size(list), 0);
    json_decref(list);
    output = program_output(&home, "manage operations");
    ck_assert_int_eq(output->status, EXIT_SUCCESS);
    assert_has(output->text, "deadline");
    run_sql(&home,
            "INSERT INTO operations (id, kind, target_id, volume_id, host, phase, project_id, "
            "user_id, request_id, attempts, created_at, progress, waits_for, is_long) VALUES "
            "('o1', 'group_snapshot_create', 'v1', 'v1', 'n@b', 'running', 'p', 'u', 'r', 1, 1, "
            "42, NULL, 1), ('o2', 'delete', 'v2', 'v2', 'n@b', 'running', 'p', 'u', 'r', 0, 2, "
            "NULL, 'volume files', 0)");
    output = program_output(&home, "manage operations");
    assert_has(output->text, "o1  group_snapshot_create  v1      running  1970-01-01T00:00:");
    assert_has(output->text, "o2  delete                 v2      running  1970-01-01T00:00:");
    assert_has(output->text, "  42%                         1  -         n@b   -\n");
    assert_has(output->text, "  volume files in use         0  -         n@b   -\n");
    list = json_of(&home, "manage operations --format=json");
    ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(list, 0), "progress")), 42);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, 1), "waits_for")),
                     "volume files");
    ck_assert_int_ge(json_integer_value(json_object_get(json_array_get(list, 1), "age")), 1000);
    json_decref(list);
    assert_has(program_output(&home, "manage operations --database.connection=sqlite:////nowhere/x")
                   ->error,
               "scoria manage operations: ");
}
END_TEST

CHECK_MAIN("manage", each_command_accepts_each_option_of_its_help, routes_are_those_of_the_tables,
           drivers_are_those_of_the_list, samples_have_all_known_options,
           the_schema_is_brought_up_to_date_by_sync_alone, tools_that_only_read_make_nothing,
           tools_that_only_read_migrate_nothing, tools_read_no_newer_schema,
           a_copy_needs_a_target_server, a_check_reports_inconsistencies,
           a_mount_that_is_missing_is_one_finding, operations_are_listed,
           a_renamed_host_is_reported_with_its_objects,
           a_rename_without_the_stored_name_is_completed)
