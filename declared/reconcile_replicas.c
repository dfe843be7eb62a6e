/*
 * Replicas are added and removed with the pools of the config's policy.
 *
 * A new one is empty, and is rebuilt from the others before its pool counts (P64). One to be
 * removed is evicted first, while all others are healthy, and its data are removed only then
 * (P65).
 */
#include "declared/reconcile.private.h"

#include "common/assert.h"
#include "common/replicas.h"
#include "declared/pool_list.h"
#include "declared/replica_placement.h"
#include "declared/snapshot_source.h"
#include "json/json.h"

#include <string.h>

/* ---- wanted pools ---- */

/* NULL: the present replicas on their pools. */
static const json_t *wanted_pools(const struct reconcile *r) {
    return json_array_size(r->wanted_pools) > 0 ? r->wanted_pools : NULL;
}

static bool is_wanted(struct reconcile *r, const struct document *replica) {
    const json_t *list = wanted_pools(r);

    if (reconcile_replacement_part(r, replica) != REPLACEMENT_NONE)
        return reconcile_replacement_keeps(r, replica);
    return !list || tree_entry(list, "poolName", replica_pool_of(replica));
}

/* An existing one, or one that is being removed. */
static bool has_replica(const struct reconcile *r, const char *pool) {
    for (unsigned i = 0; i < r->count; i++)
        if (text_is(replica_pool_of(&r->replicas[i]), pool))
            return true;
    return false;
}

/* ---- state ---- */

/* The first of the others that is not healthy; NULL: all are. */
static const struct document *unhealthy_other(const struct reconcile *r,
                                              const struct document *replica) {
    for (unsigned i = 0; i < r->count; i++)
        if (&r->replicas[i] != replica && !replica_is_healthy(r, &r->replicas[i]))
            return &r->replicas[i];
    return NULL;
}

static void wait_for(struct reconcile *r, const char *reason, const char *message) {
    if (r->scaling)
        return;
    r->scaling = reason;
    r->scaling_message = message;
}

/* ---- removal ---- */

static unsigned count_living(const struct reconcile *r) {
    unsigned count = 0;

    for (unsigned i = 0; i < r->count; i++)
        count += !r->replicas[i].deleted_at;
    return count;
}

static bool holds_only_copy(struct reconcile *r, const struct document *replica) {
    const struct document_update *only = reconcile_only_copy_of(r, replica);

    if (only)
        wait_for(r, "ScaleDown",
                 arena_format(r->work->arena,
                              "Replica %s is removed when another replica holds snapshot %s.",
                              replica->id, only->before.name));
    return only;
}

static int continue_eviction(struct reconcile *r, const char *id, struct error *err) {
    struct document *replica = replica_called(r, id);

    if (!replica || replica->deleted_at || is_wanted(r, replica)) {
        update_put_spec(r, &r->volume, "removing", NULL);
        return 0;
    }
    if (holds_only_copy(r, replica)) { /* by now: the target takes it back */
        update_put_spec(r, &r->volume, "removing", NULL);
        return 0;
    }
    if (volume_is_served(r) && !replica_report_of(r, replica)) {
        /* it is evicted: now its data may be removed */
        assert(text_is(tree_text(update_spec(&r->volume), "removing"), replica->id));
        update_put_spec(r, &r->volume, "removing", NULL);
        return reconcile_delete_replica(r, replica, err);
    }
    wait_for(r, "ScaleDown",
             arena_format(r->work->arena, "The target evicts replica %s.", replica->id));
    return 0;
}

/* 1: it has the source of clones, or the only copy of a snapshot; 0: neither. */
static int has_needed_data(struct reconcile *r, const struct document *replica, struct error *err) {
    int begun;

    if (holds_only_copy(r, replica))
        return 1;
    begun = snapshot_source_begun(r->work, &r->config.before, NULL, err);
    if (begun <= 0)
        return begun;
    wait_for(r, "ScaleDown",
             arena_format(r->work->arena,
                          "Replica %s is removed when the clones that are being made are Bound.",
                          replica->id));
    return 1;
}

/* A lost replica that is being replaced: most of the others are healthy. */
static bool is_dispensable(const struct reconcile *r, const struct document *replica) {
    unsigned healthy = 0, others = 0;

    if (reconcile_replacement_part(r, replica) != REPLACEMENT_OLD || replica_is_healthy(r, replica))
        return false;
    for (unsigned i = 0; i < r->count; i++) {
        if (&r->replicas[i] == replica || r->replicas[i].deleted_at)
            continue;
        others++;
        healthy += replica_is_healthy(r, &r->replicas[i]);
    }
    return healthy * 2 > others;
}

/* A wanted pool without a replica; NULL: none. */
static const char *missing_pool(const struct reconcile *r) {
    const json_t *list = wanted_pools(r);

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *pool = tree_text(json_array_get(list, i), "poolName");

        if (!has_replica(r, pool))
            return pool;
    }
    return NULL;
}

