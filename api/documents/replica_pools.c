/*
 * Pools for files of replicas: reported by their nodes, shown to administrators.
 */
#include "api/documents/agent_instance.h"
#include "api/routes.h"
#include "common/scoria_headers.h"
#include "declared/pool_drain.h"
#include "rest/answer.h"

/* Progress of a draining one. */
struct shown_pool {
    struct replica_pool pool;
    struct pool_drain drain;
};

static void put_labels(struct request *request, const void *row) {
    out_value(&request->out, ((const struct shown_pool *)row)->pool.labels);
}

/* Null when unknown, and for a pool that is not draining. */
static void put_figure(struct request *request, const struct shown_pool *shown, int64_t figure) {
    if (shown->pool.draining && figure >= 0)
        out_int(&request->out, figure);
    else
        out_null(&request->out);
}

static void put_replicas(struct request *request, const void *row) {
    put_figure(request, row, ((const struct shown_pool *)row)->drain.replicas);
}

static void put_left(struct request *request, const void *row) {
    put_figure(request, row, ((const struct shown_pool *)row)->drain.left_bytes);
}

static void put_moved(struct request *request, const void *row) {
    put_figure(request, row, ((const struct shown_pool *)row)->drain.moved_bytes);
}

static void put_rate(struct request *request, const void *row) {
    put_figure(request, row, ((const struct shown_pool *)row)->drain.bytes_per_second);
}

static void put_remaining(struct request *request, const void *row) {
    put_figure(request, row, ((const struct shown_pool *)row)->drain.remaining_s);
}

/* clang-format off */
#define POOL(member, ...) SHAPE(struct shown_pool, pool.member, __VA_ARGS__)

static const struct shape_key keys[] = {
    POOL(id,          "name",        TEXT),
    POOL(node,        "node",        TEXT),
    POOL(path,        "path",        TEXT),
    POOL(address,     "address",     TEXT, .flags = SHAPE_NULLABLE),
    SHAPE_BY(put_labels, "labels",   OBJECT, .of = &shape_pairs),
    POOL(read_only,   "read_only",   BOOL),
    POOL(draining,    "draining",    BOOL),
    SHAPE_BY(put_replicas, "replicas", INT, .flags = SHAPE_NULLABLE),
    SHAPE_BY(put_left, "left_bytes", INT, .flags = SHAPE_NULLABLE),
    SHAPE_BY(put_moved, "moved_bytes", INT, .flags = SHAPE_NULLABLE),
    SHAPE_BY(put_rate, "bytes_per_second", INT, .flags = SHAPE_NULLABLE),
    SHAPE_BY(put_remaining, "remaining_seconds", INT, .flags = SHAPE_NULLABLE),
    POOL(total_bytes, "total_bytes", INT),
    POOL(free_bytes,  "free_bytes",  INT),
    POOL(state,       "state",       TEXT),
    POOL(up,          "up",          BOOL),
    POOL(seen_at,     "seen_at",     TIME),
    POOL(created_at,  "created_at",  TIME),
    SHAPES_END,
};
/* clang-format on */
static const struct shape shape = { "replica_pool", keys };

static int show(struct request *request, const struct replica_pool *pool, struct shown_pool *ret,
                struct error *err) {
    *ret = (struct shown_pool){ .pool = *pool };
    return pool->draining ? pool_drain_read(&request->work, pool, &ret->drain, err) : 0;
}

static int list_pools(struct request *request, struct error *err) {
    struct replica_pool *pools;
    int count = replica_pool_list(&request->work, &pools, err);
    struct shown_pool *shown;

    if (count < 0)
        return -1;
    shown = arena_alloc(request->work.arena, ((size_t)count + 1) * sizeof *shown);
    for (int i = 0; i < count; i++)
        if (show(request, &pools[i], &shown[i], err) < 0)
            return -1;
    answer_rows(request, shown, (unsigned)count, sizeof *shown, 0);
    return 0;
}

static int answer_pool(struct request *request, const struct replica_pool *pool,
                       struct error *err) {
    struct shown_pool *shown = arena_alloc(request->work.arena, sizeof *shown);

    if (show(request, pool, shown, err) < 0)
        return -1;
    answer_row(request, shown, 0);
    return 0;
}

static int requested_pool_find(struct request *request, struct replica_pool *ret,
                               struct error *err) {
    int found = replica_pool_find(&request->work, request->id, ret, err);

    return error_if_none(found, err, ERROR_NOT_FOUND, "Replica pool %s could not be found.",
                         request->id);
}

