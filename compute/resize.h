/*
 * One try to bring the volume's disk on this host to its new size.  Success always means that the
 * capacity was read back and is large enough (A7); nothing is ever made smaller (X25).  `err` is
 * never NULL here.
 */
#pragma once

#include "client/volumes.h"
#include "compute/hypervisor.h"

enum resize_outcome {
    RESIZE_FAILED,      /* final; err says why */
    RESIZE_DONE,        /* the disk has the size */
    RESIZE_NOT_OURS,    /* another host has the disk: it acts, we are silent (A9, X21) */
    RESIZE_BUSY,        /* not now: a block job, a move, a lock; err says which */
    RESIZE_UNREACHABLE, /* the hypervisor does not answer; what was asked of it may happen */
};

struct resize {
    struct hypervisor *hypervisor;
    const char *host;          /* ours */
    const char *instance_uuid; /* NULL: whichever has the disk */
    const struct remote_volume *volume;
    struct disk disk; /* as last seen; source "" when it never was */
};

/* The volume is extending: to its target (R50, A3). */
enum resize_outcome resize_to_target(struct resize *resize, struct arena *arena, struct error *err);

/* Any other status: the size field says how large the guest shall see it (R53, A2, X26).  A guest
 * that is off needs nothing: it sees the image's size when it starts. */
enum resize_outcome resize_to_size(struct resize *resize, struct arena *arena, struct error *err);

/* Nobody answers any more: the image itself says whether the target was reached (A10). */
bool resize_reached_target(const struct resize *resize, struct arena *arena);
