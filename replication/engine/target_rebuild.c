/*
 * A replica is rebuilt while the volume is in use: by a mirror of the quorum's content, which also
 * has each write of a client from its beginning on, and which joins the quorum in one step.
 *
 * Its state is empty until all data are on the disk and the mirror has no pending work. Then the
 * replaced one leaves the quorum, for a write must be on as many of the others as are needed before
 * a generation can be without it; the next generation names the new one in its place; and then it
 * joins the quorum. Meanwhile a write that it misses is on the others that are needed: after a
 * death at any point, it is outvoted or required, as any that fails.
 *
 * Where one more replica is wanted than before, more votes may be needed, too; but a quorum has a
 * fixed threshold. Then clients are disconnected, the copy ends, and the next daemon starts with
 * the replica.
 */
#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "replication/engine/deadline.h"

#include <string.h>

/* One that neither votes nor is named by the generation, as a replica that failed to join: it can
 * make way for another one. NULL: none. */
static struct member *find_dispensable(struct target *target) {
    TARGET_FOREACH(member, target) {
        if (!member_votes(member) && !generation_has(&target->current, member->replica.uid))
            return member;
    }
    return NULL;
}

static int check(struct target *target, const struct replica *replica, const char *replaces,
                 bool grows, struct error *err) {
    const struct member *member = member_find(target, replica->uid);
    const struct member *old = replaces ? member_find(target, replaces) : NULL;

    if (!target_serves(target))
        return error_set(err, ERROR_CONFLICT, "The volume %s is not served.", target->volume);
    if (target_job_runs(target))
        return target_job_refuse(target, err);
    if (replica->pool[0] != '/' || !uuid_is_canonical(replica->uid))
        return error_set(err, ERROR_BAD_REQUEST, "Invalid replica %.64s.", replica->uid);
    if ((member && member_votes(member)) || (replaces && (!old || !member_votes(old))))
        return error_set(err, ERROR_CONFLICT,
                         "A voting replica is not rebuilt, and only a voting one is replaced.");
    if (!replaces && !grows && target->current.count >= target->current.wanted)
        return error_set(err, ERROR_CONFLICT, "The volume %s has all its replicas.",
                         target->volume);
    if (!member && target->count == LENGTH(target->members) && !find_dispensable(target))
        return error_set(err, ERROR_CONFLICT, "The volume %s has too many replicas.",
                         target->volume);
    return 0;
}

static struct member *find_replaced(struct target *target) {
    return target->replaced[0] ? member_find(target, target->replaced) : NULL;
}

/* Removes the remaining nodes of an ended rebuild. */
static int tidy(struct target *target, struct error *err) {
    struct member *member = &target->members[target->rebuilt];
    struct member *old = find_replaced(target);

    assert(target->rebuilt < target->count);
    if (graph_remove_child(target, PLACEHOLDER, err) < 0 ||
        (!member_votes(member) && graph_remove_child(target, member->node, err) < 0))
        return -1;
    return old && !member_votes(old) ? graph_remove_child(target, old->node, err) : 0;
}

static int fail(struct target *target, const struct error *why) {
    struct member *member = &target->members[target->rebuilt];
    struct error ignored;

    assert(target->rebuilt < target->count);
    if (!member_votes(member))
        member_next(member, MEMBER_EVICTED);
    target_job_fail(target, why);
    return tidy(target, &ignored);
}

/* A local one with a damaged state is created again; a foreign one stays, and so does one in
 * unknown condition. A remote one is created by its host. */
static int prepare_replica(struct target *target, struct member *member, struct error *err) {
    struct error reason;

    member->probe_us = 0; /* its host may be reachable since */
    member_probe(target, member);
    if (member->probe.epoch > target->epoch)
        return error_set(err, ERROR_CONFLICT, "The replica %s was opened in a higher epoch.",
                         member->replica.uid);
    if (member_check_probe(member, err) < 0)
        return -1;
    if (!member_is_local(member) || member_create(target, member, &reason) == 0 ||
        reason.kind != ERROR_CONFLICT)
        return 0;
    return error_pass(err, &reason);
}

