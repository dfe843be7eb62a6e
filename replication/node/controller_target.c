/*
 * The state of a volume controller and of its target: common to all parts, of which it calls none
 * but the jobs.
 */
#include "replication/node/volume_controller.private.h"

#include "common/assert.h"
#include "replication/node/unresponsive.h"

#include <pthread.h>
#include <string.h>

/* ---- the states ---- */

/* The only function that changes the state.  The lock is held. */
const struct state_row *volume_controller_change_state(struct volume_controller *controller,
                                                       enum controller_event event) {
    assert(event < controller_states.event_count);
    return state_table_next(&controller_states, &controller->state, event);
}

const struct state_row *volume_controller_take(struct volume_controller *controller,
                                               enum controller_event event) {
    const struct state_row *row;

    pthread_mutex_lock(&controller->lock);
    row = volume_controller_change_state(controller, event);
    pthread_mutex_unlock(&controller->lock);
    return row;
}

const struct state_row *volume_controller_take_revert(struct volume_controller *controller,
                                                      enum node_revert_event event) {
    return state_table_next(&node_revert_states, &controller->revert, event);
}

/* ---- the assignment ---- */

const struct target_replica *volume_controller_status_of(const struct volume_controller *controller,
                                                         const char *uid) {
    for (unsigned i = 0; i < controller->status.count; i++) {
        if (strcmp(controller->status.replicas[i].replica.uid, uid) == 0)
            return &controller->status.replicas[i];
    }
    return NULL;
}

bool volume_controller_is_assigned(const struct volume_controller *controller) {
    return !controller->assignment->deleting &&
           strcmp(controller->assignment->volume.node, controller->settings->node) == 0;
}

bool volume_controller_is_remote(const struct volume_controller *controller, unsigned i) {
    const struct assignment_volume *assigned = &controller->assignment->volume;

    assert(i < assigned->count);
    return controller->settings->remote && assigned->epoch > 0 && assigned->addresses[i] &&
           assigned->nodes[i] && strcmp(assigned->nodes[i], controller->settings->node) != 0;
}

struct replica volume_controller_replica(const struct volume_controller *controller, unsigned i) {
    struct replica replica = controller->assignment->volume.replicas[i];

    assert(i < controller->assignment->volume.count);
    if (volume_controller_is_remote(controller, i)) {
        replica.access = controller->settings->remote;
        replica.address = controller->assignment->volume.addresses[i];
    } else if (controller->unresponsive[i]) {
        replica.access = &replica_unresponsive;
    }
    return replica;
}

bool volume_controller_awaits_recovery(const struct volume_controller *controller) {
    const struct assignment_volume *assigned = &controller->assignment->volume;

    return assigned->recovery.replica && assigned->recovered != assigned->recovery.number;
}

bool volume_controller_has_evaluated(const struct volume_controller *controller) {
    return controller->recovery.state != FORCED_UNKNOWN &&
           controller->recovery.number == controller->assignment->volume.recovery.number;
}

bool volume_controller_must_evaluate(const struct volume_controller *controller) {
    return volume_controller_awaits_recovery(controller) &&
           !volume_controller_has_evaluated(controller) &&
           controller->status.voters - controller->status.failed < controller->status.needed;
}

/* ---- the target ---- */

bool volume_controller_is_started(const struct volume_controller *controller) {
    return controller->state == CONTROLLER_SERVING || controller->state == CONTROLLER_REVERTING;
}

void volume_controller_read_status(struct volume_controller *controller) {
    bool serves;

    assert(controller->target && controller->opened);
    target_status(controller->target, &controller->status);
    serves = controller->status.state == TARGET_SERVING;
    if (controller->state == CONTROLLER_STOPPING ||
        serves == volume_controller_is_started(controller))
        return;
    if (serves) {
        volume_controller_take(controller, controller->opened->volume.revert.snapshot
                                               ? CONTROLLER_SERVED_SEALED
                                               : CONTROLLER_SERVED);
        return;
    }
    volume_controller_take(controller, CONTROLLER_LOST);
    volume_controller_end_jobs(
        controller); /* frees their slots for other volumes, as this one may be down for long */
    volume_controller_end_scrub(controller);
}

void volume_controller_close_target(struct volume_controller *controller) {
    bool requested;

    if (!controller->target)
        return;
    assert(controller->opened);
    volume_controller_take_work(controller, REPLICA_WORK_CLOSED);
    controller->scrub = (struct target_scrub){ 0 };
    target_close(controller->target);
    controller->target = NULL;
    controller->status = (struct target_status){ .state = TARGET_DOWN };
    controller->attempt = 0;
    controller->device = (struct device_export){ 0 };
    volume_controller_take_revert(controller, NODE_REVERT_CLOSED);
    /* A refused request does not apply to a later loss, though the document may not have the
     * refusal yet. */
    requested = volume_controller_awaits_recovery(controller) &&
                volume_controller_has_evaluated(controller);
    state_table_next(&forced_states, &controller->recovery.state,
                     requested ? FORCED_CLOSED_REQUESTED : FORCED_CLOSED);
    assignment_release(controller->opened);
    controller->opened = NULL;
    volume_controller_take(controller, CONTROLLER_CLOSED);
}
