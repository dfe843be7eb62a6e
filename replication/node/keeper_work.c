#include "replication/node/keeper.private.h"

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "replication/engine/daemon.h"
#include "replication/node/hanging.h"
#include "replication/node/manifest.h"
#include "replication/node/sessions.h"

#include <string.h>

#define SOON_MS      100 /* while something goes on */
#define RETRY_GROWTH 8   /* most growth of the pause behind a failure */

/* ---- opening ---- */

bool keeper_is_wanted(const struct keeper *keeper) {
    return !keeper->assignment->deleting &&
           strcmp(keeper->assignment->volume.node, keeper->settings->node) == 0;
}

bool keeper_is_remote(const struct keeper *keeper, unsigned i) {
    const struct assignment_volume *wanted = &keeper->assignment->volume;

    return keeper->settings->remote && wanted->epoch > 0 && wanted->addresses[i] &&
           wanted->nodes[i] && strcmp(wanted->nodes[i], keeper->settings->node) != 0;
}

struct replica keeper_replica(const struct keeper *keeper, unsigned i) {
    struct replica replica = keeper->assignment->volume.replicas[i];

    if (keeper_is_remote(keeper, i)) {
        replica.access = keeper->settings->remote;
        replica.address = keeper->assignment->volume.addresses[i];
    } else if (keeper->hangs[i]) {
        replica.access = &replica_hanging;
    }
    return replica;
}

/* A target of another node may still have replicas of ours, in an epoch before ours. */
static int end_sessions(const struct keeper *keeper, struct error *err) {
    const struct assignment_volume *wanted = &keeper->assignment->volume;

    for (unsigned i = 0; i < wanted->count && keeper->settings->sessions; i++) {
        if (!keeper_is_remote(keeper, i) &&
            sessions_end(keeper->settings->sessions, wanted->replicas[i].uid, wanted->epoch, err) <
                0)
            return -1;
    }
    return 0;
}

/* What is left here of a volume that is given to another node has an epoch that nobody knows: it is
 * adopted in none, least of all in the other's, whose sessions it would end. */
static int64_t epoch_of(const struct keeper *keeper) {
    const struct assignment_volume *wanted = &keeper->assignment->volume;

    return strcmp(wanted->node, keeper->settings->node) == 0 ? wanted->epoch : 0;
}

static bool is_started(const struct keeper *keeper) {
    return keeper->state == CONTROLLER_SERVING || keeper->state == CONTROLLER_REVERTING;
}

void keeper_look(struct keeper *keeper) {
    bool serves;

    target_status(keeper->target, &keeper->status);
    serves = keeper->status.state == TARGET_SERVING;
    if (keeper->state == CONTROLLER_STOPPING || serves == is_started(keeper))
        return;
    if (serves) {
        keeper_take(keeper, keeper->opened->volume.revert.snapshot ? CONTROLLER_SERVED_SEALED
                                                                   : CONTROLLER_SERVED);
        return;
    }
    keeper_take(keeper, CONTROLLER_LOST);
    keeper_end_jobs(keeper); /* other volumes have the places: this one may be down for long */
    keeper_scrub_end(keeper);
}

static int open_target(struct keeper *keeper, struct error *err) {
    const struct assignment_volume *wanted = &keeper->assignment->volume;
    struct target_settings settings = {
        .run = keeper->run,
        .program = keeper->settings->program,
        .volume = keeper->uid,
        .epoch = epoch_of(keeper),
        .tls_directory = keeper->settings->tls_directory,
        .size_bytes = wanted->size_bytes,
        .maximum_bytes = wanted->maximum_bytes,
        .count = wanted->count,
        .here = &keeper->here,
        .qos = wanted->qos,
        .export = wanted->export,
        .sealed = wanted->revert.snapshot != NULL,
        .weighed = keeper_weighs(keeper),
        .salvage = wanted->recovered,
        .believed = keeper_weighs(keeper) ? NULL : wanted->recovery.replica,
        .timeout_ms = keeper->settings->timeout_ms,
    };

    for (unsigned i = 0; i < wanted->count; i++)
        settings.replicas[i] = keeper_replica(keeper, i);
    if (keeper_look_before(keeper, err) < 0 || target_open(&settings, &keeper->target, err) < 0)
        return -1;
    if (settings.sealed)
        manifest_remove(keeper->run); /* what is left of a revert, nobody serves without the API */
    else
        manifest_write(keeper->run, wanted->text);
    keeper->opened = assignment_hold(keeper->assignment);
    keeper->elsewhere = false;
    keeper_take(keeper, CONTROLLER_OPENED);
    keeper_look(keeper);
    if (is_started(keeper)) /* found again */
        keeper_scrub_soon(keeper);
    else
        keeper_scrub_later(keeper);
    return 0;
}

