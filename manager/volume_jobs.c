/*
 * Create and delete: the driver's call between claim and finish.
 */
#include "manager/job.h"

struct create_result {
    const struct job *job;
    const struct driver_created *created;
    const struct error *failure;
};

static int create_finish_body(struct work *work, void *arg, struct error *err) {
    const struct create_result *result = arg;

    return volume_create_finish(work, result->job->operation.id, job_owner(result->job),
                                result->created->provider_location, result->created->format,
                                result->failure, err);
}

static int exists_body(struct work *work, void *arg, struct error *err) {
    const struct job *job = arg;
    struct volume volume;

    if (volume_row(work, job->operation.volume_id, &volume, err) == 0)
        return 1;
    return err->kind == ERROR_NOT_FOUND ? 0 : -1;
}

/*
 * Another worker ended this create.  When the volume was even deleted since, its object may have
 * been made anew by this late one; names are never given twice, so nobody else's can be hit.
 */
static int create_superseded(struct job *job, struct driver_volume *volume, struct error *err) {
    int exists = work_read(job->manager->settings.db, &job->base, exists_body, job, err);

    if (exists < 0)
        return -1;
    volume->fence = NULL;
    if (!exists &&
        job->backend->driver->delete_volume(job->backend->handle, job->arena, volume, err) < 0)
        return -1;
    return job_hand_on(job, err);
}

int job_create(struct job *job, struct error *err) {
    struct driver_volume volume = job_driver_volume(job);
    struct driver_created created = { 0 };
    struct error failure = { 0 };
    struct create_result result = { job, &created, NULL };
    int ended;

    if (!job->has_volume)
        return job_end(job, err);
    if (job->backend->driver->create_volume(job->backend->handle, job->arena, &volume, &created,
                                            &failure) < 0) {
        if (job_check_lease(job, err) < 0)
            return -1;
        if (job_is_uncertain(job, &failure))
            return job_ask_again(job, &failure, err);
        result.failure = &failure;
        log_error(&job->context.log, "create failed", "volume_id", volume.id, "reason",
                  failure.message, NULL);
    }
    ended = job_transaction(job, create_finish_body, &result, err);
    if (ended != 0)
        return ended < 0 ? -1 : create_superseded(job, &volume, err);
    if (!result.failure)
        log_info(&job->context.log, "create done", "volume_id", volume.id, "size_gb",
                 LOG_INT(volume.size_gb), NULL);
    return 0;
}

struct delete_result {
    const struct job *job;
    const struct error *failure;
};

static int delete_finish_body(struct work *work, void *arg, struct error *err) {
    const struct delete_result *result = arg;

    return volume_delete_finish(work, result->job->operation.id, job_owner(result->job),
                                result->failure, err);
}

int job_delete(struct job *job, struct error *err) {
    struct driver_volume volume = job_driver_volume(job);
    struct error failure = { 0 };
    struct delete_result result = { job, NULL };
    int ended;

    if (!job->has_volume)
        return job_end(job, err);
    if (job->backend->driver->delete_volume(job->backend->handle, job->arena, &volume, &failure) <
        0) {
        if (job_check_lease(job, err) < 0)
            return -1;
        if (job_is_uncertain(job, &failure))
            return job_ask_again(job, &failure, err);
        result.failure = &failure;
        log_error(&job->context.log, "delete failed", "volume_id", volume.id, "reason",
                  failure.message, NULL);
    }
    ended = job_transaction(job, delete_finish_body, &result, err);
    if (ended != 0)
        return ended < 0 ? -1 : job_hand_on(job, err);
    if (!result.failure)
        log_info(&job->context.log, "delete done", "volume_id", volume.id, NULL);
    return 0;
}
