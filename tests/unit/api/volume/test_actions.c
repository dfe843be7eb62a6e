#include "tests/lib/check_main.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/postgresql.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <string.h>

#define PATH(...) arena_format(world->arena, __VA_ARGS__)
#define UNKNOWN   "99999999-9999-4999-8999-999999999999"

/* Each body is refused with `status`, and the volume keeps its status and size. */
static void assert_refused(struct world *world, const char *id, int status,
                           const char *const *bodies) {
    const char *before = arena_text(world->arena, world_status(world, id));
    int64_t size = world_size(world, id);

    for (; *bodies; bodies++)
        ck_assert_msg(world_action(world, id, "%s", *bodies) == status, "%s: %d %s", *bodies,
                      world->status, world->answer_text);
    ck_assert_str_eq(world_status(world, id), before);
    ck_assert_int_eq(world_size(world, id), size);
}

static void assert_accepted(struct world *world, const char *id, int status, const char *body,
                            const char *becomes) {
    ck_assert_msg(world_action(world, id, "%s", body) == status, "%s: %d %s", body, world->status,
                  world->answer_text);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_str_eq(world_status(world, id), becomes);
}

static const char *metadata_of(struct world *world, const char *id, const char *key) {
    return json_string_value(
        json_object_get(json_object_get(world_show(world, id), "metadata"), key));
}

START_TEST(an_unknown_action_is_a_bad_request_an_unknown_volume_not_found) {
    static const char *const bodies[] = { "{\"os-fly\": null}", "{}", "[]",
                                          "{\"os-reserve\": null, \"os-unreserve\": null}", NULL };
    autoworld struct world *world = world_new(NULL);

    assert_refused(world, world_volume(world, 1), 400, bodies);
    ck_assert_int_eq(world_action(world, UNKNOWN, "{\"os-reserve\": null}"), 404);
}
END_TEST

/* ---- extend ---- */

START_TEST(extend_needs_a_larger_whole_size) {
    static const char *const bodies[] = {
        "{\"os-extend\": {\"new_size\": 2}}",
        "{\"os-extend\": {\"new_size\": 1}}",
        "{\"os-extend\": {\"new_size\": 0}}",
        "{\"os-extend\": {\"new_size\": -3}}",
        "{\"os-extend\": {\"new_size\": 3.0}}",
        "{\"os-extend\": {\"new_size\": \" 3\"}}",
        "{\"os-extend\": {\"new_size\": null}}",
        "{\"os-extend\": {}}",
        "{\"os-extend\": null}",
        "{\"os-extend\": {\"new_size\": 3, \"x\": 1}}",
        NULL,
    };
    autoworld struct world *world = world_new(NULL);

    assert_refused(world, world_volume(world, 2), 400, bodies);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 2);
    ck_assert_int_eq(world_reserved(world, "gigabytes"), 0);
}
END_TEST

START_TEST(extend_grows_an_available_volume_at_every_version) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world->minor = 0;
    assert_accepted(world, id, 202, "{\"os-extend\": {\"new_size\": \"3\"}}", "extending");
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_int_eq(world_size(world, id), 3);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* One rule is enforced: the volume's status and the version decide which. */
START_TEST(extend_of_a_volume_in_use_needs_3_42_and_its_own_right) {
    static const char *const body[] = { "{\"os-extend\": {\"new_size\": 3}}", NULL };
    autoworld struct world *world = world_new(NULL);
    const char *free = world_volume(world, 2), *id = world_volume(world, 2);

    world_attach(world, id, WORLD_INSTANCE);
    world->minor = 41;
    assert_refused(world, id, 400, body);
    roles_enter(world, "volume:extend_attached_volume: '!'\n");
    world->token = "member:" WORLD_PROJECT;
    assert_refused(world, id, 400, body);
    world->minor = 42;
    assert_refused(world, id, 403, body);
    roles_enter(world, "volume:extend: '!'\n");
    assert_refused(world, free, 403, body);
    assert_accepted(world, id, 202, body[0], "extending");
    world->minor = 41;
    assert_refused(world, id, 403, body);
}
END_TEST

/* A volume in use of 2 GiB whose guest shall grow it to 5. */
static const char *pending_extend(struct world *world) {
    const char *id = world_volume(world, 2);

    world->verdict = EVENT_ACCEPTED;
    world_attach(world, id, WORLD_INSTANCE);
    assert_accepted(world, id, 202, "{\"os-extend\": {\"new_size\": 5}}", "extending");
    world_settle(world);
    ck_assert_str_eq(metadata_of(world, id, "extend_new_size"), "5");
    return id;
}

