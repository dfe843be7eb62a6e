/*
 * I/O limits of a host: polled by its agent, or its driver for Kubernetes.
 */
#include "api/routes.h"
#include "model/type/qos_limits.h"
#include "rest/answer.h"

static void put_limits(struct request *request, const void *row) {
    const struct io_limits *limits = &((const struct qos_limits *)row)->limits;

    out_begin_object(&request->out);
    for (int i = 0; i < IO_LIMITS; i++)
        if (limits->of[i] > 0) {
            out_key_text(&request->out, io_limit_names[i]);
            out_int(&request->out, limits->of[i]);
        }
    out_end_object(&request->out);
}

static const struct shape_key limit_keys[] = { SHAPE_ELSE(INT, 0), SHAPES_END };
static const struct shape limit_shape = { NULL, limit_keys };

static const struct shape_key keys[] = {
    SHAPE(struct qos_limits, volume_id, "volume_id", TEXT),
    SHAPE_BY(put_limits, "limits", OBJECT, .of = &limit_shape),
    SHAPES_END,
};
static const struct shape shape = { "volume_limits", keys };

static int list_limits(struct request *request, struct error *err) {
    const char *host = text_or_null(request_query(request, "host"));
    struct qos_limits *limits = NULL;
    int count;

    if (!host)
        return error_set(err, ERROR_BAD_REQUEST, "Invalid input: no host given.");
    count = qos_limits_on_host(&request->work, host, &limits, err);
    if (count < 0)
        return -1;
    answer_rows(request, limits, (unsigned)count, sizeof *limits, 0);
    return 0;
}

static const struct route_query queries[] = { { .name = "host" }, { .name = NULL } };

/* clang-format off */
const struct route volume_limits_routes[] = {
    { .method = "GET", .path = "/os-volume-limits", .rule = "volume_limits:get_all",
      .queries = queries, .handler = list_limits, .status = 200,
      ANSWER("volume_limits", shape), .flags = ROUTE_MANY },
    ROUTES_END,
};
/* clang-format on */
