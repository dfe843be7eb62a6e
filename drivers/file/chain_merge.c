#include "drivers/file/chain_merge.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "drivers/file/qcow2_use.h"
#include "drivers/file/removal.h"
#include "drivers/file/volume_name.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static const char *const keys[] = {
    [CHAIN_MERGING] = "merging", [CHAIN_UNFINISHED] = "unfinished", [CHAIN_UNFLUSHED] = "unflushed"
};

/* ---- notes ---- */

const char *chain_noted(const struct chain *chain, const char *snapshot_id) {
    for (size_t i = 0; i < LENGTH(keys); i++) {
        const char *file = json_text_of(json_object_get(chain->info, keys[i]), snapshot_id);

        if (file && chain_owns(chain, file))
            return file;
    }
    return NULL;
}

bool chain_has_notes(const struct chain *chain) {
    for (size_t i = 0; i < LENGTH(keys); i++)
        if (json_object_size(json_object_get(chain->info, keys[i])) > 0)
            return true;
    return false;
}

bool chain_is_unflushed(const struct chain *chain, const char *snapshot_id) {
    return json_has(json_object_get(chain->info, keys[CHAIN_UNFLUSHED]), snapshot_id);
}

void chain_drop_note(json_t *info, const char *snapshot_id) {
    for (size_t i = 0; i < LENGTH(keys); i++) {
        json_t *notes = json_object_get(info, keys[i]);

        json_object_del(notes, snapshot_id);
        if (json_object_size(notes) == 0)
            json_object_del(info, keys[i]);
    }
}

static json_t *copy_info(const struct chain_work *work, const struct chain *chain) {
    return json_keep(work->arena, json_deep_copy(chain->info));
}

static int write_info(const struct chain_work *work, const struct chain *chain, const json_t *info,
                      struct error *err) {
    assert(chain->info_name);
    return chain_write(work->directory, work->arena, chain, info, work->attempt, work->fence, err);
}

int chain_note(const struct chain_work *work, const struct chain *chain, const char *snapshot_id,
               const char *file, enum chain_note why, struct error *err) {
    const char *overlay = chain_file_of(chain, work->arena, snapshot_id, err), *id;
    json_t *info = copy_info(work, chain), *notes, *unused;

    assert(chain_owns(chain, file));
    if (!overlay)
        return -1;
    chain_drop_note(info, snapshot_id);
    if (strcmp(file, overlay) == 0) {
        json_object_foreach(chain->info, id, unused) {
            const char *noted = chain_has(chain, id) ? chain_noted(chain, id) : NULL;

            if (noted && strcmp(noted, file) == 0 && !chain_is_unflushed(chain, id))
                chain_drop_note(info, id);
        }
    }
    notes = json_object_get(info, keys[why]);
    if (!json_is_object(notes)) {
        notes = json_object();
        json_object_set_new(info, keys[why], notes);
    }
    json_object_set_new(notes, snapshot_id, json_string(file));
    return json_equal(info, chain->info) ? 0 : write_info(work, chain, info, err);
}

/* ---- state of the files ---- */

/* 1: the overlay lies right above that file; 0 it does not, or is gone. */
static int lies_above(const struct directory *directory, const char *overlay, const char *below,
                      struct error *err) {
    struct image_facts facts;
    autoclose int fd = -1;
    int found = image_find(directory->fd, overlay, O_RDONLY, &fd, err);

    if (found <= 0)
        return found;
    if (image_read_facts(fd, "qcow2", &facts, err) < 0)
        return error_context(err, "%s", overlay);
    return strcmp(facts.backing, below) == 0;
}

static bool is_overlay(const struct chain *chain, const char *id, const json_t *file) {
    const char *name = json_string_value(file);

    return name && chain_has(chain, id) && chain_owns(chain, name) &&
           strcmp(name, chain->base) != 0;
}

int chain_check_below(const struct directory *directory, const struct chain *chain,
                      const char *below, const char *one, const char *other, bool writes,
                      struct error *err) {
    const char *id;
    json_t *file;

    json_object_foreach(chain->info, id, file) {
        const char *name = json_string_value(file);
        int above;

        if (!is_overlay(chain, id, file) || (one && strcmp(name, one) == 0) ||
            (other && strcmp(name, other) == 0) || (!writes && chain_noted(chain, id)))
            continue;
        above = lies_above(directory, name, below, err);
        if (above > 0)
            return error_set(
                err, ERROR_BACKEND,
                "%s holds the content of snapshot %s: a guest's host, or a delete that "
                "has failed, has merged the files. Delete that snapshot first.",
                below, id);
        if (above < 0)
            return -1;
    }
    return 0;
}

