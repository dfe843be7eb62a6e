/*
 * How a volume controller reports its volume: the facts that its target and its pools give, and the
 * status that follows from them.
 */
#include "replication/node/keeper.private.h"

#include "replication/node/target_text.h"
#include "json/json.h"

#include <errno.h>
#include <string.h>

static bool hangs(const struct keeper *keeper, const char *uid) {
    const struct assignment_volume *wanted = &keeper->assignment->volume;

    for (unsigned i = 0; i < wanted->count; i++)
        if (strcmp(wanted->replicas[i].uid, uid) == 0)
            return keeper->hangs[i];
    return false;
}

/* What is known of a replica beside its target. */
static void add_facts(const struct keeper *keeper, struct replica_facts *facts) {
    const struct rebuild_failure *failure =
        rebuild_failures_find(&keeper->rebuild_failures, facts->uid);

    facts->unresponsive = hangs(keeper, facts->uid) && (keeper->waits > 0 || !facts->votes);
    if (!failure)
        return;
    facts->has_retries = true;
    facts->lacks_space = strstr(failure->why.message, strerrordesc_np(ENOSPC)) != NULL;
    if (!facts->rebuild_failure)
        facts->rebuild_failure = failure->why.message;
}

static struct target_health health_of(const struct keeper *keeper, struct arena *arena) {
    const char *before = keeper->assignment->volume.phase;
    struct target_facts facts;

    target_facts_read(&keeper->status, &facts);
    facts.was_served = keeper->phase || (before && strcmp(before, "Init") != 0);
    facts.undecided = keeper_undecided(keeper);
    facts.reverting = keeper->assignment->volume.revert.snapshot != NULL;
    if (keeper->trouble.kind != ERROR_NONE)
        facts.trouble = keeper->trouble.message;
    for (unsigned i = 0; i < facts.count; i++)
        add_facts(keeper, &facts.replicas[i]);
    return target_health_of(arena, &facts);
}

void keeper_report(struct keeper *keeper) {
    autoarena struct arena *arena = arena_new();
    bool compares = keeper->work == REPLICA_WORK_COMPARE;
    struct target_scrub scrub = compares ? keeper->scrub : keeper->scrubbed;
    const struct target_health health = health_of(keeper, arena);
    struct target_text text = {
        .assignment = keeper->assignment,
        .node = keeper->settings->node,
        .run = keeper->run,
        .health = &health,
        .status = &keeper->status,
        .generation = keeper->generation,
        .epoch = keeper->assignment->volume.epoch,
        .host = keeper->settings->gates ? keeper->settings->gates->host : NULL,
        .ports = keeper->ports,
        .scrub = &scrub,
        .scrubs = compares,
        .scrubbed_at = keeper->scrubbed_at,
        .attempt = keeper->attempt,
        .reverted =
            keeper->revert == NODE_REVERT_DONE &&
            keeper->opened->volume.revert.number == keeper->assignment->volume.revert.number,
        .recovery = keeper_is_judged(keeper) ? forced_states.states[keeper->recovery.state] : NULL,
        .recovery_reason = keeper->recovery.reason,
        .recovery_message = keeper->recovery.why.message,
        .snapshots = json_keep(arena, keeper_snapshots_json(keeper)),
    };

    scrub.undecided = keeper_undecided(keeper); /* those of the last pass until this one ends */
    keeper->phase = health.volume.phase;
    reports_put(keeper->settings->reports, ASSIGNMENT_VOLUME, keeper->uid,
                target_text(arena, &text, true), target_text(arena, &text, false),
                compares || keeper_has_job(keeper));
}

void keeper_report_none(const struct keeper_settings *settings,
                        const struct assignment *assignment) {
    autoarena struct arena *arena = arena_new();
    const struct target_health health = {
        .volume = { .phase = assignment->volume.phase ? assignment->volume.phase : "Init",
                    .message = "This node does not serve the volume." },
    };
    const struct target_text text = { .assignment = assignment,
                                      .health = &health,
                                      .generation = assignment->generation };

    reports_put_last(settings->reports, ASSIGNMENT_VOLUME, assignment->uid,
                     target_text(arena, &text, true));
}
