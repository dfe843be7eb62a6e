/*
 * Prints the status of a volume's document: its target, replicas and work in progress.
 */
#pragma once

#include "replication/node/assignment.h"
#include "replication/node/target_health.h"

struct target_text {
    const struct assignment *assignment;
    const char *node, *run;
    const struct target_health *health;
    const struct target_status *status; /* NULL: no target */
    int64_t generation;                 /* last reconciled one */
    int64_t epoch;                      /* of this report; 0: none */
    const char *host;                   /* name of this node for other hosts; NULL: not exported */
    const unsigned *ports;              /* of the assignment's clients; 0: not exported now */
    int64_t device_bytes;               /* size of the assigned device; 0: there is none */
    const struct target_scrub *scrub;   /* the running or last one */
    bool scrubs;
    const char *scrubbed_at;                /* "": none has finished */
    int64_t attempt;                        /* number of the attempt at the assigned revert */
    bool reverted;                          /* that revert is finished */
    const char *recovery, *recovery_reason; /* of the requested one; NULL: unknown */
    const char *recovery_message;
    const json_t *snapshots; /* status of the assigned ones; NULL: none */
};

/* `counters`: with counters; without them the result is the summary for reports_put(). */
const char *target_text(struct arena *arena, const struct target_text *text, bool counters);
