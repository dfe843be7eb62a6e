/*
 * A volume is served, from the judgement of its replicas to the last answer to a client, and left
 * so that the next start need not make them equal, if that is true.
 */
#include "engine/target.private.h"

#include "common/log.h"
#include "engine/daemon.h"

#include <stdio.h>
#include <string.h>

/* Clients first: whoever was answered is flushed with the rest. */
static int end_in_order(struct target *target, struct error *err) {
    if (target_end_export(target, err) < 0)
        return -1;
    if (GRAPH_DO(target, err, "quit", "{}") < 0)
        return -1;
    return daemon_await_end(target->run, target->timeout_ms, err);
}

/* ---- start ---- */

static int fail_start(struct target *target, struct error *err) {
    struct error ignored;

    if (target_kill(target, &ignored) < 0)
        return error_context(err, "%s", ignored.message);
    target_unlock_replicas(target);
    target_close_replicas(target);
    return -1;
}

static void name_missing(struct target *target, char *text, size_t size) {
    text[0] = '\0';
    for (unsigned i = 0; i < target->count; i++) {
        const struct member *member = &target->members[i];
        size_t length = strlen(text);

        if (!target->plan.votes[i])
            snprintf(text + length, size - length, " %s: %s.", member->replica.uid,
                     member->shunned                       ? member->why.message
                     : member->look.health == REPLICA_GOOD ? "stale or empty"
                                                           : member->look.why.message);
    }
}

static int judge_plan(struct target *target, struct error *err) {
    const struct quorum_plan *plan = &target->plan;
    char missing[400];

    if (plan->verdict == QUORUM_SERVES || plan->verdict == QUORUM_LEVEL)
        return 0;
    target->finding = TARGET_LACKS_VOTES;
    name_missing(target, missing, sizeof(missing));
    if (plan->verdict == QUORUM_AMBIGUOUS)
        return error_set(err, ERROR_UNAVAILABLE,
                         "The replicas of the volume %s do not say which of them are the latest.",
                         target->volume);
    return error_set(err, ERROR_UNAVAILABLE, "The volume %s has %u of %u replicas that it needs:%s",
                     target->volume, plan->voters, plan->needed, missing);
}

/* 1 levelling has begun, 0 it is not needed, -1; *ret_again: without one that cannot be opened. */
static int try_plan(struct target *target, bool *ret_again, struct error *err) {
    unsigned shunned = 0;
    int outcome;

    *ret_again = false;
    target_look(target, &target->plan);
    if (judge_plan(target, err) < 0 || file_doubt(target, &target->plan.current, err) < 0)
        return -1;
    target->current = target->plan.current;
    target->failures = 0;
    if (target->size_bytes < target->current.size_bytes)
        target->size_bytes = target->current.size_bytes;
    for (unsigned i = 0; i < target->count; i++) {
        struct member *member = &target->members[i];

        shunned += member->shunned;
        member->votes = target->plan.votes[i];
        member->failing = false;
        member->mismatches = member->errors = 0;
    }
    if (target->plan.verdict != QUORUM_LEVEL || target->sealed)
        return 0;
    outcome = level_start(target, err);
    for (unsigned i = 0; i < target->count; i++)
        shunned -= target->members[i].shunned;
    *ret_again = shunned != 0;
    return outcome < 0 ? -1 : 1;
}

static int begin_start(struct target *target, struct error *err) {
    bool again = true;
    int outcome = -1;

    target->finding = TARGET_NO_FINDING;
    if (target_kill(target, err) < 0 || target_lock_replicas(target, err) < 0)
        return -1;
    if (target_open_replicas(target, err) < 0 || salvage_believed(target, err) < 0)
        return fail_start(target, err);
    while (outcome < 0 && again)
        outcome = try_plan(target, &again, err);
    return outcome < 0 ? fail_start(target, err) : outcome;
}

/* One that cannot be opened, or is too short for the new size, is left out like any that fails.  Of
 * one that could not be looked at a moment ago the daemon sees how long it is. */
static void add_replicas(struct target *target, struct error *err) {
    for (unsigned i = 0; i < target->count; i++) {
        struct member *member = &target->members[i];

        member->mismatches = 0;
        if (!member->votes)
            continue;
        if (member_is_short(member, target->size_bytes))
            member->votes = error_set(err, ERROR_CONFLICT, "the file is too short") == 0;
        else if (graph_add_replica(target, member, target->size_bytes, err) < 0)
            member->votes = false;
        if (!member->votes)
            log_warning(NULL, "replica left out", "volume_id", target->volume, "replica_id",
                        member->replica.uid, "reason", err->message, NULL);
    }
}

/* If nobody has served the volume since it was filled. */
static struct member *let_join(struct target *target) {
    struct error reason;
    struct member *member = &target->members[target->rebuilt];

    if (!target->joins || !generation_same(&target->joins_after, &target->current.id) ||
        member_flush(target, member, &reason) < 0)
        return NULL;
    member->votes = true;
    return member;
}

