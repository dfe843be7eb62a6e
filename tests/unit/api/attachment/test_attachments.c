#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/postgresql.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <string.h>

#define PATH(...) arena_format(world->arena, __VA_ARGS__)
#define UNKNOWN   "99999999-9999-4999-8999-999999999999"

/* POST with members behind volume_uuid (", …"); the new id, or NULL. */
static const char *reserve(struct world *world, const char *volume_id, const char *members) {
    world_call(world, "POST", "/attachments",
               PATH("{\"attachment\": {\"volume_uuid\": \"%s\"%s}}", volume_id, members));
    return world_answer_id(world, "attachment");
}

static const json_t *answered(const struct world *world, const char *key) {
    return json_object_get(json_object_get(world->answer, "attachment"), key);
}

static const char *answered_text(const struct world *world, const char *key) {
    return json_string_value(answered(world, key));
}

static int call(struct world *world, const char *method, const char *id, const char *body) {
    return world_call(world, method, PATH("/attachments/%s", id), body);
}

static int complete(struct world *world, const char *id) {
    return world_call(world, "POST", PATH("/attachments/%s/action", id), "{\"os-complete\": {}}");
}

#define INSTANCE  ", \"instance_uuid\": \"" WORLD_INSTANCE "\""
#define CONNECTOR ", \"connector\": {\"host\": \"node\", \"mountpoint\": \"/dev/vdb\"}"
#define UPDATE    "{\"attachment\": {\"connector\": {\"host\": \"node\"}}}"

START_TEST(an_attachment_lives_from_reserved_to_deleted) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id = reserve(world, volume, INSTANCE);

    ck_assert_int_eq(world->status, 200);
    ck_assert_str_eq(answered_text(world, "status"), "reserved");
    ck_assert_str_eq(answered_text(world, "instance"), WORLD_INSTANCE);
    ck_assert_str_eq(answered_text(world, "attach_mode"), "null");
    ck_assert_str_eq(answered_text(world, "attached_at"), "");
    ck_assert_uint_eq(json_object_size(answered(world, "connection_info")), 0);
    ck_assert_str_eq(world_status(world, volume), "reserved");

    ck_assert_int_eq(call(world, "PUT", id, UPDATE), 200);
    ck_assert_ptr_nonnull(
        json_object_get(answered(world, "connection_info"), "driver_volume_type"));
    ck_assert_str_eq(answered_text(world, "attach_mode"), "rw");
    ck_assert_str_eq(world_status(world, volume), "attaching");

    ck_assert_int_eq(complete(world, id), 204);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_str_eq(world_status(world, volume), "in-use");
    ck_assert_int_eq(call(world, "GET", id, NULL), 200);
    ck_assert_str_eq(answered_text(world, "status"), "attached");

    ck_assert_int_eq(call(world, "DELETE", id, NULL), 200);
    ck_assert_str_eq(world->answer_text, "{\"attachments\":[]}");
    ck_assert_str_eq(world_status(world, volume), "available");
    ck_assert_int_eq(call(world, "GET", id, NULL), 404);
}
END_TEST

START_TEST(a_connector_at_once_connects_at_once) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id;

    id = reserve(world, volume, INSTANCE CONNECTOR ", \"mode\": \"ro\"");
    ck_assert_int_eq(world->status, 200);
    ck_assert_str_eq(answered_text(world, "status"), "attaching");
    ck_assert_str_eq(answered_text(world, "attach_mode"), "ro");
    ck_assert_ptr_nonnull(
        json_object_get(answered(world, "connection_info"), "driver_volume_type"));
    ck_assert_str_eq(world_status(world, volume), "attaching");
    ck_assert_int_eq(complete(world, id), 204);
    ck_assert_str_eq(world_status(world, volume), "in-use");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(an_empty_connector_is_allowed_for_a_create_only) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);
    const char *id = reserve(world, volume, INSTANCE ", \"connector\": {}");

    ck_assert_str_eq(answered_text(world, "status"), "reserved");
    ck_assert_int_eq(call(world, "PUT", id, "{\"attachment\": {\"connector\": {}}}"), 400);
    ck_assert_int_eq(call(world, "PUT", id, "{\"attachment\": {}}"), 400);
    ck_assert_int_eq(call(world, "PUT", id, "{\"attachment\": {\"connector\": \"node\"}}"), 400);
    ck_assert_int_eq(call(world, "PUT", id, "{\"attachment\": {\"connector\": {\"ip\": \"x\"}}}"),
                     400);
    ck_assert_int_eq(call(world, "GET", id, NULL), 200);
    ck_assert_str_eq(answered_text(world, "status"), "reserved");
}
END_TEST

