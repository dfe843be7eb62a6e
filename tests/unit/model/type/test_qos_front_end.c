/*
 * QoS specs for the front-end: the host that has the volume gets them, and a volume in use does not
 * get others.
 */
#include "tests/lib/groups.h"

#include <string.h>

#define RETYPE(type) "{\"os-retype\": {\"new_type\": \"" type "\"}}"

/* A type, and QoS specs with these members that it belongs to; NULL: to none. */
static const char *make_type(struct world *world, const char *name, const char *members) {
    const char *type, *specs;

    ck_assert_int_eq(
        world_call(world, "POST", "/types", PATH("{\"volume_type\": {\"name\": \"%s\"}}", name)),
        200);
    type = world_answer_id(world, "volume_type");
    if (!members)
        return NULL;
    ck_assert_int_eq(world_call(world, "POST", "/qos-specs",
                                PATH("{\"qos_specs\": {\"name\": \"%s\", %s}}", name, members)),
                     200);
    specs = world_answer_id(world, "qos_specs");
    ck_assert_int_eq(
        world_call(world, "GET", PATH("/qos-specs/%s/associate?vol_type_id=%s", specs, type), NULL),
        202);
    return specs;
}

static const char *make_volume(struct world *world, const char *type, int size_gb) {
    const char *id;

    ck_assert_int_eq(
        world_call(world, "POST", "/volumes",
                   PATH("{\"volume\": {\"size\": %d, \"volume_type\": \"%s\"}}", size_gb, type)),
        202);
    id = world_answer_id(world, "volume");
    world_settle(world);
    return id;
}

/* The connection of a host that attaches the volume. */
static const char *connection_of(struct world *world, const char *volume) {
    const json_t *attachment;

    ck_assert_int_eq(world_call(world, "POST", "/attachments",
                                PATH("{\"attachment\": {\"volume_uuid\": \"%s\", "
                                     "\"connector\": {\"host\": \"h\"}}}",
                                     volume)),
                     200);
    attachment = json_object_get(world->answer, "attachment");
    return json_text(world->arena,
                     json_object_get(json_object_get(attachment, "connection_info"), "qos_specs"));
}

START_TEST(a_host_gets_the_front_end_specs) {
    static const struct {
        const char *type, *members, *connection_of;
    } cases[] = {
        { "plain", NULL, "null" },
        { "back", "\"consumer\": \"back-end\", \"total_iops_sec\": \"5\"", "null" },
        { "none", "\"consumer\": \"front-end\"", "{}" },
        { "front", "\"consumer\": \"front-end\", \"total_iops_sec\": \"5\", \"x\": \"y\"",
          "{\"total_iops_sec\":\"5\",\"x\":\"y\"}" },
        { "both", "\"consumer\": \"both\", \"read_bytes_sec\": \"7\"",
          "{\"read_bytes_sec\":\"7\"}" },
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(cases); i++) {
        make_type(world, cases[i].type, cases[i].members);
        ck_assert_str_eq(connection_of(world, make_volume(world, cases[i].type, 1)),
                         cases[i].connection_of);
    }
}
END_TEST

START_TEST(limits_for_each_gib_are_scaled_to_the_volume) {
    static const struct {
        const char *type, *members, *connection_of;
    } cases[] = {
        { "each", "\"total_iops_sec_per_gb\": \"5\"", "{\"total_iops_sec\":15}" },
        { "least", "\"read_iops_sec_per_gb\": \"5\", \"read_iops_sec_per_gb_min\": \"100\"",
          "{\"read_iops_sec\":100}" },
        { "most", "\"write_bytes_sec_per_gb\": \"5\", \"write_bytes_sec_max\": \"11\"",
          "{\"write_bytes_sec\":11}" },
        { "huge", "\"total_bytes_sec_per_gb\": \"9223372036854775807\"",
          "{\"total_bytes_sec\":9223372036854775807}" },
        { "word", "\"total_iops_sec_per_gb\": \"many\", \"total_iops_sec_max\": \"7\"",
          "{\"total_iops_sec_max\":\"7\",\"total_iops_sec_per_gb\":\"many\"}" },
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(cases); i++) {
        make_type(world, cases[i].type, PATH("\"consumer\": \"both\", %s", cases[i].members));
        ck_assert_str_eq(connection_of(world, make_volume(world, cases[i].type, 3)),
                         cases[i].connection_of);
    }
}
END_TEST

START_TEST(a_volume_in_use_gets_no_others) {
    static const struct {
        const char *from, *to;
        int status;
    } cases[] = {
        { "plain", "front", 400 }, { "front", "plain", 400 }, { "front", "both", 400 },
        { "back", "both", 400 },   { "both", "back", 400 },   { "plain", "back", 202 },
        { "back", "more", 202 },   { "back", "plain", 202 },  { "front", "same", 202 },
    };
    autoworld struct world *world = world_new(NULL);
    const char *front = make_type(world, "front", "\"consumer\": \"front-end\"");

    make_type(world, "plain", NULL);
    make_type(world, "same", NULL);
    make_type(world, "back", "\"consumer\": \"back-end\"");
    make_type(world, "more", "\"consumer\": \"back-end\"");
    make_type(world, "both", "\"consumer\": \"both\"");
    world_sql(world,
              PATH("UPDATE volume_types SET qos_specs_id = '%s' WHERE name = 'same'", front));
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const char *id = make_volume(world, cases[i].from, 1);
        const char *has = cases[i].status == 202 ? cases[i].to : cases[i].from;

        world_attach(world, id, WORLD_INSTANCE);
        ck_assert_msg(world_action(world, id, RETYPE("%s"), cases[i].to) == cases[i].status,
                      "%s to %s: %d", cases[i].from, cases[i].to, world->status);
        ck_assert_str_eq(json_string_value(json_object_get(world_show(world, id), "volume_type")),
                         has);
        ck_assert_str_eq(world_status(world, id), "in-use");
    }
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(a_detached_volume_gets_any_front_end_specs) {
    autoworld struct world *world = world_new(NULL);
    const char *id;

    make_type(world, "front", "\"consumer\": \"front-end\"");
    make_type(world, "both", "\"consumer\": \"both\", \"k\": \"v\"");
    id = make_volume(world, "front", 1);
    ck_assert_int_eq(world_action(world, id, RETYPE("both")), 202);
    ck_assert_str_eq(connection_of(world, id), "{\"k\":\"v\"}");
}
END_TEST

CHECK_MAIN("qos_front_end", a_host_gets_the_front_end_specs,
           limits_for_each_gib_are_scaled_to_the_volume, a_volume_in_use_gets_no_others,
           a_detached_volume_gets_any_front_end_specs)
