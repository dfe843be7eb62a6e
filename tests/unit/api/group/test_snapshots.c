#include "common/cleanup.h"
#include "tests/lib/groups.h"
#include "tests/lib/roles.h"

#define RESERVED      "(SELECT id FROM group_types WHERE name = 'default_cgsnapshot_type')"
#define ONE_MOMENT    "{\"consistent_group_snapshot_enabled\": \"<is> True\"}"
#define RESET(status) "{\"reset_status\": {\"status\": \"" status "\"}}"

static int send_request(struct world *world, const char *method, const char *path, const char *id) {
    return world_call(world, method, PATH("%s%s", path, id), NULL);
}

static int reset(struct world *world, const char *id, const char *body) {
    return world_call(world, "POST", PATH("/group_snapshots/%s/action", id), body);
}

/* A group of two volumes. */
static struct world *with_pair(const char **ret_volumes) {
    struct world *world = world_new(NULL);

    ret_volumes[0] = world_volume(world, 1);
    ret_volumes[1] = world_volume(world, 2);
    group_of(world, ret_volumes, 2);
    return world;
}

static void assert_nothing(struct world *world) {
    ck_assert_int_eq(COUNT("group_snapshots"), 0);
    ck_assert_int_eq(COUNT("snapshots"), 0);
    ck_assert_int_eq(COUNT("operations"), 0);
    ck_assert_int_eq(world_in_use(world, "snapshots"), 0);
    ck_assert_int_eq(world_check(world), 0);
}

/* ---- made and shown ---- */

START_TEST(a_group_snapshot_is_made_and_shown) {
    const char *volumes[2], *id, *type;
    autoworld struct world *world = with_pair(volumes);
    const json_t *shown;

    ck_assert_int_eq(request_group_snapshot(world, ", \"name\": \"n\", \"description\": \"d\""),
                     202);
    id = world_answer_id(world, "group_snapshot");
    type = PATH("%s", json_string_value(json_object_get(
                          json_object_get(world->answer, "group_snapshot"), "group_type_id")));
    ck_assert_str_eq(
        world->answer_text,
        PATH("{\"group_snapshot\":{\"id\":\"%s\",\"name\":\"n\",\"group_type_id\":\"%s\"}}", id,
             type));
    world_settle(world);
    ck_assert_int_eq(send_request(world, "GET", "/group_snapshots/", id), 200);
    shown = json_object_get(world->answer, "group_snapshot");
    ck_assert_str_eq(json_string_value(json_object_get(shown, "group_id")), GROUP_ID);
    ck_assert_str_eq(json_string_value(json_object_get(shown, "group_type_id")), type);
    ck_assert_str_eq(json_string_value(json_object_get(shown, "status")), "available");
    ck_assert_str_eq(json_string_value(json_object_get(shown, "name")), "n");
    ck_assert_str_eq(json_string_value(json_object_get(shown, "description")), "d");
    ck_assert_str_eq(json_string_value(json_object_get(shown, "project_id")), WORLD_PROJECT);
    ck_assert_uint_eq(json_object_size(shown), 8);
    ck_assert_int_eq(COUNT("snapshots WHERE display_name = 'n' AND display_description = 'd'"), 2);

    world->minor = 57;
    ck_assert_int_eq(send_request(world, "GET", "/group_snapshots/", id), 200);
    ck_assert_ptr_null(strstr(world->answer_text, "project_id"));
    ck_assert_int_eq(send_request(world, "GET", "/snapshots/", member_of(world, id, volumes[0])),
                     200);
    ck_assert_ptr_nonnull(strstr(world->answer_text, id));
}
END_TEST

