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

struct remote_room {
    int64_t free_gb;    /* of all pools together; FIELD_MAX_SIZE_GB: as much as anybody wants */
    int64_t largest_gb; /* the most free of one of them */
};

/* Of the pools that take volumes of the type (NULL: any); for administrators alone. */
int pools_room(const struct client *api, struct arena *arena, const char *type,
               struct remote_room *ret, struct error *err);
