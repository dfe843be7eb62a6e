#include "api/spec_body.h"

#include <string.h>

const json_t *spec_body_of_path(struct request *request, struct error *err) {
    const struct spec_body *body = request->body;

    if (json_has(body->specs, request->key))
        return body->specs;
    error_set(err, ERROR_BAD_REQUEST,
              "Request body and URI mismatch: the body must have the one key %s.", request->key);
    return NULL;
}

const struct pair *spec_named(const struct pairs *specs, const char *key) {
    for (unsigned i = 0; i < specs->count; i++)
        if (strcmp(specs->items[i].key, key) == 0)
            return &specs->items[i];
    return NULL;
}