#define COMPLETION(value) "{\"os-extend_volume_completion\": " value "}"

START_TEST(a_completion_with_another_error_than_a_boolean_is_refused) {
    static const char *const bodies[] = {
        COMPLETION("{\"error\": 1}"),
        COMPLETION("{\"error\": 0}"),
        COMPLETION("{\"error\": []}"),
        COMPLETION("{\"error\": {}}"),
        COMPLETION("{\"error\": \"\"}"),
        COMPLETION("{\"error\": \"maybe\"}"),
        COMPLETION("{\"error\": \" t\"}"),
        COMPLETION("{\"error\": 1.5}"),
        COMPLETION("null"),
        COMPLETION("true"),
        COMPLETION("[]"),
        COMPLETION("{\"errors\": true}"),
        NULL,
    };
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    assert_refused(world, id, 400, bodies);
    ck_assert_str_eq(metadata_of(world, id, "extend_new_size"), "5");
    ck_assert_int_eq(world_reserved(world, "gigabytes"), 3);
}
END_TEST

START_TEST(a_completion_is_read_as_success_or_failure) {
    static const struct {
        const char *body;
        bool failed;
    } cases[] = {
        { COMPLETION("{}"), false },
        { COMPLETION("{\"error\": null}"), false },
        { COMPLETION("{\"error\": false}"), false },
        { COMPLETION("{\"error\": \"FALSE\"}"), false },
        { COMPLETION("{\"error\": \"oFF\"}"), false },
        { COMPLETION("{\"error\": \"n\"}"), false },
        { COMPLETION("{\"error\": \"0\"}"), false },
        { COMPLETION("{\"error\": true}"), true },
        { COMPLETION("{\"error\": \"True\"}"), true },
        { COMPLETION("{\"error\": \"yEs\"}"), true },
        { COMPLETION("{\"error\": \"T\"}"), true },
        { COMPLETION("{\"error\": \"on\"}"), true },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = pending_extend(world);

        memory_grow(world->memory, id, cases[i].failed ? 2 * GIB : 5 * GIB);
        ck_assert_msg(world_action(world, id, "%s", cases[i].body) == 202, "%s", cases[i].body);
        ck_assert_ptr_null(metadata_of(world, id, "extend_new_size"));
        world_settle(world);
        ck_assert_str_eq(world_status(world, id), cases[i].failed ? "error_extending" : "in-use");
        ck_assert_int_eq(world_size(world, id), cases[i].failed ? 2 : 5);
        ck_assert_int_eq(world_reserved(world, "gigabytes"), 0);
    }
}
END_TEST

START_TEST(a_completion_needs_3_71_an_admin_and_a_pending_extend) {
    static const char *const body[] = { COMPLETION("{\"error\": false}"), NULL };
    autoworld struct world *world = world_new(NULL);
    const char *other = world_volume(world, 1), *id = pending_extend(world);

    assert_refused(world, other, 400, body);
    ck_assert_int_eq(world_action(world, UNKNOWN, "%s", body[0]), 404);
    world->minor = 70;
    assert_refused(world, id, 404, body);
    world->minor = 71;
    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    assert_refused(world, id, 403, body);
    ck_assert_str_eq(metadata_of(world, id, "extend_new_size"), "5");
}
END_TEST

/* ---- status ---- */

START_TEST(reset_status_needs_something_to_set) {
    static const char *const bodies[] = {
        "{\"os-reset_status\": {}}",
        "{\"os-reset_status\": {\"status\": null}}",
        "{\"os-reset_status\": {\"status\": \"\", \"attach_status\": \"\", "
        "\"migration_status\": null}}",
        "{\"os-reset_status\": {\"status\": \"nonsense\"}}",
        "{\"os-reset_status\": {\"status\": \"in-use\"}}",
        "{\"os-reset_status\": {\"attach_status\": \"error\"}}",
        "{\"os-reset_status\": {\"migration_status\": \"maybe\"}}",
        "{\"os-reset_status\": {\"status\": 1}}",
        "{\"os-reset_status\": {\"state\": \"error\"}}",
        "{\"os-reset_status\": null}",
        NULL,
    };
    autoworld struct world *world = world_new(NULL);

    assert_refused(world, world_volume(world, 1), 400, bodies);
}
END_TEST

START_TEST(reset_status_is_for_admins) {
    static const char *const body[] = { "{\"os-reset_status\": {\"status\": \"error\"}}", NULL };
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    assert_refused(world, id, 403, body);
    world->token = "admin:" WORLD_OTHER;
    assert_accepted(world, id, 202, "{\"os-reset_status\": {\"status\": \"ERROR\"}}", "error");
}
END_TEST

