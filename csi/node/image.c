#include "csi/node/image.h"

#include "common/async_call.h"
#include "common/log.h"
#include "common/md5.h"
#include "common/process.h"
#include "csi/node/mount.h"
#include "csi/node/volume_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MOUNT_MS        60000
#define LOCK_WAIT_MS    10000
#define SHARE_OPTIONS   "nosuid,nodev,noexec"
#define SHARE_NAME_SIZE MD5_HEX_SIZE

/* ---- the share ---- */

static const char *point_at(const struct node_places *places, struct arena *arena,
                            const char *name) {
    size_t length = strlen(places->share_directory);

    while (length > 1 && places->share_directory[length - 1] == '/')
        length--;
    return arena_format(arena, "%.*s/%s", (int)length, places->share_directory, name);
}

static const char *name_of(struct arena *arena, const char *share) {
    char *name = arena_alloc(arena, SHARE_NAME_SIZE);

    md5_hex(share, strlen(share), name);
    return name;
}

static bool is_share_name(const char *name) {
    return strlen(name) == SHARE_NAME_SIZE - 1 &&
           strspn(name, "0123456789abcdef") == SHARE_NAME_SIZE - 1;
}

static int run_mount(const struct node_places *places, struct arena *arena,
                     const struct node_image *image, const char *point, struct error *err) {
    const struct process_limits limits = { .timeout_ms = MOUNT_MS };
    const char *program = places->mount_program ? places->mount_program : "mount";
    const char *options =
        arena_format(arena, "%s%s%s", SHARE_OPTIONS, *image->options ? "," : "", image->options);
    const char *const arguments[] = {
        program, "-t", "nfs", "-o", options, image->share, point, NULL
    };
    struct process_result result;

    if (process_run(arena, arguments, &limits, &result, err) < 0)
        return error_context(err, "mounting %s", image->share);
    if (result.exit_status != 0)
        return error_set(err, ERROR_UNAVAILABLE, "mounting %s: %.*s", image->share,
                         (int)strcspn(result.errors, "\n"), result.errors);
    return 0;
}

/* ---- the image ---- */

static int open_beneath(int directory, const char *name, bool read_only, struct error *err) {
    const struct open_how how = {
        .flags = (read_only ? (uint64_t)O_RDONLY : (uint64_t)O_RDWR) | O_NONBLOCK | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
    };
    autoclose int fd = (int)syscall(SYS_openat2, directory, name, &how, sizeof(how));
    struct stat status;

    if (fd < 0)
        return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_BACKEND,
                           "opening the volume's image");
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return error_set(err, ERROR_PRECONDITION, "The volume's image is not a regular file.");
    return take_fd(fd);
}

static int open_shared(const struct node_places *places, struct arena *arena,
                       const struct node_image *image, bool read_only, int *ret_directory,
                       struct error *err) {
    const char *point = point_at(places, arena, name_of(arena, image->share));
    autopath struct kubelet_path path = PATH_NONE;
    autolock struct volume_lock lock = { 0 };
    struct kubelet_place place;

    /* another call on the share is waited for, but not for long: its server may be unresponsive */
    if (!volume_lock_wait(&lock, point, LOCK_WAIT_MS))
        return error_set(err, ERROR_CONFLICT, "Another call is using the volume's share.");
    /* The mount point of the share, mounted. */
    if (mkdir(places->share_directory, 0700) < 0 && errno != EEXIST)
        return error_errno(err, ERROR_BACKEND, "making %s", places->share_directory);
    if (kubelet_path_open(places->share_directory, point, &path, err) < 0 ||
        kubelet_path_make(&path, true, err) < 0 || kubelet_path_stat(&path, &place, err) < 0)
        return -1;
    if (!place.is_mount) {
        if (run_mount(places, arena, image, point, err) < 0 ||
            kubelet_path_stat(&path, &place, err) < 0)
            return -1;
        if (!place.is_mount)
            return error_set(err, ERROR_BACKEND,
                             "%s is not mounted although the mount program succeeded.",
                             image->share);
    }
    if (async_probe(point, err) < 0)
        return -1;
    *ret_directory = kubelet_path_descriptor(&path, err);
    return *ret_directory < 0 ? -1 : open_beneath(*ret_directory, image->name, read_only, err);
}

