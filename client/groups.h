/*
 * Generic groups and group snapshots in the volume API (volumes_client(); microversion 3.13 for
 * groups, 3.25 for their volumes, 3.14 for group snapshots). Failures as in client.h.
 */
#pragma once

#include "client/client.h"

struct remote_group {
    const char *id, *status;
    const char *name, *description, *created_at; /* each may be NULL */
    const char *group_type;                      /* its id; NULL: unknown */
    const json_t *volume_types, *volumes;        /* lists of ids */
};

struct remote_group_new {
    const char *name, *description;
    const char *group_type;
    const char *const *volume_types;
    unsigned volume_type_count;
};

int groups_read(const struct client *api, struct arena *arena, const char *group_id,
                struct remote_group *ret, struct error *err);
/* As volumes_list(). */
int groups_list(const struct client *api, struct arena *arena, const char *query,
                const char *marker, unsigned limit, struct remote_group **ret, struct error *err);
/* *ret_id is its id. */
int groups_create(const struct client *api, struct arena *arena,
                  const struct remote_group_new *wanted, const char **ret_id, struct error *err);
/* A new description (NULL: as it is), and lists of ids joined with commas, each of which may be
 * empty.  All or nothing is changed. */
int groups_change(const struct client *api, struct arena *arena, const char *group_id,
                  const char *description, const char *add, const char *remove, struct error *err);
int groups_delete(const struct client *api, struct arena *arena, const char *group_id,
                  bool with_volumes, struct error *err);

struct remote_group_snapshot {
    const char *id, *status, *group_id;
    const char *name, *description; /* each may be NULL */
    int64_t created_us;             /* since 1970; 0: unknown */
};

int group_snapshots_read(const struct client *api, struct arena *arena, const char *id,
                         struct remote_group_snapshot *ret, struct error *err);
int group_snapshots_list(const struct client *api, struct arena *arena, const char *query,
                         const char *marker, unsigned limit, struct remote_group_snapshot **ret,
                         struct error *err);
int group_snapshots_create(const struct client *api, struct arena *arena, const char *group_id,
                           const char *name, const char *description, const char **ret_id,
                           struct error *err);
int group_snapshots_delete(const struct client *api, struct arena *arena, const char *id,
                           struct error *err);
