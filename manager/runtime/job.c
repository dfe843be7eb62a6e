#include "manager/runtime/job.h"

#include "common/assert.h"
#include "common/backoff.h"
#include "common/thread.h"
#include "model/unwanted_object.h"
#include "model/volume/create.h"

#include <string.h>

#define LATER_PAUSE_US    (2 * SECOND_US)
#define LATER_PAUSES      5 /* the longest is so many of them */
#define CLEAN_UP_ATTEMPTS 5 /* while the database takes no record of it */

/* ---- the job's transactions ---- */

int job_transaction(struct job *job, work_body *body, void *arg, struct error *err) {
    return work_transaction(job->manager->settings.db, &job->base, body, arg, err);
}

int job_read(struct job *job, work_body *body, void *arg, struct error *err) {
    return work_read(job->manager->settings.db, &job->base, body, arg, err);
}

struct held_call {
    const struct operation *seen;
    const char *owner;
    operation_body *body;
    void *arg;
    bool as_claimed; /* the body gets `seen`, and finds out itself whether it is held */
};

static int held_body(struct work *work, void *arg, struct error *err) {
    const struct held_call *call = arg;
    struct operation operation = *call->seen;
    int held =
        call->as_claimed ? 1 : operation_held(work, call->seen->id, call->owner, &operation, err);

    assert(call->owner && *call->owner && call->seen->phase <= PHASES);
    /* an unknown phase is left to the newer program that wrote it */
    if (held <= 0 || operation.phase != call->seen->phase || operation.phase == PHASES)
        return held < 0 ? -1 : 1;
    return call->body(work, &operation, call->arg, err);
}

int job_held(struct job *job, operation_body *body, void *arg, struct error *err) {
    struct held_call call = { &job->operation, job_owner(job), body, arg, false };

    return job_transaction(job, held_body, &call, err);
}

int job_must_hold(struct job *job, operation_body *body, void *arg, struct error *err) {
    int lost = job_held(job, body, arg, err);

    return lost > 0 ? error_set(err, ERROR_CONFLICT, "The operation has another worker by now.")
                    : lost;
}

/* An end deletes the operation, or leaves it answered and without an owner. */
static int held_end(struct job *job, operation_body *body, void *arg, struct error *err) {
    struct held_call call = { &job->operation, job_owner(job), body, arg,
                              job->operation.kind->ends_as_claimed };
    int result = job_transaction(job, held_body, &call, err);

    job->ended |= result == 0;
    return result;
}

int job_finish(struct job *job, void *ending, struct error *err) {
    assert(job->operation.kind->finish);
    return held_end(job, job->operation.kind->finish, ending, err);
}

static int end(struct work *work, const struct operation *held, void *arg, struct error *err) {
    (void)arg;
    return operation_end_held(work, held, err);
}

int job_end(struct job *job, struct error *err) {
    return held_end(job, end, NULL, err) < 0 ? -1 : 0;
}

/* ---- for drivers ---- */

struct driver_volume driver_volume_of(const struct volume *volume) {
    const char *pool = volume->host ? strchr(volume->host, '#') : NULL;

    return (struct driver_volume){
        .id = volume->id,
        .name_id = volume->name_id ? volume->name_id : volume->id,
        .provider_location = volume->provider_location,
        .tried = pairs_get(&volume->admin_metadata, CREATE_KEY_TRIED),
        .format = volume->format,
        .pool = pool ? pool + 1 : NULL,
        .size_gb = volume->size_gb,
        .multiattach = volume->multiattach,
        .encrypted = volume->encryption_key_id != NULL,
    };
}

struct driver_volume job_driver_volume_of(const struct job *job, const struct volume *volume) {
    struct driver_volume ret = driver_volume_of(volume);

    assert(job->operation.attempts > 0); /* no two workers share a temporary file */
    ret.fence = &job->fence;
    ret.attempt = (unsigned)job->operation.attempts;
    ret.attached = volume_in_use(volume);
    return ret;
}

struct driver_volume job_driver_volume(const struct job *job) {
    return job_driver_volume_of(job, &job->volume);
}

struct driver_snapshot job_driver_snapshot(const struct job *job, const struct snapshot *snapshot) {
    assert(job->operation.attempts > 0);
    return (struct driver_snapshot){
        .id = snapshot->id,
        .name_id = snapshot->id,
        .provider_location = snapshot->provider_location,
        .format = snapshot->format,
        .size_gb = snapshot->size_gb,
        .fence = &job->fence,
        .attempt = (unsigned)job->operation.attempts,
    };
}

int job_find_object(struct job *job, struct error *err) {
    const struct driver_volume volume = job_driver_volume(job);
    int64_t bytes;

    if (job->backend->driver->get_size(job->backend->handle, job->arena, &volume, &bytes, err) == 0)
        return 1;
    return err->kind == ERROR_NOT_FOUND ? 0 : -1;
}

/* ---- retries ---- */

static int look_again_body(struct work *work, void *arg, struct error *err) {
    struct job *job = arg;

    return volume_details(work, job->operation.volume_id, &job->volume, err);
}

int job_look_again(struct job *job, struct error *err) {
    return job_read(job, look_again_body, job, err);
}

struct job_retry_call {
    const struct job *job;
    int64_t pause_us;
    int (*let_go)(struct work *work, const char *id, const char *owner, int64_t retry_at,
                  struct error *err);
};

