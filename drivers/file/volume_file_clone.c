#include "drivers/file/volume_file.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "drivers/file/chain_merge.h"
#include "drivers/file/chain_snapshot.h"
#include "drivers/file/volume_name.h"

#include <fcntl.h>
#include <string.h>

static bool is_raw(const struct image_source *source) {
    return strcmp(source->format, "raw") == 0;
}

/* ---- clone ---- */

/* The file is private until it has its name, so qemu-img finds no lock on it either. */
static int grow(const struct draft *draft, struct arena *arena, const struct image_source *source,
                int64_t bytes, struct error *err) {
    const struct directory *directory = draft->directory;
    struct image_facts facts;

    assert(draft->fd >= 0 && draft->unfinished && bytes > 0);
    if (is_raw(source))
        return image_grow_raw(draft->fd, bytes, directory->settings->sparse, NULL, err);
    if (qemu_img_resize(arena, &directory->settings->qemu_img, draft_path(draft, arena),
                        source->format, bytes, err) != DRIVER_DONE ||
        image_read_flushed(draft->fd, source->format, &facts, err) < 0)
        return -1;
    if (facts.virtual_bytes < bytes)
        return error_set(err, ERROR_BACKEND, "The copy still has %jd bytes instead of %jd.",
                         (intmax_t)facts.virtual_bytes, (intmax_t)bytes);
    return 0;
}

static int make(const struct directory *directory, struct arena *arena,
                const struct driver_volume *volume, const struct image_source *source,
                const char *name, const struct driver_progress *progress, struct error *err) {
    bool thick = is_raw(source) && !directory->settings->sparse;
    int64_t wanted = volume_image_bytes(volume->size_gb), bytes;
    autodraft struct draft draft = { 0 };
    int result;

    if (directory_check_place(directory, err) < 0 ||
        driver_progress_report(progress, 0, source->virtual_bytes, err) < 0 ||
        (wanted > source->virtual_bytes &&
         directory_check_space(directory, wanted - source->virtual_bytes, err) < 0) ||
        draft_open(directory, arena, name, volume->attempt, &draft, err) < 0)
        return -1;
    result = image_source_take(source, &draft, thick, volume->fence, progress, &bytes, err);
    if (result > 0)
        return error_set(err, ERROR_CONFLICT,
                         "%s is in use, and here it can only be copied while it is not.",
                         source->id);
    if (result < 0 || (bytes < wanted && grow(&draft, arena, source, wanted, err) < 0))
        return -1;
    return image_source_publish(&draft, source->format, wanted, volume->fence, err);
}

int volume_file_clone(const struct directory *directory, struct arena *arena,
                      const struct driver_volume *volume, const struct image_source *source,
                      const struct driver_progress *progress, struct error *err) {
    const char *name = volume_name(arena, volume->name_id, err);
    int existing;

    if (!name || driver_fence_check(volume->fence, err) < 0)
        return -1;
    if (volume->encrypted)
        return error_set(err, ERROR_BAD_REQUEST, "This backend makes no encrypted volumes.");
    if (volume->multiattach && !is_raw(source))
        return error_set(err, ERROR_BAD_REQUEST, "A qcow2 volume cannot be shared by instances.");
    if (volume->size_gb < source->size_gb)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Volume %s would have %jd GB, less than the %jd of its source.",
                         volume->id, (intmax_t)volume->size_gb, (intmax_t)source->size_gb);
    existing = image_source_find_made(directory, name, source->format,
                                      volume_image_bytes(volume->size_gb), err);
    if (existing < 0 ||
        (!existing && make(directory, arena, volume, source, name, progress, err) < 0))
        return -1;
    if (volume->attempt > 1 && volume_name_remove_unfinished(directory, arena, name, err) < 0)
        return -1;
    return directory_flush(directory, err);
}

/* ---- revert ---- */

/* No guest has the volume open, and none can open it while the descriptor is open. */
static int hold_alone(const struct driver_volume *volume, int fd, struct error *err) {
    enum image_hold hold;

    assert(fd >= 0 && !volume->attached);
    hold = image_lock(fd, err);
    if (hold == IMAGE_LOCKED) /* a guest that shares it with others does not lock it */
        hold = image_lock_look(fd, err);
    if (hold == IMAGE_HELD)
        return error_set(err, ERROR_BACKEND, "Volume %s " IMAGE_HELD_TEXT, volume->id);
    return hold == IMAGE_LOCKED ? 0 : -1;
}

