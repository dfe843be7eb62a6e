#include "model/attachment/attach.h"

#include "common/assert.h"
#include "model/attachment/attach_status.h"
#include "model/attachment/connection.h"
#include "model/attachment/disconnect.h"
#include "model/conflict.h"
#include "model/notification.h"
#include "model/volume/reclaim.h"
#include "operation/operation.h"

#include <string.h>

/* ---- the attachments API: create ---- */

static bool has_instance(const struct volume *volume, const char *instance_uuid) {
    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const char *instance = volume->attachments[i].instance_uuid;

        if (instance && instance_uuid && strcmp(instance, instance_uuid) == 0)
            return true;
    }
    return false;
}

/* Reserves the volume, or finds it in use by the same instance: a server that moves to another
 * host. */
static int reserve(struct work *work, const struct volume *volume, const char *instance_uuid,
                   bool retried, struct error *err) {
    uint64_t shared = ST(IN_USE) | (retried ? ST(RESERVED) | ST(ATTACHING) : 0);
    uint64_t allowed = ST(AVAILABLE) | ST(DOWNLOADING) | (volume->multiattach ? shared : 0);

    if (strstr(status_text(volume->status), "error"))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: status of volume %s is %s and cannot be attached.",
                         volume->id, status_shown(volume->status));
    if (allowed & ((uint64_t)1 << volume->status))
        return attach_status_check(volume, err) < 0
                   ? -1
                   : attach_status_write(work, volume, VOLUME_RESERVED, err);
    if ((volume->status == VOLUME_IN_USE || volume->status == VOLUME_RESERVED) &&
        has_instance(volume, instance_uuid))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid volume: Volume %s status must be available%s or downloading to "
                     "reserve, but the current status is %s.",
                     volume->id, volume->multiattach ? ", in-use" : "",
                     status_shown(volume->status));
}

int attachment_create(struct work *work, const struct volume *volume, const char *instance_uuid,
                      const char *mode, bool retried, struct attachment *ret, struct error *err) {
    struct volume now = *volume;
    struct attachment attachment = {
        .id = work_uuid(work),
        .volume_id = volume->id,
        .project_id = volume->project_id,
        .instance_uuid = instance_uuid,
        .attach_status = "reserved",
        .attach_mode = volume_is_readonly(volume) ? "ro"
                       : mode                     ? mode
                                                  : "null",
        .created_at = work->now_us,
    };

    if (volume_reclaim_yield(work, &now, ACTION_ATTACHMENT_CREATE, err) < 0 ||
        reserve(work, &now, instance_uuid, retried, err) < 0 ||
        conflict_resolve(work, volume->id, ACTION_ATTACHMENT_CREATE, err) < 0 ||
        attachment_insert(work, &attachment, err) < 0)
        return -1;
    *ret = attachment;
    return 0;
}

/* ---- reserve, unreserve, begin and roll detaching ---- */

static int refuse_status(const struct volume *volume, const char *what, const char *needs,
                         struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid volume: Volume %s status must be %s to %s, but the current status "
                     "is %s.",
                     volume->id, needs, what, status_shown(volume->status));
}

int volume_reserve(struct work *work, const struct volume *volume, struct error *err) {
    uint64_t allowed = ST(AVAILABLE) | (volume->multiattach ? ST(IN_USE) : 0);
    struct volume now = *volume;

    if (volume_reclaim_yield(work, &now, ACTION_RESERVE, err) < 0)
        return -1;
    if (!(allowed & ((uint64_t)1 << now.status)))
        return refuse_status(&now, "reserve",
                             volume->multiattach ? "available or in-use" : "available", err);
    if (conflict_resolve(work, volume->id, ACTION_RESERVE, err) < 0 ||
        attach_status_check(&now, err) < 0)
        return -1;
    return attach_status_write(work, &now, VOLUME_ATTACHING, err);
}

int volume_unreserve(struct work *work, const struct volume *volume, struct error *err) {
    if (volume->status != VOLUME_ATTACHING)
        return 0;
    if (conflict_resolve(work, volume->id, ACTION_UNRESERVE, err) < 0 ||
        (volume->attachment_count == 0 && connection_end(work, volume->id, NULL, err) < 0))
        return -1;
    return attach_status_write(work, volume,
                               volume->attachment_count ? VOLUME_IN_USE : VOLUME_AVAILABLE, err);
}

