#include "drivers/file/chain_merge.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "drivers/file/removal.h"
#include "drivers/file/volume_name.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static const char *const keys[] = { "merging", "unfinished" };

/* ---- notes ---- */

const char *chain_noted(const struct chain *chain, const char *snapshot_id) {
    for (size_t i = 0; i < LENGTH(keys); i++) {
        const char *file = json_text_of(json_object_get(chain->info, keys[i]), snapshot_id);

        if (file && chain_owns(chain, file))
            return file;
    }
    return NULL;
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
               const char *file, bool by_host, struct error *err) {
    const char *key = keys[by_host ? 0 : 1];
    const char *noted = json_text_of(json_object_get(chain->info, key), snapshot_id);
    json_t *info = copy_info(work, chain), *notes;

    assert(chain_owns(chain, file));
    if (noted && strcmp(noted, file) == 0)
        return 0;
    chain_drop_note(info, snapshot_id);
    notes = json_object_get(info, key);
    if (!json_is_object(notes)) {
        notes = json_object();
        json_object_set_new(info, key, notes);
    }
    json_object_set_new(notes, snapshot_id, json_string(file));
    return write_info(work, chain, info, err);
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

/* Has the noted file dropped out?  If a pull into a later overlay has merged more than it, another
 * file still lies above it, and it has not. */
static int is_done(const struct chain_work *work, const struct chain *chain, const char *id,
                   const char *file, struct error *err) {
    const char *overlay = chain_file_of(chain, work->arena, id, err), *key;
    bool commits = overlay && strcmp(overlay, file) == 0;
    struct chain_link links[CHAIN_FILES_MOST];
    json_t *value;
    int count;

    if (!overlay)
        return -1;
    if (!chain_has(chain, id))
        return 1;
    count = chain_walk(work->directory, work->arena, chain, commits ? chain->active : overlay,
                       work->volume->format, links, err);
    if (count < 0)
        return -1;
    if (chain_place_of(links, count, file) >= 0)
        return 0;
    json_object_foreach(chain->info, key, value) {
        const char *name = json_string_value(value);
        int above = is_overlay(chain, key, value) && strcmp(name, file) != 0
                        ? lies_above(work->directory, name, file, err)
                        : 0;

        if (above != 0)
            return above < 0 ? -1 : 0;
    }
    return 1;
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

/* The snapshot before a pulled one continues above the pulled file. */
static int forget(const struct chain_work *work, const struct chain *chain, const char *snapshot,
                  const char *file, struct error *err) {
    const char *overlay = chain_file_of(chain, work->arena, snapshot, err), *id;
    json_t *info = copy_info(work, chain), *value;

    assert(chain_has(chain, snapshot) && chain_owns(chain, file));
    if (!overlay)
        return -1;
    json_object_del(info, snapshot);
    if (strcmp(file, overlay) != 0)
        json_object_foreach(info, id, value) if (json_is_string(value) &&
                                                 strcmp(json_string_value(value), file) == 0)
            json_string_set(value, overlay);
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

/* 1: a guest still has it open. */
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
    if (heads.named)
        return 0;
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
    return chain_read(work->directory, work->arena,
                      volume_name(work->arena, work->volume->name_id, NULL), chain, err);
}

/* The headers are flushed before the chain changes further. */
static int end_merge(const struct chain_work *work, struct chain *chain, const char *id,
                     const char *file, struct error *err) {
    int done, open;
    json_t *info;

    if (chain_has(chain, id)) {
        if (chain_reread(work->directory, chain, err) < 0)
            return -1;
        done = is_done(work, chain, id, file, err);
        if (done <= 0)
            return done;
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

static int end_merges(const struct chain_work *work, struct chain *chain, struct error *err) {
    const json_t *before = chain->info;

    for (size_t i = 0; i < LENGTH(keys); i++) {
        json_t *notes = json_object_get(before, keys[i]);
        const char *id;
        json_t *unused;

        json_object_foreach(notes, id, unused) {
            const char *file = chain_noted(chain, id);
            int done = file ? is_done(work, chain, id, file, err) : 0;

            if (done < 0 || (done > 0 && end_merge(work, chain, id, file, err) < 0))
                return -1;
        }
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
        (!chain.deleted && end_merges(work, &chain, err) < 0))
        return -1;
    *ret = chain;
    *ret_lock = take_fd(lock);
    return 0;
}

/* ---- may others begin? ---- */

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

int chain_check_others(const struct chain_work *work, const struct chain *chain,
                       const char *snapshot_id, struct error *err) {
    json_t *notes = json_object_get(chain->info, keys[0]), *file;
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
