#include "rpc/envelope.h"

#include "tests/lib/check_main.h"
#include "json/json.h"

#include <string.h>

#define UNIQUE "0123456789abcdef0123456789abcdef"

static int read_text(struct arena *arena, const char *text, struct envelope *envelope,
                     struct error *err) {
    return envelope_read(arena, text, strlen(text), envelope, err);
}

/* `inner` as a peer packs it. */
static const char *packed(struct arena *arena, const char *inner) {
    return envelope_wrap(arena, inner);
}

START_TEST(a_written_envelope_is_read_back) {
    autoarena struct arena *arena = arena_new();
    const struct rpc_message message = { .topic = "t",
                                         .method = "extend_volume",
                                         .key = "k-1",
                                         .project = "p-1",
                                         .payload = "{\"operation_id\":\"é\"}" };
    struct envelope envelope = { 0 };
    struct error err = { 0 };

    ck_assert_int_eq(read_text(arena, envelope_request(arena, &message, UNIQUE), &envelope, &err),
                     0);
    ck_assert_str_eq(envelope.method, "extend_volume");
    ck_assert_str_eq(envelope.namespace, "scoria");
    ck_assert_str_eq(envelope.version, "1.0");
    ck_assert_str_eq(envelope.key, "k-1");
    ck_assert_str_eq(envelope.project, "p-1");
    ck_assert_str_eq(envelope.arguments, "{\"operation_id\":\"é\"}");
    ck_assert_ptr_null(envelope.reply_queue);
    ck_assert_ptr_null(envelope.message_id);
}
END_TEST

START_TEST(a_request_has_exactly_the_members_of_the_wire) {
    autoarena struct arena *arena = arena_new();
    const struct rpc_message message = { .method = "m", .key = "k", .payload = "{}" };
    struct error err = { 0 };
    const char *text = envelope_request(arena, &message, UNIQUE);
    json_t *outer = json_parse(arena, text, strlen(text), &err);
    const char *inner;

    ck_assert_uint_eq(json_object_size(outer), 2);
    ck_assert_str_eq(json_string_value(json_object_get(outer, "oslo.version")), "2.0");
    inner = json_string_value(json_object_get(outer, "oslo.message"));
    ck_assert_str_eq(inner,
                     "{\"method\":\"m\",\"args\":{},\"namespace\":\"scoria\",\"version\":"
                     "\"1.0\",\"_unique_id\":\"" UNIQUE "\",\"_context_resource_uuid\":\"k\"}");
}
END_TEST

/* Also of a release that did not send it, and of a peer with another notion of it. */
START_TEST(a_message_without_a_project_is_taken) {
    static const char *const contexts[] = { "", ",\"_context_project_id\":null",
                                            ",\"_context_project_id\":7",
                                            ",\"_context_project_id\":{\"id\":\"p\"}" };
    autoarena struct arena *arena = arena_new();
    char *longest = arena_alloc(arena, 301);
    struct envelope envelope = { 0 };
    struct error err = { 0 };

    for (size_t i = 0; i < LENGTH(contexts); i++) {
        const char *inner = arena_format(arena, "{\"method\":\"m\",\"args\":{}%s}", contexts[i]);

        ck_assert_int_eq(read_text(arena, packed(arena, inner), &envelope, &err), 0);
        ck_assert_str_eq(envelope.project, "");
    }
    memset(longest, 'p', 300);
    ck_assert_int_eq(read_text(arena,
                               arena_format(arena,
                                            "{\"method\":\"m\",\"_context_project_id\":"
                                            "\"%s\"}",
                                            longest),
                               &envelope, &err),
                     0);
    ck_assert_str_eq(envelope.project, "");
}
END_TEST

