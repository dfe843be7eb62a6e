/*
 * Replaces the content of a volume by that of an image.  The storage is opened for this worker
 * alone: its locks exclude guests, and a worker that wakes up late, until it is closed.
 */
#include "model/volume/reimage.h"
#include "data/copy.h"
#include "data/volume_io.h"
#include "manager/jobs/image.h"
#include "manager/runtime/job.h"

/* Of an image service that does not respond, and of a volume that a former worker still holds. */
enum { TRIES = 3 };

/* Zeros of the image replace the former content, too, and so do those behind its end. */
static int write_anew(struct job *job, struct reimage_ending *ending, struct error *err) {
    static const struct copy_position beginning;
    const struct driver *driver = job->backend->driver;
    const struct driver_volume volume = job_driver_volume(job);
    autovolumeio struct volume_io *from = NULL, *to = NULL;
    struct copy copy = { .may = job_copy_may, .report = job_copy_report, .arg = job };

    if (!(driver_supported(driver) & DRIVER_DATA))
        return error_set(err, ERROR_BAD_REQUEST, "This backend writes no volumes anew.");
    /* First that which may be locked: the image may be large. */
    if (driver->open_volume_data(job->backend->handle, job->arena, &volume, true, &to, err) < 0 ||
        job_image_open(job, &from, &ending->detail, &ending->signature_verified, err) < 0)
        return -1;
    copy.from = from;
    copy.to = to;
    return copy_run(&copy, &beginning, err);
}

int job_reimage(struct job *job, struct error *err) {
    struct reimage_ending ending = { 0 };
    struct error failure = { 0 };
    int ended;

    if (!job->has_volume)
        return job_end(job, err);
    if (write_anew(job, &ending, &failure) < 0) {
        bool may_pass = failure.kind == ERROR_UNAVAILABLE ||
                        (failure.kind == ERROR_CONFLICT && job->operation.attempts > 1);

        if (job_check_lease(job, err) < 0)
            return -1;
        if (may_pass && job_may_try(job, job->operation.attempts, TRIES, ASK_AGAIN_PAUSE_US))
            return job_ask_again(job, &failure, err);
        log_error(&job->context.log, "reimage failed", "volume_id", job->volume.id, "pool",
                  job->volume.host, "reason", failure.message, NULL);
        ending.failure = &failure;
    }
    ended = job_finish(job, &ending, err);
    if (ended == 0 && !ending.failure)
        log_info(&job->context.log, "reimage done", "volume_id", job->volume.id, NULL);
    return ended < 0 ? -1 : 0;
}
