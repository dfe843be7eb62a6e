#include "drivers/file/draft.h"

#include "drivers/file/image.h"
#include "drivers/file/volume_name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int draft_open(const struct directory *directory, struct arena *arena, const char *name,
               unsigned attempt, struct draft *ret, struct error *err) {
    const char *unfinished = volume_name_unfinished(arena, name, attempt);
    mode_t mode = directory->settings->mode;
    int fd;

    if (volume_name_remove(directory, unfinished, err) < 0 ||
        volume_name_remove_earlier(directory, arena, name, attempt, err) < 0)
        return -1;
    fd = image_open(directory->fd, unfinished, O_RDWR | O_CREAT | O_EXCL, err);
    if (fd < 0)
        return -1;
    *ret = (struct draft){ directory, name, unfinished, fd };
    if (mode != 0600 && fchmod(fd, mode) < 0)
        return error_errno(err, ERROR_BACKEND, "setting the permissions of %s", unfinished);
    return 0;
}

int draft_publish(struct draft *draft, const struct driver_fence *fence, struct error *err) {
    int taken;

    if (driver_fence_check(fence, err) < 0)
        return -1;
    taken = directory_rename(draft->directory, draft->unfinished, draft->name, err);
    if (taken == 0)
        draft->unfinished = NULL;
    return taken;
}

int draft_replace(struct draft *draft, const struct driver_fence *fence, struct error *err) {
    int result;

    if (driver_fence_check(fence, err) < 0)
        return -1;
    result = directory_replace(draft->directory, draft->unfinished, draft->name, err);
    if (result > 0)
        draft->unfinished = NULL;
    return result < 0 ? -1 : 0;
}

void draft_end(struct draft *draft) {
    if (!draft->directory)
        return;
    close(draft->fd);
    if (draft->unfinished)
        unlinkat(draft->directory->fd, draft->unfinished, 0);
}

/* ---- which there are ---- */

struct listing {
    const struct directory *directory;
    struct arena *arena;
    const char *begins;
    void (*found)(void *arg, const struct driver_draft *draft);
    void *arg;
};

/* Behind the id may stand what of the volume it is, and whose attempt. */
static void tell(void *arg, const char *rest) {
    const struct listing *listing = arg;
    const char *end = strrchr(rest, '.');
    struct driver_draft draft = {
        .name_id = arena_text_n(listing->arena, rest, strcspn(rest, ".")),
        .where = directory_path(listing->directory, listing->arena,
                                arena_format(listing->arena, "%s%s", listing->begins, rest)),
    };

    if (end && strcmp(end, ".new") == 0 && volume_name_fits(draft.name_id))
        listing->found(listing->arg, &draft);
}

int draft_list(const struct directory *directory, struct arena *arena,
               void (*found)(void *arg, const struct driver_draft *draft), void *arg,
               struct error *err) {
    struct listing volumes = { directory, arena, "." VOLUME_NAME_PREFIX, found, arg };
    struct listing snapshots = { directory, arena, "." SNAPSHOT_NAME_PREFIX, found, arg };

    return volume_name_each(directory, volumes.begins, tell, &volumes, err) < 0
               ? -1
               : volume_name_each(directory, snapshots.begins, tell, &snapshots, err);
}
