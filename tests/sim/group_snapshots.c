/*
 * Requests of clients about group snapshots, and their invariants: one that is available is whole,
 * and at rest each can be deleted.
 */
#include "tests/sim/sim.h"

#include <string.h>

static void request(struct sim *sim, const char *method, const char *path, const char *body) {
    autoarena struct arena *arena = arena_new();
    autoanswer struct answer answer = { 0 };

    call_api(sim, SIM_ADMIN, method, path, body, &answer);
    check_answer(sim, arena_format(arena, "%s %s %s", method, path, body ? body : ""), &answer);
}

void group_snapshot_take(struct sim *sim, void *arg) {
    autoarena struct arena *arena = arena_new();
    const struct model *model = arg;
    struct text group = look_for(
        sim, "SELECT group_id FROM volumes WHERE group_id IS NOT NULL AND id = $1", model->id);

    if (group.found[0])
        request(sim, "POST", "/group_snapshots",
                arena_format(arena, "{\"group_snapshot\": {\"group_id\": \"%s\"}}", group.found));
}

/* One that the volume is in. */
static struct text one_of(struct sim *sim, const struct model *model) {
    return look_for(sim,
                    "SELECT group_snapshot_id FROM snapshots WHERE volume_id = $1 AND "
                    "group_snapshot_id IS NOT NULL ORDER BY id LIMIT 1",
                    model->id);
}

void group_snapshot_drop(struct sim *sim, void *arg) {
    autoarena struct arena *arena = arena_new();
    struct text id = one_of(sim, arg);

    if (id.found[0])
        request(sim, "DELETE", arena_format(arena, "/group_snapshots/%s", id.found), NULL);
}

void group_snapshot_reset(struct sim *sim, void *arg) {
    autoarena struct arena *arena = arena_new();
    struct text id = one_of(sim, arg);

    if (id.found[0])
        request(sim, "POST", arena_format(arena, "/group_snapshots/%s/action", id.found),
                "{\"reset_status\": {\"status\": \"error\"}}");
}

/* Those of clients that neither attached nor terminated: docs/operations.md has the operator end
 * them, before which no image of the volume is removed.  Of several attachments a terminate does
 * not name one, a reset does. */
static void end_connections(struct sim *sim) {
    static const char sql[] = "SELECT volume_id FROM connections WHERE $1 = '' LIMIT 1";
    static const char terminate[] =
        "{\"os-terminate_connection\": {\"connector\": {\"host\": \"x\"}}}";
    static const char reset[] =
        "{\"os-reset_status\": {\"status\": \"available\", \"attach_status\": \"detached\"}}";
    autoarena struct arena *arena = arena_new();
    struct text id;

    while (!sim->failed && (id = look_for(sim, sql, "")).found[0]) {
        const char *path = arena_format(arena, "/volumes/%s/action", id.found);
        int status = ask(sim, "POST", path, terminate, NULL);

        if (status == 409)
            status = ask(sim, "POST", path, reset, NULL);
        if (status != 202 || strcmp(look_for(sim, sql, "").found, id.found) == 0)
            wrong(sim, "a connection of volume %s cannot be ended at rest: %d", id.found, status);
    }
}

void group_snapshots_check_end(struct sim *sim) {
    static const char any_left[] =
        "SELECT id FROM group_snapshots WHERE $1 = '' ORDER BY id LIMIT 1";
    autoarena struct arena *arena = arena_new();
    struct text id = look_for(sim,
                              "SELECT s.group_snapshot_id FROM snapshots s JOIN group_snapshots g "
                              "ON g.id = s.group_snapshot_id WHERE g.status = 'available' AND "
                              "s.provider_location IS NULL AND $1 = '' LIMIT 1",
                              "");

    if (id.found[0])
        wrong(sim, "group snapshot %s is available and not whole", id.found);
    end_connections(sim);
    while (!sim->failed && (id = look_for(sim, any_left, "")).found[0]) {
        const char *path = arena_format(arena, "/group_snapshots/%s", id.found);
        int status;

        ask(sim, "POST", arena_format(arena, "%s/action", path),
            "{\"reset_status\": {\"status\": \"error\"}}", NULL);
        status = ask(sim, "DELETE", path, NULL, NULL);
        if (status != 202 || strcmp(look_for(sim, any_left, "").found, id.found) == 0)
            wrong(sim, "group snapshot %s cannot be deleted at rest: %d", id.found, status);
    }
}
