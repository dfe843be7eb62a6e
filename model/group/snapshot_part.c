#include "model/group/snapshot_part.h"

#include "json/json.h"

int group_snapshot_hand_over(struct work *work, const struct operation *held,
                             const struct group_snapshot_parts *parts, struct error *err) {
    for (int i = 0; i < parts->count; i++) {
        const struct snapshot *snapshot = &parts->snapshots[i];
        const struct operation fields = {
            .target_id = snapshot->id,
            .volume_id = snapshot->volume_id,
            .turn_of = parts->kind == &kind_snapshot_delete ? snapshot->id : snapshot->volume_id,
            .host = snapshot->host,
            .project_id = snapshot->project_id,
            .created_at = held->created_at,
        };

        if (parts->is_part[i] && operation_insert(work, parts->kind, &fields, NULL, err) < 0)
            return -1;
    }
    return operation_move(work, held->id, held->owner, PHASE_RUNNING, PHASE_WAITING, false, err) < 0
               ? -1
               : 0;
}

int group_snapshot_parts_ended(struct work *work, const struct operation *operation,
                               struct snapshot **ret, struct error *err) {
    int count = operation->phase == PHASE_WAITING
                    ? snapshot_of_group(work, operation->object_id, ret, err)
                    : 0;
    struct operation part;

    for (int i = 0; i < count; i++) {
        int open = operation_of(work, (*ret)[i].id, &part, err);

        if (open != 0)
            return open < 0 ? -1 : 0;
    }
    return count;
}

/* ---- of one moment ---- */

#define TOGETHER "together"

const char *group_snapshot_arguments(struct arena *arena, const json_t *together) {
    if (json_array_size(together) < 2)
        return NULL;
    return json_text(arena, json_keep(arena, json_pack("{s:O}", TOGETHER, together)));
}

/* NULL: each has its own moment. */
static const json_t *read_together(struct arena *arena, const struct operation *operation) {
    return json_object_get(operation_arguments(arena, operation), TOGETHER);
}

bool group_snapshot_is_of_moment(struct arena *arena, const struct operation *operation) {
    return read_together(arena, operation) != NULL;
}

bool group_snapshot_is_together(struct arena *arena, const struct operation *operation,
                                const char *snapshot_id) {
    return json_list_has(read_together(arena, operation), snapshot_id);
}

int group_snapshot_has_left(struct work *work, const struct group_snapshot_parts *parts,
                            struct error *err) {
    struct volume volume;

    for (int i = 0; i < parts->count; i++) {
        if (!parts->is_part[i])
            continue;
        if (volume_attached(work, parts->snapshots[i].volume_id, &volume, err) < 0)
            return -1;
        if (!volume_in_use(&volume))
            return 1;
    }
    return 0;
}

int group_snapshot_narrow(struct work *work, const struct operation *held,
                          const struct group_snapshot_parts *parts, struct error *err) {
    json_t *left = json_keep(work->arena, json_array());

    for (int i = 0; i < parts->count; i++)
        if (parts->is_part[i])
            json_array_append_new(left, json_string(parts->snapshots[i].id));
    if (json_array_size(left) == json_array_size(read_together(work->arena, held)))
        return 0;
    return operation_note(work, held->id, held->owner, group_snapshot_arguments(work->arena, left),
                          err) < 0
               ? -1
               : 0;
}

int group_snapshot_together(struct work *work, const struct snapshot *snapshot,
                            const char *const **ret, struct error *err) {
    struct operation operation;
    int found = snapshot->group_snapshot_id
                    ? operation_of(work, snapshot->group_snapshot_id, &operation, err)
                    : 0;
    const json_t *list = found > 0 ? read_together(work->arena, &operation) : NULL;
    size_t count = json_array_size(list);
    const char **ids = arena_alloc(work->arena, (count + 1) * sizeof *ids);

    if (found == 0 && snapshot->group_snapshot_id)
        return error_set(err, ERROR_CONFLICT, "Group snapshot %s is not awaited any more.",
                         snapshot->group_snapshot_id);
    for (size_t i = 0; i < count; i++)
        ids[i] = arena_text(work->arena, json_string_value(json_array_get(list, i)));
    *ret = ids;
    return found < 0 ? -1 : (int)count;
}

int group_snapshot_moment_of(struct work *work, const struct operation *part, struct operation *ret,
                             struct error *err) {
    struct snapshot snapshot;
    int found;

    if (snapshot_row(work, part->object_id, &snapshot, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    found =
        snapshot.group_snapshot_id ? operation_of(work, snapshot.group_snapshot_id, ret, err) : 0;
    return found > 0 ? group_snapshot_is_of_moment(work->arena, ret) : found;
}

int group_snapshot_has_failed(struct work *work, const struct operation *part, struct error *err) {
    struct operation whole;
    int found = group_snapshot_moment_of(work, part, &whole, err);

    return found > 0 ? whole.failed : found;
}

int group_snapshot_end_deadlines(struct work *work, const struct operation *operation,
                                 struct error *err) {
    const json_t *list = read_together(work->arena, operation);
    struct operation part;

    for (size_t i = 0; i < json_array_size(list); i++) {
        int open = operation_of(work, json_string_value(json_array_get(list, i)), &part, err);

        if (open < 0 || (open > 0 && operation_awaits_report(&part) &&
                         operation_end_deadline(work, &part, err) < 0))
            return -1;
    }
    return 0;
}

/* ---- the end ---- */

int group_snapshot_cancel_parts(struct work *work, const struct operation *operation,
                                struct error *err) {
    struct snapshot *snapshots;
    int count = snapshot_of_group(work, operation->object_id, &snapshots, err);
    struct operation part;

    for (int i = 0; i < count; i++) {
        int open = operation_of(work, snapshots[i].id, &part, err);

        if (open < 0 || (open > 0 && operation_cancel(work, &part, err) < 0))
            return -1;
    }
    return count < 0 ? -1 : 0;
}