static int open_local(const struct node_places *places, const struct node_image *image,
                      bool read_only, int *ret_directory, struct error *err) {
    for (const char *const *root = places->local_directories; *root; root++) {
        autopath struct kubelet_path path = PATH_NONE;

        if (strncmp(*root, image->path, strlen(*root)) == 0 && async_probe(*root, err) < 0)
            return -1;
        if (kubelet_path_open(*root, image->path, &path, err) == 0) {
            *ret_directory = take_fd(path.parent);
            return open_beneath(*ret_directory, path.name, read_only, err);
        }
        if (err->kind != ERROR_BAD_REQUEST)
            return -1;
    }
    return error_set(err, ERROR_PRECONDITION,
                     "The volume's image is not in a configured local directory of this node.");
}

/* The file is the root of a mount; without a mount it is not the volume. */
static int open_mounted(int directory, const char *name, bool read_only, struct error *err) {
    const struct open_how how = {
        .flags = (read_only ? (uint64_t)O_RDONLY : (uint64_t)O_RDWR) | O_NONBLOCK | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };
    autoclose int fd = (int)syscall(SYS_openat2, directory, name, &how, sizeof(how));
    struct statfs system;
    struct stat status;

    if (fd < 0 || fstatfs(fd, &system) < 0 || fstat(fd, &status) < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "opening the volume's file");
    if (system.f_type != FUSE_SUPER_MAGIC || !S_ISREG(status.st_mode))
        return error_set(err, ERROR_UNAVAILABLE, "The volume is not served on this node yet.");
    return take_fd(fd);
}

int node_image_open(const struct node_places *places, struct arena *arena,
                    const struct node_image *image, bool read_only, int *ret_directory,
                    struct error *err) {
    *ret_directory = -1;
    if (image->target) {
        if (!places->target_directory)
            return error_set(err, ERROR_PRECONDITION, "This node has no storage agent.");
        if (async_probe(
                arena_join(arena, places->target_directory, "/", image->target, "/volume", NULL),
                err) < 0)
            return -1;
        *ret_directory = open(places->target_directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return *ret_directory < 0
                   ? error_errno(err, ERROR_UNAVAILABLE, "opening %s", places->target_directory)
                   : open_mounted(*ret_directory, arena_join(arena, image->target, "/volume", NULL),
                                  read_only, err);
    }
    return image->share ? open_shared(places, arena, image, read_only, ret_directory, err)
                        : open_local(places, image, read_only, ret_directory, err);
}

/* ---- release ---- */

/* A share with images in use cannot be unmounted: the kernel keeps count. */
static void leave(const struct node_places *places, struct arena *arena, const char *name,
                  int64_t wait_ms) {
    const char *point = point_at(places, arena, name);
    autolock struct volume_lock lock = { 0 };
    autopath struct kubelet_path share = PATH_NONE;
    struct error err;

    if (!volume_lock_wait(&lock, point, wait_ms) ||
        kubelet_path_open(places->share_directory, point, &share, &err) < 0)
        return;
    if (mount_remove(&share, &err) == 0 || err.kind == ERROR_NOT_FOUND)
        kubelet_path_remove(&share, &err);
    else if (err.kind != ERROR_PRECONDITION)
        log_warning(NULL, "share cannot be unmounted", "point", point, "reason", err.message, NULL);
}

void node_image_release_unused(const struct node_places *places, struct arena *arena) {
    autodirectory DIR *shares = opendir(places->share_directory);
    const struct dirent *entry;

    while (shares && (entry = readdir(shares)))
        if (is_share_name(entry->d_name))
            leave(places, arena, entry->d_name, 0);
}

/* The kernel may report the directory under another name than the configured one: the share's own
 * name is enough.  The path of a container that is gone lacks even that, and all shares are
 * checked. */
void node_image_release(const struct node_places *places, struct arena *arena, const char *path) {
    const char *end = strrchr(path, '/');
    const char *begin = end ? memrchr(path, '/', (size_t)(end - path)) : NULL;
    const char *name = begin ? arena_text_n(arena, begin + 1, (size_t)(end - begin - 1)) : "";

    if (is_share_name(name))
        leave(places, arena, name, LOCK_WAIT_MS);
    else
        node_image_release_unused(places, arena);
}

void node_image_release_share(const struct node_places *places, struct arena *arena,
                              const struct node_image *image) {
    if (image->share)
        leave(places, arena, name_of(arena, image->share), LOCK_WAIT_MS);
}