int volume_begin_detaching(struct work *work, const struct volume *volume, struct error *err) {
    if (volume->migration_status && volume->status == VOLUME_IN_USE)
        return 0;
    if (volume->status != VOLUME_IN_USE || strcmp(volume->attach_status, "attached") != 0)
        return refuse_status(volume, "begin detaching", "in-use and attached", err);
    if (conflict_resolve(work, volume->id, ACTION_BEGIN_DETACHING, err) < 0)
        return -1;
    return attach_status_write(work, volume, VOLUME_DETACHING, err);
}

int volume_roll_detaching(struct work *work, const struct volume *volume, struct error *err) {
    if (volume->status != VOLUME_DETACHING)
        return 0;
    if (conflict_resolve(work, volume->id, ACTION_ROLL_DETACHING, err) < 0)
        return -1;
    return attach_status_write(work, volume, VOLUME_IN_USE, err);
}

/* ---- attach ---- */

static int check_attach(const struct volume *volume, const char *mode, struct error *err) {
    uint64_t allowed = ST(AVAILABLE) | ST(ATTACHING) | ST(RESERVED) | ST(DETACHING) |
                       (volume->multiattach ? ST(IN_USE) : 0);
    const char *earlier = pairs_get(&volume->admin_metadata, "attached_mode");

    if (!(allowed & ((uint64_t)1 << volume->status)))
        return refuse_status(volume, "attach", "available, attaching or reserved", err);
    if (volume->status == VOLUME_ATTACHING && earlier && strcmp(earlier, mode) != 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s is being attached with mode %s, not %s.",
                         volume->id, earlier, mode);
    if (volume_is_readonly(volume) && strcmp(mode, "ro") != 0)
        return error_set(
            err, ERROR_BAD_REQUEST,
            "Invalid volume: Volume %s is read-only and cannot be attached with mode %s.",
            volume->id, mode);
    return 0;
}

static const struct attachment *attached_to(const struct volume *volume, const char *instance_uuid,
                                            const char *host_name) {
    for (unsigned i = 0; i < volume->attachment_count; i++) {
        const struct attachment *attachment = &volume->attachments[i];
        const char *have = instance_uuid ? attachment->instance_uuid : attachment->attached_host;
        const char *want = instance_uuid ? instance_uuid : host_name;

        if (have && want && strcmp(have, want) == 0 &&
            strcmp(attachment->attach_status, "attached") == 0)
            return attachment;
    }
    return NULL;
}

int volume_attach(struct work *work, const struct volume *volume, const char *instance_uuid,
                  const char *host_name, const char *mountpoint, const char *mode,
                  struct error *err) {
    struct volume now = *volume;
    struct attachment attachment = {
        .id = work_uuid(work),
        .volume_id = volume->id,
        .project_id = volume->project_id,
        .instance_uuid = instance_uuid,
        .attached_host = host_name,
        .mountpoint = mountpoint,
        .attach_status = "attached",
        .attach_mode = mode,
        .attached_at = work->now_us,
    };

    if (volume->status != VOLUME_MAINTENANCE && volume->status != VOLUME_EXTENDING &&
        attached_to(volume, instance_uuid, host_name))
        return attach_status_follow(work, volume->id, err);
    if (volume_reclaim_yield(work, &now, ACTION_ATTACH, err) < 0 ||
        check_attach(&now, mode, err) < 0 ||
        conflict_resolve(work, volume->id, ACTION_ATTACH, err) < 0 ||
        attach_status_check(&now, err) < 0)
        return -1;
    if (!pairs_get(&volume->admin_metadata, "readonly") &&
        volume_admin_metadata_set(work, volume->id, "readonly", "False", err) < 0)
        return -1;
    if (volume_admin_metadata_set(work, volume->id, "attached_mode", mode, err) < 0 ||
        attachment_insert(work, &attachment, err) < 0 ||
        connection_attached(work, &attachment, err) < 0 ||
        attach_status_follow(work, volume->id, err) < 0)
        return -1;
    return notification_of(work, "volume.attach.end", volume->id, err);
}

/* ---- the attachments API: complete and delete ---- */

