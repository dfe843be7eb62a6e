#include "compute/jobs/resize.h"

#include "common/gib.h"
#include "compute/hypervisor/image.h"

static enum resize_outcome outcome_of(enum error_kind kind) {
    if (kind == ERROR_UNAVAILABLE)
        return RESIZE_UNREACHABLE;
    return kind == ERROR_CONFLICT ? RESIZE_BUSY : RESIZE_FAILED;
}

static enum resize_outcome disk_find(struct resize *resize, struct arena *arena,
                                     struct error *err) {
    struct hypervisor *hypervisor = resize->hypervisor;
    struct disk disk = { .state = DISK_NOT_HERE };

    if (hypervisor->find_disk(hypervisor, arena, resize->instance_uuid, resize->volume->id, &disk,
                              err) < 0)
        return outcome_of(err->kind);
    if (disk.state == DISK_NOT_HERE) {
        error_set(err, ERROR_NOT_FOUND, "no domain of this host has the disk");
        return volumes_is_elsewhere(resize->volume, resize->host) ? RESIZE_NOT_OURS : RESIZE_FAILED;
    }
    resize->disk = disk;
    return RESIZE_DONE;
}

/* The disk with its present capacity; RESIZE_DONE when it was found and measured. */
static enum resize_outcome find_and_measure(struct resize *resize, struct arena *arena,
                                            struct error *err) {
    enum resize_outcome seen = disk_find(resize, arena, err);
    struct disk *disk = &resize->disk;

    if (seen == RESIZE_DONE && disk->state == DISK_OFF &&
        image_capacity(arena, disk->source, disk->format, &disk->capacity, err) < 0)
        return outcome_of(err->kind);
    return seen;
}

/* Grows and reads back: the capacity decides, whatever the call returned. */
static enum resize_outcome grow_and_verify(struct resize *resize, struct arena *arena,
                                           int64_t bytes, struct error *err) {
    struct hypervisor *hypervisor = resize->hypervisor;
    const struct disk *disk = &resize->disk;
    enum disk_state before = disk->state;
    struct error failure = { 0 };
    int grown = before == DISK_OFF
                    ? image_grow(arena, disk->source, disk->format, bytes, &failure)
                    : hypervisor->grow_disk(hypervisor, arena, disk, bytes, &failure);
    enum resize_outcome seen = find_and_measure(resize, arena, err);

    if (seen == RESIZE_DONE && resize->disk.capacity >= bytes)
        return RESIZE_DONE;
    if (seen == RESIZE_DONE && resize->disk.job) {
        error_set(err, ERROR_CONFLICT, "a job of the hypervisor has started on the disk");
        return RESIZE_BUSY;
    }
    if (grown < 0 && seen == RESIZE_DONE && resize->disk.state != before) {
        *err = failure; /* the guest has just stopped or started: the next attempt uses the other
                         * way */
        return RESIZE_BUSY;
    }
    if (grown < 0) {
        *err = failure;
        return outcome_of(failure.kind);
    }
    if (seen != RESIZE_DONE)
        return seen;
    error_set(err, ERROR_BACKEND, "the disk has %jd bytes after it was grown to %jd",
              (intmax_t)resize->disk.capacity, (intmax_t)bytes);
    return RESIZE_FAILED;
}

static enum resize_outcome grow_when_free(struct resize *resize, struct arena *arena, int64_t bytes,
                                          struct error *err) {
    if (resize->disk.read_only) {
        error_set(err, ERROR_BACKEND, "the disk is read-only");
        return RESIZE_FAILED;
    }
    if (resize->disk.job) {
        error_set(err, ERROR_CONFLICT, "a job of the hypervisor runs on the disk");
        return RESIZE_BUSY;
    }
    return grow_and_verify(resize, arena, bytes, err);
}

enum resize_outcome resize_to_target(struct resize *resize, struct arena *arena,
                                     struct error *err) {
    const struct remote_volume *volume = resize->volume;
    int64_t bytes = volume->target_gb * GIB;
    enum resize_outcome seen;

    if (volume->target_gb <= volume->size_gb) {
        error_set(err, ERROR_BAD_REQUEST,
                  "metadata extend_new_size is not a size larger than %jd GB",
                  (intmax_t)volume->size_gb);
        return RESIZE_FAILED;
    }
    seen = find_and_measure(resize, arena, err);
    if (seen != RESIZE_DONE)
        return seen;
    if (resize->disk.capacity == bytes)
        return RESIZE_DONE;
    if (resize->disk.capacity > bytes) {
        error_set(err, ERROR_BACKEND, "the disk already has %jd bytes, more than the target",
                  (intmax_t)resize->disk.capacity);
        return RESIZE_FAILED;
    }
    return grow_when_free(resize, arena, bytes, err);
}

enum resize_outcome resize_to_size(struct resize *resize, struct arena *arena, struct error *err) {
    int64_t bytes = resize->volume->size_gb * GIB;
    enum resize_outcome seen = disk_find(resize, arena, err);

    if (seen != RESIZE_DONE || resize->disk.state == DISK_OFF || resize->disk.capacity >= bytes)
        return seen;
    return grow_when_free(resize, arena, bytes, err);
}

bool resize_reached_target(const struct resize *resize, struct arena *arena) {
    const struct disk *disk = &resize->disk;
    int64_t capacity;

    return disk->source[0] &&
           image_capacity(arena, disk->source, disk->format, &capacity, NULL) == 0 &&
           capacity >= resize->volume->target_gb * GIB;
}
