/*
 * The config's own status, and its deletion.
 */
#include "declared/reconcile.private.h"

#include "common/assert.h"
#include "declared/condition.h"
#include "json/json.h"

/* ---- the status ---- */

/* The pools that count: a new one once its replica is healthy, an old one until its data are
 * removed. False: a new one is not healthy yet, or an old one still exists on a reachable pool. */
static bool put_pools(struct reconcile *r) {
    const json_t *old = json_object_get(update_status(&r->config), "poolInfo");
    json_t *pools = json_array();
    bool all = true;

    for (unsigned i = 0; i < r->count; i++) {
        const struct document *replica = &r->replicas[i];
        const char *pool = replica_pool_of(replica);

        if (json_list_has(old, pool) || replica_is_healthy(r, replica))
            json_array_append_new(pools, json_string(pool));
        else if (!replica->deleted_at)
            all = false;
        all = all && !(replica->deleted_at && reconcile_is_online(r, replica));
    }
    update_put_status(r, &r->config, "poolInfo", pools);
    return all;
}

static struct condition find_stuck(const struct reconcile *r) {
    struct condition found = { CONDITION_NOT_REMOVED, "True", NULL, NULL };

    for (unsigned i = 0; i < r->count; i++) {
        const struct document *replica = &r->replicas[i];
        const struct replica_pool *pool;

        /* P45: the data of a deleted replica cannot be removed, and so its document stays. */
        if (replica->deleted_at && replica_is(replica, REPLICA_DELETION_FAILED)) {
            found.reason = "DeletionFailed";
            found.message = arena_format(
                r->work->arena, "The data of replica %s cannot be removed yet.", replica->id);
            return found;
        }
        /* the pool of a deleted replica is unreachable, and its document stays */
        if (found.reason || !replica->deleted_at || reconcile_is_online(r, replica))
            continue;
        pool = reconcile_pool(r, replica);
        found.reason = pool && pool->up ? "PoolOffline" : "PoolSilent";
        found.message = arena_format(
            r->work->arena,
            "The pool of replica %s is %s. The replica's data are removed when it is back, or when an administrator declares them lost.",
            replica->id, pool && pool->up ? "offline" : "unresponsive");
    }
    return found;
}

/* Reported once; its node keeps retrying. */
static int put_stuck(struct reconcile *r, struct error *err) {
    json_t *conditions = config_conditions(r);
    const json_t *old = condition_find(conditions, CONDITION_NOT_REMOVED);
    const struct condition now = find_stuck(r);
    bool is_new = now.message && !(old && text_is(tree_text(old, "message"), now.message));

    if (now.message ? condition_put(conditions, &now, r->work->now_us)
                    : condition_remove(conditions, CONDITION_NOT_REMOVED))
        config_put_conditions(r, conditions);
    return is_new ? reconcile_record_event(r, "Warning", CONDITION_NOT_REMOVED, now.message, err)
                  : 0;
}

int reconcile_finish(struct reconcile *r, struct error *err) {
    json_t *conditions = config_conditions(r);
    struct condition scaling = { CONDITION_SCALING, "True", NULL, NULL };
    const struct state_row *row;

    if (!put_pools(r) && !r->scaling) {
        r->scaling = "Scaling";
        r->scaling_message = "A replica is being rebuilt, or its data are being removed.";
    }
    scaling.reason = r->scaling;
    scaling.message = r->scaling_message;
    if (r->scaling ? condition_put(conditions, &scaling, r->work->now_us)
                   : condition_remove(conditions, CONDITION_SCALING))
        config_put_conditions(r, conditions);
    if (put_stuck(r, err) < 0)
        return -1;
    row = update_advance(r, &r->config, &config_states, /* P20 */
                         r->scaling          ? CONFIG_REPLICAS_CHANGE
                         : volume_is_done(r) ? CONFIG_SETTLED
                                             : CONFIG_NODE_WORKS);
    return row && row->action == PHASE_NORMAL_EVENT
               ? reconcile_record_event(r, "Normal", "PolicySync", row->sentence, err)
               : 0;
}

/* ---- deletion ---- */

/* P44 */
int reconcile_delete(struct reconcile *r, struct error *err) {
    json_t *finalizers = reconcile_other_finalizers(r, &r->config.before);

    if (r->has_volume) {
        if (reconcile_read_pools(r, err) < 0 || reconcile_target(r, "", err) < 0 ||
            put_stuck(r, err) < 0)
            return -1;
        if (r->volume.after.node)
            return 0;
        /* It is deleted with the last of its replicas. */
        assert(r->config.before.deleted_at);
        for (unsigned i = 0; i < r->count; i++)
            if (!r->replicas[i].deleted_at && reconcile_delete_replica(r, &r->replicas[i], err) < 0)
                return -1;
        if (!r->volume.before.deleted_at)
            r->volume.after.deleted_at = r->work->now_us;
        return 0;
    }
    if (json_array_size(finalizers) < json_array_size(r->config.before.finalizers))
        r->config.after.finalizers = finalizers;
    return 0;
}
