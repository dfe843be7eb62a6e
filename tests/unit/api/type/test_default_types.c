#include "tests/lib/check_main.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <string.h>

#define PATH(...) arena_format(world->arena, __VA_ARGS__)
#define OWN       "/default-types/" WORLD_PROJECT

static const char *make(struct world *world, const char *name, const char *members) {
    int status = world_call(world, "POST", "/types",
                            PATH("{\"volume_type\": {\"name\": \"%s\"%s}}", name, members));

    ck_assert_msg(status == 200, "%d %s", status, world->answer_text);
    return world_answer_id(world, "volume_type");
}

static int set(struct world *world, const char *path, const char *type) {
    return world_call(world, "PUT", path,
                      PATH("{\"default_type\": {\"volume_type\": \"%s\"}}", type));
}

/* The type of a volume that is made without one. */
static const char *type_of_new_volume(struct world *world) {
    int status = world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 1}}");
    const json_t *volume = json_object_get(world->answer, "volume");

    ck_assert_msg(status == 202, "%d %s", status, world->answer_text);
    return arena_text(world->arena, json_string_value(json_object_get(volume, "volume_type")));
}

START_TEST(a_default_is_set_shown_listed_replaced_and_unset) {
    autoworld struct world *world = world_new(NULL);
    const char *gold = make(world, "gold", ""), *tin = make(world, "tin", "");

    ck_assert_int_eq(world_call(world, "GET", "/default-types", NULL), 200);
    ck_assert_str_eq(world->answer_text, "{\"default_types\":[]}");
    ck_assert_int_eq(world_call(world, "GET", OWN, NULL), 404);
    ck_assert_int_eq(set(world, OWN, "gold"), 200);
    ck_assert_str_eq(world->answer_text, PATH("{\"default_type\":{\"project_id\":\"" WORLD_PROJECT
                                              "\",\"volume_type_id\":\"%s\"}}",
                                              gold));
    ck_assert_int_eq(set(world, OWN, tin), 200);
    ck_assert_int_eq(world_call(world, "GET", OWN, NULL), 200);
    ck_assert_str_eq(world->answer_text, PATH("{\"default_type\":{\"project_id\":\"" WORLD_PROJECT
                                              "\",\"volume_type_id\":\"%s\"}}",
                                              tin));
    ck_assert_int_eq(set(world, "/default-types/" WORLD_OTHER, "gold"), 200);
    world_call(world, "GET", "/default-types", NULL);
    ck_assert_str_eq(world->answer_text,
                     PATH("{\"default_types\":[{\"project_id\":\"" WORLD_PROJECT
                          "\",\"volume_type_id\":\"%s\"},{\"project_id\":\"" WORLD_OTHER
                          "\",\"volume_type_id\":\"%s\"}]}",
                          tin, gold));
    ck_assert_int_eq(world_call(world, "DELETE", OWN, NULL), 204);
    ck_assert_int_eq(world_call(world, "DELETE", OWN, NULL), 204);
    ck_assert_int_eq(world_call(world, "GET", OWN, NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", "/default-types/" WORLD_OTHER, NULL), 200);
}
END_TEST

START_TEST(a_projects_default_takes_precedence_over_the_configured_one) {
    autoworld struct world *world = world_new(NULL);

    make(world, "gold", "");
    ck_assert_str_eq(type_of_new_volume(world), "__DEFAULT__");
    set(world, "/default-types/" WORLD_OTHER, "gold");
    ck_assert_str_eq(type_of_new_volume(world), "__DEFAULT__");
    set(world, OWN, "gold");
    ck_assert_str_eq(type_of_new_volume(world), "gold");
    ck_assert_int_eq(world_call(world, "GET", "/types/default", NULL), 200);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "\"gold\""));
    world->settings.default_volume_type = "missing"; /* not queried */
    ck_assert_str_eq(type_of_new_volume(world), "gold");
    world->settings.default_volume_type = "__DEFAULT__";
    world_call(world, "DELETE", OWN, NULL);
    ck_assert_str_eq(type_of_new_volume(world), "__DEFAULT__");
}
END_TEST

