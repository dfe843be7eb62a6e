#include "replication/node/volume_controller.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "replication/engine/daemon.h"
#include "replication/node/manifest.h"
#include "replication/node/sessions.h"
#include "replication/node/unresponsive.h"

#include <string.h>

#define SOON_MS      100 /* while work is in progress */
#define RETRY_GROWTH 8   /* limit of the pause after failures, in first pauses */

/* ---- opening ---- */

/* The action was followed by another event in the same step. */
#define AGAIN 2

/* A daemon of a volume that is assigned to another node has an unknown epoch: it is adopted in
 * none, as the epoch of the other node would end the sessions of that node. */
static int open_target(struct volume_controller *controller, struct error *err) {
    const struct assignment_volume *assigned = &controller->assignment->volume;
    struct target_settings settings = {
        .run = controller->run,
        .program = controller->settings->program,
        .volume = controller->uid,
        .epoch = strcmp(assigned->node, controller->settings->node) == 0 ? assigned->epoch : 0,
        .tls_directory = controller->settings->tls_directory,
        .size_bytes = assigned->size_bytes,
        .maximum_bytes = assigned->maximum_bytes,
        .count = assigned->count,
        .local = &controller->local,
        .qos = assigned->qos,
        .export = assigned->export,
        .sealed = assigned->revert.snapshot != NULL,
        .dry_run = volume_controller_awaits_recovery(controller),
        .recovery = assigned->recovered,
        .recover_from =
            volume_controller_awaits_recovery(controller) ? NULL : assigned->recovery.replica,
        .timeout_ms = controller->settings->timeout_ms,
    };

    assert(!controller->target && !controller->opened);
    assert(assigned->count <= LENGTH(settings.replicas));
    assert(!settings.dry_run || !settings.recover_from); /* a request is confirmed first */
    for (unsigned i = 0; i < assigned->count; i++)
        settings.replicas[i] = volume_controller_replica(controller, i);
    if (volume_controller_probe_replicas(controller, err) < 0 ||
        target_open(&settings, &controller->target, err) < 0)
        return -1;
    if (settings.sealed)
        manifest_remove(controller->run); /* a revert is not adopted without the API */
    else
        manifest_write(controller->run, assigned->text);
    controller->opened = assignment_hold(controller->assignment);
    controller->reached_otherwise = false;
    volume_controller_take(controller, CONTROLLER_OPENED);
    volume_controller_read_status(controller);
    if (volume_controller_is_started(controller)) /* adopted */
        volume_controller_scrub_soon(controller);
    else
        volume_controller_scrub_later(controller);
    return AGAIN;
}

static bool same_replicas(const struct assignment_volume *a, const struct assignment_volume *b) {
    if (a->count != b->count || a->maximum_bytes != b->maximum_bytes)
        return false;
    for (unsigned i = 0; i < a->count; i++) {
        if (strcmp(a->replicas[i].uid, b->replicas[i].uid) != 0 ||
            strcmp(a->replicas[i].pool, b->replicas[i].pool) != 0)
            return false;
    }
    return true;
}

/* ---- reconciliation ---- */

/* 1: a cancelled snapshot is still ending. */
static int adjust(struct volume_controller *controller, struct error *err) {
    const struct assignment_volume *assigned = &controller->assignment->volume,
                                   *opened = &controller->opened->volume;
    int ends = volume_controller_cancel_snapshot(controller, err);

    assert(controller->target && controller->opened);
    if (ends < 0)
        return -1;
    if ((assigned->qos.iops != opened->qos.iops ||
         assigned->qos.bytes_per_second != opened->qos.bytes_per_second) &&
        target_set_qos(controller->target, &assigned->qos, err) < 0)
        return -1;
    if (assigned->export != opened->export &&
        target_set_export(controller->target, assigned->export, err) < 0)
        return -1;
    if (assigned->size_bytes > controller->status.size_bytes &&
        target_resize(controller->target, assigned->size_bytes, err) < 0)
        return -1;
    if (controller->opened != controller->assignment) {
        manifest_write(controller->run, assigned->text);
        assignment_release(controller->opened);
        controller->opened = assignment_hold(controller->assignment);
    }
    return ends;
}

/* A failure of one part does not prevent the others, one of which may resolve it. */
static int reconcile(struct volume_controller *controller, int outcome, struct error *err) {
    struct error reason;
    int adjusted = adjust(controller, &reason);

    assert(controller->opened);
    if (outcome == 0)
        outcome = adjusted < 0 ? error_pass(err, &reason) : adjusted;
    volume_controller_read_status(controller);
    if (controller->state != CONTROLLER_SERVING)
        return outcome < 0 ? -1 : 1;
    if (volume_controller_reconcile_exports(controller, &reason) < 0 && outcome >= 0)
        outcome = error_pass(err, &reason);
    daemon_trim_log(controller->run);
    volume_controller_note_space(controller);
    volume_controller_snapshot(controller);
    if (volume_controller_check_calls(controller, err) < 0)
        return -1;
    volume_controller_rebuild(controller);
    if (volume_controller_check_calls(controller, err) < 0)
        return -1;
    volume_controller_scrub(controller);
    return outcome;
}

