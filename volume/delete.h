/*
 * Deleting a volume, and what is left of a delete that was begun more than once or cancelled.
 */
#pragma once

#include "ledger/operation.h"
#include "volume/volume.h"

/* How a volume or a snapshot is deleted; bits. */
enum {
    DELETE_CASCADE = 1, /* with its snapshots */
    DELETE_FORCE = 2,   /* whatever its status */
    DELETE_RETRIED = 4, /* from error_deleting as well (RETRY_HEADER) */
};
int volume_delete(struct work *work, const struct volume *volume, unsigned how, struct error *err);
/* One that goes with its group. */
int volume_delete_member(struct work *work, const struct volume *volume, struct error *err);
/* What a job must still find right before it destroys anything: nobody is attached, nobody has
 * reset it. */
bool volume_delete_wanted(const struct volume *volume);
/* What was not taken over is nobody's: to delete it, or to let go of it, takes the row alone. */
bool volume_delete_has_no_object(const struct volume *volume);
/* The row, what hangs on it, its quota and its share of the pool. */
int volume_delete_row(struct work *work, const struct volume *volume, struct error *err);
/* A new name for the volume's object, which no worker of before knows: written down, together with
 * the one that it leaves, before the backend is told.  1 done, 0 the operation is not `owner`'s any
 * more.  Also of one that was cancelled. */
int volume_delete_rename(struct work *work, const struct operation *operation, const char *owner,
                         const char *from, const char *to, struct error *err);
/* What was written down last; false: nothing was. */
bool volume_delete_renamed(struct arena *arena, const struct operation *operation,
                           const char **ret_from, const char **ret_to);
/* What finishes it. */
struct delete_ending {
    const struct error *failure; /* NULL: gone */
};
/* The delete was cancelled when the object was gone already: the volume has none, whatever status
 * it was given; unless it is being deleted again. */
int volume_delete_undone(struct work *work, const struct operation *operation, struct error *err);
