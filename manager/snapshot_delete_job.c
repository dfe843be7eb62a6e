/*
 * A snapshot is deleted.  That its backend is told to is written down first: from then on nobody is
 * given the snapshot, so a worker that sleeps in front of its effect harms nobody when it wakes.
 */
#include "manager/job.h"
#include "volume/snapshot_delete.h"

static enum driver_outcome delete_object(struct job *job, struct error *failure) {
    const struct driver *driver = job->backend->driver;
    const struct driver_volume volume = job_driver_volume(job);
    const struct driver_snapshot snapshot = job_driver_snapshot(job, &job->snapshot);
    enum driver_outcome outcome;

    if (!driver->delete_snapshot)
        return DRIVER_DONE; /* nor has it made one */
    outcome = driver->delete_snapshot(job->backend->handle, job->arena, &volume, &snapshot,
                                      &job->progress, failure);
    if (outcome == DRIVER_DEFERRED)
        error_set(failure, ERROR_CONFLICT, "a guest has the image open that is above it");
    return outcome;
}

int job_snapshot_delete(struct job *job, struct error *err) {
    struct error failure = { 0 };
    struct snapshot_delete_ending ending = { 0 };
    enum driver_outcome outcome;
    int held;

    if (!job->has_volume || !job->has_snapshot)
        return job_end(job, err);
    held = job_held(job, snapshot_delete_begin, NULL, err);
    if (held != 0)
        return held < 0 ? -1 : 0;
    outcome = delete_object(job, &failure);
    if (outcome != DRIVER_DONE) {
        if (job_check_lease(job, err) < 0)
            return -1;
        if (job_is_uncertain(job, &failure))
            return job_ask_again(job, &failure, err);
        ending.failure = &failure;
        ending.busy = outcome == DRIVER_DEFERRED && !job->snapshot.delete_begun;
        log_error(&job->context.log, "snapshot_delete failed", "id", job->snapshot.id, "reason",
                  failure.message, NULL);
    }
    held = job_finish(job, &ending, err);
    if (held == 0 && !ending.failure)
        log_info(&job->context.log, "snapshot_delete done", "id", job->snapshot.id, NULL);
    return held < 0 ? -1 : 0;
}
