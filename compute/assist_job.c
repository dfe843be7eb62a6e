/*
 * A round of a job: look, begin or wait, report.
 */
#include "compute/assist_job.h"

#include "common/clock.h"
#include "compute/assist_job.private.h"

#define PERCENT_DONE  90 /* what the API takes for the end */
#define PERCENT_STEP  5
#define REPORT_PAUSE  2  /* between two reports, in first pauses, unless there is a step */
#define REPORT_ANYHOW 10 /* so often all the same: does anybody wait for it? */
#define VANISHED_MOST 10 /* looks at a chain without a job before ours has failed */

/* ---- telling the volume API ---- */

static const char *status_of(const struct assist_job *job) {
    if (job->verdict == VERDICT_FAILED)
        return job->change.remove ? "error_deleting" : "error";
    return job->change.remove ? "deleting" : "creating";
}

/* ROUND_WAITS: it was taken, and somebody waits. */
static enum round_end tell(struct assist_job *job, struct arena *arena, unsigned percent) {
    struct error err = { 0 };
    enum complete_outcome outcome =
        volumes_report_snapshot(&job->assists->settings.api, arena, job->snapshot_id,
                                job->log.request_id, status_of(job), percent, &err);

    if (outcome == COMPLETE_TAKEN) {
        job->pace.tries = 0;
        job->told = percent;
        job->told_us = clock_monotonic_us();
        return ROUND_WAITS;
    }
    log_event(outcome == COMPLETE_REFUSED    ? LOG_ERROR
              : outcome == COMPLETE_UNWANTED ? LOG_INFO
                                             : LOG_WARNING,
              &job->log,
              outcome == COMPLETE_UNWANTED ? "nobody waits for the snapshot any more"
                                           : "the snapshot's status cannot be reported",
              "volume_id", job->volume_id, "snapshot_id", job->snapshot_id, "reason", err.message,
              NULL);
    if (outcome == COMPLETE_UNWANTED)
        return ROUND_ENDED;
    return outcome == COMPLETE_REFUSED ? ROUND_RETRIES_SLOWLY : ROUND_RETRIES;
}

/* Now and then while something is waited for. */
static enum round_end tell_progress(struct assist_job *job, struct arena *arena) {
    int64_t pause_us = job->assists->settings.retry_ms * 1000;
    int64_t passed_us = clock_monotonic_us() - job->told_us;
    bool due = job->told_us == 0 || job->percent >= job->told + PERCENT_STEP ||
               (job->percent > job->told && passed_us >= REPORT_PAUSE * pause_us) ||
               passed_us >= REPORT_ANYHOW * pause_us;

    return due ? tell(job, arena, job->percent) : ROUND_WAITS;
}

/* ---- the work ---- */

/* A merge that comes while the guest is off would make it untrue, and the guest could not be
 * started.  The snapshot is what it is without that. */
static void forget_chain(struct assist_job *job, struct arena *arena, const struct disk *disk) {
    struct hypervisor *hypervisor = job->assists->settings.hypervisor;
    struct error err;

    if (hypervisor->forget_chain(hypervisor, arena, disk, &err) < 0)
        log_warning(&job->log, "the definition of a guest still names a chain of images",
                    "volume_id", job->volume_id, "instance_uuid", disk->instance_uuid, "reason",
                    err.message, NULL);
}

static enum round_end end_done(struct assist_job *job, struct arena *arena,
                               const struct overlay *overlay) {
    forget_chain(job, arena, &overlay->disk);
    job->verdict = VERDICT_DONE;
    log_info(&job->log,
             job->change.remove ? "images merged below a guest" : "overlay below a guest",
             "volume_id", job->volume_id, "snapshot_id", job->snapshot_id, "instance_uuid",
             overlay->disk.instance_uuid, NULL);
    return ROUND_REPORTS;
}

