/*
 * What a handle of this family holds; fixed once it is open, but for the shares' own state.
 */
#pragma once

#include "drivers/file/mounted_share.h"

#include <pthread.h>

struct remotefs_kind;

struct remotefs {
    struct arena *arena; /* holds this struct and what it points to */
    const struct remotefs_kind *kind;
    struct mounter mounter;
    const char *base; /* without symbolic links */
    const char *pool;
    pthread_mutex_t mounting; /* held by the one thread that mounts */
    struct mounted_share *shares;
    int count;
};

/* The share named by `address`, when it can be used; else NULL and `err`. */
struct mounted_share *remotefs_use_share(const struct remotefs *remotefs, const char *address,
                                         struct error *err);
/* The directory of a volume that was made, or NULL and `err`. */
const struct directory *remotefs_volume_directory(const struct remotefs *remotefs,
                                                  const struct driver_volume *volume,
                                                  struct error *err);
