/*
 * Groups of volumes: a group is a row, and its volumes are those that name it.
 *
 * Everything runs inside one transaction (struct work); results live in the work's arena.
 */
#pragma once

#include "model/group/status.h"
#include "model/volume/volume.h"

struct volume_group {
    const char *id, *project_id, *user_id;
    const char *host; /* of all its volumes; NULL: never placed */
    const char *availability_zone, *name, *description;
    enum group_status status;
    bool status_by_reset;
    const char *group_type_id, *group_type_name;
    const char *group_snapshot_id, *source_group_id; /* what it was made of; NULL: nothing */
    const char *replication_status;
    int64_t created_at, updated_at;

    /* Filled by group_get(), group_row(), and by group_list() of a list with details. */
    const char *const *volume_types; /* ids of those that its volumes may have */
    unsigned volume_type_count;
    /* Filled by group_volumes() alone. */
    bool with_volumes;
    const char *const *volumes; /* ids */
    unsigned volume_count;
};

/* One that the caller may see: its project's, or any for an admin. 0, or -1 (ERROR_NOT_FOUND). */
int group_get(struct work *work, const char *id, struct volume_group *ret, struct error *err);
/* Without visibility checks, for jobs and checks. */
int group_row(struct work *work, const char *id, struct volume_group *ret, struct error *err);
/* Rows for a list, over the alias g; its details are the volume types, and the volumes if they are
 * wanted. */
int group_list(struct work *work, const struct query *query, bool with_volumes,
               struct volume_group **ret, struct error *err); /* how many, or -1 */
/* Its volumes, oldest first. */
int group_volumes(struct work *work, struct volume_group *group, struct error *err);
/* The volumes themselves, by id, with attachments. */
int group_members(struct work *work, const char *group_id, struct volume **ret, struct error *err);