START_TEST(lists_show_them_by_name_status_and_group) {
    static const struct {
        const char *query;
        unsigned count;
    } cases[] = {
        { "", 2 },
        { "?name=b", 1 },
        { "?status=available", 2 },
        { "?status=error", 0 },
        { "?group_id=" GROUP_ID, 2 },
        { "?group_id=" WORLD_INSTANCE, 0 },
        { "/detail?sort=name:asc&limit=1", 1 },
    };
    const char *volumes[2];
    autoworld struct world *world = with_pair(volumes);

    ck_assert_int_eq(request_group_snapshot(world, ", \"name\": \"a\""), 202);
    world_settle(world);
    ck_assert_int_eq(request_group_snapshot(world, ", \"name\": \"b\""), 202);
    world_settle(world);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        ck_assert_int_eq(send_request(world, "GET", "/group_snapshots", cases[i].query), 200);
        ck_assert_msg(json_array_size(json_object_get(world->answer, "group_snapshots")) ==
                          cases[i].count,
                      "%s: %s", cases[i].query, world->answer_text);
    }
    /* The link leads to the short list. */
    ck_assert_ptr_nonnull(strstr(world->answer_text, "\"group_snapshot_links\""));
    ck_assert_ptr_nonnull(strstr(world->answer_text, "/group_snapshots?"));
    world->minor = 28;
    ck_assert_int_eq(send_request(world, "GET", "/group_snapshots", "?name=b&limit=1"), 200);
    ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "group_snapshots")), 2);
}
END_TEST

START_TEST(group_snapshots_came_with_3_14_and_their_reset_with_3_19) {
    const char *volumes[2], *id;
    autoworld struct world *world = with_pair(volumes);

    id = group_snapshot(world);
    world->minor = 13;
    ck_assert_int_eq(request_group_snapshot(world, ""), 404);
    ck_assert_int_eq(send_request(world, "GET", "/group_snapshots", ""), 404);
    world->minor = 18;
    ck_assert_int_eq(reset(world, id, RESET("error")), 404);
    ck_assert_str_eq(group_snapshot_status(world, id), "available");
    world->minor = 19;
    ck_assert_int_eq(reset(world, id, RESET("error")), 202);
    ck_assert_str_eq(group_snapshot_status(world, id), "error");
}
END_TEST

/* ---- refused ---- */

START_TEST(a_bad_body_makes_nothing) {
    static const struct {
        const char *body;
        int status;
    } cases[] = {
        { "{}", 400 },
        { "{\"group_snapshot\": {}}", 400 },
        { "{\"group_snapshot\": {\"group_id\": \"x\"}}", 400 },
        { "{\"group_snapshot\": {\"group_id\": null}}", 400 },
        { "{\"group_snapshot\": {\"group_id\": \"" GROUP_ID "\", \"colour\": 1}}", 400 },
        { "{\"group_snapshot\": {\"group_id\": \"" GROUP_ID "\", \"name\": 1}}", 400 },
        { "{\"group_snapshot\": {\"group_id\": \"" WORLD_INSTANCE "\"}}", 404 },
    };
    const char *volumes[2];
    autoworld struct world *world = with_pair(volumes);

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(world_call(world, "POST", "/group_snapshots", cases[i].body) ==
                          cases[i].status,
                      "%s: %s", cases[i].body, world->answer_text);
    assert_nothing(world);
}
END_TEST

START_TEST(one_member_that_cannot_be_taken_refuses_all) {
    static const char *const changes[] = {
        "status = 'error'", "status = 'maintenance'",   "status = 'attaching'",
        "host = NULL",      "provider_location = NULL", "migration_status = 'migrating'",
    };

    for (size_t i = 0; i < LENGTH(changes); i++) {
        const char *volumes[2];
        autoworld struct world *world = with_pair(volumes);
        const char *before = PATH("UPDATE volumes SET %s WHERE id = '%s'", changes[i], volumes[1]);

        world_sql(world, before);
        ck_assert_msg(request_group_snapshot(world, "") == 400, "%s: %s", changes[i],
                      world->answer_text);
        ck_assert_ptr_nonnull(strstr(world->answer_text, volumes[1]));
        ck_assert_int_eq(COUNT("group_snapshots"), 0);
        ck_assert_int_eq(COUNT("snapshots"), 0);
        ck_assert_int_eq(COUNT("operations"), 0);
    }
}
END_TEST

