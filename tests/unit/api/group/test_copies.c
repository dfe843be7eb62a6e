/*
 * Groups that are made of group snapshots and of groups.
 */
#include "common/cleanup.h"
#include "tests/lib/groups.h"
#include "tests/lib/memory_guests.h"

#define OF_SNAPSHOT "\"group_snapshot_id\": \"%s\""
#define OF_GROUP    "\"source_group_id\": \"" GROUP_ID "\""

static int copy(struct world *world, const char *members) {
    return world_call(world, "POST", "/groups/action",
                      PATH("{\"create-from-src\": {%s}}", members));
}

static const char *copied(struct world *world, const char *members) {
    ck_assert_msg(copy(world, members) == 202, "%s", world->answer_text);
    return world_answer_id(world, "group");
}

static const char *status_of(struct world *world, const char *id) {
    world_call(world, "GET", PATH("/groups/%s", id), NULL);
    return PATH("%s", json_string_value(
                          json_object_get(json_object_get(world->answer, "group"), "status")));
}

/* A group of two volumes that hold 1 and 2. */
static struct world *with_pair(const char **ret_volumes) {
    struct world *world = world_new(NULL);

    for (int i = 0; i < 2; i++) {
        ret_volumes[i] = world_volume(world, i + 1);
        memory_write(world->memory, ret_volumes[i], i + 1);
    }
    group_of(world, ret_volumes, 2);
    return world;
}

static const char *volume_of(struct world *world, const char *group, int size_gb) {
    world_call(world, "GET", PATH("/volumes?group_id=%s&size=%d", group, size_gb), NULL);
    return PATH("%s", json_string_value(json_object_get(
                          json_array_get(json_object_get(world->answer, "volumes"), 0), "id")));
}

static void assert_copy(struct world *world, const char *id) {
    ck_assert_str_eq(status_of(world, id), "available");
    ck_assert_int_eq(COUNT("volumes WHERE group_id = '%s' AND status = 'available'", id), 2);
    for (int i = 1; i <= 2; i++)
        ck_assert_int_eq(memory_read(world->memory, volume_of(world, id, i)), i);
    ck_assert_int_eq(world_in_use(world, "groups"), 2);
    ck_assert_int_eq(world_in_use(world, "volumes"), 4);
    ck_assert_int_eq(COUNT("operations"), 0);
    ck_assert_int_eq(world_check(world), 0);
}

START_TEST(a_group_is_made_of_a_group_snapshot) {
    const char *volumes[2], *snapshot, *id;
    autoworld struct world *world = with_pair(volumes);
    const json_t *shown;

    snapshot = group_snapshot(world);
    memory_write(world->memory, volumes[0], 7);
    id = copied(world, PATH(OF_SNAPSHOT ", \"name\": \"n\", \"description\": \"d\"", snapshot));
    ck_assert_str_eq(world->answer_text, PATH("{\"group\":{\"id\":\"%s\",\"name\":\"n\"}}", id));
    ck_assert_str_eq(status_of(world, id), "creating");
    ck_assert_int_eq(world_check(world), 0);
    /* Its source stays meanwhile. */
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", snapshot), NULL), 400);
    world_settle(world);
    assert_copy(world, id);
    world_call(world, "GET", PATH("/groups/%s", id), NULL);
    shown = json_object_get(world->answer, "group");
    ck_assert_str_eq(json_string_value(json_object_get(shown, "group_snapshot_id")), snapshot);
    ck_assert(json_is_null(json_object_get(shown, "source_group_id")));
    ck_assert_str_eq(json_string_value(json_object_get(shown, "description")), "d");
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", snapshot), NULL), 202);
}
END_TEST

START_TEST(a_group_is_made_of_a_group) {
    const char *volumes[2], *id;
    autoworld struct world *world = with_pair(volumes);

    id = copied(world, OF_GROUP);
    ck_assert_str_eq(status_of(world, id), "creating");
    world_settle(world);
    assert_copy(world, id);
    world_call(world, "GET", PATH("/groups/%s", id), NULL);
    ck_assert_str_eq(json_string_value(json_object_get(json_object_get(world->answer, "group"),
                                                       "source_group_id")),
                     GROUP_ID);
}
END_TEST

