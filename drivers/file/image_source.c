#include "drivers/file/image_source.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "drivers/file/chain_merge.h"
#include "drivers/file/image_copy.h"
#include "drivers/file/volume_name.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

void image_source_close(struct image_source *source) {
    if (source->fd >= 0)
        close(source->fd);
    if (source->lock >= 0)
        close(source->lock);
}

static int check_whole(const char *id, const struct image_facts *facts, struct error *err) {
    if (facts->encrypted)
        return error_set(err, ERROR_BAD_REQUEST,
                         "%s is encrypted: this backend copies only what is not.", id);
    if (facts->external_data || facts->backing[0])
        return error_set(err, ERROR_BACKEND, "%s keeps a part of its data in another file.", id);
    return 0;
}

int image_source_open_volume(const struct directory *directory, struct arena *arena,
                             const struct driver_volume *volume, const struct driver_volume *reader,
                             struct image_source *ret, struct error *err) {
    const struct chain_work work = { directory, arena, volume, reader ? reader->fence : NULL,
                                     reader ? reader->attempt : 0 };
    struct volume_image image;
    autoclose int fd = -1, lock = -1;
    bool layered;

    if (volume->encrypted)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Volume %s is encrypted: this backend copies only what is not.",
                         volume->id);
    if (reader &&
        (chain_repair(&work, err) < 0 ||
         volume_image_lock(directory, arena, volume, VOLUME_SHARED, reader->fence, &lock, err) < 0))
        return -1;
    fd = volume_image_open(directory, arena, volume, O_RDONLY, &image, err);
    layered = fd >= 0 && chain_is_layered(&image.chain);
    if (fd < 0 || (layered ? volume_image_check_own(directory, arena, volume, &image, err)
                           : check_whole(image.name, &image.facts, err)) < 0)
        return -1;
    *ret = (struct image_source){ .fd = take_fd(fd),
                                  .id = volume->id,
                                  .format = volume->format,
                                  .size_gb = volume->size_gb,
                                  .virtual_bytes = image.facts.virtual_bytes,
                                  .attached = volume->attached,
                                  .name = image.name,
                                  .layered = layered,
                                  .chain = image.chain,
                                  .lock = take_fd(lock) };
    return 0;
}

/* Is the file below its overlay still the snapshot's?  Not after a guest's host has pulled it into
 * the overlay.  *ret_committed as from chain_find_committed(), or NULL. */
static int check_content(const struct directory *directory, struct arena *arena,
                         const struct driver_snapshot *snapshot, const struct chain *found,
                         const char *below, const char **ret_committed, struct error *err) {
    struct chain chain;
    const char *noted;
    int known = chain_find_base(directory, arena, found->base, &chain, err);

    *ret_committed = NULL;
    if (known <= 0)
        return known;
    noted = chain_noted(&chain, snapshot->name_id);
    if (noted && strcmp(noted, found->active) != 0 && strcmp(noted, below) != 0)
        return error_set(err, ERROR_CONFLICT,
                         "Snapshot %s is gone: a guest's host has merged its files.", snapshot->id);
    return chain_check_below(directory, &chain, below, found->active,
                             chain_file_of(&chain, arena, snapshot->name_id, NULL), false, err) < 0
               ? -1
               : chain_find_committed(directory, arena, &chain, snapshot->name_id, below,
                                      ret_committed, err);
}

/* The info has named a created snapshot since before its first reader.  Without it there, the
 * overlay that still bears its name is merged already, and its removal has failed.  *found gets the
 * overlay of the info. */
static int check_named(const struct directory *directory, struct arena *arena,
                       const struct driver_snapshot *snapshot, struct chain *found,
                       struct error *err) {
    struct chain chain;
    int known = chain_find_base(directory, arena, found->base, &chain, err);

    if (known <= 0 || chain.deleted)
        return known < 0 ? -1 : 0;
    if (!chain_has(&chain, snapshot->name_id))
        return error_set(err, ERROR_CONFLICT,
                         "Snapshot %s is gone: a delete has merged its files and has not ended. "
                         "Delete it again.",
                         snapshot->id);
    found->active = chain_file_of(&chain, arena, snapshot->name_id, err);
    return found->active ? 0 : -1;
}

