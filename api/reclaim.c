#include "volume/reclaim.h"

#include "api/answer.h"
#include "api/routes.h"
#include "api/volume_resource.h"

/* ---- begin ---- */

struct no_body {
    char none;
};
static const struct field no_fields[] = { FIELDS_END };

static int begin(struct request *request, struct error *err) {
    return volume_reclaim(&request->work, request->object, err);
}

/* ---- what came of it ---- */

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
      BODY(no_fields, struct no_body), .flags = ROUTE_NULL_VALUE, .handler = begin, .status = 202 },
    { .method = "GET", .path = "/volumes/{id}/reclaim_space", .resource = &volume_resource,
      .rule = "volume_extension:volume_actions:show_reclaim_space",
      ANSWER("reclaim_space", shape), .handler = show, .status = 200 },
    ROUTES_END,
};
/* clang-format on */
