/*
 * Pools of a volume that do not answer.  Nothing there is touched.  A client's write waits for each
 * replica that votes, and the storage daemon cannot take one away while a request of it is on its
 * way: so when that lasts too long, and the others are enough, the daemon ends, and the next one
 * serves without it.  It comes back as any that was away.
 */
#include "replication/node/keeper.private.h"

#include "common/clock.h"
#include "common/log.h"
#include "replication/engine/daemon.h"
#include "replication/node/hanging.h"
#include "replication/node/knocks.h"

#include <string.h>

#define KILL_MS 10000

struct hang {
    unsigned voters; /* that hang */
    int64_t ms;      /* the longest of them */
    const char *pool;
    bool changed;      /* others than those with which the target was opened, and no voter */
    int64_t unseen_ms; /* the longest of what a daemon may use that nobody of us has seen yet */
    const char *unseen;
};

static const struct target_replica *status_of(const struct keeper *keeper, const char *uid) {
    for (unsigned i = 0; i < keeper->status.count; i++) {
        if (strcmp(keeper->status.replicas[i].replica.uid, uid) == 0)
            return &keeper->status.replicas[i];
    }
    return NULL;
}

static bool is_used(const struct keeper *keeper, const struct target_replica *seen) {
    return keeper->status.state == TARGET_SERVING && seen->votes;
}

/* To a knock, or to a call that was left. */
static int64_t silence_ms(const struct keeper *keeper, const char *pool) {
    int64_t call_ms = pool_calls_silence_ms(keeper->calls, pool);
    int64_t knock_ms =
        keeper->settings->knocks ? knocks_silence_ms(keeper->settings->knocks, pool) : 0;

    return call_ms > knock_ms ? call_ms : knock_ms;
}

static void look_at(struct keeper *keeper, unsigned i, struct hang *hang) {
    const struct replica *replica = &keeper->assignment->volume.replicas[i];
    const struct target_replica *seen = status_of(keeper, replica->uid);
    int64_t ms = keeper_is_remote(keeper, i) ? 0 : silence_ms(keeper, replica->pool);
    bool known = seen && seen->replica.access == &replica_hanging;

    keeper->hangs[i] = ms > 0;
    if (!keeper->target && ms > hang->unseen_ms) {
        hang->unseen_ms = ms;
        hang->unseen = replica->pool;
    }
    if (!seen || known == (ms > 0))
        return;
    if (ms == 0 || !is_used(keeper, seen)) {
        hang->changed = true;
        return;
    }
    hang->voters++;
    if (ms > hang->ms) {
        hang->ms = ms;
        hang->pool = replica->pool;
    }
}

/* The daemon is to end in any case, or a forced recovery is requested: pools that do not respond
 * count as lost then, and the daemon that waits for them keeps the loss from being evaluated. */
static bool may_end(const struct keeper *keeper) {
    return !keeper_is_wanted(keeper) || keeper->state == CONTROLLER_STOPPING ||
           (keeper_weighs(keeper) && !keeper_is_judged(keeper));
}

static bool is_enough(const struct keeper *keeper, const struct hang *hang) {
    const struct target_status *status = &keeper->status;

    return may_end(keeper) || status->state != TARGET_SERVING ||
           status->voters >= status->needed + hang->voters;
}

static int await(struct keeper *keeper, const char *pool, struct error *err) {
    keeper_take(keeper, CONTROLLER_POOL_AWAITED);
    return hanging_refuse(pool, err);
}

static int exclude(struct keeper *keeper, const char *pool, struct error *err) {
    keeper_take(keeper, CONTROLLER_POOL_EXCLUDED);
    log_warning(NULL, "storage daemon ends, to begin anew without a pool that does not answer",
                "volume_id", keeper->uid, "path", pool, NULL);
    if (daemon_kill(keeper->run, KILL_MS, err) < 0)
        return error_context(err, "The pool in %s does not answer", pool);
    keeper->waits = 0;
    keeper_let_go(keeper);
    return 0;
}

int keeper_heed_pools(struct keeper *keeper, struct error *err) {
    int64_t most_ms = keeper->settings->hang_ms;
    struct hang hang = { 0 };

    for (unsigned i = 0; i < keeper->assignment->volume.count; i++)
        look_at(keeper, i, &hang);
    if (hang.unseen_ms > 0 && hang.unseen_ms < most_ms && daemon_runs(keeper->run))
        return await(keeper, hang.unseen, err);
    keeper->waits = hang.ms >= most_ms / 6 ? hang.voters : 0;
    if (hang.voters > 0 && (hang.ms < most_ms || !is_enough(keeper, &hang)))
        return await(keeper, hang.pool, err);
    if (hang.voters > 0)
        return exclude(keeper, hang.pool, err);
    if (hang.changed) {
        keeper_take(keeper, CONTROLLER_POOLS_CHANGED);
        keeper_let_go(keeper);
    }
    return 0;
}

int keeper_heed_calls(const struct keeper *keeper, struct error *err) {
    const struct assignment_volume *wanted = &keeper->assignment->volume;

    for (unsigned i = 0; i < wanted->count; i++) {
        if (!keeper_is_remote(keeper, i) && !keeper->hangs[i] &&
            pool_calls_silence_ms(keeper->calls, wanted->replicas[i].pool) > 0)
            return hanging_refuse(wanted->replicas[i].pool, err);
    }
    return 0;
}

/* Of one that falls silent now, a daemon that serves is not to be taken for one without it. */
int keeper_look_before(struct keeper *keeper, struct error *err) {
    const struct assignment_volume *wanted = &keeper->assignment->volume;
    bool serves = daemon_runs(keeper->run);
    struct replica_look ignored;

    for (unsigned i = 0; i < wanted->count && serves; i++) {
        if (!keeper_is_remote(keeper, i) && !keeper->hangs[i])
            keeper->here.look(keeper->here.arg, &wanted->replicas[i], keeper->uid, 0, &ignored);
    }
    return keeper_heed_calls(keeper, err);
}