/* The file that this one is pulled into, by the notes of that kind; NULL: none. */
static const char *find_pull(const struct chain *chain, struct arena *arena, enum chain_note why,
                             const char *file) {
    const char *found = NULL, *id;
    json_t *noted;

    json_object_foreach(json_object_get(chain->info, keys[why]), id, noted) {
        const char *upper = chain_file_of(chain, arena, id, NULL);

        if (upper && strcmp(upper, file) != 0 && json_is_string(noted) &&
            strcmp(json_string_value(noted), file) == 0)
            found = upper;
    }
    return found;
}

const char *chain_upper(const struct chain *chain, struct arena *arena, const char *snapshot_id,
                        struct error *err) {
    const char *file = chain_file_of(chain, arena, snapshot_id, err), *found = file;

    for (int i = 0; found && i < CHAIN_FILES_MOST; i++) {
        file = found;
        found = find_pull(chain, arena, CHAIN_UNFLUSHED, file);
    }
    return file;
}

int chain_find_committed(const struct directory *directory, struct arena *arena,
                         const struct chain *chain, const char *snapshot_id, const char *below,
                         const char **ret, struct error *err) {
    const char *id;
    json_t *unused;

    json_object_foreach(chain->info, id, unused) {
        const char *noted = chain_has(chain, id) ? chain_noted(chain, id) : NULL;
        int above;

        if (!noted || strcmp(id, snapshot_id) == 0 ||
            strcmp(noted, chain_file_of(chain, arena, id, NULL)) != 0)
            continue;
        above = lies_above(directory, noted, below, err);
        if (above > 0)
            *ret = noted;
        if (above != 0)
            return above;
    }
    return 0;
}

/* A noted merge.  The names are NULL where the chain has no such file. */
struct merge {
    const char *id, *file, *overlay;
    bool commits;      /* the overlay is the noted file */
    const char *above; /* its header has led to the noted file before */
    const char *heir, *heir_format;
};

/* 1: the noted file has dropped out, as the headers show. */
static int find_merge(const struct chain_work *work, const struct chain *chain, const char *id,
                      const char *file, struct merge *ret, struct error *err) {
    const char *overlay = chain_file_of(chain, work->arena, id, err);
    const char *upper = overlay ? chain_upper(chain, work->arena, id, err) : NULL;
    struct chain_link links[CHAIN_FILES_MOST];
    struct image_facts facts;
    autoclose int fd = -1;
    int count, below;

    if (!upper)
        return -1;
    *ret = (struct merge){ .id = id, .file = file, .overlay = overlay };
    ret->commits = strcmp(overlay, file) == 0;
    count = chain_walk(work->directory, work->arena, chain, ret->commits ? chain->active : upper,
                       work->volume->format, links, err);
    if (count < 0 || chain_place_of(links, count, file) >= 0)
        return count < 0 ? -1 : 0;
    ret->above = ret->heir = upper;
    ret->heir_format = "qcow2";
    if (!ret->commits)
        return 1;
    ret->above = ret->heir = NULL;
    below = image_find(work->directory->fd, file, O_RDONLY, &fd, err);
    if (below <= 0)
        return below < 0 ? -1 : 1;
    if (image_read_facts(fd, "qcow2", &facts, err) < 0)
        return error_context(err, "%s", file);
    below = chain_place_of(links, count, facts.backing);
    if (below > 0) {
        ret->above = links[below - 1].name;
        ret->heir = links[below].name;
        ret->heir_format = links[below].format;
    }
    return 1;
}

enum place { LAST, NEEDED, BELOW_DROPPED };

/* Does another file of the info lie above the noted one?  NEEDED: it has not dropped out, as where
 * a pull into a later overlay has merged more.  BELOW_DROPPED: a file that is noted itself, which
 * ends before. */
static int find_place(const struct chain_work *work, const struct chain *chain, const char *file,
                      struct error *err) {
    const char *key;
    json_t *value;

    json_object_foreach(chain->info, key, value) {
        const char *name = json_string_value(value);
        int above = is_overlay(chain, key, value) && strcmp(name, file) != 0
                        ? lies_above(work->directory, name, file, err)
                        : 0;
        bool dropped = false;
        const char *id;
        json_t *noted;

        if (above < 0)
            return -1;
        json_object_foreach(json_object_get(chain->info, keys[CHAIN_UNFLUSHED]), id, noted)
            dropped |= json_equal(noted, value) && strcmp(id, key) != 0;
        if (above > 0)
            return dropped ? BELOW_DROPPED : NEEDED;
    }
    return LAST;
}