static int show_pool(struct request *request, struct error *err) {
    struct replica_pool pool;

    return requested_pool_find(request, &pool, err) < 0 ? -1 : answer_pool(request, &pool, err);
}

static int delete_pool(struct request *request, struct error *err) {
    struct replica_pool pool;

    return requested_pool_find(request, &pool, err) < 0
               ? -1
               : replica_pool_delete(&request->work, &pool, err);
}

/* ---- the report ---- */

struct report_body {
    const char *node, *path, *address, *state;
    const json_t *labels;
    bool read_only;
    int64_t total_bytes, free_bytes;
};

#define LABELS_MOST 64
#define TEXT(member, key, flags, most) \
    FIELD_TEXT(struct report_body, member, key, (flags) | FIELD_PRINTABLE, 1, most)
#define BYTES(member, key) FIELD_INT(struct report_body, member, key, FIELD_REQUIRED, 0, INT64_MAX)

static const struct field report_fields[] = {
    TEXT(node, "node", FIELD_REQUIRED, 255),
    TEXT(path, "path", FIELD_REQUIRED, 4096),
    TEXT(address, "address", FIELD_NULLABLE, 262),
    TEXT(state, "state", FIELD_NULLABLE, 255),
    FIELD(struct report_body, labels, "labels", META, FIELD_NULLABLE, .max = LABELS_MOST),
    FIELD_BOOL(struct report_body, read_only, "read_only", 0),
    BYTES(total_bytes, "total_bytes"),
    BYTES(free_bytes, "free_bytes"),
    FIELDS_END,
};

static int report_pool(struct request *request, struct error *err) {
    const struct report_body *body = request->body;
    json_t *none = json_keep(request->work.arena, json_object());
    struct replica_pool said = {
        .id = request->id,
        .node = body->node,
        .path = body->path,
        .address = body->address,
        .labels = body->labels ? (json_t *)(uintptr_t)body->labels : none,
        .read_only = body->read_only,
        .total_bytes = body->total_bytes,
        .free_bytes = body->free_bytes,
        .state = body->state ? body->state : "Online",
    };
    struct replica_pool pool;

    if (agent_instance(request, &said.instance, err) < 0 ||
        replica_pool_report(&request->work, &said, &pool, err) < 0)
        return -1;
    return answer_pool(request, &pool, err);
}

/* ---- drain ---- */

struct drain_body {
    bool draining;
};

static const struct field drain_fields[] = {
    FIELD_BOOL(struct drain_body, draining, "draining", FIELD_REQUIRED),
    FIELDS_END,
};

static int drain_pool(struct request *request, struct error *err) {
    const struct drain_body *body = request->body;
    struct replica_pool pool;

    if (requested_pool_find(request, &pool, err) < 0 ||
        pool_drain_set(&request->work, &pool, body->draining, err) < 0 ||
        requested_pool_find(request, &pool, err) < 0)
        return -1;
    return answer_pool(request, &pool, err);
}

/* clang-format off */
const struct route replica_pool_routes[] = {
    { .method = "GET", .path = "/replica_pools", .rule = "replica_pool:get_all",
      .handler = list_pools, .status = 200, ANSWER("replica_pools", shape), .flags = ROUTE_MANY },
    { .method = "GET", .path = "/replica_pools/{id}",
      .rule = "replica_pool:get", .handler = show_pool, .status = 200,
      ANSWER("replica_pool", shape) },
    { .method = "PUT", .path = "/replica_pools/{id}", .rule = "replica_pool:report", HEADER_IN(IN_HEADER, INSTANCE_HEADER),
      .wrapper = "replica_pool", BODY(report_fields, struct report_body), .handler = report_pool,
      .status = 200, ANSWER("replica_pool", shape) },
    { .method = "PATCH", .path = "/replica_pools/{id}", .rule = "replica_pool:drain",
      .wrapper = "replica_pool", BODY(drain_fields, struct drain_body), .handler = drain_pool,
      .status = 200, ANSWER("replica_pool", shape) },
    { .method = "DELETE", .path = "/replica_pools/{id}",
      .rule = "replica_pool:delete", .handler = delete_pool, .status = 204, .flags = ROUTE_BARE },
    ROUTES_END,
};
/* clang-format on */
