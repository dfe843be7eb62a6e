/*
 * Write logs of the replicas (replication/engine/write_log.h): the generation of their entries, by
 * which the start after an unclean stop decides (replication/engine/target_logs_decision.c).
 *
 * Of a generation without a spare replica each answered write is on every member: all logs count.
 * With a spare one, logs of local replicas count, for QEMU's quorum answers a write only when each
 * child has completed or failed it, and a local child has the entry before the kernel has the
 * write, whether that fails or not. So the newest entry of such a log is of the last answered
 * write, or of a later one, as long as the replica is in the quorum. Each event that would break
 * this ends the log, or its entries so far:
 *
 *   - a replica that leaves the quorum loses its log first;
 *   - so does one that failed a write: the daemon may have refused it before it reached the
 *     kernel;
 *   - reports that were lost, or not read before a daemon is adopted, may be of such a write,
 *     so that all logs start again;
 *   - the daemon removes a log that it cannot open
 *     (replication/engine/daemon_preload_writes.c).
 *
 * Another host may not know of a failed write on its replica: with a spare, it has no log.
 */
#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/log.h"

static const struct generation_id no_generation;

/* ---- which entries count ---- */

static bool is_exact(const struct generation *generation) {
    return generation->count == generation_needed(generation);
}

static bool is_kept(const struct target *target, const struct generation *generation) {
    return !target->sealed && generation->count > 1;
}

/* The generation of its entries from now on; none. */
static const struct generation_id *entries_of(const struct target *target,
                                              const struct member *member) {
    const struct generation *current = &target->current;
    bool counts = is_exact(current) || (member_is_local(member) && !member_fails(member));

    return is_kept(target, current) && counts ? &current->id : &no_generation;
}

int logs_remove(const struct target *target, const struct member *member) {
    autoarena struct arena *arena = arena_new();

    if (!member_is_local(member))
        return 0;
    return write_log_remove(write_log_directory(arena, target->run), member->replica.uid);
}

/* Without a log no content is justified; that has no other effect. */
static void set_log(struct target *target, struct member *member,
                    const struct generation_id *before, const struct generation_id *next) {
    autoarena struct arena *arena = arena_new();
    struct replica_request request = { .kind = ACCESS_BEGIN_LOG,
                                       .replica = &member->replica,
                                       .epoch = target->epoch,
                                       .before = before,
                                       .next = next };
    struct error reason;
    int outcome;

    assert(next->number >= 0);
    if (generation_same(&member->logged, next))
        return;
    member->logged = *next;
    outcome = member_is_local(member) ? write_log_begin(write_log_directory(arena, target->run),
                                                        member->replica.uid, before, next, &reason)
                                      : replica_request(member->access, &request, &reason);
    if (outcome == 0)
        return;
    logs_remove(target, member);
    log_warning(NULL, "write log not available", "volume_id", target->volume, "replica_id",
                member->replica.uid, "reason", reason.message, NULL);
}

/* Those of remote replicas await the end of a rebuild. A joined one is not in the quorum yet. */
void logs_follow(struct target *target) {
    bool fits = target->threshold == generation_needed(&target->current);
    bool rebuilds = target_job_is(target, TARGET_REBUILD);

    assert(!rebuilds || target->rebuilt < target->count);
    if (rebuilds && member_votes(&target->members[target->rebuilt]))
        return;
    TARGET_FOREACH(member, target) {
        if (member_votes(member) && (member_is_local(member) || !rebuilds))
            set_log(target, member, &no_generation,
                    fits ? entries_of(target, member) : &no_generation);
    }
}

void logs_begin(struct target *target, const struct logs *logs) {
    assert(!logs->usable || target->plan.verdict == QUORUM_RESYNC);
    TARGET_FOREACH(member, target) {
        member->logged = (struct generation_id){ .number = member_is_local(member) ? -1 : 0 };
        if (member_votes(member))
            set_log(target, member, logs->usable ? &target->plan.current.id : &no_generation,
                    entries_of(target, member));
    }
}

/* May a write have been answered that this member has failed? Its log may lack the entry. */
static bool may_lack_entries(const struct target *target, const struct member *member) {
    return member_is_local(member) && member_votes(member) &&
           (!is_exact(&target->current) || target_job_is(target, TARGET_REBUILD));
}

void logs_note_failed_write(const struct target *target, const struct member *member) {
    if (may_lack_entries(target, member) && logs_remove(target, member) < 0)
        log_warning(NULL, "write log not removed", "volume_id", target->volume, "replica_id",
                    member->replica.uid, NULL);
}

void logs_note_lost_reports(struct target *target) {
    for (unsigned i = 0; i < target->count; i++) {
        if (may_lack_entries(target, &target->members[i]))
            set_log(target, &target->members[i], &no_generation, &no_generation);
    }
}

void logs_end(struct target *target) {
    TARGET_FOREACH(member, target) {
        if (member_is_local(member))
            logs_remove(target, member);
        else if (member->opened && member->logged.number > 0)
            set_log(target, member, &no_generation, &no_generation);
    }
}

/* ---- their entries ---- */

/* A peer of another version has none. */
static void read_log(struct target *target, unsigned i, struct logs *logs) {
    struct member *member = &target->members[i];
    struct write_log *log = &logs->logs[i];
    struct replica_request request = { .kind = ACCESS_READ_LOG,
                                       .replica = &member->replica,
                                       .epoch = target->epoch,
                                       .arena = logs->arena,
                                       .log = log };
    struct error reason;

    *log = (struct write_log){ .count = 0 };
    if (member_is_local(member))
        write_log_read(logs->arena, write_log_directory(logs->arena, target->run),
                       member->replica.uid, log);
    else if (replica_request(member->access, &request, &reason) < 0)
        log_warning(NULL, "write log not available", "volume_id", target->volume, "replica_id",
                    member->replica.uid, "reason", reason.message, NULL);
    if (!generation_same(&log->generation, &target->plan.current.id))
        log->count = 0;
}

/* A remote host with false entries must not decide about another replica's content: its log counts
 * only without a local replica. */
void logs_read(struct target *target, struct arena *arena, struct logs *ret) {
    const struct generation *found = &target->plan.current;
    bool local = !is_exact(found);
    unsigned voters = 0;

    *ret = (struct logs){ .arena = arena };
    if (target->plan.verdict != QUORUM_RESYNC || !is_kept(target, found))
        return;
    /* Each answered write is on as many voters as are needed. */
    TARGET_FOREACH(member, target) {
        if (!member_votes(member))
            continue;
        if (!generation_has(found, member->replica.uid))
            return;
        voters++;
        local |= member_is_local(member);
    }
    if (voters < generation_needed(found))
        return;
    ret->usable = true;
    for (unsigned i = 0; i < target->count; i++) {
        if (member_votes(&target->members[i]) && member_is_local(&target->members[i]) == local)
            read_log(target, i, ret);
    }
}