static enum round_end end_failed(struct assist_job *job, const struct error *why) {
    if (!assist_may_fail(job))
        return ROUND_WAITS;
    job->verdict = VERDICT_FAILED;
    log_error(&job->log,
              job->change.remove ? "images cannot be merged below a guest"
                                 : "no overlay below a guest",
              "volume_id", job->volume_id, "snapshot_id", job->snapshot_id, "instance_uuid",
              job->instance_uuid, "reason", why->message, NULL);
    return ROUND_REPORTS;
}

/* A disk that is busy and a hypervisor that is silent are waited for, but not for ever; a job and
 * a move for as long as anybody waits for the snapshot. */
static bool may_wait(struct assist_job *job, enum overlay_outcome outcome) {
    const struct assist_settings *settings = &job->assists->settings;

    if (outcome == OVERLAY_RUNS || outcome == OVERLAY_MOVES) {
        job->pace.waits_since_us = 0;
        return true;
    }
    return round_may_wait(&job->pace, outcome,
                          outcome == OVERLAY_APART         ? settings->apart_ms
                          : outcome == OVERLAY_UNREACHABLE ? settings->unreachable_ms
                                                           : settings->busy_ms);
}

/* The guest may have moved, and be asked there. */
static enum round_end end_gone(struct assist_job *job, struct arena *arena,
                               const struct error *why) {
    const struct assist_settings *settings = &job->assists->settings;
    struct remote_volume volume;
    struct error ignored;

    if (volumes_read(&settings->api, arena, job->volume_id, job->log.request_id, &volume,
                     &ignored) < 0 ||
        !volumes_is_elsewhere(&volume, settings->host))
        return end_failed(job, why);
    log_info(&job->log, "disk is on another host", "volume_id", job->volume_id, "snapshot_id",
             job->snapshot_id, NULL);
    return ROUND_ENDED;
}

static enum round_end wait_or_end(struct assist_job *job, struct arena *arena,
                                  enum overlay_outcome outcome, const struct error *why) {
    if (may_wait(job, outcome))
        return tell_progress(job, arena);
    return outcome == OVERLAY_GONE ? end_gone(job, arena, why) : end_failed(job, why);
}

/* Half-way numbers stay below the one that means the end. */
static unsigned percent_of(const struct disk *disk) {
    if (disk->job_total <= 0 || disk->job_done <= 0)
        return 0;
    if (disk->job_done >= disk->job_total)
        return PERCENT_DONE - 1;
    return (unsigned)((double)disk->job_done / (double)disk->job_total * (PERCENT_DONE - 1));
}

/* Our job is not there any more, and the chain is as it was.  The hypervisor may be about to say
 * that it has changed. */
static enum round_end judge_vanished(struct assist_job *job, struct arena *arena) {
    struct error err;

    if (++job->vanished <= VANISHED_MOST)
        return tell_progress(job, arena);
    error_set(&err, ERROR_BACKEND, "the job on the disk ended without having done it");
    return end_failed(job, &err);
}

