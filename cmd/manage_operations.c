#include "cmd/manage.h"
#include "cmd/parts.h"
#include "common/cleanup.h"
#include "ledger/operation.h"

struct listing {
    struct operation *operations;
    int count;
};

static int list_body(struct work *work, void *arg, struct error *err) {
    struct listing *listing = arg;

    listing->count = operation_list(work, &listing->operations, err);
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

static void print_json(struct arena *arena, const struct listing *listing) {
    json_t *list = json_array();

    for (int i = 0; i < listing->count; i++) {
        const struct operation *row = &listing->operations[i];

        json_array_append_new(
            list,
            json_pack("{ss ss ss ss ss ss? ss? sI sI ss ss?}", "id", row->id, "kind",
                      row->kind->name, "volume_id", row->volume_id, "host", row->host, "phase",
                      operation_phase_text(row->phase), "owner", row->owner, "deadline",
                      instant(arena, row->deadline), "new_size_gb", (json_int_t)row->new_size_gb,
                      "attempts", (json_int_t)row->attempts, "request_id", row->request_id,
                      "created_at", instant(arena, row->created_at)));
    }
    manage_print_json(list);
}

static void print_table(struct arena *arena, const struct listing *listing) {
    printf("%-36s  %-7s  %-36s  %-10s  %-26s  %s\n", "id", "kind", "volume", "phase", "deadline",
           "owner");
    for (int i = 0; i < listing->count; i++) {
        const struct operation *row = &listing->operations[i];
        const char *deadline = instant(arena, row->deadline);

        printf("%-36s  %-7s  %-36s  %-10s  %-26s  %s\n", row->id, row->kind->name, row->volume_id,
               operation_phase_text(row->phase), deadline ? deadline : "-",
               row->owner && *row->owner ? row->owner : "-");
    }
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