/* ---- actions ---- */

static int close_as_it_is(struct volume_controller *controller, struct error *err) {
    (void)err;
    volume_controller_close_target(controller);
    return AGAIN;
}

/* Of a served volume, whatever failed in its watch or start. */
static int continue_serving(struct volume_controller *controller, int outcome, struct error *err) {
    assert(volume_controller_is_started(controller));
    if (volume_controller_must_evaluate(controller))
        return 1; /* it is stopped and evaluated */
    volume_controller_note_served(controller);
    if (controller->state == CONTROLLER_SERVING)
        return reconcile(controller, outcome, err);
    return volume_controller_end_device(controller, err) < 0 ||
                   volume_controller_end_clients(controller, err) < 0
               ? -1
               : volume_controller_revert(controller, outcome, err);
}

static int watch(struct volume_controller *controller, struct error *err) {
    int outcome = target_watch(controller->target, err);

    volume_controller_read_status(controller);
    if (volume_controller_check_calls(controller, err) < 0)
        return -1;
    return volume_controller_is_started(controller) ? continue_serving(controller, outcome, err)
                                                    : AGAIN;
}

/* A target of another node may still have replicas of this one open, in an earlier epoch. */
static int end_other_users(struct volume_controller *controller, struct error *err) {
    const struct assignment_volume *assigned = &controller->assignment->volume;

    if (volume_controller_stop_exports(controller, err) < 0)
        return -1;
    for (unsigned i = 0; i < assigned->count && controller->settings->sessions; i++) {
        if (!volume_controller_is_remote(controller, i) &&
            sessions_end(controller->settings->sessions, assigned->replicas[i].uid, assigned->epoch,
                         err) < 0)
            return -1;
    }
    return 0;
}

static int start(struct volume_controller *controller, struct error *err) {
    int outcome;

    assert(controller->target && !volume_controller_awaits_recovery(controller));
    outcome = end_other_users(controller, err) < 0 ? -1 : target_start(controller->target, err);
    volume_controller_read_status(controller);
    if (volume_controller_check_calls(controller, err) < 0)
        return -1;
    return volume_controller_is_started(controller) ? continue_serving(controller, outcome, err)
                                                    : outcome;
}

static int evaluate(struct volume_controller *controller, struct error *err) {
    int outcome =
        end_other_users(controller, err) < 0 ? -1 : volume_controller_evaluate(controller, err);

    volume_controller_read_status(controller);
    return volume_controller_check_calls(controller, err) < 0 ? -1 : outcome;
}

/* The device ends before its file, or after it where the file does not respond. */
static int stop(struct volume_controller *controller, struct error *err) {
    struct error ignored;

    assert(controller->target);
    (void)volume_controller_end_device(controller, &ignored);
    if (volume_controller_end_clients(controller, err) < 0 ||
        target_stop(controller->target, err) < 0 ||
        volume_controller_end_device(controller, err) < 0)
        return -1;
    if (!volume_controller_is_assigned(controller)) {
        manifest_remove(controller->run);
        target_clear(controller->target);
        log_info(NULL, "volume not served any more", "volume_id", controller->uid, NULL);
    }
    volume_controller_close_target(controller);
    return AGAIN;
}

static int report_none(struct volume_controller *controller, struct error *err) {
    (void)err;
    volume_controller_report_none(controller->settings, controller->assignment);
    return 0;
}

/* The API does not have the claim of this node yet. */
static int await_claim(struct volume_controller *controller, struct error *err) {
    (void)controller, (void)err;
    return 1;
}

static int do_nothing(struct volume_controller *controller, struct error *err) {
    (void)controller, (void)err;
    return 0;
}

static int (*const actions[])(struct volume_controller *controller, struct error *err) = {
    [CONTROLLER_CONTINUE] = do_nothing,  [CONTROLLER_WAIT] = await_claim,
    [CONTROLLER_OPEN] = open_target,     [CONTROLLER_START] = start,
    [CONTROLLER_EVALUATE] = evaluate,    [CONTROLLER_SERVE] = watch,
    [CONTROLLER_REVERT] = watch,         [CONTROLLER_STOP] = stop,
    [CONTROLLER_CLOSE] = close_as_it_is, [CONTROLLER_REPORT_NONE] = report_none,
};

/* ---- events ---- */

