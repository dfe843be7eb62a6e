#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/log.h"

#include <stdio.h>
#include <string.h>

void member_remove(struct target *target, const char *uid) {
    struct member *member = member_find(target, uid);

    assert(!generation_has(&target->current, uid));
    if (!member)
        return;
    logs_remove(target, member);
    cleanup_close(&member->lock);
    target->count--;
    memmove(member, member + 1,
            (size_t)(&target->members[target->count] - member) * sizeof(*member));
}

void target_plan(struct target *target, struct quorum_plan *ret) {
    const struct replica_state *states[LENGTH(target->members)] = { NULL };

    for (unsigned i = 0; i < target->count; i++) {
        struct member *member = &target->members[i];

        member_probe(target, member);
        if (member->probe.health == REPLICA_GOOD && member->state != MEMBER_IS_EXCLUDED)
            states[i] = &member->probe.state;
    }
    quorum_plan(target->volume, states, target->count, generation_floor(target->recovery), ret);
}

void target_unlock_replicas(struct target *target) {
    for (unsigned i = 0; i < target->count; i++) {
        cleanup_close(&target->members[i].lock);
        target->members[i].lock = -1;
    }
}

int target_lock_replicas(struct target *target, struct error *err) {
    struct error reason;

    TARGET_FOREACH(member, target) {
        /* A session of a remote replica is exclusive by itself. */
        if (!member_is_local(member) || member->lock >= 0 || member_lock(member, &reason) == 0 ||
            reason.kind != ERROR_CONFLICT)
            continue;
        target_unlock_replicas(target);
        return error_pass(err, &reason);
    }
    return 0;
}

/* One that fails leaves then, if the others are enough. */
void target_note_compared(struct target *target) {
    unsigned equal = 0;

    if (target->phase != TARGET_IS_RESYNCHRONIZING || target->compared_bytes < target->size_bytes)
        return;
    TARGET_FOREACH(member, target) {
        if (!member_votes(member) || member_fails(member))
            continue;
        if (member->mismatches > 0)
            return;
        equal++;
    }
    if (equal < target->threshold)
        return;
    target_next(target, TARGET_COMPARED);
    /* Writes that they have missed are repaired. */
    TARGET_FOREACH(member, target) {
        if (member_votes(member) && !member_fails(member))
            member->errors = 0;
    }
}

/* ---- generations ---- */

/* A newer generation that is not ours was written by another owner; and a path that leads to a copy
 * now has a state that is unrelated to the file in use. */
static int refuse_foreign(struct target *target, struct member *member, struct error *err) {
    const struct generation *ours = &target->current, *theirs = &member->probe.state.generation;

    member_probe(target, member);
    if (target_serves(target) && member->probe.health == REPLICA_GOOD && !member->probe.held)
        return error_set(err, ERROR_CONFLICT, "The replica %s in %s is not the served file.",
                         member->replica.uid, member->replica.pool);
    if (!member->probe.has_state || theirs->id.number < ours->id.number ||
        generation_same(&theirs->id, &ours->id))
        return 0;
    return error_set(err, ERROR_CONFLICT, "Another process has taken over the replica %s in %s.",
                     member->replica.uid, member->replica.pool);
}

static int write_one(struct target *target, struct member *member, const void *mark,
                     struct error *err) {
    struct replica_state state = { .mark = *(const enum replica_mark *)mark,
                                   .generation = target->current };

    assert(state.mark == REPLICA_DIRTY || state.mark == REPLICA_CLEAN);
    assert(target->current.id.number > 0);
    assert(generation_has(&target->current, member->replica.uid));
    snprintf(state.volume, UUID_SIZE, "%s", target->volume);
    snprintf(state.replica, UUID_SIZE, "%s", member->replica.uid);
    if (refuse_foreign(target, member, err) < 0 ||
        member_write_state(target, member, &state, err) < 0)
        return -1;
    member->probe.state = state;
    member->probe.has_state = true;
    return 0;
}

/* Writes the current generation to these at once, as each waits for its disk twice. Those that do
 * not take it vote no more; *err is the reason of one. Returns their number. */
