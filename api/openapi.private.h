/*
 * The parts of the description of the API (openapi.h).  All return new references.
 */
#pragma once

#include "api/routes.h"

#include <jansson.h>

/* "3.42" under `key` of the object's "x-openstack"; nothing for 3.0. */
void openapi_since(json_t *object, unsigned since);
/* A member of the object's "x-openstack". */
void openapi_note(json_t *object, const char *key, json_t *value);

/* The "content" of a body or an answer of the row: of actions each has its own there, told
 * from the others by the "action-name" of its schema. */
void openapi_content(json_t *object, const struct route *route, json_t *schema);

/* What stands between braces in the path, and what the query may have. */
json_t *openapi_parameters(const struct route *route);
/* The parameters that lists have in common, for "components". */
json_t *openapi_shared_parameters(void);

/* The whole body that the row takes; NULL: none. */
json_t *openapi_body(const struct route *route);

/* What the row answers when all is well, into the operation's "responses"; shapes with a name go
 * into `schemas` of the "components". */
void openapi_answer(json_t *responses, const struct route *route, json_t *schemas);
/* {"fault": …}: what every operation answers otherwise, for "components". */
json_t *openapi_faults(void);
