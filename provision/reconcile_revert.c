/*
 * A volume is put back to a snapshot by the node that serves it, to nobody, for that while.  The
 * volume's spec asks for it until that node has said that it is done; from then on it is never
 * done again, and who publishes the volume gets it.
 */
#include "provision/reconcile.private.h"

#include "provision/condition.h"
#include "provision/volume_revert.h"
#include "json/json.h"

static const struct side *source_of(const struct reconcile *r, const json_t *revert) {
    for (unsigned i = 0; i < r->snapshot_count; i++)
        if (text_is(r->snapshots[i].before.id, tree_text(revert, "uid")) &&
            text_is(side_phase(&r->snapshots[i]), "Ready"))
            return &r->snapshots[i];
    return NULL;
}

bool reconcile_reverts(const struct reconcile *r) {
    return volume_revert_pending(&r->config.after) != NULL;
}

bool reconcile_wants_revert(const struct reconcile *r) {
    const json_t *revert = volume_revert_pending(&r->config.after);

    return revert && source_of(r, revert);
}

static bool is_done(const struct reconcile *r, const json_t *revert) {
    const json_t *told = json_object_get(side_status(&r->volume), "revert");

    return json_equal(json_object_get(told, "number"), json_object_get(revert, "number")) &&
           text_is(tree_text(told, "phase"), REVERT_DONE);
}

static void put_condition(struct reconcile *r, const struct condition *now) {
    json_t *conditions = side_conditions(r);

    if (now ? condition_put(conditions, now, r->work->now_us)
            : condition_drop(conditions, CONDITION_REVERTING))
        side_put_conditions(r, conditions);
}

static int end(struct reconcile *r, const json_t *revert, struct error *err) {
    json_t *done = json_deep_copy(revert);
    const char *name = tree_text(revert, "snapshotName");

    json_object_set_new(done, "phase", json_string(REVERT_DONE));
    side_put_status(r, &r->config, "revert", done);
    side_put_spec(r, &r->volume, "revert", NULL);
    put_condition(r, NULL);
    return reconcile_tell(
        r, "Normal", "Reverted",
        arena_format(r->work->arena, "The volume holds what snapshot %s does.", name), err);
}

static int go_on(struct reconcile *r, const json_t *revert, struct error *err) {
    const char *name = tree_text(revert, "snapshotName");
    const json_t *old = condition_find(side_conditions(r), CONDITION_REVERTING);
    struct condition now = { CONDITION_REVERTING, "True", "Reverting",
                             arena_format(r->work->arena, "The volume is reverted to snapshot %s.",
                                          name) };

    side_put_spec(r, &r->volume, "revert",
                  json_pack("{s:O, s:O}", "uid", json_object_get(revert, "uid"), "number",
                            json_object_get(revert, "number")));
    if (!source_of(r, revert)) {
        now = (struct condition){ CONDITION_REVERTING, "False", "SnapshotLost",
                                  arena_format(r->work->arena,
                                               "Snapshot %s is there no more. The volume has to "
                                               "be reverted to another one.",
                                               name) };
    }
    put_condition(r, &now);
    if (text_is(tree_text(old, "message"), now.message))
        return 0;
    return reconcile_tell(r, text_is(now.status, "True") ? "Normal" : "Warning", now.reason,
                          now.message, err);
}

int reconcile_revert(struct reconcile *r, struct error *err) {
    const json_t *revert = volume_revert_pending(&r->config.after);

    if (!revert) {
        side_put_spec(r, &r->volume, "revert", NULL);
        return 0;
    }
    return is_done(r, revert) ? end(r, revert, err) : go_on(r, revert, err);
}
