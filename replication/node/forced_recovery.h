/*
 * Outcome of a forced recovery from one replica on its node, as a state table: a request is
 * answered once, and not again after the answer may have been acted upon.
 */
#pragma once

#include "common/state_table.h"

enum forced_state {
    FORCED_UNKNOWN, /* not evaluated yet */
    FORCED_ABLE,
    FORCED_REFUSED,
    FORCED_DONE,
};

enum forced_event {
    FORCED_REQUESTED,        /* a new request */
    FORCED_REPLICA_FIT,      /* the volume lacks a quorum, and the replica is complete */
    FORCED_REPLICA_FLAW,     /* the volume lacks a quorum, and the replica is not complete */
    FORCED_HAS_QUORUM,       /* the volume has a quorum */
    FORCED_SERVED,           /* the volume is served as the confirmed request demands */
    FORCED_CLOSED,           /* the target is closed without an open request */
    FORCED_CLOSED_REQUESTED, /* the target is closed with an open request */
};

enum forced_action { FORCED_WAIT, FORCED_REPORT };

extern const struct state_table forced_states; /* names of states are phases in reports */
