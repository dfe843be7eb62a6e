#include "drivers/file/volume_file.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/no_space.h"
#include "drivers/file/chain_merge.h"
#include "drivers/file/removal.h"
#include "drivers/file/volume_name.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int volume_file_has(const struct directory *directory, const char *name, struct error *err) {
    struct stat status;

    if (fstatat(directory->fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0)
        return 1;
    if (errno == ENOENT)
        return 0;
    return error_errno(err, ERROR_BACKEND, "looking for %s in %s", name, directory->path);
}

int volume_file_exists(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, struct error *err) {
    const char *name = volume_name(arena, volume->name_id, err);

    return name ? volume_file_has(directory, name, err) : -1;
}

/* ---- delete ---- */

/* A disk that a running guest has open is never removed, whatever the rows contain: they may be
 * wrong.  A file that an earlier call has deleted has no user. */
int volume_file_check_unused(const struct directory *directory, const char *name,
                             struct error *err) {
    autoclose int fd = -1;
    int found = image_find(directory->fd, name, O_RDONLY, &fd, err);

    return found <= 0 ? found : removal_refuse_held(image_lock_look(fd, err), name, err);
}

/* Also without an image: a worker that has lost its lease may meet the drafts of another one. */
static int remove_drafts(const struct directory *directory, struct arena *arena, const char *name,
                         bool made, const struct driver_fence *fence, struct error *err) {
    /* Only a create that never ended leaves drafts, and then their number is unknown. */
    int left = made ? volume_file_has(directory, volume_name_unfinished(arena, name, 1), err) : 1;

    if (left < 0 || (left > 0 && driver_fence_check(fence, err) < 0))
        return -1;
    if (left > 0 && (made ? volume_name_remove_draft(directory, arena, name, 1, err)
                          : volume_name_remove_unfinished(directory, arena, name, err)) < 0)
        return -1;
    return directory_flush(directory, err);
}

int volume_file_remove(const struct directory *directory, struct arena *arena, const char *name,
                       bool made, const struct driver_fence *fence, struct error *err) {
    int named = removal_image(directory, arena, name, fence, err);

    if (named != 0)
        return named < 0 ? -1
                         : error_set(err, ERROR_CONFLICT, "%s is a file of a volume in use.", name);
    return remove_drafts(directory, arena, name, made, fence, err);
}

/* From then on the rest has no user. */
static int mark_deleted(const struct directory *directory, struct arena *arena,
                        const struct driver_volume *volume, const struct chain *chain,
                        struct error *err) {
    json_t *info = json_keep(arena, json_copy(chain->info));

    assert(chain->info && chain_owns(chain, chain->active));
    if (chain->deleted)
        return 0;
    json_object_del(info, "active");
    json_object_set_new(info, "deleted", json_string(chain->active));
    return chain_write(directory, arena, chain, info, volume->attempt, volume->fence, err);
}

/* The base goes last. */
static int remove_overlay(const struct directory *directory, struct arena *arena,
                          const struct driver_volume *volume, const struct chain *chain,
                          const char *name, struct error *err) {
    if (!name || !chain_owns(chain, name) || strcmp(name, chain->base) == 0)
        return 0;
    return volume_file_remove(directory, arena, name, false, volume->fence, err) < 0 ||
                   removal_image(directory, arena, chain_name_undone(arena, name), volume->fence,
                                 err) < 0
               ? -1
               : 0;
}

/* A full disk has no space for the mark: the active file goes first then, and makes some. Without
 * that file nothing reads the others. */
static int mark_deleted_when_full(const struct directory *directory, struct arena *arena,
                                  const struct driver_volume *volume, const struct chain *chain,
                                  struct error *err) {
    if (mark_deleted(directory, arena, volume, chain, err) == 0)
        return 0;
    return error_is_no_space(err) &&
                   removal_unnamed(directory, chain->active, volume->fence, err) == 0
               ? mark_deleted(directory, arena, volume, chain, err)
               : -1;
}

/* An unmanaged snapshot is not deleted with the volume that contains it. */
static int check_no_unmanaged(const struct chain *chain, struct error *err) {
    const char *id;
    json_t *value;

    json_object_foreach(chain->info, id, value) if (volume_name_is_nobodys(id)) return error_set(
        err, ERROR_BACKEND,
        "The volume's files contain an unmanaged snapshot: manage %s, and delete it first.",
        json_string_value(value));
    return 0;
}

