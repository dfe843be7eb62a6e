/*
 * Reverts a volume to a snapshot: the target is exported to no client, and the end of the copy is
 * reported.  The volume is served again when its document has that report; a revert started again
 * after that would undo writes of clients.  So each attempt has a number that the document must
 * have before the copy starts, and a late report of an earlier attempt is ignored.
 */
#include "replication/node/volume_controller.private.h"

#include "common/assert.h"

/* The report of this daemon is final; the next attempt starts with another daemon and fresh replica
 * states. */
static int give_up(struct volume_controller *controller, struct error *err) {
    struct error why = controller->status.job_error;

    assert(controller->target && controller->state == CONTROLLER_REVERTING);
    volume_controller_take_revert(controller, NODE_REVERT_HAS_FAILED);
    volume_controller_take(controller, CONTROLLER_REVERT_FAILED);
    if (target_stop(controller->target, err) < 0)
        return -1;
    volume_controller_close_target(controller);
    return error_pass(err, &why);
}

/* A copy that cannot start is retried with the same number. */
int volume_controller_revert(struct volume_controller *controller, int outcome, struct error *err) {
    const struct assignment_revert *revert = &controller->assignment->volume.revert;
    const struct state_row *row;
    bool known;

    if (controller->status.job == TARGET_REVERT_FAILED)
        return give_up(controller, err);
    if (outcome < 0 || controller->revert == NODE_REVERT_DONE)
        return outcome;
    if (controller->status.job == TARGET_REVERTED || revert->done) {
        volume_controller_take_revert(controller, NODE_REVERT_HELD);
        return outcome;
    }
    if (controller->status.job == TARGET_REVERT)
        return 1;
    if (controller->attempt == 0 || controller->attempt < revert->attempt)
        controller->attempt = revert->attempt + 1;
    known = controller->attempt == revert->attempt;
    row =
        volume_controller_take_revert(controller, known ? NODE_REVERT_KNOWN : NODE_REVERT_UNKNOWN);
    if (!row || row->action != NODE_REVERT_START)
        return 1;
    /* else a client's writes after an earlier end of this revert would be lost */
    assert(known && revert->snapshot && controller->state == CONTROLLER_REVERTING);
    if (target_revert(controller->target, revert->snapshot, controller->settings->rebuild_speed,
                      err) < 0)
        return -1;
    volume_controller_read_status(controller);
    return 1;
}
