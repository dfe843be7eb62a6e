/*
 * One share of a backend: mounted, opened, and repaired when its server or client process died.
 *
 * Only one thread at a time attaches a share (the caller ensures this); others may use it once it
 * is ready, also during a repair.  Shares of several backends may have one mount point.
 */
#pragma once

#include "drivers/file/directory.h"
#include "drivers/file/mount.h"
#include "drivers/file/shares.h"

#include <stdatomic.h>

/* The way in which shares of one kind are mounted. */
struct mount_method {
    int (*mount)(const struct driver_backend *backend, struct arena *arena,
                 const struct mount_programs *programs, const struct share *share,
                 const char *point, struct error *err);
    /* Is the mounted file system the expected one?  NULL: any is. */
    int (*check)(const struct mount_entry *entry, struct error *err);
};

/* The mount settings of a backend; fixed once it is open. */
struct mounter {
    const struct mount_method *method;
    struct driver_backend backend;
    struct directory_settings settings;
    struct mount_programs programs;
};

struct mounted_share {
    struct share share;
    const char *point;
    struct directory directory; /* fixed once `ready` is set, but for that of a new mount */
    atomic_bool ready;          /* volumes on it can be used */
    bool opened;                /* `directory` is; only for the thread that attaches */
    bool mounted_here;          /* by us, not found mounted; only for the thread that attaches */
};

/* Mounts and opens it, unless it works already.  An existing mount is used as it is, but a dead one
 * is replaced. */
int mounted_share_attach(const struct mounter *mounter, struct arena *arena,
                         struct mounted_share *share, struct error *err);

/* Closes it, and with `unmount` unmounts a share mounted here; a busy mount stays. */
void mounted_share_detach(const struct mounter *mounter, struct arena *arena,
                          struct mounted_share *share, bool unmount);

static inline bool mounted_share_ready(const struct mounted_share *share) {
    return atomic_load(&share->ready);
}
