#include "common/cleanup.h"
#include "tests/lib/check_main.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <string.h>

#define PATH(...) arena_format(world->arena, __VA_ARGS__)
#define BACKEND   WORLD_NODE "@memory"
#define POOL      BACKEND "#pool"

static int put(struct world *world, const char *name, const char *body) {
    return world_call(world, "PUT", PATH("/os-services/%s", name), body);
}

static const json_t *services(struct world *world, const char *query) {
    int status = world_call(world, "GET", PATH("/os-services%s", query), NULL);

    ck_assert_msg(status == 200, "%d %s", status, world->answer_text);
    return json_object_get(world->answer, "services");
}

static const json_t *backend_service(struct world *world) {
    const json_t *list = services(world, "?binary=cinder-volume&host=" BACKEND);

    ck_assert_uint_eq(json_array_size(list), 1);
    return json_array_get(list, 0);
}

static const char *text_at(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);

    ck_assert_msg(value != NULL, "key %s is missing", key);
    return json_string_value(value);
}

static void assert_keys(const json_t *object, const char *expected) {
    autofree char *words = strdup(expected);
    size_t count = 0;

    for (char *rest = words, *word; (word = strsep(&rest, " ")); count++)
        ck_assert_msg(json_object_get(object, word) != NULL, "key %s is missing", word);
    ck_assert_uint_eq(json_object_size(object), count);
}

/* ---- list ---- */

#define KEYS        "binary host zone status state updated_at disabled_reason"
#define VOLUME_KEYS KEYS " replication_status active_backend_id frozen"

START_TEST(each_version_has_exactly_its_keys) {
    autoworld struct world *world = world_new(NULL);

    world->minor = 0;
    assert_keys(backend_service(world), VOLUME_KEYS);
    world->minor = 7;
    assert_keys(backend_service(world), VOLUME_KEYS " cluster");
    world->minor = 49;
    assert_keys(backend_service(world), VOLUME_KEYS " cluster backend_state");
    world->minor = 0;
    assert_keys(json_array_get(services(world, "?binary=cinder-scheduler"), 0), KEYS);
}
END_TEST

START_TEST(services_are_found_by_binary_and_host) {
    autoworld struct world *world = world_new(NULL);

    ck_assert_uint_eq(json_array_size(services(world, "")), 2);
    ck_assert_uint_eq(json_array_size(services(world, "?host=" WORLD_NODE)), 2);
    ck_assert_uint_eq(json_array_size(services(world, "?host=elsewhere")), 0);
    ck_assert_uint_eq(json_array_size(services(world, "?binary=unknown")), 0);
    ck_assert_str_eq(text_at(backend_service(world), "state"), "up");
    ck_assert_str_eq(text_at(backend_service(world), "zone"), "nova");
    world->now_us += INT64_C(61000000);
    ck_assert_str_eq(text_at(backend_service(world), "state"), "down");
    ck_assert_str_eq(text_at(backend_service(world), "backend_state"), "down");
}
END_TEST

/* ---- enable, disable ---- */

START_TEST(a_service_is_disabled_with_a_reason_and_enabled_again) {
    autoworld struct world *world = world_new(NULL);
    const char *body = "{\"host\": \"" BACKEND "\", \"binary\": \"cinder-volume\"}";

    ck_assert_int_eq(put(world, "disable", body), 200);
    assert_keys(world->answer, "host service binary status disabled");
    ck_assert_str_eq(text_at(backend_service(world), "status"), "disabled");
    ck_assert_int_eq(put(world, "disable-log-reason",
                         "{\"host\": \"" BACKEND "\", \"service\": \"cinder-volume\", "
                         "\"disabled_reason\": \"disks\"}"),
                     200);
    assert_keys(world->answer, "host service binary status disabled disabled_reason");
    ck_assert_str_eq(text_at(backend_service(world), "disabled_reason"), "disks");
    ck_assert_int_eq(put(world, "enable", body), 200);
    assert_keys(world->answer, "host service binary status disabled");
    ck_assert_str_eq(text_at(backend_service(world), "status"), "enabled");
    ck_assert(json_is_null(json_object_get(backend_service(world), "disabled_reason")));
}
END_TEST

