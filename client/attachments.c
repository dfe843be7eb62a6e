#include "client/attachments.h"

#include "common/scoria_headers.h"
#include "json/out.h"

#define PATH "/attachments"

static int read_connection(struct arena *arena, const json_t *object, void *ret,
                           struct error *err) {
    const struct remote_connection connection = {
        .id = json_text_of(object, "id"),
        .status = json_text_of(object, "status"),
        .volume_id = json_text_of(object, "volume_id"),
        .instance_uuid = json_text_of(object, "instance"),
        .mode = json_text_of(object, "attach_mode"),
        .info = json_object_get(object, "connection_info"),
    };

    (void)arena;
    if (!connection.id || !connection.status || !connection.volume_id)
        return error_set(err, ERROR_UNAVAILABLE, "the volume API described no attachment");
    *(struct remote_connection *)ret = connection;
    return 0;
}

static int ask(const struct client *api, struct arena *arena, const struct client_call *call,
               struct remote_connection *ret, struct error *err) {
    const json_t *attachment = client_ask_for(api, arena, call, "attachment", err);

    return attachment ? read_connection(arena, attachment, ret, err) : -1;
}

int attachments_read(const struct client *api, struct arena *arena, const char *attachment_id,
                     struct remote_connection *ret, struct error *err) {
    return ask(api, arena,
               &(struct client_call){ .method = "GET", .path = PATH, .id = attachment_id }, ret,
               err);
}

int attachments_list(const struct client *api, struct arena *arena, const char *volume_id,
                     struct remote_connection **ret, struct error *err) {
    void *rows = NULL;
    int count = client_list(
        api, arena,
        arena_join(arena, PATH "/detail?volume_id=", http_encode(arena, volume_id), NULL),
        "attachments", read_connection, sizeof(struct remote_connection), &rows, err);

    *ret = rows;
    return count;
}

int attachments_create(const struct client *api, struct arena *arena, const char *volume_id,
                       const struct remote_connector *connector, struct remote_connection *ret,
                       struct error *err) {
    struct client_call call = { .method = "POST",
                                .path = PATH,
                                .header = { RETRY_HEADER, "true" } };
    struct json_out out;

    json_out_begin(&out, arena, "attachment");
    out_put_text(&out, "volume_uuid", volume_id);
    out_open_object(&out, "connector");
    out_put_text(&out, "host", connector->host);
    out_put_text(&out, "mountpoint", connector->host);
    out_put_text(&out, "mode", connector->readonly ? "ro" : "rw");
    out_end_object(&out);
    call.body = json_out_end(&out);
    return ask(api, arena, &call, ret, err);
}

int attachments_complete(const struct client *api, struct arena *arena, const char *attachment_id,
                         int64_t most, struct error *err) {
    const struct client_call call = {
        .method = "POST",
        .path = PATH,
        .id = attachment_id,
        .behind = "/action",
        .body = "{\"os-complete\": null}",
        .done = { 204 },
        .header = { most > 0 ? VOLUME_LIMIT_HEADER : NULL,
                    arena_format(arena, "%jd", (intmax_t)most) },
        .former = most > 0 ? VOLUME_LIMIT_HEADER_FORMER : NULL,
    };
    struct http_answer answer;

    return client_call(api, arena, &call, &answer, err);
}

int attachments_delete(const struct client *api, struct arena *arena, const char *attachment_id,
                       bool incomplete, struct error *err) {
    const struct client_call call = { .method = "DELETE",
                                      .path = PATH,
                                      .id = attachment_id,
                                      .behind = "",
                                      .header = { incomplete ? INCOMPLETE_HEADER : NULL, "true" } };

    return client_ask_list(api, arena, &call, "attachments", err) ? 0 : -1;
}
