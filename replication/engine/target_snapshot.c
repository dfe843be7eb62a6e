/*
 * A snapshot is a mirror of the clients' view into a quorum of new files, one beside each voting
 * replica. When it is complete it is requested to end, which the daemon does between two requests,
 * when none is in flight: so all files have the same moment, and each write that was answered
 * before. A file that missed a write is discarded; of the others there must be as many as a volume
 * needs.
 *
 * First as many are complete, on their disks, and then each is a snapshot. After a death in between
 * any of them may be away, but not all: the snapshot is what the others have, and none of another
 * moment is taken. A replica that was away meanwhile is rebuilt before it votes again, and has only
 * its snapshots then.
 */
#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/log.h"
#include "json/json.h"

#include <string.h>

static int begin_copy(struct target *target, const struct member *member, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *path = replica_snapshot_path(arena, &member->replica, target->snapshot);
    const struct file_node node = { member->copy_node, path, target->size_bytes, false };

    if (!member_is_local(member))
        return error_set(err, ERROR_CONFLICT, "the replica %s is remote", member->replica.uid);
    if (member_snapshot(target, member, REPLICA_SNAPSHOT_BEGIN, err) < 0)
        return -1;
    return graph_add_file(target, &node, err);
}

static int snapshot_begin(struct target *target, struct error *err) {
    autoarena struct arena *arena = arena_new();
    json_t *nodes = json_keep(arena, json_array());
    struct error reason = { 0 };
    unsigned count = 0;

    assert(target->snapshot[0] && target->threshold > 0);
    if (copies_tidy(target, err) < 0)
        return -1;
    TARGET_FOREACH(member, target) {
        member_name_next_copy(member); /* reports of the last one are not taken for this one's */
        member->copied = member_votes(member) && begin_copy(target, member, &reason) == 0;
        if (member->copied)
            json_array_append_new(nodes, json_string(member->copy_node));
        count += member->copied;
    }
    if (count < target->threshold)
        return error_set(err, ERROR_UNAVAILABLE, "Too few pools accept a snapshot: %.300s",
                         reason.message);
    if (GRAPH_DO(target, err, "blockdev-add", "{s:s, s:s, s:i, s:s, s:O}", "driver", "quorum",
                 "node-name", COPIES, "vote-threshold", (int)target->threshold, "discard", "unmap",
                 "children", nodes) < 0)
        return -1;
    return target_job_mirror(target, TOP, COPIES, NULL, true, err);
}

int copies_tidy(struct target *target, struct error *err) {
    struct error ignored;

    if (graph_remove_node(target, COPIES, err) < 0)
        return -1;
    TARGET_FOREACH(member, target) {
        member->copied = false;
        if (graph_remove_copies(target, member, err) < 0)
            return -1;
        if (member_is_local(member))
            (void)member_snapshot(target, member, REPLICA_SNAPSHOT_TIDY, &ignored);
    }
    return 0;
}

static int fail(struct target *target, const struct error *why) {
    struct error ignored;

    target_job_fail(target, why);
    return copies_tidy(target, &ignored);
}

/* Complete ones of an attempt that died are the snapshot. 1: there are any. */
static int end_complete(struct target *target, struct error *err) {
    struct error reason;
    int there = 0;

    TARGET_FOREACH(member, target) {
        if (!member_votes(member) || !member_is_local(member))
            continue;
        if (member_snapshot(target, member, REPLICA_SNAPSHOT_END, &reason) == 0)
            there = 1;
        else if (reason.kind != ERROR_NOT_FOUND)
            return error_set(err, ERROR_UNAVAILABLE, "%s", reason.message);
    }
    return there;
}

/* It may be in an unresponsive pool: no later one must get its name. */
static int is_there(const struct target *target, const char *name, struct error *err) {
    int there = 0;

    for (unsigned i = 0; i < target->count && there <= 0; i++) {
        const struct member *member = &target->members[i];
        int64_t bytes = member_is_local(member) ? member_snapshot_size(member, name) : 0;

        if (bytes < 0)
            there = error_set(err, ERROR_UNAVAILABLE, "The pool in %s does not answer.",
                              member->replica.pool);
        if (bytes > 0)
            there = 1;
    }
    return there;
}

