/*
 * Replicas of a pool that give back room (replication/engine/replica_dig.h): a thread of its own
 * for each, so that the pool is looked at meanwhile; one at a time.
 *
 * Belongs to the thread of the pool.
 */
#pragma once

#include "replication/engine/replica_dig.h"

#include <stdbool.h>

struct digs;

struct digs *digs_new(void);
void digs_free(struct digs *digs); /* after digs_end(); NULL is fine */

/* As replica_dig(), but 1: under way, or another is: come again, or digs_forget().  Of those that
 * wait the first one begins next. */
int digs_make(struct digs *digs, const struct replica *replica, struct replica_dug *dug,
              struct error *err);
/* Is it at that replica, or is that the next one?  How far; 0: not at it. */
bool digs_work(const struct digs *digs, const char *replica);
int64_t digs_at(const struct digs *digs, const char *replica);
/* Nobody asks for that replica any more; it ends soon, and is not waited for. */
void digs_forget(struct digs *digs, const char *replica);
/* And nothing is done to it any more when this returns. */
void digs_stop(struct digs *digs, const char *replica);
/* The one that is under way ends soon, and is forgotten. */
void digs_end(struct digs *digs);
