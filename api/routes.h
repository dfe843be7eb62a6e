/*
 * The API is a table: each resource's file has its rows; the router reads nothing else.
 */
#pragma once

#include "api/request.h"

typedef int route_handler(struct request *request, struct error *err);

/* Beside the right that the row names, the caller must have that of seeing the object: load.h. */
enum route_loads {
    LOADS_NOTHING,
    LOADS_VOLUME,     /* {id} is a volume that the caller sees; else 404; policy target is it */
    LOADS_ATTACHMENT, /* {id} is an attachment of a visible volume; request->volume is loaded too */
    LOADS_TYPE,       /* {id} is a volume type that the caller sees */
    LOADS_MESSAGE,    /* {id} is a message of the caller's project */
};

enum route_flags {
    ROUTE_OPEN = 1 << 0,        /* unknown keys of the inner object are accepted */
    ROUTE_ANY_VALUE = 1 << 1,   /* the action's value (or body) is not looked at */
    ROUTE_NO_WRAPPER = 1 << 2,  /* the fields stand at the top level of the body */
    ROUTE_NULL_VALUE = 1 << 3,  /* the inner value may be null: no field is set */
    ROUTE_ABSENT = 1 << 4,      /* routed upstream, where nothing answers: 404 itemNotFound */
    ROUTE_OPEN_OUTER = 1 << 5,  /* other outer keys are accepted */
    ROUTE_STRICT_LATE = 1 << 6, /* unknown inner keys are refused from 3.53 on only */
    ROUTE_ROW_ALONE = 1 << 7,   /* the volume's row is enough: metadata and attachments stay where
                                   they are */
    ROUTE_BARE = 1 << 8,        /* the answer has no body, and the type of an empty page */
};

struct route {
    const char *method;
    const char *path;   /* below /v3[/{project}]: "/volumes/{id}/metadata/{key}" */
    const char *action; /* for …/action: the body's key; NULL otherwise */
    unsigned since;     /* first minor microversion */
    enum route_loads loads;
    const char *rule;           /* policy; NULL: none, or asked in the handler */
    const char *wrapper;        /* outer key of the body ("volume"); NULL: no body, or an action */
    const struct field *fields; /* NULL: nothing is decoded */
    size_t body_size;           /* sizeof the struct that `fields` fill */
    /* What the fields cannot say of the body: ERROR_BAD_REQUEST before policy, and before the
     * object is looked up.  There is no request->work yet. */
    route_handler *check;
    route_handler *handler;
    int status;
    unsigned flags;
    route_handler *after; /* runs in a read transaction when wait_operation has ended */
};
/* clang-format off */
#define ROUTES_END { .method = NULL }
#define BODY(decoded, type) .fields = decoded, .body_size = sizeof(type)
#define ABSENT(method_, path_) { .method = method_, .path = path_, .flags = ROUTE_ABSENT }
/* clang-format on */

extern const struct route volume_routes[];
extern const struct route volume_action_routes[];
extern const struct route attachment_routes[];
extern const struct route type_routes[];
extern const struct route type_encryption_routes[];
extern const struct route default_type_routes[];
extern const struct route quota_routes[];   /* quota sets, class sets, limits */
extern const struct route service_routes[]; /* os-services, zones, pools, agents' heartbeat */
extern const struct route message_routes[];
extern const struct route extension_routes[];
extern const struct route resource_filter_routes[];

/* All of the above, ended with NULL (a file of its own: tests bring theirs). */
extern const struct route *const api_routes[];
