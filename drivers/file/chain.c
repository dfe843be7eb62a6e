#include "drivers/file/chain.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/image_lock.h"
#include "common/same_file.h"
#include "drivers/file/draft.h"
#include "drivers/file/volume_name.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static const char *const reserved[] = { "active", "deleted", "unfinished",
                                        "info",   "merging", "unflushed" };

static bool is_snapshot_id(const char *text) {
    for (size_t i = 0; i < LENGTH(reserved); i++)
        if (strcmp(text, reserved[i]) == 0)
            return false;
    return volume_name_fits(text);
}

bool chain_owns(const struct chain *chain, const char *name) {
    size_t length = strlen(chain->base);

    return strncmp(name, chain->base, length) == 0 &&
           (name[length] == '\0' || (name[length] == '.' && is_snapshot_id(name + length + 1)));
}

/* ---- the info ---- */

static json_t *read_json(struct arena *arena, int fd, struct error *err) {
    enum { INFO_MOST = 1 << 18 };
    struct stat status;
    char *text;

    if (fstat(fd, &status) < 0) {
        error_errno(err, ERROR_BACKEND, "looking at its length");
        return NULL;
    }
    if (status.st_size > INFO_MOST) {
        error_set(err, ERROR_BACKEND, "It has %jd bytes.", (intmax_t)status.st_size);
        return NULL;
    }
    text = arena_alloc(arena, (size_t)status.st_size + 1);
    if (pread(fd, text, (size_t)status.st_size, 0) != status.st_size) {
        error_set(err, ERROR_BACKEND, "It cannot be read.");
        return NULL;
    }
    return json_parse(arena, text, (size_t)status.st_size, err);
}

/* The name of the active file also gives the base's name: the volume may have another name by
 * now. */
static int read_active(struct arena *arena, struct chain *chain, struct error *err) {
    const char *deleted = json_text_of(chain->info, "deleted");
    const char *name = deleted ? deleted : json_text_of(chain->info, "active");
    const size_t prefix = strlen(VOLUME_NAME_PREFIX);

    if (!name || strncmp(name, VOLUME_NAME_PREFIX, prefix) != 0)
        return error_set(err, ERROR_BACKEND, "It names no file of a volume as the active one.");
    chain->base = arena_text_n(arena, name, strcspn(name, "."));
    if (!volume_name_fits(chain->base + prefix) || !chain_owns(chain, name))
        return error_set(err, ERROR_BACKEND, "It names no file of a volume as the active one.");
    chain->active = name;
    chain->deleted = deleted;
    return 0;
}

int chain_read(const struct directory *directory, struct arena *arena, const char *volume_name,
               struct chain *ret, struct error *err) {
    struct chain chain = { .info_name = arena_format(arena, "%s.info", volume_name),
                           .base = volume_name,
                           .active = volume_name };
    autoclose int fd = -1;
    int found = image_find(directory->fd, chain.info_name, O_RDONLY, &fd, err);

    if (found < 0)
        return -1;
    if (found > 0) {
        struct error why = { .kind = ERROR_NONE };

        chain.info = read_json(arena, fd, &why);
        if (!chain.info || read_active(arena, &chain, &why) < 0)
            return error_set(err, ERROR_BACKEND, "Invalid chain file %s: %s", chain.info_name,
                             why.message);
    }
    *ret = chain;
    return 0;
}

bool chain_is_layered(const struct chain *chain) {
    assert(chain->active && chain->base);
    return strcmp(chain->active, chain->base) != 0;
}

const char *chain_overlay(const struct chain *chain, struct arena *arena, const char *snapshot_id,
                          struct error *err) {
    if (is_snapshot_id(snapshot_id))
        return arena_format(arena, "%s.%s", chain->base, snapshot_id);
    error_set(err, ERROR_BAD_REQUEST, "The id \"%.64s\" cannot stand in a file's name.",
              snapshot_id);
    return NULL;
}

const char *chain_snapshot_id(const char *rest) {
    size_t length = strcspn(rest, ".");

    return length > 0 && rest[length] == '.' && is_snapshot_id(rest + length + 1)
               ? rest + length + 1
               : NULL;
}

bool chain_has(const struct chain *chain, const char *snapshot_id) {
    return is_snapshot_id(snapshot_id) && json_has(chain->info, snapshot_id);
}

