/*
 * What the steps of a node have in common: labels of devices, and whose device is at a path.
 */
#pragma once

#include "csi/node/kubelet_path.h"
#include "csi/node/label.h"
#include "csi/node/loop.h"
#include "csi/node/mount_flags.h"
#include "csi/node/node.h"
#include "csi/node/turn.h"

/* Can it be a volume of ours?  ERROR_NOT_FOUND. */
int node_check_id(const char *volume_id, struct error *err);
bool node_reads_only(int mode);
bool node_is_shared(int mode);

/* A capability that a volume can have here; *ret_flags of a mount, *ret_label of its device. */
int node_check_capability(const char *volume_id, const struct node_capability *capability,
                          struct mount_flags *ret_flags, char ret_label[LOOP_LABEL_SIZE],
                          struct error *err);
bool node_owns(const char *label, const char *volume_id);

/* ERROR_CONFLICT: somebody works on the volume. */
int node_take_turn(struct turn *turn, const char *volume_id, struct error *err);
/* The same for what can wait: it looks, by turn_is_wanted(), whether somebody comes who cannot. */
int node_take_idle_turn(struct turn *turn, const char *volume_id, struct error *err);
/* One of those; so many workers may wait for servers that are silent.  The names are of no
 * volume. */
#define NODE_SEATS 4
bool node_take_seat(struct turn *turn, const char *const seats[NODE_SEATS]);

/* The place of a staged volume: the directory, or the file of the device in it. */
int node_open_staging(const struct node *node, const char *path, bool block,
                      struct kubelet_path *ret, struct error *err);

/* The device that is mounted or shown at the place: 1 it is the volume's, 0 nothing is mounted
 * there, or a device that is nobody's any more; -1 with ERROR_PRECONDITION: it is something
 * else. */
int node_device_at(const struct kubelet_place *place, const char *volume_id, struct loop *ret,
                   struct error *err);
/* The same by a path that may be deeper; ERROR_NOT_FOUND when it is not the volume's,
 * ERROR_UNAVAILABLE when the device cannot be asked.
 * *ret_place: what it is. */
int node_find(const struct node *node, const char *volume_id, const char *path,
              struct kubelet_path *ret_path, struct kubelet_place *ret_place, struct loop *ret,
              struct error *err);
/* Is a device that is dead (loop.h) mounted or shown there? */
bool node_is_dead(const struct kubelet_place *place);
/* Was the device there made for the volume, as far as this node remembers?  Its file is not asked.
 */
bool node_owned(const struct kubelet_place *place, const char *volume_id);
/* Takes away every mount of the volume at the place. */
int node_unmount(const struct kubelet_path *path, const char *volume_id, struct error *err);

/* The file system of a volume, and where it is staged. */
struct node_filesystem {
    const char *volume_id, *staging_path;
    const struct kubelet_path *path; /* the same */
    const struct loop *loop;
    const struct node_capability *capability;
    const struct mount_flags *flags; /* as it is to be: read_only counts the device's, too */
};

/* Makes or checks it, and mounts it. 0, or MOUNT_UNCLEAN (mount.h): node_replay() first. */
int node_mount(struct arena *arena, const struct node_filesystem *of, struct error *err);
/* One that is mounted and has errors is checked and mounted anew while no pod has it.  -1 with
 * ERROR_PRECONDITION: it takes no writes any more and is in use. */
int node_renew(const struct node *node, struct arena *arena, const struct node_filesystem *of,
               struct error *err);
/* Replays the journal in an image that no device has. */
int node_replay(const struct node *node, struct arena *arena, const char *volume_id,
                const struct node_image *image, const char *label, struct error *err);
