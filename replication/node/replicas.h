/*
 * The replicas of one pool: makes their files, looks at them, removes them when their documents say
 * so, and reports how they are.
 *
 * Data are removed for one reason alone: the document is there and has a deletion time, the API
 * takes the pool for ours, and the pool is the one that it should be, before and afterwards.  What
 * no document names stays.  And a file that was there once is made again without data only, to be
 * rebuilt by its volume's target.
 *
 * Belongs to one thread, that of its pool; calls block as the pool does.
 */
#pragma once

#include "replication/node/pool_status.h"
#include "replication/node/reports.h"

struct replicas;
struct sessions;

struct replicas_settings {
    const char *pool, *path;   /* outlive them */
    struct sessions *sessions; /* of other nodes with these; NULL: there are none */
    const char *run_directory; /* whose write logs go with the replicas; NULL: there are none */
    struct reports *reports;
    int64_t look_ms; /* between two looks at one that is well */
};

struct replicas *replicas_new(const struct replicas_settings *settings);
/* What is under way ends soon; nothing is called any more but replicas_free(). */
void replicas_end(struct replicas *replicas);
void replicas_free(struct replicas *replicas);

/* All that are wanted in this pool; those that are named no more are left as they are. */
void replicas_set(struct replicas *replicas, struct assignment *const *assignments, unsigned count);

/* Tells when there is more in the pool than what was wanted last. */
void replicas_look_for_strangers(struct replicas *replicas);

/* All are due: the pool is not as it was. */
void replicas_look_soon(struct replicas *replicas);
/* Works on those that are due.  `ours`: the API takes the pool for ours.  When to come again, an
 * instant of the monotonic clock. */
int64_t replicas_work(struct replicas *replicas, const struct pool_status *pool, bool ours);