static int begin_copy(struct target *target, struct error *err) {
    struct member *member = &target->members[target->rebuilt];
    const struct generation more = { .wanted = target->current.count + 1 };

    assert(target->rebuilt < target->count);
    member_next(member, MEMBER_REBUILDS);
    member->mismatches = member->errors = 0;
    assert(!generation_has(&target->current, member->replica.uid));
    if (prepare_replica(target, member, err) < 0 ||
        graph_remove_child(target, member->node, err) < 0 ||
        member_reset(target, member, err) < 0 || member_open(target, member, err) < 0)
        return -1;
    member_name_next(member);
    if (graph_add_replica(target, member, target->size_bytes, err) < 0)
        return -1;
    assert(!member_votes(member));
    /* If another number of votes is needed with one more, it joins the next daemon. */
    if (target->grows && more.wanted > target->current.wanted &&
        generation_needed(&more) != target->threshold) {
        target_job_next(target, JOB_NEEDS_RESTART);
        return target_job_mirror(target, TOP, member->node, NULL, true, err);
    }
    if (graph_add_failing_child(target, err) < 0)
        return -1;
    return target_job_mirror(target, TOP, member->node, PLACEHOLDER, true, err);
}

int rebuild_start(struct target *target, const struct replica *replica, const char *replaces,
                  bool grows, int64_t speed, struct error *err) {
    struct member *member, *dispensable;
    struct error reason;

    if (check(target, replica, replaces, grows, err) < 0 ||
        generation_leave(target, replica->uid, err) < 0)
        return -1;
    member = member_find(target, replica->uid);
    if (!member && target->count == LENGTH(target->members)) {
        dispensable = find_dispensable(target);
        assert(dispensable);
        member_close(target, dispensable);
        member_remove(target, dispensable->replica.uid);
    }
    if (!member)
        member = member_add(target, replica);
    target->speed = speed;
    strcpy(target->replaced, replaces ? replaces : "");
    target->rebuilt = (unsigned)(member - target->members);
    target->grows = grows;
    assert(!member_votes(member) && strcmp(member->replica.uid, target->replaced) != 0);
    target_job_begin(target, TARGET_REBUILD);
    if (begin_copy(target, &reason) == 0)
        return 0;
    fail(target, &reason);
    return error_pass(err, &reason);
}

int target_rebuild(struct target *target, const struct replica *replica, const char *replaces,
                   int64_t speed, struct error *err) {
    return rebuild_start(target, replica, replaces, false, speed, err);
}

/* All is copied, and new writes go there, too. A second completion would crash the daemon. */
static int join_quorum(struct target *target, struct error *err) {
    struct member *old = find_replaced(target);
    struct member *member = &target->members[target->rebuilt];
    struct change change = { .with = member->replica.uid };

    assert(target->rebuilt < target->count && !member_votes(member));
    /* Without a spare replica, a new one that misses a write while it joins could not leave again:
     * the generation needs it then: it joins beside the replaced one, if another is missing. */
    if (old && generation_has(&target->current, old->replica.uid) &&
        !quorum_spares(&target->current, old->replica.uid)) {
        if (target->current.count >= target->current.wanted)
            return error_set(err, ERROR_CONFLICT,
                             "The volume %s has no spare replica: none is replaced in one step.",
                             target->volume);
        target->replaced[0] = '\0';
        old = NULL;
    }
    change.without = old ? old->replica.uid : NULL;
    if (member_flush(target, member, err) < 0)
        return -1;
    if ((old && member_votes(old) ? target_exclude(target, old, change, err)
                                  : generation_change(target, change, err)) < 0)
        return -1;
    assert(!old || !generation_has(&target->current, old->replica.uid));
    if (!member_votes(member))
        return error_set(err, ERROR_BACKEND,
                         "the new replica missed a write, or its state cannot be written");
    target_job_next(target, JOB_COPIED);
    return GRAPH_DO(target, err, "job-complete", "{s:s}", "id", JOB);
}

/* No client writes any more: its missing data, if any, are in flight. 0: it has all. */
static int end_copy(struct target *target, struct error *err) {
    int64_t until_us = deadline_after_us(target->timeout_ms);
    struct graph_job job = { 0 };

    if (target_end_export(target, err) < 0 ||
        GRAPH_DO(target, err, "block-job-cancel", "{s:s}", "device", JOB) < 0)
        return -1;
    while (strcmp(job.status, "concluded") != 0) {
        if (graph_job(target, &job, err) < 0)
            return -1;
        if (!deadline_pause(2, &until_us))
            return error_set(err, ERROR_UNAVAILABLE, "the copy does not end");
    }
    return job.error[0] ? error_set(err, ERROR_BACKEND, "%s", job.error) : 0;
}

