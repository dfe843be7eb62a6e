/*
 * A volume becomes again what its newest snapshot has kept.
 */
#pragma once

#include "ledger/operation.h"
#include "volume/volume.h"

/* revert (3.40); snapshot_id may be NULL, and is refused then.  ERROR_CONFLICT in a wrong state. */
int volume_revert(struct work *work, const struct volume *volume, const char *snapshot_id,
                  struct error *err);
/* What a job must still find right before it replaces anything. */
bool volume_revert_wanted(const struct volume *volume);
/* To which one, as the operation says; never NULL. */
const char *volume_revert_snapshot(struct arena *arena, const struct operation *operation);
/* What finishes it. */
struct revert_ending {
    const struct error *failure; /* NULL: done */
    bool untouched;              /* it has failed before anything was done */
};
