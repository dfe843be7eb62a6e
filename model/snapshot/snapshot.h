/*
 * Snapshot rows: read, listed, and changed only through the functions here and in the operations'
 * own files (create.c, delete.c, reset.c).
 *
 * Everything runs inside one transaction (struct work); results live in the work's arena.
 */
#pragma once

#include "model/snapshot/status.h"
#include "operation/pairs.h"
#include "operation/query.h"

struct snapshot {
    const char *id, *volume_id, *project_id, *user_id;
    const char *name, *description;
    int64_t size_gb;
    enum snapshot_status status;
    bool status_by_reset;
    const char *progress; /* "0%" to "100%", or NULL */
    bool use_quota;
    int64_t counted_gb; /* of the quota of gigabytes: its size, or 0 (no_snapshot_gb_quota) */
    bool delete_begun;  /* the backend has begun to destroy it: it cannot be used any more */
    bool taken_over;    /* an existing object (manage.h) */
    const char *format, *provider_location;
    const char *group_snapshot_id;
    int64_t created_at, updated_at;
    const char *availability_zone; /* of its volume, as the next */
    const char *host;              /* NULL in lists */
    const char *type_name;         /* NULL: no type, or in lists */

    struct pairs metadata; /* filled by snapshot_get() and snapshot_list() */
};

/* One that the caller may see: its project's, or any for an admin. 0, or -1 (ERROR_NOT_FOUND). */
int snapshot_get(struct work *work, const char *id, struct snapshot *ret, struct error *err);
/* Without visibility checks, for jobs; the row alone. */
int snapshot_row(struct work *work, const char *id, struct snapshot *ret, struct error *err);
/* Rows for a list, over the alias s, always with their metadata, and without columns of their
 * volume: a page among many would cost as much more. */
int snapshot_list(struct work *work, const struct query *query, struct snapshot **ret,
                  struct error *err); /* how many, or -1 */
/* All that there are, without metadata; how many. */
int snapshot_all(struct work *work, struct snapshot **ret, struct error *err);
/* All of a volume's, newest first, without metadata; how many. */
int snapshot_of(struct work *work, const char *volume_id, struct snapshot **ret, struct error *err);
/* All of a group snapshot's, without metadata, in the order of their volumes' ids; how many. */
int snapshot_of_group(struct work *work, const char *group_snapshot_id, struct snapshot **ret,
                      struct error *err);
/* It belongs to a project of which the caller may see nothing: an accepted transfer without
 * snapshots leaves them to the former project.  No answer has its id, state or content. */
bool snapshot_is_hidden(const struct work *work, const struct snapshot *snapshot);
/* Has a volume any?  1 or 0. */
int snapshot_any_of(struct work *work, const char *volume_id, struct error *err);
/* ERROR_BAD_REQUEST when it has. */
int snapshot_none_of(struct work *work, const char *volume_id, struct error *err);

/* Name and description; unset ones stay. */
struct snapshot_changes {
    bool set_name, set_description;
    const char *name, *description;
};
int snapshot_update(struct work *work, const struct snapshot *snapshot,
                    const struct snapshot_changes *changes, struct error *err);

extern const struct pair_rows snapshot_metadata_rows;
/* merge: adds or overwrites; else the set becomes exactly `pairs`. */
int snapshot_metadata_set(struct work *work, const struct snapshot *snapshot,
                          const struct pairs *pairs, bool merge, struct error *err);
int snapshot_metadata_delete(struct work *work, const struct snapshot *snapshot, const char *key,
                             struct error *err); /* -1 ERROR_NOT_FOUND when absent */
