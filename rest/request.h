/*
 * One request of the Block Storage API, as seen by its handler.
 *
 * The router has done all that the tables define before the handler runs: version, identity, body
 * schema, the object in the path (visible to the caller), policy.  A handler runs inside ONE
 * transaction (request->work.tx): a read for GET, unless it queries a backend (struct route's
 * `after`), a write otherwise; a write handler may run again after a serialization failure, so it
 * has no effect outside database and arena.
 */
#pragma once

#include "common/error.h"
#include "http/exchange.h"
#include "operation/pairs.h"
#include "operation/work.h"
#include "policy/rule.h"
#include "rest/microversion.h"
#include "json/json.h"
#include "json/out.h"

struct api;
struct watch;
struct route;

struct request {
    struct api *api;
    const struct policy *policy;
    struct http_exchange *http;
    const struct route *route;
    struct work work; /* tx, arena, context, settings, now */
    struct context context;
    unsigned minor;           /* microversion 3.minor */
    const char *path_project; /* project segment of the URL, NULL when it had none */
    const char *base_url;     /* scheme://host:port or the configured public endpoint, no slash */
    const char *id;           /* {id} of the path */
    const char *key;          /* {key} of the path */
    const json_t *json;       /* the object inside the body's outer key; the action's value */
    const json_t *json_outer; /* the whole body */
    const void *body;         /* `json` decoded by the route's fields */

    void *object; /* of the route's resource, selected by {id}; NULL: no {id}, or no resource */
    const struct policy_target *owner; /* its owner; NULL: unowned, or no object */

    /* The response.  status is the route's unless the handler sets it; empty `out` = no body. */
    int status;
    struct json_out out;
    void *view;      /* of resource->view() */
    unsigned rights; /* of the current shape */
    /* reply after the end of this operation: then route->after runs */
    const char *wait_operation;
    int64_t wait_ms;          /* at most; 0: the default */
    const char *wait_project; /* of its volume: limits the request slots (request_slots.h) */
    /* a streamed response of changes; or NULL */
    const struct watch *watch;

    /* private: see request_query(), request_links(), and owner */
    const struct pair *queries;
    unsigned query_count;
    const char *links_of; /* the collection of `links` */
    struct json_part links[3];
    struct policy_target target;
};

/* Value of a query parameter, decoded; NULL when absent.  The last one counts, as upstream. */
const char *request_query(const struct request *request, const char *name);
/* A boolean parameter, otherwise ERROR_BAD_REQUEST; *ret stays when it is absent. */
int request_flag(const struct request *request, const char *name, bool *ret, struct error *err);
/* Has it this header of common/scoria_headers.h, whose only value is "true"? */
int request_is_marked(const struct request *request, const char *header, bool *ret,
                      struct error *err);
/* Value of a request header that has two names; NULL when it is absent.  ERROR_BAD_REQUEST: two
 * values, of which a proxy may have checked the other. */
int request_renamed_header(const struct request *request, const char *name, const char *former,
                           const char **ret, struct error *err);
/* All parameters in order; returns their number. */
unsigned request_queries(const struct request *request, const struct pair **ret);

/* Policy for the object (or the caller's own project): ERROR_FORBIDDEN. */
int request_authorize(struct request *request, const char *rule, const struct policy_target *target,
                      struct error *err);
bool request_allows(struct request *request, const char *rule, const struct policy_target *target);
/* The same for the rows of a list, most of which have the same project: the last result is kept in
 * request->view. */
bool request_allows_row(struct request *request, const char *rule, const char *project_id,
                        const char *user_id);
unsigned request_allows_each(struct request *request, const char *const *rules, unsigned count,
                             const struct policy_target *target); /* policy_allows_each() */

/* "<base>/v3[/<project>]/<collection>" */
const char *request_collection(struct request *request, const char *collection);
/* Writes the value of "links": [self, bookmark]. */
void request_links(struct request *request, const char *collection, const char *id);

void request_header(struct request *request, const char *name, const char *value);

/* An empty text of a body counts as absent. */
static inline const char *text_or_null(const char *text) {
    return text && *text ? text : NULL;
}

/* Object of strings to pairs (values may be NULL for null). */
struct pairs request_pairs(struct request *request, const json_t *object);
