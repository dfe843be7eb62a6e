#include "client/compute_trims.h"

#include "json/out.h"

static const char *write_trim(struct arena *arena, const struct compute_trim *trim) {
    struct json_out out;

    json_out_init(&out, arena, 256);
    out_begin_object(&out);
    out_key(&out, "trim");
    out_begin_object(&out);
    out_put_text(&out, "id", trim->id);
    out_put_text(&out, "volume_id", trim->volume_id);
    out_put_text(&out, "instance_uuid", trim->instance_uuid);
    out_end_object(&out);
    out_end_object(&out);
    return json_out_text(&out);
}

static int refuse(const struct http_answer *answer, json_t *root, struct error *err) {
    const json_t *fault = json_object_iter_value(json_object_iter(root));
    const char *message = json_text_of(fault, "message");

    if (message && answer->status == 400)
        return error_set(err, ERROR_BAD_REQUEST, "%s", message);
    if (message && answer->status == 409)
        return error_set(err, ERROR_CONFLICT, "%s", message);
    return error_set(err, ERROR_BACKEND, "the compute side answered with %d: %.200s",
                     answer->status, answer->body);
}

enum event_verdict compute_trim_ask(const struct client *client, struct arena *arena,
                                    const struct compute_trim *trim, struct error *err) {
    const struct client_call call = {
        .method = "POST",
        .path = "/os-volume-trims",
        .body = write_trim(arena, trim),
        .request_id = trim->request_id,
        .header = { "X-OpenStack-Nova-API-Version", client->version },
    };
    struct http_answer answer;
    json_t *root;
    int outcome = client_send(client, arena, &call, &answer, err);

    if (outcome != 0) {
        error_context(err, "asking host %s", trim->host ? trim->host : "-");
        return outcome == HTTP_NOT_SENT ? EVENT_REFUSED : EVENT_UNKNOWN;
    }
    if (answer.status >= 200 && answer.status <= 299)
        return EVENT_ACCEPTED;
    root = json_parse(arena, answer.body, answer.body_size, NULL);
    refuse(&answer, root, err);
    return compute_answer_refuses(&answer, root) ? EVENT_REFUSED : EVENT_UNKNOWN;
}
