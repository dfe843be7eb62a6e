#include "drivers/file/chain_snapshot.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "drivers/file/chain_merge.h"
#include "drivers/file/removal.h"
#include "drivers/file/volume_name.h"
#include "json/json.h"

#include <fcntl.h>
#include <string.h>

/* ---- create ---- */

int chain_snapshot_fill(const struct draft *draft, struct arena *arena,
                        const struct qemu_img_below *below, int64_t bytes, struct error *err) {
    const struct directory *directory = draft->directory;
    struct image_facts facts;

    assert(draft->fd >= 0 && draft->unfinished && bytes >= 0);
    if (qemu_img_create_above(arena, &directory->settings->qemu_img, draft_path(draft, arena),
                              bytes, below, err) < 0 ||
        image_read_flushed(draft->fd, "qcow2", &facts, err) < 0)
        return -1;
    if (facts.virtual_bytes != bytes || strcmp(facts.backing, below->name) != 0 ||
        strcmp(facts.backing_format, below->format) != 0)
        return error_set(err, ERROR_BACKEND, "qemu-img create made another image than it should.");
    return 0;
}

static int make_overlay(const struct directory *directory, struct arena *arena,
                        const struct driver_volume *volume, const struct driver_snapshot *snapshot,
                        const struct image_source *source, const char *overlay, struct error *err) {
    const struct qemu_img_below below = { source->name,
                                          source->layered ? "qcow2" : volume->format };
    const int64_t sector = 512;
    int64_t bytes = (source->virtual_bytes + sector - 1) / sector * sector;
    int64_t recorded = volume_image_bytes(volume->size_gb);
    autodraft struct draft draft = { 0 };
    int taken;

    /* Never smaller than the image below it, or its record (X27). */
    if (bytes < recorded)
        bytes = recorded;
    if (directory_check_place(directory, err) < 0 ||
        draft_open(directory, arena, overlay, snapshot->attempt, &draft, err) < 0 ||
        chain_snapshot_fill(&draft, arena, &below, bytes, err) < 0)
        return -1;
    taken = draft_publish(&draft, snapshot->fence, err);
    /* No info names an existing one: it has no reader, and the image below may have changed
     * since. */
    if (taken > 0)
        taken = draft_replace(&draft, snapshot->fence, err);
    return taken < 0 ? -1 : directory_flush(directory, err);
}

int chain_snapshot_put(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, const struct driver_snapshot *snapshot,
                       const struct image_source *source, const char **ret, struct error *err) {
    const struct chain *chain = &source->chain;
    const char *overlay = chain_overlay(chain, arena, snapshot->name_id, err);
    struct chain_link links[CHAIN_FILES_MOST];
    json_t *info;
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
    if (image_flush(source->fd, err) < 0 ||
        make_overlay(directory, arena, volume, snapshot, source, overlay, err) < 0)
        return -1;
    assert(chain_owns(chain, overlay) && strcmp(overlay, chain->base) != 0);
    info = json_keep(arena, chain->info ? json_copy(chain->info) : json_object());
    json_object_set_new(info, "active", json_string(overlay));
    json_object_set_new(info, snapshot->name_id, json_string(overlay));
    if (chain_write(directory, arena, chain, info, snapshot->attempt, snapshot->fence, err) < 0)
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
    int64_t virtual_bytes; /* of that */
    struct chain_link links[CHAIN_FILES_MOST];
    int count;
    int at;           /* of the overlay in the chain; -1: it has dropped out already */
    int below, above; /* the file that it is written into, and the one above that then; -1: none */
};

static const char *path_of(const struct deletion *deletion, const char *name) {
    return directory_path(deletion->directory, deletion->arena, name);
}

static int open_link(const struct deletion *deletion, int at, struct error *err) {
    assert(at >= 0 && at < deletion->count);
    return image_open(deletion->directory->fd, deletion->links[at].name, O_RDONLY, err);
}

