/*
 * Is an image still the volume's active one?  The service may have added a snapshot's overlay since
 * the orchestrator stored the context; the node may have no API to query.
 *
 * The image's locks are taken first: from then on no overlay can be added.  A snapshot in progress
 * locks another byte of the file (IMAGE_CHAIN_BYTE) until the info is written.
 */
#include "csi/node/image.h"

#include "common/cleanup.h"
#include "common/image_lock.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INFO_MOST ((size_t)1 << 20)

/* NULL: unreadable or too large. */
static char *read_text(struct arena *arena, int fd) {
    char *text = arena_alloc(arena, INFO_MOST + 1);
    size_t size = 0;

    while (size <= INFO_MOST) {
        ssize_t got = read(fd, text + size, INFO_MOST + 1 - size);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return NULL;
        if (got == 0)
            break;
        size += (size_t)got;
    }
    text[size > INFO_MOST ? 0 : size] = '\0';
    return size > INFO_MOST ? NULL : text;
}

static int check_info(struct arena *arena, int directory, const char *name, struct error *err) {
    const struct open_how how = {
        .flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
    };
    const char *info_name = arena_format(arena, "%s.info", name), *active;
    autoclose int fd = (int)syscall(SYS_openat2, directory, info_name, &how, sizeof(how));
    const json_t *info;
    char *text;

    if (fd < 0)
        return errno == ENOENT ? 0 : error_errno(err, ERROR_BACKEND, "opening %s", info_name);
    text = read_text(arena, fd);
    info = text ? json_parse(arena, text, strlen(text), err) : NULL;
    if (!info)
        return error_set(err, ERROR_PRECONDITION, "%s is not valid.", info_name);
    active = json_text_of(info, "active");
    if (active && strcmp(active, name) == 0)
        return 0;
    return error_set(
        err, ERROR_PRECONDITION,
        "The volume has another active image now: the publish_context is out of date.");
}

int node_image_check(struct arena *arena, const struct node_image *image, int file, int directory,
                     struct error *err) {
    const char *slash = image->path ? strrchr(image->path, '/') : NULL;
    const char *name = slash ? slash + 1 : image->name;
    enum image_hold hold = image_lock_chain(file, true, err);
    struct statx status;
    struct error ignored;
    int result;

    if (hold != IMAGE_LOCKED)
        return hold == IMAGE_HELD
                   ? error_set(err, ERROR_CONFLICT, "The volume's snapshots are being changed.")
                   : -1;
    /* Revalidates the directory: a client of NFS may have cached an older state. */
    (void)statx(directory, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_CTIME, &status);
    result = check_info(arena, directory, name, err);
    image_lock_chain(file, false, &ignored);
    return result;
}
