/*
 * One replica of the config: its pool, its state, its creation and its deletion.
 */
#include "declared/reconcile.private.h"

#include "common/assert.h"
#include "declared/tree.h"
#include "json/json.h"

struct document *replica_called(const struct reconcile *r, const char *id) {
    for (unsigned i = 0; *id && i < r->count; i++)
        if (text_is(r->replicas[i].id, id))
            return &r->replicas[i];
    return NULL;
}

/* ---- state ---- */

const json_t *replica_report_of(const struct reconcile *r, const struct document *replica) {
    return tree_entry(json_object_get(update_status(&r->volume), "replicaStatuses"), "replicaId",
                      replica->id);
}

bool replica_is_healthy(const struct reconcile *r, const struct document *replica) {
    return !replica->deleted_at && replica_is(replica, REPLICA_HEALTHY) &&
           text_is(tree_text(replica_report_of(r, replica), "mode"), "Healthy");
}

bool replica_is_counted(const struct reconcile *r, const struct document *replica) {
    return json_list_has(json_object_get(update_status(&r->config), "poolInfo"),
                         replica_pool_of(replica));
}

int reconcile_read_pools(struct reconcile *r, struct error *err) {
    const char **names = arena_alloc(r->work->arena, r->count * sizeof(*names) + 1);
    int count;

    for (unsigned i = 0; i < r->count; i++)
        names[i] = replica_pool_of(&r->replicas[i]);
    count = replica_pools_named(r->work, names, r->count, &r->pools, err);
    r->pool_count = count < 0 ? 0 : (unsigned)count;
    return count < 0 ? -1 : 0;
}

const struct replica_pool *reconcile_pool_named(const struct reconcile *r,
                                                const struct document *replica) {
    for (unsigned i = 0; i < r->pool_count; i++)
        if (text_is(r->pools[i].id, replica_pool_of(replica)))
            return &r->pools[i];
    return NULL;
}

const struct replica_pool *reconcile_pool(const struct reconcile *r,
                                          const struct document *replica) {
    const struct replica_pool *pool = reconcile_pool_named(r, replica);

    return pool && text_is(pool->node, tree_text(replica->body, "spec.nodeId")) ? pool : NULL;
}

bool reconcile_is_online(const struct reconcile *r, const struct document *replica) {
    const struct replica_pool *pool = reconcile_pool(r, replica);

    return pool && pool->up && text_is(pool->state, REPLICA_POOL_ONLINE);
}

/* ---- the entry in the volume ---- */

static json_t *entry(const char *id, const char *pool, const char *node, const char *path,
                     const char *address) {
    json_t *made = json_pack("{s:s, s:s, s:s, s:s}", "uid", id, "poolName", pool, "nodeId", node,
                             "path", path);

    if (address)
        json_object_set_new(made, "address", json_string(address));
    return made;
}

json_t *replica_entry(const char *id, const struct replica_pool *pool) {
    return entry(id, pool->id, pool->node, pool->path, pool->address);
}

/* With the last reported address of its pool. */
json_t *replica_entry_of(const struct reconcile *r, const struct document *replica) {
    const json_t *spec = document_spec(replica);
    const struct replica_pool *pool = reconcile_pool(r, replica);

    return entry(replica->id, tree_text(spec, "poolName"), tree_text(spec, "nodeId"),
                 tree_text(spec, "path"), pool ? pool->address : NULL);
}

json_t *reconcile_qos(const json_t *policy) {
    json_t *qos = json_at(policy, "target.qos");

    return qos ? json_deep_copy(qos) : json_pack("{s:i, s:i}", "iops", 0, "bytesPerSecond", 0);
}

/* ---- creation and deletion ---- */

int replica_make(struct reconcile *r, const struct document *volume,
                 const struct replica_pool *pool, const char *capacity, unsigned factor,
                 const char *id, json_t *members, const json_t *source, struct error *err) {
    struct arena *arena = r->work->arena;
    const char *phase = replica_phase_names[members ? REPLICA_INIT : REPLICA_RECREATE];
    json_t *status = json_keep(arena, json_pack("{s:s}", "phase", phase));
    json_t *spec =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i}", "volumeId", volume->id, "poolName",
                  pool->id, "nodeId", pool->node, "path", pool->path, "capacity", capacity,
                  "maximum", VOLUME_MAXIMUM, "replicationFactor", (int)factor);
    struct document made;

    assert(!r->dry_run && factor > 0);
    assert(!source || members); /* one that is rebuilt begins empty */
    if (members)
        json_object_set(spec, "members", members);
    if (source)
        json_object_set(spec, "source", (json_t *)(uintptr_t)source);
    return document_own_create_as(r->work, id, &kind_volume_replica, volume,
                                  arena_join(arena, volume->name, "-", pool->id, NULL), NULL,
                                  json_keep(arena, json_pack("{s:o}", "spec", spec)), status,
                                  pool->node, &made, err);
}

int reconcile_delete_replica(struct reconcile *r, struct document *replica, struct error *err) {
    struct document gone = *replica;

    assert(!replica->deleted_at);
    gone.deleted_at = r->work->now_us;
    r->writes = true;
    if (!r->dry_run && document_own_write(r->work, replica, &gone, err) < 0)
        return -1;
    *replica = gone;
    return 0;
}
