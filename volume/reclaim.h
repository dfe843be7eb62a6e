/*
 * A volume gives back room that holds nothing; what is in it stays.
 *
 * Of the last time the row of a table tells: it begins with the operation, and goes with the
 * volume.
 */
#pragma once

#include "ledger/operation.h"
#include "volume/conflict.h"
#include "volume/reclaim_trim.h"
#include "volume/volume.h"

struct reclaim {
    const char *status;            /* none, running, done or error */
    const char *reason;            /* of an error: busy, unsupported, cancelled or failed */
    const char *message;           /* the same in words */
    int64_t progress;              /* percent */
    int64_t pre_usage, post_usage; /* bytes of room; -1: not counted */
    int64_t started_at, finished_at;
};

/* ERROR_BAD_REQUEST: this volume cannot, and says why.  ERROR_CONFLICT: it cannot now. */
int volume_reclaim(struct work *work, const struct volume *volume, struct error *err);
/*
 * Before whoever attaches: what is open of it is cancelled, and the volume is again what its
 * attachments say.  A worker that is at it ends within moments, and a connection waits for that.
 * `volume`, with its attachments, is read again.
 */
int volume_reclaim_give_way(struct work *work, struct volume *volume, enum volume_action action,
                            struct error *err);
/* Of the last time; "none" when there was none. */
int volume_reclaim_last(struct work *work, const char *volume_id, struct reclaim *ret,
                        struct error *err);

/* An operation_body with the bytes (int64_t) that it takes before: those of the first attempt
 * count. */
operation_body volume_reclaim_measured;
