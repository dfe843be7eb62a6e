/*
 * Configs, and their effect in the service, as clients and nodes see them.
 */
#include "common/cleanup.h"
#include "common/scoria_headers.h"
#include "tests/lib/check_main.h"
#include "tests/lib/documents.h"
#include "tests/lib/exchange.h"
#include "tests/lib/roles.h"

#define CONFIG(metadata)    DOCUMENTS_CONFIG(metadata, "10Gi", "3")
#define PATCH(body)         "{\"volume_config\": {" body "}}"
#define STATUS(node, phase) "{\"nodeId\": \"" node "\", \"status\": {\"phase\": \"" phase "\"}}"

static void expect(struct world *world, const char *method, const char *path, const char *body,
                   int status) {
    ck_assert_msg(world_call(world, method, path, body) == status, "%s %s %s: %d %s", method, path,
                  body ? body : "", world->status, world->answer_text);
}

static void expect_event(struct world *world, const char *text) {
    ck_assert_msg(strstr(world->answer_text, text) != NULL, "%s", world->answer_text);
}

static const json_t *answered(struct world *world) {
    return json_object_get(world->answer, "volume_config");
}

static const char *made(struct world *world, const char *metadata) {
    return documents_make(world, "volume_configs", "volume_config",
                          arena_format(world->arena, CONFIG("%s"), metadata));
}

static const char *path_of(struct world *world, const char *collection, const char *id,
                           const char *below) {
    return arena_join(world->arena, "/", collection, "/", id, below, NULL);
}

static size_t listed(struct world *world, const char *path, const char *key) {
    expect(world, "GET", path, NULL, 200);
    return json_array_size(json_object_get(world->answer, key));
}

static const char *phase_of(struct world *world, const char *path, const char *word) {
    expect(world, "GET", path, NULL, 200);
    return json_text_of(json_object_get(json_object_get(world->answer, word), "status"), "phase");
}

START_TEST(a_config_lives_from_its_declaration_to_its_deletion) {
    autoworld struct world *world = world_new(NULL);

    expect(world, "POST", "/volume_configs",
           "{\"volume_config\": {\"metadata\": {\"name\": \"db\"}, \"spec\": {\"capacity\": "
           "{\"storage\": \"10Gi\"}, \"provision\": {\"replicaCount\": 3}}, "
           "\"versionDetails\": {\"desired\": \"3.6\"}, \"status\": {\"phase\": \"Bound\"}}}",
           201);
    ck_assert_str_eq(json_text_of(json_object_get(answered(world), "status"), "phase"), "Pending");
    ck_assert_str_eq(json_text_of(json_object_get(answered(world), "versionDetails"), "desired"),
                     "3.6");
    expect(world, "PATCH", "/volume_configs/db",
           PATCH("\"publish\": {\"nodeId\": \"host-a\"}, \"spec\": {\"capacity\": "
                 "{\"storage\": \"20Gi\"}}"),
           200);
    ck_assert_str_eq(json_text_of(json_object_get(answered(world), "publish"), "nodeId"), "host-a");
    expect(world, "DELETE", "/volume_configs/db", NULL, 409);
    expect_event(world, "Volume config db is published on node host-a.");
    expect(world, "PATCH", "/volume_configs/db", PATCH("\"publish\": {\"nodeId\": \"\"}"), 200);
    expect(world, "DELETE", "/volume_configs/db?dry_run=true", NULL, 202);
    expect(world, "DELETE", "/volume_configs/db", NULL, 202);
    expect(world, "DELETE", "/volume_configs/db", NULL, 202);
    expect(world, "PATCH", "/volume_configs/db", PATCH("\"metadata\": {\"finalizers\": []}"), 200);
    expect(world, "PATCH", "/volume_configs/db", PATCH("\"publish\": {\"nodeId\": \"x\"}"), 409);
    expect(world, "GET", "/volume_configs/db", NULL, 200);
    expect(world, "POST", "/volume_configs", CONFIG("\"name\": \"db\""), 409);
}
END_TEST

