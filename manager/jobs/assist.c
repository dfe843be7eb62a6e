/*
 * A snapshot below a running guest, by the phase of the operation:
 *
 *     running ──driver──▶ DEFERRED, one instance, its host takes part in no other operation
 *        ▼
 *     preparing ──files are ready, or failed ──────────────────▶ completing (failed)
 *        ▼
 *     sending ──request to the compute side──▶ refused ────────▶ completing (failed)
 *        ▼                                     accepted, or unknown
 *     waiting ──deadline or no instance: the files decide ─────▶ finished
 *        │    ──timeout: the request to the agent is repeated ─▶ waiting
 *        │    ──timeout, and its host is down: the files decide ▶ finished
 *        ▼ report
 *     completing ──the files must agree ───────────────────────▶ finished
 *
 * The work of each phase is repeatable.  The functions return 0 when the operation is done or left
 * to other workers, and 1 when the loop continues.
 */
#include "model/assist.h"
#include "common/assert.h"
#include "manager/jobs/event.h"
#include "manager/runtime/job.h"
#include "model/attachment/attachment.h"
#include "model/snapshot/assist.h"
#include "model/snapshot/delete.h"

#include <string.h>

#define UNREADABLE_PAUSE_US 10000000

static const char *name_of(const struct job *job) {
    return job->operation.kind->name;
}

/* ---- running: may it start?  ---- */

int job_assist_begin(struct job *job, const struct job_assist *assist, struct error *failure,
                     struct error *err) {
    struct snapshot_assist began;
    bool was_attached = job_driver_volume(job).attached;
    int lost;

    assert(job->operation.phase == PHASE_RUNNING && job->has_volume && job->has_snapshot);
    if (!job->backend->driver->prepare_assist)
        return 1;
    lost = job_held(job, snapshot_assist_begin, &began, err);
    if (lost != 0)
        return lost < 0 ? -1 : 0;
    job->volume = began.volume;
    if (began.begun == ASSIST_LATER) {
        /* The compute side was not involved: the volume is unchanged. */
        if (assist->deletes && !job->snapshot.delete_begun &&
            job_held(job, snapshot_delete_not_begun, (char *)(uintptr_t)job->snapshot.id, err) < 0)
            return -1;
        return job_later(job, err);
    }
    if (began.begun == ASSIST_NO_GUEST && was_attached && !job_driver_volume(job).attached)
        return job_retry(job, 0, err); /* detached since the driver's check: checks again */
    if (began.begun == ASSIST_NO_GUEST) {
        error_set(failure, ERROR_CONFLICT,
                  "Volume %s has %u attachments: the host of a guest is asked only where one "
                  "instance has it by one attachment.",
                  job->volume.id, job->volume.attachment_count);
        return 1;
    }
    job->operation.phase = PHASE_PREPARING;
    return job_assist_go_on(job, assist, err);
}

/* ---- preparing, sending ---- */

static int give_up(struct job *job, const struct error *failure, struct error *err) {
    /* then a snapshot to be deleted is complete */
    struct snapshot_refusal refusal = { !job->snapshot.delete_begun, failure };

    log_error(&job->context.log, "assisted snapshot not possible", "kind", name_of(job),
              "snapshot_id", job->snapshot.id, "reason", failure->message, NULL);
    return job_held(job, snapshot_assist_refused, &refusal, err) < 0 ? -1 : 0;
}

/* 1: `ret` is to be requested; 0: already done; -1: `failure` has the reason. */
static int make_ready(struct job *job, const struct job_assist *assist, struct compute_assist *ret,
                      struct error *failure) {
    const struct driver_volume volume = job_driver_volume(job);
    const struct driver_snapshot snapshot = job_driver_snapshot(job, &job->snapshot);
    struct driver_assist files = { 0 };
    int done = job->backend->driver->prepare_assist(job->backend->handle, job->arena, &volume,
                                                    &snapshot, assist->deletes, &files, failure);

    *ret = (struct compute_assist){ .new_file = files.new_file,
                                    .file_to_merge = files.file_to_merge,
                                    .merge_target_file = files.merge_target_file };
    return done < 0 ? -1 : done == 0;
}

