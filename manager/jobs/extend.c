/*
 * The manager's part of an extend, by the phase of the operation:
 *
 *     running ──driver──▶ DONE ─────────────────────────────▶ finished (grown)
 *        ▲         │────▶ FAILED ───────────────────────────▶ finished (failed)
 *        ├─────────┴────▶ DEFERRED, detached meanwhile
 *        │                   not one instance ──────────────▶ finished (failed)
 *        ▼                   one instance: keys stored
 *     sending ──event──▶ refused ───────────────────────────▶ finished (failed)
 *        ▼                accepted, or unknown
 *     waiting ──deadline or no instance: the image decides ─▶ finished
 *        ▼ report
 *     completing ──the image must agree ────────────────────▶ finished
 *
 * After a crash the operation is handed out in the phase it had, and the work of that phase is
 * repeatable: job_extend() is one loop over the phases, and each function below the work of one.
 * They return 0 when the operation is done or left to other workers, and 1 when the loop continues.
 */
#include "model/volume/extend.h"
#include "common/assert.h"
#include "manager/jobs/event.h"
#include "manager/runtime/job.h"
#include "model/attachment/attach_status.h"
#include "operation/message.h"

#include <string.h>

#define UNREADABLE_PAUSE_US 10000000

/* The instances that may have the disk, and can report. */
static unsigned instances_of(const struct job *job, const char *const **ret) {
    return attachment_instances(job->arena, &job->volume, ret);
}

/* ---- finish ---- */

static int finish(struct job *job, enum extend_verdict verdict, int64_t real_gb, const char *reason,
                  struct error *err) {
    const struct driver *driver = job->backend->driver;
    const struct driver_volume volume = job_driver_volume(job);
    struct error failure = { .kind = ERROR_NONE };
    struct extend_ending ending = {
        .verdict = verdict,
        .real_gb = real_gb,
        .failure = &failure,
        .refused = verdict == EXTEND_COMPUTE_FAILED && job->operation.phase == PHASE_SENDING &&
                   job->operation.attempts <= 1,
    };
    bool grown = verdict == EXTEND_GROWN;
    int64_t new_gb = job->operation.new_size_gb;
    int result;

    assert(job->operation.kind == &kind_extend && real_gb >= 0 && (reason == NULL) == grown);
    if (reason)
        error_set(&failure, ERROR_BACKEND, "%s", reason);
    result = job_finish(job, &ending, err);
    if (result < 0)
        return -1;
    if (result > 0) {
        log_info(&job->context.log, "extend ended by another worker", "volume_id", volume.id, NULL);
        return 0;
    }
    if (grown)
        log_info(&job->context.log, "extend done", "volume_id", volume.id, "size_gb",
                 LOG_INT(new_gb), NULL);
    else
        log_error(&job->context.log, "extend failed", "volume_id", volume.id, "size_gb",
                  LOG_INT(volume.size_gb), "wanted_gb", LOG_INT(new_gb), "image_gb",
                  LOG_INT(real_gb), "reason", reason, NULL);
    if (driver->extend_finished && job->has_volume)
        driver->extend_finished(job->backend->handle, &volume, grown ? new_gb : volume.size_gb,
                                grown);
    return 0;
}

/* Size of the backend's object in GiB, rounded up, and whether it has the whole target size: 1, 0,
 * or -1 when unknown. */
