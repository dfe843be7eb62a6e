#include "drivers/file/existing_file.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/same_file.h"
#include "common/utf8.h"
#include "data/qcow2_check.h"
#include "drivers/file/chain.h"
#include "drivers/file/image.h"
#include "drivers/file/removal.h"
#include "drivers/file/volume_file.h"
#include "drivers/file/volume_name.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* ---- checks ---- */

/* Why a file of that name cannot be taken over; NULL: the name does not forbid it. */
const char *existing_file_name_refusal(const char *name) {
    static const char *const ours[] = { VOLUME_NAME_PREFIX, SNAPSHOT_NAME_PREFIX, "." };

    if (!*name || strchr(name, '/') || strlen(name) > NAME_MAX || !utf8_valid(name, strlen(name)))
        return "is no plain file name";
    for (size_t i = 0; i < LENGTH(ours); i++)
        if (strncmp(name, ours[i], strlen(ours[i])) == 0)
            return "has a name that only the service gives";
    return NULL;
}

/*
 * The backend in the request states the format; the content is read only to refuse.  A guest with a
 * raw file may have written any header into it, and such a file must not become an image with a
 * file of the host below it.
 */
static const char *image_refusal(int fd, const char *format, bool tables,
                                 struct image_facts *facts) {
    bool raw = strcmp(format, "raw") == 0, readable;
    const char *why;

    if (raw && image_looks_qcow2(fd))
        return "looks like qcow2, and volumes of this backend are raw";
    if (image_looks_luks(fd))
        return "is encrypted";
    readable = image_read_facts(fd, format, facts, NULL) == 0;
    why = raw ? NULL : qcow2_check(fd, tables);
    if (!why && !readable)
        return "cannot be read";
    return !why && facts->virtual_bytes == 0 ? "is empty" : why;
}

static int existing_file_refuse(const char *name, const char *why, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST, "The file \"%.255s\" %s.", name, why);
}

/* A second name would give other programs write access to the volume. */
static int check_alone(int fd, const char *name, struct error *err) {
    struct stat status;

    if (fstat(fd, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "looking at %s", name);
    return status.st_nlink == 1 ? 0 : existing_file_refuse(name, "has more than one name", err);
}

/* A descriptor of an acceptable file, with QEMU's locks held.  They look like a guest's once the
 * file is a volume's: calls about that volume meet the lock of its files first, and wait. */
static int open_source(const struct existing_file *file, struct image_facts *facts,
                       struct error *err) {
    const char *name = file->source, *why = existing_file_name_refusal(name);
    struct error failure = { .kind = ERROR_NONE };
    autoclose int fd = why ? -1 : image_open(file->directory->fd, name, O_RDWR, &failure);
    enum image_hold hold;

    if (why)
        return existing_file_refuse(name, why, err);
    if (fd < 0)
        return error_set(err, ERROR_BAD_REQUEST, "The file \"%.255s\" cannot be taken over: %s",
                         name, failure.message);
    if (check_alone(fd, name, err) < 0 || chain_lock_file(fd, false, file->fence, err) < 0)
        return -1;
    hold = image_lock(fd, err);
    if (hold == IMAGE_HELD)
        return error_set(err, ERROR_CONFLICT, "The file \"%.255s\" is open in a running guest.",
                         name);
    if (hold != IMAGE_LOCKED)
        return error_context(err, "%s", name);
    why = image_refusal(fd, file->format, true, facts);
    return why ? existing_file_refuse(name, why, err) : take_fd(fd);
}

/* A file that an earlier call has renamed: 1, 0 there is none. */
static int find_taken(const struct existing_file *file, struct image_facts *facts,
                      struct error *err) {
    autoclose int fd = -1;
    int found = image_find(file->directory->fd, file->name, O_RDWR, &fd, err);

    if (found <= 0)
        return found;
    return image_read_flushed(fd, file->format, facts, err) < 0 ? -1 : 1;
}

int existing_file_probe(const struct existing_file *file, int64_t *ret_bytes, struct error *err) {
    struct image_facts facts;
    autoclose int fd = -1;
    int taken = find_taken(file, &facts, err);

    if (taken < 0)
        return -1;
    if (!taken) {
        fd = open_source(file, &facts, err);
        if (fd < 0 || image_read_flushed(fd, file->format, &facts, err) < 0)
            return -1;
    }
    *ret_bytes = facts.virtual_bytes;
    return 0;
}

const char *existing_file_refusal(const struct directory *directory, const char *name,
                                  int64_t *ret_bytes) {
    autoclose int fd = image_open(directory->fd, name, O_RDONLY, NULL);
    struct image_facts facts = { .virtual_bytes = -1 };
    const char *why = NULL;

    if (fd < 0)
        return "is no regular file, or cannot be opened";
    if (check_alone(fd, name, NULL) < 0)
        why = "has more than one name";
    if (!why)
        why = image_refusal(fd, volume_file_format(directory), false, &facts);
    *ret_bytes = facts.virtual_bytes;
    return why;
}

/* ---- rename ---- */

/* Does the name lead to the file that was checked? */
static int check_same(const struct existing_file *file, int fd, struct error *err) {
    struct stat checked, named;

    if (fstat(fd, &checked) < 0 ||
        fstatat(file->directory->fd, file->name, &named, AT_SYMLINK_NOFOLLOW) < 0)
        return error_errno(err, ERROR_BACKEND, "looking at %s", file->name);
    if (is_same_file(&checked, &named))
        return 0;
    return error_set(err, ERROR_CONFLICT, "The file was replaced while it was taken over.");
}

static int take_over(const struct existing_file *file, struct error *err) {
    struct image_facts facts;
    autoclose int fd = open_source(file, &facts, err);

    assert(fd < 0 || !existing_file_name_refusal(file->source));
    if (fd < 0 || driver_fence_check(file->fence, err) < 0)
        return -1;
    if (fchmod(fd, file->directory->settings->mode) < 0)
        return error_errno(err, ERROR_BACKEND, "setting the permissions of %s", file->source);
    if (driver_fence_check(file->fence, err) < 0 || image_flush(fd, err) < 0 ||
        volume_file_move(file->directory, file->source, file->name, err) < 0)
        return -1;
    /* After a pause right before the rename the volume may be gone. */
    return check_same(file, fd, err) < 0 ? -1 : driver_fence_check(file->fence, err);
}

/* With the hard link done it has both names; another file of the old name is not the volume's. */
static int leave_source(const struct existing_file *file, struct error *err) {
    autoclose int fd = -1;

    if (existing_file_name_refusal(file->source) ||
        image_find(file->directory->fd, file->source, O_RDONLY, &fd, NULL) <= 0 ||
        check_same(file, fd, NULL) < 0)
        return 0;
    return removal_held(file->directory, file->source, fd, file->fence, err);
}

int existing_file_take(const struct existing_file *file, struct error *err) {
    struct image_facts facts;
    int taken = find_taken(file, &facts, err);

    if (taken < 0 || (taken ? leave_source(file, err) : take_over(file, err)) < 0)
        return -1;
    return directory_flush(file->directory, err);
}
