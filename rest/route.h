/*
 * The API is a table: each resource's file in api/ has its rows; the router uses nothing else.
 */
#pragma once

#include "rest/request.h"
#include "rest/resource.h"
#include "rest/shape.h"

typedef int route_handler(struct request *request, struct error *err);

enum route_flags {
    ROUTE_OPEN = 1 << 0,        /* unknown keys of the inner object are accepted */
    ROUTE_ANY_VALUE = 1 << 1,   /* the action's value (or body) is ignored */
    ROUTE_NO_WRAPPER = 1 << 2,  /* the fields stand at the top level of the body */
    ROUTE_NULL_VALUE = 1 << 3,  /* the inner value may be null: no field is set */
    ROUTE_ABSENT = 1 << 4,      /* routed upstream without a response: 404 itemNotFound */
    ROUTE_OPEN_OUTER = 1 << 5,  /* other outer keys are accepted */
    ROUTE_STRICT_LATE = 1 << 6, /* unknown inner keys are refused from 3.53 on only */
    ROUTE_ROW_ALONE = 1 << 7,   /* the object's own row is enough: what other tables say of it stays
                                   where it is */
    ROUTE_BARE = 1 << 8,        /* the response has no body, and the type of an empty page */
    ROUTE_MANY = 1 << 9,        /* the response is a list */
    ROUTE_TEXT = 1 << 10,       /* the response is plain text, not JSON */
    ROUTE_EMPTY_BODY = 1 << 11, /* {} equals null as the wrapper's value */
    ROUTE_ONE_FIELD = 1 << 12,  /* the body is the value of the one field */
    ROUTE_WRITES = 1 << 13,     /* a GET with side effects */
    ROUTE_BROAD = 1 << 14,      /* a GET that reads many rows, though its response is not a list */
    /* The handler queries a backend and changes nothing else; `after` creates the object, in a
     * write transaction, also when the backend has not responded in time; in the handler's
     * transaction if that made no query. */
    ROUTE_ASKS = 1 << 15,
};

/* A query parameter of the handler, or a header; those of a list follow from its resource. */
struct route_query {
    const char *name; /* NULL ends the table */
    unsigned since;
    bool is_boolean; /* otherwise text */
    enum { IN_QUERY, IN_HEADER, IN_ANSWER } place;
};

struct route {
    const char *method;
    const char *path;   /* below /v3[/{project}]: "/volumes/{id}/metadata/{key}" */
    const char *action; /* for …/action: the body's key; NULL otherwise */
    unsigned since;     /* first minor microversion */
    /* The route's object.  {id} must be visible to the caller, otherwise 404: request->object, and
     * its owner is the policy's target. */
    const struct resource *resource;
    const char *rule;           /* policy; NULL: none, or checked in the handler */
    const char *wrapper;        /* outer key of the body ("volume"); NULL: no body, or an action */
    const struct field *fields; /* NULL: nothing is decoded */
    size_t body_size;           /* sizeof the struct that `fields` fill */
    const struct route_query *queries; /* NULL: none */
    /* Checks of the body beyond the fields: ERROR_BAD_REQUEST before policy, and before the object
     * is loaded.  request->work is not set yet. */
    route_handler *check;
    route_handler *handler;
    int status;
    int status_later; /* when the work was only started, set by the handler; 0: always the same
                       * status */
    /* The response: below this key; NULL: at the top.  For a list or a plain show it follows from
     * the resource, and without a shape, too, there is no body. */
    const char *answer;
    const struct shape *shape;
    unsigned flags;
    route_handler *after; /* runs at the end of wait_operation, in a read transaction except with
                           * ROUTE_ASKS */
};
/* clang-format off */
#define ROUTES_END { .method = NULL }
#define BODY(decoded, type) .fields = decoded, .body_size = sizeof(type)
#define ANSWER(key_, shape_) .answer = key_, .shape = &(shape_)
#define HEADER_IN(place_, name_) \
    .queries = (const struct route_query[]){ { .name = name_, .place = place_ }, { .name = NULL } }
#define ABSENT(method_, path_) { .method = method_, .path = path_, .flags = ROUTE_ABSENT }
/* clang-format on */

/* Defined by the row of the resource alone. */
route_handler resource_list, resource_list_detail, resource_show;

/* Does the request have a body? */
bool route_wants_body(const struct route *route);

/* Does the cost of this GET grow with the number of rows?  Then it is not run in an I/O thread
 * (read.c). */
bool route_reads_many(const struct route *route);

/* All tables, ended with NULL: api/routes.c (a separate file: tests have their own). */
extern const struct route *const api_routes[];
