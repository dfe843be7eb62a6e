/*
 * Another number of replicas, one step after the other. Each step is a generation that follows the
 * one before: so a volume with an interrupted change is served by its present members, and the next
 * owner does the remaining steps.
 */
#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/log.h"

#include <string.h>

struct assignment {
    const struct replica *replicas;
    unsigned count;
};

/* One that does not vote; another one before that of the last failed rebuild. */
static const struct replica *find_missing(struct target *target,
                                          const struct assignment *assignment) {
    const char *failed =
        target_job_now(target) == TARGET_REBUILD_FAILED ? target_job_replica(target) : NULL;
    const struct replica *last = NULL;

    for (unsigned i = 0; i < assignment->count; i++) {
        const struct member *member = member_find(target, assignment->replicas[i].uid);

        if (member && member_votes(member))
            continue;
        last = &assignment->replicas[i];
        if (!failed || strcmp(last->uid, failed) != 0)
            return last;
    }
    return last;
}

/* `votes`: only one that does; others, which failed to join, replace no vote. NULL: none. */
static struct member *find_surplus(struct target *target, const struct assignment *assignment,
                                   bool votes) {
    TARGET_FOREACH(member, target) {
        bool assigned = false;

        for (unsigned i = 0; i < assignment->count; i++)
            assigned |= strcmp(assignment->replicas[i].uid, member->replica.uid) == 0;
        if (!assigned && (!votes || member_votes(member)))
            return member;
    }
    return NULL;
}

/* A single replica is not replaced in one step: the new one would be a majority by itself; nor is
 * one of a volume without a spare (target_rebuild()). */
static int add(struct target *target, const struct assignment *assignment,
               const struct replica *replica, int64_t speed, struct error *err) {
    const struct member *surplus = find_surplus(target, assignment, true);
    bool full = target->current.count >= target->current.wanted;

    if (full && surplus && quorum_spares(&target->current, surplus->replica.uid))
        return rebuild_start(target, replica, surplus->replica.uid, false, speed, err);
    if (full && target->current.wanted == REPLICAS_MOST)
        return error_set(err, ERROR_CONFLICT, "A volume has at most %u replicas.", REPLICAS_MOST);
    return rebuild_start(target, replica, NULL, full, speed, err);
}

/* A leaving voter takes its vote with it, and a lower wanted number needs fewer votes: only of
 * voters that are known to be equal. */
static int check_equal(const struct target *target, const struct change *change,
                       struct error *err) {
    TARGET_FOREACH(member, target) {
        bool stays = !change->without || strcmp(member->replica.uid, change->without) != 0;

        if (member_votes(member) && stays &&
            (member_fails(member) || member->errors > 0 || member->mismatches > 0))
            return error_set(err, ERROR_CONFLICT,
                             "A replica that stays in the volume %s may have missed a write.",
                             target->volume);
    }
    if (!target_is_equal(target) && target->current.count > 1)
        return error_set(err, ERROR_CONFLICT,
                         "The replicas of the volume %s are not resynchronized yet: none is "
                         "removed until then.",
                         target->volume);
    return 0;
}

static int shrink(struct target *target, struct member *surplus, unsigned wanted,
                  struct error *err) {
    struct change change = { .without = surplus ? surplus->replica.uid : NULL, .wanted = wanted };
    struct generation next = { .wanted = wanted };
    int outcome = 0;

    assert(wanted > 0 && wanted <= REPLICAS_MOST);
    if (check_equal(target, &change, err) < 0)
        return -1;
    target_job_next(target, JOB_FORGOTTEN);
    /* After a death while the generation is written, those that stay are a majority of the one
     * before, too: where they are not, fewer replicas are wanted first. One is written at once. */
    if (surplus && generation_has(&target->current, surplus->replica.uid) &&
        target->current.count > 2 && target->current.count <= generation_needed(&target->current)) {
        surplus = NULL;
        next.wanted = target->current.count;
        change = (struct change){ .wanted = next.wanted };
    }
    /* With a lower threshold a write is on enough of the others in any case. */
    if ((surplus && member_votes(surplus) && generation_needed(&next) == target->threshold
             ? target_exclude(target, surplus, change, err)
             : generation_change(target, change, err)) < 0)
        return -1;
    if (target->threshold != generation_needed(&target->current))
        outcome = target_restart(target, err);
    else if (surplus)
        outcome = graph_remove_child(target, surplus->node, err);
    if (outcome < 0)
        return -1;
    log_info(NULL, "volume has fewer replicas", "volume_id", target->volume, "replicas",
             LOG_INT(next.wanted), NULL);
    if (surplus) {
        assert(!generation_has(&target->current, surplus->replica.uid));
        member_close(target, surplus);
        member_remove(target, change.without);
    }
    return outcome;
}

int target_scale(struct target *target, const struct replica *replicas, unsigned count,
                 int64_t speed, struct error *err) {
    const struct assignment assignment = { replicas, count };
    const struct generation *current = &target->current;
    const struct replica *missing;
    struct member *surplus;
    unsigned voters;
    int outcome;

    assert(target->count <= MEMBERS_MOST);
    if (count == 0 || count > REPLICAS_MOST)
        return error_set(err, ERROR_BAD_REQUEST, "A volume has 1 to %u replicas, not %u.",
                         REPLICAS_MOST, count);
    if (!target_serves(target))
        return error_set(err, ERROR_CONFLICT, "The volume %s is not served.", target->volume);
    if (target_job_runs(target))
        return 1;
    missing = find_missing(target, &assignment);
    if (missing)
        return add(target, &assignment, missing, speed, err) < 0 ? -1 : 1;
    surplus = find_surplus(target, &assignment, false);
    voters = current->count - (surplus && generation_has(current, surplus->replica.uid));
    if (voters == 0) /* a change of the quorum that was not completed has left no other */
        return error_set(err, ERROR_CONFLICT, "The last voting replica cannot be removed.");
    if (!surplus && current->wanted == count)
        return 0;
    outcome = shrink(target, surplus, count > voters ? count : voters, err);
    return outcome < 0 ? -1
                       : outcome > 0 || find_surplus(target, &assignment, false) ||
                             current->wanted != count;
}

int target_release(struct target *target, const char *replica, struct error *err) {
    struct member *member = member_find(target, replica);

    if (!member)
        return 0;
    if (!target_serves(target) || target_job_runs(target) || member_votes(member) ||
        generation_has(&target->current, replica))
        return error_set(err, ERROR_CONFLICT, "The replica %s may be one of the volume %s.",
                         replica, target->volume);
    target_job_next(target, JOB_FORGOTTEN);
    if (graph_remove_child(target, member->node, err) < 0)
        return -1;
    member_close(target, member);
    member_remove(target, replica);
    return 0;
}
