/*
 * What a new volume is made of: a snapshot, or another volume.  It is read on the backend where it
 * is, in its own turn, and the new one needs nothing of it afterwards.
 */
#pragma once

#include "ledger/operation.h"
#include "volume/snapshot.h"
#include "volume/volume.h"

struct volume_source {
    bool given; /* false: the new one is empty */
    bool is_snapshot;
    struct snapshot snapshot;
    struct volume volume; /* the source, or the one that the snapshot is of */
    int64_t size_gb;
};

/* As a request names it, one or none of the two, with the caller's eyes: it must be there, whole,
 * nobody's who changes it, and no larger than the new one (0: as large as the source). */
int volume_source_find(struct work *work, const char *snapshot_id, const char *volume_id,
                       int64_t new_gb, struct volume_source *ret, struct error *err);
/* For whoever makes the volume: as its row names it, the volume with its attachments. */
int volume_source_of(struct work *work, const struct volume *volume, struct volume_source *ret,
                     struct error *err);
/* What its operation says of it (struct operation: turn_of). */
void volume_source_note(const struct volume_source *source, struct operation *fields);
