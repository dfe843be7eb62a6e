#include "model/group/status.h"
#include "tests/lib/check_main.h"
#include "tests/lib/groups.h"
#include "tests/lib/roles.h"

#define UNKNOWN "99999999-9999-4999-8999-999999999999"

/* ---- a group and its volumes ---- */

/* A type of the API ("types", "group_types") with these members. */
static void make_type(struct world *world, const char *plural, const char *members) {
    const char *word = strcmp(plural, "types") == 0 ? "volume_type" : "group_type";
    int status =
        world_call(world, "POST", PATH("/%s", plural), PATH("{\"%s\": {%s}}", word, members));

    ck_assert_msg(status < 300, "%d %s", status, world->answer_text);
}

/* Two volume types and a group type. */
static struct world *world_with_types(void) {
    struct world *world = world_new(NULL);

    make_type(world, "types", "\"name\": \"gold\"");
    make_type(world, "types", "\"name\": \"tin\"");
    make_type(world, "group_types", "\"name\": \"plain\"");
    return world;
}

static int request_group(struct world *world, const char *members) {
    return world_call(world, "POST", "/groups", PATH("{\"group\": {%s}}", members));
}

#define PLAIN "\"group_type\": \"plain\", \"volume_types\": [\"gold\"]"

static const char *new_group(struct world *world) {
    ck_assert_int_eq(request_group(world, PLAIN ", \"name\": \"g\""), 202);
    return world_answer_id(world, "group");
}

static const json_t *group_shown(struct world *world, const char *id) {
    int status = world_call(world, "GET", PATH("/groups/%s?list_volume=1", id), NULL);

    return status == 200 ? json_object_get(world->answer, "group") : NULL;
}

static const char *group_status(struct world *world, const char *id) {
    const json_t *group = group_shown(world, id);

    return group ? json_string_value(json_object_get(group, "status")) : "gone";
}

static size_t volumes_in(struct world *world, const char *id) {
    return json_array_size(json_object_get(group_shown(world, id), "volumes"));
}

static int request_volume(struct world *world, const char *group, const char *more) {
    return world_call(world, "POST", "/volumes",
                      PATH("{\"volume\": {\"size\": 1, \"group_id\": \"%s\"%s}}", group, more));
}

static const char *new_member(struct world *world, const char *group) {
    int status = request_volume(world, group, ", \"volume_type\": \"gold\"");

    ck_assert_msg(status == 202, "%d %s", status, world->answer_text);
    return world_answer_id(world, "volume");
}

static const char *member(struct world *world, const char *group) {
    const char *id = new_member(world, group);

    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "available");
    return id;
}

/* One of a type that is in no group. */
static const char *single(struct world *world, const char *type) {
    const char *body = PATH("{\"volume\": {\"size\": 1, \"volume_type\": \"%s\"}}", type), *id;

    ck_assert_int_eq(world_call(world, "POST", "/volumes", body), 202);
    id = world_answer_id(world, "volume");
    world_settle(world);
    return id;
}

static int act(struct world *world, const char *id, const char *body) {
    return world_call(world, "POST", PATH("/groups/%s/action", id), body);
}

#define DELETE_GROUP "{\"delete\": {}}"
#define DELETE_ALL   "{\"delete\": {\"delete-volumes\": true}}"

static int update(struct world *world, const char *id, const char *members) {
    return world_call(world, "PUT", PATH("/groups/%s", id), PATH("{\"group\": {%s}}", members));
}

/* ---- create, show ---- */

