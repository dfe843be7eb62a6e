/*
 * Delete: the driver's call between claim and finish; and the end of cancelled operations.
 */
#include "manager/runtime/job.h"
#include "model/volume/delete.h"

#include <string.h>

/* May an earlier worker still be in progress? */
static bool begun_before(const struct job *job) {
    return job->operation.attempts > 1;
}

static int delete_object(struct job *job, struct error *failure) {
    struct driver_volume volume = job_driver_volume(job);

    if (!volume_delete_still_valid(&job->volume))
        return error_set(failure, ERROR_CONFLICT,
                         "the volume is %s and attached to %u: nothing of it is destroyed",
                         status_text(job->volume.status), job->volume.attachment_count);
    return job->backend->driver->delete_volume(job->backend->handle, job->arena, &volume, failure);
}

/* While one of its snapshots stays the volume stays, too. */
static int fail_with_snapshots(struct job *job, const struct error *failure, struct error *err) {
    struct delete_ending ending = { failure };

    if (job_check_lease(job, err) < 0)
        return -1;
    if (job_is_uncertain(job, failure))
        return job_ask_again(job, failure, err);
    log_error(&job->context.log, "delete failed", "volume_id", job->volume.id, "reason",
              failure->message, NULL);
    return job_finish(job, &ending, err) < 0 ? -1 : 0;
}

int job_delete(struct job *job, struct error *err) {
    struct error failure = { 0 };
    struct delete_ending ending = { NULL };
    int ended, renamed = 0, left = 0;
    bool gone;

    if (!job->has_volume)
        return job_end(job, err);
    if (job->has_snapshots && volume_delete_still_valid(&job->volume))
        left = job_delete_snapshots(job, &failure, err);
    if (left != 0)
        return left < 0 ? -1 : fail_with_snapshots(job, &failure, err);
    /* nothing is destroyed or failed under a name that earlier workers know */
    if (begun_before(job) && volume_delete_still_valid(&job->volume))
        renamed = job_rename(job, &job->fence, &failure);
    if (renamed < 0 || (renamed > 0 && job_looks_again(job, &failure)))
        return job_check_lease(job, err) < 0 ? -1 : job_ask_again(job, &failure, err);
    if (delete_object(job, &failure) < 0) {
        if (volume_delete_still_valid(&job->volume) && job_check_lease(job, err) < 0)
            return -1;
        /* Regardless of the driver's result; a volume that was never created has no name to query.
         * Its removal may not be on disk yet: the next attempt shows. */
        gone = volume_delete_still_valid(&job->volume) && job->volume.provider_location &&
               job_find_object(job, &(struct error){ 0 }) == 0;
        if (job_is_uncertain(job, &failure) || (gone && job_looks_again(job, &failure)))
            return job_ask_again(job, &failure, err);
        if (!gone || failure.kind == ERROR_CONFLICT)
            ending.failure = &failure;
        if (ending.failure)
            log_error(&job->context.log, "delete failed", "volume_id", job->volume.id, "reason",
                      failure.message, NULL);
    }
    if (!ending.failure && job->has_snapshots && job_delete_snapshot_rows(job, err) < 0)
        return -1;
    ended = job_finish(job, &ending, err);
    if (ended == 0 && !ending.failure)
        log_info(&job->context.log, "delete done", "volume_id", job->volume.id, NULL);
    return ended < 0 ? -1 : 0;
}

/* ---- cancelled operations ---- */

struct closing {
    struct job *job;
    bool object_gone;
};

static int close_body(struct work *work, void *arg, struct error *err) {
    const struct closing *closing = arg;
    struct job *job = closing->job;
    int closed = operation_close(work, &job->operation, job_owner(job), err);

    if (closed > 0 && closing->object_gone && volume_object_gone(work, &job->operation, err) < 0)
        return -1;
    return closed < 0 ? -1 : 0;
}

/* Is the object of the cancelled operation gone?  1 it is, 0 not as far as known, -1 to be checked
 * again. */
static int object_is_gone(struct job *job, struct error *why) {
    int renamed = begun_before(job) ? job_rename(job, NULL, why) : 0;
    int found = renamed == 0 ? job_find_object(job, why) : -1;

    /* an unmanage that stopped half way has taken the object away from the volume already */
    if (found == 0 && job->operation.kind == &kind_unmanage &&
        job_let_go_of_object(job, NULL, why) < 0)
        return -1;
    if (found >= 0)
        return !found;
    if (renamed < 0 || job_looks_again(job, why))
        return -1;
    log_error(&job->context.log, "cancelled operation: existence of the object unknown",
              "volume_id", job->volume.id, "reason", why->message, NULL);
    return 0;
}

/* A cancelled delete may have destroyed the object, a cancelled unmanage let go of it: then the
 * volume is unusable. */
int job_close(struct job *job, struct error *err) {
    const struct operation_kind *kind = job->operation.kind;
    bool changes_object =
        kind->leaves_traces && kind->object == &volume_objects && kind != &kind_upload;
    struct closing closing = { .job = job };
    struct error why = { 0 };
    int gone = 0;

    if ((kind == &kind_manage || kind == &kind_snapshot_manage) &&
        job_let_go_of_object(job, NULL, &why) < 0)
        return job_ask_again(job, &why, err);
    if (kind == &kind_upload && job_discard_upload(job, &why) < 0)
        return job_ask_again(job, &why, err);
    /* a volume that was never created has no name to query, and cannot be in use */
    if (job->has_volume && job->volume.provider_location && changes_object)
        gone = object_is_gone(job, &why);
    if (gone < 0)
        return job_ask_again(job, &why, err);
    closing.object_gone = gone > 0;
    if (closing.object_gone)
        log_error(&job->context.log, "an operation was cancelled too late: the object is gone",
                  "volume_id", job->operation.volume_id, NULL);
    return job_transaction(job, close_body, &closing, err);
}
