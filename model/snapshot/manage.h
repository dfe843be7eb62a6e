/*
 * Managing existing storage as a snapshot of a volume, and unmanaging a snapshot: as for volumes
 * (manage.h), except that a snapshot has the size of its volume until a worker has read its own.
 *
 * A failed one has no object, and deleting it removes the row alone (taken_over).  A snapshot that
 * the backend has begun to unmanage cannot be used any more, like one being destroyed.
 */
#pragma once

#include "model/snapshot/create.h"
#include "model/volume/manage.h"

/* Before that the backend checks the object, as for a volume. */
int snapshot_manage_ask(struct work *work, const struct volume *volume, const char *source_name,
                        const char **ret_operation_id, struct error *err);
/* POST: row, quota, operation and message. */
int snapshot_manage(struct work *work, const struct volume *volume,
                    const struct snapshot_new *request, const char *source_name,
                    struct snapshot *ret, struct error *err);
/* As volume_manage_sized(); ERROR_BAD_REQUEST also when another snapshot has the object. */
operation_body snapshot_manage_sized;
/* struct manage_ending finishes it. */

/* Has it no object, whatever lies under its name? */
bool snapshot_manage_has_no_object(const struct snapshot *snapshot);

/* os-unmanage. */
int snapshot_unmanage(struct work *work, const struct snapshot *snapshot, struct error *err);
/* struct snapshot_delete_ending finishes it. */
