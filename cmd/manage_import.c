/*
 * scoria manage import-cinder: prints what an import takes, and takes it with --apply.
 */
#include "cmd/manage.h"
#include "cmd/parts.h"
#include "cmd/plain_text.h"
#include "cmd/table.h"
#include "common/cleanup.h"
#include "common/utf8.h"
#include "manager/import/import.h"

#include <stdio.h>
#include <string.h>

enum { RENAMED_MOST = 64 };

struct arguments {
    const char *url_or_file;
    const char *renamed[RENAMED_MOST + 1];
    unsigned renamed_count;
    bool apply;
};

struct printed {
    struct arena *arena;
    struct table table;
    json_t *list; /* NULL: a table */
    bool apply;
    int64_t counts[IMPORT_LEFT + 1];
};

static int read_words(const char *const *words, struct arguments *ret, struct error *err) {
    static const char backend[] = "--backend=";

    for (; *words; words++) {
        if (strcmp(*words, "--apply") == 0)
            ret->apply = true;
        else if (strncmp(*words, backend, strlen(backend)) == 0) {
            const char *value = *words + strlen(backend), *equals = strchr(value, '=');

            if (!equals || equals == value || !equals[1])
                return error_set(err, ERROR_BAD_REQUEST, "--backend: \"%s\" is not THEIRS=OURS",
                                 value);
            if (ret->renamed_count == RENAMED_MOST)
                return error_set(err, ERROR_BAD_REQUEST, "--backend: more than %d", RENAMED_MOST);
            ret->renamed[ret->renamed_count++] = value;
        } else if (**words == '-' || ret->url_or_file)
            return error_set(err, ERROR_BAD_REQUEST, "unexpected argument \"%s\"", *words);
        else
            ret->url_or_file = *words;
    }
    return ret->url_or_file
               ? 0
               : error_set(err, ERROR_BAD_REQUEST,
                           "the path of cinder.conf is missing, or the address of its database");
}

/* ---- cinder.conf ---- */

static const char *value_of(char *line, const char *key) {
    size_t length = strlen(key);

    if (strncmp(line, key, length) != 0)
        return NULL;
    line += length + strspn(line + length, " \t");
    if (*line != '=')
        return NULL;
    line += 1 + strspn(line + 1, " \t");
    line[strcspn(line, " \t\r\n")] = '\0';
    return line;
}

/* [database] connection of a file with other sections that are Cinder's own. */
static int read_conf(struct arena *arena, const char *path, const char **ret, struct error *err) {
    enum { LINE_MOST = 4096 };
    autofile FILE *file = fopen(path, "re");
    char line[LINE_MOST];
    bool there = false;

    if (!file)
        return error_errno(err, ERROR_NOT_FOUND, "cannot read %s", path);
    while (fgets(line, sizeof line, file)) {
        const char *value = there ? value_of(line, "connection") : NULL;

        if (*line == '[')
            there = strncmp(line, "[database]", strlen("[database]")) == 0;
        if (value) {
            *ret = arena_text(arena, value);
            return 0;
        }
    }
    return error_set(err, ERROR_BAD_REQUEST, "%s has no connection in [database]", path);
}

/* ---- output ---- */

static const char *result_text(const struct printed *printed, enum import_result result) {
    switch (result) {
    case IMPORT_TAKEN:
        return printed->apply ? "taken" : "would be taken";
    case IMPORT_PRESENT:
        return "present";
    case IMPORT_LEFT:
        break;
    }
    return printed->apply ? "left" : "would be left";
}

/* In JSON, where text is UTF-8: another byte is '?'. */
static const char *json_name(const struct printed *printed, const char *text) {
    size_t size = text ? strlen(text) : 0, length;
    char *result = text ? arena_text(printed->arena, text) : NULL;
    uint32_t character;

    for (size_t i = 0; i < size; i += length ? length : 1) {
        length = utf8_next(text + i, size - i, &character);
        if (!length)
            result[i] = '?';
    }
    return result;
}

static void print_item(void *arg, const struct import_item *item) {
    struct printed *printed = arg;
    const char *result = result_text(printed, item->result);

    printed->counts[item->result]++;
    if (printed->list)
        json_array_append_new(printed->list,
                              json_pack("{ss ss ss? ss ss?}", "kind", item->kind, "id",
                                        json_name(printed, item->id), "name",
                                        json_name(printed, item->name), "result", result, "reason",
                                        json_name(printed, item->reason)));
    else
        table_add(&printed->table,
                  (const char *const[]){
                      item->kind, arena_text(printed->arena, item->id),
                      item->name ? arena_text(printed->arena, item->name) : NULL, result,
                      item->reason ? arena_text(printed->arena, item->reason) : NULL });
}

static void print_all(struct printed *printed, const struct import *import) {
    if (printed->list) {
        manage_print_json(json_incref(printed->list));
        return;
    }
    table_print(&printed->table);
    printf("%jd %s, %jd present, %jd %s\n", (intmax_t)printed->counts[IMPORT_TAKEN],
           result_text(printed, IMPORT_TAKEN), (intmax_t)printed->counts[IMPORT_PRESENT],
           (intmax_t)printed->counts[IMPORT_LEFT], result_text(printed, IMPORT_LEFT));
    if (import->groups + import->backups + import->transfers > 0)
        printf("Not taken over: %jd groups, %jd backups, %jd transfers.\n",
               (intmax_t)import->groups, (intmax_t)import->backups, (intmax_t)import->transfers);
    if (!printed->apply)
        puts("Nothing was written: --apply does it.");
}

/* ---- the run ---- */

static int run(const struct config *config, const struct arguments *arguments,
               struct printed *printed, struct error *err) {
    struct settings settings;
    struct import import = {
        .settings = &settings,
        .node = parts_node(config),
        .url = arguments->url_or_file,
        .renamed = arguments->renamed,
        .apply = arguments->apply,
        .report = print_item,
        .arg = printed,
    };
    struct manager_backend *backends;
    int result;

    if (!strstr(import.url, "://") && read_conf(printed->arena, import.url, &import.url, err) < 0)
        return -1;
    if (parts_open_db_as(config, import.apply ? DB_CHANGES : DB_READS, &import.db, err) < 0)
        return -1;
    settings_load(config, &clock_system, &settings);
    settings.clock = db_clock(import.db);
    result = parts_find_backends(config, &backends, err);
    if (result == 0) {
        import.backends = backends;
        result = import_run(&import, err);
        free(backends);
    }
    db_close(import.db);
    /* What was taken before a failure stays taken. */
    if (result == 0 || printed->counts[IMPORT_TAKEN] > 0)
        print_all(printed, &import);
    return result;
}

int manage_import_cinder(const struct config *config, const char *const *words, bool json) {
    static const char *const names[] = { "kind", "id", "name", "result", "reason", NULL };
    autoarena struct arena *arena = arena_new();
    struct printed printed = { .arena = arena, .list = json ? json_array() : NULL };
    struct arguments arguments = { 0 };
    struct error err;
    int result = read_words(words, &arguments, &err);

    printed.apply = arguments.apply;
    table_begin(&printed.table, arena, names, 0);
    if (result == 0)
        result = run(config, &arguments, &printed, &err);
    json_decref(printed.list);
    if (result == 0)
        return EXIT_SUCCESS;
    fputs("scoria manage import-cinder: ", stderr);
    plain_text_put(stderr, err.message);
    putc('\n', stderr);
    return EXIT_FAILURE;
}
