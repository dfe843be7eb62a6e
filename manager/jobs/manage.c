/*
 * Existing storage is managed, and unmanaged: as volumes, and as snapshots.
 *
 *     manage     read its size → reserve that → rename it to the volume's name → extend it to a
 *                whole GiB (a snapshot has one) → finish.  Each step may be repeated.  A worker
 *                that gives up records so in the operation, so that no other one manages it, and
 *                releases it: it may have the name already.  So does the worker that closes a
 *                cancelled operation, however long that takes: the next operation may destroy by
 *                that name.
 *     unmanage   from its second worker on under a name unknown to earlier ones (rename.c), so
 *                that a suspended one removes nothing from a volume that stays.  Of a snapshot the
 *                release is recorded first, and it is unavailable to clients then.
 */
#include "model/snapshot/manage.h"
#include "common/assert.h"
#include "manager/runtime/job.h"
#include "model/snapshot/delete.h"

#include <string.h>

/* ---- manage ---- */

static bool is_snapshot(const struct job *job) {
    return job->operation.kind->object == &snapshot_objects;
}

/* Also of a deleted row. */
static struct driver_snapshot snapshot_of_job(const struct job *job,
                                              const struct driver_fence *fence) {
    const struct snapshot row_less = { .id = job->operation.object_id };
    struct driver_snapshot snapshot =
        job_driver_snapshot(job, job->has_snapshot ? &job->snapshot : &row_less);

    snapshot.fence = fence;
    return snapshot;
}

int job_let_go_of_object(struct job *job, const struct driver_fence *fence, struct error *err) {
    struct driver_volume volume = job_driver_volume(job);

    if (is_snapshot(job)) {
        const struct driver_snapshot snapshot = snapshot_of_job(job, fence);

        return job->backend->driver->unmanage_snapshot
                   ? job->backend->driver->unmanage_snapshot(job->backend->handle, job->arena,
                                                             &volume, &snapshot, err)
                   : 0;
    }
    if (!job->backend->driver->unmanage_volume)
        return 0; /* nor managed any storage */
    volume.fence = fence;
    return job->backend->driver->unmanage_volume(job->backend->handle, job->arena, &volume, err);
}

/* A snapshot cannot be extended: it has the size of its volume, which is whole GiB. */
static int look_for_snapshot(struct job *job, const char *source_name, struct driver_candidate *ret,
                             struct error *err) {
    const struct driver *driver = job->backend->driver;
    const struct driver_volume volume = job_driver_volume(job);
    const struct driver_snapshot snapshot = snapshot_of_job(job, &job->fence);

    if (!driver->manage_snapshot)
        return error_set(err, ERROR_BAD_REQUEST,
                         "This backend does not support managing existing snapshots.");
    if (driver->get_manageable_snapshot(job->backend->handle, job->arena, &volume, &snapshot,
                                        source_name, ret, err) < 0)
        return -1;
    return ret->bytes > 0 && ret->bytes % GIB == 0
               ? 0
               : error_set(err, ERROR_BAD_REQUEST,
                           "The object has %jd bytes, and a snapshot has whole GiB.",
                           (intmax_t)ret->bytes);
}

static int look(struct job *job, const char *source_name, struct driver_candidate *ret,
                struct error *err) {
    const struct driver_volume volume = job_driver_volume(job);

    if (is_snapshot(job))
        return look_for_snapshot(job, source_name, ret, err);
    if (!job->backend->driver->manage_volume)
        return error_set(err, ERROR_BAD_REQUEST,
                         "This backend does not support managing existing storage.");
    ret->source_name = source_name;
    return job->backend->driver->get_manageable(job->backend->handle, job->arena, &volume,
                                                source_name, &ret->bytes, err);
}

/* Extends it to its recorded size. */
static int fill_up(struct job *job, const struct driver_volume *volume, int64_t size_gb,
                   struct error *err) {
    const struct driver *driver = job->backend->driver;
    int64_t bytes;

    if (driver->get_size(job->backend->handle, job->arena, volume, &bytes, err) < 0)
        return -1;
    if (bytes > size_gb * GIB)
        return error_set(err, ERROR_BACKEND, "The object has grown while it was being managed.");
    if (bytes == size_gb * GIB)
        return 0;
    switch (driver->extend_volume(job->backend->handle, job->arena, volume, size_gb, err)) {
    case DRIVER_DONE:
        return 0;
    case DRIVER_DEFERRED:
        return error_set(err, ERROR_CONFLICT, "The object is in use by a guest.");
    case DRIVER_WITH_VOLUME:
    case DRIVER_FAILED:
        break;
    }
    return -1;
}