START_TEST(a_group_is_made_shown_and_deleted) {
    autoworld struct world *world = world_with_types();
    const char *id;
    const json_t *group;

    ck_assert_int_eq(request_group(world, PLAIN ", \"name\": \"g\", \"description\": \"d\""), 202);
    group = json_object_get(world->answer, "group");
    ck_assert_uint_eq(json_object_size(group), 2);
    id = world_answer_id(world, "group");
    group = group_shown(world, id);
    ck_assert_str_eq(json_string_value(json_object_get(group, "status")), "available");
    ck_assert_str_eq(json_string_value(json_object_get(group, "availability_zone")), "nova");
    ck_assert_str_eq(json_string_value(json_object_get(group, "description")), "d");
    ck_assert_uint_eq(json_array_size(json_object_get(group, "volume_types")), 1);
    ck_assert_int_eq(world_in_use(world, "groups"), 1);
    ck_assert_int_eq(world_check(world), 0);
    ck_assert_int_eq(act(world, id, DELETE_GROUP), 202);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_str_eq(group_status(world, id), "gone");
    ck_assert_int_eq(world_in_use(world, "groups"), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(a_bad_group_is_refused) {
    static const struct {
        const char *members;
        int status;
    } cases[] = {
        { "", 400 },
        { "\"group_type\": \"plain\"", 400 },
        { "\"volume_types\": [\"gold\"]", 400 },
        { "\"group_type\": \"plain\", \"volume_types\": []", 400 },
        { "\"group_type\": \"plain\", \"volume_types\": \"gold\"", 400 },
        { "\"group_type\": \"plain\", \"volume_types\": [1]", 400 },
        { "\"group_type\": \"plain\", \"volume_types\": [\"\"]", 400 },
        { "\"group_type\": \"plain\", \"volume_types\": [\"gold\", \"gold\"]", 400 },
        { "\"group_type\": \"none\", \"volume_types\": [\"gold\"]", 404 },
        { "\"group_type\": \"plain\", \"volume_types\": [\"none\"]", 404 },
        { "\"group_type\": \"plain\", \"volume_types\": [\"gold\", \"none\"]", 404 },
        { "\"group_type\": \"default_cgsnapshot_type\", \"volume_types\": [\"gold\"]", 400 },
        { PLAIN ", \"availability_zone\": \"moon\"", 400 },
        { PLAIN ", \"availability_zone\": \"\"", 400 },
        { PLAIN ", \"description\": \"a\\nb\"", 400 },
        { PLAIN ", \"colour\": \"red\"", 400 },
    };
    autoworld struct world *world = world_with_types();

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(request_group(world, cases[i].members) == cases[i].status, "%s: %d %s",
                      cases[i].members, world->status, world->answer_text);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_groups"), 0);
    ck_assert_int_eq(world_in_use(world, "groups"), 0);
}
END_TEST

START_TEST(a_group_past_its_quota_changes_nothing) {
    autoworld struct world *world = world_with_types();

    world->settings.quota_groups = 1;
    new_group(world);
    ck_assert_int_eq(request_group(world, PLAIN), 413);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "GroupLimitExceeded"));
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_groups"), 1);
    ck_assert_int_eq(world_in_use(world, "groups"), 1);
}
END_TEST

START_TEST(a_type_that_is_named_twice_counts_once) {
    autoworld struct world *world = world_with_types();
    const char *gold;

    ck_assert_int_eq(world_call(world, "GET", "/types?sort=name:desc", NULL), 200);
    gold = json_string_value(
        json_object_get(json_array_get(json_object_get(world->answer, "volume_types"), 1), "id"));
    ck_assert_int_eq(request_group(world, PATH("\"group_type\": \"plain\", \"volume_types\": "
                                               "[\"gold\", \"tin\", \"%s\"]",
                                               gold)),
                     202);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM group_volume_types"), 2);
}
END_TEST

START_TEST(a_group_that_no_backend_takes_is_an_error_and_a_message) {
    autoworld struct world *world = world_with_types();
    const char *id;

    make_type(world, "types",
              "\"name\": \"far\", \"extra_specs\": {\"volume_backend_name\": \"x\"}");
    ck_assert_int_eq(
        request_group(world, "\"group_type\": \"plain\", \"volume_types\": [\"gold\", \"far\"]"),
        202);
    id = world_answer_id(world, "group");
    ck_assert_str_eq(group_status(world, id), "error");
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_GROUP_903_003"));
    ck_assert_int_eq(request_volume(world, id, ", \"volume_type\": \"gold\""), 400);
    ck_assert_int_eq(world_check(world), 0);
    ck_assert_int_eq(act(world, id, DELETE_GROUP), 202);
    ck_assert_str_eq(group_status(world, id), "gone");
}
END_TEST

