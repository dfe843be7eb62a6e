/*
 * A damaged replica is overwritten with the majority's content, while it votes and the volume is in
 * use: by a backup of the clients' view into its own file. A client's write to a block that is not
 * copied yet waits for the copy: so no older content ever overwrites it.
 *
 * A quorum votes about whole requests, and a backup reads 64 KiB at once. Where no two replicas are
 * equal there though each block has its majority, as after a large write that was torn, all is
 * mirrored block by block: a client's write and the copy of its block wait for each other there,
 * too. Into a node that cannot unmap: otherwise a mirror first fills its target with zeros, and a
 * voter with wrong content in every block could form a majority with another one's damage.
 */
#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/log.h"

#include <string.h>

#define REPAIR "repair"

/* The file is open already: locking would conflict with the daemon's own lock. */
static int add_file(struct target *target, const struct member *member, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *discard = target->job_state == JOB_IS_COPYING_BLOCKS ? "ignore" : "unmap";

    assert(target->size_bytes > 0);
    if (!member_is_local(member) && !member->data.host[0])
        return error_set(
            err, ERROR_CONFLICT,
            "The former owner opened the remote replica %s and has ended: the replica is rebuilt.",
            member->replica.uid);
    if (!member_is_local(member))
        return graph_add_connection(target, member, REPAIR, target->size_bytes, discard, err);
    return GRAPH_DO(target, err, "blockdev-add", "{s:s, s:s, s:I, s:s, s:{s:s, s:s, s:s, s:s}}",
                    "driver", "raw", "node-name", REPAIR, "size", (json_int_t)target->size_bytes,
                    "discard", discard, "file", "driver", "file", "filename",
                    replica_data_path(arena, &member->replica), "discard", "unmap", "locking",
                    "off");
}

static int fail(struct target *target, const struct error *why) {
    struct error ignored;

    target_job_fail(target, why);
    return repair_tidy(target, &ignored);
}

int repair_tidy(struct target *target, struct error *err) {
    return graph_remove_node(target, REPAIR, err);
}

static int repair_begin(struct target *target, struct error *err) {
    assert(target->rebuilt < target->count);
    if (repair_tidy(target, err) < 0 ||
        add_file(target, &target->members[target->rebuilt], err) < 0)
        return -1;
    if (target->job_state == JOB_IS_COPYING_BLOCKS)
        return target_job_mirror(target, TOP, REPAIR, NULL, true, err);
    return GRAPH_DO(target, err, "blockdev-backup", "{s:s, s:s, s:s, s:s, s:I, s:b, s:s, s:s}",
                    "job-id", JOB, "device", TOP, "target", REPAIR, "sync", "full", "speed",
                    (json_int_t)target->speed, "auto-dismiss", false, "on-source-error", "report",
                    "on-target-error", "report");
}

int target_repair(struct target *target, const char *replica, int64_t speed, struct error *err) {
    const struct member *member = member_find(target, replica);
    struct error reason;

    if (!target_serves(target) || !member || !member_votes(member))
        return error_set(err, ERROR_CONFLICT, "The replica %.64s does not vote: it is rebuilt.",
                         replica);
    if (target_job_runs(target))
        return target_job_refuse(target, err);
    if (target->threshold < 2)
        return error_set(err, ERROR_CONFLICT, "The volume %s has no other replica.",
                         target->volume);
    target->rebuilt = (unsigned)(member - target->members);
    target_job_begin(target, TARGET_REPAIR);
    target->speed = speed;
    if (repair_begin(target, &reason) == 0)
        return 0;
    fail(target, &reason);
    return error_pass(err, &reason);
}

static int conclude(struct target *target, const struct graph_job *job, struct error *err) {
    struct member *member = &target->members[target->rebuilt];

    assert(target->rebuilt < target->count);
    if (GRAPH_DO(target, err, "job-dismiss", "{s:s}", "id", JOB) < 0)
        return -1;
    if (job->error[0])
        return error_set(err, ERROR_BACKEND, "%s", job->error);
    if (repair_tidy(target, err) < 0 || member_flush(target, member, err) < 0)
        return -1;
    target_job_next(target, JOB_COMPLETED);
    member->mismatches = 0;
    target_note_compared(target);
    return 0;
}

int repair_advance(struct target *target, struct error *err) {
    struct graph_job job = { 0 };
    struct error reason;
    int found = graph_copy(target, &job, &reason, err);

    if (found < 0)
        return -1;
    if (found > 0 && strcmp(job.status, "ready") == 0 && target_job_may(target, JOB_COPIED))
        return target_job_end(target, err);
    if (found > 0 && strcmp(job.status, "concluded") != 0)
        return 0;
    if (found > 0 && conclude(target, &job, &reason) == 0)
        return 0;
    /* Perhaps a read has failed, but not yet of a single block: the daemon's report may come later.
     */
    if (found > 0 && target_job_repeat(target, &job) && repair_begin(target, &reason) == 0)
        return 0;
    fail(target, &reason);
    return error_pass(err, &reason);
}
