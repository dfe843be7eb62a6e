#include "declared/volume_health.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "declared/tree.h"

#include <string.h>

const char *const volume_phase_names[] = {
    [VOLUME_IS_INIT] = "Init",         [VOLUME_IS_HEALTHY] = "Healthy",
    [VOLUME_IS_DEGRADED] = "Degraded", [VOLUME_IS_OFFLINE] = "Offline",
    [VOLUME_IS_ERROR] = "Error",       [VOLUME_PHASES] = NULL,
};

/* ---- facts ---- */

void volume_facts_read(const json_t *spec, const json_t *status, struct volume_facts *facts) {
    const json_t *list = json_object_get(status, "replicaStatuses");
    const char *phase = tree_text(status, "servedPhase");

    if (!*phase)
        phase = tree_text(status, "phase");
    facts->reached = VOLUME_IS_INIT; /* for other names, too */
    for (unsigned i = 0; volume_phase_names[i]; i++)
        if (strcmp(volume_phase_names[i], phase) == 0)
            facts->reached = i;
    facts->needed = (unsigned)json_int_at(spec, "consistencyFactor");
    facts->is_assigned = *tree_text(spec, "nodeId") != '\0';
    facts->is_serving = strcmp(tree_text(status, "target.state"), "Serving") == 0;
    facts->is_listed = json_object_get(status, "target") && json_array_size(list) > 0;
    facts->undecided = json_int_at(status, "scrub.undecidedBlocks");
    for (size_t i = 0; facts->is_listed && i < json_array_size(list); i++) {
        const json_t *replica = json_array_get(list, i);
        const char *mode = tree_text(replica, "mode"), *reason = tree_text(replica, "reason");

        facts->listed++;
        facts->in_sync += strcmp(mode, "Healthy") == 0;
        if (strcmp(mode, "Rebuilding") == 0)
            facts->rebuilt = tree_text(replica, "replicaId");
        if (!*reason || facts->failed)
            continue;
        facts->failed = tree_text(replica, "replicaId");
        facts->failure = reason;
    }
}

/* ---- the phase ---- */

static enum volume_phase worse(enum volume_phase one, enum volume_phase other) {
    return one > other ? one : other;
}

/* With a node, by its report alone: only the node knows how many replicas are needed, one after a
 * forced recovery. */
enum volume_phase volume_phase_of(const struct volume_facts *facts) {
    if (!facts->has_node && facts->present < facts->needed)
        return worse(facts->reached, VOLUME_IS_OFFLINE);
    if (!facts->has_node)
        return facts->reached == VOLUME_IS_HEALTHY && facts->present < facts->replicas
                   ? VOLUME_IS_DEGRADED
                   : facts->reached;
    if (!facts->is_serving && facts->is_assigned && facts->reached == VOLUME_IS_HEALTHY)
        return VOLUME_IS_INIT; /* a report from before the assignment to the node */
    if (!facts->is_serving || !facts->is_listed)
        return facts->reached;
    if (facts->in_sync == 0)
        return worse(facts->reached, VOLUME_IS_OFFLINE);
    if (facts->in_sync < facts->listed || facts->undecided > 0)
        return worse(facts->reached, VOLUME_IS_DEGRADED);
    return facts->reached;
}

bool volume_is_awaited(const json_t *config, const json_t *volume) {
    const char *wanted = tree_text(config, "publish.nodeId");
    const json_t *serve = json_at(volume, "spec.serve");

    return *wanted && (!text_is(tree_text(volume, "spec.nodeId"), wanted) || json_is_false(serve));
}

bool volume_phase_is_usable(enum volume_phase phase) {
    return phase == VOLUME_IS_HEALTHY || phase == VOLUME_IS_DEGRADED;
}

/* ---- conditions ---- */

static struct condition unpublished(struct arena *arena, const struct volume_facts *facts) {
    const char *type = CONDITION_AVAILABLE;
    const char *pools = arena_format(arena, "%u of its %u replicas are in pools that are online",
                                     facts->present, facts->replicas);

    if (facts->present < facts->needed)
        return (struct condition){ type, "False", "TooFewReplicas",
                                   arena_format(arena,
                                                "The volume is not published, and cannot be "
                                                "served: %s, and %u are needed.",
                                                pools, facts->needed) };
    if (facts->reached >= VOLUME_IS_OFFLINE)
        return (struct condition){ type, "Unknown", "LeftOffline",
                                   arena_format(arena,
                                                "The volume was offline when it was served last; "
                                                "%s.",
                                                pools) };
    return (struct condition){ type, "True", "NotPublished",
                               arena_format(arena, "The volume is not published; %s.", pools) };
}

static struct condition unserved_now(struct arena *arena, const struct volume_facts *facts) {
    const char *type = CONDITION_AVAILABLE;

