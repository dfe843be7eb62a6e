/*
 * The job of a target: its kind, its state (replication/engine/job_states.h), and the log line of
 * its end.
 */
#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/log.h"

#define COARSE 65536
#define BUFFER (16 * 1024 * 1024)
#define FINE   4096

static const struct kind {
    enum target_job done, failed;
    const char *done_text, *failed_text;
    bool of_replica; /* not of a snapshot */
} kinds[] = {
    [TARGET_REBUILD] = { TARGET_REBUILT, TARGET_REBUILD_FAILED, "replica rebuilt",
                         "replica not rebuilt", true },
    [TARGET_SNAPSHOT] = { TARGET_SNAPPED, TARGET_SNAPSHOT_FAILED, "snapshot made",
                          "snapshot not made", false },
    [TARGET_REVERT] = { TARGET_REVERTED, TARGET_REVERT_FAILED, "volume reverted",
                        "volume not reverted", false },
    [TARGET_REPAIR] = { TARGET_REPAIRED, TARGET_REPAIR_FAILED, "replica repaired",
                        "replica not repaired", true },
};

bool target_job_may(const struct target *target, enum job_event event) {
    return state_table_find(&job_states, target->job_state, event) != NULL;
}

bool target_job_runs(const struct target *target) {
    return !target_job_may(target, JOB_BEGUN);
}

bool target_job_is(const struct target *target, enum target_job kind) {
    return target->job == kind && target_job_runs(target);
}

enum target_job target_job_now(const struct target *target) {
    assert(target->job < LENGTH(kinds));
    return target->job_state == JOB_IS_DONE     ? kinds[target->job].done
           : target->job_state == JOB_IS_FAILED ? kinds[target->job].failed
                                                : target->job;
}

const char *target_job_replica(const struct target *target) {
    assert(target->job < LENGTH(kinds));
    assert(!kinds[target->job].of_replica || target->rebuilt < target->count);
    return kinds[target->job].of_replica ? target->members[target->rebuilt].replica.uid : NULL;
}

int target_job_refuse(const struct target *target, struct error *err) {
    return error_set(err, ERROR_CONFLICT, "The volume %s is being copied already.", target->volume);
}

/* ---- state changes ---- */

static void log_end(const struct target *target, bool done) {
    const struct kind *kind = &kinds[target->job];
    const char *key = kind->of_replica ? "replica_id" : "snapshot_id";
    const char *object = kind->of_replica ? target_job_replica(target) : target->snapshot;

    assert(target->job < LENGTH(kinds) && kinds[target->job].done_text);
    if (done)
        log_info(NULL, kind->done_text, "volume_id", target->volume, key, object, NULL);
    else
        log_warning(NULL, kind->failed_text, "volume_id", target->volume, key, object, "reason",
                    target->job_error.message, NULL);
}

bool target_job_next(struct target *target, enum job_event event) {
    const struct state_row *row = state_table_next(&job_states, &target->job_state, event);

    if (row && row->action == JOB_CLEARS) {
        target->job = TARGET_NO_JOB;
        target->job_error = (struct error){ 0 };
        target->done_bytes = target->total_bytes = 0;
        target->failures_before = target->failures;
    } else if (row && row->action == JOB_NOTES_END) {
        error_set(&target->job_error, ERROR_UNAVAILABLE, "%s", row->sentence);
    } else if (row && row->action != JOB_NO_ACTION) {
        log_end(target, row->action == JOB_LOGS);
    }
    return row != NULL;
}

void target_job_begin(struct target *target, enum target_job kind) {
    assert(kind < LENGTH(kinds) && kinds[kind].done_text);
    if (target_job_next(target, JOB_BEGUN))
        target->job = kind;
}

void target_job_fail(struct target *target, const struct error *why) {
    target->job_error = *why;
    target_job_next(target, JOB_FAILS);
}

int target_job_mirror(struct target *target, const char *device, const char *node,
                      const char *replaces, bool waits, struct error *err) {
    bool by_blocks =
        target->job_state >= JOB_IS_COPYING_BLOCKS && target->job_state <= JOB_IS_ENDING_BLOCKS;

    return GRAPH_DO(target, err, "blockdev-mirror",
                    "{s:s, s:s, s:s, s:s*, s:s, s:s*, s:I, s:i, s:i, s:b, s:s, s:s}", "job-id", JOB,
                    "device", device, "target", node, "replaces", replaces, "sync", "full",
                    "copy-mode", waits ? "write-blocking" : NULL, "speed",
                    (json_int_t)target->speed, "granularity", by_blocks ? FINE : COARSE, "buf-size",
                    by_blocks ? FINE : BUFFER, "auto-dismiss", false, "on-source-error", "report",
                    "on-target-error", "report");
}

bool target_job_repeat(struct target *target, const struct graph_job *job) {
    return job->error[0] && target_job_may(target, JOB_UNREADABLE) &&
           target_job_next(target, JOB_UNREADABLE);
}

int target_job_end(struct target *target, struct error *err) {
    target_job_next(target, JOB_COPIED);
    return GRAPH_DO(target, err, "block-job-cancel", "{s:s}", "device", JOB);
}

int target_rebuild_stop(struct target *target, struct error *err) {
    if (!target_serves(target) || !target_job_may(target, JOB_STOPPED))
        return 0;
    target_job_next(target, JOB_STOPPED);
    return GRAPH_DO(target, err, "block-job-cancel", "{s:s, s:b}", "device", JOB, "force", true);
}

void rebuild_joined(struct target *target) {
    const struct member *member = &target->members[target->rebuilt];
    struct error reason;

    if (target->job_state != JOB_IS_JOINING)
        return;
    if (member_votes(member)) {
        target_job_next(target, JOB_COMPLETED);
        return;
    }
    error_set(&reason, ERROR_CONFLICT, "the new replica was evicted when the daemon restarted");
    target_job_fail(target, &reason);
}
