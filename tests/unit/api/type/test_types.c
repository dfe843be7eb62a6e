#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <string.h>

#define PATH(...) arena_format(world->arena, __VA_ARGS__)
#define UNKNOWN   "99999999-9999-4999-8999-999999999999"
#define ADMIN     "admin:" WORLD_PROJECT
#define MEMBER    "member:" WORLD_PROJECT
#define READER    "reader:" WORLD_PROJECT

static const json_t *answered(const struct world *world) {
    return json_object_get(world->answer, "volume_type");
}

static const char *text_at(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);

    ck_assert_msg(value != NULL, "key %s is missing", key);
    return json_string_value(value);
}

/* The id of a type made with these members beside its name. */
static const char *make(struct world *world, const char *name, const char *members) {
    int status = world_call(world, "POST", "/types",
                            PATH("{\"volume_type\": {\"name\": \"%s\"%s}}", name, members));

    ck_assert_msg(status == 200, "%d %s", status, world->answer_text);
    return arena_text(world->arena, text_at(answered(world), "id"));
}

/* Names of the types that GET /types?<query> gives, joined with blanks. */
static const char *names(struct world *world, const char *query) {
    const char *joined = "";
    const json_t *type;
    size_t i;
    int status = world_call(world, "GET", PATH("/types?sort=name:asc%s", query), NULL);

    ck_assert_msg(status == 200, "%d %s", status, world->answer_text);
    json_array_foreach(json_object_get(world->answer, "volume_types"), i, type) {
        joined = PATH("%s%s%s", joined, i > 0 ? " " : "", text_at(type, "name"));
    }
    return joined;
}

static void assert_keys(const json_t *object, const char *expected) {
    autofree char *words = strdup(expected);
    size_t count = 0;

    for (char *rest = words, *word; (word = strsep(&rest, " ")); count++)
        ck_assert_msg(json_object_get(object, word) != NULL, "key %s is missing", word);
    ck_assert_uint_eq(json_object_size(object), count);
}

/* ---- create, show ---- */

