#include "rpc/envelope.h"

#include "json/json.h"
#include "json/out.h"

#include <ctype.h>
#include <string.h>

enum { BEAT_LEAST_MS = 1000, BEAT_MOST_MS = 24 * 3600 * 1000 };

#define NAME_MOST ((size_t)255) /* AMQP's limit for the name of a queue */

/* ---- reading ---- */

static int envelope_refuse(struct error *err, const char *what) {
    return error_set(err, ERROR_BAD_REQUEST, "%s", what);
}

/* The inner object: packed as text, or the message itself in the form without envelope. */
static const json_t *inner_object(struct arena *arena, const void *bytes, size_t size,
                                  struct error *err) {
    struct error why;
    const json_t *outer = json_parse(arena, bytes, size, &why);
    const json_t *packed = json_object_get(outer, "oslo.message");
    const char *version = json_text_of(outer, "oslo.version");
    const json_t *inner = outer;

    if (!json_is_object(outer)) {
        envelope_refuse(err, outer ? "the body is no JSON object" : "the body is no JSON");
        return NULL;
    }
    if (packed || json_object_get(outer, "oslo.version")) {
        if (!version || strcmp(version, "2.0") != 0) {
            envelope_refuse(err, "oslo.version is not 2.0");
            return NULL;
        }
        if (!json_is_string(packed)) {
            envelope_refuse(err, "oslo.message is no text");
            return NULL;
        }
        inner = json_parse(arena, json_string_value(packed), json_string_length(packed), &why);
    }
    if (!json_is_object(inner)) {
        envelope_refuse(err, "oslo.message holds no JSON object");
        return NULL;
    }
    return inner;
}

/* A member that is text or null or absent. */
static int read_text(const json_t *inner, const char *name, const char **ret, struct error *err) {
    const json_t *value = json_object_get(inner, name);

    *ret = NULL;
    if (!value || json_is_null(value))
        return 0;
    if (!json_is_string(value) || json_string_length(value) > NAME_MOST)
        return error_set(err, ERROR_BAD_REQUEST, "%s is not a text of at most %zu bytes", name,
                         NAME_MOST);
    *ret = json_string_value(value);
    return 0;
}

bool envelope_version(const char *text, unsigned *ret_major, unsigned *ret_minor) {
    unsigned numbers[2];

    for (unsigned i = 0; i < 2; i++) {
        char *end;
        unsigned long number;

        if (!isdigit((unsigned char)*text))
            return false;
        number = strtoul(text, &end, 10);
        if (number > 65535 || *end != (i == 0 ? '.' : '\0'))
            return false;
        numbers[i] = (unsigned)number;
        text = end + 1;
    }
    *ret_major = numbers[0];
    *ret_minor = numbers[1];
    return true;
}

/* Half of the caller's timeout; none below a second, or if it is not a number. */
static int64_t read_beat_ms(const json_t *inner) {
    double timeout_s = json_number_value(json_object_get(inner, "_timeout"));

    if (!(timeout_s * 1000 >= 2 * BEAT_LEAST_MS))
        return 0;
    return timeout_s * 1000 < 2 * BEAT_MOST_MS ? (int64_t)(timeout_s * 500) : BEAT_MOST_MS;
}

static int read_head(const json_t *inner, struct envelope *envelope, struct error *err) {
    const char *project = json_text_of(inner, "_context_project_id");
    unsigned major, minor;

    if (read_text(inner, "method", &envelope->method, err) < 0 ||
        read_text(inner, "namespace", &envelope->namespace, err) < 0 ||
        read_text(inner, "version", &envelope->version, err) < 0 ||
        read_text(inner, "_msg_id", &envelope->message_id, err) < 0 ||
        read_text(inner, "_reply_q", &envelope->reply_queue, err) < 0 ||
        read_text(inner, "_unique_id", &envelope->unique_id, err) < 0 ||
        read_text(inner, "_context_resource_uuid", &envelope->key, err) < 0)
        return -1;
    if (!envelope->method || !*envelope->method)
        return envelope_refuse(err, "there is no method");
    if (!envelope->version)
        envelope->version = "1.0";
    if (!envelope_version(envelope->version, &major, &minor))
        return envelope_refuse(err, "version is not like 1.0");
    if (!envelope->message_id || !envelope->reply_queue || !*envelope->reply_queue)
        envelope->message_id = envelope->reply_queue = NULL;
    if (!envelope->key)
        envelope->key = "";
    /* used for fairness only: an invalid value does not refuse the message */
    envelope->project = project && strlen(project) <= NAME_MOST ? project : "";
    if (!envelope->unique_id)
        envelope->unique_id = "";
    return 0;
}

