/*
 * Growing a volume, also one that a guest uses: then the compute side does the work, and this is
 * told how it ended.
 */
#pragma once

#include "volume/operations.h"

#include <jansson.h>

/* What waits for the compute side stands in the admin metadata, for it and for operators. */
#define EXTEND_KEY_SIZE         "extend_new_size"
#define EXTEND_KEY_RESERVATIONS "extend_reservations"

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
 * in one transaction.  Acts only while the operation is the owner's and in the phase that it has
 * seen; 0 done, 1 the operation is gone or has moved on: nothing changed.  `real_gb` is the size the
 * backend's object was seen to have (GiB, rounded up), 0 when nobody could look.
 */
int volume_extend_finish(struct work *work, const struct operation *seen, const char *owner,
                         enum extend_ending ending, int64_t real_gb, struct error *err);
/* Is this the very extend whose report the volume awaits (X5)? */
bool volume_extend_is(struct work *work, const struct volume *volume, int64_t new_gb,
                      const json_t *reservations);
/* Takes away what waits for the compute side, also what an earlier extend has left. */
int volume_extend_forget(struct work *work, const char *volume_id, struct error *err);
