/*
 * Reverts a volume to a snapshot.  That replaces its data: a late worker would undo later writes,
 * so each worker but the first one gives the object a name that no earlier one knows
 * (rename.c).
 */
#include "model/volume/revert.h"
#include "common/assert.h"
#include "manager/runtime/job.h"

enum { TRIES = 30 };

static int find_snapshot(struct work *work, void *arg, struct error *err) {
    struct job *job = arg;

    return snapshot_row(work, volume_revert_snapshot(work->arena, &job->operation), &job->snapshot,
                        err);
}

static int put_back(struct job *job, struct error *err) {
    const struct driver_volume volume = job_driver_volume(job);
    const struct driver_snapshot snapshot = job_driver_snapshot(job, &job->snapshot);

    assert(job->has_volume && job->has_snapshot);
    return job->backend->driver->revert_volume(job->backend->handle, job->arena, &volume, &snapshot,
                                               &job->progress, err);
}

static int fail(struct job *job, bool untouched, const struct error *failure, struct error *err) {
    struct revert_ending ending = { failure, untouched };

    log_error(&job->context.log, "revert failed", "volume_id", job->volume.id, "reason",
              failure->message, NULL);
    return job_finish(job, &ending, err) < 0 ? -1 : 0;
}

int job_revert(struct job *job, struct error *err) {
    struct revert_ending done = { 0 };
    struct error failure = { 0 };
    int ended, renamed = 0;

    if (!job->has_volume)
        return job_end(job, err);
    if (!job->backend->driver->revert_volume) {
        error_set(&failure, ERROR_BAD_REQUEST, "This backend does not support reverts.");
        return fail(job, true, &failure, err);
    }
    job->has_snapshot = job_read(job, find_snapshot, job, &failure) == 0;
    if (!job->has_snapshot && failure.kind != ERROR_NOT_FOUND)
        return error_pass(err, &failure);
    if (!job->has_snapshot)
        return fail(job, job->operation.attempts == 1, &failure, err);
    if (!volume_revert_still_valid(&job->volume)) {
        error_set(&failure, ERROR_CONFLICT, "the volume is %s and attached to %u",
                  status_text(job->volume.status), job->volume.attachment_count);
        return fail(job, job->operation.attempts == 1, &failure, err);
    }
    if (job->operation.attempts > 1)
        renamed = job_rename(job, &job->fence, &failure);
    if (renamed != 0 || put_back(job, &failure) < 0) {
        if (job_check_lease(job, err) < 0)
            return -1;
        /* a recorded name must be given, otherwise the volume is not found */
        if (renamed < 0 ||
            ((renamed > 0 || job_is_uncertain(job, &failure)) && job->operation.attempts < TRIES))
            return job_ask_again(job, &failure, err);
        return fail(job, failure.kind == ERROR_BAD_REQUEST, &failure, err);
    }
    ended = job_finish(job, &done, err);
    if (ended == 0)
        log_info(&job->context.log, "revert done", "volume_id", job->volume.id, "snapshot_id",
                 job->snapshot.id, NULL);
    return ended < 0 ? -1 : 0;
}
