/*
 * Uploads a volume to an image that the request has created: read in order, as a raw disk or as a
 * qcow2 image, and sent while it is read; other formats are converted before.  Where the backend is
 * configured so, a clone of the volume becomes the place of a raw image's content instead.  Of an
 * attached volume a snapshot is read, which has the id of the operation and is deleted with it: a
 * driver that can take none below a guest makes no such images.
 *
 * Repeated after a kill, an upload begins again: the image service drops the bytes of a request
 * that was broken off.
 */
#include "model/volume/upload.h"
#include "data/checksum_io.h"
#include "data/converted_image_io.h"
#include "data/copy.h"
#include "data/http_sink_io.h"
#include "data/qcow2_image_io.h"
#include "manager/jobs/upload_clone.h"
#include "json/json.h"

#include <string.h>
#include <strings.h>

/* Of the upload; and of a snapshot that the storage does not delete. */
enum { TRIES = 3, DROPS = 30 };

/* Of a qemu-img, whose storage may be slow. */
#define IDLE_MS ((int64_t)10 * 60 * 1000)

/* Glance's default: other algorithms are not compared. */
#define ALGORITHM "sha512"

struct uploading {
    struct job *job;
    struct upload_target target;
    int64_t bytes;              /* of the image, as sent by this worker or noted; 0: unknown */
    int64_t least;              /* of that of an earlier worker without a note, or fewer */
    char sum[CHECKSUM_IO_TEXT]; /* of what was sent; "": nothing by this worker */
    bool is_wrong;              /* the image has other bytes */
    bool has_snapshot;          /* perhaps, by this worker */
    bool image_stays;           /* perhaps: it was not deleted after a failure */
    enum upload_step step;      /* of the last attempt */
};

/* Without the one that began a clone. */
static int64_t attempts(const struct uploading *uploading) {
    const struct upload_target *target = &uploading->target;

    return uploading->job->operation.attempts - (target->clone_id || target->sends_bytes);
}

/* ---- the image ---- */

static struct images *images_of(const struct job *job) {
    return job->manager->settings.images;
}

static const json_t *get_image(const struct uploading *uploading, struct error *err) {
    const struct images_caller caller = { .request_id = uploading->job->operation.request_id };

    return images_get(images_of(uploading->job), uploading->job->arena, uploading->target.image_id,
                      &caller, err);
}

/* 0: it waits for its data; 1: an earlier worker has sent all, or has registered their place. */
static int look_at_image(const struct uploading *uploading, struct error *err) {
    const json_t *image = get_image(uploading, err);
    const char *status = json_text_of(image, "status");

    if (!image)
        return -1;
    if (!status)
        status = "without status";
    if (strcmp(status, "queued") == 0)
        return 0;
    if (uploading->target.registers ? job_upload_has_place(status)
                                    : strcmp(status, "active") == 0 &&
                                          !uploading->target.clone_id && attempts(uploading) > 1)
        return 1;
    return error_set(err, strcmp(status, "saving") == 0 ? ERROR_UNAVAILABLE : ERROR_CONFLICT,
                     "image %s is %.32s", uploading->target.image_id, status);
}

/* Did the image service store what was sent? */
static int check_image(struct uploading *uploading, struct error *err) {
    const json_t *image = get_image(uploading, err);
    const char *hash = json_text_of(image, "os_hash_value");
    const json_t *size = json_object_get(image, "size");

    if (!image)
        return -1;
    uploading->is_wrong =
        (json_is_integer(size) && json_integer_value(size) < uploading->least) ||
        (json_is_integer(size) && uploading->bytes > 0 &&
         json_integer_value(size) != uploading->bytes) ||
        (*uploading->sum && hash && json_text_is(image, "os_hash_algo", ALGORITHM) &&
         strcasecmp(hash, uploading->sum) != 0);
    if (uploading->is_wrong)
        return error_set(err, ERROR_BACKEND, "image %s has other bytes than were sent",
                         uploading->target.image_id);
    return 0;
}

/* One that others have filled, or deleted, meanwhile stays as it is.  `fence`: NULL when the
 * operation was cancelled.  -1: it does not hold, and the next worker may have filled the image. */
