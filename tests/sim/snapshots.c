/*
 * Requests of clients about snapshots, and their invariants: a destroyed one was given up for good
 * before, and writes since a revert stay.
 */
#include "tests/lib/memory_guests.h"
#include "tests/sim/sim.h"

#include <string.h>

#define MEMBER "member:" WORLD_PROJECT

static const char *token_of(struct sim *sim) {
    return chance(sim, 30) ? MEMBER : SIM_ADMIN;
}

/* ---- looks that nothing comes between ---- */

static int text_body(struct db_tx *tx, void *arg, struct error *err) {
    struct text *text = arg;
    autorows struct db_rows *rows = db_query(tx, err, text->sql, DB_TEXT(text->id));
    int more = rows ? db_next(rows, err) : -1;

    if (more > 0)
        snprintf(text->found, sizeof text->found, "%s", db_text(rows, 0));
    return more < 0 ? -1 : 0;
}

struct text look_for(struct sim *sim, const char *sql, const char *id) {
    struct text text = { .sql = sql, .id = id };
    struct error err;

    if (db_read(sim->world->db, text_body, &text, &err) < 0)
        wrong(sim, "database: %s", err.message);
    return text;
}

static struct text newest(struct sim *sim, const struct model *model) {
    return look_for(sim,
                    "SELECT id FROM snapshots WHERE volume_id = $1 "
                    "ORDER BY asked_us DESC, id DESC LIMIT 1",
                    model->id);
}

static struct text oldest(struct sim *sim, const struct model *model) {
    return look_for(sim,
                    "SELECT id FROM snapshots WHERE volume_id = $1 ORDER BY asked_us, id LIMIT 1",
                    model->id);
}

static struct text any(struct sim *sim, const struct model *model) {
    return chance(sim, 50) ? newest(sim, model) : oldest(sim, model);
}

static bool is_reverted_now(struct sim *sim, const char *volume_id) {
    return look_for(sim, "SELECT id FROM operations WHERE volume_id = $1 AND kind = 'revert'",
                    volume_id)
               .found[0] != '\0';
}

/* ---- requests ---- */

static int request(struct sim *sim, const char *token, const char *method, const char *path,
                   const char *body) {
    autoarena struct arena *arena = arena_new();
    autoanswer struct answer answer;

    call_api(sim, token, method, path, body, &answer);
    return check_answer(sim, arena_format(arena, "%s %s %s", method, path, body ? body : ""),
                        &answer);
}

void snapshot_take(struct sim *sim, void *arg) {
    autoarena struct arena *arena = arena_new();
    const struct model *model = arg;

    request(sim, token_of(sim), "POST", "/snapshots",
            arena_format(arena, "{\"snapshot\": {\"volume_id\": \"%s\"}}", model->id));
}

void snapshot_drop(struct sim *sim, void *arg) {
    autoarena struct arena *arena = arena_new();
    struct text id = any(sim, arg);
    bool force = chance(sim, 30);

    if (!id.found[0])
        return;
    if (force)
        request(sim, SIM_ADMIN, "POST", arena_format(arena, "/snapshots/%s/action", id.found),
                "{\"os-force_delete\": null}");
    else
        request(sim, token_of(sim), "DELETE", arena_format(arena, "/snapshots/%s", id.found), NULL);
}

void snapshot_reset(struct sim *sim, void *arg) {
    static const char *const statuses[] = { "available", "available", "error",
                                            "deleting",  "creating",  "error_deleting" };
    autoarena struct arena *arena = arena_new();
    struct text id = any(sim, arg);

    if (id.found[0])
        request(sim, SIM_ADMIN, "POST", arena_format(arena, "/snapshots/%s/action", id.found),
                arena_format(arena, "{\"os-reset_status\": {\"status\": \"%s\"}}",
                             statuses[below(sim, LENGTH(statuses))]));
}

void snapshot_revert(struct sim *sim, void *arg) {
    autoarena struct arena *arena = arena_new();
    struct model *model = arg;
    struct text id = newest(sim, model);

    if (!id.found[0])
        return;
    model_disturb(sim, model->id);
    model->content = 0;
    request(sim, token_of(sim), "POST", arena_format(arena, "/volumes/%s/action", model->id),
            arena_format(arena, "{\"revert\": {\"snapshot_id\": \"%s\"}}", id.found));
    model_disturb(sim, model->id);
    /* Written in between, and after that it may have been accepted. */
    model->content = 0;
}