/* The file below a snapshot's overlay: 1 there is such a one. */
static int find_below(const struct directory *directory, struct arena *arena,
                      const struct driver_snapshot *snapshot, const struct driver_volume *reader,
                      struct image_source *source, struct error *err) {
    struct chain_link links[CHAIN_FILES_MOST], *below = &links[1];
    const char *committed;
    struct chain chain;
    int count;
    int found = chain_find_snapshot(directory, arena, snapshot->name_id, &chain, err);

    assert(source->fd < 0 && source->lock < 0);
    if (found <= 0)
        return found;
    if (reader && chain_lock(directory, &chain, false, reader->fence, &source->lock, err) < 0)
        return -1;
    if (check_named(directory, arena, snapshot, &chain, err) < 0)
        return -1;
    count = chain_walk(directory, arena, &chain, chain.active, snapshot->format, links, err);
    if (count < 0)
        return -1;
    if (count < 2)
        return error_set(err, ERROR_BACKEND, "Nothing lies below %s.", chain.active);
    if (check_content(directory, arena, snapshot, &chain, below->name, &committed, err) < 0)
        return -1;
    if (committed) {
        below = links;
        if (chain_walk(directory, arena, &chain, committed, snapshot->format, links, err) < 0)
            return -1;
    }
    source->name_id = snapshot->name_id;
    source->name = below->name;
    source->layered = strcmp(source->name, chain.base) != 0;
    source->virtual_bytes = below->virtual_bytes;
    source->fd = image_open(directory->fd, source->name, O_RDONLY, err);
    return source->fd < 0 ? -1 : 1;
}

/* A file of its own. */
static int open_own(const struct directory *directory, struct image_source *source,
                    struct error *err) {
    autoclose int fd = image_open(directory->fd, source->name, O_RDONLY, err);
    struct image_facts facts;

    if (fd < 0)
        return -1;
    if (image_read_facts(fd, source->format, &facts, err) < 0)
        return error_context(err, "%s", source->name);
    if (check_whole(source->name, &facts, err) < 0)
        return -1;
    source->virtual_bytes = facts.virtual_bytes;
    source->fd = take_fd(fd);
    return 0;
}

