#include "declared/volume_recovery.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "declared/document_own.h"
#include "declared/phases.h"
#include "declared/replica_pool.h"
#include "declared/tree.h"
#include "json/json.h"

#include <string.h>

/* ---- refusals ---- */

const char *const recovery_reasons[] = { "HasVotes", "Away", "Unfit", "Unfilled", NULL };

static const struct flaw {
    /* in the node's report about the request, or about the replica ("": none) */
    const char *reason, *mode;
    const char *why;
} flaws[] = {
    { "HasVotes", "", "the volume can be served without that" },
    { "Away", "Offline", "it is offline" },
    { "Unfit", "Error", "its file is damaged, or too short" },
    { "Unfilled", "NewReplicaDegraded", "it is empty, or was not rebuilt to its end" },
};

const char *volume_recovery_refusal(const json_t *report) {
    const struct flaw *flaw = flaws;

    while (flaw < &flaws[LENGTH(flaws) - 1] &&
           strcmp(flaw->reason, tree_text(report, "reason")) != 0)
        flaw++;
    return flaw->why;
}

/* The state at an unresponsive node is unknown. */
static int check_node_responds(struct work *work, const struct document *volume,
                               struct error *err) {
    int unresponsive = replica_pool_is_node_unresponsive(work, volume->node, err);

    return unresponsive > 0
               ? error_set(err, ERROR_CONFLICT,
                           "Node %s does not respond: the state of volume %s is unknown.",
                           volume->node, volume->name)
               : unresponsive;
}

/* Its node must have the replicas open, in this epoch, and report that they are too few, as a
 * needed one may have failed while it is served, or that they differ undecidably. */
static int check_target(const struct document *volume, struct error *err) {
    const json_t *spec = document_spec(volume), *target = json_object_get(volume->status, "target");
    const char *node = tree_text(spec, "nodeId"), *state = tree_text(target, "state");
    const json_t *list = json_object_get(volume->status, "replicaStatuses");
    json_int_t reported = json_int_at(target, "epoch"), healthy = 0;

    for (size_t i = 0; i < json_array_size(list); i++)
        healthy += text_is(tree_text(json_array_get(list, i), "mode"), "Healthy");
    if (!*node || !volume->node || strcmp(volume->node, node) != 0)
        return error_set(
            err, ERROR_CONFLICT,
            "Volume %s has no node that reports its replicas: publish its config first.",
            volume->name);
    if (!target || (reported > 0 && reported < json_int_at(spec, "epoch")))
        return error_set(err, ERROR_CONFLICT,
                         "Node %s has not reported the replicas of volume %s yet.", node,
                         volume->name);
    if (strcmp(state, "Levelling") == 0)
        return error_set(
            err, ERROR_CONFLICT,
            "The replicas of volume %s are being resynchronized: it may have a quorum.",
            volume->name);
    if (json_int_at(volume->status, "scrub.undecidedBlocks") == 0 &&
        healthy >= json_int_at(spec, "consistencyFactor"))
        return error_set(err, ERROR_CONFLICT, "Volume %s is %s: nothing is lost.", volume->name,
                         tree_text(volume->status, "phase"));
    return 0;
}

/* ---- the request ---- */

unsigned volume_recovery_state(const json_t *spec) {
    const json_t *wanted = json_object_get(spec, "salvage");

    if (!wanted)
        return RECOVERY_IS_NONE;
    return json_int_at(wanted, "number") == json_int_at(spec, "salvaged") ? RECOVERY_IS_CONFIRMED
                                                                          : RECOVERY_IS_REQUESTED;
}

/* A confirmed one may have been completed already, and the quorum lost again before that was
 * reported. */
static bool is_requested(const struct document *volume, const struct document *replica) {
    const json_t *spec = document_spec(volume);

    return text_is(tree_text(spec, "salvage.replicaId"), replica->id) &&
           json_int_at(spec, "salvage.number") != json_int_at(spec, "salvaged");
}

json_int_t volume_recovery_found(const struct document *volume) {
    return json_int_at(volume->status, "target.highestSalvage");
}

/* Behind a recovery of the same number, or of a higher one, that the database does not know, a
 * replica would count as recovered by this one.  The generation grows with each request; a database
 * that was restored from a backup goes back with it, but not the clock, and replicas have the
 * numbers of later recoveries. */
