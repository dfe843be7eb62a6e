#include "common/cleanup.h"
#include "model/type/group_type.h"
#include "tests/lib/check_main.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <string.h>

#define PATH(...) arena_format(world->arena, __VA_ARGS__)
#define UNKNOWN   "99999999-9999-4999-8999-999999999999"
#define ADMIN     "admin:" WORLD_PROJECT
#define MEMBER    "member:" WORLD_PROJECT
#define RESERVED  "default_cgsnapshot_type"

static const char *text_of(const struct world *world, const char *key) {
    const json_t *type = json_object_get(world->answer, "group_type");

    return json_string_value(json_object_get(type, key));
}

/* The id of a group type made with these members beside its name. */
static const char *make(struct world *world, const char *name, const char *members) {
    int status = world_call(world, "POST", "/group_types",
                            PATH("{\"group_type\": {\"name\": \"%s\"%s}}", name, members));

    ck_assert_msg(status == 202, "%d %s", status, world->answer_text);
    return world_answer_id(world, "group_type");
}

/* Names of the types that GET /group_types?<query> gives, joined with blanks. */
static const char *names(struct world *world, const char *query) {
    const char *joined = "";
    const json_t *type;
    size_t i;
    int status = world_call(world, "GET", PATH("/group_types?sort=name:asc%s", query), NULL);

    ck_assert_msg(status == 200, "%d %s", status, world->answer_text);
    json_array_foreach(json_object_get(world->answer, "group_types"), i, type) {
        joined = PATH("%s%s%s", joined, i > 0 ? " " : "",
                      json_string_value(json_object_get(type, "name")));
    }
    return joined;
}

START_TEST(a_fresh_database_has_the_type_of_consistency_groups) {
    autoworld struct world *world = world_new(NULL);
    const json_t *types, *specs;

    ck_assert_str_eq(names(world, ""), RESERVED);
    types = json_object_get(world->answer, "group_types");
    specs = json_object_get(json_array_get(types, 0), "group_specs");
    ck_assert_str_eq(json_string_value(json_object_get(specs, "consistent_group_snapshot_enabled")),
                     "<is> True");
    world_restart(world);
    ck_assert_str_eq(names(world, ""), RESERVED);
}
END_TEST

START_TEST(a_group_type_is_made_and_shown) {
    autoworld struct world *world = world_new(NULL);
    const char *id = make(world, "gold",
                          ", \"description\": \"d\", \"is_public\": false, "
                          "\"group_specs\": {\"a b\": \"1\"}");
    const char *shown =
        PATH("{\"group_type\":{\"id\":\"%s\",\"name\":\"gold\",\"description\":\"d\","
             "\"is_public\":false,\"group_specs\":{\"a b\":\"1\"}}}",
             id);

    ck_assert_str_eq(world->answer_text, shown);
    ck_assert_int_eq(world_call(world, "GET", PATH("/group_types/%s", id), NULL), 200);
    ck_assert_str_eq(world->answer_text, shown);
    make(world, "tin", ", \"group_specs\": null");
    ck_assert_ptr_nonnull(strstr(world->answer_text, "\"is_public\":true,\"group_specs\":{}"));
}
END_TEST

START_TEST(a_bad_group_type_is_refused) {
    static const struct {
        const char *members;
        int status;
    } cases[] = {
        { "", 400 },
        { "\"name\": null", 400 },
        { "\"name\": \"\"", 400 },
        { "\"name\": \"  \"", 400 },
        { "\"name\": \"x\", \"is_public\": null", 400 },
        { "\"name\": \"x\", \"description\": \"a\\nb\"", 400 },
        { "\"name\": \"x\", \"group_specs\": {\"k\": null}", 400 },
        { "\"name\": \"x\", \"group_specs\": {\"k\": 1}", 400 },
        { "\"name\": \"x\", \"colour\": \"red\"", 400 },
        { "\"name\": \"" RESERVED "\"", 409 },
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(world_call(world, "POST", "/group_types",
                                 PATH("{\"group_type\": {%s}}", cases[i].members)) ==
                          cases[i].status,
                      "%s: %d", cases[i].members, world->status);
    ck_assert_str_eq(names(world, ""), RESERVED);
}
END_TEST

START_TEST(an_update_changes_the_named_fields) {
    static const struct {
        const char *members;
        int status;
    } cases[] = {
        { "", 400 },
        { "\"name\": null", 400 },
        { "\"name\": \" \"", 400 },
        { "\"name\": \"" RESERVED "\"", 409 },
        { "\"is_public\": null", 400 },
        { "\"name\": \"gold\"", 200 },
        { "\"name\": \"tin\", \"description\": null", 200 },
        { "\"description\": \"d\", \"is_public\": \"no\"", 200 },
    };
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/group_types/%s", make(world, "gold", ""));

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(
            world_call(world, "PUT", path, PATH("{\"group_type\": {%s}}", cases[i].members)) ==
                cases[i].status,
            "%s: %d", cases[i].members, world->status);
    ck_assert_str_eq(text_of(world, "name"), "tin");
    ck_assert_str_eq(text_of(world, "description"), "d");
    ck_assert_ptr_nonnull(strstr(world->answer_text, "\"is_public\":false"));
    ck_assert_int_eq(
        world_call(world, "PUT", "/group_types/" UNKNOWN, "{\"group_type\": {\"name\": \"x\"}}"),
        404);
}
END_TEST

START_TEST(a_group_type_is_deleted_when_no_group_has_it) {
    autoworld struct world *world = world_new(NULL);
    const char *id = make(world, "gold", ", \"group_specs\": {\"k\": \"v\"}");
    const char *path = PATH("/group_types/%s", id);

    world_sql(world, PATH("INSERT INTO volume_groups (id, project_id, user_id, availability_zone, "
                          "status, status_by_reset, group_type_id, created_at) VALUES "
                          "('g', 'p', 'u', 'nova', 'available', 0, '%s', 1)",
                          id));
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 400);
    world_sql(world, "DELETE FROM volume_groups");
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 202);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", path, NULL), 404);
}
END_TEST

