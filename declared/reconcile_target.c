/*
 * The node that serves the volume. documents.node is the one that acts on it: another node gets it
 * only after the previous one has reported, about a spec that assigns the volume to no node, that
 * it has stopped serving it. So there are never two. A node does nothing before it has reported
 * its claim (claimedEpoch); from one that has not, if there is such a node at all, the volume is
 * revoked at once.
 *
 * An unresponsive node reports nothing. The volume is revoked from it, for another node or for
 * none, when the next one, with a higher epoch, can have more than half of three or more replicas
 * from responsive nodes: these then refuse the unresponsive node, and alone it can neither write
 * nor acknowledge writes. Its silence counts while those nodes report: an API that was down has
 * received no reports at all.
 */
#include "declared/reconcile.private.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "declared/condition.h"
#include "declared/volume_health.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

/* Its node has stopped. */
static bool is_released(const struct reconcile *r) {
    return text_is(tree_text(r->volume.before.body, "spec.nodeId"), "") && volume_is_done(r) &&
           !json_object_get(update_status(&r->volume), "target");
}

/* Its node may have started. */
static bool is_claimed(const struct reconcile *r) {
    const struct document *volume = &r->volume.before;

    return json_int_at(volume->status, "claimedEpoch") >= json_int_at(volume->body, "spec.epoch");
}

static json_int_t present_epoch(const struct reconcile *r) {
    return json_int_at(update_spec(&r->volume), "epoch");
}

/* The epoch that its node has found in a replica; 0: none is higher. */
static json_int_t higher_epoch(const struct reconcile *r) {
    return json_int_at(r->volume.before.status, "target.highestEpoch");
}

/*
 * Replicas that have seen this epoch refuse targets of earlier ones. A database restored from a
 * backup lacks the highest epochs, some of which nodes report, and those assigned after the
 * backup: the random step avoids all of these.
 */
static void begin_epoch(struct reconcile *r) {
    json_int_t highest = present_epoch(r), step;
    char digits[5];

    if (higher_epoch(r) > highest)
        highest = higher_epoch(r);
    memcpy(digits, work_uuid(r->work), 4);
    digits[4] = '\0';
    step = 1 + (json_int_t)strtoul(digits, NULL, 16); /* up to 65,536 */
    update_put_spec(r, &r->volume, "epoch", json_integer(highest + step));
    assert(present_epoch(r) > highest);
}

/* Its node got an epoch that is over for the replicas: it gets another. */
static int renew_epoch(struct reconcile *r, struct error *err) {
    if (higher_epoch(r) <= present_epoch(r))
        return 0;
    begin_epoch(r);
    assert(present_epoch(r) > higher_epoch(r));
    return reconcile_record_event(
        r, "Warning", "EpochRenewed",
        arena_format(r->work->arena,
                     "A replica was opened in epoch %jd, which this database does "
                     "not know: the volume continues in epoch %jd.",
                     (intmax_t)higher_epoch(r), (intmax_t)present_epoch(r)),
        err);
}

/* NBD is the default export, and an empty list of clients equals a missing one. */
static void put_publish(struct reconcile *r, const char *node) {
    const char *wanted = tree_text(r->config.before.body, "publish.export");
    const char *had = tree_text(update_spec(&r->volume), "export");
    json_t *clients = json_at(r->config.before.body, "publish.clients");
    const json_t *had_clients = json_object_get(update_spec(&r->volume), "clients");

    if (!*wanted)
        wanted = "nbd";
    if (*node && !text_is(*had ? had : "nbd", wanted))
        update_put_spec(r, &r->volume, "export", json_string(wanted));
    if (json_array_size(clients) > 0 || json_array_size(had_clients) > 0)
        update_put_spec(r, &r->volume, "clients",
                        json_array_size(clients) > 0 ? json_incref(clients) : NULL);
}

static void set_node(struct reconcile *r, const char *node) {
    begin_epoch(r);
    update_put_status(r, &r->volume, "servedPhase", NULL);
    update_put_spec(r, &r->volume, "nodeId", json_string(node));
    r->volume.after.node = *node ? node : NULL;
}

