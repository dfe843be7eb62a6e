/*
 * Short cuts of the tests about snapshots.
 */
#pragma once

#include "tests/lib/check_main.h"
#include "tests/lib/world.h"

#include <string.h>

#define PATH(...) arena_format(world->arena, __VA_ARGS__)

/* `text` with the volume's id for the first "V". */
static inline const char *with_volume(struct world *world, const char *text, const char *volume) {
    const char *place = strstr(text, "\"V\"");

    return place ? PATH("%.*s\"%s\"%s", (int)(place - text), text, volume, place + 3) : text;
}

/* POST /snapshots; `more` stands behind the volume's id. */
static inline int request_snapshot(struct world *world, const char *volume, const char *more) {
    return world_call(world, "POST", "/snapshots",
                      PATH("{\"snapshot\": {\"volume_id\": \"%s\"%s}}", volume, more));
}

static inline const char *new_snapshot(struct world *world, const char *volume) {
    ck_assert_int_eq(request_snapshot(world, volume, ""), 202);
    return world_answer_id(world, "snapshot");
}

/* One that is made. */
static inline const char *snapshot_of_volume(struct world *world, const char *volume) {
    const char *id = new_snapshot(world, volume);

    world_settle(world);
    return id;
}

/* As an admin sees it. */
static inline const json_t *snapshot_shown(struct world *world, const char *id) {
    const char *token = world->token;

    world->token = "admin:" WORLD_PROJECT;
    world_call(world, "GET", PATH("/snapshots/%s", id), NULL);
    world->token = token;
    return json_object_get(world->answer, "snapshot");
}

static inline const char *snapshot_status(struct world *world, const char *id) {
    const json_t *snapshot = snapshot_shown(world, id);

    return snapshot ? PATH("%s", json_string_value(json_object_get(snapshot, "status"))) : "gone";
}

#define assert_snapshot(world, id, status_) ck_assert_str_eq(snapshot_status(world, id), status_)
