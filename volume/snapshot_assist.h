/*
 * Snapshots that the host of a running guest has a part in: who is asked, until when its report is
 * waited for, and what that says (os-update_snapshot_status).
 *
 * From the moment that the files are made ready until the operation ends nothing else begins on the
 * volume and its snapshots, and no guest comes to it: which file a guest writes changes only once
 * at a time.
 *
 * One of our own agents may have lost what it was asked for, with its life.  While it is at work it
 * says so every ten seconds; when it has been silent for longer, its deadline is over, and it is
 * asked again, at a growing pace.  The last deadline of all is kept beside.  A compute service is
 * asked once.
 */
#pragma once

#include "ledger/operation.h"
#include "volume/snapshot.h"
#include "volume/volume.h"

/* Of whoever has exactly one attachment, to an instance: who that is. */
const struct attachment *snapshot_assist_guest(const struct volume *volume);

/* For the worker that holds it (operation_body): phase preparing, if by the rows of this moment one
 * guest has the volume and the host of none does such work on it. */
struct snapshot_assist {
    struct volume volume; /* as it is now */
    enum {
        ASSIST_BEGUN,
        ASSIST_LATER,   /* another one is at it */
        ASSIST_NO_GUEST /* or more than one: nothing has changed */
    } begun;
};
operation_body snapshot_assist_begin;
/* The files are ready: phase sending, and the deadline.  No argument, nor have those below of which
 * nothing is said. */
operation_body snapshot_assist_ready;
/* The host was asked, or may have been: phase waiting, and the worker lets go.  The argument is a
 * bool: it may be asked again. */
operation_body snapshot_assist_sent;
/* It was asked again, or could not be: waits on.  The argument is a bool: for longer than
 * before. */
operation_body snapshot_assist_silent;
/* As if the host had reported that it failed, or that it is done: from preparing and sending.  The
 * argument of the first is a bool: nobody was ever asked to delete anything. */
operation_body snapshot_assist_refused;
operation_body snapshot_assist_done;
/* Waits for as long again: nobody can tell yet. */
operation_body snapshot_assist_stay;

/* Must the operation wait for such work on its volume, or on the one that it reads?  1, 0. */
int snapshot_assist_blocks(struct work *work, const struct operation *operation, struct error *err);
/* Those who use the volume have changed: without any of them nobody is left who could report. */
int snapshot_assist_follow(struct work *work, const struct volume *volume, struct error *err);
/* Of one that waits and whose deadline is over: is at `now_us` only that of a silence over? */
bool snapshot_assist_asks_again(struct arena *arena, const struct operation *operation,
                                int64_t now_us);
/* A sign of life: a host is at work. */
int snapshot_assist_heard(struct work *work, const struct operation *operation, struct error *err);
/* The report of a host: 1 it was waited for, 0 it was not. */
int snapshot_assist_report(struct work *work, const struct operation *operation, bool failed,
                           struct error *err);
