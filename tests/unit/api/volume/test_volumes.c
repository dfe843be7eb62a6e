#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <string.h>

#define PATH(...) arena_format(world->arena, __VA_ARGS__)
#define UNKNOWN   "99999999-9999-4999-8999-999999999999"

static int create(struct world *world, const char *members) {
    return world_call(world, "POST", "/volumes", PATH("{\"volume\": {%s}}", members));
}

static const json_t *answered(const struct world *world, const char *key) {
    return json_object_get(json_object_get(world->answer, "volume"), key);
}

static const char *answered_text(const struct world *world, const char *key) {
    return json_string_value(answered(world, key));
}

static int64_t count_volumes(struct world *world) {
    return world_count(world, "SELECT COUNT(*) FROM volumes");
}

/* ---- create ---- */

START_TEST(create_answers_a_volume_in_creation_without_attributes) {
    autoworld struct world *world = world_new(NULL);

    ck_assert_int_eq(create(world, "\"size\": \"2\", \"name\": \" disk \", \"metadata\": {\"a\": "
                                   "\"b\"}, \"description\": null"),
                     202);

    ck_assert_str_eq(answered_text(world, "status"), "creating");
    ck_assert_str_eq(answered_text(world, "name"), "disk");
    ck_assert_int_eq(json_integer_value(answered(world, "size")), 2);
    ck_assert_str_eq(json_string_value(json_object_get(answered(world, "metadata"), "a")), "b");
    ck_assert(json_is_null(answered(world, "description")));
    ck_assert_str_eq(answered_text(world, "volume_type"), "__DEFAULT__");
    ck_assert_ptr_null(answered(world, "os-vol-host-attr:host"));
    ck_assert_uint_eq(json_array_size(answered(world, "links")), 2);
}
END_TEST

START_TEST(targets_count_as_shared_until_the_backend_has_made_them) {
    autoworld struct world *world = world_new(NULL);
    const char *id;

    ck_assert_int_eq(create(world, "\"size\": 1"), 202);
    ck_assert(json_is_true(answered(world, "shared_targets")));
    id = arena_text(world->arena, answered_text(world, "id"));
    ck_assert(json_is_true(json_object_get(world_show(world, id), "shared_targets")));
    world_settle(world);
    ck_assert(json_is_false(json_object_get(world_show(world, id), "shared_targets")));
}
END_TEST

START_TEST(a_volume_names_the_service_of_its_backend) {
    autoworld struct world *world = world_new(NULL);
    const char *sql = "SELECT COUNT(*) FROM volumes v JOIN services s ON s.id = v.service_uuid "
                      "WHERE s.binary_name = 'cinder-volume' AND s.host = '" WORLD_NODE "@memory'";
    const char *id = world_volume(world, 1);

    ck_assert(json_is_string(json_object_get(world_show(world, id), "service_uuid")));
    ck_assert_int_eq(world_count(world, sql), 1);
}
END_TEST

/* It has changed from creating to error. */
START_TEST(a_volume_that_no_backend_takes_has_changed_and_names_no_service) {
    autoworld struct world *world = world_new(&(struct world_settings){ .capacity_gb = 1 });
    const json_t *volume;

    ck_assert_int_eq(create(world, "\"size\": 900"), 202);
    ck_assert(json_is_null(answered(world, "updated_at")));
    volume = world_show(world, arena_text(world->arena, answered_text(world, "id")));
    ck_assert_str_eq(json_string_value(json_object_get(volume, "status")), "error");
    ck_assert_str_eq(json_string_value(json_object_get(volume, "updated_at")),
                     json_string_value(json_object_get(volume, "created_at")));
    ck_assert(json_is_null(json_object_get(volume, "service_uuid")));
}
END_TEST

START_TEST(the_short_names_win_over_the_display_names) {
    autoworld struct world *world = world_new(NULL);

    create(world, "\"size\": 1, \"name\": \"a\", \"display_name\": \"b\", \"description\": \"c\", "
                  "\"display_description\": \"d\"");
    ck_assert_str_eq(answered_text(world, "name"), "a");
    ck_assert_str_eq(answered_text(world, "description"), "c");
    create(world, "\"size\": 1, \"display_name\": \"b\", \"display_description\": \"d\"");
    ck_assert_str_eq(answered_text(world, "name"), "b");
    ck_assert_str_eq(answered_text(world, "description"), "d");
}
END_TEST

