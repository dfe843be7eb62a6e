/*
 * The guest's host merges two neighbours of a chain.  Of the newest snapshot it pulls the file
 * below into the active one, so the snapshot before gets that as its overlay; of an older one it
 * commits the overlay into the file below.  Either way one file drops out of the chain, and that it
 * did, the headers say.  Which one it is to be the info keeps ("merging") from before the host is
 * asked until the file is gone.
 */
#include "drivers/file/chain_assist.private.h"

#include "common/cleanup.h"
#include "drivers/file/removal.h"
#include "drivers/file/volume_name.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct merge {
    const struct chain_assist *assist;
    const char *file; /* the snapshot's overlay */
    struct chain_link links[CHAIN_FILES_MOST];
    int count;
};

static const char *id_of(const struct merge *merge) {
    return merge->assist->snapshot->name_id;
}

/* Its place in the chain; -1: it is not there. */
static int find_file(const struct merge *merge, const char *name) {
    int at = merge->count - 1;

    while (at >= 0 && strcmp(merge->links[at].name, name) != 0)
        at--;
    return at;
}

/* What drops out, as it was written down; NULL: nobody was asked. */
static const char *dropping_out(const struct merge *merge) {
    const struct chain *chain = &merge->assist->chain;
    const char *left = json_text_of(json_object_get(chain->info, "merging"), id_of(merge));

    return left && chain_owns(chain, left) ? left : NULL;
}

static int walk(const struct chain_assist *assist, struct merge *ret, struct error *err) {
    *ret = (struct merge){ .assist = assist };
    ret->file = chain_file_of(&assist->chain, assist->arena, assist->snapshot->name_id, err);
    if (!ret->file)
        return -1;
    ret->count = chain_walk(assist->directory, assist->arena, &assist->chain, assist->chain.active,
                            assist->volume->format, ret->links, err);
    return ret->count < 0 ? -1 : 0;
}

static int write_info(const struct merge *merge, const json_t *info, struct error *err) {
    const struct chain_assist *assist = merge->assist;

    return chain_settle(assist->directory, assist->arena, &assist->chain, err) < 0
               ? -1
               : chain_write(assist->directory, assist->arena, &assist->chain, info,
                             assist->snapshot->attempt, assist->snapshot->fence, err);
}

static json_t *copy_info(const struct merge *merge) {
    return json_keep(merge->assist->arena, json_deep_copy(merge->assist->chain.info));
}

/* ---- prepare ---- */

static int note_dropping_out(const struct merge *merge, const char *left, struct error *err) {
    const char *noted = dropping_out(merge);
    json_t *info;

    if (noted && strcmp(noted, left) == 0)
        return 0;
    info = copy_info(merge);
    json_object_set_new(info, "merging", json_pack("{s:s}", id_of(merge), left));
    return write_info(merge, info, err);
}

/* 1: it has dropped out already. */
static int ask_newest(const struct merge *merge, struct driver_assist *ret, struct error *err) {
    const char *noted = dropping_out(merge);

    if (noted && find_file(merge, noted) < 0)
        return 1;
    if (merge->count < 2)
        return error_set(err, ERROR_BACKEND, "Nothing lies below %s.", merge->file);
    *ret = (struct driver_assist){
        .file_to_merge = merge->count > 2 ? merge->links[2].name : NULL,
    };
    return note_dropping_out(merge, merge->links[1].name, err);
}

int chain_assist_prepare_delete(const struct chain_assist *assist, struct driver_assist *ret,
                                struct error *err) {
    struct merge merge;
    int at, unused;

    if (!chain_has(&assist->chain, assist->snapshot->name_id))
        return 1;
    unused = chain_assist_undo_unused(assist, err);
    if (unused != 0)
        return unused;
    if (walk(assist, &merge, err) < 0)
        return -1;
    at = find_file(&merge, merge.file);
    if (at == 0)
        return ask_newest(&merge, ret, err);
    if (at < 0)
        return note_dropping_out(&merge, merge.file, err) < 0 ? -1 : 1;
    if (at + 1 == merge.count)
        return error_set(err, ERROR_BACKEND, "Nothing lies below %s.", merge.file);
    *ret = (struct driver_assist){ .file_to_merge = merge.file,
                                   .merge_target_file = merge.links[at + 1].name };
    return note_dropping_out(&merge, merge.file, err);
}

