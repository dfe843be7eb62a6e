/*
 * The fence of a job while a driver works, and its progress.
 */
#include "manager/runtime/job.h"

#include "common/assert.h"
#include "common/backoff.h"

/* Intervals of recording and of logging the progress. */
#define PROGRESS_NOTE_US (2 * SECOND_US)
#define PROGRESS_LOG_US  (60 * SECOND_US)

/* Before an operation is done. */
#define PERCENT_MOST 99

/* ---- the fence ---- */

/* Checked right before each effect: an operator may have reset the volume. */
static int wanted_body(struct work *work, void *arg, struct error *err) {
    const struct job *job = arg;
    const struct operation *operation = &job->operation;
    int held = operation_is_held(work, operation->id, job_owner(job), err);

    return held > 0 && operation->kind->still_valid
               ? operation->kind->still_valid(work, operation, err)
               : held;
}

static bool is_within_lease(struct job *job) {
    struct manager *manager = job->manager;
    int64_t safe_until_us;

    pthread_mutex_lock(&manager->lock);
    safe_until_us = job->running.safe_until_us;
    pthread_mutex_unlock(&manager->lock);
    return clock_steady_us(manager->settings.settings->clock) < safe_until_us;
}

/* A database that refuses is queried again until the lease ends: a restart of its server must not
 * end hours of copying.  Then another manager may reach it, and needs the locks of this worker. */
static bool fence_holds(const struct driver_fence *fence) {
    static const struct backoff_limits pauses = { .first_us = SECOND_US / 10,
                                                  .most_us = SECOND_US };
    struct job *job = (struct job *)((uintptr_t)fence - offsetof(struct job, fence));
    autoarena struct arena *arena = arena_new(); /* called repeatedly by drivers */
    struct work base = job->base;
    struct error err;
    unsigned failures = 0;
    int wanted;
    bool holds;

    base.arena = arena;
    do
        wanted = work_read(job->manager->settings.db, &base, wanted_body, job, &err);
    while (wanted < 0 && err.kind == ERROR_UNAVAILABLE && is_within_lease(job) &&
           job_pause(job, backoff_pause_us(&pauses, ++failures)));
    holds = wanted > 0 && is_within_lease(job);
    job->fenced_off |= !holds;
    return holds;
}

static void found_busy(const struct driver_fence *fence, const char *what) {
    struct job *job = (struct job *)((uintptr_t)fence - offsetof(struct job, fence));

    assert(what && *what);
    job->found_in_use = what;
}

static bool may_take_long(const struct driver_fence *fence) {
    struct job *job = (struct job *)((uintptr_t)fence - offsetof(struct job, fence));

    job->is_too_long = !job->lane->is_long;
    return job->lane->is_long;
}

int job_check_lease(struct job *job, struct error *err) {
    assert(job->operation.owner && job->fence.holds);
    if (job->fenced_off)
        return error_set(err, ERROR_CONFLICT, "The operation may have another worker by now.");
    if (job->is_too_long)
        return error_set(err, ERROR_BUSY, "The operation needs a worker that moves data.");
    if (job->found_in_use)
        return error_set(err, ERROR_BUSY, "The %s are in use by another worker.",
                         job->found_in_use);
    return driver_fence_check(&job->fence, err);
}

int job_copy_may(void *arg, struct error *err) {
    const struct job *job = arg;

    return driver_fence_check(&job->fence, err);
}

/* ---- progress ---- */

static int progress_body(struct work *work, void *arg, struct error *err) {
    struct job *job = arg;
    struct operation operation;
    int held = operation_held(work, job->operation.id, job_owner(job), &operation, err);

    assert(job->progress_percent >= 0 && job->progress_percent < 100);
    if (held <= 0)
        return held;
    if (operation_set_progress(work, operation.id, job_owner(job), job->progress_percent, err) < 0)
        return -1;
    return operation.kind->progress
               ? operation.kind->progress(work, &operation, &job->progress_percent, err)
               : 0;
}

static int percent_of(int64_t done_bytes, int64_t all_bytes) {
    double percent =
        done_bytes < all_bytes ? 100.0 * (double)done_bytes / (double)all_bytes : PERCENT_MOST;

    /* a quotient of large numbers may be rounded up to 1, and a storage may report anything */
    return percent < 0 ? 0 : percent > PERCENT_MOST ? PERCENT_MOST : (int)percent;
}

/* A failed update is repeated with the next. */
static void note_progress(struct job *job, int percent) {
    autoarena struct arena *arena = arena_new();
    struct work base = job->base;
    struct error err;

    assert(percent >= 0 && percent <= PERCENT_MOST);
    if (percent == job->progress_percent)
        return;
    job->progress_percent = percent;
    pthread_mutex_lock(&job->manager->lock);
    job->running.percent = percent;
    pthread_mutex_unlock(&job->manager->lock);
    base.arena = arena;
    if (work_transaction_unsynced(job->manager->settings.db, &base, progress_body, job, &err) < 0)
        job->progress_percent = -1;
}

/* Called for every piece of a copy; the rows are read once a second. */
static bool goes_on(const struct driver_progress *progress, int64_t done_bytes, int64_t all_bytes) {
    struct job *job = (struct job *)((uintptr_t)progress - offsetof(struct job, progress));
    int64_t now_us = clock_steady_us(job->manager->settings.settings->clock);

    if (now_us - job->progress_asked_us < SECOND_US)
        return true;
    job->progress_asked_us = now_us;
    if (!fence_holds(&job->fence))
        return false;
    if (now_us - job->progress_noted_us >= PROGRESS_NOTE_US) {
        job->progress_noted_us = now_us;
        note_progress(job, percent_of(done_bytes, all_bytes));
    }
    if (now_us - job->progress_logged_us >= PROGRESS_LOG_US) {
        job->progress_logged_us = now_us;
        log_info(&job->context.log, "operation in progress", "kind", job->operation.kind->name,
                 "volume_id", job->operation.volume_id, "object_id", job->operation.object_id,
                 "percent", LOG_INT(job->progress_percent), "done_bytes", LOG_INT(done_bytes),
                 "all_bytes", LOG_INT(all_bytes), NULL);
    }
    return true;
}

void job_set_fence(struct job *job) {
    job->fence = (struct driver_fence){ .holds = fence_holds,
                                        .busy = found_busy,
                                        .may_take_long = may_take_long };
    job->progress = (struct driver_progress){ .tell = goes_on };
}

int job_copy_report(void *arg, int64_t done_bytes, int64_t all_bytes, struct error *err) {
    const struct job *job = arg;

    return driver_progress_report(&job->progress, done_bytes, all_bytes, err);
}
