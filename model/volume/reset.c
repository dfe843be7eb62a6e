#include "model/volume/reset.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/words.h"
#include "model/attachment/attachment.h"
#include "model/attachment/connection.h"
#include "model/attachment/disconnect.h"
#include "model/conflict.h"
#include "model/notification.h"
#include "model/operations.h"
#include "model/snapshot/assist.h"
#include "model/volume/extend.h"
#include "model/volume/image_cache.h"
#include "model/volume/transfer.h"
#include "operation/operation.h"

#include <string.h>

static int refuse_value(const char *field, const char *value, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid input received: %s: a volume cannot be reset to '%.64s'.", field,
                     value);
}

/* A delete that failed may have destroyed the storage all the same, which no row shows: a manager
 * checks it before the volume can be used, whatever the new status, as another one may follow. */
static int inspect_storage(struct work *work, const struct volume *volume, struct error *err) {
    const struct operation fields = { .volume_id = volume->id,
                                      .turn_of = volume->id,
                                      .host = volume->host,
                                      .project_id = volume->project_id,
                                      .previous_status = status_text(volume->status) };
    struct operation *about;
    int count;

    if (volume->status != VOLUME_ERROR_DELETING || !volume->provider_location || !volume->host ||
        volume->attachment_count > 0)
        return 0;
    count = operation_about(work, volume->id, volume->id, &about, err);
    /* The end of its operation, or of a cancelled delete, inspects its storage anyway. */
    for (int i = 0; i < count; i++)
        if (strcmp(about[i].target_id, volume->id) == 0 ||
            (about[i].phase == PHASE_CANCELLED && about[i].kind == &kind_delete &&
             strcmp(about[i].object_id, volume->id) == 0))
            return 0;
    return count < 0 ? -1 : operation_inspect(work, &kind_delete, &fields, err);
}

static int reset_status(struct work *work, const struct volume *volume, const char *status,
                        struct error *err) {
    struct status_change change;
    enum volume_status wanted;

    if (status_parse(status, &wanted) < 0 || !status_may_be_reset_to(wanted))
        return refuse_value("status", status, err);
    if (wanted == VOLUME_MAINTENANCE && !volume->use_quota)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s would be an entry of the image cache again, "
                         "but its content may have changed.",
                         volume->id);
    if (wanted == VOLUME_IN_USE && volume->attachment_count == 0)
        return error_set(
            err, ERROR_BAD_REQUEST,
            "Invalid volume: Volume %s has no attachment and cannot be reset to in-use.",
            volume->id);
    /* the volume would be shown as usable */
    if (volume_lacks_storage(volume, wanted))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s has no storage and cannot be reset to %s: its "
                         "create has not ended or has failed, or its storage is deleted. It can be "
                         "reset to error, and be deleted.",
                         volume->id, status_shown(wanted));
    /* R56, R57, X33: whatever the target, open operations end here; also a pending extend of which
     * only the keys are left. */
    if (conflict_resolve(work, volume->id, ACTION_RESET_STATUS, err) < 0 ||
        (wanted != VOLUME_AWAITING_TRANSFER && transfer_end_of(work, volume->id, err) < 0) ||
        (volume->status == VOLUME_EXTENDING &&
         volume_extend_clear_keys(work, volume->id, err) < 0) ||
        inspect_storage(work, volume, err) < 0)
        return -1;
    change = (struct status_change){ .from = STATUS_ANY,
                                     .to = wanted,
                                     .by_reset = status_is_transient(wanted) };
    return status_write(work, &volume_objects, volume->id, &change, err) < 0
               ? -1
               : image_cache_release(work, volume, err);
}

static int reset_attach_status(struct work *work, const struct volume *volume,
                               const char *attach_status, struct error *err) {
    static const char *const words[] = { "attached", "detached" };

    assert(volume->attachment_count == 0 || volume->attachments);
    if (!words_have(words, LENGTH(words), attach_status))
        return refuse_value("attach_status", attach_status, err);
    if (conflict_resolve(work, volume->id, ACTION_RESET_ATTACH_STATUS, err) < 0 ||
        db_run(work->tx, err,
               "UPDATE volumes SET attach_status = $1, updated_at = $2 WHERE id = $3",
               DB_TEXT(attach_status), DB_INT(work->now_us), DB_TEXT(volume->id)) < 0)
        return -1;
    if (strcmp(attach_status, "detached") != 0)
        return 0;
    for (unsigned i = 0; i < volume->attachment_count; i++)
        if (operation_end_of(work, volume->attachments[i].id, err) < 0)
            return -1;
    if (db_run(work->tx, err, "DELETE FROM attachments WHERE volume_id = $1", DB_TEXT(volume->id)) <
        0)
        return -1;
    if (volume_admin_metadata_set(work, volume->id, "attached_mode", NULL, err) < 0 ||
        connection_end(work, volume->id, NULL, err) < 0 ||
        volume_disconnect(work, volume->id, err) < 0)
        return -1;
    /* X30: no guest is left to report */
    if (snapshot_assist_follow(work, &(struct volume){ .id = volume->id }, err) < 0)
        return -1;
    return operation_reevaluate(work, volume->id, err);
}

static int reset_migration_status(struct work *work, const struct volume *volume,
                                  const char *migration_status, struct error *err) {
    static const char *const words[] = { "migrating",  "error", "success",
                                         "completing", "none",  "starting" };

    if (!words_have(words, LENGTH(words), migration_status))
        return refuse_value("migration_status", migration_status, err);
    if (conflict_resolve(work, volume->id, ACTION_RESET_MIGRATION_STATUS, err) < 0)
        return -1;
    return db_change(work->tx, err,
                     "UPDATE volumes SET migration_status = $1, updated_at = $2 WHERE id = $3",
                     DB_TEXT(strcmp(migration_status, "none") == 0 ? NULL : migration_status),
                     DB_INT(work->now_us), DB_TEXT(volume->id));
}

int volume_reset_status(struct work *work, const struct volume *volume, const char *status,
                        const char *attach_status, const char *migration_status,
                        struct error *err) {
    struct arena *arena = work->arena;

    if (notification_put(work, "volume.reset_status.start", volume, err) < 0 ||
        (status && reset_status(work, volume, arena_lower(arena, status), err) < 0) ||
        (attach_status &&
         reset_attach_status(work, volume, arena_lower(arena, attach_status), err) < 0) ||
        (migration_status &&
         reset_migration_status(work, volume, arena_lower(arena, migration_status), err) < 0))
        return -1;
    return notification_of(work, "volume.reset_status.end", volume->id, err);
}
