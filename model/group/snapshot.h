/*
 * Snapshots of a whole group: one snapshot of each of its volumes names it (snapshot_of_group()).
 * They are made and deleted by its operations alone (snapshot_create.c and _delete.c).
 *
 * Everything runs inside one transaction (struct work); results live in the work's arena.
 */
#pragma once

#include "model/group/snapshot_status.h"
#include "operation/query.h"

struct group_snapshot {
    const char *id, *project_id, *user_id;
    const char *group_id, *group_type_id, *group_type_name;
    const char *name, *description;
    enum group_snapshot_status status;
    bool status_by_reset;
    int64_t created_at, updated_at;
};

/* One that the caller may see: its project's, or any for an admin. 0, or -1 (ERROR_NOT_FOUND). */
int group_snapshot_get(struct work *work, const char *id, struct group_snapshot *ret,
                       struct error *err);
/* Without visibility checks, for jobs and checks. */
int group_snapshot_row(struct work *work, const char *id, struct group_snapshot *ret,
                       struct error *err);
/* Rows for a list, over the alias gs. */
int group_snapshot_list(struct work *work, const struct query *query, struct group_snapshot **ret,
                        struct error *err); /* how many, or -1 */
/* os-reset_status by an operator: from any status. */
int group_snapshot_reset_status(struct work *work, const struct group_snapshot *group_snapshot,
                                const char *status, struct error *err);
