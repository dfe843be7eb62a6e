#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "common/no_space.h"
#include "replication/engine/deadline.h"

#include <string.h>

#define PAUSE_MS 5

/* Another owner has taken over: the state of a voter's open file is not ours, or a replica was
 * opened in a higher epoch. A file that replaced a voter's, as after the exchange of a disk, is no
 * evidence. */
static bool is_taken_over(const struct target *target) {
    TARGET_FOREACH(member, target) {
        const struct generation_id *id = &member->probe.state.generation.id;

        if (member->probe.epoch > target->epoch)
            return true;
        if (target_serves(target) && member_votes(member) && member->probe.health == REPLICA_GOOD &&
            member->probe.held && generation_has(&target->current, member->replica.uid) &&
            !generation_same(id, &target->current.id) &&
            !generation_same(id, &target->current.base))
            return true;
    }
    return false;
}

/* ---- reactions ---- */

static bool is_rebuilt(const struct target *target, const struct member *member) {
    return target_job_is(target, TARGET_REBUILD) && member == &target->members[target->rebuilt];
}

/* A remote one that has failed a request has lost its connection, unless its pool is full. */
static bool is_readable(const struct member *member) {
    return member_is_local(member) || error_is_no_space(&member->why);
}

bool target_needs(const struct target *target, const struct member *member) {
    const bool lacks_writes = member->state == MEMBER_IS_FAILING && is_readable(member);
    unsigned others = 0;

    for (unsigned i = 0; i < target->count; i++) {
        const struct member *other = &target->members[i];

        others += other != member && member_votes(other) && !is_rebuilt(target, other) &&
                  generation_has(&target->current, other->replica.uid) &&
                  (!lacks_writes || (!member_fails(other) && other->mismatches == 0 &&
                                     !target_is_resynchronizing(target)));
    }
    return generation_has(&target->current, member->replica.uid) &&
           others < generation_needed(&target->current);
}

int target_evict(struct target *target, const char *replica, struct error *err) {
    struct member *member = member_find(target, replica);
    bool failed;

    if (!member || !member_votes(member))
        return 0;
    if (!target_serves(target))
        return error_set(err, ERROR_CONFLICT, "The volume %s is not served.", target->volume);
    if (target_needs(target, member))
        return error_set(err, ERROR_CONFLICT, "The volume %s needs its replica %s.", target->volume,
                         replica);
    failed = member_fails(member);
    /* Its copy is the daemon's child, not yet it: it leaves when that has ended. */
    if (is_rebuilt(target, member))
        return target_rebuild_stop(target, err);
    if (target_exclude(target, member, (struct change){ .without = replica }, err) < 0)
        return -1;
    member_close(target, member);
    log_warning(NULL, "replica removed from the quorum", "volume_id", target->volume, "replica_id",
                replica, "reason", failed ? member->why.message : "it is to be rebuilt", NULL);
    return 0;
}

/* The next one to fail after the number `after`, of those with a lost file, or of the others. */
static const struct member *find_failing(struct target *target, bool lost, unsigned after) {
    const struct member *found = NULL;

    TARGET_FOREACH(member, target) {
        if (member_votes(member) && member_fails(member) && member->failed > after &&
            (member->state == MEMBER_IS_UNLINKED) == lost &&
            (!found || member->failed < found->failed))
            found = member;
    }
    return found;
}

/* Includes those that a generation was written without, because they did not take it. A needed one
 * stays, and where no majority is equal the block is refused. */
static int evict_failing(struct target *target, struct error *err) {
    int result = 0;

    for (int lost = 1; lost >= 0; lost--) {
        const struct member *member = NULL;

        while (target_serves(target) &&
               (member = find_failing(target, lost > 0, member ? member->failed : 0)) != NULL) {
            if ((lost || !target_needs(target, member)) &&
                target_evict(target, member->replica.uid, err) < 0)
                result = -1;
        }
    }
    return result;
}

int target_resume(struct target *target, struct error *err) {
    unsigned count = 0;

    if (!target_serves(target) || target->sealed)
        return error_set(err, ERROR_CONFLICT, "The volume %s is not served.", target->volume);
    TARGET_FOREACH(member, target) {
        if (member->state != MEMBER_IS_FAILING || !is_readable(member) ||
            !generation_has(&target->current, member->replica.uid) ||
            clock_boottime_us() < member->reported_us + EVENTS_LATE_US)
            continue;
        member_next(member, MEMBER_RESUMES);
        count++;
    }
    if (count == 0)
        return error_set(err, ERROR_UNAVAILABLE, "The replicas of the volume %s still fail.",
                         target->volume);
    target_next(target, TARGET_RESUMES);
    if (target->threshold == 1) { /* there is nothing to compare it with */
        target->compared_bytes = target->size_bytes;
        target_note_compared(target);
    }
    return 0;
}