void keeper_let_go(struct keeper *keeper) {
    if (!keeper->target)
        return;
    keeper_take_work(keeper, REPLICA_WORK_CLOSED);
    keeper->scrub = (struct target_scrub){ 0 };
    target_close(keeper->target);
    keeper->target = NULL;
    keeper->status = (struct target_status){ .state = TARGET_DOWN };
    keeper_forget_revert(keeper);
    keeper_forget_judgement(keeper);
    assignment_release(keeper->opened);
    keeper->opened = NULL;
    keeper_take(keeper, CONTROLLER_CLOSED);
}

enum move { STAYED, HAS_MOVED, IS_REACHED_OTHERWISE };

/* What has become of replicas of both: another address can be called instead of the one before,
 * but what the daemon has open by its path it has until it ends. */
static enum move find_move(const struct assignment_volume *a, const struct assignment_volume *b) {
    enum move move = STAYED;

    for (unsigned i = 0; i < a->count && i < b->count; i++) {
        const char *before = b->addresses[i], *now = a->addresses[i];

        if (strcmp(a->replicas[i].uid, b->replicas[i].uid) != 0)
            continue;
        if (!before != !now)
            return IS_REACHED_OTHERWISE;
        if (now && strcmp(before, now) != 0)
            move = HAS_MOVED;
    }
    return move;
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

/* ---- what is wanted ---- */

static bool same_qos(const struct target_qos *a, const struct target_qos *b) {
    return a->iops == b->iops && a->bytes_per_second == b->bytes_per_second;
}

/* 1: something of what was wanted before ends yet. */
static int adjust(struct keeper *keeper, struct error *err) {
    const struct assignment_volume *wanted = &keeper->assignment->volume,
                                   *had = &keeper->opened->volume;
    int ends = keeper_give_up_snapshot(keeper, err);

    if (ends < 0)
        return -1;
    if (!same_qos(&wanted->qos, &had->qos) && target_set_qos(keeper->target, &wanted->qos, err) < 0)
        return -1;
    if (wanted->export != had->export && target_set_export(keeper->target, wanted->export, err) < 0)
        return -1;
    if (wanted->size_bytes > keeper->status.size_bytes &&
        target_resize(keeper->target, wanted->size_bytes, err) < 0)
        return -1;
    if (keeper->opened != keeper->assignment) {
        manifest_write(keeper->run, wanted->text);
        assignment_release(keeper->opened);
        keeper->opened = assignment_hold(keeper->assignment);
    }
    return ends;
}

/* What could not be done for it keeps nothing else from being done: the next may be what helps. */
static int settle(struct keeper *keeper, int outcome, struct error *err) {
    struct error reason;
    int adjusted = adjust(keeper, &reason);

    if (outcome == 0)
        outcome = adjusted < 0 ? error_pass(err, &reason) : adjusted;
    keeper_look(keeper);
    if (keeper->state != CONTROLLER_SERVING)
        return outcome < 0 ? -1 : 1;
    if (keeper_open_gates(keeper, &reason) < 0 && outcome >= 0)
        outcome = error_pass(err, &reason);
    daemon_trim_log(keeper->run);
    keeper_snap(keeper);
    if (keeper_heed_calls(keeper, err) < 0)
        return -1;
    keeper_mend(keeper);
    if (keeper_heed_calls(keeper, err) < 0)
        return -1;
    keeper_scrub(keeper);
    return outcome;
}

/* ---- actions ---- */

/* A step's action has changed what the next event is. */
#define AGAIN 2

static int open_as_assigned(struct keeper *keeper, struct error *err) {
    return open_target(keeper, err) < 0 ? -1 : AGAIN;
}

static int close_as_it_is(struct keeper *keeper, struct error *err) {
    (void)err;
    keeper_let_go(keeper);
    return AGAIN;
}

/* Of one that serves, whatever the look at it or its start could not do. */
static int go_on(struct keeper *keeper, int outcome, struct error *err) {
    if (keeper_has_to_weigh(keeper))
        return 1; /* it ends, and is evaluated */
    keeper_judge_served(keeper);
    if (keeper->state == CONTROLLER_SERVING)
        return settle(keeper, outcome, err);
    return keeper_end_gates(keeper, err) < 0 ? -1 : keeper_revert(keeper, outcome, err);
}

static int watch(struct keeper *keeper, struct error *err) {
    int outcome = target_watch(keeper->target, err);

    keeper_look(keeper);
    if (keeper_heed_calls(keeper, err) < 0)
        return -1;
    return is_started(keeper) ? go_on(keeper, outcome, err) : AGAIN;
}

static int shut_others(struct keeper *keeper, struct error *err) {
    return keeper_shut_gates(keeper, err) < 0 ? -1 : end_sessions(keeper, err);
}

static int start(struct keeper *keeper, struct error *err) {
    int outcome = shut_others(keeper, err) < 0 ? -1 : target_start(keeper->target, err);

    keeper_look(keeper);
    if (keeper_heed_calls(keeper, err) < 0)
        return -1;
    return is_started(keeper) ? go_on(keeper, outcome, err) : outcome;
}

static int evaluate(struct keeper *keeper, struct error *err) {
    int outcome = shut_others(keeper, err) < 0 ? -1 : keeper_weigh(keeper, err);

    keeper_look(keeper);
    return keeper_heed_calls(keeper, err) < 0 ? -1 : outcome;
}

static int stop(struct keeper *keeper, struct error *err) {
    if (keeper_end_gates(keeper, err) < 0 || target_stop(keeper->target, err) < 0)
        return -1;
    if (!keeper_is_wanted(keeper)) {
        manifest_remove(keeper->run);
        target_clear(keeper->target);
        log_info(NULL, "volume is served no more", "volume_id", keeper->uid, NULL);
    }
    keeper_let_go(keeper);
    return AGAIN;
}

static int report_none(struct keeper *keeper, struct error *err) {
    (void)err;
    keeper_report_none(keeper->settings, keeper->assignment);
    return 0;
}

/* The API has not heard yet that this node is about to serve. */
static int await_claim(struct keeper *keeper, struct error *err) {
    (void)keeper, (void)err;
    return 1;
}

static int do_nothing(struct keeper *keeper, struct error *err) {
    (void)keeper, (void)err;
    return 0;
}

static int (*const actions[])(struct keeper *keeper, struct error *err) = {
    [CONTROLLER_CONTINUE] = do_nothing,   [CONTROLLER_WAIT] = await_claim,
    [CONTROLLER_OPEN] = open_as_assigned, [CONTROLLER_START] = start,
    [CONTROLLER_EVALUATE] = evaluate,     [CONTROLLER_SERVE] = watch,
    [CONTROLLER_REVERT] = watch,          [CONTROLLER_STOP] = stop,
    [CONTROLLER_CLOSE] = close_as_it_is,  [CONTROLLER_REPORT_NONE] = report_none,
};

/* ---- events ---- */

/* A word that does not stand is none of one that has its votes. */
static bool is_otherwise(const struct keeper *keeper) {
    const struct assignment_volume *wanted = &keeper->assignment->volume,
                                   *opened = &keeper->opened->volume;

    return opened->epoch != wanted->epoch || opened->revert.number != wanted->revert.number ||
           opened->recovered != wanted->recovered ||
           (is_started(keeper) ? keeper_has_to_weigh(keeper)
                               : opened->recovery.number != wanted->recovery.number);
}

static bool has_moved(struct keeper *keeper) {
    const struct assignment_volume *wanted = &keeper->assignment->volume,
                                   *opened = &keeper->opened->volume;
    enum move move = find_move(wanted, opened);

    keeper->elsewhere |= move == IS_REACHED_OTHERWISE;
    if (is_started(keeper))
        return move == HAS_MOVED && !keeper->elsewhere;
    return keeper->elsewhere || move == HAS_MOVED || !same_replicas(wanted, opened);
}

/* What was opened otherwise than it is wanted is opened anew: a target that has lost the volume to
 * another one and got it back is over, and one of before or behind a revert, any other is found
 * again. */
static enum controller_event event_of(struct keeper *keeper) {
    bool wanted = keeper_is_wanted(keeper);

