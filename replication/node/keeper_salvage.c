/*
 * An administrator believes one replica of a volume that lacks votes.  As long as the word does not
 * stand nobody is let in: whether the volume could be served without it is found out by a target
 * that serves nobody, told, and not asked again.  The document hears that or not, and either way
 * the next assignment says what to do.  So nothing is given up that was served since an agent,
 * which died perhaps, told of what it had found.
 */
#include "replication/node/keeper.private.h"

#include <string.h>

bool keeper_weighs(const struct keeper *keeper) {
    const struct assignment_volume *wanted = &keeper->assignment->volume;

    return wanted->recovery.replica && wanted->recovered != wanted->recovery.number;
}

/* Of the request that stands now, and of no other. */
static void judge(struct keeper *keeper, enum forced_event event, const char *reason,
                  const struct error *why) {
    int64_t number = keeper->assignment->volume.recovery.number;

    if (keeper->recovery.number != number)
        state_table_next(&forced_states, &keeper->recovery.state, FORCED_REQUESTED);
    keeper->recovery.number = number;
    if (!state_table_next(&forced_states, &keeper->recovery.state, event))
        return;
    keeper->recovery.reason = reason;
    keeper->recovery.why = why ? *why : (struct error){ 0 };
}

bool keeper_is_judged(const struct keeper *keeper) {
    return keeper->recovery.state != FORCED_UNKNOWN &&
           keeper->recovery.number == keeper->assignment->volume.recovery.number;
}

bool keeper_has_to_weigh(const struct keeper *keeper) {
    return keeper_weighs(keeper) && !keeper_is_judged(keeper) &&
           keeper->status.voters - keeper->status.failed < keeper->status.needed;
}

/* A request that was refused is about no later loss, though the document may not say that yet. */
void keeper_forget_judgement(struct keeper *keeper) {
    bool asked = keeper_weighs(keeper) && keeper_is_judged(keeper);

    state_table_next(&forced_states, &keeper->recovery.state,
                     asked ? FORCED_CLOSED_ASKED : FORCED_CLOSED);
}

static void look_at_believed(struct keeper *keeper) {
    static const char *const reasons[] = {
        [TARGET_AWAY] = "Away", [TARGET_UNFIT] = "Unfit", [TARGET_UNFILLED] = "Unfilled"
    };
    enum target_flaw flaw = TARGET_NO_FLAW;
    struct error why;

    if (target_may_believe(keeper->target, keeper->assignment->volume.recovery.replica, &flaw,
                           &why) == 0)
        judge(keeper, FORCED_REPLICA_FIT, NULL, NULL);
    else
        judge(keeper, FORCED_REPLICA_FLAW, reasons[flaw], &why);
}

/* Blocks without a majority are refused: of these, too, one replica may be chosen. */
void keeper_judge_served(struct keeper *keeper) {
    struct error why;

    if (keeper_is_judged(keeper) || !keeper->assignment->volume.recovery.replica)
        return;
    if (!keeper_weighs(keeper)) {
        keeper->scrubbed.undecided = 0; /* what differed before was discarded */
        judge(keeper, FORCED_SERVED, NULL, NULL);
        return;
    }
    if (keeper_undecided(keeper) > 0) {
        look_at_believed(keeper);
        return;
    }
    error_set(&why, ERROR_CONFLICT, "The volume %s is served.", keeper->uid);
    judge(keeper, FORCED_HAS_QUORUM, "HasVotes", &why);
}

int keeper_weigh(struct keeper *keeper, struct error *err) {
    int outcome;

    if (keeper_is_judged(keeper))
        return error_set(err, ERROR_UNAVAILABLE,
                         "The volume %s waits for a word about its replica %s.", keeper->uid,
                         keeper->assignment->volume.recovery.replica);
    outcome = target_start(keeper->target, err);
    keeper_look(keeper);
    if (outcome < 0 && keeper->status.finding == TARGET_LACKS_VOTES)
        look_at_believed(keeper);
    else if (outcome < 0 && keeper->status.finding == TARGET_HAS_VOTES)
        judge(keeper, FORCED_HAS_QUORUM, "HasVotes", err);
    return outcome;
}