/* As upstream: `service` is the older name of `binary`, and each is answered as it was given. */
START_TEST(a_change_answers_the_keys_of_its_request) {
    static const struct {
        const char *given, *service, *binary;
    } cases[] = {
        { "\"binary\": \"cinder-volume\"", "", "cinder-volume" },
        { "\"service\": \"cinder-volume\"", "cinder-volume", "" },
        { "\"service\": \"other\", \"binary\": \"cinder-volume\"", "other", "cinder-volume" },
    };
    static const char *const changes[] = { "enable", "disable", "disable-log-reason" };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (size_t j = 0; j < sizeof(changes) / sizeof(changes[0]); j++) {
            const char *reason = j == 2 ? ", \"disabled_reason\": \"disks\"" : "";

            ck_assert_int_eq(put(world, changes[j],
                                 arena_format(world->arena, "{\"host\": \"" BACKEND "\", %s%s}",
                                              cases[i].given, reason)),
                             200);
            ck_assert_str_eq(text_at(world->answer, "service"), cases[i].service);
            ck_assert_str_eq(text_at(world->answer, "binary"), cases[i].binary);
            ck_assert_str_eq(text_at(world->answer, "host"), BACKEND);
        }
}
END_TEST

START_TEST(a_disabled_backend_gets_no_volumes) {
    autoworld struct world *world = world_new(NULL);

    put(world, "disable", "{\"host\": \"" BACKEND "\", \"binary\": \"cinder-volume\"}");
    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 1}}"), 202);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes WHERE status = 'error'"), 1);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM messages WHERE detail_id = '003'"),
                     1);
}
END_TEST

START_TEST(a_bad_change_of_a_service_changes_nothing) {
    static const struct {
        const char *name, *body;
        int status;
    } cases[] = {
        { "enable", "{}", 400 },
        { "enable", "{\"host\": \"" BACKEND "\"}", 400 },
        { "enable", "{\"binary\": \"cinder-volume\"}", 400 },
        { "enable", "{\"host\": \"x\", \"binary\": \"cinder-volume\"}", 404 },
        { "enable", "{\"host\": \"" BACKEND "\", \"binary\": \"x\"}", 404 },
        { "disable", "{\"host\": \"a b\", \"binary\": \"cinder-volume\"}", 400 },
        { "disable", "{\"host\": \"" BACKEND "\", \"binary\": \"cinder-volume\", \"x\": 1}", 400 },
        { "disable-log-reason", "{\"host\": \"" BACKEND "\", \"binary\": \"cinder-volume\"}", 400 },
        { "disable-log-reason",
          "{\"host\": \"" BACKEND "\", \"binary\": \"cinder-volume\", "
          "\"disabled_reason\": \"\"}",
          400 },
        { "dance", "{\"host\": \"" BACKEND "\", \"binary\": \"cinder-volume\"}", 400 },
        { "dance", NULL, 400 },
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(put(world, cases[i].name, cases[i].body) == cases[i].status, "%s %s: %d",
                      cases[i].name, cases[i].body, world->status);
    ck_assert_str_eq(text_at(backend_service(world), "status"), "enabled");
}
END_TEST

/* ---- freeze, fail over ---- */

START_TEST(a_frozen_backend_gets_no_volumes_until_it_is_thawed) {
    autoworld struct world *world = world_new(NULL);
    const char *body = "{\"host\": \"" BACKEND "\"}";

    ck_assert_int_eq(put(world, "thaw", body), 400);
    ck_assert_int_eq(put(world, "freeze", body), 200);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_int_eq(put(world, "freeze", body), 400);
    ck_assert(json_is_true(json_object_get(backend_service(world), "frozen")));
    world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 1}}");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes WHERE status = 'error'"), 1);
    ck_assert_int_eq(put(world, "thaw", body), 200);
    world_volume(world, 1);
}
END_TEST