static int discard_image(struct uploading *uploading, const struct driver_fence *fence,
                         struct error *refusal) {
    const struct job *job = uploading->job;
    const struct images_caller caller = { .request_id = job->operation.request_id };
    struct error err = { 0 };
    const json_t *image = get_image(uploading, &err);
    bool unfinished =
        json_text_is(image, "status", "queued") || json_text_is(image, "status", "saving");

    uploading->image_stays = image != NULL || err.kind != ERROR_NOT_FOUND;
    if (!uploading->image_stays || (image && !unfinished && !uploading->is_wrong))
        return 0;
    if (driver_fence_check(fence, refusal) < 0)
        return -1;
    uploading->image_stays = !image || images_delete(images_of(job), job->arena,
                                                     uploading->target.image_id, &caller, &err) < 0;
    if (!uploading->image_stays)
        return 0;
    log_error(&job->context.log, "image of a failed upload not deleted", "volume_id",
              job->operation.volume_id, "image_id", uploading->target.image_id, "reason",
              err.message, NULL);
    return 0;
}

/* ---- the source ---- */

static struct driver_snapshot own_snapshot(const struct job *job) {
    const struct snapshot snapshot = { .id = job->operation.id, .size_gb = job->volume.size_gb };

    return job_driver_snapshot(job, &snapshot);
}

static int open_snapshot(struct uploading *uploading, const struct driver_volume *volume,
                         struct volume_io **ret, struct error *err) {
    struct job *job = uploading->job;
    const struct driver *driver = job->backend->driver;
    struct driver_snapshot snapshot = own_snapshot(job);
    struct driver_created created;
    enum driver_outcome outcome;

    if (!driver->create_snapshot)
        return error_set(err, ERROR_BAD_REQUEST, "This backend does not support snapshots.");
    uploading->has_snapshot = true;
    outcome = driver->create_snapshot(job->backend->handle, job->arena, volume, &snapshot,
                                      &job->progress, &created, err);
    if (outcome == DRIVER_DEFERRED)
        return error_set(err, ERROR_CONFLICT,
                         "Volume %s is in use, and its storage cannot take a snapshot below a "
                         "guest.",
                         volume->id);
    if (outcome == DRIVER_FAILED)
        return -1;
    snapshot.provider_location = created.provider_location;
    snapshot.format = created.format;
    return driver->open_snapshot_data(job->backend->handle, job->arena, volume, &snapshot, ret,
                                      err);
}

static int open_source(struct uploading *uploading, struct volume_io **ret, struct error *err) {
    struct job *job = uploading->job;
    const struct driver *driver = job->backend->driver;
    const struct driver_volume volume = job_driver_volume(job);

    if (!(driver_supported(driver) & DRIVER_DATA))
        return error_set(err, ERROR_BAD_REQUEST, "This backend makes no images of volumes.");
    return volume.attached ? open_snapshot(uploading, &volume, ret, err)
                           : driver->open_volume_data(job->backend->handle, job->arena, &volume,
                                                      false, ret, err);
}

/* `fence`: NULL when the operation was cancelled, or has ended.  -1: to be repeated. */
static int drop_snapshot(struct job *job, const struct driver_fence *fence, struct error *err) {
    const struct driver *driver = job->backend->driver;
    const struct driver_volume volume = job_driver_volume(job);
    struct driver_snapshot snapshot = own_snapshot(job);
    enum driver_outcome outcome;

    if (!driver->delete_snapshot)
        return 0;
    snapshot.fence = fence;
    snapshot.late = !fence;
    outcome =
        driver->delete_snapshot(job->backend->handle, job->arena, &volume, &snapshot, NULL, err);
    if (outcome == DRIVER_DONE)
        return 0;
    if (outcome == DRIVER_DEFERRED)
        error_set(err, ERROR_CONFLICT, "the image above it is in use by a guest");
    if (job->operation.attempts < DROPS)
        return -1;
    log_error(&job->context.log, "unwanted snapshot left on the backend", "volume_id", volume.id,
              "object_id", snapshot.id, "reason", err->message, NULL);
    return 0;
}

/* Also that of an earlier worker, for which the volume may have been attached. */
static bool may_have_snapshot(const struct job *job) {
    return job_driver_volume(job).attached || job->operation.attempts > 1;
}

static int is_over(struct work *work, void *arg, struct error *err) {
    const struct job *job = arg;
    struct operation operation;
    int found = operation_get(work, job->operation.id, &operation, err);

    return found < 0 ? -1 : !found;
}

static int take_away(struct job *job, struct error *err) {
    return drop_snapshot(job, NULL, err);
}

const struct job_clean_up clean_up_upload = { "upload", is_over, take_away };

