/*
 * Common parts of the node's operations: labels of devices, and the device at a path.
 */
#pragma once

#include "common/image_lock.h"
#include "common/loop.h"
#include "csi/node/kubelet_path.h"
#include "csi/node/label.h"
#include "csi/node/mount_flags.h"
#include "csi/node/node.h"
#include "csi/node/volume_lock.h"

/* Is it a possible id of a volume?  ERROR_NOT_FOUND. */
int node_check_id(const char *volume_id, struct error *err);
bool node_reads_only(int mode);
bool node_is_shared(int mode);

/* A supported capability; *ret_flags of a mount, *ret_label of its device. */
int node_check_capability(const char *volume_id, const struct node_capability *capability,
                          struct mount_flags *ret_flags, char ret_label[LOOP_LABEL_SIZE],
                          struct error *err);
bool node_owns(const char *label, const char *volume_id);

/* ERROR_CONFLICT: another call holds the volume. */
int node_lock_volume(struct volume_lock *lock, const char *volume_id, struct error *err);
/* The same for a call that can wait: it checks by volume_lock_is_requested() whether another call
 * needs the volume. */
int node_lock_idle_volume(struct volume_lock *lock, const char *volume_id, struct error *err);
/* Takes a slot; so many workers may wait for unresponsive servers.  The names are not those of
 * volumes. */
#define NODE_SLOTS 4
bool node_take_slot(struct volume_lock *lock, const char *const slots[NODE_SLOTS]);

/* image_lock_still(), or image_lock_writer() (common/image_lock.h): the locks of a loop device stay
 * for a moment after it is detached, so held ones are tried again for one second. */
enum image_hold node_lock_image(int file, bool read_only, bool alone, struct error *err);

/* node_stage() by a caller that holds the volume's lock. */
int node_stage_locked(const struct node *node, struct arena *arena, const struct node_stage *stage,
                      struct error *err);

/* The path of a staged volume: the directory, or the file of the device in it. */
int node_open_staging(const struct node *node, const char *path, bool block,
                      struct kubelet_path *ret, struct error *err);

/* The device that is mounted or bound at the place: 1: it is the volume's; 0: no mount, or an
 * unused device; -1 with ERROR_PRECONDITION: it is another one. */
int node_device_at(const struct kubelet_place *place, const char *volume_id, struct loop *ret,
                   struct error *err);
/* The same by any path; ERROR_NOT_FOUND when it is not the volume's, ERROR_UNAVAILABLE when the
 * device does not respond.  *ret_place: its state. */
int node_find(const struct node *node, const char *volume_id, const char *path,
              struct kubelet_path *ret_path, struct kubelet_place *ret_place, struct loop *ret,
              struct error *err);
/* A descriptor (O_PATH) of the file system or device node there, which may have been replaced since
 * the device was found.  ERROR_NOT_FOUND: it is not this device. */
int node_open_device(const struct kubelet_path *path, unsigned number, struct error *err);
/* Is a stale device (loop.h) mounted or bound there? */
bool node_is_stale(const struct kubelet_place *place);
/* Is the device there recorded as the volume's?  Its file is not queried. */
bool node_owned(const struct kubelet_place *place, const char *volume_id);
/* Removes every mount of the volume at the place. */
int node_unmount(const struct kubelet_path *path, const char *volume_id, struct error *err);

/* The file system of a volume, and its staging path. */
struct node_filesystem {
    const char *volume_id, *staging_path;
    const struct kubelet_path *path; /* the same, resolved */
    const struct loop *loop;
    const struct node_capability *capability;
    const struct mount_flags *flags; /* as requested; read_only includes the device's */
    bool replaces;                   /* a mount there is removed once this one is complete */
};

/* Creates or checks it, and mounts it.  0, or MOUNT_UNCLEAN (mount.h): node_replay() first. */
int node_mount(struct arena *arena, const struct node_filesystem *of, struct error *err);
/* A mounted file system with errors is checked and remounted while no pod uses it. -1 with
 * ERROR_PRECONDITION: it refuses writes and is in use. */
int node_remount(const struct node *node, struct arena *arena, const struct node_filesystem *of,
                 struct error *err);
/* Replays the journal in an image that has no device. */
int node_replay(const struct node *node, struct arena *arena, const char *volume_id,
                const struct node_image *image, const char *label, struct error *err);
