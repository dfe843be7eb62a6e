/*
 * Existing storage becomes a snapshot of a volume, and a snapshot is let go of: as volumes are
 * (manage.h), but that a snapshot has the size of its volume until a worker has looked.
 *
 * One that failed has no object, and to delete it takes the row alone away (taken_over).  What the
 * backend was told to let go of nobody gets any more, as what it was told to destroy.
 */
#pragma once

#include "volume/manage.h"
#include "volume/snapshot_create.h"

/* Before that the backend is asked for the object, as for a volume. */
int snapshot_manage_ask(struct work *work, const struct volume *volume, const char *source_name,
                        const char **ret_operation_id, struct error *err);
/* POST: row, quota, operation and message. */
int snapshot_manage(struct work *work, const struct volume *volume,
                    const struct snapshot_new *request, const char *source_name,
                    struct snapshot *ret, struct error *err);
/* As volume_manage_sized(); ERROR_BAD_REQUEST also when another snapshot has the object. */
operation_body snapshot_manage_sized;
/* struct manage_ending finishes it. */

/* Is it one that has no object, whatever lies under its name? */
bool snapshot_manage_has_no_object(const struct snapshot *snapshot);

/* os-unmanage. */
int snapshot_unmanage(struct work *work, const struct snapshot *snapshot, struct error *err);
/* struct snapshot_delete_ending finishes it. */
