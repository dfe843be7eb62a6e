#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/log.h"

#define AGAIN_US (2 * SECOND_US)

bool member_is_local(const struct member *member) {
    return !member->replica.access;
}

int member_open(struct target *target, struct member *member, struct error *err) {
    const struct replica_access *access = member->access;

    if (access->open(access->arg, &member->replica, target->volume, target->epoch, &member->data,
                     err) < 0)
        return -1;
    member->opened = true;
    member->inode = 0;
    member->probe_us = 0;
    return 0;
}

void member_close(struct target *target, struct member *member) {
    const struct replica_access *access = member->access;
    struct error reason;

    if (!member->opened)
        return;
    member->opened = false;
    if (access->close(access->arg, &member->replica, target->epoch, &reason) < 0)
        log_warning(NULL, "replica not closed", "volume_id", target->volume, "replica_id",
                    member->replica.uid, "reason", reason.message, NULL);
}

/* The cost of an unreachable host is not paid again at once. */
void member_probe(struct target *target, struct member *member) {
    const struct replica_access *access = member->access;

    if (clock_boottime_us() < member->probe_us)
        return;
    access->probe(access->arg, &member->replica, target->volume, target->epoch, &member->probe);
    member->probe_us = !member_is_local(member) && member->probe.health == REPLICA_FAILING
                           ? clock_boottime_us() + AGAIN_US
                           : 0;
}

bool member_is_short(const struct member *member, int64_t size_bytes) {
    return member->probe.health != REPLICA_FAILING && member->probe.bytes < size_bytes;
}

int member_check_probe(const struct member *member, struct error *err) {
    if (member->probe.health != REPLICA_FAILING)
        return 0;
    return error_set(err, ERROR_UNAVAILABLE, "The replica %s could not be probed: %.300s",
                     member->replica.uid, member->probe.why.message);
}

int member_write_state(struct target *target, const struct member *member,
                       const struct replica_state *state, struct error *err) {
    const struct replica_access *access = member->access;

    return access->write_state(access->arg, &member->replica, target->epoch, state, err);
}

/* It ends the session. */
int member_reset(struct target *target, struct member *member, struct error *err) {
    const struct replica_access *access = member->access;

    assert(!member_votes(member)); /* its data are lost */
    member->opened = false;
    member->inode = 0;
    return access->reset(access->arg, &member->replica, target->volume, target->maximum_bytes,
                         target->epoch, err);
}

int member_flush(struct target *target, const struct member *member, struct error *err) {
    const struct replica_access *access = member->access;

    return access->flush(access->arg, &member->replica, target->epoch, err);
}

int member_lock(struct member *member, struct error *err) {
    const struct replica_access *access = member->access;

    assert(member_is_local(member) && member->lock < 0);
    return access->lock(access->arg, &member->replica, &member->lock, err);
}

int member_create(const struct target *target, const struct member *member, struct error *err) {
    const struct replica_access *access = member->access;

    assert(member_is_local(member));
    return access->create(access->arg, &member->replica, target->volume, target->maximum_bytes,
                          err);
}

int member_adopt(const struct target *target, const struct member *member, struct error *err) {
    const struct replica_access *access = member->access;

    assert(member_is_local(member));
    return access->adopt(access->arg, &member->replica, target->epoch, err);
}

int member_read(const struct member *member, int64_t at, size_t size, void *ret,
                struct error *err) {
    const struct replica_access *access = member->access;

    assert(size > 0);
    return access->read(access->arg, &member->replica, at, size, ret, err);
}

int member_snapshot(const struct target *target, const struct member *member,
                    enum replica_snapshot_step step, struct error *err) {
    const struct replica_access *access = member->access;

    return access->snapshot(access->arg, &member->replica, step, target->snapshot,
                            target->size_bytes, err);
}

int64_t member_snapshot_size(const struct member *member, const char *name) {
    const struct replica_access *access = member->access;

    return access->snapshot_size(access->arg, &member->replica, name);
}

int member_sums(const struct member *member, int64_t epoch, int64_t *at, int64_t end,
                unsigned count, unsigned char (*ret)[REPLICA_SUM_SIZE], struct error *err) {
    const struct replica_access *access = member->access;

    assert(*at >= 0 && *at <= end);
    if (!access->sums)
        return error_set(err, ERROR_CONFLICT, "The replica %s cannot be compared with others.",
                         member->replica.uid);
    return access->sums(access->arg, &member->replica, epoch, at, end, count, ret, err);
}

static void probe_all(struct target *target) {
    for (unsigned i = 0; i < target->count; i++) {
        target->members[i].probe_us = 0;
        member_probe(target, &target->members[i]);
    }
}

int target_open_replicas(struct target *target, struct error *err) {
    for (unsigned i = 0; i < target->count; i++) {
        struct member *member = &target->members[i];

        member->probe_us = 0;
        member_next(member, member_open(target, member, &member->why) < 0 ? MEMBER_NOT_OPENED
                                                                          : MEMBER_OPENED);
        if (member->state == MEMBER_IS_EXCLUDED && member->why.kind == ERROR_CONFLICT) {
            probe_all(target); /* for the highest epoch, which the owner's status reports */
            return error_pass(err, &member->why);
        }
    }
    return 0;
}

void target_close_replicas(struct target *target) {
    for (unsigned i = 0; i < target->count; i++)
        member_close(target, &target->members[i]);
}