/* A config whose policy nests so deep: the response of the API. */
static int declare_deep(struct world *world, unsigned levels) {
    const char *affinity = "1";

    for (unsigned level = 0; level < levels; level++)
        affinity = arena_join(world->arena, "{\"a\":", affinity, "}", NULL);
    return world_call(world, "POST", "/volume_configs",
                      arena_format(world->arena,
                                   "{\"volume_config\": {\"metadata\": {\"name\": \"deep-%u\"}, "
                                   "\"spec\": {\"capacity\": {\"storage\": \"1Gi\"}, "
                                   "\"provision\": {\"replicaCount\": 1}, \"policy\": "
                                   "{\"target\": {\"affinity\": %s}}}}}",
                                   levels, affinity));
}

/* One that our own clients could not read would take all others in their lists from them. */
START_TEST(an_accepted_config_is_in_every_list) {
    static const unsigned levels[] = { 1, 16, 30, 40, 57, 58, 59, 60 };
    autoworld struct world *world = world_new(NULL);
    unsigned taken = 0;
    struct error err = { 0 };

    for (size_t i = 0; i < LENGTH(levels); i++) {
        int status = declare_deep(world, levels[i]);

        ck_assert_msg(status == 201 || (status == 400 && levels[i] > 16), "%u: %d", levels[i],
                      status);
        taken += status == 201;
    }
    ck_assert_uint_eq(listed(world, "/volume_configs", "volume_configs"), taken);
    ck_assert_msg(json_parse(world->arena, world->answer_text, strlen(world->answer_text), &err) !=
                      NULL,
                  "%s", err.message);
}
END_TEST

START_TEST(a_forbidden_edit_is_refused_with_its_field_and_changes_nothing) {
    static const char *const cases[][2] = {
        { PATCH("\"spec\": {\"capacity\": {\"storage\": \"9Gi\"}}"),
          "spec.capacity.storage can only grow: it is 10Gi." },
        { PATCH("\"spec\": {\"provision\": {\"replicaCount\": 1}}"),
          "spec.provision.replicaCount cannot be changed: it is 3." },
        { PATCH("\"spec\": {\"provision\": {\"capacity\": {\"storage\": \"11Gi\"}}}"),
          "spec.provision.capacity.storage cannot be changed: it is 10Gi." },
        { PATCH("\"spec\": {\"cstorVolumeSource\": \"a@b\"}"),
          "spec.cstorVolumeSource cannot be changed: it is nothing." },
        { PATCH("\"publish\": {\"node\": \"host-a\"}"), "publish: 'node' is not a known field" },
        { PATCH("\"publish\": 7"), "publish: '7' is not an object." },
    };
    autoworld struct world *world = world_new(NULL);
    const char *before;

    documents_make(
        world, "volume_configs", "volume_config",
        "{\"volume_config\": {\"metadata\": {\"name\": \"db\"}, \"spec\": {\"capacity\": "
        "{\"storage\": \"10Gi\"}, \"provision\": {\"replicaCount\": 3}, "
        "\"policy\": {}}}}");
    expect(world, "GET", "/volume_configs/db", NULL, 200);
    before = arena_text(world->arena, world->answer_text);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        expect(world, "PATCH", "/volume_configs/db", cases[i][0], 400);
        expect_event(world, cases[i][1]);
    }
    expect(world, "PATCH", "/volume_configs/db",
           PATCH("\"spec\": {\"policy\": {\"replicaPoolInfo\": [{\"poolName\": \"p\"}]}}"), 409);
    expect_event(world, "it is Pending.");
    expect(world, "GET", "/volume_configs/db", NULL, 200);
    ck_assert_str_eq(world->answer_text, before);
}
END_TEST

