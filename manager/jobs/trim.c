/*
 * A volume in use is reclaimed by its guest, by the phase of the operation:
 *
 *     running ──counted, one guest has it
 *        ▼
 *     sending ──request to the agent of its host──▶ refused ──▶ finished (failed)
 *        ▼                                          accepted, or unknown
 *     waiting ──timeout: the request is repeated ─────────────▶ waiting
 *        │    ──deadline, or no guest: no report will arrive ─▶ finished (failed)
 *        │    ──report of a failure ───────────────────────▶ finished (model/volume/reclaim_trim.c)
 *        ▼ report
 *     completing ──counted again ─────────────────────────────▶ finished
 *
 * The work of each phase is repeatable: trimming twice is harmless.
 */
#include "common/assert.h"
#include "manager/jobs/event.h"
#include "manager/runtime/job.h"
#include "model/assist.h"
#include "model/attachment/attachment.h"
#include "model/volume/reclaim_trim.h"

enum { TRIES = 30 };

/* ---- also of a volume that is not in use ---- */

int job_usage(struct job *job, int64_t *ret_bytes, struct error *err) {
    const struct driver_volume volume = job_driver_volume(job);

    return job->backend->driver->get_usage(job->backend->handle, job->arena, &volume, ret_bytes,
                                           err);
}

int job_reclaim_end(struct job *job, const struct reclaim_ending *ending, struct error *err) {
    int ended = job_finish(job, (void *)ending, err);

    if (ended == 0 && ending->failure)
        log_error(&job->context.log, "reclaim failed", "volume_id", job->volume.id, "reason",
                  ending->failure->message, NULL);
    else if (ended == 0)
        log_info(&job->context.log, "reclaim done", "volume_id", job->volume.id, NULL);
    return ended < 0 ? -1 : 0;
}

/* ---- failures ---- */

static int give_up(struct job *job, const struct error *failure, struct error *err) {
    const struct reclaim_ending ending = { .failure = failure };

    return job_reclaim_end(job, &ending, err);
}

static int fail(struct job *job, enum error_kind kind, const char *why, struct error *err) {
    struct error failure = { 0 };

    error_set(&failure, kind, "%s", why);
    return give_up(job, &failure, err);
}

/* Sent to the current host of the guest; without a guest nothing is sent. */
static int ask(struct job *job, bool again, enum event_verdict *ret, struct error *answer,
               struct error *err) {
    const struct attachment *guest = assist_guest(&job->volume);

    *ret = EVENT_REFUSED;
    if (guest)
        return event_trim(job, guest->instance_uuid, again, ret, answer, err);
    error_set(answer, ERROR_CONFLICT, "the volume has more than one attachment");
    return 0;
}

static void tell(const struct job *job, enum event_verdict verdict, const struct error *answer) {
    log_warning(&job->context.log,
                verdict == EVENT_ACCEPTED ? "a host that was silent takes up a trim again"
                                          : "trim request: outcome unknown",
                "volume_id", job->volume.id, "reason", answer->message, NULL);
}

/* ---- running, sending ---- */

static int send(struct job *job, struct error *err) {
    bool asks_again = job->manager->settings.compute->asks_again;
    enum event_verdict verdict;
    struct error answer = { 0 };

    assert(job->operation.phase == PHASE_SENDING); /* recorded before the request */
    if (ask(job, job->operation.attempts > 1, &verdict, &answer, err) < 0)
        return -1;
    if (verdict == EVENT_REFUSED && answer.kind != ERROR_UNAVAILABLE)
        return give_up(job, &answer, err);
    if (verdict == EVENT_REFUSED) {
        /* host and reason of an unreachable agent are for the log; users get the result */
        log_warning(&job->context.log, "trim request to the host of a guest failed", "volume_id",
                    job->volume.id, "reason", answer.message, NULL);
        return fail(job, ERROR_BACKEND, "The host of the guest cannot be asked.", err);
    }
    if (verdict == EVENT_UNKNOWN)
        tell(job, verdict, &answer);
    return job_held(job, assist_sent, &asks_again, err) < 0 ? -1 : 0;
}

int job_trim_begin(struct job *job, struct error *err) {
    struct error failure = { 0 };
    struct reclaim_trim trim;
    int64_t before;
    int lost;

    assert(job->operation.phase == PHASE_RUNNING && job->has_volume);
    if (!job->backend->driver->get_usage)
        return fail(job, ERROR_BAD_REQUEST, "This backend does not support space reclamation.",
                    err);
    if (job_usage(job, &before, &failure) < 0) {
        if (job_check_lease(job, err) < 0)
            return -1;
        return job_is_uncertain(job, &failure) && job->operation.attempts < TRIES
                   ? job_ask_again(job, &failure, err)
                   : give_up(job, &failure, err);
    }
    if (job_must_hold(job, volume_reclaim_measured, &before, err) < 0)
        return -1;
    lost = job_held(job, reclaim_trim_begin, &trim, err);
    if (lost != 0)
        return lost < 0 ? -1 : 0;
    job->volume = trim.volume;
    if (!trim.begun && !job_driver_volume(job).attached)
        return 1; /* detached since the claim */
    if (!trim.begun)
        return fail(job, ERROR_CONFLICT, "The volume is not one instance's alone any more.", err);
    job->operation.phase = PHASE_SENDING;
    return send(job, err);
}

/* ---- waiting ---- */

static int settle(struct job *job, struct error *err) {
    enum event_verdict verdict;
    struct error answer = { 0 };
    bool longer;

    if (!job_driver_volume(job).attached)
        return fail(job, ERROR_CONFLICT, "The volume was detached meanwhile.", err);
    if (!assist_repeats(job->arena, &job->operation,
                        clock_shared_us(job->manager->settings.settings->clock)))
        return fail(job, ERROR_BACKEND, "The guest has not given back room in time.", err);
    if (ask(job, true, &verdict, &answer, err) < 0)
        return -1;
    tell(job, verdict, &answer);
    if (event_is_certain(verdict, &answer))
        return give_up(job, &answer, err);
    longer = verdict != EVENT_REFUSED;
    return job_held(job, assist_silent, &longer, err) < 0 ? -1 : 0;
}

/* ---- completing ---- */

static int complete(struct job *job, struct error *err) {
    struct reclaim_ending ending = { 0 };
    struct error failure = { 0 };

    assert(job->operation.phase == PHASE_COMPLETING);
    if (job_usage(job, &ending.post_usage, &failure) == 0)
        return job_reclaim_end(job, &ending, err);
    if (job_check_lease(job, err) < 0)
        return -1;
    return job_is_uncertain(job, &failure) ? job_ask_again(job, &failure, err)
                                           : give_up(job, &failure, err);
}

/* ---- the phases ---- */

int job_trim_go_on(struct job *job, struct error *err) {
    switch (job->operation.phase) {
    case PHASE_SENDING:
        return send(job, err);
    case PHASE_WAITING:
        return settle(job, err);
    case PHASE_COMPLETING:
        return complete(job, err);
    default:
        return error_set(err, ERROR_INTERNAL, "Operation %s is in the unknown phase \"%s\".",
                         job->operation.id, operation_phase_text(job->operation.phase));
    }
}
