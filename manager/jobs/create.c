/*
 * Creates volumes and snapshots on a backend: the driver's call between claim and finish.
 */
#include "model/volume/create.h"
#include "common/assert.h"
#include "common/heap.h"
#include "data/volume_io.h"
#include "drivers/driver.h"
#include "manager/jobs/image.h"
#include "manager/jobs/image_source.h"
#include "model/type/type.h"
#include "model/volume/image.h"
#include "model/volume/source.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

/* The job's own fence does not hold any more.  In its place each effect is preceded by a query
 * whether the object is still unwanted. */
struct clean_up {
    struct driver_fence fence;
    struct job *job;
    work_body *unwanted;
};

static bool still_unwanted(const struct driver_fence *fence) {
    const struct clean_up *clean_up = (const struct clean_up *)fence;
    struct error err = { .kind = ERROR_NONE };

    return job_read(clean_up->job, clean_up->unwanted, clean_up->job, &err) == CLEAN_UP_UNWANTED;
}

static struct clean_up clean_up_of(struct job *job, work_body *unwanted) {
    return (struct clean_up){ { .holds = still_unwanted }, job, unwanted };
}

/*
 * When this create has another worker by now, or was cancelled, and its object is unwanted, one
 * created by this late worker, complete or in part, would stay for ever: `clean_up`.  Its id is
 * never reused, but its file may have become another object's: the driver removes only unused ones
 * (`late`).
 */
static int end_create(struct job *job, const struct job_clean_up *clean_up,
                      struct create_ending *ending, struct error *err) {
    const char *kind = job->operation.kind->name, *id = job->operation.object_id;
    const struct error *failure = ending->failure;
    int ended;

    assert(failure || ending->location); /* without one the object counts as never created */
    if (failure) {
        struct error lost = { 0 };

        if (job_check_lease(job, &lost) < 0) {
            ended = job_clean_up(job, clean_up, false, err);
            return ended > 0 ? error_pass(err, &lost) : ended;
        }
        if (job_is_uncertain(job, failure))
            return job_ask_again(job, failure, err);
        log_error(&job->context.log, "create failed", "kind", kind, "volume_id",
                  job->operation.volume_id, "object_id", id, "reason", failure->message, NULL);
    }
    ended = job_finish(job, ending, err);
    if (ended > 0)
        return job_clean_up(job, clean_up, false, err) < 0 ? -1 : 0;
    if (ended < 0) /* it may have another worker all the same */
        job_clean_up(job, clean_up, true, &(struct error){ 0 });
    if (ended == 0 && !failure)
        log_info(&job->context.log, "create done", "kind", kind, "volume_id",
                 job->operation.volume_id, "object_id", id, NULL);
    return ended;
}

/* ---- volume ---- */

static int copy(struct job *job, const struct driver_volume *volume,
                const struct volume_source *source, struct driver_created *ret, struct error *err) {
    const struct driver *driver = job->backend->driver;
    const struct driver_volume from = job_driver_volume_of(job, &source->volume);
    const struct driver_snapshot snapshot = job_driver_snapshot(job, &source->snapshot);

    if (!driver->clone_volume || !driver->clone_snapshot)
        return error_set(err, ERROR_BAD_REQUEST, "This backend does not support clones.");
    if (!source->volume.id)
        return error_set(err, ERROR_NOT_FOUND, "The source of volume %s is gone.", volume->id);
    if (!source->is_snapshot)
        return driver->clone_volume(job->backend->handle, job->arena, volume, &from, &job->progress,
                                    ret, err);
    if (source->snapshot.delete_begun)
        return error_set(err, ERROR_CONFLICT, "Snapshot %s is being destroyed.", snapshot.id);
    return driver->clone_snapshot(job->backend->handle, job->arena, volume, &snapshot,
                                  &job->progress, ret, err);
}

/* Extra specs of its type, into job->extra_specs. */
static int read_specs(struct work *work, struct job *job, struct error *err) {
    json_t *specs = json_keep(work->arena, json_object());
    struct volume_type type;

    if (volume_type_row(work, job->volume.type_id, &type, err) < 0)
        return -1;
    for (unsigned i = 0; i < type.extra_specs.count; i++) {
        const struct pair *spec = &type.extra_specs.items[i];

        json_object_set_new(specs, spec->key, spec->value ? json_string(spec->value) : json_null());
    }
    job->extra_specs = specs;
    return 0;
}