/* ---- settle ---- */

/* The snapshot before a pulled one goes on above what was pulled. */
static int forget(const struct merge *merge, const char *left, struct error *err) {
    json_t *info = copy_info(merge);
    const char *key;
    json_t *value;

    json_object_del(info, id_of(merge));
    if (strcmp(left, merge->file) != 0)
        json_object_foreach(info, key, value) if (json_is_string(value) &&
                                                  strcmp(json_string_value(value), left) == 0)
            json_string_set(value, merge->file);
    return write_info(merge, info, err);
}

struct heads {
    const struct merge *merge;
    const char *left;
    bool named;
    int failed;
    struct error *err;
};

/* Does any other file of the chain still name it? */
static void look_at_head(void *arg, const char *rest) {
    struct heads *heads = arg;
    const struct chain_assist *assist = heads->merge->assist;
    const char *name = arena_format(assist->arena, VOLUME_NAME_PREFIX "%s", rest);
    struct image_facts facts;
    autoclose int fd = -1;

    if (heads->failed || strcmp(name, heads->left) == 0 || strcmp(name, assist->chain.base) == 0 ||
        !chain_owns(&assist->chain, name))
        return;
    fd = image_open(assist->directory->fd, name, O_RDONLY, heads->err);
    heads->failed = fd < 0 ? -1 : image_read_facts(fd, "qcow2", &facts, heads->err);
    heads->named |= !heads->failed && strcmp(facts.backing, heads->left) == 0;
}

/* The base's name stands for the volume: only its space is reclaimed, where that is possible. */
static int empty_base(const struct merge *merge, const char *name, struct error *err) {
    enum { HEAD = 1 << 16 };
    const struct chain_assist *assist = merge->assist;
    autoclose int fd = -1;
    int found = image_find(assist->directory->fd, name, O_RDWR, &fd, err);
    off_t end = found > 0 ? lseek(fd, 0, SEEK_END) : 0;

    if (found < 0 || driver_fence_check(assist->snapshot->fence, err) < 0)
        return -1;
    if (end <= HEAD)
        return 0;
    if (image_lock_away(fd, err) != IMAGE_LOCKED)
        return error_set(err, ERROR_UNAVAILABLE, "%s is still open in a guest.", name);
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, HEAD, end - HEAD) < 0 &&
        errno != EOPNOTSUPP)
        return error_errno(err, ERROR_BACKEND, "giving back the room of a base");
    return image_flush(fd, err);
}

static int take_away(const struct merge *merge, const char *left, struct error *err) {
    const struct chain_assist *assist = merge->assist;
    const struct directory *directory = assist->directory;
    struct heads heads = { .merge = merge, .left = left, .err = err };

    if (volume_name_each(directory, VOLUME_NAME_PREFIX, look_at_head, &heads, err) < 0 ||
        heads.failed)
        return -1;
    if (heads.named)
        return 0;
    if (strcmp(left, assist->chain.base) == 0)
        return empty_base(merge, left, err);
    return removal_image(directory, assist->arena, left, assist->snapshot->fence, err) < 0
               ? -1
               : directory_flush(directory, err);
}

static int forget_merge(const struct merge *merge, struct error *err) {
    json_t *info = copy_info(merge);

    json_object_del(info, "merging");
    json_object_del(info, id_of(merge));
    return write_info(merge, info, err);
}

int chain_assist_settle_delete(const struct chain_assist *assist, enum driver_told told,
                               struct error *err) {
    struct chain_assist after = *assist;
    struct merge merge;
    const char *left;

    (void)told; /* the headers know */
    if (walk(assist, &merge, err) < 0)
        return -1;
    left = dropping_out(&merge);
    if (!left)
        return !chain_has(&assist->chain, id_of(&merge));
    if (find_file(&merge, left) >= 0)
        return 0;
    if (chain_has(&assist->chain, id_of(&merge))) {
        const char *name = volume_name(assist->arena, assist->volume->name_id, err);

        if (forget(&merge, left, err) < 0 ||
            chain_read(assist->directory, assist->arena, name, &after.chain, err) < 0)
            return -1;
        merge.assist = &after;
    }
    return take_away(&merge, left, err) < 0 || forget_merge(&merge, err) < 0 ? -1 : 1;
}
