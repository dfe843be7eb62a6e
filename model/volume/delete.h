/*
 * Deleting a volume, and the rest of a delete that was begun more than once or cancelled.
 */
#pragma once

#include "model/volume/volume.h"
#include "operation/operation.h"

/* How a volume or a snapshot is deleted; bits. */
enum {
    DELETE_CASCADE = 1, /* with its snapshots */
    DELETE_FORCE = 2,   /* whatever its status */
    DELETE_RETRIED = 4, /* from error_deleting as well (RETRY_HEADER) */
};
int volume_delete(struct work *work, const struct volume *volume, unsigned how, struct error *err);
/* One that is deleted with its group. */
int volume_delete_member(struct work *work, const struct volume *volume, struct error *err);
/* Must still hold right before a job destroys anything: no attachment, no reset. */
bool volume_delete_still_valid(const struct volume *volume);
/* A volume whose manage failed has no object: deleting or unmanaging it affects the row alone. */
bool volume_delete_has_no_object(const struct volume *volume);
/* The row with its dependents, its quota and its share of the pool. */
int volume_delete_row(struct work *work, const struct volume *volume, struct error *err);
/* A new name for the volume's object, which no earlier worker knows: stored, together with the
 * previous one, before the backend is called.  1 done, 0 `owner` no longer has the operation.  Also
 * for a cancelled one. */
int volume_delete_rename(struct work *work, const struct operation *operation, const char *owner,
                         const char *from, const char *to, struct error *err);
/* The name stored last; false: none. */
bool volume_delete_renamed(struct arena *arena, const struct operation *operation,
                           const char **ret_from, const char **ret_to);
/* Its result. */
struct delete_ending {
    const struct error *failure; /* NULL: gone */
};
/* A delete, unmanage or revert was cancelled when the object was gone already: the volume has none,
 * whatever its status; unless it is being deleted again. */
int volume_object_gone(struct work *work, const struct operation *operation, struct error *err);
