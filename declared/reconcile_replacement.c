/*
 * Replacement of a replica on another pool: when its pool stays offline longer than the policy
 * permits, or is drained.
 *
 * status.replacement of the config names the replica (replicaId) and the new one (newReplicaId).
 * The new one is created and rebuilt first; then the old one is evicted and its data are removed,
 * like those of any replica. One at a time per volume, and replica_replacements at once in all.
 * When the reason ends before the new one is healthy, that one is removed instead.
 */
#include "declared/reconcile.private.h"

#include "common/assert.h"
#include "common/replicas.h"
#include "declared/condition.h"
#include "declared/pool_list.h"
#include "declared/replica_placement.h"
#include "declared/replica_replacement.h"
#include "json/json.h"

#include <string.h>

#define AUTO_REPLACE_S 600
#define POOL_OFFLINE   "PoolOffline"
#define POOL_DRAINED   "PoolDrained"

static const json_t *replacement_of(const struct reconcile *r) {
    return json_object_get(update_status(&r->config), "replacement");
}

static bool is_cancelled(const struct reconcile *r) {
    return json_true_at(replacement_of(r), "cancelled");
}

static struct document *replica_of(struct reconcile *r, const char *key) {
    return replica_called(r, tree_text(replacement_of(r), key));
}

enum replacement_part reconcile_replacement_part(const struct reconcile *r,
                                                 const struct document *replica) {
    if (text_is(tree_text(replacement_of(r), "replicaId"), replica->id))
        return REPLACEMENT_OLD;
    return text_is(tree_text(replacement_of(r), "newReplicaId"), replica->id) ? REPLACEMENT_NEW
                                                                              : REPLACEMENT_NONE;
}

bool reconcile_replacement_keeps(struct reconcile *r, const struct document *replica) {
    const struct document *new = replica_of(r, "newReplicaId");

    if (reconcile_replacement_part(r, replica) == REPLACEMENT_NEW)
        return !is_cancelled(r);
    return is_cancelled(r) || !new || !replica_is_healthy(r, new);
}

/* ---- the pools of the policy ---- */

static const json_t *policy_of(const struct reconcile *r) {
    return json_object_get(update_spec(&r->config), "policy");
}

static json_t *replaced_pools(const struct reconcile *r) {
    const json_t *replaced = json_object_get(update_status(&r->config), "replacedPools");

    return replaced ? json_deep_copy(replaced) : json_object();
}

/* The policy's name of a pool: that of the pool which it has replaced. */
static const char *named_as(json_t *replaced, const char *pool) {
    const char *from;
    json_t *to;

    json_object_foreach(replaced, from, to) if (text_is(json_string_value(to), pool)) return from;
    return pool;
}

/* From now on pool `now` stands for `before`. */
static void put_pool(struct reconcile *r, const char *before, const char *now) {
    json_t *replaced = replaced_pools(r);
    const char *name = arena_text(r->work->arena, named_as(replaced, before));

    if (text_is(name, now))
        json_object_del(replaced, name);
    else if (pool_list_names(policy_of(r), name))
        json_object_set_new(replaced, name, json_string(now));
    update_put_status(r, &r->config, "replacedPools", tree_unless_empty(replaced));
}

/* ---- reasons ---- */

static int64_t wait_us(const struct reconcile *r) {
    const json_t *seconds = json_at(policy_of(r), "replica.autoReplaceSeconds");

    return (seconds ? json_integer_value(seconds) : AUTO_REPLACE_S) * SECOND_US;
}

/* For so long; when another node has taken the pool's name, for as long as that one is up. */
static bool stays_offline(const struct reconcile *r, const struct document *replica, int64_t us) {
    const struct replica_pool *pool = reconcile_pool(r, replica);
    const struct replica_pool *named = reconcile_pool_named(r, replica);

    if (reconcile_is_online(r, replica))
        return false;
    return pool ? pool->offline_us > us : named && named->up_us > us;
}