/* A host with a delayed request would find the files of a late worker, although the operation is
 * over. */
static int check_ours(struct job *job, const struct job_assist *assist, struct error *err) {
    struct error lost = { 0 };

    if (job_check_lease(job, &lost) == 0)
        return 0;
    if (assist->undo && assist->undo(job, err) < 0)
        return -1;
    return error_pass(err, &lost);
}

/* 1: `ret` is to be requested; otherwise as all functions here. */
static int prepare(struct job *job, const struct job_assist *assist, struct compute_assist *ret,
                   struct error *err) {
    struct error failure = { 0 };
    int more = make_ready(job, assist, ret, &failure);

    if (more == 0)
        return job_held(job, snapshot_assist_done, NULL, err) < 0 ? -1 : 0;
    if (check_ours(job, assist, err) < 0)
        return -1;
    if (more > 0)
        return 1;
    return job_is_uncertain(job, &failure) ? job_ask_again(job, &failure, err)
                                           : give_up(job, &failure, err);
}

static bool assists_again(const struct job *job) {
    return compute_assists_again(job->manager->settings.compute);
}

/* The worker releases the operation. */
static int end_asking(struct job *job, struct error *err) {
    bool again = assists_again(job);

    return job_held(job, snapshot_assist_sent, &again, err) < 0 ? -1 : 0;
}

static int ask(struct job *job, struct compute_assist *request, struct error *err) {
    const struct attachment *guest = assist_guest(&job->volume);
    enum event_verdict verdict = EVENT_REFUSED;
    struct error answer = { 0 };

    assert(job->operation.phase == PHASE_SENDING); /* recorded before the request */
    if (!guest)
        error_set(&answer, ERROR_CONFLICT,
                  "the volume is no longer attached to exactly one instance");
    else if (event_assist(job, guest->instance_uuid, request, &verdict, &answer, err) < 0)
        return -1;
    if (verdict == EVENT_REFUSED)
        return give_up(job, &answer, err);
    if (verdict == EVENT_UNKNOWN)
        log_warning(&job->context.log, "assisted snapshot request: outcome unknown", "snapshot_id",
                    job->snapshot.id, "reason", answer.message, NULL);
    return end_asking(job, err);
}

static int send(struct job *job, const struct job_assist *assist, struct error *err) {
    struct compute_assist request;
    int more = prepare(job, assist, &request, err);

    if (more <= 0)
        return more;
    if (job->operation.phase == PHASE_PREPARING) {
        int lost = job_held(job, snapshot_assist_ready, NULL, err);

        if (lost != 0)
            return lost < 0 ? -1 : 0;
        job->operation.phase = PHASE_SENDING;
    }
    return job_look_again(job, err) < 0 ? -1 : ask(job, &request, err);
}

/* ---- waiting: for an unresponsive host ---- */

/* While the instance migrates neither host is queried.  Since a change of [compute] the request
 * would go to another component than the former one, which may still be at work. */
static int ask_silent(struct job *job, struct compute_assist *request, enum event_verdict *ret,
                      struct error *answer, struct error *err) {
    const struct attachment *guest = assist_guest(&job->volume);

    request->again = true;
    if (guest && assists_again(job))
        return event_assist(job, guest->instance_uuid, request, ret, answer, err);
    error_set(answer, ERROR_CONFLICT,
              guest ? "[compute] has another component for snapshots than at the request"
                    : "the volume has more than one attachment");
    return 0;
}

static int ask_again(struct job *job, const struct job_assist *assist, struct error *err) {
    enum event_verdict verdict = EVENT_REFUSED;
    struct compute_assist request;
    struct error answer = { 0 };
    int more = make_ready(job, assist, &request, &answer);
    bool longer;

    assert(job->operation.phase == PHASE_WAITING);
    if (check_ours(job, assist, err) < 0)
        return -1;
    if (more == 0)
        return job_held(job, snapshot_assist_done, NULL, err) < 0 ? -1 : 0;
    if (more > 0 && ask_silent(job, &request, &verdict, &answer, err) < 0)
        return -1;
    log_warning(&job->context.log,
                verdict == EVENT_ACCEPTED ? "a host that was silent takes work on a snapshot again"
                                          : "a host is silent about its work on a snapshot",
                "snapshot_id", job->snapshot.id, "reason", answer.message, NULL);
    if (more > 0 && event_is_certain(verdict, &answer))
        return give_up(job, &answer, err);
    longer = verdict != EVENT_REFUSED;
    return job_held(job, assist_silent, &longer, err) < 0 ? -1 : 0;
}

