#include "drivers/file/directory.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "drivers/file/image.h"
#include "drivers/file/volume_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* For the last look before a file grows, when only [DEFAULT] has a ratio: the scheduler obeys that.
 */
#define USUAL_OVER_SUBSCRIPTION 20.0

void directory_settings_load(const struct driver_backend *backend, struct directory_settings *ret) {
    const struct config *config = backend->config;
    bool given = config_given(config, backend->name, "max_over_subscription_ratio");

    *ret = (struct directory_settings){
        .qemu_img = { config_text(config, backend->name, "qemu_img_program"),
                      config_int(config, backend->name, "qemu_img_timeout") },
        .over_subscription_given = given,
        .over_subscription =
            given ? config_float(config, backend->name, "max_over_subscription_ratio")
                  : USUAL_OVER_SUBSCRIPTION,
        .reserved_percent = config_int(config, backend->name, "reserved_percentage"),
        .sparse = true,
        .mode = 0600,
    };
}

json_t *directory_capabilities(const struct directory_settings *settings, unsigned features) {
    bool thin = settings->sparse || settings->qcow2;
    /* QEMU refuses to share a qcow2 image between guests. */
    bool multiattach = (features & DRIVER_MULTIATTACH) && !settings->qcow2;
    json_t *report =
        json_pack("{s:b, s:b, s:b, s:b, s:I}", "online_extend_support", 1, "multiattach",
                  multiattach, "thin_provisioning_support", thin, "thick_provisioning_support",
                  !thin, "reserved_percentage", (json_int_t)settings->reserved_percent);

    if (settings->over_subscription_given)
        json_object_set_new(report, "max_over_subscription_ratio",
                            json_real(settings->over_subscription));
    return report;
}

static int flush_above(const char *path) {
    autofree char *copy = strdup(path);
    autoclose int above = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return above < 0 ? -1 : fsync(above);
}

/* The name of the new one is on disk before anything is kept in it. */
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

int directory_open(const char *path, const struct directory_settings *settings,
                   struct directory *ret, struct error *err) {
    int fd;

    if (path[0] != '/')
        return error_set(err, ERROR_BAD_REQUEST, "The directory %s is not an absolute path.", path);
    fd = open_path(path, err);
    if (fd < 0)
        return -1;
    *ret =
        (struct directory){ .fd = fd, .path = path, .settings = settings, .locks_trusted = true };
    return 0;
}

int directory_reopen(const struct directory *directory, struct error *err) {
    autoclose int fd = open_path(directory->path, err);

    if (fd < 0)
        return -1;
    if (dup3(fd, directory->fd, O_CLOEXEC) < 0)
        return error_errno(err, ERROR_BACKEND, "opening the directory %s anew", directory->path);
    return 0;
}

int directory_rename(const struct directory *directory, const char *from, const char *to,
                     struct error *err) {
    if (renameat2(directory->fd, from, directory->fd, to, RENAME_NOREPLACE) == 0)
        return 0;
    /* Not every file system has that flag; a hard link does not replace either. */
    if ((errno == EINVAL || errno == ENOSYS) &&
        linkat(directory->fd, from, directory->fd, to, 0) == 0 &&
        unlinkat(directory->fd, from, 0) == 0)
        return 0;
    if (errno == EEXIST)
        return 1;
    return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_BACKEND, "naming %s", to);
}

int directory_flush(const struct directory *directory, struct error *err) {
    if (fsync(directory->fd) < 0)
        return error_errno(err, ERROR_BACKEND, "flushing the directory %s", directory->path);
    return 0;
}

int directory_get_room(const struct directory *directory, double *ret_total_gb, double *ret_free_gb,
                       struct error *err) {
    struct statvfs room;

    if (fstatvfs(directory->fd, &room) < 0)
        return error_errno(err, ERROR_BACKEND, "asking for the room of %s", directory->path);
    *ret_total_gb = (double)room.f_blocks * (double)room.f_frsize / (double)GIB;
    *ret_free_gb = (double)room.f_bavail * (double)room.f_frsize / (double)GIB;
    return 0;
}

