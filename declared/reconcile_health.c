/*
 * Sets the phase of a volume without a node, and the conditions of its config about health: each
 * change of one is an event of both documents.
 */
#include "declared/reconcile.private.h"

#include "declared/progress.h"
#include "declared/volume_health.h"
#include "json/json.h"

#include <string.h>

/* ---- facts ---- */

/* The node's pools are already read when it has a replica of the volume. */
static int find_unresponsive(const struct reconcile *r, bool *ret, struct error *err) {
    const char *node = r->volume.after.node;
    int unresponsive;

    *ret = false;
    if (!node)
        return 0;
    for (unsigned i = 0; i < r->pool_count; i++)
        if (text_is(r->pools[i].node, node)) {
            *ret = !r->pools[i].up;
            return 0;
        }
    unresponsive = replica_pool_is_node_unresponsive(r->work, node, err);
    *ret = unresponsive > 0;
    return unresponsive < 0 ? -1 : 0;
}

static const char *find_near_full(const struct reconcile *r, const json_t *conditions) {
    enum replica_pool_space least =
        condition_is(conditions, CONDITION_NEAR_FULL, "True") ? SPACE_LITTLE : SPACE_NEAR_FULL;

    for (unsigned i = 0; i < r->count; i++) {
        const struct document *replica = &r->replicas[i];
        const struct replica_pool *pool = reconcile_pool(r, replica);

        if (!replica->deleted_at && pool && pool->up && replica_pool_space(pool) >= least)
            return replica->id;
    }
    return NULL;
}

static int find_facts(const struct reconcile *r, const json_t *conditions, struct volume_facts *ret,
                      struct error *err) {
    struct volume_facts facts = { .is_wanted =
                                      *tree_text(r->config.before.body, "publish.nodeId") != '\0',
                                  .has_node = r->volume.after.node != NULL,
                                  .near_full = find_near_full(r, conditions) };
    const json_t *old;

    volume_facts_read(update_spec(&r->volume), update_status(&r->volume), &facts);
    /* New replicas count only once they are rebuilt. */
    for (unsigned i = 0; i < r->count; i++) {
        const struct document *replica = &r->replicas[i];

        if (replica->deleted_at || !replica_is_counted(r, replica))
            continue;
        facts.replicas++;
        facts.present += reconcile_is_online(r, replica) && replica_is(replica, REPLICA_HEALTHY);
        if (!replica_report_of(r, replica))
            continue;
        facts.counted++;
        facts.counted_in_sync += replica_is_healthy(r, replica);
    }
    /* A rebuild was running, and no node continues it. */
    old = condition_find(conditions, CONDITION_REBUILDING);
    facts.is_rebuild_interrupted =
        !(facts.has_node && facts.is_serving) && (text_is(tree_text(old, "status"), "True") ||
                                                  text_is(tree_text(old, "reason"), "Interrupted"));
    if (find_unresponsive(r, &facts.is_unresponsive, err) < 0)
        return -1;
    *ret = facts;
    return 0;
}

/* ---- the phase of a volume that no node serves as published ---- */

/* Of a volume with a node: the reported one. */
static void put_phase(struct reconcile *r, const struct volume_facts *facts,
                      enum volume_phase phase) {
    if (facts->has_node)
        phase = facts->reached;
    if (volume_is_awaited(r->config.before.body, r->volume.after.body) &&
        volume_phase_is_usable(phase))
        phase = VOLUME_IS_INIT;
    update_put_status(r, &r->volume, "servedPhase",
                      phase == facts->reached ? NULL
                                              : json_string(volume_phase_names[facts->reached]));
    update_advance(r, &r->volume, &volume_states, VOLUME_FOUND + phase);
}

/* ---- events ---- */

static bool has_failed(const struct condition *now) {
    return !volume_condition_is_good(now) && !text_is(now->reason, "Interrupted");
}

/* A rebuild was running, and has ended: the replica that was being rebuilt may be healthy. */
static int record_rebuild_end(struct reconcile *r, const struct condition *now, struct error *err) {
    const json_t *list = json_object_get(update_status(&r->volume), "replicaStatuses");
    const char *replica = tree_text(update_status(&r->config), "rebuiltReplicaId");

    if (*replica && text_is(tree_text(tree_entry(list, "replicaId", replica), "mode"), "Healthy"))
        return reconcile_record_volume_event(r, "Normal", "RebuildFinished",
                                             "The replica is rebuilt.", err);
    return has_failed(now) ? 0
                           : reconcile_record_volume_event(r, "Warning", "RebuildInterrupted",
                                                           text_is(now->reason, "Interrupted")
                                                               ? now->message
                                                               : "The rebuild was interrupted.",
                                                           err);
}