START_TEST(a_bad_request_makes_nothing) {
    static const struct {
        const char *members;
        int status;
    } cases[] = {
        { "\"size\": 0", 400 },
        { "\"size\": 1.0", 400 },
        { "\"size\": \"x\"", 400 },
        { "\"name\": \"no size\"", 400 },
        { "\"size\": 1, \"multiattach\": true", 400 },
        { "\"size\": 1, \"metadata\": {\"a\": null}", 400 },
        { "\"size\": 1, \"metadata\": {\"extend_new_size\": \"9\"}", 400 },
        { "\"size\": 1, \"metadata\": {\"extend_reservations\": \"[]\"}", 400 },
        { "\"size\": 1, \"colour\": \"red\"", 400 },
        { "\"size\": 1, \"volume_type\": \"unknown\"", 404 },
        { "\"size\": 1, \"availability_zone\": \"moon\"", 400 },
        { "\"size\": 1, \"imageRef\": \"" UNKNOWN "\"", 400 },
        { "\"size\": 1, \"image_id\": \"" UNKNOWN "\"", 400 },
        { "\"size\": 1, \"snapshot_id\": \"" UNKNOWN "\"", 404 },
        { "\"size\": 1, \"source_volid\": \"" UNKNOWN "\"", 404 },
        { "\"size\": 1, \"backup_id\": \"" UNKNOWN "\"", 404 },
        { "\"size\": 1, \"group_id\": \"" UNKNOWN "\"", 404 },
        { "\"size\": 1, \"consistencygroup_id\": \"" UNKNOWN "\"", 404 },
        { "\"size\": 1, \"snapshot_id\": \"" UNKNOWN "\", \"source_volid\": \"" UNKNOWN "\"", 404 },
        { "\"size\": 1, \"imageRef\": \"" UNKNOWN "\", \"snapshot_id\": \"" UNKNOWN "\"", 404 },
        { "\"size\": 1, \"imageRef\": \"" UNKNOWN "\", \"backup_id\": \"" UNKNOWN "\"", 404 },
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(create(world, cases[i].members) == cases[i].status, "%s: %d %s",
                      cases[i].members, world->status, world->answer_text);

    ck_assert_int_eq(count_volumes(world), 0);
    ck_assert_int_eq(world_in_use(world, "volumes"), 0);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM outbox"), 0);
}
END_TEST

static const char *snapshot_of(struct world *world, const char *volume_id) {
    ck_assert_int_eq(world_call(world, "POST", "/snapshots",
                                arena_format(world->arena,
                                             "{\"snapshot\": {\"volume_id\": \"%s\"}}", volume_id)),
                     202);
    return world_answer_id(world, "snapshot");
}

/* With several sources the request is a bad one when all of them are there. */
START_TEST(a_source_that_is_not_there_is_not_found_beside_another_one) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);
    const char *snapshot = snapshot_of(world, volume);
    const struct {
        const char *snapshot_id, *source_volid;
        int status;
        const char *named;
    } cases[] = {
        { UNKNOWN, volume, 404, "Snapshot " UNKNOWN },
        { snapshot, UNKNOWN, 404, "Volume " UNKNOWN },
        { UNKNOWN, UNKNOWN, 404, "Snapshot " UNKNOWN },
        { snapshot, volume, 400, "At most one of" },
    };

    world_settle(world);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        ck_assert_int_eq(create(world, arena_format(world->arena,
                                                    "\"size\": 1, \"snapshot_id\": \"%s\", "
                                                    "\"source_volid\": \"%s\"",
                                                    cases[i].snapshot_id, cases[i].source_volid)),
                         cases[i].status);
        ck_assert_ptr_nonnull(strstr(world->answer_text, cases[i].named));
    }
    ck_assert_int_eq(count_volumes(world), 1);
}
END_TEST

START_TEST(a_group_is_never_overlooked) {
    autoworld struct world *world = world_new(NULL);

    world->minor = 0;
    ck_assert_int_eq(create(world, "\"size\": 1, \"group_id\": \"" UNKNOWN "\""), 404);
    ck_assert_int_eq(count_volumes(world), 0);
}
END_TEST

START_TEST(empty_references_count_as_none) {
    autoworld struct world *world = world_new(NULL);

    ck_assert_int_eq(create(world, "\"size\": 1, \"imageRef\": \"\", \"volume_type\": \"\", "
                                   "\"group_id\": \"\", \"multiattach\": false"),
                     202);
}
END_TEST

