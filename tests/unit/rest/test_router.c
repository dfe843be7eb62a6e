#include "rest/router.h"

#include "api/routes.h"
#include "api/type/resource.h"
#include "api/volume/resource.h"
#include "common/cleanup.h"
#include "identity/identity.h"
#include "model/type/type.h"
#include "policy/rule.h"
#include "tests/lib/check_main.h"
#include "tests/lib/exchange.h"
#include "tests/lib/postgresql.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* clang-format off */
#define PROJECT    "0123456789abcdef"
#define VOLUME     "11111111-1111-4111-8111-111111111111"
#define OTHERS     "22222222-2222-4222-8222-222222222222"
#define ATTACHMENT "33333333-3333-4333-8333-333333333333"
#define OTHERS_ATT "44444444-4444-4444-8444-444444444444"
#define TYPE       "55555555-5555-4555-8555-555555555555"
#define OPERATION  "66666666-6666-4666-8666-666666666666"
/* clang-format on */

/* ---- a small API ---- */

struct thing {
    const char *name;
    int64_t size_gb;
    const char *late;
};

static const struct field thing_fields[] = {
    FIELD_NAME1(struct thing, name, "name", FIELD_REQUIRED),
    FIELD_SIZE(struct thing, size_gb, "size", 0),
    { .name = "late",
      .type = FIELD_TYPE_TEXT,
      .offset = offsetof(struct thing, late),
      .max = 9,
      .since = 40 },
    FIELDS_END,
};

static int echo(struct request *request, const char *what) {
    const struct thing *thing = request->body;
    struct json_out *out = &request->out;

    out_begin_object(out);
    out_put_text(out, "what", what);
    out_put_text(out, "id", request->id);
    out_put_text(out, "key", request->key);
    out_put_int(out, "minor", request->minor);
    if (thing) {
        out_put_text(out, "name", thing->name);
        out_put_int(out, "size", thing->size_gb);
        out_put_text(out, "late", thing->late);
    }
    out_end_object(out);
    return 0;
}