START_TEST(only_one_known_host_is_frozen_or_failed_over) {
    static const struct {
        const char *name, *body;
    } cases[] = {
        { "freeze", "{}" },
        { "freeze", "{\"host\": \"x\"}" },
        { "freeze", "{\"cluster\": \"x\"}" },
        { "freeze", "{\"host\": \"" BACKEND "\", \"cluster\": \"x\"}" },
        { "failover_host", "{\"host\": \"x\"}" },
        { "failover_host", "{\"host\": \"" BACKEND "\", \"backend_id\": \"b\"}" },
        { "failover", "{\"host\": \"" BACKEND "\"}" },
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(put(world, cases[i].name, cases[i].body) == 400, "%s %s: %d", cases[i].name,
                      cases[i].body, world->status);
    ck_assert(json_is_false(json_object_get(backend_service(world), "frozen")));
    world->minor = 25;
    ck_assert_int_eq(put(world, "failover", "{\"host\": \"" BACKEND "\"}"), 404);
}
END_TEST

/* ---- compute agents ---- */

START_TEST(an_agent_reports_itself_and_its_endpoint) {
    autoworld struct world *world = world_new(NULL);

    ck_assert_int_eq(put(world, "report",
                         "{\"binary\": \"scoria-compute\", \"host\": \"hv1\", "
                         "\"endpoint\": \"http://hv1:8775/v2.1\", \"zone\": \"az1\"}"),
                     200);
    assert_keys(world->answer, "binary host state");
    ck_assert_str_eq(text_at(world->answer, "state"), "up");
    ck_assert_str_eq(text_at(json_array_get(services(world, "?binary=scoria-compute"), 0), "zone"),
                     "az1");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM services "
                                        "WHERE endpoint = 'http://hv1:8775/v2.1'"),
                     1);
    ck_assert_int_eq(put(world, "report", "{\"binary\": \"scoria-compute\", \"host\": \"hv1\"}"),
                     200);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM services WHERE host = 'hv1' "
                                        "AND endpoint IS NULL"),
                     1);
}
END_TEST

START_TEST(only_agents_are_reported) {
    static const char *const bodies[] = {
        "{\"binary\": \"cinder-volume\", \"host\": \"" BACKEND "\"}",
        "{\"binary\": \"scoria-compute\"}",
        "{\"binary\": \"scoria-compute\", \"host\": \"\"}",
        "{\"binary\": \"scoria-compute\", \"host\": \"a b\"}",
        "{\"binary\": \"scoria-compute\", \"host\": \"h\", \"endpoint\": \"file:///etc\"}",
        "{\"binary\": \"scoria-compute\", \"host\": \"h\", \"endpoint\": \"\"}",
        "{\"host\": \"h\"}",
        "[]",
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(bodies); i++)
        ck_assert_msg(put(world, "report", bodies[i]) == 400, "%s: %d", bodies[i], world->status);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM services"), 2);
}
END_TEST

/* ---- hosts, zones ---- */

START_TEST(hosts_show_enabled_services_and_their_volumes) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);
    const json_t *list, *resource;

    world_volume(world, 3);
    ck_assert_int_eq(
        world_call(world, "POST", "/snapshots",
                   arena_format(world->arena, "{\"snapshot\": {\"volume_id\": \"%s\"}}", id)),
        202);
    world_settle(world);
    ck_assert_int_eq(world_call(world, "GET", "/os-hosts", NULL), 200);
    list = json_object_get(world->answer, "hosts");
    ck_assert_uint_eq(json_array_size(list), 2);
    assert_keys(json_array_get(list, 0),
                "host_name service zone service-status service-state last-update");
    ck_assert_int_eq(world_call(world, "GET", "/os-hosts?zone=moon", NULL), 200);
    ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "hosts")), 0);
    ck_assert_int_eq(world_call(world, "GET", "/os-hosts/" BACKEND, NULL), 200);
    list = json_object_get(world->answer, "host");
    ck_assert_uint_eq(json_array_size(list), 2);
    resource = json_object_get(json_array_get(list, 0), "resource");
    assert_keys(resource,
                "host project volume_count total_volume_gb snapshot_count total_snapshot_gb");
    ck_assert_str_eq(text_at(resource, "project"), "(total)");
    ck_assert_str_eq(text_at(resource, "volume_count"), "2");
    ck_assert_str_eq(text_at(resource, "total_volume_gb"), "5");
    ck_assert_str_eq(text_at(resource, "snapshot_count"), "1");
    ck_assert_str_eq(text_at(resource, "total_snapshot_gb"), "2");
    resource = json_object_get(json_array_get(list, 1), "resource");
    ck_assert_str_eq(text_at(resource, "project"), WORLD_PROJECT);
    ck_assert_int_eq(world_call(world, "GET", "/os-hosts/" WORLD_NODE, NULL), 404);
}
END_TEST

START_TEST(a_disabled_host_is_not_listed) {
    autoworld struct world *world = world_new(NULL);

    put(world, "disable", "{\"host\": \"" BACKEND "\", \"binary\": \"cinder-volume\"}");
    world_call(world, "GET", "/os-hosts", NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "hosts")), 1);
}
END_TEST

