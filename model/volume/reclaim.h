/*
 * Reclaiming unused space of a volume; its content stays.
 *
 * The row of a table describes the last time: it begins with the operation, and is deleted with the
 * volume.
 */
#pragma once

#include "model/conflict.h"
#include "model/volume/reclaim_trim.h"
#include "model/volume/volume.h"
#include "operation/operation.h"

struct reclaim {
    const char *status;            /* none, running, done or error */
    const char *reason;            /* of an error: busy, unsupported, cancelled or failed */
    const char *message;           /* the same as text */
    int64_t progress;              /* percent */
    int64_t pre_usage, post_usage; /* bytes of used space; -1: not counted */
    int64_t started_at, finished_at;
};

/* ERROR_BAD_REQUEST: unsupported for this volume, with the reason.  ERROR_CONFLICT: not now. */
int volume_reclaim(struct work *work, const struct volume *volume, struct error *err);
/*
 * Before an attachment: cancels an open one, and the volume again has the status of its
 * attachments.  A worker that is at it ends within moments, and a connection waits for that.
 * `volume`, with its attachments, is read again.
 */
int volume_reclaim_yield(struct work *work, struct volume *volume, enum volume_action action,
                         struct error *err);
/* Of the last time; "none" when there was none. */
int volume_reclaim_last(struct work *work, const char *volume_id, struct reclaim *ret,
                        struct error *err);

/* An operation_body with the bytes (int64_t) used before: those of the first attempt count. */
operation_body volume_reclaim_measured;
