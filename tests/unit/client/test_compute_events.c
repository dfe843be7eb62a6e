#include "tests/lib/check_main.h"

#include "client/compute_events.h"
#include "http/server.h"
#include "identity/own_user.h"
#include "tests/lib/script_keystone.h"

#include <stdio.h>
#include <string.h>

#define VOLUME   "11111111-1111-4111-8111-111111111111"
#define INSTANCE "22222222-2222-4222-8222-222222222222"
#define EVENTS   "/v2.1/os-server-external-events"

#define ANSWERED(name, instance, tag, code)                                                     \
    "{\"events\": [{\"name\": \"" name "\", \"server_uuid\": \"" instance "\", \"tag\": \"" tag \
    "\", \"status\": \"completed\", \"code\": " code "}]}"
#define OURS(code) ANSWERED("volume-extended", INSTANCE, VOLUME, code)

static const struct option *const tables[] = { compute_client_options, own_user_options, NULL };

/* A scripted compute side and a sender to it. */
struct scene {
    struct script_server *server;
    struct config *config;
    struct compute_sender *sender;
    struct arena *arena;
    struct error err;
    char endpoint[80];
};

/* Up to three options of section compute, "key=value"; the endpoint is added when `nova`. */
static struct scene *scene_with(bool nova, const char *option1, const char *option2) {
    struct scene *scene = calloc(1, sizeof(*scene));
    char endpoint[128];
    const char *arguments[5] = { 0 };
    unsigned count = 0;

    scene->server = script_server_new();
    scene->arena = arena_new();
    snprintf(scene->endpoint, sizeof(scene->endpoint), "%s/v2.1", script_server_url(scene->server));
    if (nova) {
        arguments[count++] = "--compute.service=nova";
        snprintf(endpoint, sizeof(endpoint), "--compute.endpoint=%s/", scene->endpoint);
        arguments[count++] = endpoint;
    }
    if (option1)
        arguments[count++] = option1;
    if (option2)
        arguments[count++] = option2;
    ck_assert_int_eq(config_load(tables, NULL, arguments, &scene->config, &scene->err), 0);
    ck_assert_int_eq(compute_sender_new(scene->config, &scene->sender, &scene->err), 0);
    return scene;
}

static struct scene *scene_new(void) {
    return scene_with(false, NULL, NULL);
}

static void scene_end(struct scene *scene) {
    compute_sender_free(scene->sender);
    config_free(scene->config);
    script_server_free(scene->server);
    arena_free(scene->arena);
    free(scene);
}

static void answer(struct scene *scene, int status, const char *body) {
    script_server_clear(scene->server);
    script_server_add(scene->server, &(struct script_rule){ .status = status, .body = body });
}

static struct compute_event event_of(struct scene *scene) {
    return (struct compute_event){
        .volume_id = VOLUME,
        .instance_uuid = INSTANCE,
        .host = "here",
        .endpoint = scene->endpoint,
        .request_id = "req-5",
        .wants_completion = true,
    };
}

static enum event_verdict send_it(struct scene *scene) {
    struct compute_event event = event_of(scene);

    memset(&scene->err, 0, sizeof(scene->err));
    return scene->sender->send(scene->sender, scene->arena, &event, &scene->err);
}

static enum event_verdict send_plain(struct scene *scene) {
    struct compute_event event = event_of(scene);

    event.wants_completion = false;
    return scene->sender->send(scene->sender, scene->arena, &event, &scene->err);
}

START_TEST(an_accepted_event_is_one_request_in_the_right_form) {
    struct scene *scene = scene_with(false, "--compute.token=secret", NULL);
    const struct script_request *request;

    answer(scene, 200, OURS("200"));
    ck_assert_int_eq(send_it(scene), EVENT_ACCEPTED);
    ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), 1);
    request = script_server_request(scene->server, "POST", EVENTS, 0);
    ck_assert_ptr_nonnull(request);
    ck_assert(script_request_has(request, "OpenStack-API-Version", "compute 2.93"));
    ck_assert(script_request_has(request, "X-OpenStack-Nova-API-Version", "2.93"));
    ck_assert(script_request_has(request, "X-OpenStack-Request-ID", "req-5"));
    ck_assert(script_request_has(request, "X-Auth-Token", "secret"));
    ck_assert(script_request_has(request, "Content-Type", "application/json"));
    ck_assert_str_eq(request->body,
                     "{\"events\":[{\"name\":\"volume-extended\",\"server_uuid\":\"" INSTANCE
                     "\",\"tag\":\"" VOLUME "\"}]}");
    scene_end(scene);
}
END_TEST