START_TEST(a_bad_request_reserves_nothing) {
    static const char *const members[] = {
        ", \"instance_uuid\": null",   ", \"instance_uuid\": \"x\"",
        INSTANCE ", \"mode\": \"wo\"", INSTANCE ", \"connector\": \"node\"",
        INSTANCE ", \"more\": 1",
    };
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);

    for (size_t i = 0; i < LENGTH(members); i++) {
        reserve(world, volume, members[i]);
        ck_assert_msg(world->status == 400, "%s: %d", members[i], world->status);
    }
    world->minor = 53;
    reserve(world, volume, INSTANCE ", \"mode\": \"rw\"");
    ck_assert_int_eq(world->status, 400);
    reserve(world, UNKNOWN, INSTANCE);
    ck_assert_int_eq(world->status, 404);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 0);
    ck_assert_str_eq(world_status(world, volume), "available");
}
END_TEST

START_TEST(a_volume_in_use_takes_no_second_server) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);

    world_attach(world, volume, WORLD_INSTANCE);
    reserve(world, volume, ", \"instance_uuid\": \"" WORLD_INSTANCE2 "\"");
    ck_assert_int_eq(world->status, 400);
    reserve(world, volume, INSTANCE);
    ck_assert_int_eq(world->status, 200);
    ck_assert_str_eq(world_status(world, volume), "in-use");
}
END_TEST

START_TEST(the_backends_failure_is_the_answer) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id = reserve(world, volume, INSTANCE);

    memory_fail_next(world->memory, "connect", ERROR_BACKEND);
    ck_assert_int_eq(call(world, "PUT", id, UPDATE), 500);
    ck_assert_int_eq(call(world, "GET", id, NULL), 200);
    ck_assert_str_eq(answered_text(world, "status"), "error_attaching");
    ck_assert_uint_eq(json_object_size(answered(world, "connection_info")), 0);
}
END_TEST

START_TEST(the_format_of_the_volume_shows_in_its_connection) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id = reserve(world, volume, INSTANCE CONNECTOR);

    world_sql(world,
              PATH("INSERT INTO volume_admin_metadata VALUES ('%s', 'format', 'qcow2')", volume));
    ck_assert_int_eq(call(world, "GET", id, NULL), 200);
    ck_assert_str_eq(
        json_string_value(json_object_get(answered(world, "connection_info"), "format")), "qcow2");
}
END_TEST

START_TEST(a_delete_returns_the_remaining_attachments) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *first, *second;
    const json_t *left;

    first = world_attach(world, volume, WORLD_INSTANCE);
    second = reserve(world, volume, INSTANCE);
    ck_assert_int_eq(call(world, "DELETE", first, NULL), 200);
    left = json_object_get(world->answer, "attachments");
    ck_assert_uint_eq(json_array_size(left), 1);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(left, 0), "id")), second);
    ck_assert_uint_eq(json_object_size(json_array_get(left, 0)), 4);
    ck_assert_str_eq(world_status(world, volume), "reserved");
}
END_TEST

/* ---- rights ---- */

