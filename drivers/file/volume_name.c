#include "drivers/file/volume_name.h"

#include "common/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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

/* Each worker that ever took up the create has a file of its own: one that was paused must not
 * write into another's.  Names come again only after so many takeovers. */
enum { UNFINISHED_NAMES = 16 };

const char *volume_name_unfinished(struct arena *arena, const char *name, unsigned attempt) {
    unsigned number = attempt % UNFINISHED_NAMES;

    return number > 1 ? arena_format(arena, ".%s.%u.new", name, number)
                      : arena_format(arena, ".%s.new", name);
}

int volume_name_remove(const struct directory *directory, const char *name, struct error *err) {
    if (unlinkat(directory->fd, name, 0) < 0 && errno != ENOENT)
        return error_errno(err, ERROR_BACKEND, "removing %s from %s", name, directory->path);
    return 0;
}

int volume_name_remove_earlier(const struct directory *directory, struct arena *arena,
                               const char *name, unsigned attempt, struct error *err) {
    for (unsigned number = 1; number < attempt && number < UNFINISHED_NAMES; number++)
        if (number != attempt % UNFINISHED_NAMES &&
            volume_name_remove(directory, volume_name_unfinished(arena, name, number), err) < 0)
            return -1;
    return 0;
}

int volume_name_remove_unfinished(const struct directory *directory, struct arena *arena,
                                  const char *name, struct error *err) {
    for (unsigned attempt = 1; attempt < UNFINISHED_NAMES; attempt++)
        if (volume_name_remove(directory, volume_name_unfinished(arena, name, attempt), err) < 0)
            return -1;
    return 0;
}

static void cleanup_closedir(DIR *const *stream) {
    if (*stream)
        closedir(*stream);
}

int volume_name_each(const struct directory *directory, const char *begins,
                     void (*each)(void *arg, const char *rest), void *arg, struct error *err) {
    const size_t prefix = strlen(begins);
    /* Opened anew: a position of its own, so that lists may run side by side. */
    autoclose int fd = openat(directory->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream __attribute__((cleanup(cleanup_closedir))) = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    if (!stream)
        return error_errno(err, ERROR_BACKEND, "listing %s", directory->path);
    fd = -1; /* the stream's from now on */
    while ((errno = 0, entry = readdir(stream))) {
        if (strncmp(entry->d_name, begins, prefix) == 0)
            each(arg, entry->d_name + prefix);
    }
    if (errno)
        return error_errno(err, ERROR_BACKEND, "listing %s", directory->path);
    return 0;
}
