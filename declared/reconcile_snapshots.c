/*
 * Snapshots of the volume, and their copies.
 *
 * A wanted snapshot is in the volume's spec until the node that serves the volume has reported it
 * as taken: that is written at once, and it is never taken again. From then on it is in the specs
 * of the replicas; a replica without it, as it missed the moment or was created later, copies it
 * from another replica of its node. A deleted snapshot leaves the volume's spec first, and when no
 * node can be making it any more, the specs of the replicas request the removal of the file; its
 * document is deleted when each has reported that.
 */
#include "declared/reconcile.private.h"

#include "common/assert.h"
#include "common/no_space.h"
#include "common/quantity.h"
#include "declared/snapshot_node.h"
#include "json/json.h"

enum holding { HOLDS_UNKNOWN, HOLDS_NOT, HOLDS };

static const char *node_of(const struct document *replica) {
    return tree_text(replica->body, "spec.nodeId");
}

/* Of the snapshot, in the replica's spec; and as its node reports it. NULL: none. */
static const json_t *wanted_of(const struct document *replica, const char *uid) {
    return tree_entry(json_at(replica->body, "spec.snapshots"), "uid", uid);
}

static const json_t *report_of(const struct document *replica, const char *uid) {
    return tree_entry(json_object_get(replica->status, "snapshots"), "uid", uid);
}

/* Its node's report is about its current spec. */
static bool has_reported(const struct document *replica) {
    return json_is_array(json_object_get(replica->status, "snapshots")) &&
           json_int_at(replica->status, "observedGeneration") >= replica->generation;
}

static enum holding holding_of(const struct document *replica, const char *uid) {
    const json_t *report = report_of(replica, uid);

    if (replica->deleted_at)
        return HOLDS_NOT;
    if (report && phase_is(&snapshot_states, report, SNAPSHOT_READY))
        return HOLDS;
    return has_reported(replica) ? HOLDS_NOT : HOLDS_UNKNOWN;
}

/* ---- state ---- */

static const char *id_of(const struct document_update *snapshot) {
    return snapshot->before.id;
}

static bool is_deleted(const struct document_update *snapshot) {
    return snapshot->before.deleted_at != 0;
}

/* Its files are to be removed. */
static bool is_leaving(const struct document_update *snapshot) {
    return is_deleted(snapshot) &&
           json_list_has(snapshot->before.finalizers, snapshot->before.kind->finalizer);
}

static bool is_taken(const struct document_update *snapshot) {
    return *tree_text(update_status(snapshot), "creationTime") != '\0';
}

static bool has_failed(const struct document_update *snapshot) {
    return phase_is(&snapshot_states, update_status(snapshot), SNAPSHOT_FAILED);
}

static bool is_wanted(const struct document_update *snapshot) {
    return !is_deleted(snapshot) && !has_failed(snapshot) && !is_taken(snapshot);
}

static bool is_held(const struct document_update *snapshot) {
    return !is_deleted(snapshot) && !has_failed(snapshot) && is_taken(snapshot);
}

bool reconcile_wants_snapshot(const struct reconcile *r) {
    for (unsigned i = 0; i < r->snapshot_count; i++)
        if (is_wanted(&r->snapshots[i]))
            return true;
    return false;
}

const struct document_update *reconcile_only_copy_of(const struct reconcile *r,
                                                     const struct document *replica) {
    for (unsigned i = 0; i < r->snapshot_count; i++) {
        const char *id = id_of(&r->snapshots[i]);
        bool others = false;

        for (unsigned k = 0; k < r->count; k++)
            others |= &r->replicas[k] != replica && holding_of(&r->replicas[k], id) == HOLDS;
        if (is_held(&r->snapshots[i]) && !others && holding_of(replica, id) != HOLDS_NOT)
            return &r->snapshots[i];
    }
    return NULL;
}

/* ---- taking ---- */

/* Why it is not taken yet; NULL: it is about to be. The node's own reason is for administrators. */
static const char *find_failure(const struct reconcile *r, const struct document_update *snapshot,
                                const json_t *report) {
    const char *name = snapshot->before.name, *node = r->volume.after.node;
    const char *obstacle =
        snapshot_node_obstacle(r->work->arena, update_spec(&r->volume),
                               tree_text(r->config.before.body, "publish.nodeId"));
    struct error reason;

    if (obstacle)
        return arena_format(r->work->arena, "Snapshot %s is not taken yet: %s.", name, obstacle);
    if (!*tree_text(report, "message"))
        return NULL;
    error_set(&reason, ERROR_BACKEND, "%s", tree_text(report, "message"));
    return arena_format(r->work->arena, "Node %s could not take snapshot %s%s, and retries.",
                        node ? node : "-", name,
                        error_is_no_space(&reason) ? ": no space is left on its pools" : "");
}