static int has_grown(struct job *job, int64_t *ret_real_gb, struct error *err) {
    const struct driver_volume volume = job_driver_volume(job);
    int64_t bytes = 0;

    assert(job->operation.new_size_gb > 0);
    if (job->backend->driver->get_size(job->backend->handle, job->arena, &volume, &bytes, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    *ret_real_gb = (bytes + GIB - 1) / GIB;
    return bytes >= job->operation.new_size_gb * GIB;
}

static int finish_failed(struct job *job, enum extend_verdict verdict, const struct error *failure,
                         struct error *err) {
    struct error unreadable = { 0 };
    int64_t real_gb = 0;

    has_grown(job, &real_gb, &unreadable);
    return finish(job, verdict, real_gb, failure->message, err);
}

/* ---- running: the driver ---- */

/* A suspended earlier worker may hold the image's lock; after so many attempts the wait ends. */
enum { LOOKS_AT_A_LOCK = 60 };

/* The image is locked: its guest grows it. */
static int await(struct job *job, struct error *err) {
    bool was_attached = job_driver_volume(job).attached;
    struct extend_await await;
    int lost = job_held(job, volume_extend_await, &await, err);
    struct error failure;
    unsigned instances;

    assert(job->operation.phase == PHASE_RUNNING);
    if (lost)
        return lost < 0 ? -1 : 0;
    job->volume = await.volume;
    if (await.one) {
        job->operation.phase = PHASE_SENDING;
        return 1;
    }
    if (was_attached && !job_driver_volume(job).attached)
        return 1; /* the guest with the lock was detached meanwhile: the driver checks again */
    instances = instances_of(job, NULL);
    error_set(&failure, ERROR_BACKEND,
              instances == 0 ? "the image is locked, but the volume is attached to no instance"
                             : "the image is locked and the volume is attached to %u instances",
              instances);
    if (!job_driver_volume(job).attached && job->operation.attempts > 1 &&
        job->operation.attempts < LOOKS_AT_A_LOCK)
        return job_ask_again(job, &failure, err);
    return finish_failed(job, EXTEND_DRIVER_FAILED, &failure, err);
}

static int drive(struct job *job, struct error *err) {
    const struct driver_volume volume = job_driver_volume(job);
    struct error failure = { 0 };
    enum driver_outcome outcome = job->backend->driver->extend_volume(
        job->backend->handle, job->arena, &volume, job->operation.new_size_gb, &failure);

    assert(job->operation.phase == PHASE_RUNNING && job->has_volume);
    if (outcome == DRIVER_DONE)
        return finish(job, EXTEND_GROWN, 0, NULL, err);
    if (outcome == DRIVER_DEFERRED)
        return await(job, err);
    if (job_check_lease(job, err) < 0)
        return -1;
    if (job_is_uncertain(job, &failure))
        return job_ask_again(job, &failure, err);
    return finish_failed(job, EXTEND_DRIVER_FAILED, &failure, err);
}

/* ---- sending: the event to the compute side ---- */

static int send(struct job *job, struct error *err) {
    const char *const *instances;
    struct error answer = { 0 };
    enum event_verdict verdict = EVENT_REFUSED;

    assert(job->operation.phase == PHASE_SENDING);
    if (instances_of(job, &instances) != 1)
        error_set(&answer, ERROR_CONFLICT,
                  "the volume is no longer attached to exactly one instance");
    else if (event_send(job, instances[0], true, &verdict, &answer, err) < 0)
        return -1;
    if (verdict == EVENT_REFUSED)
        return finish_failed(job, EXTEND_COMPUTE_FAILED, &answer, err);
    if (verdict == EVENT_UNKNOWN)
        log_warning(&job->context.log, "extend event: outcome unknown", "volume_id", job->volume.id,
                    "reason", answer.message, NULL);
    return job_held(job, volume_extend_sent, NULL, err) < 0 ? -1 : 0;
}

/* ---- waiting: no report in time, or no instance that could send one (X20, X30, D13) ---- */

/* The last guest may have gone since the claim: without one only the image is awaited. */
static int stay(struct work *work, const struct operation *held, void *arg, struct error *err) {
    int64_t deadline = work->clock_us + work->settings->extend_deadline_s * SECOND_US;
    struct volume volume;

    (void)arg;
    if (volume_details(work, held->volume_id, &volume, err) < 0)
        return -1;
    if (attachment_instances(work->arena, &volume, NULL) == 0)
        return operation_retry(work, held->id, held->owner, work->clock_us + UNREADABLE_PAUSE_US,
                               err) < 0
                   ? -1
                   : 0;
    /* One whose event was never sent waits as well: a deadline delays only waiting ones. */
    if (operation_move(work, held->id, held->owner, PHASE_SENDING, PHASE_WAITING, true, err) < 0 ||
        operation_postpone(work, held->id, held->owner, deadline, err) < 0)
        return -1;
    return message_put_failed(work, held, "009", NULL, err);
}

static int settle(struct job *job, struct error *err) {
    const struct driver_volume volume = job_driver_volume(job);
    struct error failure = { 0 };
    int64_t real_gb = 0;
    int grown = has_grown(job, &real_gb, &failure);

    assert(job->operation.phase == PHASE_WAITING || job->operation.phase == PHASE_SENDING);
    if (grown < 0) {
        log_error(&job->context.log, "size of a pending extend cannot be read", "volume_id",
                  job->volume.id, "reason", failure.message, NULL);
        if (instances_of(job, NULL) == 0) /* no report will come: only the image is awaited */
            return job_retry(job, UNREADABLE_PAUSE_US, err);
        return job_held(job, stay, NULL, err) < 0 ? -1 : 0;
    }
    if (grown > 0)
        return finish(job, EXTEND_GROWN, real_gb, NULL, err);
    if (instances_of(job, NULL) > 0)
        return finish(job, EXTEND_COMPUTE_FAILED, real_gb,
                      "the compute side did not report in time", err);
    failure = (struct error){ 0 }; /* of a size that was not there to read */
    if (job->backend->driver->extend_volume(job->backend->handle, job->arena, &volume,
                                            job->operation.new_size_gb, &failure) == DRIVER_DONE)
        return finish(job, EXTEND_GROWN, 0, NULL, err);
    if (job_check_lease(job, err) < 0)
        return -1;
    if (!*failure.message)
        error_set(&failure, ERROR_BACKEND,
                  "the image is still locked, and no instance is left that could grow it");
    return finish_failed(job, EXTEND_DRIVER_FAILED, &failure, err);
}

/* ---- completing: the report has arrived ---- */

struct doubt {
    const char *volume_id;
    int doubtful;
};

static int read_doubt(struct work *work, void *arg, struct error *err) {
    struct doubt *doubt = arg;

    doubt->doubtful = volume_extend_is_doubtful(work, doubt->volume_id, err);
    return doubt->doubtful < 0 ? -1 : 0;
}

static int complete(struct job *job, struct error *err) {
    struct doubt doubt = { .volume_id = job->volume.id };
    struct error failure = { 0 };
    int64_t real_gb = 0;
    int grown = has_grown(job, &real_gb, &failure);

    assert(job->operation.phase == PHASE_COMPLETING);
    if (job->operation.failed)
        return finish(job, EXTEND_COMPUTE_FAILED, real_gb,
                      "the compute side could not grow the disk", err);
    if (grown < 0) {
        log_error(&job->context.log, "reported extend cannot be verified", "volume_id",
                  job->volume.id, "reason", failure.message, NULL);
        return job_retry(job, UNREADABLE_PAUSE_US, err);
    }
    if (grown > 0)
        return finish(job, EXTEND_GROWN, real_gb, NULL, err);
    if (job_read(job, read_doubt, &doubt, err) < 0)
        return -1;
    if (!doubt.doubtful)
        return finish(job, EXTEND_COMPUTE_FAILED, real_gb,
                      "the compute side reported success, but the image has not grown", err);
    log_warning(&job->context.log,
                "a reported extend has not grown the image: the report may be "
                "an earlier one's",
                "volume_id", job->volume.id, NULL);
    return job_held(job, volume_extend_wait_on, NULL, err) < 0 ? -1 : 0;
}

/* ---- the loop ---- */

int job_extend(struct job *job, struct error *err) {
    int more;

    if (!job->has_volume)
        return finish(job, EXTEND_DRIVER_FAILED, 0, "the volume is gone", err);
    if (job->volume.status != VOLUME_EXTENDING)
        return finish(job, EXTEND_DRIVER_FAILED, 0, "the volume is not extending", err);
    do {
        switch (job->operation.phase) {
        case PHASE_RUNNING:
            more = drive(job, err);
            break;
        case PHASE_SENDING:
            if (job_look_again(job, err) < 0)
                return -1;
            more = instances_of(job, NULL) > 0 ? send(job, err) : settle(job, err);
            break;
        case PHASE_WAITING:
            more = settle(job, err);
            break;
        case PHASE_COMPLETING:
            more = complete(job, err);
            break;
        default:
            return error_set(err, ERROR_INTERNAL, "Operation %s is in the unknown phase \"%s\".",
                             job->operation.id, operation_phase_text(job->operation.phase));
        }
    } while (more > 0);
    return more;
}
