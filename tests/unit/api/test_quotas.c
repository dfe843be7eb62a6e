#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <string.h>

#define PATH(...)   arena_format(world->arena, __VA_ARGS__)
#define QUOTA_SET   "/os-quota-sets/" WORLD_PROJECT
#define DEFAULT_SET "/os-quota-class-sets/default"

/* A number of the answer: "quota_set" "volumes". */
static int64_t number(const struct world *world, const char *word, const char *key) {
    const json_t *value = json_object_get(json_object_get(world->answer, word), key);

    ck_assert_msg(json_is_integer(value), "%s: %s", key, world->answer_text);
    return json_integer_value(value);
}

static int put(struct world *world, const char *members) {
    return world_call(world, "PUT", QUOTA_SET, PATH("{\"quota_set\": {%s}}", members));
}

static int64_t limit(struct world *world, const char *resource) {
    ck_assert_int_eq(world_call(world, "GET", QUOTA_SET, NULL), 200);
    return number(world, "quota_set", resource);
}

/* ---- quota sets ---- */

START_TEST(a_quota_set_has_every_resource_and_the_id) {
    static const char *const keys[] = { "id",
                                        "volumes",
                                        "snapshots",
                                        "gigabytes",
                                        "per_volume_gigabytes",
                                        "backups",
                                        "backup_gigabytes",
                                        "groups",
                                        "volumes___DEFAULT__",
                                        "gigabytes___DEFAULT__",
                                        "snapshots___DEFAULT__" };
    autoworld struct world *world = world_new(NULL);
    const json_t *set;

    ck_assert_int_eq(world_call(world, "GET", QUOTA_SET, NULL), 200);
    set = json_object_get(world->answer, "quota_set");
    for (size_t i = 0; i < LENGTH(keys); i++)
        ck_assert_msg(json_object_get(set, keys[i]) != NULL, "%s", keys[i]);
    ck_assert_uint_eq(json_object_size(set), LENGTH(keys));
    ck_assert_str_eq(json_string_value(json_object_get(set, "id")), WORLD_PROJECT);
    ck_assert_int_eq(number(world, "quota_set", "volumes"), 1000);
    ck_assert_int_eq(number(world, "quota_set", "gigabytes___DEFAULT__"), -1);
}
END_TEST

START_TEST(usage_is_shown_on_request) {
    autoworld struct world *world = world_new(NULL);
    const json_t *gigabytes;

    world_volume(world, 3);
    ck_assert_int_eq(world_call(world, "GET", QUOTA_SET "?usage=True", NULL), 200);
    gigabytes =
        json_object_get(json_object_get(world->answer, "quota_set"), "gigabytes___DEFAULT__");
    ck_assert_uint_eq(json_object_size(gigabytes), 3);
    ck_assert_int_eq(json_integer_value(json_object_get(gigabytes, "in_use")), 3);
    ck_assert_int_eq(json_integer_value(json_object_get(gigabytes, "reserved")), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(gigabytes, "limit")), -1);
    ck_assert_int_eq(world_call(world, "GET", QUOTA_SET "?usage=0", NULL), 200);
    ck_assert_int_eq(number(world, "quota_set", "volumes"), 1000);
    ck_assert_int_eq(world_call(world, "GET", QUOTA_SET "?usage=maybe", NULL), 400);
}
END_TEST

START_TEST(limits_are_changed_and_set_back) {
    autoworld struct world *world = world_new(NULL);

    ck_assert_int_eq(put(world, "\"volumes\": 5, \"gigabytes\": \"7\", \"groups\": \"-1\", "
                                "\"snapshots___DEFAULT__\": 2147483647, \"tenant_id\": \"x\", "
                                "\"id\": 1"),
                     200);
    ck_assert_int_eq(number(world, "quota_set", "volumes"), 5);
    ck_assert_ptr_null(json_object_get(json_object_get(world->answer, "quota_set"), "id"));
    ck_assert_int_eq(limit(world, "gigabytes"), 7);
    ck_assert_int_eq(limit(world, "groups"), -1);
    ck_assert_int_eq(limit(world, "snapshots___DEFAULT__"), 2147483647);
    ck_assert_int_eq(world_call(world, "GET", QUOTA_SET "/defaults", NULL), 200);
    ck_assert_int_eq(number(world, "quota_set", "volumes"), 1000);
    ck_assert_int_eq(world_call(world, "DELETE", QUOTA_SET, NULL), 200);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_int_eq(limit(world, "volumes"), 1000);
}
END_TEST