#define ECHO(name)                                                \
    static int name(struct request *request, struct error *err) { \
        (void)err;                                                \
        return echo(request, #name);                              \
    }
ECHO(list)
ECHO(detail)
ECHO(show)
ECHO(create)
ECHO(put_key)
ECHO(act)
ECHO(act_late)

static int show_body(struct request *request, struct error *err) {
    (void)err;
    if (request->json)
        out_value(&request->out, request->json);
    return 0;
}

static int show_pairs(struct request *request, struct error *err) {
    const struct pairs pairs = request_pairs(request, request->json);

    (void)err;
    out_begin_array(&request->out);
    for (unsigned i = 0; i < pairs.count; i++) {
        out_text(&request->out, pairs.items[i].key);
        out_text(&request->out, pairs.items[i].value);
    }
    out_end_array(&request->out);
    return 0;
}

static int show_query(struct request *request, struct error *err) {
    const struct pair *pairs;
    unsigned count = request_queries(request, &pairs);

    (void)err;
    out_begin_object(&request->out);
    out_put_text(&request->out, "a", request_query(request, "a"));
    out_put_int(&request->out, "count", count);
    out_put_text(&request->out, "last", count ? pairs[count - 1].value : NULL);
    out_key(&request->out, "links");
    request_links(request, "things", "x");
    out_end_object(&request->out);
    return 0;
}

static int show_volume(struct request *request, struct error *err) {
    const struct volume *volume = request->object;

    (void)err;
    out_text(&request->out, volume->name);
    request_header(request, "Etag", "e");
    return 0;
}

static int show_type(struct request *request, struct error *err) {
    const struct volume_type *type = request->object;

    (void)err;
    out_text(&request->out, type->name);
    return 0;
}

static int show_caller(struct request *request, struct error *err) {
    const struct context *context = request->work.context;

    (void)err;
    out_begin_object(&request->out);
    out_put_text(&request->out, "user", context->user_id);
    out_put_text(&request->out, "project", context->project_id);
    out_put_bool(&request->out, "admin", context->is_admin);
    out_put_text(&request->out, "request_id", context->request_id);
    out_put_text(&request->out, "log_id", context->log.request_id);
    out_put_text(&request->out, "log_project", context->log.project_id);
    out_put_text(&request->out, "global", context->global_request_id);
    out_put_bool(&request->out, "may", request_allows(request, "volume:force_delete", NULL));
    out_end_object(&request->out);
    return 0;
}

static int break_down(struct request *request, struct error *err) {
    request_header(request, "X-Half", "written");
    out_begin_object(&request->out);
    return error_set(err, ERROR_INTERNAL, "table sits on the floor");
}

static int go_over_quota(struct request *request, struct error *err) {
    if (db_run(request->work.tx, err, "UPDATE volumes SET display_name = 'changed'") < 0)
        return -1;
    return error_set(err, ERROR_OVER_QUOTA, "VolumeLimitExceeded: too many");
}

static int rename_volume(struct request *request, struct error *err) {
    request->status = 412;
    return db_run(request->work.tx, err, "UPDATE volumes SET display_name = $1 WHERE id = $2",
                  DB_TEXT("renamed"), DB_TEXT(request->id));
}

static int begin_waiting(struct request *request, struct error *err) {
    request->wait_operation = OPERATION;
    return db_change(
        request->work.tx, err,
        "INSERT INTO operations (id, kind, target_id, volume_id, host, phase, project_id, "
        "user_id, request_id, attempts, created_at) VALUES ($1, 'connect', 't', 'v', 'h', "
        "'queued', 'p', 'u', 'r', 0, 1)",
        DB_TEXT(OPERATION));
}

static int after_waiting(struct request *request, struct error *err) {
    int64_t left = 0;

    if (db_query_int(request->work.tx, &left, err, "SELECT COUNT(*) FROM operations") < 0)
        return -1;
    if (request_query(request, "fail"))
        return error_set(err, ERROR_BACKEND, "the backend cannot");
    out_begin_object(&request->out);
    out_put_text(&request->out, "waited", request->wait_operation);
    out_put_int(&request->out, "left", left);
    out_end_object(&request->out);
    return 0;
}

/* Responses of these are described nowhere: ROUTE_TEXT. */
/* clang-format off */
static const struct route thing_routes[] = {
    { .method = "GET", .path = "/things", .handler = list, .status = 200, .flags = ROUTE_TEXT },
    { .method = "GET", .path = "/things/detail", .handler = detail, .status = 200, .flags = ROUTE_TEXT },
    { .method = "GET", .path = "/things/{id}", .handler = show, .status = 200, .flags = ROUTE_TEXT },
    { .method = "GET", .path = "/things/late", .since = 50, .handler = show, .status = 200, .flags = ROUTE_TEXT },
    { .method = "GET", .path = "/things/query", .handler = show_query, .status = 200, .flags = ROUTE_TEXT },
    { .method = "GET", .path = "/things/caller", .handler = show_caller, .status = 200, .flags = ROUTE_TEXT },
    { .method = "GET", .path = "/things/broken", .handler = break_down, .status = 200, .flags = ROUTE_TEXT },
    { .method = "DELETE", .path = "/things/{id}", .handler = show, .status = 200, .flags = ROUTE_TEXT },
    { .method = "PATCH", .path = "/things/{id}", .flags = ROUTE_ABSENT },
    { .method = "POST", .path = "/things", .wrapper = "thing", .fields = thing_fields,
      .body_size = sizeof(struct thing), .handler = create, .status = 202, .flags = ROUTE_TEXT },
    { .method = "POST", .path = "/things/lax", .wrapper = "thing", .fields = thing_fields,
      .body_size = sizeof(struct thing), .handler = create, .status = 202,
      .flags = ROUTE_OPEN | ROUTE_OPEN_OUTER | ROUTE_NULL_VALUE | ROUTE_TEXT },
    { .method = "POST", .path = "/things/later", .wrapper = "thing", .fields = thing_fields,
      .body_size = sizeof(struct thing), .handler = create, .status = 202,
      .flags = ROUTE_STRICT_LATE | ROUTE_TEXT },
    { .method = "POST", .path = "/things/bare", .fields = thing_fields,
      .body_size = sizeof(struct thing), .handler = create, .status = 202,
      .flags = ROUTE_NO_WRAPPER | ROUTE_TEXT },
    { .method = "POST", .path = "/things/any", .handler = show_body, .status = 204,
      .flags = ROUTE_ANY_VALUE | ROUTE_TEXT },
    { .method = "POST", .path = "/things/raw", .wrapper = "thing", .handler = show_body,
      .status = 200, .flags = ROUTE_TEXT },
    { .method = "POST", .path = "/things/pairs", .wrapper = "thing", .handler = show_pairs,
      .status = 200, .flags = ROUTE_TEXT },
    { .method = "PUT", .path = "/things/{id}/metadata/{key}", .handler = put_key, .status = 200, .flags = ROUTE_TEXT },
    { .method = "POST", .path = "/things/{id}/action", .action = "act", .fields = thing_fields,
      .body_size = sizeof(struct thing), .handler = act, .status = 202, .flags = ROUTE_TEXT },
    { .method = "POST", .path = "/things/{id}/action", .action = "act-late", .since = 50,
      .fields = thing_fields, .body_size = sizeof(struct thing), .handler = act_late, .status = 202, .flags = ROUTE_TEXT },
    { .method = "POST", .path = "/things/{id}/action", .action = "any", .handler = show_body,
      .status = 202, .flags = ROUTE_ANY_VALUE | ROUTE_TEXT },
    { .method = "POST", .path = "/things/{id}/action", .action = "absent", .flags = ROUTE_ABSENT },
    ROUTES_END,
};

static const struct route object_routes[] = {
    { .method = "GET", .path = "/volumes/{id}", .resource = &volume_resource, .rule = "volume:get",
      .handler = show_volume, .status = 200, .flags = ROUTE_TEXT },
    { .method = "PUT", .path = "/volumes/{id}", .resource = &volume_resource, .rule = "volume:update",
      .handler = rename_volume, .status = 200, .flags = ROUTE_TEXT },
    { .method = "DELETE", .path = "/volumes/{id}", .resource = &volume_resource,
      .rule = "volume:force_delete", .handler = rename_volume, .status = 202, .flags = ROUTE_TEXT },
    { .method = "GET", .path = "/types/{id}", .resource = &type_resource, .rule = "volume_extension:type_get",
      .handler = show_type, .status = 200, .flags = ROUTE_TEXT },
    { .method = "POST", .path = "/quota", .handler = go_over_quota, .status = 202, .flags = ROUTE_TEXT },
    { .method = "POST", .path = "/wait", .handler = begin_waiting, .status = 200,
      .after = after_waiting, .flags = ROUTE_TEXT },
    ROUTES_END,
};
/* clang-format on */

const struct route *const api_routes[] = { thing_routes, object_routes, attachment_routes,
                                           extension_routes, NULL };

/* ---- the service around it ---- */

static const char *const member_roles[] = { "member", "reader", NULL };
static const char *const guest_roles[] = { "guest", NULL };

/* A caller that becomes known in another thread. */
struct latecomer {
    const char *token;
    struct http_exchange *exchange;
    struct context *context;
    const struct identity_later *later;
};

static void *come_late(void *arg) {
    const struct latecomer *late = arg;
    bool known = strcmp(late->token, "late") == 0;
    struct error err = { .kind = ERROR_NONE };

    if (known) {
        late->context->user_id = "late";
        late->context->project_id = PROJECT;
        late->context->roles = member_roles;
    } else {
        http_add_header(late->exchange, "WWW-Authenticate", "somewhere");
        error_set(&err, ERROR_UNAUTHORIZED, "Unknown caller.");
    }
    late->later->tell(late->later->arg, known ? IDENTITY_KNOWN : IDENTITY_FAILED, &err);
    return NULL;
}

static enum identity_outcome start_latecomer(const struct latecomer *values) {
    struct latecomer *late = arena_copy(values->exchange->arena, values, sizeof(*values));
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, come_late, late), 0);
    pthread_detach(thread);
    return IDENTITY_LATER;
}

/* X-Auth-Token: "member", "guest", "none"; all others are left to the real one. */
static enum identity_outcome authenticate(const struct identity *identity,
                                          struct http_exchange *exchange, const char *path_project,
                                          const struct identity_later *later,
                                          struct context *context, struct error *err) {
    const char *token = http_header(exchange, "X-Auth-Token");

    (void)identity;
    if (token && strcmp(token, "none") == 0)
        return error_set(err, ERROR_UNAUTHORIZED, "The token is not valid.");
    if (token && strncmp(token, "late", 4) == 0)
        return start_latecomer(&(struct latecomer){ token, exchange, context, later });
    if (token && strcmp(token, "unscoped") == 0)
        return IDENTITY_KNOWN;
    if (!token || (strcmp(token, "member") != 0 && strcmp(token, "guest") != 0))
        return identity_none.authenticate(identity, exchange, path_project, later, context, err);
    context->user_id = token;
    context->project_id = PROJECT;
    context->roles = token[0] == 'm' ? member_roles : guest_roles;
    return IDENTITY_KNOWN;
}

static const struct identity identity = { .name = "test", .authenticate = authenticate };

