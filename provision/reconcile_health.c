/*
 * The replicas as conditions and events of the config: from what the volume's node
 * reports, in words that name no host.
 */
#include "provision/reconcile.private.h"

#include "provision/condition.h"

static bool is_serving(const struct reconcile *r) {
    const json_t *target = json_object_get(side_status(&r->volume), "target");

    return r->volume.after.node && text_is(tree_text(target, "state"), "Serving");
}

/* ---- rebuilds ---- */

/* The replica that is being rebuilt; or else one whose rebuild failed; NULL: neither. */
static const json_t *find_rebuild(const struct reconcile *r) {
    const json_t *list = json_object_get(side_status(&r->volume), "replicaStatuses");
    const json_t *failed = NULL;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *status = json_array_get(list, i);

        if (text_is(tree_text(status, "mode"), "Rebuilding"))
            return status;
        if (!failed && *tree_text(status, "reason"))
            failed = status;
    }
    return failed;
}

/* Without a message: there is none. */
static struct condition rebuild_condition(const struct reconcile *r) {
    const json_t *rebuild = is_serving(r) ? find_rebuild(r) : NULL;
    const char *replica = tree_text(rebuild, "replicaId"), *reason = tree_text(rebuild, "reason");
    struct arena *arena = r->work->arena;

    if (!rebuild)
        return (struct condition){ CONDITION_REBUILDING, "False", NULL, NULL };
    if (text_is(tree_text(rebuild, "mode"), "Rebuilding"))
        return (struct condition){ CONDITION_REBUILDING, "True", "Copying",
                                   arena_format(arena, "Replica %s is being rebuilt.", replica) };
    return (struct condition){
        CONDITION_REBUILDING, "False", reason,
        arena_format(arena, "Replica %s cannot be rebuilt: %s. Its node retries.", replica,
                     text_is(reason, "NoSpace") ? "no space is left on its pool"
                                                : "its pool or the copy failed")
    };
}

static int tell_rebuild(struct reconcile *r, const struct condition *now, bool was_running,
                        struct error *err) {
    if (!now->message && was_running && !is_serving(r))
        return reconcile_tell(r, "Warning", "RebuildInterrupted",
                              "The rebuild was interrupted: the volume is not served.", err);
    if (!now->message)
        return was_running
                   ? reconcile_tell(r, "Normal", "RebuildFinished", "The replica is rebuilt.", err)
                   : 0;
    return text_is(now->status, "True")
               ? reconcile_tell(r, "Normal", "RebuildStarted", now->message, err)
               : reconcile_tell(r, "Warning", "RebuildFailed", now->message, err);
}

static int put_rebuild(struct reconcile *r, struct error *err) {
    json_t *conditions = side_conditions(r);
    const struct condition now = rebuild_condition(r);
    bool was_running = condition_is(conditions, CONDITION_REBUILDING, "True");
    bool changed = now.message ? condition_put(conditions, &now, r->work->now_us)
                               : condition_drop(conditions, CONDITION_REBUILDING);

    if (!changed)
        return 0;
    side_put_conditions(r, conditions);
    return tell_rebuild(r, &now, was_running, err);
}

/* ---- space ---- */

#define FULL_PERCENT  5 /* less is free: near full; */
#define CLEAR_PERCENT 7 /* and no more when so much is */

static const struct document *find_near_full(const struct reconcile *r, int64_t percent) {
    for (unsigned i = 0; i < r->count; i++) {
        const struct document *replica = &r->replicas[i];
        const struct replica_pool *pool = reconcile_pool(r, replica);

        if (!replica->deleted_at && pool && pool->up &&
            pool->free_bytes < pool->total_bytes / 100 * percent)
            return replica;
    }
    return NULL;
}

static int put_near_full(struct reconcile *r, struct error *err) {
    json_t *conditions = side_conditions(r);
    bool was = condition_is(conditions, CONDITION_NEAR_FULL, "True");
    const struct document *replica = find_near_full(r, was ? CLEAR_PERCENT : FULL_PERCENT);
    struct condition now = { CONDITION_NEAR_FULL, "True", "PoolNearFull", NULL };

    if (!replica) {
        if (condition_drop(conditions, CONDITION_NEAR_FULL))
            side_put_conditions(r, conditions);
        return 0;
    }
    now.message =
        arena_format(r->work->arena, "The pool of replica %s has little space left.", replica->id);
    if (!condition_put(conditions, &now, r->work->now_us))
        return 0;
    side_put_conditions(r, conditions);
    return reconcile_tell(r, "Warning", CONDITION_NEAR_FULL, now.message, err);
}

int reconcile_health(struct reconcile *r, struct error *err) {
    return put_rebuild(r, err) < 0 ? -1 : put_near_full(r, err);
}
