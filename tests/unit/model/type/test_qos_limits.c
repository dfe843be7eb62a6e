/*
 * QoS specs for the back-end: the host that has the volume queries them.
 */
#include "tests/lib/groups.h"

#include <string.h>

static const char *make_specs(struct world *world, const char *name, const char *members) {
    ck_assert_int_eq(world_call(world, "POST", "/qos-specs",
                                PATH("{\"qos_specs\": {\"name\": \"%s\", %s}}", name, members)),
                     200);
    return world_answer_id(world, "qos_specs");
}

static void make_type(struct world *world, const char *name, const char *specs) {
    ck_assert_int_eq(
        world_call(world, "POST", "/types", PATH("{\"volume_type\": {\"name\": \"%s\"}}", name)),
        200);
    ck_assert_int_eq(world_call(world, "GET",
                                PATH("/qos-specs/%s/associate?vol_type_id=%s", specs,
                                     world_answer_id(world, "volume_type")),
                                NULL),
                     202);
}

/* One of this type that the host has attached. */
static const char *attached(struct world *world, const char *type, int size_gb, const char *host) {
    const char *id;

    ck_assert_int_eq(
        world_call(world, "POST", "/volumes",
                   PATH("{\"volume\": {\"size\": %d, \"volume_type\": \"%s\"}}", size_gb, type)),
        202);
    id = world_answer_id(world, "volume");
    world_settle(world);
    ck_assert_int_eq(world_call(world, "POST", "/attachments",
                                PATH("{\"attachment\": {\"volume_uuid\": \"%s\", "
                                     "\"connector\": {\"host\": \"%s\"}}}",
                                     id, host)),
                     200);
    return id;
}

/* The limits that the host gets for the volume; NULL: none. */
static const char *limits_of(struct world *world, const char *host, const char *volume) {
    const json_t *row;
    size_t i;

    ck_assert_int_eq(world_call(world, "GET", PATH("/os-volume-limits?host=%s", host), NULL), 200);
    json_array_foreach(
        json_object_get(world->answer, "volume_limits"), i,
        row) if (strcmp(json_string_value(json_object_get(row, "volume_id")), volume) ==
                 0) return json_text(world->arena, json_object_get(row, "limits"));
    return NULL;
}

START_TEST(a_host_gets_the_limits_of_its_volumes) {
    autoworld struct world *world = world_new(NULL);
    const char *one, *other;

    make_type(world, "back", make_specs(world, "back", "\"total_iops_sec\": \"100\""));
    make_type(world, "both",
              make_specs(world, "both",
                         "\"consumer\": \"both\", \"read_bytes_sec_per_gb\": \"10\", "
                         "\"write_bytes_sec\": \"7\""));
    make_type(world, "front",
              make_specs(world, "front", "\"consumer\": \"front-end\", \"total_iops_sec\": \"1\""));
    one = attached(world, "back", 1, "a");
    other = attached(world, "both", 3, "a");
    attached(world, "front", 1, "a");
    attached(world, "__DEFAULT__", 1, "a");
    attached(world, "back", 1, "b");
    ck_assert_str_eq(limits_of(world, "a", one), "{\"total_iops_sec\":100}");
    ck_assert_str_eq(limits_of(world, "a", other), "{\"read_bytes_sec\":30,\"write_bytes_sec\":7}");
    ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "volume_limits")), 2);
    ck_assert_ptr_null(limits_of(world, "b", one));
    ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "volume_limits")), 1);
    ck_assert_ptr_null(limits_of(world, "c", one));
    ck_assert_int_eq(world_call(world, "GET", "/os-volume-limits", NULL), 400);
    ck_assert_int_eq(world_call(world, "GET", "/os-volume-limits?host=", NULL), 400);
}
END_TEST

START_TEST(limits_that_cannot_be_enforced_are_left_out) {
    static const struct {
        const char *members, *limits_of;
    } cases[] = {
        { "\"total_iops_sec\": \"many\"", NULL },
        { "\"total_iops_sec\": \"0\"", NULL },
        { "\"total_iops_sec\": \"-5\"", NULL },
        { "\"colour\": \"5\"", NULL },
        { "\"total_iops_sec\": \"99999999999999999999\", \"read_iops_sec\": \"4\"",
          "{\"read_iops_sec\":4}" },
        { "\"read_iops_sec\": \"4\", \"read_iops_sec_max\": \"9\"",
          "{\"read_iops_sec\":4,\"read_iops_sec_max\":9}" },
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(cases); i++) {
        const char *name = PATH("t%zu", i), *text;

        make_type(world, name, make_specs(world, name, cases[i].members));
        text = limits_of(world, "h", attached(world, name, 1, "h"));
        if (cases[i].limits_of)
            ck_assert_str_eq(text, cases[i].limits_of);
        else
            ck_assert_ptr_null(text);
    }
}
END_TEST

START_TEST(changed_limits_are_reported_at_once) {
    autoworld struct world *world = world_new(NULL);
    const char *slow = make_specs(world, "slow", "\"total_iops_sec\": \"1\""), *id;

    make_type(world, "slow", slow);
    make_type(world, "fast", make_specs(world, "fast", "\"total_iops_sec\": \"2\""));
    id = attached(world, "slow", 1, "h");
    ck_assert_str_eq(limits_of(world, "h", id), "{\"total_iops_sec\":1}");
    ck_assert_int_eq(world_call(world, "PUT", PATH("/qos-specs/%s", slow),
                                "{\"qos_specs\": {\"total_iops_sec\": \"3\"}}"),
                     200);
    ck_assert_str_eq(limits_of(world, "h", id), "{\"total_iops_sec\":3}");
    world_sql(world, "UPDATE volumes SET status = 'in-use'");
    ck_assert_int_eq(world_action(world, id, "{\"os-retype\": {\"new_type\": \"fast\"}}"), 202);
    ck_assert_str_eq(limits_of(world, "h", id), "{\"total_iops_sec\":2}");
    ck_assert_int_eq(world_action(world, id, "{\"os-retype\": {\"new_type\": \"__DEFAULT__\"}}"),
                     202);
    ck_assert_ptr_null(limits_of(world, "h", id));
}
END_TEST

CHECK_MAIN("qos_limits", a_host_gets_the_limits_of_its_volumes,
           limits_that_cannot_be_enforced_are_left_out, changed_limits_are_reported_at_once)
