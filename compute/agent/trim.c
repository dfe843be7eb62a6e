#include "compute/agent/trim.h"

#include "common/log.h"
#include "compute/agent/reply.h"
#include "compute/agent/request.h"
#include "compute/agent/versions.h"
#include "json/json.h"

struct trim_request {
    struct http_exchange *exchange;
    struct trim trim;
};

struct body {
    const json_t *trim;
};

static const struct field body_fields[] = {
    FIELD_OBJECT(struct body, trim, "trim", FIELD_REQUIRED),
    FIELDS_END,
};

static const struct field trim_fields[] = {
    FIELD_UUID(struct trim, id, "id", FIELD_REQUIRED),
    FIELD_UUID(struct trim, volume_id, "volume_id", FIELD_REQUIRED),
    FIELD_UUID(struct trim, instance_uuid, "instance_uuid", FIELD_REQUIRED),
    FIELDS_END,
};

struct trim_request *trim_read(struct http_exchange *exchange, struct error *err) {
    struct arena *arena = exchange->arena;
    struct trim_request *request = arena_alloc(arena, sizeof(*request));
    struct compute_version version;
    struct body body = { 0 };
    const json_t *root;

    if (versions_negotiate(exchange, &version, err) < 0)
        return NULL;
    root = request_body(exchange, err);
    if (!root || json_decode(arena, root, "body", body_fields, 1, true, &body, err) < 0 ||
        json_decode(arena, body.trim, "trim", trim_fields, 1, true, &request->trim, err) < 0)
        return NULL;
    request->exchange = exchange;
    request->trim.request_id = arena_text(arena, http_header(exchange, "X-OpenStack-Request-ID"));
    return request;
}

void trim_answer(struct trim_request *request, struct hypervisor *hypervisor, struct trims *trims) {
    const struct trim *trim = &request->trim;
    const struct log_context log = { .request_id = trim->request_id };
    struct error err = { 0 };
    struct disk disk;

    if (trim_check_disk(hypervisor, request->exchange->arena, trim, &disk, &err) == 0 &&
        trims_put(trims, trim, &err) == 0) {
        reply_empty(request->exchange, 202);
        return;
    }
    log_warning(&log, "trim refused", "volume_id", trim->volume_id, "instance_uuid",
                trim->instance_uuid, "reason", err.message, NULL);
    reply_fault(request->exchange, &err);
}