/* Itself, which is the first, and all that go with it. */
static enum round_end begin(struct assist_job *job, struct arena *arena,
                            struct overlay *const *overlays, unsigned count) {
    struct error err = { 0 }, looked = { 0 };
    enum round_end told = tell(job, arena, 0); /* does anybody wait for it? */
    enum overlay_outcome begun, seen;

    if (told != ROUND_WAITS)
        return told;
    begun = overlay_begin(overlays, count, arena, &err);
    job->begun = begun == OVERLAY_READY && job->change.remove;
    if (job->begun)
        return ROUND_WAITS;
    /* Success is seen, not believed; and so is a failure. */
    seen = overlay_look(overlays[0], arena, &looked);
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

/* ---- several at one moment ---- */

static enum overlay_outcome gather(struct assist_job *job, struct arena *arena,
                                   const struct overlay *own, struct together_one *ret,
                                   struct error *err) {
    unsigned others = job->together.count - 1;
    enum overlay_outcome outcome;

    error_set(err, ERROR_CONFLICT, "not all that are to be taken at one moment were asked for");
    if (!together_leads(&job->together, job->snapshot_id) ||
        assist_carry_others(job, arena, ret) != others)
        return OVERLAY_APART;
    outcome = together_look(ret, others, own, arena, err);
    return outcome == OVERLAY_READY
               ? together_tell(ret, others, &job->assists->settings.api, arena, err)
               : outcome;
}

/* A call that was held up may have taken all of them since the job looked at its own. */
static enum round_end judge_apart(struct assist_job *job, struct arena *arena, struct overlay *own,
                                  const struct error *why) {
    struct error err = { 0 };
    enum overlay_outcome seen = overlay_look(own, arena, &err);

    if (seen == OVERLAY_DONE)
        return end_done(job, arena, own);
    return seen == OVERLAY_READY || seen == OVERLAY_FAILED ? end_failed(job, why)
                                                           : wait_or_end(job, arena, seen, &err);
}

static enum round_end begin_together(struct assist_job *job, struct arena *arena,
                                     struct overlay *own) {
    unsigned count = job->together.count;
    struct together_one *others = arena_alloc(arena, count * sizeof(*others));
    struct overlay **overlays = arena_alloc(arena, count * sizeof(struct overlay *));
    struct error err = { 0 };
    enum overlay_outcome outcome = gather(job, arena, own, others, &err);

    if (outcome == OVERLAY_FAILED)
        return judge_apart(job, arena, own, &err);
    if (outcome != OVERLAY_READY)
        return wait_or_end(job, arena, outcome, &err);
    overlays[0] = own;
    for (unsigned i = 1; i < count; i++)
        overlays[i] = &others[i - 1].overlay;
    return begin(job, arena, overlays, count);
}

/* ---- a round ---- */

static enum round_end go_on(struct assist_job *job, struct arena *arena, struct overlay *overlay) {
    enum round_end end;

    if (job->begun)
        return judge_vanished(job, arena);
    if (job->together.count <= 1)
        return begin(job, arena, &overlay, 1);
    end = begin_together(job, arena, overlay);
    if (together_leads(&job->together, job->snapshot_id))
        assist_let_others_go(job);
    return end;
}

static enum round_end follow(struct assist_job *job, struct arena *arena) {
    struct overlay overlay = { .hypervisor = job->assists->settings.hypervisor,
                               .volume_id = job->volume_id,
                               .instance_uuid = job->instance_uuid[0] ? job->instance_uuid : NULL,
                               .change = &job->change };
    struct error err = { 0 };
    enum overlay_outcome outcome = overlay_look(&overlay, arena, &err);

    switch (outcome) {
    case OVERLAY_DONE:
        return end_done(job, arena, &overlay);
    case OVERLAY_FAILED:
        return end_failed(job, &err);
    case OVERLAY_READY:
        return go_on(job, arena, &overlay);
    case OVERLAY_RUNS:
        job->vanished = 0;
        job->percent = percent_of(&overlay.disk);
        break;
    case OVERLAY_APART:
    case OVERLAY_MOVES:
    case OVERLAY_BUSY:
    case OVERLAY_GONE: /* libvirt answers before it has found its guests again */
    case OVERLAY_UNREACHABLE:
        break;
    }
    return wait_or_end(job, arena, outcome, &err);
}

static void end_job(struct assist_job *job) {
    if (assist_end(job))
        return;
    job->begun = false;
    job->vanished = job->percent = job->told = 0;
    job->told_us = 0;
    job->pace = (struct round_pace){ 0 };
    worker_pool_put(job->assists->settings.pool, &job->item);
}

void assist_run(void *arg) {
    struct assist_job *job = arg;
    autoarena struct arena *arena = arena_new();
    enum round_end end;

    pthread_mutex_lock(&job->assists->lock);
    job->over = false;
    pthread_mutex_unlock(&job->assists->lock);
    job->verdict = VERDICT_NONE;
    end = follow(job, arena);
    if (end == ROUND_REPORTS) {
        end = tell(job, arena, PERCENT_DONE);
        if (end == ROUND_WAITS)
            end = ROUND_ENDED;
    }
    if (end == ROUND_ENDED)
        end_job(job);
    else
        worker_pool_put_later(job->assists->settings.pool, &job->item,
                              round_pause_ms(&job->pace, end, job->assists->settings.retry_ms));
}