const char *chain_file_of(const struct chain *chain, struct arena *arena, const char *snapshot_id,
                          struct error *err) {
    const char *name =
        chain_has(chain, snapshot_id) ? json_text_of(chain->info, snapshot_id) : NULL;

    return name && chain_owns(chain, name) && strcmp(name, chain->base) != 0
               ? name
               : chain_overlay(chain, arena, snapshot_id, err);
}

bool chain_names(const struct chain *chain, const char *name) {
    const char *key;
    json_t *value;

    if (strcmp(chain->active, name) == 0)
        return true;
    json_object_foreach(chain->info, key,
                        value) if (is_snapshot_id(key) && json_is_string(value) &&
                                   strcmp(json_string_value(value), name) == 0) return true;
    return false;
}

const char *chain_name_undone(struct arena *arena, const char *overlay) {
    return arena_format(arena, ".%s.undone", overlay);
}

const char *chain_name_before_undone(struct arena *arena, const char *name) {
    static const char end[] = ".undone";
    size_t length = strlen(name), end_length = strlen(end);

    return name[0] == '.' && length > end_length && strcmp(name + length - end_length, end) == 0
               ? arena_text_n(arena, name + 1, length - 1 - end_length)
               : name;
}

int chain_restore(const struct directory *directory, struct arena *arena, const char *overlay,
                  struct error *err) {
    struct error why = { .kind = ERROR_NONE };

    assert(*overlay);
    if (directory_rename(directory, chain_name_undone(arena, overlay), overlay, &why) >= 0 ||
        why.kind == ERROR_NOT_FOUND)
        return 0;
    return error_pass(err, &why);
}

int chain_remove_drafts(const struct directory *directory, struct arena *arena,
                        const struct chain *chain, struct error *err) {
    assert(chain->info_name);
    if (!chain->info && !directory->settings->overlays)
        return 0;
    return volume_name_remove_unfinished(directory, arena, chain->info_name, err);
}

/* One file of the volume is active, or a delete has begun with it. */
static bool names_one(const struct chain *chain, const json_t *info) {
    const char *deleted = json_text_of(info, "deleted");
    const char *name = deleted ? deleted : json_text_of(info, "active");

    return name && chain_owns(chain, name);
}

int chain_write(const struct directory *directory, struct arena *arena, const struct chain *chain,
                const json_t *info, unsigned attempt, const struct driver_fence *fence,
                struct error *err) {
    const char *text = json_text(arena, info);
    autodraft struct draft draft = { 0 };
    ssize_t written;
    int taken;

    assert(chain->info_name && chain->base && names_one(chain, info));
    if (draft_open(directory, arena, chain->info_name, attempt, &draft, err) < 0)
        return -1;
    written = pwrite(draft.fd, text, strlen(text), 0);
    if (written < 0)
        return error_errno(err, ERROR_BACKEND, "writing the chain file %s", chain->info_name);
    if ((size_t)written < strlen(text))
        return error_set(err, ERROR_BACKEND, "No space left for the chain file %s.",
                         chain->info_name);
    if (image_flush(draft.fd, err) < 0)
        return -1;
    taken = chain->info ? draft_replace(&draft, fence, err) : draft_publish(&draft, fence, err);
    if (taken > 0)
        return error_set(err, ERROR_CONFLICT, "%s was made meanwhile.", chain->info_name);
    if (taken < 0 || driver_fence_check(fence, err) < 0)
        return -1;
    return directory_flush(directory, err);
}

/* ---- the lock ---- */

/* 1: another process has it, or another call of this one. */
static int try_lock(int fd, bool alone, struct error *err) {
    struct flock lock = { .l_type = alone ? F_WRLCK : F_RDLCK,
                          .l_whence = SEEK_SET,
                          .l_start = IMAGE_CHAIN_BYTE,
                          .l_len = 1 };

    assert(fd >= 0);
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return 0;
    if (errno == EAGAIN || errno == EACCES)
        return 1;
    return error_errno(err, ERROR_BACKEND, "locking the files of a volume");
}

/* A program that another thread starts has the descriptor, too, until it is executed. */
static int try_lock_briefly(int fd, bool alone, struct error *err) {
    enum { TRIES = 5 };
    const struct timespec pause = { .tv_nsec = 10000000 };
    int taken = try_lock(fd, alone, err);

    for (int i = 1; taken > 0 && i < TRIES; i++) {
        nanosleep(&pause, NULL);
        taken = try_lock(fd, alone, err);
    }
    return taken;
}