/* A replica that the volume's node still reads and writes is not lost. */
static bool is_lost(const struct reconcile *r, const struct document *replica) {
    return wait_us(r) > 0 && stays_offline(r, replica, wait_us(r)) &&
           !(volume_is_served(r) && replica_is_healthy(r, replica));
}

static bool is_drained(const struct reconcile *r, const struct document *replica) {
    const struct replica_pool *pool = reconcile_pool_named(r, replica);

    return pool && pool->draining;
}

/* The reason for which the replacement began still holds. */
static bool has_reason(const struct reconcile *r, const struct document *old) {
    return text_is(tree_text(replacement_of(r), "reason"), POOL_DRAINED)
               ? is_drained(r, old)
               : !reconcile_is_online(r, old);
}

/* ---- a replacement in progress ---- */

static int end(struct reconcile *r, const char *type, const char *reason, const char *message,
               struct error *err) {
    update_put_status(r, &r->config, "replacement", NULL);
    r->writes = true;
    if (!r->dry_run && replica_replacement_end(r->work, r->config.before.id, err) < 0)
        return -1;
    return reconcile_record_event(r, type, reason, message, err);
}

static int cancel(struct reconcile *r, const struct document *old, const struct document *new,
                  const char *why, struct error *err) {
    json_t *replacement = json_deep_copy(replacement_of(r));

    assert(!is_cancelled(r));
    json_object_set_new(replacement, "cancelled", json_true());
    update_put_status(r, &r->config, "replacement", replacement);
    put_pool(r, replica_pool_of(new), replica_pool_of(old));
    return reconcile_record_event(
        r, "Normal", "ReplacementCancelling",
        arena_format(r->work->arena, "Replica %s is removed again: %s.", new->id, why), err);
}

static int continue_replacement(struct reconcile *r, struct error *err) {
    struct document *old = replica_of(r, "replicaId"), *new = replica_of(r, "newReplicaId");

    if (!old || old->deleted_at)
        return end(r, "Normal", "ReplacementFinished",
                   arena_format(r->work->arena, "Replica %s has replaced replica %s.",
                                tree_text(replacement_of(r), "newReplicaId"),
                                tree_text(replacement_of(r), "replicaId")),
                   err);
    if (!new || new->deleted_at) {
        if (new && !is_cancelled(r))
            put_pool(r, replica_pool_of(new), replica_pool_of(old));
        return end(r, "Normal", "ReplacementCancelled",
                   arena_format(r->work->arena, "The replacement of replica %s is cancelled.",
                                tree_text(replacement_of(r), "replicaId")),
                   err);
    }
    r->scaling = "Replacing";
    r->scaling_message =
        arena_format(r->work->arena,
                     is_cancelled(r) ? "Replica %s stays, and replica %s is removed again."
                                     : "Replica %s is replaced by replica %s.",
                     old->id, new->id);
    if (is_cancelled(r))
        return 0;
    if (replica_is_healthy(r, new)) {
        json_t *replacement;

        /* The replica is no longer being copied. */
        if (json_true_at(replacement_of(r), "copied"))
            return 0;
        replacement = json_deep_copy(replacement_of(r));
        json_object_set_new(replacement, "copied", json_true());
        update_put_status(r, &r->config, "replacement", replacement);
        r->writes = true;
        return r->dry_run ? 0 : replica_replacement_end(r->work, r->config.before.id, err);
    }
    if (!has_reason(r, old))
        return cancel(r, old, new, "its pool is online or no longer drained", err);
    /* It has no data that are needed: also where no lost replica is to be replaced. */
    if (stays_offline(r, new, wait_us(r) > 0 ? wait_us(r) : AUTO_REPLACE_S * SECOND_US) ||
        is_drained(r, new))
        return cancel(r, old, new, "its own pool is offline or drained", err);
    return 0;
}

/* ---- a new replacement ---- */

static unsigned count_others(const struct reconcile *r, const struct document *replica) {
    unsigned count = 0;

    for (unsigned i = 0; i < r->count; i++)
        count += !r->replicas[i].deleted_at && &r->replicas[i] != replica;
    return count;
}