void snapshot_copy(struct sim *sim, void *arg) {
    autoarena struct arena *arena = arena_new();
    const struct model *model = arg;
    struct text id = any(sim, model);
    bool of_snapshot = id.found[0] && chance(sim, 60);
    autoanswer struct answer answer;
    int64_t size = row_size(sim, model->id) + below(sim, 2);

    call_api(sim, token_of(sim), "POST", "/volumes",
             arena_format(arena, "{\"volume\": {\"size\": %jd, \"%s\": \"%s\"}}", (intmax_t)size,
                          of_snapshot ? "snapshot_id" : "source_volid",
                          of_snapshot ? id.found : model->id),
             &answer);
    if (check_answer(sim, "copy", &answer) > 0)
        model_new(sim, &answer, size);
}

void content_write(struct sim *sim, void *arg) {
    struct model *model = arg;
    int64_t content = 1 + below(sim, 1000000);

    if (is_reverted_now(sim, model->id) || strcmp(row_status(sim, model->id), "creating") == 0 ||
        !memory_write(sim->world->memory, model->id, content))
        return;
    note(sim, "%.8s: %jd is written", model->id, (intmax_t)content);
    model->content = content;
}

/* ---- right before an effect ---- */

static void check_dropped(struct sim *sim, const char *id) {
    struct text row =
        look_for(sim,
                 "SELECT CASE WHEN delete_begun = 1 OR provider_location IS NULL THEN 'given up' "
                 "ELSE status END FROM snapshots WHERE id = $1",
                 id);

    if (row.found[0] && strcmp(row.found, "given up") != 0)
        wrong(sim, "the object of snapshot %s is destroyed, which is %s", id, row.found);
}

void snapshot_touched(struct sim *sim, const char *call, const char *name_id) {
    struct model *model;
    char id[37];

    if (strcmp(call, "delete_snapshot") == 0)
        check_dropped(sim, name_id);
    if (strcmp(call, "revert_volume") != 0 ||
        !memory_made_as(sim->world->memory, name_id, id, sizeof id))
        return;
    /* The snapshot may be of a time when the image was not as large as it has become by itself. */
    model = model_of(sim, id);
    if (model)
        model->seen_bytes = 0;
}

/* ---- at rest ---- */

void snapshot_check_end(struct sim *sim, const struct model *model) {
    int64_t content = memory_read(sim->world->memory, model->id);

    if (model->content && content >= 0 && content != model->content)
        wrong(sim, "volume %s holds %jd, but %jd was written", model->id, (intmax_t)content,
              (intmax_t)model->content);
}

static bool has_status(struct sim *sim, const char *id, const char *status) {
    return strcmp(look_for(sim, "SELECT status FROM snapshots WHERE id = $1", id).found, status) ==
           0;
}

static void check_made(struct sim *sim, const char *volume_id) {
    autoarena struct arena *arena = arena_new();
    char id[37] = "";
    int status = ask(sim, "POST", "/snapshots",
                     arena_format(arena, "{\"snapshot\": {\"volume_id\": \"%s\"}}", volume_id), id);

    if (status == 413)
        return;
    if (status != 202 || !has_status(sim, id, "available")) {
        wrong(sim, "volume %s can get no snapshot at rest: %d", volume_id, status);
        return;
    }
    status = ask(sim, "POST", arena_format(arena, "/volumes/%s/action", volume_id),
                 arena_format(arena, "{\"revert\": {\"snapshot_id\": \"%s\"}}", id), NULL);
    if (status != 202 || strcmp(row_status(sim, volume_id), "available") != 0)
        wrong(sim, "volume %s cannot be reverted at rest: %d, %s", volume_id, status,
              row_status(sim, volume_id));
}

void snapshot_check_usable(struct sim *sim, const char *volume_id) {
    autoarena struct arena *arena = arena_new();
    struct model key;
    struct text id;

    check_made(sim, volume_id);
    snprintf(key.id, sizeof key.id, "%s", volume_id);
    while (!sim->failed && (id = oldest(sim, &key)).found[0]) {
        int status = ask(sim, "POST", arena_format(arena, "/snapshots/%s/action", id.found),
                         "{\"os-force_delete\": null}", NULL);

        if (status != 202 || strcmp(oldest(sim, &key).found, id.found) == 0)
            wrong(sim, "snapshot %s cannot be deleted at rest: %d", id.found, status);
    }
}
