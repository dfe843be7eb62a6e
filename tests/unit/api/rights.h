/*
 * The callers of each route, its rules and its responses: one row for each, written by hand from
 * the reference of the API, never from the routes themselves.  test_rights.c, test_rights_rules.c
 * and test_hostile_requests.c walk it; the first names routes without a row.
 */
#pragma once

#include "rest/route.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <check.h>
#include <string.h>

enum right {
    PUBLIC, /* no rule, nothing of one project */
    READER,
    MEMBER,
    ADMIN,
    OWNED = 4,  /* of an object: not found for other projects, nor for callers that may not see
                 * it */
    KNOWN = 8,  /* as OWNED, but a refusal of the project's own callers is a 403 */
    LATE = 16,  /* the object is sought behind the route's own rule: a body names it, or it is of no
                 * project */
    NAMED = 32, /* the path names a project, which is the target of the rule */
    HIDDEN = 64,  /* the object is there for administrators alone */
    RECENT = 128, /* its rules had no former default */
    OWNED_READER = READER | OWNED,
    OWNED_MEMBER = MEMBER | OWNED,
    OWNED_ADMIN = ADMIN | OWNED,
    KNOWN_READER = READER | OWNED | KNOWN,
    KNOWN_MEMBER = MEMBER | OWNED | KNOWN,
    KNOWN_ADMIN = ADMIN | OWNED | KNOWN,
    HIDDEN_PUBLIC = PUBLIC | OWNED | HIDDEN,
    HIDDEN_ADMIN = ADMIN | OWNED | HIDDEN,
};

#define BARE(right) ((right)&3)

struct row {
    enum right right;
    const char *method, *path, *body; /* "%s": the object */
    int status;                       /* of the response to permitted callers */
    const char *rules; /* that the call must have, in the order of their checks; "": none */
    const char
        *before; /* SQL that brings the object ("%s") where the call has its place, or NULL */
};

struct group {
    const struct row *rows;
    size_t count;
    const char *(*make)(struct world *world); /* an object of WORLD_PROJECT; NULL: none is needed */
};

/* ended with NULL rows */
extern const struct group rights_groups[];

/* `text` with `id` in each of its "%s"; NULL for NULL. */
const char *rights_put_id(struct arena *arena, const char *text, const char *id);

/* `text` with `to` for each `from`. */
const char *rights_put_instead(struct arena *arena, const char *text, const char *from,
                               const char *to);

/* A world where the row's call has its place, entered by the callers of roles.h.  `rules`: as for
 * roles_enter(). */
struct world *rights_world(const struct group *group, const struct row *row, const char *rules,
                           bool enforce_new_defaults, const char **ret_id);

/* The id of the object that a request creates, under `wrapper` in its response. */
const char *rights_make(struct world *world, const char *token, const char *wrapper,
                        const char *path, const char *body);

/* The response of `row` about `id` to the caller with this token. */
int rights_request(struct world *world, const char *token, const struct row *row, const char *id);

/* Is the row one of this route? */
bool rights_row_is_of(const struct row *row, const struct route *route);

/* "token: method path body", for the messages of a test. */
const char *rights_name(struct world *world, const struct row *row);
