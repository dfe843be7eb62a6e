#include "compute/agent/assist.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/words.h"
#include "compute/agent/reply.h"
#include "compute/agent/request.h"
#include "compute/agent/versions.h"
#include "compute/jobs/snapshot_set.h"
#include "json/json.h"

#include <stdio.h>
#include <string.h>

#define DELETE_INFO "delete_info"
#define TOGETHER    "together"

struct assist_request {
    struct http_exchange *exchange;
    const char *id; /* as sent in a create request, for the reply */
    struct assist assist;
};

static const char *const types[] = { "qcow2", NULL };

/* ---- file names ---- */

/* All names must belong to one volume, that of the first. */
static int copy_name(char ret[OVERLAY_NAME_SIZE], const char *name, const char *first,
                     const char *field, struct error *err) {
    char shown[FIELD_SHOWN_SIZE];

    if (!name)
        return 0;
    if (!overlay_name_fits(name) || !overlay_names_agree(name, first))
        return error_set(
            err, ERROR_BAD_REQUEST,
            "Invalid input for field/attribute %s. Value: %s. It is not the plain name of a file of the volume.",
            field, field_show(shown, name));
    snprintf(ret, OVERLAY_NAME_SIZE, "%s", name);
    return 0;
}

/* ---- create ---- */

struct create_body {
    const json_t *snapshot;
};

static const struct field create_body_fields[] = {
    FIELD_OBJECT(struct create_body, snapshot, "snapshot", FIELD_REQUIRED),
    FIELDS_END,
};

struct create_snapshot {
    const char *volume_id;
    const json_t *create_info;
};

static const struct field create_snapshot_fields[] = {
    FIELD_UUID(struct create_snapshot, volume_id, "volume_id", FIELD_REQUIRED),
    FIELD_OBJECT(struct create_snapshot, create_info, "create_info", FIELD_REQUIRED),
    FIELDS_END,
};

struct create_info {
    const char *snapshot_id, *type, *new_file, *id;
    const json_t *together;
};

static const struct field create_info_fields[] = {
    FIELD_UUID(struct create_info, snapshot_id, "snapshot_id", FIELD_REQUIRED),
    FIELD_WORD(struct create_info, type, "type", FIELD_REQUIRED, types),
    FIELD_TEXT(struct create_info, new_file, "new_file", FIELD_REQUIRED, 1, 255),
    FIELD_TEXT(struct create_info, id, "id", 0, 1, 255),
    FIELD_LIST(struct create_info, together, TOGETHER, 0, 2, SNAPSHOT_SET_MOST),
    FIELDS_END,
};

/* Unique ids that include the snapshot's own. */
static int read_set(struct assist *assist, const json_t *list, struct arena *arena,
                    struct error *err) {
    size_t count = json_array_size(list);
    const char **ids = arena_alloc(arena, (count + 1) * sizeof(*ids));

    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        char *id = arena_alloc(arena, UUID_SIZE);

        if (!text || !uuid_parse(text, id) || words_have(ids, i, id))
            return error_set(err, ERROR_BAD_REQUEST,
                             "Invalid input for field/attribute " TOGETHER
                             ". Element %zu is not the UUID of another snapshot.",
                             i);
        ids[i] = id;
    }
    if (count > 0 && !words_have(ids, count, assist->snapshot_id))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input for field/attribute " TOGETHER
                         ". It does not contain the snapshot_id.");
    assist->set_ids = ids;
    assist->set_count = (unsigned)count;
    return 0;
}

static struct assist_request *begin_read(struct http_exchange *exchange, struct error *err) {
    struct assist_request *request = arena_alloc(exchange->arena, sizeof(*request));
    struct compute_version version;

    if (versions_negotiate(exchange, &version, err) < 0)
        return NULL;
    request->exchange = exchange;
    request->assist.request_id =
        arena_text(exchange->arena, http_header(exchange, "X-OpenStack-Request-ID"));
    return request;
}

struct assist_request *assist_read_create(struct http_exchange *exchange, struct error *err) {
    struct arena *arena = exchange->arena;
    struct assist_request *request = begin_read(exchange, err);
    const json_t *root = request ? request_body(exchange, err) : NULL;
    struct create_body body = { 0 };
    struct create_snapshot snapshot = { 0 };
    struct create_info info = { 0 };
    struct assist *assist;

    if (!root || json_decode(arena, root, "body", create_body_fields, 1, true, &body, err) < 0 ||
        json_decode(arena, body.snapshot, "snapshot", create_snapshot_fields, 1, true, &snapshot,
                    err) < 0 ||
        json_decode(arena, snapshot.create_info, "create_info", create_info_fields, 1, true, &info,
                    err) < 0)
        return NULL;
    assist = &request->assist;
    assist->volume_id = snapshot.volume_id;
    assist->snapshot_id = info.snapshot_id;
    request->id = info.id;
    if (read_set(assist, info.together, arena, err) < 0 ||
        copy_name(assist->change.new_file, info.new_file, info.new_file, "new_file", err) < 0)
        return NULL;
    return request;
}

/* ---- delete ---- */

struct delete_info {
    const char *volume_id, *type, *file_to_merge, *merge_target;
};