static bool has_source(const struct volume *volume) {
    return volume->snapshot_id || volume->source_volid;
}

static bool needs_specs(const struct job *job) {
    return job->volume.type_id && job->backend->driver->reads_extra_specs;
}

/* What the volume is made of, besides its row. */
static int parts_body(struct work *work, void *arg, struct error *err) {
    struct job *job = arg;

    if (has_source(&job->volume) && volume_source_of(work, &job->volume, &job->source, err) < 0)
        return -1;
    return needs_specs(job) ? read_specs(work, job, err) : 0;
}

struct opening {
    struct job *job;
    struct create_ending *ending;
    bool failed; /* the image, instead of the backend */
};

/* The bytes of the image: a failure of theirs is noted. */
struct image_io {
    struct volume_io io;
    struct volume_io *next;
    struct opening *opening;
};

static int noted(struct opening *opening, int result) {
    opening->failed |= result < 0;
    return result;
}

static int image_extent(struct volume_io *io, int64_t offset, struct volume_io_extent *ret,
                        struct error *err) {
    const struct image_io *image = (struct image_io *)io;

    return noted(image->opening, volume_io_extent(image->next, offset, ret, err));
}

static int image_read(struct volume_io *io, void *buffer, size_t size, int64_t offset,
                      struct error *err) {
    const struct image_io *image = (struct image_io *)io;

    return noted(image->opening, volume_io_read(image->next, buffer, size, offset, err));
}

static void image_close(struct volume_io *io) {
    volume_io_close(((struct image_io *)io)->next);
    free(io);
}

static int open_content(void *arg, struct volume_io **ret, struct error *err) {
    static const struct volume_io_functions functions = { .extent = image_extent,
                                                          .read = image_read,
                                                          .close = image_close };
    struct opening *opening = arg;
    struct image_io *image;
    struct volume_io *next;

    if (noted(opening, job_image_open(opening->job, &next, &opening->ending->detail,
                                      &opening->ending->signature_verified, err)) < 0)
        return -1;
    image = heap_new(sizeof(*image));
    *image = (struct image_io){ { .functions = &functions, .size = next->size }, next, opening };
    *ret = &image->io;
    return 0;
}

/* An image that is unavailable each time is not waited for without end, unlike a backend: nothing
 * of the volume can have been made without it. */
#define IMAGE_ATTEMPTS_MOST 30

static int image_failed(const struct job *job, struct error *err) {
    if (err->kind == ERROR_UNAVAILABLE &&
        !job_may_try(job, job->operation.attempts, IMAGE_ATTEMPTS_MOST + 1, ASK_AGAIN_PAUSE_US))
        err->kind = ERROR_BACKEND;
    return -1;
}

static int make_of_image(struct job *job, struct driver_volume volume, struct driver_created *ret,
                         struct create_ending *ending, struct error *err) {
    struct opening opening = { job, ending, false };
    struct driver_content content = { open_content, &opening, &job->progress };
    int result;

    if (!(driver_supported(job->backend->driver) & DRIVER_CONTENT))
        return error_set(err, ERROR_BAD_REQUEST, "This backend makes no volumes of images.");
    volume.content = &content;
    result =
        job->backend->driver->create_volume(job->backend->handle, job->arena, &volume, ret, err);
    return result < 0 && opening.failed ? image_failed(job, err) : result;
}

/* ---- of a volume with the content of the image ---- */

/* 1: it fails for a reason of that volume, which is deleted then if it is an entry of the cache. */
static int clone_source(struct job *job, const struct driver_volume *volume,
                        struct driver_created *ret, struct error *err) {
    struct error ignored;
    int result = copy(job, volume, &job->source, ret, err);

    if (result == 0 || err->kind == ERROR_UNAVAILABLE || job_check_lease(job, &ignored) < 0)
        return result;
    log_warning(&job->context.log, "content of an image cannot be cloned, image used instead",
                "volume_id", job->volume.id, "object_id", job->source.volume.id, "reason",
                err->message, NULL);
    if (job_held(job, volume_image_leave_source, NULL, &ignored) < 0)
        log_warning(&job->context.log, "queue of the content of an image not left", "object_id",
                    job->source.volume.id, "reason", ignored.message, NULL);
    if (job_image_source_is_entry(job) &&
        job_transaction(job, image_cache_evict, &job->source.volume, &ignored) < 0)
        log_warning(&job->context.log, "image cache entry not deleted", "object_id",
                    job->source.volume.id, "reason", ignored.message, NULL);
    return 1;
}

