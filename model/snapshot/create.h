/*
 * Creating a snapshot: from POST /snapshots to its object on the volume's backend.
 */
#pragma once

#include "model/snapshot/snapshot.h"
#include "model/volume/volume.h"

struct snapshot_new {
    const char *name, *description;
    struct pairs metadata;
    bool in_use_allowed;           /* requested by force, or by the microversion (3.66) */
    const char *group_snapshot_id; /* that creates it; NULL: it is created alone */
    bool taken_over;               /* it exists already (manage.h) */
    bool no_space; /* its pool has no space for it: the row is inserted with an error */
};

/* Where the pool has no space for it, *ret is in error, a message has the reason, and no operation
 * begins. */
int snapshot_create(struct work *work, const struct volume *volume,
                    const struct snapshot_new *request, struct snapshot *ret, struct error *err);
/* struct create_ending (create.h) finishes it. */

/* Its row alone, with its quota and notification: its group snapshot's operation makes it. */
int snapshot_add(struct work *work, const struct volume *volume, const struct snapshot_new *request,
                 struct snapshot *ret, struct error *err);
struct create_ending;
/* It has an object, and cannot be used before its group snapshot has ended. */
int snapshot_create_note(struct work *work, const char *id, const struct create_ending *ending,
                         struct error *err);
/* The effect of its end on its row. */
int snapshot_create_ended(struct work *work, const char *id, const struct create_ending *ending,
                          struct error *err);
