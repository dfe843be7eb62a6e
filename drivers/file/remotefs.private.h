/*
 * The handle of this family; fixed once it is open, except for the shares' own state.
 */
#pragma once

#include "drivers/file/file_store.h"
#include "drivers/file/mounted_share.h"

#include <pthread.h>

struct remotefs_kind;

struct remotefs {
    struct file_store store;
    struct arena *arena; /* holds this struct and its strings */
    const struct remotefs_kind *kind;
    struct mounter mounter;
    const char *base; /* without symbolic links */
    const char *pool;
    pthread_mutex_t mounting;     /* held by the one thread that mounts */
    struct mounted_share *shares; /* one for each directory of the store */
};
