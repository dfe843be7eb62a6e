#include "compute/agent/event.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "compute/agent/reply.h"
#include "compute/agent/request.h"
#include "compute/agent/versions.h"
#include "json/json.h"

#include <string.h>

#define EVENTS_MOST 1000

struct event {
    const char *name, *server_uuid, *status, *tag;
    char volume_id[UUID_SIZE]; /* "" when the event needs no job */
    const json_t *as_sent;
    int code;
};

struct event_request {
    struct http_exchange *exchange;
    const char *request_id;
    struct event *events;
    size_t count;
};

struct body {
    const json_t *events;
};

static const struct field body_fields[] = {
    FIELD_LIST(struct body, events, "events", FIELD_REQUIRED, 1, EVENTS_MOST),
    FIELDS_END,
};

static const char *const statuses[] = { "failed", "completed", "in-progress", NULL };

static const struct field event_fields[] = {
    FIELD_TEXT(struct event, name, "name", FIELD_REQUIRED, 1, 255),
    FIELD_UUID(struct event, server_uuid, "server_uuid", FIELD_REQUIRED),
    FIELD_WORD(struct event, status, "status", 0, statuses),
    FIELD_TEXT(struct event, tag, "tag", 0, 0, 255),
    FIELDS_END,
};

static const struct event_name {
    const char *name;
    unsigned since; /* minor of the compute microversion */
    bool needs_tag;
    bool extends; /* the tag is the id of an extended volume */
} event_names[] = {
    { "network-changed", 1, false, false },
    { "network-vif-plugged", 1, false, false },
    { "network-vif-unplugged", 1, false, false },
    { "network-vif-deleted", 1, false, false },
    { "volume-extended", COMPUTE_EXTEND, true, true },
    { "power-update", 76, true, false },
    { "accelerator-request-bound", 82, true, false },
    { "volume-reimaged", 93, false, false },
};

/* A tag that is not the id of a volume gets the code of a missing tag: it cannot be processed. */
static int read_event(struct arena *arena, const json_t *item, unsigned minor, struct event *ret,
                      struct error *err) {
    const struct event_name *name = NULL;

    if (json_decode(arena, item, "event", event_fields, minor, true, ret, err) < 0)
        return -1;
    for (size_t i = 0; i < LENGTH(event_names) && !name; i++)
        if (event_names[i].since <= minor && strcmp(event_names[i].name, ret->name) == 0)
            name = &event_names[i];
    if (!name)
        return error_set(
            err, ERROR_BAD_REQUEST,
            "Invalid input for field/attribute name. Value: %.64s. This microversion has no such event.",
            ret->name);
    ret->as_sent = item;
    ret->code = 200;
    if (name->needs_tag && (!ret->tag || !ret->tag[0]))
        ret->code = 400;
    if (name->extends && ret->code == 200 && !uuid_parse(ret->tag, ret->volume_id))
        ret->code = 400;
    return 0;
}

struct event_request *event_read(struct http_exchange *exchange, struct error *err) {
    struct arena *arena = exchange->arena;
    struct event_request *request = arena_alloc(arena, sizeof(*request));
    struct compute_version version;
    struct body body = { 0 };
    const json_t *root;

    if (versions_negotiate(exchange, &version, err) < 0)
        return NULL;
    root = request_body(exchange, err);
    if (!root || json_decode(arena, root, "body", body_fields, version.minor, true, &body, err) < 0)
        return NULL;
    request->exchange = exchange;
    request->request_id = arena_text(arena, http_header(exchange, "X-OpenStack-Request-ID"));
    request->count = json_array_size(body.events);
    request->events = arena_alloc(arena, request->count * sizeof(*request->events));
    for (size_t i = 0; i < request->count; i++)
        if (read_event(arena, json_array_get(body.events, i), version.minor, &request->events[i],
                       err) < 0) {
            error_context(err, "events[%zu]", i);
            return NULL;
        }
    return request;
}

static int start_jobs(struct event_request *request, struct hypervisor *hypervisor,
                      struct jobs *jobs, struct error *err) {
    /* 404 takes precedence over 400, as in the compute service */
    for (size_t i = 0; i < request->count; i++) {
        struct event *event = &request->events[i];
        int found = hypervisor->has_instance(hypervisor, event->server_uuid, err);

        if (found < 0)
            return -1;
        if (found == 0)
            event->code = 404;
    }
    for (size_t i = 0; i < request->count; i++) {
        const struct event *event = &request->events[i];

        if (event->code == 200 && event->volume_id[0] &&
            jobs_put(jobs, event->volume_id, event->server_uuid, request->request_id, err) < 0)
            return -1;
    }
    return 0;
}

void event_answer(struct event_request *request, struct hypervisor *hypervisor, struct jobs *jobs) {
    struct http_exchange *exchange = request->exchange;
    struct log_context log = { .request_id = request->request_id };
    struct error err = { 0 };
    struct json_out out;
    int status = 200;

    if (start_jobs(request, hypervisor, jobs, &err) < 0) {
        log_warning(&log, "events refused", "reason", err.message, NULL);
        err.kind = ERROR_UNAVAILABLE;
        reply_fault(exchange, &err);
        return;
    }
    json_out_init(&out, exchange->arena, 256 * request->count);
    out_begin_object(&out);
    out_open_array(&out, "events");
    for (size_t i = 0; i < request->count; i++) {
        const struct event *event = &request->events[i];
        const char *result = event->status ? event->status : "completed";

        out_begin_object(&out);
        out_put_text(&out, "name", event->name);
        out_put_text(&out, "server_uuid", json_text_of(event->as_sent, "server_uuid"));
        if (event->tag)
            out_put_text(&out, "tag", event->tag);
        out_put_text(&out, "status", event->code == 200 ? result : "failed");
        out_put_int(&out, "code", event->code);
        out_end_object(&out);
        if (event->code != 200)
            status = 207;
    }
    out_end_array(&out);
    out_end_object(&out);
    reply_json(exchange, status, &out);
}