/* ---- the step ---- */

static void add_progress(json_t *list, const json_t *status) {
    const json_t *more = json_object_get(status, "progress");

    for (size_t i = 0; i < json_array_size(more) && json_array_size(list) < PROGRESS_MOST; i++)
        json_array_append(list, json_array_get(more, i));
}

/* Once for each start that found any. */
static int put_decided(struct reconcile *r, struct error *err) {
    json_int_t decided = json_int_at(update_status(&r->volume), "target.decidedBlocks");
    bool is_new = decided != json_int_at(update_status(&r->config), "decidedBlocks");

    update_put_status(r, &r->config, "decidedBlocks", decided > 0 ? json_integer(decided) : NULL);
    if (!is_new || decided == 0)
        return 0;
    return reconcile_record_volume_event(
        r, "Normal", "BlocksDecided",
        arena_format(r->work->arena,
                     "%jd blocks differed after an unclean stop, and were decided by write logs.",
                     (intmax_t)decided),
        err);
}

static int put_condition(struct reconcile *r, json_t *conditions, const struct condition *now,
                         struct error *err) {
    const json_t *present = condition_find(conditions, now->type);
    const json_t *old = present ? json_keep(r->work->arena, json_deep_copy(present)) : NULL;
    bool is_good = volume_condition_is_good(now);
    const char *reason;

    if (!condition_put(conditions, now, r->work->now_us))
        return 0;
    reason = now->reason;
    if (text_is(now->type, CONDITION_REBUILDING)) {
        if (text_is(tree_text(old, "status"), "True") && record_rebuild_end(r, now, err) < 0)
            return -1;
        if (text_is(now->status, "True"))
            return reconcile_record_volume_event(r, "Normal", "RebuildStarted", now->message, err);
        return has_failed(now)
                   ? reconcile_record_volume_event(r, "Warning", "RebuildFailed", now->message, err)
                   : 0;
    }
    /* changes covered by other events, and the initial state of a new volume */
    if (text_is(reason, "NotPublished") || text_is(reason, "Starting") || (is_good && !old) ||
        (text_is(tree_text(old, "status"), now->status) &&
         text_is(tree_text(old, "reason"), reason)))
        return 0;
    if (text_is(now->type, CONDITION_NEAR_FULL))
        reason = text_is(now->status, "True") ? CONDITION_NEAR_FULL : now->reason;
    return reconcile_record_volume_event(r, is_good ? "Normal" : "Warning", reason, now->message,
                                         err);
}

int reconcile_health(struct reconcile *r, struct error *err) {
    json_t *conditions = config_conditions(r);
    struct volume_health health;
    struct volume_facts facts;
    json_t *list;

    if (find_facts(r, conditions, &facts, err) < 0)
        return -1;
    health = volume_health_of(r->work->arena, &facts);
    put_phase(r, &facts, health.phase);
    if (put_condition(r, conditions, &health.available, err) < 0 ||
        put_condition(r, conditions, &health.redundant, err) < 0 ||
        put_condition(r, conditions, &health.rebuilding, err) < 0 ||
        put_condition(r, conditions, &health.near_full, err) < 0)
        return -1;
    if (put_decided(r, err) < 0)
        return -1;
    config_put_conditions(r, conditions);
    /* for the event at the end of the rebuild */
    update_put_status(r, &r->config, "rebuiltReplicaId",
                      text_is(health.rebuilding.status, "True") ? json_string(facts.rebuilt)
                                                                : NULL);
    /* Progress of the volume and of its replicas, while their nodes respond. */
    list = json_array();
    if (facts.has_node && !facts.is_unresponsive)
        add_progress(list, update_status(&r->volume));
    for (unsigned i = 0; i < r->count; i++) {
        const struct replica_pool *pool = reconcile_pool(r, &r->replicas[i]);

        if (!r->replicas[i].deleted_at && pool && pool->up)
            add_progress(list, r->replicas[i].status);
    }
    update_put_status(r, &r->config, "progress", tree_unless_empty(list));
    return 0;
}
