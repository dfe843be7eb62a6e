/*
 * The source of a new volume: a snapshot, or another volume.  It is read on its backend, in its own
 * queue, and the new volume is independent of it afterwards.
 */
#pragma once

#include "model/snapshot/snapshot.h"
#include "model/volume/volume.h"
#include "operation/operation.h"

struct volume_source {
    bool given; /* false: the new one is empty */
    bool is_snapshot;
    struct snapshot snapshot;
    struct volume volume; /* the source, or the volume of the snapshot */
    int64_t size_gb;
};

/* The source of a request, one or none of the two, with the caller's visibility: it must exist,
 * be whole and unchanged by an operation, and no larger than the new one (0: as large as the
 * source). */
int volume_source_find(struct work *work, const char *snapshot_id, const char *volume_id,
                       int64_t new_gb, struct volume_source *ret, struct error *err);
/* For the worker: the source in the volume's row, the volume with its attachments. */
int volume_source_of(struct work *work, const struct volume *volume, struct volume_source *ret,
                     struct error *err);
/* Sets its operation's queue (struct operation: turn_of). */
void volume_source_note(const struct volume_source *source, struct operation *fields);
