/*
 * Consistency groups and their snapshots: groups of the reserved type, by their former names.
 */
#include "tests/lib/groups.h"
#include "tests/lib/roles.h"

#define UNKNOWN "88888888-8888-4888-8888-888888888888"
#define TYPE    "\"volume_types\": \"__DEFAULT__\""

static int create(struct world *world, const char *members) {
    return world_call(world, "POST", "/consistencygroups",
                      PATH("{\"consistencygroup\": {%s}}", members));
}

static const char *new_group(struct world *world, const char *name) {
    ck_assert_msg(create(world, PATH(TYPE ", \"name\": \"%s\"", name)) == 202, "%s",
                  world->answer_text);
    return world_answer_id(world, "consistencygroup");
}

static int send_request(struct world *world, const char *method, const char *path, const char *id) {
    return world_call(world, method, PATH("/%s/%s", path, id), NULL);
}

static const json_t *shown(struct world *world, const char *word, const char *id) {
    return send_request(world, "GET", PATH("%ss", word), id) == 200
               ? json_object_get(world->answer, word)
               : NULL;
}

static const char *text_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static const char *status_of(struct world *world, const char *word, const char *id) {
    const json_t *object = shown(world, word, id);

    return object ? PATH("%s", text_of(object, "status")) : "gone";
}

static const char *member(struct world *world, const char *key, const char *group) {
    const char *id;
    int status =
        world_call(world, "POST", "/volumes",
                   PATH("{\"volume\": {\"size\": 1, \"volume_type\": \"__DEFAULT__\", \"%s\": "
                        "\"%s\"}}",
                        key, group));

    ck_assert_msg(status == 202, "%s", world->answer_text);
    id = world_answer_id(world, "volume");
    world_settle(world);
    return id;
}

/* A consistency group with a volume; every request in the version that had it first. */
static struct world *with_member(const char **ret_group, const char **ret_volume) {
    struct world *world = world_new(NULL);

    world->minor = 0;
    *ret_group = new_group(world, "g");
    *ret_volume = member(world, "consistencygroup_id", *ret_group);
    return world;
}

static int snapshot(struct world *world, const char *members) {
    return world_call(world, "POST", "/cgsnapshots", PATH("{\"cgsnapshot\": {%s}}", members));
}

#define OF_GROUP "\"consistencygroup_id\": \"%s\""

static const char *new_snapshot_of(struct world *world, const char *group) {
    const char *id;

    ck_assert_msg(snapshot(world, PATH(OF_GROUP ", \"name\": \"s\"", group)) == 202, "%s",
                  world->answer_text);
    id = world_answer_id(world, "cgsnapshot");
    world_settle(world);
    return id;
}

static int copy(struct world *world, const char *members) {
    return world_call(world, "POST", "/consistencygroups/create_from_src",
                      PATH("{\"consistencygroup-from-src\": {%s}}", members));
}

static int update(struct world *world, const char *id, const char *tail, const char *members) {
    return world_call(world, "PUT", PATH("/consistencygroups/%s%s", id, tail),
                      PATH("{\"consistencygroup\": {%s}}", members));
}

static int drop(struct world *world, const char *id, const char *body) {
    return world_call(world, "POST", PATH("/consistencygroups/%s/delete", id), body);
}

#define FORCE "{\"consistencygroup\": {\"force\": true}}"

/* ---- groups ---- */

