/*
 * Unresponsive pools of a volume.  They are not accessed.  A client's write waits for each voting
 * replica, and the storage daemon cannot remove one with a request in flight: so when a pool is
 * unresponsive for too long and the other replicas are sufficient, the daemon is killed and
 * restarts without that replica, which is rebuilt when its pool responds again.
 */
#include "replication/node/volume_controller.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "replication/engine/daemon.h"
#include "replication/node/health_probes.h"
#include "replication/node/unresponsive.h"

#include <string.h>

#define KILL_MS 10000

struct hang {
    unsigned voters; /* in unresponsive pools */
    int64_t ms;      /* the longest unresponsive one of them */
    const char *pool;
    bool changed;      /* since the target was opened, and of no voter */
    int64_t unseen_ms; /* the longest unresponsive one that a daemon not adopted yet may use */
    const char *unseen;
};

static void check_pool(struct volume_controller *controller, unsigned i, struct hang *hang) {
    const struct replica *replica = &controller->assignment->volume.replicas[i];
    const struct target_replica *seen = volume_controller_status_of(controller, replica->uid);
    struct health_probes *health_probes = controller->settings->health_probes;
    bool known = seen && seen->replica.access == &replica_unresponsive;
    int64_t ms = 0, probe_ms = 0;

    assert(i < LENGTH(controller->unresponsive));
    if (!volume_controller_is_remote(controller, i)) {
        ms = pool_calls_unresponsive_ms(controller->calls, replica->pool);
        if (health_probes)
            probe_ms = health_probes_unresponsive_ms(health_probes, replica->pool);
    }
    if (ms < probe_ms) /* unresponsive to an abandoned call, or to a probe */
        ms = probe_ms;
    controller->unresponsive[i] = ms > 0;
    if (!controller->target && ms > hang->unseen_ms) {
        hang->unseen_ms = ms;
        hang->unseen = replica->pool;
    }
    if (!seen || known == (ms > 0))
        return;
    if (ms == 0 || controller->status.state != TARGET_SERVING || !seen->votes) {
        hang->changed = true;
        return;
    }
    hang->voters++;
    if (ms > hang->ms) {
        hang->ms = ms;
        hang->pool = replica->pool;
    }
}

/* Are the other replicas sufficient, or are they not needed? */
static bool is_enough(const struct volume_controller *controller, const struct hang *hang) {
    const struct target_status *status = &controller->status;

    /* The daemon ends in any case. */
    if (!volume_controller_is_assigned(controller) || controller->state == CONTROLLER_STOPPING)
        return true;
    /* A forced recovery is requested: unresponsive pools count as lost then, and a daemon that
     * waits for them delays the evaluation of the loss. */
    if (volume_controller_awaits_recovery(controller) &&
        !volume_controller_has_evaluated(controller))
        return true;
    return status->state != TARGET_SERVING || status->voters >= status->needed + hang->voters;
}

static int await(struct volume_controller *controller, const char *pool, struct error *err) {
    volume_controller_take(controller, CONTROLLER_POOL_AWAITED);
    return unresponsive_refuse(pool, err);
}

int volume_controller_check_pools(struct volume_controller *controller, struct error *err) {
    int64_t most_ms = controller->settings->hang_ms;
    struct hang hang = { 0 };

    for (unsigned i = 0; i < controller->assignment->volume.count; i++)
        check_pool(controller, i, &hang);
    if (hang.unseen_ms > 0 && hang.unseen_ms < most_ms && daemon_runs(controller->run))
        return await(controller, hang.unseen, err);
    controller->awaited = hang.ms >= most_ms / 6 ? hang.voters : 0;
    if (hang.voters > 0 && (hang.ms < most_ms || !is_enough(controller, &hang)))
        return await(controller, hang.pool, err);
    if (hang.voters > 0) {
        volume_controller_take(controller, CONTROLLER_POOL_EXCLUDED);
        log_warning(NULL, "unresponsive pool excluded, qemu-storage-daemon restarts without it",
                    "volume_id", controller->uid, "path", hang.pool, NULL);
        if (daemon_kill(controller->run, KILL_MS, err) < 0)
            return error_context(err, "The pool in %s does not answer", hang.pool);
        controller->awaited = 0;
        volume_controller_close_target(controller);
    } else if (hang.changed) {
        volume_controller_take(controller, CONTROLLER_POOLS_CHANGED);
        volume_controller_close_target(controller);
    }
    return 0;
}

int volume_controller_check_calls(const struct volume_controller *controller, struct error *err) {
    const struct assignment_volume *assigned = &controller->assignment->volume;

    for (unsigned i = 0; i < assigned->count; i++) {
        if (!volume_controller_is_remote(controller, i) && !controller->unresponsive[i] &&
            pool_calls_unresponsive_ms(controller->calls, assigned->replicas[i].pool) > 0)
            return unresponsive_refuse(assigned->replicas[i].pool, err);
    }
    return 0;
}

/* A daemon must not be adopted as one without a replica whose pool becomes unresponsive now. */
int volume_controller_probe_replicas(struct volume_controller *controller, struct error *err) {
    const struct assignment_volume *assigned = &controller->assignment->volume;
    bool serves = daemon_runs(controller->run);
    struct replica_probe ignored;
    struct error failure; /* is another component's to report */

    for (unsigned i = 0; i < assigned->count && serves; i++) {
        struct replica_request request = { .kind = ACCESS_PROBE,
                                           .replica = &assigned->replicas[i],
                                           .volume = controller->uid,
                                           .probe = &ignored };

        if (!volume_controller_is_remote(controller, i) && !controller->unresponsive[i])
            (void)replica_request(&controller->local, &request, &failure);
    }
    return volume_controller_check_calls(controller, err);
}
