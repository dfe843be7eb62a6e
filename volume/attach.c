/*
 * The older volume actions around attaching, and how the volume's status follows from its rows.
 */
#include "volume/attach_status.private.h"
#include "volume/attachment.h"
#include "volume/conflict.h"
#include "volume/notification.h"
#include "volume/operations.h"

#include <string.h>

/* ---- what the rows say ---- */

bool attachment_in_use(const struct attachment *attachment) {
    return strcmp(attachment->attach_status, "attached") == 0 ||
           strcmp(attachment->attach_status, "attaching") == 0 ||
           strcmp(attachment->attach_status, "detaching") == 0;
}

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
    if (ret)
        *ret = instances;
    return count;
}

/* The first of these that a row has counts; rows in an error state say nothing. */
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

int attach_status_write(struct work *work, const struct volume *volume, enum volume_status status,
                        struct error *err) {
    int changed = db_run(work->tx, err,
                         "UPDATE volumes SET status = $1, status_by_reset = 0, updated_at = $2 "
                         "WHERE id = $3 AND status = $4",
                         DB_TEXT(status_text(status)), DB_INT(work->now_us), DB_TEXT(volume->id),
                         DB_TEXT(status_text(volume->status)));

    return error_if_none(changed, err, ERROR_BAD_REQUEST,
                         "Invalid volume: the status of volume %s has changed meanwhile.",
                         volume->id);
}

int attach_status_follow(struct work *work, const char *volume_id, struct error *err) {
    struct volume volume;
    const char *attach_status;
    unsigned i;

    if (volume_details(work, volume_id, &volume, err) < 0)
        return -1;
    i = precedence_of(&volume);
    attach_status = i < LENGTH(precedence) ? precedence[i].attach_status : "detached";
    if (db_run(work->tx, err,
               "UPDATE volumes SET attach_status = $1, updated_at = $2 WHERE id = $3",
               DB_TEXT(attach_status), DB_INT(work->now_us), DB_TEXT(volume_id)) < 0)
        return -1;
    if (volume.status == VOLUME_EXTENDING)
        return volume.attachment_count == 0 ? volume_extend_settle(work, volume_id, err)
                                            : volume_extend_tell(work, &volume, err);
    if (status_is_transient(volume.status) || volume.status == VOLUME_MAINTENANCE ||
        volume.migration_status)
        return 0;
    return attach_status_write(work, &volume, attachment_status_of(&volume), err);
}

/* Every answer that shows the volume shows them all. */
static int check_room(struct work *work, const char *volume_id, struct error *err) {
    int64_t most = work->settings->per_volume_attachments, count = 0;

    if (db_query_int(work->tx, &count, err, "SELECT COUNT(*) FROM attachments WHERE volume_id = $1",
                     DB_TEXT(volume_id)) < 0)
        return -1;
    if (count >= most)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s has %jd attachments already, at most %jd are "
                         "allowed.",
                         volume_id, (intmax_t)count, (intmax_t)most);
    return 0;
}

int attachment_insert(struct work *work, const struct attachment *attachment, struct error *err) {
    if (check_room(work, attachment->volume_id, err) < 0)
        return -1;
    if (db_run(work->tx, err,
               "INSERT INTO attachments (id, volume_id, project_id, instance_uuid, attached_host, "
               "mountpoint, attach_status, attach_mode, attached_at, created_at) "
               "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
               DB_TEXT(attachment->id), DB_TEXT(attachment->volume_id),
               DB_TEXT(attachment->project_id), DB_TEXT(attachment->instance_uuid),
               DB_TEXT(attachment->attached_host), DB_TEXT(attachment->mountpoint),
               DB_TEXT(attachment->attach_status), DB_TEXT(attachment->attach_mode),
               DB_TIME(attachment->attached_at), DB_INT(work->now_us)) < 0)
        return -1;
    return db_change(work->tx, err,
                     "UPDATE volumes SET attach_status = 'reserved' "
                     "WHERE id = $1 AND attach_status = 'detached'",
                     DB_TEXT(attachment->volume_id));
}

/* ---- reserve, unreserve, begin and roll detaching ---- */

static int refuse(const struct volume *volume, const char *what, const char *needs,
                  struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid volume: Volume %s status must be %s to %s, but the current status "
                     "is %s.",
                     volume->id, needs, what, status_shown(volume->status));
}

int volume_reserve(struct work *work, const struct volume *volume, struct error *err) {
    uint64_t allowed = ST(AVAILABLE) | (volume->multiattach ? ST(IN_USE) : 0);

    if (!(allowed & ((uint64_t)1 << volume->status)))
        return refuse(volume, "reserve", volume->multiattach ? "available or in-use" : "available",
                      err);
    if (conflict_settle(work, volume->id, ACTION_RESERVE, err) < 0)
        return -1;
    return attach_status_write(work, volume, VOLUME_ATTACHING, err);
}

