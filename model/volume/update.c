/*
 * Changes of a volume by users and operators without the backend: name, description, metadata, also
 * the image's, bootable and read-only flags.
 */
#include "common/cleanup.h"
#include "common/words.h"
#include "model/conflict.h"
#include "model/notification.h"
#include "model/volume/volume.h"
#include "operation/pairs.h"

#include <string.h>

const struct pair_rows metadata_rows = {
    .what = "Metadata of volume",
    PAIR_ROWS_SOUGHT("volume_metadata", "volume_id"),
};

const struct pair_rows image_metadata_rows = {
    .what = "Image metadata of volume",
    PAIR_ROWS("volume_glance_metadata", "volume_id"),
    .characters_most = 128 * 1024,
};

static int require_not(const struct volume *volume, uint64_t refused, const char *what,
                       struct error *err) {
    if (refused & ((uint64_t)1 << volume->status))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: %s of volume %s is not allowed while its status is %s.",
                         what, volume->id, status_shown(volume->status));
    return 0;
}

static int touch(struct work *work, const char *volume_id, struct error *err) {
    return db_change(work->tx, err, "UPDATE volumes SET updated_at = $1 WHERE id = $2",
                     DB_INT(work->now_us), DB_TEXT(volume_id));
}

int volume_update(struct work *work, const struct volume *volume,
                  const struct volume_changes *changes, struct error *err) {
    if (require_not(volume, ST(MAINTENANCE), "An update", err) < 0 ||
        conflict_resolve(work, volume->id, ACTION_UPDATE, err) < 0 ||
        notification_put(work, "volume.update.start", volume, err) < 0 ||
        db_run(work->tx, err,
               "UPDATE volumes SET display_name = $1, display_description = $2, bootable = $3, "
               "updated_at = $4 WHERE id = $5",
               DB_TEXT(changes->set_name ? changes->name : volume->name),
               DB_TEXT(changes->set_description ? changes->description : volume->description),
               DB_BOOL(changes->set_bootable ? changes->bootable : volume->bootable),
               DB_INT(work->now_us), DB_TEXT(volume->id)) < 0 ||
        (changes->set_metadata && pair_rows_put(work, &metadata_rows, PAIR_OWNER(volume),
                                                &changes->metadata, false, err) < 0))
        return -1;
    return notification_of(work, "volume.update.end", volume->id, err);
}

static int require_quiet(struct work *work, const struct volume *volume, const char *what,
                         enum volume_action action, struct error *err) {
    if (require_not(volume, ST(MAINTENANCE) | ST(UPLOADING), what, err) < 0)
        return -1;
    return conflict_resolve(work, volume->id, action, err);
}

int volume_metadata_set(struct work *work, const struct volume *volume, const struct pairs *pairs,
                        bool merge, struct error *err) {
    if (require_quiet(work, volume, "A change of the metadata", ACTION_METADATA, err) < 0 ||
        pair_rows_put(work, &metadata_rows, PAIR_OWNER(volume), pairs, merge, err) < 0)
        return -1;
    return touch(work, volume->id, err);
}

int volume_metadata_delete(struct work *work, const struct volume *volume, const char *key,
                           struct error *err) {
    if (require_quiet(work, volume, "A change of the metadata", ACTION_METADATA, err) < 0 ||
        error_if_none(pair_rows_remove(work, &metadata_rows, volume->id, key, err), err,
                      ERROR_NOT_FOUND, "Volume %s has no metadata with key %s.", volume->id,
                      key) < 0)
        return -1;
    return touch(work, volume->id, err);
}

int volume_image_metadata_set(struct work *work, const struct volume *volume,
                              const struct pairs *pairs, struct error *err) {
    if (require_quiet(work, volume, "A change of the image metadata", ACTION_IMAGE_METADATA, err) <
        0)
        return -1;
    return pair_rows_put(work, &image_metadata_rows, PAIR_OWNER(volume), pairs, true, err);
}

int volume_image_metadata_delete(struct work *work, const struct volume *volume, const char *key,
                                 struct error *err) {
    if (require_quiet(work, volume, "A change of the image metadata", ACTION_IMAGE_METADATA, err) <
        0)
        return -1;
    return error_if_none(pair_rows_remove(work, &image_metadata_rows, volume->id, key, err), err,
                         ERROR_NOT_FOUND, "Volume %s has no image metadata with key %s.",
                         volume->id, key);
}

int volume_admin_metadata_set(struct work *work, const char *volume_id, const char *key,
                              const char *value, struct error *err) {
    if (!value)
        return db_change(work->tx, err,
                         "DELETE FROM volume_admin_metadata WHERE volume_id = $1 AND key = $2",
                         DB_TEXT(volume_id), DB_TEXT(key));
    return db_change(work->tx, err,
                     "INSERT INTO volume_admin_metadata (volume_id, key, value) "
                     "VALUES ($1, $2, $3) "
                     "ON CONFLICT (volume_id, key) DO UPDATE SET value = excluded.value",
                     DB_TEXT(volume_id), DB_TEXT(key), DB_TEXT(value));
}

int volume_check_content(const struct volume *volume, const char *action, struct error *err) {
    const char *image_id = pairs_get(&volume->admin_metadata, VOLUME_KEY_CONTENT);

    if (!image_id)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid volume: Volume %s is the content of image %s and cannot %s.",
                     volume->id, image_id, action);
}

bool volume_is_readonly(const struct volume *volume) {
    const char *flag = pairs_get(&volume->admin_metadata, "readonly");

    return flag && strcmp(flag, "True") == 0;
}

bool volume_is_migrating(const struct volume *volume) {
    static const char *const not_migrating[] = { "deleting", "error", "success" };

    return volume->migration_status &&
           !words_have(not_migrating, LENGTH(not_migrating), volume->migration_status);
}

int volume_set_readonly(struct work *work, const struct volume *volume, bool readonly,
                        struct error *err) {
    if (volume->status != VOLUME_AVAILABLE)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s status must be available to update the "
                         "readonly flag, but it is %s.",
                         volume->id, status_shown(volume->status));
    if ((!readonly && volume_check_content(volume, "become writable", err) < 0) ||
        conflict_resolve(work, volume->id, ACTION_READONLY, err) < 0 ||
        volume_admin_metadata_set(work, volume->id, "readonly", readonly ? "True" : "False", err) <
            0)
        return -1;
    return touch(work, volume->id, err);
}
