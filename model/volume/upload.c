#include "model/volume/upload.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/no_space.h"
#include "common/words.h"
#include "data/converted_image_io.h"
#include "model/attachment/attach_status.h"
#include "model/conflict.h"
#include "model/operations.h"
#include "model/volume/create.h"
#include "model/volume/delete.h"
#include "model/volume/image.h"
#include "operation/message.h"
#include "json/json.h"

#include <string.h>

/* ---- begin ---- */

static int check_formats(const struct volume_upload *upload, struct error *err) {
    static const char *const formats[] = { "raw", "qcow2" };

    if (!words_have(formats, LENGTH(formats), upload->disk_format) &&
        !converted_image_is_known(upload->disk_format))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: Images of the disk format %s cannot be made of "
                         "volumes here, only raw, qcow2, vmdk, vdi, vhd, vhdx and ploop.",
                         upload->disk_format);
    if (strcmp(upload->container_format, "bare") != 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: Images in a container %.64s cannot be made of "
                         "volumes here, only bare ones.",
                         upload->container_format);
    return 0;
}

int volume_upload_check(struct work *work, const struct volume *volume,
                        const struct volume_upload *upload, struct error *err) {
    int64_t most_gb = converted_image_is_known(upload->disk_format)
                          ? converted_image_most_gb(upload->disk_format)
                          : INT64_MAX;
    bool in_use = upload->force && work->settings->enable_force_upload;

    if (check_formats(upload, err) < 0)
        return -1;
    if (volume->size_gb > most_gb)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: Volume %s has %jd GiB, and an image of the disk "
                         "format %s %jd at most.",
                         volume->id, (intmax_t)volume->size_gb, upload->disk_format,
                         (intmax_t)most_gb);
    if (volume_is_migrating(volume) ||
        (volume->status != VOLUME_AVAILABLE && !(in_use && volume->status == VOLUME_IN_USE)))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s status must be available%s to make an image of "
                         "it, but it is %s.",
                         volume->id, in_use ? " or in-use" : "",
                         volume_is_migrating(volume) ? "migrating" : status_shown(volume->status));
    if (volume->encryption_key_id)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s is encrypted, and no image can be made of it.",
                         volume->id);
    return conflict_resolve(work, volume->id, ACTION_UPLOAD, err);
}

/* Properties that the image service has reserved, facts about the bytes of another image, and its
 * key, which the image service deletes with the image. */
static bool is_copied(const char *key) {
    static const char *const prefixes[] = { "os_glance", "img_signature", "signature_verified",
                                            "cinder_encryption_key" };
    static const char *const of_other[] = { "image_id", "image_name" };

    for (size_t i = 0; i < LENGTH(prefixes); i++)
        if (strncmp(key, prefixes[i], strlen(prefixes[i])) == 0)
            return false;
    return !volume_image_has_member(key) && !words_have(of_other, LENGTH(of_other), key);
}

const char *volume_upload_describe(struct work *work, const struct volume *volume,
                                   const struct volume_upload *upload) {
    json_t *image = json_pack("{s:s, s:s, s:s}", "name", upload->image_name, "disk_format",
                              upload->disk_format, "container_format", upload->container_format);

    assert(image); /* its texts come from JSON */
    if (upload->visibility)
        json_object_set_new(image, "visibility", json_string(upload->visibility));
    if (upload->sets_protection)
        json_object_set_new(image, "protected", json_boolean(upload->is_protected));
    for (unsigned i = 0; i < volume->image_metadata.count; i++) {
        const struct pair *pair = &volume->image_metadata.items[i];

        if (is_copied(pair->key))
            json_object_set_new(image, pair->key, json_string(pair->value));
    }
    return json_text(work->arena, json_keep(work->arena, image));
}

/* ---- arguments ---- */

static const char *print_target(struct arena *arena, const struct upload_target *target) {
    json_t *tree = json_pack("{s:s, s:s, s:s}", "image_id", target->image_id, "disk_format",
                             target->disk_format, "project_id", target->project_id);

    assert(tree); /* its texts come from JSON and from rows */
    if (target->bytes > 0)
        json_object_set_new(tree, "bytes", json_integer(target->bytes));
    if (target->clone_id)
        json_object_set_new(tree, "clone_id", json_string(target->clone_id));
    if (target->registers)
        json_object_set_new(tree, "registers", json_true());
    if (target->sends_bytes)
        json_object_set_new(tree, "sends_bytes", json_true());
    return json_text(arena, json_keep(arena, tree));
}

