/*
 * Compares the replicas of a volume while it is in use, a little at a time: now and then, and to
 * resynchronize them behind an unclean stop, or when its daemon was found again, since its reports
 * were lost while no agent was there.  A replica that missed a write meanwhile is outvoted as one
 * that is damaged is, and repaired as that.
 */
#include "replication/node/keeper.private.h"

#include "common/clock.h"
#include "common/log.h"
#include "replication/node/rebuilds.h"

#include <time.h>

#define STEPS_IN_S 10 /* as often as a keeper that has something to do comes by */
#define PIECE      (INT64_C(256) << 10)
#define RETRY_S    60

void keeper_scrub_later(struct keeper *keeper) {
    int64_t interval_s = keeper->settings->scrub_interval_s;

    keeper->scrub_us = interval_s > 0 ? clock_monotonic_us() + interval_s * SECOND_US : INT64_MAX;
}

void keeper_scrub_soon(struct keeper *keeper) {
    keeper->scrub_us = 0;
}

void keeper_scrub_end(struct keeper *keeper) {
    if (keeper->work == REPLICA_WORK_COMPARE)
        keeper_take_work(keeper, REPLICA_WORK_ENDS);
}

/* There is something to compare, and nothing better to do.  Voters that may lack a write are
 * compared even where others are missing. */
static bool is_due(const struct keeper *keeper) {
    bool whole = keeper->status.voters == keeper->status.wanted &&
                 keeper->status.voters == keeper->assignment->volume.count;

    return keeper->status.voters > 1 && (whole || keeper->status.resynchronizing) &&
           !keeper_has_job(keeper);
}

/* With each reason to resynchronize comparing begins anew, at once. */
static void heed_resync(struct keeper *keeper) {
    if (keeper->status.resyncs == keeper->resyncs)
        return;
    keeper->resyncs = keeper->status.resyncs;
    keeper->scrub = (struct target_scrub){ 0 };
    keeper_scrub_soon(keeper);
}

static bool begin(struct keeper *keeper) {
    if (keeper->work != REPLICA_WORK_COMPARE && clock_monotonic_us() >= keeper->scrub_us &&
        rebuilds_begin(keeper->settings->scrubs))
        keeper_take_work(keeper, REPLICA_WORK_COMPARE_BEGINS);
    return keeper->work == REPLICA_WORK_COMPARE;
}

static void note_time(char ret[SCRUB_TIME_SIZE]) {
    time_t now = time(NULL);
    struct tm parts;

    strftime(ret, SCRUB_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
}

/* Blocks without a majority are refused until they have been written again. */
static void repeat_soon(struct keeper *keeper) {
    int64_t soon_us = clock_monotonic_us() + RETRY_S * SECOND_US;

    if (keeper->scrubbed.undecided > 0 && keeper->scrub_us > soon_us)
        keeper->scrub_us = soon_us;
}

static void finish(struct keeper *keeper) {
    const struct target_scrub *scrub = &keeper->scrub;

    if (scrub->damaged > 0 || scrub->undecided > 0)
        log_warning(NULL, "replicas were found to differ", "volume_id", keeper->uid, "damaged",
                    LOG_INT(scrub->damaged), "undecided", LOG_INT(scrub->undecided), NULL);
    else
        log_info(NULL, "replicas were compared", "volume_id", keeper->uid, NULL);
    keeper->scrubbed = *scrub;
    note_time(keeper->scrubbed_at);
    keeper->scrub = (struct target_scrub){ 0 };
    keeper_scrub_end(keeper);
    keeper_scrub_later(keeper);
    repeat_soon(keeper);
}

int64_t keeper_undecided(const struct keeper *keeper) {
    return keeper->scrub.undecided > keeper->scrubbed.undecided ? keeper->scrub.undecided
                                                                : keeper->scrubbed.undecided;
}

/* That it is not served any more is told elsewhere. */
static void postpone(struct keeper *keeper, const struct error *err) {
    keeper_scrub_end(keeper);
    keeper->scrub_us = clock_monotonic_us() + RETRY_S * SECOND_US;
    if (err->kind == ERROR_CONFLICT)
        return;
    log_warning(NULL, "replicas are not compared", "volume_id", keeper->uid, "reason", err->message,
                NULL);
}

void keeper_scrub(struct keeper *keeper) {
    int64_t step = keeper->settings->scrub_speed / STEPS_IN_S;
    struct error err;
    int more;

    heed_resync(keeper);
    if (!is_due(keeper)) {
        keeper_scrub_end(keeper);
        return;
    }
    if (!begin(keeper))
        return;
    more = target_scrub(keeper->target, &keeper->scrub, step > PIECE ? step : PIECE, &err);
    if (more < 0)
        postpone(keeper, &err);
    else if (more == 0)
        finish(keeper);
    keeper_look(keeper);
}
