#include "replication/node/volume_controller.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "replication/node/local_replica.h"
#include "replication/node/rebuild_slots.h"

#include <string.h>

/* A mount point without its file system takes no replica. */
static bool may_be_rebuilt(const struct volume_controller *controller,
                           const struct replica *replica) {
    const struct target_replica *seen = volume_controller_status_of(controller, replica->uid);
    struct pool_status pool;

    if (seen && seen->probe.health == REPLICA_FAILING)
        return false;
    if (replica->access) /* its own node checks the mark */
        return true;
    return local_pool_status(controller->calls, replica->pool,
                             assignment_pool(&controller->assignment->volume, replica->uid),
                             &pool) &&
           pool.state == POOL_ONLINE;
}

/* The required change of replicas. */
struct change {
    struct replica assigned[MEMBERS_MOST]; /* all but the one to be removed */
    unsigned count;
    struct replica ready[MEMBERS_MOST]; /* voters, and those that can be rebuilt */
    unsigned ready_count;
    int missing;  /* index of the next one to be rebuilt; -1: none */
    bool waits;   /* some can be rebuilt, and none is due */
    bool blocked; /* one cannot be rebuilt */
    bool surplus; /* others are members, or another number */
    const struct target_replica *damaged;
};

static bool is_ready(const struct change *change, const char *uid) {
    for (unsigned i = 0; i < change->ready_count; i++) {
        if (strcmp(change->ready[i].uid, uid) == 0)
            return true;
    }
    return false;
}

static void add_assigned(struct volume_controller *controller, const struct replica *replica,
                         struct change *change) {
    const struct target_replica *seen = volume_controller_status_of(controller, replica->uid);

    bool ready = (seen && seen->votes) || may_be_rebuilt(controller, replica);

    assert(change->count < LENGTH(change->assigned));
    change->assigned[change->count++] = *replica;
    rebuild_failures_see(&controller->rebuild_failures, replica->uid, ready);
    if (!ready) {
        change->blocked = true;
        return;
    }
    change->ready[change->ready_count++] = *replica;
}

/* The failures of one replica delay no other. */
static void find_missing(const struct volume_controller *controller, struct change *change) {
    const char *uids[MEMBERS_MOST];
    int indices[MEMBERS_MOST] = { 0 }, next;
    unsigned count = 0;

    for (unsigned i = 0; i < change->count; i++) {
        const struct target_replica *seen =
            volume_controller_status_of(controller, change->assigned[i].uid);

        if ((seen && seen->votes) || !is_ready(change, change->assigned[i].uid))
            continue;
        uids[count] = change->assigned[i].uid;
        indices[count++] = (int)i;
    }
    next = rebuild_failures_next(&controller->rebuild_failures, uids, count, clock_monotonic_us());
    change->missing = next < 0 ? -1 : indices[next];
    change->waits = next < 0 && count > 0;
}

/* The one to be rebuilt precedes other missing ones. */
static void put_first(struct replica *replicas, unsigned count, const struct replica *first) {
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(replicas[i].uid, first->uid) == 0) {
            const struct replica moved = replicas[i];

            memmove(&replicas[1], replicas, i * sizeof(*replicas));
            replicas[0] = moved;
            return;
        }
    }
}

static struct change find_change(struct volume_controller *controller) {
    const struct assignment_volume *assigned = &controller->assignment->volume;
    struct change change = { .missing = -1 };
    unsigned known = 0;

    for (unsigned i = 0; i < assigned->count; i++) {
        const struct replica replica = volume_controller_replica(controller, i);

        if (assigned->removing && strcmp(assigned->removing, replica.uid) == 0)
            continue;
        known += volume_controller_status_of(controller, replica.uid) != NULL;
        add_assigned(controller, &replica, &change);
    }
    change.surplus = controller->status.count > known || controller->status.wanted != change.count;
    find_missing(controller, &change);
    return change;
}

/* With all replicas voting, one that was outvoted by two equal ones can be repaired. */
static const struct target_replica *find_damaged(const struct volume_controller *controller) {
    for (unsigned i = 0; i < controller->status.count && controller->status.needed > 1; i++) {
        if (controller->status.replicas[i].mismatches > 0)
            return &controller->status.replicas[i];
    }
    return NULL;
}

