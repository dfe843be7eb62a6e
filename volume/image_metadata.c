#include "volume/image_metadata.h"

#include "ledger/pairs.h"
#include "volume/conflict.h"

const struct pair_rows image_metadata_rows = {
    .what = "Image metadata of volume",
    PAIR_ROWS("volume_glance_metadata", "volume_id"),
    .characters_most = 128 * 1024,
};

static int require_quiet(const struct volume *volume, struct error *err) {
    if ((ST(MAINTENANCE) | ST(UPLOADING)) & ((uint64_t)1 << volume->status))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: A change of the image metadata of volume %s is not "
                         "allowed while its status is %s.",
                         volume->id, status_shown(volume->status));
    return 0;
}

int image_metadata_set(struct work *work, const struct volume *volume, const struct pairs *pairs,
                       struct error *err) {
    if (require_quiet(volume, err) < 0 ||
        conflict_settle(work, volume->id, ACTION_IMAGE_METADATA, err) < 0)
        return -1;
    return pair_rows_put(work, &image_metadata_rows, volume->id, pairs, true, err);
}

int image_metadata_delete(struct work *work, const struct volume *volume, const char *key,
                          struct error *err) {
    int deleted;

    if (require_quiet(volume, err) < 0 ||
        conflict_settle(work, volume->id, ACTION_IMAGE_METADATA, err) < 0)
        return -1;
    deleted = db_run(work->tx, err,
                     "DELETE FROM volume_glance_metadata WHERE volume_id = $1 AND key = $2",
                     DB_TEXT(volume->id), DB_TEXT(key));
    return error_if_none(deleted, err, ERROR_NOT_FOUND,
                         "Volume %s has no image metadata with key %s.", volume->id, key);
}
