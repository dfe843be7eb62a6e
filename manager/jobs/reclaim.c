/*
 * Space reclamation: the driver's work between claim and finish.  It can be interrupted anywhere
 * and continued elsewhere, so it delays neither a manager's shutdown nor the other operations of
 * its backend, which runs one reclamation at a time.
 */
#include "common/assert.h"
#include "manager/runtime/host.h"
#include "manager/runtime/job.h"

enum { TRIES = 30 };
/* For the one slot of the backend: a quarter of the time waited so far, so that a thousand of them
 * cost nothing while they wait. */
#define WAIT_US      ((int64_t)2000000)
#define WAIT_MOST_US ((int64_t)60000000)

struct reclaiming {
    struct driver_progress progress;
    struct job *job;
};

static bool goes_on(const struct driver_progress *progress, int64_t done_bytes, int64_t all_bytes) {
    const struct reclaiming *reclaiming =
        (const struct reclaiming *)((uintptr_t)progress - offsetof(struct reclaiming, progress));
    const struct driver_progress *inner = &reclaiming->job->progress;

    return !manager_is_draining(reclaiming->job->manager) &&
           inner->tell(inner, done_bytes, all_bytes);
}

static int give_back(struct job *job, struct reclaim_ending *ret, struct error *err) {
    const struct driver_volume volume = job_driver_volume(job);
    const struct reclaiming reclaiming = { { goes_on }, job };
    int64_t before;

    if (!job->backend->driver->reclaim_volume)
        return error_set(err, ERROR_BAD_REQUEST,
                         "This backend does not support space reclamation.");
    if (job_usage(job, &before, err) < 0 ||
        job_must_hold(job, volume_reclaim_measured, &before, err) < 0 ||
        job->backend->driver->reclaim_volume(job->backend->handle, job->arena, &volume,
                                             &reclaiming.progress, &ret->pre_usage, err) < 0)
        return -1;
    return job_usage(job, &ret->post_usage, err);
}

/* By the storage, as the volume is detached. */
static int reclaim(struct job *job, struct error *err) {
    struct error failure = { .kind = ERROR_NONE };
    struct reclaim_ending ending = { 0 };

    assert(job->operation.phase == PHASE_RUNNING && job->has_volume);
    if (give_back(job, &ending, &failure) == 0)
        return job_reclaim_end(job, &ending, err);
    if (job_check_lease(job, err) < 0)
        return -1;
    if (manager_is_draining(job->manager))
        return job_retry(job, 0, err);
    if (job_is_uncertain(job, &failure) && job->operation.attempts < TRIES)
        return job_ask_again(job, &failure, err);
    ending.failure = &failure;
    return job_reclaim_end(job, &ending, err);
}

int job_reclaim(struct job *job, struct error *err) {
    int result;

    if (!job->has_volume)
        return job_end(job, err);
    if (job->operation.phase != PHASE_RUNNING)
        return job_trim_go_on(job, err);
    if (job_driver_volume(job).attached) {
        result = job_trim_begin(job, err);
        if (result <= 0)
            return result;
    }
    if (!host_begin_reclaim(job->host)) {
        int64_t now_us = clock_shared_us(job->base.settings->clock);
        int64_t wait_us = (now_us - job->operation.created_at) / 4;

        if (wait_us > WAIT_MOST_US)
            wait_us = WAIT_MOST_US;
        return job_put_back(job, wait_us < WAIT_US ? WAIT_US : wait_us, err);
    }
    result = reclaim(job, err);
    host_end_reclaim(job->host);
    return result;
}
