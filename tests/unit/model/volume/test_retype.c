/*
 * os-retype: a volume gets another type where it is, with all that counts by type; a type that
 * needs a move is refused.
 */
#include "common/cleanup.h"
#include "tests/lib/groups.h"
#include "tests/lib/roles.h"

#include <string.h>

#define RETYPE(type) "{\"os-retype\": {\"new_type\": \"" type "\"}}"

static void make_type(struct world *world, const char *name, const char *specs) {
    ck_assert_int_eq(
        world_call(world, "POST", "/types",
                   PATH("{\"volume_type\": {\"name\": \"%s\", \"extra_specs\": %s}}", name, specs)),
        200);
}

static const char *type_of(struct world *world, const char *id) {
    return PATH("%s", json_string_value(json_object_get(world_show(world, id), "volume_type")));
}

static void assert_is(struct world *world, const char *id, const char *type, const char *status) {
    ck_assert_str_eq(type_of(world, id), type);
    ck_assert_str_eq(world_status(world, id), status);
    ck_assert_int_eq(world_check(world), 0);
    ck_assert_int_eq(COUNT("operations WHERE phase <> 'answered'"), 0);
}

static void assert_counts(struct world *world, const char *type, int volumes, int snapshots,
                          int gigabytes) {
    ck_assert_int_eq(world_in_use(world, PATH("volumes_%s", type)), volumes);
    ck_assert_int_eq(world_in_use(world, PATH("snapshots_%s", type)), snapshots);
    ck_assert_int_eq(world_in_use(world, PATH("gigabytes_%s", type)), gigabytes);
}

START_TEST(a_retyped_volume_counts_in_the_new_type) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 3);

    snapshot_of_volume(world, id);
    make_type(world, "gold", "{}");
    ck_assert_int_eq(world_action(world, id, RETYPE("gold")), 202);
    assert_is(world, id, "gold", "available");
    assert_counts(world, "gold", 1, 1, 6);
    assert_counts(world, "__DEFAULT__", 0, 0, 0);
    ck_assert_int_eq(world_in_use(world, "volumes"), 1);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 6);
    ck_assert_int_eq(world_size(world, id), 3);
    world_settle(world);
    ck_assert_int_eq(world_action(world, id,
                                  "{\"os-retype\": {\"new_type\": \"__DEFAULT__\", "
                                  "\"migration_policy\": \"on-demand\"}}"),
                     202);
    assert_is(world, id, "__DEFAULT__", "available");
    assert_counts(world, "gold", 0, 0, 0);
}
END_TEST

/* Snapshots that another project has of it count there. */
START_TEST(each_project_counts_its_own_objects) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    snapshot_of_volume(world, id);
    world->token = "admin:" WORLD_OTHER;
    snapshot_of_volume(world, id);
    world->token = "admin:" WORLD_PROJECT;
    make_type(world, "gold", "{}");
    ck_assert_int_eq(world_action(world, id, RETYPE("gold")), 202);
    assert_counts(world, "gold", 1, 1, 2);
    assert_is(world, id, "gold", "available");
}
END_TEST

START_TEST(properties_read_by_the_driver_stay) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    world_sql(world, "UPDATE pools SET capabilities = '{\"extra_specs\": [\"policy\"]}'");
    make_type(world, "gold", "{}");
    make_type(world, "fast", "{\"policy\": \"fast\"}");
    ck_assert_int_eq(world_action(world, id, RETYPE("fast")), 400);
    assert_is(world, id, "__DEFAULT__", "available");
    ck_assert_int_eq(world_action(world, id, RETYPE("gold")), 202);
    assert_is(world, id, "gold", "available");
}
END_TEST

START_TEST(a_volume_in_use_stays_with_its_guest) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    world_attach(world, id, WORLD_INSTANCE);
    make_type(world, "gold", "{}");
    make_type(world, "many", "{\"multiattach\": \"<is> True\"}");
    ck_assert_int_eq(world_action(world, id, RETYPE("many")), 400);
    assert_is(world, id, "__DEFAULT__", "in-use");
    ck_assert_int_eq(world_action(world, id, RETYPE("gold")), 202);
    assert_is(world, id, "gold", "in-use");
}
END_TEST

START_TEST(whether_several_may_attach_it_follows_the_type) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    make_type(world, "many", "{\"multiattach\": \"<is> True\"}");
    ck_assert_int_eq(world_action(world, id, RETYPE("many")), 202);
    ck_assert(json_is_true(json_object_get(world_show(world, id), "multiattach")));
    world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(world_action(world, id, RETYPE("__DEFAULT__")), 400);
    ck_assert(json_is_true(json_object_get(world_show(world, id), "multiattach")));
    assert_is(world, id, "many", "in-use");
}
END_TEST

