/*
 * One attempt to grow the volume's disk on this host to its new size.  Success always means that
 * the capacity was read back and is large enough (A7); nothing is ever made smaller (X25). `err` is
 * never NULL here.
 */
#pragma once

#include "client/volumes.h"
#include "compute/hypervisor/hypervisor.h"

enum resize_outcome {
    RESIZE_FAILED,      /* final; err has the reason */
    RESIZE_DONE,        /* the disk has the size */
    RESIZE_NOT_OURS,    /* another host has the disk and resizes it; this one sends no report (A9,
                         * X21) */
    RESIZE_BUSY,        /* temporarily impossible: a block job, a migration, a lock; err has the
                         * reason */
    RESIZE_UNREACHABLE, /* the hypervisor does not respond; the call may take effect later */
};

struct resize {
    struct hypervisor *hypervisor;
    const char *host;          /* of this agent */
    const char *instance_uuid; /* NULL: any that has the disk */
    const struct remote_volume *volume;
    struct disk disk; /* last known state; source "" when it was never found */
};

/* The volume is extending: grow to its target (R50, A3). */
enum resize_outcome resize_to_target(struct resize *resize, struct arena *arena, struct error *err);

/* Any other status: the size field defines the size that the guest sees (R53, A2, X26).  A guest
 * that is off needs no change: it reads the image's size when it starts. */
enum resize_outcome resize_to_size(struct resize *resize, struct arena *arena, struct error *err);

/* The hypervisor is lost: the image itself shows whether the target was reached (A10). */
bool resize_reached_target(const struct resize *resize, struct arena *arena);
