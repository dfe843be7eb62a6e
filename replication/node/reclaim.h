/*
 * Room that one replica of this node is to give back, as its document asks once for each number.
 * What has come of it is told until the document asks for nothing more.
 *
 * Belongs to the thread of the pool.
 */
#pragma once

#include "replication/node/assignment.h"
#include "replication/node/reclaim_jobs.h"

struct reclaim { /* nothing is asked for: all zeros */
    int64_t number;
    enum assignment_reclaim_phase phase;
    const char *reason;           /* of one that failed; lives for ever */
    struct replica_dug reclaimed; /* of all tries */
    struct error why;             /* it has failed, or is not done yet */
};

/* The next step of the requested reclaim; nothing is started unless `may`.  True: not finished, to
 * be called again. */
bool reclaim_reconcile(struct reclaim *reclaim, struct reclaim_jobs *jobs,
                       const struct replica *place, const struct assignment *assignment, bool may);
/* For the status of the replica; the caller's.  NULL: nothing is asked for.  `figures`: with how
 * far it is. */
json_t *reclaim_json(const struct reclaim *reclaim, const struct reclaim_jobs *jobs,
                     const struct assignment *assignment, bool counters);