/* Other fields that a service sends are ignored. */
static const struct field delete_info_fields[] = {
    FIELD_UUID(struct delete_info, volume_id, "volume_id", FIELD_REQUIRED),
    FIELD_WORD(struct delete_info, type, "type", FIELD_REQUIRED, types),
    FIELD_TEXT(struct delete_info, file_to_merge, "file_to_merge", FIELD_REQUIRED | FIELD_NULLABLE,
               1, 255),
    FIELD_TEXT(struct delete_info, merge_target, "merge_target_file",
               FIELD_REQUIRED | FIELD_NULLABLE, 1, 255),
    FIELDS_END,
};

/* The value of the only known parameter; NULL: missing, repeated or malformed. */
static const char *find_delete_info(const struct http_exchange *exchange, struct error *err) {
    const char *query = exchange->query, *found = NULL;
    size_t length, found_length = 0;
    char *text;

    for (; *query; query += length + (query[length] == '&')) {
        length = strcspn(query, "&");
        if (strncmp(query, DELETE_INFO "=", strlen(DELETE_INFO "=")) != 0)
            continue;
        if (found) {
            error_set(err, ERROR_BAD_REQUEST, DELETE_INFO " is given more than once.");
            return NULL;
        }
        found = query + strlen(DELETE_INFO "=");
        found_length = length - strlen(DELETE_INFO "=");
    }
    text = found ? http_decode(exchange->arena, found, found_length, true) : NULL;
    if (!text)
        error_set(err, ERROR_BAD_REQUEST, DELETE_INFO " is %s.", found ? "malformed" : "missing");
    return text;
}

static int read_delete(struct assist_request *request, const char *text, struct error *err) {
    struct arena *arena = request->exchange->arena;
    const json_t *root = json_parse(arena, text, strlen(text), err);
    struct overlay_change *change = &request->assist.change;
    struct delete_info info = { 0 };

    if (!root ||
        json_decode(arena, root, DELETE_INFO, delete_info_fields, 1, false, &info, err) < 0)
        return error_context(err, DELETE_INFO);
    if (info.merge_target && !info.file_to_merge)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input for field/attribute file_to_merge. Value: null. With a "
                         "merge_target_file it must be a name.");
    change->remove = true;
    request->assist.volume_id = info.volume_id;
    if (copy_name(change->file_to_merge, info.file_to_merge, info.file_to_merge, "file_to_merge",
                  err) < 0)
        return -1;
    return copy_name(change->merge_target, info.merge_target, info.file_to_merge,
                     "merge_target_file", err);
}

struct assist_request *assist_read_delete(struct http_exchange *exchange, struct error *err) {
    struct assist_request *request = begin_read(exchange, err);
    const char *id = strrchr(exchange->path, '/') + 1, *text;
    char *snapshot_id = arena_alloc(exchange->arena, UUID_SIZE);

    if (!request)
        return NULL;
    if (!uuid_parse(id, snapshot_id)) {
        error_set(err, ERROR_BAD_REQUEST, "The snapshot's id in the path is not a UUID.");
        return NULL;
    }
    request->assist.snapshot_id = snapshot_id;
    text = find_delete_info(exchange, err);
    return text && read_delete(request, text, err) == 0 ? request : NULL;
}

/* ---- the reply ---- */

static void assist_refuse(const struct assist_request *request, enum error_kind kind,
                          struct error *err) {
    const struct log_context log = { .request_id = request->assist.request_id };

    log_warning(&log, "assisted snapshot refused", "volume_id", request->assist.volume_id,
                "snapshot_id", request->assist.snapshot_id, "reason", err->message, NULL);
    err->kind = kind;
    reply_fault(request->exchange, err);
}

void assist_answer(struct assist_request *request, struct hypervisor *hypervisor,
                   struct assists *assists) {
    struct assist *assist = &request->assist;
    struct overlay overlay = { .hypervisor = hypervisor,
                               .volume_id = assist->volume_id,
                               .change = &assist->change };
    struct error err = { 0 };
    struct json_out out;

    switch (overlay_check(&overlay, request->exchange->arena, &err)) {
    case OVERLAY_FAILED:
        assist_refuse(request, ERROR_BAD_REQUEST, &err);
        return;
    case OVERLAY_UNREACHABLE:
        assist_refuse(request, ERROR_UNAVAILABLE, &err);
        return;
    case OVERLAY_GONE: /* libvirt responds before it has loaded its domains: the job waits */
    case OVERLAY_SET_INCOMPLETE:
    case OVERLAY_BUSY:
    case OVERLAY_MOVES:
    case OVERLAY_RUNS:
    case OVERLAY_READY:
    case OVERLAY_DONE:
        break;
    }
    assist->instance_uuid = overlay.disk.instance_uuid;
    if (assists_put(assists, assist, &err) < 0) {
        assist_refuse(request, err.kind, &err);
        return;
    }
    if (assist->change.remove) {
        reply_empty(request->exchange, 204);
        return;
    }
    json_out_begin(&out, request->exchange->arena, "snapshot");
    out_put_text(&out, "id", request->id);
    out_put_text(&out, "volumeId", assist->volume_id);
    json_out_end(&out);
    reply_json(request->exchange, 200, &out);
}
