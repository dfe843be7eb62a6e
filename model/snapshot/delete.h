/*
 * Deleting a snapshot.  Once its backend has begun to destroy it, it cannot be used any more
 * (delete_begun): so a late or an abandoned delete is harmless.
 */
#pragma once

#include "model/snapshot/snapshot.h"
#include "model/volume/delete.h"
#include "operation/operation.h"

/* `how`: bits of model/volume/delete.h. */
int snapshot_delete(struct work *work, const struct snapshot *snapshot, unsigned how,
                    struct error *err);
/* For the worker that holds the operation, before it calls the backend: the argument is the
 * snapshot's id. */
operation_body snapshot_delete_begin;
/* The backend has done nothing, and no earlier call had begun: the argument is the same. */
operation_body snapshot_delete_not_begun;
/* It is gone: its row with dependents, and its quota. */
int snapshot_delete_done(struct work *work, const struct snapshot *snapshot, struct error *err);
/* Its result. */
struct snapshot_delete_ending {
    const struct error *failure; /* NULL: gone */
    bool busy;                   /* a guest is in the way, and nothing was done, now or before */
};