int chain_lock_file(int fd, bool alone, const struct driver_fence *fence, struct error *err) {
    int taken = try_lock_briefly(fd, alone, err);

    return taken > 0 ? driver_fence_busy(fence, err, "volume files") : taken;
}

/* 1: the locked file has the name yet, 0: another call has replaced or renamed it. */
static int is_named(const struct directory *directory, const struct chain *chain, int fd,
                    struct error *err) {
    struct stat opened, named;

    assert(fd >= 0);
    if (fstat(fd, &opened) < 0)
        return error_errno(err, ERROR_BACKEND, "looking at %s", chain->base);
    if (fstatat(directory->fd, chain->base, &named, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : error_errno(err, ERROR_BACKEND, "looking for %s", chain->base);
    return is_same_file(&opened, &named);
}

/* 1: another call has it.  *ret_fd is -1 where there is nothing to lock. */
static int lock_named(const struct directory *directory, const struct chain *chain, bool alone,
                      int *ret_fd, struct error *err) {
    enum { REPLACED_MOST = 10 };

    *ret_fd = -1;
    for (int i = 0; i < REPLACED_MOST; i++) {
        struct error why = { .kind = ERROR_NONE };
        autoclose int fd = image_open(directory->fd, chain->base, alone ? O_RDWR : O_RDONLY, &why);
        int taken, named;

        if (fd < 0)
            return !chain->info && why.kind == ERROR_NOT_FOUND ? 0 : error_pass(err, &why);
        taken = try_lock_briefly(fd, alone, err);
        if (taken != 0)
            return taken;
        named = is_named(directory, chain, fd, err);
        if (named > 0)
            *ret_fd = take_fd(fd);
        if (named != 0)
            return named < 0 ? -1 : 0;
    }
    return 1;
}

int chain_lock(const struct directory *directory, const struct chain *chain, bool alone,
               const struct driver_fence *fence, int *ret_fd, struct error *err) {
    int taken = lock_named(directory, chain, alone, ret_fd, err);

    return taken > 0 ? driver_fence_busy(fence, err, "volume files") : taken;
}

int chain_lock_to_delete(const struct directory *directory, const struct chain *chain,
                         const struct driver_fence *fence, int *ret_fd, struct error *err) {
    struct error why = { .kind = ERROR_NONE };

    if (chain_lock(directory, chain, true, fence, ret_fd, &why) == 0 || why.kind == ERROR_NOT_FOUND)
        return 0;
    return error_pass(err, &why);
}

int chain_lock_to_grow(const struct directory *directory, const struct chain *chain,
                       const struct driver_fence *fence, int *ret_fd, struct error *err) {
    if (chain->info || directory->settings->overlays || chain_is_layered(chain))
        return chain_lock(directory, chain, true, fence, ret_fd, err);
    return lock_named(directory, chain, true, ret_fd, err) < 0 ? -1 : 0;
}

/* ---- the files ---- */

/* *ret_below: the next name; NULL after the last one. */
static int read_link(const struct directory *directory, struct arena *arena,
                     const struct chain *chain, const char *base_format, struct chain_link *link,
                     const char **ret_below, struct error *err) {
    bool last = strcmp(link->name, chain->base) == 0;
    const char *wanted;
    struct image_facts facts;
    autoclose int fd = -1;
    int found = image_find(directory->fd, link->name, O_RDONLY, &fd, err);

    link->format = last ? base_format : "qcow2";
    if (found == 0)
        return error_set(err, ERROR_BACKEND, "%s is missing: others lie above it.", link->name);
    if (found < 0 || image_read_facts(fd, link->format, &facts, err) < 0)
        return error_context(err, "%s", link->name);
    if (facts.external_data || (last && facts.backing[0]))
        return error_set(err, ERROR_BACKEND, "%s keeps a part of its data in another file.",
                         link->name);
    link->virtual_bytes = facts.virtual_bytes;
    *ret_below = NULL;
    if (last || !facts.backing[0]) /* or everything below it was merged into it */
        return 0;
    wanted = strcmp(facts.backing, chain->base) == 0 ? base_format : "qcow2";
    if (!chain_owns(chain, facts.backing))
        return error_set(err, ERROR_BACKEND, "%s lies above a file that is not the volume's.",
                         link->name);
    if (strcmp(facts.backing_format, wanted) != 0)
        return error_set(err, ERROR_BACKEND, "%s does not say that %s below it is %s.", link->name,
                         facts.backing, wanted);
    *ret_below = arena_text(arena, facts.backing);
    return 0;
}

int chain_walk(const struct directory *directory, struct arena *arena, const struct chain *chain,
               const char *from, const char *base_format, struct chain_link links[CHAIN_FILES_MOST],
               struct error *err) {
    int count = 0;

    assert(*from);
    for (const char *name = from; name; count++) {
        if (count == CHAIN_FILES_MOST)
            return error_set(err, ERROR_BACKEND, "More than %d files lie below %s.",
                             CHAIN_SNAPSHOTS_MOST, from);
        links[count] = (struct chain_link){ .name = name };
        if (read_link(directory, arena, chain, base_format, &links[count], &name, err) < 0)
            return -1;
    }
    assert(count > 0 && count <= CHAIN_FILES_MOST);
    return count;
}

int chain_place_of(const struct chain_link *links, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (strcmp(links[i].name, name) == 0)
            return i;
    return -1;
}

/* ---- by a snapshot ---- */

struct search {
    const struct directory *directory;
    struct arena *arena;
    const char *snapshot_id;
    struct chain chain;
    bool found;
};

static void visit(void *arg, const char *rest) {
    struct search *search = arg;
    const char *id = chain_snapshot_id(rest);

    if (!id || strcmp(id, search->snapshot_id) != 0)
        return;
    search->chain.base =
        arena_format(search->arena, VOLUME_NAME_PREFIX "%.*s", (int)(id - 1 - rest), rest);
    search->chain.active = arena_format(search->arena, VOLUME_NAME_PREFIX "%s", rest);
    search->found = volume_name_fits(search->chain.base + strlen(VOLUME_NAME_PREFIX));
}

static void look_into_info(void *arg, const char *rest) {
    struct search *search = arg;
    size_t length = strcspn(rest, ".");
    const char *name = arena_format(search->arena, VOLUME_NAME_PREFIX "%.*s", (int)length, rest);
    struct chain chain;

    if (search->found || strcmp(rest + length, ".info") != 0 ||
        chain_read(search->directory, search->arena, name, &chain, NULL) < 0 || chain.deleted ||
        !chain_has(&chain, search->snapshot_id))
        return;
    search->chain.base = chain.base;
    search->chain.active = chain_file_of(&chain, search->arena, search->snapshot_id, NULL);
    search->found = search->chain.active;
}

int chain_find_snapshot(const struct directory *directory, struct arena *arena,
                        const char *snapshot_id, struct chain *ret, struct error *err) {
    struct search search = { .directory = directory, .arena = arena, .snapshot_id = snapshot_id };

    if (!is_snapshot_id(snapshot_id))
        return 0;
    if (volume_name_each(directory, VOLUME_NAME_PREFIX, visit, &search, err) < 0 ||
        (!search.found &&
         volume_name_each(directory, VOLUME_NAME_PREFIX, look_into_info, &search, err) < 0))
        return -1;
    if (search.found)
        *ret = search.chain;
    return search.found;
}

/* ---- by a base ---- */

struct base_search {
    const struct directory *directory;
    struct arena *arena;
    const char *base;
    struct chain chain;
    bool found;
};

static void compare_base(void *arg, const char *rest) {
    struct base_search *search = arg;
    size_t length = strcspn(rest, ".");
    struct chain chain;

    if (search->found || strcmp(rest + length, ".info") != 0 ||
        chain_read(search->directory, search->arena,
                   arena_format(search->arena, VOLUME_NAME_PREFIX "%.*s", (int)length, rest),
                   &chain, NULL) < 0 ||
        !chain.info || strcmp(chain.base, search->base) != 0)
        return;
    search->chain = chain;
    search->found = true;
}

int chain_find_base(const struct directory *directory, struct arena *arena, const char *base,
                    struct chain *ret, struct error *err) {
    struct base_search search = { .directory = directory, .arena = arena, .base = base };

    if (chain_read(directory, arena, base, &search.chain, err) < 0)
        return -1;
    search.found = search.chain.info && strcmp(search.chain.base, base) == 0;
    if (!search.found &&
        volume_name_each(directory, VOLUME_NAME_PREFIX, compare_base, &search, err) < 0)
        return -1;
    if (search.found)
        *ret = search.chain;
    return search.found;
}
