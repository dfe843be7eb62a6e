/*
 * One request of the Block Storage API, as its handler sees it.
 *
 * The router has done everything that a table can say before the handler runs: version, identity,
 * body schema, the object that the path names (looked up with the caller's eyes), policy.  A
 * handler runs inside ONE transaction (request->work.tx): a read for GET, unless it asks a backend
 * (struct route's `after`), a write otherwise; a write handler may run again after a serialization
 * failure, so it has no effect outside database and arena.
 */
#pragma once

#include "api/microversion.h"
#include "common/error.h"
#include "http/exchange.h"
#include "ledger/pairs.h"
#include "ledger/work.h"
#include "policy/rule.h"
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
    const void *body;         /* what the route's fields decoded `json` into */

    void *object; /* of the route's resource, that {id} names; NULL: no {id}, or no resource */
    const struct policy_target *owner; /* whose it is; NULL: nobody's, or there is no object */

    /* The answer. status is the route's unless the handler sets another; empty `out` = no body. */
    int status;
    struct json_out out;
    void *view;      /* of resource->view() */
    unsigned rights; /* of the shape that is being written */
    /* answer only when this operation has ended: then route->after runs */
    const char *wait_operation;
    int64_t wait_ms;          /* at most; 0: as long as usual */
    const char *wait_project; /* of the volume that it is about: it has so many seats (seats.h) */
    /* answer in pieces, as what is watched changes; or NULL */
    const struct watch *watch;

    /* private: see request_query(), request_links(), and owner */
    const struct pair *queries;
    unsigned query_count;
    const char *link_bases[2];
    struct policy_target target;
};

/* Value of a query parameter, decoded; NULL when absent. The last one counts, as in upstream. */
const char *request_query(const struct request *request, const char *name);
/* One that is a boolean word, else ERROR_BAD_REQUEST; *ret stays when it is absent. */
int request_flag(const struct request *request, const char *name, bool *ret, struct error *err);
/* Is the request the retry of one that has failed (common/retry_header.h)? */
int request_retries(const struct request *request, bool *ret, struct error *err);
/* All parameters in order; returns how many. */
unsigned request_queries(const struct request *request, const struct pair **ret);

/* Policy for the object (or the caller's own project): ERROR_FORBIDDEN. */
int request_authorize(struct request *request, const char *rule, const struct policy_target *target,
                      struct error *err);
bool request_allows(struct request *request, const char *rule, const struct policy_target *target);

/* "<base>/v3[/<project>]/<collection>" */
const char *request_collection(struct request *request, const char *collection);
/* Writes the value of "links": [self, bookmark]. */
void request_links(struct request *request, const char *collection, const char *id);

void request_header(struct request *request, const char *name, const char *value);

/* Of a body: what is empty counts as absent. */
static inline const char *text_or_null(const char *text) {
    return text && *text ? text : NULL;
}

/* Object of strings to pairs (values may be NULL for null). */
struct pairs request_pairs(struct request *request, const json_t *object);
