#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "tests/lib/world.h"
#include "json/json.h"

#include <string.h>

#define POOL(node, more)                                                                    \
    "{\"replica_pool\": {\"node\": \"" node "\", \"path\": \"/pools/a\", \"total_bytes\": " \
    "1000, \"free_bytes\": 600" more "}}"

static void expect(struct world *world, const char *method, const char *path, const char *body,
                   int status) {
    ck_assert_msg(world_call(world, method, path, body) == status, "%s %s %s: %d %s", method, path,
                  body ? body : "", world->status, world->answer_text);
}

static const json_t *answered(struct world *world) {
    return json_object_get(world->answer, "replica_pool");
}

START_TEST(a_pool_is_reported_shown_and_deleted) {
    autoworld struct world *world = world_new(NULL);

    expect(world, "PUT", "/replica_pools/pool-a",
           POOL("host-a", ", \"labels\": {\"disk\": \"ssd\"}"), 200);
    ck_assert_str_eq(json_text_of(answered(world), "name"), "pool-a");
    ck_assert_str_eq(json_text_of(answered(world), "node"), "host-a");
    ck_assert_str_eq(json_text_of(answered(world), "state"), "Online");
    ck_assert(json_is_true(json_object_get(answered(world), "up")));
    ck_assert(json_is_false(json_object_get(answered(world), "read_only")));
    ck_assert_int_eq(json_integer_value(json_object_get(answered(world), "free_bytes")), 600);
    ck_assert_str_eq(json_text_of(json_object_get(answered(world), "labels"), "disk"), "ssd");
    expect(world, "PUT", "/replica_pools/pool-b",
           POOL("host-b", ", \"read_only\": true, \"state\": \"no disk\", "
                          "\"address\": \"host-b:10810\""),
           200);
    expect(world, "GET", "/replica_pools", NULL, 200);
    ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "replica_pools")), 2);
    expect(world, "GET", "/replica_pools/pool-b", NULL, 200);
    ck_assert_str_eq(json_text_of(answered(world), "state"), "no disk");
    ck_assert_str_eq(json_text_of(answered(world), "address"), "host-b:10810");
    expect(world, "DELETE", "/replica_pools/pool-b", NULL, 204);
    expect(world, "GET", "/replica_pools/pool-b", NULL, 404);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "Replica pool pool-b could not be found."));
}
END_TEST

START_TEST(an_unresponsive_pool_is_down_and_may_be_adopted) {
    autoworld struct world *world = world_new(NULL);

    expect(world, "PUT", "/replica_pools/pool-a", POOL("host-a", ""), 200);
    expect(world, "PUT", "/replica_pools/pool-a", POOL("host-b", ""), 409);
    world->now_us += 31 * SECOND_US;
    expect(world, "GET", "/replica_pools/pool-a", NULL, 200);
    ck_assert(json_is_false(json_object_get(answered(world), "up")));
    expect(world, "PUT", "/replica_pools/pool-a", POOL("host-b", ""), 200);
    ck_assert_str_eq(json_text_of(answered(world), "node"), "host-b");
}
END_TEST

START_TEST(an_invalid_pool_is_refused) {
    static const char *const bodies[] = {
        "{\"replica_pool\": {}}",
        "{\"replica_pool\": {\"node\": \"n\", \"path\": \"p\", \"total_bytes\": 1, "
        "\"free_bytes\": 1}}",
        POOL("host-a", ", \"free\": 1"),
        POOL("host-a", ", \"labels\": {\"a\": 1}"),
        POOL("", ""),
        "{\"replica_pool\": {\"node\": \"n\", \"path\": \"/p\", \"total_bytes\": 1, "
        "\"free_bytes\": -1}}",
        "{\"replica_pool\": {\"node\": \"n\", \"path\": \"/p\", \"total_bytes\": 1, "
        "\"free_bytes\": 1e99}}",
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(bodies); i++)
        expect(world, "PUT", "/replica_pools/pool-a", bodies[i], 400);
    expect(world, "PUT", "/replica_pools/POOL", POOL("host-a", ""), 400);
    expect(world, "GET", "/replica_pools", NULL, 200);
    ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "replica_pools")), 0);
}
END_TEST

CHECK_MAIN("replica_pools", a_pool_is_reported_shown_and_deleted,
           an_unresponsive_pool_is_down_and_may_be_adopted, an_invalid_pool_is_refused)