START_TEST(a_type_is_made_and_shown) {
    autoworld struct world *world = world_new(NULL);
    const char *id = make(world, " gold ",
                          ", \"description\": \"d\", \"extra_specs\": {\"a\": \"1\", \"b\": null}, "
                          "\"os-volume-type-access:is_public\": \"no\"");

    assert_keys(answered(world),
                "id name is_public extra_specs description os-volume-type-access:is_public");
    ck_assert_str_eq(text_at(answered(world), "name"), "gold");
    ck_assert(json_is_false(json_object_get(answered(world), "is_public")));
    ck_assert_int_eq(world_call(world, "GET", PATH("/types/%s", id), NULL), 200);
    assert_keys(answered(world), "id name is_public extra_specs description qos_specs_id "
                                 "os-volume-type-access:is_public");
    ck_assert_str_eq(text_at(json_object_get(answered(world), "extra_specs"), "a"), "1");
    ck_assert(json_is_null(json_object_get(json_object_get(answered(world), "extra_specs"), "b")));
    ck_assert_int_eq(world_call(world, "GET", "/types/gold", NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", "/types/" UNKNOWN, NULL), 404);
}
END_TEST

START_TEST(a_bad_type_is_refused_and_not_made) {
    static const struct {
        const char *body;
        int status;
    } cases[] = {
        { "{}", 400 },
        { "{\"volume_type\": {}}", 400 },
        { "{\"volume_type\": {\"name\": \"\"}}", 400 },
        { "{\"volume_type\": {\"name\": \"  \"}}", 400 },
        { "{\"volume_type\": {\"name\": null}}", 400 },
        { "{\"volume_type\": {\"name\": \"x\", \"colour\": \"red\"}}", 400 },
        { "{\"volume_type\": {\"name\": \"x\", \"description\": \"a\\nb\"}}", 400 },
        { "{\"volume_type\": {\"name\": \"x\", \"extra_specs\": {\"a\": 1}}}", 400 },
        { "{\"volume_type\": {\"name\": \"x\", \"os-volume-type-access:is_public\": \"?\"}}", 400 },
        { "{\"volume_type\": {\"name\": \"x\", \"extra_specs\": {\"multiattach\": \"<is> True\", "
          "\"cacheable\": \"<is> True\"}}}",
          400 },
        { "{\"volume_type\": {\"name\": \"__DEFAULT__\"}}", 409 },
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(world_call(world, "POST", "/types", cases[i].body) == cases[i].status,
                      "%s: %d", cases[i].body, world->status);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_types"), 1);
}
END_TEST

START_TEST(the_default_type_is_shown_without_its_access) {
    autoworld struct world *world = world_new(NULL);

    ck_assert_int_eq(world_call(world, "GET", "/types/default", NULL), 200);
    ck_assert_str_eq(text_at(answered(world), "name"), "__DEFAULT__");
    assert_keys(answered(world), "id name is_public extra_specs description qos_specs_id");
    world->settings.default_volume_type = "missing";
    ck_assert_int_eq(world_call(world, "GET", "/types/default", NULL), 500);
}
END_TEST

/* ---- update, delete ---- */

START_TEST(an_update_changes_the_named_fields) {
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/types/%s", make(world, "gold", ""));

    ck_assert_int_eq(world_call(world, "PUT", path, "{\"volume_type\": {\"name\": \" tin \"}}"),
                     200);
    assert_keys(answered(world), "id name is_public extra_specs description");
    ck_assert_str_eq(text_at(answered(world), "name"), "tin");
    ck_assert_int_eq(world_call(world, "PUT", path,
                                "{\"volume_type\": {\"is_public\": false, "
                                "\"name\": null, \"description\": \"d\"}}"),
                     200);
    ck_assert_str_eq(text_at(answered(world), "name"), "tin");
    ck_assert_str_eq(text_at(answered(world), "description"), "d");
    ck_assert(json_is_false(json_object_get(answered(world), "is_public")));
}
END_TEST

START_TEST(a_bad_update_changes_nothing) {
    static const struct {
        const char *members;
        int status;
    } cases[] = {
        { "", 400 },
        { "\"name\": null", 400 },
        { "\"name\": \" \"", 400 },
        { "\"name\": \"__DEFAULT__\"", 409 },
        { "\"is_public\": null", 400 },
        { "\"extra_specs\": {}", 400 },
    };
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/types/%s", make(world, "gold", ""));

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(
            world_call(world, "PUT", path, PATH("{\"volume_type\": {%s}}", cases[i].members)) ==
                cases[i].status,
            "%s: %d", cases[i].members, world->status);
    ck_assert_int_eq(
        world_call(world, "PUT", "/types/" UNKNOWN, "{\"volume_type\": {\"name\": \"x\"}}"), 404);
    ck_assert_str_eq(names(world, ""), "__DEFAULT__ gold");
}
END_TEST

START_TEST(a_type_is_deleted_when_no_volume_has_it) {
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/types/%s", make(world, "gold", ""));
    const char *standard;

    ck_assert_int_eq(
        world_call(world, "POST", "/volumes",
                   "{\"volume\": {\"size\": 1, \"volume_type\": \"gold\", \"name\": \"v\"}}"),
        202);
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 400);
    ck_assert_int_eq(world_call(world, "POST", PATH("%s/extra_specs", path),
                                "{\"extra_specs\": {\"a\": \"1\"}}"),
                     400);
    world_sql(world, "UPDATE volumes SET volume_type_id = NULL");
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 202);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 404);
    world_call(world, "GET", "/types/default", NULL);
    standard = PATH("/types/%s", text_at(answered(world), "id"));
    ck_assert_int_eq(world_call(world, "DELETE", standard, NULL), 400);
}
END_TEST

/* ---- list ---- */

START_TEST(an_admin_lists_public_private_or_all_types) {
    autoworld struct world *world = world_new(NULL);

    make(world, "open", "");
    make(world, "shut", ", \"os-volume-type-access:is_public\": false");
    ck_assert_str_eq(names(world, ""), "__DEFAULT__ open");
    ck_assert_str_eq(names(world, "&is_public=true"), "__DEFAULT__ open");
    ck_assert_str_eq(names(world, "&is_public=0"), "shut");
    ck_assert_str_eq(names(world, "&is_public=None"), "__DEFAULT__ open shut");
    ck_assert_int_eq(world_call(world, "GET", "/types?is_public=maybe", NULL), 400);
    ck_assert_str_eq(names(world, "&name=open"), "open");
    ck_assert_str_eq(names(world, "&colour=red"), "");
}
END_TEST

