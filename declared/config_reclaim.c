#include "declared/config_reclaim.h"

#include "declared/phases.h"
#include "declared/tree.h"
#include "declared/volume_revert.h"

static const json_t *reclaim_of(const struct document *config) {
    return json_object_get(config->status, "reclaim");
}

const json_t *config_reclaim_pending(const struct document *config) {
    const json_t *reclaim = reclaim_of(config);

    return json_text_is(reclaim, "phase", RECLAIM_PHASE_PENDING) ? reclaim : NULL;
}

static int reclaim_begin(const struct document *before, struct document *after, struct error *err) {
    json_int_t number = json_int_at(reclaim_of(before), "number") + 1;
    const char *node = tree_text(after->body, "publish.nodeId");

    if (!phase_is(&config_states, before->status, CONFIG_BOUND))
        return error_set(err, ERROR_CONFLICT, "spec.reclaim: Volume config %s is not Bound.",
                         before->name);
    if (*node)
        return error_set(
            err, ERROR_CONFLICT,
            "spec.reclaim: Volume config %s is published on node %s, where its file system reclaims space; its replicas do so while it is published nowhere.",
            before->name, node);
    if (volume_revert_pending(after))
        return error_set(err, ERROR_CONFLICT,
                         "spec.reclaim: Volume config %s is being reverted to a snapshot.",
                         before->name);
    json_object_set_new(after->status, "reclaim",
                        json_pack("{s:I, s:s, s:s}", "number", number, "request",
                                  json_text_at(after->body, "spec.reclaim.request"), "phase",
                                  RECLAIM_PHASE_PENDING));
    return 0;
}

int config_reclaim_edit(struct work *work, const struct document *before, struct document *after,
                        struct error *err) {
    const json_t *wanted = json_at(after->body, "spec.reclaim");

    (void)work;
    if (wanted && !json_text_is(reclaim_of(before), "request", json_text_of(wanted, "request")) &&
        reclaim_begin(before, after, err) < 0)
        return -1;
    if (config_reclaim_pending(after) && *tree_text(after->body, "publish.nodeId")) {
        json_t *stopped = json_deep_copy(reclaim_of(after));

        json_object_set_new(stopped, "phase", json_string(RECLAIM_PHASE_STOPPED));
        json_object_set_new(stopped, "message", json_string("The volume was published meanwhile."));
        json_object_set_new(after->status, "reclaim", stopped);
    }
    return 0;
}