START_TEST(a_request_without_exactly_one_source_is_refused) {
    static const struct {
        const char *members;
        int status;
    } cases[] = {
        { "", 400 },
        { "\"name\": \"n\"", 400 },
        { OF_GROUP ", \"group_snapshot_id\": \"" WORLD_INSTANCE "\"", 400 },
        { OF_GROUP ", \"colour\": 1", 400 },
        { "\"source_group_id\": \"x\"", 400 },
        { "\"source_group_id\": \"" WORLD_INSTANCE "\"", 404 },
        { "\"group_snapshot_id\": \"" WORLD_INSTANCE "\"", 404 },
    };
    const char *volumes[2];
    autoworld struct world *world = with_pair(volumes);

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(copy(world, cases[i].members) == cases[i].status, "%s: %s", cases[i].members,
                      world->answer_text);
    world->minor = 13;
    ck_assert_int_ge(copy(world, OF_GROUP), 400);
    world->minor = 71;
    world_sql(world, "UPDATE volumes SET group_id = NULL");
    ck_assert_int_eq(copy(world, OF_GROUP), 400);
    ck_assert_int_eq(COUNT("volume_groups"), 1);
    ck_assert_int_eq(COUNT("volumes"), 2);
}
END_TEST

START_TEST(one_source_that_is_not_ready_or_no_quota_refuses_all) {
    const char *volumes[2], *id;
    autoworld struct world *world = with_pair(volumes);

    id = group_snapshot(world);
    world_sql(world,
              PATH("UPDATE snapshots SET status = 'error' WHERE volume_id = '%s'", volumes[1]));
    ck_assert_int_eq(copy(world, PATH(OF_SNAPSHOT, id)), 400);
    world_sql(world, PATH("UPDATE volumes SET status = 'error' WHERE id = '%s'", volumes[1]));
    ck_assert_int_eq(copy(world, OF_GROUP), 400);
    world_sql(world, "UPDATE volumes SET status = 'available'");
    world->settings.quota_volumes = 3;
    ck_assert_int_eq(copy(world, OF_GROUP), 413);
    world->settings.quota_volumes = 4;
    world->settings.quota_groups = 1;
    ck_assert_int_eq(copy(world, OF_GROUP), 413);
    ck_assert_int_eq(COUNT("volume_groups"), 1);
    ck_assert_int_eq(COUNT("volumes"), 2);
    ck_assert_int_eq(world_in_use(world, "groups"), 1);
    ck_assert_int_eq(world_in_use(world, "volumes"), 2);
}
END_TEST

static int creates;

static struct fault_decision fail_second(void *arg, const char *call, const char *name_id) {
    (void)arg, (void)name_id;
    return (struct fault_decision){ .action = strcmp(call, "clone_volume") == 0 && ++creates == 2
                                                  ? FAULT_BEFORE
                                                  : FAULT_PASS };
}

START_TEST(one_volume_that_fails_makes_the_group_an_error) {
    const char *volumes[2], *id;
    autoworld struct world *world = with_pair(volumes);

    creates = 0;
    world->decide = fail_second;
    id = copied(world, OF_GROUP);
    world_settle(world);
    ck_assert_str_eq(status_of(world, id), "error");
    ck_assert_int_eq(COUNT("volumes WHERE group_id = '%s' AND status = 'error'", id), 1);
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_GROUP_903_012"));
    ck_assert_int_eq(world_check(world), 0);
    ck_assert_int_eq(world_call(world, "POST", PATH("/groups/%s/action", id),
                                "{\"delete\": {\"delete-volumes\": true}}"),
                     202);
    world_settle(world);
    ck_assert_int_eq(COUNT("volume_groups"), 1);
    ck_assert_int_eq(world_in_use(world, "volumes"), 2);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(a_status_set_by_an_operator_stays) {
    const char *volumes[2], *id;
    autoworld struct world *world = with_pair(volumes);

    id = copied(world, OF_GROUP);
    ck_assert_int_eq(world_call(world, "POST", PATH("/groups/%s/action", id),
                                "{\"reset_status\": {\"status\": \"error\"}}"),
                     202);
    world_settle(world);
    ck_assert_str_eq(status_of(world, id), "error");
    ck_assert_int_eq(COUNT("volumes WHERE status = 'available'"), 4);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

CHECK_MAIN("group_copies", a_group_is_made_of_a_group_snapshot, a_group_is_made_of_a_group,
           a_request_without_exactly_one_source_is_refused,
           one_source_that_is_not_ready_or_no_quota_refuses_all,
           one_volume_that_fails_makes_the_group_an_error, a_status_set_by_an_operator_stays)
