#include "client/compute_snapshots.h"

#include "client/answer.h"
#include "json/out.h"

#include <string.h>

#define PATH "/os-assisted-volume-snapshots"

static const char *write_create(struct arena *arena, const struct compute_assist *assist) {
    struct json_out out;

    json_out_begin(&out, arena, "snapshot");
    out_put_text(&out, "volume_id", assist->volume_id);
    out_open_object(&out, "create_info");
    out_put_text(&out, "snapshot_id", assist->snapshot_id);
    out_put_text(&out, "type", "qcow2");
    out_put_text(&out, "new_file", assist->new_file);
    if (assist->together_count > 0) {
        out_open_array(&out, "together");
        for (unsigned i = 0; i < assist->together_count; i++)
            out_text(&out, assist->together[i]);
        out_end_array(&out);
    }
    out_end_object(&out);
    return json_out_end(&out);
}

static struct client_call write_call(struct arena *arena, const struct compute_assist *assist) {
    struct json_out out;

    if (assist->new_file)
        return (struct client_call){ .method = "POST",
                                     .path = PATH,
                                     .body = write_create(arena, assist) };
    json_out_begin(&out, arena, NULL);
    out_put_text(&out, "volume_id", assist->volume_id);
    out_put_text(&out, "type", "qcow2");
    out_put_text(&out, "file_to_merge", assist->file_to_merge);
    out_put_text(&out, "merge_target_file", assist->merge_target_file);
    return (struct client_call){
        .method = "DELETE",
        .path = arena_format(arena, PATH "/%s?delete_info=%s", assist->snapshot_id,
                             http_encode(arena, json_out_end(&out))),
    };
}

/* Only the compute side itself reports that it cannot be done, not an intermediary. */
static void explain(const struct compute_assist *assist, struct arena *arena,
                    const struct http_answer *answer, struct error *err) {
    struct answer said = answer_read(arena, answer);
    enum error_kind kind = said.form == ANSWER_FAULT && said.kind == ERROR_BAD_REQUEST
                               ? ERROR_BAD_REQUEST
                               : ERROR_BACKEND;

    /* an agent of an earlier version, without `together` */
    if (assist->together_count > 0 && answer->status == 400 &&
        strstr(answer->body, "is not a known key of 'create_info'"))
        error_set(err, kind,
                  "the agent of host %s is older than this service and takes no snapshots of "
                  "several volumes at one moment: upgrade it",
                  assist->host ? assist->host : "-");
    else
        error_set(err, kind, "the compute side answered with %d: %.200s", answer->status,
                  answer->body);
}

enum event_verdict compute_snapshot_ask(const struct client *client, struct arena *arena,
                                        const struct compute_assist *assist, struct error *err) {
    struct client_call call = write_call(arena, assist);
    struct http_answer answer;
    int outcome;

    call.request_id = assist->request_id;
    call.header = (struct http_header){ "X-OpenStack-Nova-API-Version", client->version };
    outcome = client_send(client, arena, &call, &answer, err);
    if (outcome != 0) {
        error_context(err, "asking host %s", assist->host ? assist->host : "-");
        return outcome == HTTP_NOT_SENT ? EVENT_REFUSED : EVENT_UNKNOWN;
    }
    if (answer.status >= 200 && answer.status <= 299)
        return EVENT_ACCEPTED;
    explain(assist, arena, &answer, err);
    return compute_answer_refuses(&answer, json_parse(arena, answer.body, answer.body_size, NULL))
               ? EVENT_REFUSED
               : EVENT_UNKNOWN;
}
