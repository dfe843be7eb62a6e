/*
 * Forced recovery of a volume without a quorum from one replica, as an administrator requested.
 * The volume is not exported before the request is confirmed: a target without exports evaluates
 * whether the volume could be served otherwise, and the outcome is reported once.  Whether the
 * document has that report or not, the next assignment decides.  So no data are discarded that were
 * served after an agent, terminated meanwhile perhaps, reported its outcome.
 */
#include "replication/node/volume_controller.private.h"

#include "common/assert.h"

/* Of the current request only. */
static void note_outcome(struct volume_controller *controller, enum forced_event event,
                         const char *reason, const struct error *why) {
    int64_t number = controller->assignment->volume.recovery.number;

    if (controller->recovery.number != number)
        state_table_next(&forced_states, &controller->recovery.state, FORCED_REQUESTED);
    controller->recovery.number = number;
    if (!state_table_next(&forced_states, &controller->recovery.state, event))
        return;
    controller->recovery.reason = reason;
    controller->recovery.why = why ? *why : (struct error){ 0 };
}

static void evaluate_replica(struct volume_controller *controller) {
    static const char *const reasons[] = { [TARGET_UNREACHABLE] = "Away",
                                           [TARGET_UNUSABLE] = "Unfit",
                                           [TARGET_NOT_REBUILT] = "Unfilled" };
    enum target_flaw flaw = TARGET_NO_FLAW;
    struct error why;

    assert(controller->target && controller->assignment->volume.recovery.replica);
    if (target_may_recover(controller->target, controller->assignment->volume.recovery.replica,
                           &flaw, &why) == 0)
        note_outcome(controller, FORCED_REPLICA_FIT, NULL, NULL);
    else
        note_outcome(controller, FORCED_REPLICA_FLAW, reasons[flaw], &why);
}

/* Blocks without a majority cannot be read, and may be recovered from one replica, too. */
void volume_controller_note_served(struct volume_controller *controller) {
    struct error why;

    if (volume_controller_has_evaluated(controller) ||
        !controller->assignment->volume.recovery.replica)
        return;
    if (!volume_controller_awaits_recovery(controller)) {
        controller->scrubbed.undecided = 0; /* the differences were discarded */
        note_outcome(controller, FORCED_SERVED, NULL, NULL);
        return;
    }
    if (volume_controller_undecided(controller) > 0) {
        evaluate_replica(controller);
        return;
    }
    error_set(&why, ERROR_CONFLICT, "The volume %s is served.", controller->uid);
    note_outcome(controller, FORCED_HAS_QUORUM, "HasVotes", &why);
}

int volume_controller_evaluate(struct volume_controller *controller, struct error *err) {
    int outcome;

    if (volume_controller_has_evaluated(controller))
        return error_set(
            err, ERROR_UNAVAILABLE,
            "The volume %s waits for the confirmation of its recovery from replica %s.",
            controller->uid, controller->assignment->volume.recovery.replica);
    outcome = target_start(controller->target, err);
    volume_controller_read_status(controller);
    if (outcome < 0 && controller->status.finding == TARGET_LACKS_QUORUM)
        evaluate_replica(controller);
    else if (outcome < 0 && controller->status.finding == TARGET_HAS_QUORUM)
        note_outcome(controller, FORCED_HAS_QUORUM, "HasVotes", err);
    return outcome;
}