START_TEST(keys_come_with_their_microversions) {
    static const struct {
        unsigned minor;
        size_t keys;
    } cases[] = {
        { 13, 8 }, { 14, 10 }, { 24, 10 }, { 25, 11 }, { 38, 12 }, { 57, 12 }, { 58, 13 }
    };
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world);

    for (size_t i = 0; i < LENGTH(cases); i++) {
        world->minor = cases[i].minor;
        ck_assert_uint_eq(json_object_size(group_shown(world, id)), cases[i].keys);
        ck_assert_int_eq(
            world_call(world, "GET",
                       cases[i].minor < 25 ? "/groups/detail" : "/groups/detail?list_volume=true",
                       NULL),
            200);
        ck_assert_uint_eq(
            json_object_size(json_array_get(json_object_get(world->answer, "groups"), 0)),
            cases[i].keys);
    }
    ck_assert_int_eq(world_call(world, "GET", PATH("/groups/%s", id), NULL), 200);
    ck_assert_ptr_null(json_object_get(json_object_get(world->answer, "group"), "volumes"));
    ck_assert_int_eq(world_call(world, "GET", PATH("/groups/%s?list_volume=maybe", id), NULL), 400);
    ck_assert_int_eq(world_call(world, "GET", "/groups/detail?list_volume=maybe", NULL), 400);
    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    ck_assert_uint_eq(json_object_size(group_shown(world, id)), 12);
}
END_TEST

START_TEST(routes_come_with_their_microversions) {
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world), *path = PATH("/groups/%s", id);
    const char *action = PATH("%s/action", path);
    const struct {
        unsigned since;
        const char *method, *path, *body;
        int status;
    } cases[] = {
        { 13, "GET", "/groups", NULL, 200 },
        { 13, "GET", "/groups/detail", NULL, 200 },
        { 13, "POST", "/groups", "{\"group\": {" PLAIN "}}", 202 },
        { 13, "GET", path, NULL, 200 },
        { 13, "PUT", path, "{\"group\": {\"name\": \"n\"}}", 202 },
        { 20, "POST", action, "{\"reset_status\": {\"status\": \"error\"}}", 202 },
        { 38, "POST", action, "{\"enable_replication\": {}}", 400 },
        { 38, "POST", action, "{\"disable_replication\": {}}", 400 },
        { 38, "POST", action, "{\"failover_replication\": {\"allow_attached_volume\": true}}",
          400 },
        { 38, "POST", action, "{\"list_replication_targets\": {}}", 400 },
        { 13, "POST", action, DELETE_GROUP, 202 },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        world->minor = cases[i].since - 1;
        ck_assert_int_eq(world_call(world, cases[i].method, cases[i].path, cases[i].body), 404);
        world->minor = cases[i].since;
        ck_assert_msg(world_call(world, cases[i].method, cases[i].path, cases[i].body) ==
                          cases[i].status,
                      "%s %s: %d", cases[i].method, cases[i].body, world->status);
    }
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 404);
}
END_TEST

/* ---- lists ---- */

static const char *listed(struct world *world, const char *query) {
    const char *joined = "";
    const json_t *group;
    size_t i;

    ck_assert_int_eq(
        world_call(world, "GET", PATH("/groups/detail?sort=created_at:asc%s", query), NULL), 200);
    json_array_foreach(json_object_get(world->answer, "groups"), i, group) {
        joined = PATH("%s%s", joined, json_string_value(json_object_get(group, "name")));
    }
    return joined;
}