static const char *publish_node(const struct reconcile *r) {
    return tree_text(r->config.before.body, "publish.nodeId");
}

/* Number of the other replicas that can be copied from. */
static unsigned count_sources(const struct reconcile *r, const struct document *replica) {
    unsigned count = 0;

    for (unsigned i = 0; i < r->count; i++) {
        const struct document *other = &r->replicas[i];

        if (other != replica && !other->deleted_at)
            count +=
                *publish_node(r) ? replica_is_healthy(r, other) : reconcile_is_online(r, other);
    }
    return count;
}

/* A lost replica before one on a drained pool. NULL: none is to be replaced. */
static const struct document *find_candidate(const struct reconcile *r, const char **ret_reason) {
    const struct document *drained = NULL;

    for (unsigned i = 0; i < r->count; i++) {
        const struct document *replica = &r->replicas[i];
        unsigned others = count_others(r, replica);

        if (replica->deleted_at)
            continue;
        *ret_reason = POOL_OFFLINE;
        if (is_lost(r, replica) && count_sources(r, replica) * 2 > others + 1)
            return replica;
        if (!drained && is_drained(r, replica) && count_sources(r, replica) == others &&
            (others > 0 || reconcile_is_online(r, replica)))
            drained = replica;
    }
    *ret_reason = POOL_DRAINED;
    return drained;
}

/* Pools with a replica of the volume, including deleted ones; nodes of the other replicas. */
static void name_others(struct reconcile *r, const struct document *old,
                        struct replica_placement *ret) {
    const char **pools = arena_alloc(r->work->arena, (r->count + 1) * sizeof *pools);
    const char **nodes = arena_alloc(r->work->arena, (r->count + 1) * sizeof *nodes);
    const char *node = tree_text(old->body, "spec.nodeId");

    ret->apart = true;
    for (unsigned i = 0; i < r->count; i++) {
        const struct document *other = &r->replicas[i];
        const char *at = tree_text(other->body, "spec.nodeId");

        pools[ret->without_count++] = replica_pool_of(other);
        if (other == old || other->deleted_at)
            continue;
        nodes[ret->node_count++] = at;
        ret->apart &= !text_is(at, node); /* else the new placement is no worse than before */
    }
    ret->without = pools;
    ret->nodes = nodes;
}

/* 1: in *ret; 0: there is none, after an event. */
static int choose(struct reconcile *r, const struct document *old, const struct replica_pool **ret,
                  struct error *err) {
    const struct clock *clock = r->work->settings->clock;
    struct replica_placement wanted = { .count = 1,
                                        .bytes =
                                            json_bytes_at(update_spec(&r->volume), "capacity") };
    struct replica_pool *pools = NULL;
    struct error failure;
    int count = replica_pool_list(r->work, &pools, err);

    if (count < 0)
        return -1;
    clock->random(clock->arg, &wanted.seed, sizeof wanted.seed);
    name_others(r, old, &wanted);
    if (replica_placement_choose(r->work->arena, &wanted, pools, (unsigned)count, ret, &failure) ==
        0)
        return 1;
    return reconcile_fail(r, "ReplacementWaits",
                          arena_format(r->work->arena,
                                       "Replica %s is to be replaced, and no other pool can take "
                                       "it: %s",
                                       old->id, failure.message),
                          err);
}

/* 1: it may begin; 0: too many replicas are being copied, or so many pools are offline that an
 * outage is likely. */
static int is_allowed(struct reconcile *r, const char *reason, struct error *err) {
    int64_t copied;
    int is_outage =
        replica_replacement_is_outage(r->work, text_is(reason, POOL_OFFLINE) ? wait_us(r) : 0, err);

    if (is_outage != 0 || replica_replacement_count(r->work, &copied, err) < 0)
        return is_outage > 0 ? 0 : -1;
    r->waits_for_slot = copied >= r->work->settings->replica_replacements_most;
    return !r->waits_for_slot;
}

