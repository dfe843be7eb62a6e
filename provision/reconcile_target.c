/*
 * Where the volume is served.  documents.node is who acts on it: it is not another's before the
 * node that had it has said of this very spec, in which it is wanted nowhere, that it serves it no
 * more.  So there are never two.  A node begins nothing before it has said so (claimedEpoch); from
 * one that has not, if there is such a node at all, it is taken without its word.
 *
 * A node that is silent says nothing.  It loses the volume to another one when that one, with a
 * higher epoch, can have more than half of three or more replicas from nodes that answer: these
 * obey the silent one no more, and alone it can neither write nor make others believe that it has.
 */
#include "provision/reconcile.private.h"

#include "provision/condition.h"
#include "json/json.h"

/* Its node has nothing of it any more. */
static bool is_released(const struct reconcile *r) {
    return text_is(tree_text(json_object_get(r->volume.before.body, "spec"), "nodeId"), "") &&
           volume_is_done(r) && !json_object_get(side_status(&r->volume), "target");
}

/* Its node may have something of it. */
static bool is_claimed(const struct reconcile *r) {
    const struct document *volume = &r->volume.before;
    const json_t *spec = json_object_get(volume->body, "spec");

    return json_integer_value(json_object_get(volume->status, "claimedEpoch")) >=
           json_integer_value(json_object_get(spec, "epoch"));
}

/* Replicas that have seen this epoch obey no target of an earlier one. */
static void begin_epoch(struct reconcile *r) {
    json_int_t epoch = json_integer_value(json_object_get(side_spec(&r->volume), "epoch"));

    side_put_spec(r, &r->volume, "epoch", json_integer(epoch + 1));
}

/* Every volume is served so that says nothing else. */
static void put_export(struct reconcile *r) {
    const char *wanted = tree_text(json_object_get(r->config.before.body, "publish"), "export");
    const char *had = tree_text(side_spec(&r->volume), "export");

    if (!*wanted)
        wanted = "nbd";
    if (!text_is(*had ? had : "nbd", wanted))
        side_put_spec(r, &r->volume, "export", json_string(wanted));
}

static void set_node(struct reconcile *r, const char *node) {
    begin_epoch(r);
    side_put_spec(r, &r->volume, "nodeId", json_string(node));
    r->volume.after.node = node;
}

static int give(struct reconcile *r, const char *node, struct error *err) {
    set_node(r, node);
    return reconcile_tell(r, "Normal", "Publishing",
                          arena_format(r->work->arena, "Node %s is to serve the volume.", node),
                          err);
}

static int release(struct reconcile *r, struct error *err) {
    const char *node = r->volume.before.node;
    const char *how = is_claimed(r) ? "serves the volume no more" : "had not taken the volume yet";

    r->volume.after.node = NULL;
    side_put_status(r, &r->volume, "target", NULL); /* of an epoch that is over */
    return reconcile_tell(r, "Normal", "Unpublished",
                          arena_format(r->work->arena, "Node %s %s.", node, how), err);
}

/* ---- a node that is silent ---- */

#define FENCE_LEAST 3 /* with two, the silent node alone might be as many */

static void put_moving(struct reconcile *r, const char *reason, const char *message) {
    json_t *conditions = side_conditions(r);
    const struct condition now = { CONDITION_MOVING, "False", reason, message };
    bool changed = message ? condition_put(conditions, &now, r->work->now_us)
                           : condition_drop(conditions, CONDITION_MOVING);

    if (changed)
        side_put_conditions(r, conditions);
}

/* Replicas that can keep the node that has the volume from writing, when `node` opens them. */
static unsigned count_fences(const struct reconcile *r, const char *node) {
    unsigned count = 0;

    for (unsigned i = 0; i < r->count; i++) {
        const struct replica_pool *pool =
            r->replicas[i].deleted_at ? NULL : reconcile_pool(r, &r->replicas[i]);

        count += pool && pool->up && (pool->address || text_is(pool->node, node));
    }
    return count;
}

/* Why it cannot be taken away; NULL: it can. */
static const char *find_obstacle(const struct reconcile *r, const char *node) {
    const json_t *spec = side_spec(&r->volume);
    json_int_t wanted = json_integer_value(json_object_get(spec, "replicationFactor"));
    json_int_t needed = json_integer_value(json_object_get(spec, "consistencyFactor"));
    unsigned fences = count_fences(r, node);

    if (wanted < FENCE_LEAST)
        return arena_format(r->work->arena, "with fewer than %d replicas nobody could",
                            FENCE_LEAST);
    if ((json_int_t)fences < needed)
        return arena_format(r->work->arena,
                            "%u of the %jd replicas that are needed to are on nodes that answer",
                            fences, (intmax_t)needed);
    return NULL;
}

static int take_over(struct reconcile *r, const char *node, struct error *err) {
    const char *message =
        arena_format(r->work->arena, "Node %s is silent; node %s is to serve the volume.",
                     r->volume.before.node, node);

    put_moving(r, NULL, NULL);
    set_node(r, node);
    side_put_status(r, &r->volume, "phase", json_string("Offline"));
    side_put_status(r, &r->volume, "target", NULL);
    return reconcile_tell(r, "Warning", "TakenOver", message, err);
}

/* It was asked to stop, and has not said that it has. */
static int wait_for_node(struct reconcile *r, const char *node, struct error *err) {
    const struct settings *settings = r->work->settings;
    const char *holder = r->volume.before.node, *obstacle;
    int64_t silent_us = 0;

    if (replica_pool_silence(r->work, holder, &silent_us, err) < 0)
        return -1;
    if (!*node || settings->target_takeover_s == 0 ||
        silent_us <= settings->replica_pool_down_s * SECOND_US) {
        put_moving(r, NULL, NULL);
        return 0;
    }
    obstacle = find_obstacle(r, node);
    if (!obstacle && silent_us > settings->target_takeover_s * SECOND_US)
        return take_over(r, node, err);
    if (obstacle)
        put_moving(r, "CannotFence",
                   arena_format(r->work->arena,
                                "Node %s is silent and has to be kept from writing: %s. An "
                                "administrator says when it has stopped.",
                                holder, obstacle));
    else
        put_moving(r, "NodeSilent",
                   arena_format(r->work->arena,
                                "Node %s is silent: node %s gets the volume after %jd seconds.",
                                holder, node, (intmax_t)settings->target_takeover_s));
    return 0;
}

/* ---- the step ---- */

int reconcile_target(struct reconcile *r, const char *node, struct error *err) {
    const char *holder = r->volume.after.node;

    if (*node)
        put_export(r);
    if (holder && !text_is(holder, node)) {
        side_put_spec(r, &r->volume, "nodeId", json_string(""));
        if (is_claimed(r) && !is_released(r))
            return wait_for_node(r, node, err);
    }
    put_moving(r, NULL, NULL);
    if (holder && text_is(holder, node)) {
        side_put_spec(r, &r->volume, "nodeId", json_string(node));
        return 0;
    }
    if (holder && release(r, err) < 0)
        return -1;
    return *node ? give(r, node, err) : 0;
}
