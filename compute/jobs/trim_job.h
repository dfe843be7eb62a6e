/*
 * The job of a trim: check the disk, have the guest trim it, report (os-update_reclaim_space).
 *
 * While it runs the job reports periodically, and ends when the volume API no longer awaits it; the
 * guest completes its trim nevertheless, which is harmless.  No thread waits: a job with a later
 * check is put back into the pool.  Nothing is stored on disk: the volume service repeats a request
 * without a report.  Thread-safe.
 */
#pragma once

#include "client/volumes.h"
#include "compute/hypervisor/hypervisor.h"

struct trims;
struct worker_pool;

struct trim_settings {
    struct hypervisor *hypervisor;
    struct client api;
    const char *host;
    struct worker_pool *pool;                  /* stopped before trims_free() */
    int64_t retry_ms, busy_ms, unreachable_ms; /* agent.h */
};

struct trim {
    const char *id, *volume_id, *instance_uuid; /* UUIDs in canonical form */
    const char *request_id;                     /* may be NULL */
};

/* May the disk be trimmed? -1: ERROR_BAD_REQUEST: never; ERROR_CONFLICT, ERROR_NOT_FOUND: not at
 * present, or not on this host; ERROR_UNAVAILABLE: unknown. */
int trim_check_disk(struct hypervisor *hypervisor, struct arena *arena, const struct trim *trim,
                    struct disk *ret, struct error *err);

struct trims *trims_new(const struct trim_settings *settings);

/* 0 also when the trim has a job already.  -1 (ERROR_UNAVAILABLE): too many jobs. */
int trims_put(struct trims *trims, const struct trim *trim, struct error *err);

unsigned trims_open(struct trims *trims);

void trims_free(struct trims *trims);
