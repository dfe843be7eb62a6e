#include "model/volume/reclaim.h"

#include "api/routes.h"
#include "api/volume/resource.h"
#include "model/volume/reclaim_trim.h"
#include "rest/answer.h"

/* ---- begin ---- */

struct no_body {
    char none;
};
static const struct field no_fields[] = { FIELDS_END };

static int reclaim_begin(struct request *request, struct error *err) {
    return volume_reclaim(&request->work, request->object, err);
}

/* ---- report of a host ---- */

static const char *const report_statuses[] = { "running", "done", "error", NULL };
static const char *const report_reasons[] = { "busy", "unsupported", "failed", NULL };

static const struct field report_fields[] = {
    FIELD_UUID(struct reclaim_report, id, "id", FIELD_REQUIRED),
    FIELD_WORD(struct reclaim_report, status, "status", FIELD_REQUIRED, report_statuses),
    FIELD_INT(struct reclaim_report, progress, "progress", 0, 0, 99),
    FIELD_WORD(struct reclaim_report, reason, "reason", 0, report_reasons),
    FIELD_TEXT(struct reclaim_report, message, "message", 0, 1, 511),
    FIELDS_END,
};

static int report(struct request *request, struct error *err) {
    return reclaim_trim_report(&request->work, request->object, request->body, err);
}

/* ---- last result ---- */

static void put_usage(struct request *request, int64_t bytes) {
    if (bytes < 0)
        out_null(&request->out);
    else
        out_int(&request->out, bytes);
}

static void put_pre_usage(struct request *request, const void *row) {
    put_usage(request, ((const struct reclaim *)row)->pre_usage);
}

static void put_post_usage(struct request *request, const void *row) {
    put_usage(request, ((const struct reclaim *)row)->post_usage);
}

/* clang-format off */
#define RECLAIM(member, ...) SHAPE(struct reclaim, member, __VA_ARGS__)
#define NULLS .flags = SHAPE_NULLABLE
static const struct shape_key keys[] = {
    RECLAIM(status,      "status",      TEXT),
    RECLAIM(progress,    "progress",    INT),
    SHAPE_BY(put_pre_usage,  "pre_usage",  INT, NULLS),
    SHAPE_BY(put_post_usage, "post_usage", INT, NULLS),
    RECLAIM(started_at,  "started_at",  TIME, NULLS),
    RECLAIM(finished_at, "finished_at", TIME, NULLS),
    RECLAIM(reason,      "reason",      TEXT, NULLS),
    RECLAIM(message,     "message",     TEXT, NULLS),
    SHAPES_END,
};
static const struct shape shape = { "reclaim_space", keys };

static int show(struct request *request, struct error *err) {
    const struct volume *volume = request->object;
    struct reclaim last;

    if (volume_reclaim_last(&request->work, volume->id, &last, err) < 0)
        return -1;
    answer_row(request, &last, 0);
    return 0;
}

const struct route reclaim_routes[] = {
    { .method = "POST", .path = "/volumes/{id}/action", .resource = &volume_resource,
      .action = "os-reclaim_space", .rule = "volume_extension:volume_actions:reclaim_space",
      BODY(no_fields, struct no_body), .flags = ROUTE_NULL_VALUE, .handler = reclaim_begin, .status = 202 },
    { .method = "POST", .path = "/volumes/{id}/action", .resource = &volume_resource,
      .action = "os-update_reclaim_space", .rule = "volume_extension:volume_admin_actions:update_reclaim_space",
      BODY(report_fields, struct reclaim_report), .handler = report, .status = 202 },
    { .method = "GET", .path = "/volumes/{id}/reclaim_space", .resource = &volume_resource,
      .rule = "volume_extension:volume_actions:show_reclaim_space",
      ANSWER("reclaim_space", shape), .handler = show, .status = 200 },
    ROUTES_END,
};
/* clang-format on */
