/*
 * Volume types as the API shows them, by what the caller may see.
 */
#pragma once

#include "api/request.h"
#include "api/shape.h"
#include "volume/type.h"

/* The rights of type_shape. */
enum {
    TYPE_SEES_SPECS = 1 << 0,     /* extra specs at all */
    TYPE_SEES_ALL_SPECS = 1 << 1, /* not only what a user needs to choose a type */
    TYPE_SEES_QOS = 1 << 2,
    TYPE_SEES_ACCESS = 1 << 3,
};

/* Asks the policy; `with_access`: the answer has os-volume-type-access:is_public. */
unsigned type_view_rights(struct request *request, bool with_access);

extern const struct shape type_shape;

/* May every user see the extra spec?  May this one see all of them? */
bool type_view_shows_spec(const char *key);
bool type_view_sees_all(struct request *request);
