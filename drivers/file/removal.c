#include "drivers/file/removal.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "drivers/file/chain.h"
#include "drivers/file/unlink.h"
#include "drivers/file/volume_name.h"

#include <fcntl.h>
#include <string.h>

int removal_held(const struct directory *directory, const char *name, int fd,
                 const struct driver_fence *fence, struct error *err) {
    int other;

    assert(fd >= 0);
    if (driver_fence_check(fence, err) < 0)
        return -1;
    other = unlink_same(directory->fd, name, fd);
    if (other < 0)
        return error_errno(err, ERROR_BACKEND, "removing %s from %s", name, directory->path);
    return other
               ? error_set(err, ERROR_CONFLICT, "%s was replaced while it was being removed.", name)
               : 0;
}

int removal_refuse_held(enum image_hold hold, const char *name, struct error *err) {
    switch (hold) {
    case IMAGE_LOCKED:
        return 0;
    case IMAGE_HELD:
        return error_set(err, ERROR_BACKEND, "%s " IMAGE_HELD_TEXT, name);
    case IMAGE_LOCK_FAILED:
        break;
    }
    return error_context(err, "%s", name);
}

/* No guest has it open, and none can open it until the descriptor is closed. */
static int remove_unused(const struct directory *directory, const char *name, int fd,
                         const struct driver_fence *fence, struct error *err) {
    assert(fd >= 0);
    return removal_refuse_held(image_lock_away(fd, err), name, err) < 0
               ? -1
               : removal_held(directory, name, fd, fence, err);
}

/* A late worker, whose file another one has renamed, does not report it as removed. */
static int find_nothing(int found, const struct driver_fence *fence, struct error *err) {
    return found < 0 ? -1 : driver_fence_check(fence, err);
}

int removal_unnamed(const struct directory *directory, const char *name,
                    const struct driver_fence *fence, struct error *err) {
    autoclose int fd = -1;
    int found = image_find(directory->fd, name, O_RDONLY, &fd, err);

    return found <= 0 ? find_nothing(found, fence, err)
                      : remove_unused(directory, name, fd, fence, err);
}

int removal_image(const struct directory *directory, struct arena *arena, const char *name,
                  const struct driver_fence *fence, struct error *err) {
    autoclose int fd = -1;
    int found = image_find(directory->fd, name, O_RDONLY, &fd, err);
    const char *image = chain_name_before_undone(arena, name);
    struct chain chain;

    if (found <= 0)
        return find_nothing(found, fence, err);
    /* Does an info of a volume name it?  In that of an overlay that is being undone stands its own
     * name. */
    if (strncmp(image, VOLUME_NAME_PREFIX, strlen(VOLUME_NAME_PREFIX)) == 0) {
        found = chain_find_base(directory, arena, arena_text_n(arena, image, strcspn(image, ".")),
                                &chain, err);
        if (found < 0)
            return -1;
        if (found > 0 && !chain.deleted &&
            (strcmp(chain.base, image) == 0 || chain_names(&chain, image)))
            return 1;
    }
    return remove_unused(directory, name, fd, fence, err);
}
