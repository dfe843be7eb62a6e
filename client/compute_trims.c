#include "client/compute_trims.h"

#include "client/answer.h"
#include "json/out.h"

enum event_verdict compute_trim_ask(const struct client *client, struct arena *arena,
                                    const struct compute_trim *trim, struct error *err) {
    struct client_call call = {
        .method = "POST",
        .path = "/os-volume-trims",
        .request_id = trim->request_id,
        .header = { "X-OpenStack-Nova-API-Version", client->version },
    };
    struct json_out out;
    struct http_answer answer;
    struct answer said;
    int outcome;

    json_out_begin(&out, arena, "trim");
    out_put_text(&out, "id", trim->id);
    out_put_text(&out, "volume_id", trim->volume_id);
    out_put_text(&out, "instance_uuid", trim->instance_uuid);
    call.body = json_out_end(&out);
    outcome = client_send(client, arena, &call, &answer, err);
    if (outcome != 0) {
        error_context(err, "asking host %s", trim->host ? trim->host : "-");
        return outcome == HTTP_NOT_SENT ? EVENT_REFUSED : EVENT_UNKNOWN;
    }
    if (answer.status >= 200 && answer.status <= 299)
        return EVENT_ACCEPTED;
    said = answer_read(arena, &answer);
    if (said.form == ANSWER_FAULT &&
        (said.kind == ERROR_BAD_REQUEST || said.kind == ERROR_CONFLICT))
        error_set(err, said.kind, "%s", said.message);
    else
        error_set(err, ERROR_BACKEND, "the compute side answered with %d: %.200s", answer.status,
                  answer.body);
    return compute_answer_refuses(&answer, json_parse(arena, answer.body, answer.body_size, NULL))
               ? EVENT_REFUSED
               : EVENT_UNKNOWN;
}
