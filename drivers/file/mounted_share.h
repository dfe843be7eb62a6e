/*
 * One share of a backend: mounted, opened, and repaired when its server or client process died.
 *
 * Only one thread at a time attaches a share (the caller sees to it); others may use it as soon as
 * it is ready, also while it is repaired.  Shares of several backends may be at one place.
 */
#pragma once

#include "drivers/file/directory.h"
#include "drivers/file/mount.h"
#include "drivers/file/shares.h"

#include <stdatomic.h>

/* How shares of one kind are mounted. */
struct mount_method {
    int (*mount)(const struct driver_backend *backend, struct arena *arena,
                 const struct mount_programs *programs, const struct share *share,
                 const char *point, struct error *err);
    /* Is what is mounted there the right thing?  NULL: anything is. */
    int (*check)(const struct mount_entry *entry, struct error *err);
};

/* How a backend mounts; fixed once it is open. */
struct mounter {
    const struct mount_method *method;
    struct driver_backend backend;
    struct directory_settings settings;
    struct mount_programs programs;
};

struct mounted_share {
    struct share share;
    const char *point;
    struct directory directory; /* fixed once `ready` is set */
    atomic_bool ready;          /* volumes on it can be used */
    bool opened;                /* `directory` is; only for the thread that attaches */
    bool mounted_here;          /* by us, not found mounted; only for the thread that attaches */
};

/* Mounts and opens it, unless it works already.  What is mounted there is used as it is, but a
 * mount that is dead is replaced. */
int mounted_share_attach(const struct mounter *mounter, struct arena *arena,
                         struct mounted_share *share, struct error *err);

/* Closes it, and unmounts what was mounted here when `unmount`; a busy mount stays. */
void mounted_share_detach(const struct mounter *mounter, struct arena *arena,
                          struct mounted_share *share, bool unmount);

static inline bool mounted_share_ready(const struct mounted_share *share) {
    return atomic_load(&share->ready);
}
