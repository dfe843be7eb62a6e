#include "common/cleanup.h"
#include "common/log.h"
#include "rest/fault.h"
#include "tests/lib/check_main.h"
#include "tests/lib/exchange.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct test_exchange *render(const struct error *err, const char *accept) {
    const struct http_header *headers =
        accept ? (const struct http_header[]){ { "Accept", accept }, { NULL, NULL } } : NULL;
    struct test_exchange *test = test_exchange_new("GET", "/", headers, NULL);

    fault_render(test_exchange_of(test), err);
    return test;
}

static void expect_fault(enum error_kind kind, int status, const char *key) {
    const struct error err = { .kind = kind, .message = "why \"so\"" };
    struct test_exchange *test = render(&err, NULL);
    const json_t *fault = json_object_get(test_exchange_json(test), key);

    ck_assert_int_eq(test_exchange_of(test)->status, status);
    ck_assert_uint_eq(json_object_size(test_exchange_json(test)), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(fault, "code")), status);
    ck_assert_str_eq(json_string_value(json_object_get(fault, "message")), "why \"so\"");
    ck_assert_str_eq(test_exchange_header(test, "Content-Type"), "application/json");
    if (kind == ERROR_TRY_LATER)
        ck_assert_str_eq(test_exchange_header(test, "Retry-After"), "5");
    else
        ck_assert_ptr_null(test_exchange_header(test, "Retry-After"));
    ck_assert_ptr_null(json_object_get(fault, "retryAfter"));
    test_exchange_free(test);
}

START_TEST(every_kind_has_its_fault) {
    expect_fault(ERROR_BAD_REQUEST, 400, "badRequest");
    expect_fault(ERROR_FORBIDDEN, 403, "forbidden");
    expect_fault(ERROR_NOT_FOUND, 404, "itemNotFound");
    expect_fault(ERROR_BAD_METHOD, 405, "badMethod");
    expect_fault(ERROR_NOT_ACCEPTABLE, 406, "computeFault");
    expect_fault(ERROR_CONFLICT, 409, "conflictingRequest");
    expect_fault(ERROR_TOO_LARGE, 413, "overLimit");
    expect_fault(ERROR_BAD_MEDIA_TYPE, 415, "badMediaType");
    expect_fault(ERROR_TRY_LATER, 503, "serviceUnavailable");
    expect_fault(ERROR_GOES_ON, 503, "serviceUnavailable");
}
END_TEST

START_TEST(over_quota_has_retry_after) {
    const struct error err = { .kind = ERROR_OVER_QUOTA, .message = "VolumeLimitExceeded: x" };
    struct test_exchange *test = render(&err, NULL);
    const json_t *fault = json_object_get(test_exchange_json(test), "overLimit");

    ck_assert_int_eq(test_exchange_of(test)->status, 413);
    ck_assert_str_eq(test_exchange_header(test, "Retry-After"), "0");
    ck_assert_str_eq(json_string_value(json_object_get(fault, "retryAfter")), "0");
    test_exchange_free(test);
}
END_TEST

static void expect_hidden(enum error_kind kind, int status, const char *key) {
    const struct error err = { .kind = kind, .message = "secret path" };
    struct test_exchange *test = render(&err, NULL);
    const json_t *fault = json_object_get(test_exchange_json(test), key);
    const char *message = json_string_value(json_object_get(fault, "message"));

    ck_assert_int_eq(test_exchange_of(test)->status, status);
    ck_assert_int_eq(json_integer_value(json_object_get(fault, "code")), status);
    ck_assert_ptr_null(strstr(message, "secret"));
    ck_assert_ptr_nonnull(strstr(message, "request id"));
    ck_assert_int_eq(!!test_exchange_header(test, "Retry-After"), status == 503);
    test_exchange_free(test);
}

START_TEST(internal_errors_are_not_disclosed) {
    expect_hidden(ERROR_INTERNAL, 500, "computeFault");
    expect_hidden(ERROR_NONE, 500, "computeFault");
    expect_hidden(ERROR_BACKEND, 500, "computeFault");
    expect_hidden(ERROR_UNAVAILABLE, 503, "serviceUnavailable");
    expect_hidden(ERROR_COLLISION, 409, "conflictingRequest");
}
END_TEST

/* ---- the message of a member, and the log ---- */

#define REQUEST_ID "request_id="

