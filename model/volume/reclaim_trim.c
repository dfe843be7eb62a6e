#include "model/volume/reclaim_trim.h"

#include "model/assist.h"
#include "model/attachment/attach_status.h"
#include "model/attachment/attachment.h"
#include "model/operations.h"
#include "operation/service.h"

#include <string.h>

/* ---- begin ---- */

int reclaim_trim_check(struct work *work, const struct volume *volume, struct error *err) {
    const struct attachment *guest = assist_guest(volume);
    struct service agent;
    int found;

    if (!guest || !guest->attached_host)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s is in use, but not by one instance alone: only "
                         "a single guest can reclaim its space.",
                         volume->id);
    found = service_find(work, SERVICE_COMPUTE, guest->attached_host, &agent, err);
    if (found < 0)
        return -1;
    if (found == 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s is attached to an instance on a host where no "
                         "agent of this service could make the guest reclaim space: detach the "
                         "volume to reclaim its space here.",
                         volume->id);
    if (agent.up && !agent.disabled)
        return 0;
    return error_set(err, ERROR_CONFLICT,
                     "The agent of the host where volume %s is attached is down.", volume->id);
}

int reclaim_trim_begin(struct work *work, const struct operation *held, void *arg,
                       struct error *err) {
    struct reclaim_trim *trim = arg;

    if (volume_details(work, held->volume_id, &trim->volume, err) < 0)
        return -1;
    trim->begun = assist_guest(&trim->volume) != NULL;
    if (!trim->begun)
        return 0;
    if (operation_move(work, held->id, held->owner, PHASE_RUNNING, PHASE_SENDING, true, err) < 0)
        return -1;
    return operation_set_deadline(
        work, held->id, work->clock_us + work->settings->attached_reclaim_deadline_s * SECOND_US,
        err);
}

int reclaim_trim_reevaluate(struct work *work, const struct operation *operation,
                            struct error *err) {
    struct volume volume;

    if (!operation_awaits_report(operation))
        return 0;
    if (volume_details(work, operation->volume_id, &volume, err) < 0)
        return -1;
    return attachment_instances(work->arena, &volume, NULL) > 0
               ? 0
               : operation_end_deadline(work, operation, err);
}

/* ---- the host's report ---- */

int reclaim_trim_report(struct work *work, const struct volume *volume,
                        const struct reclaim_report *report, struct error *err) {
    const char *reason = report->reason ? report->reason : "failed";
    struct error failure = { 0 };
    struct reclaim_ending ending = { .failure = &failure };
    struct operation operation;
    int found = operation_of(work, volume->id, &operation, err);

    if (found < 0)
        return -1;
    if (found == 0 || operation.kind != &kind_reclaim || strcmp(operation.id, report->id) != 0 ||
        !operation_awaits_report(&operation))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s does not wait for this report of a host.",
                         volume->id);
    if (strcmp(report->status, "error") == 0) {
        error_set(&failure,
                  strcmp(reason, "unsupported") == 0 ? ERROR_BAD_REQUEST
                  : strcmp(reason, "busy") == 0      ? ERROR_CONFLICT
                                                     : ERROR_BACKEND,
                  "%s", report->message ? report->message : "The host of the guest failed.");
        return operation.kind->finish(work, &operation, &ending, err);
    }
    if (strcmp(report->status, "running") != 0)
        return assist_report(work, &operation, false, err) < 0 ? -1 : 0;
    if (assist_progressed(work, &operation, err) < 0)
        return -1;
    return db_change(work->tx, err,
                     "UPDATE reclaims SET progress = $1 WHERE volume_id = $2 AND progress < $1",
                     DB_INT(report->progress), DB_TEXT(volume->id));
}