START_TEST(force_delete_takes_any_status_but_no_attached_volume) {
    static const char *const body[] = { "{\"os-force_delete\": {}}", NULL };
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1), *used = world_volume(world, 1);

    world_attach(world, used, WORLD_INSTANCE);
    assert_refused(world, used, 400, body);
    world_sql(world, PATH("UPDATE volumes SET status = 'attaching' WHERE id = '%s'", id));
    roles_enter(world, "volume:delete: '!'\n");
    assert_refused(world, id, 403, body);
    roles_enter(world, "volume:delete: '@'\n");
    assert_accepted(world, id, 202, "{\"os-force_delete\": null}", "deleting");
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "gone");
}
END_TEST

/* ---- attaching ---- */

START_TEST(reserve_and_unreserve) {
    static const char *const reserve[] = { "{\"os-reserve\": null}", NULL };
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    assert_accepted(world, id, 202, "{\"os-reserve\": {}}", "attaching");
    assert_refused(world, id, 400, reserve);
    assert_accepted(world, id, 202, "{\"os-unreserve\": \"anything\"}", "available");
    assert_accepted(world, id, 202, "{\"os-unreserve\": null}", "available");
}
END_TEST

#define ATTACH(members) "{\"os-attach\": {\"mountpoint\": \"/dev/vdc\"" members "}}"
#define INSTANCE        ", \"instance_uuid\": \"" WORLD_INSTANCE "\""

START_TEST(attach_and_detach) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);
    const json_t *list;

    assert_accepted(world, id, 202, ATTACH(INSTANCE), "in-use");
    ck_assert_str_eq(metadata_of(world, id, "attached_mode"), "rw");
    list = json_object_get(world_show(world, id), "attachments");
    ck_assert_uint_eq(json_array_size(list), 1);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, 0), "device")),
                     "/dev/vdc");

    assert_accepted(world, id, 202, "{\"os-begin_detaching\": null}", "detaching");
    assert_accepted(world, id, 202, "{\"os-roll_detaching\": null}", "in-use");
    assert_accepted(world, id, 202, "{\"os-detach\": null}", "available");
    ck_assert_ptr_null(metadata_of(world, id, "attached_mode"));
    assert_accepted(world, id, 202, ATTACH(", \"host_name\": \"h\", \"mode\": \"ro\""), "in-use");
    ck_assert_str_eq(metadata_of(world, id, "attached_mode"), "ro");
    assert_accepted(world, id, 202, "{\"os-detach\": {\"attachment_id\": null}}", "available");
}
END_TEST

START_TEST(a_bad_attach_changes_nothing) {
    static const char *const bodies[] = {
        ATTACH(""),
        ATTACH(", \"host_name\": \"\""),
        ATTACH(", \"instance_uuid\": \"x\""),
        ATTACH(", \"instance_uuid\": null"),
        ATTACH(INSTANCE ", \"mode\": \"wo\""),
        ATTACH(INSTANCE ", \"more\": 1"),
        "{\"os-attach\": {\"mountpoint\": \"\"" INSTANCE "}}",
        "{\"os-attach\": {\"instance_uuid\": \"" WORLD_INSTANCE "\"}}",
        "{\"os-attach\": null}",
        "{\"os-begin_detaching\": null}",
        "{\"os-detach\": {\"attachment_id\": \"x\"}}",
        "{\"os-detach\": 1}",
        NULL,
    };
    autoworld struct world *world = world_new(NULL);

    assert_refused(world, world_volume(world, 1), 400, bodies);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 0);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_admin_metadata"), 0);
}
END_TEST

START_TEST(force_detach_is_for_admins_and_removes_the_attachment) {
    static const char *const body[] = { "{\"os-force_detach\": {}}", NULL };
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1), *attachment;

    attachment = world_attach(world, id, WORLD_INSTANCE);
    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    assert_refused(world, id, 403, body);
    world->token = "admin:" WORLD_PROJECT;
    roles_enter(world, "volume_extension:volume_actions:terminate_connection: '!'\n");
    assert_refused(world, id, 403, body);
    roles_enter(world, "volume_extension:volume_actions:detach: '!'\n");
    assert_refused(world, id, 403, body);
    roles_enter(world, "volume_extension:volume_actions:detach: '@'\n");
    assert_accepted(world, id, 202,
                    PATH("{\"os-force_detach\": {\"attachment_id\": \"%s\", \"connector\": "
                         "{\"host\": \"node\"}}}",
                         attachment),
                    "available");
    assert_accepted(world, id, 202, "{\"os-reserve\": null}", "attaching");
    assert_accepted(world, id, 202,
                    "{\"os-force_detach\": {\"attachment_id\": \"\", \"connector\": null}}",
                    "available");
}
END_TEST