static unsigned write_to(struct target *target, const members_t which, enum replica_mark mark,
                         members_t votes, struct error *err) {
    struct member_outcome written[MEMBERS_MOST];
    unsigned failed = 0;

    members_do(target, which, write_one, &mark, written);
    for (unsigned i = 0; i < target->count; i++) {
        if (which[i])
            votes[i] = written[i].result == 0;
        if (!which[i] || votes[i])
            continue;
        failed++;
        *err = written[i].err;
        if (mark == REPLICA_DIRTY)
            log_warning(NULL, "state of a replica cannot be written", "volume_id", target->volume,
                        "replica_id", target->members[i].replica.uid, "reason", err->message, NULL);
    }
    return failed;
}

/* A member that cannot take it is not awaited: the change that follows evicts it. */
static unsigned roll_forward(struct target *target, members_t votes, struct error *reason) {
    members_t behind = { false };

    for (unsigned i = 0; i < target->count; i++) {
        const struct member *member = &target->members[i];

        behind[i] = votes[i] && generation_has(&target->current, member->replica.uid) &&
                    !generation_same(&member->probe.state.generation.id, &target->current.id);
    }
    return write_to(target, behind, REPLICA_DIRTY, votes, reason);
}

/* Members that have the generation before, or will: without a newcomer. */
static unsigned count_old(const struct target *target, const struct generation *before) {
    unsigned count = 0;

    for (unsigned i = 0; i < before->count; i++)
        count += generation_has(&target->current, before->members[i]);
    return count;
}

/* To the new one last, where the others are enough for the generation; otherwise first: with it,
 * they are enough by its base. */
static unsigned write_current(struct target *target, const struct generation *before,
                              members_t votes, struct error *err) {
    const bool enough = count_old(target, before) >= generation_needed(&target->current);
    members_t old = { false }, new = { false };
    unsigned failed;

    for (unsigned i = 0; i < target->count; i++) {
        const char *uid = target->members[i].replica.uid;

        if (generation_has(&target->current, uid))
            (generation_has(before, uid) ? old : new)[i] = true;
    }
    failed = write_to(target, enough ? old : new, REPLICA_DIRTY, votes, err);
    return failed > 0 ? failed : write_to(target, enough ? new : old, REPLICA_DIRTY, votes, err);
}

/* With a newcomer, the others are a majority of the generation before; and once a member has not
 * taken one, a newcomer does not make up for it. */
static bool may_follow(const struct target *target, const struct generation *before,
                       const struct generation *tried) {
    const struct generation *next = &target->current;
    const unsigned old = count_old(target, before);

    if (!generation_follows(before, next) || !generation_follows(tried, next))
        return false;
    return old == next->count ||
           (old >= generation_needed(before) &&
            (generation_same(&tried->id, &before->id) || old >= generation_needed(next)));
}

static bool is_named(const char *uid, const struct member *member) {
    return uid && strcmp(uid, member->replica.uid) == 0;
}

static void next_generation(struct target *target, const members_t votes,
                            const struct generation *before, struct change change) {
    struct generation next;

    generation_next(&target->current, &clock_system, &next);
    next.size_bytes = target->size_bytes;
    for (unsigned i = 0; i < target->count; i++) {
        const struct member *member = &target->members[i];

        if (votes[i] && !is_named(change.without, member))
            generation_add(&next, member->replica.uid);
    }
    next.wanted = change.wanted ? change.wanted : before->wanted;
    /* Not all have the one that wanted more. */
    if (!generation_same(&target->current.id, &before->id) && change.with &&
        generation_has(&next, change.with) && next.wanted < target->current.wanted)
        next.wanted = target->current.wanted;
    if (next.wanted < next.count)
        next.wanted = next.count;
    assert(next.count <= next.wanted && next.wanted <= REPLICAS_MOST);
    assert(next.id.number > before->id.number);
    assert(next.size_bytes >= before->size_bytes);
    target->current = next;
}