START_TEST(a_frozen_backend_and_an_empty_group_make_none) {
    const char *volumes[2], *id;
    autoworld struct world *world = with_pair(volumes);

    id = group_snapshot(world);
    world_sql(world, "UPDATE services SET frozen = 1");
    ck_assert_int_eq(request_group_snapshot(world, ""), 400);
    ck_assert_int_eq(send_request(world, "DELETE", "/group_snapshots/", id), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "frozen"));
    world_sql(world, "UPDATE services SET frozen = 0");
    ck_assert_int_eq(send_request(world, "DELETE", "/group_snapshots/", id), 202);
    world_settle(world);
    world_sql(world, "UPDATE volumes SET group_id = NULL");
    ck_assert_int_eq(request_group_snapshot(world, ""), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "has no volumes"));
    assert_nothing(world);
}
END_TEST

START_TEST(each_member_counts_as_a_snapshot) {
    const char *volumes[2];
    autoworld struct world *world = with_pair(volumes);

    world->settings.quota_snapshots = 1;
    ck_assert_int_eq(request_group_snapshot(world, ""), 413);
    assert_nothing(world);
    world->settings.quota_snapshots = 2;
    ck_assert_int_eq(request_group_snapshot(world, ""), 202);
    ck_assert_int_eq(world_in_use(world, "snapshots"), 2);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 6);
}
END_TEST

/* ---- of one moment ---- */

START_TEST(a_promise_of_one_moment_is_kept_or_refused) {
    const char *volumes[2], *id;
    autoworld struct world *world = world_new(NULL);

    volumes[0] = world_volume(world, 1);
    volumes[1] = world_volume(world, 1);
    group_of_type(world, group_type(world, "moment", ONE_MOMENT), volumes, 2);
    id = group_snapshot(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "available");
    /* One that is written to has a moment of its own. */
    world_attach(world, volumes[0], WORLD_INSTANCE);
    id = group_snapshot(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "available");
    world_attach(world, volumes[1], WORLD_INSTANCE2);
    ck_assert_int_eq(request_group_snapshot(world, ""), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "consistent_group_snapshot_enabled"));
    ck_assert_ptr_nonnull(strstr(world->answer_text, volumes[0]));
    ck_assert_ptr_nonnull(strstr(world->answer_text, volumes[1]));
    ck_assert_int_eq(COUNT("group_snapshots"), 2);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(without_that_promise_attached_volumes_are_taken_in_turn) {
    const char *volumes[2], *id;
    autoworld struct world *world = with_pair(volumes);

    world_attach(world, volumes[0], WORLD_INSTANCE);
    world_attach(world, volumes[1], WORLD_INSTANCE2);
    id = group_snapshot(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "available");
}
END_TEST

/* ---- delete and reset ---- */

START_TEST(a_group_snapshot_is_deleted_when_available_or_in_error) {
    static const struct {
        const char *status;
        int answer;
    } cases[] = {
        { "creating", 400 }, { "deleting", 400 }, { "error_deleting", 400 },
        { "updating", 400 }, { "deleted", 400 },  { "error", 202 },
    };
    const char *volumes[2], *id;
    autoworld struct world *world = with_pair(volumes);

    ck_assert_int_eq(send_request(world, "DELETE", "/group_snapshots/", WORLD_INSTANCE), 404);
    id = group_snapshot(world);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        ck_assert_int_eq(reset(world, id, PATH(RESET("%s"), cases[i].status)), 202);
        ck_assert_str_eq(group_snapshot_status(world, id), cases[i].status);
        ck_assert_msg(send_request(world, "DELETE", "/group_snapshots/", id) == cases[i].answer,
                      "%s", cases[i].status);
    }
    world_settle(world);
    assert_nothing(world);
}
END_TEST