/* An unconfirmed request does not affect a volume with a quorum. */
static bool has_changed(const struct volume_controller *controller) {
    const struct assignment_volume *assigned = &controller->assignment->volume,
                                   *opened = &controller->opened->volume;

    assert(controller->opened);
    return opened->epoch != assigned->epoch || opened->revert.number != assigned->revert.number ||
           opened->recovered != assigned->recovered ||
           (volume_controller_is_started(controller)
                ? volume_controller_must_evaluate(controller)
                : opened->recovery.number != assigned->recovery.number);
}

/* Change of the access to the replicas of both: a remote replica may have a new address, but the
 * daemon has a local one open until it ends. */
static bool has_moved(struct volume_controller *controller) {
    const struct assignment_volume *assigned = &controller->assignment->volume,
                                   *opened = &controller->opened->volume;
    bool moved = false;

    assert(controller->opened);
    for (unsigned i = 0; i < assigned->count && i < opened->count; i++) {
        const char *before = opened->addresses[i], *now = assigned->addresses[i];

        if (strcmp(assigned->replicas[i].uid, opened->replicas[i].uid) != 0)
            continue;
        controller->reached_otherwise |= !before != !now;
        moved |= before && now && strcmp(before, now) != 0;
    }
    if (volume_controller_is_started(controller))
        return moved && !controller->reached_otherwise;
    return moved || controller->reached_otherwise || !same_replicas(assigned, opened);
}

/* A target opened with other settings is reopened: after a reassignment to another node and back
 * its daemon is obsolete, and after a revert or before one; any other daemon is adopted. */
static enum controller_event event_of(struct volume_controller *controller) {
    bool assigned = volume_controller_is_assigned(controller);

    if (!controller->target && assigned)
        return controller->assignment->volume.claimed ? CONTROLLER_ASSIGNED : CONTROLLER_UNCLAIMED;
    if (!controller->target)
        return access(controller->run, F_OK) == 0 ? CONTROLLER_LEFT_OVER : CONTROLLER_NOTHING_LEFT;
    if (!assigned)
        return CONTROLLER_UNASSIGNED;
    if (controller->state == CONTROLLER_STOPPING || has_changed(controller))
        return CONTROLLER_CHANGED;
    if (has_moved(controller))
        return CONTROLLER_MOVED;
    return !volume_controller_is_started(controller) &&
                   volume_controller_awaits_recovery(controller)
               ? CONTROLLER_RECOVERY_REQUESTED
               : CONTROLLER_CURRENT;
}

/* ---- the step ---- */

static int step(struct volume_controller *controller, struct error *err) {
    int outcome = volume_controller_check_pools(controller, err) < 0 ? -1 : AGAIN;

    while (outcome == AGAIN) {
        const struct state_row *row = volume_controller_take(controller, event_of(controller));

        assert(!row || row->action < LENGTH(actions));
        outcome =
            row ? actions[row->action](controller, err)
                : error_set(err, ERROR_INTERNAL, "The volume %s: no transition from the state %s.",
                            controller->uid, controller_states.states[controller->state]);
    }
    return outcome;
}

/* A served volume is watched during pauses after failures, too. */
int64_t volume_controller_work(struct volume_controller *controller) {
    int64_t first_us = controller->settings->retry_ms * 1000;
    const struct backoff_limits pauses = { .first_us = first_us,
                                           .most_us = first_us * RETRY_GROWTH };
    int64_t now_us = clock_monotonic_us();
    bool assigned = volume_controller_is_assigned(controller);
    struct error err = { 0 };
    int outcome;

    if (backoff_waits(&controller->backoff, now_us) &&
        !(assigned && controller->status.state == TARGET_SERVING))
        return (controller->backoff.due_us - now_us) / 1000 + 1;
    memset(controller->export_ports, 0,
           sizeof(controller->export_ports)); /* they may be of an earlier assignment */
    controller->device_bytes = 0;
    outcome = step(controller, &err);
    if (outcome < 0) {
        if (controller->trouble.kind == ERROR_NONE ||
            strcmp(controller->trouble.message, err.message) != 0)
            log_warning(NULL, "volume reconciliation failed, retrying", "volume_id",
                        controller->uid, "reason", err.message, NULL);
        controller->trouble = err;
        backoff_fail(&controller->backoff, &pauses, clock_monotonic_us());
    } else {
        backoff_reset(&controller->backoff);
        controller->trouble = (struct error){ 0 };
        if (outcome == 0)
            controller->generation = controller->assignment->generation;
    }
    if (controller->target || assigned)
        volume_controller_report(controller);
    if (outcome > 0 || volume_controller_has_job(controller) ||
        controller->work == REPLICA_WORK_COMPARE)
        return SOON_MS;
    return outcome < 0 ? controller->settings->retry_ms : controller->settings->watch_ms;
}