START_TEST(the_default_is_the_configured_one) {
    autoworld struct world *world = world_new(NULL);

    ck_assert_int_eq(world_call(world, "GET", "/group_types/default", NULL), 404);
    world->settings.default_group_type = "gold";
    world_restart(world);
    ck_assert_int_eq(world_call(world, "GET", "/group_types/default", NULL), 404);
    make(world, "gold", "");
    ck_assert_int_eq(world_call(world, "GET", "/group_types/default", NULL), 200);
    ck_assert_str_eq(text_of(world, "name"), "gold");
}
END_TEST

static int bootstrap_body(struct work *work, void *arg, struct error *err) {
    (void)arg;
    return group_type_bootstrap(work, err);
}

static void start_again(struct world *world) {
    const struct work base = work_own(&world->settings, world->arena);
    struct error err;

    world_restart(world);
    ck_assert_int_eq(work_transaction(world->db, &base, bootstrap_body, NULL, &err), 0);
}

/* Also in a database that an older release made, where others were made since. */
START_TEST(a_default_is_there_from_the_start) {
    autoworld struct world *world = world_new(NULL);
    autoarena struct arena *arena = arena_new();
    const char *id;

    make(world, "gold", "");
    world->settings.default_group_type = "__DEFAULT__";
    for (int i = 0; i < 2; i++) {
        start_again(world);
        ck_assert_str_eq(names(world, ""), "__DEFAULT__ " RESERVED " gold");
    }
    ck_assert_int_eq(world_call(world, "GET", "/group_types/default", NULL), 200);
    id = arena_text(arena, text_of(world, "id"));
    ck_assert_int_eq(world_call(world, "DELETE", arena_format(arena, "/group_types/%s", id), NULL),
                     400);
    ck_assert_int_eq(world_call(world, "GET", "/group_types/default", NULL), 200);
    ck_assert_str_eq(text_of(world, "id"), id);
}
END_TEST

/* ---- list ---- */

START_TEST(callers_other_than_admins_see_public_types_without_specs) {
    autoworld struct world *world = world_new(NULL);
    const char *shut = make(world, "shut", ", \"is_public\": false");

    make(world, "open", "");
    ck_assert_str_eq(names(world, ""), RESERVED " open");
    ck_assert_str_eq(names(world, "&is_public=0"), "shut");
    ck_assert_str_eq(names(world, "&is_public=None"), RESERVED " open shut");
    ck_assert_int_eq(world_call(world, "GET", "/group_types?is_public=maybe", NULL), 400);
    roles_enter(world, NULL);
    world->token = MEMBER;
    ck_assert_str_eq(names(world, "&is_public=none"), RESERVED " open");
    ck_assert_ptr_null(strstr(world->answer_text, "group_specs"));
    ck_assert_int_eq(world_call(world, "GET", PATH("/group_types/%s", shut), NULL), 404);
    world_sql(world, PATH("INSERT INTO group_type_projects (group_type_id, project_id) "
                          "VALUES ('%s', '" WORLD_PROJECT "')",
                          shut));
    ck_assert_str_eq(names(world, ""), RESERVED " open shut");
    ck_assert_int_eq(world_call(world, "GET", PATH("/group_types/%s", shut), NULL), 200);
}
END_TEST