START_TEST(zones_are_listed_for_all_callers) {
    autoworld struct world *world = world_new(NULL);
    const json_t *zone;

    roles_enter(world, NULL);
    world->token = "reader:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "GET", "/os-availability-zone", NULL), 200);
    zone = json_array_get(json_object_get(world->answer, "availabilityZoneInfo"), 0);
    assert_keys(zone, "zoneName zoneState");
    ck_assert_str_eq(text_at(zone, "zoneName"), "nova");
    ck_assert(json_is_true(json_object_get(json_object_get(zone, "zoneState"), "available")));
    ck_assert_int_eq(world_call(world, "POST", "/os-availability-zone", "{}"), 404);
}
END_TEST

/* ---- pools, capabilities ---- */

static size_t pools(struct world *world, const char *query) {
    int status = world_call(world, "GET", PATH("/scheduler-stats/get_pools%s", query), NULL);

    ck_assert_msg(status == 200, "%s: %d %s", query, status, world->answer_text);
    return json_array_size(json_object_get(world->answer, "pools"));
}

START_TEST(pools_are_listed_with_capabilities_on_request) {
    autoworld struct world *world = world_new(NULL);
    const json_t *pool;

    ck_assert_uint_eq(pools(world, ""), 1);
    pool = json_array_get(json_object_get(world->answer, "pools"), 0);
    assert_keys(pool, "name");
    ck_assert_str_eq(text_at(pool, "name"), POOL);
    world_volume(world, 7);
    ck_assert_uint_eq(pools(world, "?detail=true"), 1);
    pool = json_array_get(json_object_get(world->answer, "pools"), 0);
    assert_keys(pool, "name capabilities");
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(pool, "capabilities"),
                                                        "allocated_capacity_gb")),
                     7);
    ck_assert_int_eq(world_call(world, "GET", "/scheduler-stats/get_pools?detail=maybe", NULL),
                     400);
    put(world, "disable", "{\"host\": \"" BACKEND "\", \"binary\": \"cinder-volume\"}");
    ck_assert_uint_eq(pools(world, ""), 0);
}
END_TEST

START_TEST(pools_are_filtered_by_the_rules_of_each_version) {
    autoworld struct world *world = world_new(NULL);

    world_call(world, "POST", "/types",
               "{\"volume_type\": {\"name\": \"other\", \"extra_specs\": "
               "{\"storage_protocol\": \"made-up\"}}}");
    world->minor = 27;
    ck_assert_uint_eq(pools(world, "?name=x&volume_backend_name=x&volume_type=unknown"), 1);
    world->minor = 28;
    ck_assert_uint_eq(pools(world, "?name=x"), 0);
    ck_assert_uint_eq(pools(world, "?name=" WORLD_NODE "%40memory%23pool"), 1);
    ck_assert_uint_eq(pools(world, "?volume_backend_name=memory&QoS_support=False"), 1);
    ck_assert_uint_eq(pools(world, "?volume_backend_name=x"), 0);
    world->minor = 31;
    ck_assert_int_eq(
        world_call(world, "GET", "/scheduler-stats/get_pools?volume_backend_name=x", NULL), 400);
    world->minor = 34;
    ck_assert_uint_eq(pools(world, "?volume_type=unknown"), 1);
    world->minor = 35;
    ck_assert_uint_eq(pools(world, "?volume_type=other"), 0);
    ck_assert_uint_eq(pools(world, "?volume_type=__DEFAULT__"), 1);
    ck_assert_int_eq(
        world_call(world, "GET", "/scheduler-stats/get_pools?volume_type=unknown", NULL), 404);
}
END_TEST

START_TEST(capabilities_of_a_backend_agree_with_its_pool) {
    static const char *const same[] = { "vendor_name", "volume_backend_name", "storage_protocol",
                                        "driver_version" };
    autoworld struct world *world = world_new(NULL);
    json_t *pool;

    pools(world, "?detail=1");
    pool = json_deep_copy(json_object_get(
        json_array_get(json_object_get(world->answer, "pools"), 0), "capabilities"));
    ck_assert_int_eq(world_call(world, "GET", "/capabilities/" BACKEND, NULL), 200);
    assert_keys(world->answer, "namespace vendor_name volume_backend_name pool_name driver_version "
                               "storage_protocol display_name description visibility "
                               "replication_targets properties");
    for (size_t i = 0; i < LENGTH(same); i++)
        ck_assert_str_eq(text_at(world->answer, same[i]), text_at(pool, same[i]));
    json_decref(pool);
    ck_assert_str_eq(text_at(world->answer, "namespace"), "OS::Storage::Capabilities::" BACKEND);
    ck_assert_int_eq(world_call(world, "GET", "/capabilities/" WORLD_NODE "%40memory", NULL), 200);
    ck_assert_int_eq(world_call(world, "GET", "/capabilities/elsewhere", NULL), 404);
}
END_TEST

