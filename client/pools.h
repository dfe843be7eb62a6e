/*
 * Volume types and backend pools in the volume API (volumes_client()). Failures as in client.h.
 */
#pragma once

#include "client/client.h"

struct remote_type {
    const char *id, *name;
    bool multiattach; /* its volumes may be attached to several hosts */
};

/* By name or id, of the types visible to the caller; ERROR_NOT_FOUND. */
int types_find(const struct client *api, struct arena *arena, const char *wanted,
               struct remote_type *ret, struct error *err);
/* The same of group types. */
int group_types_find(const struct client *api, struct arena *arena, const char *wanted,
                     struct remote_type *ret, struct error *err);

struct remote_pool {
    const char *name;     /* node@backend#pool */
    const char *protocol; /* of connections to its volumes; NULL: unknown */
    const char *zone;     /* NULL: unknown, or before pools_find_zones() */
    int64_t free_gb;      /* FIELD_MAX_SIZE_GB: unlimited */
};

/* Those that accept volumes of the type (NULL: any); for administrators only.  Returns their
 * number. */
int pools_find(const struct client *api, struct arena *arena, const char *type,
               struct remote_pool **ret, struct error *err);
/* Their availability zones, from their services. */
int pools_find_zones(const struct client *api, struct arena *arena, struct remote_pool *pools,
                     unsigned count, struct error *err);

struct remote_room {
    int64_t free_gb;    /* of all pools together; FIELD_MAX_SIZE_GB: unlimited */
    int64_t largest_gb; /* of the pool with most free capacity */
};

void pools_add_room(const struct remote_pool *pool, struct remote_room *room);
/* Of the pools that accept volumes of the type (NULL: any); for administrators only. */
int pools_room(const struct client *api, struct arena *arena, const char *type,
               struct remote_room *ret, struct error *err);
