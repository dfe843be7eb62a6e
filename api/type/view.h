/*
 * Volume types in responses, by the rights of the caller.
 */
#pragma once

#include "model/type/type.h"
#include "rest/request.h"
#include "rest/shape.h"

/* The rights of type_shape. */
enum {
    TYPE_SEES_SPECS = 1 << 0,     /* extra specs at all */
    TYPE_SEES_ALL_SPECS = 1 << 1, /* including those not needed to choose a type */
    TYPE_SEES_QOS = 1 << 2,
    TYPE_SEES_ACCESS = 1 << 3,
};

/* By policy; `with_access`: the response has os-volume-type-access:is_public. */
unsigned type_view_rights(struct request *request, bool with_access);

extern const struct shape type_shape;

/* Is the extra spec visible to every user?  May this caller see all of them? */
bool type_view_shows_spec(const char *key);
bool type_view_sees_all(struct request *request);