START_TEST(a_bad_change_changes_nothing) {
    static const char *const cases[] = {
        "",
        "\"volumes\": 5, \"colour\": 1",
        "\"volumes\": 5, \"gigabytes\": -2",
        "\"volumes\": 5, \"gigabytes\": 2147483648",
        "\"volumes\": 5, \"gigabytes\": \"x\"",
        "\"volumes\": 5, \"gigabytes\": \"\"",
        "\"volumes\": 5, \"gigabytes\": \"-2\"",
        "\"volumes\": 5, \"gigabytes\": 1.5",
        "\"volumes\": 5, \"gigabytes\": null",
        "\"volumes\": 5, \"gigabytes\": true",
        "\"volumes\": 5, \"volumes_nobody\": 1",
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(put(world, cases[i]) == 400, "%s: %d", cases[i], world->status);
    ck_assert_int_eq(world_call(world, "PUT", QUOTA_SET, "{\"quota_set\": []}"), 400);
    ck_assert_int_eq(world_call(world, "PUT", QUOTA_SET, "{}"), 400);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM quotas"), 0);
}
END_TEST

START_TEST(the_name_of_a_project_or_class_is_bounded) {
    static const char *const sets[][2] = { { "/os-quota-sets", "quota_set" },
                                           { "/os-quota-class-sets", "quota_class_set" } };
    autoworld struct world *world = world_new(NULL);
    char name[257];

    for (size_t i = 0; i < LENGTH(sets); i++)
        for (unsigned length = 255; length <= 256; length++) {
            memset(name, 'x', length);
            name[length] = '\0';
            ck_assert_int_eq(
                world_call(world, "PUT", arena_format(world->arena, "%s/%s", sets[i][0], name),
                           arena_format(world->arena, "{\"%s\": {\"volumes\": 1}}", sets[i][1])),
                length == 255 ? 200 : 400);
        }
}
END_TEST

START_TEST(a_limit_below_present_use_is_refused) {
    autoworld struct world *world = world_new(NULL);

    world_volume(world, 3);
    ck_assert_int_eq(put(world, "\"gigabytes\": 5"), 200);
    ck_assert_int_eq(put(world, "\"volumes\": 9, \"gigabytes\": 2"), 400);
    ck_assert_int_eq(limit(world, "gigabytes"), 5);
    ck_assert_int_eq(limit(world, "volumes"), 1000);
}
END_TEST

START_TEST(an_exceeded_quota_answers_413_with_retry_after) {
    autoworld struct world *world = world_new(NULL);

    put(world, "\"gigabytes\": 5");
    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 6}}"), 413);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "overLimit"));
    ck_assert_ptr_nonnull(strstr(world->answer_text, "exceed"));
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes"), 0);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 0);
}
END_TEST

START_TEST(a_project_reads_its_own_quotas_and_changes_none) {
    autoworld struct world *world = world_new(NULL);

    roles_enter(world, NULL);
    world->token = "reader:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "GET", QUOTA_SET, NULL), 200);
    ck_assert_int_eq(world_call(world, "GET", QUOTA_SET "/defaults", NULL), 200);
    ck_assert_int_eq(world_call(world, "GET", "/os-quota-sets/" WORLD_OTHER, NULL), 403);
    ck_assert_int_eq(world_call(world, "GET", "/os-quota-sets/" WORLD_OTHER "/defaults", NULL),
                     403);
    world->token = "member:" WORLD_PROJECT;
    ck_assert_int_eq(put(world, "\"volumes\": 5"), 403);
    ck_assert_int_eq(world_call(world, "DELETE", QUOTA_SET, NULL), 403);
    ck_assert_int_eq(world_call(world, "GET", DEFAULT_SET, NULL), 403);
    ck_assert_int_eq(
        world_call(world, "PUT", DEFAULT_SET, "{\"quota_class_set\": {\"groups\": 1}}"), 403);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM quotas"), 0);
}
END_TEST

/* ---- classes ---- */