    if (!keeper->target && wanted)
        return keeper->assignment->volume.claimed ? CONTROLLER_ASSIGNED : CONTROLLER_UNCLAIMED;
    if (!keeper->target)
        return keeper_finds(keeper->settings, keeper->uid) ? CONTROLLER_LEFT_OVER
                                                           : CONTROLLER_NOTHING_LEFT;
    if (!wanted)
        return CONTROLLER_UNASSIGNED;
    if (keeper->state == CONTROLLER_STOPPING || is_otherwise(keeper))
        return CONTROLLER_CHANGED;
    if (has_moved(keeper))
        return CONTROLLER_MOVED;
    return !is_started(keeper) && keeper_weighs(keeper) ? CONTROLLER_RECOVERY_REQUESTED
                                                        : CONTROLLER_CURRENT;
}

/* ---- the step ---- */

static void note_trouble(struct keeper *keeper, const struct error *err) {
    int64_t first_us = keeper->settings->retry_ms * 1000;
    const struct backoff_limits pauses = { .first_us = first_us,
                                           .most_us = first_us * RETRY_GROWTH };

    if (keeper->trouble.kind == ERROR_NONE || strcmp(keeper->trouble.message, err->message) != 0)
        log_warning(NULL, "volume is not as wanted", "volume_id", keeper->uid, "reason",
                    err->message, NULL);
    keeper->trouble = *err;
    backoff_fail(&keeper->backoff, &pauses, clock_monotonic_us());
}

static bool is_busy(const struct keeper *keeper, int outcome) {
    return outcome > 0 || keeper_has_job(keeper) || keeper->work == REPLICA_WORK_COMPARE;
}

static int step(struct keeper *keeper, struct error *err) {
    int outcome = keeper_heed_pools(keeper, err) < 0 ? -1 : AGAIN;

    while (outcome == AGAIN) {
        const struct state_row *row = keeper_take(keeper, event_of(keeper));

        outcome =
            row ? actions[row->action](keeper, err)
                : error_set(err, ERROR_INTERNAL, "The volume %s: no transition from the state %s.",
                            keeper->uid, controller_states.states[keeper->state]);
    }
    return outcome;
}

/* One that serves is looked at whatever could not be done for it. */
int64_t keeper_work(struct keeper *keeper) {
    int64_t now_us = clock_monotonic_us();
    bool wanted = keeper_is_wanted(keeper);
    struct error err = { 0 };
    int outcome;

    if (backoff_waits(&keeper->backoff, now_us) &&
        !(wanted && keeper->status.state == TARGET_SERVING))
        return (keeper->backoff.due_us - now_us) / 1000 + 1;
    memset(keeper->ports, 0, sizeof(keeper->ports)); /* of the assignment before, perhaps */
    outcome = step(keeper, &err);
    if (outcome < 0) {
        note_trouble(keeper, &err);
    } else {
        backoff_reset(&keeper->backoff);
        keeper->trouble = (struct error){ 0 };
        if (outcome == 0)
            keeper->generation = keeper->assignment->generation;
    }
    if (keeper->target || wanted)
        keeper_report(keeper);
    if (is_busy(keeper, outcome))
        return SOON_MS;
    return outcome < 0 ? keeper->settings->retry_ms : keeper->settings->watch_ms;
}
