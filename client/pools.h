/*
 * What the volume API (volumes_client()) says of where volumes may be.  Failures are client.h's.
 */
#pragma once

#include "client/client.h"

struct remote_type {
    const char *id, *name;
    bool multiattach; /* its volumes may be attached to several hosts */
};

/* By name or id, of the types that the caller sees; ERROR_NOT_FOUND. */
int types_find(const struct client *api, struct arena *arena, const char *wanted,
               struct remote_type *ret, struct error *err);
/* The same of group types. */
int group_types_find(const struct client *api, struct arena *arena, const char *wanted,
                     struct remote_type *ret, struct error *err);

struct remote_pool {
    const char *name;     /* node@backend#pool */
    const char *protocol; /* how volumes there are reached; NULL: it does not say */
    const char *zone;     /* NULL: nobody has asked (pools_find_zones()), or knows */
    int64_t free_gb;      /* FIELD_MAX_SIZE_GB: as much as anybody wants */
};

/* Those that take volumes of the type (NULL: any); for administrators alone.  Returns how many. */
int pools_find(const struct client *api, struct arena *arena, const char *type,
               struct remote_pool **ret, struct error *err);
/* Their availability zones, which their services have. */
int pools_find_zones(const struct client *api, struct arena *arena, struct remote_pool *pools,
                     unsigned count, struct error *err);

struct remote_room {
    int64_t free_gb;    /* of all pools together; FIELD_MAX_SIZE_GB: as much as anybody wants */
    int64_t largest_gb; /* the most free of one of them */
};

void pools_add_room(const struct remote_pool *pool, struct remote_room *room);
/* Of the pools that take volumes of the type (NULL: any); for administrators alone. */
int pools_room(const struct client *api, struct arena *arena, const char *type,
               struct remote_room *ret, struct error *err);
