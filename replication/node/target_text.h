/*
 * The status of a volume's document: how its target is, in the words of documents.
 */
#pragma once

#include "replication/node/assignment.h"
#include "replication/node/target_health.h"

struct target_text {
    const struct assignment *assignment;
    const char *node, *run;
    const struct target_health *health;
    const struct target_status *status; /* NULL: there is no target */
    int64_t generation;                 /* that has been made true */
    int64_t epoch;                      /* that this is said in; 0: none */
    const char *host;                   /* that other hosts call; NULL: none is let in */
    const unsigned *ports;              /* of the assignment's clients; 0: not let in now */
    const struct target_scrub *scrub;   /* that goes on, if it does, or has ended */
    bool scrubs;
    const char *scrubbed_at;                /* "": none has ended */
    int64_t attempt;                        /* at the revert that is wanted */
    bool reverted;                          /* and that has come to its end */
    const char *recovery, *recovery_reason; /* of the one that is wanted; NULL: nothing is known */
    const char *recovery_message;
    const json_t *snapshots; /* those that are to be taken; NULL: none */
};

/* `figures`: also what changes all the time. */
const char *target_text(struct arena *arena, const struct target_text *text, bool counters);
