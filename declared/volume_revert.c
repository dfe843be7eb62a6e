#include "declared/volume_revert.h"

#include "common/md5.h"
#include "declared/document_store.h"
#include "declared/phases.h"
#include "declared/snapshot_node.h"
#include "declared/tree.h"

#include <string.h>

#define REMEMBERED 64

static const json_t *revert_of(const struct document *config) {
    return json_object_get(config->status, "revert");
}

const json_t *volume_revert_pending(const struct document *config) {
    const json_t *revert = revert_of(config);

    return phase_is(&revert_states, revert, REVERT_IS_PENDING) ? revert : NULL;
}

/* ---- earlier requests ---- */

/* Of a revert, or of a request for one. */
static const char *mark_of(struct arena *arena, const json_t *revert) {
    const char *request = json_text_of(revert, "request");
    const char *text =
        arena_join(arena, json_text_of(revert, "snapshotName"), "/", request ? request : "", NULL);
    char *mark = arena_alloc(arena, MD5_HEX_SIZE);

    md5_hex(text, strlen(text), mark);
    return mark;
}

/* Including the last one, when the next begins. */
static json_t *earlier_of(struct arena *arena, const struct document *config) {
    const json_t *last = revert_of(config), *had = json_object_get(last, "earlier");
    json_t *list = json_is_array(had) ? json_deep_copy(had) : json_array();

    if (last)
        json_array_append_new(list, json_string(mark_of(arena, last)));
    while (json_array_size(list) > REMEMBERED)
        json_array_remove(list, 0);
    return list;
}

static int64_t storage_of(const json_t *holder) {
    return json_bytes_at(holder, "capacity.storage");
}

/* ---- permitted requests ---- */

static int find_snapshot(struct work *work, const struct document *config, const char *name,
                         struct document *ret, struct error *err) {
    int found =
        document_named(work, &kind_volume_config_snapshot, config->project_id, name, ret, err);

    if (found < 0)
        return -1;
    if (!found || !text_is(ret->owner_id, config->id))
        return error_set(err, ERROR_NOT_FOUND,
                         "spec.revert.snapshotName: Snapshot %s of volume config %s could not be "
                         "found.",
                         name, config->name);
    if (ret->deleted_at || !phase_is(&snapshot_states, ret->status, SNAPSHOT_READY))
        return error_set(err, ERROR_CONFLICT, "spec.revert.snapshotName: Snapshot %s is %s.",
                         ret->name, ret->deleted_at ? "being deleted" : "not ready");
    if (storage_of(ret->status) != storage_of(config->status) ||
        storage_of(document_spec(config)) > storage_of(config->status))
        return error_set(err, ERROR_CONFLICT,
                         "spec.revert.snapshotName: Snapshot %s differs in size from the volume.",
                         ret->name);
    return 0;
}

static int check_others(struct work *work, const struct document *config, struct error *err) {
    struct document *found = NULL;
    int count = document_owned(work, config->id, &kind_volume_config_snapshot, &found, err);

    /* one that is to be taken would hold the reverted data */
    for (int i = 0; i < count && !volume_revert_pending(config); i++)
        if (!found[i].deleted_at && !json_text_of(found[i].status, "creationTime") &&
            !phase_is(&snapshot_states, found[i].status, SNAPSHOT_FAILED))
            return error_set(
                err, ERROR_CONFLICT,
                "spec.revert: Volume config %s cannot be reverted before its snapshot %s is taken.",
                config->name, found[i].name);
    return count < 0 ? -1 : 0;
}

static int revert_begin(struct work *work, const struct document *before, struct document *after,
                        const json_t *wanted, struct error *err) {
    json_int_t number = json_int_at(revert_of(before), "number") + 1;
    const char *phase = json_text_of(revert_of(before), "phase");
    const struct state_row *row;
    struct document snapshot;
    const json_t *list;
    const char *mark;
    struct document *volume = NULL;
    int found;
    const char *obstacle;

    if (!phase_is(&config_states, before->status, CONFIG_BOUND) && !volume_revert_pending(before))
        return error_set(err, ERROR_CONFLICT, "spec.revert: Volume config %s is not Bound.",
                         before->name);
    /* Restoring an old document would undo later writes by an unintended revert. */
    list = json_object_get(revert_of(before), "earlier");
    mark = mark_of(work->arena, wanted);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_is(json_string_value(json_array_get(list, i)), mark))
            return error_set(
                err, ERROR_CONFLICT,
                "spec.revert.request: Volume config %s was reverted by this request before, and by others since; another request reverts it again.",
                before->name);
    if (find_snapshot(work, after, json_text_of(wanted, "snapshotName"), &snapshot, err) < 0 ||
        check_others(work, before, err) < 0)
        return -1;
    /* A target reverts from files of its own node. */
    found = document_owned(work, after->id, &kind_replicated_volume, &volume, err);
    obstacle = found > 0 ? snapshot_node_obstacle(work->arena, document_spec(volume), "") : NULL;
    if (obstacle)
        return error_set(err, ERROR_CONFLICT, "spec.revert: Volume config %s: %s.", after->name,
                         obstacle);
    if (found < 0)
        return -1;
    row = phase_next(&revert_states, phase, REVERT_REQUESTED);
    if (!row)
        return error_set(err, ERROR_CONFLICT,
                         "spec.revert: Volume config %s cannot be reverted now.", before->name);
    json_object_set_new(after->status, "revert",
                        json_pack("{s:I, s:s, s:s, s:s*, s:s, s:o}", "number", number, "uid",
                                  snapshot.id, "snapshotName", snapshot.name, "request",
                                  json_text_of(wanted, "request"), "phase",
                                  revert_states.states[row->next], "earlier",
                                  earlier_of(work->arena, before)));
    return 0;
}

int volume_revert_edit(struct work *work, const struct document *before, struct document *after,
                       struct error *err) {
    const json_t *wanted = json_object_get(document_spec(after), "revert");
    const json_t *last = revert_of(before);
    const char *node = json_text_at(after->body, "publish.nodeId");
    bool is_same =
        last && text_is(json_text_of(last, "snapshotName"), json_text_of(wanted, "snapshotName")) &&
        text_is(json_text_of(last, "request"), json_text_of(wanted, "request"));

    /* a request that is removed and put back is not a new one */
    if (wanted && !is_same && revert_begin(work, before, after, wanted, err) < 0)
        return -1;
    if (!volume_revert_pending(after))
        return 0;
    if (node && *node)
        return error_set(
            err, ERROR_CONFLICT,
            "publish.nodeId: Volume config %s is being reverted to a snapshot, and cannot be published.",
            before->name);
    if (storage_of(document_spec(after)) != storage_of(document_spec(before)))
        return error_set(
            err, ERROR_CONFLICT,
            "spec.capacity.storage: Volume config %s is being reverted to a snapshot, and cannot be extended.",
            before->name);
    return 0;
}

/* ---- reports of its node ---- */

void volume_revert_keep(const struct document *before, struct document *after) {
    const json_t *wanted = json_object_get(document_spec(before), "revert");
    const json_t *reported = revert_of(after);
    json_t *last = json_object_get(before->status, "revert");

    /* attempts of another revert do not count */
    if (wanted &&
        json_equal(json_object_get(wanted, "number"), json_object_get(reported, "number")) &&
        json_int_at(reported, "attempt") >= json_int_at(last, "attempt"))
        return;
    if (wanted && last)
        json_object_set(after->status, "revert", last);
    else
        json_object_del(after->status, "revert");
}
