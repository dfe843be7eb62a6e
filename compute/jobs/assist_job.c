/*
 * A round of a job: check, start or wait, report.
 */
#include "compute/jobs/assist_job.h"

#include "common/clock.h"
#include "compute/jobs/assist_job.private.h"

#define PERCENT_DONE 90 /* accepted by the API as the end */
#define PERCENT_STEP 5
#define REPORT_PAUSE 2 /* between two reports, in first pauses, unless a step is reached */
/* Interval of reports without progress, which verify that the snapshot is still awaited. */
#define REPORT_IDLE   10
#define VANISHED_MOST 10 /* checks without a block job until the job fails */

/* ---- reports to the volume API ---- */

/* ROUND_WAITS: the report was accepted, the snapshot is still awaited. */
static enum round_end report_status(struct assist_job *job, struct arena *arena, unsigned percent) {
    bool failed = job->verdict == VERDICT_FAILED;
    const char *status = job->change.remove ? failed ? "error_deleting" : "deleting"
                         : failed           ? "error"
                                            : "creating";
    struct error err = { 0 };
    enum complete_outcome outcome =
        volumes_report_snapshot(&job->assists->settings.api, arena, job->snapshot_id,
                                job->log.request_id, status, percent, &err);

    if (outcome == COMPLETE_TAKEN) {
        job->pace.tries = 0;
        job->reported = percent;
        job->reported_us = clock_monotonic_us();
        return ROUND_WAITS;
    }
    log_event(outcome == COMPLETE_REFUSED    ? LOG_ERROR
              : outcome == COMPLETE_UNWANTED ? LOG_INFO
                                             : LOG_WARNING,
              &job->log,
              outcome == COMPLETE_UNWANTED ? "snapshot is no longer awaited by the volume API"
                                           : "snapshot status cannot be reported",
              "volume_id", job->volume_id, "snapshot_id", job->snapshot_id, "reason", err.message,
              NULL);
    if (outcome == COMPLETE_UNWANTED)
        return ROUND_ENDED;
    return outcome == COMPLETE_REFUSED ? ROUND_RETRIES_SLOWLY : ROUND_RETRIES;
}

/* Periodic reports during a wait. */
static enum round_end report_progress(struct assist_job *job, struct arena *arena) {
    int64_t pause_us = job->assists->settings.retry_ms * 1000;
    int64_t passed_us = clock_monotonic_us() - job->reported_us;
    bool due = job->reported_us == 0 || job->percent >= job->reported + PERCENT_STEP ||
               (job->percent > job->reported && passed_us >= REPORT_PAUSE * pause_us) ||
               passed_us >= REPORT_IDLE * pause_us;

    return due ? report_status(job, arena, job->percent) : ROUND_WAITS;
}

/* ---- the change ---- */

static enum round_end end_done(struct assist_job *job, struct arena *arena,
                               const struct overlay *overlay) {
    struct hypervisor *hypervisor = job->assists->settings.hypervisor;
    struct error err;

    /* Otherwise a later merge while the guest is off would invalidate the definition, and the
     * guest could not start.  The snapshot itself does not depend on it. */
    if (hypervisor->forget_chain(hypervisor, arena, &overlay->disk, &err) < 0)
        log_warning(&job->log, "image chain cannot be removed from a guest's definition",
                    "volume_id", job->volume_id, "instance_uuid", overlay->disk.instance_uuid,
                    "reason", err.message, NULL);
    job->verdict = VERDICT_DONE;
    log_info(&job->log,
             job->change.remove ? "images of a guest's disk merged"
                                : "overlay added to a guest's disk",
             "volume_id", job->volume_id, "snapshot_id", job->snapshot_id, "instance_uuid",
             overlay->disk.instance_uuid, NULL);
    return ROUND_REPORTS;
}

static enum round_end end_failed(struct assist_job *job, const struct error *why) {
    if (!assist_may_fail(job))
        return ROUND_WAITS;
    job->verdict = VERDICT_FAILED;
    log_error(&job->log,
              job->change.remove ? "images of a guest's disk cannot be merged"
                                 : "overlay cannot be added to a guest's disk",
              "volume_id", job->volume_id, "snapshot_id", job->snapshot_id, "instance_uuid",
              job->instance_uuid, "reason", why->message, NULL);
    return ROUND_REPORTS;
}

