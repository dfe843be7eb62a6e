#include "manager/jobs/image_source.h"

#include "model/volume/create.h"
#include "model/volume/image.h"
#include "model/volume/image_cache.h"
#include "model/volume/image_volume.h"
#include "json/json.h"

#include <string.h>

/* ---- an entry of the cache ---- */

static bool has_cache(const struct job *job) {
    const struct settings *settings = job->manager->settings.settings;

    return job->backend->image_cache.is_enabled && settings->internal_project_id &&
           settings->internal_user_id;
}

/* 1: the operation waits for the entry, or is not this worker's any more. */
static int find_entry(struct job *job, struct error *err) {
    struct image_cache_search search = { .limits = &job->backend->image_cache,
                                         .volume = &job->volume };
    int lost = job_held(job, image_cache_find, &search, err);

    if (lost < 0 && err->kind != ERROR_BAD_REQUEST)
        return -1;
    if (lost < 0)
        log_warning(&job->context.log, "image cache not used", "volume_id", job->volume.id,
                    "reason", err->message, NULL);
    if (lost == 0 && search.outcome == IMAGE_CACHE_HIT)
        job->source = (struct volume_source){ .given = true, .volume = search.entry };
    return lost > 0 || (lost == 0 && search.outcome == IMAGE_CACHE_WAITS);
}

bool job_image_source_is_entry(const struct job *job) {
    return job->source.given && !job->source.volume.use_quota;
}

/* ---- a volume that the image service names ---- */

/* Without one, and where the image service does not respond, the image is opened as others are; so
 * is one with a signature to be verified, which is that of its own bytes. */
static bool find_location(struct job *job, struct image_volume_search *ret) {
    const struct images_caller caller = { .request_id = job->operation.request_id };
    struct images *images = job->manager->settings.images;
    struct volume_image image;
    const json_t *found;
    struct error err;

    if (!images || !volume_image_of(job->arena, &job->operation, &image) ||
        strcmp(image.disk_format, "raw") != 0 || strcmp(image.container_format, "bare") != 0 ||
        image.without_source ||
        volume_image_is_to_be_verified(job->manager->settings.settings, &image))
        return false;
    found = images_get(images, job->arena, image.id, &caller, &err);
    if (!found || !json_text_is(found, "status", "active"))
        return false;
    ret->ids = image_volumes_of(job->arena, found);
    ret->owner = json_text_of(found, "owner");
    ret->bytes = image.bytes;
    return ret->ids[0] != NULL;
}

static int find_volume(struct job *job, struct error *err) {
    struct image_volume_search search = { .volume = &job->volume };
    int lost;

    if (!find_location(job, &search))
        return 0;
    lost = job_held(job, image_volume_find, &search, err);
    if (lost == 0 && search.is_found)
        job->source = (struct volume_source){ .given = true, .volume = search.found };
    return lost < 0 ? -1 : lost > 0 || search.waits;
}

/* ---- any ---- */

/* The image service, which describes the image before its content is used, may take long to
 * respond: workers for short work do not wait for it. */
static int find_source(struct job *job, struct error *err) {
    int waits = 0;

    if (driver_fence_take_long(&job->fence, INT64_MAX, 0, err) < 0)
        return -1;
    if (job->manager->settings.settings->clones_image_volumes)
        waits = find_volume(job, err);
    if (waits != 0 || job->source.given || !has_cache(job))
        return waits;
    return find_entry(job, err);
}

int job_image_source(struct job *job, struct error *err) {
    const struct driver *driver = job->backend->driver;
    int waits = 0;

    if (volume_create_makes_entry(&job->operation))
        return 0;
    if (driver->clone_volume && !driver->reads_extra_specs && !job->volume.encryption_key_id &&
        (job->manager->settings.settings->clones_image_volumes || has_cache(job)))
        waits = find_source(job, err);
    if (waits != 0 || job->source.given || !job->operation.turn_of)
        return waits;
    return job_held(job, volume_image_leave_source, NULL, err);
}