static int retry_body(struct work *work, void *arg, struct error *err) {
    const struct job_retry_call *call = arg;

    assert(call->pause_us >= 0);
    return call->let_go(work, call->job->operation.id, job_owner(call->job),
                        work->clock_us + call->pause_us, err);
}

/* A stop of the manager ends no operation, however often it comes.  The first attempt stays
 * counted: it has begun. */
int job_retry(struct job *job, int64_t pause_us, struct error *err) {
    bool stops = manager_is_draining(job->manager) && job->operation.attempts > 1;
    struct job_retry_call call = { job, pause_us, stops ? operation_put_back : operation_retry };

    return job_transaction(job, retry_body, &call, err) < 0 ? -1 : 0;
}

int job_later(struct job *job, struct error *err) {
    static const struct backoff_limits pauses = { .first_us = LATER_PAUSE_US,
                                                  .most_us = LATER_PAUSE_US * LATER_PAUSES,
                                                  .step_us = LATER_PAUSE_US };

    return job_retry(job, backoff_pause_us(&pauses, (unsigned)job->operation.attempts), err);
}

int job_put_back(struct job *job, int64_t pause_us, struct error *err) {
    struct job_retry_call call = { job, pause_us, operation_put_back };

    return job_transaction(job, retry_body, &call, err) < 0 ? -1 : 0;
}

bool job_is_first(const struct job *job) {
    return job->operation.attempts == 1 && job->operation.created_at >= job->manager->started_at;
}

bool job_is_uncertain(const struct job *job, const struct error *failure) {
    return failure->kind == ERROR_UNAVAILABLE &&
           (!job_is_first(job) || manager_is_draining(job->manager));
}

/* An unavailable backend comes back. */
bool job_looks_again(const struct job *job, const struct error *why) {
    enum { LOOKS_AT_AN_OBJECT = 30 };

    return why->kind == ERROR_UNAVAILABLE || job->operation.attempts < LOOKS_AT_AN_OBJECT;
}

bool job_may_try(const struct job *job, int64_t attempts, int64_t most, int64_t pause_us) {
    const struct clock *clock = job->manager->settings.settings->clock;

    return attempts < most ||
           clock_shared_us(clock) - job->operation.created_at < (most - 1) * pause_us;
}

int job_ask_again(struct job *job, const struct error *failure, struct error *err) {
    log_error(&job->context.log, "backend unavailable, operation retried", "kind",
              job->operation.kind->name, "volume_id", job->operation.volume_id, "reason",
              failure->message, NULL);
    return job_retry(job, ASK_AGAIN_PAUSE_US, err);
}

/* ---- clean-up of a late worker ---- */

static int record_body(struct work *work, void *arg, struct error *err) {
    return unwanted_object_record(work, arg, err);
}

bool job_pause(struct job *job, int64_t pause_us) {
    struct manager *manager = job->manager;
    int64_t until_us = clock_monotonic_us() + pause_us;
    bool stops;

    scoped_lock(&manager->lock);
    while (manager->settings.threaded && !manager->draining &&
           thread_cond_wait(&manager->changed, &manager->lock, until_us))
        ;
    stops = manager->draining;
    return !stops;
}

/* The worker pauses only while the database takes no record: then it takes no claim either, and no
 * other work waits for this thread. */
int job_clean_up(struct job *job, const struct job_clean_up *clean_up, bool continued,
                 struct error *err) {
    static const struct backoff_limits pauses = { .first_us = SECOND_US, .most_us = 8 * SECOND_US };
    struct unwanted_object object = { .clean_up = clean_up->name,
                                      .made_by = job->operation,
                                      .volume = job->volume,
                                      .snapshot = job->snapshot };
    unsigned failures = 0;
    bool known = false;

    do {
        struct error why = { 0 };
        int unwanted = job_read(job, clean_up->unwanted, job, &why);

        if (unwanted == CLEAN_UP_WANTED)
            return 1;
        known |= unwanted == CLEAN_UP_UNWANTED;
        if (unwanted == CLEAN_UP_UNWANTED && clean_up->take_away(job, &why) == 0)
            return 0;
        if (unwanted == CLEAN_UP_LATER)
            error_set(&why, ERROR_BUSY, "its volume may be in the middle of a rename");
        if (unwanted < 0 && continued) {
            error_pass(err, &why);
            break;
        }
        if (job_transaction(job, record_body, &object, err) == 0) {
            log_info(&job->context.log, "clean-up of a late worker deferred", "kind",
                     job->operation.kind->name, "volume_id", job->operation.volume_id, "object_id",
                     job->operation.object_id, "reason", why.message, NULL);
            return 0;
        }
    } while (++failures < CLEAN_UP_ATTEMPTS && job_pause(job, backoff_pause_us(&pauses, failures)));
    /* One that may be wanted must not be reported as unwanted: an operator destroys it. */
    log_event(known ? LOG_WARNING : LOG_INFO, &job->context.log,
              known ? "unwanted object may be left on the backend"
                    : "cannot query whether the object is unwanted",
              "kind", job->operation.kind->name, "volume_id", job->operation.volume_id, "object_id",
              job->operation.object_id, "reason", err->message, NULL);
    return -1;
}
