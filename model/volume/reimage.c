#include "model/volume/reimage.h"

#include "common/assert.h"
#include "model/attachment/attach_status.h"
#include "model/conflict.h"
#include "model/operations.h"
#include "model/volume/notify.h"
#include "operation/message.h"

/* ---- begin ---- */

int volume_reimage_check(const struct volume *volume, bool reserved_too, struct error *err) {
    uint64_t accepted = ST(AVAILABLE) | ST(ERROR) | (reserved_too ? ST(RESERVED) : 0);

    if (volume->attachment_count > 1)
        return error_set(err, ERROR_CONFLICT,
                         "Volume %s has %u attachments and cannot be written anew from an image.",
                         volume->id, volume->attachment_count);
    if (volume_is_migrating(volume) || !(accepted >> volume->status & 1))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s status must be available or error%s to be "
                         "written anew from an image, but it is %s.",
                         volume->id, reserved_too ? " or reserved" : "",
                         volume_is_migrating(volume) ? "migrating" : status_shown(volume->status));
    if (volume_in_use(volume)) /* whatever its status was reset to */
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s is attached and cannot be written anew from an "
                         "image.",
                         volume->id);
    if (volume->encryption_key_id)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s is encrypted and cannot be written anew from "
                         "an image.",
                         volume->id);
    return volume_check_content(volume, "be written anew from an image", err);
}

int volume_reimage(struct work *work, const struct volume *volume, const struct volume_image *image,
                   struct error *err) {
    const struct operation fields = { .arguments = volume_image_print(work, image) };
    struct volume changed = *volume;

    if (volume_image_check(image, volume->size_gb, err) < 0 ||
        pair_rows_check(work, &image_metadata_rows, volume->id, &image->metadata, err) < 0)
        return -1;
    if (image->bytes == 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: Image %s has no data of its own.", image->id);
    if (conflict_resolve(work, volume->id, ACTION_REIMAGE, err) < 0)
        return -1;
    return volume_begin(work, &changed, &kind_reimage, &fields, NULL, err);
}

/* ---- finish ---- */

static bool was(const struct operation *held, enum volume_status status) {
    enum volume_status before;

    return held->previous_status && status_parse(held->previous_status, &before) == 0 &&
           before == status;
}

/* The former content may be gone in part, whatever wrote over it and however that ended. */
static int leave_spoiled(struct work *work, const struct operation *operation,
                         const struct volume *volume, struct error *err) {
    if (was(operation, VOLUME_RESERVED) && volume_notify_reimaged(work, volume, true, err) < 0)
        return -1;
    return volume_image_spoiled(work, volume->id, err);
}

static int reimage_finish(struct work *work, const struct operation *held, void *arg,
                          struct error *err) {
    const struct reimage_ending *ending = arg;
    bool failed = ending->failure != NULL;
    unsigned status = held->kind->on_failure;
    struct volume volume;

    assert(held->kind == &kind_reimage);
    if (volume_details(work, held->volume_id, &volume, err) < 0 ||
        operation_end(work, held, err) < 0)
        return -1;
    if (!failed) /* an error that the volume had before has other reasons */
        status = was(held, VOLUME_ERROR) ? VOLUME_ERROR : attachment_status_of(&volume);
    if (operation_leave(work, volume.id, held->kind, status, err) < 0)
        return -1;
    if (failed)
        return leave_spoiled(work, held, &volume, err) < 0
                   ? -1
                   : volume_image_failed(work, held, ending->failure, ending->detail,
                                         held->kind->message_detail, err);
    if (was(held, VOLUME_RESERVED) && volume_notify_reimaged(work, &volume, false, err) < 0)
        return -1;
    return volume_image_describe(work, held, ending->signature_verified, err);
}

/* A claim may be lost with the power: only a message depends on it. */
static int reimage_cancel(struct work *work, const struct operation *operation, struct error *err) {
    struct volume volume;

    assert(operation->kind == &kind_reimage);
    if (volume_details(work, operation->volume_id, &volume, err) < 0 ||
        leave_spoiled(work, operation, &volume, err) < 0)
        return -1;
    return operation->attempts == 0
               ? 0
               : message_put_failed(work, operation, operation->kind->message_detail, NULL, err);
}

static int reimage_still_valid(struct work *work, const struct operation *operation,
                               struct error *err) {
    struct volume volume;

    if (volume_details(work, operation->volume_id, &volume, err) < 0)
        return -1;
    return volume.status == VOLUME_DOWNLOADING && !volume_in_use(&volume);
}

/* Its arguments are a struct volume_image. */
const struct operation_kind kind_reimage = {
    .name = "reimage",
    .method = "reimage",
    .message_action = "016",
    .message_detail = "028",
    .object = &volume_objects,
    .may_start_from = ST(AVAILABLE) | ST(ERROR) | ST(RESERVED),
    .meanwhile = VOLUME_DOWNLOADING,
    .on_failure = VOLUME_ERROR,
    .is = { [PHASE_QUEUED] = WORK_REVERTS, [PHASE_RUNNING] = WORK_REVERTS },
    .still_valid = reimage_still_valid,
    .finish = reimage_finish,
    .cancel = reimage_cancel,
};
