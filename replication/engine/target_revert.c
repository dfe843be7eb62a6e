/*
 * A revert copies the snapshot into the quorum: like a client's write, on remote replicas, too, and
 * a replica that misses a part of it is evicted and rebuilt later. The files of the snapshot vote
 * about each read, as replicas do.
 *
 * Each block is written to all voters, whatever they held. So they are equal in the end without a
 * resynchronization before; but if one has missed a write, or might have, the revert is repeated.
 */
#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/log.h"
#include "replication/engine/replica.private.h"
#include "json/json.h"

#include <string.h>

static int add_file(struct target *target, const struct member *member, int64_t bytes,
                    struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *path = arena_join(arena, member->replica.pool, "/", member->replica.uid,
                                  "/" REPLICA_SNAPSHOT, target->snapshot, NULL);
    const struct file_node node = { member->copy_node, path, 0, true };

    assert(target->snapshot[0]);
    if (bytes != target->size_bytes)
        return error_set(err, ERROR_CONFLICT, "The snapshot %s is not as large as the volume %s.",
                         target->snapshot, target->volume);
    return graph_add_file(target, &node, err);
}

static int revert_begin(struct target *target, struct error *err) {
    autoarena struct arena *arena = arena_new();
    json_t *nodes = json_keep(arena, json_array());
    int count;

    assert(target->sealed);
    if (copies_tidy(target, err) < 0)
        return -1;
    TARGET_FOREACH(member, target) {
        int64_t bytes =
            member_is_local(member) ? member_snapshot_size(member, target->snapshot) : 0;

        if (bytes <= 0)
            continue;
        if (add_file(target, member, bytes, err) < 0)
            return -1;
        json_array_append_new(nodes, json_string(member->copy_node));
    }
    count = (int)json_array_size(nodes);
    if (count == 0)
        return error_set(err, ERROR_NOT_FOUND, "No local replica holds the snapshot %s.",
                         target->snapshot);
    if (GRAPH_DO(target, err, "blockdev-add", "{s:s, s:s, s:b, s:i, s:O}", "driver", "quorum",
                 "node-name", COPIES, "read-only", true, "vote-threshold", count / 2 + 1,
                 "children", nodes) < 0)
        return -1;
    return target_job_mirror(target, COPIES, QUORUM, NULL, false, err);
}

int target_revert(struct target *target, const char *name, int64_t speed, struct error *err) {
    struct error reason;

    if (!uuid_is_canonical(name))
        return error_set(err, ERROR_BAD_REQUEST, "Invalid snapshot name %.64s.", name);
    if (!target_serves(target) || !target->sealed)
        return error_set(err, ERROR_CONFLICT, "The volume %s is not sealed.", target->volume);
    if (target_job_runs(target))
        return target_job_refuse(target, err);
    strcpy(target->snapshot, name);
    target->speed = speed;
    target_job_begin(target, TARGET_REVERT);
    target_next(target, TARGET_REVERT_BEGUN);
    if (revert_begin(target, &reason) == 0)
        return 0;
    target_job_fail(target, &reason);
    return error_pass(err, &reason);
}

/* It has to be repeated. */
static bool is_incomplete(const struct target *target, struct error *why) {
    return target->phase == TARGET_IS_INCOMPLETE &&
           error_set(why, ERROR_CONFLICT, "%s", target->reason) < 0;
}

/* Flushes all voters, if none is known to have missed a write. */
static int conclude(struct target *target, const struct graph_job *job, struct error *err) {
    assert(target->sealed);
    if (copies_conclude(target, job, err) < 0 || copies_tidy(target, err) < 0 ||
        is_incomplete(target, err))
        return -1;
    TARGET_FOREACH(member, target) {
        if (member_votes(member) && member_fails(member))
            return error_pass(err, &member->why);
        if (member_votes(member) && member_flush(target, member, err) < 0)
            return -1;
    }
    assert(target->phase == TARGET_IS_SEALED);
    target_next(target, TARGET_REVERT_ENDED);
    target_job_next(target, JOB_COMPLETED);
    return 0;
}

int revert_advance(struct target *target, struct error *err) {
    struct graph_job job = { 0 };
    struct error reason;
    int found = graph_copy(target, &job, &reason, err);

    if (found < 0)
        return -1;
    if (found == 0 || is_incomplete(target, &reason)) {
        target_job_fail(target, &reason);
        return error_pass(err, &reason);
    }
    if (strcmp(job.status, "ready") == 0 && target_job_may(target, JOB_COPIED))
        return target_job_end(target, err);
    if (strcmp(job.status, "concluded") != 0 || conclude(target, &job, &reason) == 0)
        return 0;
    /* Two files may have different bad blocks in one request: blocks are read one by one. */
    if (target_job_repeat(target, &job) && revert_begin(target, &reason) == 0)
        return 0;
    target_job_fail(target, &reason);
    return error_pass(err, &reason);
}
