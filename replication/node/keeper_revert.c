/*
 * A volume is put back to a snapshot: its target lets nobody in, and the keeper tells when it holds
 * what the snapshot does.  Nobody may serve it before the document says so, too; then a revert that
 * begins once more would undo what clients have written.  So each attempt has a number that the
 * document has to know before it begins, and of an earlier one it hears nothing any more, however
 * late that is told.
 */
#include "replication/node/keeper.private.h"

static const struct state_row *take_revert(struct keeper *keeper, enum node_revert_event event) {
    return state_table_next(&node_revert_states, &keeper->revert, event);
}

/* What it has heard is of no use: the next one begins with replicas that are looked at anew. */
static int give_up(struct keeper *keeper, struct error *err) {
    struct error why = keeper->status.job_error;

    take_revert(keeper, NODE_REVERT_HAS_FAILED);
    keeper_take(keeper, CONTROLLER_REVERT_FAILED);
    if (target_stop(keeper->target, err) < 0)
        return -1;
    keeper_let_go(keeper);
    return error_pass(err, &why);
}

static bool is_known(struct keeper *keeper, const struct assignment_revert *revert) {
    if (keeper->attempt == 0 || keeper->attempt < revert->attempt)
        keeper->attempt = revert->attempt + 1;
    return keeper->attempt == revert->attempt;
}

/* A copy that cannot begin is tried again, under the same number. */
static int begin(struct keeper *keeper, const struct assignment_revert *revert, struct error *err) {
    bool known = is_known(keeper, revert);
    const struct state_row *row =
        take_revert(keeper, known ? NODE_REVERT_KNOWN : NODE_REVERT_UNKNOWN);

    if (!row || row->action != NODE_REVERT_START)
        return 1;
    if (target_revert(keeper->target, revert->snapshot, keeper->settings->rebuild_speed, err) < 0)
        return -1;
    keeper_look(keeper);
    return 1;
}

void keeper_forget_revert(struct keeper *keeper) {
    keeper->attempt = 0;
    take_revert(keeper, NODE_REVERT_CLOSED);
}

int keeper_revert(struct keeper *keeper, int outcome, struct error *err) {
    const struct assignment_revert *revert = &keeper->assignment->volume.revert;

    if (keeper->status.job == TARGET_REVERT_FAILED)
        return give_up(keeper, err);
    if (outcome < 0 || keeper->revert == NODE_REVERT_DONE)
        return outcome;
    if (keeper->status.job == TARGET_REVERTED || revert->done) {
        take_revert(keeper, NODE_REVERT_HELD);
        return outcome;
    }
    return keeper->status.job == TARGET_REVERT ? 1 : begin(keeper, revert, err);
}
