#include "drivers/file/directory.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/no_space.h"
#include "common/same_file.h"
#include "drivers/file/unlink.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static int flush_above(const char *path) {
    autofree char *copy = strdup(path);
    autoclose int above = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return above < 0 ? -1 : fsync(above);
}

/* The name of the new directory is on disk before its first use. */
static int make_one(const char *path, mode_t mode, struct error *err) {
    if (mkdir(path, mode) < 0)
        return errno == EEXIST ? 0
                               : error_errno(err, ERROR_BACKEND, "making the directory %s", path);
    if (flush_above(path) == 0)
        return 0;
    error_errno(err, ERROR_BACKEND, "flushing the directory above %s", path);
    rmdir(path); /* so that the next attempt makes it again, and flushes */
    return -1;
}

int directory_make(const char *path, mode_t mode, struct error *err) {
    autofree char *part = strdup(path);

    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (make_one(part, mode, err) < 0)
            return -1;
        *slash = '/';
    }
    return make_one(part, mode, err);
}

static int open_path(const char *path, struct error *err) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return error_errno(err, ERROR_BACKEND, "opening the directory %s", path);
    return fd;
}

/* Of a file without a name, where supported: it leaves nothing. */
static bool punches_holes(int fd) {
    autoclose int file = openat(fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    return file < 0 || fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0 ||
           errno != EOPNOTSUPP;
}

unsigned directory_features(const struct directory *directory, unsigned features) {
    return directory->locks_trusted && directory->punches_holes
               ? features
               : features & ~(unsigned)DRIVER_RECLAIM;
}

int directory_open(const char *path, const struct directory_settings *settings,
                   struct directory *ret, struct error *err) {
    int fd;

    if (path[0] != '/')
        return error_set(err, ERROR_BAD_REQUEST, "The directory %s is not an absolute path.", path);
    fd = open_path(path, err);
    if (fd < 0)
        return -1;
    *ret = (struct directory){ .fd = fd,
                               .path = path,
                               .settings = settings,
                               .locks_trusted = true,
                               .punches_holes = punches_holes(fd) };
    return 0;
}

int directory_reopen(const struct directory *directory, struct error *err) {
    autoclose int fd = open_path(directory->path, err);

    assert(directory->fd >= 0);
    if (fd < 0)
        return -1;
    if (dup3(fd, directory->fd, O_CLOEXEC) < 0)
        return error_errno(err, ERROR_BACKEND, "reopening the directory %s", directory->path);
    return 0;
}

const char *directory_path(const struct directory *directory, struct arena *arena,
                           const char *name) {
    assert(*name && !strchr(name, '/'));
    return arena_format(arena, "%s/%s", directory->path, name);
}

/* Not every file system has renames that replace nothing; a hard link does not replace either. */
static int link_and_unlink(int fd, const char *from, const char *to) {
    autoclose int file = openat(fd, from, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int other;

    assert(strcmp(from, to) != 0); /* or its only name is removed */
    if (file < 0 || linkat(fd, from, fd, to, 0) < 0)
        return -1;
    other = unlink_same(fd, from, file);
    if (other > 0)
        errno = EBUSY;
    return other ? -1 : 0;
}

/* The new name is taken: by the same file, when an earlier call was interrupted after the link.  1:
 * by another one. */
static int leave_name(int fd, const char *from, const char *to) {
    autoclose int file = openat(fd, from, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat own, other;

    assert(strcmp(from, to) != 0); /* or the file loses its only name */
    if (file < 0 || fstat(file, &own) < 0 || fstatat(fd, to, &other, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    return is_same_file(&own, &other) ? unlink_same(fd, from, file) : 1;
}

static int rename_failed(const char *doing, const char *to, struct error *err) {
    return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_BACKEND, "%s %s", doing, to);
}

int directory_rename(const struct directory *directory, const char *from, const char *to,
                     struct error *err) {
    int taken = -1;

    assert(directory->fd >= 0 && *from && *to && !strchr(from, '/') && !strchr(to, '/'));
    if (renameat2(directory->fd, from, directory->fd, to, RENAME_NOREPLACE) == 0)
        return 0;
    if ((errno == EINVAL || errno == ENOSYS) && link_and_unlink(directory->fd, from, to) == 0)
        return 0;
    if (errno == EEXIST)
        taken = leave_name(directory->fd, from, to);
    return taken < 0 ? rename_failed("naming", to, err) : taken;
}

static int link_unnamed(const struct directory *directory, int fd, const char *to) {
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, directory->fd, to, AT_SYMLINK_FOLLOW);
}

int directory_open_unnamed(const struct directory *directory) {
    return openat(directory->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

/* The name "." is refused once the file was found. */
bool directory_links_unnamed(const struct directory *directory) {
    autoclose int file = directory_open_unnamed(directory);

    return file >= 0 && link_unnamed(directory, file, ".") < 0 && errno == EEXIST;
}

int directory_link(const struct directory *directory, int fd, const char *to, struct error *err) {
    assert(directory->fd >= 0 && fd >= 0 && *to && !strchr(to, '/'));
    if (link_unnamed(directory, fd, to) == 0)
        return 0;
    return errno == EEXIST ? 1 : rename_failed("naming", to, err);
}

int directory_take(const struct directory *directory, const char *from, const char *to,
                   struct error *err) {
    return renameat(directory->fd, from, directory->fd, to) == 0 ? 0
                                                                 : rename_failed("naming", to, err);
}

int directory_replace(const struct directory *directory, const char *from, const char *to,
                      struct error *err) {
    struct stat status;

    assert(directory->fd >= 0 && from[0] == '.' && !strchr(from, '/')); /* a draft */
    assert(*to && to[0] != '.' && !strchr(to, '/'));
    /* If the worker is late, the other name is gone: then nothing happens. */
    if (renameat2(directory->fd, from, directory->fd, to, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return rename_failed("replacing", to, err);
    /* Not every file system has that flag (NFS). */
    if (fstatat(directory->fd, to, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
        renameat(directory->fd, from, directory->fd, to) < 0)
        return rename_failed("replacing", to, err);
    return 1;
}

int directory_flush(const struct directory *directory, struct error *err) {
    int result =
        directory->flush ? shared_flush(directory->flush, directory->fd) : fsync(directory->fd);

    if (result < 0)
        return error_errno(err, ERROR_BACKEND, "flushing the directory %s", directory->path);
    return 0;
}

int directory_check_place(const struct directory *directory, struct error *err) {
    struct stat opened, named;

    if (stat(directory->path, &named) < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "The directory %s", directory->path);
    if (fstat(directory->fd, &opened) < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "The directory that was opened as %s",
                           directory->path);
    if (is_same_file(&opened, &named))
        return 0;
    return error_set(err, ERROR_UNAVAILABLE,
                     "%s is another directory than at the start: a mount has come, gone or covers "
                     "it. Mount it as it was, or restart the service where the new one is right.",
                     directory->path);
}

/* ext4 that has stopped grants write access, but refuses a flush.  Another descriptor: one of a
 * later flush must see its own write errors. */
static bool refuses_writes(int directory) {
    autoclose int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 && ((faccessat(fd, ".", W_OK, AT_EACCESS) < 0 && errno == EROFS) ||
                       (fsync(fd) < 0 && errno == EROFS));
}

int directory_check_writable(const struct directory *directory, struct error *err) {
    if (!refuses_writes(directory->fd))
        return 0;
    return error_set(
        err, ERROR_UNAVAILABLE,
        "The file system of %s is read-only, or has stopped after an error: repair it, "
        "then mount it again and restart the service.",
        directory->path);
}

int directory_get_space(const struct directory *directory, double *ret_total_gb,
                        double *ret_free_gb, struct error *err) {
    struct statvfs room;

    if (fstatvfs(directory->fd, &room) < 0)
        return error_errno(err, ERROR_BACKEND, "querying the free space of %s", directory->path);
    *ret_total_gb = (double)room.f_blocks * (double)room.f_frsize / (double)GIB;
    *ret_free_gb = (double)room.f_bavail * (double)room.f_frsize / (double)GIB;
    return 0;
}

int directory_check_space(const struct directory *directory, int64_t bytes, struct error *err) {
    const struct directory_settings *settings = directory->settings;
    double wanted_gb = (double)bytes / (double)GIB;
    double total_gb, free_gb;

    assert(bytes >= 0);
    if (directory_get_space(directory, &total_gb, &free_gb, err) < 0)
        return -1;
    free_gb -= total_gb * (double)settings->reserved_percent / 100;
    if (settings->sparse || settings->qcow2)
        free_gb *= settings->over_subscription;
    if (wanted_gb > free_gb)
        return error_set(err, ERROR_BACKEND, "%s has no space for %.1f GB more (%.1f GB are free).",
                         directory->path, wanted_gb, free_gb > 0 ? free_gb : 0.0);
    return 0;
}

int directory_result(const struct directory *directory, int result, struct error *err) {
    const char *path;

    if (result >= 0 || !error_is_no_space(err))
        return result;
    /* that of a descriptor, which qemu-img has, is no place */
    path = strchr(err->message, '/');
    if (!path || strncmp(path, "/proc/", 6) == 0)
        error_context(err, "%s", directory->path);
    return result;
}
