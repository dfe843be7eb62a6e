/*
 * From the delivery of an operation to its end: the claim, the work of its kind, and the release of
 * an operation that could not be completed.
 */
#include "manager/runtime/job.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/log_limit.h"
#include "common/thread.h"
#include "db/clock.h"
#include "manager/runtime/host.h"
#include "model/attachment/attachment.h"

#include <string.h>

#define RETRY_PAUSE_US     SECOND_US
#define BUSY_PAUSE_MOST_US (10 * SECOND_US) /* before a resource in use is checked again */

static const struct {
    const struct operation_kind *kind;
    job_function *function;
} functions[] = {
#define OPERATION(name) { &kind_##name, job_##name },
#include "model/operations.def"
#undef OPERATION
};

/* The objects of a claimed one: 1, or -1. */
static int read_objects(struct work *work, struct job *job, struct error *err) {
    int any_snapshot = 0;

    assert(job->operation.owner && strcmp(job->operation.owner, job_owner(job)) == 0);
    job->has_volume = volume_details(work, job->operation.volume_id, &job->volume, err) == 0;
    if (!job->has_volume && err->kind != ERROR_NOT_FOUND)
        return -1;
    /* Snapshots are deleted with the volume, which gets no more of them. */
    if (job->operation.kind == &kind_delete)
        any_snapshot = snapshot_any_of(work, job->operation.volume_id, err);
    if (any_snapshot < 0)
        return -1;
    job->has_snapshots = any_snapshot > 0;
    if (job->operation.kind->object != &snapshot_objects)
        return 1;
    job->has_snapshot = snapshot_row(work, job->operation.object_id, &job->snapshot, err) == 0;
    return job->has_snapshot || err->kind == ERROR_NOT_FOUND ? 1 : -1;
}

static int claim_body(struct work *work, void *arg, struct error *err) {
    struct job *job = arg;
    int claimed;

    if (manager_is_draining(job->manager))
        return error_set(err, ERROR_UNAVAILABLE, "the manager is stopping");
    claimed = operation_claim(work, job->operation.id, job_owner(job), &job->operation, err);
    if (claimed != 1)
        return claimed;
    /* A loss of power takes a claim, which is not flushed, but not the effects of its worker. */
    if (job->operation.attempts == 1 && job->operation.created_at <= job->manager->started_at) {
        int lost = clock_is_earlier_boot(work->tx, job->operation.created_at, err);

        if (lost < 0 || (lost > 0 && operation_begin(work, &job->operation, err) < 0))
            return -1;
    }
    return read_objects(work, job, err);
}

static void log_passed_on(const struct operation *operation) {
    static struct log_limit passed_on = LOG_LIMIT;
    unsigned others;

    if (log_limit_allows(&passed_on, operation->id, clock_monotonic_us(), &others))
        log_warning(NULL, "operation of another version, left to its managers", "operation_id",
                    operation->id, "kind", operation->kind->name, "volume_id", operation->volume_id,
                    "others", LOG_INT(others), NULL);
}

/* By the transaction of its request.  It may have been cancelled since. */
static int claimed_body(struct work *work, void *arg, struct error *err) {
    struct job *job = arg;
    int found = operation_get(work, job->operation.id, &job->operation, err);

    if (found <= 0)
        return found;
    if (!job->operation.owner || strcmp(job->operation.owner, job_owner(job)) != 0)
        return 0;
    return read_objects(work, job, err);
}

static void job_identify(struct job *job) {
    static const char *const roles[] = { "admin", NULL };
    const struct operation *operation = &job->operation;

    job->context = (struct context){
        .request_id = operation->request_id,
        .user_id = operation->user_id,
        .project_id = operation->project_id,
        .roles = roles,
        .is_admin = true,
        .is_admin_project = true,
        .log = { operation->request_id, operation->project_id, operation->id },
    };
}

/* False: a thread of this process holds it, and was suspended beyond its lease. */
static bool running_begin(struct manager *manager, struct running *running) {
    const struct running *other;

    assert(running->operation_id && !running->next && running->safe_until_us == 0);
    scoped_lock(&manager->lock);
    other = manager->running;
    while (other && strcmp(other->operation_id, running->operation_id) != 0)
        other = other->next;
    if (!other) {
        running->next = manager->running;
        manager->running = running;
    }
    return !other;
}

static void running_claimed(struct job *job, int64_t claimed_us) {
    struct manager *manager = job->manager;
    struct running *running = &job->running;

    assert(job->running.operation_id && job->operation.owner);
    scoped_lock(&manager->lock);
    running->safe_until_us = operation_safe_until(manager->settings.settings, claimed_us);
    running->kind = job->operation.kind->name;
    running->volume_id = job->operation.volume_id;
    running->begun_us = job->progress_asked_us;
    running->percent = -1;
}

static void running_end(struct manager *manager, const struct running *running) {
    struct running **place = &manager->running;

    scoped_lock(&manager->lock);
    while (*place != running)
        place = &(*place)->next;
    *place = running->next;
}

/* Of several managers that get an announcement all but one find the operation claimed; reading is
 * cheaper than an attempt to write, but for the one that is likely the first.  1 worth it, 0 gone
 * or taken. */
