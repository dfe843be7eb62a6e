/*
 * Reverting a volume to its newest snapshot.
 */
#pragma once

#include "model/volume/volume.h"
#include "operation/operation.h"

/* revert (3.40); snapshot_id may be NULL, and is refused then.  ERROR_CONFLICT in a wrong state. */
int volume_revert(struct work *work, const struct volume *volume, const char *snapshot_id,
                  struct error *err);
/* Must still hold right before a job replaces anything. */
bool volume_revert_still_valid(const struct volume *volume);
/* The snapshot of the operation; never NULL. */
const char *volume_revert_snapshot(struct arena *arena, const struct operation *operation);
/* Its result. */
struct revert_ending {
    const struct error *failure; /* NULL: done */
    bool untouched;              /* it has failed without an effect */
};
