#include "drivers/file/volume_file.h"

#include "common/cleanup.h"
#include "drivers/file/volume_name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

int volume_file_exists(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, struct error *err) {
    const char *name = volume_name(arena, volume->name_id, err);
    struct stat status;

    if (!name)
        return -1;
    if (fstatat(directory->fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0)
        return 1;
    if (errno == ENOENT)
        return 0;
    return error_errno(err, ERROR_BACKEND, "looking for %s in %s", name, directory->path);
}

/* ---- delete ---- */

/* A disk that a running guest has open is never taken away, whatever the rows say: they may be
 * somebody's mistake.  What was deleted by an earlier call is used by nobody. */
static int check_unused(const struct directory *directory, const char *name, struct error *err) {
    autoclose int fd = -1;
    int found = image_find(directory->fd, name, O_RDONLY, &fd, err);

    if (found <= 0)
        return found;
    switch (image_lock_look(fd, err)) {
    case IMAGE_LOCKED:
        return 0;
    case IMAGE_HELD:
        return error_set(err, ERROR_BACKEND, "%s is open in a running guest.", name);
    case IMAGE_LOCK_FAILED:
        break;
    }
    return error_context(err, "%s", name);
}

int volume_file_remove(const struct directory *directory, struct arena *arena, const char *name,
                       bool made, const struct driver_fence *fence, struct error *err) {
    if (check_unused(directory, name, err) < 0 || driver_fence_check(fence, err) < 0 ||
        volume_name_remove(directory, name, err) < 0)
        return -1;
    /* Only a create that never ended leaves half-made ones, and then nothing says how many. */
    if ((made ? volume_name_remove(directory, volume_name_unfinished(arena, name, 1), err)
              : volume_name_remove_unfinished(directory, arena, name, err)) < 0)
        return -1;
    return directory_flush(directory, err);
}

int volume_file_delete(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, struct error *err) {
    const char *name = volume_name(arena, volume->name_id, err);

    if (!name)
        return -1;
    return volume_file_remove(directory, arena, name, volume->provider_location != NULL,
                              volume->fence, err);
}

/* ---- rename ---- */

/* The new name is taken: by the same file, when a worker of before came half way with a link. */
static int leave_name(const struct directory *directory, const char *from, const char *to,
                      struct error *err) {
    struct stat one, other;

    if (fstatat(directory->fd, from, &one, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT
                   ? 0
                   : error_errno(err, ERROR_BACKEND, "looking for %s in %s", from, directory->path);
    if (fstatat(directory->fd, to, &other, AT_SYMLINK_NOFOLLOW) < 0)
        return error_errno(err, ERROR_BACKEND, "looking for %s in %s", to, directory->path);
    if (one.st_dev != other.st_dev || one.st_ino != other.st_ino)
        return error_set(err, ERROR_BACKEND, "%s cannot become %s, which exists already.", from,
                         to);
    return volume_name_remove(directory, from, err);
}

int volume_file_rename(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, const char *new_name_id,
                       struct error *err) {
    const char *from = volume_name(arena, volume->name_id, err);
    const char *to = from ? volume_name(arena, new_name_id, err) : NULL;
    struct error why = { .kind = ERROR_NONE };
    int taken;

    /* Each worker of a revert has a name of its own: what it left is under that alone. */
    if (!to || driver_fence_check(volume->fence, err) < 0 ||
        volume_name_remove_unfinished(directory, arena, from, err) < 0)
        return -1;
    taken = directory_rename(directory, from, to, &why);
    if (taken < 0 && why.kind != ERROR_NOT_FOUND)
        return error_pass(err, &why);
    if (taken > 0 && leave_name(directory, from, to, err) < 0)
        return -1;
    return directory_flush(directory, err);
}

/* ---- what exists ---- */

int volume_file_get_size(const struct directory *directory, struct arena *arena,
                         const struct driver_volume *volume, int64_t *ret_bytes,
                         struct error *err) {
    struct volume_image image;
    autoclose int fd = volume_image_open(directory, arena, volume, O_RDONLY, &image, err);

    if (fd < 0 || volume_image_flush(fd, volume, &image, err) < 0)
        return -1;
    *ret_bytes = image.facts.virtual_bytes;
    return 0;
}

int volume_file_connect(const struct directory *directory, struct arena *arena,
                        const struct driver_volume *volume, struct volume_image *ret,
                        struct error *err) {
    struct volume_image image;
    autoclose int fd = volume_image_open(directory, arena, volume, O_RDONLY, &image, err);

    if (fd < 0 || volume_image_check_own(volume, &image, err) < 0)
        return -1;
    *ret = image;
    return 0;
}

/* ---- list ---- */

/* A raw volume may hold any header, so a file that looks like qcow2 has no size without its record.
 */
static int64_t listed_size(int directory_fd, const char *name) {
    autoclose int fd = image_open(directory_fd, name, O_RDONLY, NULL);
    struct image_facts facts;

    if (fd < 0 || image_looks_qcow2(fd) || image_read_facts(fd, "raw", &facts, NULL) < 0)
        return -1;
    return facts.virtual_bytes;
}

static void cleanup_closedir(DIR *const *stream) {
    if (*stream)
        closedir(*stream);
}

int volume_file_list_named(const struct directory *directory, const char *begins,
                           void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                           struct error *err) {
    const size_t prefix = strlen(begins);
    /* Opened anew: a position of its own, so that lists may run side by side. */
    autoclose int fd = openat(directory->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream __attribute__((cleanup(cleanup_closedir))) = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (!stream)
        return error_errno(err, ERROR_BACKEND, "listing %s", directory->path);
    fd = -1; /* the stream's from now on */
    while ((errno = 0, entry = readdir(stream))) {
        if (strncmp(entry->d_name, begins, prefix) == 0 && volume_name_fits(entry->d_name + prefix))
            found(arg, entry->d_name + prefix, listed_size(directory->fd, entry->d_name));
    }
    if (errno)
        return error_errno(err, ERROR_BACKEND, "listing %s", directory->path);
    return 0;
}

int volume_file_list(const struct directory *directory,
                     void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                     struct error *err) {
    return volume_file_list_named(directory, VOLUME_NAME_PREFIX, found, arg, err);
}
