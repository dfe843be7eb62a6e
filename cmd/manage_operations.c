#include "cmd/manage.h"
#include "cmd/parts.h"
#include "cmd/table.h"
#include "common/cleanup.h"
#include "operation/operation.h"

struct listing {
    struct operation *operations;
    int count;
    int64_t now_us; /* of the wall clock */
};

static int list_body(struct work *work, void *arg, struct error *err) {
    struct listing *listing = arg;

    listing->count = operation_list(work, &listing->operations, err);
    listing->now_us = work->now_us;
    for (int i = 0; i < listing->count; i++) {
        struct operation *row = &listing->operations[i];

        row->deadline = work_shown(work, row->deadline);
        row->created_at = work_shown(work, row->created_at);
    }
    return listing->count < 0 ? -1 : 0;
}

static const char *instant(struct arena *arena, int64_t instant_us) {
    char text[CLOCK_TEXT_SIZE];

    return instant_us ? arena_text(arena, clock_text(instant_us, text)) : NULL;
}

static int64_t age_s(const struct listing *listing, const struct operation *row) {
    int64_t age_us = listing->now_us - row->created_at;

    return age_us > 0 ? age_us / SECOND_US : 0;
}

static void print_json(struct arena *arena, const struct listing *listing) {
    json_t *list = json_array();

    for (int i = 0; i < listing->count; i++) {
        const struct operation *row = &listing->operations[i];

        json_array_append_new(
            list,
            json_pack("{ss ss ss ss ss ss ss? ss? sI sI ss ss? sI sb so ss?}", "id", row->id,
                      "kind", row->kind->name, "volume_id", row->volume_id, "object_id",
                      row->object_id, "host", row->host, "phase", operation_phase_text(row->phase),
                      "owner", row->owner, "deadline", instant(arena, row->deadline), "new_size_gb",
                      (json_int_t)row->new_size_gb, "attempts", (json_int_t)row->attempts,
                      "request_id", row->request_id, "created_at", instant(arena, row->created_at),
                      "age", (json_int_t)age_s(listing, row), "long", row->is_long, "progress",
                      row->progress < 0 ? json_null() : json_integer(row->progress), "waits_for",
                      row->waits_for));
    }
    manage_print_json(list);
}

/* "12s", "3m20s", "5h07m", "2d04h". */
static const char *span(struct arena *arena, int64_t seconds) {
    static const struct {
        int64_t seconds, part;
        char word, part_word;
    } units[] = { { 86400, 3600, 'd', 'h' }, { 3600, 60, 'h', 'm' }, { 60, 1, 'm', 's' } };

    for (size_t i = 0; i < LENGTH(units); i++)
        if (seconds >= units[i].seconds)
            return arena_format(
                arena, "%jd%c%02jd%c", (intmax_t)(seconds / units[i].seconds), units[i].word,
                (intmax_t)(seconds % units[i].seconds / units[i].part), units[i].part_word);
    return arena_format(arena, "%jds", (intmax_t)seconds);
}

/* The object that it waits for, or its progress. */
static const char *state(struct arena *arena, const struct operation *row) {
    bool has_worker = row->owner && *row->owner;

    if (row->waits_for && !has_worker)
        return arena_format(arena, "%s in use", row->waits_for);
    if (row->progress >= 0)
        return arena_format(arena, "%d%%", row->progress);
    return row->is_long && !has_worker ? "long, waits" : row->is_long ? "long" : NULL;
}

static void print_table(struct arena *arena, const struct listing *listing) {
    static const char *const names[] = { "id",    "kind",     "object",   "phase", "since", "for",
                                         "state", "attempts", "deadline", "host",  "owner", NULL };
    struct table table;

    table_begin(&table, arena, names, 1 << 5 | 1 << 7);
    for (int i = 0; i < listing->count; i++) {
        const struct operation *row = &listing->operations[i];

        table_add(&table,
                  (const char *const[]){
                      row->id, row->kind->name, row->object_id, operation_phase_text(row->phase),
                      instant(arena, row->created_at), span(arena, age_s(listing, row)),
                      state(arena, row), arena_format(arena, "%jd", (intmax_t)row->attempts),
                      instant(arena, row->deadline), row->host, row->owner });
    }
    table_print(&table);
}

int manage_operations(const struct config *config, bool json) {
    autoarena struct arena *arena = arena_new();
    struct settings settings;
    const struct work base = work_own(&settings, arena);
    struct listing listing = { 0 };
    struct error err;
    struct db *db;
    int result;

    settings_load(config, &clock_system, &settings);
    if (parts_open_db_as(config, DB_READS, &db, &err) < 0) {
        fprintf(stderr, "scoria manage operations: %s\n", err.message);
        return EXIT_FAILURE;
    }
    settings.clock = db_clock(db);
    result = work_read(db, &base, list_body, &listing, &err);
    if (result < 0)
        fprintf(stderr, "scoria manage operations: %s\n", err.message);
    else if (json)
        print_json(arena, &listing);
    else
        print_table(arena, &listing);
    db_close(db);
    return result < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
