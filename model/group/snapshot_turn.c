#include "model/group/snapshot_turn.h"

#include <string.h>

static int waits_at(struct work *work, const struct operation *operation, const char *volume_id,
                    struct error *err) {
    struct operation *others;
    int count = operation_about(work, volume_id, operation->object_id, &others, err);

    for (int i = 0; i < count; i++)
        if (strcmp(others[i].id, operation->id) != 0 &&
            others[i].kind == &kind_group_snapshot_create && others[i].phase != PHASE_CANCELLED &&
            group_snapshot_is_of_moment(work->arena, &others[i]) &&
            (others[i].phase == PHASE_WAITING || operation_is_older(&others[i], operation)))
            return 1;
    return count < 0 ? -1 : 0;
}

int group_snapshot_turn_taken(struct work *work, const struct operation *held, struct error *err) {
    struct operation whole;
    int part = group_snapshot_moment_of(work, held, &whole, err);

    /* For its own parts the group snapshot has waited already. */
    return part != 0 ? part < 0 ? -1 : 0 : waits_at(work, held, held->volume_id, err);
}

/* Is an older operation at work on a snapshot of the volume, and about to begin at its files? */
static int is_behind_begun(struct work *work, const struct operation *held, const char *volume_id,
                           struct error *err) {
    struct operation *begun;
    int count = operation_begun(work, volume_id, &begun, err);

    for (int i = 0; i < count; i++)
        if ((begun[i].kind == &kind_snapshot_create || begun[i].kind == &kind_snapshot_delete) &&
            operation_is_older(&begun[i], held))
            return 1;
    return count < 0 ? -1 : 0;
}

int group_snapshot_turn_awaits(struct work *work, const struct operation *held,
                               const struct group_snapshot_parts *parts, struct error *err) {
    struct operation other;
    int waits = 0;

    for (int i = 0; i < parts->count && waits == 0; i++) {
        const char *volume_id = parts->snapshots[i].volume_id;

        if (!parts->is_part[i])
            continue;
        waits = operation_assisted(work, volume_id, &other, err);
        if (waits == 0)
            waits = waits_at(work, held, volume_id, err);
        if (waits == 0)
            waits = is_behind_begun(work, held, volume_id, err);
    }
    return waits;
}
