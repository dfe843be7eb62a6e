/*
 * The guest's host merges two neighbours of a chain.  For the newest snapshot it pulls the file
 * below into the active one, which becomes the overlay of the snapshot before; for an older one it
 * commits the overlay into the file below.  Either way one file drops out of the chain, as the
 * headers show.  That file is noted before the request (chain_merge.h).
 */
#include "drivers/file/chain_assist.private.h"

#include "common/assert.h"
#include "common/no_space.h"

struct merge {
    const struct chain_assist *assist;
    const char *file; /* the snapshot's overlay */
    struct chain_link links[CHAIN_FILES_MOST];
    int count;
};

static const char *id_of(const struct chain_assist *assist) {
    return assist->snapshot->name_id;
}

static int request(const struct merge *merge, int at, struct driver_assist *ret,
                   struct error *err) {
    const struct chain_assist *assist = merge->assist;
    const char *below = merge->links[at + 1].name;

    assert(at >= 0 && at + 1 < merge->count);
    if (at == 0) {
        /* The file below is pulled into the active file, which alone is written. */
        *ret = (struct driver_assist){
            .file_to_merge = merge->count > 2 ? merge->links[2].name : NULL,
        };
        return chain_note(&assist->work, &assist->chain, id_of(assist), below, CHAIN_MERGING, err);
    }
    *ret = (struct driver_assist){ .file_to_merge = merge->file, .merge_target_file = below };
    if (chain_check_below(assist->directory, &assist->chain, below, merge->file, NULL, true, err) <
        0)
        return -1;
    return chain_note(&assist->work, &assist->chain, id_of(assist), merge->file, CHAIN_MERGING,
                      err);
}

int chain_assist_prepare_delete(const struct chain_assist *assist, struct driver_assist *ret,
                                struct error *err) {
    struct merge merge = { .assist = assist };
    int at, unused;

    if (!chain_has(&assist->chain, id_of(assist)) ||
        chain_is_unflushed(&assist->chain, id_of(assist)))
        return 1;
    unused = chain_assist_undo_unused(assist, err);
    if (unused != 0)
        return unused;
    if (chain_check_others(&assist->work, &assist->chain, id_of(assist), err) < 0)
        return -1;
    merge.file = chain_upper(&assist->chain, assist->arena, id_of(assist), err);
    if (!merge.file)
        return -1;
    merge.count = chain_walk(assist->directory, assist->arena, &assist->chain, assist->chain.active,
                             assist->volume->format, merge.links, err);
    if (merge.count < 0)
        return -1;
    at = chain_place_of(merge.links, merge.count, merge.file);
    if (at < 0)
        return error_set(err, ERROR_BACKEND,
                         "%s lies below no guest's file: the snapshot can be deleted when the "
                         "volume is detached.",
                         merge.file);
    if (at + 1 == merge.count)
        return error_set(err, ERROR_BACKEND, "Nothing lies below %s.", merge.file);
    return chain_check_flushed(&assist->chain, assist->arena, merge.links, merge.count, at == 0,
                               err) < 0
               ? -1
               : request(&merge, at, ret, err);
}

int chain_assist_complete_delete(const struct chain_assist *assist, enum driver_reported told,
                                 struct error *err) {
    const char *noted = chain_noted(&assist->chain, id_of(assist));

    if (!chain_has(&assist->chain, id_of(assist)))
        return noted ? error_set(err, ERROR_UNAVAILABLE, "%s is still open in a guest.", noted) : 1;
    if (chain_is_unflushed(&assist->chain, id_of(assist)))
        return 1;
    if (!noted || told != DRIVER_REPORTED_FAILED ||
        chain_note(&assist->work, &assist->chain, id_of(assist), noted, CHAIN_UNFINISHED, err) == 0)
        return 0;
    /* The note of a merging host stays, as without a report: the merge may have filled the disk,
     * and its failure does not wait for space. */
    return error_is_no_space(err) ? 0 : -1;
}