START_TEST(a_list_is_cut_into_pages_and_filtered_by_nothing_else) {
    autoworld struct world *world = world_new(NULL);
    const char *id = make(world, "gold", "");

    make(world, "tin", "");
    ck_assert_str_eq(names(world, "&limit=2"), RESERVED " gold");
    ck_assert_ptr_nonnull(strstr(world->answer_text, "group_type_links"));
    ck_assert_str_eq(names(world, PATH("&limit=2&marker=%s", id)), "tin");
    ck_assert_ptr_null(strstr(world->answer_text, "group_type_links"));
    ck_assert_str_eq(names(world, "&name=tin&colour=red"), RESERVED " gold tin");
    ck_assert_int_eq(world_call(world, "GET", "/group_types?marker=" UNKNOWN, NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", "/group_types?sort_key=colour", NULL), 400);
    ck_assert_int_eq(world_call(world, "GET", "/group_types?limit=-1", NULL), 400);
}
END_TEST

/* ---- specs ---- */

START_TEST(specs_are_set_shown_and_taken_away) {
    autoworld struct world *world = world_new(NULL);
    const char *specs = PATH("/group_types/%s/group_specs", make(world, "gold", ""));

    ck_assert_int_eq(
        world_call(world, "POST", specs, "{\"group_specs\": {\"a\": \"1\", \"b\": null}}"), 202);
    ck_assert_str_eq(world->answer_text, "{\"group_specs\":{\"a\":\"1\",\"b\":null}}");
    ck_assert_int_eq(world_call(world, "PUT", PATH("%s/a", specs), "{\"a\": \"2\"}"), 200);
    ck_assert_str_eq(world->answer_text, "{\"a\":\"2\"}");
    ck_assert_int_eq(world_call(world, "GET", specs, NULL), 200);
    ck_assert_str_eq(world->answer_text, "{\"group_specs\":{\"a\":\"2\",\"b\":null}}");
    ck_assert_int_eq(world_call(world, "GET", PATH("%s/a", specs), NULL), 200);
    ck_assert_str_eq(world->answer_text, "{\"a\":\"2\"}");
    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s/a", specs), NULL), 202);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s/a", specs), NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", PATH("%s/a", specs), NULL), 404);
}
END_TEST

START_TEST(bad_specs_are_refused) {
    autoworld struct world *world = world_new(NULL);
    const char *specs = PATH("/group_types/%s/group_specs", make(world, "gold", ""));

    ck_assert_int_eq(world_call(world, "POST", specs, "{\"group_specs\": {\"a b\": \"1\"}}"), 400);
    ck_assert_int_eq(world_call(world, "POST", specs, "{\"group_specs\": null}"), 400);
    ck_assert_int_eq(world_call(world, "POST", specs, "{}"), 400);
    ck_assert_int_eq(world_call(world, "PUT", PATH("%s/a", specs), "{\"b\": \"2\"}"), 400);
    ck_assert_int_eq(world_call(world, "PUT", PATH("%s/a", specs), "{\"a\": \"2\", \"b\": \"\"}"),
                     400);
    ck_assert_int_eq(world_call(world, "PUT", PATH("%s/a", specs), "{\"a\": 2}"), 400);
    ck_assert_int_eq(
        world_call(world, "POST", "/group_types/" UNKNOWN "/group_specs", "{\"group_specs\": {}}"),
        404);
    ck_assert_int_eq(world_call(world, "GET", specs, NULL), 200);
    ck_assert_str_eq(world->answer_text, "{\"group_specs\":{}}");
}
END_TEST

START_TEST(group_types_came_with_3_11) {
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/group_types/%s", make(world, "gold", ""));
    const struct {
        const char *method, *path, *body;
    } calls[] = {
        { "GET", "/group_types", NULL },
        { "GET", "/group_types/default", NULL },
        { "POST", "/group_types", "{\"group_type\": {\"name\": \"x\"}}" },
        { "GET", path, NULL },
        { "PUT", path, "{\"group_type\": {\"name\": \"x\"}}" },
        { "DELETE", path, NULL },
        { "GET", PATH("%s/group_specs", path), NULL },
        { "POST", PATH("%s/group_specs", path), "{\"group_specs\": {}}" },
        { "GET", PATH("%s/group_specs/k", path), NULL },
        { "PUT", PATH("%s/group_specs/k", path), "{\"k\": \"v\"}" },
        { "DELETE", PATH("%s/group_specs/k", path), NULL },
    };

    world->minor = 10;
    for (size_t i = 0; i < LENGTH(calls); i++)
        ck_assert_int_eq(world_call(world, calls[i].method, calls[i].path, calls[i].body), 404);
    world->minor = 11;
    ck_assert_str_eq(names(world, ""), RESERVED " gold");
}
END_TEST

CHECK_MAIN("group_types", a_fresh_database_has_the_type_of_consistency_groups,
           a_group_type_is_made_and_shown, a_bad_group_type_is_refused,
           an_update_changes_the_named_fields, a_group_type_is_deleted_when_no_group_has_it,
           the_default_is_the_configured_one, a_default_is_there_from_the_start,
           callers_other_than_admins_see_public_types_without_specs,
           a_list_is_cut_into_pages_and_filtered_by_nothing_else,
           specs_are_set_shown_and_taken_away, bad_specs_are_refused, group_types_came_with_3_11)