START_TEST(an_event_with_a_name_goes_to_the_compute_service_itself) {
    static const char *const ends[] = { "", ",\"status\":\"failed\"" };

    for (int failed = 0; failed <= 1; failed++) {
        struct scene *scene = scene_with(true, "--compute.token=secret", NULL);
        struct compute_event event = event_of(scene);
        const struct script_request *request;

        event.name = "volume-reimaged";
        event.failed = failed;
        event.endpoint = NULL;
        answer(scene, 200, ANSWERED("volume-reimaged", INSTANCE, VOLUME, "200"));
        ck_assert_int_eq(scene->sender->send(scene->sender, scene->arena, &event, &scene->err),
                         EVENT_ACCEPTED);
        request = script_server_request(scene->server, "POST", EVENTS, 0);
        ck_assert_ptr_nonnull(request);
        ck_assert(script_request_has(request, "OpenStack-API-Version", "compute 2.93"));
        ck_assert_str_eq(request->body, arena_format(scene->arena,
                                                     "{\"events\":[{\"name\":\"volume-reimaged\","
                                                     "\"server_uuid\":\"" INSTANCE
                                                     "\",\"tag\":\"" VOLUME "\"%s}]}",
                                                     ends[failed]));
        answer(scene, 200, OURS("200"));
        ck_assert_int_eq(scene->sender->send(scene->sender, scene->arena, &event, &scene->err),
                         EVENT_REFUSED);
        scene_end(scene);
    }
}
END_TEST

START_TEST(without_a_compute_service_an_event_with_a_name_is_refused) {
    struct scene *scene = scene_new();
    struct compute_event event = event_of(scene);

    event.name = "volume-reimaged";
    ck_assert_int_eq(scene->sender->send(scene->sender, scene->arena, &event, &scene->err),
                     EVENT_REFUSED);
    ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(our_event_is_found_among_others) {
    struct scene *scene = scene_new();

    answer(scene, 200,
           "{\"events\": [{\"name\": \"network-changed\", \"server_uuid\": \"" INSTANCE
           "\", \"code\": 404}, 7, {\"name\": \"volume-extended\", \"server_uuid\": \"" INSTANCE
           "\", \"tag\": \"" VOLUME "\", \"code\": 200}]}");
    ck_assert_int_eq(send_it(scene), EVENT_ACCEPTED);
    scene_end(scene);
}
END_TEST

START_TEST(a_refusal_of_the_service_itself_is_final) {
    static const struct {
        int status;
        const char *body;
    } rows[] = {
        { 207, OURS("404") },
        { 207, OURS("422") },
        { 207, OURS("400") },
        { 207, OURS("200") },
        { 200, OURS("404") },
        { 200, OURS("422") },
        { 200, OURS("\"200\"") },
        { 200, OURS("200.0") },
        { 200, OURS("null") },
        { 200, "{\"events\": []}" },
        { 200, "{\"events\": [{\"name\": \"volume-extended\", \"server_uuid\": \"" INSTANCE
               "\", \"tag\": \"" VOLUME "\"}]}" },
        { 200, ANSWERED("volume-extended", INSTANCE, INSTANCE, "200") }, /* foreign */
        { 200, ANSWERED("volume-extended", VOLUME, VOLUME, "200") },
        { 200, ANSWERED("network-changed", INSTANCE, VOLUME, "200") },
        { 302, OURS("200") },
        { 400, "{\"badRequest\": {\"code\": 400}}" },
        { 401, "" },
        { 403, "{\"forbidden\": {\"code\": 403}}" },
        { 404, "{\"itemNotFound\": {\"code\": 404}}" },
        { 406, "{\"computeFault\": {\"code\": 406}}" },
        { 409, "{}" },
        { 413, "{}" },
        { 503, "{\"serviceUnavailable\": {\"code\": 503, \"message\": \"libvirt\"}}" },
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(rows); i++) {
        answer(scene, rows[i].status, rows[i].body);
        ck_assert_int_eq(send_it(scene), EVENT_REFUSED);
        ck_assert_str_ne(scene->err.message, "");
        ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), i + 1); /* no retry */
    }
    scene_end(scene);
}
END_TEST

