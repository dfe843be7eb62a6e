#include "replication/node/target_health.h"

#include "common/assert.h"
#include "common/cleanup.h"

#include <string.h>

/* ---- facts ---- */

static const char *text_of(const struct error *why) {
    return why->message[0] ? why->message : NULL;
}

void target_facts_read(const struct target_status *status, struct target_facts *ret) {
    *ret = (struct target_facts){ .serves = status->state == TARGET_SERVING,
                                  .needed = status->needed,
                                  .resynchronizing = status->resynchronizing,
                                  .count = status->count };
    assert(status->count <= LENGTH(ret->replicas));
    for (unsigned i = 0; i < status->count; i++) {
        const struct target_replica *replica = &status->replicas[i];
        const struct replica_probe *probe = &replica->probe;
        const char *uid = replica->replica.uid;
        bool is_job = status->job_replica && strcmp(status->job_replica, uid) == 0;

        ret->replicas[i] = (struct replica_facts){
            .uid = uid,
            .votes = replica->votes,
            .rebuilding = is_job && status->job == TARGET_REBUILD,
            .empty = probe->has_state && probe->state.mark == REPLICA_EMPTY,
            .health = probe->health,
            .resumed = status->resynchronizing && replica->votes && replica->errors > 0,
            .failure = replica->why.kind == ERROR_NONE ? NULL : replica->why.message,
            .flaw = probe->health == REPLICA_GOOD ? NULL : text_of(&probe->why),
            .rebuild_failure =
                is_job && status->job == TARGET_REBUILD_FAILED ? text_of(&status->job_error) : NULL,
        };
    }
}

/* ---- a replica ---- */

static const char *mode_of(const struct replica_facts *facts) {
    if (facts->unresponsive)
        return "Offline";
    if (facts->votes && !facts->failure && !facts->resumed)
        return "Healthy";
    if (facts->rebuilding)
        return "Rebuilding";
    if (facts->health == REPLICA_GONE || facts->health == REPLICA_FAILING)
        return "Offline";
    if (facts->health == REPLICA_DAMAGED)
        return "Error";
    return facts->empty ? "NewReplicaDegraded" : "Degraded";
}

static const char *message_of(const struct replica_facts *facts) {
    if (facts->unresponsive)
        return "The replica's pool does not answer.";
    if (facts->votes)
        return facts->failure   ? facts->failure
               : facts->resumed ? "The replica has missed writes, and is being resynchronized."
                                : "The replica is in sync.";
    if (facts->rebuilding)
        return "The replica is being rebuilt.";
    if (facts->rebuild_failure)
        return facts->rebuild_failure;
    if (facts->flaw)
        return facts->flaw;
    return facts->empty ? "The replica has not been rebuilt yet." : "The replica is out of sync.";
}

static bool is_in_sync(const struct health *replica) {
    return strcmp(replica->phase, "Healthy") == 0;
}

/* ---- the volume ---- */

struct counts {
    unsigned in_sync, answering; /* in_sync; voters in responsive pools */
    unsigned waiting;            /* voters in unresponsive pools, awaited by clients */
    const struct health *first;  /* the first one not in sync; NULL: none */
    const char *first_uid;
};

static struct counts count(const struct target_facts *facts, const struct target_health *health) {
    struct counts counts = { 0 };

    for (unsigned i = 0; i < facts->count; i++) {
        const struct replica_facts *replica = &facts->replicas[i];

        counts.in_sync += is_in_sync(&health->replicas[i]);
        counts.answering += replica->votes && !replica->unresponsive;
        counts.waiting += replica->votes && replica->unresponsive;
        if (!is_in_sync(&health->replicas[i]) && !counts.first) {
            counts.first = &health->replicas[i];
            counts.first_uid = replica->uid;
        }
    }
    return counts;
}

static const char *phase_of(const struct target_facts *facts, const struct counts *counts) {
    if (!facts->serves)
        return facts->was_served || facts->trouble ? "Offline" : "Init";
    if (counts->waiting > 0 && counts->answering < facts->needed)
        return "Offline";
    return counts->in_sync == facts->count && facts->undecided == 0 ? "Healthy" : "Degraded";
}

static const char *why_of(struct arena *arena, const struct target_facts *facts,
                          const struct counts *counts) {
    if (facts->trouble)
        return facts->trouble;
    if (!facts->serves)
        return facts->was_served ? "The volume is not served; it is being started."
                                 : "The volume was not served yet.";
    if (facts->undecided > 0)
        return arena_format(arena,
                            "%jd blocks of 4096 bytes have no majority among the replicas: reads "
                            "of them fail until they are written again.",
                            (intmax_t)facts->undecided);
    if (facts->reverting)
        return "The volume is being reverted to a snapshot.";
    if (counts->first)
        return arena_format(arena, "%u of %u replicas are in sync. Replica %s: %s", counts->in_sync,
                            facts->count, counts->first_uid, counts->first->message);
    if (facts->resynchronizing)
        return "The replicas are being resynchronized.";
    return facts->count == 1 ? "The only replica is in sync."
                             : arena_format(arena, "All %u replicas are in sync.", facts->count);
}

struct target_health target_health_of(struct arena *arena, const struct target_facts *facts) {
    struct target_health health = { 0 };
    struct counts counts;

    assert(facts->count <= LENGTH(health.replicas));
    for (unsigned i = 0; i < facts->count; i++) {
        const struct replica_facts *replica = &facts->replicas[i];
        struct health *of = &health.replicas[i];

        *of = (struct health){ .phase = mode_of(replica), .message = message_of(replica) };
        if ((!replica->votes || replica->failure) && replica->has_retries)
            of->reason = replica->lacks_space ? "NoSpace" : "RebuildFailed";
        assert(*of->message);
    }
    counts = count(facts, &health);
    health.volume.phase = phase_of(facts, &counts);
    health.volume.message = why_of(arena, facts, &counts);
    assert(*health.volume.message);
    return health;
}