START_TEST(lists_filter_sort_and_page) {
    autoworld struct world *world = world_with_types();
    const char *first;

    ck_assert_int_eq(request_group(world, PLAIN ", \"name\": \"a\""), 202);
    world_advance(world, 1);
    first = new_group(world);
    world_advance(world, 1);
    ck_assert_int_eq(request_group(world, PLAIN ", \"name\": \"c\""), 202);
    ck_assert_str_eq(listed(world, ""), "agc");
    ck_assert_str_eq(listed(world, "&name=g"), "g");
    ck_assert_str_eq(listed(world, "&status=error"), "");
    ck_assert_str_eq(listed(world, "&limit=2"), "ag");
    ck_assert_ptr_nonnull(strstr(world->answer_text, "group_links"));
    ck_assert_ptr_null(strstr(world->answer_text, "/groups/detail"));
    ck_assert_str_eq(listed(world, PATH("&marker=%s", first)), "c");
    ck_assert_int_eq(world_call(world, "GET", "/groups?marker=" UNKNOWN, NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", "/groups?sort_key=colour", NULL), 400);
    world_sql(world, "UPDATE group_types SET name = 'old' WHERE name = 'default_cgsnapshot_type'");
    world_sql(world, "UPDATE group_types SET name = 'default_cgsnapshot_type' "
                     "WHERE name = 'plain'");
    ck_assert_str_eq(listed(world, ""), "");
    ck_assert_int_eq(world_call(world, "GET", PATH("/groups/%s", first), NULL), 400);
}
END_TEST

START_TEST(a_large_page_ends_early_with_a_link) {
    autoworld struct world *world = world_with_types();

    for (int i = 0; i < 3; i++) {
        member(world, new_group(world));
        world_advance(world, 1);
    }
    world->settings.page_bytes = 100;
    ck_assert_str_eq(listed(world, "&list_volume=true"), "g");
    ck_assert_ptr_nonnull(strstr(world->answer_text, "group_links"));
}
END_TEST

START_TEST(groups_of_another_project_are_not_found) {
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world);

    roles_enter(world, NULL);
    world->token = "member:" WORLD_OTHER;
    ck_assert_str_eq(group_status(world, id), "gone");
    ck_assert_int_eq(act(world, id, DELETE_ALL), 404);
    ck_assert_int_eq(update(world, id, "\"name\": \"mine\""), 404);
    ck_assert_int_eq(request_volume(world, id, ", \"volume_type\": \"gold\""), 404);
    ck_assert_str_eq(listed(world, "&all_tenants=1"), "");
    ck_assert_int_eq(world_call(world, "GET", "/groups?status=error", NULL), 400);
    world->token = "admin:" WORLD_OTHER;
    ck_assert_str_eq(listed(world, ""), "");
    ck_assert_str_eq(listed(world, "&all_tenants=0"), "g");
    ck_assert_int_eq(request_volume(world, id, ", \"volume_type\": \"gold\""), 400);
}
END_TEST

/* ---- members ---- */

START_TEST(a_volume_is_made_in_a_group) {
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world), *volume = member(world, id);
    const struct {
        const char *group, *more;
        int status;
    } cases[] = {
        { UNKNOWN, ", \"volume_type\": \"gold\"", 404 },
        { id, "", 400 },
        { id, ", \"volume_type\": \"tin\"", 400 },
        { id, ", \"volume_type\": \"none\"", 404 },
    };

    ck_assert_uint_eq(volumes_in(world, id), 1);
    ck_assert_str_eq(json_string_value(json_object_get(world_show(world, volume), "group_id")), id);
    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(request_volume(world, cases[i].group, cases[i].more) == cases[i].status,
                      "%zu: %d", i, world->status);
    world_sql(world, "UPDATE volume_groups SET status = 'error'");
    ck_assert_int_eq(request_volume(world, id, ", \"volume_type\": \"gold\""), 400);
    world_sql(world, "UPDATE volume_groups SET status = 'creating'");
    ck_assert_int_eq(request_volume(world, id, ", \"volume_type\": \"gold\""), 202);
}
END_TEST

START_TEST(a_volume_in_a_group_is_not_deleted_alone) {
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world), *path = PATH("/volumes/%s", member(world, id));

    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 400);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s?force=true", path), NULL), 400);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s?cascade=true", path), NULL), 400);
    world_settle(world);
    ck_assert_uint_eq(volumes_in(world, id), 1);
}
END_TEST