static int look_body(struct work *work, void *arg, struct error *err) {
    const char *id = arg;
    struct operation operation;
    int found = operation_get(work, id, &operation, err);

    if (found <= 0)
        return found;
    return !operation.owner || operation.lease_until < work->over_us;
}

static int wait_body(struct work *work, void *arg, struct error *err) {
    const struct job *job = arg;
    int64_t pause_us = operation_pause_us(&job->operation, work->clock_us, BUSY_PAUSE_MOST_US);

    assert(job->found_in_use);
    return operation_wait_for(work, job->operation.id, job_owner(job), job->found_in_use,
                              work->clock_us + pause_us, err);
}

static int make_long(struct work *work, void *arg, struct error *err) {
    const struct job *job = arg;

    assert(job->is_too_long && !job->lane->is_long);
    return operation_make_long(work, job->operation.id, job_owner(job), err);
}

/*
 * A job that could not be completed, usually because the database refused its end, releases the
 * operation.  If that fails, too, the lease expires: it is renewed only for running jobs.
 */
static int job_give_back(struct job *job, const struct error *reason, struct error *err) {
    assert(job->operation.owner);
    if (job->is_too_long && !job->fenced_off)
        return job_transaction(job, make_long, job, err) < 0 ? -1 : 0;
    if (job->found_in_use && !job->fenced_off) {
        if (!job->operation.waits_for)
            log_info(&job->context.log, "operation waits: a resource is in use", "kind",
                     job->operation.kind->name, "volume_id", job->operation.volume_id, "in_use",
                     job->found_in_use, NULL);
        return job_transaction(job, wait_body, job, err) < 0 ? -1 : 0;
    }
    log_error(&job->context.log, "operation interrupted", "kind", job->operation.kind->name,
              "volume_id", job->operation.volume_id, "reason", reason->message, NULL);
    return job_retry(job, RETRY_PAUSE_US, err);
}

/* Log lines of drivers get the context of this operation. */
static int job_do(struct job *job, struct error *err) {
    const struct operation *operation = &job->operation;
    const struct log_context *before;
    job_function *function = NULL;
    int result;

    assert(operation->kind);
    if (operation->phase == PHASE_CANCELLED)
        return 0;
    for (unsigned i = 0; i < LENGTH(functions); i++)
        if (functions[i].kind == operation->kind)
            function = functions[i].function;
    assert(function); /* others are not claimed */
    before = log_within(&job->context.log);
    result = function(job, err);
    log_within(before);
    return result;
}

static int cancelled_body(struct work *work, void *arg, struct error *err) {
    const struct job *job = arg;
    struct operation operation;
    int found = operation_get(work, job->operation.id, &operation, err);

    return found <= 0 ? found
                      : operation.phase == PHASE_CANCELLED && operation.owner &&
                            strcmp(operation.owner, job_owner(job)) == 0;
}

/* After any end: if it was cancelled meanwhile, others wait for that. */
static int job_let_go(struct job *job, int result, const struct error *reason, struct error *err) {
    int cancelled = job->ended ? 0 : job_read(job, cancelled_body, job, err);

    assert(job->operation.owner);
    if (cancelled > 0)
        return job_close(job, err);
    return result < 0 ? job_give_back(job, reason, err) : 0;
}

int job_run(struct manager_lane *lane, const char *operation_id, bool own, struct job_claim *claim,
            struct error *err) {
    struct manager_host *host = lane->host;
    struct manager *manager = host->manager;
    autoarena struct arena *arena = arena_new();
    struct job job = {
        .manager = manager,
        .host = host,
        .lane = lane,
        .backend = &host->backend,
        .arena = arena,
        .operation = { .id = operation_id },
        .running = { .operation_id = operation_id },
        .progress_percent = -1,
    };
    struct error reason;
    int64_t now_us;
    bool is_claimed;
    int claimed = 1, result = 0;

    job.base = (struct work){
        .arena = arena,
        .context = &job.context,
        .settings = manager->settings.settings,
    };
    job_set_fence(&job);
    if (!own)
        claimed = work_read(manager->settings.db, &job.base, look_body, (char *)operation_id, err);
    if (claimed <= 0 || !running_begin(manager, &job.running))
        return claimed < 0 ? -1 : 0;
    now_us = clock_steady_us(manager->settings.settings->clock);
    job.progress_asked_us = job.progress_noted_us = job.progress_logged_us = now_us;
    is_claimed = claim && claim->asked_us > 0 &&
                 now_us < operation_safe_until(manager->settings.settings, claim->asked_us);
    claimed = is_claimed ? work_read(manager->settings.db, &job.base, claimed_body, &job, err)
                         : work_transaction_unsynced(manager->settings.db, &job.base, claim_body,
                                                     &job, err);
    if (claimed == 1) {
        job_identify(&job);
        running_claimed(&job, is_claimed ? claim->asked_us : now_us);
        if (claim)
            claim->asked_us = 0;
        result = job_do(&job, &reason);
    }
    running_end(manager, &job.running);
    if (claimed == 2)
        log_passed_on(&job.operation);
    if (claimed != 1)
        return claimed < 0 ? -1 : 0;
    result = job_let_go(&job, result, &reason, err);
    if (manager->settings.operation_ended && job.operation.kind->awaited)
        manager->settings.operation_ended(manager->settings.operation_ended_arg);
    return result;
}
