/*
 * The handle of this family; fixed once it is open, except for the shares' own state.
 */
#pragma once

#include "drivers/file/mounted_share.h"

#include <pthread.h>

struct remotefs_kind;

struct remotefs {
    struct arena *arena; /* holds this struct and its strings */
    const struct remotefs_kind *kind;
    struct mounter mounter;
    const char *base; /* without symbolic links */
    const char *pool;
    pthread_mutex_t mounting; /* held by the one thread that mounts */
    struct mounted_share *shares;
    int count;
};

/* The usable share with this `address`; else NULL and `err`. */
struct mounted_share *remotefs_use_share(const struct remotefs *remotefs, const char *address,
                                         struct error *err);
/* The directory of a created volume, or NULL and `err`. */
const struct directory *remotefs_volume_directory(const struct remotefs *remotefs,
                                                  const struct driver_volume *volume,
                                                  struct error *err);