START_TEST(a_user_lists_public_types_and_those_shared_with_its_project) {
    autoworld struct world *world = world_new(NULL);
    const char *shut = make(world, "shut", ", \"os-volume-type-access:is_public\": false");

    roles_enter(world, NULL);
    world->token = MEMBER;
    ck_assert_str_eq(names(world, "&is_public=none"), "__DEFAULT__");
    ck_assert_int_eq(world_call(world, "GET", PATH("/types/%s", shut), NULL), 404);
    world->token = ADMIN;
    ck_assert_int_eq(world_call(world, "POST", PATH("/types/%s/action", shut),
                                "{\"addProjectAccess\": {\"project\": \"" WORLD_PROJECT "\"}}"),
                     202);
    ck_assert_str_eq(names(world, ""), "__DEFAULT__ shut");
    world->token = MEMBER;
    ck_assert_str_eq(names(world, "&is_public=false"), "__DEFAULT__ shut");
    ck_assert_int_eq(world_call(world, "GET", PATH("/types/%s", shut), NULL), 200);
}
END_TEST

START_TEST(a_list_is_cut_into_pages) {
    autoworld struct world *world = world_new(NULL);
    const char *id = make(world, "gold", "");

    make(world, "tin", "");
    ck_assert_str_eq(names(world, "&limit=2"), "__DEFAULT__ gold");
    ck_assert_ptr_nonnull(strstr(world->answer_text, "volume_type_links"));
    ck_assert_ptr_nonnull(strstr(world->answer_text, id));
    ck_assert_str_eq(names(world, PATH("&limit=2&marker=%s", id)), "tin");
    ck_assert_ptr_null(strstr(world->answer_text, "volume_type_links"));
    ck_assert_str_eq(names(world, "&limit=0"), "");
    ck_assert_int_eq(world_call(world, "GET", "/types?marker=" UNKNOWN, NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", "/types?sort_key=colour", NULL), 400);
}
END_TEST

#define SPECS_FILTER(key, value) "&extra_specs=%7B'" key "':'" value "'%7D"

START_TEST(types_are_filtered_by_their_extra_specs) {
    autoworld struct world *world = world_new(NULL);

    make(world, "a", ", \"extra_specs\": {\"k\": \"1\", \"l\": \"2\"}");
    make(world, "b", ", \"extra_specs\": {\"k\": \"1\"}");
    make(world, "c", ", \"extra_specs\": {\"RESKEY:availability_zones\": \"az1,a_2\"}");
    ck_assert_str_eq(names(world, SPECS_FILTER("k", "1")), "a b");
    ck_assert_str_eq(names(world, "&extra_specs=%7B'k':'1','l':'2'%7D"), "a");
    ck_assert_str_eq(names(world, SPECS_FILTER("k", "2")), "");
    ck_assert_str_eq(names(world, SPECS_FILTER("RESKEY:availability_zones", "az1")), "c");
    ck_assert_str_eq(names(world, SPECS_FILTER("RESKEY:availability_zones", "a_2")), "c");
    ck_assert_str_eq(names(world, SPECS_FILTER("RESKEY:availability_zones", "z_1")), "");
    ck_assert_str_eq(names(world, "&extra_specs=nodict"), "");
}
END_TEST

START_TEST(too_many_pairs_in_a_filter_are_refused) {
    autoworld struct world *world = world_new(NULL);
    const char *pairs = "";

    for (int i = 0; i < 33; i++)
        pairs = PATH("%s%s'k%d':'v'", pairs, i > 0 ? "," : "", i);
    ck_assert_int_eq(world_call(world, "GET", PATH("/types?extra_specs=%%7B%s%%7D", pairs), NULL),
                     400);
}
END_TEST

START_TEST(users_filter_by_extra_specs_from_3_52_on_but_not_by_sensitive_ones) {
    autoworld struct world *world = world_new(NULL);

    make(world, "a", ", \"extra_specs\": {\"k\": \"1\", \"multiattach\": \"<is> True\"}");
    roles_enter(world, NULL);
    world->token = READER;
    world->minor = 51;
    ck_assert_str_eq(names(world, SPECS_FILTER("k", "1")), "__DEFAULT__ a");
    ck_assert_str_eq(names(world, "&colour=red"), "__DEFAULT__ a");
    world->minor = 52;
    ck_assert_str_eq(names(world, SPECS_FILTER("k", "1")), "");
    ck_assert_str_eq(names(world, SPECS_FILTER("multiattach", "<is> True")), "a");
    ck_assert_int_eq(world_call(world, "GET", "/types?colour=red", NULL), 400);
}
END_TEST

/* ---- extra specs ---- */

START_TEST(extra_specs_are_set_shown_changed_and_deleted) {
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/types/%s/extra_specs", make(world, "gold", ""));
    const json_t *specs;

    ck_assert_int_eq(
        world_call(world, "POST", path, "{\"extra_specs\": {\"a\": \"1\", \"b:c\": null}}"), 200);
    ck_assert_str_eq(text_at(json_object_get(world->answer, "extra_specs"), "a"), "1");
    ck_assert_int_eq(world_call(world, "PUT", PATH("%s/a", path), "{\"a\": \"2\"}"), 200);
    assert_keys(world->answer, "a");
    ck_assert_int_eq(world_call(world, "GET", PATH("%s/a", path), NULL), 200);
    ck_assert_str_eq(text_at(world->answer, "a"), "2");
    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s/a", path), NULL), 202);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s/a", path), NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", PATH("%s/a", path), NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", path, NULL), 200);
    specs = json_object_get(world->answer, "extra_specs");
    assert_keys(specs, "b:c");
    ck_assert(json_is_null(json_object_get(specs, "b:c")));
}
END_TEST

