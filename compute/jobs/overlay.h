/*
 * One check of the chain of images below a disk, and one attempt to apply the requested change: a
 * new overlay on top, or a merge of one image into its neighbour, which removes it from the chain.
 *
 * The chain shows whether the change is done, whatever made it and however often it is requested.
 * An attempt depends on the checked chain: when another image is on top meanwhile, the hypervisor
 * refuses it. `err` is never NULL here.
 */
#pragma once

#include "compute/hypervisor/hypervisor.h"

#define OVERLAY_NAME_SIZE 81 /* volume-<id>.<id> and the terminator */

/* Validated names of files of one volume.  "" is none. */
struct overlay_change {
    bool remove;
    char new_file[OVERLAY_NAME_SIZE]; /* the new overlay, which exists */
    /* With a target: the file is merged into the target, the next below.  Without: the images
     * between the active image and this one are merged into the active image. */
    char file_to_merge[OVERLAY_NAME_SIZE], merge_target[OVERLAY_NAME_SIZE];
};

/* Is it volume-<id>, or volume-<id>.<id>? */
bool overlay_name_fits(const char *name);
/* Are they files of one volume? */
bool overlay_names_agree(const char *one, const char *other);

enum overlay_outcome {
    OVERLAY_FAILED,         /* impossible; err has the reason */
    OVERLAY_DONE,           /* the chain is as requested */
    OVERLAY_READY,          /* the change can be started */
    OVERLAY_RUNS,           /* a block job runs on the disk */
    OVERLAY_MOVES,          /* the guest is being migrated */
    OVERLAY_SET_INCOMPLETE, /* another snapshot of the set is not ready; err has the reason */
    OVERLAY_BUSY,           /* temporarily impossible; err has the reason */
    OVERLAY_GONE,           /* no domain of this host has the disk */
    OVERLAY_UNREACHABLE,    /* the hypervisor does not respond; the call may take effect later */
};

struct overlay {
    struct hypervisor *hypervisor;
    const char *volume_id;
    const char *instance_uuid; /* NULL: any that has the disk */
    const struct overlay_change *change;
    struct disk disk; /* last known state */
    /* Results of the check: */
    const char *path;       /* of the new file */
    const char *top, *base; /* arguments of merge_disk() */
};

enum overlay_outcome overlay_check(struct overlay *overlay, struct arena *arena, struct error *err);

/* After a check with the result READY.  READY: it has started (a snapshot: completed) and has to be
 * checked; any other outcome may have taken effect.  Several overlays of disks of one guest are
 * added atomically. */
enum overlay_outcome overlay_begin(struct overlay *const *overlays, unsigned count,
                                   struct arena *arena, struct error *err);
