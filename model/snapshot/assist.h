/*
 * Snapshots in which the host of a running guest takes part (model/assist.h), and its report
 * (os-update_snapshot_status).
 *
 * From the moment that the files are made ready until the operation ends no other operation begins
 * on the volume and its snapshots, and it is not attached: the file that a guest writes changes
 * only once at a time.
 */
#pragma once

#include "model/snapshot/snapshot.h"
#include "model/volume/volume.h"
#include "operation/operation.h"

/* For the worker that holds it (operation_body): phase preparing, if by the rows of this moment one
 * guest has the volume and no host does such work on it. */
struct snapshot_assist {
    struct volume volume; /* as it is now */
    enum {
        ASSIST_BEGUN,
        ASSIST_LATER,   /* another one is at it, or has priority (model/group/snapshot_turn.h) */
        ASSIST_NO_GUEST /* or more than one: nothing has changed */
    } begun;
};
operation_body snapshot_assist_begin;
/* The files are ready: phase sending, and the deadline.  No argument, like those below without a
 * note. */
operation_body snapshot_assist_ready;
/* As assist_sent(); no report is awaited when the volume is detached by now, nor where one of the
 * same moment has failed. */
operation_body snapshot_assist_sent;
/* As if the host had reported that it failed, or that it is done: from preparing and sending. */
struct snapshot_refusal {
    bool never_asked; /* no host got a request to delete anything */
    const struct error *failure;
};
operation_body snapshot_assist_refused;
operation_body snapshot_assist_done;
/* Unknown yet: waits for as long again, or, where no report comes any more, for the time in the
 * argument, an int64_t of microseconds. */
operation_body snapshot_assist_continue;

/* The users of the volume have changed: without any of them there will be no report. */
int snapshot_assist_follow(struct work *work, const struct volume *volume, struct error *err);
