/*
 * Storage that was there before is taken over, and let go of.
 *
 *     manage     look how large it is → reserve that → give it the volume's name → fill it up to a
 *                whole GiB → finish.  Each step may be repeated.  Whoever gives up says so in the
 *                operation, so that nobody takes it over any more, and lets go of the object: it
 *                may have the name already.  So does whoever closes one that was cancelled, however
 *                long that takes: what comes next may destroy by that name.
 *     unmanage   from its second worker on under a name that no earlier one knows (rename_job.c),
 *                so that one that sleeps takes nothing away from a volume that stays.
 */
#include "manager/job.h"
#include "volume/manage.h"

#include <string.h>

/* ---- manage ---- */

int job_let_go_of_object(struct job *job, const struct driver_fence *fence, struct error *err) {
    struct driver_volume volume = job_driver_volume(job);

    if (!job->backend->driver->unmanage_volume)
        return 0; /* nor has it taken one over */
    volume.fence = fence;
    return job->backend->driver->unmanage_volume(job->backend->handle, job->arena, &volume, err);
}

static int look(struct job *job, const char *source_name, int64_t *ret_gb, struct error *err) {
    const struct driver_volume volume = job_driver_volume(job);
    int64_t bytes;

    if (!job->backend->driver->manage_volume)
        return error_set(err, ERROR_BAD_REQUEST, "This backend takes over no existing storage.");
    if (job->backend->driver->get_manageable(job->backend->handle, job->arena, &volume, source_name,
                                             &bytes, err) < 0)
        return -1;
    *ret_gb = bytes / GIB + (bytes % GIB > 0);
    return 0;
}

/* As large as its record says. */
static int fill_up(struct job *job, const struct driver_volume *volume, int64_t size_gb,
                   struct error *err) {
    const struct driver *driver = job->backend->driver;
    int64_t bytes;

    if (driver->get_size(job->backend->handle, job->arena, volume, &bytes, err) < 0)
        return -1;
    if (bytes > size_gb * GIB)
        return error_set(err, ERROR_BACKEND, "The object has grown while it was taken over.");
    if (bytes == size_gb * GIB)
        return 0;
    switch (driver->extend_volume(job->backend->handle, job->arena, volume, size_gb, err)) {
    case DRIVER_DONE:
        return 0;
    case DRIVER_DEFERRED:
        return error_set(err, ERROR_CONFLICT, "A guest has the object open.");
    case DRIVER_FAILED:
        break;
    }
    return -1;
}

static int take_over(struct job *job, const char *source_name, int64_t size_gb,
                     struct manage_ending *ending, struct error *err) {
    struct driver_volume volume = job_driver_volume(job);
    struct driver_created created;

    if (job->backend->driver->manage_volume(job->backend->handle, job->arena, &volume, source_name,
                                            &created, err) < 0)
        return -1;
    volume.provider_location = ending->location = created.provider_location;
    volume.format = ending->format = created.format;
    return fill_up(job, &volume, size_gb, err);
}

/* The work is another worker's, or over, and this one may have renamed the object all the same. */
static int unwanted(struct work *work, void *arg, struct error *err) {
    const struct job *job = arg;
    struct operation operation;
    struct volume volume;
    int found = operation_get(work, job->operation.id, &operation, err);

    if (found < 0 || (found > 0 && operation.phase != PHASE_CANCELLED))
        return found < 0 ? -1 : 0;
    if (volume_row(work, job->operation.volume_id, &volume, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 1 : -1;
    return !volume.provider_location;
}

static int clean_up(struct job *job, struct error *err) {
    int result = job_read(job, unwanted, job, err);

    return result > 0 ? job_let_go_of_object(job, NULL, err) : result;
}

static int give_up(struct job *job, struct error *failure, struct error *err) {
    return job_must_hold(job, volume_manage_give_up, failure, err) < 0
               ? -1
               : job_let_go_of_object(job, &job->fence, err);
}

static int fail(struct job *job, bool begun, struct error *failure, struct error *err) {
    struct manage_ending ending = { .failure = failure };
    struct error why = { 0 };
    int ended;

    if (job_check_lease(job, err) < 0)
        return clean_up(job, &why) < 0 ? error_pass(err, &why) : -1;
    if (job_is_uncertain(job, failure))
        return job_ask_again(job, failure, err);
    if ((begun || job->operation.attempts > 1) && give_up(job, failure, &why) < 0)
        return job_ask_again(job, &why, err);
    log_error(&job->context.log, "manage failed", "volume_id", job->volume.id, "reason",
              failure->message, NULL);
    ended = job_finish(job, &ending, err);
    return ended > 0 ? clean_up(job, err) : ended;
}

/* 1: the volume cannot have that size, and `failure` says why. */
static int reserve(struct job *job, int64_t size_gb, struct error *failure, struct error *err) {
    if (job_must_hold(job, volume_manage_sized, &size_gb, failure) == 0)
        return 0;
    return failure->kind == ERROR_OVER_QUOTA || failure->kind == ERROR_BAD_REQUEST
               ? 1
               : error_pass(err, failure);
}

int job_manage(struct job *job, struct error *err) {
    const char *source_name = volume_manage_source(job->arena, &job->operation);
    struct manage_ending ending = { 0 };
    struct error failure = { 0 };
    int64_t size_gb = 0;
    int result;

    if (!job->has_volume)
        return job_end(job, err);
    if (volume_manage_given_up(job->arena, &job->operation, &failure))
        return fail(job, true, &failure, err);
    if (look(job, source_name, &size_gb, &failure) < 0)
        return fail(job, false, &failure, err);
    result = reserve(job, size_gb, &failure, err);
    if (result != 0)
        return result < 0 ? -1 : fail(job, false, &failure, err);
    if (take_over(job, source_name, size_gb, &ending, &failure) < 0)
        return fail(job, true, &failure, err);
    result = job_finish(job, &ending, err);
    if (result == 0)
        log_info(&job->context.log, "manage done", "volume_id", job->volume.id, "source",
                 source_name, NULL);
    return result > 0 ? clean_up(job, err) : result;
}

/* ---- unmanage ---- */

static int unmanage(struct job *job, struct error *err) {
    if (!job->backend->driver->unmanage_volume)
        return error_set(err, ERROR_BAD_REQUEST, "This backend lets go of no volume.");
    if (!volume_unmanage_wanted(&job->volume))
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
    if (job->operation.attempts > 1 && volume_unmanage_wanted(&job->volume))
        renamed = job_rename(job, &job->fence, &failure);
    if (renamed != 0)
        return job_check_lease(job, err) < 0 ? -1 : job_ask_again(job, &failure, err);
    if (unmanage(job, &failure) < 0) {
        if (job_check_lease(job, err) < 0)
            return -1;
        /* Perhaps it has its new name, and that is not on the disk yet: the next time tells. */
        if (job_is_uncertain(job, &failure) || job_find_object(job, &(struct error){ 0 }) <= 0)
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
