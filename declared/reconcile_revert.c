/*
 * Reverts a volume to a snapshot by the node that serves it, to no client meanwhile. The volume's
 * spec requests it until that node has reported its completion; from then on it is never repeated,
 * and the volume can be published.
 */
#include "declared/reconcile.private.h"

#include "common/assert.h"
#include "declared/condition.h"
#include "declared/volume_revert.h"
#include "json/json.h"

static const struct document_update *source_of(const struct reconcile *r, const json_t *revert) {
    for (unsigned i = 0; i < r->snapshot_count; i++)
        if (text_is(r->snapshots[i].before.id, tree_text(revert, "uid")) &&
            phase_is(&snapshot_states, update_status(&r->snapshots[i]), SNAPSHOT_READY))
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
    const json_t *report = json_object_get(update_status(&r->volume), "revert");

    return json_equal(json_object_get(report, "number"), json_object_get(revert, "number")) &&
           phase_is(&revert_states, report, REVERT_IS_DONE);
}

static void put_condition(struct reconcile *r, const struct condition *now) {
    json_t *conditions = config_conditions(r);

    if (now ? condition_put(conditions, now, r->work->now_us)
            : condition_remove(conditions, CONDITION_REVERTING))
        config_put_conditions(r, conditions);
}

static int continue_revert(struct reconcile *r, const json_t *revert, const struct state_row *row,
                           struct error *err) {
    bool is_lost = row->event == REVERT_SNAPSHOT_LOST;
    const char *name = tree_text(revert, "snapshotName");
    struct condition now = {
        CONDITION_REVERTING, is_lost ? "False" : "True", is_lost ? "SnapshotLost" : "Reverting",
        arena_format(
            r->work->arena,
            is_lost ? "Snapshot %s no longer exists. The volume must be reverted to another one."
                    : "The volume is being reverted to snapshot %s.",
            name)
    };
    const json_t *old = condition_find(config_conditions(r), CONDITION_REVERTING);
    bool is_recorded = text_is(tree_text(old, "message"), now.message);

    assert(row->next == REVERT_IS_PENDING && !is_done(r, revert));
    update_put_spec(r, &r->volume, "revert",
                    json_pack("{s:O, s:O}", "uid", json_object_get(revert, "uid"), "number",
                              json_object_get(revert, "number")));
    put_condition(r, &now);
    if (is_recorded)
        return 0;
    return reconcile_record_event(r, row->action == PHASE_WARNING_EVENT ? "Warning" : "Normal",
                                  now.reason, now.message, err);
}

int reconcile_revert(struct reconcile *r, struct error *err) {
    const json_t *revert = volume_revert_pending(&r->config.after);
    const struct state_row *row;
    json_t *done;

    if (!revert) {
        update_put_spec(r, &r->volume, "revert", NULL);
        return 0;
    }
    row = phase_next(&revert_states, tree_text(revert, "phase"),
                     is_done(r, revert)     ? REVERT_REPORTED_DONE
                     : source_of(r, revert) ? REVERT_WAITS
                                            : REVERT_SNAPSHOT_LOST);
    if (!row)
        return 0;
    if (row->next != REVERT_IS_DONE)
        return continue_revert(r, revert, row, err);
    assert(is_done(r, revert)); /* it is never repeated */
    done = json_deep_copy(revert);
    json_object_set_new(done, "phase", json_string(revert_states.states[row->next]));
    update_put_status(r, &r->config, "revert", done);
    update_put_spec(r, &r->volume, "revert", NULL);
    put_condition(r, NULL);
    return reconcile_record_event(r, "Normal", "Reverted",
                                  arena_format(r->work->arena,
                                               "The volume has been reverted to snapshot %s.",
                                               tree_text(revert, "snapshotName")),
                                  err);
}