static int release(struct reconcile *r, struct error *err) {
    const char *node = r->volume.before.node;
    const char *how =
        is_claimed(r) ? "has stopped serving the volume" : "had not started to serve the volume";

    assert(!is_claimed(r) || is_released(r)); /* there are never two */
    r->volume.after.node = NULL;
    update_put_status(r, &r->volume, "target", NULL); /* of an epoch that is over */
    return reconcile_record_event(r, "Normal", "Unpublished",
                                  arena_format(r->work->arena, "Node %s %s.", node, how), err);
}

/* ---- an unresponsive node ---- */

#define FENCE_LEAST 3 /* of two replicas, the unresponsive node alone might have as many */

/* Sets one of both conditions, or removes them when there is no message. */
static void put_waiting(struct reconcile *r, const char *type, const char *reason,
                        const char *message) {
    static const char *const types[] = { CONDITION_MOVING, CONDITION_STOPPING };
    json_t *conditions = config_conditions(r);
    const struct condition now = { type, "False", reason, message };
    bool changed = false;

    for (size_t i = 0; i < LENGTH(types); i++) {
        bool stands = message && strcmp(types[i], type) == 0;

        changed |= stands ? condition_put(conditions, &now, r->work->now_us)
                          : condition_remove(conditions, types[i]);
    }
    if (changed)
        config_put_conditions(r, conditions);
}

static void clear_waiting(struct reconcile *r) {
    put_waiting(r, CONDITION_MOVING, NULL, NULL);
}

/* Number of replicas that keep the volume's node from writing once `node` opens them; on pools that
 * have been reported for so long. */
static json_int_t count_fences(const struct reconcile *r, const char *node, int64_t up_us) {
    json_int_t count = 0;

    for (unsigned i = 0; i < r->count; i++) {
        const struct replica_pool *pool =
            r->replicas[i].deleted_at ? NULL : reconcile_pool(r, &r->replicas[i]);

        count += pool && pool->up && pool->up_us >= up_us &&
                 (pool->address || text_is(pool->node, node));
    }
    return count;
}

static json_int_t count_needed(const struct reconcile *r) {
    return json_int_at(update_spec(&r->volume), "consistencyFactor");
}

/* Why it cannot be revoked; NULL: it can. */
static const char *find_obstacle(const struct reconcile *r, const char *node) {
    json_int_t wanted = json_int_at(update_spec(&r->volume), "replicationFactor");
    json_int_t fences = count_fences(r, node, 0);

    if (wanted < FENCE_LEAST)
        return arena_format(r->work->arena, "fewer than %d replicas are no fencing quorum",
                            FENCE_LEAST);
    if (fences < count_needed(r))
        return arena_format(r->work->arena,
                            "%jd of the %jd needed replicas are on nodes that respond",
                            (intmax_t)fences, (intmax_t)count_needed(r));
    return NULL;
}

static int take_over(struct reconcile *r, const char *node, struct error *err) {
    struct arena *arena = r->work->arena;
    const char *holder = r->volume.before.node;
    const char *unresponsive;
    const char *message =
        *node ? arena_format(arena, "Node %s does not respond; node %s is to serve the volume.",
                             holder, node)
              : arena_format(arena, "Node %s does not respond; the volume is revoked from it.",
                             holder);

    assert(count_fences(r, node, 0) >= count_needed(r) && !text_is(holder, node));
    clear_waiting(r);
    set_node(r, node);
    update_advance(r, &r->volume, &volume_states, VOLUME_REVOKED);
    update_put_status(r, &r->volume, "target", NULL);
    /* until the next node has most of the replicas, it is unknown whether this one has stopped */
    unresponsive = tree_text(update_status(&r->volume), "silentNodes");
    if (!strstr(arena_join(arena, ",", unresponsive, ",", NULL),
                arena_join(arena, ",", holder, ",", NULL)))
        update_put_status(
            r, &r->volume, "silentNodes",
            json_string(arena_join(arena, unresponsive, *unresponsive ? "," : "", holder, NULL)));
    return reconcile_record_event(r, "Warning", "TakenOver", message, err);
}