/* 1: the tables of the file that has the merged content show all of it. */
static int is_covered(const struct chain_work *work, const struct chain *chain,
                      const struct merge *merge, struct error *err) {
    const struct directory *directory = work->directory;
    autoclose int dropped = -1, heir = -1;
    int found = image_find(directory->fd, merge->file, O_RDONLY, &dropped, err);

    if (found <= 0 || !merge->heir)
        return found < 0 ? -1 : !found;
    heir = image_open(directory->fd, merge->heir, O_RDONLY, err);
    if (heir < 0)
        return -1;
    return qcow2_use_covers(
        &(struct qcow2_merge){ .dropped = dropped,
                               .heir = heir,
                               .dropped_raw = strcmp(merge->file, chain->base) == 0 &&
                                              strcmp(work->volume->format, "raw") == 0,
                               .heir_raw = strcmp(merge->heir_format, "raw") == 0,
                               .committed = merge->commits,
                               .fence = work->fence },
        err);
}

/* ---- the end of a merge ---- */

static int reread_file(const struct directory *directory, const char *name, struct error *err) {
    autoclose int fd = -1;
    int found = image_find(directory->fd, name, O_RDONLY, &fd, err);

    return found <= 0 ? found : image_reread(fd, err);
}

int chain_reread(const struct directory *directory, const struct chain *chain, struct error *err) {
    const char *id;
    json_t *file;

    json_object_foreach(chain->info, id, file) {
        if (is_overlay(chain, id, file) && reread_file(directory, json_string_value(file), err) < 0)
            return -1;
    }
    return reread_file(directory, chain->base, err);
}

static void replace_file(json_t *files, const char *except, const char *from, const char *to) {
    const char *id;
    json_t *value;

    json_object_foreach(files, id, value) if (json_is_string(value) && strcmp(id, except) != 0 &&
                                              strcmp(json_string_value(value), from) == 0)
        json_string_set(value, to);
}

/* The snapshot before a pulled one continues above the pulled file. */
static int forget(const struct chain_work *work, const struct chain *chain, const char *snapshot,
                  const char *file, struct error *err) {
    const char *overlay = chain_file_of(chain, work->arena, snapshot, err);
    json_t *info = copy_info(work, chain);

    assert(chain_has(chain, snapshot) && chain_owns(chain, file));
    if (!overlay)
        return -1;
    json_object_del(info, snapshot);
    if (strcmp(file, overlay) != 0) {
        replace_file(info, snapshot, file, overlay);
        for (size_t i = 0; i < LENGTH(keys); i++)
            replace_file(json_object_get(info, keys[i]), snapshot, file, overlay);
    }
    return write_info(work, chain, info, err);
}

struct heads {
    const struct chain_work *work;
    const struct chain *chain;
    const char *file;
    bool named;
    int failed;
    struct error *err;
};

/* Does any other file of the chain still name it? */
static void check_header(void *arg, const char *rest) {
    struct heads *heads = arg;
    const char *name = arena_format(heads->work->arena, VOLUME_NAME_PREFIX "%s", rest);
    int above;

    if (heads->failed || strcmp(name, heads->file) == 0 || strcmp(name, heads->chain->base) == 0 ||
        !chain_owns(heads->chain, name))
        return;
    above = lies_above(heads->work->directory, name, heads->file, heads->err);
    heads->failed = above < 0 ? -1 : 0;
    heads->named |= above > 0;
}

/* The base's name stands for the volume: only its space is reclaimed, where possible. */
static int empty_base(const struct chain_work *work, int fd, struct error *err) {
    enum { HEAD = 1 << 16 };
    off_t end = lseek(fd, 0, SEEK_END);

    assert(fd >= 0);
    if (driver_fence_check(work->fence, err) < 0)
        return -1;
    if (end <= HEAD)
        return 0;
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, HEAD, end - HEAD) < 0 &&
        errno != EOPNOTSUPP)
        return error_errno(err, ERROR_BACKEND, "reclaiming the space of a base");
    return image_flush(fd, err);
}

