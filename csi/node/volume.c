#include "csi/node/volume.private.h"

#include "common/md5.h"
#include "csi/node/filesystem.h"
#include "csi/node/mount.h"
#include "csi/node/mount_table.h"

#include <linux/major.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#define ID_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
#define LONGEST_ID    47 /* with the prefix it fits into a label */
#define LONGEST_FLAGS 4096
#define LOCK_TRIES    100
#define LOCK_PAUSE_MS 10

int node_check_id(const char *volume_id, struct error *err) {
    if (strlen(volume_id) > LONGEST_ID || volume_id[strspn(volume_id, ID_CHARACTERS)])
        return error_set(err, ERROR_NOT_FOUND, "There is no such volume.");
    return 0;
}

bool node_reads_only(int mode) {
    return mode == NODE_SINGLE_READER_ONLY || mode == NODE_MULTI_READER_ONLY;
}

bool node_is_shared(int mode) {
    return mode >= NODE_MULTI_READER_ONLY && mode <= NODE_MULTI_MULTI_WRITER;
}

enum image_hold node_lock_image(int file, bool read_only, bool alone, struct error *err) {
    enum image_hold hold = IMAGE_HELD;

    for (int i = 0; hold == IMAGE_HELD && i < LOCK_TRIES; i++) {
        if (i > 0)
            poll(NULL, 0, LOCK_PAUSE_MS);
        hold = read_only ? image_lock_still(file, err) : image_lock_writer(file, alone, err);
    }
    return hold;
}

static int check_mount(const struct node_capability *capability, const char **ret_type,
                       struct mount_flags *ret, struct error *err) {
    size_t size = 0;

    *ret_type = filesystem_known(capability->type);
    if (!*ret_type)
        return error_set(err, ERROR_BAD_REQUEST, "fs_type is neither ext4 nor xfs.");
    if (node_is_shared(capability->mode) && !node_reads_only(capability->mode))
        return error_set(err, ERROR_PRECONDITION,
                         "%s is not writable on more than one node; a block volume is.", *ret_type);
    for (size_t i = 0; i < capability->flag_count; i++)
        size += strlen(capability->flags[i]) + 1;
    if (size > LONGEST_FLAGS)
        return error_set(err, ERROR_BAD_REQUEST, "The mount flags are longer than %d bytes.",
                         LONGEST_FLAGS);
    return mount_flags_parse(*capability->type ? *ret_type : NULL, capability->flags,
                             capability->flag_count, ret, err);
}

/* A volume staged without a type has the present one; its label is that of the default type. */
int node_check_capability(const char *volume_id, const struct node_capability *capability,
                          struct mount_flags *ret_flags, char ret_label[LOOP_LABEL_SIZE],
                          struct error *err) {
    const char *type = "block";
    char hex[MD5_HEX_SIZE];
    char text[LONGEST_FLAGS + 256];
    size_t size;

    *ret_flags = (struct mount_flags){ 0 };
    if (capability->mode < NODE_SINGLE_WRITER_NODE || capability->mode > NODE_SINGLE_MULTI_WRITER)
        return error_set(err, ERROR_BAD_REQUEST, "The access mode is unknown.");
    if (!capability->block && check_mount(capability, &type, ret_flags, err) < 0)
        return -1;
    /* Capabilities with the same digest are equal. */
    size = (size_t)snprintf(text, sizeof(text), "%d %s", capability->mode, type);
    for (size_t i = 0; i < capability->flag_count && size < sizeof(text); i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, " %s", capability->flags[i]);
    md5_hex(text, size < sizeof(text) ? size : sizeof(text), hex);
    snprintf(ret_label, LOOP_LABEL_SIZE, NODE_LABEL "%.8s:%.*s", hex, LONGEST_ID, volume_id);
    return 0;
}

bool node_owns(const char *label, const char *volume_id) {
    return *volume_id && strcmp(label_volume(label), volume_id) == 0;
}

static int lock_result(bool taken, struct error *err) {
    return taken ? 0 : error_set(err, ERROR_CONFLICT, "Another call is using the volume.");
}

int node_lock_volume(struct volume_lock *lock, const char *volume_id, struct error *err) {
    return lock_result(volume_lock_request(lock, volume_id), err);
}