/* A proxy's answers, and whatever else may stand behind an event that was passed on (X18). */
START_TEST(a_response_that_may_be_an_intermediarys_is_unknown) {
    static const struct {
        int status;
        const char *body;
    } rows[] = {
        { 200, "{}" },
        { 200, "[]" },
        { 200, "{\"events\": 7}" },
        { 200, "no json" },
        { 200, "" },
        { 201, OURS("200") },
        { 202, OURS("200") },
        { 204, "" },
        { 303, "" },
        { 408, "<html>Request Time-out</html>" },
        { 499, "" },
        { 500, "{\"computeFault\": {\"code\": 500}}" },
        { 502, "<html>Bad Gateway</html>" },
        { 502, "{\"serviceUnavailable\": {\"code\": 503}}" },
        { 503, "<html>No server is available to handle this request.</html>" },
        { 503, OURS("200") },
        { 504, "<html>Gateway Time-out</html>" },
        { 520, "" },
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(rows); i++) {
        answer(scene, rows[i].status, rows[i].body);
        ck_assert_int_eq(send_it(scene), EVENT_UNKNOWN);
        ck_assert_str_ne(scene->err.message, "");
        ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), i + 1); /* no retry */
    }
    scene_end(scene);
}
END_TEST

START_TEST(a_host_that_is_not_there_is_a_refusal) {
    struct scene *scene = scene_new();

    script_server_pause(scene->server);
    ck_assert_int_eq(send_it(scene), EVENT_REFUSED);
    ck_assert_ptr_nonnull(strstr(scene->err.message, "here"));
    snprintf(scene->endpoint, sizeof(scene->endpoint), "http://no-such-host.invalid/v2.1");
    ck_assert_int_eq(send_it(scene), EVENT_REFUSED);
    snprintf(scene->endpoint, sizeof(scene->endpoint), "no url");
    ck_assert_int_eq(send_it(scene), EVENT_REFUSED);
    scene_end(scene);
}
END_TEST