START_TEST(everything_needs_3_27_and_completing_3_44) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id = reserve(world, volume, INSTANCE);

    world->minor = 43;
    ck_assert_int_eq(complete(world, id), 404);
    world->minor = 26;
    ck_assert_int_eq(world_call(world, "GET", "/attachments", NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", "/attachments/detail", NULL), 404);
    ck_assert_int_eq(call(world, "GET", id, NULL), 404);
    ck_assert_int_eq(call(world, "PUT", id, UPDATE), 404);
    ck_assert_int_eq(call(world, "DELETE", id, NULL), 404);
    reserve(world, volume, INSTANCE);
    ck_assert_int_eq(world->status, 404);
    world->minor = 27;
    ck_assert_int_eq(world_call(world, "GET", "/attachments/summary", NULL), 404);
    ck_assert_int_eq(call(world, "GET", id, NULL), 200);
    ck_assert_str_eq(answered_text(world, "status"), "reserved");
}
END_TEST

START_TEST(readers_and_strangers_change_nothing) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id = reserve(world, volume, INSTANCE);

    roles_enter(world, NULL);
    world->token = "reader:" WORLD_PROJECT;
    ck_assert_int_eq(call(world, "PUT", id, UPDATE), 403);
    ck_assert_int_eq(call(world, "DELETE", id, NULL), 403);
    ck_assert_int_eq(complete(world, id), 403);
    reserve(world, volume, INSTANCE);
    ck_assert_int_eq(world->status, 403);
    world->token = "member:" WORLD_OTHER;
    ck_assert_int_eq(call(world, "GET", id, NULL), 404);
    ck_assert_int_eq(call(world, "DELETE", id, NULL), 404);
    reserve(world, volume, INSTANCE);
    ck_assert_int_eq(world->status, 404);

    world->token = "member:" WORLD_PROJECT;
    ck_assert_int_eq(call(world, "GET", id, NULL), 200);
    ck_assert_str_eq(answered_text(world, "status"), "reserved");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 1);
}
END_TEST

START_TEST(a_shared_boot_disk_needs_a_right_of_its_own) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);

    world_attach(world, volume, WORLD_INSTANCE);
    world_sql(world, "UPDATE volumes SET multiattach = 1, bootable = 1");
    roles_enter(world, "volume:multiattach_bootable_volume: '!'\n");
    reserve(world, volume, ", \"instance_uuid\": \"" WORLD_INSTANCE2 "\"");
    ck_assert_int_eq(world->status, 403);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 1);
    world_sql(world, "UPDATE volumes SET bootable = 0");
    reserve(world, volume, ", \"instance_uuid\": \"" WORLD_INSTANCE2 "\"");
    ck_assert_int_eq(world->status, 200);
}
END_TEST

/* ---- a server's disk ---- */

#define MEMBER  "member:" WORLD_PROJECT
#define SERVICE "service:" WORLD_PROJECT
#define ADMIN   "admin:" WORLD_PROJECT

static void expect_kept(struct world *world, const char *volume, const char *id) {
    ck_assert_msg(world->status == 409, "%d: %s", world->status, world->answer_text);
    world->token = ADMIN;
    ck_assert_str_eq(world_status(world, volume), "in-use");
    ck_assert_int_eq(call(world, "GET", id, NULL), 200);
    ck_assert_str_eq(answered_text(world, "status"), "attached");
    ck_assert_ptr_nonnull(
        json_object_get(answered(world, "connection_info"), "driver_volume_type"));
}

static void expect_none_takes(struct world *world, const char *token, const char *volume,
                              const char *id) {
    world->token = token;
    call(world, "DELETE", id, NULL);
    ck_assert_ptr_nonnull(
        strstr(world->answer_text,
               "ConflictNovaUsingAttachment: Detach volume from instance " WORLD_INSTANCE
               " using the Compute API"));
    expect_kept(world, volume, id);
    world->token = token;
    call(world, "PUT", id, "{\"attachment\": {\"connector\": {\"host\": \"elsewhere\"}}}");
    expect_kept(world, volume, id);
    world->token = token;
    world_action(world, volume, "{\"os-detach\": {}}");
    expect_kept(world, volume, id);
    world->token = token;
    world_action(world, volume, "{\"os-detach\": {\"attachment_id\": \"%s\"}}", id);
    expect_kept(world, volume, id);
    world->token = token;
    world_action(world, volume, "{\"os-terminate_connection\": {\"connector\": null}}");
    expect_kept(world, volume, id);
    world->token = token;
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s", volume), NULL), 400);
}