START_TEST(projects_without_limits_have_those_of_the_default_class) {
    autoworld struct world *world = world_new(NULL);

    ck_assert_int_eq(world_call(world, "PUT", DEFAULT_SET,
                                "{\"quota_class_set\": {\"volumes\": 6, \"backups\": \"8\"}}"),
                     200);
    ck_assert_int_eq(number(world, "quota_class_set", "volumes"), 6);
    ck_assert_ptr_null(json_object_get(json_object_get(world->answer, "quota_class_set"), "id"));
    ck_assert_int_eq(world_call(world, "GET", DEFAULT_SET, NULL), 200);
    ck_assert_int_eq(number(world, "quota_class_set", "backups"), 8);
    ck_assert_str_eq(
        json_string_value(json_object_get(json_object_get(world->answer, "quota_class_set"), "id")),
        "default");
    ck_assert_int_eq(limit(world, "volumes"), 6);
    ck_assert_int_eq(world_call(world, "PUT", DEFAULT_SET,
                                "{\"quota_class_set\": {\"volumes\": 7, \"colour\": 1}}"),
                     400);
    ck_assert_int_eq(limit(world, "volumes"), 6);
}
END_TEST

START_TEST(unimplemented_paths_are_not_found) {
    static const struct {
        const char *method, *path;
    } cases[] = {
        { "GET", "/os-quota-sets" },
        { "POST", "/os-quota-sets" },
        { "GET", "/os-quota-class-sets" },
        { "POST", "/os-quota-class-sets" },
        { "DELETE", DEFAULT_SET },
        { "POST", "/limits" },
        { "GET", "/limits/1" },
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(cases); i++) {
        ck_assert_int_eq(world_call(world, cases[i].method, cases[i].path, "{}"), 404);
        ck_assert_ptr_nonnull(json_object_get(world->answer, "itemNotFound"));
    }
}
END_TEST

/* ---- limits ---- */

static int64_t absolute(const struct world *world, const char *key) {
    const json_t *value =
        json_object_get(json_object_get(json_object_get(world->answer, "limits"), "absolute"), key);

    ck_assert_msg(json_is_integer(value), "%s: %s", key, world->answer_text);
    return json_integer_value(value);
}

START_TEST(limits_show_totals_and_usage) {
    static const char *const keys[] = { "maxTotalSnapshots",       "maxTotalBackups",
                                        "maxTotalBackupGigabytes", "totalSnapshotsUsed",
                                        "totalBackupsUsed",        "totalBackupGigabytesUsed" };
    autoworld struct world *world = world_new(NULL);

    world_volume(world, 3);
    ck_assert_int_eq(world_call(world, "GET", "/limits", NULL), 200);
    ck_assert_int_eq(absolute(world, "maxTotalVolumes"), 1000);
    ck_assert_int_eq(absolute(world, "maxTotalVolumeGigabytes"), 100000);
    ck_assert_int_eq(absolute(world, "totalVolumesUsed"), 1);
    ck_assert_int_eq(absolute(world, "totalGigabytesUsed"), 3);
    for (size_t i = 0; i < LENGTH(keys); i++)
        ck_assert_int_ge(absolute(world, keys[i]), 0);
    ck_assert_uint_eq(
        json_object_size(json_object_get(json_object_get(world->answer, "limits"), "absolute")),
        10);
    ck_assert(json_is_array(json_object_get(json_object_get(world->answer, "limits"), "rate")));
}
END_TEST

START_TEST(an_admin_sees_another_projects_limits_from_3_39_on) {
    autoworld struct world *world = world_new(NULL);

    world_volume(world, 3);
    roles_enter(world, NULL);
    world->token = "admin:" WORLD_OTHER;
    world->minor = 38;
    ck_assert_int_eq(world_call(world, "GET", "/limits?project_id=" WORLD_PROJECT, NULL), 200);
    ck_assert_int_eq(absolute(world, "totalVolumesUsed"), 0);
    world->minor = 39;
    ck_assert_int_eq(world_call(world, "GET", "/limits?project_id=" WORLD_PROJECT, NULL), 200);
    ck_assert_int_eq(absolute(world, "totalVolumesUsed"), 1);
    ck_assert_int_eq(world_call(world, "GET", "/limits?tenant_id=" WORLD_PROJECT, NULL), 200);
    ck_assert_int_eq(absolute(world, "totalVolumesUsed"), 1);
    world->token = "reader:" WORLD_OTHER;
    ck_assert_int_eq(world_call(world, "GET", "/limits?project_id=" WORLD_PROJECT, NULL), 200);
    ck_assert_int_eq(absolute(world, "totalVolumesUsed"), 0);
}
END_TEST

START_TEST(usage_is_omitted_without_the_right_to_see_it) {
    autoworld struct world *world = world_new(NULL);

    roles_enter(world, "limits_extension:used_limits: \"!\"\n");
    world->token = "reader:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "GET", "/limits", NULL), 200);
    ck_assert_int_eq(absolute(world, "maxTotalVolumes"), 1000);
    ck_assert_ptr_null(strstr(world->answer_text, "totalVolumesUsed"));
}
END_TEST

