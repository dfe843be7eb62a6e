#include "replication/node/volume_controller.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/no_space.h"
#include "replication/node/local_replica.h"
#include "replication/node/rebuild_slots.h"

#include <string.h>

/* A mount point without its file system takes no replica. `bytes`: of free space. */
static bool may_be_rebuilt(const struct volume_controller *controller,
                           const struct replica *replica, int64_t bytes) {
    const struct target_replica *seen = volume_controller_status_of(controller, replica->uid);
    struct pool_status pool;

    if (seen && seen->probe.health == REPLICA_FAILING)
        return false;
    if (replica->access) /* its own node checks the mark */
        return true;
    return local_pool_status(controller->calls, replica->pool,
                             assignment_pool(&controller->assignment->volume, replica->uid),
                             &pool) &&
           pool.state == POOL_ONLINE && pool.free_bytes >= bytes;
}

/* A snapshot needs it in as many pools as the volume needs replicas. */
void volume_controller_note_space(struct volume_controller *controller) {
    const struct assignment_volume *volume = &controller->assignment->volume;
    struct rebuild_failures *failures = &controller->rebuild_failures;
    int64_t all[MEMBERS_MOST];
    unsigned count = 0, needed = controller->status.needed;

    if (!rebuild_failures_lack_space(failures))
        return;
    for (unsigned i = 0; i < volume->count; i++) {
        struct pool_status pool;
        unsigned k = count;

        if (volume_controller_is_remote(controller, i) ||
            !local_pool_status(controller->calls, volume->replicas[i].pool,
                               assignment_pool(volume, volume->replicas[i].uid), &pool) ||
            pool.state != POOL_ONLINE)
            continue;
        rebuild_failures_note_space(failures, volume->replicas[i].uid, pool.free_bytes);
        for (; k > 0 && all[k - 1] < pool.free_bytes; k--)
            all[k] = all[k - 1];
        all[k] = pool.free_bytes;
        count++;
    }
    if (needed > 0 && count >= needed)
        rebuild_failures_note_space(failures, REBUILD_FAILURE_SNAPSHOT, all[needed - 1]);
}

/* ---- replicas that fail and are needed ---- */

static bool may_resume(const struct volume_controller *controller,
                       const struct target_replica *replica) {
    const struct rebuild_failure *failure =
        rebuild_failures_find(&controller->rebuild_failures, replica->replica.uid);
    const bool is_full = error_is_no_space(&replica->why);

    return failure && !backoff_waits(&failure->backoff, clock_monotonic_us()) &&
           (is_full || !replica->replica.access) && replica->probe.health == REPLICA_GOOD &&
           may_be_rebuilt(controller, &replica->replica, is_full ? REBUILD_SPACE_BYTES : 0);
}

/* Those that fail resume together, when with those that may the others are enough; and where blocks
 * without a majority keep a resynchronization from its end, at which they would be rebuilt. */
static void resume_failing(struct volume_controller *controller) {
    struct rebuild_failures *failures = &controller->rebuild_failures;
    const struct target_status *status = &controller->status;
    const unsigned complete = status->voters - status->failed;
    const bool needs_failing = complete < status->needed ||
                               (status->resynchronizing && volume_controller_undecided(controller));
    unsigned able = 0;
    bool resumes;
    struct error err;

    for (unsigned i = 0; i < status->count && needs_failing; i++)
        able += status->replicas[i].why.kind != ERROR_NONE &&
                may_resume(controller, &status->replicas[i]);
    resumes = able > 0 && complete + able >= status->needed &&
              target_resume(controller->target, &err) == 0;
    for (unsigned i = 0; i < status->count; i++) {
        const struct target_replica *replica = &status->replicas[i];
        const char *uid = replica->replica.uid;

        if (replica->why.kind == ERROR_NONE && replica->votes && replica->mismatches == 0 &&
            !status->resynchronizing)
            rebuild_failures_forget(failures, uid);
        else if (replica->why.kind != ERROR_NONE && needs_failing &&
                 (resumes || !rebuild_failures_find(failures, uid)))
            rebuild_failures_add(failures, uid, &replica->why, clock_monotonic_us());
    }
    if (!resumes)
        return;
    volume_controller_read_status(controller);
    log_info(NULL, "replicas that missed writes resume", "volume_id", controller->uid, NULL);
}

/* Behind missed writes, blocks without a majority may be decided by write logs, in a start. */
static bool needs_logs(const struct volume_controller *controller) {
    const struct target_status *status = &controller->status;
    bool missed = false;

    for (unsigned i = 0; i < status->count; i++)
        missed |= status->replicas[i].votes && status->replicas[i].errors > 0;
    return missed && status->failed == 0 && status->resynchronizing &&
           volume_controller_undecided(controller) > 0;
}

static void restart(struct volume_controller *controller) {
    struct error err;

    log_info(NULL, "volume restarted: write logs decide about blocks without a majority",
             "volume_id", controller->uid, NULL);
    if (target_restart(controller->target, &err) < 0)
        log_warning(NULL, "volume not restarted, retrying", "volume_id", controller->uid, "reason",
                    err.message, NULL);
    volume_controller_read_status(controller);
}