/* The volume is not revoked from the node, whatever its state. */
static void wait_for_stop(struct reconcile *r) {
    put_waiting(
        r, CONDITION_STOPPING, "NodeSilent",
        arena_format(
            r->work->arena,
            "Node %s may still serve the volume, and does not respond. It must report that it has stopped, or an administrator must confirm it.",
            r->volume.before.node));
}

static int wait_to_move(struct reconcile *r, const char *node, int64_t unseen_us,
                        struct error *err) {
    int64_t enough_us = r->work->settings->target_takeover_s * SECOND_US;
    const char *obstacle = find_obstacle(r, node);

    if (!obstacle && unseen_us > enough_us && count_fences(r, node, enough_us) >= count_needed(r))
        return take_over(r, node, err);
    if (!obstacle) {
        const char *holder = r->volume.before.node;
        intmax_t seconds = (intmax_t)r->work->settings->target_takeover_s;

        if (*node)
            put_waiting(
                r, CONDITION_MOVING, "NodeSilent",
                arena_format(
                    r->work->arena,
                    "Node %s does not respond: node %s takes over the volume after %jd seconds.",
                    holder, node, seconds));
        else
            put_waiting(
                r, CONDITION_STOPPING, "NodeSilent",
                arena_format(
                    r->work->arena,
                    "Node %s does not respond: the volume is revoked from it after %jd seconds.",
                    holder, seconds));
    } else if (*node) {
        put_waiting(
            r, CONDITION_MOVING, "CannotFence",
            arena_format(
                r->work->arena,
                "Node %s does not respond and must be fenced: %s. An administrator must confirm that it has stopped.",
                r->volume.before.node, obstacle));
    } else
        wait_for_stop(r);
    return 0;
}

/* Its stop was requested, and has not been reported. */
static int wait_for_node(struct reconcile *r, const char *node, struct error *err) {
    const struct settings *settings = r->work->settings;
    const struct document *volume = &r->volume.before;
    const int64_t down_us = settings->replica_pool_down_s * SECOND_US;
    int64_t pools_us = 0, unseen_us;
    /* the time since the last report of a node with pools, or about the volume that it serves */
    int has_pools = replica_pool_node_unseen_us(r->work, volume->node, &pools_us, err);

    if (has_pools < 0)
        return -1;
    unseen_us = has_pools ? pools_us : r->work->now_us - volume->updated_at;
    if (settings->target_takeover_s > 0 && pools_us > down_us)
        return wait_to_move(r, node, pools_us, err);
    if (unseen_us > down_us)
        wait_for_stop(r);
    else
        clear_waiting(r);
    return 0;
}

/* ---- the step ---- */

int reconcile_target(struct reconcile *r, const char *node, struct error *err) {
    const json_t *config = r->config.before.body;
    const char *holder = r->volume.after.node;

    put_publish(r, node);
    if (holder && !text_is(holder, node)) {
        update_put_spec(r, &r->volume, "nodeId", json_string(""));
        if (is_claimed(r) && !is_released(r))
            return wait_for_node(r, node, err);
    }
    clear_waiting(r);
    if (holder && text_is(holder, node) && !is_released(r)) {
        update_put_spec(r, &r->volume, "nodeId", json_string(node));
        /* Until now a stop was requested of its node, or clients were not admitted: its phase is
         * from before the publish. */
        if (volume_is_awaited(config, r->volume.before.body) &&
            !volume_is_awaited(config, r->volume.after.body)) {
            update_put_status(r, &r->volume, "servedPhase", NULL);
            update_advance(r, &r->volume, &volume_states, VOLUME_ASSIGNED);
        }
        return renew_epoch(r, err);
    }
    if (holder && release(r, err) < 0)
        return -1;
    if (!*node)
        return 0;
    /* The phase under its previous node does not predict when it can be reached. */
    set_node(r, node);
    update_advance(r, &r->volume, &volume_states, VOLUME_ASSIGNED);
    return reconcile_record_event(
        r, "Normal", "Publishing",
        arena_format(r->work->arena, "Node %s is to serve the volume.", node), err);
}