START_TEST(unknown_keys_are_refused_from_3_53_on) {
    autoworld struct world *world = world_new(NULL);

    world->minor = 52;
    ck_assert_int_eq(create(world, "\"size\": 1, \"colour\": \"red\""), 202);
    world->minor = 53;
    ck_assert_int_eq(create(world, "\"size\": 1, \"colour\": \"red\""), 400);
    ck_assert_int_eq(count_volumes(world), 1);
}
END_TEST

START_TEST(only_hints_may_stand_beside_the_volume) {
    static const struct {
        const char *beside;
        int status;
    } cases[] = {
        { "\"OS-SCH-HNT:scheduler_hints\": null", 202 },
        { "\"OS-SCH-HNT:scheduler_hints\": {\"anything\": 1, \"query\": \"[]\"}", 202 },
        { "\"OS-SCH-HNT:scheduler_hints\": {\"different_host\": \"" UNKNOWN "\"}", 202 },
        { "\"OS-SCH-HNT:scheduler_hints\": {\"different_host\": [\"" UNKNOWN "\"]}", 202 },
        { "\"OS-SCH-HNT:scheduler_hints\": {\"different_host\": [\"" UNKNOWN "\", \"" UNKNOWN
          "\"]}",
          400 },
        { "\"OS-SCH-HNT:scheduler_hints\": {\"same_host\": [1]}", 400 },
        { "\"OS-SCH-HNT:scheduler_hints\": {\"same_host\": \"here\"}", 400 },
        { "\"OS-SCH-HNT:scheduler_hints\": {\"same_host\": null}", 400 },
        { "\"OS-SCH-HNT:scheduler_hints\": {\"local_to_instance\": \"x\"}", 400 },
        { "\"OS-SCH-HNT:scheduler_hints\": {\"query\": 1}", 400 },
        { "\"OS-SCH-HNT:scheduler_hints\": []", 400 },
        { "\"snapshot\": {}", 400 },
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(cases); i++) {
        world_call(world, "POST", "/volumes",
                   PATH("{\"volume\": {\"size\": 1}, %s}", cases[i].beside));
        ck_assert_msg(world->status == cases[i].status, "%s: %d %s", cases[i].beside, world->status,
                      world->answer_text);
    }
    ck_assert_int_eq(count_volumes(world), 4);
}
END_TEST

START_TEST(hints_within_the_volume_count_below_3_53) {
    autoworld struct world *world = world_new(NULL);

    world->minor = 52;
    ck_assert_int_eq(create(world, "\"size\": 1, \"scheduler_hints\": {\"same_host\": \"x\"}"),
                     400);
    ck_assert_int_eq(create(world, "\"size\": 1, \"scheduler_hints\": {}"), 202);
}
END_TEST

START_TEST(an_image_needs_a_right_of_its_own) {
    autoworld struct world *world = world_new(NULL);

    roles_enter(world, "volume:create_from_image: '!'\n");
    world->token = "member:" WORLD_PROJECT;
    ck_assert_int_eq(create(world, "\"size\": 1, \"imageRef\": \"" UNKNOWN "\""), 403);
    ck_assert_int_eq(create(world, "\"size\": 1"), 202);
}
END_TEST

START_TEST(a_multiattach_type_needs_a_right_of_its_own) {
    autoworld struct world *world = world_new(NULL);

    ck_assert_int_eq(world_call(world, "POST", "/types",
                                "{\"volume_type\": {\"name\": \"many\", \"extra_specs\": "
                                "{\"multiattach\": \"<is> True\"}}}"),
                     200);
    roles_enter(world, "volume:multiattach: '!'\n");
    world->token = "member:" WORLD_PROJECT;
    ck_assert_int_eq(create(world, "\"size\": 1, \"volume_type\": \"many\""), 403);

    ck_assert_int_eq(count_volumes(world), 0);
    ck_assert_int_eq(world_in_use(world, "volumes"), 0);
    roles_enter(world, "volume:multiattach: '@'\n");
    ck_assert_int_eq(create(world, "\"size\": 1, \"volume_type\": \"many\""), 202);
    ck_assert(json_is_true(answered(world, "multiattach")));
}
END_TEST

START_TEST(readers_make_nothing) {
    autoworld struct world *world = world_new(NULL);

    roles_enter(world, NULL);
    world->token = "reader:" WORLD_PROJECT;
    ck_assert_int_eq(create(world, "\"size\": 1"), 403);
    ck_assert_int_eq(count_volumes(world), 0);
}
END_TEST

