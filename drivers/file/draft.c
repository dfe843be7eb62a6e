#include "drivers/file/draft.h"

#include "common/assert.h"
#include "common/same_file.h"
#include "drivers/file/image.h"
#include "drivers/file/unlink.h"
#include "drivers/file/volume_name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int set_mode(const struct draft *draft, struct error *err) {
    mode_t mode = draft->directory->settings->mode;

    if (mode != 0600 && fchmod(draft->fd, mode) < 0)
        return error_errno(err, ERROR_BACKEND, "setting the permissions of the new %s",
                           draft->name);
    return 0;
}

int draft_open(const struct directory *directory, struct arena *arena, const char *name,
               unsigned attempt, struct draft *ret, struct error *err) {
    const char *unfinished = volume_name_unfinished(arena, name, attempt);
    int fd;

    assert(*name && name[0] != '.' && !strchr(name, '/'));
    if (volume_name_remove_draft(directory, arena, name, attempt, err) < 0 ||
        volume_name_remove_earlier(directory, arena, name, attempt, err) < 0 ||
        volume_name_note_attempt(directory, arena, name, attempt, err) < 0)
        return -1;
    fd = image_open(directory->fd, unfinished, O_RDWR | O_CREAT | O_EXCL, err);
    if (fd < 0)
        return -1;
    *ret = (struct draft){ directory, name, unfinished, fd };
    return set_mode(ret, err);
}

int draft_open_unnamed(const struct directory *directory, const char *name, struct draft *ret,
                       struct error *err) {
    int fd = directory_open_unnamed(directory);

    assert(directory->keeps_unnamed && *name && name[0] != '.' && !strchr(name, '/'));
    if (fd < 0)
        return error_errno(err, ERROR_BACKEND, "making a file in %s", directory->path);
    *ret = (struct draft){ directory, name, NULL, fd };
    return set_mode(ret, err);
}

/* Another operation on the same object may have a draft of this name by now. */
static int check_own(const struct draft *draft, const struct driver_fence *fence,
                     struct error *err) {
    struct stat opened, named;

    assert(draft->fd >= 0);
    if (driver_fence_check(fence, err) < 0)
        return -1;
    if (!draft->unfinished)
        return 0;
    if (fstat(draft->fd, &opened) < 0 ||
        fstatat(draft->directory->fd, draft->unfinished, &named, AT_SYMLINK_NOFOLLOW) < 0)
        return error_errno(err, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_BACKEND, "looking for %s",
                           draft->unfinished);
    if (is_same_file(&opened, &named))
        return 0;
    return error_set(err, ERROR_CONFLICT, "%s is another worker's by now.", draft->unfinished);
}

int draft_publish(struct draft *draft, const struct driver_fence *fence, struct error *err) {
    int taken;

    assert(draft->name && draft->directory);
    if (check_own(draft, fence, err) < 0)
        return -1;
    if (!draft->unfinished)
        return directory_link(draft->directory, draft->fd, draft->name, err);
    taken = directory_rename(draft->directory, draft->unfinished, draft->name, err);
    if (taken == 0)
        draft->unfinished = NULL;
    return taken;
}

int draft_replace(struct draft *draft, const struct driver_fence *fence, struct error *err) {
    int result, fd;

    assert(draft->unfinished && draft->name && draft->directory);
    if (check_own(draft, fence, err) < 0)
        return -1;
    result = directory_replace(draft->directory, draft->unfinished, draft->name, err);
    if (result < 0)
        return -1;
    if (result > 0) {
        draft->unfinished = NULL;
        return 0;
    }
    /* The replaced file has the name of the draft now, and is removed with it. */
    fd = openat(draft->directory->fd, draft->unfinished, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, ERROR_BACKEND, "opening what %s was before", draft->name);
    close(draft->fd);
    draft->fd = fd;
    return 0;
}

void draft_end(struct draft *draft) {
    if (!draft->directory)
        return;
    if (draft->unfinished)
        unlink_same(draft->directory->fd, draft->unfinished, draft->fd);
    assert(draft->fd >= 0);
    close(draft->fd);
}

const char *draft_path(const struct draft *draft, struct arena *arena) {
    assert(draft->fd >= 0);
    return arena_format(arena, "/proc/%d/fd/%d", (int)getpid(), draft->fd);
}

/* ---- list ---- */

struct listing {
    const struct directory *directory;
    struct arena *arena;
    const char *begins;
    void (*found)(void *arg, const struct driver_draft *draft);
    void *arg;
};

/* The id is followed by the volume of the snapshot, and the attempt. */
static void report(void *arg, const char *rest) {
    const struct listing *listing = arg;
    const char *end = strrchr(rest, '.');
    struct driver_draft draft = {
        .name_id = arena_text_n(listing->arena, rest, strcspn(rest, ".")),
        .where = directory_path(listing->directory, listing->arena,
                                arena_format(listing->arena, "%s%s", listing->begins, rest)),
    };

    if (end && (strcmp(end, ".new") == 0 || strcmp(end, ".undone") == 0) &&
        volume_name_fits(draft.name_id))
        listing->found(listing->arg, &draft);
}

int draft_list(const struct directory *directory, struct arena *arena,
               void (*found)(void *arg, const struct driver_draft *draft), void *arg,
               struct error *err) {
    struct listing volumes = { directory, arena, "." VOLUME_NAME_PREFIX, found, arg };
    struct listing snapshots = { directory, arena, "." SNAPSHOT_NAME_PREFIX, found, arg };

    return volume_name_each(directory, volumes.begins, report, &volumes, err) < 0
               ? -1
               : volume_name_each(directory, snapshots.begins, report, &snapshots, err);
}