static int read_report(struct reconcile *r, struct error *err) {
    const json_t *list = json_object_get(update_status(&r->volume), "snapshots");

    for (unsigned i = 0; i < r->snapshot_count; i++) {
        struct document_update *snapshot = &r->snapshots[i];
        const json_t *report = tree_entry(list, "uid", id_of(snapshot));
        const char *failure;

        if (!is_wanted(snapshot))
            continue;
        if (phase_is(&snapshot_states, report, SNAPSHOT_READY)) {
            const char *bytes =
                quantity_text(r->work->arena, (int64_t)json_int_at(report, "sizeBytes"));

            update_put_status(r, snapshot, "capacity", json_pack("{s:s}", "storage", bytes));
            update_put_status(r, snapshot, "creationTime",
                              json_string(document_time(r->work->arena, r->work->now_us)));
            update_put_status(r, snapshot, "message", NULL);
            continue;
        }
        failure = find_failure(r, snapshot, report);
        if (text_is(tree_text(update_status(snapshot), "message"), failure))
            continue;
        update_put_status(r, snapshot, "message", failure ? json_string(failure) : NULL);
        if (failure && reconcile_record_event(r, "Warning", "SnapshotFailed", failure, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- holding ---- */

static bool is_source(const struct document *source, const struct document *replica,
                      const char *uid) {
    return source && source != replica && !source->deleted_at &&
           text_is(node_of(source), node_of(replica)) && holding_of(source, uid) == HOLDS;
}

/* A replica on the same node that has it: the one that is already copied from, or any; NULL:
 * none. */
static const struct document *source_of(const struct reconcile *r, const struct document *replica,
                                        const char *uid) {
    const struct document *source = replica_called(r, tree_text(wanted_of(replica, uid), "source"));

    if (is_source(source, replica, uid))
        return source;
    for (unsigned i = 0; i < r->count; i++)
        if (is_source(&r->replicas[i], replica, uid))
            return &r->replicas[i];
    return NULL;
}

static json_t *entry_for(const char *uid, bool remove) {
    return json_pack("{s:s, s:b}", "uid", uid, "remove", remove);
}

/* One copy is made at a time. */
static json_t *held_entry(const struct reconcile *r, const struct document *replica,
                          const char *uid, bool *copies) {
    json_t *entry = entry_for(uid, false);
    enum holding holding = holding_of(replica, uid);
    const struct document *source;

    if (*copies || holding == HOLDS ||
        (holding == HOLDS_UNKNOWN && !*tree_text(wanted_of(replica, uid), "source")))
        return entry;
    source = source_of(r, replica, uid);
    if (!source)
        return entry;
    assert(source != replica && holding_of(source, uid) == HOLDS);
    json_object_set_new(entry, "source", json_string(source->id));
    json_object_set_new(entry, "sourcePath", json_string(tree_text(source->body, "spec.path")));
    *copies = true;
    return entry;
}

static json_t *list_for(const struct reconcile *r, const struct document *replica, bool removes) {
    json_t *list = json_array();
    bool copies = false;

    for (unsigned i = 0; i < r->snapshot_count; i++) {
        const struct document_update *snapshot = &r->snapshots[i];

        if (is_held(snapshot))
            json_array_append_new(list, held_entry(r, replica, id_of(snapshot), &copies));
        else if (is_leaving(snapshot) && removes)
            json_array_append_new(list, entry_for(id_of(snapshot), true));
        else if (is_leaving(snapshot) && is_taken(snapshot))
            json_array_append_new(list, entry_for(id_of(snapshot), false));
    }
    return list;
}

/* A node that could make one must have read that it is no longer wanted, before its files are
 * removed. */
static bool none_is_being_taken(const struct reconcile *r) {
    return volume_is_done(r);
}

/* ---- copies ---- */

struct holders {
    json_t *pools, *pending;
    unsigned count, living, unknown;
    bool copies; /* a replica without it can copy it from another */
};

/* A replica without a report still holds its copies; one that is being removed is no source of
 * clones. */
static struct holders find_holders(const struct reconcile *r,
                                   const struct document_update *snapshot) {
    const json_t *old = json_object_get(update_status(snapshot), "poolInfo");
    const char *removing = tree_text(update_spec(&r->volume), "removing");
    struct holders found = { .pools = json_array(), .pending = json_array() };

    for (unsigned i = 0; i < r->count; i++) {
        const struct document *replica = &r->replicas[i];
        const char *pool = replica_pool_of(replica);
        enum holding holding = holding_of(replica, id_of(snapshot));
        bool holds = holding == HOLDS || (holding == HOLDS_UNKNOWN && json_list_has(old, pool));

        if (replica->deleted_at || text_is(removing, replica->id))
            continue;
        found.living++;
        found.count += holds;
        found.unknown += holding == HOLDS_UNKNOWN;
        found.copies |= !holds && source_of(r, replica, id_of(snapshot));
        json_array_append_new(holds ? found.pools : found.pending, json_string(pool));
    }
    return found;
}

static int put_holders(struct reconcile *r, struct document_update *snapshot, struct error *err) {
    struct holders holders = find_holders(r, snapshot);
    struct arena *arena = r->work->arena;
    const char *name = snapshot->before.name, *lost;
    bool is_ready = phase_is(&snapshot_states, update_status(snapshot), SNAPSHOT_READY);
    bool waits = holders.unknown > 0 || holders.copies || (is_ready && holders.count > 0);
    enum snapshot_event event = 2 * holders.count > holders.living ? SNAPSHOT_HELD
                                : waits                            ? SNAPSHOT_WAITS
                                                                   : SNAPSHOT_LOST;
    const struct state_row *row;

    assert(is_held(snapshot) && holders.count <= holders.living);
    update_put_status(r, snapshot, "poolInfo", holders.pools);
    update_put_status(r, snapshot, "pendingPoolInfo", tree_unless_empty(holders.pending));
    row = update_advance(r, snapshot, &snapshot_states, event);
    if (!row || row->action == PHASE_NO_EVENT)
        return 0;
    if (row->action == PHASE_NORMAL_EVENT)
        return reconcile_record_event(r, "Normal", "SnapshotReady",
                                      arena_format(arena, "Snapshot %s is ready.", name), err);
    lost = arena_format(arena, "Snapshot %s is on %u of %u pools, which is too few.", name,
                        holders.count, holders.living);
    update_put_status(r, snapshot, "message", json_string(lost));
    return reconcile_record_event(r, "Warning", "SnapshotFailed", lost, err);
}

/* ---- removal ---- */

static int release(struct reconcile *r, struct document_update *snapshot, struct error *err) {
    const char *id = id_of(snapshot);

    assert(is_leaving(snapshot));
    if (!none_is_being_taken(r))
        return 0;
    for (unsigned i = 0; i < r->count; i++) {
        const struct document *replica = &r->replicas[i];

        if (!replica->deleted_at && (!json_true_at(wanted_of(replica, id), "remove") ||
                                     !has_reported(replica) || report_of(replica, id)))
            return 0;
    }
    snapshot->after.finalizers = reconcile_other_finalizers(r, &snapshot->before);
    return reconcile_record_event(
        r, "Normal", "SnapshotDeleted",
        arena_format(r->work->arena, "Snapshot %s is deleted.", snapshot->before.name), err);
}

int reconcile_snapshots(struct reconcile *r, struct error *err) {
    json_t *wanted;
    bool removes;

    if (read_report(r, err) < 0)
        return -1;
    wanted = json_array();
    for (unsigned i = 0; i < r->snapshot_count; i++)
        if (is_wanted(&r->snapshots[i]))
            json_array_append_new(wanted, json_pack("{s:s, s:s}", "uid", id_of(&r->snapshots[i]),
                                                    "name", r->snapshots[i].before.name));
    update_put_spec(r, &r->volume, "snapshots", tree_unless_empty(wanted));
    /* Those held by the replicas, with what the volume is to take now: what has just left that
     * list is not removed yet. */
    removes = none_is_being_taken(r);
    for (unsigned i = 0; i < r->count; i++)
        if (!r->replicas[i].deleted_at &&
            replica_put_spec(r, &r->replicas[i], "snapshots",
                             tree_unless_empty(list_for(r, &r->replicas[i], removes)), err) < 0)
            return -1;
    for (unsigned i = 0; i < r->snapshot_count; i++) {
        struct document_update *snapshot = &r->snapshots[i];
        int result = is_leaving(snapshot) ? release(r, snapshot, err)
                     : is_held(snapshot)  ? put_holders(r, snapshot, err)
                                          : 0;

        if (result < 0)
            return -1;
    }
    return 0;
}
