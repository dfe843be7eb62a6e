/*
 * scoria manage host rename: changes the rows of a renamed node, backend or pool.
 */
#include "cmd/manage.h"
#include "cmd/parts.h"
#include "cmd/plain_text.h"
#include "common/cleanup.h"
#include "model/host_rename.h"

#include <string.h>

struct counted {
    const char *what;
    int64_t count;
};

static void print(const struct host_rename *rename, bool json) {
    const struct counted rows[] = {
        { "volumes", rename->volumes },       { "groups", rename->groups },
        { "operations", rename->operations }, { "messages", rename->messages },
        { "pools", rename->pools },           { "services", rename->services },
    };
    json_t *tree = json_pack("{ss ss sb}", "old", rename->old_name, "new", rename->new_name,
                             "dry_run", rename->dry_run);

    if (!json) {
        plain_text_put(stdout, rename->old_name);
        fputs(rename->dry_run ? " would become " : " is now ", stdout);
        plain_text_put(stdout, rename->new_name);
        putchar('\n');
    }
    for (size_t i = 0; i < LENGTH(rows); i++) {
        json_object_set_new(tree, rows[i].what, json_integer(rows[i].count));
        if (!json)
            printf("%-10s  %jd\n", rows[i].what, (intmax_t)rows[i].count);
    }
    if (json)
        manage_print_json(tree);
    else
        json_decref(tree);
}

static int read_words(const char *const *words, struct host_rename *rename, struct error *err) {
    for (; *words; words++) {
        if (strcmp(*words, "--dry-run") == 0)
            rename->dry_run = true;
        else if (**words == '-' || rename->new_name)
            return error_set(err, ERROR_BAD_REQUEST, "unexpected argument \"%s\"", *words);
        else if (rename->old_name)
            rename->new_name = *words;
        else
            rename->old_name = *words;
    }
    return rename->new_name
               ? 0
               : error_set(err, ERROR_BAD_REQUEST, "the old name and the new one are missing");
}

static int rename_body(struct work *work, void *arg, struct error *err) {
    return host_rename(work, arg, err);
}

static int rename_in(struct db *db, const struct config *config, struct host_rename *rename,
                     struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct settings settings;
    const struct work base = work_own(&settings, arena);
    int result;

    settings_load(config, &clock_system, &settings);
    settings.clock = db_clock(db);
    result = rename->dry_run ? work_read(db, &base, rename_body, rename, err)
                             : work_transaction(db, &base, rename_body, rename, err);
    return result < 0 && err->kind == ERROR_UNAVAILABLE ? parts_db_context(config, err) : result;
}

/* An earlier run may have ended between the rows, which have the new name, and the stored name. */
static int rename_node_alone(struct db *db, const struct config *config,
                             const struct host_rename *rename, struct error *err) {
    struct host_rename back = { .old_name = rename->new_name,
                                .new_name = rename->old_name,
                                .dry_run = true };
    struct error none;

    if (rename_in(db, config, &back, &none) < 0)
        return -1;
    return parts_rename_node(config, rename->old_name, rename->new_name, err) == 1 ? 0 : -1;
}

int manage_host_rename(const struct config *config, const char *const *words, bool json) {
    struct host_rename rename = { 0 };
    struct error err;
    struct db *db = NULL;
    int result = read_words(words, &rename, &err);

    if (result == 0)
        result = parts_open_db_as(config, rename.dry_run ? DB_READS : DB_CHANGES, &db, &err);
    if (result == 0)
        result = rename_in(db, config, &rename, &err);
    if (result == 0 && !rename.dry_run)
        result = parts_rename_node(config, rename.old_name, rename.new_name, &err);
    else if (result < 0 && db && err.kind == ERROR_NOT_FOUND && !rename.dry_run)
        result = rename_node_alone(db, config, &rename, &err);
    db_close(db);
    if (result >= 0) {
        print(&rename, json);
        return EXIT_SUCCESS;
    }
    fputs("scoria manage host rename: ", stderr);
    plain_text_put(stderr, err.message);
    putc('\n', stderr);
    return EXIT_FAILURE;
}