static enum driver_outcome commit(const struct deletion *deletion, const struct image_copy *how,
                                  struct error *err) {
    autoclose int fd = open_link(deletion, deletion->below, err);
    enum driver_outcome outcome;

    assert(strcmp(deletion->links[deletion->below].name, deletion->overlay) != 0);
    if (fd < 0 || driver_fence_check(how->fence, err) < 0)
        return DRIVER_FAILED;
    outcome =
        qemu_img_commit(deletion->arena, &deletion->directory->settings->qemu_img,
                        path_of(deletion, deletion->overlay), deletion->virtual_bytes, how, err);
    if (outcome != DRIVER_DONE)
        return outcome;
    return image_flush(fd, err) < 0 || driver_fence_check(how->fence, err) < 0 ? DRIVER_FAILED
                                                                               : DRIVER_DONE;
}

static enum driver_outcome rebase(const struct deletion *deletion, const struct image_copy *how,
                                  struct error *err) {
    const struct chain_link *links = deletion->links, *link = &links[deletion->above];
    const struct qemu_img_below below = { links[deletion->below].name,
                                          links[deletion->below].format };
    autoclose int fd = open_link(deletion, deletion->above, err);
    struct image_facts facts;
    enum driver_outcome outcome;

    assert(deletion->above < deletion->below);
    if (fd < 0)
        return DRIVER_FAILED;
    outcome =
        qemu_img_rebase(deletion->arena, &deletion->directory->settings->qemu_img,
                        path_of(deletion, link->name), &below, deletion->virtual_bytes, how, err);
    if (outcome != DRIVER_DONE)
        return outcome;
    if (image_reread(fd, err) < 0 || image_read_facts(fd, "qcow2", &facts, err) < 0)
        return DRIVER_FAILED;
    return strcmp(facts.backing, below.name) == 0
               ? DRIVER_DONE
               : error_set(err, ERROR_BACKEND, "The disk did not take the new header of %s.",
                           link->name);
}

static struct image_copy how_of(const struct deletion *deletion) {
    return (struct image_copy){ deletion->snapshot->fence, deletion->progress,
                                deletion->directory->settings->copy_bytes_per_second };
}

static int forget(const struct deletion *deletion, const struct chain *chain, struct error *err) {
    const struct driver_snapshot *snapshot = deletion->snapshot;
    json_t *info = json_keep(deletion->arena, json_deep_copy(chain->info));

    assert(deletion->at < 0 || deletion->at + 1 < deletion->count); /* it lies above a file */
    if (deletion->at == 0)
        json_object_set_new(info, "active", json_string(deletion->links[1].name));
    json_object_del(info, snapshot->name_id);
    chain_drop_note(info, snapshot->name_id);
    return chain_write(deletion->directory, deletion->arena, chain, info, snapshot->attempt,
                       snapshot->fence, err);
}

/* An earlier attempt has merged it, perhaps in memory only, or a late host has pulled it into the
 * file above.  Either way another merge gives the file below exactly its content.  1: to be merged,
 * 0: the overlay is gone, too. */
static int find_dropped(struct deletion *deletion, const struct chain *chain, struct error *err) {
    struct image_facts facts;
    autoclose int fd = -1;
    int found = image_find(deletion->directory->fd, deletion->overlay, O_RDONLY, &fd, err);

    if (found <= 0)
        return found;
    if (image_read_facts(fd, "qcow2", &facts, err) < 0)
        return error_context(err, "%s", deletion->overlay);
    deletion->virtual_bytes = facts.virtual_bytes;
    deletion->below = chain_place_of(deletion->links, deletion->count, facts.backing);
    deletion->above = deletion->below - 1;
    if (deletion->below < 0)
        return error_set(err, ERROR_BACKEND, "%s lies above no file of the chain.",
                         deletion->overlay);
    return chain_check_below(deletion->directory, chain, deletion->overlay, NULL, NULL, true, err) <
                   0
               ? -1
               : 1;
}

static int find_place(struct deletion *deletion, const struct chain *chain, struct error *err) {
    int at = deletion->at = chain_place_of(deletion->links, deletion->count, deletion->overlay);

    if (at < 0)
        return find_dropped(deletion, chain, err);
    if (at + 1 == deletion->count)
        return error_set(err, ERROR_BACKEND, "Nothing lies below %s.", deletion->overlay);
    deletion->virtual_bytes = deletion->links[at].virtual_bytes;
    deletion->below = at + 1;
    deletion->above = at - 1;
    return 1;
}

/* The next attempt finds this note.  Until the info has lost the snapshot, its overlay and the one
 * above may lie above the same file. */
