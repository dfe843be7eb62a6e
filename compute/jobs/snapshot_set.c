#include "compute/jobs/snapshot_set.h"

#include "common/heap.h"

#include <stdio.h>
#include <string.h>

/* ---- members ---- */

void snapshot_set_copy(struct snapshot_set *ret, const char *const *ids, unsigned count) {
    *ret = (struct snapshot_set){ heap_new(count * sizeof(*ret->ids) + 1), count };
    for (unsigned i = 0; i < count; i++)
        snprintf(ret->ids[i], UUID_SIZE, "%s", ids[i]);
}

bool snapshot_set_equals(const struct snapshot_set *set, const char *const *ids, unsigned count) {
    bool same = set->count == count;

    for (unsigned i = 0; i < count && same; i++)
        same = strcmp(set->ids[i], ids[i]) == 0;
    return same;
}

bool snapshot_set_is_leader(const struct snapshot_set *set, const char *snapshot_id) {
    for (unsigned i = 0; i < set->count; i++)
        if (strcmp(set->ids[i], snapshot_id) < 0)
            return false;
    return true;
}

/* ---- checks ---- */

static enum overlay_outcome check_member(struct snapshot_member *one, const struct overlay *own,
                                         struct arena *arena, struct error *err) {
    const char *instance_uuid = own->disk.instance_uuid;

    one->overlay = (struct overlay){ .hypervisor = own->hypervisor,
                                     .volume_id = one->volume_id,
                                     .instance_uuid = instance_uuid,
                                     .change = &one->change };
    if (one->change.remove ||
        (one->instance_uuid[0] && strcmp(one->instance_uuid, instance_uuid) != 0)) {
        error_set(err, ERROR_CONFLICT, "it is not an overlay for the same instance");
        return OVERLAY_FAILED;
    }
    switch (overlay_check(&one->overlay, arena, err)) {
    case OVERLAY_READY:
        return OVERLAY_READY;
    case OVERLAY_DONE:
        error_set(err, ERROR_CONFLICT, "its overlay is already in use");
        return OVERLAY_FAILED;
    default: /* the member's own job waits for it, or reports it */
        return OVERLAY_SET_INCOMPLETE;
    }
}

enum overlay_outcome snapshot_set_check(struct snapshot_member *others, unsigned count,
                                        const struct overlay *own, struct arena *arena,
                                        struct error *err) {
    enum overlay_outcome outcome = OVERLAY_READY;

    for (unsigned i = 0; i < count && outcome == OVERLAY_READY; i++) {
        outcome = check_member(&others[i], own, arena, err);
        if (outcome != OVERLAY_READY)
            error_context(err, "volume %s of the same snapshot set", others[i].volume_id);
    }
    return outcome;
}

enum overlay_outcome snapshot_set_report(const struct snapshot_member *others, unsigned count,
                                         const struct client *api, struct arena *arena,
                                         struct error *err) {
    for (unsigned i = 0; i < count; i++)
        if (volumes_report_snapshot(api, arena, others[i].snapshot_id, others[i].request_id,
                                    "creating", 0, err) != COMPLETE_TAKEN) {
            error_context(err, "snapshot %s of the same set", others[i].snapshot_id);
            return OVERLAY_SET_INCOMPLETE;
        }
    return OVERLAY_READY;
}