static int make_volume(struct job *job, struct driver_created *ret, struct create_ending *ending,
                       struct error *err) {
    struct driver_volume volume = job_driver_volume(job);
    int result = 1;

    volume.extra_specs = job->extra_specs;
    if (job->operation.kind == &kind_create_from_image) {
        if (job->source.given && job_image_check(job, err) < 0)
            return image_failed(job, err);
        if (job->source.given)
            result = clone_source(job, &volume, ret, err);
        return result > 0 ? make_of_image(job, volume, ret, ending, err) : result;
    }
    if (job->source.given)
        return copy(job, &volume, &job->source, ret, err);
    return job->backend->driver->create_volume(job->backend->handle, job->arena, &volume, ret, err);
}

/* Is the volume gone, being deleted before it was ever created, or on another host? */
static int volume_unwanted(struct work *work, void *arg, struct error *err) {
    const struct job *job = arg;
    struct operation *open;
    struct volume volume;
    int count;

    if (volume_row(work, job->operation.volume_id, &volume, err) < 0)
        return err->kind == ERROR_NOT_FOUND ? 1 : -1;
    if (volume.status == VOLUME_DELETING && !volume.provider_location)
        return 1;
    if (!volume.name_id || strcmp(volume.name_id, job_driver_volume(job).name_id) == 0)
        return 0;
    /* It was renamed since this worker started.  While an operation is open on it, the rename of
     * its object may be in progress. */
    count = operation_on(work, volume.id, &open, err);
    return count < 0 ? -1 : count == 0 ? CLEAN_UP_UNWANTED : CLEAN_UP_LATER;
}

static int take_volume_away(struct job *job, struct error *err) {
    const struct clean_up clean_up = clean_up_of(job, volume_unwanted);
    struct driver_volume volume = job_driver_volume(job);

    volume.fence = &clean_up.fence;
    volume.late = true;
    return job->backend->driver->delete_volume(job->backend->handle, job->arena, &volume, err);
}

const struct job_clean_up clean_up_volume = { "volume", volume_unwanted, take_volume_away };

int job_create(struct job *job, struct error *err) {
    struct driver_created created = { 0 };
    struct create_ending ending = { 0 };
    struct error failure = { 0 };

    if (!job->has_volume)
        return job_end(job, err);
    if ((has_source(&job->volume) || needs_specs(job)) && job_read(job, parts_body, job, err) < 0 &&
        err->kind != ERROR_NOT_FOUND)
        return -1;
    if (make_volume(job, &created, &ending, &failure) < 0) {
        ending.failure = &failure;
        /* of several attempts each may have been at another place; of an image, of two sources */
        if (job_is_first(job) &&
            !(job->operation.kind == &kind_create_from_image && job->source.given))
            ending.tried = created.tried;
    }
    ending.location = created.provider_location;
    ending.format = created.format;
    return end_create(job, &clean_up_volume, &ending, err);
}

int job_create_from_image(struct job *job, struct error *err) {
    int waits = job->has_volume ? job_image_source(job, err) : 0;

    return waits != 0 ? (waits < 0 ? -1 : 0) : job_create(job, err);
}

/* ---- snapshot ---- */

int job_make_snapshot(struct job *job, struct driver_created *ret, struct error *err) {
    const struct driver *driver = job->backend->driver;
    const struct driver_volume volume = job_driver_volume(job);
    const struct driver_snapshot snapshot = job_driver_snapshot(job, &job->snapshot);
    enum driver_outcome outcome;

    if (!driver->create_snapshot)
        return error_set(err, ERROR_BAD_REQUEST, "This backend does not support snapshots.");
    outcome = driver->create_snapshot(job->backend->handle, job->arena, &volume, &snapshot,
                                      &job->progress, ret, err);
    if (outcome == DRIVER_DEFERRED)
        error_set(err, ERROR_CONFLICT,
                  "Volume %s is in use, and its storage cannot take a snapshot below a guest.",
                  volume.id);
    return (int)outcome;
}