struct service {
    char directory[64];
    struct db *db;
    struct settings settings;
    struct policy *policy;
    struct api *api;
};

static int sql_body(struct db_tx *tx, void *sql, struct error *err) {
    return db_run(tx, err, (const char *)sql);
}

static void sql(struct service *service, const char *text) {
    struct error err;

    ck_assert_msg(db_transaction(service->db, sql_body, (void *)(uintptr_t)text, &err) >= 0, "%s",
                  err.message);
}

static void fill(struct service *service) {
    static const char *const columns =
        "INSERT INTO volumes (id, project_id, user_id, availability_zone, display_name, size_gb, "
        "largest_gb, status, status_by_reset, attach_status, bootable, multiattach, use_quota, "
        "created_at) VALUES ";
    char text[1024];

    snprintf(text, sizeof(text),
             "%s('" VOLUME "', '" PROJECT "', 'u', 'nova', 'mine', 1, 1, 'available', 0, "
             "'detached', 0, 0, 1, 5), ('" OTHERS "', 'ffff', 'u', 'nova', 'theirs', 1, 1, "
             "'available', 0, 'detached', 0, 0, 1, 6)",
             columns);
    sql(service, text);
    sql(service, "INSERT INTO attachments (id, volume_id, project_id, mountpoint, attach_status, "
                 "created_at) VALUES ('" ATTACHMENT "', '" VOLUME "', '" PROJECT
                 "', '/dev/vdb', 'attached', 5), ('" OTHERS_ATT "', '" OTHERS
                 "', 'ffff', '/dev/vdc', 'attached', 6)");
    sql(service, "INSERT INTO volume_types (id, name, is_public, created_at) VALUES ('" TYPE
                 "', 'gold', 1, 5)");
}

/* Everything but the API. */
static void service_prepare(struct service *service, bool threaded) {
    struct db_settings db = { .url = database_url(), .inline_writes = !threaded };
    struct error err = { .kind = ERROR_NONE };
    char url[128];

    *service = (struct service){ .directory = "/tmp/scoria-router-XXXXXX" };
    log_open(-1, LOG_ERROR, LOG_TEXT);
    ck_assert_ptr_nonnull(mkdtemp(service->directory));
    snprintf(url, sizeof(url), "sqlite://%s/db", service->directory);
    if (threaded)
        db.url = url;
    ck_assert_msg(db_open(&db, &service->db, &err) == 0, "%s", err.message);
    ck_assert_int_eq(policy_load(&(struct policy_settings){ .enforce_new_defaults = true },
                                 &service->policy, &err),
                     0);
    fill(service);
    service->settings = (struct settings){ .clock = &clock_system, .max_limit = 1000 };
}

static int service_start_api(struct service *service, bool threaded,
                             const struct api_settings *more, struct error *err) {
    struct api_settings api = *more;

    api.db = service->db;
    api.settings = &service->settings;
    api.policy = service->policy;
    api.identity = &identity;
    api.inline_transactions = !threaded;
    return api_new(&api, &service->api, err);
}

static void service_start(struct service *service, bool threaded, const struct api_settings *more) {
    struct error err = { .kind = ERROR_NONE };

    service_prepare(service, threaded);
    ck_assert_msg(service_start_api(service, threaded, more, &err) == 0, "%s", err.message);
}

