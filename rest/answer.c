#include "rest/answer.h"

#include "rest/route.h"

void answer_open(struct request *request) {
    const struct route *route = request->route;

    if (!route->answer)
        return;
    out_begin_object(&request->out);
    out_key_text(&request->out, route->answer);
    if (route->flags & ROUTE_MANY)
        out_begin_array(&request->out);
}

void answer_close(struct request *request) {
    const struct route *route = request->route;

    if (!route->answer)
        return;
    if (route->flags & ROUTE_MANY)
        out_end_array(&request->out);
    out_end_object(&request->out);
}

void answer_rows(struct request *request, const void *rows, unsigned count, size_t size,
                 unsigned rights) {
    answer_open(request);
    for (unsigned i = 0; i < count; i++)
        shape_put(request, request->route->shape, (const char *)rows + i * size, rights);
    answer_close(request);
}

void answer_row(struct request *request, const void *row, unsigned rights) {
    answer_rows(request, row, 1, 0, rights);
}
