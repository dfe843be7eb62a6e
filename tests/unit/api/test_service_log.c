#include "tests/lib/check_main.h"

#include "common/log.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <string.h>

#define PATH(...) arena_format(world->arena, __VA_ARGS__)
#define BACKEND   WORLD_NODE "@memory"

static struct world *world_quiet(void) {
    struct world *world = world_new(NULL);

    log_open(-1, LOG_INFO, LOG_TEXT);
    world_advance(world, 10); /* the services report their levels */
    return world;
}

static int set_log(struct world *world, const char *members) {
    return world_call(world, "PUT", "/os-services/set-log", PATH("{%s}", members));
}

static const json_t *get_log(struct world *world, const char *members) {
    int status = world_call(world, "PUT", "/os-services/get-log", PATH("{%s}", members));

    ck_assert_msg(status == 200, "%d %s", status, world->answer_text);
    return json_object_get(world->answer, "log_levels");
}

/* "binary@host logger=LEVEL logger=LEVEL; …" */
static const char *levels_of(struct world *world, const char *members) {
    const json_t *list = get_log(world, members), *one, *level;
    const char *text = "", *logger;
    size_t i;

    json_array_foreach(list, i, one) {
        ck_assert_uint_eq(json_object_size(one), 3);
        text =
            PATH("%s%s%s", text, i ? "; " : "", json_string_value(json_object_get(one, "binary")));
        text = PATH("%s %s", text, json_string_value(json_object_get(one, "host")));
        json_object_foreach(json_object_get(one, "levels"), logger, level) {
            text = PATH("%s %s=%s", text, logger, json_string_value(level));
        }
    }
    return text;
}

#define MANAGER "\"prefix\": \"scoria.manager\""

START_TEST(levels_of_every_service_are_listed) {
    autoworld struct world *world = world_quiet();

    ck_assert_str_eq(levels_of(world, MANAGER),
                     "cinder-api " WORLD_NODE " scoria.manager=INFO; "
                     "cinder-scheduler " WORLD_NODE " scoria.manager=INFO; "
                     "cinder-volume " BACKEND " scoria.manager=INFO");
    ck_assert_uint_eq(json_array_size(get_log(world, "\"binary\": \"*\", \"server\": null")), 3);
    ck_assert_uint_eq(json_array_size(get_log(world, "\"binary\": \"\", \"server\": \"\"")), 3);
    ck_assert_uint_eq(json_array_size(get_log(world, "\"binary\": \"cinder-backup\"")), 0);
    ck_assert_uint_eq(json_array_size(get_log(world, "\"server\": \"elsewhere\"")), 0);
    ck_assert_str_eq(levels_of(world, MANAGER ", \"server\": \"" BACKEND "\""),
                     "cinder-volume " BACKEND " scoria.manager=INFO");
    ck_assert_str_eq(levels_of(world, "\"binary\": \"cinder-api\", \"prefix\": \"cinder\""),
                     "cinder-api " WORLD_NODE);
    ck_assert_uint_gt(
        json_object_size(json_object_get(
            json_array_get(get_log(world, "\"binary\": \"cinder-api\""), 0), "levels")),
        8);
}
END_TEST

START_TEST(the_api_takes_a_level_at_once_another_service_at_its_heartbeat) {
    autoworld struct world *world = world_quiet();

    ck_assert_int_eq(
        set_log(world, MANAGER ", \"level\": \"error\", \"binary\": \"cinder-volume\""), 202);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_str_eq(levels_of(world, MANAGER),
                     "cinder-api " WORLD_NODE " scoria.manager=INFO; "
                     "cinder-scheduler " WORLD_NODE " scoria.manager=INFO; "
                     "cinder-volume " BACKEND " scoria.manager=INFO");
    world_advance(world, 10);
    /* in the world all of them are one process, and the scheduler is the last to report */
    ck_assert_str_eq(levels_of(world, MANAGER),
                     "cinder-api " WORLD_NODE " scoria.manager=ERROR; "
                     "cinder-scheduler " WORLD_NODE " scoria.manager=ERROR; "
                     "cinder-volume " BACKEND " scoria.manager=ERROR");
    ck_assert_int_eq(set_log(world, MANAGER ", \"level\": \"DEBUG\", \"binary\": \"cinder-api\""),
                     202);
    ck_assert_str_eq(levels_of(world, MANAGER ", \"binary\": \"cinder-api\""),
                     "cinder-api " WORLD_NODE " scoria.manager=DEBUG");
    ck_assert_int_eq(
        world_count(world, "SELECT COUNT(*) FROM services WHERE log_wanted IS NOT NULL"), 0);
}
END_TEST

START_TEST(in_one_process_all_take_a_level_at_once) {
    autoworld struct world *world = world_quiet();

    world->settings.one_process = true;
    ck_assert_int_eq(
        set_log(world, MANAGER ", \"level\": \"WARNING\", \"binary\": \"cinder-volume\""), 202);
    ck_assert_str_eq(levels_of(world, MANAGER),
                     "cinder-api " WORLD_NODE " scoria.manager=WARNING; "
                     "cinder-scheduler " WORLD_NODE " scoria.manager=WARNING; "
                     "cinder-volume " BACKEND " scoria.manager=WARNING");
    ck_assert_int_eq(
        world_count(world, "SELECT COUNT(*) FROM services WHERE log_wanted IS NOT NULL"), 0);
    ck_assert_int_eq(set_log(world, "\"level\": \"info\""), 202); /* all of them */
    ck_assert_str_eq(levels_of(world, MANAGER ", \"binary\": \"cinder-api\""),
                     "cinder-api " WORLD_NODE " scoria.manager=INFO");
}
END_TEST

