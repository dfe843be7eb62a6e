#include "drivers/file/directory_claim.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "drivers/file/volume_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

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

    assert(name[0] == '.' && !strchr(name, '/'));
    if (fd < 0)
        return error_errno(err, ERROR_BACKEND, "writing %s in %s", name, directory->path);
    return directory_flush(directory, err); /* the file is empty: its name is all of it */
}

struct own_volumes {
    const struct driver_backend *backend;
    bool found;
    bool unanswered; /* at least one query failed */
};

static void visit_own(void *arg, const char *name_id, int64_t bytes) {
    struct own_volumes *own = arg;
    int known = own->found ? 1 : own->backend->has_volume(own->backend, NULL, name_id);

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

    if (!backend->has_volume)
        return 0;
    if (fstatat(directory->fd, marker, &status, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    if (errno != ENOENT)
        return error_errno(err, ERROR_BACKEND, "looking for %s in %s", marker, directory->path);
    known = backend->has_volume(backend, location, NULL);
    own.unanswered = known < 0;
    if (known != 0 && volume_file_list(directory, visit_own, &own, err) < 0)
        return -1;
    if (known != 0 && !own.found)
        return refuse_claim(directory, marker, own.unanswered, err);
    if (backend->probe_only)
        return 0;
    if (marker_write(directory, marker, &unwritten) == 0)
        return 0;
    /* It is full or read-only for now; its volumes identify the directory as well as the marker
     * does. */
    if (!own.found)
        return error_pass(err, &unwritten);
    log_warning(NULL, "directory takes no marker yet", "directory", directory->path, "reason",
                unwritten.message, NULL);
    return 0;
}
