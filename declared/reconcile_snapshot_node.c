/*
 * The node that takes a snapshot of an unpublished volume, or reverts it: the one with most of its
 * replicas.
 */
#include "declared/reconcile.private.h"

#include "declared/snapshot_node.h"

/* The node with most of the replicas, if it can; NULL: no such node is up. */
static const char *best_node(const struct reconcile *r) {
    const char *best = NULL;
    unsigned most = 0;

    for (unsigned i = 0; i < r->count; i++) {
        const struct replica_pool *pool = reconcile_pool(r, &r->replicas[i]);
        unsigned count = 0;

        if (r->replicas[i].deleted_at || !pool || !pool->up ||
            !snapshot_node_can(update_spec(&r->volume), pool->node))
            continue;
        for (unsigned k = 0; k < r->count; k++)
            count += !r->replicas[k].deleted_at &&
                     text_is(tree_text(r->replicas[k].body, "spec.nodeId"), pool->node);
        if (count > most)
            best = pool->node;
        most = count > most ? count : most;
    }
    return best;
}

/* The node of the volume if it responds, and can; else another may take the volume. */
int reconcile_snapshot_node(struct reconcile *r, const char **ret, struct error *err) {
    const char *holder = r->volume.after.node;
    int unresponsive;

    *ret = reconcile_replacement_node(r);
    if (!(reconcile_reverts(r) ? reconcile_wants_revert(r) : reconcile_wants_snapshot(r)) ||
        snapshot_node_obstacle(r->work->arena, update_spec(&r->volume), ""))
        return 0;
    *ret = "";
    unresponsive = holder && snapshot_node_can(update_spec(&r->volume), holder)
                       ? replica_pool_is_node_unresponsive(r->work, holder, err)
                       : 1;
    if (unresponsive < 0)
        return -1;
    *ret = unresponsive ? best_node(r) : holder;
    if (*ret)
        return 0;
    *ret = "";
    return reconcile_fail(
        r, "Snapshot", "No node of a replica is up to take a snapshot, or to revert to one.", err);
}