/* The waits for a busy disk and an unresponsive hypervisor have timeouts; those for a block job and
 * a migration last as long as the volume API awaits the snapshot. */
static enum round_end wait_or_end(struct assist_job *job, struct arena *arena,
                                  enum overlay_outcome outcome, const struct error *why) {
    const struct assist_settings *settings = &job->assists->settings;
    struct remote_volume volume;
    struct error ignored;

    if (outcome == OVERLAY_RUNS || outcome == OVERLAY_MOVES) {
        job->pace.waits_since_us = 0;
        return report_progress(job, arena);
    }
    if (round_may_wait(&job->pace, outcome,
                       outcome == OVERLAY_SET_INCOMPLETE ? settings->set_timeout_ms
                       : outcome == OVERLAY_UNREACHABLE  ? settings->unreachable_ms
                                                         : settings->busy_ms))
        return report_progress(job, arena);
    /* the guest may have migrated; its new host then receives the request */
    if (outcome != OVERLAY_GONE ||
        volumes_read(&settings->api, arena, job->volume_id, job->log.request_id, &volume,
                     &ignored) < 0 ||
        !volumes_is_elsewhere(&volume, settings->host))
        return end_failed(job, why);
    log_info(&job->log, "disk is on another host", "volume_id", job->volume_id, "snapshot_id",
             job->snapshot_id, NULL);
    return ROUND_ENDED;
}

/* Progress stays below the value that means the end. */
static unsigned percent_of(const struct disk *disk) {
    if (disk->job_total <= 0 || disk->job_done <= 0)
        return 0;
    if (disk->job_done >= disk->job_total)
        return PERCENT_DONE - 1;
    return (unsigned)((double)disk->job_done / (double)disk->job_total * (PERCENT_DONE - 1));
}

/* The job's own overlay first, followed by those of its set. */
static enum round_end assist_job_begin(struct assist_job *job, struct arena *arena,
                                       struct overlay *const *overlays, unsigned count) {
    struct error err = { 0 }, check_error = { 0 };
    enum round_end reported =
        report_status(job, arena, 0); /* verifies that the snapshot is awaited */
    enum overlay_outcome begun, seen;

    if (reported != ROUND_WAITS)
        return reported;
    begun = overlay_begin(overlays, count, arena, &err);
    job->begun = begun == OVERLAY_READY && job->change.remove;
    if (job->begun)
        return ROUND_WAITS;
    /* The chain decides about success and failure. */
    seen = overlay_check(overlays[0], arena, &check_error);
    if (seen == OVERLAY_DONE)
        return end_done(job, arena, overlays[0]);
    if (begun == OVERLAY_READY)
        error_set(&err, ERROR_BACKEND, "the guest does not write to the overlay");
    if (seen == OVERLAY_UNREACHABLE || seen == OVERLAY_RUNS || seen == OVERLAY_BUSY)
        begun = seen;
    return begun == OVERLAY_BUSY || begun == OVERLAY_UNREACHABLE || begun == OVERLAY_RUNS
               ? wait_or_end(job, arena, begun, &err)
               : end_failed(job, &err);
}

/* ---- snapshot sets ---- */

static enum overlay_outcome gather(struct assist_job *job, struct arena *arena,
                                   const struct overlay *own, struct snapshot_member *ret,
                                   struct error *err) {
    unsigned others = job->set.count - 1;
    enum overlay_outcome outcome;

    error_set(err, ERROR_CONFLICT, "not all snapshots of the set have been requested");
    if (!snapshot_set_is_leader(&job->set, job->snapshot_id) ||
        assist_include_others(job, arena, ret) != others)
        return OVERLAY_SET_INCOMPLETE;
    outcome = snapshot_set_check(ret, others, own, arena, err);
    return outcome == OVERLAY_READY
               ? snapshot_set_report(ret, others, &job->assists->settings.api, arena, err)
               : outcome;
}