int attachment_complete(struct work *work, const struct attachment *attachment, struct error *err) {
    struct volume volume;

    assert(attachment->id && attachment->volume_id);
    if (volume_details(work, attachment->volume_id, &volume, err) < 0 ||
        volume_reclaim_yield(work, &volume, ACTION_ATTACHMENT_COMPLETE, err) < 0 ||
        conflict_resolve(work, attachment->volume_id, ACTION_ATTACHMENT_COMPLETE, err) < 0 ||
        db_run(work->tx, err,
               "UPDATE attachments SET attach_status = 'attached', updated_at = $1, "
               "attached_at = COALESCE(attached_at, $1) WHERE id = $2",
               DB_INT(work->now_us), DB_TEXT(attachment->id)) < 0 ||
        attach_status_follow(work, attachment->volume_id, err) < 0)
        return -1;
    return notification_of(work, "volume.attach.end", attachment->volume_id, err);
}

int attachment_delete(struct work *work, const struct attachment *attachment, struct error *err) {
    assert(attachment->id && attachment->volume_id);
    if (attachment_check_release(work, attachment, err) < 0 ||
        operation_end_of(work, attachment->id, err) < 0 ||
        conflict_resolve(work, attachment->volume_id, ACTION_ATTACHMENT_DELETE, err) < 0 ||
        notification_of(work, "volume.detach.start", attachment->volume_id, err) < 0 ||
        db_run(work->tx, err, "DELETE FROM attachments WHERE id = $1", DB_TEXT(attachment->id)) <
            0 ||
        (attachment->connector && volume_disconnect(work, attachment->volume_id, err) < 0) ||
        attach_status_follow(work, attachment->volume_id, err) < 0)
        return -1;
    return notification_of(work, "volume.detach.end", attachment->volume_id, err);
}

/* ---- detach ---- */

/* A service may name an attachment that has been deleted. */
static int check_missing(struct work *work, const struct volume *volume, const char *attachment_id,
                         struct error *err) {
    struct attachment foreign;
    struct error missing;

    if (attachment_get(work, attachment_id, &foreign, &missing) == 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: attachment_id %s belongs to another volume.",
                         attachment_id);
    if (missing.kind != ERROR_NOT_FOUND)
        return error_pass(err, &missing);
    if (work->context->from_service)
        return 0;
    return error_set(err, ERROR_CONFLICT, "Volume %s has no attachment %s.", volume->id,
                     attachment_id);
}

static int pick_attachment(struct work *work, const struct volume *volume,
                           const char *attachment_id, const struct attachment **ret,
                           struct error *err) {
    if (!attachment_id) {
        if (volume->attachment_count > 1)
            return error_set(err, work->context->from_service ? ERROR_BAD_REQUEST : ERROR_CONFLICT,
                             "Volume %s has several attachments: attachment_id is required.",
                             volume->id);
        *ret = volume->attachments;
        return 0;
    }
    for (unsigned i = 0; i < volume->attachment_count; i++)
        if (strcmp(volume->attachments[i].id, attachment_id) == 0) {
            *ret = &volume->attachments[i];
            return 0;
        }
    *ret = NULL;
    return check_missing(work, volume, attachment_id, err);
}

int volume_detach(struct work *work, const struct volume *volume, const char *attachment_id,
                  struct error *err) {
    const struct attachment *attachment;
    bool last;

    if (volume->status == VOLUME_MAINTENANCE)
        return error_set(err, ERROR_BAD_REQUEST, "Invalid volume: Volume %s is in maintenance.",
                         volume->id);
    if (pick_attachment(work, volume, attachment_id, &attachment, err) < 0 ||
        conflict_resolve(work, volume->id, ACTION_DETACH, err) < 0 ||
        volume_admin_metadata_set(work, volume->id, "attached_mode", NULL, err) < 0)
        return -1;
    /* The connections of the detached host; after the last attachment, all of them. */
    assert(!attachment || volume->attachment_count > 0);
    last = volume->attachment_count == (attachment ? 1 : 0);
    if ((last || (attachment && attachment->attached_host)) &&
        connection_end(work, volume->id, last ? NULL : attachment->attached_host, err) < 0)
        return -1;
    if (attachment)
        return attachment_delete(work, attachment, err);
    return attach_status_follow(work, volume->id, err);
}