/* ---- show ---- */

START_TEST(the_owner_sees_its_volume_and_no_host) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    ck_assert_str_eq(
        json_string_value(json_object_get(world_show(world, id), "os-vol-host-attr:host")),
        "node@memory#pool");
    roles_enter(world, NULL);
    world->token = "reader:" WORLD_PROJECT;
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_str_eq(answered_text(world, "os-vol-tenant-attr:tenant_id"), WORLD_PROJECT);
    ck_assert_ptr_null(answered(world, "os-vol-host-attr:host"));
    ck_assert_ptr_null(answered(world, "migration_status"));
}
END_TEST

START_TEST(volumes_of_others_are_not_found) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1), *path = PATH("/volumes/%s", id);

    roles_enter(world, NULL);
    world->token = "member:" WORLD_OTHER;
    ck_assert_int_eq(world_call(world, "GET", path, NULL), 404);
    ck_assert_int_eq(world_call(world, "PUT", path, "{\"volume\": {\"name\": \"x\"}}"), 404);
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", PATH("%s/metadata", path), NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", "/volumes/" UNKNOWN, NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", "/volumes/new", NULL), 404);

    world->token = "admin:" WORLD_OTHER;
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert(json_is_null(answered(world, "name")));
}
END_TEST

START_TEST(a_refused_read_is_answered_as_not_found) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    roles_enter(world, "volume:get: '!'\n");
    world->token = "member:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "GET", PATH("/volumes/%s", id), NULL), 404);
}
END_TEST

/* ---- update ---- */

START_TEST(update_changes_only_the_given_fields) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1), *path = PATH("/volumes/%s", id);

    ck_assert_int_eq(world_call(world, "PUT", path,
                                "{\"volume\": {\"name\": \"a\", \"description\": \"b\", "
                                "\"metadata\": {\"k\": \"v\"}}}"),
                     200);
    ck_assert_int_eq(
        world_call(world, "PUT", path, "{\"volume\": {\"name\": \"c\", \"display_name\": \"d\"}}"),
        200);
    ck_assert_str_eq(answered_text(world, "name"), "c");
    ck_assert_str_eq(answered_text(world, "description"), "b");
    ck_assert_str_eq(json_string_value(json_object_get(answered(world, "metadata"), "k")), "v");
    ck_assert_ptr_null(answered(world, "os-vol-host-attr:host"));
    ck_assert_ptr_nonnull(answered_text(world, "updated_at"));

    ck_assert_int_eq(world_call(world, "PUT", path,
                                "{\"volume\": {\"display_name\": null, "
                                "\"display_description\": \"e\", \"metadata\": {\"l\": \"w\"}}}"),
                     200);
    ck_assert(json_is_null(answered(world, "name")));
    ck_assert_str_eq(answered_text(world, "description"), "e");
    ck_assert_uint_eq(json_object_size(answered(world, "metadata")), 1);
    ck_assert_str_eq(json_string_value(json_object_get(answered(world, "metadata"), "l")), "w");
}
END_TEST

START_TEST(update_needs_a_known_key_from_3_53_on) {
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/volumes/%s", world_volume(world, 1));

    world->minor = 52;
    ck_assert_int_eq(world_call(world, "PUT", path, "{\"volume\": {}}"), 200);
    ck_assert_int_eq(world_call(world, "PUT", path, "{\"volume\": {\"colour\": 1}}"), 400);
    world->minor = 53;
    ck_assert_int_eq(world_call(world, "PUT", path, "{\"volume\": {}}"), 400);
}
END_TEST

START_TEST(a_refused_update_changes_nothing) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1), *path = PATH("/volumes/%s", id);

    ck_assert_int_eq(world_call(world, "PUT", path,
                                "{\"volume\": {\"name\": \"x\", \"metadata\": "
                                "{\"extend_new_size\": \"9\"}}}"),
                     400);
    ck_assert_int_eq(world_call(world, "PUT", path, "{\"volume\": {\"metadata\": null}}"), 400);
    world_sql(world, "UPDATE volumes SET status = 'maintenance', status_by_reset = 1");
    ck_assert_int_eq(world_call(world, "PUT", path, "{\"volume\": {\"name\": \"x\"}}"), 400);
    roles_enter(world, NULL);
    world->token = "reader:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "PUT", path, "{\"volume\": {\"name\": \"x\"}}"), 403);

    ck_assert(json_is_null(json_object_get(world_show(world, id), "name")));
    ck_assert_uint_eq(json_object_size(answered(world, "metadata")), 0);
}
END_TEST