int envelope_read(struct arena *arena, const void *bytes, size_t size, struct envelope *ret,
                  struct error *err) {
    const json_t *inner = inner_object(arena, bytes, size, err);
    const json_t *arguments = json_object_get(inner, "args");
    struct envelope envelope;

    if (!inner || read_head(inner, &envelope, err) < 0)
        return -1;
    if (arguments && !json_is_object(arguments))
        return envelope_refuse(err, "args is not an object");
    envelope.beat_ms = envelope.reply_queue ? read_beat_ms(inner) : 0;
    envelope.arguments = arguments ? json_text(arena, arguments) : "{}";
    *ret = envelope;
    return 0;
}

/* ---- writing ---- */

const char *envelope_unique_id(struct arena *arena, const struct clock *clock) {
    char text[UUID_SIZE];

    clock_uuid(clock, text);
    return arena_format(arena, "%.8s%.4s%.4s%.4s%.12s", text, text + 9, text + 14, text + 19,
                        text + 24);
}

const char *envelope_wrap(struct arena *arena, const char *inner) {
    struct json_out out;

    json_out_init(&out, arena, strlen(inner) * 5 / 4 + 64);
    out_begin_object(&out);
    out_put_text(&out, "oslo.version", "2.0");
    out_put_text(&out, "oslo.message", inner);
    out_end_object(&out);
    return json_out_text(&out);
}

const char *envelope_request(struct arena *arena, const struct rpc_message *message,
                             const char *unique_id) {
    struct json_out out;

    json_out_init(&out, arena, strlen(message->payload) + 256);
    out_begin_object(&out);
    out_put_text(&out, "method", message->method);
    out_key(&out, "args");
    out_raw(&out, message->payload, strlen(message->payload));
    out_put_text(&out, "namespace", ENVELOPE_NAMESPACE);
    out_put_text(&out, "version", ENVELOPE_VERSION);
    out_put_text(&out, "_unique_id", unique_id);
    out_put_text(&out, "_context_resource_uuid", message->key);
    if (message->project && *message->project)
        out_put_text(&out, "_context_project_id", message->project);
    out_end_object(&out);
    return envelope_wrap(arena, json_out_text(&out));
}

struct failure {
    const char *class, *module, *message;
};

/* In the form of a Python peer. */
static struct failure failure_of(struct arena *arena, const struct envelope *called,
                                 const struct error *err, int refusal) {
    static const char dispatcher[] = "oslo_messaging.rpc.dispatcher";

    if (refusal == RPC_NO_METHOD)
        return (struct failure){ "NoSuchMethod", dispatcher,
                                 arena_format(arena, "Endpoint does not support RPC method %s",
                                              called->method) };
    if (refusal == RPC_NO_VERSION)
        return (struct failure){
            "UnsupportedVersion", dispatcher,
            arena_format(arena, "Endpoint does not support RPC version %s. Attempted method: %s",
                         called->version, called->method)
        };
    return (struct failure){ err->kind == ERROR_NOT_FOUND     ? "VolumeNotFound"
                             : err->kind == ERROR_BAD_REQUEST ? "InvalidInput"
                                                              : "CinderException",
                             "cinder.exception", err->message };
}

static const char *failure_text(struct arena *arena, const struct failure *failure) {
    struct json_out out;

    json_out_begin(&out, arena, NULL);
    out_put_text(&out, "class", failure->class);
    out_put_text(&out, "module", failure->module);
    out_put_text(&out, "message", failure->message);
    out_open_array(&out, "tb");
    out_end_array(&out);
    out_open_array(&out, "args");
    out_text(&out, failure->message);
    out_end_array(&out);
    out_open_object(&out, "kwargs");
    out_end_object(&out);
    return json_out_end(&out);
}

/* `result` is JSON, `failure` text; NULL: null. */
static const char *write_reply(struct arena *arena, const struct envelope *called,
                               const char *result, const char *failure, bool ending,
                               const char *unique_id) {
    struct json_out out;

    json_out_init(&out, arena, 256);
    out_begin_object(&out);
    out_key(&out, "result");
    if (result)
        out_raw(&out, result, strlen(result));
    else
        out_null(&out);
    out_put_text(&out, "failure", failure);
    out_put_bool(&out, "ending", ending);
    out_put_text(&out, "_msg_id", called->message_id);
    out_put_text(&out, "_unique_id", unique_id);
    out_end_object(&out);
    return envelope_wrap(arena, json_out_text(&out));
}

const char *envelope_reply(struct arena *arena, const struct envelope *called,
                           const struct rpc_answer *answer, int refusal, const char *unique_id) {
    struct failure failure;

    if (refusal == 0 && answer->failure.kind == ERROR_NONE)
        return write_reply(arena, called, answer->result, NULL, true, unique_id);
    failure = failure_of(arena, called, &answer->failure, refusal);
    return write_reply(arena, called, NULL, failure_text(arena, &failure), true, unique_id);
}

const char *envelope_heartbeat(struct arena *arena, const struct envelope *called,
                               const char *unique_id) {
    return write_reply(arena, called, NULL, NULL, false, unique_id);
}