static int note_merge(const struct deletion *deletion, const struct chain_work *work,
                      struct chain *chain, struct error *err) {
    const struct image_copy how = how_of(deletion);

    if (deletion->at < 0)
        return 0;
    if (qemu_img_may_move(path_of(deletion, deletion->overlay), &how, err) < 0)
        return -1;
    return chain_note(work, chain, deletion->snapshot->name_id, deletion->overlay,
                      chain_is_unflushed(chain, deletion->snapshot->name_id) ? CHAIN_UNFLUSHED
                                                                             : CHAIN_UNFINISHED,
                      err) < 0
               ? -1
               : chain_read(work->directory, work->arena,
                            volume_name(work->arena, work->volume->name_id, NULL), chain, err);
}

static int walk(struct deletion *deletion, const struct chain_work *work, const struct chain *chain,
                struct error *err) {
    deletion->count = chain_walk(deletion->directory, deletion->arena, chain, chain->active,
                                 work->volume->format, deletion->links, err);
    return deletion->count < 0 ? -1 : 0;
}

/* 1: it can be merged, 0 it is already gone. */
static int begin_merge(struct deletion *deletion, const struct chain_work *work,
                       struct chain *chain, struct error *err) {
    const char *above = NULL;
    int more;

    if (walk(deletion, work, chain, err) < 0)
        return -1;
    /* After an earlier attempt, the state on the disk counts (image_flush()). */
    if ((chain_noted(chain, deletion->snapshot->name_id) ||
         chain_place_of(deletion->links, deletion->count, deletion->overlay) < 0) &&
        (chain_reread(deletion->directory, chain, err) < 0 || walk(deletion, work, chain, err) < 0))
        return -1;
    more = find_place(deletion, chain, err);
    if (more <= 0)
        return more;
    if (deletion->at < 0 && deletion->above >= 0)
        above = deletion->links[deletion->above].name;
    /* No other snapshot loses the overwritten content. */
    if (chain_check_below(deletion->directory, chain, deletion->links[deletion->below].name,
                          deletion->overlay, above, true, err) < 0 ||
        note_merge(deletion, work, chain, err) < 0)
        return -1;
    return 1;
}

/* DONE: no guest has it open. */
static enum driver_outcome look_for_guest(const struct chain_work *work, int fd,
                                          struct error *err) {
    enum image_hold hold = work->volume->attached ? IMAGE_HELD : image_lock_look(fd, err);

    return hold == IMAGE_LOCKED ? DRIVER_DONE
           : hold == IMAGE_HELD ? DRIVER_DEFERRED
                                : DRIVER_FAILED;
}

static enum driver_outcome take_out(struct deletion *deletion, const struct chain_work *work,
                                    struct error *err) {
    const struct image_copy how = how_of(deletion);
    struct volume_image image;
    autoclose int fd = volume_image_open(deletion->directory, deletion->arena, work->volume,
                                         O_RDONLY, &image, err);
    enum driver_outcome outcome = fd < 0 ? DRIVER_FAILED : look_for_guest(work, fd, err);
    int more;

    if (outcome != DRIVER_DONE)
        return outcome;
    more = begin_merge(deletion, work, &image.chain, err);
    if (more > 0) {
        assert(deletion->below >= 0 && deletion->below < deletion->count);
        outcome = commit(deletion, &how, err);
        if (outcome == DRIVER_DONE && deletion->above >= 0)
            outcome = rebase(deletion, &how, err);
    }
    if (more < 0 || outcome != DRIVER_DONE)
        return more < 0 ? DRIVER_FAILED : outcome;
    return forget(deletion, &image.chain, err) < 0 ? DRIVER_FAILED : DRIVER_DONE;
}

/* The delete of the volume removes it: a merge would need space, and time. */
static enum driver_outcome leave_to_volume(const struct chain_work *work, const struct chain *chain,
                                           struct error *err) {
    autoclose int fd = -1;
    int found = image_find(work->directory->fd, chain->active, O_RDONLY, &fd, err);
    enum driver_outcome outcome;

    if (found < 0)
        return DRIVER_FAILED;
    if (found == 0 && !work->volume->attached)
        return DRIVER_WITH_VOLUME;
    outcome = look_for_guest(work, fd, err);
    return outcome == DRIVER_DONE ? DRIVER_WITH_VOLUME : outcome;
}