static void service_end(struct service *service) {
    static const char *const names[] = { "db", "db-wal", "db-shm", "db-reserve" };

    api_free(service->api);
    db_close(service->db);
    policy_free(service->policy);
    for (size_t i = 0; i < LENGTH(names); i++) {
        char path[128];

        snprintf(path, sizeof(path), "%s/%s", service->directory, names[i]);
        unlink(path);
    }
    rmdir(service->directory);
}
#define autoservice __attribute__((cleanup(service_end)))
#define SERVICE(...)                    \
    autoservice struct service service; \
    service_start(&service, false, &(const struct api_settings){ .db = NULL, ##__VA_ARGS__ })

/* ---- requests ---- */

#define HEADERS 6

struct answer {
    struct test_exchange *test;
    int status;
};

static void answer_free(struct answer *answer) {
    test_exchange_free(answer->test);
}
#define autoanswer __attribute__((cleanup(answer_free), unused))

static struct answer send_to(struct service *service, const char *method, const char *path,
                             const char *query, const struct http_header *headers,
                             const char *body) {
    struct answer answer = { .test = test_exchange_new(method, path, headers, body) };

    test_exchange_of(answer.test)->query = query;
    api_handle(service->api, test_exchange_of(answer.test));
    return answer;
}

#define JSON_TYPE \
    { "Content-Type", "application/json" }
#define WITH(...) ((const struct http_header[]){ __VA_ARGS__, { NULL, NULL } })

/* Sends and expects the status. */
static struct answer request_with(struct service *service, const char *method, const char *path,
                                  const struct http_header *headers, const char *body, int status) {
    struct answer answer = send_to(service, method, path, "", headers, body);

    answer.status = test_exchange_await(answer.test);
    ck_assert_msg(answer.status == status, "%s %s: %d instead of %d: %.*s", method, path,
                  answer.status, status, (int)test_exchange_of(answer.test)->reply_size,
                  test_exchange_of(answer.test)->reply_body);
    return answer;
}

static struct answer send_request(struct service *service, const char *method, const char *path,
                                  const char *body, int status) {
    return request_with(service, method, path, WITH(JSON_TYPE), body, status);
}

static const char *text_of(const struct answer *answer, const char *key) {
    return json_string_value(json_object_get(test_exchange_json(answer->test), key));
}

static json_int_t number_of(const struct answer *answer, const char *key) {
    return json_integer_value(json_object_get(test_exchange_json(answer->test), key));
}

static const char *body_of(const struct answer *answer) {
    return test_exchange_of(answer->test)->reply_body;
}

static const char *message_of(const struct answer *answer) {
    const json_t *fault = json_object_iter_value(
        json_object_iter((json_t *)(uintptr_t)test_exchange_json(answer->test)));

    return json_string_value(json_object_get(fault, "message"));
}

static void expect_what(struct service *service, const char *path, const char *what) {
    autoanswer struct answer answer = send_request(service, "GET", path, NULL, 200);

    ck_assert_str_eq(text_of(&answer, "what"), what);
}

/* Status only. */
static void expect(struct service *service, const char *method, const char *path, const char *body,
                   int status) {
    autoanswer struct answer answer = send_request(service, method, path, body, status);
}

/* ---- paths ---- */

START_TEST(both_spellings_and_the_suffix_reach_the_route) {
    SERVICE();

    expect_what(&service, "/v3/things", "list");
    expect_what(&service, "/v3/" PROJECT "/things", "list");
    expect_what(&service, "/v3/things.json", "list");
    expect_what(&service, "/v3/abc-def/things/detail.json", "detail");
    expect_what(&service, "/v3/things/detail", "detail");
    expect_what(&service, "/v3/things/0123", "show");
    expect(&service, "HEAD", "/v3/things", NULL, 200);
}
END_TEST

START_TEST(segments_are_decoded_and_keys_keep_their_ending) {
    SERVICE();
    autoanswer struct answer answer =
        send_request(&service, "PUT", "/v3/things/a%20b/metadata/x%2Fy.json", NULL, 200);
    autoanswer struct answer plain = send_request(&service, "GET", "/v3/things/x.json", NULL, 200);

    ck_assert_str_eq(text_of(&answer, "id"), "a b");
    ck_assert_str_eq(text_of(&answer, "key"), "x/y.json");
    ck_assert_str_eq(text_of(&plain, "id"), "x");
}
END_TEST

static void expect_page(struct service *service, const char *method, const char *path) {
    autoanswer struct answer answer = send_request(service, method, path, NULL, 404);

    ck_assert_str_eq(body_of(&answer), "The resource could not be found.\n");
    ck_assert_ptr_nonnull(test_exchange_header(answer.test, "x-openstack-request-id"));
    ck_assert_ptr_null(test_exchange_header(answer.test, "x-compute-request-id"));
    ck_assert_ptr_null(test_exchange_header(answer.test, "OpenStack-API-Version"));
    ck_assert_ptr_null(test_exchange_header(answer.test, "Vary"));
}

START_TEST(unserved_paths_get_a_plain_404) {
    static const char *const paths[] = {
        "/v3/admin/things",
        "/v3/things/",
        "/v3/things//",
        "/v3/nothing",
        "/v3/" PROJECT,
        "/v3/" PROJECT "/",
        "/v2/things",
        "/things",
        "/v3/things/%zz",
        "/v3/things/%00",
        "/v3/things/%ff",
        "/v3/things/a/b/c",
        "/v3/1/2/3/4/5/6/7/8/9/10",
        "*",
        "/v3x",
        "",
    };
    SERVICE();

    for (size_t i = 0; i < LENGTH(paths); i++)
        expect_page(&service, "GET", paths[i]);
    expect_page(&service, "OPTIONS", "/v3/things");
    expect_page(&service, "GET", "/v3/things/x/action");
    expect_page(&service, "POST", "/");
    expect_page(&service, "DELETE", "/v3/");
}
END_TEST

START_TEST(slashes_in_a_row_are_one) {
    SERVICE();

    expect_what(&service, "/v3//things", "list");
    expect_what(&service, "//v3///things//detail", "detail");
    expect_what(&service, "/v3//" PROJECT "//things", "list");
}
END_TEST

START_TEST(another_regex_for_projects_is_taken) {
    SERVICE(.project_id_regex = "[a-z\\-]+");

    expect_what(&service, "/v3/some-project/things", "list");
    expect_what(&service, "/v3/things/detail", "detail");
    expect_page(&service, "GET", "/v3/a\\b/things");
    expect_page(&service, "GET", "/v3/0123/things");
}
END_TEST

START_TEST(the_default_regex_can_be_configured_explicitly) {
    SERVICE(.project_id_regex = "[0-9a-f\\-]+");

    expect_what(&service, "/v3/ab-12/things", "list");
    expect_page(&service, "GET", "/v3/xyz/things");
}
END_TEST

START_TEST(a_bad_regex_is_refused_at_start) {
    autoservice struct service service;
    struct error err = { .kind = ERROR_NONE };

    service_prepare(&service, false);
    ck_assert_int_eq(service_start_api(&service, false,
                                       &(struct api_settings){ .project_id_regex = "[a-" }, &err),
                     -1);
    ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
    ck_assert(strstr(err.message, "project_id_regex"));
    ck_assert_ptr_null(service.api);
}
END_TEST

/* ---- places that are no resource ---- */

static void expect_both_ids(const struct answer *answer) {
    ck_assert_str_eq(test_exchange_header(answer->test, "x-compute-request-id"),
                     test_exchange_header(answer->test, "x-openstack-request-id"));
}

START_TEST(the_version_documents_stand_where_clients_look) {
    SERVICE(.public_endpoint = "https://example.org/volume/");
    autoanswer struct answer root = send_request(&service, "GET", "/", NULL, 300);
    autoanswer struct answer v3 = send_request(&service, "GET", "/v3/", NULL, 200);
    autoanswer struct answer redirect = send_request(&service, "GET", "/v3", NULL, 302);
    autoanswer struct answer wrong = request_with(
        &service, "GET", "/", WITH({ "OpenStack-API-Version", "volume 3.72" }), NULL, 406);

    ck_assert_str_eq(body_of(&root), body_of(&v3));
    ck_assert_ptr_nonnull(strstr(body_of(&root), "https://example.org/volume/v3/"));
    ck_assert_str_eq(test_exchange_header(v3.test, "OpenStack-API-Version"), "volume 3.0");
    ck_assert_str_eq(test_exchange_header(redirect.test, "Location"),
                     "https://example.org/volume/v3/");
    ck_assert_str_eq(test_exchange_header(redirect.test, "Content-Type"),
                     "text/plain; charset=UTF-8");
    ck_assert_str_eq(test_exchange_header(wrong.test, "OpenStack-API-Version"), "volume 3.72");
    expect_both_ids(&root);
    expect_both_ids(&v3);
    expect_both_ids(&wrong);
}
END_TEST

START_TEST(the_health_check_needs_no_authentication) {
    SERVICE();
    autoanswer struct answer answer =
        request_with(&service, "GET", "/healthcheck", WITH({ "X-Auth-Token", "none" }), NULL, 200);

    ck_assert_str_eq(body_of(&answer), "OK");
    ck_assert_str_eq(test_exchange_header(answer.test, "Content-Type"),
                     "text/plain; charset=UTF-8");
}
END_TEST

START_TEST(the_description_of_the_api_is_public_and_generated_once) {
    SERVICE();
    autoanswer struct answer answer =
        request_with(&service, "GET", "/openapi.json", WITH({ "X-Auth-Token", "none" }), NULL, 200);
    autoanswer struct answer again = send_request(&service, "GET", "/openapi.json", NULL, 200);
    struct http_exchange *http = test_exchange_of(answer.test);

    ck_assert_uint_lt(arena_bytes(http->arena), http->reply_size);
    ck_assert_ptr_nonnull(
        json_object_get(json_object_get(test_exchange_json(answer.test), "paths"), "/things/late"));
    ck_assert_ptr_eq(http->reply_body, test_exchange_of(again.test)->reply_body);
    ck_assert_ptr_nonnull(http->refuse);
}
END_TEST

/* ---- the caller ---- */

START_TEST(a_bad_token_stops_everything) {
    SERVICE();
    autoanswer struct answer answer =
        request_with(&service, "GET", "/v3/nothing", WITH({ "X-Auth-Token", "none" }), NULL, 401);
    autoanswer struct answer versions =
        request_with(&service, "GET", "/v3/", WITH({ "X-Auth-Token", "none" }), NULL, 401);

    ck_assert_ptr_nonnull(json_object_get(test_exchange_json(answer.test), "error"));
}
END_TEST

START_TEST(a_caller_may_become_known_later) {
    SERVICE();

    for (unsigned i = 0; i < 20; i++) {
        autoanswer struct answer known =
            request_with(&service, "GET", "/v3/" PROJECT "/things/caller",
                         WITH({ "X-Auth-Token", "late" }), NULL, 200);
        autoanswer struct answer unknown = request_with(
            &service, "GET", "/v3/things/caller", WITH({ "X-Auth-Token", "late no" }), NULL, 401);

        ck_assert_str_eq(text_of(&known, "user"), "late");
        ck_assert_str_eq(test_exchange_header(unknown.test, "WWW-Authenticate"), "somewhere");
    }
}
END_TEST

START_TEST(the_handshake_answers_for_the_router) {
    SERVICE();
    autoanswer struct answer answer = request_with(
        &service, "GET", "/v3", WITH({ "X-Auth-User", "joe" }, { "Host", "h" }), NULL, 204);

    ck_assert_str_eq(test_exchange_header(answer.test, "X-Auth-Token"), "joe:admin");
    ck_assert_ptr_nonnull(test_exchange_header(answer.test, "x-openstack-request-id"));
}
END_TEST

START_TEST(the_context_is_complete) {
    static const char given[] = "req-12345678-1234-4234-8234-123456789abc";
    SERVICE();
    autoanswer struct answer admin =
        request_with(&service, "GET", "/v3/" PROJECT "/things/caller",
                     WITH({ "X-OpenStack-Request-ID", given }), NULL, 200);
    autoanswer struct answer member = request_with(
        &service, "GET", "/v3/things/caller",
        WITH({ "X-Auth-Token", "member" }, { "X-OpenStack-Request-ID", "req-evil" }), NULL, 200);
    autoanswer struct answer almost = request_with(
        &service, "GET", "/v3/things/caller",
        WITH({ "X-OpenStack-Request-ID", "req-1234567812344234823412345678-9-a-b-c" }), NULL, 200);
    const char *id = text_of(&admin, "request_id");

    ck_assert_str_eq(text_of(&admin, "project"), PROJECT);
    ck_assert_str_eq(text_of(&admin, "log_project"), PROJECT);
    ck_assert_str_eq(text_of(&admin, "global"), given);
    ck_assert_ptr_nonnull(strstr(body_of(&admin), "\"admin\":true"));
    ck_assert_uint_eq(strlen(id), strlen(given));
    ck_assert_str_ne(id, given);
    ck_assert_str_eq(id, test_exchange_header(admin.test, "x-openstack-request-id"));
    ck_assert_str_eq(id, test_exchange_header(admin.test, "x-compute-request-id"));
    ck_assert_str_eq(id, text_of(&admin, "log_id"));
    ck_assert_ptr_nonnull(strstr(body_of(&member), "\"admin\":false"));
    ck_assert_ptr_nonnull(strstr(body_of(&member), "\"may\":false"));
    ck_assert_ptr_null(text_of(&member, "global"));
    ck_assert_str_ne(text_of(&member, "request_id"), id);
}
END_TEST

START_TEST(the_paths_project_must_be_the_tokens) {
    SERVICE();
    autoanswer struct answer answer = request_with(&service, "GET", "/v3/ffff/things",
                                                   WITH({ "X-Auth-Token", "joe:0000" }), NULL, 400);
    autoanswer struct answer unscoped = request_with(
        &service, "GET", "/v3/ffff/things", WITH({ "X-Auth-Token", "unscoped" }), NULL, 400);

    ck_assert_str_eq(message_of(&answer), "Malformed request url");
}
END_TEST

/* ---- versions and media types ---- */

START_TEST(answers_carry_the_version_that_was_used) {
    SERVICE();
    autoanswer struct answer answer = request_with(
        &service, "GET", "/v3/things", WITH({ "OpenStack-API-Version", "volume 3.5" }), NULL, 200);
    autoanswer struct answer fault =
        request_with(&service, "GET", "/v3/volumes/x",
                     WITH({ "OpenStack-API-Version", "volume latest" }), NULL, 404);
    autoanswer struct answer bad = request_with(
        &service, "GET", "/v3/things", WITH({ "OpenStack-API-Version", "volume" }), NULL, 400);

    ck_assert_int_eq(number_of(&answer, "minor"), 5);
    ck_assert_str_eq(test_exchange_header(answer.test, "OpenStack-API-Version"), "volume 3.5");
    ck_assert_str_eq(test_exchange_header(answer.test, "Vary"), "OpenStack-API-Version");
    ck_assert_str_eq(test_exchange_header(fault.test, "OpenStack-API-Version"), "volume 3.71");
    ck_assert_ptr_null(test_exchange_header(bad.test, "OpenStack-API-Version"));
    ck_assert_ptr_null(test_exchange_header(bad.test, "Vary"));
}
END_TEST

START_TEST(a_route_does_not_exist_before_its_version) {
    SERVICE();
    autoanswer struct answer early =
        request_with(&service, "GET", "/v3/things/late",
                     WITH({ "OpenStack-API-Version", "volume 3.49" }), NULL, 404);
    autoanswer struct answer late =
        request_with(&service, "GET", "/v3/things/late",
                     WITH({ "OpenStack-API-Version", "volume 3.50" }), NULL, 200);

    ck_assert_ptr_nonnull(json_object_get(test_exchange_json(early.test), "itemNotFound"));
}
END_TEST

START_TEST(only_json_bodies_are_taken) {
    static const char body[] = "{\"thing\": {\"name\": \"n\"}}";
    static const struct {
        const char *type;
        int status;
    } cases[] = {
        { "application/json", 202 },
        { "Application/JSON; charset=utf-8", 202 },
        { "application/vnd.openstack.volume+json", 202 },
        { "application/jsonx", 415 },
        { "text/plain", 415 },
        { "", 415 },
    };
    SERVICE();

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autoanswer struct answer answer =
            request_with(&service, "POST", "/v3/things", WITH({ "Content-Type", cases[i].type }),
                         body, cases[i].status);
    }
    autoanswer struct answer none = request_with(&service, "POST", "/v3/things", NULL, body, 400);
    autoanswer struct answer empty = request_with(
        &service, "GET", "/v3/things", WITH({ "Content-Type", "text/plain" }), NULL, 200);
    autoanswer struct answer got = request_with(&service, "GET", "/v3/things",
                                                WITH({ "Content-Type", "text/plain" }), "x", 415);
}
END_TEST

START_TEST(a_body_above_the_limit_is_refused) {
    SERVICE();
    struct test_exchange *test = test_exchange_new("POST", "/v3/things", WITH(JSON_TYPE), NULL);

    test_exchange_of(test)->too_large = true;
    api_handle(service.api, test_exchange_of(test));
    ck_assert_int_eq(test_exchange_await(test), 413);
    ck_assert_ptr_null(test_exchange_header(test, "Retry-After"));
    ck_assert_str_eq(test_exchange_header(test, "Content-Type"), "text/plain; charset=UTF-8");
    test_exchange_free(test);
}
END_TEST

START_TEST(a_malformed_or_crowded_request_reaches_nothing) {
    static const struct {
        const char *path, *malformed;
        bool over_limit;
        int status;
    } cases[] = {
        { "/v3/things", "why", false, 400 }, { "/healthcheck", "why", false, 400 },
        { "*", "why", false, 400 },          { "/v3/things", NULL, true, 503 },
        { "/healthcheck", NULL, true, 200 }, { "/openapi.json", NULL, true, 503 },
    };
    SERVICE();

    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct test_exchange *test = test_exchange_new("GET", cases[i].path, NULL, NULL);

        test_exchange_of(test)->malformed = cases[i].malformed;
        test_exchange_of(test)->over_limit = cases[i].over_limit;
        api_handle(service.api, test_exchange_of(test));
        ck_assert_int_eq(test_exchange_await(test), cases[i].status);
        ck_assert_ptr_nonnull(test_exchange_header(test, "x-openstack-request-id"));
        test_exchange_free(test);
    }
}
END_TEST