/* P65: a counted replica is evicted only while all others are healthy and present. */
static int begin_eviction(struct reconcile *r, const struct document *replica, struct error *err) {
    struct arena *arena = r->work->arena;
    const struct document *unhealthy = unhealthy_other(r, replica);
    int needed;

    assert(!replica->deleted_at && count_living(r) > 1);
    if (!volume_is_served(r)) {
        wait_for(
            r, "ScaleDown",
            arena_format(arena, "Replica %s is removed while the volume is served.", replica->id));
        return 0;
    }
    if (unhealthy && (replica_is_counted(r, replica) || replica_is_healthy(r, replica)) &&
        !is_dispensable(r, replica)) {
        wait_for(r, "ScaleDown",
                 arena_format(arena, "Replica %s is removed when replica %s is healthy.",
                              replica->id, unhealthy->id));
        return 0;
    }
    if (missing_pool(r) && !is_dispensable(r, replica)) {
        wait_for(r, "ScaleDown",
                 arena_format(arena, "Replica %s is removed when there is one on pool %s.",
                              replica->id, missing_pool(r)));
        return 0;
    }
    needed = has_needed_data(r, replica, err);
    if (needed)
        return needed < 0 ? -1 : 0;
    update_put_spec(r, &r->volume, "removing", json_string(replica->id));
    wait_for(r, "ScaleDown", arena_format(arena, "The target evicts replica %s.", replica->id));
    return reconcile_record_event(r, "Normal", "ScaleDown",
                                  arena_format(arena, "Replica %s is being removed.", replica->id),
                                  err);
}

static int scale_down(struct reconcile *r, struct error *err) {
    const char *removing = tree_text(update_spec(&r->volume), "removing");

    if (*removing && continue_eviction(r, removing, err) < 0)
        return -1;
    if (*tree_text(update_spec(&r->volume), "removing"))
        return 0;
    for (unsigned i = 0; i < r->count; i++) {
        const struct document *replica = &r->replicas[i];

        if (!replica->deleted_at && !is_wanted(r, replica) && count_living(r) > 1)
            return begin_eviction(r, replica, err);
    }
    return 0;
}

/* ---- addition ---- */

static int add(struct reconcile *r, const char *name, unsigned factor, struct error *err) {
    struct arena *arena = r->work->arena;
    const char *capacity = tree_text(update_spec(&r->volume), "capacity");
    const char *fault = "does not exist";
    struct replica_pool pool;
    int found;

    assert(factor > 0 && factor <= REPLICAS_MOST);
    wait_for(r, "ScaleUp", arena_format(arena, "There is no replica on pool %s yet.", name));
    r->writes = true;
    if (r->dry_run)
        return 0;
    assert(*name);
    found = replica_pool_find(r->work, name, &pool, err);
    if (found < 0)
        return -1;
    if (found)
        fault = replica_placement_fault(&pool, json_bytes_at(update_spec(&r->volume), "capacity"));
    if (fault)
        return reconcile_fail(r, "ScaleUp", arena_format(arena, "Pool %s %s.", name, fault), err);
    if (replica_make(r, &r->volume.before, &pool, capacity, factor, work_uuid(r->work), NULL, NULL,
                     err) < 0)
        return -1;
    return reconcile_record_event(
        r, "Normal", "ScaleUp", arena_format(arena, "A replica is created on pool %s.", name), err);
}

/* ---- the volume's list ---- */

/* P66; and what of the policy is in the volume. */
static void put_volume_spec(struct reconcile *r) {
    static const char *const copied[] = { "queueDepth", "luWorkers" };
    const json_t *policy = json_object_get(update_spec(&r->config), "policy");
    const char *removing = tree_text(update_spec(&r->volume), "removing");
    unsigned factor = count_living(r) - (*removing ? 1 : 0);
    json_t *list = json_array();

    for (unsigned i = 0; i < r->count; i++)
        if (!r->replicas[i].deleted_at)
            json_array_append_new(list, replica_entry_of(r, &r->replicas[i]));
    update_put_spec(r, &r->volume, "replicas", list);
    update_put_spec(r, &r->volume, "replicationFactor", json_integer(factor));
    update_put_spec(r, &r->volume, "consistencyFactor", json_integer(factor / 2 + 1));
    for (size_t i = 0; i < LENGTH(copied); i++) {
        json_t *value = json_object_get(json_object_get(policy, "target"), copied[i]);

        if (value)
            update_put_spec(r, &r->volume, copied[i], json_incref(value));
    }
    update_put_spec(r, &r->volume, "qos", reconcile_qos(policy));
}

int reconcile_replicas(struct reconcile *r, struct error *err) {
    const json_t *policy = json_object_get(update_spec(&r->config), "policy");
    const json_t *replaced = json_object_get(update_status(&r->config), "replacedPools");
    const json_t *list;

    r->wanted_pools =
        json_object_get(pool_list_effective(r->work->arena, policy, replaced), "replicaPoolInfo");
    if (reconcile_read_pools(r, err) < 0 || reconcile_replacement(r, err) < 0 ||
        scale_down(r, err) < 0)
        return -1;
    /* New replicas are among the others from the next evaluation on, which their creation
     * causes. */
    list = wanted_pools(r);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *pool = tree_text(json_array_get(list, i), "poolName");

        if (!has_replica(r, pool) && add(r, pool, (unsigned)json_array_size(list), err) < 0)
            return -1;
    }
    if (reconcile_replacement_begin(r, err) < 0)
        return -1;
    put_volume_spec(r);
    return 0;
}