static int make(struct reconcile *r, const struct document *old, const struct replica_pool *pool,
                const char *reason, struct error *err) {
    struct arena *arena = r->work->arena;
    const char *id = work_uuid(r->work);

    assert(!r->dry_run && !replacement_of(r) && !old->deleted_at);
    assert(count_others(r, NULL) < REPLICAS_MOST && !text_is(replica_pool_of(old), pool->id));
    if (replica_make(r, &r->volume.before, pool, tree_text(update_spec(&r->volume), "capacity"),
                     count_others(r, NULL), id, NULL, NULL, err) < 0 ||
        replica_replacement_begin(r->work, r->config.before.id, err) < 0)
        return -1;
    put_pool(r, replica_pool_of(old), pool->id);
    update_put_status(
        r, &r->config, "replacement",
        json_pack("{s:s, s:s, s:s}", "replicaId", old->id, "newReplicaId", id, "reason", reason));
    return reconcile_record_event(
        r, text_is(reason, POOL_OFFLINE) ? "Warning" : "Normal", "ReplacementStarted",
        arena_format(arena, "Replica %s is replaced by replica %s: its pool %s.", old->id, id,
                     text_is(reason, POOL_OFFLINE) ? "stays offline" : "is drained"),
        err);
}

/* ---- the steps ---- */

int reconcile_replacement(struct reconcile *r, struct error *err) {
    json_t *replaced, *kept, *to;
    const char *from;

    if (replacement_of(r))
        return continue_replacement(r, err);
    /* drops names that the policy no longer has, and those it names with their replacement */
    replaced = replaced_pools(r);
    kept = json_object();
    json_object_foreach(replaced, from, to) if (pool_list_names(policy_of(r), from) &&
                                                pool_list_is_replaced(policy_of(r), replaced, from))
        json_object_set(kept, from, to);
    update_put_status(r, &r->config, "replacedPools", tree_unless_empty(kept));
    json_decref(replaced);
    return 0;
}

/* Other changes of the volume have precedence. */
int reconcile_replacement_begin(struct reconcile *r, struct error *err) {
    const json_t *spec = update_spec(&r->volume);
    const struct replica_pool *pool = NULL;
    const struct document *old;
    const char *reason;
    int result;

    if (replacement_of(r) || !config_is(r, CONFIG_BOUND) || r->scaling ||
        *tree_text(spec, "removing") || json_object_get(spec, "salvage") ||
        json_object_get(spec, "revert") || reconcile_reverts(r) ||
        (*publish_node(r) && !volume_is_served(r)) || count_others(r, NULL) >= REPLICAS_MOST)
        return 0;
    old = find_candidate(r, &reason);
    if (!old)
        return 0;
    result = is_allowed(r, reason, err);
    if (result <= 0)
        return result;
    r->writes = true;
    r->scaling = "Replacing";
    r->scaling_message = arena_format(r->work->arena, "Replica %s is to be replaced.", old->id);
    if (r->dry_run)
        return 0;
    result = choose(r, old, &pool, err);
    if (result == 0)
        r->scaling = NULL;
    return result <= 0 ? result : make(r, old, pool, reason, err);
}

/* The node of the pool with the most replicas. */
const char *reconcile_replacement_node(const struct reconcile *r) {
    const char *best = "";
    unsigned most = 0;

    if (!replacement_of(r))
        return "";
    for (unsigned i = 0; i < r->count; i++) {
        const struct replica_pool *pool = reconcile_pool(r, &r->replicas[i]);
        unsigned count = 0;

        if (r->replicas[i].deleted_at || !reconcile_is_online(r, &r->replicas[i]))
            continue;
        for (unsigned k = 0; k < r->count; k++)
            count += !r->replicas[k].deleted_at &&
                     text_is(tree_text(r->replicas[k].body, "spec.nodeId"), pool->node);
        if (text_is(pool->node, r->volume.after.node))
            return pool->node;
        if (count > most)
            best = pool->node;
        most = count > most ? count : most;
    }
    return best;
}
