#include "client/volumes.h"

#include "common/scoria_headers.h"
#include "json/out.h"

#include <string.h>

#define CALL_TIMEOUT_MS 10000
#define PAGE_LIMIT      100
#define ACCEPTED        202

struct client volumes_client(const char *url, const char *token, struct own_user *user) {
    static const char *const types[] = { "volumev3", "block-storage", NULL };

    return (struct client){
        .name = "the volume API",
        .service = "volume",
        .version = "3.71",
        .types = types,
        .url = url,
        .token = token,
        .user = user,
        .timeout_ms = CALL_TIMEOUT_MS,
    };
}

bool volumes_is_elsewhere(const struct remote_volume *volume, const char *host) {
    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const char *other = volume->attachments[i].host;

        if (other && strcmp(other, host) != 0)
            return true;
    }
    return false;
}

static void read_attachments(struct arena *arena, const json_t *list, struct remote_volume *ret) {
    size_t count = json_array_size(list);
    struct remote_attachment *attachments = arena_alloc(arena, (count + 1) * sizeof(*attachments));

    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);

        attachments[i].instance_uuid = json_text_of(item, "server_id");
        attachments[i].host = json_text_of(item, "host_name");
        attachments[i].id = json_text_of(item, "attachment_id");
        attachments[i].device = json_text_of(item, "device");
    }
    ret->attachments = attachments;
    ret->attachment_count = (unsigned)count;
}

static int read_volume(struct arena *arena, const json_t *object, void *ret, struct error *err) {
    const json_t *metadata = json_object_get(object, "metadata");
    const char *target = json_text_of(metadata, "extend_new_size");
    struct remote_volume volume = {
        .id = json_text_of(object, "id"),
        .status = json_text_of(object, "status"),
        .name = json_text_of(object, "name"),
        .type = json_text_of(object, "volume_type"),
        .availability_zone = json_text_of(object, "availability_zone"),
        .snapshot_id = json_text_of(object, "snapshot_id"),
        .source_volid = json_text_of(object, "source_volid"),
        .group_id = json_text_of(object, "group_id"),
        .project_id = json_text_of(object, "os-vol-tenant-attr:tenant_id"),
        .host = json_text_of(object, "os-vol-host-attr:host"),
        .created_at = json_text_of(object, "created_at"),
        .metadata = metadata,
        .multiattach = json_true_at(object, "multiattach"),
        .size_gb = json_int_at(object, "size"),
        .has_target = json_object_get(metadata, "extend_new_size") != NULL,
    };
    int64_t target_gb;

    if (target && json_digits(target, &target_gb) && target_gb <= FIELD_MAX_SIZE_GB)
        volume.target_gb = target_gb;

    if (!volume.id || !volume.status || volume.size_gb < 0 || volume.size_gb > FIELD_MAX_SIZE_GB)
        return error_set(err, ERROR_UNAVAILABLE, "the volume API described no volume");
    read_attachments(arena, json_object_get(object, "attachments"), &volume);
    *(struct remote_volume *)ret = volume;
    return 0;
}

int volumes_read(const struct client *api, struct arena *arena, const char *volume_id,
                 const char *request_id, struct remote_volume *ret, struct error *err) {
    const struct client_call call = {
        .method = "GET",
        .path = "/volumes",
        .id = volume_id,
        .request_id = request_id,
        .wanted_header = EXTEND_HEADER,
    };
    struct http_answer answer;
    const json_t *root = client_ask(api, arena, &call, &answer, err);
    const json_t *volume = client_member(api, arena, &call, root, "volume", err);

    if (!volume || read_volume(arena, volume, ret, err) < 0)
        return -1;
    ret->extend = answer.header;
    return 0;
}

int volumes_list(const struct client *api, struct arena *arena, const char *query,
                 const char *marker, unsigned limit, struct remote_volume **ret,
                 struct error *err) {
    void *rows = NULL;
    int count = client_list(api, arena, client_page(arena, "/volumes/detail", query, marker, limit),
                            "volumes", read_volume, sizeof(struct remote_volume), &rows, err);

    *ret = rows;
    return count;
}

int volumes_extending(const struct client *api, struct arena *arena, const char *marker,
                      struct remote_volume **ret, struct error *err) {
    return volumes_list(api, arena, "all_tenants=1&status=extending", marker, PAGE_LIMIT, ret, err);
}