int volume_upload(struct work *work, const struct volume *volume,
                  const struct volume_upload *upload, const char *image_id, struct error *err) {
    const struct upload_target target = { .image_id = image_id,
                                          .disk_format = upload->disk_format,
                                          .project_id = work->context->project_id
                                                            ? work->context->project_id
                                                            : volume->project_id };
    const struct operation fields = { .arguments = print_target(work->arena, &target) };
    struct volume changed = *volume;

    assert(uuid_parse(image_id, NULL));
    return volume_begin(work, &changed, &kind_upload, &fields, NULL, err);
}

int volume_upload_target(struct arena *arena, const struct operation *operation,
                         struct upload_target *ret) {
    const json_t *tree = operation_arguments(arena, operation);
    const char *project_id = json_text_of(tree, "project_id");

    *ret = (struct upload_target){
        .image_id = json_text_of(tree, "image_id"),
        .disk_format = json_text_of(tree, "disk_format"),
        .project_id = project_id ? project_id : operation->project_id,
        .bytes = json_integer_value(json_object_get(tree, "bytes")),
        .clone_id = json_text_of(tree, "clone_id"),
        .registers = json_is_true(json_object_get(tree, "registers")),
        .sends_bytes = json_is_true(json_object_get(tree, "sends_bytes")),
    };
    return ret->image_id && ret->disk_format && uuid_parse(ret->image_id, NULL);
}

static int note(struct work *work, const struct operation *held, const struct upload_target *target,
                struct error *err) {
    assert(held->kind == &kind_upload);
    return operation_note(work, held->id, held->owner, print_target(work->arena, target), err) < 0
               ? -1
               : 0;
}

int volume_upload_note(struct work *work, const struct operation *held, void *bytes,
                       struct error *err) {
    struct upload_target target;

    if (!volume_upload_target(work->arena, held, &target))
        return 0;
    target.bytes = *(int64_t *)bytes;
    return note(work, held, &target, err);
}

/* ---- a clone as the place of the content ---- */

static int insert_clone(struct work *work, const struct operation *held,
                        const struct upload_target *target, const struct upload_clone *owner,
                        struct error *err) {
    const struct pair items[] = { { VOLUME_KEY_IMAGE_ID, target->image_id },
                                  { VOLUME_KEY_IMAGE_OWNER, target->project_id } };
    struct volume from, clone;
    int inserted;

    if (volume_details(work, held->volume_id, &from, err) < 0)
        return -1;
    clone = (struct volume){
        .id = target->clone_id,
        .project_id = owner->project_id ? owner->project_id : target->project_id,
        .user_id = owner->user_id ? owner->user_id : held->user_id,
        .host = from.host,
        .service_uuid = from.service_uuid,
        .availability_zone = from.availability_zone,
        .name = arena_join(work->arena, "image-", target->image_id, NULL),
        .description = from.description,
        .size_gb = from.size_gb,
        .largest_gb = from.largest_gb,
        .status = VOLUME_CREATING,
        .type_id = from.type_id,
        .type_name = from.type_name,
        .source_volid = from.id,
        .bootable = from.bootable,
        .multiattach = from.multiattach,
        .use_quota = true,
        .shared_targets = 1,
        .created_at = work->now_us,
        .metadata = { items, LENGTH(items) },
    };
    inserted = volume_create_clone(work, held, &from, &clone, err);
    if (inserted <= 0)
        return inserted;
    return volume_admin_metadata_set(work, clone.id, "readonly", "True", err) < 0 ||
                   volume_admin_metadata_set(work, clone.id, VOLUME_KEY_CONTENT, target->image_id,
                                             err) < 0
               ? -1
               : inserted;
}