START_TEST(a_bad_reset_changes_nothing) {
    static const char *const bodies[] = {
        RESET("in-use"),
        RESET("unknown"),
        RESET(""),
        "{\"reset_status\": {}}",
        "{\"reset_status\": {\"status\": \"error\", \"x\": 1}}",
    };
    const char *volumes[2], *id;
    autoworld struct world *world = with_pair(volumes);

    id = group_snapshot(world);
    for (size_t i = 0; i < LENGTH(bodies); i++)
        ck_assert_msg(reset(world, id, bodies[i]) == 400, "%s: %s", bodies[i], world->answer_text);
    ck_assert_int_eq(reset(world, WORLD_INSTANCE, RESET("error")), 404);
    ck_assert_str_eq(group_snapshot_status(world, id), "available");
}
END_TEST

START_TEST(one_member_does_not_go_alone) {
    const char *volumes[2], *id, *member;
    autoworld struct world *world = with_pair(volumes);

    id = group_snapshot(world);
    member = member_of(world, id, volumes[0]);
    ck_assert_int_eq(send_request(world, "DELETE", "/snapshots/", member), 400);
    ck_assert_int_eq(world_call(world, "POST", PATH("/snapshots/%s/action", member),
                                "{\"os-force_delete\": null}"),
                     400);
    world_sql(world, "UPDATE volumes SET group_id = NULL");
    ck_assert_int_eq(
        send_request(world, "DELETE", PATH("/volumes/%s", volumes[0]), "?cascade=true"), 400);
    ck_assert_int_eq(COUNT("snapshots WHERE status = 'available'"), 2);
}
END_TEST

/* ---- those of consistency groups ---- */

START_TEST(group_snapshots_of_the_reserved_type_do_not_show) {
    const char *volumes[2], *id;
    autoworld struct world *world = with_pair(volumes);

    id = group_snapshot(world);
    world_sql(world, "UPDATE volume_groups SET group_type_id = " RESERVED);
    ck_assert_int_eq(request_group_snapshot(world, ""), 400);
    world_sql(world, "UPDATE group_snapshots SET group_type_id = " RESERVED);
    ck_assert_int_eq(send_request(world, "GET", "/group_snapshots/", id), 400);
    ck_assert_int_eq(send_request(world, "DELETE", "/group_snapshots/", id), 400);
    ck_assert_int_eq(send_request(world, "GET", "/group_snapshots", ""), 200);
    ck_assert_str_eq(world->answer_text, "{\"group_snapshots\":[]}");
}
END_TEST

START_TEST(a_group_snapshot_without_space_for_all_members_makes_none) {
    const char *volumes[2], *id;
    autoworld struct world *world = with_pair(volumes);

    world_sql(world, "UPDATE pools SET total_gb = 5, free_gb = 5, infinite = 0, "
                     "capabilities = '{\"thin_provisioning_support\": true, "
                     "\"max_over_subscription_ratio\": 1.0}'");
    id = group_snapshot(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "error");
    ck_assert_int_eq(COUNT("snapshots WHERE status = 'error'"), 2);
    ck_assert(world_has_message(world, id, "VOLUME_GROUP_SNAPSHOT_904_003"));
    ck_assert_int_eq(world_count(world, "SELECT snapshots_gb FROM pools"), 0);
    ck_assert_int_eq(world_check(world), 0);
    ck_assert_int_eq(send_request(world, "DELETE", "/group_snapshots/", id), 202);
    world_settle(world);
    assert_nothing(world);
}
END_TEST

CHECK_MAIN("group_snapshots", a_group_snapshot_without_space_for_all_members_makes_none,
           a_group_snapshot_is_made_and_shown, lists_show_them_by_name_status_and_group,
           group_snapshots_came_with_3_14_and_their_reset_with_3_19, a_bad_body_makes_nothing,
           one_member_that_cannot_be_taken_refuses_all,
           a_frozen_backend_and_an_empty_group_make_none, each_member_counts_as_a_snapshot,
           a_promise_of_one_moment_is_kept_or_refused,
           without_that_promise_attached_volumes_are_taken_in_turn,
           a_group_snapshot_is_deleted_when_available_or_in_error, a_bad_reset_changes_nothing,
           one_member_does_not_go_alone, group_snapshots_of_the_reserved_type_do_not_show)
