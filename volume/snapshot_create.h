/*
 * Making a snapshot: from POST /snapshots to its object on the volume's backend.
 */
#pragma once

#include "volume/snapshot.h"
#include "volume/volume.h"

struct snapshot_new {
    const char *name, *description;
    struct pairs metadata;
    bool in_use_allowed; /* asked for by force, or by the microversion (3.66) */
};

int snapshot_create(struct work *work, const struct volume *volume,
                    const struct snapshot_new *request, struct snapshot *ret, struct error *err);
/* struct create_ending (create.h) finishes it. */
