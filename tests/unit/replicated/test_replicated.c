/*
 * The driver of declared volumes, in front of an API that answers by a script: its requests, its
 * behaviour when others have acted before, and the objects that it leaves unchanged.
 */
#include "data/volume_io.h"
#include "identity/own_user.h"
#include "replicated/driver.h"
#include "replicated/replicated.private.h"
#include "tests/lib/script_server.h"
#include "tests/lib/wall.h"
#include "tests/unit/drivers/driver_test.h"
#include "json/json.h"

#define ID     "7a1e1c88-2d6b-4f0e-9c86-3d5e7f0a9b11"
#define PATH   "/v3/volume_configs/" FILE_NAME
#define ANY    "/v3/*"
#define UID    "0b0e8a43-7d1c-4e52-9a55-1d2c3b4a5f60"
#define OTHERS "11111111-2d6b-4f0e-9c86-3d5e7f0a9b11"

/* A config as the API shows it. */
#define CONFIG(name_id, version, more)                                                   \
    "{\"volume_config\":{\"metadata\":{\"name\":\"" FILE_NAME "\",\"uid\":\"" UID        \
    "\",\"resourceVersion\":\"" version "\",\"labels\":{\"scoria.io/volume\":\"" name_id \
    "\"}" more "}}"
#define BOUND(size)                                         \
    "},\"spec\":{\"capacity\":{\"storage\":\"" size "\"}}," \
    "\"status\":{\"phase\":\"Bound\",\"capacity\":{\"storage\":\"" size "\"}}"
#define GROWING                                        \
    "},\"spec\":{\"capacity\":{\"storage\":\"2Gi\"}}," \
    "\"status\":{\"phase\":\"Bound\",\"capacity\":{\"storage\":\"1Gi\"}}"
#define AT(node)    BOUND("1Gi") ",\"publish\":{\"nodeId\":\"" node "\"}"
#define GOING       ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"" BOUND("1Gi")
#define POOLS(node) "{\"replica_pools\":[{\"node\":\"" node "\"}]}"
#define NONE        "{\"itemNotFound\":{\"code\":404,\"message\":\"none\"}}"
#define CHANGED     "{\"conflictingRequest\":{\"code\":409,\"message\":\"changed\"}}"

#define SNAPSHOT_PATH(name) "/v3/volume_config_snapshots/" name
#define SNAPSHOTS           "/v3/volume_config_snapshots?*"
#define SNAPSHOT(name, config, label, value, more)                                          \
    "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"" UID                                   \
    "\",\"resourceVersion\":\"5\",\"labels\":{\"" label "\":\"" value "\"}" more            \
    "},\"spec\":{\"volumeName\":\"" config                                                  \
    "\"},\"status\":{\"phase\":\"Ready\",\"capacity\":{\"storage\":\"2Gi\"},\"poolInfo\":[" \
    "\"pool-a\",\"pool-b\"]}}"
#define SNAPSHOT_ANSWER(name, config, phase)                           \
    "{\"volume_config_snapshot\":{\"metadata\":{\"name\":\"" name      \
    "\",\"resourceVersion\":\"5\"},\"spec\":{\"volumeName\":\"" config \
    "\"},\"status\":{\"phase\":\"" phase                               \
    "\",\"capacity\":{\"storage\":\"2Gi\"},\"poolInfo\":[\"pool-a\",\"pool-b\"]}}}"

static struct script_server *server;
static struct bench bench;

static void begin_with(const char *option) {
    const char *arguments[] = { "--enabled_backends=" BACKEND, NULL, option, NULL };

    server = script_server_new();
    bench_new(&bench);
    arguments[1] =
        arena_format(bench.arena, "--" BACKEND ".volume_endpoint=%s/v3", script_server_url(server));
    bench.driver = &replicated_driver;
    bench.tables[0] = bench_options;
    bench.tables[1] = own_user_options;
    driver_add_options(drivers, bench.tables, 2, LENGTH(bench.tables) - 1);
    ck_assert_msg(config_load(bench.tables, NULL, arguments, &bench.config, &bench.err) == 0, "%s",
                  bench.err.message);
    bench.backend = (struct driver_backend){ .name = BACKEND, .config = bench.config };
    ck_assert_msg(bench_try_open(&bench) == 0, "%s", bench.err.message);
}

static void begin(void) {
    begin_with(NULL);
}

static void end(void) {
    bench_close(&bench);
    script_server_free(server);
}

/* The answer to the next `times` of them; 0: to all. */
static void answers(const char *method, const char *path, int status, const char *body,
                    unsigned times) {
    const struct script_rule rule = {
        .method = method, .path = path, .status = status, .body = body, .times = times
    };

    script_server_add(server, &rule);
}

static unsigned count_requests(const char *method) {
    return script_server_count(server, method, ANY);
}

static const char *body_of(const char *method, unsigned index) {
    const struct script_request *request = script_server_request(server, method, ANY, index);

    ck_assert_ptr_nonnull(request);
    return request->body;
}

#define assert_sent(method, index, text) \
    ck_assert_msg(strstr(body_of(method, index), text), "%s", body_of(method, index))

static const struct driver_fence gone = { .holds = never_holds };

/* ---- create ---- */

START_TEST(a_volume_is_a_config_of_its_own) {
    struct driver_volume volume = A_VOLUME;
    json_t *specs = json_pack("{s:s, s:s}", DRIVER_SPEC_POLICY, "fast", DRIVER_SPEC_REPLICAS, "2");

    begin();
    volume.extra_specs = specs;
    answers("GET", "/v3/volume_policies/fast", 200,
            "{\"volume_policy\":{\"metadata\":{\"name\":\"fast\"},\"spec\":{}}}", 0);
    answers("GET", PATH, 404, NONE, 1);
    answers("POST", "/v3/volume_configs", 201, CONFIG(ID, "1", "}"), 0);
    answers("GET", PATH, 200, CONFIG(ID, "1", "}"), 1);
    answers("GET", PATH, 200, CONFIG(ID, "2", BOUND("1Gi")), 0);
    ck_assert_msg(bench_create(&bench, &volume) == 0, "%s", bench.err.message);
    ck_assert_str_eq(volume.provider_location, FILE_NAME);
    ck_assert_str_eq(volume.format, "raw");
    ck_assert_uint_eq(count_requests("POST"), 1);
    assert_sent("POST", 0, "\"openebs.io/volume-policy\":\"fast\"");
    assert_sent("POST", 0, "\"replicaCount\":2");
    assert_sent("POST", 0, "\"storage\":\"1Gi\"");
    assert_sent("POST", 0, "\"scoria.io/quota\":\"none\""); /* the volume counts */
    /* The second call does nothing. */
    ck_assert_int_eq(bench_create(&bench, &volume), 0);
    ck_assert_uint_eq(count_requests("POST"), 1);
    json_decref(specs);
    end();
}
END_TEST

START_TEST(a_type_that_cannot_be_is_refused) {
    static const char *const wrong[][2] = {
        { DRIVER_SPEC_POLICY, "none" },
        { DRIVER_SPEC_REPLICAS, "0" },
        { DRIVER_SPEC_REPLICAS, "3x" },
        { DRIVER_SPEC_REPLICAS, "-1" },
        { DRIVER_SPEC_REPLICAS, "99999999999999999999" },
    };

    begin();
    answers("GET", "/v3/volume_policies/none", 404, NONE, 0);
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        struct driver_volume volume = A_VOLUME;
        json_t *specs = json_pack("{s:s}", wrong[i][0], wrong[i][1]);

        volume.extra_specs = specs;
        ck_assert_int_eq(bench_create(&bench, &volume), -1);
        ck_assert_int_eq(bench.err.kind, ERROR_BAD_REQUEST);
        json_decref(specs);
    }
    ck_assert_uint_eq(count_requests("POST"), 0);
    end();
}
END_TEST

/* It was deleted meanwhile, under the name that it has since, or is on its way out. */
START_TEST(a_late_create_makes_nothing) {
    static const char *const there[] = { CONFIG(OTHERS, "3", BOUND("1Gi")),
                                         CONFIG(ID, "3", GOING) };

    for (size_t i = 0; i < LENGTH(there); i++) {
        struct driver_volume volume = A_VOLUME;

        begin();
        answers("GET", PATH, 200, there[i], 0);
        ck_assert_int_eq(bench_create(&bench, &volume), -1);
        ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
        ck_assert_uint_eq(
            count_requests("POST") + count_requests("DELETE") + count_requests("PATCH"), 0);
        end();
    }
}
END_TEST