START_TEST(a_servers_disk_is_detached_only_by_callers_that_act_for_servers) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id = reserve(world, volume, INSTANCE CONNECTOR);

    ck_assert_int_eq(complete(world, id), 204);
    roles_enter(world, NULL);
    expect_none_takes(world, MEMBER, volume, id);
    world->settings.only_services_detach = true;
    expect_none_takes(world, MEMBER, volume, id);
    expect_none_takes(world, ADMIN, volume, id);
    world->token = ADMIN;
    world_action(world, volume, "{\"os-force_detach\": {\"attachment_id\": \"%s\"}}", id);
    expect_kept(world, volume, id);

    world->token = SERVICE;
    ck_assert_int_eq(
        world_action(world, volume, "{\"os-terminate_connection\": {\"connector\": null}}"), 202);
    ck_assert_int_eq(call(world, "DELETE", id, NULL), 200);
    ck_assert_str_eq(world_status(world, volume), "available");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* Before it is complete, too: the server may have the device already. */
START_TEST(a_disk_on_its_way_to_a_server_is_the_servers) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id = reserve(world, volume, INSTANCE CONNECTOR);

    roles_enter(world, NULL);
    world->token = MEMBER;
    ck_assert_int_eq(call(world, "DELETE", id, NULL), 409);
    ck_assert_int_eq(
        world_action(world, volume, "{\"os-terminate_connection\": {\"connector\": null}}"), 409);
    ck_assert_str_eq(world_status(world, volume), "attaching");
    ck_assert_int_eq(call(world, "PUT", id, UPDATE), 200); /* no server has it yet */
}
END_TEST

START_TEST(administrators_take_disks_away_where_no_compute_service_could) {
    static const char *const actions[] = {
        "{\"os-detach\": {}}",
        "{\"os-detach\": {\"attachment_id\": \"%s\"}}",
        "{\"os-force_detach\": {\"attachment_id\": \"%s\"}}",
    };
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);

    roles_enter(world, NULL);
    for (size_t i = 0; i < LENGTH(actions); i++) {
        const char *id;

        world->token = SERVICE;
        id = reserve(world, volume, INSTANCE CONNECTOR);
        ck_assert_int_eq(complete(world, id), 204);
        world->token = ADMIN;
        ck_assert_int_eq(
            world_call(world, "POST", PATH("/volumes/%s/action", volume),
                       strstr(actions[i], "%s")
                           ? PATH("%.*s%s\"}}", (int)(strstr(actions[i], "%s") - actions[i]),
                                  actions[i], id)
                           : actions[i]),
            202);
        ck_assert_str_eq(world_status(world, volume), "available");
    }
}
END_TEST

/* No server, or none that is connected: no service has to be notified. */
START_TEST(an_unused_attachment_is_deleted_by_its_project) {
    static const char *const members[] = { CONNECTOR, INSTANCE, "" };
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);

    roles_enter(world, NULL);
    world->settings.only_services_detach = true;
    world->token = MEMBER;
    for (size_t i = 0; i < LENGTH(members); i++) {
        const char *id = reserve(world, volume, members[i]);

        ck_assert_int_eq(complete(world, id), 204);
        ck_assert_int_eq(call(world, "DELETE", id, NULL), 200);
        ck_assert_str_eq(world_status(world, volume), "available");
    }
    ck_assert_int_eq(world_action(world, volume,
                                  "{\"os-attach\": {\"mountpoint\": \"m\", \"instance_uuid\": "
                                  "\"" WORLD_INSTANCE "\"}}"),
                     202);
    ck_assert_int_eq(world_action(world, volume, "{\"os-detach\": {}}"), 202);
    ck_assert_str_eq(world_status(world, volume), "available");
}
END_TEST

START_TEST(a_detach_names_one_of_several_connections) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);

    world_attach(world, volume, WORLD_INSTANCE);
    world_sql(world, "UPDATE volumes SET multiattach = 1");
    world_attach(world, volume, WORLD_INSTANCE2);
    roles_enter(world, NULL);
    world->token = MEMBER;
    ck_assert_int_eq(
        world_action(world, volume, "{\"os-terminate_connection\": {\"connector\": null}}"), 409);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 2);
}
END_TEST

/* ---- lists ---- */

static size_t listed(struct world *world, const char *query) {
    ck_assert_msg(world_call(world, "GET", PATH("/attachments%s", query), NULL) == 200, "%s: %s",
                  query, world->answer_text);
    ck_assert_uint_eq(json_object_size(world->answer), 1);
    return json_array_size(json_object_get(world->answer, "attachments"));
}

static size_t keys_of_first(const struct world *world) {
    return json_object_size(json_array_get(json_object_get(world->answer, "attachments"), 0));
}