START_TEST(a_call_of_a_peer_is_read) {
    autoarena struct arena *arena = arena_new();
    struct envelope envelope = { 0 };
    struct error err = { 0 };
    const char *inner = "{\"method\": \"ping\", \"args\": {\"a\": [1.5]}, \"version\": \"3.19\", "
                        "\"_msg_id\": \"m1\", \"_reply_q\": \"reply_1\", \"_timeout\": null, "
                        "\"_unique_id\": \"u\", \"_context_auth_token\": \"t\"}";

    ck_assert_int_eq(read_text(arena, packed(arena, inner), &envelope, &err), 0);
    ck_assert_str_eq(envelope.version, "3.19");
    ck_assert_ptr_null(envelope.namespace);
    ck_assert_str_eq(envelope.message_id, "m1");
    ck_assert_str_eq(envelope.reply_queue, "reply_1");
    ck_assert_str_eq(envelope.key, "");
    ck_assert_str_eq(envelope.arguments, "{\"a\":[1.5]}");
    /* the old form, without an envelope */
    ck_assert_int_eq(read_text(arena, inner, &envelope, &err), 0);
    ck_assert_str_eq(envelope.method, "ping");
    /* without a queue or an id for it no reply is possible */
    ck_assert_int_eq(read_text(arena, "{\"method\": \"m\", \"_msg_id\": \"a\"}", &envelope, &err),
                     0);
    ck_assert_ptr_null(envelope.message_id);
    ck_assert_str_eq(envelope.arguments, "{}");
    ck_assert_str_eq(envelope.version, "1.0");
}
END_TEST

static const struct {
    const char *inner, *why;
} malformed[] = {
    { "5", "oslo.message holds no JSON object" },
    { "[", "oslo.message holds no JSON object" },
    { "{}", "there is no method" },
    { "{\"method\": 1}", "method is not a text of at most 255 bytes" },
    { "{\"method\": \"\"}", "there is no method" },
    { "{\"method\": \"m\", \"args\": []}", "args is not an object" },
    { "{\"method\": \"m\", \"version\": \"3\"}", "version is not like 1.0" },
    { "{\"method\": \"m\", \"version\": \"3.x\"}", "version is not like 1.0" },
    { "{\"method\": \"m\", \"version\": \"-3.1\"}", "version is not like 1.0" },
    { "{\"method\": \"m\", \"version\": \"3.1.2\"}", "version is not like 1.0" },
    { "{\"method\": \"m\", \"version\": \"99999.1\"}", "version is not like 1.0" },
    { "{\"method\": \"m\", \"namespace\": {}}", "namespace is not a text of at most 255 bytes" },
    { "{\"method\": \"m\", \"_reply_q\": 1}", "_reply_q is not a text of at most 255 bytes" },
    { "{\"method\": \"m\", \"_msg_id\": true}", "_msg_id is not a text of at most 255 bytes" },
    { "{\"method\": \"m\", \"_context_resource_uuid\": []}",
      "_context_resource_uuid is not a text of at most 255 bytes" },
};

START_TEST(a_malformed_message_is_refused_with_the_reason) {
    autoarena struct arena *arena = arena_new();
    struct envelope envelope = { .method = "untouched" };
    struct error err = { 0 };

    for (unsigned i = 0; i < LENGTH(malformed); i++) {
        ck_assert_int_eq(read_text(arena, packed(arena, malformed[i].inner), &envelope, &err), -1);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
        ck_assert_str_eq(err.message, malformed[i].why);
        ck_assert_str_eq(envelope.method, "untouched");
    }
}
END_TEST

static const struct {
    const char *text, *why;
} foreign[] = {
    { "", "the body is no JSON" },
    { "\xff", "the body is no JSON" },
    { "[]", "the body is no JSON object" },
    { "{\"oslo.version\": \"2.0\"}", "oslo.message is no text" },
    { "{\"oslo.message\": \"{}\"}", "oslo.version is not 2.0" },
    { "{\"oslo.version\": \"2.1\", \"oslo.message\": \"{}\"}", "oslo.version is not 2.0" },
    { "{\"oslo.version\": 2.0, \"oslo.message\": \"{}\"}", "oslo.version is not 2.0" },
    { "{\"oslo.version\": \"2.0\", \"oslo.message\": {}}", "oslo.message is no text" },
};

START_TEST(a_body_without_an_envelope_is_refused) {
    autoarena struct arena *arena = arena_new();
    struct envelope envelope;
    struct error err = { 0 };

    for (unsigned i = 0; i < LENGTH(foreign); i++) {
        ck_assert_int_eq(read_text(arena, foreign[i].text, &envelope, &err), -1);
        ck_assert_str_eq(err.message, foreign[i].why);
    }
}
END_TEST

