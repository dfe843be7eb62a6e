/*
 * Short cuts of the tests about groups and group snapshots.
 */
#pragma once

#include "common/cleanup.h"
#include "tests/lib/snapshots.h"

#define GROUP_ID "99999999-9999-4999-8999-999999999999"

#define COUNT(...) world_count(world, PATH("SELECT COUNT(*) FROM " __VA_ARGS__))

/* A group type; `specs` is JSON. */
static inline const char *group_type(struct world *world, const char *name, const char *specs) {
    ck_assert_int_eq(
        world_call(world, "POST", "/group_types",
                   PATH("{\"group_type\": {\"name\": \"%s\", \"group_specs\": %s}}", name, specs)),
        202);
    return world_answer_id(world, "group_type");
}

/* The group GROUP_ID, of that type, with the volumes. */
static inline void group_of_type(struct world *world, const char *type, const char *const *volumes,
                                 unsigned count) {
    const char *const become[] = {
        "INSERT INTO volume_groups SELECT '" GROUP_ID "', project_id, user_id, host, "
        "availability_zone, display_name, display_description, status, status_by_reset, "
        "group_type_id, group_snapshot_id, source_group_id, replication_status, created_at, "
        "updated_at FROM volume_groups",
        "UPDATE group_volume_types SET group_id = '" GROUP_ID "'",
        "DELETE FROM volume_groups WHERE id <> '" GROUP_ID "'",
    };

    ck_assert_int_eq(world_call(world, "POST", "/groups",
                                PATH("{\"group\": {\"group_type\": \"%s\", \"volume_types\": "
                                     "[\"__DEFAULT__\"]}}",
                                     type)),
                     202);
    for (unsigned i = 0; i < LENGTH(become); i++)
        world_sql(world, become[i]);
    for (unsigned i = 0; i < count; i++)
        world_sql(world,
                  PATH("UPDATE volumes SET group_id = '" GROUP_ID "' WHERE id = '%s'", volumes[i]));
}

static inline void group_of(struct world *world, const char *const *volumes, unsigned count) {
    group_of_type(world, group_type(world, "plain", "{}"), volumes, count);
}

/* POST /group_snapshots; `more` stands behind the group's id. */
static inline int request_group_snapshot(struct world *world, const char *more) {
    return world_call(world, "POST", "/group_snapshots",
                      PATH("{\"group_snapshot\": {\"group_id\": \"" GROUP_ID "\"%s}}", more));
}

static inline const char *new_group_snapshot(struct world *world) {
    ck_assert_msg(request_group_snapshot(world, "") == 202, "%s", world->answer_text);
    return world_answer_id(world, "group_snapshot");
}

/* One that is made. */
static inline const char *group_snapshot(struct world *world) {
    const char *id = new_group_snapshot(world);

    world_settle(world);
    return id;
}

/* As an admin sees it. */
static inline const char *group_snapshot_status(struct world *world, const char *id) {
    const char *token = world->token;
    const json_t *shown;

    world->token = "admin:" WORLD_PROJECT;
    world_call(world, "GET", PATH("/group_snapshots/%s", id), NULL);
    world->token = token;
    shown = json_object_get(world->answer, "group_snapshot");
    return shown ? PATH("%s", json_string_value(json_object_get(shown, "status"))) : "gone";
}

/* Its snapshot of that volume. */
static inline const char *member_of(struct world *world, const char *id, const char *volume) {
    const char *token = world->token;

    world->token = "admin:" WORLD_PROJECT;
    world_call(world, "GET",
               PATH("/snapshots/detail?group_snapshot_id=%s&volume_id=%s", id, volume), NULL);
    world->token = token;
    return PATH("%s", json_string_value(json_object_get(
                          json_array_get(json_object_get(world->answer, "snapshots"), 0), "id")));
}