/* And those of replicas that do not vote: their files are closed. */
static int remove_unknown_nodes(struct target *target, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *children[2 * MEMBERS_MOST];
    int count = graph_children(target, arena, children, LENGTH(children), err);

    for (int i = 0; i < count; i++) {
        const struct member *member = member_of_node(target, children[i]);

        if ((!member || !member_votes(member)) && strcmp(children[i], PLACEHOLDER) != 0 &&
            graph_remove_child(target, children[i], err) < 0)
            return -1;
    }
    TARGET_FOREACH(member, target) {
        if (!member_votes(member) && graph_remove_node(target, member->node, err) < 0)
            return -1;
    }
    return count < 0 ? -1 : 0;
}

/* Writes to an unlinked file are lost, and a replica that the generation does not name has missed
 * some: an answered write must be in as many of the others as are needed. With fewer the daemon
 * ends, and its clients are disconnected; the next start takes those that can be written to then.
 */
static int refuse_too_few(struct target *target, struct error *err) {
    const struct member *first = NULL;
    const char *why;
    unsigned linked = 0;
    struct error reason;

    TARGET_FOREACH(member, target) {
        bool named = generation_has(&target->current, member->replica.uid);

        linked += named && member_votes(member) && member->state != MEMBER_IS_UNLINKED;
        if (!first && (member->state == MEMBER_IS_UNLINKED || named != member_votes(member)))
            first = member;
    }
    if (!first || linked >= target->threshold)
        return 0;
    why = first->state == MEMBER_IS_UNLINKED ? first->why.message
          : member_votes(first)              ? "the generation does not name it"
                                             : "it has left the quorum, or did not join it";
    error_set(&reason, ERROR_UNAVAILABLE,
              "The volume %s is not served: %u of its replicas can be written to, and %u are "
              "needed. Replica %s: %.300s",
              target->volume, linked, target->threshold, first->replica.uid, why);
    log_error(NULL, "volume stopped, too few replicas can be written to", "volume_id",
              target->volume, "replicas", LOG_INT(linked), "needed", LOG_INT(target->threshold),
              "reason", why, NULL);
    return target_kill(target, err) < 0 ? -1 : error_pass(err, &reason);
}

static int watch_job(struct target *target, struct error *err) {
    static int (*const steps[])(struct target * target, struct error * err) = {
        [TARGET_REBUILD] = rebuild_advance,
        [TARGET_SNAPSHOT] = copies_advance,
        [TARGET_REVERT] = revert_advance,
        [TARGET_REPAIR] = repair_advance,
    };

    assert(!target_job_runs(target) || (target->job < LENGTH(steps) && steps[target->job]));
    return target_job_runs(target) ? steps[target->job](target, err) : 0;
}

int target_watch(struct target *target, struct error *err) {
    struct error ignored;
    int result;

    if (!target_serves(target))
        return 0;
    if (watch_events(target, err) < 0) {
        target_kill(target, &ignored);
        return error_context(err, "the volume %s", target->volume);
    }
    assert(target->threshold > 0);
    watch_files(target);
    if (refuse_too_few(target, err) < 0)
        return -1;
    if (is_taken_over(target)) {
        target_kill(target, &ignored);
        return error_set(err, ERROR_CONFLICT, "Another process has taken over the volume %s.",
                         target->volume);
    }
    /* Before a copy ends: it may replace one that has failed. */
    result = evict_failing(target, err);
    if (!target_serves(target))
        return -1;
    if (watch_job(target, err) < 0)
        result = -1;
    if (!target_serves(target))
        return result;
    scrub_recheck(target);
    target_note_compared(target); /* a rebuilt one may have made up for one that fails */
    if (!target_job_is(target, TARGET_REBUILD) && remove_unknown_nodes(target, err) < 0)
        result = -1;
    if (result == 0)
        logs_follow(target);
    return file_reconcile(target, err) < 0 ? -1 : result;
}

int target_fd(const struct target *target) {
    return target->qmp ? qmp_fd(target->qmp) : -1;
}

void target_status(struct target *target, struct target_status *ret) {
    bool serves = target_serves(target);

    *ret = (struct target_status){ .state = serves ? TARGET_SERVING : TARGET_DOWN,
                                   .finding = target->phase == TARGET_IS_WITHOUT_QUORUM
                                                  ? TARGET_LACKS_QUORUM
                                              : target->phase == TARGET_IS_ABLE ? TARGET_HAS_QUORUM
                                                                                : TARGET_NO_FINDING,
                                   .wanted = target->current.wanted,
                                   .needed = generation_needed(&target->current),
                                   .size_bytes = target->size_bytes,
                                   .failures = target->failures,
                                   .decided_blocks = target->decided_blocks,
                                   .resynchronizing = target_is_resynchronizing(target),
                                   .resyncs = target->resyncs,
                                   .decisions = target->decisions,
                                   .job = target_job_now(target),
                                   .job_replica = target_job_replica(target),
                                   .job_error = target->job_error,
                                   .done_bytes = target->done_bytes,
                                   .total_bytes = target->total_bytes };
    ret->has_file = target->export == TARGET_EXPORT_FILE && target->file_bytes > 0;
    if (ret->has_file && ret->size_bytes > target->file_bytes)
        ret->size_bytes = target->file_bytes;
    assert(target->count <= LENGTH(ret->replicas));
    TARGET_FOREACH(member, target) {
        bool votes = serves && member_votes(member);
        struct target_replica *replica = &ret->replicas[ret->count++];

        *replica = (struct target_replica){ .replica = member->replica,
                                            .probe = member->probe,
                                            .votes = votes,
                                            .mismatches = member->mismatches,
                                            .errors = member->errors };
        if (votes && member_fails(member))
            replica->why = member->why;
        ret->failed += votes && member_fails(member);
        ret->voters += votes;
    }
}

