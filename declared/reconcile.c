#include "declared/reconcile.private.h"

#include "common/assert.h"
#include "declared/config_reclaim.h"
#include "declared/document_quota.h"
#include "operation/query.h"
#include "json/json.h"

#include <string.h>

/* ---- the whole ---- */

static void begin_update(struct document_update *update, const struct document *found) {
    *update = (struct document_update){ .before = *found, .after = *found };
}

/* 1, or 0 when there is no such config. */
static int load(struct reconcile *r, const char *id, struct error *err) {
    const struct db_value values[] = { DB_TEXT(id), DB_TEXT(kind_volume_config.name) };
    const struct query query = {
        .where = "d.id = $1 AND d.kind = $2", .values = values, .value_count = 2, .limit = 1
    };
    struct document *found = NULL;
    int count = document_list(r->work, &query, &found, err);

    if (count <= 0)
        return count;
    begin_update(&r->config, found);
    count = document_owned(r->work, id, &kind_replicated_volume, &found, err);
    if (count <= 0)
        return count < 0 ? -1 : 1;
    r->has_volume = true;
    begin_update(&r->volume, found);
    count = document_owned(r->work, found->id, &kind_volume_replica, &r->replicas, err);
    r->count = count < 0 ? 0 : (unsigned)count;
    return count < 0 ? -1 : 1;
}

/* Counts a document that has not been counted for quotas yet. */
static int count_update(struct reconcile *r, struct document_update *update, struct error *err) {
    if (!document_quota_is_due(&update->before))
        return 0;
    r->writes = true;
    if (r->dry_run)
        return 0;
    if (document_quota_count(r->work, &update->before, err) < 0)
        return -1;
    update->after.size_gb = update->before.size_gb;
    return 0;
}

static int load_snapshots(struct reconcile *r, struct error *err) {
    struct document *found = NULL;
    int count =
        document_owned(r->work, r->config.before.id, &kind_volume_config_snapshot, &found, err);

    if (count < 0)
        return -1;
    r->snapshots = arena_alloc(r->work->arena, ((size_t)count + 1) * sizeof(*r->snapshots));
    r->snapshot_count = (unsigned)count;
    for (int i = 0; i < count; i++) {
        begin_update(&r->snapshots[i], &found[i]);
        if (count_update(r, &r->snapshots[i], err) < 0)
            return -1;
    }
    return 0;
}

/* Serves it where it is published; or else, without admitting clients, where it is reverted or a
 * snapshot is taken. */
static int serve(struct reconcile *r, struct error *err) {
    const char *node = tree_text(r->config.before.body, "publish.nodeId");
    bool is_published = *node && !reconcile_reverts(r);

    if (!is_published && reconcile_snapshot_node(r, &node, err) < 0)
        return -1;
    update_put_spec(r, &r->volume, "serve", json_boolean(is_published || !*node));
    return reconcile_target(r, node, err);
}

static int advance(struct reconcile *r, struct error *err) {
    if (r->config.before.deleted_at)
        return reconcile_delete(r, err);
    if (!r->has_volume)
        return config_is(r, CONFIG_FAILED) ? 0 : reconcile_create(r, err);
    if (config_is(r, CONFIG_PENDING) && reconcile_bind(r, err) < 0)
        return -1;
    if (!config_is(r, CONFIG_BOUND) && !config_is(r, CONFIG_RECONCILING))
        return 0;
    if (load_snapshots(r, err) < 0 || reconcile_replicas(r, err) < 0 ||
        reconcile_snapshots(r, err) < 0 || reconcile_revert(r, err) < 0 ||
        reconcile_reclaim(r, err) < 0 || serve(r, err) < 0 || reconcile_recovery(r, err) < 0 ||
        reconcile_size(r, err) < 0 || reconcile_health(r, err) < 0)
        return -1;
    return reconcile_finish(r, err);
}

static int write_update(struct reconcile *r, struct document_update *update, struct error *err) {
    const struct document *before = &update->before, *after = &update->after;

    assert(text_is(before->id, after->id));
    if (text_is(before->node, after->node) && before->finalizers == after->finalizers &&
        before->deleted_at == after->deleted_at &&
        (!update->own_body || json_equal(before->body, after->body)) &&
        (!update->own_status || json_equal(before->status, after->status)))
        return 0;
    r->writes = true;
    return r->dry_run ? 0 : document_own_write(r->work, before, &update->after, err);
}

static int write_all(struct reconcile *r, struct error *err) {
    for (unsigned i = 0; i < r->snapshot_count; i++)
        if (write_update(r, &r->snapshots[i], err) < 0)
            return -1;
    return (r->has_volume && write_update(r, &r->volume, err) < 0)
               ? -1
               : write_update(r, &r->config, err);
}

static int run(struct reconcile *r, const char *id, struct error *err) {
    int found = load(r, id, err);

    if (found <= 0)
        return found;
    if (count_update(r, &r->config, err) < 0 || advance(r, err) < 0 || write_all(r, err) < 0)
        return error_context(err, "config %s", r->config.before.name);
    return r->again ? RECONCILE_AGAIN : RECONCILE_SETTLED;
}

int reconcile_config(struct work *work, const char *id, struct error *err) {
    struct reconcile r = { .work = work };

    return run(&r, id, err);
}

int reconcile_report_failure(struct work *work, const char *id, const struct error *why,
                             struct error *err) {
    struct reconcile r = { .work = work };
    int found = load(&r, id, err);

    return found <= 0 ? found
                      : reconcile_record_event(&r, "Warning", "ReconcileFailed", why->message, err);
}

/* ---- settled configs ---- */

/* Each state that depends on time, on an unresponsive node or on documents of another config begins
 * with one of these. */
static bool is_settled(const struct reconcile *r) {
    const json_t *spec = document_spec(&r->volume.before);
    bool settled = r->has_volume && !r->again && !r->writes && !r->scaling &&
                   config_is(r, CONFIG_BOUND) && !r->config.before.deleted_at &&
                   !json_object_get(update_status(&r->config), "replacement") &&
                   !json_object_get(spec, "salvage") && !json_object_get(spec, "revert") &&
                   !reconcile_reverts(r) && !config_reclaim_pending(&r->config.before) &&
                   text_is(tree_text(spec, "nodeId"), r->volume.before.node);

    for (unsigned i = 0; settled && i < r->count; i++)
        settled = !r->replicas[i].deleted_at && reconcile_is_online(r, &r->replicas[i]) &&
                  !reconcile_pool(r, &r->replicas[i])->draining;
    for (unsigned i = 0; settled && i < r->snapshot_count; i++) {
        const struct document *snapshot = &r->snapshots[i].before;

        settled = !snapshot->deleted_at &&
                  !phase_is(&snapshot_states, snapshot->status, SNAPSHOT_PENDING) &&
                  !json_object_get(snapshot->status, "pendingPoolInfo");
    }
    return settled;
}

int reconcile_evaluate(struct work *work, const char *id, struct reconcile_evaluation *ret,
                       struct error *err) {
    struct reconcile r = { .work = work, .dry_run = true };
    int result = run(&r, id, err);

    if (ret)
        *ret = (struct reconcile_evaluation){ .version = r.config.before.version,
                                              .is_settled =
                                                  result == RECONCILE_SETTLED && is_settled(&r),
                                              .waits_for_slot = r.waits_for_slot,
                                              .pools = r.pools,
                                              .pool_count = r.pool_count };
    if (result < 0)
        return -1;
    return r.writes ? RECONCILE_WRITES : RECONCILE_SETTLED;
}
