/*
 * The job of one volume: read it, resize its disk, report the end.
 *
 * One job for a volume and instance at a time; an event during the job makes it check once more at
 * its end (A1).  Rounds of one volume never overlap.  No thread waits: a job with a later attempt
 * is put back into the pool.  The outcome is stored before it is reported, and reported until the
 * API accepts it or no longer awaits it (A8).  Thread-safe.
 */
#pragma once

#include "client/volumes.h"
#include "compute/hypervisor/hypervisor.h"

struct jobs;
struct worker_pool;

struct job_settings {
    struct hypervisor *hypervisor;
    struct client api;
    const char *host;
    unsigned workers;
    int64_t retry_ms, busy_ms, unreachable_ms; /* agent.h */
};

struct jobs *jobs_new(const struct job_settings *settings);

/*
 * Starts a job or adds the event to the running one; `request_id` may be NULL.  Ids are UUIDs in
 * canonical form. -1 (ERROR_UNAVAILABLE): too many jobs.
 */
int jobs_put(struct jobs *jobs, const char *volume_id, const char *instance_uuid,
             const char *request_id, struct error *err);

/*
 * The same for an extend that was pending before this process started. `instance_uuid` NULL: any
 * instance that has the disk.  The hypervisor may have just started too: an unknown disk is awaited
 * as long as a busy one.
 */
int jobs_resume(struct jobs *jobs, const char *volume_id, const char *instance_uuid,
                struct error *err);

unsigned jobs_open(struct jobs *jobs);

/* The pool of the rounds, keyed by volume id: for other work on the same disks. */
struct worker_pool *jobs_pool(struct jobs *jobs);

/* Waits for running rounds and drops the rest: the volume API keeps the state of the extends. */
void jobs_stop(struct jobs *jobs);