START_TEST(a_consistency_group_is_made_shown_and_deleted) {
    autoworld struct world *world = world_new(NULL);
    const char *id;
    const json_t *group;

    world->minor = 0;
    ck_assert_int_eq(create(world, TYPE ", \"name\": \"g\", \"description\": \"d\", "
                                        "\"availability_zone\": null, \"user_id\": null, "
                                        "\"project_id\": null, \"status\": \"creating\""),
                     202);
    id = world_answer_id(world, "consistencygroup");
    ck_assert_str_eq(world->answer_text,
                     PATH("{\"consistencygroup\":{\"id\":\"%s\",\"name\":\"g\"}}", id));
    group = shown(world, "consistencygroup", id);
    ck_assert_uint_eq(json_object_size(group), 7);
    ck_assert_str_eq(text_of(group, "status"), "available");
    ck_assert_str_eq(text_of(group, "availability_zone"), "nova");
    ck_assert_str_eq(text_of(group, "description"), "d");
    ck_assert_uint_eq(json_array_size(json_object_get(group, "volume_types")), 1);
    ck_assert_int_eq(COUNT("volume_groups g JOIN group_types t ON t.id = g.group_type_id "
                           "WHERE t.name = 'default_cgsnapshot_type'"),
                     1);
    ck_assert_int_eq(world_in_use(world, "groups"), 1);
    ck_assert_int_eq(drop(world, id, "{}"), 202);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_str_eq(status_of(world, "consistencygroup", id), "gone");
    ck_assert_int_eq(world_in_use(world, "groups"), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(a_bad_consistency_group_is_refused) {
    static const struct {
        const char *members;
        int status;
    } cases[] = {
        { "", 400 },
        { "\"name\": \"n\"", 400 },
        { "\"volume_types\": \"\"", 400 },
        { "\"volume_types\": \",,\"", 400 },
        { "\"volume_types\": null", 400 },
        { "\"volume_types\": [\"__DEFAULT__\"]", 400 },
        { "\"volume_types\": \"none\"", 404 },
        { "\"volume_types\": \"__DEFAULT__,none\"", 404 },
        { TYPE ", \"availability_zone\": \"moon\"", 400 },
        { TYPE ", \"name\": 1", 400 },
        { TYPE ", \"description\": \"a\\nb\"", 400 },
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(create(world, cases[i].members) == cases[i].status, "%s: %d %s",
                      cases[i].members, world->status, world->answer_text);
    ck_assert_int_eq(world_call(world, "POST", "/consistencygroups", "{\"group\": {" TYPE "}}"),
                     400);
    world->settings.quota_groups = 0;
    ck_assert_int_eq(create(world, TYPE), 413);
    world_sql(world, "UPDATE group_types SET name = 'another'");
    ck_assert_int_eq(create(world, TYPE), 404);
    ck_assert_int_eq(COUNT("volume_groups"), 0);
    ck_assert_int_eq(world_in_use(world, "groups"), 0);
}
END_TEST

START_TEST(several_types_are_named_with_commas) {
    autoworld struct world *world = world_new(NULL);

    ck_assert_int_eq(world_call(world, "POST", "/types", "{\"volume_type\": {\"name\": \"gold\"}}"),
                     200);
    ck_assert_int_eq(create(world, "\"volume_types\": \"gold,__DEFAULT__,gold,\""), 202);
    ck_assert_uint_eq(
        json_array_size(json_object_get(
            shown(world, "consistencygroup", world_answer_id(world, "consistencygroup")),
            "volume_types")),
        2);
}
END_TEST

/* Neither is there as the other, and volumes show which it is. */
START_TEST(a_consistency_group_is_no_group_and_a_group_none_of_these) {
    static const char *const keys[] = { "group_id", "consistencygroup_id" };
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id, *snapshots[2];

    group_of(world, &volume, 1);
    ck_assert(json_is_null(json_object_get(world_show(world, volume), "consistencygroup_id")));
    ck_assert_str_eq(status_of(world, "consistencygroup", GROUP_ID), "gone");
    id = new_group(world, "h");
    for (size_t i = 0; i < LENGTH(keys); i++) {
        volume = member(world, keys[i], id);
        ck_assert_ptr_nonnull(
            strstr(world->answer_text, PATH("\"consistencygroup_id\":\"%s\"", id)));
        ck_assert_str_eq(text_of(world_show(world, volume), "consistencygroup_id"), id);
        ck_assert_str_eq(text_of(world_show(world, volume), "group_id"), id);
        volume = member(world, keys[i], GROUP_ID);
        ck_assert(json_is_null(json_object_get(world_show(world, volume), "consistencygroup_id")));
    }

    ck_assert_int_eq(send_request(world, "GET", "groups", id), 400);
    ck_assert_int_eq(world_call(world, "GET", "/groups", NULL), 200);
    ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "groups")), 1);
    ck_assert_int_eq(world_call(world, "GET", "/consistencygroups", NULL), 200);
    ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "consistencygroups")), 1);
    ck_assert_int_eq(update(world, GROUP_ID, "", "\"name\": \"n\""), 404);
    ck_assert_int_eq(drop(world, GROUP_ID, FORCE), 404);
    ck_assert_int_eq(snapshot(world, PATH(OF_GROUP, GROUP_ID)), 404);
    ck_assert_int_eq(copy(world, "\"source_cgid\": \"" GROUP_ID "\""), 404);

    snapshots[0] = group_snapshot(world);
    snapshots[1] = new_snapshot_of(world, id);
    ck_assert_int_eq(send_request(world, "GET", "group_snapshots", snapshots[1]), 400);
    ck_assert_int_eq(send_request(world, "GET", "cgsnapshots", snapshots[0]), 404);
    ck_assert_int_eq(send_request(world, "DELETE", "cgsnapshots", snapshots[0]), 404);
    ck_assert_int_eq(copy(world, PATH("\"cgsnapshot_id\": \"%s\"", snapshots[0])), 404);
    ck_assert_int_eq(world_call(world, "GET", "/cgsnapshots", NULL), 200);
    ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "cgsnapshots")), 1);
    ck_assert_int_eq(COUNT("group_snapshots WHERE status = 'available'"), 2);
}
END_TEST

