/*
 * An administrator believes one replica of a volume that lacks votes.  As long as the word does not
 * stand nobody is let in: whether the volume could be served without it is found out by a target
 * that serves nobody, told, and not asked again.  The document hears that or not, and either way
 * the next wish says what to do.  So nothing is given up that was served since an agent, which died
 * perhaps, told of what it had found.
 */
#include "storage/keeper.private.h"

#include <string.h>

bool keeper_weighs(const struct keeper *keeper) {
    const struct wish_volume *wanted = &keeper->wish->volume;

    return wanted->salvage.replica && wanted->salvaged != wanted->salvage.number;
}

static void judge(struct keeper *keeper, const char *phase, const char *reason,
                  const struct error *why) {
    keeper->salvage.number = keeper->wish->volume.salvage.number;
    keeper->salvage.phase = phase;
    keeper->salvage.reason = reason;
    keeper->salvage.why = why ? *why : (struct error){ 0 };
}

bool keeper_is_judged(const struct keeper *keeper) {
    return keeper->salvage.phase && keeper->salvage.number == keeper->wish->volume.salvage.number;
}

bool keeper_has_to_weigh(const struct keeper *keeper) {
    return keeper_weighs(keeper) && !keeper_is_judged(keeper) &&
           keeper->status.voters - keeper->status.failed < keeper->status.needed;
}

/* A word that was refused is about no later loss, though the document has not heard that yet. */
void keeper_forget_judgement(struct keeper *keeper) {
    if (!keeper_weighs(keeper) || !keeper_is_judged(keeper) ||
        strcmp(keeper->salvage.phase, "Refused") != 0)
        keeper->salvage.phase = NULL;
}

static void look_at_believed(struct keeper *keeper) {
    static const char *const reasons[] = {
        [TARGET_AWAY] = "Away", [TARGET_UNFIT] = "Unfit", [TARGET_UNFILLED] = "Unfilled"
    };
    enum target_flaw flaw = TARGET_NO_FLAW;
    struct error why;

    if (target_may_believe(keeper->target, keeper->wish->volume.salvage.replica, &flaw, &why) == 0)
        judge(keeper, "Able", NULL, NULL);
    else
        judge(keeper, "Refused", reasons[flaw], &why);
}

/* Blocks without a majority are refused: of these, too, one replica may be chosen. */
void keeper_judge_served(struct keeper *keeper) {
    struct error why;

    if (keeper_is_judged(keeper) || !keeper->wish->volume.salvage.replica)
        return;
    if (!keeper_weighs(keeper)) {
        keeper->scrubbed.undecided = 0; /* what differed before was discarded */
        judge(keeper, "Done", NULL, NULL);
        return;
    }
    if (keeper_undecided(keeper) > 0) {
        look_at_believed(keeper);
        return;
    }
    error_set(&why, ERROR_CONFLICT, "The volume %s is served.", keeper->uid);
    judge(keeper, "Refused", "HasVotes", &why);
}

int keeper_weigh(struct keeper *keeper, struct error *err) {
    int outcome;

    if (keeper_is_judged(keeper))
        return error_set(err, ERROR_UNAVAILABLE,
                         "The volume %s waits for a word about its replica %s.", keeper->uid,
                         keeper->wish->volume.salvage.replica);
    outcome = target_start(keeper->target, err);
    keeper_look(keeper);
    if (outcome < 0 && keeper->status.finding == TARGET_LACKS_VOTES)
        look_at_believed(keeper);
    else if (outcome < 0 && keeper->status.finding == TARGET_HAS_VOTES)
        judge(keeper, "Refused", "HasVotes", err);
    return outcome;
}