START_TEST(the_volume_of_a_config_is_shown_below_it) {
    autoworld struct world *world = world_new(NULL);
    const char *id = made(world, "\"name\": \"db\""), *volume;

    expect(world, "GET", "/volume_configs/db/volume", NULL, 404);
    expect_event(world, "Volume config db has no volume yet.");
    ck_assert_uint_eq(listed(world, "/volume_configs/db/replicas", "volume_replicas"), 0);
    ck_assert_uint_eq(listed(world, "/volume_configs/db/events", "events"), 0);
    volume = documents_volume(world, id);
    documents_replica(world, volume);
    documents_volume(world, made(world, "\"name\": \"web\""));
    expect(world, "GET", "/volume_configs/db/volume", NULL, 200);
    ck_assert_str_eq(
        json_text_of(
            json_object_get(json_object_get(world->answer, "replicated_volume"), "metadata"),
            "uid"),
        volume);
    ck_assert_uint_eq(listed(world, "/volume_configs/db/replicas", "volume_replicas"), 1);
    ck_assert_uint_eq(listed(world, "/replicated_volumes", "replicated_volumes"), 2);
    ck_assert_uint_eq(listed(world, "/volume_replicas", "volume_replicas"), 1);
    expect(world, "POST", "/volume_replicas", "{\"volume_replica\": {}}", 404);
    expect(world, "DELETE", "/volume_replicas/v-pool-a", NULL, 404);
    world_sql(world, arena_format(world->arena,
                                  "INSERT INTO document_events (document_id, type, reason, "
                                  "message, number, times, first_at, last_at) VALUES ('%s', "
                                  "'Warning', 'Provisioning', '1 pool', 1, 7, 0, 1000000)",
                                  id));
    ck_assert_uint_eq(listed(world, "/volume_configs/db/events", "events"), 1);
    ck_assert_str_eq(world->answer_text,
                     "{\"events\":[{\"type\":\"Warning\",\"reason\":\"Provisioning\","
                     "\"message\":\"1 pool\",\"count\":7,"
                     "\"firstTimestamp\":\"1970-01-01T00:00:00Z\","
                     "\"lastTimestamp\":\"1970-01-01T00:00:01Z\"}]}");
}
END_TEST

START_TEST(documents_of_another_project_are_not_found) {
    static const char *const below[] = { "", "/volume", "/replicas", "/events" };
    autoworld struct world *world = world_new(NULL);
    const char *id = made(world, "\"name\": \"db\""), *volume = documents_volume(world, id);
    const char *replica = documents_replica(world, volume);

    roles_enter(world, NULL);
    world->token = "member:" WORLD_OTHER;
    for (size_t i = 0; i < LENGTH(below); i++)
        expect(world, "GET", path_of(world, "volume_configs", id, below[i]), NULL, 404);
    expect(world, "GET", path_of(world, "replicated_volumes", volume, ""), NULL, 404);
    expect(world, "PUT", path_of(world, "volume_replicas", replica, "/status"),
           STATUS("host-a", "Healthy"), 404);
    expect(world, "PATCH", path_of(world, "volume_configs", id, ""), PATCH(""), 404);
    expect(world, "DELETE", path_of(world, "volume_configs", id, ""), NULL, 404);
    ck_assert_uint_eq(listed(world, "/volume_configs", "volume_configs"), 0);
    ck_assert_uint_eq(listed(world, "/volume_replicas?all_tenants=1", "volume_replicas"), 0);
    world->minor = 71;
    expect(world, "GET", "/volume_replicas?node=host-a", NULL, 400);
    world->minor = 0;
    ck_assert_uint_eq(listed(world, "/volume_replicas?node=host-a", "volume_replicas"), 0);
    world->token = "member:" WORLD_PROJECT;
    expect(world, "PUT", path_of(world, "volume_replicas", replica, "/status"),
           STATUS("host-a", "Healthy"), 403);
    ck_assert_uint_eq(listed(world, "/volume_replicas", "volume_replicas"), 1);
}
END_TEST

START_TEST(a_node_finds_its_own_documents_in_all_projects) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = documents_volume(world, made(world, "\"name\": \"db\""));

    documents_replica(world, volume);
    roles_enter(world, NULL);
    world->token = "admin:" WORLD_OTHER;
    ck_assert_uint_eq(listed(world, "/volume_replicas", "volume_replicas"), 0);
    ck_assert_uint_eq(listed(world, "/volume_replicas?node=host-a", "volume_replicas"), 1);
    ck_assert_uint_eq(listed(world, "/volume_replicas?node=host-b", "volume_replicas"), 0);
    ck_assert_uint_eq(listed(world, "/replicated_volumes?node=host-a", "replicated_volumes"), 1);
    ck_assert_uint_eq(listed(world, "/volume_configs?node=host-a", "volume_configs"), 0);
}
END_TEST

#define INSTANCE "00000000-0000-4000-8000-0000000000a1"
#define OTHER    "00000000-0000-4000-8000-0000000000a2"
#define POOL                                                             \
    "{\"replica_pool\": {\"node\": \"host-a\", \"path\": \"/pools/a\", " \
    "\"total_bytes\": 1000, \"free_bytes\": 600}}"