/* ---- changes ---- */

static void put_given(struct json_out *out, const char *key, const char *value) {
    if (!value)
        return;
    out_key_text(out, key);
    out_text(out, value);
}

static const char *create_body(struct arena *arena, const struct remote_volume_new *wanted) {
    struct json_out out;

    json_out_begin(&out, arena, NULL);
    out_open_object(&out, "volume");
    put_given(&out, "name", wanted->name);
    put_given(&out, "volume_type", wanted->type);
    put_given(&out, "availability_zone", wanted->availability_zone);
    put_given(&out, "snapshot_id", wanted->snapshot_id);
    put_given(&out, "source_volid", wanted->source_volid);
    if (wanted->size_gb > 0)
        out_put_int(&out, "size", wanted->size_gb);
    client_put_metadata(&out, wanted->metadata);
    out_end_object(&out);
    if (wanted->query) {
        out_open_object(&out, "OS-SCH-HNT:scheduler_hints");
        put_given(&out, "query", wanted->query);
        out_end_object(&out);
    }
    return json_out_end(&out);
}

int volumes_create(const struct client *api, struct arena *arena,
                   const struct remote_volume_new *wanted, struct remote_volume *ret,
                   struct error *err) {
    const struct client_call call = {
        .method = "POST",
        .path = "/volumes",
        .body = create_body(arena, wanted),
        .header = { wanted->unique ? UNIQUE_HEADER : NULL, wanted->unique },
        .former = wanted->unique ? UNIQUE_HEADER_FORMER : NULL,
    };
    const json_t *volume = client_ask_for(api, arena, &call, "volume", err);

    return volume ? read_volume(arena, volume, ret, err) : -1;
}

int volumes_set_metadata(const struct client *api, struct arena *arena, const char *volume_id,
                         const struct remote_pair *pairs, struct error *err) {
    struct client_call call = {
        .method = "POST", .path = "/volumes", .id = volume_id, .behind = "/metadata"
    };
    struct http_answer answer;
    struct json_out out;

    json_out_begin(&out, arena, NULL);
    client_put_metadata(&out, pairs);
    call.body = json_out_end(&out);
    return client_ask(api, arena, &call, &answer, err) ? 0 : -1;
}

int volumes_delete(const struct client *api, struct arena *arena, const char *volume_id,
                   const char *unreported, struct error *err) {
    const struct client_call call = {
        .method = "DELETE",
        .path = "/volumes",
        .id = volume_id,
        .header = { unreported ? UNREPORTED_HEADER : RETRY_HEADER,
                    unreported ? unreported : "true" },
        .done = { ACCEPTED },
    };
    struct http_answer answer;

    return client_call(api, arena, &call, &answer, err);
}

static int act(const struct client *api, struct arena *arena, const char *volume_id,
               const char *header, const char *body, struct error *err) {
    const struct client_call call = {
        .method = "POST",
        .path = "/volumes",
        .id = volume_id,
        .behind = "/action",
        .header = { header, "true" },
        .body = body,
        .done = { ACCEPTED },
    };
    struct http_answer answer;

    return client_call(api, arena, &call, &answer, err);
}

int volumes_extend(const struct client *api, struct arena *arena, const char *volume_id,
                   int64_t new_gb, struct error *err) {
    return act(api, arena, volume_id, RETRY_HEADER,
               arena_format(arena, "{\"os-extend\": {\"new_size\": %jd}}", (intmax_t)new_gb), err);
}

int volumes_retype(const struct client *api, struct arena *arena, const char *volume_id,
                   const char *type, struct error *err) {
    struct json_out out;

    json_out_begin(&out, arena, "os-retype");
    out_put_text(&out, "new_type", type);
    out_put_text(&out, "migration_policy", "never");
    return act(api, arena, volume_id, NULL, json_out_end(&out), err);
}

int volumes_reclaim(const struct client *api, struct arena *arena, const char *volume_id,
                    struct error *err) {
    return act(api, arena, volume_id, NULL, "{\"os-reclaim_space\": null}", err);
}

static int64_t bytes_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value)
                                                                    : -1;
}

