/*
 * The operations on a volume, one file each: begin (in the request's transaction) and finish (in
 * the job's) stand together.
 */
#pragma once

#include "volume/operation.h"
#include "volume/volume.h"

#include <jansson.h>

/* ---- create.c ---- */

struct volume_new {
    const char *name, *description;
    int64_t size_gb;  /* 0: not given */
    const char *type; /* id or name; NULL: the default */
    const char *availability_zone;
    struct pairs metadata;
    const char *snapshot_id, *source_volid, *backup_id, *image_ref, *group_id; /* sources */
    const json_t *hints;
};

/* POST /volumes: row, quota, placement, operation and message.  With no backend that fits the row
 * is made with status error and a user message (the answer still shows creating). */
int volume_create(struct work *work, const struct volume_new *request, struct volume *ret,
                  struct error *err);
/* `location` and `format` are what the driver made; failure NULL means made.  0 done, 1 the
 * operation is gone or not `owner`'s any more: nothing changed. */
int volume_create_finish(struct work *work, const char *operation_id, const char *owner,
                         const char *location, const char *format, const struct error *failure,
                         struct error *err);

/* ---- delete.c ---- */

int volume_delete(struct work *work, const struct volume *volume, bool cascade, bool force,
                  struct error *err);
/* What a job must still find right before it destroys anything: nobody is attached, nobody has
 * reset it. */
bool volume_delete_wanted(const struct volume *volume);
/* A new name for the volume's object, which no worker of before knows: written down, together with
 * the one that it leaves, before the backend is told.  1 done, 0 the operation is not `owner`'s any
 * more. */
int volume_delete_rename(struct work *work, const struct operation *operation, const char *owner,
                         const char *from, const char *to, struct error *err);
/* What was written down last; false: nothing was. */
bool volume_delete_renamed(struct arena *arena, const struct operation *operation,
                           const char **ret_from, const char **ret_to);
/* 0 done, 1 the operation is gone or not `owner`'s any more. */
int volume_delete_finish(struct work *work, const char *operation_id, const char *owner,
                         const struct error *failure, struct error *err);
/* The delete was cancelled when the object was gone already: the volume has none, whatever status
 * it was given; unless it is being deleted again. */
int volume_delete_undone(struct work *work, const struct operation *operation, struct error *err);

/* ---- extend.c ---- */

/* os-extend. `attached_allowed`: the request's microversion knows in-use volumes (3.42). */
int volume_extend(struct work *work, const struct volume *volume, int64_t new_gb,
                  bool attached_allowed, struct error *err);

/* What the manager does with the driver's outcome DEFERRED: judged by the rows of this moment,
 * which *ret_volume gets unless it is lost. */
enum hand_over {
    HAND_OVER_LOST, /* the operation is no longer this owner's */
    /* exactly one instance (R35): both keys and the deadline stored, phase sending */
    HAND_OVER_DONE,
    HAND_OVER_NOT_ONE, /* nothing changed */
};
int volume_extend_hand_over(struct work *work, const char *operation_id, const char *owner,
                            struct volume *ret_volume, struct error *err);
/* The event was accepted, or may have been: phase waiting. */
int volume_extend_handed_over(struct work *work, const char *operation_id, const char *owner,
                              struct error *err);

/* os-extend_volume_completion (R8–R14, X1): takes both keys, stores the report, writes the
 * message.  `extend_id` names the extend that the report is about (X5); NULL: whichever is
 * awaited. */
int volume_extend_completion(struct work *work, const struct volume *volume, const char *extend_id,
                             bool failed, struct error *err);

/* Is it the compute side's turn? */
bool volume_extend_pending(const struct volume *volume);
/* What an extend is called whose report the volume awaits; NULL when it awaits none. */
int volume_extend_awaited(struct work *work, const struct volume *volume, const char **ret_id,
                          struct error *err);

enum extend_ending {
    EXTEND_GROWN,
    EXTEND_DRIVER_FAILED,  /* user message 007/010 */
    EXTEND_COMPUTE_FAILED, /* user message 007/009 */
};
/*
 * The one finish of every extend: size, quota, status, keys, reservation, pool figures, operation,
 * in one transaction.  Acts only while the operation is the owner's and in one of the phases
 * `allowed` (bits EXTEND_IN_…); 0 done, 1 the operation is gone or has moved on: nothing changed.
 * `real_gb` is the size the backend's object was seen to have (GiB, rounded up), 0 when nobody
 * could look.
 */
enum {
    EXTEND_IN_RUNNING = 1,
    EXTEND_IN_SENDING = 2,
    EXTEND_IN_WAITING = 4,
    EXTEND_IN_COMPLETING = 8
};
int volume_extend_finish(struct work *work, const char *operation_id, const char *owner,
                         unsigned allowed, enum extend_ending ending, int64_t real_gb,
                         struct error *err);
/* Rolls back whatever extend the volume has (reset, force delete, R56–R57, X14, X33). */
int volume_extend_cancel(struct work *work, const char *volume_id, struct error *err);
/* Who is attached has changed: where an instance is now the event for a pending extend may never
 * have come (X21), so it is sent again to all that have the volume. */
int volume_extend_tell(struct work *work, const struct volume *volume, struct error *err);
/* The last attachment went while an extend is pending (X30): has the backend settle it now. */
int volume_extend_settle(struct work *work, const char *volume_id, struct error *err);

/* ---- reset.c ---- */

/* os-reset_status: each may be NULL; values in any case. */
int volume_reset_status(struct work *work, const struct volume *volume, const char *status,
                        const char *attach_status, const char *migration_status, struct error *err);