/* The status of the answer to a storage agent. */
static int call_as(struct world *world, const char *instance, const char *method, const char *path,
                   const char *body) {
    const struct http_header headers[] = {
        { "Content-Type", "application/json" },
        { "X-Auth-Token", world->token },
        { "OpenStack-API-Version", "volume 3.71" },
        { INSTANCE_HEADER, instance },
        { NULL, NULL },
    };
    const char *project = strchr(world->token, ':') + 1, *query = strchr(path, '?');
    const char *place = arena_format(world->arena, "/v3/%s%.*s", project,
                                     (int)(query ? query - path : (long)strlen(path)), path);
    struct test_exchange *exchange = test_exchange_new(method, place, headers, body);
    int status;

    test_exchange_of(exchange)->query = query ? query + 1 : "";
    api_handle(world->api, test_exchange_of(exchange));
    status = test_exchange_await(exchange);
    test_exchange_free(exchange);
    return status;
}

START_TEST(a_second_agent_of_a_node_name_reports_nothing_and_gets_no_assignments) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = documents_volume(world, made(world, "\"name\": \"db\""));
    const char *replica = path_of(world, "volume_replicas", documents_replica(world, volume), "");
    const char *path = arena_join(world->arena, replica, "/status", NULL);
    const char *lists[] = { "/volume_replicas?node=host-a", "/replicated_volumes?node=host-a" };

    ck_assert_int_eq(call_as(world, INSTANCE, "PUT", "/replica_pools/pool-a", POOL), 200);
    ck_assert_int_eq(call_as(world, INSTANCE, "PUT", path, STATUS("host-a", "Healthy")), 200);
    ck_assert_int_eq(call_as(world, OTHER, "PUT", "/replica_pools/pool-a", POOL), 409);
    ck_assert_int_eq(call_as(world, OTHER, "PUT", path, STATUS("host-a", "Offline")), 409);
    ck_assert_int_eq(call_as(world, "other", "PUT", path, STATUS("host-a", "Offline")), 400);
    for (size_t i = 0; i < LENGTH(lists); i++) {
        ck_assert_int_eq(call_as(world, OTHER, "GET", lists[i], NULL), 409);
        ck_assert_int_eq(call_as(world, INSTANCE, "GET", lists[i], NULL), 200);
    }
    ck_assert_str_eq(phase_of(world, replica, "volume_replica"), "Healthy");
    world->now_us += 31 * SECOND_US; /* the first one has ended */
    ck_assert_int_eq(call_as(world, OTHER, "PUT", "/replica_pools/pool-a", POOL), 200);
    ck_assert_int_eq(call_as(world, OTHER, "PUT", path, STATUS("host-a", "Offline")), 200);
    ck_assert_str_eq(phase_of(world, replica, "volume_replica"), "Offline");
}
END_TEST

START_TEST(a_status_is_written_by_the_node_that_has_to_act) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = documents_volume(world, made(world, "\"name\": \"db\""));
    const char *replica = path_of(world, "volume_replicas", documents_replica(world, volume), "");
    const char *path = arena_join(world->arena, replica, "/status", NULL);

    expect(world, "PUT", path, STATUS("host-b", "Healthy"), 409);
    expect_event(world, "is assigned to node host-a.");
    ck_assert_str_eq(phase_of(world, replica, "volume_replica"), "Init");
    expect(world, "PUT", path, STATUS("host-a", "Healthy"), 200);
    ck_assert_str_eq(phase_of(world, replica, "volume_replica"), "Healthy");
    expect(world, "PUT", path, STATUS("host-a", "Well"), 400);
    expect_event(world, "status.phase: 'Well' is not one of Init, Recreate");
    expect(world, "PUT", path, STATUS("host-a", "Deleted"), 409);
    expect(world, "PUT", path, "{\"status\": {\"phase\": \"Healthy\"}}", 400);
    ck_assert_str_eq(phase_of(world, replica, "volume_replica"), "Healthy");
}
END_TEST