int volume_upload_clone(struct work *work, const struct operation *held, void *arg,
                        struct error *err) {
    struct upload_clone *clone = arg;
    struct upload_target target;
    int inserted;

    if (!volume_upload_target(work->arena, held, &target))
        return 0;
    assert(!target.clone_id);
    target.clone_id = work_uuid(work);
    inserted = insert_clone(work, held, &target, clone, err);
    clone->begun = inserted > 0;
    if (inserted <= 0)
        return inserted;
    return note(work, held, &target, err) < 0 ? -1 : operation_let_pass(work, held, err);
}

int volume_upload_register(struct work *work, const struct operation *held, void *arg,
                           struct error *err) {
    struct upload_target target;

    (void)arg;
    if (!volume_upload_target(work->arena, held, &target))
        return 0;
    target.registers = true;
    return note(work, held, &target, err);
}

/* One that cannot be deleted, as its project has taken a snapshot of it, is then a plain volume. */
int volume_upload_drop_clone(struct work *work, void *arg, struct error *err) {
    const struct upload_target *target = arg;
    struct volume clone;
    const char *image_id;

    if (!target->clone_id)
        return 0;
    if (volume_details(work, target->clone_id, &clone, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    image_id = pairs_get(&clone.admin_metadata, VOLUME_KEY_CONTENT);
    if (!image_id || strcmp(image_id, target->image_id) != 0 || clone.status == VOLUME_DELETING)
        return 0;
    if (volume_delete(work, &clone, DELETE_FORCE, err) >= 0)
        return 0;
    return err->kind == ERROR_BAD_REQUEST
               ? volume_admin_metadata_set(work, clone.id, VOLUME_KEY_CONTENT, NULL, err)
               : -1;
}

int volume_upload_leave_clone(struct work *work, const struct operation *held, void *arg,
                              struct error *err) {
    struct upload_target target;

    (void)arg;
    if (!volume_upload_target(work->arena, held, &target))
        return 0;
    if (volume_upload_drop_clone(work, &target, err) < 0)
        return -1;
    target.clone_id = NULL;
    target.registers = false;
    target.sends_bytes = true;
    return note(work, held, &target, err);
}

/* ---- finish ---- */

static int upload_finish(struct work *work, const struct operation *held, void *arg,
                         struct error *err) {
    const struct upload_ending *ending = arg;
    struct upload_target target;
    struct volume volume;

    assert(held->kind == &kind_upload);
    if (volume_upload_target(work->arena, held, &target) &&
        !(target.registers && (!ending->failure || ending->image_stays)) &&
        volume_upload_drop_clone(work, &target, err) < 0)
        return -1;
    if (volume_details(work, held->volume_id, &volume, err) < 0 ||
        operation_end(work, held, err) < 0 ||
        operation_leave(work, volume.id, held->kind, attachment_status_of(&volume), err) < 0)
        return -1;
    if (!ending->failure)
        return 0;
    if (ending->step == UPLOAD_READS)
        return message_put_failed(work, held, held->kind->message_detail, ending->failure, err);
    return message_put_reason(work, held, held->kind->message_detail,
                              ending->step == UPLOAD_CONVERTS && error_is_no_space(ending->failure)
                                  ? VOLUME_IMAGE_NO_CONVERSION_SPACE
                                  : NULL,
                              err);
}

static int upload_still_valid(struct work *work, const struct operation *operation,
                              struct error *err) {
    struct volume volume;

    if (volume_row(work, operation->volume_id, &volume, err) < 0)
        return -1;
    return volume.status == VOLUME_UPLOADING;
}

const struct operation_kind kind_upload = {
    .name = "upload",
    .method = "copy_volume_to_image",
    .message_action = "003",
    .message_detail = "004",
    .object = &volume_objects,
    .may_start_from = ST(AVAILABLE) | ST(IN_USE),
    .meanwhile = VOLUME_UPLOADING,
    .on_failure = VOLUME_AVAILABLE,
    .is = { [PHASE_QUEUED] = WORK_UPLOADS,
            [PHASE_RUNNING] = WORK_UPLOADS,
            [PHASE_CANCELLED] = WORK_YIELDS },
    .leaves_traces = true, /* an image without its data; a snapshot */
    .still_valid = upload_still_valid,
    .finish = upload_finish,
};