/* ---- bodies ---- */

START_TEST(a_wrapped_body_is_decoded) {
    SERVICE();
    autoanswer struct answer answer = send_request(
        &service, "POST", "/v3/things", "{\"thing\": {\"name\": \"n\", \"size\": 3}}", 202);

    ck_assert_str_eq(text_of(&answer, "what"), "create");
    ck_assert_str_eq(text_of(&answer, "name"), "n");
    ck_assert_int_eq(number_of(&answer, "size"), 3);
}
END_TEST

START_TEST(bad_bodies_are_bad_requests) {
    static const char *const bodies[] = {
        "",
        "{",
        "[]",
        "\"x\"",
        "null",
        "{}",
        "{\"other\": {}}",
        "{\"thing\": null}",
        "{\"thing\": []}",
        "{\"thing\": {}}",
        "{\"thing\": {\"name\": \"\"}}",
        "{\"thing\": {\"name\": \"n\", \"more\": 1}}",
        "{\"thing\": {\"name\": \"n\"}, \"x\": 1}",
        "{\"thing\": {\"name\": \"n\", \"late\": \"x\"}}",
    };
    SERVICE();

    for (size_t i = 0; i < LENGTH(bodies); i++) {
        autoanswer struct answer answer =
            send_request(&service, "POST", "/v3/things", bodies[i], 400);

        ck_assert_ptr_nonnull(json_object_get(test_exchange_json(answer.test), "badRequest"));
    }
}
END_TEST