/* A replica that could not be repaired in place is evicted and rebuilt; but while replicas are
 * resynchronized each vote may be needed for a block. */
static int repair(struct volume_controller *controller, const char *uid, struct error *err) {
    assert(!volume_controller_has_job(controller));
    if (controller->status.job == TARGET_REPAIR_FAILED && !controller->status.resynchronizing &&
        strcmp(controller->status.job_replica, uid) == 0)
        return target_evict(controller->target, uid, err);
    return target_repair(controller->target, uid, controller->settings->rebuild_speed, err);
}

/* After a forced recovery: the present members are no majority of the assigned ones. */
static bool lacks_majority(const struct volume_controller *controller,
                           const struct change *change) {
    return change->missing >= 0 && controller->status.wanted < change->count / 2 + 1;
}

/* A member is rebuilt whatever the others are, and so is a replica that a volume without a majority
 * can have; any other addition or removal waits for all. */
static int do_change(struct volume_controller *controller, struct change *change,
                     struct error *err) {
    int64_t speed = controller->settings->rebuild_speed;

    assert(change->missing < (int)change->count && change->ready_count <= change->count);
    if (change->damaged)
        return repair(controller, change->damaged->replica.uid, err);
    if (change->missing >= 0 && controller->status.voters < controller->status.wanted)
        return target_rebuild(controller->target, &change->assigned[change->missing], NULL, speed,
                              err);
    if (change->missing >= 0) {
        put_first(change->ready, change->ready_count, &change->assigned[change->missing]);
        put_first(change->assigned, change->count, &change->assigned[change->missing]);
        change->missing = 0;
    }
    if (change->blocked && lacks_majority(controller, change))
        return target_scale(controller->target, change->ready, change->ready_count, speed, err);
    if (change->blocked || (change->missing < 0 && !change->surplus))
        return 0;
    return target_scale(controller->target, change->assigned, change->count, speed, err);
}

/* The replica whose failure is recorded; "": a failure of no single replica. */
static const char *subject_of(const struct change *change) {
    if (change->damaged)
        return change->damaged->replica.uid;
    return change->missing >= 0 ? change->assigned[change->missing].uid : "";
}

static void begin_change(struct volume_controller *controller, struct change *change) {
    struct error err;

    if (do_change(controller, change, &err) < 0) {
        log_warning(NULL, "replica change failed, retrying", "volume_id", controller->uid,
                    "replica_id", subject_of(change), "reason", err.message, NULL);
        volume_controller_end_rebuild(controller, subject_of(change), &err);
    } else if (controller->work != REPLICA_WORK_REBUILD)
        rebuild_failures_forget(&controller->rebuild_failures, "");
    volume_controller_read_status(controller);
    if (controller->work == REPLICA_WORK_REBUILD && !volume_controller_has_job(controller))
        volume_controller_end_rebuild(controller, subject_of(change), NULL);
    if (controller->work == REPLICA_WORK_REBUILD)
        log_info(NULL, change->damaged ? "replica repair started" : "replica rebuild started",
                 "volume_id", controller->uid, "replica_id", controller->status.job_replica, NULL);
}

static bool is_due(const struct volume_controller *controller, const char *subject) {
    const struct rebuild_failure *failure =
        rebuild_failures_find(&controller->rebuild_failures, subject);

    return !failure || !backoff_waits(&failure->backoff, clock_monotonic_us());
}

void volume_controller_rebuild(struct volume_controller *controller) {
    struct change change;
    bool copies;

    assert(controller->target && controller->opened);
    volume_controller_end_jobs(controller);
    if (volume_controller_has_job(controller))
        return;
    rebuild_failures_note_decisions(&controller->rebuild_failures, controller->status.decisions);
    change = find_change(controller);
    if (change.waits)
        return;
    if (change.missing < 0 && !change.surplus && !change.blocked)
        change.damaged = find_damaged(controller);
    if (!is_due(controller, subject_of(&change)))
        return;
    copies = change.missing >= 0 || change.damaged;
    if ((!copies && !change.surplus) ||
        (copies && !rebuild_slots_take(controller->settings->rebuilds)))
        return;
    if (copies)
        volume_controller_take_work(controller, REPLICA_WORK_REBUILD_BEGINS);
    begin_change(controller, &change);
}
