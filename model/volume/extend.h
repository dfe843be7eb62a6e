/*
 * Growing a volume, also one that a guest uses: then the compute side does the work, and reports
 * the outcome.
 */
#pragma once

#include "model/operations.h"

#include <jansson.h>

/* The compute side and operators find a pending extend in the admin metadata. */
#define EXTEND_KEY_SIZE         "extend_new_size"
#define EXTEND_KEY_RESERVATIONS "extend_reservations"

/* os-extend. `attached_allowed`: the request's microversion knows in-use volumes (3.42). `retried`:
 * of a volume in error_extending as well, also to the size that it has (RETRY_HEADER). */
int volume_extend(struct work *work, const struct volume *volume, int64_t new_gb,
                  bool attached_allowed, bool retried, struct error *err);

/*
 * For the worker that holds it (operation_body): the compute side has to grow it, if by the rows of
 * this moment exactly one instance has it (R35).  Then both keys and the deadline are stored, and
 * the phase is sending.
 */
struct extend_await {
    struct volume volume; /* as it is now */
    bool one;             /* else nothing has changed */
};
operation_body volume_extend_await;
/* The event was accepted, or may have been: phase waiting, and the worker releases it.  No
 * argument. */
operation_body volume_extend_sent;

/* os-extend_volume_completion (R8–R14, X1): takes both keys, stores the report, writes the message.
 * `extend_id` names the extend of the report (X5); NULL: the awaited one, unless an earlier one may
 * be meant: then a failure is refused, and a success counts if the object has grown. */
int volume_extend_completion(struct work *work, const struct volume *volume, const char *extend_id,
                             bool failed, struct error *err);

/* For the worker that holds it, in phase completing: success is reported, but the object has not
 * grown, and an earlier extend of the volume was never reported: continues to wait for the rest of
 * its time.  No argument. */
operation_body volume_extend_wait_on;
/* May a report without an extend's id be about an earlier one, that ended unreported less than a
 * day ago?  1, 0, or -1. */
int volume_extend_is_doubtful(struct work *work, const char *volume_id, struct error *err);

/* Is a report of the compute side pending? */
bool volume_extend_pending(const struct volume *volume);
/* The id of the extend whose report the volume awaits; NULL when it awaits none. */
int volume_extend_awaited(struct work *work, const struct volume *volume, const char **ret_id,
                          struct error *err);

/* Its result. */
struct extend_ending {
    enum extend_verdict {
        EXTEND_GROWN,
        EXTEND_DRIVER_FAILED,  /* user message 007/010 */
        EXTEND_COMPUTE_FAILED, /* user message 007/009 */
    } verdict;
    int64_t real_gb;             /* size of the backend's object, rounded up; 0: unknown */
    const struct error *failure; /* unless it has grown */
    bool refused;                /* the compute side refused the event: no report will come */
};

/* Is this the very extend whose report the volume awaits (X5)? */
bool volume_extend_is(struct work *work, const struct volume *volume, int64_t new_gb,
                      const json_t *reservations);
/* Removes the keys for the compute side, also those of an earlier extend. */
int volume_extend_clear_keys(struct work *work, const char *volume_id, struct error *err);
