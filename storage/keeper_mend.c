#include "storage/keeper.private.h"

#include "common/clock.h"
#include "common/log.h"
#include "storage/near.h"
#include "storage/rebuilds.h"

#include <string.h>

#define REBUILD_FIRST_S 5
#define REBUILD_MOST    6 /* doublings */

static void end_rebuild(struct keeper *keeper, bool failed) {
    unsigned doubled =
        keeper->rebuild_failures < REBUILD_MOST ? keeper->rebuild_failures : REBUILD_MOST;

    if (keeper->rebuilding)
        rebuilds_end(keeper->settings->rebuilds);
    keeper->rebuilding = false;
    keeper->rebuild_failures = failed ? keeper->rebuild_failures + 1 : 0;
    keeper->rebuild_us =
        failed ? clock_monotonic_us() + (REBUILD_FIRST_S << doubled) * SECOND_US : 0;
}

static const struct target_replica *status_of(const struct keeper *keeper, const char *uid) {
    for (unsigned i = 0; i < keeper->status.count; i++) {
        if (strcmp(keeper->status.replicas[i].replica.uid, uid) == 0)
            return &keeper->status.replicas[i];
    }
    return NULL;
}

/* A directory below a file system that is not mounted is no place for a replica. */
static bool may_be_rebuilt(const struct keeper *keeper, const struct replica *replica) {
    const struct target_replica *seen = status_of(keeper, replica->uid);
    struct pool_look pool;

    if (seen && seen->look.health == REPLICA_FAILING)
        return false;
    if (replica->access) /* its node looks at the mark itself */
        return true;
    return near_pool_look(keeper->calls, replica->pool,
                          wish_pool(&keeper->wish->volume, replica->uid), &pool) &&
           pool.state == POOL_ONLINE;
}

/* What there is to do about replicas. */
struct change {
    struct replica wanted[REPLICAS_MOST]; /* all but the one that is to leave */
    unsigned count;
    struct replica ready[REPLICAS_MOST]; /* those of them that vote or can be filled */
    unsigned ready_count;
    int missing;  /* index of one that does not vote and can be filled; -1: none */
    bool blocked; /* one cannot */
    bool surplus; /* there are others, or another number */
    const struct target_replica *damaged;
};

static void add_wanted(const struct keeper *keeper, const struct replica *replica,
                       struct change *change) {
    const struct target_replica *seen = status_of(keeper, replica->uid);
    int index = (int)change->count++;

    change->wanted[index] = *replica;
    if (!(seen && seen->votes) && !may_be_rebuilt(keeper, replica)) {
        change->blocked = true;
        return;
    }
    change->ready[change->ready_count++] = *replica;
    if (!(seen && seen->votes) && change->missing < 0)
        change->missing = index;
}

static struct change find_change(const struct keeper *keeper) {
    const struct wish_volume *wanted = &keeper->wish->volume;
    struct change change = { .missing = -1 };
    unsigned known = 0;

    for (unsigned i = 0; i < wanted->count; i++) {
        const struct replica replica = keeper_replica(keeper, i);

        if (wanted->removing && strcmp(wanted->removing, replica.uid) == 0)
            continue;
        known += status_of(keeper, replica.uid) != NULL;
        add_wanted(keeper, &replica, &change);
    }
    change.surplus = keeper->status.count > known || keeper->status.wanted != change.count;
    return change;
}

/* All that are wanted vote, and one of them was outvoted: where two agree it can be mended. */
static const struct target_replica *find_damaged(const struct keeper *keeper) {
    for (unsigned i = 0; i < keeper->status.count && keeper->status.needed > 1; i++) {
        if (keeper->status.replicas[i].mismatches > 0)
            return &keeper->status.replicas[i];
    }
    return NULL;
}

/* What could not be mended in place goes, and is filled like any that is lost. */
static int repair(struct keeper *keeper, const char *uid, struct error *err) {
    if (keeper->status.job == TARGET_REPAIR_FAILED && strcmp(keeper->status.job_replica, uid) == 0)
        return target_drop(keeper->target, uid, err);
    return target_repair(keeper->target, uid, keeper->settings->rebuild_speed, err);
}

/* Behind a salvage: all that it has now is less than a majority of what it is to have. */
static bool is_bare(const struct keeper *keeper, const struct change *change) {
    return change->missing >= 0 && keeper->status.wanted < change->count / 2 + 1;
}

/* One that has a place is filled whatever the others are, and so is one that a bare volume can
 * have; else who comes or goes waits for all. */
static int do_change(struct keeper *keeper, const struct change *change, struct error *err) {
    int64_t speed = keeper->settings->rebuild_speed;

    if (change->damaged)
        return repair(keeper, change->damaged->replica.uid, err);
    if (change->missing >= 0 && keeper->status.voters < keeper->status.wanted)
        return target_rebuild(keeper->target, &change->wanted[change->missing], NULL, speed, err);
    if (change->blocked && is_bare(keeper, change))
        return target_scale(keeper->target, change->ready, change->ready_count, speed, err);
    if (change->blocked || (change->missing < 0 && !change->surplus))
        return 0;
    return target_scale(keeper->target, change->wanted, change->count, speed, err);
}

bool keeper_has_job(const struct keeper *keeper) {
    enum target_job job = keeper->status.job;

    return job == TARGET_REBUILD || job == TARGET_REPAIR || job == TARGET_SNAPSHOT ||
           job == TARGET_REVERT;
}

static bool job_failed(const struct keeper *keeper) {
    return keeper->status.job != TARGET_REBUILT && keeper->status.job != TARGET_REPAIRED;
}

static void begin_change(struct keeper *keeper, const struct change *change) {
    struct error err;

    if (do_change(keeper, change, &err) < 0) {
        log_warning(NULL, "replicas are not as wanted", "volume_id", keeper->uid, "reason",
                    err.message, NULL);
        end_rebuild(keeper, true);
    }
    keeper_look(keeper);
    if (keeper->rebuilding && !keeper_has_job(keeper))
        end_rebuild(keeper, false);
    if (keeper->rebuilding)
        log_info(NULL, change->damaged ? "replica is repaired" : "replica is rebuilt", "volume_id",
                 keeper->uid, "replica_id", keeper->status.job_replica, NULL);
}

void keeper_mend(struct keeper *keeper) {
    struct change change;
    bool copies;

    if (keeper->rebuilding && !keeper_has_job(keeper))
        end_rebuild(keeper, job_failed(keeper));
    if (keeper_has_job(keeper) || clock_monotonic_us() < keeper->rebuild_us)
        return;
    change = find_change(keeper);
    if (change.missing < 0 && !change.surplus && !change.blocked)
        change.damaged = find_damaged(keeper);
    copies = change.missing >= 0 || change.damaged;
    if ((!copies && !change.surplus) || (copies && !rebuilds_begin(keeper->settings->rebuilds)))
        return;
    keeper->rebuilding = copies;
    begin_change(keeper, &change);
}
