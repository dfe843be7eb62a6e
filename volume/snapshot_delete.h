/*
 * Deleting a snapshot.  Once its backend was told to destroy it, whole or not, nobody gets it any
 * more (delete_begun): so a delete that is late, or that was given up, harms nobody.
 */
#pragma once

#include "ledger/operation.h"
#include "volume/delete.h"
#include "volume/snapshot.h"

/* `how`: bits of volume/delete.h. */
int snapshot_delete(struct work *work, const struct snapshot *snapshot, unsigned how,
                    struct error *err);
/* For the worker that holds the operation, before it tells the backend: the argument is the
 * snapshot's id. */
operation_body snapshot_delete_begin;
/* The backend has done nothing, and nothing was begun before: the argument is the same. */
operation_body snapshot_delete_not_begun;
/* It is gone: its row, what hangs on it, and its quota. */
int snapshot_delete_done(struct work *work, const struct snapshot *snapshot, struct error *err);
/* What finishes it. */
struct snapshot_delete_ending {
    const struct error *failure; /* NULL: gone */
    bool busy; /* a guest stands in the way, and nothing was done, now or before */
};