START_TEST(the_flags_of_a_row_loosen_its_body) {
    static const char more[] = "{\"thing\": {\"name\": \"n\", \"more\": 1}}";
    SERVICE();
    autoanswer struct answer early =
        request_with(&service, "POST", "/v3/things/later",
                     WITH(JSON_TYPE, { "OpenStack-API-Version", "volume 3.52" }), more, 202);
    autoanswer struct answer late =
        request_with(&service, "POST", "/v3/things/later",
                     WITH(JSON_TYPE, { "OpenStack-API-Version", "volume 3.53" }), more, 400);
    autoanswer struct answer null =
        send_request(&service, "POST", "/v3/things/lax", "{\"thing\": null}", 202);
    autoanswer struct answer any = send_request(&service, "POST", "/v3/things/any", "[7]", 204);
    autoanswer struct answer none = send_request(&service, "POST", "/v3/things/any", NULL, 204);
    autoanswer struct answer raw =
        send_request(&service, "POST", "/v3/things/raw", "{\"thing\": [1]}", 200);

    expect(&service, "POST", "/v3/things/lax", "{\"thing\": {\"name\": \"n\", \"x\": 1}, \"y\": 2}",
           202);
    expect(&service, "POST", "/v3/things/bare", "{\"name\": \"n\"}", 202);
    expect(&service, "POST", "/v3/things/bare", "{\"thing\": {\"name\": \"n\"}}", 400);
    expect(&service, "POST", "/v3/things/any", "[7", 400);
    autoanswer struct answer pairs = send_request(&service, "POST", "/v3/things/pairs",
                                                  "{\"thing\": {\"a\": \"1\", \"b\": null}}", 200);
    ck_assert_str_eq(body_of(&pairs), "[\"a\",\"1\",\"b\",null]");
    ck_assert_ptr_null(text_of(&null, "name"));
    ck_assert_str_eq(body_of(&any), "[7]");
    ck_assert_uint_eq(test_exchange_of(none.test)->reply_size, 0);
    ck_assert_str_eq(test_exchange_header(none.test, "Content-Type"), "application/json");
    ck_assert_str_eq(body_of(&raw), "[1]");
}
END_TEST

/* ---- actions ---- */

START_TEST(actions_are_found_by_their_key) {
    SERVICE();
    autoanswer struct answer answer =
        send_request(&service, "POST", "/v3/things/7/action", "{\"act\": {\"name\": \"n\"}}", 202);
    autoanswer struct answer any =
        send_request(&service, "POST", "/v3/things/7/action", "{\"any\": null}", 202);

    ck_assert_str_eq(text_of(&answer, "what"), "act");
    ck_assert_str_eq(text_of(&answer, "id"), "7");
    ck_assert_str_eq(body_of(&any), "null");
}
END_TEST