START_TEST(a_private_default_is_for_projects_with_access) {
    autoworld struct world *world = world_new(NULL);
    const char *id = make(world, "hidden", ", \"os-volume-type-access:is_public\": false");

    set(world, OWN, "hidden");
    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 1}}"), 404);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes"), 0);
    world->token = "admin:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "POST", PATH("/types/%s/action", id),
                                "{\"addProjectAccess\": {\"project\": \"" WORLD_PROJECT "\"}}"),
                     202);
    world->token = "member:" WORLD_PROJECT;
    ck_assert_str_eq(type_of_new_volume(world), "hidden");
}
END_TEST

START_TEST(a_default_of_a_project_is_not_deleted) {
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/types/%s", make(world, "gold", ""));

    set(world, "/default-types/" WORLD_OTHER, "gold");
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 400);
    ck_assert_int_eq(world_call(world, "GET", path, NULL), 200);
    world_call(world, "DELETE", "/default-types/" WORLD_OTHER, NULL);
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 202);
}
END_TEST

START_TEST(a_bad_request_sets_nothing) {
    static const struct {
        const char *body;
        int status;
    } cases[] = {
        { NULL, 400 },
        { "{}", 400 },
        { "{\"default_type\": null}", 400 },
        { "{\"default_type\": {}}", 400 },
        { "{\"default_type\": {\"volume_type\": null}}", 400 },
        { "{\"default_type\": {\"volume_type\": \"\"}}", 400 },
        { "{\"default_type\": {\"volume_type\": \" \"}}", 400 },
        { "{\"default_type\": {\"volume_type\": \"missing\"}}", 400 },
        { "{\"default_type\": {\"volume_type\": \"__DEFAULT__\", \"x\": 1}}", 400 },
        { "{\"default_type\": {\"volume_type\": \"__DEFAULT__\"}, \"x\": 1}", 400 },
    };
    autoworld struct world *world = world_new(NULL);
    char path[300] = "/default-types/";

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(world_call(world, "PUT", OWN, cases[i].body) == cases[i].status, "%zu: %d", i,
                      world->status);
    memset(path + strlen(path), 'a', 256);
    ck_assert_int_eq(set(world, path, "__DEFAULT__"), 400);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM default_volume_types"), 0);
}
END_TEST

START_TEST(defaults_are_for_administrators_from_3_62_on) {
    autoworld struct world *world = world_new(NULL);

    world->minor = 61;
    ck_assert_int_eq(world_call(world, "GET", "/default-types", NULL), 404);
    ck_assert_int_eq(set(world, OWN, "__DEFAULT__"), 404);
    ck_assert_int_eq(world_call(world, "DELETE", OWN, NULL), 404);
    world->minor = 62;
    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "GET", "/default-types", NULL), 403);
    ck_assert_int_eq(world_call(world, "GET", OWN, NULL), 403);
    ck_assert_int_eq(set(world, OWN, "__DEFAULT__"), 403);
    ck_assert_int_eq(world_call(world, "DELETE", OWN, NULL), 403);
    world->token = "admin:" WORLD_PROJECT;
    ck_assert_int_eq(set(world, OWN, "__DEFAULT__"), 200);
}
END_TEST

START_TEST(a_failing_database_is_reported) {
    autoworld struct world *world = world_new(NULL);

    world_sql(world, "ALTER TABLE default_volume_types RENAME TO hidden");
    ck_assert_int_eq(world_call(world, "GET", "/default-types", NULL), 500);
    ck_assert_int_eq(world_call(world, "GET", OWN, NULL), 500);
    ck_assert_int_eq(set(world, OWN, "__DEFAULT__"), 500);
    ck_assert_int_eq(world_call(world, "DELETE", OWN, NULL), 500);
    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 1}}"), 500);
    world_sql(world, "ALTER TABLE hidden RENAME TO default_volume_types");
    ck_assert_int_eq(world_call(world, "GET", "/default-types", NULL), 200);
}
END_TEST

CHECK_MAIN("default_types", a_default_is_set_shown_listed_replaced_and_unset,
           a_projects_default_takes_precedence_over_the_configured_one,
           a_private_default_is_for_projects_with_access, a_default_of_a_project_is_not_deleted,
           a_bad_request_sets_nothing, defaults_are_for_administrators_from_3_62_on,
           a_failing_database_is_reported)
