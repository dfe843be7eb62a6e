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
    const struct wish_volume *wanted = &keeper->wish->volume;

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
    const char *before = keeper->wish->volume.phase;
    struct target_facts facts;

    target_facts_read(&keeper->status, &facts);
    facts.was_served = keeper->phase || (before && strcmp(before, "Init") != 0);
    facts.undecided = keeper_undecided(keeper);
    facts.reverting = keeper->wish->volume.revert.snapshot != NULL;
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
        .wish = keeper->wish,
        .node = keeper->settings->node,
        .run = keeper->run,
        .health = &health,
        .status = &keeper->status,
        .generation = keeper->generation,
        .epoch = keeper->wish->volume.epoch,
        .host = keeper->settings->gates ? keeper->settings->gates->host : NULL,
        .ports = keeper->ports,
        .scrub = &scrub,
        .scrubs = compares,
        .scrubbed_at = keeper->scrubbed_at,
        .attempt = keeper->attempt,
        .reverted = keeper->revert == NODE_REVERT_DONE &&
                    keeper->opened->volume.revert.number == keeper->wish->volume.revert.number,
        .salvage = keeper_is_judged(keeper) ? forced_states.states[keeper->salvage.state] : NULL,
        .salvage_reason = keeper->salvage.reason,
        .salvage_message = keeper->salvage.why.message,
        .snapshots = json_keep(arena, keeper_snapshots_json(keeper)),
    };

    scrub.undecided = keeper_undecided(keeper); /* those of the last pass until this one ends */
    keeper->phase = health.volume.phase;
    reports_put(keeper->settings->reports, WISH_VOLUME, keeper->uid,
                target_text(arena, &text, true), target_text(arena, &text, false),
                compares || keeper_has_job(keeper));
}

void keeper_report_none(const struct keeper_settings *settings, const struct wish *wish) {
    autoarena struct arena *arena = arena_new();
    const struct target_health health = {
        .volume = { .phase = wish->volume.phase ? wish->volume.phase : "Init",
                    .message = "This node does not serve the volume." },
    };
    const struct target_text text = { .wish = wish,
                                      .health = &health,
                                      .generation = wish->generation };

    reports_put_last(settings->reports, WISH_VOLUME, wish->uid, target_text(arena, &text, true));
}
