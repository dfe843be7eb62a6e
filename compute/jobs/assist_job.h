/*
 * The job of one snapshot below a running guest: check the chain of images, start the change, watch
 * it, report the end (os-update_snapshot_status).
 *
 * One job for a snapshot at a time; a repeated request joins it and makes it check once more at its
 * end.  Rounds share the pool of the extends, so no two rounds of one volume overlap.  Nothing is
 * stored on disk: the chain shows the progress, and the volume service repeats its request.
 *
 * Between the check and a call that changes the chain, the job sends a report to the volume API,
 * which accepts it only while the snapshot is being created or deleted.  So a late request, or one
 * of a service that has given up, ends there; a call that is delayed even after that finds another
 * image on top or none at its path, and is refused (blocks.h).
 *
 * The snapshots of a set have a job each.  The job with the smallest id changes all disks, as soon
 * as every snapshot of the set is requested and ready; the others find the change in their chains.
 * Each job reports for itself; one that waits too long for the others fails.  Thread-safe.
 */
#pragma once

#include "client/volumes.h"
#include "compute/jobs/overlay.h"

struct assists;
struct worker_pool;

struct assist_settings {
    struct hypervisor *hypervisor;
    struct client api;
    const char *host;
    struct worker_pool *pool;                  /* stopped before assists_free() */
    int64_t retry_ms, busy_ms, unreachable_ms; /* agent.h */
    /* Longest wait for the other snapshots of a set.  A service repeats its requests within four
     * minutes. */
    int64_t set_timeout_ms;
};

struct assist {
    const char *volume_id, *snapshot_id; /* UUIDs in canonical form */
    const char *instance_uuid;           /* that has the disk; "": any */
    const char *request_id;              /* may be NULL */
    struct overlay_change change;
    /* Of a new overlay: the ids of the atomic snapshot set, including this one; or 0. */
    const char *const *set_ids;
    unsigned set_count;
};

struct assists *assists_new(const struct assist_settings *settings);

/* -1: ERROR_UNAVAILABLE: too many jobs; ERROR_CONFLICT: this snapshot has a job with other
 * files. */
int assists_put(struct assists *assists, const struct assist *assist, struct error *err);

unsigned assists_open(struct assists *assists);

void assists_free(struct assists *assists);
