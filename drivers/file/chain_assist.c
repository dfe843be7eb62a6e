#include "drivers/file/chain_assist.h"

#include "common/cleanup.h"
#include "drivers/file/chain_assist.private.h"

/* *ret_lock as from chain_lock(). */
static int assist_begin(struct chain_assist *assist, int *ret_lock, struct error *err) {
    assist->work = (struct chain_work){ assist->directory, assist->arena, assist->volume,
                                        assist->snapshot->fence, assist->snapshot->attempt };
    if (chain_enter(&assist->work, &assist->chain, ret_lock, err) < 0)
        return -1;
    if (assist->chain.deleted)
        return error_set(err, ERROR_NOT_FOUND, "The files of volume %s are being deleted.",
                         assist->volume->id);
    return driver_fence_check(assist->snapshot->fence, err);
}

int chain_assist_prepare(const struct directory *directory, struct arena *arena,
                         const struct driver_volume *volume, const struct driver_snapshot *snapshot,
                         bool deletes, struct driver_assist *ret, struct error *err) {
    struct chain_assist assist = {
        .directory = directory, .arena = arena, .volume = volume, .snapshot = snapshot
    };
    struct driver_assist files = { 0 };
    autoclose int lock = -1;
    int result;

    if (assist_begin(&assist, &lock, err) < 0)
        return -1;
    result = deletes ? chain_assist_prepare_delete(&assist, &files, err)
                     : chain_assist_prepare_create(&assist, &files, err);
    if (result >= 0)
        *ret = files;
    return result;
}

int chain_assist_complete(const struct directory *directory, struct arena *arena,
                          const struct driver_volume *volume,
                          const struct driver_snapshot *snapshot, bool deletes,
                          enum driver_reported told, struct error *err) {
    struct chain_assist assist = {
        .directory = directory, .arena = arena, .volume = volume, .snapshot = snapshot
    };
    autoclose int lock = -1;

    if (snapshot->late && !directory->locks_trusted)
        return 0;
    if (assist_begin(&assist, &lock, err) < 0)
        return -1;
    return deletes ? chain_assist_complete_delete(&assist, told, err)
                   : chain_assist_complete_create(&assist, told, err);
}
