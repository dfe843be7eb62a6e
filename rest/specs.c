#include "rest/specs.h"

#include "rest/answer.h"
#include "rest/resource.h"
#include "rest/route.h"
#include "rest/view_pairs.h"

#include <string.h>

static const struct resource_specs *specs_of(const struct request *request) {
    return request->route->resource->specs;
}

static const struct pairs *pairs_of(const struct request *request) {
    return (const struct pairs *)((const char *)request->object + specs_of(request)->offset);
}

int specs_list(struct request *request, struct error *err) {
    const struct resource_specs *specs = specs_of(request);
    const struct pairs *all = pairs_of(request);
    bool sees_all = !specs->sees_all || specs->sees_all(request);
    struct pair *seen = arena_alloc(request->work.arena, all->count * sizeof *seen + 1);
    unsigned count = 0;

    (void)err;
    for (unsigned i = 0; i < all->count; i++)
        if (sees_all || specs->is_for_all(all->items[i].key))
            seen[count++] = all->items[i];
    answer_open(request);
    view_pairs(&request->out, &(struct pairs){ seen, count });
    answer_close(request);
    return 0;
}

int specs_show(struct request *request, struct error *err) {
    const struct resource_specs *specs = specs_of(request);
    const struct pairs *all = pairs_of(request);
    bool hidden = specs->sees_all && !specs->is_for_all(request->key) && !specs->sees_all(request);

    for (unsigned i = 0; i < all->count && !hidden; i++)
        if (strcmp(all->items[i].key, request->key) == 0) {
            view_pairs(&request->out, &(struct pairs){ &all->items[i], 1 });
            return 0;
        }
    return error_set(err, ERROR_NOT_FOUND, "%s %s has no %s with key %s.", specs->owner,
                     request->id, specs->what, request->key);
}

static int set_all(struct request *request, const json_t *object, struct error *err) {
    const struct pairs pairs = request_pairs(request, object);

    if (specs_of(request)->set(&request->work, request->object, &pairs, err) < 0)
        return -1;
    out_value(&request->out, request->json_outer);
    return 0;
}

int specs_add(struct request *request, struct error *err) {
    const struct spec_body *body = request->body;

    return set_all(request, body->specs, err);
}

int specs_set(struct request *request, struct error *err) {
    const struct spec_body *body = request->body;

    if (!json_has(body->specs, request->key))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Request body and URI mismatch: the body must have the one key %s.",
                         request->key);
    return set_all(request, body->specs, err);
}

int specs_remove(struct request *request, struct error *err) {
    return specs_of(request)->remove(&request->work, request->object, request->key, err);
}