/* ---- adoption ---- */

/* A job of the former owner is not continued: a replica that is partly rebuilt is rebuilt again. */
static int end_job(struct target *target, struct error *err) {
    int64_t until_us = deadline_after_us(target->timeout_ms);
    struct error ignored;
    struct graph_job job;
    bool cancelled = false;
    int found;

    while ((found = graph_job(target, &job, err)) > 0) {
        if (strcmp(job.status, "concluded") == 0)
            return GRAPH_DO(target, err, "job-dismiss", "{s:s}", "id", JOB);
        if (!cancelled)
            (void)GRAPH_DO(target, &ignored, "block-job-cancel", "{s:s, s:b}", "device", JOB,
                           "force", true); /* it may have ended meanwhile */
        cancelled = true;
        if (!deadline_pause(PAUSE_MS, &until_us))
            return error_set(err, ERROR_UNAVAILABLE, "the job does not end");
    }
    return found;
}

/* A partly rebuilt one may have any name. */
static int remove_nodes(struct target *target, struct member *member, struct error *err) {
    const char first = member->node[0];

    do {
        if (graph_remove_child(target, member->node, err) < 0)
            return -1;
        member_name_next(member);
    } while (member->node[0] != first);
    return 0;
}

/* The members of the quorum and of the generation must be the same: only these vote. The former
 * owner has not checked whether the others have each write that was answered before a voter has
 * left the quorum: then the next start takes that one, too. */
static int adopt_voters(struct target *target, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *children[2 * MEMBERS_MOST];
    int count = graph_children(target, arena, children, LENGTH(children), err);

    target_plan(target, &target->plan);
    if (count < 0 ||
        (target->plan.verdict != QUORUM_SERVES && target->plan.verdict != QUORUM_RESYNC))
        return error_set(err, ERROR_BACKEND, "its replicas are unknown");
    target->current = target->plan.current;
    target->size_bytes = target->current.size_bytes;
    for (unsigned i = 0; i < target->count; i++) {
        struct member *member = &target->members[i];
        bool serves = false;

        for (int j = 0; j < count && !serves; j++)
            serves = member_is_named(member, children[j]);
        if (target->plan.votes[i] && member->probe.held && serves)
            member_next(member, MEMBER_CHOSEN);
        if (!serves && target->plan.votes[i])
            return error_set(err, ERROR_CONFLICT, "it does not write to the replica %s",
                             member->replica.uid);
        if (!serves && remove_nodes(target, member, err) < 0)
            return -1;
    }
    return 0;
}

/* The files are ours as long as the daemon has them; a remote session is of one epoch. An unchanged
 * generation is not written: a pool may be full. */
static int adopt_members(struct target *target, struct error *err) {
    bool same = true;

    TARGET_FOREACH(member, target) {
        bool votes = member_votes(member), local = member_is_local(member);

        if (!local)
            member->opened = votes;
        if (votes && local && member_adopt(target, member, err) < 0)
            return -1;
        if (votes && !local && member->probe.epoch != target->epoch)
            return error_set(err, ERROR_CONFLICT, "it serves in another epoch");
        same &=
            votes == generation_has(&target->current, member->replica.uid) &&
            (!votes || generation_same(&member->probe.state.generation.id, &target->current.id));
    }
    return same ? 0 : generation_change(target, (struct change){ 0 }, err);
}

int target_adopt(struct target *target, struct error *err) {
    int served;

    if (target->sealed)
        return error_set(err, ERROR_CONFLICT, "the target is sealed");
    if (target_connect(target, err) < 0)
        return -1;
    served = graph_adopt_export(target, err);
    if (served <= 0)
        return served < 0 ? -1 : error_set(err, ERROR_CONFLICT, "it has no export");
    if (end_job(target, err) < 0 || adopt_voters(target, err) < 0 ||
        graph_remove_child(target, PLACEHOLDER, err) < 0 || remove_unknown_nodes(target, err) < 0 ||
        copies_tidy(target, err) < 0 || repair_tidy(target, err) < 0 ||
        adopt_members(target, err) < 0 || graph_set_qos(target, err) < 0)
        return -1;
    if (target->threshold != generation_needed(&target->current))
        return error_set(err, ERROR_CONFLICT, "its quorum has another threshold");
    target->adopted_us = clock_boottime_us() + EVENTS_LATE_US;
    assert(target->threshold > 0 && target->current.id.number > 0);
    target_next(target, TARGET_ADOPTED);
    logs_note_lost_reports(target);
    return 0;
}