/* The info names all of them, independent of their headers. */
static int remove_chain(const struct directory *directory, struct arena *arena,
                        const struct driver_volume *volume, const struct chain *chain,
                        struct error *err) {
    static const char *const notes[] = { "merging", "unfinished", "unflushed" };
    const char *key;
    json_t *value;

    assert(chain->info);
    if (check_no_unmanaged(chain, err) < 0 ||
        volume_file_check_unused(directory, chain->active, err) < 0 ||
        chain_remove_drafts(directory, arena, chain, err) < 0 ||
        mark_deleted_when_full(directory, arena, volume, chain, err) < 0)
        return -1;
    json_object_foreach(chain->info, key, value) {
        const char *overlay = chain_overlay(chain, arena, key, NULL);

        if (remove_overlay(directory, arena, volume, chain, overlay, err) < 0 ||
            remove_overlay(directory, arena, volume, chain, json_string_value(value), err) < 0)
            return -1;
    }
    for (size_t i = 0; i < LENGTH(notes); i++)
        json_object_foreach(json_object_get(chain->info, notes[i]), key, value) {
            if (remove_overlay(directory, arena, volume, chain, json_string_value(value), err) < 0)
                return -1;
        }
    if (volume_file_remove(directory, arena, chain->base, true, volume->fence, err) < 0)
        return -1;
    return volume_file_remove(directory, arena, chain->info_name, false, volume->fence, err);
}

int volume_file_delete(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, struct error *err) {
    const char *name = volume_name(arena, volume->name_id, err);
    autoclose int lock = -1;
    struct chain chain;
    int named;

    if (!name || chain_read(directory, arena, name, &chain, err) < 0 ||
        chain_lock_to_delete(directory, &chain, volume->fence, &lock, err) < 0 ||
        (lock >= 0 && chain_read(directory, arena, name, &chain, err) < 0))
        return -1;
    if (chain.info) {
        if (volume->late || remove_chain(directory, arena, volume, &chain, err) == 0)
            return 0;
        /* Its mark hides what is left. */
        if (err->kind == ERROR_BACKEND && volume_file_has(directory, chain.base, NULL) != 0)
            err->kind = ERROR_CONFLICT;
        return -1;
    }
    named = volume->late ? removal_image(directory, arena, name, volume->fence, err)
                         : removal_unnamed(directory, name, volume->fence, err);
    if (named != 0)
        return named < 0 ? -1 : 0;
    return remove_drafts(directory, arena, name, volume->provider_location != NULL, volume->fence,
                         err);
}

/* ---- rename ---- */

int volume_file_refuse_name(const char *from, const char *to, struct error *err) {
    return error_set(err, ERROR_BACKEND, "%s cannot become %s, which exists already.", from, to);
}

int volume_file_move(const struct directory *directory, const char *from, const char *to,
                     struct error *err) {
    struct error why = { .kind = ERROR_NONE };
    int taken;

    if (strcmp(from, to) == 0)
        return directory_flush(directory, err);
    taken = directory_rename(directory, from, to, &why);
    if (taken < 0 && why.kind != ERROR_NOT_FOUND)
        return error_pass(err, &why);
    if (taken > 0)
        return volume_file_refuse_name(from, to, err);
    return directory_flush(directory, err);
}

/* The info alone gets the new name.  1: the volume has none. */
static int rename_info(const struct directory *directory, struct arena *arena, const char *from,
                       const char *to, struct error *err) {
    struct error why = { .kind = ERROR_NONE };
    struct chain chain, renamed;

    if (chain_read(directory, arena, to, &renamed, err) < 0 ||
        chain_read(directory, arena, from, &chain, err) < 0)
        return -1;
    if (renamed.info)
        return 0;
    if (!chain.info)
        return 1;
    if (chain_remove_drafts(directory, arena, &chain, err) < 0 ||
        volume_name_remove_unfinished(directory, arena, chain.active, err) < 0)
        return -1;
    if (directory_take(directory, chain.info_name, renamed.info_name, &why) < 0 &&
        why.kind != ERROR_NOT_FOUND)
        return error_set(err, ERROR_BACKEND, "%s cannot become %s: %s", chain.info_name,
                         renamed.info_name, why.message);
    return 0;
}

int volume_file_rename(const struct directory *directory, struct arena *arena,
                       const struct driver_volume *volume, const char *new_name_id,
                       struct error *err) {
    const char *from = volume_name(arena, volume->name_id, err);
    const char *to = from ? volume_name(arena, new_name_id, err) : NULL;
    struct chain chain;
    int renamed, found;

    /* Each worker of a revert has a name of its own, and leaves drafts under that alone. */
    if (!to || driver_fence_check(volume->fence, err) < 0 ||
        volume_name_remove_unfinished(directory, arena, from, err) < 0)
        return -1;
    renamed = rename_info(directory, arena, from, to, err);
    if (renamed <= 0)
        return renamed < 0 ? -1 : directory_flush(directory, err);
    /* To a late worker the base of a chain looks like a volume without one, as other workers have
     * given the info the next names meanwhile: the base keeps its name.  The fence is checked
     * behind the look at the infos. */
    found = chain_find_base(directory, arena, from, &chain, err);
    if (found < 0 || driver_fence_check(volume->fence, err) < 0)
        return -1;
    return found ? 0 : volume_file_move(directory, from, to, err);
}

/* ---- facts ---- */