int directory_check_room(const struct directory *directory, int64_t bytes, struct error *err) {
    const struct directory_settings *settings = directory->settings;
    double wanted_gb = (double)bytes / (double)GIB;
    double total_gb, free_gb;

    if (directory_get_room(directory, &total_gb, &free_gb, err) < 0)
        return -1;
    free_gb -= total_gb * (double)settings->reserved_percent / 100;
    if (settings->sparse || settings->qcow2)
        free_gb *= settings->over_subscription;
    if (wanted_gb > free_gb)
        return error_set(err, ERROR_BACKEND, "%s has no room for %.1f GB more (%.1f GB are left).",
                         directory->path, wanted_gb, free_gb > 0 ? free_gb : 0.0);
    return 0;
}

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

int directory_list(const struct directory *directory,
                   void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                   struct error *err) {
    const size_t prefix = strlen(VOLUME_FILE_PREFIX);
    /* Opened anew: a position of its own, so that lists may run side by side. */
    autoclose int fd = openat(directory->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream __attribute__((cleanup(cleanup_closedir))) = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (!stream)
        return error_errno(err, ERROR_BACKEND, "listing %s", directory->path);
    fd = -1; /* the stream's from now on */
    while ((errno = 0, entry = readdir(stream))) {
        if (strncmp(entry->d_name, VOLUME_FILE_PREFIX, prefix) == 0 &&
            volume_file_id_fits(entry->d_name + prefix))
            found(arg, entry->d_name + prefix, listed_size(directory->fd, entry->d_name));
    }
    if (errno)
        return error_errno(err, ERROR_BACKEND, "listing %s", directory->path);
    return 0;
}

/* ---- the right directory ---- */

static const char *marker_name(struct arena *arena, const struct driver_backend *backend) {
    char *name = arena_format(arena, ".scoria-%s", backend->name);

    for (char *at = name; *at; at++)
        if (*at == '/')
            *at = '_';
    return name;
}

static int marker_write(const struct directory *directory, const char *name, struct error *err) {
    autoclose int fd =
        openat(directory->fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0 || fsync(fd) < 0)
        return error_errno(err, ERROR_BACKEND, "writing %s in %s", name, directory->path);
    return directory_flush(directory, err);
}

struct own_volumes {
    const struct driver_backend *backend;
    bool found;
    bool unanswered; /* nobody could tell of one of them at least */
};

static void look_own(void *arg, const char *name_id, int64_t bytes) {
    struct own_volumes *own = arg;
    int known = own->found ? 1 : own->backend->knows(own->backend, NULL, name_id);

    (void)bytes;
    own->found = known > 0;
    own->unanswered |= known < 0;
}

static int refuse_claim(const struct directory *directory, const char *marker, bool unanswered,
                        struct error *err) {
    if (unanswered)
        return error_set(err, ERROR_UNAVAILABLE,
                         "%s has no file %s, and the database does not answer whether the volumes "
                         "in it are this backend's.",
                         directory->path, marker);
    return error_set(err, ERROR_UNAVAILABLE,
                     "%s has none of the volumes that are recorded there: is it mounted? If "
                     "they are gone for good, make a file %s in it.",
                     directory->path, marker);
}

int directory_claim(const struct directory *directory, const struct driver_backend *backend,
                    const char *location, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *marker = marker_name(arena, backend);
    struct own_volumes own = { .backend = backend };
    struct error unwritten = { .kind = ERROR_NONE };
    struct stat status;
    int known;

    if (!backend->knows)
        return 0;
    if (fstatat(directory->fd, marker, &status, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    if (errno != ENOENT)
        return error_errno(err, ERROR_BACKEND, "looking for %s in %s", marker, directory->path);
    known = backend->knows(backend, location, NULL);
    own.unanswered = known < 0;
    if (known != 0 && directory_list(directory, look_own, &own, err) < 0)
        return -1;
    if (known != 0 && !own.found)
        return refuse_claim(directory, marker, own.unanswered, err);
    if (marker_write(directory, marker, &unwritten) == 0)
        return 0;
    /* It is full, or only read for now; its volumes say as well as the marker where we are. */
    if (!own.found)
        return error_set(err, unwritten.kind, "%s", unwritten.message);
    log_warning(NULL, "directory takes no marker yet", "directory", directory->path, "reason",
                unwritten.message, NULL);
    return 0;
}