START_TEST(lists_are_short_or_full_and_have_no_links) {
    autoworld struct world *world = world_new(NULL);

    reserve(world, world_volume(world, 1), INSTANCE);
    reserve(world, world_volume(world, 1), INSTANCE);
    ck_assert_uint_eq(listed(world, ""), 2);
    ck_assert_uint_eq(keys_of_first(world), 4);
    ck_assert_uint_eq(listed(world, "/detail"), 2);
    ck_assert_uint_eq(keys_of_first(world), 8);
    ck_assert_uint_eq(listed(world, "?limit=1"), 1);
    ck_assert_uint_eq(listed(world, "?limit=0"), 0);
    ck_assert_int_eq(world_call(world, "GET", "/attachments?limit=x", NULL), 400);
}
END_TEST

START_TEST(lists_filter_by_volume_server_and_status) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);

    reserve(world, volume, INSTANCE);
    reserve(world, world_volume(world, 1), ", \"instance_uuid\": \"" WORLD_INSTANCE2 "\"");
    ck_assert_uint_eq(listed(world, PATH("?volume_id=%s", volume)), 1);
    ck_assert_uint_eq(listed(world, "?instance_id=" WORLD_INSTANCE2), 1);
    ck_assert_uint_eq(listed(world, "?status=reserved"), 2);
    ck_assert_uint_eq(listed(world, "?attach_status=attached"), 0);
    ck_assert_uint_eq(listed(world, "?no_such_column=1"), 0);
    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    ck_assert_uint_eq(listed(world, "?instance_id=" WORLD_INSTANCE2), 1);
    ck_assert_int_eq(world_call(world, "GET", "/attachments?project_id=x", NULL), 400);
}
END_TEST

START_TEST(lists_show_the_project_and_all_on_request_of_an_admin) {
    autoworld struct world *world = world_new(NULL);

    reserve(world, world_volume(world, 1), INSTANCE);
    world->token = "admin:" WORLD_OTHER;
    ck_assert_uint_eq(listed(world, ""), 0);
    ck_assert_uint_eq(listed(world, "?all_tenants=0"), 1);
    roles_enter(world, NULL);
    world->token = "member:" WORLD_OTHER;
    ck_assert_uint_eq(listed(world, "?all_tenants=1"), 0);
}
END_TEST

START_TEST(a_table_that_fails_is_an_error) {
    if (postgresql_given())
        return; /* the trigger is SQLite's */
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id = reserve(world, volume, INSTANCE);

    world_sql(world, "CREATE TRIGGER no_delete BEFORE DELETE ON attachments "
                     "BEGIN SELECT RAISE(ABORT, 'no'); END");
    ck_assert_int_ge(call(world, "DELETE", id, NULL), 409);
    ck_assert_str_eq(world_status(world, volume), "reserved");
    world_sql(world, "DROP TRIGGER no_delete");
    world_sql(world, "ALTER TABLE attachments RENAME TO elsewhere");
    ck_assert_int_eq(world_call(world, "GET", "/attachments", NULL), 500);
    world_sql(world, "ALTER TABLE elsewhere RENAME TO attachments");
}
END_TEST

CHECK_MAIN("attachments", an_attachment_lives_from_reserved_to_deleted,
           a_connector_at_once_connects_at_once, an_empty_connector_is_allowed_for_a_create_only,
           a_bad_request_reserves_nothing, a_volume_in_use_takes_no_second_server,
           the_backends_failure_is_the_answer, the_format_of_the_volume_shows_in_its_connection,
           a_delete_returns_the_remaining_attachments, everything_needs_3_27_and_completing_3_44,
           readers_and_strangers_change_nothing, a_shared_boot_disk_needs_a_right_of_its_own,
           a_servers_disk_is_detached_only_by_callers_that_act_for_servers,
           a_disk_on_its_way_to_a_server_is_the_servers,
           administrators_take_disks_away_where_no_compute_service_could,
           an_unused_attachment_is_deleted_by_its_project,
           a_detach_names_one_of_several_connections, lists_are_short_or_full_and_have_no_links,
           lists_filter_by_volume_server_and_status,
           lists_show_the_project_and_all_on_request_of_an_admin, a_table_that_fails_is_an_error)