/* ---- connections ---- */

#define CONNECT "{\"os-initialize_connection\": {\"connector\": {\"host\": \"node\"}}}"

START_TEST(initialize_connection_returns_the_backends_connection) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);
    const json_t *info;

    ck_assert_int_eq(world_action(world, id, CONNECT), 200);
    info = json_object_get(world->answer, "connection_info");
    ck_assert_ptr_nonnull(json_string_value(json_object_get(info, "driver_volume_type")));
    ck_assert(json_is_object(json_object_get(info, "data")));
    ck_assert_str_eq(world_status(world, id), "available");
    assert_accepted(world, id, 202, "{\"os-reserve\": null}", "attaching");
    assert_accepted(world, id, 202, "{\"os-terminate_connection\": {\"connector\": null}}",
                    "available");
    world_sql(world, "UPDATE volumes SET status = 'maintenance', status_by_reset = 1");
    assert_accepted(world, id, 202, "{\"os-terminate_connection\": {\"connector\": null}}",
                    "maintenance");
}
END_TEST

START_TEST(a_bad_connector_is_refused) {
    static const char *const bodies[] = {
        "{\"os-initialize_connection\": {\"connector\": \"node\"}}",
        "{\"os-initialize_connection\": {\"connector\": null}}",
        "{\"os-initialize_connection\": {\"connector\": 1}}",
        "{\"os-initialize_connection\": {}}",
        "{\"os-initialize_connection\": null}",
        "{\"os-terminate_connection\": {}}",
        "{\"os-terminate_connection\": {\"connector\": 1}}",
        NULL,
    };
    autoworld struct world *world = world_new(NULL);

    assert_refused(world, world_volume(world, 1), 400, bodies);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
}
END_TEST

START_TEST(the_backends_failure_is_the_answer) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    memory_fail_next(world->memory, "connect", ERROR_BACKEND);
    ck_assert_int_eq(world_action(world, id, CONNECT), 500);
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_int_eq(world_action(world, id, CONNECT), 200);
}
END_TEST

/* ---- flags ---- */

START_TEST(flags_are_set_and_cleared) {
    static const char *const bad[] = { "{\"os-set_bootable\": {}}",
                                       "{\"os-set_bootable\": {\"bootable\": \"maybe\"}}",
                                       "{\"os-update_readonly_flag\": {\"readonly\": null}}",
                                       "{\"os-update_readonly_flag\": null}", NULL };
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    assert_accepted(world, id, 200, "{\"os-set_bootable\": {\"bootable\": \"1\"}}", "available");
    ck_assert_str_eq(json_string_value(json_object_get(world_show(world, id), "bootable")), "true");
    assert_accepted(world, id, 200, "{\"os-set_bootable\": {\"bootable\": false}}", "available");
    assert_accepted(world, id, 202, "{\"os-update_readonly_flag\": {\"readonly\": true}}",
                    "available");
    ck_assert_str_eq(metadata_of(world, id, "readonly"), "True");
    assert_refused(world, id, 400, bad);
    ck_assert_str_eq(json_string_value(json_object_get(world_show(world, id), "bootable")),
                     "false");
    ck_assert_str_eq(metadata_of(world, id, "readonly"), "True");
    ck_assert_int_eq(world_action(world, id, ATTACH(INSTANCE ", \"mode\": \"rw\"")), 400);
    ck_assert_int_eq(world_action(world, id, ATTACH(INSTANCE ", \"mode\": \"ro\"")), 202);
    ck_assert_int_eq(
        world_action(world, id, "{\"os-update_readonly_flag\": {\"readonly\": false}}"), 400);
}
END_TEST

/* ---- image metadata ---- */