static enum round_end begin_set(struct assist_job *job, struct arena *arena, struct overlay *own) {
    unsigned count = job->set.count;
    struct snapshot_member *others = arena_alloc(arena, count * sizeof(*others));
    struct overlay **overlays = arena_alloc(arena, count * sizeof(struct overlay *));
    struct error err = { 0 }, failure = { 0 };
    enum overlay_outcome outcome = gather(job, arena, own, others, &err);

    if (outcome == OVERLAY_FAILED) {
        /* a delayed call may have changed all disks since the last check of this one */
        outcome = overlay_check(own, arena, &failure);
        if (outcome == OVERLAY_DONE)
            return end_done(job, arena, own);
        return outcome == OVERLAY_READY || outcome == OVERLAY_FAILED
                   ? end_failed(job, &err)
                   : wait_or_end(job, arena, outcome, &failure);
    }
    if (outcome != OVERLAY_READY)
        return wait_or_end(job, arena, outcome, &err);
    overlays[0] = own;
    for (unsigned i = 1; i < count; i++)
        overlays[i] = &others[i - 1].overlay;
    return assist_job_begin(job, arena, overlays, count);
}

/* ---- a round ---- */

static enum round_end continue_change(struct assist_job *job, struct arena *arena,
                                      struct overlay *overlay) {
    enum round_end end;
    struct error err;

    if (job->begun) {
        /* the block job is gone, but the chain is unchanged: libvirt may not have updated it yet */
        if (++job->vanished <= VANISHED_MOST)
            return report_progress(job, arena);
        error_set(&err, ERROR_BACKEND, "the block job ended without merging the images");
        return end_failed(job, &err);
    }
    if (job->set.count <= 1)
        return assist_job_begin(job, arena, &overlay, 1);
    end = begin_set(job, arena, overlay);
    if (snapshot_set_is_leader(&job->set, job->snapshot_id))
        assist_release_others(job);
    return end;
}

static enum round_end follow(struct assist_job *job, struct arena *arena) {
    struct overlay overlay = { .hypervisor = job->assists->settings.hypervisor,
                               .volume_id = job->volume_id,
                               .instance_uuid = job->instance_uuid[0] ? job->instance_uuid : NULL,
                               .change = &job->change };
    struct error err = { 0 };
    enum overlay_outcome outcome = overlay_check(&overlay, arena, &err);

    switch (outcome) {
    case OVERLAY_DONE:
        return end_done(job, arena, &overlay);
    case OVERLAY_FAILED:
        return end_failed(job, &err);
    case OVERLAY_READY:
        return continue_change(job, arena, &overlay);
    case OVERLAY_RUNS:
        job->vanished = 0;
        job->percent = percent_of(&overlay.disk);
        break;
    case OVERLAY_SET_INCOMPLETE:
    case OVERLAY_MOVES:
    case OVERLAY_BUSY:
    case OVERLAY_GONE: /* libvirt responds before it has loaded its domains */
    case OVERLAY_UNREACHABLE:
        break;
    }
    return wait_or_end(job, arena, outcome, &err);
}

void assist_run(void *arg) {
    struct assist_job *job = arg;
    autoarena struct arena *arena = arena_new();
    enum round_end end;

    pthread_mutex_lock(&job->assists->lock);
    job->failed = false;
    pthread_mutex_unlock(&job->assists->lock);
    job->verdict = VERDICT_NONE;
    end = follow(job, arena);
    if (end == ROUND_REPORTS) {
        end = report_status(job, arena, PERCENT_DONE);
        if (end == ROUND_WAITS)
            end = ROUND_ENDED;
    }
    if (end != ROUND_ENDED) {
        worker_pool_put_later(job->assists->settings.pool, &job->item,
                              round_pause_ms(&job->pace, end, job->assists->settings.retry_ms));
    } else if (!assist_end(job)) {
        job->begun = false;
        job->vanished = job->percent = job->reported = 0;
        job->reported_us = 0;
        job->pace = (struct round_pace){ 0 };
        worker_pool_put(job->assists->settings.pool, &job->item);
    }
}
