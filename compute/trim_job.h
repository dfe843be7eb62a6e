/*
 * A guest gives back room of a volume: look at its disk, have it trimmed, report
 * (os-update_reclaim_space).
 *
 * As long as it goes on the job says so now and then, and ends when nobody waits for it any more;
 * what the guest was told it does all the same, which harms nobody.  No thread waits: a job that
 * has to look later is put back into the pool.  Nothing is kept on disk: who is waited for in vain
 * is asked again.  Thread-safe.
 */
#pragma once

#include "client/volumes.h"
#include "compute/hypervisor.h"

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

/* May the disk be trimmed?  -1: ERROR_BAD_REQUEST no; ERROR_CONFLICT, ERROR_NOT_FOUND: not now, not
 * here; ERROR_UNAVAILABLE: nobody can tell. */
int trim_look(struct hypervisor *hypervisor, struct arena *arena, const struct trim *trim,
              struct disk *ret, struct error *err);

struct trims *trims_new(const struct trim_settings *settings);

/* 0 also when it is at it already.  -1 (ERROR_UNAVAILABLE) when too many are open. */
int trims_put(struct trims *trims, const struct trim *trim, struct error *err);

unsigned trims_open(struct trims *trims);

void trims_free(struct trims *trims);