/* Its replicas are below SECRET, its target is there, and its failures name it. */
#define SECRET "/srv/secret"
#define SECRET_VOLUME                                                                      \
    "{\"spec\": {\"capacity\": \"1Gi\", \"maximum\": \"1Ti\", \"replicationFactor\": 1, "  \
    "\"consistencyFactor\": 1, \"replicas\": [{\"uid\": \"r\", \"poolName\": \"pool-a\", " \
    "\"nodeId\": \"host-a\", \"path\": \"" SECRET "\", \"address\": \"" SECRET ":1\"}]}}"
#define SECRET_REPLICA                                                                    \
    "{\"spec\": {\"volumeId\": \"v\", \"poolName\": \"pool-a\", \"nodeId\": \"host-a\", " \
    "\"path\": \"" SECRET "\", \"capacity\": \"1Gi\", \"maximum\": \"1Ti\", "             \
    "\"replicationFactor\": 1}}"
#define SECRET_TEXT "\"message\": \"" SECRET " is away\""
#define SECRET_VOLUME_STATUS                                                                \
    "{\"nodeId\": \"host-a\", \"status\": {\"phase\": \"Degraded\", " SECRET_TEXT           \
    ", \"target\": {\"nodeId\": \"served\", \"state\": \"Serving\", \"address\": \"" SECRET \
    "/nbd\"}, \"replicaStatuses\": [{\"replicaId\": \"r\", \"poolName\": \"pool-a\", "      \
    "\"mode\": \"Offline\", " SECRET_TEXT                                                   \
    "}], \"conditions\": [{\"type\": \"VolumeResizeFailed\", \"status\": "                  \
    "\"True\", " SECRET_TEXT                                                                \
    "}], \"snapshots\": [{\"uid\": \"s\", \"phase\": \"Pending\", " SECRET_TEXT "}]}}"
#define SECRET_REPLICA_STATUS                                                              \
    "{\"nodeId\": \"host-a\", \"status\": {\"phase\": \"Offline\", \"message\": \"" SECRET \
    " is away\"}}"

START_TEST(paths_and_hosts_are_shown_to_administrators_only) {
    autoworld struct world *world = world_new(NULL);
    const char *config = made(world, "\"name\": \"db\"");
    const char *volume =
        documents_own(world, (struct documents_own){ &kind_volume_config, &kind_replicated_volume,
                                                     config, "v", SECRET_VOLUME, "host-a", NULL });
    const char *replica = documents_own(
        world, (struct documents_own){ &kind_replicated_volume, &kind_volume_replica, volume,
                                       "v-pool-a", SECRET_REPLICA, "host-a", NULL });
    const char *const paths[] = {
        "/replicated_volumes",
        "/volume_replicas",
        path_of(world, "replicated_volumes", volume, ""),
        path_of(world, "volume_replicas", replica, ""),
        path_of(world, "volume_configs", config, "/volume"),
        path_of(world, "volume_configs", config, "/replicas"),
        "/volume_configs",
        path_of(world, "volume_configs", config, ""),
    };

    world_sql(world, "UPDATE documents SET status = '{\"phase\":\"Bound\",\"poolInfo\":"
                     "[\"pool-a\"],\"pendingPoolInfo\":[\"pool-a\"]}' "
                     "WHERE kind = 'CStorVolumeConfig'");
    expect(world, "PUT", path_of(world, "replicated_volumes", volume, "/status"),
           SECRET_VOLUME_STATUS, 200);
    expect(world, "PUT", path_of(world, "volume_replicas", replica, "/status"),
           SECRET_REPLICA_STATUS, 200);
    roles_enter(world, NULL);
    for (size_t i = 0; i < LENGTH(paths); i++) {
        world->token = "admin:" WORLD_PROJECT;
        expect(world, "GET", paths[i], NULL, 200);
        expect_event(world, "pool-a");
        if (i < 6)
            expect_event(world, SECRET);
        world->token = "member:" WORLD_PROJECT;
        expect(world, "GET", paths[i], NULL, 200);
        ck_assert_msg(!strstr(world->answer_text, SECRET), "%s", world->answer_text);
        ck_assert_msg(!strstr(world->answer_text, "pool-a"), "%s", world->answer_text);
        ck_assert_msg(!strstr(world->answer_text, "host-a"), "%s", world->answer_text);
        expect_event(world, i < 6 ? "\"capacity\"" : "\"poolInfo\":[\"\"]");
    }
    expect(world, "GET", "/volume_replicas/v-pool-a", NULL, 404);
    ck_assert_uint_eq(listed(world, "/volume_replicas", "volume_replicas"), 1);
    expect(world, "GET", "/volume_replicas?name=v-pool-a", NULL, 400);
    expect(world, "GET", "/volume_replicas?sort_key=node", NULL, 400);
    expect(world, "GET", "/volume_replicas?sort=created_at:asc,name", NULL, 400);
    world->token = "admin:" WORLD_PROJECT;
    expect(world, "GET", "/volume_replicas?sort=node,name", NULL, 200);
    expect(world, "GET", "/volume_replicas/v-pool-a", NULL, 200);
    ck_assert_uint_eq(listed(world, "/volume_replicas?name=v-pool-a", "volume_replicas"), 1);
    ck_assert_uint_eq(listed(world, "/volume_replicas?name=v-pool-b", "volume_replicas"), 0);
}
END_TEST

