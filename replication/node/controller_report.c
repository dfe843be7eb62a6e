/*
 * Status reports of a volume controller: the facts known to its target and its pools, and the
 * status that follows from them.
 */
#include "replication/node/volume_controller.private.h"

#include "common/no_space.h"
#include "replication/node/target_text.h"
#include "json/json.h"

#include <string.h>

/* Facts of a replica that its target does not know. */
static void add_facts(const struct volume_controller *controller, struct replica_facts *facts) {
    const struct assignment_volume *assigned = &controller->assignment->volume;
    const struct rebuild_failure *failure =
        rebuild_failures_find(&controller->rebuild_failures, facts->uid);

    for (unsigned i = 0; i < assigned->count; i++) {
        if (strcmp(assigned->replicas[i].uid, facts->uid) != 0)
            continue;
        facts->unresponsive =
            controller->unresponsive[i] && (controller->awaited > 0 || !facts->votes);
        break;
    }
    if (!failure)
        return;
    facts->has_retries = true;
    facts->lacks_space = error_is_no_space(&failure->why);
    if (!facts->rebuild_failure)
        facts->rebuild_failure = failure->why.message;
}

static struct target_health health_of(const struct volume_controller *controller,
                                      struct arena *arena) {
    const char *before = controller->assignment->volume.phase;
    struct target_facts facts;

    target_facts_read(&controller->status, &facts);
    facts.was_served = controller->phase || (before && strcmp(before, "Init") != 0);
    facts.undecided = volume_controller_undecided(controller);
    facts.reverting = controller->assignment->volume.revert.snapshot != NULL;
    if (controller->trouble.kind != ERROR_NONE)
        facts.trouble = controller->trouble.message;
    for (unsigned i = 0; i < facts.count; i++)
        add_facts(controller, &facts.replicas[i]);
    return target_health_of(arena, &facts);
}

void volume_controller_report(struct volume_controller *controller) {
    autoarena struct arena *arena = arena_new();
    bool compares = controller->work == REPLICA_WORK_COMPARE;
    struct target_scrub scrub = compares ? controller->scrub : controller->scrubbed;
    const struct target_health health = health_of(controller, arena);
    struct target_text text = {
        .assignment = controller->assignment,
        .node = controller->settings->node,
        .run = controller->run,
        .health = &health,
        .status = &controller->status,
        .generation = controller->generation,
        .epoch = controller->assignment->volume.epoch,
        .host = controller->settings->exports ? controller->settings->exports->host : NULL,
        .ports = controller->export_ports,
        .device_bytes = controller->device_bytes,
        .scrub = &scrub,
        .scrubs = compares,
        .scrubbed_at = controller->scrubbed_at,
        .attempt = controller->attempt,
        .reverted = controller->revert == NODE_REVERT_DONE &&
                    controller->opened->volume.revert.number ==
                        controller->assignment->volume.revert.number,
        .recovery = volume_controller_has_evaluated(controller)
                        ? forced_states.states[controller->recovery.state]
                        : NULL,
        .recovery_reason = controller->recovery.reason,
        .recovery_message = controller->recovery.why.message,
        .snapshots = json_keep(arena, volume_controller_snapshots_json(controller)),
    };

    scrub.undecided =
        volume_controller_undecided(controller); /* of the last scrub until this one has finished */
    controller->phase = health.volume.phase;
    reports_put(controller->settings->reports, ASSIGNMENT_VOLUME, controller->uid,
                target_text(arena, &text, true), target_text(arena, &text, false),
                compares || volume_controller_has_job(controller));
}

void volume_controller_report_none(const struct volume_controller_settings *settings,
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
