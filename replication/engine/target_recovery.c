/*
 * Forced recovery: after a permanent loss of the quorum an operator declares one replica the
 * latest. It becomes a volume of one replica, in a generation above all that writers can have made
 * before; all others are outdated by that, and are rebuilt as new ones are.
 *
 * Only one state is written, that of the replica itself. So it is done or not after any death, and
 * its number shows that it must not be repeated: later writes would be lost.
 */
#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/log.h"

#include <stdio.h>
#include <string.h>

static int recovery_refuse(enum target_flaw flaw, enum target_flaw *ret, struct error *err,
                           const struct member *member, const char *why) {
    *ret = flaw;
    return error_set(err, ERROR_CONFLICT,
                     "Forced recovery from the replica %s is not possible: %.300s",
                     member->replica.uid, why);
}

/* An empty one may be partly rebuilt, whatever its data look like. */
static int check(const struct target *target, const struct member *member, enum target_flaw *ret,
                 struct error *err) {
    const struct replica_probe *probe = &member->probe;

    if (member->state == MEMBER_IS_EXCLUDED)
        return recovery_refuse(TARGET_UNREACHABLE, ret, err, member, member->why.message);
    if (probe->health == REPLICA_GONE || probe->health == REPLICA_FAILING)
        return recovery_refuse(TARGET_UNREACHABLE, ret, err, member, probe->why.message);
    if (probe->health != REPLICA_GOOD)
        return recovery_refuse(TARGET_UNUSABLE, ret, err, member, probe->why.message);
    if (probe->state.mark == REPLICA_EMPTY || probe->state.generation.id.number <= 0)
        return recovery_refuse(TARGET_NOT_REBUILT, ret, err, member,
                               "it is empty, or its rebuild was not completed.");
    if (strcmp(probe->state.volume, target->volume) != 0)
        return recovery_refuse(TARGET_UNUSABLE, ret, err, member, "it is of another volume.");
    if (probe->bytes < target->size_bytes)
        return recovery_refuse(TARGET_UNUSABLE, ret, err, member, "its file is too short.");
    *ret = TARGET_NO_FLAW;
    return 0;
}

int target_may_recover(struct target *target, const char *replica, enum target_flaw *ret,
                       struct error *err) {
    const struct member *member = member_find(target, replica);

    if (member)
        return check(target, member, ret, err);
    *ret = TARGET_UNUSABLE;
    return error_set(err, ERROR_CONFLICT, "%.64s is no replica of the volume %s.", replica,
                     target->volume);
}

/* A writer has continued from it, and may have newer data: an older copy of the replica is not
 * recovered again. */
static bool has_begun(const struct target *target) {
    for (unsigned i = 0; i < target->count; i++) {
        const struct replica_probe *probe = &target->members[i].probe;

        if (probe->has_state && probe->state.mark != REPLICA_EMPTY &&
            strcmp(probe->state.volume, target->volume) == 0 &&
            probe->state.generation.id.number >= generation_floor(target->recovery))
            return true;
    }
    return false;
}

int recovery_apply(struct target *target, struct error *err) {
    struct member *member =
        target->recover_from[0] ? member_find(target, target->recover_from) : NULL;
    struct replica_state state;
    enum target_flaw ignored;
    struct error reason;

    assert(!target_serves(target));
    if (!member)
        return 0;
    for (unsigned i = 0; i < target->count; i++)
        member_probe(target, &target->members[i]);
    if (has_begun(target) || check(target, member, &ignored, &reason) < 0)
        return 0;
    state = member->probe.state;
    assert(target->recovery > 0 && state.mark != REPLICA_EMPTY);
    state.mark = REPLICA_DIRTY;
    generation_recover(&member->probe.state.generation, target->recovery, member->replica.uid,
                       &clock_system, &state.generation);
    assert(state.generation.count == 1 && state.generation.wanted == 1);
    if (member_write_state(target, member, &state, err) < 0)
        return -1;
    log_warning(NULL, "volume force-recovered from one replica", "volume_id", target->volume,
                "replica_id", member->replica.uid, NULL);
    return 0;
}
