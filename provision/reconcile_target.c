/*
 * Where the volume is served.  documents.node is who acts on it: it is not another's before the
 * node that had it has said of this very spec, in which it is wanted nowhere, that it serves it no
 * more.  So there are never two.  A node begins nothing before it has said so (claimedEpoch); from
 * one that has not, if there is such a node at all, it is taken without its word.
 */
#include "provision/reconcile.private.h"
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

static int give(struct reconcile *r, const char *node, struct error *err) {
    begin_epoch(r);
    side_put_spec(r, &r->volume, "nodeId", json_string(node));
    r->volume.after.node = node;
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

int reconcile_target(struct reconcile *r, const char *node, struct error *err) {
    const char *holder = r->volume.after.node;

    if (*node)
        put_export(r);
    if (holder && text_is(holder, node)) {
        side_put_spec(r, &r->volume, "nodeId", json_string(node));
        return 0;
    }
    if (holder) {
        side_put_spec(r, &r->volume, "nodeId", json_string(""));
        if (is_claimed(r) && !is_released(r))
            return 0;
        if (release(r, err) < 0)
            return -1;
    }
    return *node ? give(r, node, err) : 0;
}
