/*
 * The node that takes a snapshot of an unpublished volume, or reverts it: the one with most of its
 * replicas.
 */
#include "declared/reconcile.private.h"

#include "declared/snapshot_node.h"

static bool is_at(const struct document *replica, const char *node) {
    return !replica->deleted_at && text_is(tree_text(replica->body, "spec.nodeId"), node);
}

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
            count += is_at(&r->replicas[k], pool->node);
        if (count > most)
            best = pool->node;
        most = count > most ? count : most;
    }
    return best;
}

/* 1: the node of the volume responds, and can; 0: there is none, it cannot, or it does not respond,
 * and another may take the volume. */
static int holder_responds(struct reconcile *r, struct error *err) {
    const char *holder = r->volume.after.node;
    int unresponsive;

    if (!holder || !snapshot_node_can(update_spec(&r->volume), holder))
        return 0;
    unresponsive = replica_pool_is_node_unresponsive(r->work, holder, err);
    return unresponsive < 0 ? -1 : !unresponsive;
}

int reconcile_snapshot_node(struct reconcile *r, const char **ret, struct error *err) {
    int responds;

    *ret = reconcile_replacement_node(r);
    if (!(reconcile_reverts(r) ? reconcile_wants_revert(r) : reconcile_wants_snapshot(r)) ||
        snapshot_node_obstacle(r->work->arena, update_spec(&r->volume), ""))
        return 0;
    *ret = "";
    responds = holder_responds(r, err);
    if (responds < 0)
        return -1;
    *ret = responds ? r->volume.after.node : best_node(r);
    if (*ret)
        return 0;
    *ret = "";
    return reconcile_fail(
        r, "Snapshot", "No node of a replica is up to take a snapshot, or to revert to one.", err);
}
