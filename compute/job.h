/*
 * The work on one volume: read it, resize its disk, report the end.
 *
 * One job for a volume and instance at a time; an event that comes meanwhile makes it look once
 * more when it is through (A1).  Rounds of one volume never overlap.  No thread waits: a job that
 * has to try later is put back into the pool.  The outcome is kept before it is reported, and
 * reported until the API has taken it or nobody waits for it (A8).  Thread-safe.
 */
#pragma once

#include "client/volumes.h"
#include "compute/hypervisor.h"

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
 * Starts a job or folds the event into the one that runs; `request_id` may be NULL.  Ids are UUIDs
 * in canonical form.  -1 (ERROR_UNAVAILABLE) when too many are open.
 */
int jobs_put(struct jobs *jobs, const char *volume_id, const char *instance_uuid,
             const char *request_id, struct error *err);

/*
 * The same for an extend that was pending before this process began.  `instance_uuid` NULL:
 * whichever instance has the disk.  The hypervisor may have begun just now too: a disk that it does
 * not know is waited for as long as a busy one.
 */
int jobs_resume(struct jobs *jobs, const char *volume_id, const char *instance_uuid,
                struct error *err);

unsigned jobs_open(struct jobs *jobs);

/* Where the rounds run, each with its volume's id as the key: for other work on the same disks. */
struct worker_pool *jobs_pool(struct jobs *jobs);

/* Waits for the rounds that run and forgets the rest: the volume API still knows what is
 * extending. */
void jobs_stop(struct jobs *jobs);