START_TEST(a_host_without_an_agent_is_a_refusal) {
    struct scene *scene = scene_new();
    struct compute_event event = event_of(scene);

    event.endpoint = NULL;
    ck_assert_int_eq(scene->sender->send(scene->sender, scene->arena, &event, &scene->err),
                     EVENT_REFUSED);
    ck_assert_str_eq(scene->err.message, "no compute agent is registered for host here");
    event.host = NULL;
    ck_assert_int_eq(scene->sender->send(scene->sender, scene->arena, &event, &scene->err),
                     EVENT_REFUSED);
    ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(an_incomplete_response_is_unknown) {
    static const enum script_manner manners[] = { SCRIPT_HALF, SCRIPT_CLOSE, SCRIPT_SILENT };
    struct scene *scene = scene_with(false, "--compute.event_timeout=3", NULL);

    for (unsigned i = 0; i < LENGTH(manners); i++) {
        script_server_clear(scene->server);
        script_server_add(
            scene->server,
            &(struct script_rule){ .status = 200, .body = OURS("200"), .manner = manners[i] });
        ck_assert_int_eq(send_it(scene), EVENT_UNKNOWN);
        ck_assert_str_ne(scene->err.message, "");
        ck_assert(script_server_await(scene->server, "POST", EVENTS, i + 1));
        ck_assert_uint_eq(script_server_count(scene->server, "POST", EVENTS), i + 1);
    }
    scene_end(scene);
}
END_TEST

START_TEST(a_plain_event_requests_the_lowest_version) {
    struct scene *scene = scene_new();
    const struct script_request *request;
    struct compute_event event = event_of(scene);

    answer(scene, 200, OURS("200"));
    event.wants_completion = false;
    event.request_id = NULL;
    ck_assert_int_eq(scene->sender->send(scene->sender, scene->arena, &event, &scene->err),
                     EVENT_ACCEPTED);
    request = script_server_request(scene->server, "POST", EVENTS, 0);
    ck_assert(script_request_has(request, "OpenStack-API-Version", "compute 2.51"));
    ck_assert_ptr_null(strcasestr(request->head, "X-OpenStack-Request-ID"));
    ck_assert_ptr_null(strcasestr(request->head, "X-Auth-Token"));
    scene_end(scene);
}
END_TEST

/* ---- service = nova ---- */

static void answer_versions(struct scene *scene, int status, const char *body) {
    script_server_clear(scene->server);
    script_server_add(scene->server,
                      &(struct script_rule){ .method = "GET", .status = status, .body = body });
    script_server_add(scene->server,
                      &(struct script_rule){ .path = EVENTS, .status = 200, .body = OURS("200") });
}

#define RANGE(least, newest) \
    "{\"version\": {\"id\": \"v2.1\", \"min_version\": \"" least "\", \"version\": \"" newest "\"}}"

static struct scene *nova_new(const char *microversion) {
    char option[96];

    snprintf(option, sizeof(option), "--compute.extend_completion_microversion=%s", microversion);
    return scene_with(true, option, NULL);
}

START_TEST(a_service_that_promises_the_report_gets_the_event_at_that_version) {
    struct scene *scene = nova_new("2.105");

    answer_versions(scene, 200, RANGE("2.1", "2.110"));
    ck_assert_int_eq(send_it(scene), EVENT_ACCEPTED);
    ck_assert_uint_eq(script_server_count(scene->server, "GET", "/v2.1/"), 1);
    ck_assert(script_request_has(script_server_request(scene->server, "POST", EVENTS, 0),
                                 "OpenStack-API-Version", "compute 2.105"));
    scene_end(scene);
}
END_TEST

START_TEST(the_range_is_remembered_for_a_while) {
    struct scene *scene = nova_new("2.105");

    answer_versions(scene, 200, RANGE("2.1", "2.110"));
    ck_assert_int_eq(send_it(scene), EVENT_ACCEPTED);
    ck_assert_int_eq(send_it(scene), EVENT_ACCEPTED);
    ck_assert_uint_eq(script_server_count(scene->server, "GET", NULL), 1);
    ck_assert_uint_eq(script_server_count(scene->server, "POST", NULL), 2);
    scene_end(scene);
}
END_TEST

START_TEST(versions_are_compared_as_numbers) {
    static const struct {
        const char *wanted, *range;
        enum event_verdict verdict;
    } rows[] = {
        { "2.105", RANGE("2.1", "2.105"), EVENT_ACCEPTED },
        { "2.1", RANGE("2.1", "2.105"), EVENT_ACCEPTED },
        { "2.9", RANGE("2.1", "2.10"), EVENT_ACCEPTED },
        { "2.100", RANGE("2.1", "2.99"), EVENT_REFUSED },
        { "2.105", RANGE("2.1", "2.104"), EVENT_REFUSED },
        { "2.9", RANGE("2.10", "2.99"), EVENT_REFUSED },
        { "3.1", RANGE("2.1", "2.99"), EVENT_REFUSED },
        { "2.105", RANGE("2.1", "3.0"), EVENT_ACCEPTED },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = nova_new(rows[i].wanted);

        answer_versions(scene, 200, rows[i].range);
        ck_assert_int_eq(send_it(scene), rows[i].verdict);
        ck_assert_uint_eq(script_server_count(scene->server, "POST", NULL),
                          rows[i].verdict == EVENT_ACCEPTED);
        scene_end(scene);
    }
}
END_TEST

START_TEST(a_range_that_cannot_be_read_sends_nothing) {
    static const struct {
        int status;
        const char *body;
    } rows[] = {
        { 500, RANGE("2.1", "2.110") },
        { 404, "{}" },
        { 200, "no json" },
        { 200, "{}" },
        { 200, RANGE("", "") },
        { 200, RANGE("2.1", "2") },
        { 200, RANGE("2.1", "2.x") },
        { 200, RANGE("2.1", ".5") },
        { 200, RANGE("2.1", "2.12345678901") },
    };
    struct scene *scene = nova_new("2.105");

    for (size_t i = 0; i < LENGTH(rows); i++) {
        answer_versions(scene, rows[i].status, rows[i].body);
        ck_assert_int_eq(send_it(scene), EVENT_REFUSED);
    }
    script_server_clear(scene->server);
    script_server_add(scene->server, &(struct script_rule){ .manner = SCRIPT_CLOSE });
    ck_assert_int_eq(send_it(scene), EVENT_REFUSED);
    script_server_pause(scene->server);
    ck_assert_int_eq(send_it(scene), EVENT_REFUSED);
    ck_assert_uint_eq(script_server_count(scene->server, "POST", NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(without_a_promised_version_nothing_is_sent_but_plain_events) {
    struct scene *scene = scene_with(true, NULL, NULL);

    answer_versions(scene, 200, RANGE("2.1", "2.110"));
    ck_assert_int_eq(send_it(scene), EVENT_REFUSED);
    ck_assert_ptr_nonnull(strstr(scene->err.message, "extend_completion_microversion"));
    ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), 0);
    ck_assert_int_eq(send_plain(scene), EVENT_ACCEPTED);
    ck_assert_uint_eq(script_server_count(scene->server, "GET", NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(an_endpoint_with_a_project_is_cut_back_for_the_document) {
    static const struct {
        const char *path, *document, *events;
    } rows[] = {
        { "/v2.1/abc", "/v2.1/", "/v2.1/abc/os-server-external-events" },
        { "/compute/v2.1", "/compute/v2.1/", "/compute/v2.1/os-server-external-events" },
        { "/v2.10/v2.1/abc", "/v2.10/v2.1/", "/v2.10/v2.1/abc/os-server-external-events" },
        { "/other", "/other/", "/other/os-server-external-events" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct script_server *server = script_server_new();
        char endpoint[128];
        const char *arguments[] = { "--compute.service=nova", endpoint,
                                    "--compute.extend_completion_microversion=2.105", NULL };
        autoarena struct arena *arena = arena_new();
        struct compute_event event = { VOLUME, INSTANCE, "here", NULL, "req-5", true, NULL, false };
        struct compute_sender *sender;
        struct config *config;
        struct error err = { 0 };

        snprintf(endpoint, sizeof(endpoint), "--compute.endpoint=%s%s", script_server_url(server),
                 rows[i].path);
        script_server_add(
            server,
            &(struct script_rule){ .method = "GET", .status = 200, .body = RANGE("2.1", "2.110") });
        script_server_add(server, &(struct script_rule){ .status = 200, .body = OURS("200") });
        ck_assert_int_eq(config_load(tables, NULL, arguments, &config, &err), 0);
        ck_assert_int_eq(compute_sender_new(config, &sender, &err), 0);
        ck_assert_int_eq(sender->send(sender, arena, &event, &err), EVENT_ACCEPTED);
        ck_assert_uint_eq(script_server_count(server, "GET", rows[i].document), 1);
        ck_assert_uint_eq(script_server_count(server, "POST", rows[i].events), 1);
        compute_sender_free(sender);
        config_free(config);
        script_server_free(server);
    }
}
END_TEST

START_TEST(options_that_cannot_work_are_refused_at_the_start) {
    static const char *const rows[][4] = {
        { "--compute.service=nova", NULL },
        { "--compute.extend_completion_microversion=2", NULL },
        { "--compute.extend_completion_microversion=latest", NULL },
        { "--compute.service=nova", "--compute.endpoint=http://n/v2.1",
          "--compute.extend_completion_microversion=2.1x", NULL },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct compute_sender *sender = NULL;
        struct config *config;
        struct error err = { 0 };

        ck_assert_int_eq(config_load(tables, NULL, rows[i], &config, &err), 0);
        ck_assert_int_eq(compute_sender_new(config, &sender, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
        ck_assert_ptr_nonnull(strstr(err.message, "[compute]"));
        ck_assert_ptr_null(sender);
        config_free(config);
    }
    compute_sender_free(NULL);
}
END_TEST

/* The same against a real server of ours. */
static void accept_event(void *arg, struct http_exchange *exchange) {
    (void)arg;
    ck_assert_str_eq(exchange->path, EVENTS);
    exchange->status = 200;
    exchange->reply_body = OURS("200");
    exchange->reply_size = strlen(OURS("200"));
    http_reply(exchange);
}

START_TEST(a_real_server_is_understood) {
    struct scene *scene = scene_new();
    const struct http_mount mounts[] = { { "", accept_event, NULL }, { 0 } };
    struct http_server_settings settings = { .address = "127.0.0.1",
                                             .threads = 1,
                                             .mounts = mounts };
    struct http_server *server;

    ck_assert_int_eq(http_server_start(&settings, &server, &scene->err), 0);
    snprintf(scene->endpoint, sizeof(scene->endpoint), "http://127.0.0.1:%u/v2.1",
             http_server_port(server));
    ck_assert_int_eq(send_it(scene), EVENT_ACCEPTED);
    http_server_stop(server, 1000);
    scene_end(scene);
}
END_TEST

START_TEST(the_catalog_leads_to_the_compute_service) {
    struct scene *scene = calloc(1, sizeof(*scene));
    const struct script_request *request;
    char url[128];
    const char *arguments[] = {
        "--compute.service=nova",       "--compute.extend_completion_microversion=2.200",
        "--compute.token=not this one", url,
        "--nova.username=scoria",       "--nova.password=secret",
        "--nova.project_name=service",  NULL
    };

    scene->server = script_server_new();
    scene->arena = arena_new();
    script_keystone_begin(scene->server);
    snprintf(url, sizeof(url), "--nova.auth_url=%s/v3", script_server_url(scene->server));
    script_server_add(scene->server, &(struct script_rule){ .path = "/compute/v2.1/",
                                                            .status = 200,
                                                            .body = RANGE("2.1", "2.200") });
    script_server_add(scene->server, &(struct script_rule){
                                         .path = "/compute" EVENTS, .status = 401, .times = 1 });
    script_server_add(
        scene->server,
        &(struct script_rule){ .path = "/compute" EVENTS, .status = 200, .body = OURS("200") });
    ck_assert_int_eq(config_load(tables, NULL, arguments, &scene->config, &scene->err), 0);
    ck_assert_int_eq(compute_sender_new(scene->config, &scene->sender, &scene->err), 0);
    ck_assert_msg(send_it(scene) == EVENT_ACCEPTED, "%s", scene->err.message);
    request = script_server_request(scene->server, "POST", "/compute" EVENTS, 1);
    ck_assert(script_request_has(request, "X-Auth-Token", KEYSTONE_OWN));
    ck_assert(script_request_has(request, "OpenStack-API-Version", "compute 2.200"));
    ck_assert_ptr_null(strstr(request->head, "not this one"));
    script_server_pause(scene->server); /* no Keystone, no peer: nothing is sent */
    ck_assert_int_eq(send_it(scene), EVENT_REFUSED);
    scene_end(scene);
}
END_TEST

/* ---- snapshots with the help of the guest's host ---- */

#define SNAPSHOT  "33333333-3333-4333-8333-333333333333"
#define SNAPSHOTS "/v2.1/os-assisted-volume-snapshots"

static enum event_verdict request_assist(struct scene *scene, const struct compute_assist *files) {
    struct compute_assist assist = *files;

    assist.volume_id = VOLUME;
    assist.snapshot_id = SNAPSHOT;
    assist.host = "here";
    assist.endpoint = scene->endpoint;
    assist.request_id = "req-5";
    memset(&scene->err, 0, sizeof(scene->err));
    return scene->sender->assist(scene->sender, scene->arena, &assist, &scene->err);
}

START_TEST(a_host_is_requested_to_take_a_snapshot) {
    for (int nova = 0; nova <= 1; nova++) {
        struct scene *scene = scene_with(nova, "--compute.token=secret", NULL);
        const struct script_request *request;

        answer(scene, 200, "{\"snapshot\":{\"id\":null, \"volumeId\":\"" VOLUME "\"}}");
        ck_assert_int_eq(
            request_assist(scene, &(struct compute_assist){ .new_file = "volume-1.2" }),
            EVENT_ACCEPTED);
        request = script_server_request(scene->server, "POST", SNAPSHOTS, 0);
        ck_assert_ptr_nonnull(request);
        ck_assert_str_eq(request->body,
                         "{\"snapshot\":{\"volume_id\":\"" VOLUME "\",\"create_info\":"
                         "{\"snapshot_id\":\"" SNAPSHOT "\",\"type\":\"qcow2\","
                         "\"new_file\":\"volume-1.2\"}}}");
        ck_assert(script_request_has(request, "X-OpenStack-Request-ID", "req-5"));
        ck_assert(script_request_has(request, "X-Auth-Token", "secret"));
        scene_end(scene);
    }
}
END_TEST

START_TEST(snapshots_of_novas_servers_are_requested_from_nova_beside_agents) {
    char endpoint[128];
    struct scene *first = scene_new(), *scene;
    const struct compute_assist assist = {
        .volume_id = VOLUME, .snapshot_id = SNAPSHOT, .host = "here", .new_file = "volume-1.2"
    };

    snprintf(endpoint, sizeof(endpoint), "--compute.endpoint=%s", first->endpoint);
    scene = scene_with(false, "--compute.snapshots=nova", endpoint);
    ck_assert(scene->sender->assists_once);
    ck_assert(scene->sender->asks_again);
    answer(first, 200, "{\"snapshot\":{\"id\":null, \"volumeId\":\"" VOLUME "\"}}");
    ck_assert_int_eq(scene->sender->assist(scene->sender, scene->arena, &assist, &scene->err),
                     EVENT_ACCEPTED);
    ck_assert_ptr_nonnull(script_server_request(first->server, "POST", SNAPSHOTS, 0));
    answer(scene, 200, OURS("200")); /* growth is the agent's */
    ck_assert_int_eq(send_it(scene), EVENT_ACCEPTED);
    ck_assert(!first->sender->assists_once);
    scene_end(scene);
    scene_end(first);
}
END_TEST

/* The API refuses a group snapshot of several attached volumes by the same rule as the manager. */
START_TEST(nova_gets_one_volume_at_a_time_whichever_option_names_it) {
    static const struct {
        bool nova;
        const char *option;
        bool one;
    } rows[] = {
        { false, NULL, false },
        { false, "--compute.snapshots=nova", true },
        { true, NULL, true },
        { true, "--compute.snapshots=nova", true },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene =
            scene_with(rows[i].nova, rows[i].option, "--compute.endpoint=http://127.0.0.1:1");

        ck_assert_int_eq(compute_snapshots_are_novas(scene->config), rows[i].one);
        ck_assert_int_eq(compute_assists_again(scene->sender), !rows[i].one);
        scene_end(scene);
    }
}
END_TEST

/* Characters that stand for themselves in a query. */
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

START_TEST(a_host_is_requested_to_merge_files) {
    static const char delete_info[] = SNAPSHOTS "/" SNAPSHOT "?delete_info=";
    struct scene *scene = scene_new();
    const struct script_request *request;
    const char *info;

    answer(scene, 204, "");
    ck_assert_int_eq(
        request_assist(scene, &(struct compute_assist){ .file_to_merge = "volume-1.2" }),
        EVENT_ACCEPTED);
    request = script_server_request(scene->server, "DELETE", SNAPSHOTS "/*", 0);
    ck_assert_ptr_nonnull(request);
    ck_assert_int_eq(strncmp(request->path, delete_info, strlen(delete_info)), 0);
    info = request->path + strlen(delete_info);
    ck_assert_uint_eq(strspn(info, PLAIN "%"), strlen(info));
    ck_assert_pstr_eq(http_decode(scene->arena, info, strlen(info), true),
                      "{\"volume_id\":\"" VOLUME "\",\"type\":\"qcow2\","
                      "\"file_to_merge\":\"volume-1.2\",\"merge_target_file\":null}");
    scene_end(scene);
}
END_TEST

/* It refuses the key, as it does any that it does not know; whatever else it refuses has other
 * reasons. */
START_TEST(an_agent_that_is_too_old_is_to_be_upgraded) {
    static const char *const ids[] = { SNAPSHOT, VOLUME };
    static const char *const reasons[] = { "'together' is not a known key of 'create_info'.",
                                           "the disk is read-only" };
    struct scene *scene = scene_new();

    for (int old = 0; old <= 1; old++)
        for (unsigned count = 0; count <= 2; count += 2) {
            const struct compute_assist assist = { .new_file = "f",
                                                   .together = ids,
                                                   .together_count = count };

            answer(scene, 400,
                   arena_format(scene->arena,
                                "{\"badRequest\": {\"code\": 400, \"message\": \"%s\"}}",
                                reasons[!old]));
            ck_assert_int_eq(request_assist(scene, &assist), EVENT_REFUSED);
            ck_assert_int_eq(scene->err.kind, ERROR_BAD_REQUEST);
            ck_assert_int_eq(strstr(scene->err.message, "host here is older") &&
                                 strstr(scene->err.message, "upgrade it"),
                             old && count > 0);
        }
    scene_end(scene);
}
END_TEST

START_TEST(only_a_certain_refusal_of_a_host_is_one) {
    static const struct {
        int status;
        enum event_verdict verdict;
    } rows[] = { { 400, EVENT_REFUSED }, { 403, EVENT_REFUSED }, { 404, EVENT_REFUSED },
                 { 409, EVENT_REFUSED }, { 500, EVENT_UNKNOWN }, { 502, EVENT_UNKNOWN },
                 { 503, EVENT_UNKNOWN } };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(rows); i++) {
        answer(scene, rows[i].status, "no");
        ck_assert_int_eq(request_assist(scene, &(struct compute_assist){ .new_file = "f" }),
                         rows[i].verdict);
        ck_assert_int_eq(scene->err.kind, ERROR_BACKEND); /* the host may still support it */
        ck_assert_ptr_nonnull(strstr(scene->err.message, "no"));
    }
    scene->endpoint[0] = '\0';
    ck_assert_int_eq(scene->sender->assist(scene->sender, scene->arena,
                                           &(struct compute_assist){ .volume_id = VOLUME,
                                                                     .snapshot_id = SNAPSHOT,
                                                                     .host = "here",
                                                                     .new_file = "f" },
                                           &scene->err),
                     EVENT_REFUSED);
    ck_assert_ptr_nonnull(strstr(scene->err.message, "no compute agent"));
    scene_end(scene);
}
END_TEST

/* Ours joins the job that runs already; a compute service would begin it once more. */
START_TEST(only_our_own_agent_is_requested_again) {
    for (int nova = 0; nova <= 1; nova++) {
        struct scene *scene = scene_with(nova, NULL, NULL);

        ck_assert_int_eq(scene->sender->asks_again, !nova);
        scene_end(scene);
    }
}
END_TEST

/* Else many that wait for a host that hangs would keep every worker. */
START_TEST(a_host_that_hangs_is_not_waited_for_twice) {
    struct scene *scene = scene_with(false, "--compute.event_timeout=3600", NULL);

    script_server_add(scene->server, &(struct script_rule){ .manner = SCRIPT_SILENT });
    ck_assert_int_eq(
        request_assist(scene, &(struct compute_assist){ .new_file = "f", .again = true }),
        EVENT_UNKNOWN);
    scene_end(scene);
}
END_TEST

static enum event_verdict request_trim(struct scene *scene, bool again) {
    const struct compute_trim trim = { .id = SNAPSHOT,
                                       .volume_id = VOLUME,
                                       .instance_uuid = INSTANCE,
                                       .host = "here",
                                       .endpoint = scene->endpoint[0] ? scene->endpoint : NULL,
                                       .again = again };

    scene->err = (struct error){ 0 };
    return scene->sender->trim(scene->sender, scene->arena, &trim, &scene->err);
}

/* In the wording of the refusing server: it is read by people. */
START_TEST(only_our_own_agents_have_a_guest_trim) {
    static const struct {
        int status;
        const char *body;
        enum event_verdict verdict;
        enum error_kind kind;
        const char *words;
    } rows[] = {
        { 202, "", EVENT_ACCEPTED, ERROR_NONE, "" },
        { 400, "{\"badRequest\": {\"code\": 400, \"message\": \"never\"}}", EVENT_REFUSED,
          ERROR_BAD_REQUEST, "never" },
        { 409, "{\"conflictingRequest\": {\"code\": 409, \"message\": \"not now\"}}", EVENT_REFUSED,
          ERROR_CONFLICT, "not now" },
        { 400, "{\"message\": {\"message\": \"of a gateway\"}}", EVENT_REFUSED, ERROR_BACKEND,
          "400" },
        { 409, "<html>", EVENT_REFUSED, ERROR_BACKEND, "409" },
        { 404, "no such route", EVENT_REFUSED, ERROR_BACKEND, "404" },
        { 500, "no", EVENT_UNKNOWN, ERROR_BACKEND, "500" },
    };
    struct scene *scene = scene_new(), *nova = scene_with(true, NULL, NULL);

    for (size_t i = 0; i < LENGTH(rows); i++) {
        script_server_add(scene->server, &(struct script_rule){ .path = "/v2.1/os-volume-trims",
                                                                .status = rows[i].status,
                                                                .body = rows[i].body,
                                                                .times = 1 });
        ck_assert_int_eq(request_trim(scene, false), rows[i].verdict);
        ck_assert_int_eq(scene->err.kind, rows[i].kind);
        ck_assert_ptr_nonnull(strstr(scene->err.message, rows[i].words));
    }
    ck_assert_str_eq(script_server_request(scene->server, "POST", "/v2.1/os-volume-trims", 0)->body,
                     "{\"trim\":{\"id\":\"" SNAPSHOT "\",\"volume_id\":\"" VOLUME
                     "\",\"instance_uuid\":\"" INSTANCE "\"}}");
    scene->endpoint[0] = '\0';
    ck_assert_int_eq(request_trim(scene, true), EVENT_REFUSED);
    ck_assert_int_eq(request_trim(nova, false), EVENT_REFUSED);
    ck_assert_int_eq(nova->err.kind, ERROR_BAD_REQUEST);
    scene_end(nova);
    scene_end(scene);
}
END_TEST

CHECK_MAIN("compute_events", snapshots_of_novas_servers_are_requested_from_nova_beside_agents,
           nova_gets_one_volume_at_a_time_whichever_option_names_it,
           the_catalog_leads_to_the_compute_service,
           an_accepted_event_is_one_request_in_the_right_form,
           an_event_with_a_name_goes_to_the_compute_service_itself,
           without_a_compute_service_an_event_with_a_name_is_refused,
           our_event_is_found_among_others, a_refusal_of_the_service_itself_is_final,
           a_response_that_may_be_an_intermediarys_is_unknown,
           a_host_that_is_not_there_is_a_refusal, a_host_without_an_agent_is_a_refusal,
           an_incomplete_response_is_unknown, a_plain_event_requests_the_lowest_version,
           a_service_that_promises_the_report_gets_the_event_at_that_version,
           the_range_is_remembered_for_a_while, versions_are_compared_as_numbers,
           a_range_that_cannot_be_read_sends_nothing,
           without_a_promised_version_nothing_is_sent_but_plain_events,
           an_endpoint_with_a_project_is_cut_back_for_the_document,
           options_that_cannot_work_are_refused_at_the_start, a_real_server_is_understood,
           a_host_is_requested_to_take_a_snapshot, a_host_is_requested_to_merge_files,
           an_agent_that_is_too_old_is_to_be_upgraded, only_a_certain_refusal_of_a_host_is_one,
           only_our_own_agent_is_requested_again, a_host_that_hangs_is_not_waited_for_twice,
           only_our_own_agents_have_a_guest_trim)
