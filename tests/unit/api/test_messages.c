#include "common/cleanup.h"
#include "operation/message.h"
#include "operation/work.h"
#include "tests/lib/check_main.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <string.h>

#define PATH(...) arena_format(world->arena, __VA_ARGS__)
#define VOLUME    "aaaaaaaa-0000-4000-8000-000000000001"
#define UNKNOWN   "99999999-9999-4999-8999-999999999999"

struct wanted {
    const char *project, *volume, *action, *detail;
};

static int put_body(struct work *work, void *arg, struct error *err) {
    const struct wanted *wanted = arg;

    return message_put(work, wanted->project, "req-1", wanted->volume, wanted->action,
                       wanted->detail, err);
}

static void put(struct world *world, const char *project, const char *volume, const char *action,
                const char *detail) {
    const struct context context = { .request_id = "req-1" };
    struct work base = { .arena = world->arena, .context = &context, .settings = &world->settings };
    struct wanted wanted = { project, volume, action, detail };
    struct error err;

    ck_assert_int_eq(work_transaction(world->db, &base, put_body, &wanted, &err), 0);
}

/* Details of the messages that GET /messages?<query> gives, newest first, joined with blanks. */
static const char *details(struct world *world, const char *query) {
    const char *joined = "";
    const json_t *message;
    size_t i;
    int status = world_call(world, "GET", PATH("/messages?%s", query), NULL);

    ck_assert_msg(status == 200, "%d %s", status, world->answer_text);
    json_array_foreach(json_object_get(world->answer, "messages"), i, message) {
        const char *event = json_string_value(json_object_get(message, "event_id"));

        joined = PATH("%s%s%s", joined, i > 0 ? " " : "", event + strlen(event) - 3);
    }
    return joined;
}

static const char *first_id(struct world *world) {
    const json_t *list;

    world_call(world, "GET", "/messages", NULL);
    list = json_object_get(world->answer, "messages");
    return arena_text(world->arena,
                      json_string_value(json_object_get(json_array_get(list, 0), "id")));
}

START_TEST(a_message_names_the_event_and_its_resource) {
    static const char *const keys[] = { "id",
                                        "event_id",
                                        "user_message",
                                        "created_at",
                                        "request_id",
                                        "message_level",
                                        "resource_type",
                                        "resource_uuid",
                                        "guaranteed_until",
                                        "links" };
    autoworld struct world *world = world_new(NULL);
    const json_t *message;

    put(world, WORLD_PROJECT, VOLUME, "001", "003");
    ck_assert_int_eq(world_call(world, "GET", PATH("/messages/%s", first_id(world)), NULL), 200);
    message = json_object_get(world->answer, "message");
    for (size_t i = 0; i < LENGTH(keys); i++)
        ck_assert_msg(json_object_get(message, keys[i]) != NULL, "%s", keys[i]);
    ck_assert_uint_eq(json_object_size(message), LENGTH(keys));
    ck_assert_str_eq(json_string_value(json_object_get(message, "event_id")),
                     "VOLUME_VOLUME_001_003");
    ck_assert_ptr_nonnull(strstr(json_string_value(json_object_get(message, "user_message")),
                                 "schedule allocate volume:"));
    ck_assert_str_eq(json_string_value(json_object_get(message, "resource_uuid")), VOLUME);
    ck_assert_uint_eq(json_array_size(json_object_get(message, "links")), 2);
}
END_TEST

START_TEST(a_message_about_nothing_names_no_resource) {
    autoworld struct world *world = world_new(NULL);
    const json_t *message;

    put(world, WORLD_PROJECT, NULL, "001", "003");
    world_call(world, "GET", "/messages", NULL);
    message = json_array_get(json_object_get(world->answer, "messages"), 0);
    ck_assert_ptr_null(json_object_get(message, "resource_uuid"));
    ck_assert_ptr_null(json_object_get(message, "resource_type"));
    ck_assert_str_eq(json_string_value(json_object_get(message, "event_id")), "VOLUME__001_003");
}
END_TEST