static int snapshot_unwanted(struct work *work, void *arg, struct error *err) {
    const struct job *job = arg;
    struct snapshot snapshot;

    if (snapshot_row(work, job->snapshot.id, &snapshot, err) == 0)
        return snapshot.status == SNAPSHOT_DELETING && !snapshot.status_by_reset &&
               !snapshot.provider_location;
    return err->kind == ERROR_NOT_FOUND ? 1 : -1;
}

static int take_snapshot_away(struct job *job, struct error *err) {
    const struct clean_up clean_up = clean_up_of(job, snapshot_unwanted);
    const struct driver *driver = job->backend->driver;
    const struct driver_volume volume = job_driver_volume(job);
    struct driver_snapshot snapshot = job_driver_snapshot(job, &job->snapshot);
    enum driver_outcome outcome = DRIVER_DONE;

    snapshot.fence = &clean_up.fence;
    snapshot.late = true;
    if (driver->delete_snapshot)
        outcome = driver->delete_snapshot(job->backend->handle, job->arena, &volume, &snapshot,
                                          NULL, err);
    if (outcome == DRIVER_DEFERRED)
        log_warning(&job->context.log, "unwanted snapshot left on the backend", "volume_id",
                    volume.id, "object_id", job->snapshot.id, "reason", "the volume is in use",
                    NULL);
    return outcome == DRIVER_FAILED ? -1 : 0;
}

const struct job_clean_up clean_up_snapshot = { "snapshot", snapshot_unwanted, take_snapshot_away };

/* ---- snapshot below a guest ---- */

static int undo_assist(struct job *job, struct error *err) {
    const struct clean_up clean_up = clean_up_of(job, snapshot_unwanted);
    const struct driver_volume volume = job_driver_volume(job);
    struct driver_snapshot snapshot = job_driver_snapshot(job, &job->snapshot);
    struct driver_created created;

    assert(job->backend->driver->complete_assist);
    snapshot.fence = &clean_up.fence;
    snapshot.late = true;
    return job->backend->driver->complete_assist(job->backend->handle, job->arena, &volume,
                                                 &snapshot, false, DRIVER_REPORTED_FAILED, &created,
                                                 err) < 0
               ? -1
               : 0;
}

const struct job_clean_up clean_up_assist = { "assist", snapshot_unwanted, undo_assist };

static int undo_prepared(struct job *job, struct error *err) {
    return job_clean_up(job, &clean_up_assist, false, err) < 0 ? -1 : 0;
}

/* The new file is above the guest's old image, or was removed: an end by another worker leaves
 * nothing to clean up. */
static int end_assisted(struct job *job, bool done, const struct driver_created *created,
                        struct error *err) {
    struct create_ending ending = { .location = created->provider_location,
                                    .format = created->format };
    struct error failure = { 0 };
    int ended;

    if (done) {
        ending.connection_info = job_connection_info(job, &failure);
        if (!ending.connection_info)
            return job_ask_again(job, &failure, err);
    } else {
        error_set(&failure, ERROR_BACKEND, "The host of the guest failed to take the snapshot.");
        operation_read_failure(job->arena, &job->operation, &failure);
        ending.failure = &failure;
    }
    ended = job_finish(job, &ending, err);
    if (ended == 0 && done)
        log_info(&job->context.log, "create done", "kind", job->operation.kind->name, "volume_id",
                 job->operation.volume_id, "object_id", job->operation.object_id, NULL);
    return ended < 0 ? -1 : 0;
}

int job_snapshot_create(struct job *job, struct error *err) {
    static const struct job_assist assist = { false, end_assisted, undo_prepared };
    struct driver_created created = { 0 };
    struct create_ending ending = { 0 };
    struct error failure = { 0 };
    int made;

    if (!job->has_volume || !job->has_snapshot)
        return job_end(job, err);
    if (job->operation.phase != PHASE_RUNNING)
        return job_assist_go_on(job, &assist, err);
    made = job_make_snapshot(job, &created, &failure);
    if (made > 0) {
        int alone = job_assist_begin(job, &assist, &failure, err);

        if (alone <= 0)
            return alone;
        ending.in_use = true;
    }
    if (made != 0)
        ending.failure = &failure;
    ending.location = created.provider_location;
    ending.format = created.format;
    return end_create(job, &clean_up_snapshot, &ending, err);
}