/* The volume stays locked when the draft has replaced its file: the lock is of the open file, which
 * *ret_lock keeps. */
static int lock_new(const struct draft *draft, const struct driver_fence *fence, int *ret_lock,
                    struct error *err) {
    autoclose int lock = fcntl(draft->fd, F_DUPFD_CLOEXEC, 0);

    if (lock < 0)
        return error_errno(err, ERROR_BACKEND, "locking %s", draft->unfinished);
    if (chain_lock_file(lock, true, fence, err) < 0)
        return -1;
    *ret_lock = take_fd(lock);
    return 0;
}

static int put_back(const struct directory *directory, struct arena *arena,
                    const struct driver_volume *volume, const struct image_source *source,
                    const char *name, const struct driver_progress *progress, int *ret_lock,
                    struct error *err) {
    bool thick = is_raw(source) && !directory->settings->sparse;
    autodraft struct draft draft = { 0 };
    int64_t bytes;
    int taken;

    if (driver_progress_report(progress, 0, source->virtual_bytes, err) < 0 ||
        draft_open(directory, arena, name, volume->attempt, &draft, err) < 0)
        return -1;
    taken = image_source_take(source, &draft, thick, volume->fence, progress, &bytes, err);
    if (taken > 0)
        return error_set(err, ERROR_CONFLICT, "%s is in use.", source->id);
    if (taken < 0 || lock_new(&draft, volume->fence, ret_lock, err) < 0)
        return -1;
    return draft_replace(&draft, volume->fence, err);
}

/* An empty overlay above the snapshot's own file replaces the active one. */
static int put_overlay(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, const struct chain *chain,
                       struct error *err) {
    struct chain_link links[CHAIN_FILES_MOST];
    struct qemu_img_below below;
    autodraft struct draft draft = { 0 };
    int count = chain_walk(directory, arena, chain, chain->active, volume->format, links, err);

    assert(chain_is_layered(chain));
    if (count < 0)
        return -1;
    if (count < 2)
        return error_set(err, ERROR_BACKEND, "Nothing lies below %s.", chain->active);
    below = (struct qemu_img_below){ links[1].name, links[1].format };
    if (draft_open(directory, arena, chain->active, volume->attempt, &draft, err) < 0 ||
        chain_snapshot_fill(&draft, arena, &below, links[1].virtual_bytes, err) < 0)
        return -1;
    return draft_replace(&draft, volume->fence, err);
}

int volume_file_revert(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, const struct image_source *source,
                       const struct driver_progress *progress, struct error *err) {
    const struct chain_work work = { directory, arena, volume, volume->fence, volume->attempt };
    const char *name = volume_name(arena, volume->name_id, err);
    struct chain chain;
    autoclose int lock = -1, new_lock = -1, fd = -1;
    int replaced;

    if (!name || driver_fence_check(volume->fence, err) < 0 ||
        chain_enter(&work, &chain, &lock, err) < 0)
        return -1;
    if (volume->attached)
        return error_set(err, ERROR_BACKEND, "Volume %s is attached.", volume->id);
    if (!chain.deleted && (chain_snapshot_end_deletes(&work, progress, err) < 0 ||
                           chain_read(directory, arena, name, &chain, err) < 0))
        return -1;
    name = chain.active;
    fd = chain.deleted ? error_set(err, ERROR_NOT_FOUND, "Volume %s is being deleted.", volume->id)
                       : image_open(directory->fd, name, O_RDWR, err);
    if (fd < 0 || hold_alone(volume, fd, err) < 0)
        return -1;
    if (!chain_is_layered(&chain))
        replaced = put_back(directory, arena, volume, source, name, progress, &new_lock, err);
    else if (source->name_id && chain_has(&chain, source->name_id) &&
             strcmp(chain_file_of(&chain, arena, source->name_id, NULL), name) == 0)
        replaced = put_overlay(directory, arena, volume, &chain, err);
    else
        replaced =
            error_set(err, ERROR_BAD_REQUEST, "Snapshot %s is not the newest one of volume %s.",
                      source->id, volume->id);
    if (replaced < 0 || driver_fence_check(volume->fence, err) < 0 ||
        (volume->attempt > 1 && volume_name_remove_unfinished(directory, arena, name, err) < 0))
        return -1;
    return directory_flush(directory, err);
}