/* ---- delete ---- */

START_TEST(delete_ends_with_the_volume_gone) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s?cascade=True", id), NULL), 202);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_str_eq(world_status(world, id), "deleting");
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "gone");
    ck_assert_int_eq(world_in_use(world, "volumes"), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(force_is_for_admins_and_from_3_23_on) {
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/volumes/%s?force=true", world_volume(world, 1));

    world_sql(world, "UPDATE volumes SET status = 'reserved', status_by_reset = 1");
    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 403);
    world->token = "admin:" WORLD_PROJECT;
    world->minor = 22;
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 400);
    ck_assert_int_eq(count_volumes(world), 1);
    world->minor = 23;
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 202);
    world_settle(world);
    ck_assert_int_eq(count_volumes(world), 0);
}
END_TEST

START_TEST(a_refused_delete_leaves_the_volume) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s?cascade=x", id), NULL), 400);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s?force=", id), NULL), 400);
    world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s", id), NULL), 400);

    ck_assert_str_eq(world_status(world, id), "in-use");
}
END_TEST

/* ---- encryption ---- */

START_TEST(a_plain_volume_has_no_encryption_key) {
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/volumes/%s/encryption", world_volume(world, 1));

    ck_assert_int_eq(world_call(world, "GET", path, NULL), 200);
    ck_assert_str_eq(world->answer_text, "{\"encryption_key_id\":null}");
    ck_assert_int_eq(world_call(world, "GET", PATH("%s/encryption_key_id", path), NULL), 200);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_int_eq(world_call(world, "GET", PATH("%s/cipher", path), NULL), 404);
    ck_assert_int_eq(world_call(world, "POST", path, "{}"), 404);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s/cipher", path), NULL), 404);
}
END_TEST

START_TEST(an_encryption_key_is_shown_bare) {
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/volumes/%s/encryption", world_volume(world, 1));

    world_sql(world, "UPDATE volumes SET encryption_key_id = '" UNKNOWN "'");
    ck_assert_int_eq(world_call(world, "GET", PATH("%s/encryption_key_id", path), NULL), 200);
    ck_assert_str_eq(world->answer_text, UNKNOWN);
}
END_TEST

START_TEST(a_message_has_the_reason_why_no_backend_fits) {
    const struct world_settings settings = { .capacity_gb = 1 };
    autoworld struct world *world = world_new(&settings);
    autoarena struct arena *arena = arena_new();
    const char *id;

    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 1000}}"), 202);
    id = world_answer_id(world, "volume");
    ck_assert_str_eq(world_status(world, id), "error");
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_001_003"));
    ck_assert_int_eq(
        world_call(world, "GET", arena_format(arena, "/messages?resource_uuid=%s", id), NULL), 200);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "Each backend has too little space."));
}
END_TEST

CHECK_MAIN("volumes", create_answers_a_volume_in_creation_without_attributes,
           targets_count_as_shared_until_the_backend_has_made_them,
           a_volume_names_the_service_of_its_backend,
           a_volume_that_no_backend_takes_has_changed_and_names_no_service,
           the_short_names_win_over_the_display_names, a_bad_request_makes_nothing,
           a_source_that_is_not_there_is_not_found_beside_another_one, a_group_is_never_overlooked,
           empty_references_count_as_none, unknown_keys_are_refused_from_3_53_on,
           only_hints_may_stand_beside_the_volume, hints_within_the_volume_count_below_3_53,
           an_image_needs_a_right_of_its_own, a_multiattach_type_needs_a_right_of_its_own,
           readers_make_nothing, the_owner_sees_its_volume_and_no_host,
           volumes_of_others_are_not_found, a_refused_read_is_answered_as_not_found,
           update_changes_only_the_given_fields, update_needs_a_known_key_from_3_53_on,
           a_refused_update_changes_nothing, delete_ends_with_the_volume_gone,
           force_is_for_admins_and_from_3_23_on, a_refused_delete_leaves_the_volume,
           a_plain_volume_has_no_encryption_key, an_encryption_key_is_shown_bare,
           a_message_has_the_reason_why_no_backend_fits)
