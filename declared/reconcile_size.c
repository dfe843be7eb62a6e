/*
 * Growth of a volume: first its spec, then its node applies it, then the config's status reports
 * it (P55-P60).
 */
#include "declared/reconcile.private.h"

#include "common/assert.h"
#include "common/quantity.h"
#include "declared/condition.h"
#include "json/json.h"

/* The size for clients of the config. */
static int64_t real_bytes(const struct reconcile *r) {
    return json_bytes_at(update_status(&r->config), "capacity.storage");
}

/* A failed extend is retried (P58); the node's own reason is for administrators
 * (SCHEMA_ADMIN_ONLY). NULL: no failure. */
static const char *failure_of(const struct reconcile *r) {
    const json_t *conditions = json_object_get(update_status(&r->volume), "conditions");
    const char *node = r->volume.after.node;

    return condition_is(conditions, CONDITION_RESIZE_FAILED, "True")
               ? arena_format(r->work->arena, "Node %s could not extend the volume, and retries.",
                              node ? node : "-")
               : NULL;
}

static int put_conditions(struct reconcile *r, bool grows, const char *failure, struct error *err) {
    const struct condition now[] = {
        { CONDITION_RESIZING, "True", "Resizing", "The volume grows." },
        { CONDITION_RESIZE_FAILED, "True", "ResizeFailed", failure },
    };
    json_t *conditions = config_conditions(r);
    const json_t *old = condition_find(conditions, CONDITION_RESIZE_FAILED);
    bool is_new = failure && !(old && text_is(tree_text(old, "message"), failure));

    if (condition_put_resize(conditions, now, grows ? 1 + (failure != NULL) : 0, r->work->now_us))
        config_put_conditions(r, conditions);
    return is_new ? reconcile_record_event(r, "Warning", CONDITION_RESIZE_FAILED, failure, err) : 0;
}

int reconcile_size(struct reconcile *r, struct error *err) {
    int64_t wanted = reconcile_wanted_bytes(r), has;
    struct arena *arena = r->work->arena;
    char *text;

    if (wanted <= real_bytes(r))
        return put_conditions(r, false, NULL, err);
    assert(wanted > 0);
    if (json_bytes_at(update_spec(&r->volume), "capacity") < wanted) {
        update_put_spec(r, &r->volume, "capacity", json_string(quantity_text(arena, wanted)));
        if (reconcile_record_event(r, "Normal", CONDITION_RESIZING,
                                   arena_format(arena, "The volume grows from %s to %s.",
                                                quantity_text(arena, real_bytes(r)),
                                                quantity_text(arena, wanted)),
                                   err) < 0)
            return -1;
    }
    /* A volume without a node is served with this size next. */
    if (!r->volume.after.node)
        update_put_status(r, &r->volume, "capacity",
                          json_incref(json_object_get(update_spec(&r->volume), "capacity")));
    has = json_bytes_at(update_status(&r->volume), "capacity");
    if (has < wanted)
        return put_conditions(r, true, failure_of(r), err);
    if (put_conditions(r, false, NULL, err) < 0)
        return -1;
    text = quantity_text(arena, wanted);
    assert(wanted > real_bytes(r)); /* a volume never shrinks */
    update_put_status(r, &r->config, "capacity", json_pack("{s:s}", "storage", text));
    return reconcile_record_event(r, "Normal", CONDITION_RESIZE_SUCCESSFUL,
                                  arena_format(arena, "The size of the volume is %s.", text), err);
}