/* ---- changes ---- */

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
    const char *leaving; /* uid of the one to be removed, which does not vote; NULL: none */
};

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
    const char *missing[MEMBERS_MOST]; /* those that can be rebuilt */
    int indices[MEMBERS_MOST] = { 0 }, next;
    unsigned known = 0, count = 0;

    for (unsigned i = 0; i < assigned->count; i++) {
        const struct replica replica = volume_controller_replica(controller, i);
        const struct target_replica *seen = volume_controller_status_of(controller, replica.uid);
        bool votes = seen && seen->votes, ready;

        if (assigned->removing && strcmp(assigned->removing, replica.uid) == 0) {
            change.leaving = seen && !votes ? seen->replica.uid : NULL;
            continue;
        }
        known += seen != NULL;
        ready = votes || may_be_rebuilt(controller, &replica, 0);
        assert(change.count < LENGTH(change.assigned));
        rebuild_failures_see(&controller->rebuild_failures, replica.uid, ready);
        if (ready && !votes) {
            missing[count] = replica.uid;
            indices[count++] = (int)change.count;
        }
        if (ready)
            change.ready[change.ready_count++] = replica;
        change.blocked |= !ready;
        change.assigned[change.count++] = replica;
    }
    change.surplus = controller->status.count > known || controller->status.wanted != change.count;
    /* The failures of one replica delay no other. */
    next =
        rebuild_failures_next(&controller->rebuild_failures, missing, count, clock_monotonic_us());
    change.missing = next < 0 ? -1 : indices[next];
    change.waits = next < 0 && count > 0;
    return change;
}

/* A member is rebuilt whatever the others are, and so is a replica that a volume without a majority
 * can have; one without a vote leaves whatever they are; any other addition or removal waits for
 * all.  A replica that could not be repaired in place is evicted and rebuilt; but while replicas
 * are resynchronized each vote may be needed for a block. */
static int do_change(struct volume_controller *controller, struct change *change,
                     struct error *err) {
    const struct target_status *status = &controller->status;
    int64_t speed = controller->settings->rebuild_speed;
    /* After a forced recovery: the present members are no majority of the assigned ones. */
    bool lacks_majority = change->missing >= 0 && status->wanted < change->count / 2 + 1;

    assert(change->missing < (int)change->count && change->ready_count <= change->count);
    if (change->damaged) {
        const char *uid = change->damaged->replica.uid;

        assert(!volume_controller_has_job(controller));
        if (status->job == TARGET_REPAIR_FAILED && !status->resynchronizing &&
            strcmp(status->job_replica, uid) == 0)
            return target_evict(controller->target, uid, err);
        return target_repair(controller->target, uid, speed, err);
    }
    if (change->missing >= 0 && status->voters < status->wanted)
        return target_rebuild(controller->target, &change->assigned[change->missing], NULL, speed,
                              err);
    if (change->missing >= 0) {
        put_first(change->ready, change->ready_count, &change->assigned[change->missing]);
        put_first(change->assigned, change->count, &change->assigned[change->missing]);
        change->missing = 0;
    }
    if (change->blocked && lacks_majority)
        return target_scale(controller->target, change->ready, change->ready_count, speed, err);
    if (change->blocked && change->leaving)
        return target_release(controller->target, change->leaving, err);
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

/* One that was outvoted by as many as are needed: it is repaired before others are added or
 * replaced, since without a spare vote each block that it has damaged is refused. */
static const struct target_replica *find_damaged(const struct volume_controller *controller,
                                                 const struct change *change) {
    const struct target_status *status = &controller->status;
    bool complete = change->missing < 0 && !change->surplus && !change->blocked && !change->waits;

    if (status->needed <= 1 || (!complete && status->voters <= status->needed))
        return NULL;
    for (unsigned i = 0; i < status->count; i++) {
        const struct target_replica *replica = &status->replicas[i];
        const struct rebuild_failure *failure =
            rebuild_failures_find(&controller->rebuild_failures, replica->replica.uid);

        if (replica->votes && replica->mismatches > 0 && replica->why.kind == ERROR_NONE &&
            (!failure || !backoff_waits(&failure->backoff, clock_monotonic_us())))
            return replica;
    }
    return NULL;
}

void volume_controller_rebuild(struct volume_controller *controller) {
    const struct rebuild_failure *failure;
    struct change change;
    bool copies;

    assert(controller->target && controller->opened);
    volume_controller_end_jobs(controller);
    if (volume_controller_has_job(controller))
        return;
    rebuild_failures_note_decisions(&controller->rebuild_failures, controller->status.decisions);
    resume_failing(controller);
    if (needs_logs(controller)) {
        restart(controller);
        return;
    }
    change = find_change(controller);
    change.damaged = find_damaged(controller, &change);
    if (change.waits && !change.damaged)
        return;
    failure = rebuild_failures_find(&controller->rebuild_failures, subject_of(&change));
    if (failure && backoff_waits(&failure->backoff, clock_monotonic_us()))
        return;
    copies = change.missing >= 0 || change.damaged;
    if ((!copies && !change.surplus) ||
        (copies && !rebuild_slots_take(controller->settings->rebuilds)))
        return;
    if (copies)
        volume_controller_take_work(controller, REPLICA_WORK_REBUILD_BEGINS);
    begin_change(controller, &change);
}
