/*
 * Reclaim of the unused space of one replica of this node, requested by its document, once for each
 * number.  The outcome is reported as long as the document has the request.
 *
 * Belongs to the thread of the pool.
 */
#pragma once

#include "replication/node/assignment.h"
#include "replication/node/reclaim_jobs.h"

struct reclaim { /* all zeros: not requested */
    int64_t number;
    enum assignment_reclaim_phase phase;
    const char *reason;                 /* of a failed one; a constant */
    struct replica_reclaimed reclaimed; /* in all attempts */
    struct error why;                   /* of a failed or interrupted attempt */
};

/* The next step of the requested reclaim; nothing is started unless `may`.  True: not finished, to
 * be called again. */
bool reclaim_reconcile(struct reclaim *reclaim, struct reclaim_jobs *jobs,
                       const struct replica *replica, const struct assignment *assignment,
                       bool may);
/* For the status of the replica; the caller's.  NULL: not requested.  `counters`: with its
 * progress. */
json_t *reclaim_json(const struct reclaim *reclaim, const struct reclaim_jobs *jobs,
                     const struct assignment *assignment, bool counters);