START_TEST(bad_extra_specs_change_nothing) {
    static const struct {
        const char *method, *behind, *body;
    } cases[] = {
        { "POST", "", "{}" },
        { "POST", "", "{\"extra_specs\": [\"a\"]}" },
        { "POST", "", "{\"extra_specs\": {\"a b\": \"1\"}}" },
        { "POST", "", "{\"extra_specs\": {\"a/b\": \"1\"}}" },
        { "POST", "", "{\"extra_specs\": {\"a\": 1}}" },
        { "POST", "", "{\"extra_specs\": {\"a\": \"1\"}, \"x\": 1}" },
        { "PUT", "/a", "{}" },
        { "PUT", "/a", "[]" },
        { "PUT", "/a", "null" },
        { "PUT", "/a", "{\"b\": \"1\"}" },
        { "PUT", "/a", "{\"a\": \"1\", \"b\": \"1\"}" },
        { "PUT", "/a", "{\"a\": true}" },
        { "PUT", "/a b", "{\"a b\": \"1\"}" },
    };
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/types/%s/extra_specs", make(world, "gold", ""));

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(world_call(world, cases[i].method, PATH("%s%s", path, cases[i].behind),
                                 cases[i].body) == 400,
                      "%s %s: %d", cases[i].method, cases[i].body, world->status);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_type_extra_specs"), 0);
}
END_TEST

