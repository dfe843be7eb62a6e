/*
 * The two kinds of assisted work (chain_assist.h), with the volume's chain locked.
 */
#pragma once

#include "drivers/file/chain_assist.h"
#include "drivers/file/chain_merge.h"
#include "drivers/file/image_source.h"

struct chain_assist {
    const struct directory *directory;
    struct arena *arena;
    const struct driver_volume *volume;
    const struct driver_snapshot *snapshot;
    struct chain_work work; /* the same for the chain */
    struct chain chain;
};

int chain_assist_prepare_create(const struct chain_assist *assist, struct driver_assist *ret,
                                struct error *err);
int chain_assist_complete_create(const struct chain_assist *assist, enum driver_reported told,
                                 struct error *err);
int chain_assist_prepare_delete(const struct chain_assist *assist, struct driver_assist *ret,
                                struct error *err);
int chain_assist_complete_delete(const struct chain_assist *assist, enum driver_reported told,
                                 struct error *err);
/* An overlay that was prepared and that the guest does not use: 1 it was undone, 0 it is none. */
int chain_assist_undo_unused(const struct chain_assist *assist, struct error *err);
