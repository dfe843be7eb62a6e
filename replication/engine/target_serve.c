/*
 * Serves a volume, from the evaluation of its replicas to the last response to a client, and stops
 * it so that the next start need not resynchronize them, if all have every write.
 */
#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/log.h"
#include "replication/engine/daemon.h"

#include <stdio.h>
#include <string.h>

/* ---- start ---- */

static int fail_start(struct target *target, struct error *err) {
    struct error ignored;

    if (target->file_begun)
        (void)file_stop(target, &ignored);
    if (target_kill(target, &ignored) < 0)
        return error_context(err, "%s", ignored.message);
    target_unlock_replicas(target);
    target_close_replicas(target);
    return -1;
}

/* The finding holds as long as no daemon runs. */
static int end_start(struct target *target, enum target_event found, struct error *err) {
    fail_start(target, err);
    if (target->phase == TARGET_IS_DOWN)
        target_next(target, found);
    return -1;
}

static int check_plan(struct target *target, struct error *err) {
    const struct quorum_plan *plan = &target->plan;
    char missing[400] = "";

    if (plan->verdict == QUORUM_SERVES || plan->verdict == QUORUM_RESYNC)
        return 0;
    if (plan->verdict == QUORUM_AMBIGUOUS)
        return error_set(err, ERROR_UNAVAILABLE,
                         "The latest replicas of the volume %s cannot be determined.",
                         target->volume);
    for (unsigned i = 0; i < target->count; i++) {
        const struct member *member = &target->members[i];
        size_t length = strlen(missing);

        if (!plan->votes[i])
            snprintf(missing + length, sizeof(missing) - length, " %s: %s.", member->replica.uid,
                     member->state == MEMBER_IS_EXCLUDED    ? member->why.message
                     : member->probe.health == REPLICA_GOOD ? "stale or empty"
                                                            : member->probe.why.message);
    }
    if (plan->needed == 0)
        return error_set(err, ERROR_UNAVAILABLE,
                         "None of the %u replicas of the volume %s can be used:%s", target->count,
                         target->volume, missing);
    return error_set(err, ERROR_UNAVAILABLE, "The volume %s has %u of %u replicas that it needs:%s",
                     target->volume, plan->voters, plan->needed, missing);
}

static int follow_plan(struct target *target, struct error *err) {
    assert(target->plan.needed > 0 && target->plan.voters >= target->plan.needed);
    assert(target->plan.current.id.number >= generation_floor(target->recovery));
    if (file_discard_stale(target, &target->plan.current, err) < 0)
        return -1;
    target->current = target->plan.current;
    target->failures = 0;
    if (target->size_bytes < target->current.size_bytes)
        target->size_bytes = target->current.size_bytes;
    for (unsigned i = 0; i < target->count; i++) {
        struct member *member = &target->members[i];

        if (target->plan.votes[i])
            member_next(member, MEMBER_CHOSEN);
        member->mismatches = member->errors = member->reported_us = 0;
    }
    return 0;
}

/* One that cannot be opened, or is too short for the new size, is evicted like any that fails. Of
 * one with a failed probe the daemon checks the length. */
static void add_replicas(struct target *target, struct error *err) {
    TARGET_FOREACH(member, target) {
        member->mismatches = 0;
        if (!member_votes(member))
            continue;
        if (member_is_short(member, target->size_bytes))
            error_set(err, ERROR_CONFLICT, "the file is too short");
        else if (graph_add_replica(target, member, target->size_bytes, err) == 0)
            continue;
        member_next(member, MEMBER_EVICTED);
        log_warning(NULL, "replica evicted at the start", "volume_id", target->volume, "replica_id",
                    member->replica.uid, "reason", err->message, NULL);
    }
}

/* If the volume was not served since its rebuild. */
static struct member *admit_rebuilt(struct target *target) {
    struct error reason;
    struct member *member = &target->members[target->rebuilt];

    if (target->job_state != JOB_IS_JOINING || member->state != MEMBER_IS_OUT ||
        !generation_same(&target->joins_after, &target->current.id) ||
        member_flush(target, member, &reason) < 0)
        return NULL;
    member_next(member, MEMBER_CHOSEN);
    return member;
}

/* No write comes before the generation names the members. */
static int serve(struct target *target, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const struct member *new;
    struct error reason = { 0 };
    struct change change = { 0 };
    struct logs logs;

    assert(!target->dry_run);
    file_begin(target);
    if (target_launch(target, err) < 0)
        return -1;
    new = admit_rebuilt(target);
    add_replicas(target, &reason);
    if (new &&member_votes(new))
        change.with = new->replica.uid;
    logs_read(target, arena, &logs);
    if (generation_change(target, change, err) < 0)
        return reason.message[0] ? error_context(err, "%s", reason.message) : -1;
    assert(target->current.count >= generation_needed(&target->current));
    logs_begin(target, &logs);
    if (graph_add_quorum(target, generation_needed(&target->current), err) < 0 ||
        logs_decide(target, &logs, err) < 0 || graph_add_export(target, err) < 0)
        return -1;
    assert(target->threshold == generation_needed(&target->current));
    assert(target->phase == TARGET_IS_STARTING);
    /* A sealed target is overwritten, and never compared; otherwise an unclean stop leaves voters
     * that may lack a write, until all are compared. */
    target_next(target, target->sealed                          ? TARGET_SERVES_SEALED
                        : target->plan.verdict == QUORUM_RESYNC ? TARGET_SERVES_UNCLEAN
                                                                : TARGET_SERVES_CLEAN);
    /* Of replicas as they were before this start. */
    if (target_job_now(target) == TARGET_REPAIR_FAILED)
        target_job_next(target, JOB_FORGOTTEN);
    target_unlock_replicas(target);
    rebuild_joined(target);
    log_info(NULL, "volume served", "volume_id", target->volume, "replicas",
             LOG_INT(target->current.count), NULL);
    return 0;
}