START_TEST(configs_are_found_by_name_and_label) {
    autoworld struct world *world = world_new(NULL);

    made(world, "\"name\": \"db\", \"labels\": {\"app\": \"db\"}");
    made(world, "\"name\": \"web\"");
    documents_make(world, "volume_policies", "volume_policy",
                   "{\"volume_policy\": {\"metadata\": {\"name\": \"p\", \"labels\": "
                   "{\"app\": \"db\"}}, \"spec\": {}}}");
    ck_assert_uint_eq(listed(world, "/volume_configs", "volume_configs"), 2);
    ck_assert_uint_eq(listed(world, "/volume_configs?limit=1", "volume_configs"), 1);
    ck_assert_uint_eq(listed(world, "/volume_configs?name=web", "volume_configs"), 1);
    ck_assert_uint_eq(listed(world, "/volume_configs?labels={'app':'db'}", "volume_configs"), 1);
    ck_assert_uint_eq(listed(world, "/volume_configs?node=host-a", "volume_configs"), 0);
}
END_TEST

static int64_t in_use(struct world *world, const char *resource) {
    expect(world, "GET", "/os-quota-sets/" WORLD_PROJECT "?usage=true", NULL, 200);
    return json_integer_value(json_object_get(
        json_object_get(json_object_get(world->answer, "quota_set"), resource), "in_use"));
}

START_TEST(a_config_counts_as_a_volume_of_its_project) {
    const struct world_settings settings = { .quota_volumes = 2, .quota_gigabytes = 25 };
    autoworld struct world *world = world_new(&settings);

    made(world, "\"name\": \"db\"");
    world_volume(world, 8);
    ck_assert_int_eq(in_use(world, "volumes"), 2);
    ck_assert_int_eq(in_use(world, "gigabytes"), 18);
    expect(world, "POST", "/volume_configs", CONFIG("\"name\": \"web\""), 413);
    expect(world, "POST", "/volume_configs?dry_run=true", CONFIG("\"name\": \"web\""), 413);
    expect(world, "PATCH", "/volume_configs/db",
           PATCH("\"spec\": {\"capacity\": {\"storage\": \"18Gi\"}}"), 413);
    expect_event(world, "VolumeSizeExceedsAvailableQuota");
    expect(world, "PATCH", "/volume_configs/db",
           PATCH("\"spec\": {\"capacity\": {\"storage\": \"17Gi\"}}"), 200);
    ck_assert_int_eq(in_use(world, "volumes"), 2);
    ck_assert_int_eq(in_use(world, "gigabytes"), 25);
}
END_TEST

CHECK_MAIN("volume_configs", a_config_lives_from_its_declaration_to_its_deletion,
           an_accepted_config_is_in_every_list,
           a_forbidden_edit_is_refused_with_its_field_and_changes_nothing,
           the_volume_of_a_config_is_shown_below_it, documents_of_another_project_are_not_found,
           a_node_finds_its_own_documents_in_all_projects,
           a_second_agent_of_a_node_name_reports_nothing_and_gets_no_assignments,
           a_status_is_written_by_the_node_that_has_to_act, configs_are_found_by_name_and_label,
           a_config_counts_as_a_volume_of_its_project,
           paths_and_hosts_are_shown_to_administrators_only)
