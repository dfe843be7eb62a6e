#include "drivers/file/chain_assist.private.h"

int chain_assist_prepare_delete(const struct chain_assist *assist, struct driver_assist *ret,
                                struct error *err) {
    (void)ret;
    return error_set(err, ERROR_CONFLICT, "A guest has the image open that is above snapshot %s.",
                     assist->snapshot->id);
}

int chain_assist_settle_delete(const struct chain_assist *assist, enum driver_told told,
                               struct error *err) {
    (void)told;
    return error_set(err, ERROR_CONFLICT, "A guest has the image open that is above snapshot %s.",
                     assist->snapshot->id);
}