START_TEST(types_of_a_group_stay) {
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world);
    const json_t *types;
    const char *gold;

    ck_assert_int_eq(world_call(world, "GET", PATH("/groups/%s", id), NULL), 200);
    types = json_object_get(json_object_get(world->answer, "group"), "volume_types");
    gold = PATH("/types/%s", json_string_value(json_array_get(types, 0)));
    ck_assert_int_eq(world_call(world, "DELETE", gold, NULL), 400);
    ck_assert_int_eq(act(world, id, DELETE_GROUP), 202);
    ck_assert_int_eq(world_call(world, "DELETE", gold, NULL), 202);
}
END_TEST

START_TEST(volumes_join_and_leave_a_group) {
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world), *gone = member(world, id), *stays = member(world, id);
    const char *joins = single(world, "gold");

    ck_assert_int_eq(
        update(world, id,
               PATH("\"add_volumes\": \"%s,%s\", \"remove_volumes\": \"%s\"", joins, stays, gone)),
        202);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_str_eq(group_status(world, id), "available");
    ck_assert_uint_eq(volumes_in(world, id), 2);
    ck_assert(json_is_null(json_object_get(world_show(world, gone), "group_id")));
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s", gone), NULL), 202);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(a_bad_update_changes_nothing) {
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world), *inside = member(world, id), *tin = single(world, "tin");
    const char *gold = single(world, "gold"), *elsewhere = member(world, new_group(world));
    const char *cases[] = {
        "",
        "\"name\": null",
        "\"name\": \"g\"",
        "\"add_volumes\": \"\"",
        "\"colour\": \"red\"",
        PATH("\"add_volumes\": \"%s\"", inside),
        PATH("\"add_volumes\": \"%s\"", UNKNOWN),
        PATH("\"add_volumes\": \"%s\"", tin),
        PATH("\"add_volumes\": \"%s\"", elsewhere),
        PATH("\"add_volumes\": \"%s,%s\"", gold, tin),
        PATH("\"add_volumes\": \"%s\", \"remove_volumes\": \"%s\"", gold, gold),
        PATH("\"remove_volumes\": \"%s\"", gold),
        PATH("\"remove_volumes\": \"%s\"", UNKNOWN),
        PATH("\"name\": \"new\", \"remove_volumes\": \"%s\"", elsewhere),
    };

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(update(world, id, cases[i]) == 400, "%s: %d", cases[i], world->status);
    ck_assert_uint_eq(volumes_in(world, id), 1);
    ck_assert_str_eq(json_string_value(json_object_get(group_shown(world, id), "name")), "g");
    ck_assert_int_eq(update(world, UNKNOWN, "\"name\": \"n\""), 404);
    world_sql(world, PATH("UPDATE volumes SET status = 'error' WHERE id = '%s'", gold));
    ck_assert_int_eq(update(world, id, PATH("\"add_volumes\": \"%s\"", gold)), 400);
    world_sql(world, PATH("UPDATE volumes SET status = 'available', host = 'node@other#p' "
                          "WHERE id = '%s'",
                          gold));
    ck_assert_int_eq(update(world, id, PATH("\"add_volumes\": \"%s\"", gold)), 400);
    world_sql(world, PATH("UPDATE volumes SET status = 'maintenance' WHERE id = '%s'", inside));
    ck_assert_int_eq(update(world, id, PATH("\"remove_volumes\": \"%s\"", inside)), 400);
    world_sql(world, "UPDATE volumes SET status = 'available'");
    world_sql(world, "UPDATE volume_groups SET status = 'updating', status_by_reset = 1");
    ck_assert_int_eq(update(world, id, PATH("\"remove_volumes\": \"%s\"", inside)), 400);
}
END_TEST

START_TEST(a_renamed_group_at_rest_becomes_available) {
    static const struct {
        const char *before, *after;
    } cases[] = {
        { "available", "available" }, { "error", "available" },   { "error_deleting", "available" },
        { "deleted", "available" },   { "creating", "creating" }, { "deleting", "deleting" },
        { "updating", "updating" },
    };
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world);

    for (size_t i = 0; i < LENGTH(cases); i++) {
        ck_assert_int_eq(
            act(world, id, PATH("{\"reset_status\": {\"status\": \"%s\"}}", cases[i].before)), 202);
        ck_assert_int_eq(update(world, id, PATH("\"name\": \"n%zu\"", i)), 202);
        ck_assert_str_eq(group_status(world, id), cases[i].after);
    }
    ck_assert_int_eq(update(world, id, "\"name\": \"\", \"description\": \"d\""), 202);
    ck_assert_str_eq(json_string_value(json_object_get(group_shown(world, id), "name")), "");
}
END_TEST

