/*
 * The active image of a volume and its format: the only place that knows it.  It is the file of the
 * volume's name, in the recorded format, unless the volume has overlays (chain.h).
 */
#pragma once

#include "common/assert.h"
#include "drivers/file/chain.h"

struct volume_image {
    const char *name; /* of the file in its directory */
    const char *format;
    struct image_facts facts;
    struct chain chain;
};

static inline int64_t volume_image_bytes(int64_t size_gb) {
    assert(size_gb > 0 && size_gb <= INT64_MAX / GIB);
    return size_gb * GIB;
}

/* A descriptor, with the facts of the header; a false record is refused (D12).  -1 with
 * ERROR_NOT_FOUND when there is no file. */
int volume_image_open(const struct directory *directory, struct arena *arena,
                      const struct driver_volume *volume, int flags, struct volume_image *ret,
                      struct error *err);
enum volume_lock { VOLUME_SHARED, VOLUME_ALONE, VOLUME_TO_GROW, VOLUME_TO_DELETE };
/* chain_lock(), chain_lock_to_grow() or chain_lock_to_delete() of a volume. */
int volume_image_lock(const struct directory *directory, struct arena *arena,
                      const struct driver_volume *volume, enum volume_lock how,
                      const struct driver_fence *fence, int *ret_lock, struct error *err);
/* Makes the facts durable. */
int volume_image_flush(int fd, const struct driver_volume *volume, struct volume_image *image,
                       struct error *err);
/* Refuses an image with a backing file that the service did not make. */
int volume_image_check_own(const struct directory *directory, struct arena *arena,
                           const struct driver_volume *volume, const struct volume_image *image,
                           struct error *err);