START_TEST(services_that_are_down_or_never_reported_are_omitted) {
    autoworld struct world *world = world_quiet();

    world_sql(world, "UPDATE services SET log_levels = NULL WHERE binary_name = 'cinder-volume'");
    ck_assert_uint_eq(json_array_size(get_log(world, "")), 2);
    world->now_us += INT64_C(61000000);
    ck_assert_uint_eq(json_array_size(get_log(world, "")), 1);
}
END_TEST

START_TEST(agents_have_no_part_in_it) {
    autoworld struct world *world = world_quiet();

    ck_assert_int_eq(world_call(world, "PUT", "/os-services/report",
                                "{\"binary\": \"scoria-compute\", \"host\": \"far\"}"),
                     200);
    ck_assert_int_eq(set_log(world, "\"level\": \"INFO\", \"server\": \"far\""), 202);
    ck_assert_uint_eq(json_array_size(get_log(world, "\"server\": \"far\"")), 0);
    ck_assert_int_eq(
        world_count(world, "SELECT COUNT(*) FROM services WHERE log_wanted IS NOT NULL"), 0);
}
END_TEST

START_TEST(a_bad_request_changes_no_level) {
    static const char *const members[] = {
        "",
        "\"level\": null",
        "\"level\": \"\"",
        "\"level\": \"loud\"",
        "\"level\": 1",
        "\"level\": \"DEBUG\", \"binary\": \"nova-compute\"",
        "\"level\": \"DEBUG\", \"prefix\": 1",
        "\"level\": \"DEBUG\", \"colour\": \"red\"",
    };
    autoworld struct world *world = world_quiet();

    for (size_t i = 0; i < LENGTH(members); i++)
        ck_assert_msg(set_log(world, members[i]) == 400, "%s: %d", members[i], world->status);
    ck_assert_int_eq(world_call(world, "PUT", "/os-services/get-log", "{\"level\": \"INFO\"}"),
                     400);
    ck_assert_int_eq(world_call(world, "PUT", "/os-services/get-log", "{\"binary\": \"x\"}"), 400);
    ck_assert_str_eq(levels_of(world, MANAGER ", \"binary\": \"cinder-api\""),
                     "cinder-api " WORLD_NODE " scoria.manager=INFO");
    ck_assert_int_eq(
        world_count(world, "SELECT COUNT(*) FROM services WHERE log_wanted IS NOT NULL"), 0);
}
END_TEST

START_TEST(levels_are_for_administrators_from_3_32_on) {
    autoworld struct world *world = world_quiet();

    world->minor = 31;
    ck_assert_int_eq(set_log(world, "\"level\": \"DEBUG\""), 404);
    ck_assert_int_eq(world_call(world, "PUT", "/os-services/get-log", "{}"), 404);
    world->minor = 32;
    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    ck_assert_int_eq(set_log(world, "\"level\": \"DEBUG\""), 403);
    ck_assert_int_eq(world_call(world, "PUT", "/os-services/get-log", "{}"), 403);
    world->token = "admin:" WORLD_PROJECT;
    ck_assert_str_eq(levels_of(world, MANAGER ", \"binary\": \"cinder-api\""),
                     "cinder-api " WORLD_NODE " scoria.manager=INFO");
}
END_TEST

START_TEST(a_failing_database_is_reported) {
    autoworld struct world *world = world_quiet();

    world_sql(world, "ALTER TABLE services RENAME TO hidden");
    ck_assert_int_eq(set_log(world, "\"level\": \"DEBUG\""), 500);
    ck_assert_int_eq(world_call(world, "PUT", "/os-services/get-log", "{}"), 500);
    world_sql(world, "ALTER TABLE hidden RENAME TO services");
    ck_assert_str_eq(levels_of(world, MANAGER ", \"binary\": \"cinder-api\""),
                     "cinder-api " WORLD_NODE " scoria.manager=INFO");
    world_sql(world, "ALTER TABLE services RENAME COLUMN log_levels TO hidden");
    ck_assert_int_eq(world_call(world, "PUT", "/os-services/get-log", "{}"), 500);
    world_sql(world, "ALTER TABLE services RENAME COLUMN log_wanted TO hidden2");
    ck_assert_int_eq(set_log(world, "\"level\": \"DEBUG\""), 500);
    world_sql(world, "ALTER TABLE services RENAME COLUMN hidden TO log_levels");
    world_sql(world, "ALTER TABLE services RENAME COLUMN hidden2 TO log_wanted");
}
END_TEST

CHECK_MAIN("service_log", levels_of_every_service_are_listed,
           the_api_takes_a_level_at_once_another_service_at_its_heartbeat,
           in_one_process_all_take_a_level_at_once,
           services_that_are_down_or_never_reported_are_omitted, agents_have_no_part_in_it,
           a_bad_request_changes_no_level, levels_are_for_administrators_from_3_32_on,
           a_failing_database_is_reported)