/* Another worker has ended the operation, perhaps before this one made the snapshot. */
static void drop_late_snapshot(const struct uploading *uploading) {
    struct job *job = uploading->job;

    job->snapshot.id = job->operation.id;
    if (uploading->has_snapshot)
        job_clean_up(job, &clean_up_upload, false, &(struct error){ 0 });
}

/* ---- the bytes ---- */

/* Owns `source`, also when it fails. */
static struct volume_io *open_image(struct uploading *uploading, struct volume_io *source,
                                    struct error *err) {
    const struct converted_image_settings settings = {
        .program = "qemu-img",
        .directory = uploading->job->manager->settings.conversion_dir,
        .disk_format = uploading->target.disk_format,
        .idle_ms = IDLE_MS,
        .may = job_copy_may,
        .report = job_copy_report,
        .arg = uploading->job,
    };
    struct volume_io *image = source;

    uploading->step = UPLOAD_CONVERTS;
    if (strcmp(settings.disk_format, "qcow2") == 0) {
        image = qcow2_image_io_open(source, err);
    } else if (strcmp(settings.disk_format, "raw") != 0) {
        image = converted_image_io_open(source, &settings, err);
        volume_io_close(source);
    }
    return image ? checksum_io_open(image, ALGORITHM, false, err) : NULL;
}

static int send_by(struct uploading *uploading, const struct http_transfer_call *call,
                   struct volume_io *image, struct error *err) {
    static const struct copy_position beginning;
    struct copy copy = {
        .from = image, .may = job_copy_may, .report = job_copy_report, .arg = uploading->job
    };
    autovolumeio struct volume_io *to = NULL;

    if (job_must_hold(uploading->job, volume_upload_note, &image->size, err) < 0)
        return -1;
    to = http_sink_io_open(call, image->size, err);
    copy.to = to;
    if (!to || copy_run(&copy, &beginning, err) < 0)
        return -1;
    uploading->bytes = image->size;
    return checksum_io_get(image, uploading->sum, err);
}

/* After a refused token the next attempt has another. */
static int send_image(struct uploading *uploading, struct volume_io *image, struct error *err) {
    struct images *images = images_of(uploading->job);
    struct arena *arena = uploading->job->arena;
    struct http_transfer_call call;
    struct error failure = { 0 };

    if (!images)
        return error_set(err, ERROR_BACKEND, "No image service is configured.");
    if (images_prepare_transfer(images, arena, uploading->target.image_id, images_turn(), &call,
                                err) < 0)
        return -1;
    call.may = job_copy_may;
    call.arg = uploading->job;
    if (send_by(uploading, &call, image, err) == 0)
        return 0;
    if (err->kind == ERROR_UNAUTHORIZED &&
        images_renew_transfer(images, arena, &call, &failure) == 0)
        err->kind = ERROR_UNAVAILABLE;
    return -1;
}

static int read_and_send(struct uploading *uploading, struct error *err) {
    struct volume_io *source = NULL;
    autovolumeio struct volume_io *image = NULL;

    if (open_source(uploading, &source, err) < 0)
        return -1;
    image = open_image(uploading, source, err);
    if (!image)
        return -1;
    uploading->step = UPLOAD_SENDS;
    return send_image(uploading, image, err);
}

/* How many bytes an earlier worker has sent: the image service may have kept those that arrived
 * before its end.  Without a note those of a snapshot, which may be gone, are unknown unless raw,
 * and so are those that a tool made. */
static int find_sent(struct uploading *uploading, struct error *err) {
    const char *before = uploading->job->operation.previous_status;
    bool is_of_snapshot = job_driver_volume(uploading->job).attached ||
                          (before && strcmp(before, status_text(VOLUME_IN_USE)) == 0);
    struct volume_io *source = NULL;
    autovolumeio struct volume_io *image = NULL;

    uploading->bytes = uploading->target.bytes;
    if (uploading->bytes > 0)
        return 0;
    if (strcmp(uploading->target.disk_format, "raw") == 0) {
        uploading->least = uploading->job->volume.size_gb * GIB;
        return 0;
    }
    if (is_of_snapshot || converted_image_is_known(uploading->target.disk_format))
        return 0;
    if (open_source(uploading, &source, err) < 0)
        return -1;
    image = open_image(uploading, source, err);
    if (!image)
        return -1;
    uploading->least = image->size;
    return 0;
}

