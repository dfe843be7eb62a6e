#include "drivers/file/volume_file.h"

#include "common/cleanup.h"
#include "drivers/file/image.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool volume_file_id_fits(const char *name_id) {
    size_t length =
        strspn(name_id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

    return length > 0 && length <= 64 && name_id[length] == '\0';
}

static const char *file_name(struct arena *arena, const struct driver_volume *volume,
                             struct error *err) {
    if (volume_file_id_fits(volume->name_id))
        return arena_format(arena, VOLUME_FILE_PREFIX "%s", volume->name_id);
    error_set(err, ERROR_BAD_REQUEST, "The id \"%.64s\" cannot stand in a file's name.",
              volume->name_id);
    return NULL;
}

/* Each worker that ever took up the create has a file of its own: one that was paused must not
 * write into another's.  Names come again only after so many takeovers. */
enum { UNFINISHED_NAMES = 16 };

static const char *unfinished_name(struct arena *arena, const char *name, unsigned attempt) {
    unsigned number = attempt % UNFINISHED_NAMES;

    return number > 1 ? arena_format(arena, ".%s.%u.new", name, number)
                      : arena_format(arena, ".%s.new", name);
}

static int remove_name(const struct directory *directory, const char *name, struct error *err) {
    if (unlinkat(directory->fd, name, 0) < 0 && errno != ENOENT)
        return error_errno(err, ERROR_BACKEND, "removing %s from %s", name, directory->path);
    return 0;
}

static int remove_unfinished(const struct directory *directory, struct arena *arena,
                             const char *name, struct error *err) {
    for (unsigned attempt = 1; attempt < UNFINISHED_NAMES; attempt++)
        if (remove_name(directory, unfinished_name(arena, name, attempt), err) < 0)
            return -1;
    return 0;
}

static const char *full_path(const struct directory *directory, struct arena *arena,
                             const char *name) {
    return arena_format(arena, "%s/%s", directory->path, name);
}

static int64_t bytes_of(int64_t size_gb) {
    assert(size_gb > 0 && size_gb <= INT64_MAX / GIB);
    return size_gb * GIB;
}

