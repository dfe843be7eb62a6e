#include "replication/engine/target.private.h"

#include "common/assert.h"
#include "common/log.h"
#include "common/thread.h"

#include <string.h>

#define AGAIN_US (2 * SECOND_US)

bool member_is_local(const struct member *member) {
    return !member->replica.access;
}

static int request_of(const struct member *member, struct replica_request request,
                      struct error *err) {
    request.replica = &member->replica;
    return replica_request(member->access, &request, err);
}

int member_open(struct target *target, struct member *member, struct error *err) {
    const struct replica_request request = {
        .kind = ACCESS_OPEN, .volume = target->volume, .epoch = target->epoch, .data = &member->data
    };

    if (request_of(member, request, err) < 0)
        return -1;
    member->opened = true;
    member->inode = 0;
    member->probe_us = 0;
    return 0;
}

void member_close(struct target *target, struct member *member) {
    const struct replica_request request = { .kind = ACCESS_CLOSE, .epoch = target->epoch };
    struct error reason;

    if (!member->opened)
        return;
    member->opened = false;
    if (request_of(member, request, &reason) < 0)
        log_warning(NULL, "replica not closed", "volume_id", target->volume, "replica_id",
                    member->replica.uid, "reason", reason.message, NULL);
}

/* The cost of an unreachable host is not paid again at once. */
void member_probe(struct target *target, struct member *member) {
    const struct replica_request request = { .kind = ACCESS_PROBE,
                                             .volume = target->volume,
                                             .epoch = target->epoch,
                                             .probe = &member->probe };
    struct error never;

    if (clock_boottime_us() < member->probe_us)
        return;
    (void)request_of(member, request, &never);
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
    const struct replica_request request = { .kind = ACCESS_WRITE_STATE,
                                             .epoch = target->epoch,
                                             .state = state };

    assert(strcmp(state->replica, member->replica.uid) == 0);
    return request_of(member, request, err);
}

/* It ends the session. */
int member_reset(struct target *target, struct member *member, struct error *err) {
    const struct replica_request request = { .kind = ACCESS_RESET,
                                             .volume = target->volume,
                                             .bytes = target->maximum_bytes,
                                             .epoch = target->epoch };

    assert(!member_votes(member)); /* its data are lost */
    assert(target->maximum_bytes > 0);
    member->opened = false;
    member->inode = 0;
    return request_of(member, request, err);
}

int member_flush(struct target *target, const struct member *member, struct error *err) {
    const struct replica_request request = { .kind = ACCESS_FLUSH, .epoch = target->epoch };

    return request_of(member, request, err);
}

int member_lock(struct member *member, struct error *err) {
    const struct replica_request request = { .kind = ACCESS_LOCK, .lock = &member->lock };

    assert(member_is_local(member) && member->lock < 0);
    return request_of(member, request, err);
}

int member_create(const struct target *target, const struct member *member, struct error *err) {
    const struct replica_request request = { .kind = ACCESS_CREATE,
                                             .volume = target->volume,
                                             .bytes = target->maximum_bytes };

    assert(member_is_local(member));
    return request_of(member, request, err);
}

int member_adopt(const struct target *target, const struct member *member, struct error *err) {
    const struct replica_request request = { .kind = ACCESS_ADOPT, .epoch = target->epoch };

    assert(member_is_local(member));
    return request_of(member, request, err);
}

int member_read(const struct member *member, int64_t at, size_t size, void *ret,
                struct error *err) {
    const struct replica_request request = {
        .kind = ACCESS_READ, .at = at, .size = size, .read = ret
    };

    assert(at >= 0 && size > 0);
    return request_of(member, request, err);
}

int member_snapshot(const struct target *target, const struct member *member,
                    enum replica_snapshot_step step, struct error *err) {
    const struct replica_request request = {
        .kind = ACCESS_SNAPSHOT, .step = step, .name = target->snapshot, .bytes = target->size_bytes
    };

    return request_of(member, request, err);
}

int64_t member_snapshot_size(const struct member *member, const char *name) {
    struct replica_request request = { .kind = ACCESS_SNAPSHOT_SIZE,
                                       .replica = &member->replica,
                                       .name = name };
    struct error ignored;

    return replica_request(member->access, &request, &ignored) < 0 ? -1 : request.bytes;
}

int member_sums(const struct member *member, int64_t epoch, int64_t *at, int64_t end,
                unsigned count, unsigned char (*ret)[REPLICA_SUM_SIZE], struct error *err) {
    struct replica_request request = { .kind = ACCESS_SUMS,
                                       .replica = &member->replica,
                                       .epoch = epoch,
                                       .at = *at,
                                       .end = end,
                                       .count = count,
                                       .sums = ret };
    int result;

    assert(count <= REPLICA_SUMS_MOST && *at >= 0 && *at <= end);
    result = replica_request(member->access, &request, err);
    assert(result <= (int)count);
    if (result >= 0)
        *at = request.at;
    return result;
}

/* ---- of several members ---- */

struct member_call {
    struct target *target;
    struct member *member;
    int (*call)(struct target *target, struct member *member, const void *arg, struct error *err);
    const void *arg;
    struct member_outcome *outcome;
    pthread_t thread;
    bool has_thread;
};

static void *run_call(void *arg) {
    const struct member_call *call = arg;

    call->outcome->result = call->call(call->target, call->member, call->arg, &call->outcome->err);
    return NULL;
}

void members_do(struct target *target, const members_t which,
                int (*call)(struct target *target, struct member *member, const void *arg,
                            struct error *err),
                const void *arg, struct member_outcome *ret) {
    struct member_call calls[MEMBERS_MOST];
    unsigned count = 0;

    for (unsigned i = 0; i < target->count; i++) {
        if (which[i])
            calls[count++] = (struct member_call){
                .target = target,
                .member = &target->members[i],
                .call = call,
                .arg = arg,
                .outcome = &ret[i],
            };
    }
    /* The last one, and those for which there is no thread, by this thread. */
    for (unsigned i = 0; i < count; i++) {
        calls[i].has_thread =
            i + 1 < count && thread_start(&calls[i].thread, "replica", run_call, &calls[i]) == 0;
        if (!calls[i].has_thread)
            run_call(&calls[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        if (calls[i].has_thread)
            pthread_join(calls[i].thread, NULL);
    }
}

static int open_one(struct target *target, struct member *member, const void *arg,
                    struct error *err) {
    (void)arg;
    member->probe_us = 0;
    return member_open(target, member, err);
}

int target_open_replicas(struct target *target, struct error *err) {
    struct member_outcome opened[MEMBERS_MOST];
    const struct member *refused = NULL;
    members_t all = { false };

    for (unsigned i = 0; i < target->count; i++)
        all[i] = true;
    members_do(target, all, open_one, NULL, opened);
    for (unsigned i = 0; i < target->count; i++) {
        struct member *member = &target->members[i];

        if (opened[i].result < 0)
            member->why = opened[i].err;
        member_next(member, opened[i].result < 0 ? MEMBER_NOT_OPENED : MEMBER_OPENED);
        if (!refused && member->state == MEMBER_IS_EXCLUDED && member->why.kind == ERROR_CONFLICT)
            refused = member;
    }
    if (!refused)
        return 0;
    /* For the highest epoch, which the owner's status reports. */
    TARGET_FOREACH(member, target) {
        member->probe_us = 0;
        member_probe(target, member);
    }
    return error_pass(err, &refused->why);
}

void target_close_replicas(struct target *target) {
    for (unsigned i = 0; i < target->count; i++)
        member_close(target, &target->members[i]);
}
