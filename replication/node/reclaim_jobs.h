/*
 * Reclaims space of the replicas of a pool (replication/engine/replica_reclaim.h), one at a time,
 * each in a thread of its own, so that the pool is monitored meanwhile.
 *
 * Belongs to the thread of the pool.
 */
#pragma once

#include "replication/engine/replica_reclaim.h"

#include <stdbool.h>

struct reclaim_jobs;

struct reclaim_jobs *reclaim_jobs_new(void);
void reclaim_jobs_free(struct reclaim_jobs *jobs); /* after reclaim_jobs_end(); NULL is fine */

/* As replica_reclaim(), but 1: this replica or another one is being processed, to be called again,
 * or cancelled. The first waiting replica is next. */
int reclaim_jobs_run(struct reclaim_jobs *jobs, const struct replica *replica,
                     struct replica_reclaimed *reclaimed, struct error *err);
/* Is that replica being processed, or the next one?  Its progress; 0: it is not being processed. */
bool reclaim_jobs_have(const struct reclaim_jobs *jobs, const char *replica);
int64_t reclaim_jobs_done_bytes(const struct reclaim_jobs *jobs, const char *replica);
/* The result for that replica is not requested any more; the job ends soon, without waiting. */
void reclaim_jobs_cancel(struct reclaim_jobs *jobs, const char *replica);
/* The same, and waits for the end of its job. */
void reclaim_jobs_stop(struct reclaim_jobs *jobs, const char *replica);
/* Cancels and forgets the running job. */
void reclaim_jobs_end(struct reclaim_jobs *jobs);