/* 1: a guest still has it open, or a file that has dropped out, too, lies above it. */
static int remove_dropped(const struct chain_work *work, const struct chain *chain,
                          const char *file, struct error *err) {
    struct heads heads = { work, chain, file, false, 0, err };
    enum image_hold hold;
    autoclose int fd = -1;
    int found = image_find(work->directory->fd, file, O_RDWR, &fd, err);

    if (found <= 0)
        return found;
    if (volume_name_each(work->directory, VOLUME_NAME_PREFIX, check_header, &heads, err) < 0 ||
        heads.failed)
        return -1;
    if (heads.named) {
        struct chain_link links[CHAIN_FILES_MOST];
        int count = chain_walk(work->directory, work->arena, chain, chain->active,
                               work->volume->format, links, err);

        return count < 0 ? -1 : chain_place_of(links, count, file) < 0;
    }
    hold = image_lock_away(fd, err);
    if (hold != IMAGE_LOCKED)
        return hold == IMAGE_HELD ? 1 : -1;
    if (strcmp(file, chain->base) == 0) {
        if (strcmp(file, chain->active) == 0)
            return error_set(err, ERROR_BACKEND, "%s is to be dropped and is the active image",
                             file);
        return empty_base(work, fd, err);
    }
    if (chain_names(chain, file))
        return 0;
    assert(strcmp(file, chain->active) != 0 && chain_owns(chain, file));
    return removal_held(work->directory, file, fd, work->fence, err) < 0
               ? -1
               : directory_flush(work->directory, err);
}

static int read_again(const struct chain_work *work, struct chain *chain, struct error *err) {
    const char *name = volume_name(work->arena, work->volume->name_id, err);

    return name ? chain_read(work->directory, work->arena, name, chain, err) : -1;
}

/* A host merges only below a guest, which has the active file open. */
static int is_open_in_guest(const struct chain_work *work, const struct chain *chain,
                            struct error *err) {
    autoclose int fd = -1;
    enum image_hold hold;

    if (!work->directory->locks_trusted)
        return work->volume->attached;
    fd = image_open(work->directory->fd, chain->active, O_RDONLY, err);
    hold = fd < 0 ? IMAGE_LOCK_FAILED : image_lock_look(fd, err);
    return hold == IMAGE_LOCK_FAILED ? -1 : hold == IMAGE_HELD;
}

static int note_again(const struct chain_work *work, struct chain *chain, const char *id,
                      const char *file, struct error *err) {
    return chain_note(work, chain, id, file, CHAIN_UNFLUSHED, err) < 0
               ? -1
               : read_again(work, chain, err);
}

/* The header leads to the noted file again: that has all that was merged, and nothing newer, so no
 * reader sees a difference.  1: a guest has begun to use the image. */
static int put_back(const struct chain_work *work, const struct chain *chain,
                    const struct merge *merge, struct error *err) {
    const struct directory *directory = work->directory;
    const struct qemu_img_below below = { merge->file, strcmp(merge->file, chain->base) == 0
                                                           ? work->volume->format
                                                           : "qcow2" };
    autoclose int fd = merge->above ? image_open(directory->fd, merge->above, O_RDONLY, err) : -1;
    enum driver_outcome outcome;

    if (!merge->above)
        return 1;
    if (fd < 0 || driver_fence_check(work->fence, err) < 0)
        return -1;
    outcome = qemu_img_point(work->arena, &directory->settings->qemu_img,
                             directory_path(directory, work->arena, merge->above), &below, err);
    if (outcome != DRIVER_DONE)
        return outcome == DRIVER_DEFERRED ? 1 : -1;
    if (image_reread(fd, err) < 0)
        return -1;
    return lies_above(directory, merge->above, merge->file, err) > 0
               ? 0
               : error_set(err, ERROR_BACKEND, "The disk did not take the new header of %s.",
                           merge->above);
}

/* The disk does not show all that was merged: the noted file has the rest. */
static int keep(const struct chain_work *work, struct chain *chain, const struct merge *merge,
                bool is_last, bool only_repair, struct error *err) {
    int open = is_open_in_guest(work, chain, err);
    bool is_back = open == 0 && is_last;

    if (is_back)
        open = put_back(work, chain, merge, err);
    if (open < 0)
        return -1;
    if (only_repair || (!open && !chain_is_unflushed(chain, merge->id)))
        return 0;
    return note_again(work, chain, merge->id, open || !is_back ? merge->file : merge->overlay, err);
}

