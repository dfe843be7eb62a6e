#include "client/volumes.h"

#include "common/extend_header.h"
#include "identity/own_user.h"
#include "json/json.h"
#include "json/out.h"

#include <string.h>

#define CALL_TIMEOUT_MS 10000
#define PAGE_LIMIT      "100"

static enum error_kind kind_of_status(int status) {
    for (enum error_kind kind = ERROR_NONE + 1; kind < ERROR_KINDS; kind++)
        if (error_http_status(kind) == status)
            return kind;
    return ERROR_BACKEND;
}

static int find_url(const struct volume_api *api, struct arena *arena, const char **ret,
                    struct error *err) {
    static const char *const types[] = { "volumev3", "block-storage", NULL };

    *ret = api->url;
    return api->url ? 0 : own_user_endpoint(api->user, arena, types, CALL_TIMEOUT_MS, ret, err);
}

int volume_api_call(const struct volume_api *api, struct arena *arena, const char *method,
                    const char *path, const char *body, const char *request_id, const char *extend,
                    struct http_answer *ret, struct error *err) {
    struct http_header headers[5] = { { "OpenStack-API-Version", "volume 3.71" } };
    unsigned count = 1;
    struct http_call call = {
        .method = method,
        .headers = headers,
        .body = body,
        .timeout_ms = CALL_TIMEOUT_MS,
        .wanted_header = EXTEND_HEADER,
    };
    struct error failure = { 0 };
    const char *url;

    if (find_url(api, arena, &url, err) < 0)
        return -1;
    call.url = arena_format(arena, "%s%s", url, path);
    if (api->token && !own_user_is_known(api->user))
        headers[count++] = (struct http_header){ "X-Auth-Token", api->token };
    if (request_id)
        headers[count++] = (struct http_header){ "X-OpenStack-Request-ID", request_id };
    if (extend)
        headers[count++] = (struct http_header){ EXTEND_HEADER, extend };
    if (own_user_call(api->user, arena, &call, ret, &failure) != 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s %s: %s", method, path, failure.message);
    if (ret->status < 200 || ret->status > 299)
        return error_set(err, kind_of_status(ret->status),
                         "%s %s: the volume API answered %d: %.200s", method, path, ret->status,
                         ret->body);
    return 0;
}

static const char *text_of(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static int64_t read_target(const char *text) {
    int64_t target_gb;

    return text && json_digits(text, &target_gb) && target_gb <= FIELD_MAX_SIZE_GB ? target_gb : 0;
}

static void read_attachments(struct arena *arena, const json_t *list, struct remote_volume *ret) {
    size_t count = json_array_size(list);
    struct remote_attachment *attachments = arena_alloc(arena, (count + 1) * sizeof(*attachments));

    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);

        attachments[i].instance_uuid = text_of(item, "server_id");
        attachments[i].host = text_of(item, "host_name");
    }
    ret->attachments = attachments;
    ret->attachment_count = (unsigned)count;
}

/* What is not a volume as the API describes it counts as no answer: nothing is decided by it. */
static int read_volume(struct arena *arena, const json_t *object, struct remote_volume *ret,
                       struct error *err) {
    const json_t *metadata = json_object_get(object, "metadata");
    struct remote_volume volume = {
        .id = text_of(object, "id"),
        .status = text_of(object, "status"),
        .size_gb = json_integer_value(json_object_get(object, "size")),
        .has_target = json_object_get(metadata, "extend_new_size") != NULL,
        .target_gb = read_target(text_of(metadata, "extend_new_size")),
    };

    if (!volume.id || !volume.status || volume.size_gb < 0 || volume.size_gb > FIELD_MAX_SIZE_GB)
        return error_set(err, ERROR_UNAVAILABLE, "the volume API described no volume");
    read_attachments(arena, json_object_get(object, "attachments"), &volume);
    *ret = volume;
    return 0;
}

static const json_t *read_answer(struct arena *arena, const struct http_answer *answer,
                                 struct error *err) {
    struct error failure = { 0 };
    const json_t *root = json_parse(arena, answer->body, answer->body_size, &failure);

    if (!root)
        error_set(err, ERROR_UNAVAILABLE, "the volume API's answer is no JSON: %s",
                  failure.message);
    return root;
}

int volume_api_read(const struct volume_api *api, struct arena *arena, const char *volume_id,
                    const char *request_id, struct remote_volume *ret, struct error *err) {
    const char *path = arena_format(arena, "/volumes/%s", volume_id);
    struct http_answer answer;
    const json_t *root;

    if (volume_api_call(api, arena, "GET", path, NULL, request_id, NULL, &answer, err) < 0)
        return -1;
    root = read_answer(arena, &answer, err);
    if (!root || read_volume(arena, json_object_get(root, "volume"), ret, err) < 0)
        return -1;
    ret->extend = answer.header;
    return 0;
}

int volume_api_extending(const struct volume_api *api, struct arena *arena, const char *marker,
                         struct remote_volume **ret, struct error *err) {
    const char *path = arena_format(
        arena, "/volumes/detail?all_tenants=1&status=extending&limit=" PAGE_LIMIT "%s%s",
        marker ? "&marker=" : "", marker ? marker : "");
    struct remote_volume *volumes;
    struct http_answer answer;
    const json_t *root, *list;

    if (volume_api_call(api, arena, "GET", path, NULL, NULL, NULL, &answer, err) < 0)
        return -1;
    root = read_answer(arena, &answer, err);
    if (!root)
        return -1;
    list = json_object_get(root, "volumes");
    if (!json_is_array(list))
        return error_set(err, ERROR_UNAVAILABLE, "the volume API's answer is no list of volumes");
    volumes = arena_alloc(arena, (json_array_size(list) + 1) * sizeof(*volumes));
    for (size_t i = 0; i < json_array_size(list); i++)
        if (read_volume(arena, json_array_get(list, i), &volumes[i], err) < 0)
            return -1;
    *ret = volumes;
    return (int)json_array_size(list);
}

int volume_api_report(const struct volume_api *api, struct arena *arena, const char *host,
                      const char *endpoint, struct error *err) {
    struct http_answer answer;
    struct json_out out;

    json_out_init(&out, arena, 256);
    out_begin_object(&out);
    out_put_text(&out, "binary", "scoria-compute");
    out_put_text(&out, "host", host);
    out_put_text(&out, "endpoint", endpoint);
    out_end_object(&out);
    return volume_api_call(api, arena, "PUT", "/os-services/report", json_out_text(&out), NULL,
                           NULL, &answer, err);
}
