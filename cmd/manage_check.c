#include "cmd/manage.h"
#include "cmd/parts.h"
#include "cmd/plain_text.h"
#include "common/cleanup.h"
#include "manager/check/check.h"

struct findings {
    bool json;
    json_t *list;
};

static void print_line(FILE *to, const char *word, const char *text) {
    fprintf(to, "%s  ", word);
    plain_text_put(to, text);
    putc('\n', to);
}

static void print_finding(void *arg, const char *promise, const char *text) {
    struct findings *findings = arg;

    if (findings->json)
        json_array_append_new(findings->list,
                              json_pack("{ssss}", "promise", promise, "text", text));
    else
        print_line(stdout, promise, text);
}

/* JSON output has findings only. */
static void print_note(void *arg, const char *text) {
    const struct findings *findings = arg;

    print_line(findings->json ? stderr : stdout, "note", text);
}

/* Those of this node; ended with a NULL name. */
static const struct check_pool *pools_of(const struct config *config, struct arena *arena) {
    struct check_pool *pools;
    size_t count = 0;

    while (config_item(config, "storage", "enabled_pools", count))
        count++;
    pools = arena_alloc(arena, (count + 1) * sizeof *pools);
    for (size_t i = 0; i < count; i++) {
        const char *name = config_item(config, "storage", "enabled_pools", i);
        const char *path = config_text(config, name, "path");

        pools[i] = (struct check_pool){ name, path ? path : "" };
    }
    return pools;
}

static int check(const struct config *config, struct settings *settings, struct findings *findings,
                 struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct check check = {
        .settings = settings,
        .node = parts_node(config),
        .pools = pools_of(config, arena),
        .wrong = print_finding,
        .note = print_note,
        .arg = findings,
    };
    struct manager_backend *backends;
    int count = -1;

    if (parts_open_db_as(config, DB_READS, &check.db, err) < 0)
        return -1;
    settings->clock = db_clock(check.db);
    if (parts_find_backends(config, &backends, err) == 0) {
        check.backends = backends;
        count = check_run(&check, err);
        free(backends);
    }
    db_close(check.db);
    return count;
}

int manage_check(const struct config *config, bool json) {
    struct findings findings = { .json = json, .list = json_array() };
    struct settings settings;
    struct error err;
    int count;

    settings_load(config, &clock_system, &settings);
    count = check(config, &settings, &findings, &err);
    if (count < 0)
        fprintf(stderr, "scoria manage check: %s\n", err.message);
    else if (json)
        manage_print_json(json_incref(findings.list));
    else
        printf("%d finding%s\n", count, count == 1 ? "" : "s");
    json_decref(findings.list);
    return count == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