int volumes_read_reclaim(const struct client *api, struct arena *arena, const char *volume_id,
                         struct remote_reclaim *ret, struct error *err) {
    const struct client_call call = {
        .method = "GET",
        .path = "/volumes",
        .id = volume_id,
        .behind = "/reclaim_space",
    };
    const json_t *last = client_ask_for(api, arena, &call, "reclaim_space", err);

    if (!last)
        return -1;
    if (!json_text_of(last, "status"))
        return error_set(err, ERROR_UNAVAILABLE, "the volume API described no reclaim");
    *ret = (struct remote_reclaim){
        .status = json_text_of(last, "status"),
        .reason = json_text_of(last, "reason"),
        .message = json_text_of(last, "message"),
        .pre_usage = bytes_of(last, "pre_usage"),
        .post_usage = bytes_of(last, "post_usage"),
    };
    return 0;
}

/* ---- reports of the agent ---- */

int volumes_report(const struct client *api, struct arena *arena, const char *host,
                   const char *endpoint, struct error *err) {
    struct client_call call = { .method = "PUT", .path = "/os-services/report" };
    struct http_answer answer;
    struct json_out out;

    json_out_begin(&out, arena, NULL);
    out_put_text(&out, "binary", "scoria-compute");
    out_put_text(&out, "host", host);
    out_put_text(&out, "endpoint", endpoint);
    call.body = json_out_end(&out);
    return client_ask(api, arena, &call, &answer, err) ? 0 : -1;
}

static enum complete_outcome report(const struct client *api, struct arena *arena,
                                    const struct client_call *call, struct error *err) {
    struct http_answer answer;
    struct error failure = { 0 };

    if (client_call(api, arena, call, &answer, &failure) == 0)
        return COMPLETE_TAKEN;
    if (err)
        *err = failure;
    if (failure.kind == ERROR_BAD_REQUEST || failure.kind == ERROR_NOT_FOUND)
        return COMPLETE_UNWANTED;
    return client_is_refusal(failure.kind) ? COMPLETE_REFUSED : COMPLETE_FAILED;
}

enum complete_outcome volumes_complete(const struct client *api, struct arena *arena,
                                       const char *volume_id, const char *request_id,
                                       const char *extend, bool failed, struct error *err) {
    const struct client_call call = {
        .method = "POST",
        .path = "/volumes",
        .id = volume_id,
        .behind = "/action",
        .body = failed ? "{\"os-extend_volume_completion\": {\"error\": true}}"
                       : "{\"os-extend_volume_completion\": {\"error\": false}}",
        .request_id = request_id,
        .done = { ACCEPTED },
        .header = { extend ? EXTEND_HEADER : NULL, extend },
    };

    return report(api, arena, &call, err);
}

enum complete_outcome volumes_report_snapshot(const struct client *api, struct arena *arena,
                                              const char *snapshot_id, const char *request_id,
                                              const char *status, unsigned percent,
                                              struct error *err) {
    const struct client_call call = {
        .method = "POST",
        .path = "/snapshots",
        .id = snapshot_id,
        .behind = "/action",
        .body = arena_format(arena,
                             "{\"os-update_snapshot_status\": {\"status\": \"%s\", \"progress\": "
                             "\"%u%%\"}}",
                             status, percent),
        .request_id = request_id,
        .done = { ACCEPTED },
    };

    return report(api, arena, &call, err);
}

enum complete_outcome volumes_report_reclaim(const struct client *api, struct arena *arena,
                                             const char *volume_id, const char *id,
                                             const char *request_id,
                                             const struct reclaim_said *said, struct error *err) {
    struct client_call call = { .method = "POST",
                                .path = "/volumes",
                                .id = volume_id,
                                .behind = "/action",
                                .request_id = request_id,
                                .done = { ACCEPTED } };
    struct json_out out;

    json_out_begin(&out, arena, "os-update_reclaim_space");
    out_put_text(&out, "id", id);
    out_put_text(&out, "status", said->status);
    if (said->progress)
        out_put_int(&out, "progress", said->progress);
    if (said->reason)
        out_put_text(&out, "reason", said->reason);
    if (said->message)
        out_put_text(&out, "message", said->message);
    call.body = json_out_end(&out);
    return report(api, arena, &call, err);
}
