#include "model/attachment/attach_status.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "model/attachment/attachment.h"
#include "model/snapshot/assist.h"
#include "operation/operation.h"

#include <string.h>

unsigned attachment_instances(struct arena *arena, const struct volume *volume,
                              const char *const **ret) {
    const char **instances = arena_alloc(arena, volume->attachment_count * sizeof(char *) + 1);
    unsigned count = 0;

    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const struct attachment *attachment = &volume->attachments[i];
        bool known = !attachment->instance_uuid || !attachment_in_use(attachment);

        for (unsigned j = 0; j < count && !known; j++)
            known = strcmp(instances[j], attachment->instance_uuid) == 0;
        if (!known)
            instances[count++] = attachment->instance_uuid;
    }
    assert(count <= volume->attachment_count);
    if (ret)
        *ret = instances;
    return count;
}

/* The first of these in any row counts; rows in an error state do not count. */
static const struct {
    const char *attach_status;
    enum volume_status status;
} precedence[] = {
    { "attached", VOLUME_IN_USE },
    { "attaching", VOLUME_ATTACHING },
    { "detaching", VOLUME_DETACHING },
    { "reserved", VOLUME_RESERVED },
};

static unsigned precedence_of(const struct volume *volume) {
    for (unsigned i = 0; i < LENGTH(precedence); i++)
        for (unsigned j = 0; j < volume->attachment_count; j++)
            if (strcmp(volume->attachments[j].attach_status, precedence[i].attach_status) == 0)
                return i;
    return LENGTH(precedence);
}

enum volume_status attachment_status_of(const struct volume *volume) {
    unsigned i = precedence_of(volume);

    return i < LENGTH(precedence) ? precedence[i].status : VOLUME_AVAILABLE;
}

#define OF_ATTACHMENTS (ST(AVAILABLE) | ST(RESERVED) | ST(ATTACHING) | ST(DETACHING) | ST(IN_USE))
#define SPOILT         (ST(ERROR_DELETING) | ST(ERROR_MANAGING) | ST(ERROR_UNMANAGING))

int attach_status_check(const struct volume *volume, struct error *err) {
    return volume->provider_location || volume->status == VOLUME_DOWNLOADING
               ? 0
               : error_set(err, ERROR_BAD_REQUEST,
                           "Invalid volume: Volume %s has no storage and cannot be attached.",
                           volume->id);
}

int attach_status_write(struct work *work, const struct volume *volume, enum volume_status wanted,
                        struct error *err) {
    uint64_t is = (uint64_t)1 << volume->status;
    struct status_change change = { .from = (int)volume->status, .to = wanted };

    assert(OF_ATTACHMENTS & (uint64_t)1 << wanted);
    /* A volume without storage, or with lost storage, is neither available nor in use, whatever
     * its attachments. */
    if (is & SPOILT || (!volume->provider_location && !(is & OF_ATTACHMENTS)))
        change.to = volume->status;
    else if (!volume->provider_location)
        change.to = VOLUME_ERROR;
    return error_if_none(
        status_write(work, &volume_objects, volume->id, &change, err), err, ERROR_BAD_REQUEST,
        "Invalid volume: the status of volume %s has changed meanwhile.", volume->id);
}

int attach_status_follow(struct work *work, const char *volume_id, struct error *err) {
    struct volume volume;
    const char *attach_status;
    unsigned i;

    assert(volume_id);
    if (volume_details(work, volume_id, &volume, err) < 0)
        return -1;
    i = precedence_of(&volume);
    attach_status = i < LENGTH(precedence) ? precedence[i].attach_status : "detached";
    if (db_run(work->tx, err,
               "UPDATE volumes SET attach_status = $1, updated_at = $2 WHERE id = $3",
               DB_TEXT(attach_status), DB_INT(work->now_us), DB_TEXT(volume_id)) < 0 ||
        snapshot_assist_follow(work, &volume, err) < 0)
        return -1;
    if (status_is_transient(volume.status))
        return operation_reevaluate(work, volume_id, err);
    /* Z1: an offer is open until that status is left */
    if (volume.status == VOLUME_MAINTENANCE || volume.status == VOLUME_AWAITING_TRANSFER ||
        volume.migration_status)
        return 0;
    return attach_status_write(work, &volume, attachment_status_of(&volume), err);
}