static int log_begin(void) {
    int log = memfd_create("log", MFD_CLOEXEC);

    ck_assert_int_ge(log, 0);
    log_open(log, LOG_ERROR, LOG_TEXT);
    return log;
}

/* The reason is nowhere in the answer, and once in the log; all lines are of this one request. */
static void expect_logged_once(struct world *world, int log, const char *reason) {
    char text[8192] = { 0 };
    const char *line, *id;

    log_open(-1, LOG_ERROR, LOG_TEXT);
    ck_assert_int_gt(pread(log, text, sizeof(text) - 1, 0), 0);
    ck_assert_msg(!strstr(world->answer_text, reason), "%s", world->answer_text);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "request id"));
    line = strstr(text, reason);
    ck_assert_msg(line && !strstr(line + 1, reason), "%s", text);
    id = strstr(text, REQUEST_ID "req-");
    ck_assert_msg(id != NULL, "%s", text);
    for (line = text; (line = strstr(line, REQUEST_ID)); line++)
        ck_assert_msg(strncmp(line, id, strcspn(id, " \n")) == 0, "%s", text);
}

START_TEST(the_failure_of_a_backend_is_logged_once_and_not_disclosed) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);
    autoclose int log = -1;

    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    log = log_begin();
    memory_fail_next(world->memory, "connect", ERROR_BACKEND);
    ck_assert_int_eq(world_action(world, volume,
                                  "{\"os-initialize_connection\": {\"connector\": "
                                  "{\"host\": \"node\"}}}"),
                     500);
    expect_logged_once(world, log, "Injected failure of connect");
}
END_TEST

#define SECRET "Geheimnis"

/* Each refusal may quote the refused value. */
START_TEST(no_text_of_a_body_is_logged_at_any_level) {
    static const char *const bodies[] = {
        "{\"volume\": {\"size\": 1, \"name\": \"" SECRET "\"}",
        "{\"volume\": " SECRET "}",
        "{\"" SECRET "\": 1, \"" SECRET "\": 1}",
        "{\"" SECRET "\": {}}",
        "{\"volume\": {\"size\": 1, \"" SECRET "\": 1}}",
        "{\"volume\": {\"size\": \"" SECRET "\"}}",
        "{\"volume\": {\"size\": 1, \"volume_type\": \"" SECRET "\"}}",
        "{\"volume\": {\"size\": 1, \"availability_zone\": \"" SECRET "\"}}",
        "{\"volume\": {\"size\": 1, \"source_volid\": \"" SECRET "\"}}",
        "{\"volume\": {\"size\": 1, \"metadata\": {\"" SECRET "\": 1}}}",
    };
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);
    autoclose int log = log_begin();
    char text[16384];
    ssize_t size;

    log_open(log, LOG_DEBUG, LOG_TEXT);
    for (size_t i = 0; i < LENGTH(bodies); i++) {
        int status = world_call(world, "POST", "/volumes", bodies[i]);

        ck_assert_msg(status >= 400 && status < 500, "%s: %d", bodies[i], status);
        status = world_action(world, volume, "%s", bodies[i]);
        ck_assert_msg(status >= 400 && status < 500, "%s: %d", bodies[i], status);
    }
    log_open(-1, LOG_ERROR, LOG_TEXT);
    size = pread(log, text, sizeof(text) - 1, 0);
    ck_assert_int_gt(size, 0);
    text[size] = '\0';
    ck_assert_ptr_nonnull(strstr(text, " status=400"));
    ck_assert_msg(!strstr(text, SECRET), "%s", text);
}
END_TEST

START_TEST(database_errors_are_logged_once_and_not_disclosed) {
    static const struct {
        const char *change, *undo, *method, *body, *reason;
        int status;
    } cases[] = {
        { "ALTER TABLE volumes RENAME TO elsewhere", "ALTER TABLE elsewhere RENAME TO volumes",
          "GET", NULL, "The database failed", 500 },
        { "CREATE UNIQUE INDEX surprise ON volumes (size_gb)", "DROP INDEX surprise", "POST",
          "{\"volume\": {\"size\": 1}}", "The database refused a duplicate", 409 },
    };
    autoworld struct world *world = world_new(NULL);

    world_volume(world, 1);
    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        autoclose int log = log_begin();

        world_sql(world, cases[i].change);
        ck_assert_int_eq(world_call(world, cases[i].method, "/volumes", cases[i].body),
                         cases[i].status);
        expect_logged_once(world, log, cases[i].reason);
        world_sql(world, cases[i].undo);
    }
}
END_TEST

