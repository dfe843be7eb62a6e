/*
 * Snapshots that the host of a running guest has a part in (volume/assist.h), and what its report
 * says (os-update_snapshot_status).
 *
 * From the moment that the files are made ready until the operation ends nothing else begins on the
 * volume and its snapshots, and no guest comes to it: which file a guest writes changes only once
 * at a time.
 */
#pragma once

#include "ledger/operation.h"
#include "volume/snapshot.h"
#include "volume/volume.h"

/* For the worker that holds it (operation_body): phase preparing, if by the rows of this moment one
 * guest has the volume and the host of none does such work on it. */
struct snapshot_assist {
    struct volume volume; /* as it is now */
    enum {
        ASSIST_BEGUN,
        ASSIST_LATER,   /* another one is at it, or goes first (volume/group_snapshot_turn.h) */
        ASSIST_NO_GUEST /* or more than one: nothing has changed */
    } begun;
};
operation_body snapshot_assist_begin;
/* The files are ready: phase sending, and the deadline.  No argument, nor have those below of which
 * nothing is said. */
operation_body snapshot_assist_ready;
/* As assist_sent(); no report is waited for when nobody has the volume any more, nor where one that
 * goes together with it has failed. */
operation_body snapshot_assist_sent;
/* As if the host had reported that it failed, or that it is done: from preparing and sending.  The
 * argument of the first is a bool: nobody was ever asked to delete anything. */
operation_body snapshot_assist_refused;
operation_body snapshot_assist_done;
/* Nobody can tell yet: waits for as long again, or, where no report comes any more, for as long as
 * the argument says, an int64_t of microseconds. */
operation_body snapshot_assist_stay;

/* Those who use the volume have changed: without any of them nobody is left who could report. */
int snapshot_assist_follow(struct work *work, const struct volume *volume, struct error *err);
