#include "tests/lib/check_main.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <string.h>

#define PATH(...) arena_format(world->arena, __VA_ARGS__)
#define LUKS      "\"provider\": \"luks\", \"control_location\": \"front-end\""

static const char *text_at(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);

    ck_assert_msg(value != NULL, "key %s is missing", key);
    return json_string_value(value);
}

/* The path of a new type's encryption. */
static const char *make(struct world *world, const char *name) {
    int status =
        world_call(world, "POST", "/types", PATH("{\"volume_type\": {\"name\": \"%s\"}}", name));

    ck_assert_msg(status == 200, "%d %s", status, world->answer_text);
    return PATH("/types/%s/encryption",
                text_at(json_object_get(world->answer, "volume_type"), "id"));
}

static int send(struct world *world, const char *method, const char *path, const char *members) {
    return world_call(world, method, path, PATH("{\"encryption\": {%s}}", members));
}

static int64_t rows(struct world *world) {
    return world_count(world, "SELECT COUNT(*) FROM volume_type_encryption");
}

START_TEST(an_encryption_is_set_and_shown) {
    autoworld struct world *world = world_new(NULL);
    const char *path = make(world, "gold"), *id;
    const json_t *sent;

    ck_assert_int_eq(world_call(world, "GET", path, NULL), 200);
    ck_assert_str_eq(world->answer_text, "{}");
    ck_assert_int_eq(world_call(world, "GET", PATH("%s/provider", path), NULL), 404);
    ck_assert_int_eq(send(world, "POST", path, LUKS ", \"key_size\": \"256\", \"more\": 1"), 200);
    sent = json_object_get(world->answer, "encryption");
    ck_assert_uint_eq(json_object_size(sent), 6);
    ck_assert_int_eq(json_integer_value(json_object_get(sent, "key_size")), 256);
    id = arena_text(world->arena, text_at(sent, "encryption_id"));

    ck_assert_int_eq(world_call(world, "GET", path, NULL), 200);
    ck_assert_uint_eq(json_object_size(world->answer), 10);
    ck_assert_str_eq(text_at(world->answer, "encryption_id"), id);
    ck_assert_str_eq(text_at(world->answer, "provider"), "luks");
    ck_assert_str_eq(text_at(world->answer, "control_location"), "front-end");
    ck_assert_int_eq(json_integer_value(json_object_get(world->answer, "key_size")), 256);
    ck_assert(json_is_null(json_object_get(world->answer, "cipher")));
    ck_assert(json_is_false(json_object_get(world->answer, "deleted")));
    ck_assert(json_is_null(json_object_get(world->answer, "deleted_at")));
    ck_assert(json_is_null(json_object_get(world->answer, "updated_at")));
    ck_assert(json_is_string(json_object_get(world->answer, "created_at")));

    ck_assert_int_eq(world_call(world, "GET", PATH("%s/key_size", path), NULL), 200);
    ck_assert_str_eq(world->answer_text, "{\"key_size\":256}");
    ck_assert_int_eq(world_call(world, "GET", PATH("%s/colour", path), NULL), 404);
}
END_TEST

START_TEST(an_update_changes_the_named_fields) {
    autoworld struct world *world = world_new(NULL);
    const char *path = make(world, "gold"), *one = PATH("%s/any", path);

    ck_assert_int_eq(send(world, "PUT", one, LUKS), 404);
    send(world, "POST", path, LUKS ", \"cipher\": \"aes\", \"key_size\": 128");
    ck_assert_int_eq(send(world, "PUT", one, "\"control_location\": \"back-end\""), 200);
    ck_assert_str_eq(world->answer_text, "{\"encryption\":{\"control_location\":\"back-end\"}}");
    world_call(world, "GET", path, NULL);
    ck_assert_str_eq(text_at(world->answer, "control_location"), "back-end");
    ck_assert_str_eq(text_at(world->answer, "provider"), "luks");
    ck_assert_str_eq(text_at(world->answer, "cipher"), "aes");
    ck_assert_int_eq(json_integer_value(json_object_get(world->answer, "key_size")), 128);
    ck_assert(json_is_string(json_object_get(world->answer, "updated_at")));
    ck_assert_int_eq(
        send(world, "PUT", one, "\"provider\": \"plain\", \"cipher\": null, \"key_size\": null"),
        200);
    world_call(world, "GET", path, NULL);
    ck_assert_str_eq(text_at(world->answer, "provider"), "plain");
    ck_assert(json_is_null(json_object_get(world->answer, "cipher")));
    ck_assert(json_is_null(json_object_get(world->answer, "key_size")));
}
END_TEST

