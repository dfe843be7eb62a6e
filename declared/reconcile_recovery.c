/*
 * Forced recovery of a volume from one replica. An administrator's request is confirmed when the
 * node that has the volume reports that it cannot be served otherwise, and from then on it is
 * never withdrawn; until then it ends with that node.
 */
#include "declared/reconcile.private.h"

#include "common/assert.h"
#include "declared/condition.h"
#include "declared/replica_pool.h"
#include "declared/volume_recovery.h"
#include "json/json.h"

static int end(struct reconcile *r, const char *type, const char *reason, const char *message,
               struct error *err) {
    json_t *conditions = config_conditions(r);

    update_put_spec(r, &r->volume, "salvage", NULL);
    if (condition_remove(conditions, CONDITION_RECOVERING))
        config_put_conditions(r, conditions);
    return reconcile_record_event(r, type, reason, message, err);
}

static int continue_recovery(struct reconcile *r, const char *name, const struct state_row *row,
                             struct error *err) {
    json_t *conditions = config_conditions(r);
    bool is_confirmed = row->next == RECOVERY_IS_CONFIRMED;
    struct condition now = { CONDITION_RECOVERING, "True", is_confirmed ? "Confirmed" : "Requested",
                             arena_format(
                                 r->work->arena, "Forced recovery from replica %s: %s", name,
                                 is_confirmed ? "what the other replicas hold is discarded."
                                              : "the volume's node evaluates it.") };

    if (!condition_put(conditions, &now, r->work->now_us))
        return 0;
    config_put_conditions(r, conditions);
    return reconcile_record_event(r, "Warning", "Salvaging", now.message, err);
}

/* A recovery that the database does not know has this number, or a higher one: the request gets
 * another, which the node evaluates. */
static int renew(struct reconcile *r, struct error *err) {
    const json_t *before = json_object_get(update_spec(&r->volume), "salvage");
    json_t *wanted = json_keep(r->work->arena, json_deep_copy(before));
    json_int_t number = volume_recovery_next(r->work, &r->volume.before);

    if (number > RECOVERY_MOST)
        return 0;
    json_object_set_new(wanted, "number", json_integer(number));
    update_put_spec(r, &r->volume, "salvage", json_incref(wanted));
    return reconcile_record_event(
        r, "Warning", "SalvageRenumbered",
        arena_format(r->work->arena,
                     "A replica was recovered by request %jd, which this database does not know: "
                     "the present request continues as %jd.",
                     (intmax_t)volume_recovery_found(&r->volume.before), (intmax_t)number),
        err);
}

/* The node that received the request still has the volume. */
static bool has_same_node(const struct reconcile *r) {
    const struct document_update *volume = &r->volume;

    return volume->after.node && text_is(volume->before.node, volume->after.node) &&
           text_is(tree_text(update_spec(volume), "nodeId"), volume->after.node);
}

/* A confirmed request is completed regardless of other events. */
static int find_event(const struct reconcile *r, bool is_confirmed, const json_t *wanted,
                      const json_t *report, enum recovery_event *ret, struct error *err) {
    bool is_current =
        json_equal(json_object_get(report, "number"), json_object_get(wanted, "number"));
    const char *reported = is_current ? tree_text(report, "phase") : "";
    int unresponsive;

    *ret = RECOVERY_WAITS;
    if (is_confirmed) {
        *ret = text_is(reported, RECOVERY_PHASE_DONE) ? RECOVERY_DONE : RECOVERY_WAITS;
        return 0;
    }
    if (!has_same_node(r)) {
        *ret = RECOVERY_NODE_LOST;
        return 0;
    }
    unresponsive = replica_pool_is_node_unresponsive(r->work, r->volume.before.node, err);
    if (unresponsive > 0)
        *ret = RECOVERY_NODE_UNRESPONSIVE;
    else if (text_is(reported, RECOVERY_PHASE_REFUSED))
        *ret = RECOVERY_REFUSED;
    else if (text_is(reported, RECOVERY_PHASE_ABLE))
        *ret = RECOVERY_ABLE;
    return unresponsive < 0 ? -1 : 0;
}

int reconcile_recovery(struct reconcile *r, struct error *err) {
    const json_t *wanted = json_object_get(update_spec(&r->volume), "salvage");
    const json_t *report = json_object_get(update_status(&r->volume), "salvage");
    unsigned state = volume_recovery_state(update_spec(&r->volume));
    const struct state_row *row;
    enum recovery_event event;
    const struct document *replica;
    const char *name;

    if (!wanted)
        return 0;
    name = tree_text(wanted, "replicaId");
    replica = replica_called(r, name);
    if (replica)
        name = replica->name;
    if (find_event(r, state == RECOVERY_IS_CONFIRMED, wanted, report, &event, err) < 0)
        return -1;
    row = state_table_next(&recovery_states, &state, event);
    if (!row)
        return 0;
    if (row->event == RECOVERY_DONE)
        return end(r, "Normal", "Salvaged",
                   arena_format(r->work->arena,
                                "The volume is what replica %s holds; the others are rebuilt from "
                                "it.",
                                name),
                   err);
    if (row->next == RECOVERY_IS_NONE) {
        const char *why = row->event == RECOVERY_NODE_LOST ? "the volume's node has changed"
                          : row->event == RECOVERY_NODE_UNRESPONSIVE
                              ? "the volume's node does not report"
                              : volume_recovery_refusal(report);

        return end(
            r, "Warning", "SalvageRefused",
            arena_format(r->work->arena, "No forced recovery from replica %s: %s.", name, why),
            err);
    }
    if (row->event == RECOVERY_ABLE &&
        json_int_at(wanted, "number") <= volume_recovery_found(&r->volume.before))
        return renew(r, err);
    /* the data of the others are discarded from then on */
    assert(row->event != RECOVERY_ABLE || (has_same_node(r) && row->next == RECOVERY_IS_CONFIRMED));
    if (row->event == RECOVERY_ABLE)
        update_put_spec(r, &r->volume, "salvaged", json_incref(json_object_get(wanted, "number")));
    return continue_recovery(r, name, row, err);
}
