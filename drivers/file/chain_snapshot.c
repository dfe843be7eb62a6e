#include "drivers/file/chain_snapshot.h"

#include "common/cleanup.h"
#include "drivers/file/removal.h"
#include "drivers/file/volume_name.h"
#include "json/json.h"

#include <fcntl.h>
#include <string.h>

/* A copy of the info to be changed. */
static json_t *copy_info(const struct chain *chain, struct arena *arena) {
    return json_keep(arena, chain->info ? json_copy(chain->info) : json_object());
}

/* ---- create ---- */

int chain_snapshot_fill(const struct draft *draft, struct arena *arena,
                        const struct qemu_img_below *below, int64_t bytes, struct error *err) {
    const struct directory *directory = draft->directory;
    struct image_facts facts;

    if (qemu_img_create_above(arena, &directory->settings->qemu_img,
                              directory_path(directory, arena, draft->unfinished), bytes, below,
                              err) < 0 ||
        image_read_flushed(draft->fd, "qcow2", &facts, err) < 0)
        return -1;
    if (facts.virtual_bytes != bytes || strcmp(facts.backing, below->name) != 0 ||
        strcmp(facts.backing_format, below->format) != 0)
        return error_set(err, ERROR_BACKEND, "qemu-img create made another image than it should.");
    return 0;
}

/* One that is there already was named by no info: nobody reads it, and its image below may have
 * changed since. */
static int publish(struct draft *draft, const struct driver_fence *fence, struct error *err) {
    int taken = draft_publish(draft, fence, err);

    return taken > 0 ? draft_replace(draft, fence, err) : taken;
}

/* Never smaller than what is below it, or its record (X27). */
static int64_t overlay_bytes(const struct driver_volume *volume,
                             const struct image_source *source) {
    const int64_t sector = 512;
    int64_t recorded = volume_image_bytes(volume->size_gb);
    int64_t real = (source->virtual_bytes + sector - 1) / sector * sector;

    return real > recorded ? real : recorded;
}

static int make_overlay(const struct directory *directory, struct arena *arena,
                        const struct driver_volume *volume, const struct driver_snapshot *snapshot,
                        const struct image_source *source, const char *overlay, struct error *err) {
    const struct qemu_img_below below = { source->name,
                                          source->layered ? "qcow2" : volume->format };
    autodraft struct draft draft = { 0 };

    if (draft_open(directory, arena, overlay, snapshot->attempt, &draft, err) < 0 ||
        chain_snapshot_fill(&draft, arena, &below, overlay_bytes(volume, source), err) < 0 ||
        publish(&draft, snapshot->fence, err) < 0)
        return -1;
    return directory_flush(directory, err);
}

static int go_on_in(const struct directory *directory, struct arena *arena,
                    const struct driver_snapshot *snapshot, const struct chain *chain,
                    const char *overlay, struct error *err) {
    json_t *info = copy_info(chain, arena);

    json_object_set_new(info, "active", json_string(overlay));
    json_object_set_new(info, snapshot->name_id, json_string(overlay));
    return chain_write(directory, arena, chain, info, snapshot->attempt, snapshot->fence, err);
}

int chain_snapshot_put(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, const struct driver_snapshot *snapshot,
                       const struct image_source *source, const char **ret, struct error *err) {
    const struct chain *chain = &source->chain;
    const char *overlay = chain_overlay(chain, arena, snapshot->name_id, err);
    struct chain_link links[CHAIN_FILES_MOST];
    int count;

    if (!overlay)
        return -1;
    count = chain_walk(directory, arena, chain, source->name, volume->format, links, err);
    if (count < 0)
        return -1;
    if (count == CHAIN_FILES_MOST)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Volume %s has %d snapshots, the most there can be.", volume->id,
                         CHAIN_SNAPSHOTS_MOST);
    if (chain_settle(directory, arena, chain, err) < 0 || image_flush(source->fd, err) < 0 ||
        make_overlay(directory, arena, volume, snapshot, source, overlay, err) < 0 ||
        go_on_in(directory, arena, snapshot, chain, overlay, err) < 0)
        return -1;
    *ret = overlay;
    return 0;
}

enum driver_outcome chain_snapshot_create(const struct directory *directory, struct arena *arena,
                                          const struct driver_volume *volume,
                                          const struct driver_snapshot *snapshot,
                                          const struct image_source *source, struct error *err) {
    int held = image_source_hold(source, err);
    const char *overlay;

    if (held != 0)
        return held > 0 ? DRIVER_DEFERRED : DRIVER_FAILED;
    return chain_snapshot_put(directory, arena, volume, snapshot, source, &overlay, err) < 0
               ? DRIVER_FAILED
               : DRIVER_DONE;
}

/* ---- delete ---- */

struct deletion {
    const struct directory *directory;
    struct arena *arena;
    const struct driver_snapshot *snapshot;
    const struct driver_progress *progress;
    const char *overlay;
    struct chain_link links[CHAIN_FILES_MOST];
    int count, at; /* of the overlay; -1: nothing lies above it or below any more */
};

static int flush_link(const struct deletion *deletion, int at, struct error *err) {
    autoclose int fd = image_open(deletion->directory->fd, deletion->links[at].name, O_RDONLY, err);

    return fd < 0 ? -1 : image_flush(fd, err);
}

static enum driver_outcome merge(const struct deletion *deletion, struct error *err) {
    const struct directory *directory = deletion->directory;
    const struct qemu_img *tool = &directory->settings->qemu_img;
    const struct image_copy how = { deletion->snapshot->fence, deletion->progress,
                                    directory->settings->copy_bytes_per_second };
    const struct chain_link *links = deletion->links;
    int at = deletion->at;
    const struct qemu_img_below below = { links[at + 1].name, links[at + 1].format };
    struct arena *arena = deletion->arena;
    enum driver_outcome outcome;

