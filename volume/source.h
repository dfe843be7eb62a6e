/*
 * What a new volume is made of: a snapshot, or another volume.  It is read on the backend where it
 * is, in its volume's turn, and the new one needs nothing of it afterwards.
 */
#pragma once

#include "ledger/operation.h"
#include "volume/snapshot.h"
#include "volume/volume.h"

struct volume_new;

struct volume_source {
    bool given; /* false: the new one is empty */
    bool is_snapshot;
    struct snapshot snapshot;
    struct volume volume; /* the source, or the one that the snapshot is of */
    int64_t size_gb;
};

/* As the request names it, with the caller's eyes: it must be there, whole, and nobody's who
 * changes it. */
int volume_source_find(struct work *work, const struct volume_new *request,
                       struct volume_source *ret, struct error *err);
/* For whoever makes the volume: as the volume's row names it. */
int volume_source_of(struct work *work, const struct volume *volume, struct volume_source *ret,
                     struct error *err);
/* What its operation says of it (struct operation: turn_of, arguments). */
void volume_source_note(const struct volume_source *source, struct operation *fields);