START_TEST(unknown_actions_are_bad_requests_and_later_ones_not_found) {
    SERVICE();

    expect(&service, "POST", "/v3/things/7/action", "{\"nothing\": {}}", 400);
    expect(&service, "POST", "/v3/things/7/action", "{\"act\": {}, \"any\": {}}", 400);
    expect(&service, "POST", "/v3/things/7/action", "{}", 400);
    expect(&service, "POST", "/v3/things/7/action", "[]", 400);
    expect(&service, "POST", "/v3/things/7/action", "", 400);
    expect(&service, "POST", "/v3/things/7/action", "{\"act\": {}}", 400);
    expect(&service, "POST", "/v3/things/7/action", "{\"act\": null}", 400);
    expect(&service, "POST", "/v3/things/7/action", "{\"act-late\": {\"bad\": 1}}", 404);
    expect(&service, "POST", "/v3/things/7/action", "{\"absent\": {}}", 404);
    expect(&service, "PATCH", "/v3/things/7", "not json", 404);
}
END_TEST

/* ---- queries and links ---- */

START_TEST(queries_are_decoded_and_the_last_one_counts) {
    SERVICE();
    autoanswer struct answer answer =
        send_to(&service, "GET", "/v3/things/query", "a=1&&b&a=%C3%A4+%2B&c=", NULL, NULL);
    autoanswer struct answer bad =
        send_to(&service, "GET", "/v3/things/query", "a=%zz", NULL, NULL);
    char many[600] = "a";

    for (int i = 0; i < 128; i++)
        strcat(many, "&a");
    autoanswer struct answer crowd = send_to(&service, "GET", "/v3/things/query", many, NULL, NULL);
    ck_assert_str_eq(text_of(&answer, "a"), "\xc3\xa4 +");
    ck_assert_int_eq(number_of(&answer, "count"), 4);
    ck_assert_str_eq(text_of(&answer, "last"), "");
    ck_assert_int_eq(test_exchange_await(bad.test), 400);
    ck_assert_int_eq(test_exchange_await(crowd.test), 400);
}
END_TEST

START_TEST(links_follow_the_request) {
    SERVICE();
    autoanswer struct answer with = request_with(&service, "GET", "/v3/" PROJECT "/things/query",
                                                 WITH({ "Host", "h:1" }), NULL, 200);
    autoanswer struct answer without =
        request_with(&service, "GET", "/v3/things/query", WITH({ "Host", "h:1" }), NULL, 200);

    ck_assert_ptr_nonnull(strstr(body_of(&with), "\"http://h:1/v3/" PROJECT "/things/x\""));
    ck_assert_ptr_nonnull(strstr(body_of(&with), "\"http://h:1/" PROJECT "/things/x\""));
    ck_assert_ptr_nonnull(strstr(body_of(&without), "\"http://h:1/v3/things/x\""));
    ck_assert_ptr_nonnull(strstr(body_of(&without), "\"http://h:1/things/x\""));
}
END_TEST

/* ---- objects and policy ---- */

START_TEST(objects_are_loaded_as_visible_to_the_caller) {
    SERVICE();
    const struct http_header *member =
        WITH({ "X-Auth-Token", "member" }, { "OpenStack-API-Version", "volume 3.27" });
    autoanswer struct answer volume =
        request_with(&service, "GET", "/v3/volumes/" VOLUME, member, NULL, 200);
    autoanswer struct answer attachment =
        request_with(&service, "GET", "/v3/attachments/" ATTACHMENT, member, NULL, 200);
    autoanswer struct answer theirs =
        request_with(&service, "GET", "/v3/attachments/" OTHERS_ATT, member, NULL, 404);
    autoanswer struct answer hidden =
        request_with(&service, "GET", "/v3/volumes/" OTHERS, member, NULL, 404);
    autoanswer struct answer type = send_request(&service, "GET", "/v3/types/" TYPE, NULL, 200);
    autoanswer struct answer no_type = send_request(&service, "GET", "/v3/types/x", NULL, 404);

    ck_assert_str_eq(body_of(&volume), "\"mine\"");
    ck_assert_str_eq(test_exchange_header(volume.test, "Etag"), "e");
    ck_assert_ptr_nonnull(strstr(body_of(&attachment), "\"volume_id\":\"" VOLUME "\""));
    ck_assert_str_eq(body_of(&type), "\"gold\"");
    ck_assert_ptr_null(strstr(message_of(&theirs), OTHERS));
    ck_assert_ptr_nonnull(strstr(message_of(&theirs), OTHERS_ATT));
    ck_assert_str_eq(message_of(&hidden), "Volume " OTHERS " could not be found.");
    ck_assert_str_eq(message_of(&no_type), "Volume type x could not be found.");
}
END_TEST

START_TEST(policy_is_enforced_for_the_object) {
    SERVICE();
    const struct http_header *guest = WITH({ "X-Auth-Token", "guest" });
    const struct http_header *member = WITH({ "X-Auth-Token", "member" });
    autoanswer struct answer looks_missing =
        request_with(&service, "GET", "/v3/volumes/" VOLUME, guest, NULL, 404);
    autoanswer struct answer looks_missing_too =
        request_with(&service, "PUT", "/v3/volumes/" VOLUME, guest, NULL, 404);
    autoanswer struct answer admins_only =
        request_with(&service, "DELETE", "/v3/volumes/" VOLUME, member, NULL, 403);

    ck_assert_str_eq(message_of(&looks_missing), "Volume " VOLUME " could not be found.");
    ck_assert_str_eq(message_of(&looks_missing_too), "Volume " VOLUME " could not be found.");
    ck_assert_ptr_nonnull(strstr(message_of(&admins_only), "volume:"));
    autoanswer struct answer unchanged =
        request_with(&service, "GET", "/v3/volumes/" VOLUME, member, NULL, 200);
    ck_assert_str_eq(body_of(&unchanged), "\"mine\"");
}
END_TEST

START_TEST(a_write_takes_effect_with_the_handlers_status) {
    SERVICE();

    expect(&service, "PUT", "/v3/volumes/" VOLUME, NULL, 412);
    autoanswer struct answer answer = request_with(&service, "GET", "/v3/volumes/" VOLUME,
                                                   WITH({ "X-Auth-Token", "member" }), NULL, 200);
    ck_assert_str_eq(body_of(&answer), "\"renamed\"");
}
END_TEST

START_TEST(a_failed_handler_leaves_nothing_behind) {
    SERVICE();
    autoanswer struct answer broken = send_request(&service, "GET", "/v3/things/broken", NULL, 500);
    autoanswer struct answer over = send_request(&service, "POST", "/v3/quota", NULL, 413);
    autoanswer struct answer kept = request_with(&service, "GET", "/v3/volumes/" VOLUME,
                                                 WITH({ "X-Auth-Token", "member" }), NULL, 200);

    ck_assert_ptr_null(strstr(body_of(&broken), "floor"));
    ck_assert_ptr_null(test_exchange_header(broken.test, "X-Half"));
    ck_assert_ptr_nonnull(test_exchange_header(broken.test, "x-compute-request-id"));
    ck_assert_str_eq(test_exchange_header(over.test, "Retry-After"), "0");
    ck_assert_str_eq(body_of(&kept), "\"mine\"");
}
END_TEST