/* The inner object of a reply. */
static json_t *reply(struct arena *arena, const struct rpc_answer *answer, int refusal) {
    const struct envelope called = {
        .method = "grow", .version = "3.99", .message_id = "m1", .reply_queue = "q"
    };
    const char *text = envelope_reply(arena, &called, answer, refusal, UNIQUE);
    const char *inner;
    struct error err = { 0 };
    json_t *outer = json_parse(arena, text, strlen(text), &err);

    inner = json_string_value(json_object_get(outer, "oslo.message"));
    outer = json_parse(arena, inner, strlen(inner), &err);
    ck_assert_ptr_nonnull(outer);
    ck_assert_uint_eq(json_object_size(outer), 5);
    ck_assert(json_is_true(json_object_get(outer, "ending")));
    ck_assert_str_eq(json_string_value(json_object_get(outer, "_msg_id")), "m1");
    ck_assert_str_eq(json_string_value(json_object_get(outer, "_unique_id")), UNIQUE);
    return outer;
}

static void assert_failure(struct arena *arena, json_t *inner, const char *class,
                           const char *module, const char *message) {
    const char *text = json_string_value(json_object_get(inner, "failure"));
    struct error err;
    json_t *failure = json_parse(arena, text, strlen(text), &err);

    ck_assert(json_is_null(json_object_get(inner, "result")));
    ck_assert_str_eq(json_string_value(json_object_get(failure, "class")), class);
    ck_assert_str_eq(json_string_value(json_object_get(failure, "module")), module);
    ck_assert_str_eq(json_string_value(json_object_get(failure, "message")), message);
    ck_assert_uint_eq(json_array_size(json_object_get(failure, "tb")), 0);
    ck_assert_str_eq(json_string_value(json_array_get(json_object_get(failure, "args"), 0)),
                     message);
    ck_assert_uint_eq(json_object_size(json_object_get(failure, "kwargs")), 0);
}

START_TEST(a_reply_has_a_result_or_a_failure) {
    autoarena struct arena *arena = arena_new();
    struct rpc_answer answer = { .result = "{\"a\":[1]}" };
    json_t *inner = reply(arena, &answer, 0);

    ck_assert_int_eq((int)json_integer_value(
                         json_array_get(json_object_get(json_object_get(inner, "result"), "a"), 0)),
                     1);
    ck_assert(json_is_null(json_object_get(inner, "failure")));
    answer.result = NULL;
    ck_assert(json_is_null(json_object_get(reply(arena, &answer, 0), "result")));
    error_set(&answer.failure, ERROR_BAD_REQUEST, "no \"good\"");
    assert_failure(arena, reply(arena, &answer, 0), "InvalidInput", "cinder.exception",
                   "no \"good\"");
    answer.failure.kind = ERROR_NOT_FOUND;
    assert_failure(arena, reply(arena, &answer, 0), "VolumeNotFound", "cinder.exception",
                   "no \"good\"");
    answer.failure.kind = ERROR_INTERNAL;
    assert_failure(arena, reply(arena, &answer, RPC_BAD_ARGUMENTS), "CinderException",
                   "cinder.exception", "no \"good\"");
    assert_failure(arena, reply(arena, &answer, RPC_NO_METHOD), "NoSuchMethod",
                   "oslo_messaging.rpc.dispatcher", "Endpoint does not support RPC method grow");
    assert_failure(arena, reply(arena, &answer, RPC_NO_VERSION), "UnsupportedVersion",
                   "oslo_messaging.rpc.dispatcher",
                   "Endpoint does not support RPC version 3.99. Attempted method: grow");
}
END_TEST

START_TEST(a_heartbeat_is_a_reply_that_ends_nothing) {
    autoarena struct arena *arena = arena_new();
    const struct envelope called = { .method = "m", .message_id = "m1", .reply_queue = "q" };
    const char *text = envelope_heartbeat(arena, &called, UNIQUE);
    struct error err;
    json_t *outer = json_parse(arena, text, strlen(text), &err);

    ck_assert_str_eq(json_string_value(json_object_get(outer, "oslo.message")),
                     "{\"result\":null,\"failure\":null,\"ending\":false,\"_msg_id\":\"m1\","
                     "\"_unique_id\":\"" UNIQUE "\"}");
}
END_TEST

CHECK_MAIN("envelope", a_written_envelope_is_read_back,
           a_request_has_exactly_the_members_of_the_wire, a_message_without_a_project_is_taken,
           a_call_of_a_peer_is_read, a_malformed_message_is_refused_with_the_reason,
           a_body_without_an_envelope_is_refused, a_reply_has_a_result_or_a_failure,
           a_heartbeat_is_a_reply_that_ends_nothing)
