#include "manager/jobs/upload_clone.h"
#include "json/json.h"

#include <string.h>

bool job_upload_clones(const struct job *job, const struct upload_target *target) {
    return target->clone_id ||
           (job->backend->clones_uploads && !target->sends_bytes &&
            job->backend->driver->clone_volume && strcmp(target->disk_format, "raw") == 0 &&
            job->manager->settings.images);
}

static void log_unused(const struct job *job, const struct upload_target *target,
                       const char *reason) {
    log_warning(&job->context.log, "upload continues without a clone of the volume", "volume_id",
                job->operation.volume_id, "image_id", target->image_id, "reason", reason, NULL);
}

static int begin(struct job *job, const struct upload_target *target, struct error *err) {
    const struct settings *settings = job->manager->settings.settings;
    struct upload_clone clone = { .begun = false };
    int lost;

    if (job->backend->uploads_internal && settings->internal_project_id &&
        settings->internal_user_id) {
        clone.project_id = settings->internal_project_id;
        clone.user_id = settings->internal_user_id;
    }
    lost = job_held(job, volume_upload_clone, &clone, err);
    if (lost < 0 && err->kind != ERROR_BAD_REQUEST)
        return -1;
    if (lost > 0 || (lost == 0 && clone.begun))
        return UPLOAD_CLONE_WAITS;
    log_unused(job, target, lost < 0 ? err->message : "the pool has no space");
    return UPLOAD_CLONE_UNUSED;
}

/* A request with the place whose response was lost may take effect at any time: after one the clone
 * remains as long as the image. */
static int leave(struct job *job, const struct upload_target *target, const char *reason,
                 struct error *err) {
    if (target->registers)
        return error_set(err, ERROR_UNAVAILABLE,
                         "the image service may have accepted an earlier request with volume %s: "
                         "%s",
                         target->clone_id, reason);
    log_unused(job, target, reason);
    return job_must_hold(job, volume_upload_leave_clone, NULL, err) < 0 ? -1 : UPLOAD_CLONE_UNUSED;
}

struct looking {
    const char *id;
    bool is_available;
};

static int look(struct work *work, void *arg, struct error *err) {
    struct looking *looking = arg;
    struct volume clone;

    looking->is_available = false;
    if (volume_row(work, looking->id, &clone, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 0 : -1;
    looking->is_available = clone.status == VOLUME_AVAILABLE && clone.provider_location;
    return 0;
}

bool job_upload_has_place(const char *status) {
    /* the image service may compute a checksum before it is active */
    return strcmp(status, "active") == 0 || strcmp(status, "importing") == 0;
}

/* Also an intermediary may have sent a request twice: the image itself decides. */
static int after_refusal(struct job *job, const struct upload_target *target,
                         const struct images_caller *caller, const char *reason,
                         struct error *err) {
    const json_t *image =
        images_get(job->manager->settings.images, job->arena, target->image_id, caller, err);
    const char *status = json_text_of(image, "status");

    if (!image)
        return -1;
    if (status && job_upload_has_place(status))
        return UPLOAD_CLONE_REGISTERED;
    if (status && strcmp(status, "queued") == 0)
        return leave(job, target, reason, err);
    return error_set(err, ERROR_UNAVAILABLE, "image %s is %.32s: %s", target->image_id,
                     status ? status : "without status", reason);
}

int job_upload_clone(struct job *job, const struct upload_target *target, struct error *err) {
    const struct images_caller caller = { .request_id = job->operation.request_id };
    struct looking looking = { .id = target->clone_id };
    struct error refusal;

    if (!target->clone_id)
        return begin(job, target, err);
    if (!job->manager->settings.images)
        return error_set(err, ERROR_BACKEND, "No image service is configured.");
    if (job_read(job, look, &looking, err) < 0)
        return -1;
    if (!looking.is_available)
        return leave(job, target, "the volume could not be cloned", err);
    if (job_must_hold(job, volume_upload_register, NULL, err) < 0)
        return -1;
    if (images_add_location(job->manager->settings.images, job->arena, target->image_id,
                            arena_join(job->arena, "cinder://", target->clone_id, NULL), &caller,
                            &refusal) == 0)
        return UPLOAD_CLONE_REGISTERED;
    return refusal.kind == ERROR_UNAVAILABLE
               ? error_pass(err, &refusal)
               : after_refusal(job, target, &caller, refusal.message, err);
}