int volume_file_exists(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, struct error *err) {
    const char *name = file_name(arena, volume, err);
    struct stat status;

    if (!name)
        return -1;
    if (fstatat(directory->fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0)
        return 1;
    if (errno == ENOENT)
        return 0;
    return error_errno(err, ERROR_BACKEND, "looking for %s in %s", name, directory->path);
}

/* ---- create ---- */

static const char *new_format(const struct directory *directory) {
    return directory->settings->qcow2 ? "qcow2" : "raw";
}

/* One without a length was left by a crash: it is filled, never removed, because a worker that
 * wakes up late would remove what another one has filled. */
static int fill_empty(const struct directory *directory, const struct driver_volume *volume, int fd,
                      int64_t bytes, struct image_facts *facts, struct error *err) {
    const struct directory_settings *settings = directory->settings;

    if (driver_fence_check(volume->fence, err) < 0)
        return -1;
    if (fchmod(fd, settings->mode) < 0)
        return error_errno(err, ERROR_BACKEND, "setting the permissions");
    if (image_grow_raw(fd, bytes, settings->sparse, volume->fence, err) < 0)
        return -1;
    return image_read_flushed(fd, "raw", facts, err);
}

/* A file that an earlier call with the same arguments made, or another worker: 1 it is whole, 0
 * there is none. */
static int accept_existing(const struct directory *directory, const struct driver_volume *volume,
                           const char *name, int64_t bytes, struct error *err) {
    const char *format = new_format(directory);
    struct error missing = { .kind = ERROR_NONE };
    autoclose int fd = image_open(directory->fd, name, O_RDWR, &missing);
    struct image_facts facts;

    if (fd < 0 && missing.kind == ERROR_NOT_FOUND)
        return 0;
    if (fd < 0)
        return error_set(err, missing.kind, "%s", missing.message);
    if (image_read_flushed(fd, format, &facts, err) < 0)
        return error_context(err, "%s exists already", name);
    if (facts.virtual_bytes == 0 && strcmp(format, "raw") == 0 &&
        fill_empty(directory, volume, fd, bytes, &facts, err) < 0)
        return error_context(err, "%s exists already, empty", name);
    if (facts.virtual_bytes != bytes)
        return error_set(err, ERROR_BACKEND, "%s exists already with %jd instead of %jd bytes.",
                         name, (intmax_t)facts.virtual_bytes, (intmax_t)bytes);
    return 1;
}

static int open_new(const struct directory *directory, const char *name, struct error *err) {
    mode_t mode = directory->settings->mode;
    autoclose int fd = image_open(directory->fd, name, O_RDWR | O_CREAT | O_EXCL, err);

    if (fd < 0)
        return -1;
    if (mode != 0600 && fchmod(fd, mode) < 0)
        return error_errno(err, ERROR_BACKEND, "setting the permissions of %s", name);
    return take_fd(fd);
}

static int fill_qcow2(const struct directory *directory, struct arena *arena, int fd,
                      const char *name, int64_t bytes, struct error *err) {
    struct image_facts facts;

    if (qemu_img_create(arena, &directory->settings->qemu_img, full_path(directory, arena, name),
                        bytes, err) < 0 ||
        image_read_flushed(fd, "qcow2", &facts, err) < 0)
        return -1;
    if (facts.virtual_bytes != bytes)
        return error_set(err, ERROR_BACKEND, "qemu-img create made %jd instead of %jd bytes.",
                         (intmax_t)facts.virtual_bytes, (intmax_t)bytes);
    return 0;
}

/* Nobody else knows the file until it has its name: filling it needs no fence. */
static int fill_and_publish(const struct directory *directory, struct arena *arena,
                            const struct driver_volume *volume, const char *name, int64_t bytes,
                            struct error *err) {
    const struct directory_settings *settings = directory->settings;
    const char *unfinished = unfinished_name(arena, name, volume->attempt);
    autoclose int fd = open_new(directory, unfinished, err);

    if (fd < 0 || (settings->qcow2 ? fill_qcow2(directory, arena, fd, unfinished, bytes, err)
                                   : image_grow_raw(fd, bytes, settings->sparse, NULL, err)) < 0)
        return -1;
    if (driver_fence_check(volume->fence, err) < 0)
        return -1;
    return directory_rename(directory, unfinished, name, err);
}

/* Whatever stops it, and whoever has taken the work over: what is half-made goes again.  A pause
 * right in front of the name can still give it to what nobody wants any more: the fence says so
 * behind it, and the caller takes the file away if the volume is gone. */
static int make(const struct directory *directory, struct arena *arena,
                const struct driver_volume *volume, const char *name, int64_t bytes,
                struct error *err) {
    const char *unfinished = unfinished_name(arena, name, volume->attempt);
    int result;

    if (directory_check_room(directory, bytes, err) < 0 ||
        driver_fence_check(volume->fence, err) < 0 || remove_name(directory, unfinished, err) < 0)
        return -1;
    result = fill_and_publish(directory, arena, volume, name, bytes, err);
    if (result != 0)
        unlinkat(directory->fd, unfinished, 0);
    if (result > 0) /* another worker was quicker */
        result = accept_existing(directory, volume, name, bytes, err) < 0 ? -1 : 0;
    return driver_fence_check(volume->fence, err) < 0 ? -1 : result;
}

int volume_file_create(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, const char **ret_format,
                       struct error *err) {
    const struct directory_settings *settings = directory->settings;
    const char *name = file_name(arena, volume, err);
    int64_t bytes = bytes_of(volume->size_gb);
    int existing;

    if (!name)
        return -1;
    if (volume->encrypted)
        return error_set(err, ERROR_BAD_REQUEST, "This backend makes no encrypted volumes.");
    if (volume->multiattach && settings->qcow2)
        return error_set(err, ERROR_BAD_REQUEST, "A qcow2 volume cannot be shared by instances.");
    existing = accept_existing(directory, volume, name, bytes, err);
    if (existing < 0)
        return -1;
    if (!existing && make(directory, arena, volume, name, bytes, err) < 0)
        return -1;
    if (volume->attempt > 1 && remove_unfinished(directory, arena, name, err) < 0)
        return -1;
    if (directory_flush(directory, err) < 0)
        return -1;
    *ret_format = new_format(directory);
    return 0;
}

/* A disk that a running guest has open is never taken away, whatever the rows say: they may be
 * somebody's mistake.  What was deleted by an earlier call is used by nobody. */
static int check_unused(const struct directory *directory, const char *name, struct error *err) {
    struct error missing = { .kind = ERROR_NONE };
    autoclose int fd = image_open(directory->fd, name, O_RDONLY, &missing);

    if (fd < 0 && missing.kind == ERROR_NOT_FOUND)
        return 0;
    if (fd < 0)
        return error_set(err, missing.kind, "%s", missing.message);
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

int volume_file_delete(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, struct error *err) {
    const char *name = file_name(arena, volume, err);

    if (!name)
        return -1;
    if (check_unused(directory, name, err) < 0 || driver_fence_check(volume->fence, err) < 0 ||
        remove_name(directory, name, err) < 0)
        return -1;
    /* Only a create that never ended leaves half-made ones, and then nothing says how many. */
    if ((volume->provider_location ? remove_name(directory, unfinished_name(arena, name, 1), err)
                                   : remove_unfinished(directory, arena, name, err)) < 0)
        return -1;
    return directory_flush(directory, err);
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
    return remove_name(directory, from, err);
}

int volume_file_rename(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, const char *new_name_id,
                       struct error *err) {
    const struct driver_volume renamed = { .name_id = new_name_id };
    const char *from = file_name(arena, volume, err);
    const char *to = from ? file_name(arena, &renamed, err) : NULL;
    struct error why = { .kind = ERROR_NONE };
    int taken;

    if (!to || driver_fence_check(volume->fence, err) < 0 ||
        remove_name(directory, unfinished_name(arena, from, 1), err) < 0)
        return -1;
    taken = directory_rename(directory, from, to, &why);
    if (taken < 0 && why.kind != ERROR_NOT_FOUND)
        return error_set(err, why.kind, "%s", why.message);
    if (taken > 0 && leave_name(directory, from, to, err) < 0)
        return -1;
    return directory_flush(directory, err);
}

/* ---- what exists ---- */

/* Opens the volume's file and reads its facts by the recorded format, after refusing a record that
 * cannot be true (D12). */
static int open_volume(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, int flags, struct image_facts *ret_facts,
                       struct error *err) {
    const char *name = file_name(arena, volume, err);
    autoclose int fd = name ? image_open(directory->fd, name, flags, err) : -1;
    bool raw;

    if (fd < 0)
        return -1;
    if (!image_format_known(volume->format))
        return error_set(err, ERROR_BACKEND, "Volume %s is recorded with the format %s.",
                         volume->id, volume->format ? volume->format : "(none)");
    raw = strcmp(volume->format, "raw") == 0;
    /* The content of an encrypted volume is not the guest's to choose, so here the look is safe. */
    if (raw && volume->encrypted && image_looks_qcow2(fd))
        return error_set(err, ERROR_BACKEND, "%s is recorded as raw but is qcow2.", name);
    if (raw && volume->encrypted && image_looks_luks(fd)) {
        if (qemu_img_info(arena, &directory->settings->qemu_img, full_path(directory, arena, name),
                          "luks", ret_facts, err) < 0)
            return -1;
    } else if (image_read_facts(fd, volume->format, ret_facts, err) < 0) {
        return error_context(err, "%s", name);
    }
    return take_fd(fd);
}

/* What the facts say is on the disk from now on. */
static int flush_volume(int fd, const struct driver_volume *volume, struct image_facts *facts,
                        struct error *err) {
    int result = volume->encrypted ? image_flush(fd, err)
                                   : image_read_flushed(fd, volume->format, facts, err);

    return result < 0 ? error_context(err, "volume %s", volume->id) : 0;
}

static int refuse_foreign_parts(const struct driver_volume *volume, const struct image_facts *facts,
                                struct error *err) {
    if (facts->external_data)
        return error_set(err, ERROR_BACKEND, "Volume %s keeps its data in another file.",
                         volume->id);
    if (facts->backing[0])
        return error_set(err, ERROR_BACKEND,
                         "Volume %s has an image below it that nobody recorded.", volume->id);
    return 0;
}

int volume_file_get_size(const struct directory *directory, struct arena *arena,
                         const struct driver_volume *volume, int64_t *ret_bytes,
                         struct error *err) {
    struct image_facts facts;
    autoclose int fd = open_volume(directory, arena, volume, O_RDONLY, &facts, err);

    if (fd < 0 || flush_volume(fd, volume, &facts, err) < 0)
        return -1;
    *ret_bytes = facts.virtual_bytes;
    return 0;
}

int volume_file_connect(const struct directory *directory, struct arena *arena,
                        const struct driver_volume *volume, const char **ret_name,
                        struct error *err) {
    struct image_facts facts;
    autoclose int fd = open_volume(directory, arena, volume, O_RDONLY, &facts, err);

    if (fd < 0 || refuse_foreign_parts(volume, &facts, err) < 0)
        return -1;
    *ret_name = file_name(arena, volume, err);
    return 0;
}

/* ---- extend ---- */

static enum driver_outcome grow_raw(const struct directory *directory,
                                    const struct driver_volume *volume, int fd, int64_t bytes,
                                    struct error *err) {
    switch (image_lock(fd, err)) {
    case IMAGE_HELD:
        return DRIVER_DEFERRED;
    case IMAGE_LOCKED:
        return image_grow_raw(fd, bytes, directory->settings->sparse, volume->fence, err) < 0
                   ? DRIVER_FAILED
                   : DRIVER_DONE;
    case IMAGE_LOCK_FAILED:
        break;
    }
    return DRIVER_FAILED;
}

static int check_grown(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, int64_t bytes, struct error *err) {
    int64_t real = 0;

    if (volume_file_get_size(directory, arena, volume, &real, err) < 0)
        return error_context(err, "reading the size back");
    if (real < bytes)
        return error_set(err, ERROR_BACKEND,
                         "The image of volume %s still has %jd bytes after the resize to %jd.",
                         volume->id, (intmax_t)real, (intmax_t)bytes);
    return 0;
}

static enum driver_outcome grow(const struct directory *directory, struct arena *arena,
                                const struct driver_volume *volume, int fd, int64_t bytes,
                                struct error *err) {
    const char *name = file_name(arena, volume, err);
    enum driver_outcome outcome =
        strcmp(volume->format, "raw") == 0
            ? grow_raw(directory, volume, fd, bytes, err)
            : qemu_img_resize(arena, &directory->settings->qemu_img,
                              full_path(directory, arena, name), volume->format, bytes, err);

    if (outcome != DRIVER_DONE)
        return outcome;
    return check_grown(directory, arena, volume, bytes, err) < 0 ? DRIVER_FAILED : DRIVER_DONE;
}

/* Must the compute side grow it, whatever a lock would say? */
static bool is_beyond_us(const struct directory *directory, const struct driver_volume *volume) {
    bool shared_raw = volume->multiattach && strcmp(volume->format, "raw") == 0;

    if (volume->encrypted)
        return true;
    /* A raw file that several guests share grows below them without harm (D10); anything else needs
     * a lock that tells the truth (D6). */
    return volume->attached && !directory->locks_trusted && !shared_raw;
}

enum driver_outcome volume_file_extend(const struct directory *directory, struct arena *arena,
                                       const struct driver_volume *volume, int64_t new_gb,
                                       struct error *err) {
    int64_t bytes = bytes_of(new_gb);
    struct image_facts facts;
    autoclose int fd = open_volume(directory, arena, volume, O_RDWR, &facts, err);

    if (fd < 0 || refuse_foreign_parts(volume, &facts, err) < 0)
        return DRIVER_FAILED;
    /* Somebody else made it so, a guest or a worker that died: perhaps in memory only. */
    if (facts.virtual_bytes >= bytes && flush_volume(fd, volume, &facts, err) < 0)
        return DRIVER_FAILED;
    if (facts.virtual_bytes >= bytes)
        return DRIVER_DONE;
    if (directory_check_room(directory, bytes - facts.virtual_bytes, err) < 0)
        return DRIVER_FAILED;
    if (facts.encrypted && !volume->encrypted)
        return error_set(err, ERROR_BACKEND, "Volume %s is encrypted but not recorded so.",
                         volume->id);
    if (volume->encrypted && !volume->attached)
        return error_set(err, ERROR_BACKEND,
                         "Volume %s is encrypted: it can grow only while attached.", volume->id);
    if (is_beyond_us(directory, volume))
        return DRIVER_DEFERRED;
    if (driver_fence_check(volume->fence, err) < 0)
        return DRIVER_FAILED;
    return grow(directory, arena, volume, fd, bytes, err);
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

int volume_file_list(const struct directory *directory,
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