START_TEST(extensions_are_listed_and_shown) {
    SERVICE();
    autoanswer struct answer list_answer =
        send_request(&service, "GET", "/v3/extensions", NULL, 200);
    autoanswer struct answer one =
        send_request(&service, "GET", "/v3/extensions/OS-SCH-HNT", NULL, 200);
    const json_t *extension = json_object_get(test_exchange_json(one.test), "extension");
    static const char *const keys[] = { "name", "alias", "description", "updated", "links" };
    static const char *const absent[] = { "backups", "os-volume-replication" };

    ck_assert_uint_eq(
        json_array_size(json_object_get(test_exchange_json(list_answer.test), "extensions")), 34);
    ck_assert_uint_eq(json_object_size(extension), LENGTH(keys));
    for (size_t i = 0; i < LENGTH(keys); i++)
        ck_assert_ptr_nonnull(json_object_get(extension, keys[i]));
    ck_assert_str_eq(json_string_value(json_object_get(extension, "updated")),
                     "2013-04-18T00:00:00+00:00");
    for (size_t i = 0; i < LENGTH(absent); i++) {
        char path[80];

        snprintf(path, sizeof(path), "/v3/extensions/%s", absent[i]);
        expect(&service, "GET", path, NULL, 404);
    }
    expect(&service, "GET", "/v3/extensions/nothing", NULL, 404);
    expect(&service, "POST", "/v3/extensions", "{}", 404);
}
END_TEST

/* ---- waiting ---- */

START_TEST(a_request_waits_for_its_operation) {
    SERVICE();
    autoanswer struct answer answer = send_to(&service, "POST", "/v3/wait", "", NULL, NULL);

    api_operations_ended(service.api);
    ck_assert_uint_eq(test_exchange_of(answer.test)->reply_size, 0);
    sql(&service, "UPDATE operations SET phase = 'running'");
    api_operations_ended(service.api);
    sql(&service, "UPDATE operations SET phase = 'answered'");
    api_operations_ended(service.api);
    ck_assert_int_eq(test_exchange_await(answer.test), 200);
    ck_assert_str_eq(text_of(&answer, "waited"), OPERATION);
    ck_assert_int_eq(number_of(&answer, "left"), 1);
    api_operations_ended(service.api);
}
END_TEST

START_TEST(the_end_of_a_wait_may_be_a_failure) {
    SERVICE();
    autoanswer struct answer answer = send_to(&service, "POST", "/v3/wait", "fail=1", NULL, NULL);

    sql(&service, "DELETE FROM operations");
    api_operations_ended(service.api);
    ck_assert_int_eq(test_exchange_await(answer.test), 500);
    ck_assert_ptr_null(strstr(message_of(&answer), "the backend cannot")); /* that is for the log */
}
END_TEST

START_TEST(waiting_requests_get_503_at_shutdown) {
    struct service service;
    autoanswer struct answer answer = { .test = NULL };

    service_start(&service, false, &(const struct api_settings){ .db = NULL });
    answer = send_to(&service, "POST", "/v3/wait", "", NULL, NULL);
    service_end(&service);
    ck_assert_int_eq(test_exchange_await(answer.test), 503);
}
END_TEST

START_TEST(an_operation_that_another_process_ends_is_seen) {
    autoservice struct service service;

    service_start(&service, true, &(const struct api_settings){ .db = NULL });
    autoanswer struct answer answer = send_to(&service, "POST", "/v3/wait", "", NULL, NULL);
    autoanswer struct answer other = send_to(&service, "GET", "/v3/things", "", NULL, NULL);
    ck_assert_int_eq(test_exchange_await(other.test), 200);
    /* The write is queued: wait until its row is there. */
    for (int64_t until = clock_monotonic_us() + 40000000; clock_monotonic_us() < until;) {
        struct error err;

        if (db_transaction(service.db, sql_body, (void *)(uintptr_t) "DELETE FROM operations",
                           &err) > 0)
            break;
    }
    ck_assert_int_eq(test_exchange_await(answer.test), 200);
    ck_assert_int_eq(number_of(&answer, "left"), 0);
}
END_TEST

static void *pester(void *arg) {
    struct service *service = arg;

    for (int i = 0; i < 100; i++) {
        autoanswer struct answer read = request_with(service, "GET", "/v3/volumes/" VOLUME,
                                                     WITH({ "X-Auth-Token", "member" }), NULL, 200);
        autoanswer struct answer write =
            send_request(service, "PUT", "/v3/volumes/" VOLUME, NULL, 412);

        api_operations_ended(service->api);
    }
    return NULL;
}

START_TEST(concurrent_requests_are_served) {
    autoservice struct service service;
    pthread_t threads[4];

    service_start(&service, true, &(const struct api_settings){ .db = NULL });
    for (size_t i = 0; i < LENGTH(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, pester, &service), 0);
    for (size_t i = 0; i < LENGTH(threads); i++)
        pthread_join(threads[i], NULL);
}
END_TEST

CHECK_MAIN("router", both_spellings_and_the_suffix_reach_the_route,
           segments_are_decoded_and_keys_keep_their_ending, unserved_paths_get_a_plain_404,
           another_regex_for_projects_is_taken, the_default_regex_can_be_configured_explicitly,
           a_bad_regex_is_refused_at_start, the_version_documents_stand_where_clients_look,
           the_health_check_needs_no_authentication,
           the_description_of_the_api_is_public_and_generated_once, a_bad_token_stops_everything,
           a_caller_may_become_known_later, the_handshake_answers_for_the_router,
           the_context_is_complete, the_paths_project_must_be_the_tokens,
           answers_carry_the_version_that_was_used, a_route_does_not_exist_before_its_version,
           only_json_bodies_are_taken, a_body_above_the_limit_is_refused,
           a_malformed_or_crowded_request_reaches_nothing, slashes_in_a_row_are_one,
           a_wrapped_body_is_decoded, bad_bodies_are_bad_requests,
           the_flags_of_a_row_loosen_its_body, actions_are_found_by_their_key,
           unknown_actions_are_bad_requests_and_later_ones_not_found,
           queries_are_decoded_and_the_last_one_counts, links_follow_the_request,
           objects_are_loaded_as_visible_to_the_caller, policy_is_enforced_for_the_object,
           a_write_takes_effect_with_the_handlers_status, a_failed_handler_leaves_nothing_behind,
           extensions_are_listed_and_shown, a_request_waits_for_its_operation,
           the_end_of_a_wait_may_be_a_failure, waiting_requests_get_503_at_shutdown,
           an_operation_that_another_process_ends_is_seen, concurrent_requests_are_served)