START_TEST(a_refused_token_has_the_middlewares_form) {
    const struct error err = { .kind = ERROR_UNAUTHORIZED, .message = "no token" };
    struct test_exchange *test = render(&err, NULL);
    const json_t *error = json_object_get(test_exchange_json(test), "error");

    ck_assert_int_eq(test_exchange_of(test)->status, 401);
    ck_assert_int_eq(json_integer_value(json_object_get(error, "code")), 401);
    ck_assert_str_eq(json_string_value(json_object_get(error, "title")), "Unauthorized");
    ck_assert_str_eq(json_string_value(json_object_get(error, "message")), "no token");
    test_exchange_free(test);
}
END_TEST

START_TEST(a_failed_precondition_has_no_body) {
    const struct error err = { .kind = ERROR_PRECONDITION, .message = "x" };
    struct test_exchange *test = render(&err, NULL);

    ck_assert_int_eq(test_exchange_of(test)->status, 412);
    ck_assert_uint_eq(test_exchange_of(test)->reply_size, 0);
    ck_assert_ptr_null(test_exchange_header(test, "Content-Type"));
    test_exchange_free(test);
}
END_TEST

START_TEST(the_own_media_type_is_sent_when_requested_exactly) {
    const struct error err = { .kind = ERROR_NOT_FOUND };
    struct test_exchange *test = render(&err, "application/vnd.openstack.volume+json");

    ck_assert_str_eq(test_exchange_header(test, "Content-Type"),
                     "application/vnd.openstack.volume+json");
    test_exchange_free(test);
    test = render(&err, "text/html, application/vnd.openstack.volume+json");
    ck_assert_str_eq(test_exchange_header(test, "Content-Type"), "application/json");
    test_exchange_free(test);
}
END_TEST

static void expect_form(const char *accept, const char *type, const char *start) {
    const struct http_header headers[] = { { accept ? "Accept" : "X-None", accept ? accept : "x" },
                                           { NULL, NULL } };
    struct test_exchange *test = test_exchange_new("GET", "/", headers, NULL);
    const struct http_exchange *http = test_exchange_of(test);

    fault_render_unrouted(test_exchange_of(test));
    ck_assert_int_eq(http->status, 404);
    ck_assert_msg(strncmp(http->reply_body, start, strlen(start)) == 0, "%s: %s", accept,
                  http->reply_body);
    ck_assert_uint_eq(http->reply_size, strlen(http->reply_body));
    ck_assert_msg(strncmp(test_exchange_header(test, "Content-Type"), type, strlen(type)) == 0,
                  "%s: %s", accept, test_exchange_header(test, "Content-Type"));
    test_exchange_free(test);
}

START_TEST(other_errors_have_the_requested_media_type) {
    static const char json[] = "{\"message\":\"The resource could not be found.\","
                               "\"code\":\"404 Not Found\",\"title\":\"Not Found\"}",
                      text[] = "The resource could not be found.\n", page[] = "<html>";

    expect_form(NULL, "text/plain", text);
    expect_form("*/*", "text/plain", text);
    expect_form("", "text/plain", text);
    expect_form("text/xml, text/htmlx;q=1", "text/plain", text);
    expect_form("application/json", "application/json", json);
    expect_form("text/plain,Application/JSON;q=0.5", "application/json", json);
    expect_form("application/json;q=0", "text/plain", text);
    expect_form("text/html,application/xhtml+xml,*/*;q=0.8", "text/html", page);
    expect_form("text/html;q=0.9, application/json", "application/json", json);
    expect_form("application/json, text/html", "text/html", page);
    expect_form("text/html;q=", "text/plain", text);
}
END_TEST

CHECK_MAIN("fault", every_kind_has_its_fault, over_quota_has_retry_after,
           internal_errors_are_not_disclosed,
           the_failure_of_a_backend_is_logged_once_and_not_disclosed,
           no_text_of_a_body_is_logged_at_any_level,
           database_errors_are_logged_once_and_not_disclosed,
           a_refused_token_has_the_middlewares_form, a_failed_precondition_has_no_body,
           the_own_media_type_is_sent_when_requested_exactly,
           other_errors_have_the_requested_media_type)
