/*
 * A volume that lost its majority and is made of one replica.  The word of an administrator stands
 * when the node that has the volume says that it cannot be served otherwise, and from then on it is
 * never taken back; until then it goes with that node.
 */
#include "provision/reconcile.private.h"

#include "provision/condition.h"
#include "provision/replica_pool.h"
#include "provision/volume_salvage.h"
#include "json/json.h"

static const char *name_of(const struct reconcile *r, const json_t *wanted) {
    for (unsigned i = 0; i < r->count; i++)
        if (text_is(r->replicas[i].id, tree_text(wanted, "replicaId")))
            return r->replicas[i].name;
    return tree_text(wanted, "replicaId");
}

static int end(struct reconcile *r, const char *type, const char *reason, const char *message,
               struct error *err) {
    json_t *conditions = side_conditions(r);

    side_put_spec(r, &r->volume, "salvage", NULL);
    if (condition_drop(conditions, CONDITION_SALVAGING))
        side_put_conditions(r, conditions);
    return reconcile_tell(r, type, reason, message, err);
}

static int refuse(struct reconcile *r, const char *name, const char *why, struct error *err) {
    return end(r, "Warning", "SalvageRefused",
               arena_format(r->work->arena, "Replica %s is not believed alone: %s.", name, why),
               err);
}

static int go_on(struct reconcile *r, const char *name, struct error *err) {
    json_t *conditions = side_conditions(r);
    struct condition now = { CONDITION_SALVAGING, "True", "Salvaging",
                             arena_format(r->work->arena, "Replica %s is believed alone.", name) };

    if (!condition_put(conditions, &now, r->work->now_us))
        return 0;
    side_put_conditions(r, conditions);
    return reconcile_tell(r, "Warning", now.reason, now.message, err);
}

/* The node that was asked has the volume yet. */
static bool is_with_its_node(const struct reconcile *r) {
    const struct side *volume = &r->volume;

    return volume->after.node && text_is(volume->before.node, volume->after.node) &&
           text_is(tree_text(side_spec(volume), "nodeId"), volume->after.node);
}

int reconcile_salvage(struct reconcile *r, struct error *err) {
    const json_t *wanted = json_object_get(side_spec(&r->volume), "salvage");
    const json_t *told = json_object_get(side_status(&r->volume), "salvage");
    json_t *number = json_object_get(wanted, "number");
    const char *name, *phase = tree_text(told, "phase");
    bool stands;
    int silent;

    if (!wanted)
        return 0;
    name = name_of(r, wanted);
    stands = json_equal(json_object_get(side_spec(&r->volume), "salvaged"), number);
    if (!json_equal(json_object_get(told, "number"), number))
        phase = "";
    if (stands)
        return text_is(phase, SALVAGE_DONE)
                   ? end(r, "Normal", "Salvaged",
                         arena_format(r->work->arena,
                                      "The volume is what replica %s holds; the others are filled "
                                      "from it.",
                                      name),
                         err)
                   : go_on(r, name, err);
    if (!is_with_its_node(r))
        return refuse(r, name, "the volume is another node's, or nobody's", err);
    silent = replica_pool_is_silent(r->work, r->volume.before.node, err);
    if (silent != 0)
        return silent < 0 ? -1 : refuse(r, name, "the volume's node is silent", err);
    if (text_is(phase, SALVAGE_REFUSED))
        return refuse(r, name, volume_salvage_refusal(told), err);
    if (text_is(phase, SALVAGE_ABLE))
        side_put_spec(r, &r->volume, "salvaged", json_incref(number));
    return go_on(r, name, err);
}