    if (driver_fence_check(how.fence, err) < 0)
        return DRIVER_FAILED;
    outcome = qemu_img_commit(arena, tool, directory_path(directory, arena, deletion->overlay),
                              links[at].virtual_bytes, &how, err);
    if (outcome != DRIVER_DONE)
        return outcome;
    if (flush_link(deletion, at + 1, err) < 0 || driver_fence_check(how.fence, err) < 0)
        return DRIVER_FAILED;
    if (at == 0)
        return DRIVER_DONE;
    outcome = qemu_img_rebase(arena, tool, directory_path(directory, arena, links[at - 1].name),
                              &below, links[at].virtual_bytes, &how, err);
    if (outcome != DRIVER_DONE)
        return outcome;
    return flush_link(deletion, at - 1, err) < 0 ? DRIVER_FAILED : DRIVER_DONE;
}

static int forget(const struct deletion *deletion, const struct chain *chain, struct error *err) {
    const struct driver_snapshot *snapshot = deletion->snapshot;
    json_t *info = copy_info(chain, deletion->arena);

    if (deletion->at == 0)
        json_object_set_new(info, "active", json_string(deletion->links[1].name));
    json_object_del(info, snapshot->name_id);
    json_object_del(info, "merging");
    return chain_write(deletion->directory, deletion->arena, chain, info, snapshot->attempt,
                       snapshot->fence, err);
}

static enum driver_outcome take_out(struct deletion *deletion, const struct driver_volume *volume,
                                    struct error *err) {
    struct volume_image image;
    autoclose int fd =
        volume_image_open(deletion->directory, deletion->arena, volume, O_RDONLY, &image, err);
    enum driver_outcome outcome = DRIVER_DONE;
    enum image_hold hold;

    if (fd < 0)
        return DRIVER_FAILED;
    hold = volume->attached ? IMAGE_HELD : image_lock_look(fd, err);
    if (hold != IMAGE_LOCKED)
        return hold == IMAGE_HELD ? DRIVER_DEFERRED : DRIVER_FAILED;
    deletion->count = chain_walk(deletion->directory, deletion->arena, &image.chain, image.name,
                                 volume->format, deletion->links, err);
    if (deletion->count < 0)
        return DRIVER_FAILED;
    deletion->at = deletion->count - 1;
    while (deletion->at >= 0 && strcmp(deletion->links[deletion->at].name, deletion->overlay) != 0)
        deletion->at--;
    if (deletion->at >= 0 && deletion->at + 1 == deletion->count)
        return error_set(err, ERROR_BACKEND, "Nothing lies below %s.", deletion->overlay);
    if (deletion->at >= 0)
        outcome = merge(deletion, err);
    if (outcome != DRIVER_DONE)
        return outcome;
    return forget(deletion, &image.chain, err) < 0 ? DRIVER_FAILED : DRIVER_DONE;
}

/* An overlay that no info names, and whose id is never given again.  What a guest's host has merged
 * may bear it, and stays. */
static enum driver_outcome remove_nameless(const struct deletion *deletion, struct error *err) {
    const struct directory *directory = deletion->directory;
    const struct driver_snapshot *snapshot = deletion->snapshot;
    struct arena *arena = deletion->arena;
    int named = removal_image(directory, arena, deletion->overlay, snapshot->fence, err);

    if (named != 0)
        return named < 0 ? DRIVER_FAILED : DRIVER_DONE;
    if ((snapshot->provider_location
             ? volume_name_remove_draft(directory, arena, deletion->overlay, 1, err)
             : volume_name_remove_unfinished(directory, arena, deletion->overlay, err)) < 0)
        return DRIVER_FAILED;
    return directory_flush(directory, err) < 0 ? DRIVER_FAILED : DRIVER_DONE;
}

enum driver_outcome chain_snapshot_delete(const struct directory *directory, struct arena *arena,
                                          const struct driver_volume *volume,
                                          const struct driver_snapshot *snapshot,
                                          const struct driver_progress *progress,
                                          struct error *err) {
    const char *name = volume_name(arena, volume->name_id, err);
    struct deletion *deletion = arena_alloc(arena, sizeof(*deletion));
    enum driver_outcome outcome = DRIVER_DONE;
    autoclose int base = -1, lock = -1;
    struct chain chain;

    if (!name || chain_read(directory, arena, name, &chain, err) < 0)
        return DRIVER_FAILED;
    if (!chain.info && !directory->settings->overlays)
        return DRIVER_DONE;
    if (image_find(directory->fd, chain.base, O_RDONLY, &base, NULL) == 0)
        return DRIVER_DONE; /* with its volume */
    if (chain_lock(directory, &chain, true, snapshot->fence, &lock, err) < 0 ||
        chain_settle(directory, arena, &chain, err) < 0 ||
        chain_read(directory, arena, name, &chain, err) < 0)
        return DRIVER_FAILED;
    *deletion = (struct deletion){
        .directory = directory, .arena = arena, .snapshot = snapshot, .progress = progress
    };
    deletion->overlay = chain_file_of(&chain, arena, snapshot->name_id, err);
    if (!deletion->overlay)
        return DRIVER_FAILED;
    if (snapshot->late && (chain_has(&chain, snapshot->name_id) || !directory->locks_trusted))
        return DRIVER_DONE;
    if (!chain.deleted && chain_has(&chain, snapshot->name_id)) {
        if (chain_restore(directory, arena, deletion->overlay, err) < 0)
            return DRIVER_FAILED;
        outcome = take_out(deletion, volume, err);
    }
    return outcome == DRIVER_DONE ? remove_nameless(deletion, err) : outcome;
}