int node_lock_idle_volume(struct volume_lock *lock, const char *volume_id, struct error *err) {
    return lock_result(volume_lock_try(lock, volume_id), err);
}

bool node_take_slot(struct volume_lock *lock, const char *const slots[NODE_SLOTS]) {
    for (size_t i = 0; i < NODE_SLOTS; i++)
        if (volume_lock_try(lock, slots[i]))
            return true;
    return false;
}

int node_open_staging(const struct node *node, const char *path, bool block,
                      struct kubelet_path *ret, struct error *err) {
    autopath struct kubelet_path directory = PATH_NONE;

    if (!block)
        return kubelet_path_open(node->root, path, ret, err);
    if (kubelet_path_open(node->root, path, &directory, err) < 0)
        return -1;
    return kubelet_path_below(&directory, NODE_DEVICE, ret, err);
}

/* The number of the device at the place. */
static bool number_at(const struct kubelet_place *place, unsigned *ret) {
    return place->exists && loop_is(place->device, ret);
}

bool node_is_stale(const struct kubelet_place *place) {
    unsigned number;

    return place->is_mount && number_at(place, &number) && loop_is_stale(number);
}

bool node_owned(const struct kubelet_place *place, const char *volume_id) {
    char label[LOOP_LABEL_SIZE];
    unsigned number;

    return number_at(place, &number) && loop_recall(number, label) && node_owns(label, volume_id);
}

int node_device_at(const struct kubelet_place *place, const char *volume_id, struct loop *ret,
                   struct error *err) {
    unsigned number;
    int found;

    if (!place->is_mount)
        return 0;
    if (!number_at(place, &number))
        return error_set(err, ERROR_PRECONDITION, "Something else is mounted there.");
    found = loop_open(number, ret, err);
    if (found < 0 && loop_is_stale(number))
        return 0;
    if (found <= 0 || node_owns(ret->label, volume_id))
        return found;
    close(ret->fd);
    ret->fd = -1;
    /* A number that was free may have been reused: a bound device node is then no longer the
     * volume's, but a mounted file system still belongs to its own device. */
    return S_ISBLK(place->mode)
               ? 0
               : error_set(err, ERROR_PRECONDITION, "Another volume is mounted there.");
}

int node_find(const struct node *node, const char *volume_id, const char *path,
              struct kubelet_path *ret_path, struct kubelet_place *ret_place, struct loop *ret,
              struct error *err) {
    unsigned number;
    int found = 0;

    if (kubelet_path_open(node->root, path, ret_path, err) == 0 &&
        kubelet_path_stat(ret_path, ret_place, err) == 0 && number_at(ret_place, &number))
        found = loop_open(number, ret, err);
    if (found < 0 && err->kind == ERROR_UNAVAILABLE)
        return -1;
    return found > 0 && node_owns(ret->label, volume_id)
               ? 0
               : error_set(err, ERROR_NOT_FOUND, "The volume is not at that path.");
}

int node_open_device(const struct kubelet_path *path, unsigned number, struct error *err) {
    autoclose int fd = kubelet_path_descriptor(path, err);
    struct mount_table_entry entry;
    struct stat status;

    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0)
        entry.device = S_ISBLK(status.st_mode) ? status.st_rdev : status.st_dev;
    else if (mount_table_find(fd, &entry, err) < 0) /* it does not respond */
        return -1;
    return entry.device == makedev(LOOP_MAJOR, number)
               ? take_fd(fd)
               : error_set(err, ERROR_NOT_FOUND, "The volume is not at that path.");
}

int node_unmount(const struct kubelet_path *path, const char *volume_id, struct error *err) {
    struct kubelet_place place;

    for (;;) {
        autoloop struct loop loop = LOOP_NONE;
        bool stale;

        if (kubelet_path_stat(path, &place, err) < 0 ||
            node_device_at(&place, volume_id, &loop, err) < 0)
            return -1;
        if (!place.is_mount)
            return 0;
        stale = S_ISBLK(place.mode) && node_is_stale(&place);
        if (mount_remove(path, err) < 0)
            return -1;
        if (stale) /* a persistent one is not detached automatically */
            loop_detach_stale(minor(place.device));
    }
}
