/*
 * One look at the chain of images below a disk, and one try to change it as it was asked for: an
 * overlay goes on top, or one image's content into its neighbour and the image out of the chain.
 *
 * The chain says whether it has been done, whoever did it and however often it is asked for.  A
 * try builds on what was looked at: when another image is on top meanwhile, the hypervisor refuses
 * it.  `err` is never NULL here.
 */
#pragma once

#include "compute/hypervisor.h"

#define OVERLAY_NAME_SIZE 81 /* volume-<id>.<id> and the end */

/* Names of files, checked: all of one volume.  "" is none. */
struct overlay_change {
    bool remove;
    char new_file[OVERLAY_NAME_SIZE]; /* goes on top, is there */
    /* With a target: this goes into that, the next below.  Without: the one on top takes what is
     * between it and this one. */
    char file_to_merge[OVERLAY_NAME_SIZE], merge_target[OVERLAY_NAME_SIZE];
};

/* Is it volume-<id>, or volume-<id>.<id>? */
bool overlay_name_fits(const char *name);
/* Are they files of one volume? */
bool overlay_names_agree(const char *one, const char *other);

enum overlay_outcome {
    OVERLAY_FAILED,      /* cannot be done; err says why */
    OVERLAY_DONE,        /* the chain is as it should be */
    OVERLAY_READY,       /* it can be begun */
    OVERLAY_RUNS,        /* a job runs on the disk */
    OVERLAY_MOVES,       /* the guest is being moved */
    OVERLAY_APART,       /* another one that it is to be done with is not ready; err says why */
    OVERLAY_BUSY,        /* not now; err says why */
    OVERLAY_GONE,        /* no domain of this host has the disk */
    OVERLAY_UNREACHABLE, /* the hypervisor does not answer; what was asked of it may happen */
};

struct overlay {
    struct hypervisor *hypervisor;
    const char *volume_id;
    const char *instance_uuid; /* NULL: whichever has the disk */
    const struct overlay_change *change;
    struct disk disk; /* as last seen */
    /* What a look has found that it takes. */
    const char *path;       /* of the new file */
    const char *top, *base; /* as merge_disk() wants them */
};

enum overlay_outcome overlay_look(struct overlay *overlay, struct arena *arena, struct error *err);

/* After a look that found it ready: READY again when it has begun (of a snapshot: is done), and has
 * to be looked at.  Whatever else comes may have taken effect.  Several are overlays that go on top
 * of disks of one guest, at one moment or not at all. */
enum overlay_outcome overlay_begin(struct overlay *const *overlays, unsigned count,
                                   struct arena *arena, struct error *err);