int volume_unreserve(struct work *work, const struct volume *volume, struct error *err) {
    if (volume->status != VOLUME_ATTACHING)
        return 0;
    if (conflict_settle(work, volume->id, ACTION_UNRESERVE, err) < 0)
        return -1;
    return attach_status_write(work, volume,
                               volume->attachment_count ? VOLUME_IN_USE : VOLUME_AVAILABLE, err);
}

int volume_begin_detaching(struct work *work, const struct volume *volume, struct error *err) {
    if (volume->migration_status && volume->status == VOLUME_IN_USE)
        return 0;
    if (volume->status != VOLUME_IN_USE || strcmp(volume->attach_status, "attached") != 0)
        return refuse(volume, "begin detaching", "in-use and attached", err);
    if (conflict_settle(work, volume->id, ACTION_BEGIN_DETACHING, err) < 0)
        return -1;
    return attach_status_write(work, volume, VOLUME_DETACHING, err);
}

int volume_roll_detaching(struct work *work, const struct volume *volume, struct error *err) {
    if (volume->status != VOLUME_DETACHING)
        return 0;
    if (conflict_settle(work, volume->id, ACTION_ROLL_DETACHING, err) < 0)
        return -1;
    return attach_status_write(work, volume, VOLUME_IN_USE, err);
}

/* ---- attach ---- */

static int check_attach(const struct volume *volume, const char *mode, struct error *err) {
    uint64_t allowed = ST(AVAILABLE) | ST(ATTACHING) | ST(RESERVED) | ST(DETACHING) |
                       (volume->multiattach ? ST(IN_USE) : 0);
    const char *readonly = pairs_get(&volume->admin_metadata, "readonly");
    const char *earlier = pairs_get(&volume->admin_metadata, "attached_mode");

    if (!(allowed & ((uint64_t)1 << volume->status)))
        return refuse(volume, "attach", "available, attaching or reserved", err);
    if (volume->status == VOLUME_ATTACHING && earlier && strcmp(earlier, mode) != 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s is being attached with mode %s, not %s.",
                         volume->id, earlier, mode);
    if (readonly && strcmp(readonly, "True") == 0 && strcmp(mode, "ro") != 0)
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
    if (check_attach(volume, mode, err) < 0 ||
        conflict_settle(work, volume->id, ACTION_ATTACH, err) < 0)
        return -1;
    if (!pairs_get(&volume->admin_metadata, "readonly") &&
        volume_admin_metadata_set(work, volume->id, "readonly", "False", err) < 0)
        return -1;
    if (volume_admin_metadata_set(work, volume->id, "attached_mode", mode, err) < 0 ||
        attachment_insert(work, &attachment, err) < 0 ||
        attach_status_follow(work, volume->id, err) < 0)
        return -1;
    return notification_of(work, "volume.attach.end", volume->id, err);
}

/* ---- detach ---- */

static int pick_attachment(const struct volume *volume, const char *attachment_id, bool service,
                           const struct attachment **ret, struct error *err) {
    enum error_kind kind = service ? ERROR_BAD_REQUEST : ERROR_CONFLICT;

    *ret = NULL;
    if (!attachment_id) {
        if (volume->attachment_count > 1)
            return error_set(err, kind,
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
    return 0;
}

static int check_foreign(struct work *work, const struct volume *volume, const char *attachment_id,
                         struct error *err) {
    struct attachment attachment;
    struct error missing;

    if (attachment_get(work, attachment_id, &attachment, &missing) == 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: attachment_id %s belongs to another volume.",
                         attachment_id);
    if (missing.kind != ERROR_NOT_FOUND) {
        *err = missing;
        return -1;
    }
    if (work->context->from_service)
        return 0;
    return error_set(err, ERROR_CONFLICT, "Volume %s has no attachment %s.", volume->id,
                     attachment_id);
}

int volume_detach(struct work *work, const struct volume *volume, const char *attachment_id,
                  struct error *err) {
    const struct attachment *attachment;

    if (volume->status == VOLUME_MAINTENANCE)
        return error_set(err, ERROR_BAD_REQUEST, "Invalid volume: Volume %s is in maintenance.",
                         volume->id);
    if (pick_attachment(volume, attachment_id, work->context->from_service, &attachment, err) < 0)
        return -1;
    if (attachment_id && !attachment && check_foreign(work, volume, attachment_id, err) < 0)
        return -1;
    if (conflict_settle(work, volume->id, ACTION_DETACH, err) < 0 ||
        volume_admin_metadata_set(work, volume->id, "attached_mode", NULL, err) < 0)
        return -1;
    if (attachment)
        return attachment_delete(work, attachment, err);
    return attach_status_follow(work, volume->id, err);
}