START_TEST(a_status_is_reset_to_a_valid_one) {
    static const char *const bad[] = { "in-use", "nonsense", "" };
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world);

    for (size_t i = 0; i < LENGTH(bad); i++)
        ck_assert_int_eq(act(world, id, PATH("{\"reset_status\": {\"status\": \"%s\"}}", bad[i])),
                         400);
    ck_assert_str_eq(group_status(world, id), "available");
    for (int i = 0; i < GROUP_STATUSES; i++) {
        const char *text = group_status_text((enum group_status)i);

        if (i == GROUP_IN_USE)
            continue;
        ck_assert_int_eq(act(world, id, PATH("{\"reset_status\": {\"status\": \"%s\"}}", text)),
                         202);
        ck_assert_str_eq(group_status(world, id), text);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

/* ---- delete ---- */

START_TEST(a_group_goes_with_its_volumes) {
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world), *first = member(world, id), *second = member(world, id);

    ck_assert_int_eq(act(world, id, DELETE_GROUP), 400);
    ck_assert_int_eq(act(world, id, "{\"delete\": {\"delete-volumes\": false}}"), 400);
    ck_assert_int_eq(act(world, id, DELETE_ALL), 202);
    ck_assert_str_eq(group_status(world, id), "deleting");
    ck_assert_str_eq(world_status(world, first), "deleting");
    ck_assert_int_eq(act(world, id, DELETE_GROUP), 400);
    ck_assert_int_eq(act(world, id, DELETE_ALL), 202);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE kind = 'delete'"),
                     2);
    ck_assert_int_eq(request_volume(world, id, ", \"volume_type\": \"gold\""), 400);
    ck_assert_int_eq(update(world, id, PATH("\"remove_volumes\": \"%s\"", first)), 400);
    ck_assert_int_eq(world_check(world), 0);
    world_settle(world);
    ck_assert_str_eq(group_status(world, id), "gone");
    ck_assert_str_eq(world_status(world, second), "gone");
    ck_assert_int_eq(world_in_use(world, "groups"), 0);
    ck_assert_int_eq(world_in_use(world, "volumes"), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(a_group_that_may_not_go_keeps_all_its_volumes) {
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world), *first = member(world, id), *second = member(world, id);
    const char *snapshot = snapshot_of_volume(world, second);

    ck_assert_int_eq(act(world, id, DELETE_ALL), 400);
    ck_assert_str_eq(world_status(world, first), "available");
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", snapshot), NULL), 202);
    world_settle(world);
    world_attach(world, second, WORLD_INSTANCE);
    ck_assert_int_eq(act(world, id, DELETE_ALL), 400);
    ck_assert_str_eq(world_status(world, first), "available");
    ck_assert_str_eq(group_status(world, id), "available");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE kind = 'delete'"),
                     0);
}
END_TEST

START_TEST(a_group_in_use_is_not_deleted) {
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world);

    world_sql(world, "INSERT INTO group_snapshots (id, project_id, user_id, group_id, "
                     "group_type_id, status, status_by_reset, created_at) SELECT 's', project_id, "
                     "'u', id, group_type_id, 'available', 0, 1 FROM volume_groups");
    ck_assert_int_eq(act(world, id, DELETE_ALL), 400);
    world_sql(world, "DELETE FROM group_snapshots");
    ck_assert_int_eq(world_call(world, "PUT", "/os-services/freeze", "{\"host\": \"node@memory\"}"),
                     200);
    ck_assert_int_eq(act(world, id, DELETE_GROUP), 400);
    ck_assert_int_eq(world_call(world, "PUT", "/os-services/thaw", "{\"host\": \"node@memory\"}"),
                     200);
    world_sql(world, "UPDATE volume_groups SET status = 'updating', status_by_reset = 1");
    ck_assert_int_eq(act(world, id, DELETE_GROUP), 400);
    ck_assert_int_eq(act(world, id, DELETE_ALL), 202);
    ck_assert_str_eq(group_status(world, id), "gone");
}
END_TEST

