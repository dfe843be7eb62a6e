/*
 * Which of a volume's files is the image that its guests use, and in which format: nothing else
 * knows.  It is the file of the volume's name, in the recorded format, unless the volume has
 * overlays (chain.h).
 */
#pragma once

#include "drivers/file/chain.h"

#include <assert.h>

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

/* A descriptor, with the facts as the format has them; a record that cannot be true is refused
 * (D12).  -1 with ERROR_NOT_FOUND when there is no file. */
int volume_image_open(const struct directory *directory, struct arena *arena,
                      const struct driver_volume *volume, int flags, struct volume_image *ret,
                      struct error *err);
/* chain_lock() of a volume's. */
int volume_image_lock(const struct directory *directory, struct arena *arena,
                      const struct driver_volume *volume, bool alone,
                      const struct driver_fence *fence, int *ret_lock, struct error *err);
/* What the facts say is on the disk from now on. */
int volume_image_flush(int fd, const struct driver_volume *volume, struct volume_image *image,
                       struct error *err);
/* Refuses one that reads from files which the service did not make. */
int volume_image_check_own(const struct directory *directory, struct arena *arena,
                           const struct driver_volume *volume, const struct volume_image *image,
                           struct error *err);
