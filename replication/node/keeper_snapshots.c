/*
 * Snapshots of a volume that is served: those that its document wants, one after the other, each
 * once.  What a replica holds is taken; what is wanted no more is given up before the keeper says
 * that the document is true, as its files go then.
 */
#include "replication/node/keeper.private.h"

#include "common/clock.h"
#include "common/log.h"

#include <string.h>

#define RETRY_FIRST_S 5
#define RETRY_MOST_S  320

static const struct assignment_snapshot *wanted(const struct keeper *keeper, const char *uid) {
    const struct assignment_volume *volume = &keeper->assignment->volume;

    for (unsigned i = 0; i < volume->snapshot_count; i++) {
        if (strcmp(volume->snapshots[i].uid, uid) == 0)
            return &volume->snapshots[i];
    }
    return NULL;
}

/* Its size; 0: no replica of this node holds it; -1: one of those that might does not answer. */
static int64_t size_of(const struct keeper *keeper, const char *uid) {
    int64_t none = 0;

    for (unsigned i = 0; i < keeper->assignment->volume.count; i++) {
        const struct replica replica = keeper_replica(keeper, i);
        int64_t bytes =
            replica.access ? 0 : keeper->here.snapshot_size(keeper->here.arg, &replica, uid);

        if (bytes > 0)
            return bytes;
        if (bytes < 0)
            none = -1;
    }
    return none;
}

int keeper_give_up_snapshot(struct keeper *keeper, struct error *err) {
    bool cancels = keeper->work == REPLICA_WORK_CANCEL;

    if (keeper->status.job != TARGET_SNAPSHOT || (!cancels && wanted(keeper, keeper->snapshot)))
        return 0;
    if (cancels)
        return 1;
    if (target_rebuild_stop(keeper->target, err) < 0)
        return -1;
    keeper_take_work(keeper, REPLICA_WORK_WITHDRAWN);
    return 1;
}

static void note_failure(struct keeper *keeper, const struct error *why) {
    static const struct backoff_limits pauses = { .first_us = RETRY_FIRST_S * SECOND_US,
                                                  .most_us = RETRY_MOST_S * SECOND_US };

    backoff_fail(&keeper->snapshot_backoff, &pauses, clock_monotonic_us());
    keeper->snapshot_trouble = *why;
}

void keeper_end_snapshot(struct keeper *keeper) {
    if (keeper->status.job == TARGET_SNAPSHOT_FAILED && wanted(keeper, keeper->snapshot)) {
        note_failure(keeper, &keeper->status.job_error);
    } else {
        backoff_reset(&keeper->snapshot_backoff);
        keeper->snapshot_trouble = (struct error){ 0 };
    }
}

static void begin(struct keeper *keeper, const char *uid) {
    struct error err;
    int outcome = target_snapshot(keeper->target, uid, keeper->settings->rebuild_speed, &err);

    if (outcome < 0) {
        log_warning(NULL, "snapshot not begun", "volume_id", keeper->uid, "snapshot_id", uid,
                    "reason", err.message, NULL);
        note_failure(keeper, &err);
    }
    if (outcome > 0) {
        keeper_take_work(keeper, REPLICA_WORK_SNAPSHOT_BEGINS);
        snprintf(keeper->snapshot, sizeof(keeper->snapshot), "%s", uid);
    }
    keeper_look(keeper);
}

void keeper_snap(struct keeper *keeper) {
    const struct assignment_volume *volume = &keeper->assignment->volume;

    keeper_end_jobs(keeper);
    if (keeper_has_job(keeper) || backoff_waits(&keeper->snapshot_backoff, clock_monotonic_us()))
        return;
    for (unsigned i = 0; i < volume->snapshot_count; i++) {
        if (size_of(keeper, volume->snapshots[i].uid) == 0) {
            begin(keeper, volume->snapshots[i].uid);
            return;
        }
    }
}

json_t *keeper_snapshots_json(const struct keeper *keeper) {
    const struct assignment_volume *volume = &keeper->assignment->volume;
    const char *why =
        keeper->snapshot_trouble.kind == ERROR_NONE ? NULL : keeper->snapshot_trouble.message;
    json_t *list = json_array();

    for (unsigned i = 0; i < volume->snapshot_count; i++) {
        const char *uid = volume->snapshots[i].uid;
        int64_t bytes = size_of(keeper, uid);
        json_t *entry =
            json_pack("{s:s, s:s}", "uid", uid, "phase", bytes > 0 ? "Ready" : "Pending");

        if (bytes > 0)
            json_object_set_new(entry, "sizeBytes", json_integer(bytes));
        else if (why)
            json_object_set_new(entry, "message", assignment_message(why));
        json_array_append_new(list, entry);
    }
    return list;
}