static int too_few(const struct target *target, const struct error *reason, struct error *err) {
    return error_set(err, ERROR_UNAVAILABLE, "The volume %s would have too few replicas.%s%.200s",
                     target->volume, reason->message[0] ? " " : "", reason->message);
}

static void follow_change(struct target *target, const members_t votes, const char *without) {
    for (unsigned i = 0; i < target->count; i++) {
        struct member *member = &target->members[i];
        bool stays = votes[i] && !is_named(without, member);

        if (member_votes(member) && !stays)
            member_next(member, MEMBER_EVICTED);
        else if (!member_votes(member) && stays)
            member_next(member, MEMBER_JOINS);
    }
}

/* A member that did not take the first one with a newcomer, and without which the others were no
 * majority before, stays and fails: with the newcomer they are one, and those that have the
 * generation before are none without them. */
static bool joins_beside_failing(struct target *target, const struct generation *before,
                                 const char *with, members_t votes, struct error *reason) {
    members_t new = { false };
    unsigned taken = 0;

    if (!target_serves(target) || !with || !generation_has(&target->current, with) ||
        !generation_same(&target->current.base, &before->id))
        return false;
    for (unsigned i = 0; i < target->count; i++) {
        const char *uid = target->members[i].replica.uid;

        new[i] = strcmp(uid, with) == 0;
        taken += votes[i] && !new[i] && generation_has(&target->current, uid);
    }
    if (taken == 0 || taken + 1 < generation_needed(&target->current) ||
        before->count - taken >= generation_needed(before) ||
        write_to(target, new, REPLICA_DIRTY, votes, reason) > 0)
        return false;
    TARGET_FOREACH(member, target) {
        if (!member_votes(member) || votes[member - target->members] ||
            !generation_has(&target->current, member->replica.uid))
            continue;
        votes[member - target->members] = true;
        member->why = *reason;
        target_note_failing(target, member, MEMBER_MISSED);
    }
    return true;
}

/*
 * A generation that one member did not take is followed by one without it, made from it: so each
 * remaining member has the base of the next, after a death at any point. Others join, or fewer are
 * wanted, only when all have the one before: else those that have only its base could be a majority
 * there. In any case the members that have the last one, or its base, are enough to be served: the
 * pools that have failed may recover, and no other replica will (test_target_state.c).
 */
int generation_change(struct target *target, struct change change, struct error *err) {
    const struct generation before = target->current;
    struct error reason = { 0 };
    members_t votes = { false };

    assert(before.id.number > 0 && change.wanted <= REPLICAS_MOST);
    assert(!change.with || !change.without || strcmp(change.with, change.without) != 0);
    /* One that an interrupted change has left out votes in no later one, until it is rebuilt. */
    for (unsigned i = 0; i < target->count; i++) {
        const struct member *member = &target->members[i];

        votes[i] = is_named(change.with, member) ||
                   (member_votes(member) && generation_has(&before, member->replica.uid));
    }
    if (roll_forward(target, votes, &reason) > 0 && (change.wanted > 0 || change.with))
        return too_few(target, &reason, err);
    do {
        struct generation tried = target->current;

        next_generation(target, votes, &before, change);
        if (!may_follow(target, &before, &tried)) {
            target->current = tried;
            if (joins_beside_failing(target, &before, change.with, votes, &reason))
                break;
            return too_few(target, &reason, err);
        }
    } while (write_current(target, &before, votes, &reason) > 0);
    assert(target->current.count >= generation_needed(&target->current));
    follow_change(target, votes, change.without);
    return 0;
}

int generation_leave(struct target *target, const char *replica, struct error *err) {
    return generation_has(&target->current, replica)
               ? generation_change(target, (struct change){ .without = replica }, err)
               : 0;
}

int generation_mark(struct target *target, enum replica_mark mark, struct error *err) {
    members_t which = { false }, marked;

    assert(mark != REPLICA_CLEAN || !target->qmp); /* no writer runs any more */
    for (unsigned i = 0; i < target->count; i++)
        which[i] = generation_has(&target->current, target->members[i].replica.uid);
    return write_to(target, which, mark, marked, err) > 0 ? -1 : 0;
}