START_TEST(a_fenced_worker_changes_nothing) {
    struct driver_volume volume = A_VOLUME;
    json_t *info = NULL, *connector = json_pack("{s:s}", "host", "one");

    begin();
    volume.fence = &gone;
    answers("GET", PATH, 404, NONE, 1);
    ck_assert_int_eq(bench_create(&bench, &volume), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    answers("GET", PATH, 200, CONFIG(ID, "3", AT("one")), 0);
    ck_assert_int_eq(bench_delete(&bench, &volume), -1);
    ck_assert_int_eq(bench_extend(&bench, &volume, 2), DRIVER_FAILED);
    ck_assert_int_eq(
        bench.driver->rename_volume(bench.handle, bench.arena, &volume, OTHERS, &bench.err), -1);
    ck_assert_int_eq(
        bench.driver->connect(bench.handle, bench.arena, &volume, connector, &info, &bench.err),
        -1);
    ck_assert_int_eq(bench.driver->disconnect(bench.handle, bench.arena, &volume, &bench.err), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    ck_assert_uint_eq(count_requests("POST") + count_requests("DELETE") + count_requests("PATCH"),
                      0);
    json_decref(connector);
    end();
}
END_TEST

/* ---- delete and rename ---- */

START_TEST(a_delete_names_the_version_that_was_read) {
    struct driver_volume volume = A_VOLUME;

    begin();
    volume.provider_location = FILE_NAME;
    answers("GET", PATH, 200, CONFIG(ID, "7", AT("one")), 1);
    answers("PATCH", PATH, 200, CONFIG(ID, "8", AT("")), 0);
    answers("GET", PATH, 200, CONFIG(ID, "8", AT("")), 1);
    answers("GET", SNAPSHOTS, 200,
            "{\"volume_config_snapshots\":[" SNAPSHOT(
                "mine", "other", "scoria.io/clones", "true",
                "") "," SNAPSHOT("theirs", FILE_NAME, "app", "db",
                                 "") "," SNAPSHOT("left", FILE_NAME, "scoria.io/clones", "true",
                                                  "") "]}",
            1);
    answers("GET", SNAPSHOTS, 200, "{\"volume_config_snapshots\":[]}", 0);
    answers("DELETE", SNAPSHOT_PATH("left"), 202, NULL, 0);
    answers("DELETE", PATH "?resourceVersion=8", 409, CHANGED, 0);
    answers("GET", PATH, 200, CONFIG(ID, "9", AT("")), 1);
    answers("DELETE", PATH "?resourceVersion=9", 202, NULL, 0);
    answers("GET", PATH, 200, CONFIG(ID, "9", GOING), 1);
    answers("GET", PATH, 404, NONE, 0);
    ck_assert_msg(bench_delete(&bench, &volume) == 0, "%s", bench.err.message);
    assert_sent("PATCH", 0, "\"nodeId\":\"\"");
    assert_sent("PATCH", 0, "\"resourceVersion\":\"7\"");
    ck_assert_uint_eq(count_requests("DELETE"), 3);
    ck_assert_int_eq(bench_delete(&bench, &volume), 0);
    ck_assert_uint_eq(count_requests("DELETE"), 3);
    end();
}
END_TEST

/* A deleted config is awaited: an error of a gateway does not end that, and an unknown config is
 * not deleted. */
START_TEST(an_error_of_a_gateway_is_no_missing_config) {
    struct driver_volume volume = A_VOLUME;

    begin();
    volume.provider_location = FILE_NAME;
    answers("GET", PATH, 404, "<html>", 1);
    answers("GET", PATH, 200, CONFIG(ID, "8", AT("")), 1);
    answers("GET", SNAPSHOTS, 200, "{\"volume_config_snapshots\":[]}", 0);
    answers("DELETE", PATH "?resourceVersion=8", 202, NULL, 0);
    answers("GET", PATH, 404, "<html>", 1);
    answers("GET", PATH, 200, CONFIG(ID, "9", GOING), 1);
    answers("GET", PATH, 404, NONE, 0);
    ck_assert_msg(bench_delete(&bench, &volume) == 0, "%s", bench.err.message);
    ck_assert_uint_eq(count_requests("DELETE"), 1);
    ck_assert_uint_eq(count_requests("GET"), 6);
    end();
}
END_TEST

START_TEST(a_config_with_another_label_is_not_found) {
    struct driver_volume volume = A_VOLUME;

    begin();
    volume.provider_location = FILE_NAME;
    answers("GET", PATH, 200, CONFIG(OTHERS, "7", BOUND("1Gi")), 0);
    ck_assert_int_eq(bench_delete(&bench, &volume), 0);
    ck_assert_int_eq(
        bench.driver->rename_volume(bench.handle, bench.arena, &volume, OTHERS, &bench.err), 0);
    ck_assert_int_eq(bench_size(&bench, &volume), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_NOT_FOUND);
    ck_assert_uint_eq(count_requests("DELETE") + count_requests("PATCH"), 0);
    end();
}
END_TEST

START_TEST(a_name_is_a_label) {
    struct driver_volume volume = A_VOLUME;

    begin();
    answers("GET", PATH, 200, CONFIG(ID, "7", BOUND("1Gi")), 0);
    answers("PATCH", PATH, 200, CONFIG(OTHERS, "8", BOUND("1Gi")), 0);
    ck_assert_int_eq(
        bench.driver->rename_volume(bench.handle, bench.arena, &volume, OTHERS, &bench.err), 0);
    assert_sent("PATCH", 0, "\"scoria.io/volume\":\"" OTHERS "\"");
    assert_sent("PATCH", 0, "\"resourceVersion\":\"7\"");
    ck_assert_uint_eq(count_requests("PATCH"), 1);
    end();
}
END_TEST

/* ---- extend ---- */

START_TEST(a_volume_grows_to_one_size_after_the_other) {
    struct driver_volume volume = A_VOLUME;

    begin();
    answers("GET", PATH, 200, CONFIG(ID, "7", GROWING), 1);
    answers("PATCH", PATH, 409, CHANGED, 1);
    answers("GET", PATH, 200, CONFIG(ID, "8", BOUND("2Gi")), 1);
    answers("PATCH", PATH, 200, CONFIG(ID, "9", BOUND("2Gi")), 1);
    answers("GET", PATH, 200, CONFIG(ID, "9", BOUND("3Gi")), 0);
    ck_assert_msg(bench_extend(&bench, &volume, 3) == DRIVER_DONE, "%s", bench.err.message);
    assert_sent("PATCH", 1, "\"storage\":\"3Gi\"");
    ck_assert_uint_eq(count_requests("PATCH"), 2);
    ck_assert_int_eq(bench_extend(&bench, &volume, 3), DRIVER_DONE);
    ck_assert_int_eq(bench_extend(&bench, &volume, 1), DRIVER_DONE);
    ck_assert_uint_eq(count_requests("PATCH"), 2);
    end();
}
END_TEST

static bool holds_always(const struct driver_fence *fence) {
    (void)fence;
    return true;
}

static bool may_not(const struct driver_fence *fence) {
    (void)fence;
    return false;
}

/* A begun change continues, and the next call finds it. */
START_TEST(a_long_wait_is_left_to_workers_for_long_work) {
    static const struct driver_fence fence = { .holds = holds_always, .may_take_long = may_not };
    struct driver_volume volume = A_VOLUME;

    begin();
    volume.fence = &fence;
    answers("GET", PATH, 200, CONFIG(ID, "8", BOUND("2Gi")), 1);
    answers("PATCH", PATH, 200, CONFIG(ID, "9", GROWING), 1);
    answers("GET", PATH, 200, CONFIG(ID, "9", GROWING), 0);
    ck_assert_int_eq(bench_extend(&bench, &volume, 3), DRIVER_FAILED);
    ck_assert_msg(bench.err.kind == ERROR_BUSY, "%s", bench.err.message);
    end();
}
END_TEST

/* ---- connections ---- */

/* Clients read the driver's refusals, without the address of the API that refused. */
START_TEST(a_refusal_by_the_api_is_no_refusal_of_the_client) {
    struct driver_volume volume = A_VOLUME;
    json_t *info = NULL, *connector = json_pack("{s:s}", "host", "one");

    begin();
    answers("GET", "/v3/replica_pools", 200, POOLS("one"), 0);
    answers("GET", PATH, 200, CONFIG(ID, "8", AT("")), 0);
    answers("PATCH", PATH, 400, "{\"badRequest\":{\"code\":400,\"message\":\"No.\"}}", 0);
    ck_assert_int_eq(
        bench.driver->connect(bench.handle, bench.arena, &volume, connector, &info, &bench.err),
        -1);
    ck_assert_int_eq(bench.err.kind, ERROR_BACKEND);
    ck_assert_ptr_nonnull(strstr(bench.err.message, "answered 400"));
    ck_assert_uint_eq(count_requests("PATCH"), 1);
    json_decref(connector);
    end();
}
END_TEST

START_TEST(a_volume_is_served_to_one_host) {
    struct driver_volume volume = A_VOLUME;
    json_t *info = NULL, *connector = json_pack("{s:s}", "host", "one");

    begin();
    answers("GET", PATH, 200, CONFIG(ID, "7", AT("other")), 1);
    ck_assert_int_eq(
        bench.driver->connect(bench.handle, bench.arena, &volume, connector, &info, &bench.err),
        -1);
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    ck_assert_ptr_null(strstr(bench.err.message, "other,"));
    ck_assert_uint_eq(count_requests("PATCH"), 0);

    /* Nor to one that could not serve it. */
    answers("GET", PATH, 200, CONFIG(ID, "8", AT("")), 1);
    answers("GET", "/v3/replica_pools", 200, POOLS("other"), 1);
    ck_assert_int_eq(
        bench.driver->connect(bench.handle, bench.arena, &volume, connector, &info, &bench.err),
        -1);
    ck_assert_int_eq(bench.err.kind, ERROR_BAD_REQUEST);
    ck_assert_uint_eq(count_requests("PATCH"), 0);

    answers("GET", "/v3/replica_pools", 200, POOLS("one"), 0);
    answers("GET", PATH, 200, CONFIG(ID, "8", AT("")), 1);
    answers("PATCH", PATH, 200, CONFIG(ID, "9", AT("one")), 0);
    answers("GET", PATH, 200, CONFIG(ID, "9", AT("one")), 0);
    answers("GET", PATH "/volume", 404, NONE, 1);
    answers("GET", PATH "/volume", 200,
            "{\"replicated_volume\":{\"status\":{\"phase\":\"Healthy\",\"target\":{\"nodeId\":"
            "\"other\",\"address\":\"nbd+unix:///volume?socket=/wrong\"}}}}",
            1);
    answers("GET", PATH "/volume", 200,
            "{\"replicated_volume\":{\"status\":{\"phase\":\"Degraded\",\"target\":{\"nodeId\":"
            "\"one\",\"address\":\"nbd+unix:///volume?socket=/run/nbd\"}}}}",
            0);
    ck_assert_msg(bench.driver->connect(bench.handle, bench.arena, &volume, connector, &info,
                                        &bench.err) == 0,
                  "%s", bench.err.message);
    ck_assert_str_eq(json_string_value(json_object_get(info, "driver_volume_type")), "nbd");
    ck_assert_str_eq(json_string_value(json_object_get(json_object_get(info, "data"), "socket")),
                     "/run/nbd");
    assert_sent("PATCH", 0, "\"nodeId\":\"one\"");
    assert_sent("PATCH", 0, "\"resourceVersion\":\"8\"");

    /* An earlier decision to delete it is refused: this call writes, too. */
    json_decref(info);
    ck_assert_int_eq(
        bench.driver->connect(bench.handle, bench.arena, &volume, connector, &info, &bench.err), 0);
    ck_assert_uint_eq(count_requests("PATCH"), 2);
    ck_assert_str_ne(body_of("PATCH", 0), body_of("PATCH", 1));
    ck_assert_int_eq(bench.driver->disconnect(bench.handle, bench.arena, &volume, &bench.err), 0);
    assert_sent("PATCH", 2, "\"nodeId\":\"\"");
    assert_sent("PATCH", 2, "\"resourceVersion\":\"9\"");
    json_decref(info);
    json_decref(connector);
    end();
}
END_TEST

#define SERVED_AT(address)                                                                      \
    "{\"replicated_volume\":{\"status\":{\"phase\":\"Healthy\",\"target\":{\"nodeId\":\"one\"," \
    "\"address\":\"" address "\"}}}}"

/* As Nova's hosts need it: they know no NBD. */
START_TEST(a_connection_may_be_a_device_of_its_host) {
    json_t *connector = json_pack("{s:s}", "host", "one"),
           *other = json_pack("{s:s}", "host", "two");
    struct driver_volume volume = A_VOLUME;
    json_t *info, *data;

    begin_with("--" BACKEND ".replicated_connection_type=local");
    answers("GET", "/v3/replica_pools", 200, POOLS("one"), 0);
    answers("GET", PATH, 200, CONFIG(ID, "8", AT("")), 1);
    answers("PATCH", PATH, 200, CONFIG(ID, "9", AT("one")), 0);
    answers("GET", PATH, 200, CONFIG(ID, "9", AT("one")), 0);
    answers("GET", PATH "/volume", 200, SERVED_AT("nbd+unix:///volume?socket=/run/nbd"), 1);
    answers("GET", PATH "/volume", 200, SERVED_AT("/dev/scoria/uid"), 0);
    ck_assert_msg(bench.driver->connect(bench.handle, bench.arena, &volume, connector, &info,
                                        &bench.err) == 0,
                  "%s", bench.err.message);
    data = json_object_get(info, "data");
    ck_assert(json_text_is(info, "driver_volume_type", "local"));
    ck_assert(json_text_is(data, "device_path", "/dev/scoria/uid"));
    ck_assert(json_text_is(data, "format", "raw"));
    ck_assert_ptr_null(json_object_get(data, "socket"));
    assert_sent("PATCH", 0, "\"export\":\"device\"");
    json_decref(info);

    ck_assert_int_eq(
        bench.driver->connect(bench.handle, bench.arena, &volume, other, &info, &bench.err), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    ck_assert_uint_eq(count_requests("PATCH"), 1);
    json_decref(connector);
    json_decref(other);
    end();
}
END_TEST

/* Nor does a host to which the server moves. */
START_TEST(another_connection_type_ends_no_device_in_use) {
    static const char device[] =
        CONFIG(ID, "9", BOUND("1Gi") ",\"publish\":{\"nodeId\":\"one\",\"export\":\"device\"}");
    const char *const hosts[] = { "one", NULL };
    json_t *connector = json_pack("{s:s}", "host", "one"),
           *other = json_pack("{s:s}", "host", "two"), *info;
    struct driver_volume volume = A_VOLUME;

    begin_with("--" BACKEND ".replicated_connection_type=nbd");
    answers("GET", "/v3/replica_pools", 200, POOLS("one"), 0);
    answers("GET", PATH, 200, device, 0);
    answers("PATCH", PATH, 200, device, 0);
    answers("GET", PATH "/volume", 200, SERVED_AT("/dev/scoria/uid"), 0);
    ck_assert_msg(bench.driver->connect(bench.handle, bench.arena, &volume, connector, &info,
                                        &bench.err) == 0,
                  "%s", bench.err.message);
    ck_assert(json_text_is(info, "driver_volume_type", "local"));
    assert_sent("PATCH", 0, "\"export\":\"device\"");
    json_decref(info);

    volume.hosts = hosts;
    ck_assert_int_eq(
        bench.driver->connect(bench.handle, bench.arena, &volume, other, &info, &bench.err), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    ck_assert_uint_eq(count_requests("PATCH"), 1);
    json_decref(connector);
    json_decref(other);
    end();
}
END_TEST

#define SHARED(node, list) \
    BOUND("1Gi") ",\"publish\":{\"nodeId\":\"" node "\",\"clients\":[" list "]}"
#define CLIENT(name) "{\"nodeId\":\"" name "\"}"
#define GATE(state)                          \
    "{\"nodeId\":\"two\",\"state\":\"" state \
    "\",\"generation\":4,\"host\":\"one.example.org\",\"port\":12345,\"export\":\"" UID "\"}"
#define NAMING(state, generation, list)                                                         \
    "{\"replicated_volume\":{\"metadata\":{\"generation\":" generation                          \
    "},\"spec\":{\"clients\":[" list "]},\"status\":{\"phase\":\"Healthy\",\"target\":{"        \
    "\"nodeId\":\"one\",\"address\":\"nbd+unix:///volume?socket=/run/nbd\",\"clients\":[" GATE( \
        state) "]}}}}"
#define SERVED(state) NAMING(state, "4", CLIENT("three") "," CLIENT("two"))

/* Of hosts that have it otherwise. */
static struct driver_volume with(const char *const *hosts) {
    struct driver_volume volume = A_VOLUME;

    volume.hosts = hosts;
    return volume;
}

START_TEST(a_moving_instance_becomes_a_client_of_the_target) {
    const char *const one[] = { "one", NULL }, *const other[] = { "", "three", NULL };
    struct driver_volume volume = with(one), strange = with(other);
    json_t *info = NULL, *connector = json_pack("{s:s}", "host", "two");
    const json_t *data;

    begin();
    /* Only a node that serves it, and where other hosts are admitted at all. */
    answers("GET", PATH, 200, CONFIG(ID, "7", AT("one")), 2);
    answers("GET", "/v3/replica_pools", 200, POOLS("one"), 1);
    ck_assert_int_eq(
        bench.driver->connect(bench.handle, bench.arena, &strange, connector, &info, &bench.err),
        -1);
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(
        bench.driver->connect(bench.handle, bench.arena, &volume, connector, &info, &bench.err),
        -1);
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    ck_assert_uint_eq(count_requests("PATCH"), 0);

    answers("GET", "/v3/replica_pools", 200,
            "{\"replica_pools\":[{\"node\":\"one\",\"address\":\"one:1\"}]}", 0);
    answers("GET", PATH, 200, CONFIG(ID, "7", SHARED("one", CLIENT("three"))), 1);
    answers("PATCH", PATH, 200, CONFIG(ID, "8", AT("one")), 0);
    answers("GET", PATH, 200, CONFIG(ID, "8", SHARED("one", CLIENT("three") "," CLIENT("two"))), 0);
    answers("GET", PATH "/volume", 200, SERVED("Down"), 1);
    /* Reports of an earlier time do not count. */
    answers("GET", PATH "/volume", 200, NAMING("Serving", "4", CLIENT("three")), 1);
    answers("GET", PATH "/volume", 200, NAMING("Serving", "5", CLIENT("two")), 1);
    answers("GET", PATH "/volume", 200, SERVED("Serving"), 0);
    ck_assert_msg(bench.driver->connect(bench.handle, bench.arena, &volume, connector, &info,
                                        &bench.err) == 0,
                  "%s", bench.err.message);
    assert_sent("PATCH", 0, "\"nodeId\":\"one\",\"clients\":[" CLIENT("three") "," CLIENT("two"));
    assert_sent("PATCH", 0, "\"resourceVersion\":\"7\"");
    ck_assert_uint_eq(script_server_count(server, "GET", PATH "/volume"), 4);
    data = json_object_get(info, "data");
    ck_assert_str_eq(json_text_of(data, "transport"), "tcp");
    ck_assert_str_eq(json_text_of(data, "host"), "one.example.org");
    ck_assert_int_eq(json_integer_value(json_object_get(data, "port")), 12345);
    ck_assert_str_eq(json_text_of(data, "export"), UID);
    ck_assert(json_is_true(json_object_get(data, "tls")));
    ck_assert_str_eq(json_text_of(data, "tls_directory"), "/etc/pki/libvirt-nbd");
    ck_assert_ptr_null(json_object_get(data, "socket"));
    ck_assert_str_eq(json_text_of(data, "name"), ID);

    /* The second call names it no second time, and writes all the same; the others have gone. */
    json_decref(info);
    volume.hosts = NULL;
    ck_assert_int_eq(
        bench.driver->connect(bench.handle, bench.arena, &volume, connector, &info, &bench.err), 0);
    ck_assert_uint_eq(count_requests("PATCH"), 2);
    assert_sent("PATCH", 1, "\"clients\":[" CLIENT("three") "," CLIENT("two") "]");
    json_decref(info);
    json_decref(connector);
    end();
}
END_TEST

START_TEST(a_disconnected_host_is_revoked_and_the_last_removes_the_target) {
    const char *const two[] = { "two", NULL }, *const one[] = { "one", NULL };
    const char *const none[] = { NULL };
    struct driver_volume volume = with(two);

    begin();
    answers("GET", PATH, 200, CONFIG(ID, "7", SHARED("one", CLIENT("two"))), 0);
    answers("PATCH", PATH, 200, CONFIG(ID, "8", AT("one")), 0);
    ck_assert_int_eq(bench.driver->disconnect(bench.handle, bench.arena, &volume, &bench.err), 0);
    ck_assert_uint_eq(count_requests("PATCH"), 0);
    volume.hosts = one;
    ck_assert_int_eq(bench.driver->disconnect(bench.handle, bench.arena, &volume, &bench.err), 0);
    ck_assert_uint_eq(count_requests("PATCH"), 1);
    assert_sent("PATCH", 0, "\"nodeId\":\"one\",\"clients\":null");
    assert_sent("PATCH", 0, "\"resourceVersion\":\"7\"");
    volume.hosts = none;
    ck_assert_int_eq(bench.driver->disconnect(bench.handle, bench.arena, &volume, &bench.err), 0);
    assert_sent("PATCH", 1, "\"nodeId\":\"\",\"clients\":null");
    end();
}
END_TEST

#define UNRESPONSIVE_POOLS                                                                  \
    "{\"replica_pools\":[{\"node\":\"other\",\"up\":true},{\"node\":\"one\",\"up\":false}," \
    "{\"node\":\"one\",\"up\":false}]}"

static int connect_to(const char *host, const struct driver_volume *volume) {
    json_t *info = NULL, *connector = json_pack("{s:s}", "host", host);
    int result =
        bench.driver->connect(bench.handle, bench.arena, volume, connector, &info, &bench.err);

    json_decref(info);
    json_decref(connector);
    return result;
}

START_TEST(an_unresponsive_agent_of_a_host_is_not_waited_for) {
    struct driver_volume volume = A_VOLUME;
    struct replicated *opened;

    begin();
    opened = bench.handle;
    answers("GET", "/v3/replica_pools", 200, UNRESPONSIVE_POOLS, 1); /* an API that was down */
    answers("GET", "/v3/replica_pools", 200, POOLS("one"), 1);
    answers("GET", PATH, 200, CONFIG(ID, "7", AT("")), 2);
    answers("PATCH", PATH, 409, CHANGED, 1);
    answers("GET", PATH, 404, NONE, 1);
    ck_assert_int_eq(connect_to("one", &volume), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_NOT_FOUND);
    ck_assert_uint_eq(count_requests("PATCH"), 1);

    opened->timeout_us = 0; /* it is reported after the first attempt */
    answers("GET", "/v3/replica_pools", 200, UNRESPONSIVE_POOLS, 1);
    answers("GET", PATH, 200, CONFIG(ID, "8", AT("")), 1);
    ck_assert_int_eq(connect_to("one", &volume), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(bench.err.message, "storage agent of host one does not respond"));
    ck_assert_uint_eq(count_requests("PATCH"), 1); /* nothing has begun */
    end();
}
END_TEST

static unsigned requested_for_pools(void) {
    return script_server_count(server, "GET", "/v3/replica_pools");
}

/* The walk continues as with an API that is down, and ends at the first other failure. */
START_TEST(new_targets_of_an_unresponsive_agent_are_not_waited_for) {
    const char *const one[] = { "one", NULL };
    struct driver_volume volume = A_VOLUME, moving = with(one);

    begin();
    answers("GET", PATH, 200, CONFIG(ID, "9", AT("one")), 5);
    answers("PATCH", PATH, 200, CONFIG(ID, "9", AT("one")), 0);
    answers("GET", PATH "/volume", 200, SERVED("Down"), 1);
    ck_assert_msg(connect_to("one", &volume) == 0, "%s", bench.err.message);
    ck_assert_uint_eq(requested_for_pools(), 0);

    answers("GET", PATH "/volume", 404, NONE, 2);
    answers("GET", "/v3/replica_pools", 200, UNRESPONSIVE_POOLS, 1);
    answers("GET", "/v3/replica_pools", 403, NULL, 1);
    ck_assert_int_eq(connect_to("one", &volume), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_FORBIDDEN);
    ck_assert_uint_eq(requested_for_pools(), 2);

    /* Nor by a move to another node. */
    answers("GET", "/v3/replica_pools", 200,
            "{\"replica_pools\":[{\"node\":\"one\",\"address\":\"one:1\",\"up\":false}]}", 2);
    answers("GET", "/v3/replica_pools", 403, NULL, 1);
    answers("GET", PATH, 200, CONFIG(ID, "9", SHARED("one", CLIENT("two"))), 0);
    answers("GET", PATH "/volume", 200, SERVED("Down"), 0);
    ck_assert_int_eq(connect_to("two", &moving), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_FORBIDDEN);
    ck_assert_uint_eq(requested_for_pools(), 5);
    end();
}
END_TEST

static bool sleeps_once(const struct driver_fence *fence) {
    static bool slept;

    (void)fence;
    if (!slept && count_requests("PATCH") > 0) {
        slept = true;
        boot_pass(20);
    }
    return true;
}

/* After its own change, and before it reads the result. */
START_TEST(silence_during_a_suspension_does_not_count) {
    static const struct driver_fence asleep = { .holds = sleeps_once };
    struct driver_volume volume = A_VOLUME;

    begin();
    volume.fence = &asleep;
    answers("GET", PATH, 200, CONFIG(ID, "9", AT("one")), 0);
    answers("PATCH", PATH, 200, CONFIG(ID, "9", AT("one")), 0);
    answers("GET", PATH "/volume", 404, NONE, 1);
    answers("GET", "/v3/replica_pools", 200, UNRESPONSIVE_POOLS, 1);
    answers("GET", PATH "/volume", 200, SERVED("Down"), 0);
    ck_assert_msg(connect_to("one", &volume) == 0, "%s", bench.err.message);
    ck_assert_uint_eq(requested_for_pools(), 1);
    end();
}
END_TEST

START_TEST(a_restarting_api_is_waited_for) {
    struct driver_volume volume = A_VOLUME;

    begin();
    answers("GET", PATH, 503, NULL, 3);
    answers("GET", PATH, 200, CONFIG(ID, "8", BOUND("2Gi")), 0);
    ck_assert_msg(bench_extend(&bench, &volume, 2) == DRIVER_DONE, "%s", bench.err.message);
    end();
}
END_TEST

/* ---- snapshots and clones ---- */

#define SNAP_ID   "3c3c3c3c-2d6b-4f0e-9c86-3d5e7f0a9b11"
#define SNAP_NAME "snapshot-" SNAP_ID
#define SOURCE    "volume-" OTHERS

static const struct driver_snapshot a_snapshot = { .id = SNAP_ID,
                                                   .name_id = SNAP_ID,
                                                   .size_gb = 1 };

static enum driver_outcome take_snapshot(const struct driver_snapshot *snapshot) {
    const struct driver_volume volume = A_VOLUME;
    struct driver_created created = { 0 };
    enum driver_outcome outcome = bench.driver->create_snapshot(
        bench.handle, bench.arena, &volume, snapshot, NULL, &created, &bench.err);

    if (outcome == DRIVER_DONE)
        ck_assert_str_eq(created.provider_location, SNAP_NAME);
    return outcome;
}

START_TEST(a_snapshot_is_a_document_of_its_own) {
    struct driver_snapshot fenced = a_snapshot;

    begin();
    fenced.fence = &gone;
    ck_assert_int_eq(take_snapshot(&fenced), DRIVER_FAILED);
    answers("GET", SNAPSHOT_PATH(SNAP_NAME), 404, NONE, 1);
    answers("POST", "/v3/volume_config_snapshots", 201,
            SNAPSHOT_ANSWER(SNAP_NAME, FILE_NAME, "Pending"), 0);
    answers("GET", SNAPSHOT_PATH(SNAP_NAME), 200, SNAPSHOT_ANSWER(SNAP_NAME, FILE_NAME, "Pending"),
            1);
    answers("GET", SNAPSHOT_PATH(SNAP_NAME), 200, SNAPSHOT_ANSWER(SNAP_NAME, FILE_NAME, "Ready"),
            2);
    ck_assert_msg(take_snapshot(&a_snapshot) == DRIVER_DONE, "%s", bench.err.message);
    assert_sent("POST", 0, "\"volumeName\":\"" FILE_NAME "\"");
    assert_sent("POST", 0, "\"scoria.io/snapshot\":\"" SNAP_ID "\"");
    ck_assert_int_eq(take_snapshot(&a_snapshot), DRIVER_DONE); /* the second does nothing */
    ck_assert_uint_eq(count_requests("POST"), 1);
    answers("GET", SNAPSHOT_PATH(SNAP_NAME), 200, SNAPSHOT_ANSWER(SNAP_NAME, FILE_NAME, "Failed"),
            1);
    ck_assert_int_eq(take_snapshot(&a_snapshot), DRIVER_FAILED);
    ck_assert_int_eq(bench.err.kind, ERROR_BACKEND);
    answers("GET", SNAPSHOT_PATH(SNAP_NAME), 200, SNAPSHOT_ANSWER(SNAP_NAME, "other", "Ready"), 0);
    ck_assert_int_eq(take_snapshot(&a_snapshot), DRIVER_FAILED);
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    ck_assert_uint_eq(count_requests("POST"), 1);
    end();
}
END_TEST

START_TEST(a_snapshot_is_deleted_with_its_document) {
    const struct driver_volume volume = A_VOLUME;

    begin();
    answers("GET", SNAPSHOT_PATH(SNAP_NAME), 200, SNAPSHOT_ANSWER(SNAP_NAME, FILE_NAME, "Ready"),
            1);
    answers("DELETE", SNAPSHOT_PATH(SNAP_NAME) "?resourceVersion=5", 202, NULL, 0);
    answers("GET", SNAPSHOT_PATH(SNAP_NAME), 404, NONE, 0);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(bench.driver->delete_snapshot(bench.handle, bench.arena, &volume,
                                                       &a_snapshot, NULL, &bench.err),
                         DRIVER_DONE);
    ck_assert_uint_eq(count_requests("DELETE"), 1);
    end();
}
END_TEST

/* As large as the source really is, on no more pools than have it, and on its own feet at last. */
static void assert_clone(const char *source) {
    assert_sent("POST", count_requests("POST") - 1, source);
    assert_sent("POST", count_requests("POST") - 1, "\"storage\":\"2Gi\"");
    assert_sent("POST", count_requests("POST") - 1, "\"replicaCount\":2");
    ck_assert_uint_eq(count_requests("PATCH"), 1);
    assert_sent("PATCH", 0, "\"openebs.io/source-volume\":null");
}

static void answer_the_clone(void) {
    answers("GET", PATH, 404, NONE, 1);
    answers("POST", "/v3/volume_configs", 201, CONFIG(ID, "1", "}"), 0);
    answers("GET", PATH, 200, CONFIG(ID, "1", "}"), 1);
    answers("GET", PATH, 200,
            CONFIG(ID "\",\"openebs.io/source-volume\":\"" SOURCE, "2", BOUND("2Gi")), 1);
    answers("PATCH", PATH, 200, CONFIG(ID, "3", BOUND("2Gi")), 0);
    answers("GET", PATH, 200, CONFIG(ID, "3", BOUND("2Gi")), 0);
}

START_TEST(a_volume_is_made_of_a_snapshot) {
    struct driver_volume volume = A_VOLUME;
    struct driver_created created;
    struct driver_snapshot larger = a_snapshot;

    begin();
    answers("GET", SNAPSHOT_PATH(SNAP_NAME), 200, SNAPSHOT_ANSWER(SNAP_NAME, SOURCE, "Ready"), 0);
    larger.size_gb = 2;
    ck_assert_int_eq(bench.driver->clone_snapshot(bench.handle, bench.arena, &volume, &larger, NULL,
                                                  &created, &bench.err),
                     -1);
    ck_assert_int_eq(bench.err.kind, ERROR_BAD_REQUEST);
    answer_the_clone();
    ck_assert_msg(bench.driver->clone_snapshot(bench.handle, bench.arena, &volume, &a_snapshot,
                                               NULL, &created, &bench.err) == 0,
                  "%s", bench.err.message);
    assert_clone("\"cstorVolumeSource\":\"" SOURCE "@" SNAP_NAME "\"");
    ck_assert_uint_eq(count_requests("DELETE"), 0);
    end();
}
END_TEST

START_TEST(a_volume_is_cloned_by_a_temporary_snapshot) {
    static const char name[] = "clone-" ID;
    struct driver_volume volume = A_VOLUME;
    const struct driver_volume source = {
        .id = OTHERS, .name_id = OTHERS, .provider_location = SOURCE, .size_gb = 1
    };
    struct driver_created created;

    begin();
    answers("GET", PATH, 404, NONE, 1);
    answers("GET", SNAPSHOT_PATH("clone-" ID), 404, NONE, 1);
    answers("POST", "/v3/volume_config_snapshots", 201,
            SNAPSHOT_ANSWER("clone-" ID, SOURCE, "Pending"), 0);
    answers("GET", SNAPSHOT_PATH("clone-" ID), 200, SNAPSHOT_ANSWER("clone-" ID, SOURCE, "Ready"),
            2);
    answers("DELETE", SNAPSHOT_PATH("clone-" ID) "?resourceVersion=5", 202, NULL, 0);
    answers("GET", SNAPSHOT_PATH("clone-" ID), 404, NONE, 0);
    answer_the_clone();
    ck_assert_msg(bench.driver->clone_volume(bench.handle, bench.arena, &volume, &source, NULL,
                                             &created, &bench.err) == 0,
                  "%s", bench.err.message);
    assert_sent("POST", 0, "\"scoria.io/clones\":\"true\"");
    assert_sent("POST", 0, name);
    assert_clone("\"cstorVolumeSource\":\"" SOURCE "@clone-" ID "\"");
    ck_assert_uint_eq(count_requests("DELETE"), 1);
    end();
}
END_TEST

START_TEST(the_snapshot_of_a_failed_clone_is_deleted_with_it) {
    struct driver_volume volume = A_VOLUME;

    begin();
    answers("GET", PATH, 404, NONE, 0);
    answers("GET", SNAPSHOT_PATH("clone-" ID), 200, SNAPSHOT_ANSWER("clone-" ID, SOURCE, "Ready"),
            1);
    answers("DELETE", SNAPSHOT_PATH("clone-" ID) "?resourceVersion=5", 202, NULL, 0);
    answers("GET", SNAPSHOT_PATH("clone-" ID), 404, NONE, 0);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_msg(bench_delete(&bench, &volume) == 0, "%s", bench.err.message);
    ck_assert_uint_eq(count_requests("DELETE"), 1);
    end();
}
END_TEST

/* ---- pools ---- */

#define POOL(up, read_only, state)                                                        \
    "{\"up\":" up ",\"read_only\":" read_only ",\"state\":\"" state "\",\"total_bytes\":" \
    "3221225472000,\"free_bytes\":1610612736000}"

/* ---- reverts ---- */

#define REVERTED(number, phase)                                                                    \
    "},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"}},\"status\":{\"phase\":\"Bound\",\"revert\":{" \
    "\"number\":" number ",\"snapshotName\":\"" SNAP_NAME "\",\"phase\":\"" phase "\"}}"

static int put_back(const struct driver_volume *volume) {
    return bench.driver->revert_volume(bench.handle, bench.arena, volume, &a_snapshot, NULL,
                                       &bench.err);
}

START_TEST(a_revert_is_requested_once) {
    struct driver_volume volume = A_VOLUME, fenced = A_VOLUME, attached = A_VOLUME;

    begin();
    fenced.fence = &gone;
    attached.attached = true;
    ck_assert_int_eq(put_back(&fenced), -1);
    ck_assert_int_eq(put_back(&attached), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_BACKEND);
    answers("GET", PATH "/volume", 404, NONE, 0);
    answers("GET", PATH, 200, CONFIG(ID, "1", REVERTED("4", "Done")), 1);
    answers("PATCH", PATH, 200, CONFIG(ID, "2", REVERTED("5", "Pending")), 0);
    answers("GET", PATH, 200, CONFIG(ID, "2", REVERTED("5", "Pending")), 2);
    answers("GET", PATH, 200, CONFIG(ID, "3", REVERTED("5", "Done")), 1);
    ck_assert_msg(put_back(&volume) == 0, "%s", bench.err.message);
    ck_assert_uint_eq(count_requests("PATCH"), 1);
    assert_sent("PATCH", 0, "\"revert\":{\"snapshotName\":\"" SNAP_NAME "\",\"request\":");
    assert_sent("PATCH", 0, "\"resourceVersion\":\"1\"");

    /* An earlier caller requested it and died: that request is awaited. */
    answers("GET", PATH, 200, CONFIG(ID, "4", REVERTED("6", "Pending")), 1);
    answers("GET", PATH, 200, CONFIG(ID, "5", REVERTED("6", "Done")), 1);
    ck_assert_msg(put_back(&volume) == 0, "%s", bench.err.message);
    answers("GET", PATH, 200, CONFIG(ID, "6", REVERTED("7", "Pending")), 1);
    answers("GET", PATH, 200, CONFIG(ID, "7", REVERTED("8", "Done")), 1);
    ck_assert_int_eq(put_back(&volume), -1); /* nor is another one taken for it */
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    answers("GET", PATH, 200, CONFIG(OTHERS, "8", BOUND("1Gi")), 0);
    ck_assert_int_eq(put_back(&volume), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_NOT_FOUND);
    ck_assert_uint_eq(count_requests("PATCH"), 1);
    end();
}
END_TEST

/* ---- space reclaim ---- */

#define RECLAIMED(number, phase, more)                                                         \
    "},\"spec\":{\"capacity\":{\"storage\":\"1Gi\"}},\"status\":{\"phase\":\"Bound\","         \
    "\"capacity\":{\"storage\":\"1Gi\"},\"reclaim\":{\"number\":" number ",\"phase\":\"" phase \
    "\"" more "}}"
#define REPLICAS "/v3/volume_configs/" FILE_NAME "/replicas"
#define A_REPLICA(used, more)                                                           \
    "{\"metadata\":{\"name\":\"r\"" more "},\"status\":{\"capacity\":{\"used\":\"" used \
    "\"},\"reclaim\":{\"number\":5,\"phase\":\"Pending\",\"doneBytes\":1000}}}"

static int64_t last_done, last_all;
static bool wait_on = true;

static bool note(const struct driver_progress *progress, int64_t done, int64_t all) {
    (void)progress;
    last_done = done;
    last_all = all;
    return wait_on;
}
static const struct driver_progress noting = { note };

static int give_back(const struct driver_volume *volume, int64_t *ret_before) {
    return bench.driver->reclaim_volume(bench.handle, bench.arena, volume, &noting, ret_before,
                                        &bench.err);
}

START_TEST(a_reclaim_is_requested_once) {
    struct driver_volume volume = A_VOLUME, fenced = A_VOLUME, attached = A_VOLUME;
    int64_t before = -1;

    begin();
    fenced.fence = &gone;
    attached.attached = true;
    ck_assert_int_eq(give_back(&fenced, &before), -1);
    ck_assert_int_eq(give_back(&attached, &before), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    answers("GET", REPLICAS, 200,
            "{\"volume_replicas\":[" A_REPLICA("8Ki", "") "," A_REPLICA("4Ki", "") "]}", 0);
    answers("GET", PATH, 200, CONFIG(ID, "1", RECLAIMED("4", "Done", ",\"beforeBytes\":1")), 1);
    answers("PATCH", PATH, 200, CONFIG(ID, "2", RECLAIMED("5", "Pending", "")), 0);
    answers("GET", PATH, 200, CONFIG(ID, "2", RECLAIMED("5", "Pending", "")), 2);
    answers("GET", PATH, 200, CONFIG(ID, "3", RECLAIMED("5", "Done", ",\"beforeBytes\":9000")), 1);
    ck_assert_msg(give_back(&volume, &before) == 0, "%s", bench.err.message);
    ck_assert_int_eq(before, 9000);
    ck_assert_int_eq(last_done, 2000);
    ck_assert_uint_eq(count_requests("PATCH"), 1);
    assert_sent("PATCH", 0, "\"reclaim\":{\"request\":");
    assert_sent("PATCH", 0, "\"resourceVersion\":\"1\"");

    /* An earlier caller requested it and died: that request is awaited, and no other one. */
    answers("GET", PATH, 200, CONFIG(ID, "4", RECLAIMED("6", "Pending", "")), 1);
    answers("GET", PATH, 200, CONFIG(ID, "5", RECLAIMED("6", "Done", "")), 1);
    ck_assert_int_eq(give_back(&volume, &before), 0);
    answers("GET", PATH, 200, CONFIG(ID, "6", RECLAIMED("7", "Pending", "")), 1);
    answers("GET", PATH, 200, CONFIG(ID, "7", RECLAIMED("8", "Done", "")), 1);
    ck_assert_int_eq(give_back(&volume, &before), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    answers("GET", PATH, 200, CONFIG(OTHERS, "8", BOUND("1Gi")), 0);
    ck_assert_int_eq(give_back(&volume, &before), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_NOT_FOUND);
    ck_assert_uint_eq(count_requests("PATCH"), 1);
    end();
}
END_TEST

/* Each with its kind, at once, and with the config's message. */
START_TEST(a_failed_reclaim_has_a_reason) {
    static const struct {
        const char *config;
        enum error_kind kind;
    } rows[] = {
        { CONFIG(ID, "2", RECLAIMED("5", "Stopped", ",\"message\":\"why\"")), ERROR_CONFLICT },
        { CONFIG(ID, "2",
                 RECLAIMED("5", "Failed", ",\"message\":\"why\",\"reason\":\"unsupported\"")),
          ERROR_BAD_REQUEST },
        { CONFIG(ID, "2", RECLAIMED("5", "Failed", ",\"message\":\"why\",\"reason\":\"away\"")),
          ERROR_BACKEND },
    };
    struct driver_volume volume = A_VOLUME;
    int64_t before = -1;

    for (size_t i = 0; i < LENGTH(rows); i++) {
        begin();
        answers("GET", PATH, 200, CONFIG(ID, "1", BOUND("1Gi")), 1);
        answers("PATCH", PATH, 200, CONFIG(ID, "2", RECLAIMED("5", "Pending", "")), 0);
        answers("GET", PATH, 200, rows[i].config, 0);
        ck_assert_int_eq(give_back(&volume, &before), -1);
        ck_assert_int_eq(bench.err.kind, rows[i].kind);
        ck_assert_str_eq(bench.err.message, "why");
        end();
    }
    begin();
    answers("GET", PATH, 200, CONFIG(ID, "1", AT("one")), 0);
    ck_assert_int_eq(give_back(&volume, &before), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    ck_assert_uint_eq(count_requests("PATCH"), 0);
    answers("GET", REPLICAS, 200, "{\"volume_replicas\":[]}", 0);
    end();
    begin();
    wait_on = false;
    answers("GET", REPLICAS, 200, "{\"volume_replicas\":[]}", 0);
    answers("GET", PATH, 200, CONFIG(ID, "4", RECLAIMED("6", "Pending", "")), 0);
    ck_assert_int_eq(give_back(&volume, &before), -1); /* the waiting call waits no more */
    ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
    ck_assert_int_eq(before, -1);
    end();
}
END_TEST

/* A call that waits for hours keeps no memory of each read. */
START_TEST(memory_does_not_grow_during_a_reclaim) {
    static const char head[] = CONFIG(ID, "4", RECLAIMED("6", "Pending", ",\"message\":\""));
    static char long_one[1 << 17];
    struct driver_volume volume = A_VOLUME;
    const char *tail = strstr(head, "message") + strlen("message\":\"");
    size_t length = (size_t)(tail - head), rest = strlen(tail);
    int64_t before = -1;
    size_t had;

    begin();
    memcpy(long_one, head, length);
    memset(long_one + length, 'x', sizeof(long_one) - length - rest - 2);
    long_one[sizeof(long_one) - rest - 2] = '"';
    strcpy(long_one + sizeof(long_one) - rest - 1, tail);
    answers("GET", REPLICAS, 200, "{\"volume_replicas\":[]}", 0);
    answers("GET", PATH, 200, long_one, 2);
    answers("GET", PATH, 200, CONFIG(ID, "5", RECLAIMED("6", "Done", "")), 0);
    had = arena_bytes(bench.arena);
    ck_assert_msg(give_back(&volume, &before) == 0, "%s", bench.err.message);
    ck_assert_uint_lt(arena_bytes(bench.arena) - had, sizeof(long_one));
    end();
}
END_TEST

/* Its patience is over, and it goes on. */
START_TEST(pools_that_do_not_reclaim_in_time_are_named) {
    struct driver_volume volume = A_VOLUME;
    int64_t before = -1;

    begin();
    ((struct replicated *)bench.handle)->timeout_us = 1;
    answers("GET", REPLICAS, 200,
            "{\"volume_replicas\":[{\"spec\":{\"poolName\":\"slow\"},\"status\":{}}]}", 0);
    answers("GET", PATH "/events", 200, "{\"events\":[]}", 0);
    answers("GET", PATH, 200, CONFIG(ID, "4", RECLAIMED("6", "Pending", "")), 0);
    ck_assert_int_eq(give_back(&volume, &before), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_BACKEND);
    ck_assert_str_eq(bench.err.message,
                     "Its replicas on slow have not reclaimed their space yet; this continues.");
    end();
}
END_TEST

START_TEST(the_usage_of_a_volume_is_the_sum_of_its_replicas) {
    struct driver_volume volume = A_VOLUME;
    int64_t bytes = -1;

    begin();
    answers("GET", PATH, 200, CONFIG(ID, "1", BOUND("1Gi")), 0);
    answers(
        "GET", REPLICAS, 200,
        "{\"volume_replicas\":[" A_REPLICA("8Ki", "") "," A_REPLICA(
            "1Gi",
            ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"") ","
                                                               "{\"metadata\":{\"name\":\"r\"},\"status\":{}}," A_REPLICA(
                                                                   "4Ki", "") "]}",
        1);
    ck_assert_int_eq(
        bench.driver->get_usage(bench.handle, bench.arena, &volume, &bytes, &bench.err), 0);
    ck_assert_int_eq(bytes, 12288);
    answers("GET", REPLICAS, 404, NONE, 0);
    ck_assert_int_eq(
        bench.driver->get_usage(bench.handle, bench.arena, &volume, &bytes, &bench.err), -1);
    end();
}
END_TEST

START_TEST(the_capacity_is_that_of_pools_that_accept_replicas) {
    struct driver_pool *pools;

    begin();
    answers("GET", "/v3/replica_pools", 200,
            "{\"replica_pools\":[" POOL("true", "false", "Online") "," POOL(
                "true", "false",
                "Online") "," POOL("true", "true",
                                   "Online") "," POOL("false", "false",
                                                      "Online") "," POOL("true", "false",
                                                                         "Offline") "]}",
            1);
    answers("GET", "/v3/replica_pools", 200,
            "{\"replica_pools\":[" POOL("true", "false", "Online") "," POOL(
                "true", "false", "Online") "," POOL("true", "false", "Online") "]}",
            0);
    ck_assert_int_eq(bench.driver->get_pools(bench.handle, bench.arena, &pools, &bench.err), 1);
    ck_assert(pools[0].total_gb == 2000 && pools[0].free_gb == 0); /* three are needed */
    json_decref(pools[0].capabilities);
    ck_assert_int_eq(bench.driver->get_pools(bench.handle, bench.arena, &pools, &bench.err), 1);
    ck_assert(pools[0].total_gb == 3000 && pools[0].free_gb == 1500);
    json_decref(pools[0].capabilities);
    end();
}
END_TEST

/* ---- data ---- */

#define MARKED(mark, node) ",\"annotations\":{\"scoria.io/connection\":\"" mark "\"}" AT(node)

static int open_data(const struct driver_volume *volume, struct volume_io **ret) {
    return bench.driver->open_volume_data(bench.handle, bench.arena, volume, true, ret, &bench.err);
}

/* It ends after its first client. */
static void serve_volume(void) {
    const char *file = bench_path(&bench, "file"), *socket = bench_path(&bench, "nbd");

    ck_assert_int_eq(BENCH_RUN("truncate", "-s", "2M", file), 0);
    ck_assert_int_eq(
        BENCH_RUN("qemu-nbd", "--fork", "-k", socket, "-x", "volume", "-f", "raw", file), 0);
    answers("GET", PATH "/volume", 200,
            arena_format(bench.arena,
                         "{\"replicated_volume\":{\"status\":{\"phase\":\"Healthy\","
                         "\"target\":{\"nodeId\":\"one\",\"address\":"
                         "\"nbd+unix:///volume?socket=%s\"}}}}",
                         socket),
            0);
}

/* Meanwhile it is published; afterwards it is not, unless another connection has begun. */
START_TEST(the_data_of_a_volume_are_open_while_it_is_published_here) {
    for (int other = 0; other <= 1; other++) {
        struct driver_volume volume = A_VOLUME;
        struct volume_io *io = NULL, *second = NULL;
        char bytes[512] = "x", found[512];

        begin();
        bench.backend.node = "one";
        answers("GET", PATH, 200, CONFIG(ID, "7", AT("")), 1);
        answers("GET", "/v3/replica_pools", 200, POOLS("one"), 0);
        answers("PATCH", PATH, 200, CONFIG(ID, "8", MARKED("first", "one")), 0);
        answers("GET", PATH, 200, CONFIG(ID, "8", MARKED("first", "one")), 0);
        serve_volume();
        ck_assert_msg(open_data(&volume, &io) == 0, "%s", bench.err.message);
        ck_assert_int_eq(io->size, 2 << 20);
        assert_sent("PATCH", 0, "\"nodeId\":\"one\",\"clients\":null");
        assert_sent("PATCH", 0, "\"resourceVersion\":\"7\"");
        ck_assert_int_eq(volume_io_write(io, bytes, sizeof(bytes), 4096, &bench.err), 0);
        ck_assert_int_eq(volume_io_read(io, found, sizeof(found), 4096, &bench.err), 0);
        ck_assert_mem_eq(found, bytes, sizeof(bytes));

        ck_assert_int_eq(open_data(&volume, &second), -1);
        ck_assert_int_eq(bench.err.kind, ERROR_CONFLICT);
        ck_assert_uint_eq(count_requests("PATCH"), 1);
        if (other) {
            script_server_clear(server);
            answers("GET", PATH, 200, CONFIG(ID, "9", MARKED("second", "one")), 0);
        }
        volume_io_close(io);
        ck_assert_uint_eq(count_requests("PATCH"), other ? 1 : 2);
        if (!other)
            assert_sent("PATCH", 1, "\"nodeId\":\"\",\"clients\":null");
        end();
    }
}
END_TEST

/* A connection that was requested here has failed, and has left its device. */
START_TEST(the_data_of_a_volume_are_open_though_it_is_a_device_here) {
    static const char device[] =
        CONFIG(ID, "7",
               ",\"annotations\":{\"scoria.io/connection\":\"first\"}" BOUND(
                   "1Gi") ","
                          "\"publish\":{\"nodeId\":\"one\",\"export\":\"device\"}");
    struct driver_volume volume = A_VOLUME;
    struct volume_io *io = NULL;

    begin();
    bench.backend.node = "one";
    answers("GET", PATH, 200, device, 1);
    answers("GET", "/v3/replica_pools", 200, POOLS("one"), 0);
    answers("PATCH", PATH, 200, CONFIG(ID, "8", MARKED("second", "one")), 0);
    answers("GET", PATH, 200, CONFIG(ID, "8", MARKED("second", "one")), 0);
    answers("GET", PATH "/volume", 200, SERVED_AT("/dev/scoria/uid"), 1);
    serve_volume();
    ck_assert_msg(open_data(&volume, &io) == 0, "%s", bench.err.message);
    assert_sent("PATCH", 0, "\"export\":\"nbd\"");
    volume_io_close(io);
    end();
}
END_TEST

START_TEST(data_that_cannot_be_served_here_are_refused) {
    static const struct {
        const char *node, *config;
        bool attached, fenced;
        enum error_kind kind;
    } cases[] = {
        { "one", CONFIG(ID, "7", AT("")), true, false, ERROR_CONFLICT },
        { "one", CONFIG(ID, "7", AT("")), false, true, ERROR_CONFLICT },
        { "one", CONFIG(ID, "7", MARKED("first", "other")), false, false, ERROR_CONFLICT },
        { "one", CONFIG(ID, "7", AT("one")), false, false, ERROR_CONFLICT },
        { "two", CONFIG(ID, "7", AT("")), false, false, ERROR_BAD_REQUEST },
        { NULL, CONFIG(ID, "7", AT("")), false, false, ERROR_BAD_REQUEST },
        { "one", CONFIG(OTHERS, "7", AT("")), false, false, ERROR_NOT_FOUND },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct driver_volume volume = A_VOLUME;
        struct volume_io *io = NULL;

        begin();
        bench.backend.node = cases[i].node;
        volume.attached = cases[i].attached;
        volume.fence = cases[i].fenced ? &gone : NULL;
        answers("GET", PATH, 200, cases[i].config, 0);
        answers("GET", "/v3/replica_pools", 200, POOLS("one"), 0);
        ck_assert_int_eq(open_data(&volume, &io), -1);
        ck_assert_msg(bench.err.kind == cases[i].kind, "%zu: %s", i, bench.err.message);
        ck_assert_int_eq(bench.driver->open_snapshot_data(bench.handle, bench.arena, &volume,
                                                          &a_snapshot, &io, &bench.err),
                         -1);
        ck_assert_int_eq(bench.err.kind, ERROR_BAD_REQUEST);
        ck_assert_ptr_null(io);
        ck_assert_uint_eq(count_requests("PATCH"), 0);
        end();
    }
}
END_TEST

static const char *not_yet(const struct driver_backend *backend) {
    (void)backend;
    return NULL;
}

START_TEST(no_request_is_sent_before_the_api_listens) {
    struct driver_pool *pools;
    struct driver_volume volume = A_VOLUME;

    bench_new(&bench);
    bench.tables[1] = own_user_options;
    bench.tables[0] = bench_options;
    bench.driver = &replicated_driver;
    driver_add_options(drivers, bench.tables, 2, LENGTH(bench.tables) - 1);
    ck_assert_int_eq(config_load(bench.tables, NULL,
                                 (const char *const[]){ "--enabled_backends=" BACKEND, NULL },
                                 &bench.config, &bench.err),
                     0);
    bench.backend =
        (struct driver_backend){ .name = BACKEND, .config = bench.config, .volume_url = not_yet };
    ck_assert_int_eq(bench_try_open(&bench), 0);
    ck_assert_int_eq(bench.driver->get_pools(bench.handle, bench.arena, &pools, &bench.err), 0);
    ck_assert_int_eq(bench_size(&bench, &volume), -1);
    ck_assert_int_eq(bench.err.kind, ERROR_UNAVAILABLE);
    bench_close(&bench);
}
END_TEST

CHECK_MAIN("replicated", a_moving_instance_becomes_a_client_of_the_target,
           a_disconnected_host_is_revoked_and_the_last_removes_the_target,
           a_volume_is_a_config_of_its_own, a_type_that_cannot_be_is_refused,
           a_long_wait_is_left_to_workers_for_long_work, a_late_create_makes_nothing,
           a_fenced_worker_changes_nothing, a_delete_names_the_version_that_was_read,
           a_config_with_another_label_is_not_found, a_name_is_a_label,
           a_volume_grows_to_one_size_after_the_other,
           a_refusal_by_the_api_is_no_refusal_of_the_client, a_volume_is_served_to_one_host,
           a_connection_may_be_a_device_of_its_host, another_connection_type_ends_no_device_in_use,
           an_unresponsive_agent_of_a_host_is_not_waited_for,
           new_targets_of_an_unresponsive_agent_are_not_waited_for,
           silence_during_a_suspension_does_not_count, a_restarting_api_is_waited_for,
           a_snapshot_is_a_document_of_its_own, a_snapshot_is_deleted_with_its_document,
           a_volume_is_made_of_a_snapshot, a_volume_is_cloned_by_a_temporary_snapshot,
           the_snapshot_of_a_failed_clone_is_deleted_with_it, a_revert_is_requested_once,
           a_reclaim_is_requested_once, a_failed_reclaim_has_a_reason,
           memory_does_not_grow_during_a_reclaim, pools_that_do_not_reclaim_in_time_are_named,
           the_usage_of_a_volume_is_the_sum_of_its_replicas,
           the_capacity_is_that_of_pools_that_accept_replicas,
           no_request_is_sent_before_the_api_listens, an_error_of_a_gateway_is_no_missing_config,
           the_data_of_a_volume_are_open_while_it_is_published_here,
           the_data_of_a_volume_are_open_though_it_is_a_device_here,
           data_that_cannot_be_served_here_are_refused)
