/*
 * After a writer that did not end in good order: every block is read through a quorum which writes
 * what has won to those that say otherwise, by a copy to nowhere, before any client is let in.
 *
 * A quorum does not say that it failed to repair.  So as long as differences are found all is read
 * once more, and who still differs then does not vote.
 *
 * A quorum votes about whole requests.  If two replicas are damaged in different places of one, no
 * two are equal though each block has its majority; so when large requests find none, all is read
 * again block by block.
 */
#include "engine/target.private.h"

#include "common/log.h"

#include <string.h>

#define SINK "sink"

#define LARGE_GRAIN  65536
#define LARGE_BUFFER (16 * 1024 * 1024)
#define BLOCK        4096

static int start_reading(struct target *target, struct error *err) {
    return GRAPH_DO(target, err, "blockdev-mirror", "{s:s, s:s, s:s, s:s, s:i, s:i, s:b, s:s}",
                    "job-id", JOB, "device", QUORUM, "target", SINK, "sync", "full", "granularity",
                    target->fine ? BLOCK : LARGE_GRAIN, "buf-size",
                    target->fine ? BLOCK : LARGE_BUFFER, "auto-dismiss", false, "on-source-error",
                    "report");
}

int level_start(struct target *target, struct error *err) {
    int64_t size = target->plan.current.size_bytes;

    if (target_launch(target, err) < 0)
        return -1;
    target->state = TARGET_LEVELLING;
    target->fine = target->again = false;
    target->pause_until_us = 0;
    for (unsigned i = 0; i < target->count; i++) {
        if (target->members[i].votes &&
            graph_add_replica(target, &target->members[i], size, err) < 0) {
            target->members[i].shunned = true;
            target->members[i].why = *err;
            return -1;
        }
    }
    if (graph_add_quorum(target, target->plan.level_votes, true, err) < 0 ||
        GRAPH_DO(target, err, "blockdev-add", "{s:s, s:s, s:I, s:b}", "driver", "null-co",
                 "node-name", SINK, "size", (json_int_t)size, "read-zeroes", true) < 0)
        return -1;
    return start_reading(target, err);
}

static int end_job(struct target *target, struct error *err) {
    return GRAPH_DO(target, err, "job-dismiss", "{s:s}", "id", JOB);
}

static int read_again(struct target *target, const struct graph_job *job, struct error *err) {
    if (target->fine || target->plan.level_votes == 1) {
        target->finding = TARGET_LACKS_VOTES;
        return error_set(err, ERROR_UNAVAILABLE,
                         "The replicas of the volume %s differ, and it cannot be told which is "
                         "right: %s",
                         target->volume, job->error);
    }
    target->fine = true;
    return end_job(target, err) < 0 || start_reading(target, err) < 0 ? -1 : 1;
}

static bool differed(const struct target *target) {
    for (unsigned i = 0; i < target->count; i++) {
        if (target->members[i].votes && target->members[i].mismatches > 0)
            return true;
    }
    return false;
}

/* All was read: 0 they are equal, or who differs for good votes no more; 1 once more. */
static int judge_reading(struct target *target, struct error *err) {
    if (!differed(target))
        return 0;
    if (target->pause_until_us == 0) {
        target->pause_until_us = clock_boottime_us() + EVENTS_LATE_US;
        return 1;
    }
    if (clock_boottime_us() < target->pause_until_us)
        return 1;
    for (unsigned i = 0; i < target->count; i++) {
        struct member *member = &target->members[i];

        if (target->again && member->mismatches > 0)
            member->votes = false;
        member->mismatches = 0;
    }
    if (target->again)
        return 0;
    target->again = true;
    target->pause_until_us = 0;
    return end_job(target, err) < 0 || start_reading(target, err) < 0 ? -1 : 1;
}

int level_look(struct target *target, struct error *err) {
    struct graph_job job = { 0 };
    int found = graph_job(target, &job, err), outcome;

    if (found < 0 || watch_events(target, err) < 0)
        return -1;
    target->done_bytes = job.done;
    target->total_bytes = job.total;
    if (found == 0)
        return error_set(err, ERROR_BACKEND, "levelling ended without a result");
    if (strcmp(job.status, "ready") == 0)
        return GRAPH_DO(target, err, "block-job-cancel", "{s:s}", "device", JOB) < 0 ? -1 : 1;
    if (strcmp(job.status, "concluded") != 0)
        return 1;
    if (job.error[0])
        return read_again(target, &job, err);
    outcome = judge_reading(target, err);
    if (outcome == 0)
        log_info(NULL, "replicas made level", "volume_id", target->volume, NULL);
    return outcome;
}