/* A voter that cannot be opened does not count. */
static int evaluate(struct target *target, struct error *err) {
    const unsigned needed = generation_needed(&target->current);
    struct error reason = { 0 };
    unsigned voters = 0;

    assert(target->dry_run);
    if (target_launch(target, err) < 0)
        return fail_start(target, err);
    add_replicas(target, &reason);
    for (unsigned i = 0; i < target->count; i++)
        voters += member_votes(&target->members[i]);
    if (voters < needed)
        error_set(err, ERROR_UNAVAILABLE,
                  "Of the volume %s %u of %u replicas that it needs can be opened. %.300s",
                  target->volume, voters, needed, reason.message);
    else
        error_set(err, ERROR_CONFLICT,
                  "The volume %s could be served: forced recovery is not possible.",
                  target->volume);
    return end_start(target, voters < needed ? TARGET_FOUND_TOO_FEW : TARGET_FOUND_ENOUGH, err);
}

int target_start(struct target *target, struct error *err) {
    if (target_serves(target) && watch_events(target, err) == 0)
        return file_reconcile(target, err);
    if (target_kill(target, err) < 0 || target_lock_replicas(target, err) < 0)
        return -1;
    assert(!target->qmp && !target_serves(target));
    target_next(target, TARGET_STARTS);
    if (target_open_replicas(target, err) < 0 || recovery_apply(target, err) < 0)
        return fail_start(target, err);
    target_plan(target, &target->plan);
    if (check_plan(target, err) < 0)
        return end_start(target, TARGET_FOUND_TOO_FEW, err);
    if (follow_plan(target, err) < 0)
        return fail_start(target, err);
    if (target->dry_run)
        return evaluate(target, err);
    return serve(target, err) < 0 ? fail_start(target, err) : file_reconcile(target, err);
}

/* ---- stop ---- */

static int check_member(const struct target *target, const struct member *member,
                        struct error *err) {
    if (member_fails(member))
        return error_set(err, ERROR_CONFLICT, "the replica %s: %.300s", member->replica.uid,
                         member->why.message);
    if (member_check_probe(member, err) < 0)
        return -1;
    if (!member_votes(member) || member->errors > 0 ||
        !generation_same(&member->probe.state.generation.id, &target->current.id))
        return error_set(err, ERROR_CONFLICT, "the replica %s is stale", member->replica.uid);
    return 0;
}

/* 0: all voters have every write, and on their disks. `unequal`: why they may not; NULL. */
static int check_flushed(struct target *target, int64_t ended_us, const char *unequal,
                         struct error *err) {
    assert(!target->qmp);
    TARGET_FOREACH(member, target) {
        if (generation_has(&target->current, member->replica.uid) &&
            check_member(target, member, err) < 0)
            return -1;
        /* A report after one of the same replica may have come too late to be received. */
        if (member_votes(member) && member->reported_us > 0 &&
            ended_us < member->reported_us + EVENTS_LATE_US)
            return error_set(err, ERROR_CONFLICT, "the replica %s was outvoted a moment ago",
                             member->replica.uid);
    }
    if (unequal)
        return error_set(err, ERROR_CONFLICT, "%s", unequal);
    TARGET_FOREACH(member, target) {
        if (generation_has(&target->current, member->replica.uid) &&
            member_flush(target, member, err) < 0)
            return -1;
    }
    return 0;
}

int target_stop_serving(struct target *target, struct error *err) {
    bool served = target_serves(target), graceful = false;
    struct error reason = { 0 };
    const char *unequal;
    int64_t ended_us = 0;

    if (served && watch_events(target, &reason) == 0) {
        watch_files(target);
        ended_us = clock_boottime_us();
        /* Clients first: each answered write is flushed with the rest. */
        graceful = target_end_export(target, &reason) == 0 &&
                   GRAPH_DO(target, &reason, "quit", "{}") == 0 &&
                   daemon_await_end(target->run, target->timeout_ms, &reason) == 0;
        watch_events(target, NULL); /* the last ones; then the monitor is closed */
    }
    unequal = target_is_equal(target) ? NULL : target->reason;
    if (target_kill(target, err) < 0)
        return -1;
    assert(!target_serves(target));
    target_unlock_replicas(target);
    if (served && (!graceful || check_flushed(target, ended_us, unequal, &reason) < 0))
        log_warning(NULL, "unclean stop: replicas will be resynchronized at the next start",
                    "volume_id", target->volume, "reason", reason.message, NULL);
    else if (served && generation_mark(target, REPLICA_CLEAN, &reason) < 0)
        log_warning(NULL, "replica not marked clean", "volume_id", target->volume, "reason",
                    reason.message, NULL);
    else if (served)
        logs_end(target);
    target_close_replicas(target);
    return 0;
}

int target_stop(struct target *target, struct error *err) {
    return file_stop(target, err) < 0 ? -1 : target_stop_serving(target, err);
}

int target_restart(struct target *target, struct error *err) {
    return target_stop_serving(target, err) < 0 ? -1 : target_start(target, err);
}
