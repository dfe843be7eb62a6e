/*
 * The parts of the description of the API (openapi.h).  All return new references.
 */
#pragma once

#include "rest/route.h"

#include <jansson.h>

/* An object under the key, empty at first. */
json_t *openapi_member(json_t *object, const char *key);
/* "3.42" under `key` of the object's "x-openstack"; nothing for 3.0. */
void openapi_since(json_t *object, unsigned since);
/* A member of the object's "x-openstack". */
void openapi_note(json_t *object, const char *key, json_t *value);

/* The "content" of a request or a response of the row: each action has its own, distinguished by
 * the "action-name" of its schema. */
void openapi_content(json_t *object, const struct route *route, json_t *schema);

/* Parameters of path and query, and headers. */
json_t *openapi_parameters(const struct route *route);
/* Those of the route alone, of a further action at the same path. */
void openapi_add_queries(json_t *list, const struct route *route);
/* The common parameters of lists, for "components". */
json_t *openapi_shared_parameters(void);

/* The whole body of the row; NULL: none. */
json_t *openapi_body(const struct route *route);

/* The row's response on success, into the operation's "responses"; shapes with a name go into
 * `schemas` of the "components". */
void openapi_answer(json_t *responses, const struct route *route, json_t *schemas);
/* {"fault": …}: failure response of every operation, for "components". */
json_t *openapi_faults(void);
