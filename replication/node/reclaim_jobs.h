/*
 * Replicas of a pool that give back room (replication/engine/replica_dig.h): a thread of its own
 * for each, so that the pool is looked at meanwhile; one at a time.
 *
 * Belongs to the thread of the pool.
 */
#pragma once

#include "replication/engine/replica_dig.h"

#include <stdbool.h>

struct reclaim_jobs;

struct reclaim_jobs *reclaim_jobs_new(void);
void reclaim_jobs_free(struct reclaim_jobs *jobs); /* after digs_end(); NULL is fine */

/* As replica_dig(), but 1: under way, or another is: come again, or digs_forget().  Of those that
 * wait the first one begins next. */
int reclaim_jobs_run(struct reclaim_jobs *jobs, const struct replica *replica,
                     struct replica_dug *reclaimed, struct error *err);
/* Is it at that replica, or is that the next one?  How far; 0: not at it. */
bool reclaim_jobs_have(const struct reclaim_jobs *jobs, const char *replica);
int64_t reclaim_jobs_done_bytes(const struct reclaim_jobs *jobs, const char *replica);
/* Nobody asks for that replica any more; it ends soon, and is not waited for. */
void reclaim_jobs_cancel(struct reclaim_jobs *jobs, const char *replica);
/* And nothing is done to it any more when this returns. */
void reclaim_jobs_stop(struct reclaim_jobs *jobs, const char *replica);
/* The one that is under way ends soon, and is forgotten. */
void reclaim_jobs_end(struct reclaim_jobs *jobs);