static int take_over(struct job *job, const struct driver_candidate *source, int64_t size_gb,
                     struct manage_ending *ending, struct error *err) {
    const struct driver *driver = job->backend->driver;
    void *handle = job->backend->handle;
    struct driver_volume volume = job_driver_volume(job);
    const struct driver_snapshot snapshot = snapshot_of_job(job, &job->fence);
    struct driver_created created;
    int result;

    if (is_snapshot(job))
        result =
            driver->manage_snapshot(handle, job->arena, &volume, &snapshot, source, &created, err);
    else
        result =
            driver->manage_volume(handle, job->arena, &volume, source->source_name, &created, err);
    if (result < 0)
        return -1;
    assert(created.provider_location); /* else it counts as never created */
    volume.provider_location = ending->location = created.provider_location;
    volume.format = ending->format = created.format;
    return is_snapshot(job) ? 0 : fill_up(job, &volume, size_gb, err);
}

/* The operation has another worker, or is over, and this one may still have renamed the object. */
static int unwanted(struct work *work, void *arg, struct error *err) {
    const struct job *job = arg;
    struct operation operation;
    struct snapshot snapshot;
    struct volume volume;
    int found = operation_get(work, job->operation.id, &operation, err);

    if (found < 0 || (found > 0 && operation.phase != PHASE_CANCELLED))
        return found < 0 ? -1 : 0;
    if (is_snapshot(job))
        return snapshot_row(work, job->operation.object_id, &snapshot, err) < 0
                   ? (err->kind == ERROR_NOT_FOUND ? 1 : -1)
                   : !snapshot.provider_location;
    if (volume_row(work, job->operation.volume_id, &volume, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 1 : -1;
    return !volume.provider_location;
}

static int take_away(struct job *job, struct error *err) {
    return job_let_go_of_object(job, NULL, err);
}

const struct job_clean_up clean_up_managed = { "managed", unwanted, take_away };

static int clean_up(struct job *job, bool continued, struct error *err) {
    return job_clean_up(job, &clean_up_managed, continued, err) < 0 ? -1 : 0;
}

/* `ended`: of job_finish(), whose failure leaves it open whether there is another worker. */
static int clean_up_after(struct job *job, int ended, struct error *err) {
    if (ended < 0)
        clean_up(job, true, &(struct error){ 0 });
    return ended > 0 ? clean_up(job, false, err) : ended;
}

static int fail(struct job *job, bool begun, struct error *failure, struct error *err) {
    struct manage_ending ending = { .failure = failure };
    struct error why = { 0 };
    int ended;

    if (job_check_lease(job, err) < 0)
        return clean_up(job, false, &why) < 0 ? error_pass(err, &why) : -1;
    if (job_is_uncertain(job, failure))
        return job_ask_again(job, failure, err);
    if ((begun || job->operation.attempts > 1) &&
        (job_must_hold(job, volume_manage_release, failure, &why) < 0 ||
         job_let_go_of_object(job, &job->fence, &why) < 0))
        return job_ask_again(job, &why, err);
    log_error(&job->context.log, "manage failed", "kind", job->operation.kind->name, "id",
              job->operation.object_id, "reason", failure->message, NULL);
    ended = job_finish(job, &ending, err);
    return clean_up_after(job, ended, err);
}

int job_manage(struct job *job, struct error *err) {
    const char *source_name = volume_manage_source(job->arena, &job->operation);
    struct manage_ending ending = { 0 };
    struct driver_candidate source = { 0 };
    struct manage_size size = { 0 };
    struct error failure = { 0 };
    int result;

    if (!job->has_volume || (is_snapshot(job) && !job->has_snapshot))
        return job_end(job, err);
    if (volume_manage_released(job->arena, &job->operation, &failure))
        return fail(job, true, &failure, err);
    if (look(job, source_name, &source, &failure) < 0)
        return fail(job, false, &failure, err);
    size = (struct manage_size){ source.bytes / GIB + (source.bytes % GIB > 0), source.name_id };
    if (job_must_hold(job, is_snapshot(job) ? snapshot_manage_sized : volume_manage_sized, &size,
                      &failure) < 0)
        return failure.kind == ERROR_OVER_QUOTA || failure.kind == ERROR_BAD_REQUEST
                   ? fail(job, false, &failure, err)
                   : error_pass(err, &failure);
    if (take_over(job, &source, size.gb, &ending, &failure) < 0)
        return fail(job, true, &failure, err);
    result = job_finish(job, &ending, err);
    if (result == 0)
        log_info(&job->context.log, "manage done", "kind", job->operation.kind->name, "id",
                 job->operation.object_id, "source", source_name, NULL);
    return clean_up_after(job, result, err);
}

int job_snapshot_manage(struct job *job, struct error *err) {
    return job_manage(job, err);
}

/* ---- unmanage ---- */

static int unmanage(struct job *job, struct error *err) {
    if (!job->backend->driver->unmanage_volume)
        return error_set(err, ERROR_BAD_REQUEST,
                         "This backend does not support unmanaging volumes.");
    if (!volume_unmanage_still_valid(&job->volume))
        return error_set(err, ERROR_CONFLICT, "the volume is %s and attached to %u",
                         status_text(job->volume.status), job->volume.attachment_count);
    return job_let_go_of_object(job, &job->fence, err);
}

int job_unmanage(struct job *job, struct error *err) {
    struct error failure = { 0 };
    struct unmanage_ending ending = { NULL };
    int renamed = 0;

    if (!job->has_volume)
        return job_end(job, err);
    if (job->operation.attempts > 1 && volume_unmanage_still_valid(&job->volume))
        renamed = job_rename(job, &job->fence, &failure);
    if (renamed < 0 || (renamed > 0 && job_looks_again(job, &failure)))
        return job_check_lease(job, err) < 0 ? -1 : job_ask_again(job, &failure, err);
    if (unmanage(job, &failure) < 0) {
        if (job_check_lease(job, err) < 0)
            return -1;
        /* it may have its new name, not on disk yet: the next attempt shows */
        if (job_is_uncertain(job, &failure) ||
            (job_looks_again(job, &failure) && job_find_object(job, &(struct error){ 0 }) <= 0))
            return job_ask_again(job, &failure, err);
        ending.failure = &failure;
        log_error(&job->context.log, "unmanage failed", "volume_id", job->volume.id, "reason",
                  failure.message, NULL);
    }
    if (job_finish(job, &ending, err) < 0)
        return -1;
    if (!ending.failure)
        log_info(&job->context.log, "unmanage done", "volume_id", job->volume.id, NULL);
    return 0;
}

/* ---- snapshot ---- */

/* The first worker, with no other: the object is unchanged. */
static bool is_untouched(struct job *job) {
    const struct driver *driver = job->backend->driver;
    const struct driver_volume volume = job_driver_volume(job);
    const struct driver_snapshot snapshot = snapshot_of_job(job, NULL);
    struct driver_candidate found;
    struct error why;

    return job->operation.attempts == 1 && !job->snapshot.delete_begun &&
           driver->get_manageable_snapshot(job->backend->handle, job->arena, &volume, &snapshot, "",
                                           &found, &why) == 0;
}

int job_snapshot_unmanage(struct job *job, struct error *err) {
    struct snapshot_delete_ending ending = { 0 };
    struct error failure = { 0 };
    int held;

    if (!job->has_volume || !job->has_snapshot)
        return job_end(job, err);
    held = job_held(job, snapshot_delete_begin, (char *)(uintptr_t)job->snapshot.id, err);
    if (held != 0)
        return held < 0 ? -1 : 0;
    if (!job->backend->driver->unmanage_snapshot)
        error_set(&failure, ERROR_BAD_REQUEST,
                  "This backend does not support unmanaging snapshots.");
    else
        job_let_go_of_object(job, &job->fence, &failure);
    if (failure.kind != ERROR_NONE) {
        if (job_check_lease(job, err) < 0)
            return -1;
        if (job_is_uncertain(job, &failure))
            return job_ask_again(job, &failure, err);
        ending.failure = &failure;
        ending.busy = job->backend->driver->unmanage_snapshot && is_untouched(job);
    }
    if (ending.failure)
        log_error(&job->context.log, "snapshot_unmanage failed", "id", job->snapshot.id, "reason",
                  ending.failure->message, NULL);
    held = job_finish(job, &ending, err);
    if (held == 0 && !ending.failure)
        log_info(&job->context.log, "snapshot_unmanage done", "id", job->snapshot.id, NULL);
    return held < 0 ? -1 : 0;
}