/* Nobody writes before the generation says who does. */
static int serve(struct target *target, struct error *err) {
    const struct member *new;
    struct change change = { 0 };

    if (target_launch(target, err) < 0)
        return -1;
    target->suspect = target->sealed ? target_unequal : NULL;
    target->disputed = target->dispute_marked = false;
    new = let_join(target);
    add_replicas(target, err);
    if (new &&new->votes)
        change.with = new->replica.uid;
    if (generation_change(target, change, err) < 0 ||
        graph_add_quorum(target, generation_needed(&target->current), false, err) < 0 ||
        graph_add_export(target, err) < 0)
        return -1;
    target->state = TARGET_SERVING;
    if (target->job == TARGET_REPAIR_FAILED) /* of replicas as they were before this start */
        target_begin_job(target, TARGET_NO_JOB);
    target_unlock_replicas(target);
    rebuild_joined(target);
    log_info(NULL, "volume served", "volume_id", target->volume, "replicas",
             LOG_INT(target->current.count), NULL);
    return 0;
}

/* 0: levelled, 1: still at it. */
static int go_on_levelling(struct target *target, struct error *err) {
    struct quorum_plan ignored;

    if (clock_boottime_us() >= target->epochs_us) {
        target_look(target, &ignored);
        target->epochs_us = clock_boottime_us() + SECOND_US;
    }
    if (target_is_usurped(target))
        return error_set(err, ERROR_CONFLICT, "Another has opened a replica of the volume %s.",
                         target->volume);
    return level_look(target, err);
}

/* What says that it is the volume and cannot be opened is no vote of what could be served. */
static int weigh(struct target *target, struct error *err) {
    const unsigned needed = generation_needed(&target->current);
    struct error reason = { 0 };
    unsigned voters = 0;

    if (target_launch(target, err) < 0)
        return fail_start(target, err);
    add_replicas(target, &reason);
    for (unsigned i = 0; i < target->count; i++)
        voters += target->members[i].votes;
    target->finding = voters < needed ? TARGET_LACKS_VOTES : TARGET_HAS_VOTES;
    if (voters < needed)
        error_set(err, ERROR_UNAVAILABLE,
                  "Of the volume %s %u of %u replicas that it needs can be opened. %.300s",
                  target->volume, voters, needed, reason.message);
    else
        error_set(err, ERROR_CONFLICT,
                  "The volume %s could be served, and nobody is believed alone.", target->volume);
    return fail_start(target, err);
}

int target_start(struct target *target, struct error *err) {
    int outcome = 0;

    if (target->state == TARGET_SERVING && watch_events(target, err) == 0)
        return file_look(target, err);
    if (target->state == TARGET_LEVELLING)
        outcome = go_on_levelling(target, err);
    else
        outcome = begin_start(target, err);
    if (outcome < 0)
        return target->state == TARGET_LEVELLING ? fail_start(target, err) : -1;
    if (outcome > 0)
        return 1;
    if (target->state == TARGET_LEVELLING && end_in_order(target, err) < 0)
        return fail_start(target, err);
    if (target->weighed)
        return weigh(target, err);
    return serve(target, err) < 0 ? fail_start(target, err) : file_look(target, err);
}

/* ---- stop ---- */

static int check_member(const struct target *target, const struct member *member,
                        struct error *err) {
    if (member->failing)
        return error_set(err, ERROR_CONFLICT, "the replica %s: %.300s", member->replica.uid,
                         member->why.message);
    if (member_check_look(member, err) < 0)
        return -1;
    if (!member->votes || member->errors > 0 ||
        !generation_same(&member->look.state.generation.id, &target->current.id))
        return error_set(err, ERROR_CONFLICT, "the replica %s lags behind", member->replica.uid);
    return 0;
}

/* 0: all that voted have everything, and it is on their disks. */
static int check_settled(struct target *target, struct error *err) {
    int result = 0;

    for (unsigned i = 0; i < target->count && result == 0; i++) {
        if (generation_has(&target->current, target->members[i].replica.uid))
            result = check_member(target, &target->members[i], err);
    }
    if (result == 0 && target->suspect)
        result = error_set(err, ERROR_CONFLICT, "%s", target->suspect);
    for (unsigned i = 0; i < target->count && result == 0; i++) {
        if (generation_has(&target->current, target->members[i].replica.uid))
            result = member_flush(target, &target->members[i], err);
    }
    return result;
}

int target_stop_serving(struct target *target, struct error *err) {
    bool served = target->state == TARGET_SERVING, orderly = false;
    struct error reason = { 0 };

    if (served && watch_events(target, &reason) == 0) {
        watch_files(target);
        orderly = end_in_order(target, &reason) == 0;
        watch_events(target, NULL); /* the last ones; then the monitor is gone */
    }
    if (target_kill(target, err) < 0)
        return -1;
    target_unlock_replicas(target);
    if (served && (!orderly || check_settled(target, &reason) < 0))
        log_warning(NULL, "volume not left in good order, its next start makes the replicas equal",
                    "volume_id", target->volume, "reason", reason.message, NULL);
    else if (served && generation_mark(target, REPLICA_CLEAN, &reason) < 0)
        log_warning(NULL, "replica not marked clean", "volume_id", target->volume, "reason",
                    reason.message, NULL);
    target_close_replicas(target);
    return 0;
}

int target_stop(struct target *target, struct error *err) {
    return file_stop(target, err) < 0 ? -1 : target_stop_serving(target, err);
}