START_TEST(a_failing_database_is_no_answer) {
    static const char *const paths[] = { QUOTA_SET, QUOTA_SET "/defaults", DEFAULT_SET, "/limits" };
    autoworld struct world *world = world_new(NULL);

    world_sql(world, "ALTER TABLE quota_usages RENAME TO hidden");
    for (size_t i = 0; i < LENGTH(paths); i++)
        ck_assert_int_eq(world_call(world, "GET", paths[i], NULL), 500);
    ck_assert_int_eq(put(world, "\"per_volume_gigabytes\": 5"), 500);
    ck_assert_int_eq(
        world_call(world, "PUT", DEFAULT_SET, "{\"quota_class_set\": {\"groups\": 1}}"), 500);
    world_sql(world, "ALTER TABLE hidden RENAME TO quota_usages");
    world_sql(world, "ALTER TABLE volume_types RENAME TO hidden");
    ck_assert_int_eq(put(world, "\"volumes_x\": 5"), 500);
    world_sql(world, "ALTER TABLE hidden RENAME TO volume_types");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM quotas"), 0);
}
END_TEST

#define HIDDEN_SHOWN ((unsigned)3) /* volumes_, gigabytes_ and snapshots_ */

/* How many names of the answer are of the type "hidden"; the rest is as ever. */
static unsigned hidden_in(struct world *world, const char *token, const char *path) {
    unsigned found = 0;
    const char *key;
    json_t *set, *value;

    world->token = token;
    ck_assert_int_eq(world_call(world, "GET", path, NULL), 200);
    set = json_object_get(world->answer, "quota_set");
    ck_assert_ptr_nonnull(json_object_get(set, "volumes___DEFAULT__"));
    json_object_foreach(set, key, value) {
        found += strstr(key, "_hidden") != NULL;
    }
    return found;
}

START_TEST(private_types_of_others_have_no_quota_to_see) {
    static const char *const paths[] = { QUOTA_SET, QUOTA_SET "/defaults",
                                         QUOTA_SET "?usage=true" };
    static const char own[] = "member:" WORLD_PROJECT, admin[] = "admin:" WORLD_OTHER;
    autoworld struct world *world = world_new(NULL);
    const char *id;

    world_call(world, "POST", "/types",
               "{\"volume_type\": {\"name\": \"hidden\", \"os-volume-type-access:is_public\": "
               "false}}");
    ck_assert_int_eq(world->status, 200);
    id = world_answer_id(world, "volume_type");
    ck_assert_int_eq(put(world, "\"volumes_hidden\": 7"), 200);
    roles_enter(world, "volume_extension:quotas:update: 'role:member'\n");
    for (size_t i = 0; i < LENGTH(paths); i++) {
        ck_assert_uint_eq(hidden_in(world, own, paths[i]), 0);
        ck_assert_uint_eq(hidden_in(world, admin, paths[i]), HIDDEN_SHOWN);
    }
    world->token = own; /* callers that the rules let change quotas: a name like any unknown one */
    ck_assert_int_eq(put(world, "\"volumes_hidden\": 8"), 400);
    ck_assert_int_eq(put(world, "\"volumes_none\": 8"), 400);
    world->token = admin;
    ck_assert_int_eq(world_call(world, "POST", PATH("/types/%s/action", id),
                                "{\"addProjectAccess\": {\"project\": \"" WORLD_PROJECT "\"}}"),
                     202);
    for (size_t i = 0; i < LENGTH(paths); i++)
        ck_assert_uint_eq(hidden_in(world, own, paths[i]), HIDDEN_SHOWN);
    world_call(world, "GET", QUOTA_SET, NULL);
    ck_assert_int_eq(number(world, "quota_set", "volumes_hidden"), 7);
}
END_TEST

CHECK_MAIN("quotas", a_quota_set_has_every_resource_and_the_id, usage_is_shown_on_request,
           limits_are_changed_and_set_back, a_bad_change_changes_nothing,
           the_name_of_a_project_or_class_is_bounded, a_limit_below_present_use_is_refused,
           an_exceeded_quota_answers_413_with_retry_after,
           a_project_reads_its_own_quotas_and_changes_none,
           private_types_of_others_have_no_quota_to_see,
           projects_without_limits_have_those_of_the_default_class,
           unimplemented_paths_are_not_found, limits_show_totals_and_usage,
           an_admin_sees_another_projects_limits_from_3_39_on,
           usage_is_omitted_without_the_right_to_see_it, a_failing_database_is_no_answer)