/* It votes in the next daemon, or is not a member; the volume is served in any case. */
static int join_by_restart(struct target *target, struct error *err) {
    struct error reason;

    assert(target->job_state != JOB_IS_JOINING);
    if (end_copy(target, &reason) == 0)
        target_job_next(target, JOB_AWAITS_START);
    else
        (void)fail(target, &reason);
    target->joins_after = target->current.id;
    return target_restart(target, err) < 0 ? -1 : 0;
}

static int is_in_quorum(struct target *target, const char *node, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *children[2 * MEMBERS_MOST];
    int count = graph_children(target, arena, children, LENGTH(children), err);

    for (int i = 0; i < count; i++) {
        if (strcmp(children[i], node) == 0)
            return 1;
    }
    return count < 0 ? -1 : 0;
}

static int conclude(struct target *target, const struct graph_job *job, bool joined,
                    struct error *err) {
    struct member *member = &target->members[target->rebuilt];

    assert(target->rebuilt < target->count);
    if (!joined)
        return error_set(err, ERROR_BACKEND, "%s",
                         job->error[0] ? job->error : "the copy was ended before its time");
    if (member->state != MEMBER_IS_VOTING)
        return error_set(err, ERROR_BACKEND, "the new replica missed a write");
    if (member_flush(target, member, err) < 0 || tidy(target, err) < 0)
        return -1;
    if (target->replaced[0]) {
        char uid[UUID_SIZE];

        strcpy(uid, member->replica.uid);
        assert(strcmp(uid, target->replaced) != 0);
        member_remove(target, target->replaced);
        target->rebuilt = (unsigned)(member_find(target, uid) - target->members);
    }
    target_job_next(target, JOB_COMPLETED);
    return 0;
}

/* It was to join the quorum, and did not, or has missed a write there. Two replicas may have
 * different bad blocks in one request: blocks are read one by one. */
static int repeat_copy(struct target *target, const struct graph_job *job, struct error *reason) {
    struct member *member = &target->members[target->rebuilt];
    struct error ignored;

    assert(target->rebuilt < target->count);
    if (member->state == MEMBER_IS_VOTING) {
        member->why = *reason;
        target_note_failing(target, member, MEMBER_MISSED);
    }
    if (member_votes(member) &&
        target_exclude(target, member, (struct change){ .without = member->replica.uid },
                       &ignored) < 0)
        return -1;
    member_next(member, MEMBER_EVICTED);
    watch_events(target, &ignored);
    if (target->failures == target->failures_before || tidy(target, &ignored) < 0 ||
        !target_job_repeat(target, job))
        return -1;
    return begin_copy(target, reason);
}

static int refuse_join(struct target *target, const struct error *why, struct error *err) {
    struct error ignored;

    log_warning(NULL, "rebuilt replica cannot join the quorum", "volume_id", target->volume,
                "replica_id", target->members[target->rebuilt].replica.uid, "reason", why->message,
                NULL);
    target_rebuild_stop(target, &ignored);
    return error_pass(err, why);
}

int rebuild_advance(struct target *target, struct error *err) {
    const struct member *member = &target->members[target->rebuilt];
    struct graph_job job = { 0 };
    struct error reason;
    int found = graph_copy(target, &job, &reason, err), joined;

    assert(target->rebuilt < target->count);
    if (found < 0)
        return -1;
    if (found == 0)
        return fail(target, &reason);
    if (strcmp(job.status, "ready") == 0 && member->state == MEMBER_IS_INCOMPLETE &&
        target_job_may(target, JOB_STOPPED))
        return refuse_join(target, &member->why, err);
    if (strcmp(job.status, "ready") == 0 && target_job_may(target, JOB_AWAITS_START))
        return join_by_restart(target, err);
    if (strcmp(job.status, "ready") == 0 && target_job_may(target, JOB_COPIED) &&
        join_quorum(target, &reason) < 0)
        return refuse_join(target, &reason, err);
    if (strcmp(job.status, "concluded") != 0)
        return 0;
    joined = is_in_quorum(target, member->node, err);
    if (joined < 0 || GRAPH_DO(target, err, "job-dismiss", "{s:s}", "id", JOB) < 0)
        return -1;
    if (conclude(target, &job, joined > 0, &reason) == 0 || repeat_copy(target, &job, &reason) == 0)
        return 0;
    if (target_serves(target))
        fail(target, &reason);
    return error_pass(err, &reason);
}
