/*
 * An object on a backend that a late worker made, or may have made, and that no row wants: its
 * removal is an operation, which is retried until the object is gone and occupies no worker in
 * between.  It belongs to no volume, as the rows of its own may be gone, and nothing waits for it.
 */
#pragma once

#include "model/snapshot/snapshot.h"
#include "model/volume/volume.h"
#include "operation/operation.h"

struct unwanted_object {
    const char *clean_up;     /* the name of its removal */
    struct operation made_by; /* id, kind, object_id, volume_id, attempts, host and project_id */
    /* As the late worker knew them, and of each the fields that a driver reads. */
    struct volume volume;
    struct snapshot snapshot; /* without an id: none */
};

/* Writes the operation, for the managers of the host; user and request are the context's. */
int unwanted_object_record(struct work *work, const struct unwanted_object *object,
                           struct error *err);
/* Reads it, but for host and project.  False: another version of the program has written it. */
bool unwanted_object_parse(struct arena *arena, const struct operation *operation,
                           struct unwanted_object *ret);