struct host_look {
    const struct job *job;
    bool down;
};

static int look_at_host(struct work *work, void *arg, struct error *err) {
    struct host_look *look = arg;
    int down = assist_host_is_down(work, &look->job->volume, err);

    look->down = down > 0;
    return down < 0 ? -1 : 0;
}

/* Without a guest there is no host to query.  A host that is down ends the wait, so that the guest
 * may start elsewhere; its late effects show in the files, whose metadata keeps the request.  1, 0,
 * or -1. */
static int may_ask_again(struct job *job, struct error *err) {
    struct host_look look = { .job = job };

    if (!job_driver_volume(job).attached ||
        !assist_repeats(job->arena, &job->operation,
                        clock_shared_us(job->manager->settings.settings->clock)))
        return 0;
    if (job_read(job, look_at_host, &look, err) < 0)
        return -1;
    if (look.down)
        log_warning(&job->context.log,
                    "the host of a guest is down: its part of a snapshot is over", "kind",
                    name_of(job), "snapshot_id", job->snapshot.id, NULL);
    return !look.down;
}

/* ---- waiting, completing: the files decide ---- */

static int settle(struct job *job, const struct job_assist *assist, enum driver_reported told,
                  struct error *err) {
    const struct driver_volume volume = job_driver_volume(job);
    const struct driver_snapshot snapshot = job_driver_snapshot(job, &job->snapshot);
    struct driver_created created = { 0 };
    struct error failure = { 0 };
    int64_t pause_us = UNREADABLE_PAUSE_US;
    int done =
        job->backend->driver->complete_assist(job->backend->handle, job->arena, &volume, &snapshot,
                                              assist->deletes, told, &created, &failure);

    assert(job->operation.phase == PHASE_WAITING || job->operation.phase == PHASE_COMPLETING);
    if (done < 0 && job_check_lease(job, err) < 0)
        return -1;
    if (done < 0) {
        log_error(&job->context.log, "assisted snapshot: outcome still unknown", "kind",
                  name_of(job), "snapshot_id", job->snapshot.id, "reason", failure.message, NULL);
        if (job->operation.phase == PHASE_COMPLETING || !assist_guest(&job->volume))
            return job_retry(job, pause_us, err);
        return job_held(job, snapshot_assist_continue, &pause_us, err) < 0 ? -1 : 0;
    }
    if (done == 0)
        log_error(&job->context.log, "assisted snapshot: not done by the host", "kind",
                  name_of(job), "snapshot_id", job->snapshot.id, NULL);
    return assist->finish(job, done > 0, &created, err);
}

/* ---- the loop ---- */

int job_assist_go_on(struct job *job, const struct job_assist *assist, struct error *err) {
    int again;

    switch (job->operation.phase) {
    case PHASE_PREPARING:
        return send(job, assist, err);
    case PHASE_SENDING:
        /* the previous worker may have sent the request already */
        if (assists_again(job))
            return send(job, assist, err);
        log_warning(&job->context.log, "assisted snapshot request: outcome unknown", "snapshot_id",
                    job->snapshot.id, NULL);
        return end_asking(job, err);
    case PHASE_WAITING:
        again = may_ask_again(job, err);
        if (again < 0)
            return -1;
        return again > 0 ? ask_again(job, assist, err)
                         : settle(job, assist, DRIVER_REPORTED_NOTHING, err);
    case PHASE_COMPLETING:
        return settle(job, assist,
                      job->operation.failed ? DRIVER_REPORTED_FAILED : DRIVER_REPORTED_DONE, err);
    default:
        return error_set(err, ERROR_INTERNAL, "Operation %s is in the unknown phase \"%s\".",
                         job->operation.id, operation_phase_text(job->operation.phase));
    }
}