START_TEST(image_metadata_are_set_shown_and_unset) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    ck_assert_int_eq(world_action(world, id, "{\"os-show_image_metadata\": null}"), 404);
    ck_assert_int_eq(world_action(world, id,
                                  "{\"os-set_image_metadata\": {\"metadata\": "
                                  "{\"os\": \"linux\", \"arch\": \"x\"}}}"),
                     200);
    ck_assert_int_eq(world_action(world, id,
                                  "{\"os-set_image_metadata\": {\"metadata\": "
                                  "{\"arch\": \"y\"}}}"),
                     200);
    ck_assert_str_eq(world->answer_text, "{\"metadata\":{\"arch\":\"y\",\"os\":\"linux\"}}");
    ck_assert_int_eq(world_action(world, id, "{\"os-show_image_metadata\": {}}"), 200);
    ck_assert_str_eq(world->answer_text, "{\"metadata\":{\"arch\":\"y\",\"os\":\"linux\"}}");
    ck_assert_uint_eq(json_object_size(json_object_get(world_show(world, id), "metadata")), 0);
    ck_assert_uint_eq(
        json_object_size(json_object_get(world_show(world, id), "volume_image_metadata")), 2);
    ck_assert_int_eq(world_action(world, id, "{\"os-unset_image_metadata\": {\"key\": \"os\"}}"),
                     200);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_int_eq(world_action(world, id, "{\"os-unset_image_metadata\": {\"key\": \"os\"}}"),
                     404);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_glance_metadata"), 1);
}
END_TEST

START_TEST(refused_image_metadata_change_nothing) {
    static const char *const bodies[] = {
        "{\"os-set_image_metadata\": {}}",
        "{\"os-set_image_metadata\": {\"metadata\": {\"a\": null}}}",
        "{\"os-set_image_metadata\": {\"metadata\": {\"a!\": \"b\"}}}",
        "{\"os-unset_image_metadata\": {\"key\": \"\"}}",
        "{\"os-unset_image_metadata\": {}}",
        NULL,
    };
    static const char *const set[] = {
        "{\"os-set_image_metadata\": {\"metadata\": {\"a\": \"b\"}}}", NULL
    };
    static const char *const unset[] = { "{\"os-unset_image_metadata\": {\"key\": \"a\"}}", NULL };
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    assert_refused(world, id, 400, bodies);
    world_sql(world, "UPDATE volumes SET status = 'maintenance', status_by_reset = 1");
    assert_refused(world, id, 400, set);
    assert_refused(world, id, 400, unset);
    roles_enter(world, "volume:update_volume_metadata: '!'\nvolume:delete_volume_metadata: '!'\n");
    assert_refused(world, id, 403, set);
    assert_refused(world, id, 403, unset);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_glance_metadata"), 0);
}
END_TEST

START_TEST(image_metadata_that_cannot_be_written_are_an_error) {
    if (postgresql_given())
        return; /* the trigger is SQLite's */
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    world_action(world, id, "{\"os-set_image_metadata\": {\"metadata\": {\"a\": \"b\"}}}");
    world_sql(world, "CREATE TRIGGER no_insert BEFORE INSERT ON volume_glance_metadata "
                     "BEGIN SELECT RAISE(ABORT, 'no'); END");
    world_sql(world, "CREATE TRIGGER no_delete BEFORE DELETE ON volume_glance_metadata "
                     "BEGIN SELECT RAISE(ABORT, 'no'); END");
    ck_assert_int_ge(world_action(world, id,
                                  "{\"os-set_image_metadata\": {\"metadata\": "
                                  "{\"a\": \"c\"}}}"),
                     409);
    ck_assert_int_ge(world_action(world, id, "{\"os-unset_image_metadata\": {\"key\": \"a\"}}"),
                     409);
    world_action(world, id, "{\"os-show_image_metadata\": null}");
    ck_assert_str_eq(world->answer_text, "{\"metadata\":{\"a\":\"b\"}}");
    world_sql(world, "DROP TRIGGER no_insert");
    world_sql(world, "DROP TRIGGER no_delete");
}
END_TEST

CHECK_MAIN("volume_actions", an_unknown_action_is_a_bad_request_an_unknown_volume_not_found,
           extend_needs_a_larger_whole_size, extend_grows_an_available_volume_at_every_version,
           extend_of_a_volume_in_use_needs_3_42_and_its_own_right,
           a_completion_with_another_error_than_a_boolean_is_refused,
           a_completion_is_read_as_success_or_failure,
           a_completion_needs_3_71_an_admin_and_a_pending_extend,
           reset_status_needs_something_to_set, reset_status_is_for_admins,
           force_delete_takes_any_status_but_no_attached_volume, reserve_and_unreserve,
           attach_and_detach, a_bad_attach_changes_nothing,
           force_detach_is_for_admins_and_removes_the_attachment,
           initialize_connection_returns_the_backends_connection, a_bad_connector_is_refused,
           the_backends_failure_is_the_answer, flags_are_set_and_cleared,
           image_metadata_are_set_shown_and_unset, refused_image_metadata_change_nothing,
           image_metadata_that_cannot_be_written_are_an_error)
