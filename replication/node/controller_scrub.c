/*
 * Compares the replicas of a volume in use, in small steps: at intervals, and to resynchronize them
 * after an unclean stop, or when its daemon was adopted, since its reports were lost while no agent
 * ran.  A replica that missed a write meanwhile is outvoted like a damaged one, and repaired.
 */
#include "replication/node/volume_controller.private.h"

#include "common/assert.h"
#include "common/clock.h"
#include "common/log.h"
#include "replication/node/rebuild_slots.h"

#include <time.h>

#define STEPS_IN_S 10 /* frequency of steps of a busy controller */
#define PIECE      (INT64_C(256) << 10)
#define RETRY_S    60

void volume_controller_scrub_later(struct volume_controller *controller) {
    int64_t interval_s = controller->settings->scrub_interval_s;

    controller->scrub_us =
        interval_s > 0 ? clock_monotonic_us() + interval_s * SECOND_US : INT64_MAX;
}

void volume_controller_scrub_soon(struct volume_controller *controller) {
    controller->scrub_us = 0;
}

static void finish(struct volume_controller *controller) {
    const struct target_scrub *scrub = &controller->scrub;
    int64_t soon_us;
    time_t now = time(NULL);
    struct tm parts;

    assert(controller->work == REPLICA_WORK_COMPARE);
    if (scrub->damaged > 0 || scrub->undecided > 0)
        log_warning(NULL, "replicas differ", "volume_id", controller->uid, "damaged",
                    LOG_INT(scrub->damaged), "undecided", LOG_INT(scrub->undecided), NULL);
    else
        log_info(NULL, "replicas compared", "volume_id", controller->uid, NULL);
    controller->scrubbed = *scrub;
    strftime(controller->scrubbed_at, sizeof(controller->scrubbed_at), "%Y-%m-%dT%H:%M:%SZ",
             gmtime_r(&now, &parts));
    controller->scrub = (struct target_scrub){ 0 };
    volume_controller_end_scrub(controller);
    volume_controller_scrub_later(controller);
    soon_us = clock_monotonic_us() + RETRY_S * SECOND_US;
    /* Blocks without a majority are refused until they are written again. */
    if (controller->scrubbed.undecided > 0 && controller->scrub_us > soon_us)
        controller->scrub_us = soon_us;
}

int64_t volume_controller_undecided(const struct volume_controller *controller) {
    return controller->scrub.undecided > controller->scrubbed.undecided
               ? controller->scrub.undecided
               : controller->scrubbed.undecided;
}

void volume_controller_scrub(struct volume_controller *controller) {
    const struct target_status *status = &controller->status;
    int64_t step = controller->settings->scrub_speed / STEPS_IN_S;
    bool whole =
        status->voters == status->wanted && status->voters == controller->assignment->volume.count;
    struct error err;
    int more;

    assert(controller->target);
    if (status->resyncs != controller->resyncs) {
        /* Each reason to resynchronize restarts the comparison at once. */
        controller->resyncs = status->resyncs;
        controller->scrub = (struct target_scrub){ 0 };
        volume_controller_scrub_soon(controller);
    }
    /* Nothing else may be running, and the replicas must be complete; voters that may lack a write
     * are compared even while others are missing. */
    if (status->voters <= 1 || (!whole && !status->resynchronizing) ||
        volume_controller_has_job(controller)) {
        volume_controller_end_scrub(controller);
        return;
    }
    if (controller->work != REPLICA_WORK_COMPARE && clock_monotonic_us() >= controller->scrub_us &&
        rebuild_slots_take(controller->settings->scrubs))
        volume_controller_take_work(controller, REPLICA_WORK_COMPARE_BEGINS);
    if (controller->work != REPLICA_WORK_COMPARE)
        return;
    more = target_scrub(controller->target, &controller->scrub, step > PIECE ? step : PIECE, &err);
    if (more < 0) {
        volume_controller_end_scrub(controller);
        controller->scrub_us = clock_monotonic_us() + RETRY_S * SECOND_US;
        if (err.kind != ERROR_CONFLICT) /* else it is served no more, which is logged elsewhere */
            log_warning(NULL, "replica comparison failed, retrying", "volume_id", controller->uid,
                        "reason", err.message, NULL);
    } else if (more == 0)
        finish(controller);
    volume_controller_read_status(controller);
}