START_TEST(an_encryption_is_deleted_alone_or_with_its_type) {
    autoworld struct world *world = world_new(NULL);
    const char *path = make(world, "gold");

    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s/any", path), NULL), 404);
    send(world, "POST", path, LUKS);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s/any", path), NULL), 202);
    ck_assert_int_eq(rows(world), 0);
    send(world, "POST", path, LUKS);
    ck_assert_int_eq(rows(world), 1);
    ck_assert_int_eq(
        world_call(world, "DELETE", arena_text_n(world->arena, path, strlen(path) - 11), NULL),
        202);
    ck_assert_int_eq(rows(world), 0);
}
END_TEST

START_TEST(a_type_with_volumes_stays_as_it_is) {
    autoworld struct world *world = world_new(NULL);
    const char *path = make(world, "gold");

    ck_assert_int_eq(world_call(world, "POST", "/volumes",
                                "{\"volume\": {\"size\": 1, \"volume_type\": \"gold\"}}"),
                     202);
    ck_assert_int_eq(send(world, "POST", path, LUKS), 400);
    ck_assert_int_eq(send(world, "PUT", PATH("%s/any", path), LUKS), 400);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s/any", path), NULL), 400);
    ck_assert_int_eq(rows(world), 0);
}
END_TEST

START_TEST(no_volume_of_an_encrypted_type_is_made_in_the_clear) {
    autoworld struct world *world = world_new(NULL);

    send(world, "POST", make(world, "gold"), LUKS);
    ck_assert_int_eq(world_call(world, "POST", "/volumes",
                                "{\"volume\": {\"size\": 1, \"volume_type\": \"gold\"}}"),
                     400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "encrypted volumes are not supported"));
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes"), 0);
    ck_assert_int_eq(world_in_use(world, "volumes"), 0);
}
END_TEST

START_TEST(a_bad_encryption_is_refused) {
    static const char *const members[] = {
        "",
        "\"provider\": \"luks\"",
        "\"control_location\": \"front-end\"",
        "\"provider\": null, \"control_location\": \"front-end\"",
        "\"provider\": \"luks\", \"control_location\": \"middle\"",
        LUKS ", \"cipher\": 5",
        LUKS ", \"key_size\": -1",
        LUKS ", \"key_size\": \"many\"",
        LUKS ", \"key_size\": 1.5",
    };
    autoworld struct world *world = world_new(NULL);
    const char *path = make(world, "gold");

    for (size_t i = 0; i < LENGTH(members); i++)
        ck_assert_msg(send(world, "POST", path, members[i]) == 400, "%s: %d", members[i],
                      world->status);
    ck_assert_int_eq(world_call(world, "POST", path, "{}"), 400);
    ck_assert_int_eq(rows(world), 0);
    ck_assert_int_eq(send(world, "POST", path, LUKS), 200);
    ck_assert_int_eq(send(world, "POST", path, LUKS), 400);
    ck_assert_int_eq(rows(world), 1);
    ck_assert_int_eq(
        send(world, "POST", "/types/99999999-9999-4999-8999-999999999999/encryption", LUKS), 404);
}
END_TEST

START_TEST(encryption_is_for_administrators) {
    autoworld struct world *world = world_new(NULL);
    const char *path = make(world, "gold");

    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "GET", path, NULL), 403);
    ck_assert_int_eq(world_call(world, "GET", PATH("%s/cipher", path), NULL), 403);
    ck_assert_int_eq(send(world, "POST", path, LUKS), 403);
    ck_assert_int_eq(send(world, "PUT", PATH("%s/any", path), LUKS), 403);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s/any", path), NULL), 403);
    ck_assert_int_eq(rows(world), 0);
}
END_TEST

START_TEST(a_failing_database_is_reported) {
    autoworld struct world *world = world_new(NULL);
    const char *path = make(world, "gold");

    world_sql(world, "ALTER TABLE volume_type_encryption RENAME TO hidden");
    ck_assert_int_eq(world_call(world, "GET", path, NULL), 500);
    world_sql(world, "CREATE VIEW volume_type_encryption AS "
                     "SELECT volume_type_id FROM hidden");
    ck_assert_int_eq(world_call(world, "GET", path, NULL), 500);
    ck_assert_int_eq(world_call(world, "GET", PATH("%s/cipher", path), NULL), 500);
    ck_assert_int_eq(send(world, "POST", path, LUKS), 500);
    ck_assert_int_eq(send(world, "PUT", PATH("%s/any", path), LUKS), 500);
    world_sql(world, "DROP VIEW volume_type_encryption");
    world_sql(world, "ALTER TABLE hidden RENAME TO volume_type_encryption");
    ck_assert_int_eq(send(world, "POST", path, LUKS), 200);
}
END_TEST

CHECK_MAIN("type_encryption", an_encryption_is_set_and_shown, an_update_changes_the_named_fields,
           an_encryption_is_deleted_alone_or_with_its_type, a_type_with_volumes_stays_as_it_is,
           no_volume_of_an_encrypted_type_is_made_in_the_clear, a_bad_encryption_is_refused,
           encryption_is_for_administrators, a_failing_database_is_reported)
