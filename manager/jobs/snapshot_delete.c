/*
 * Deletes a snapshot.  This is recorded before the backend is called: from then on the snapshot is
 * unavailable to clients, so a suspended worker that resumes right before its effect does no harm.
 */
#include "manager/runtime/job.h"
#include "model/snapshot/delete.h"
#include "model/snapshot/manage.h"

static enum driver_outcome delete_object(struct job *job, struct error *failure) {
    const struct driver *driver = job->backend->driver;
    const struct driver_volume volume = job_driver_volume(job);
    struct driver_snapshot snapshot = job_driver_snapshot(job, &job->snapshot);
    enum driver_outcome outcome;

    snapshot.with_volume = job->operation.kind == &kind_delete;
    if (!driver->delete_snapshot || snapshot_manage_has_no_object(&job->snapshot))
        return DRIVER_DONE; /* nor created or managed one */
    outcome = driver->delete_snapshot(job->backend->handle, job->arena, &volume, &snapshot,
                                      &job->progress, failure);
    if (outcome == DRIVER_DEFERRED)
        error_set(failure, ERROR_CONFLICT, "the image above the snapshot is in use by a guest");
    return outcome;
}

static int end_delete(struct job *job, struct snapshot_delete_ending *ending, struct error *err) {
    int held;

    if (ending->failure)
        log_error(&job->context.log, "snapshot_delete failed", "id", job->snapshot.id, "reason",
                  ending->failure->message, NULL);
    held = job_finish(job, ending, err);
    if (held == 0 && !ending->failure)
        log_info(&job->context.log, "snapshot_delete done", "id", job->snapshot.id, NULL);
    return held < 0 ? -1 : 0;
}

/* ---- below a guest ---- */

static int end_assisted(struct job *job, bool done, const struct driver_created *created,
                        struct error *err) {
    struct snapshot_delete_ending ending = { 0 };
    struct error failure = { 0 };

    (void)created;
    error_set(&failure, ERROR_BACKEND, "The host of the guest failed to merge the images.");
    operation_read_failure(job->arena, &job->operation, &failure);
    if (!done)
        ending.failure = &failure;
    return end_delete(job, &ending, err);
}

int job_snapshot_delete(struct job *job, struct error *err) {
    static const struct job_assist assist = { true, end_assisted, NULL };
    struct error failure = { 0 };
    struct snapshot_delete_ending ending = { 0 };
    enum driver_outcome outcome;
    int held;

    if (!job->has_volume || !job->has_snapshot)
        return job_end(job, err);
    if (job->operation.phase != PHASE_RUNNING)
        return job_assist_go_on(job, &assist, err);
    held = job_held(job, snapshot_delete_begin, (char *)(uintptr_t)job->snapshot.id, err);
    if (held != 0)
        return held < 0 ? -1 : 0;
    outcome = delete_object(job, &failure);
    if (outcome == DRIVER_DEFERRED) {
        int alone = job_assist_begin(job, &assist, &failure, err);

        if (alone <= 0)
            return alone;
    }
    if (outcome != DRIVER_DONE) {
        if (job_check_lease(job, err) < 0)
            return -1;
        if (job_is_uncertain(job, &failure))
            return job_ask_again(job, &failure, err);
        ending.failure = &failure;
        ending.busy = outcome == DRIVER_DEFERRED && !job->snapshot.delete_begun;
    }
    return end_delete(job, &ending, err);
}

/* ---- with their volume ---- */

struct group {
    const struct job *job;
    struct snapshot *snapshots;
    int count;
};

static int read_group(struct work *work, void *arg, struct error *err) {
    struct group *group = arg;

    group->count = snapshot_of(work, group->job->volume.id, &group->snapshots, err);
    return group->count < 0 ? -1 : 0;
}

static int remove_one(struct work *work, const struct operation *held, void *arg,
                      struct error *err) {
    (void)held;
    return snapshot_delete_done(work, arg, err);
}

int job_drop_snapshot(struct job *job, struct error *failure, struct error *err) {
    enum driver_outcome outcome;

    if (job_must_hold(job, snapshot_delete_begin, (char *)(uintptr_t)job->snapshot.id, err) < 0)
        return -1;
    outcome = delete_object(job, failure);
    if (outcome == DRIVER_WITH_VOLUME)
        return 3;
    if (outcome != DRIVER_DEFERRED)
        return outcome == DRIVER_DONE ? 0 : 1;
    /* a delete that the driver never started leaves the snapshot unchanged */
    if (!job->snapshot.delete_begun &&
        job_held(job, snapshot_delete_not_begun, (char *)(uintptr_t)job->snapshot.id, err) < 0)
        return -1;
    return 2;
}

int job_delete_snapshot_rows(struct job *job, struct error *err) {
    struct group group = { .job = job };

    if (job_read(job, read_group, &group, err) < 0)
        return -1;
    for (int i = 0; i < group.count; i++)
        if (group.snapshots[i].delete_begun &&
            job_must_hold(job, remove_one, &group.snapshots[i], err) < 0)
            return -1;
    return 0;
}

/* The newest first.  After the loss of the operation the volume is not touched either. */
int job_delete_snapshots(struct job *job, struct error *failure, struct error *err) {
    struct group group = { .job = job };

    if (job_read(job, read_group, &group, err) < 0)
        return -1;
    for (int i = 0; i < group.count; i++) {
        int left;

        job->snapshot = group.snapshots[i];
        left = job_drop_snapshot(job, failure, err);
        if (left == 3)
            continue;
        if (left != 0)
            return left;
        if (job_must_hold(job, remove_one, &job->snapshot, err) < 0)
            return -1;
    }
    return 0;
}