/* 1: released, or another worker's; nothing has ended. */
static int upload(struct uploading *uploading, struct error *err) {
    struct job *job = uploading->job;
    int complete, cloned = UPLOAD_CLONE_UNUSED;

    if (driver_fence_take_long(&job->fence, INT64_MAX, 0, err) < 0) /* of an unknown rate */
        return -1;
    complete = images_of(job) ? look_at_image(uploading, err) : 0;
    if (complete > 0 && uploading->target.registers)
        return 0;
    if (complete == 0 && job_upload_clones(job, &uploading->target))
        cloned = job_upload_clone(job, &uploading->target, err);
    if (cloned < 0 || cloned != UPLOAD_CLONE_UNUSED)
        return cloned < 0 ? -1 : cloned == UPLOAD_CLONE_WAITS;
    if (complete < 0 || (complete ? find_sent(uploading, err) : read_and_send(uploading, err)) < 0)
        return -1;
    return check_image(uploading, err);
}

/* ---- the operation ---- */

/* 1 it is gone, 0 the operation was released for another attempt. */
static int drop_own_snapshot(struct job *job, struct error *err) {
    struct error failure = { 0 };

    if (!may_have_snapshot(job) || drop_snapshot(job, &job->fence, &failure) == 0)
        return 1;
    return job_check_lease(job, err) < 0 ? -1 : job_ask_again(job, &failure, err);
}

/* The image goes first: the next worker, if the snapshot needs one, finds none. */
static int fail(struct uploading *uploading, const struct error *failure, struct error *err) {
    struct upload_ending ending = { .failure = failure, .step = uploading->step };
    struct job *job = uploading->job;
    int dropped;

    if (images_of(job) && discard_image(uploading, &job->fence, err) < 0) {
        drop_late_snapshot(uploading);
        return -1;
    }
    ending.image_stays = uploading->image_stays;
    dropped = drop_own_snapshot(job, err);
    if (dropped <= 0)
        return dropped;
    log_error(&job->context.log, "upload failed", "volume_id", job->volume.id, "image_id",
              uploading->target.image_id, "reason", failure->message, NULL);
    return job_finish(job, &ending, err) < 0 ? -1 : 0;
}

int job_upload(struct job *job, struct error *err) {
    struct uploading uploading = { .job = job, .image_stays = true };
    struct upload_ending done = { .failure = NULL };
    struct error failure = { 0 };
    int uploaded, ended, dropped;

    if (!job->has_volume || !volume_upload_target(job->arena, &job->operation, &uploading.target))
        return job_end(job, err);
    uploaded = upload(&uploading, &failure);
    if (uploaded > 0)
        return 0;
    if (uploaded < 0) {
        if (job_check_lease(job, err) < 0) {
            drop_late_snapshot(&uploading);
            return -1;
        }
        if (failure.kind == ERROR_UNAVAILABLE &&
            job_may_try(job, attempts(&uploading), TRIES, ASK_AGAIN_PAUSE_US))
            return job_ask_again(job, &failure, err);
        return fail(&uploading, &failure, err);
    }
    dropped = drop_own_snapshot(job, err);
    if (dropped <= 0)
        return dropped;
    ended = job_finish(job, &done, err);
    if (ended == 0)
        log_info(&job->context.log, "upload done", "volume_id", job->volume.id, "image_id",
                 uploading.target.image_id, NULL);
    return ended < 0 ? -1 : 0;
}

/* As noted last: this worker itself may have begun to register a clone since its claim.  0: another
 * worker has ended the operation, or it has no target. */
static int noted_target(struct work *work, void *arg, struct error *err) {
    struct uploading *uploading = arg;
    struct operation operation;
    int found = operation_get(work, uploading->job->operation.id, &operation, err);

    if (found <= 0)
        return found;
    return volume_upload_target(uploading->job->arena, &operation, &uploading->target);
}

int job_discard_upload(struct job *job, struct error *err) {
    struct uploading uploading = { .job = job, .image_stays = true };
    int has_target = job_read(job, noted_target, &uploading, err);

    if (has_target < 0)
        return -1;
    if (has_target && images_of(job))
        discard_image(&uploading, NULL, err);
    if (has_target && uploading.target.clone_id &&
        !(uploading.target.registers && uploading.image_stays) &&
        job_transaction(job, volume_upload_drop_clone, &uploading.target, err) < 0)
        return -1;
    return job->has_volume && may_have_snapshot(job) ? drop_snapshot(job, NULL, err) : 0;
}
