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

static bool is_assigned(const struct assignment *assignment, const char *uid) {
    for (unsigned i = 0; i < assignment->count; i++) {
        if (strcmp(assignment->replicas[i].uid, uid) == 0)
            return true;
    }
    return false;
}

static int check(const struct target *target, const struct assignment *assignment,
                 struct error *err) {
    assert(target->count <= MEMBERS_MOST);
    if (assignment->count == 0 || assignment->count > REPLICAS_MOST)
        return error_set(err, ERROR_BAD_REQUEST, "A volume has 1 to %u replicas, not %u.",
                         REPLICAS_MOST, assignment->count);
    if (!target_serves(target))
        return error_set(err, ERROR_CONFLICT, "The volume %s is not served.", target->volume);
    return 0;
}

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

static struct member *find_surplus(struct target *target, const struct assignment *assignment) {
    for (unsigned i = 0; i < target->count; i++) {
        if (!is_assigned(assignment, target->members[i].replica.uid))
            return &target->members[i];
    }
    return NULL;
}

/* NULL: none. Others, which failed to join, replace no vote. */
static const struct member *find_surplus_voter(const struct target *target,
                                               const struct assignment *assignment) {
    TARGET_FOREACH(member, target) {
        if (member_votes(member) && !is_assigned(assignment, member->replica.uid))
            return member;
    }
    return NULL;
}

/* A single replica is not replaced in one step: the new one would be a majority by itself; nor is
 * one of a volume without a spare (target_rebuild()). */
static int add(struct target *target, const struct assignment *assignment,
               const struct replica *replica, int64_t speed, struct error *err) {
    const struct member *surplus = find_surplus_voter(target, assignment);
    bool full = target->current.count >= target->current.wanted;

    if (full && surplus && quorum_spares(&target->current, surplus->replica.uid))
        return rebuild_start(target, replica, surplus->replica.uid, false, speed, err);
    if (full && target->current.wanted == REPLICAS_MOST)
        return error_set(err, ERROR_CONFLICT, "A volume has at most %u replicas.", REPLICAS_MOST);
    return rebuild_start(target, replica, NULL, full, speed, err);
}

/* May a voter, but for `without`, have missed a write? */
static bool may_lack_writes(const struct target *target, const char *without) {
    TARGET_FOREACH(member, target) {
        if (member_votes(member) && !(without && strcmp(member->replica.uid, without) == 0) &&
            (member_fails(member) || member->errors > 0 || member->mismatches > 0))
            return true;
    }
    return false;
}

/* A leaving voter takes its vote with it, and a lower wanted number needs fewer votes: only of
 * voters that are known to be equal. */
static int check_equal(const struct target *target, const struct change *change,
                       struct error *err) {
    if (may_lack_writes(target, change->without))
        return error_set(err, ERROR_CONFLICT,
                         "A replica that stays in the volume %s may have missed a write.",
                         target->volume);
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
    int outcome = 0;

    assert(wanted > 0 && wanted <= REPLICAS_MOST);
    if (check_equal(target, &change, err) < 0)
        return -1;
    target_job_next(target, JOB_FORGOTTEN);
    if (generation_change(target, change, err) < 0)
        return -1;
    if (target->threshold != generation_needed(&target->current))
        outcome = target_restart(target, err);
    else if (surplus)
        outcome = graph_remove_child(target, surplus->node, err);
    if (outcome < 0)
        return -1;
    log_info(NULL, "volume has fewer replicas", "volume_id", target->volume, "replicas",
             LOG_INT(wanted), NULL);
    if (surplus) {
        assert(!generation_has(&target->current, surplus->replica.uid));
        member_close(target, surplus);
        member_remove(target, change.without);
    }
    return outcome;
}

static unsigned larger(unsigned a, unsigned b) {
    return a > b ? a : b;
}

int target_scale(struct target *target, const struct replica *replicas, unsigned count,
                 int64_t speed, struct error *err) {
    const struct assignment assignment = { replicas, count };
    const struct generation *current = &target->current;
    const struct replica *missing;
    struct member *surplus;
    unsigned voters;
    int outcome;

    if (check(target, &assignment, err) < 0)
        return -1;
    if (target_job_runs(target))
        return 1;
    missing = find_missing(target, &assignment);
    if (missing)
        return add(target, &assignment, missing, speed, err) < 0 ? -1 : 1;
    surplus = find_surplus(target, &assignment);
    voters = current->count - (surplus && generation_has(current, surplus->replica.uid));
    if (voters == 0) /* a change of the quorum that was not completed has left no other */
        return error_set(err, ERROR_CONFLICT, "The last voting replica cannot be removed.");
    if (!surplus && current->wanted == count)
        return 0;
    outcome = shrink(target, surplus, larger(count, voters), err);
    return outcome < 0
               ? -1
               : outcome > 0 || find_surplus(target, &assignment) || current->wanted != count;
}