    if (facts->is_listed && facts->in_sync < facts->needed)
        return (struct condition){ type, "False", "TooFewReplicas",
                                   arena_format(arena,
                                                "The volume is not served: %u of its %u replicas "
                                                "are in sync, and %u are needed.",
                                                facts->in_sync, facts->listed, facts->needed) };
    if (facts->has_node && facts->reached >= VOLUME_IS_OFFLINE)
        return (struct condition){ type, "False", "NotServed",
                                   "The volume is not served; its node retries." };
    return (struct condition){ type, "False", "Starting",
                               "The volume was published, and is not served yet." };
}

static struct condition available(struct arena *arena, const struct volume_facts *facts,
                                  enum volume_phase phase) {
    const char *type = CONDITION_AVAILABLE;

    if (facts->has_node && facts->is_unresponsive)
        return (struct condition){ type, "Unknown", "NodeSilent",
                                   "The volume's node does not report; it may still serve the "
                                   "volume." };
    if (!facts->is_wanted)
        return unpublished(arena, facts);
    if (!facts->has_node || !facts->is_serving || phase >= VOLUME_IS_OFFLINE)
        return unserved_now(arena, facts);
    if (facts->undecided > 0)
        return (struct condition){ type, "True", "UndecidedBlocks",
                                   "The volume is served; blocks without a majority among the "
                                   "replicas cannot be read until they are written." };
    return (struct condition){ type, "True", "Served", "The volume is served." };
}

static struct condition redundant(struct arena *arena, const struct volume_facts *facts) {
    const char *type = CONDITION_REDUNDANT;
    bool is_reported = facts->has_node && facts->is_listed;
    unsigned good = is_reported ? facts->counted_in_sync : facts->present;
    unsigned all = is_reported ? facts->counted : facts->replicas;

    if (facts->has_node && facts->is_unresponsive)
        return (struct condition){ type, "Unknown", "NodeSilent",
                                   "The volume's node does not report how the replicas are." };
    if (good < all)
        return (struct condition){
            type, "False", facts->present < facts->replicas ? "PoolOffline" : "OutOfSync",
            arena_format(arena, "%u of %u replicas can be used.", good, all)
        };
    if (is_reported && facts->undecided > 0)
        return (struct condition){ type, "False", "UndecidedBlocks",
                                   "There are blocks without a majority among the replicas." };
    if (all < 2)
        return (struct condition){ type, "False", "SingleReplica",
                                   "The volume has a single replica." };
    return (struct condition){ type, "True", "AllReplicas",
                               arena_format(arena, "All %u replicas can be used.", all) };
}

static struct condition rebuilding(struct arena *arena, const struct volume_facts *facts) {
    const char *type = CONDITION_REBUILDING;
    const char *fault = facts->failure && strcmp(facts->failure, "NoSpace") == 0
                            ? "no space is left on its pool"
                            : "its pool or the copy failed";

    if (facts->has_node && facts->is_serving && facts->rebuilt)
        return (struct condition){ type, "True", "Copying",
                                   arena_format(arena, "Replica %s is being rebuilt.",
                                                facts->rebuilt) };
    if (facts->has_node && facts->is_serving && facts->failed)
        return (struct condition){ type, "False", facts->failure ? facts->failure : "RebuildFailed",
                                   arena_format(arena,
                                                "Replica %s cannot be rebuilt: %s. Its node "
                                                "retries.",
                                                facts->failed, fault) };
    if (facts->is_rebuild_interrupted)
        return (struct condition){ type, "False", "Interrupted",
                                   "The rebuild was interrupted: the volume is not served." };
    return (struct condition){ type, "False", "NotRebuilding", "No replica is being rebuilt." };
}

static struct condition near_full(struct arena *arena, const struct volume_facts *facts) {
    if (!facts->near_full)
        return (struct condition){ CONDITION_NEAR_FULL, "False", "SpaceLeft",
                                   "The pools of all replicas have space left." };
    return (struct condition){ CONDITION_NEAR_FULL, "True", "PoolNearFull",
                               arena_format(arena, "The pool of replica %s has little space left.",
                                            facts->near_full) };
}

struct volume_health volume_health_of(struct arena *arena, const struct volume_facts *facts) {
    enum volume_phase phase = volume_phase_of(facts);
    struct volume_health health = {
        .phase = phase,
        .available = available(arena, facts, phase),
        .redundant = redundant(arena, facts),
        .rebuilding = rebuilding(arena, facts),
        .near_full = near_full(arena, facts),
    };

    assert(*health.available.message && *health.redundant.message && *health.rebuilding.message &&
           *health.near_full.message);
    return health;
}

bool volume_condition_is_good(const struct condition *condition) {
    static const char *const good[] = {
        "NotPublished",  "Starting", "Served",        "AllReplicas",
        "SingleReplica", "Copying",  "NotRebuilding", "SpaceLeft",
    };

    for (size_t i = 0; i < LENGTH(good); i++)
        if (strcmp(condition->reason, good[i]) == 0)
            return true;
    return false;
}
