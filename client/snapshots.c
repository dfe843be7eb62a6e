#include "client/snapshots.h"

#include "common/clock.h"
#include "common/scoria_headers.h"
#include "json/out.h"

static int read_snapshot(struct arena *arena, const json_t *object, void *ret, struct error *err) {
    const char *created_at = json_text_of(object, "created_at");
    struct remote_snapshot snapshot = {
        .id = json_text_of(object, "id"),
        .status = json_text_of(object, "status"),
        .volume_id = json_text_of(object, "volume_id"),
        .name = json_text_of(object, "name"),
        .group_snapshot_id = json_text_of(object, "group_snapshot_id"),
        .metadata = json_object_get(object, "metadata"),
        .size_gb = json_int_at(object, "size"),
    };

    (void)arena;
    if (!snapshot.id || !snapshot.status || !snapshot.volume_id || snapshot.size_gb < 0 ||
        snapshot.size_gb > FIELD_MAX_SIZE_GB ||
        (created_at && clock_parse(created_at, &snapshot.created_us) < 0))
        return error_set(err, ERROR_UNAVAILABLE, "the volume API described no snapshot");
    *(struct remote_snapshot *)ret = snapshot;
    return 0;
}

int snapshots_read(const struct client *api, struct arena *arena, const char *snapshot_id,
                   struct remote_snapshot *ret, struct error *err) {
    const struct client_call call = { .method = "GET", .path = "/snapshots", .id = snapshot_id };
    const json_t *snapshot = client_ask_for(api, arena, &call, "snapshot", err);

    return snapshot ? read_snapshot(arena, snapshot, ret, err) : -1;
}

int snapshots_list(const struct client *api, struct arena *arena, const char *query,
                   const char *marker, unsigned limit, struct remote_snapshot **ret,
                   struct error *err) {
    void *rows = NULL;
    int count =
        client_list(api, arena, client_page(arena, "/snapshots/detail", query, marker, limit),
                    "snapshots", read_snapshot, sizeof(struct remote_snapshot), &rows, err);

    *ret = rows;
    return count;
}

int snapshots_create(const struct client *api, struct arena *arena, const char *volume_id,
                     const char *name, const struct remote_pair *metadata, const char *unique,
                     struct remote_snapshot *ret, struct error *err) {
    struct client_call call = {
        .method = "POST",
        .path = "/snapshots",
        .header = { unique ? UNIQUE_HEADER : NULL, unique },
        .former = unique ? UNIQUE_HEADER_FORMER : NULL,
    };
    const json_t *snapshot;
    struct json_out out;

    json_out_begin(&out, arena, "snapshot");
    out_put_text(&out, "volume_id", volume_id);
    out_put_text(&out, "name", name);
    out_put_bool(&out, "force", true);
    client_put_metadata(&out, metadata);
    call.body = json_out_end(&out);
    snapshot = client_ask_for(api, arena, &call, "snapshot", err);
    return snapshot ? read_snapshot(arena, snapshot, ret, err) : -1;
}

int snapshots_delete(const struct client *api, struct arena *arena, const char *snapshot_id,
                     const char *unreported, struct error *err) {
    const struct client_call call = {
        .method = "DELETE",
        .path = "/snapshots",
        .id = snapshot_id,
        .header = { unreported ? UNREPORTED_HEADER : RETRY_HEADER,
                    unreported ? unreported : "true" },
        .done = { 202 },
    };
    struct http_answer answer;

    return client_call(api, arena, &call, &answer, err);
}