static const char *spared;

static struct fault_decision spare_one(void *arg, const char *call, const char *volume_id) {
    bool fails = strcmp(call, "delete_volume") == 0 && strcmp(volume_id, spared) == 0;

    (void)arg;
    return (struct fault_decision){ .action = fails ? FAULT_BEFORE : FAULT_PASS };
}

START_TEST(a_group_with_a_remaining_volume_stays) {
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world), *first = member(world, id);

    spared = member(world, id);
    world->decide = spare_one;
    ck_assert_int_eq(act(world, id, DELETE_ALL), 202);
    for (int i = 0; i < 20; i++) {
        world_settle(world);
        world_advance(world, 61);
    }
    ck_assert_str_eq(world_status(world, first), "gone");
    ck_assert_str_eq(world_status(world, spared), "error_deleting");
    ck_assert_str_eq(group_status(world, id), "error");
    ck_assert_int_eq(world_check(world), 0);
    world->decide = NULL;
    ck_assert_int_eq(act(world, id, DELETE_ALL), 202);
    world_settle(world);
    ck_assert_str_eq(group_status(world, id), "gone");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* The delete of one member has failed, that of another one is still in progress. */
START_TEST(a_repeated_delete_continues_with_the_rest) {
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world), *first = member(world, id), *second = member(world, id);

    ck_assert_int_eq(act(world, id, DELETE_ALL), 202);
    world_sql(world, PATH("DELETE FROM operations WHERE volume_id = '%s'", first));
    world_sql(world, PATH("UPDATE volumes SET status = 'error_deleting' WHERE id = '%s'", first));
    world_sql(world, "UPDATE volume_groups SET status = 'error'");
    ck_assert_str_eq(world_status(world, second), "deleting");
    ck_assert_int_eq(act(world, id, DELETE_ALL), 202);
    ck_assert_str_eq(world_status(world, first), "deleting");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE kind = 'delete'"),
                     2);
    world_settle(world);
    ck_assert_str_eq(group_status(world, id), "gone");
    ck_assert_int_eq(world_in_use(world, "volumes"), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* A reset to deleting is no delete: the group would wait for its end without end. */
START_TEST(a_volume_that_was_reset_to_deleting_is_not_waited_for) {
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world), *volume = member(world, id);

    ck_assert_int_eq(
        world_action(world, volume, "{\"os-reset_status\": {\"status\": \"deleting\"}}"), 202);
    ck_assert_int_eq(act(world, id, DELETE_ALL), 400);
    ck_assert_str_eq(group_status(world, id), "available");
}
END_TEST