int volume_file_get_size(const struct directory *directory, struct arena *arena,
                         const struct driver_volume *volume, int64_t *ret_bytes,
                         struct error *err) {
    struct volume_image image;
    autoclose int fd = volume_image_open(directory, arena, volume, O_RDONLY, &image, err);

    if (fd < 0 || volume_image_flush(fd, volume, &image, err) < 0)
        return -1;
    *ret_bytes = image.facts.virtual_bytes;
    return 0;
}

int volume_file_connect(const struct directory *directory, struct arena *arena,
                        const struct driver_volume *volume, struct volume_image *ret,
                        struct error *err) {
    const struct chain_work work = { directory, arena, volume, volume->fence, volume->attempt };
    struct volume_image image;
    autoclose int fd = chain_repair(&work, err) < 0
                           ? -1
                           : volume_image_open(directory, arena, volume, O_RDONLY, &image, err);

    if (fd < 0 || volume_image_check_own(directory, arena, volume, &image, err) < 0 ||
        chain_remove_drafts(directory, arena, &image.chain, err) < 0)
        return -1;
    *ret = image;
    return 0;
}

void volume_file_report_discard(const struct directory *directory, const struct volume_image *image,
                                json_t *info) {
    if (!directory->settings->sparse && strcmp(image->format, "raw") == 0)
        json_object_set_new(json_object_get(info, "data"), "discard", json_false());
}

/* ---- list ---- */

struct listing {
    const struct directory *directory;
    const char *begins;
    void (*found)(void *arg, const char *name_id, int64_t bytes);
    void *arg;
};

static void report_named(void *arg, const char *rest) {
    const struct listing *listing = arg;
    char name[NAME_MAX + 1];
    struct image_facts facts;
    autoclose int fd = -1;
    int64_t bytes = -1;

    if (!volume_name_fits(rest))
        return;
    snprintf(name, sizeof(name), "%s%s", listing->begins, rest);
    fd = image_open(listing->directory->fd, name, O_RDONLY, NULL);
    /* A raw volume may hold any header, so a file that looks like qcow2 has no size without its
     * record. */
    if (fd >= 0 && !image_looks_qcow2(fd) && image_read_facts(fd, "raw", &facts, NULL) == 0)
        bytes = facts.virtual_bytes;
    listing->found(listing->arg, rest, bytes);
}

int volume_file_list_named(const struct directory *directory, const char *begins,
                           void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                           struct error *err) {
    struct listing listing = { directory, begins, found, arg };

    return volume_name_each(directory, begins, report_named, &listing, err);
}

/* A volume that was renamed while it had an info: its files keep the old name. */
struct renamed {
    const char *name_id;
    const char *base;
    const struct renamed *next;
};

struct volumes {
    struct listing listing;
    struct arena *arena;
    const struct renamed *renamed;
};

/* Without a file of the volume the info is all there is. */
static void visit_info(void *arg, const char *rest) {
    struct volumes *volumes = arg;
    struct arena *arena = volumes->arena;
    size_t length = strcspn(rest, ".");
    const char *name = arena_format(arena, VOLUME_NAME_PREFIX "%.*s", (int)length, rest);
    const char *name_id = arena_text_n(arena, rest, length);
    struct renamed *renamed;
    struct chain chain;

    if (strcmp(rest + length, ".info") != 0 || !volume_name_fits(name_id))
        return;
    /* An unreadable info is reported when its volume is used. */
    if (chain_read(volumes->listing.directory, arena, name, &chain, NULL) < 0 || !chain.info)
        chain.base = name;
    if (faccessat(volumes->listing.directory->fd, chain.base, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
        errno == ENOENT) {
        volumes->listing.found(volumes->listing.arg, name_id, -1);
        return;
    }
    if (strcmp(chain.base, name) == 0)
        return;
    renamed = arena_alloc(arena, sizeof(*renamed));
    *renamed = (struct renamed){ name_id, chain.base, volumes->renamed };
    volumes->renamed = renamed;
}

static void report_volume(void *arg, const char *name_id, int64_t bytes) {
    const struct volumes *volumes = arg;
    const struct renamed *renamed = volumes->renamed;

    while (renamed && strcmp(renamed->base + strlen(VOLUME_NAME_PREFIX), name_id) != 0)
        renamed = renamed->next;
    volumes->listing.found(volumes->listing.arg, renamed ? renamed->name_id : name_id, bytes);
}

int volume_file_list(const struct directory *directory,
                     void (*found)(void *arg, const char *name_id, int64_t bytes), void *arg,
                     struct error *err) {
    autoarena struct arena *arena = arena_new();
    struct volumes volumes = { .listing = { directory, VOLUME_NAME_PREFIX, found, arg },
                               .arena = arena };

    if (volume_name_each(directory, VOLUME_NAME_PREFIX, visit_info, &volumes, err) < 0)
        return -1;
    return volume_file_list_named(directory, VOLUME_NAME_PREFIX, report_volume, &volumes, err);
}