json_int_t volume_recovery_next(const struct work *work, const struct document *volume) {
    const json_t *spec = document_spec(volume);
    const json_int_t before[] = { work->now_us / (60 * SECOND_US) + (json_int_t)volume->generation,
                                  json_int_at(spec, "salvage.number"),
                                  json_int_at(spec, "salvaged"), volume_recovery_found(volume) };
    json_int_t highest = 0;

    for (size_t i = 0; i < LENGTH(before); i++)
        highest = before[i] > highest ? before[i] : highest;
    return highest + 1;
}

static void put_request(struct work *work, const struct document *replica,
                        const struct document *before, struct document *after) {
    assert(!before->deleted_at && !replica->deleted_at);
    after->body = json_keep(work->arena, json_deep_copy(before->body));
    json_object_set_new(document_spec(after), "salvage",
                        json_pack("{s:I, s:s}", "number", volume_recovery_next(work, before),
                                  "replicaId", replica->id));
    after->status = json_keep(work->arena, json_deep_copy(before->status));
    json_object_del(after->status, "silentNodes");
}

int volume_recovery_request(struct work *work, const struct document *replica,
                            const struct recovery_request *request, struct document *ret,
                            struct error *err) {
    struct document before, after;
    unsigned state;
    const json_t *seen;
    const char *unresponsive;

    if (document_find(work, &kind_replicated_volume, replica->owner_id, &before, err) < 0)
        return -1;
    *ret = before;
    if (is_requested(&before, replica))
        return 0;
    if (before.deleted_at)
        return error_set(err, ERROR_CONFLICT, "Volume %s is being deleted.", before.name);
    if (request->version &&
        strcmp(request->version, arena_format(work->arena, "%jd", (intmax_t)before.version)) != 0)
        return error_set(err, ERROR_CONFLICT,
                         "resourceVersion: Volume %s was changed meanwhile; read it again.",
                         before.name);
    if (check_target(&before, err) < 0 || check_node_responds(work, &before, err) < 0)
        return -1;
    seen = tree_entry(json_object_get(before.status, "replicaStatuses"), "replicaId", replica->id);
    if (!seen || replica->deleted_at)
        return error_set(err, ERROR_CONFLICT, "Volume replica %s %s.", replica->name,
                         seen ? "is being deleted" : "has not been examined yet");
    for (size_t i = 0; i < LENGTH(flaws); i++)
        if (strcmp(flaws[i].mode, tree_text(seen, "mode")) == 0)
            return error_set(err, ERROR_CONFLICT, "No forced recovery from volume replica %s: %s.",
                             replica->name, flaws[i].why);
    unresponsive = tree_text(before.status, "silentNodes");
    if (*unresponsive && (!request->stopped || strcmp(request->stopped, unresponsive) != 0))
        return error_set(
            err, ERROR_CONFLICT,
            "%s lost volume %s without confirming its stop and may still serve it; confirm that nothing of it runs there: stopped=%s.",
            unresponsive, before.name, unresponsive);
    state = volume_recovery_state(document_spec(&before));
    if (!state_table_next(&recovery_states, &state, RECOVERY_REQUESTED))
        return error_set(err, ERROR_CONFLICT, "Volume %s is not recovered now.", before.name);
    if (volume_recovery_next(work, &before) > RECOVERY_MOST)
        return error_set(err, ERROR_CONFLICT, "Volume %s has no number for a forced recovery left.",
                         before.name);
    after = before;
    put_request(work, replica, &before, &after);
    if (document_own_write(work, &before, &after, err) < 0)
        return -1;
    assert(json_int_at(document_spec(&after), "salvage.number") > volume_recovery_found(&before));
    *ret = after;
    return 0;
}

/* ---- reports of its node ---- */

void volume_recovery_keep(const struct document *before, struct document *after) {
    const json_t *wanted = json_object_get(document_spec(before), "salvage");
    const json_t *report = json_object_get(after->status, "salvage");

    if (!wanted || json_int_at(report, "number") != json_int_at(wanted, "number"))
        json_object_del(after->status, "salvage");
}

void volume_silent_nodes_keep(const struct document *before, struct document *after) {
    json_t *unresponsive = json_object_get(before->status, "silentNodes");
    const json_t *target = json_object_get(after->status, "target");
    const char *state = tree_text(target, "state");
    json_int_t reported = json_int_at(target, "epoch");
    bool has_quorum = strcmp(state, "Levelling") == 0 || strcmp(state, "Serving") == 0;

    if (unresponsive &&
        !(has_quorum && (reported == 0 || reported >= json_int_at(document_spec(before), "epoch"))))
        json_object_set(after->status, "silentNodes", unresponsive);
}