int image_source_open_snapshot(const struct directory *directory, struct arena *arena,
                               const struct driver_snapshot *snapshot,
                               const struct driver_volume *reader, struct image_source *ret,
                               struct error *err) {
    autosource struct image_source source = { .fd = -1,
                                              .id = snapshot->id,
                                              .format = snapshot->format,
                                              .size_gb = snapshot->size_gb,
                                              .fixed = true,
                                              .name = snapshot_name(arena, snapshot->name_id, err),
                                              .lock = -1 };
    struct stat status;
    int below = 0;

    if (!source.name)
        return -1;
    if (fstatat(directory->fd, source.name, &status, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT &&
        image_format_known(snapshot->format))
        below = find_below(directory, arena, snapshot, reader, &source, err);
    if (below < 0)
        return -1;
    if (!below && !image_format_known(snapshot->format))
        return error_set(err, ERROR_BACKEND, "Snapshot %s is recorded with the format %s.",
                         snapshot->id, snapshot->format ? snapshot->format : "(none)");
    if (!below && open_own(directory, &source, err) < 0)
        return -1;
    *ret = source;
    source = NO_SOURCE;
    return 0;
}

int image_source_hold(const struct image_source *source, struct error *err) {
    enum image_hold hold;

    assert(source->fd >= 0);
    if (source->fixed)
        return 0;
    if (source->attached)
        return 1;
    hold = image_lock_still(source->fd, err);
    return hold == IMAGE_LOCKED ? 0 : hold == IMAGE_HELD ? 1 : -1;
}

/* Of a file with a backing chain. */
static int flatten(const struct image_source *source, const struct draft *draft, bool thick,
                   const struct image_copy *how, struct error *err) {
    const struct directory *directory = draft->directory;
    autoarena struct arena *arena = arena_new();
    const struct qemu_img_copy to = { draft_path(draft, arena), source->format, thick };
    enum driver_outcome outcome;

    assert(draft->fd >= 0 && strcmp(draft->unfinished, source->name) != 0);
    outcome = qemu_img_convert(arena, &directory->settings->qemu_img,
                               directory_path(directory, arena, source->name), &to,
                               source->virtual_bytes, how, err);
    if (outcome != DRIVER_DONE)
        return outcome == DRIVER_DEFERRED ? 1 : -1;
    return image_flush(draft->fd, err);
}

static int copy(const struct image_source *source, const struct draft *draft, bool thick,
                const struct image_copy *how, struct error *err) {
    const int64_t block = 512;
    struct stat status;
    int64_t bytes;
    int result = image_source_hold(source, err);

    assert(draft->fd >= 0 && draft->unfinished);
    if (result != 0)
        return result;
    if (fstat(source->fd, &status) < 0)
        return error_errno(err, ERROR_BACKEND, "reading the space usage of %s", source->id);
    bytes = thick ? status.st_size : (int64_t)status.st_blocks * block;
    if (directory_check_space(draft->directory, bytes, err) < 0 ||
        driver_fence_take_long(how->fence, source->layered ? source->virtual_bytes : bytes,
                               how->bytes_per_second, err) < 0)
        return -1;
    return source->layered ? flatten(source, draft, thick, how, err)
                           : image_copy(source->fd, draft->fd, !thick, how, err);
}

int image_source_share(const struct image_source *source, const struct draft *draft,
                       struct error *err) {
    int result;

    assert(draft->fd >= 0 && draft->unfinished);
    result = source->layered ? 1 : image_share(source->fd, draft->fd, err);
    return result == 0 ? image_flush(draft->fd, err) : result;
}

int image_source_take(const struct image_source *source, const struct draft *draft, bool thick,
                      const struct driver_fence *fence, const struct driver_progress *progress,
                      int64_t *ret_bytes, struct error *err) {
    const struct image_copy how = { fence, progress,
                                    draft->directory->settings->copy_bytes_per_second };
    struct image_facts facts;
    int result = thick ? 1 : image_source_share(source, draft, err);

    if (result > 0)
        result = copy(source, draft, thick, &how, err);
    if (result != 0)
        return result;
    /* A guest may have changed it since the source was checked. */
    if (image_read_facts(draft->fd, source->format, &facts, err) < 0)
        return error_context(err, "the copy of %s", source->id);
    *ret_bytes = facts.virtual_bytes;
    return check_whole(source->id, &facts, err);
}

int image_source_find_made(const struct directory *directory, const char *name, const char *format,
                           int64_t least_bytes, struct error *err) {
    autoclose int fd = -1;
    int found = image_find(directory->fd, name, O_RDONLY, &fd, err);
    struct image_facts facts;

    assert(least_bytes >= 0);
    if (found <= 0)
        return found;
    if (image_read_flushed(fd, format, &facts, err) < 0)
        return error_context(err, "%s exists already", name);
    if (facts.virtual_bytes < least_bytes)
        return error_set(err, ERROR_BACKEND, "%s exists already with only %jd bytes.", name,
                         (intmax_t)facts.virtual_bytes);
    return 1;
}

int image_source_publish(struct draft *draft, const char *format, int64_t least_bytes,
                         const struct driver_fence *fence, struct error *err) {
    int taken = draft_publish(draft, fence, err);
    int found =
        taken > 0 ? image_source_find_made(draft->directory, draft->name, format, least_bytes, err)
                  : 0;

    if (taken < 0 || found < 0)
        return -1;
    if (taken > 0 && found == 0)
        return error_set(err, ERROR_CONFLICT, "%s came and went meanwhile.", draft->name);
    /* After a pause before the rename the volume may be gone. */
    return driver_fence_check(fence, err);
}
