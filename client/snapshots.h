/*
 * Snapshots in the volume API (volumes_client()). Failures as in client.h.
 */
#pragma once

#include "client/client.h"

struct remote_snapshot {
    const char *id, *status, *volume_id;
    const char *name, *group_snapshot_id; /* each may be NULL */
    const json_t *metadata;
    int64_t size_gb;
    int64_t created_us; /* since 1970; 0: unknown */
};

int snapshots_read(const struct client *api, struct arena *arena, const char *snapshot_id,
                   struct remote_snapshot *ret, struct error *err);
/* As volumes_list(). */
int snapshots_list(const struct client *api, struct arena *arena, const char *query,
                   const char *marker, unsigned limit, struct remote_snapshot **ret,
                   struct error *err);
/* Also of a volume in use.  `unique`: as for a new volume (volumes.h). */
int snapshots_create(const struct client *api, struct arena *arena, const char *volume_id,
                     const char *name, const struct remote_pair *metadata, const char *unique,
                     struct remote_snapshot *ret, struct error *err);
/* As volumes_delete() (volumes.h). */
int snapshots_delete(const struct client *api, struct arena *arena, const char *snapshot_id,
                     const char *unreported, struct error *err);