START_TEST(a_multiattach_type_needs_a_right_of_its_own) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    make_type(world, "many", "{\"multiattach\": \"<is> True\"}");
    make_type(world, "more", "{\"multiattach\": \"<is> True\"}");
    roles_enter(world, "volume:multiattach: '!'\n");
    world->token = "member:" WORLD_PROJECT;
    ck_assert_int_eq(world_action(world, id, RETYPE("many")), 403);
    assert_is(world, id, "__DEFAULT__", "available");
    assert_counts(world, "many", 0, 0, 0);
    ck_assert(json_is_false(json_object_get(world_show(world, id), "multiattach")));
    roles_enter(world, "volume:multiattach: 'project_id:%(project_id)s'\n");
    ck_assert_int_eq(world_action(world, id, RETYPE("many")), 202);
    roles_enter(world, "volume:multiattach: '!'\n");
    ck_assert_int_eq(world_action(world, id, RETYPE("more")), 202); /* it was before */
    assert_is(world, id, "more", "available");
}
END_TEST

START_TEST(an_impossible_retype_changes_nothing) {
    static const struct {
        const char *type, *specs;
        int status;
        const char *why;
    } rows[] = {
        { "__DEFAULT__", NULL, 400, "has that type already" },
        { "unknown", NULL, 404, "unknown" },
        { "away", "{\"volume_backend_name\": \"elsewhere\"}", 400, "are not moved" },
        { "zone", "{\"RESKEY:availability_zones\": \"moon\"}", 400, "are not moved" },
        { "large", "{\"provisioning:min_vol_size\": \"5\"}", 400, "5" },
        { "secret", "{}", 400, "encrypted volumes are not supported" },
        { "full", "{}", 413, "" },
    };
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    for (size_t i = 0; i < LENGTH(rows); i++)
        if (rows[i].specs)
            make_type(world, rows[i].type, rows[i].specs);
    world_sql(world, "INSERT INTO volume_type_encryption (volume_type_id, encryption_id, provider, "
                     "control_location, created_at) SELECT id, id, 'luks', 'front-end', 1 "
                     "FROM volume_types WHERE name = 'secret'");
    ck_assert_int_eq(world_call(world, "PUT", "/os-quota-sets/" WORLD_PROJECT,
                                "{\"quota_set\": {\"gigabytes_full\": 1}}"),
                     200);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        ck_assert_int_eq(
            world_action(world, id, "{\"os-retype\": {\"new_type\": \"%s\"}}", rows[i].type),
            rows[i].status);
        ck_assert_msg(strstr(world->answer_text, rows[i].why), "%s", world->answer_text);
        assert_is(world, id, "__DEFAULT__", "available");
        assert_counts(world, "__DEFAULT__", 1, 0, 2);
    }
    ck_assert_int_eq(world_action(world, id,
                                  "{\"os-retype\": {\"new_type\": \"full\", "
                                  "\"migration_policy\": null}}"),
                     400);
}
END_TEST

START_TEST(a_volume_in_a_group_or_an_operation_keeps_its_type) {
    static const char *const states[] = { "status = 'extending'", "status = 'error'",
                                          "migration_status = 'migrating'" };
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    make_type(world, "gold", "{}");
    for (size_t i = 0; i < LENGTH(states); i++) {
        world_sql(world, PATH("UPDATE volumes SET %s", states[i]));
        ck_assert_int_eq(world_action(world, id, RETYPE("gold")), 400);
        world_sql(world, "UPDATE volumes SET status = 'available', migration_status = NULL");
    }
    group_of(world, &id, 1);
    ck_assert_int_eq(world_action(world, id, RETYPE("gold")), 400);
    assert_is(world, id, "__DEFAULT__", "available");
}
END_TEST

START_TEST(listeners_get_the_new_type) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    world->settings.notifications = true;
    make_type(world, "gold", "{}");
    ck_assert_int_eq(world_action(world, id, RETYPE("gold")), 202);
    ck_assert_int_eq(COUNT("outbox WHERE method = 'volume.retype' AND payload LIKE "
                           "'%%' || (SELECT id FROM volume_types WHERE name = 'gold') || '%%'"),
                     1);
}
END_TEST

CHECK_MAIN("retype", a_retyped_volume_counts_in_the_new_type, each_project_counts_its_own_objects,
           properties_read_by_the_driver_stay, a_volume_in_use_stays_with_its_guest,
           whether_several_may_attach_it_follows_the_type,
           a_multiattach_type_needs_a_right_of_its_own, an_impossible_retype_changes_nothing,
           a_volume_in_a_group_or_an_operation_keeps_its_type, listeners_get_the_new_type)
