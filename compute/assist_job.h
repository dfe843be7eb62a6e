/*
 * The work on one snapshot below a running guest: look at the chain of images, begin what is to be
 * done, watch it, report the end (os-update_snapshot_status).
 *
 * One job for a snapshot at a time; the same request again joins it, and has it look once more when
 * it is through.  Rounds share the pool of those that grow disks, so no two of one volume overlap.
 * Nothing is kept on disk: the chain says what has been done, and whoever awaits it asks again.
 *
 * Between the look and the call that changes something the volume API is asked whether the snapshot
 * is still being made, or deleted: it takes a report of that.  Whatever was asked for late, or by a
 * service that has given up, ends there; what is held up even behind that finds another image on
 * top or none at its path, and is refused (blocks.h).
 *
 * Snapshots that are to be taken together have a job each.  The one with the smallest id does it
 * for all, as soon as all have been asked for and are ready; the others see in their chains that it
 * is done.  Each reports for itself; one that waits too long for others has failed.  Thread-safe.
 */
#pragma once

#include "client/volumes.h"
#include "compute/overlay.h"

struct assists;
struct worker_pool;

struct assist_settings {
    struct hypervisor *hypervisor;
    struct client api;
    const char *host;
    struct worker_pool *pool;                  /* stopped before assists_free() */
    int64_t retry_ms, busy_ms, unreachable_ms; /* agent.h */
    /* How long one waits for the others that are to be taken with it.  A service that asks again
     * does so within four minutes. */
    int64_t apart_ms;
};

struct assist {
    const char *volume_id, *snapshot_id; /* UUIDs in canonical form */
    const char *instance_uuid;           /* that has the disk; "": whichever */
    const char *request_id;              /* may be NULL */
    struct overlay_change change;
    /* Of a new overlay: the snapshots that are taken at one moment, this one among them; or 0. */
    const char *const *together;
    unsigned together_count;
};

struct assists *assists_new(const struct assist_settings *settings);

/* -1: ERROR_UNAVAILABLE, too many are open; ERROR_CONFLICT, one of this snapshot is, with other
 * files. */
int assists_put(struct assists *assists, const struct assist *assist, struct error *err);

unsigned assists_open(struct assists *assists);

void assists_free(struct assists *assists);