/* ---- rights ---- */

START_TEST(only_admins_see_and_change_services) {
    static const struct {
        const char *method, *path, *body;
    } cases[] = {
        { "GET", "/os-services", NULL },
        { "PUT", "/os-services/enable", "{\"host\": \"" BACKEND "\", \"binary\": \"b\"}" },
        { "PUT", "/os-services/freeze", "{\"host\": \"" BACKEND "\"}" },
        { "PUT", "/os-services/failover_host", "{\"host\": \"" BACKEND "\"}" },
        { "PUT", "/os-services/report", "{\"binary\": \"scoria-compute\", \"host\": \"h\"}" },
        { "PUT", "/os-services/dance", "{}" },
        { "GET", "/os-hosts", NULL },
        { "GET", "/os-hosts/" BACKEND, NULL },
        { "GET", "/scheduler-stats/get_pools", NULL },
        { "GET", "/capabilities/" BACKEND, NULL },
    };
    autoworld struct world *world = world_new(NULL);

    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(world_call(world, cases[i].method, cases[i].path, cases[i].body) == 403,
                      "%s %s: %d", cases[i].method, cases[i].path, world->status);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM services"), 2);
}
END_TEST

START_TEST(freezing_and_failing_over_have_rules_of_their_own) {
    autoworld struct world *world = world_new(NULL);
    const char *body = "{\"host\": \"" BACKEND "\"}";

    roles_enter(world, "volume:freeze_host: \"!\"\nvolume:failover_host: \"!\"\n");
    world->token = "admin:" WORLD_PROJECT;
    ck_assert_int_eq(put(world, "freeze", body), 403);
    ck_assert_int_eq(put(world, "failover_host", body), 403);
    ck_assert_int_eq(put(world, "thaw", body), 400);
}
END_TEST

START_TEST(a_failing_database_is_no_answer) {
    static const char *const paths[] = { "/os-services",
                                         "/os-hosts",
                                         "/os-hosts/" BACKEND,
                                         "/os-availability-zone",
                                         "/scheduler-stats/get_pools",
                                         "/capabilities/" BACKEND };
    autoworld struct world *world = world_new(NULL);

    world_sql(world, "ALTER TABLE services RENAME TO hidden");
    for (size_t i = 0; i < LENGTH(paths); i++)
        ck_assert_msg(world_call(world, "GET", paths[i], NULL) == 500, "%s", paths[i]);
    ck_assert_int_eq(put(world, "enable", "{\"host\": \"h\", \"binary\": \"b\"}"), 500);
    ck_assert_int_eq(put(world, "freeze", "{\"host\": \"h\"}"), 500);
    ck_assert_int_eq(put(world, "report", "{\"binary\": \"scoria-compute\", \"host\": \"hv1\"}"),
                     500);
    world_sql(world, "ALTER TABLE hidden RENAME TO services");
    world_sql(world, "ALTER TABLE pools RENAME TO hidden");
    ck_assert_int_eq(world_call(world, "GET", "/os-hosts/" BACKEND, NULL), 500);
    world_sql(world, "ALTER TABLE hidden RENAME TO pools");
}
END_TEST

CHECK_MAIN("services", each_version_has_exactly_its_keys, services_are_found_by_binary_and_host,
           a_service_is_disabled_with_a_reason_and_enabled_again,
           a_change_answers_the_keys_of_its_request, a_disabled_backend_gets_no_volumes,
           a_bad_change_of_a_service_changes_nothing,
           a_frozen_backend_gets_no_volumes_until_it_is_thawed,
           only_one_known_host_is_frozen_or_failed_over, an_agent_reports_itself_and_its_endpoint,
           only_agents_are_reported, hosts_show_enabled_services_and_their_volumes,
           a_disabled_host_is_not_listed, zones_are_listed_for_all_callers,
           pools_are_listed_with_capabilities_on_request,
           pools_are_filtered_by_the_rules_of_each_version,
           capabilities_of_a_backend_agree_with_its_pool, only_admins_see_and_change_services,
           freezing_and_failing_over_have_rules_of_their_own, a_failing_database_is_no_answer)