START_TEST(a_volume_that_is_kept_by_a_reset_keeps_its_group) {
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world), *first = member(world, id), *second = member(world, id);

    ck_assert_int_eq(act(world, id, DELETE_ALL), 202);
    ck_assert_int_eq(
        world_action(world, first, "{\"os-reset_status\": {\"status\": \"available\"}}"), 202);
    ck_assert_str_eq(group_status(world, id), "error");
    world_settle(world);
    ck_assert_str_eq(world_status(world, second), "gone");
    ck_assert_str_eq(world_status(world, first), "available");
    ck_assert_str_eq(group_status(world, id), "error");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(a_group_that_is_reset_stays_without_volumes) {
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world), *volume = member(world, id);

    ck_assert_int_eq(act(world, id, DELETE_ALL), 202);
    ck_assert_int_eq(act(world, id, "{\"reset_status\": {\"status\": \"Available\"}}"), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, volume), "gone");
    ck_assert_str_eq(group_status(world, id), "available");
    ck_assert_uint_eq(volumes_in(world, id), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(a_volume_on_no_backend_goes_at_once) {
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world);
    const char *body = PATH("{\"volume\": {\"size\": 900000, \"volume_type\": \"gold\", "
                            "\"group_id\": \"%s\"}}",
                            id);

    world->settings.quota_gigabytes = -1;
    world_sql(world, "UPDATE pools SET total_gb = 10, free_gb = 10");
    ck_assert_int_eq(world_call(world, "POST", "/volumes", body), 202);
    ck_assert_uint_eq(volumes_in(world, id), 1);
    ck_assert_int_eq(act(world, id, DELETE_ALL), 202);
    ck_assert_str_eq(group_status(world, id), "gone");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* ---- replication, notifications ---- */

START_TEST(no_group_replicates) {
    static const char *const actions[] = { "enable_replication", "disable_replication",
                                           "failover_replication", "list_replication_targets" };
    autoworld struct world *world = world_with_types();
    const char *id = new_group(world);

    for (size_t i = 0; i < LENGTH(actions); i++) {
        ck_assert_int_eq(act(world, id, PATH("{\"%s\": {}}", actions[i])), 400);
        ck_assert_ptr_nonnull(strstr(world->answer_text, "not a replication group type"));
        ck_assert_int_eq(act(world, id, PATH("{\"%s\": {\"colour\": 1}}", actions[i])), 400);
        ck_assert_int_eq(act(world, UNKNOWN, PATH("{\"%s\": {}}", actions[i])), 404);
    }
    make_type(world, "group_types",
              "\"name\": \"far\", \"group_specs\": {\"group_replication_enabled\": \"<is> True\"}");
    ck_assert_int_eq(request_group(world, "\"group_type\": \"far\", \"volume_types\": [\"gold\"]"),
                     202);
    id = world_answer_id(world, "group");
    ck_assert_int_eq(act(world, id, "{\"enable_replication\": {}}"), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "does not replicate"));
}
END_TEST

START_TEST(changes_of_a_group_are_notified) {
    static const char *const events[] = { "create.start",       "create.end",      "update.start",
                                          "update.end",         "delete.start",    "delete.end",
                                          "reset_status.start", "reset_status.end" };
    autoworld struct world *world = world_with_types();
    const char *id;

    world->settings.notifications = true;
    id = new_group(world);
    member(world, id);
    ck_assert_int_eq(update(world, id, "\"name\": \"n\""), 202);
    ck_assert_int_eq(act(world, id, "{\"reset_status\": {\"status\": \"error\"}}"), 202);
    ck_assert_int_eq(act(world, id, DELETE_ALL), 202);
    world_settle(world);
    for (unsigned i = 0; i < LENGTH(events); i++)
        ck_assert_msg(world_count(world, PATH("SELECT COUNT(*) FROM outbox WHERE method = "
                                              "'group.%s' AND payload LIKE '%%%s%%'",
                                              events[i], id)) == 1,
                      "%s", events[i]);
}
END_TEST

CHECK_MAIN("groups", a_group_is_made_shown_and_deleted, a_bad_group_is_refused,
           a_group_past_its_quota_changes_nothing, a_type_that_is_named_twice_counts_once,
           a_group_that_no_backend_takes_is_an_error_and_a_message,
           keys_come_with_their_microversions, routes_come_with_their_microversions,
           lists_filter_sort_and_page, a_large_page_ends_early_with_a_link,
           groups_of_another_project_are_not_found, a_volume_is_made_in_a_group,
           a_volume_in_a_group_is_not_deleted_alone, types_of_a_group_stay,
           volumes_join_and_leave_a_group, a_bad_update_changes_nothing,
           a_renamed_group_at_rest_becomes_available, a_status_is_reset_to_a_valid_one,
           a_group_goes_with_its_volumes, a_group_that_may_not_go_keeps_all_its_volumes,
           a_group_in_use_is_not_deleted, a_group_with_a_remaining_volume_stays,
           a_repeated_delete_continues_with_the_rest,
           a_volume_that_was_reset_to_deleting_is_not_waited_for,
           a_volume_that_is_kept_by_a_reset_keeps_its_group,
           a_group_that_is_reset_stays_without_volumes, a_volume_on_no_backend_goes_at_once,
           no_group_replicates, changes_of_a_group_are_notified)
