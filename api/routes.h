/*
 * The API is a table: each resource's file has its rows; the router reads nothing else.
 */
#pragma once

#include "api/request.h"
#include "api/resource.h"
#include "api/shape.h"

typedef int route_handler(struct request *request, struct error *err);

enum route_flags {
    ROUTE_OPEN = 1 << 0,        /* unknown keys of the inner object are accepted */
    ROUTE_ANY_VALUE = 1 << 1,   /* the action's value (or body) is not looked at */
    ROUTE_NO_WRAPPER = 1 << 2,  /* the fields stand at the top level of the body */
    ROUTE_NULL_VALUE = 1 << 3,  /* the inner value may be null: no field is set */
    ROUTE_ABSENT = 1 << 4,      /* routed upstream, where nothing answers: 404 itemNotFound */
    ROUTE_OPEN_OUTER = 1 << 5,  /* other outer keys are accepted */
    ROUTE_STRICT_LATE = 1 << 6, /* unknown inner keys are refused from 3.53 on only */
    ROUTE_ROW_ALONE = 1 << 7,   /* the object's own row is enough: what other tables say of it stays
                                   where it is */
    ROUTE_BARE = 1 << 8,        /* the answer has no body, and the type of an empty page */
    ROUTE_MANY = 1 << 9,        /* the answer is a list */
    ROUTE_TEXT = 1 << 10,       /* the answer is bare text, no JSON */
    ROUTE_EMPTY_BODY = 1 << 11, /* {} is as good as null for the wrapper's value */
    ROUTE_ONE_FIELD = 1 << 12,  /* the body is the value of the one field */
    ROUTE_WRITES = 1 << 13,     /* a GET that changes something */
    ROUTE_BROAD = 1 << 14,      /* a GET that reads many rows, though its answer is no list */
    /* The handler asks a backend and changes nothing else; `after` makes what is asked for, in a
     * transaction that writes, also when the backend has not answered in time; in that of the
     * handler when this has not asked. */
    ROUTE_ASKS = 1 << 15,
};

/* A parameter of the query that the handler looks at; those of a list follow from its resource. */
struct route_query {
    const char *name; /* NULL ends the table */
    unsigned since;
    bool is_boolean; /* else text */
};

struct route {
    const char *method;
    const char *path;   /* below /v3[/{project}]: "/volumes/{id}/metadata/{key}" */
    const char *action; /* for …/action: the body's key; NULL otherwise */
    unsigned since;     /* first minor microversion */
    /* What the route is about.  {id} is one that the caller sees, else 404: request->object, and
     * its owner is the policy's target. */
    const struct resource *resource;
    const char *rule;           /* policy; NULL: none, or asked in the handler */
    const char *wrapper;        /* outer key of the body ("volume"); NULL: no body, or an action */
    const struct field *fields; /* NULL: nothing is decoded */
    size_t body_size;           /* sizeof the struct that `fields` fill */
    const struct route_query *queries; /* NULL: none */
    /* What the fields cannot say of the body: ERROR_BAD_REQUEST before policy, and before the
     * object is looked up.  There is no request->work yet. */
    route_handler *check;
    route_handler *handler;
    int status;
    int status_later; /* when it was only begun, as the handler says; 0: it says the same always */
    /* The answer: below this key; NULL: at the top.  Of a list or a plain show the resource says
     * it, and where there is no shape either, there is no body. */
    const char *answer;
    const struct shape *shape;
    unsigned flags;
    route_handler *after; /* runs when wait_operation has ended, in a transaction that reads but for
                           * ROUTE_ASKS */
};
/* clang-format off */
#define ROUTES_END { .method = NULL }
#define BODY(decoded, type) .fields = decoded, .body_size = sizeof(type)
#define ANSWER(key_, shape_) .answer = key_, .shape = &(shape_)
#define ABSENT(method_, path_) { .method = method_, .path = path_, .flags = ROUTE_ABSENT }
/* clang-format on */

/* What the row of the resource says is all there is to do. */
route_handler resource_list, resource_list_detail, resource_show;

/* Does the work of this GET grow with the number of rows that there are?  Then it is not for a
 * thread that others wait for (read.c). */
bool route_reads_many(const struct route *route);

#define ROUTES(name) extern const struct route name[];
#include "api/routes.def"
#undef ROUTES

/* All of routes.def, ended with NULL (a file of its own: tests bring theirs). */
extern const struct route *const api_routes[];