START_TEST(users_see_only_the_extra_specs_that_they_need) {
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/types/%s", make(world, "gold",
                                              ", \"extra_specs\": {\"multiattach\": \"<is> True\", "
                                              "\"volume_backend_name\": \"secret\"}"));

    roles_enter(world, NULL);
    world->token = READER;
    ck_assert_int_eq(world_call(world, "GET", path, NULL), 200);
    assert_keys(json_object_get(answered(world), "extra_specs"), "multiattach");
    ck_assert_ptr_null(json_object_get(answered(world), "qos_specs_id"));
    ck_assert_ptr_null(json_object_get(answered(world), "os-volume-type-access:is_public"));
    ck_assert_int_eq(world_call(world, "GET", PATH("%s/extra_specs", path), NULL), 200);
    assert_keys(json_object_get(world->answer, "extra_specs"), "multiattach");
    ck_assert_int_eq(
        world_call(world, "GET", PATH("%s/extra_specs/volume_backend_name", path), NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", PATH("%s/extra_specs/multiattach", path), NULL), 200);
    world->token = MEMBER;
    ck_assert_int_eq(world_call(world, "GET", path, NULL), 200);
    ck_assert_ptr_nonnull(json_object_get(answered(world), "os-volume-type-access:is_public"));
}
END_TEST

/* ---- access, encryption ---- */

START_TEST(projects_get_and_lose_access_to_a_private_type) {
    autoworld struct world *world = world_new(NULL);
    const char *path =
        PATH("/types/%s", make(world, "shut", ", \"os-volume-type-access:is_public\": false"));
    const char *action = PATH("%s/action", path);
    const char *add = "{\"addProjectAccess\": {\"project\": \"" WORLD_OTHER "\"}}";
    const char *remove = "{\"removeProjectAccess\": {\"project\": \"" WORLD_OTHER "\"}}";
    const json_t *list;

    ck_assert_int_eq(world_call(world, "POST", action, add), 202);
    ck_assert_int_eq(world_call(world, "POST", action, add), 409);
    ck_assert_int_eq(world_call(world, "GET", PATH("%s/os-volume-type-access", path), NULL), 200);
    list = json_object_get(world->answer, "volume_type_access");
    ck_assert_uint_eq(json_array_size(list), 1);
    assert_keys(json_array_get(list, 0), "volume_type_id project_id");
    ck_assert_int_eq(world_call(world, "POST", action, remove), 202);
    ck_assert_int_eq(world_call(world, "POST", action, remove), 404);
    ck_assert_int_eq(world_call(world, "POST", action, "{\"addProjectAccess\": {}}"), 400);
    ck_assert_int_eq(
        world_call(world, "POST", action, "{\"addProjectAccess\": {\"project\": \"\"}}"), 400);
    ck_assert_int_eq(world_call(world, "POST", action, "{\"create\": {}}"), 400);
}
END_TEST

START_TEST(a_public_type_has_no_access_list) {
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/types/%s", make(world, "gold", ""));

    ck_assert_int_eq(world_call(world, "GET", PATH("%s/os-volume-type-access", path), NULL), 404);
    ck_assert_int_eq(world_call(world, "POST", PATH("%s/action", path),
                                "{\"addProjectAccess\": {\"project\": \"x\"}}"),
                     400);
    ck_assert_int_eq(world_call(world, "GET", PATH("%s/encryption", path), NULL), 200);
    ck_assert_str_eq(world->answer_text, "{}");
}
END_TEST

START_TEST(only_admins_change_types) {
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/types/%s", make(world, "gold", ""));
    const struct {
        const char *method, *path, *body;
    } cases[] = {
        { "POST", "/types", "{\"volume_type\": {\"name\": \"x\"}}" },
        { "PUT", path, "{\"volume_type\": {\"name\": \"x\"}}" },
        { "DELETE", path, NULL },
        { "POST", PATH("%s/extra_specs", path), "{\"extra_specs\": {\"a\": \"1\"}}" },
        { "PUT", PATH("%s/extra_specs/a", path), "{\"a\": \"1\"}" },
        { "DELETE", PATH("%s/extra_specs/a", path), NULL },
        { "GET", PATH("%s/os-volume-type-access", path), NULL },
        { "POST", PATH("%s/action", path), "{\"addProjectAccess\": {\"project\": \"x\"}}" },
        { "POST", PATH("%s/action", path), "{\"removeProjectAccess\": {\"project\": \"x\"}}" },
        { "GET", PATH("%s/encryption", path), NULL },
    };

    roles_enter(world, NULL);
    world->token = MEMBER;
    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(world_call(world, cases[i].method, cases[i].path, cases[i].body) == 403,
                      "%s %s: %d", cases[i].method, cases[i].path, world->status);
    ck_assert_str_eq(names(world, ""), "__DEFAULT__ gold");
}
END_TEST

START_TEST(a_failing_database_is_no_answer) {
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/types/%s", make(world, "gold", ""));

    world_sql(world, "ALTER TABLE volume_type_projects RENAME TO hidden");
    ck_assert_int_eq(world_call(world, "GET", "/types", NULL), 500);
    ck_assert_int_eq(world_call(world, "GET", PATH("%s/os-volume-type-access", path), NULL), 500);
    world_sql(world, "ALTER TABLE hidden RENAME TO volume_type_projects");
    ck_assert_int_eq(world_call(world, "GET", "/types", NULL), 200);
}
END_TEST

CHECK_MAIN("types", a_type_is_made_and_shown, a_bad_type_is_refused_and_not_made,
           the_default_type_is_shown_without_its_access, an_update_changes_the_named_fields,
           a_bad_update_changes_nothing, a_type_is_deleted_when_no_volume_has_it,
           an_admin_lists_public_private_or_all_types,
           a_user_lists_public_types_and_those_shared_with_its_project, a_list_is_cut_into_pages,
           types_are_filtered_by_their_extra_specs, too_many_pairs_in_a_filter_are_refused,
           users_filter_by_extra_specs_from_3_52_on_but_not_by_sensitive_ones,
           extra_specs_are_set_shown_changed_and_deleted, bad_extra_specs_change_nothing,
           users_see_only_the_extra_specs_that_they_need,
           projects_get_and_lose_access_to_a_private_type, a_public_type_has_no_access_list,
           only_admins_change_types, a_failing_database_is_no_answer)