int target_snapshot(struct target *target, const char *name, int64_t speed, struct error *err) {
    struct error reason;
    int there;

    if (!uuid_is_canonical(name))
        return error_set(err, ERROR_BAD_REQUEST, "Invalid snapshot name %.64s.", name);
    if (!target_serves(target))
        return error_set(err, ERROR_CONFLICT, "The volume %s is not served.", target->volume);
    if (target_job_is(target, TARGET_SNAPSHOT) && strcmp(target->snapshot, name) == 0)
        return 1;
    if (target_job_runs(target))
        return target_job_refuse(target, err);
    there = is_there(target, name, err);
    strcpy(target->snapshot, name);
    if (there == 0)
        there = end_complete(target, err);
    if (there != 0)
        return there < 0 ? -1 : 0;
    target->speed = speed;
    target_job_begin(target, TARGET_SNAPSHOT);
    if (snapshot_begin(target, &reason) == 0)
        return 1;
    fail(target, &reason);
    return error_pass(err, &reason);
}

int copies_conclude(struct target *target, const struct graph_job *job, struct error *err) {
    if (watch_events(target, err) < 0 ||
        GRAPH_DO(target, err, "job-dismiss", "{s:s}", "id", JOB) < 0)
        return -1;
    if (job->error[0] || target_job_may(target, JOB_COPIED))
        return error_set(err, ERROR_BACKEND, "%s",
                         job->error[0] ? job->error : "the copy was ended before its time");
    return 0;
}

static void delete_copies(struct target *target) {
    struct error ignored;

    TARGET_FOREACH(member, target) {
        if (member_is_local(member))
            (void)member_snapshot(target, member, REPLICA_SNAPSHOT_DELETE, &ignored);
    }
}

static int conclude(struct target *target, const struct graph_job *job, struct error *err) {
    unsigned complete = 0, ended = 0;

    if (copies_conclude(target, job, err) < 0 || graph_remove_node(target, COPIES, err) < 0)
        return -1;
    assert(target->snapshot[0] && target->threshold > 0);
    TARGET_FOREACH(member, target) {
        member->copied =
            member->copied && member_snapshot(target, member, REPLICA_SNAPSHOT_COMPLETE, err) == 0;
        complete += member->copied;
    }
    if (complete < target->threshold) {
        delete_copies(target);
        return error_set(err, ERROR_BACKEND, "only %u of %u copies are complete", complete,
                         target->threshold);
    }
    TARGET_FOREACH(member, target) {
        ended += member->copied && member_snapshot(target, member, REPLICA_SNAPSHOT_END, err) == 0;
    }
    if (ended == 0 || copies_tidy(target, err) < 0)
        return -1;
    target_job_next(target, JOB_COMPLETED);
    return 0;
}

int copies_advance(struct target *target, struct error *err) {
    struct graph_job job = { 0 };
    struct error reason;
    int found = graph_copy(target, &job, &reason, err);

    if (found < 0)
        return -1;
    if (found == 0)
        return fail(target, &reason);
    if (strcmp(job.status, "ready") == 0 && target_job_may(target, JOB_COPIED))
        return target_job_end(target, err);
    if (strcmp(job.status, "concluded") != 0 || clock_boottime_us() < target->adopted_us ||
        conclude(target, &job, &reason) == 0)
        return 0;
    /* Two replicas may have different bad blocks in one request: blocks are read one by one. Not
     * where the copy was completed and its files were not: one of those may remain. */
    if (target->failures > target->failures_before && target_job_repeat(target, &job) &&
        snapshot_begin(target, &reason) == 0)
        return 0;
    fail(target, &reason);
    return error_pass(err, &reason);
}