/* The headers are flushed before the chain changes further. */
static int end_merge(const struct chain_work *work, struct chain *chain, const char *id,
                     bool only_repair, struct error *err) {
    const char *file = chain_noted(chain, id);
    json_t *info;
    int open;

    if (!file || (only_repair && !chain_has(chain, id)))
        return 0;
    if (chain_has(chain, id)) {
        struct merge merge;
        int merged = find_merge(work, chain, id, file, &merge, err), place, covered;

        if (merged < 0)
            return -1;
        /* One that the headers lead to again is merged without a guest. */
        if (merged == 0)
            return only_repair || merge.commits || !chain_is_unflushed(chain, id)
                       ? 0
                       : note_again(work, chain, id, merge.overlay, err);
        /* The file was not committed but pulled for a later snapshot, whose merge ends before. */
        for (int i = 0; merge.commits && i < (int)LENGTH(keys); i++)
            if (find_pull(chain, work->arena, (enum chain_note)i, file))
                return 0;
        place = find_place(work, chain, file, err);
        covered = place == LAST ? is_covered(work, chain, &merge, err) : 0;
        if (place < 0 || covered < 0)
            return -1;
        if (place == NEEDED || (covered && only_repair))
            return 0;
        if (!covered)
            return keep(work, chain, &merge, place == LAST, only_repair, err);
        if (forget(work, chain, id, file, err) < 0 || read_again(work, chain, err) < 0)
            return -1;
    }
    assert(*file);
    open = remove_dropped(work, chain, file, err);
    if (open != 0)
        return open < 0 ? -1 : 0;
    info = copy_info(work, chain);
    chain_drop_note(info, id);
    return write_info(work, chain, info, err) < 0 ? -1 : read_again(work, chain, err);
}

/* Those before which others must end are noted as unflushed.  The headers are those on the disk,
 * also where the kernel has lost one that an earlier call has put back.  The active file may be an
 * overlay with an undoing that was interrupted. */
static int end_merges(const struct chain_work *work, struct chain *chain, bool only_repair,
                      struct error *err) {
    const json_t *before = chain->info;

    if (chain_has_notes(chain) &&
        (chain_restore(work->directory, work->arena, chain->active, err) < 0 ||
         chain_reread(work->directory, chain, err) < 0))
        return -1;
    for (size_t i = LENGTH(keys); i-- > 0;) {
        json_t *notes = json_object_get(before, keys[i]);
        const char *id;
        json_t *unused;

        json_object_foreach(notes, id,
                            unused) if (end_merge(work, chain, id, only_repair, err) < 0) return -1;
    }
    return 0;
}

int chain_enter(const struct chain_work *work, struct chain *ret, int *ret_lock,
                struct error *err) {
    autoclose int lock = -1;
    struct chain chain;

    if (volume_image_lock(work->directory, work->arena, work->volume, VOLUME_ALONE, work->fence,
                          &lock, err) < 0 ||
        read_again(work, &chain, err) < 0 ||
        chain_remove_drafts(work->directory, work->arena, &chain, err) < 0 ||
        (!chain.deleted && end_merges(work, &chain, false, err) < 0))
        return -1;
    *ret = chain;
    *ret_lock = take_fd(lock);
    return 0;
}

int chain_repair(const struct chain_work *work, struct error *err) {
    autoclose int lock = -1;
    struct chain chain;
    int open;

    if (read_again(work, &chain, err) < 0)
        return -1;
    if (!chain_has_notes(&chain) || chain.deleted)
        return 0;
    open = is_open_in_guest(work, &chain, err);
    if (open != 0)
        return open < 0 ? -1 : 0;
    if (volume_image_lock(work->directory, work->arena, work->volume, VOLUME_ALONE, work->fence,
                          &lock, err) < 0 ||
        read_again(work, &chain, err) < 0)
        return -1;
    return chain.deleted ? 0 : end_merges(work, &chain, true, err);
}

/* ---- may others begin? ---- */

int chain_check_others(const struct chain_work *work, const struct chain *chain,
                       const char *snapshot_id, struct error *err) {
    json_t *notes = json_object_get(chain->info, keys[CHAIN_MERGING]), *file;
    const char *id;

    json_object_foreach(notes, id, file) {
        int open = (snapshot_id && strcmp(id, snapshot_id) == 0) || !chain_has(chain, id)
                       ? 0
                       : is_open_in_guest(work, chain, err);

        if (open > 0)
            return error_set(err, ERROR_CONFLICT,
                             "The host of a guest may still be merging the files of snapshot %s: "
                             "delete that one first, or detach the volume.",
                             id);
        if (open < 0)
            return -1;
    }
    return 0;
}

int chain_check_flushed(const struct chain *chain, struct arena *arena,
                        const struct chain_link *links, int count, bool pulls, struct error *err) {
    json_t *notes = json_object_get(chain->info, keys[CHAIN_UNFLUSHED]), *file;
    const char *id;

    json_object_foreach(notes, id, file) {
        const char *upper = chain_upper(chain, arena, id, NULL), *name = json_string_value(file);

        if (name && chain_has(chain, id) && chain_place_of(links, count, name) < 0 &&
            !(pulls && upper && strcmp(upper, links[0].name) == 0 && strcmp(upper, name) != 0))
            return error_set(err, ERROR_CONFLICT,
                             "The guest has not flushed its disk since the files of snapshot %s "
                             "were merged: delete this one later, or detach the volume.",
                             id);
    }
    return 0;
}
