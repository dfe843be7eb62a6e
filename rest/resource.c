#include "rest/resource.h"

#include "rest/request.h"

#include <string.h>

const char *resource_row_id(const struct resource *resource, const void *row) {
    const void *id = (const char *)row + resource->row_id;

    return *(const char *const *)id;
}

const struct resource_column *resource_column(const struct resource *resource, const char *key,
                                              size_t length) {
    for (const struct resource_column *column = resource->columns; column->name; column++)
        if (strncmp(column->name, key, length) == 0 && column->name[length] == '\0')
            return column;
    return NULL;
}

void *resource_load(struct request *request, const struct resource *resource, const char *id,
                    struct policy_target *ret_owner, struct error *err) {
    void *row;

    *ret_owner = (struct policy_target){ .project_id = NULL };
    row = resource->load(request, id, ret_owner, err);
    if (!row && err->kind != ERROR_NOT_FOUND)
        return NULL;
    if (row && (!resource->sees || request_authorize(request, resource->sees, ret_owner, err) == 0))
        return row;
    if (row && resource->sees_told)
        return NULL;
    if (resource->absent[0])
        error_set(err, ERROR_NOT_FOUND, "%s%s%s", resource->absent[0], id, resource->absent[1]);
    else
        error_set(err, ERROR_NOT_FOUND, "%s %s could not be found.", resource->label, id);
    return NULL;
}