START_TEST(messages_are_there_from_3_3_on) {
    autoworld struct world *world = world_new(NULL);

    put(world, WORLD_PROJECT, VOLUME, "007", "010");
    world->minor = 2;
    ck_assert_int_eq(world_call(world, "GET", "/messages", NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", "/messages/" UNKNOWN, NULL), 404);
    world->minor = 3;
    ck_assert_str_eq(details(world, ""), "010");
    ck_assert_int_eq(world_call(world, "POST", "/messages", "{}"), 404);
    ck_assert_int_eq(world_call(world, "PUT", "/messages/" UNKNOWN, "{}"), 404);
}
END_TEST

START_TEST(the_query_counts_from_3_5_on) {
    autoworld struct world *world = world_new(NULL);

    put(world, WORLD_PROJECT, VOLUME, "007", "009");
    put(world, WORLD_PROJECT, VOLUME, "007", "010");
    world->minor = 4;
    ck_assert_str_eq(details(world, "limit=1&sort=nothing&marker=x"), "010 009");
    world->minor = 5;
    ck_assert_str_eq(details(world, "limit=1"), "010");
    ck_assert_ptr_nonnull(strstr(world->answer_text, "messages_links"));
    ck_assert_str_eq(details(world, "sort=created_at:asc"), "009 010");
    ck_assert_int_eq(world_call(world, "GET", "/messages?sort=nothing", NULL), 400);
    ck_assert_int_eq(world_call(world, "GET", "/messages?marker=" UNKNOWN, NULL), 404);
}
END_TEST

START_TEST(messages_are_filtered_by_their_resource) {
    autoworld struct world *world = world_new(NULL);

    put(world, WORLD_PROJECT, VOLUME, "007", "009");
    put(world, WORLD_PROJECT, UNKNOWN, "001", "003");
    ck_assert_str_eq(details(world, "resource_uuid=" VOLUME), "009");
    ck_assert_str_eq(details(world, "event_id=VOLUME_VOLUME_001_003"), "003");
    ck_assert_str_eq(details(world, "event_id=VOLUME_VOLUME_001_004"), "");
    ck_assert_str_eq(details(world, "message_level=ERROR&resource_type=VOLUME"), "003 009");
    ck_assert_str_eq(details(world, "resource_type=volume"), "003 009");
    ck_assert_str_eq(details(world, "resource_type=['VOLUME','X']"), "003 009");
    ck_assert_str_eq(details(world, "resource_type=volume_snapshot"), "");
    ck_assert_str_eq(details(world, "resource_type~=OLU"), "003 009");
    ck_assert_str_eq(details(world, "event_id~=_009"), "009");
    ck_assert_str_eq(details(world, "colour=red"), "");
    roles_enter(world, NULL);
    world->token = "reader:" WORLD_PROJECT;
    ck_assert_str_eq(details(world, "request_id=req-1"), "003 009");
    ck_assert_int_eq(world_call(world, "GET", "/messages?colour=red", NULL), 400);
}
END_TEST

START_TEST(a_project_has_only_its_own_messages) {
    autoworld struct world *world = world_new(NULL);
    const char *id;

    put(world, WORLD_PROJECT, VOLUME, "007", "009");
    id = first_id(world);
    ck_assert_str_eq(details(world, ""), "009");
    roles_enter(world, NULL);
    world->token = "member:" WORLD_OTHER;
    ck_assert_str_eq(details(world, ""), "");
    world->minor = 3;
    ck_assert_str_eq(details(world, ""), "");
    ck_assert_int_eq(world_call(world, "GET", PATH("/messages/%s", id), NULL), 404);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/messages/%s", id), NULL), 404);
    world->token = "admin:" WORLD_OTHER;
    world->minor = 71;
    ck_assert_str_eq(details(world, ""), "");
    ck_assert_str_eq(details(world, "all_tenants=1"), "009");
    ck_assert_int_eq(world_call(world, "GET", PATH("/messages/%s", id), NULL), 200);
}
END_TEST

START_TEST(a_message_is_deleted_by_members_only) {
    autoworld struct world *world = world_new(NULL);
    const char *path;

    put(world, WORLD_PROJECT, VOLUME, "007", "009");
    path = PATH("/messages/%s", first_id(world));
    roles_enter(world, NULL);
    world->token = "reader:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 403);
    world->token = "member:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 204);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_int_eq(world_call(world, "DELETE", path, NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", path, NULL), 404);
}
END_TEST

START_TEST(a_failing_database_is_no_answer) {
    autoworld struct world *world = world_new(NULL);

    world_sql(world, "ALTER TABLE messages RENAME TO hidden");
    ck_assert_int_eq(world_call(world, "GET", "/messages", NULL), 500);
    world_sql(world, "ALTER TABLE hidden RENAME TO messages");
    ck_assert_int_eq(world_call(world, "GET", "/messages", NULL), 200);
}
END_TEST

CHECK_MAIN("messages", a_message_names_the_event_and_its_resource,
           a_message_about_nothing_names_no_resource, messages_are_there_from_3_3_on,
           the_query_counts_from_3_5_on, messages_are_filtered_by_their_resource,
           a_project_has_only_its_own_messages, a_message_is_deleted_by_members_only,
           a_failing_database_is_no_answer)
