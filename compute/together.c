#include "compute/together.h"

#include "common/heap.h"

#include <stdio.h>
#include <string.h>

/* ---- which ---- */

void together_set(struct together *ret, const char *const *ids, unsigned count) {
    *ret = (struct together){ heap_new(count * sizeof(*ret->ids) + 1), count };
    for (unsigned i = 0; i < count; i++)
        snprintf(ret->ids[i], UUID_SIZE, "%s", ids[i]);
}

bool together_is(const struct together *together, const char *const *ids, unsigned count) {
    bool same = together->count == count;

    for (unsigned i = 0; i < count && same; i++)
        same = strcmp(together->ids[i], ids[i]) == 0;
    return same;
}

bool together_leads(const struct together *together, const char *snapshot_id) {
    for (unsigned i = 0; i < together->count; i++)
        if (strcmp(together->ids[i], snapshot_id) < 0)
            return false;
    return true;
}

/* ---- are they ready? ---- */

static enum overlay_outcome look(struct together_one *one, const struct overlay *own,
                                 struct arena *arena, struct error *err) {
    const char *instance_uuid = own->disk.instance_uuid;

    one->overlay = (struct overlay){ .hypervisor = own->hypervisor,
                                     .volume_id = one->volume_id,
                                     .instance_uuid = instance_uuid,
                                     .change = &one->change };
    if (one->change.remove ||
        (one->instance_uuid[0] && strcmp(one->instance_uuid, instance_uuid) != 0)) {
        error_set(err, ERROR_CONFLICT, "it is no overlay below the same instance");
        return OVERLAY_FAILED;
    }
    switch (overlay_look(&one->overlay, arena, err)) {
    case OVERLAY_READY:
        return OVERLAY_READY;
    case OVERLAY_DONE:
        error_set(err, ERROR_CONFLICT, "its overlay is in use since another moment");
        return OVERLAY_FAILED;
    default: /* its own job waits for that, or reports it */
        return OVERLAY_APART;
    }
}

enum overlay_outcome together_look(struct together_one *others, unsigned count,
                                   const struct overlay *own, struct arena *arena,
                                   struct error *err) {
    enum overlay_outcome outcome = OVERLAY_READY;

    for (unsigned i = 0; i < count && outcome == OVERLAY_READY; i++) {
        outcome = look(&others[i], own, arena, err);
        if (outcome != OVERLAY_READY)
            error_context(err, "volume %s, which is to be taken at the same moment",
                          others[i].volume_id);
    }
    return outcome;
}

enum overlay_outcome together_tell(const struct together_one *others, unsigned count,
                                   const struct client *api, struct arena *arena,
                                   struct error *err) {
    for (unsigned i = 0; i < count; i++)
        if (volumes_report_snapshot(api, arena, others[i].snapshot_id, others[i].request_id,
                                    "creating", 0, err) != COMPLETE_TAKEN) {
            error_context(err, "snapshot %s, which is to be taken at the same moment",
                          others[i].snapshot_id);
            return OVERLAY_APART;
        }
    return OVERLAY_READY;
}