/* An overlay that no info names, and whose id is never used again.  A file merged by a guest's host
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

int chain_snapshot_end_deletes(const struct chain_work *work,
                               const struct driver_progress *progress, struct error *err) {
    const char *name = volume_name(work->arena, work->volume->name_id, NULL), *id;
    struct deletion *deletion = arena_alloc(work->arena, sizeof(*deletion));
    struct chain chain;
    json_t *unused;

    if (chain_read(work->directory, work->arena, name, &chain, err) < 0)
        return -1;
    json_object_foreach(chain.info, id, unused) {
        const struct driver_snapshot snapshot = {
            .id = id, .name_id = id, .fence = work->fence, .attempt = work->attempt
        };
        enum driver_outcome outcome;

        if (!chain_has(&chain, id) || !chain_is_unflushed(&chain, id))
            continue;
        *deletion = (struct deletion){
            .directory = work->directory,
            .arena = work->arena,
            .snapshot = &snapshot,
            .progress = progress,
            .overlay = chain_file_of(&chain, work->arena, id, err),
        };
        outcome = deletion->overlay ? take_out(deletion, work, err) : DRIVER_FAILED;
        if (outcome == DRIVER_DONE)
            outcome = remove_nameless(deletion, err);
        if (outcome != DRIVER_DONE)
            return outcome == DRIVER_DEFERRED ? 0 : -1;
    }
    return 0;
}

enum driver_outcome chain_snapshot_delete(const struct directory *directory, struct arena *arena,
                                          const struct driver_volume *volume,
                                          const struct driver_snapshot *snapshot,
                                          const struct driver_progress *progress,
                                          struct error *err) {
    const struct chain_work work = { directory, arena, volume, snapshot->fence, snapshot->attempt };
    const char *name = volume_name(arena, volume->name_id, err);
    struct deletion *deletion = arena_alloc(arena, sizeof(*deletion));
    enum driver_outcome outcome = DRIVER_DONE;
    struct error why = { .kind = ERROR_NONE };
    autoclose int base = -1, lock = -1;
    struct chain chain;

    if (!name || chain_read(directory, arena, name, &chain, err) < 0)
        return DRIVER_FAILED;
    if (!chain.info && !directory->settings->overlays)
        return DRIVER_DONE;
    if (image_find(directory->fd, chain.base, O_RDONLY, &base, NULL) == 0)
        return DRIVER_DONE; /* with its volume */
    /* With the volume no merge has to be completed, for which a full disk has no space. */
    if (snapshot->with_volume ? volume_image_lock(directory, arena, volume, VOLUME_TO_DELETE,
                                                  snapshot->fence, &lock, err) < 0 ||
                                    chain_read(directory, arena, name, &chain, err) < 0
                              : chain_enter(&work, &chain, &lock, err) < 0)
        return DRIVER_FAILED;
    if (lock < 0 && snapshot->with_volume)
        return DRIVER_DONE;
    *deletion = (struct deletion){
        .directory = directory, .arena = arena, .snapshot = snapshot, .progress = progress
    };
    deletion->overlay = chain_file_of(&chain, arena, snapshot->name_id, err);
    if (!deletion->overlay)
        return DRIVER_FAILED;
    if (snapshot->late && (chain_has(&chain, snapshot->name_id) || !directory->locks_trusted))
        return DRIVER_DONE;
    if (!chain.deleted && chain_has(&chain, snapshot->name_id)) {
        if (snapshot->with_volume)
            return leave_to_volume(&work, &chain, err);
        if (chain_restore(directory, arena, deletion->overlay, err) < 0)
            return DRIVER_FAILED;
        outcome = take_out(deletion, &work, err);
    }
    if (outcome == DRIVER_DONE)
        outcome = remove_nameless(deletion, err);
    if (outcome == DRIVER_DONE && !chain.deleted && !snapshot->late && !snapshot->with_volume &&
        chain_snapshot_end_deletes(&work, progress, &why) < 0 && why.kind == ERROR_BUSY) {
        error_pass(err, &why);
        return DRIVER_FAILED;
    }
    return outcome;
}
