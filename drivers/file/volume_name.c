#include "drivers/file/volume_name.h"

#include "common/cleanup.h"
#include "drivers/file/image.h"
#include "drivers/file/unlink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool volume_name_fits(const char *name_id) {
    size_t length =
        strspn(name_id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

    return length > 0 && length <= 64 && name_id[length] == '\0';
}

static const char *name(struct arena *arena, const char *prefix, const char *name_id,
                        struct error *err) {
    if (volume_name_fits(name_id))
        return arena_format(arena, "%s%s", prefix, name_id);
    error_set(err, ERROR_BAD_REQUEST, "The id \"%.64s\" cannot stand in a file's name.", name_id);
    return NULL;
}

bool volume_name_is_nobodys(const char *name) {
    return strncmp(name, UNMANAGED_NAME_PREFIX, strlen(UNMANAGED_NAME_PREFIX)) == 0;
}

const char *volume_name(struct arena *arena, const char *name_id, struct error *err) {
    return name(arena, VOLUME_NAME_PREFIX, name_id, err);
}

const char *snapshot_name(struct arena *arena, const char *name_id, struct error *err) {
    return name(arena, SNAPSHOT_NAME_PREFIX, name_id, err);
}

int volume_name_each(const struct directory *directory, const char *begins,
                     void (*each)(void *arg, const char *rest), void *arg, struct error *err) {
    const size_t prefix = strlen(begins);
    /* A new descriptor has a position of its own, so that lists may run side by side. */
    autoclose int fd = openat(directory->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    autodirectory DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (!stream)
        return error_errno(err, ERROR_BACKEND, "listing %s", directory->path);
    fd = -1; /* owned by the stream from now on */
    while ((errno = 0, entry = readdir(stream))) {
        if (strncmp(entry->d_name, begins, prefix) == 0)
            each(arg, entry->d_name + prefix);
    }
    if (errno)
        return error_errno(err, ERROR_BACKEND, "listing %s", directory->path);
    return 0;
}

/* ---- of attempts ---- */

/* Each worker of an operation has a file of its own: one that was paused must not write into
 * another's file, nor publish it.  The number of workers is not recorded, so the first names are
 * tried, and later ones are searched if a worker has noted that they exist. */
enum { NAMES_TRIED = 16 };

const char *volume_name_unfinished(struct arena *arena, const char *name, unsigned attempt) {
    return attempt > 1 ? arena_format(arena, ".%s.%u.new", name, attempt)
                       : arena_format(arena, ".%s.new", name);
}

static const char *name_of_many(struct arena *arena, const char *name) {
    return arena_format(arena, ".%s.many.new", name);
}

int volume_name_note_attempt(const struct directory *directory, struct arena *arena,
                             const char *name, unsigned attempt, struct error *err) {
    autoclose int fd = -1;

    if (attempt < NAMES_TRIED)
        return 0;
    fd = image_open(directory->fd, name_of_many(arena, name), O_WRONLY | O_CREAT, err);
    return fd < 0 ? -1 : directory_flush(directory, err);
}

static int remove_one(const struct directory *directory, const char *unfinished,
                      struct error *err) {
    if (unlink_draft(directory->fd, unfinished) < 0)
        return error_errno(err, ERROR_BACKEND, "removing %s from %s", unfinished, directory->path);
    return 0;
}

int volume_name_remove_draft(const struct directory *directory, struct arena *arena,
                             const char *name, unsigned attempt, struct error *err) {
    return remove_one(directory, volume_name_unfinished(arena, name, attempt), err);
}

static int remove_tried(const struct directory *directory, struct arena *arena, const char *name,
                        unsigned end, struct error *err) {
    for (unsigned attempt = 1; attempt < end && attempt < NAMES_TRIED; attempt++)
        if (volume_name_remove_draft(directory, arena, name, attempt, err) < 0)
            return -1;
    return 0;
}

struct later {
    const struct directory *directory;
    struct arena *arena;
    const char *name;
    unsigned end;
    int failed;
    struct error *err;
};

static void remove_later(void *arg, const char *rest) {
    struct later *later = arg;
    char *end;
    unsigned long attempt = strtoul(rest, &end, 10);

    if (later->failed || end == rest || strcmp(end, ".new") != 0 || attempt < NAMES_TRIED ||
        attempt >= later->end)
        return;
    later->failed = volume_name_remove_draft(later->directory, later->arena, later->name,
                                             (unsigned)attempt, later->err);
}

static int remove_all_later(const struct directory *directory, struct arena *arena,
                            const char *name, unsigned end, struct error *err) {
    struct later later = { directory, arena, name, end, 0, err };

    return volume_name_each(directory, arena_format(arena, ".%s.", name), remove_later, &later,
                            err) < 0
               ? -1
               : later.failed;
}

int volume_name_remove_earlier(const struct directory *directory, struct arena *arena,
                               const char *name, unsigned attempt, struct error *err) {
    if (remove_tried(directory, arena, name, attempt, err) < 0)
        return -1;
    return attempt > NAMES_TRIED ? remove_all_later(directory, arena, name, attempt, err) : 0;
}

int volume_name_remove_unfinished(const struct directory *directory, struct arena *arena,
                                  const char *name, struct error *err) {
    const char *many = name_of_many(arena, name);

    if (remove_tried(directory, arena, name, NAMES_TRIED, err) < 0)
        return -1;
    if (faccessat(directory->fd, many, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT
                   ? 0
                   : error_errno(err, ERROR_BACKEND, "looking for %s in %s", many, directory->path);
    return remove_all_later(directory, arena, name, UINT_MAX, err) < 0
               ? -1
               : remove_one(directory, many, err);
}