START_TEST(a_delete_takes_the_volumes_by_force_alone) {
    static const struct {
        const char *body;
        int status;
    } cases[] = {
        { NULL, 400 },
        { "{}", 400 },
        { "{\"consistencygroup\": {}}", 400 },
        { "{\"consistencygroup\": null}", 400 },
        { "{\"consistencygroup\": {\"force\": false}}", 400 },
        { "{\"consistencygroup\": {\"force\": \"maybe\"}}", 400 },
        { "{\"consistencygroup\": {\"force\": true, \"colour\": 1}}", 400 },
        { "{\"group\": {\"force\": true}}", 400 },
    };
    const char *id, *volume;
    autoworld struct world *world = with_member(&id, &volume);
    const char *path = PATH("/consistencygroups/%s", id);

    for (size_t i = 0; i < LENGTH(cases); i++) {
        ck_assert_int_eq(drop(world, id, cases[i].body), cases[i].status);
        ck_assert_int_eq(world_call(world, "DELETE", path, cases[i].body), cases[i].status);
    }
    ck_assert_int_eq(drop(world, UNKNOWN, FORCE), 404);
    ck_assert_str_eq(status_of(world, "consistencygroup", id), "available");
    ck_assert_str_eq(world_status(world, volume), "available");

    ck_assert_int_eq(drop(world, id, "{\"consistencygroup\": {\"force\": \"True\"}}"), 202);
    world_settle(world);
    ck_assert_str_eq(status_of(world, "consistencygroup", id), "gone");
    ck_assert_int_eq(world_in_use(world, "volumes"), 0);
    id = new_group(world, "empty");
    path = PATH("/consistencygroups/%s", id);
    ck_assert_int_eq(world_call(world, "DELETE", path, "{\"consistencygroup\": null}"), 202);
    ck_assert_int_eq(COUNT("volume_groups"), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(an_update_is_not_empty_and_before_3_6_not_blank) {
    static const char *const tails[] = { "", "/update" };
    const char *id, *volume;
    autoworld struct world *world = with_member(&id, &volume);

    for (size_t i = 0; i < LENGTH(tails); i++) {
        world->minor = 5;
        ck_assert_int_eq(update(world, id, tails[i], "\"name\": \"n\", \"description\": \"d\""),
                         202);
        ck_assert_str_eq(world->answer_text, "");
        ck_assert_int_eq(update(world, id, tails[i], ""), 400);
        ck_assert_int_eq(update(world, id, tails[i], "\"name\": \"\", \"description\": \"\""), 400);
        ck_assert_int_eq(update(world, id, tails[i], "\"colour\": 1"), 400);
        ck_assert_int_eq(update(world, UNKNOWN, tails[i], "\"name\": \"n\""), 404);
        ck_assert_int_eq(update(world, id, tails[i], "\"name\": \"\", \"description\": \"e\""),
                         202);
        ck_assert_str_eq(text_of(shown(world, "consistencygroup", id), "name"), "n");
        world->minor = 6;
        ck_assert_int_eq(update(world, id, tails[i], "\"add_volumes\": \"\""), 400);
        ck_assert_int_eq(update(world, id, tails[i], "\"name\": \"\""), 202);
        ck_assert_str_eq(text_of(shown(world, "consistencygroup", id), "name"), "");
        ck_assert_str_eq(text_of(shown(world, "consistencygroup", id), "description"), "e");
    }
    ck_assert_int_eq(update(world, id, "", PATH("\"remove_volumes\": \"%s\"", volume)), 202);
    ck_assert(json_is_null(json_object_get(world_show(world, volume), "consistencygroup_id")));
    ck_assert_int_eq(update(world, id, "", PATH("\"remove_volumes\": \"%s\"", volume)), 400);
    ck_assert_int_eq(update(world, id, "", PATH("\"add_volumes\": \"%s\"", volume)), 202);
    ck_assert_str_eq(text_of(world_show(world, volume), "consistencygroup_id"), id);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(lists_page_with_a_link_to_the_short_one) {
    autoworld struct world *world = world_new(NULL);
    const json_t *list;

    world->minor = 0;
    new_group(world, "a");
    world_advance(world, 1);
    new_group(world, "b");
    ck_assert_int_eq(world_call(world, "GET", "/consistencygroups/detail?limit=1", NULL), 200);
    list = json_object_get(world->answer, "consistencygroups");
    ck_assert_uint_eq(json_array_size(list), 1);
    ck_assert_uint_eq(json_object_size(json_array_get(list, 0)), 7);
    ck_assert_str_eq(text_of(json_array_get(list, 0), "name"), "b");
    ck_assert_ptr_nonnull(strstr(world->answer_text, "\"consistencygroup_links\""));
    ck_assert_ptr_nonnull(strstr(world->answer_text, "/consistencygroups?"));
    ck_assert_int_eq(world_call(world, "GET", "/consistencygroups?limit=0", NULL), 200);
    ck_assert_str_eq(world->answer_text, "{\"consistencygroups\":[]}");
    ck_assert_int_eq(world_call(world, "GET", "/consistencygroups?sort=name:asc", NULL), 200);
    list = json_object_get(world->answer, "consistencygroups");
    ck_assert_uint_eq(json_object_size(json_array_get(list, 0)), 2);
    ck_assert_str_eq(text_of(json_array_get(list, 0), "name"), "a");
    ck_assert_int_eq(world_call(world, "GET", "/consistencygroups?marker=" UNKNOWN, NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", "/consistencygroups?limit=x", NULL), 400);
    ck_assert_int_eq(world_call(world, "POST", "/consistencygroups/" UNKNOWN "/action", "{}"), 404);
}
END_TEST

START_TEST(groups_of_another_project_are_not_found) {
    const char *id, *volume, *of;
    autoworld struct world *world = with_member(&id, &volume);

    of = new_snapshot_of(world, id);
    roles_enter(world, NULL);
    world->token = "member:" WORLD_OTHER;
    ck_assert_str_eq(status_of(world, "consistencygroup", id), "gone");
    ck_assert_str_eq(status_of(world, "cgsnapshot", of), "gone");
    ck_assert_int_eq(drop(world, id, FORCE), 404);
    ck_assert_int_eq(update(world, id, "", "\"name\": \"mine\""), 404);
    ck_assert_int_eq(snapshot(world, PATH(OF_GROUP, id)), 404);
    ck_assert_int_eq(copy(world, PATH("\"source_cgid\": \"%s\"", id)), 404);
    ck_assert_int_eq(send_request(world, "DELETE", "cgsnapshots", of), 404);
    ck_assert_int_eq(world_call(world, "GET", "/consistencygroups?all_tenants=1", NULL), 200);
    ck_assert_str_eq(world->answer_text, "{\"consistencygroups\":[]}");
    ck_assert_int_eq(world_call(world, "GET", "/cgsnapshots?all_tenants=1", NULL), 200);
    ck_assert_str_eq(world->answer_text, "{\"cgsnapshots\":[]}");
}
END_TEST

/* ---- their snapshots, and copies ---- */

START_TEST(a_snapshot_of_one_is_made_shown_and_deleted) {
    const char *id, *volume, *of;
    autoworld struct world *world = with_member(&id, &volume);
    const json_t *one;

    ck_assert_int_eq(snapshot(world, PATH(OF_GROUP ", \"name\": \"s\", \"description\": null, "
                                                   "\"status\": \"creating\", \"user_id\": null",
                                          id)),
                     202);
    of = world_answer_id(world, "cgsnapshot");
    ck_assert_str_eq(world->answer_text,
                     PATH("{\"cgsnapshot\":{\"id\":\"%s\",\"name\":\"s\"}}", of));
    world_settle(world);
    one = shown(world, "cgsnapshot", of);
    ck_assert_uint_eq(json_object_size(one), 6);
    ck_assert_str_eq(text_of(one, "consistencygroup_id"), id);
    ck_assert_str_eq(text_of(one, "status"), "available");
    ck_assert_str_eq(text_of(one, "name"), "s");
    ck_assert(json_is_null(json_object_get(one, "description")));
    ck_assert_int_eq(drop(world, id, FORCE), 400); /* it has a snapshot */
    ck_assert_int_eq(world_call(world, "PUT", PATH("/cgsnapshots/%s", of),
                                "{\"cgsnapshot\": {\"name\": \"n\"}}"),
                     404);
    ck_assert_int_eq(send_request(world, "DELETE", "cgsnapshots", of), 202);
    world_settle(world);
    ck_assert_str_eq(status_of(world, "cgsnapshot", of), "gone");
    ck_assert_int_eq(COUNT("snapshots"), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(a_bad_snapshot_of_one_is_refused) {
    static const struct {
        const char *members;
        int status;
    } cases[] = {
        { "", 400 },
        { "\"consistencygroup_id\": null", 400 },
        { "\"consistencygroup_id\": \"x\"", 400 },
        { "\"consistencygroup_id\": \"" UNKNOWN "\"", 404 },
        { "\"consistencygroup_id\": \"" UNKNOWN "\", \"name\": 1", 400 },
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(snapshot(world, cases[i].members) == cases[i].status, "%s: %s",
                      cases[i].members, world->answer_text);
    ck_assert_int_eq(snapshot(world, PATH(OF_GROUP, new_group(world, "empty"))), 400);
    ck_assert_str_eq(status_of(world, "cgsnapshot", UNKNOWN), "gone");
    ck_assert_int_eq(COUNT("group_snapshots"), 0);
}
END_TEST

START_TEST(lists_of_snapshots_have_no_links_and_a_limit_of_0_is_none) {
    static const struct {
        const char *query;
        unsigned count;
    } cases[] = {
        { "", 2 },
        { "?limit=0", 2 },
        { "/detail?limit=1", 1 },
        { "?status=available", 2 },
        { "?status=error", 0 },
        { "?consistencygroup_id=" UNKNOWN, 0 },
    };
    const char *id, *volume;
    autoworld struct world *world = with_member(&id, &volume);

    new_snapshot_of(world, id);
    new_snapshot_of(world, id);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        ck_assert_int_eq(world_call(world, "GET", PATH("/cgsnapshots%s", cases[i].query), NULL),
                         200);
        ck_assert_msg(json_array_size(json_object_get(world->answer, "cgsnapshots")) ==
                          cases[i].count,
                      "%s: %s", cases[i].query, world->answer_text);
        ck_assert_uint_eq(json_object_size(world->answer), 1);
    }
    ck_assert_int_eq(
        world_call(world, "GET", PATH("/cgsnapshots?consistencygroup_id=%s", id), NULL), 200);
    ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "cgsnapshots")), 2);
}
END_TEST

START_TEST(one_is_made_of_another_or_of_a_snapshot) {
    const char *id, *volume, *of, *made;
    autoworld struct world *world = with_member(&id, &volume);
    static const char *const refused[] = {
        "",
        "\"cgsnapshot_id\": null, \"source_cgid\": null",
        "\"cgsnapshot_id\": \"" UNKNOWN "\", \"source_cgid\": \"" UNKNOWN "\"",
        "\"source_cgid\": \"x\"",
    };

    for (size_t i = 0; i < LENGTH(refused); i++)
        ck_assert_int_eq(copy(world, refused[i]), 400);
    ck_assert_int_eq(copy(world, "\"source_cgid\": \"" UNKNOWN "\""), 404);
    ck_assert_int_eq(copy(world, "\"cgsnapshot_id\": \"" UNKNOWN "\""), 404);
    ck_assert_int_eq(copy(world, PATH("\"source_cgid\": \"%s\"", new_group(world, "empty"))), 400);
    of = new_snapshot_of(world, id);
    ck_assert_int_eq(copy(world, PATH("\"cgsnapshot_id\": \"%s\", \"source_cgid\": null, \"name\": "
                                      "\"n\", \"description\": null, \"status\": \"creating\"",
                                      of)),
                     202);
    made = world_answer_id(world, "consistencygroup");
    ck_assert_str_eq(world->answer_text,
                     PATH("{\"consistencygroup\":{\"id\":\"%s\",\"name\":\"n\"}}", made));
    ck_assert_str_eq(status_of(world, "consistencygroup", made), "creating");
    world_settle(world);
    ck_assert_str_eq(status_of(world, "consistencygroup", made), "available");
    ck_assert_int_eq(copy(world, PATH("\"source_cgid\": \"%s\"", made)), 202);
    made = world_answer_id(world, "consistencygroup");
    world_settle(world);
    ck_assert_str_eq(status_of(world, "consistencygroup", made), "available");
    ck_assert_int_eq(COUNT("volumes WHERE group_id IS NOT NULL AND status = 'available'"), 3);
    ck_assert_int_eq(world_in_use(world, "groups"), 4);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

CHECK_MAIN("consistency_groups", a_consistency_group_is_made_shown_and_deleted,
           a_bad_consistency_group_is_refused, several_types_are_named_with_commas,
           a_consistency_group_is_no_group_and_a_group_none_of_these,
           a_delete_takes_the_volumes_by_force_alone,
           an_update_is_not_empty_and_before_3_6_not_blank, lists_page_with_a_link_to_the_short_one,
           groups_of_another_project_are_not_found, a_snapshot_of_one_is_made_shown_and_deleted,
           a_bad_snapshot_of_one_is_refused,
           lists_of_snapshots_have_no_links_and_a_limit_of_0_is_none,
           one_is_made_of_another_or_of_a_snapshot)
