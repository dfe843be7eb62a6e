/*
 * What a node's volume controller has found about a forced recovery from one replica, as a state
 * table: a request is answered once, and never again after the answer may have been acted upon.
 */
#pragma once

#include "common/state_table.h"

enum forced_state {
    FORCED_UNKNOWN, /* nothing was found about the request yet */
    FORCED_ABLE,
    FORCED_REFUSED,
    FORCED_DONE,
};

enum forced_event {
    FORCED_REQUESTED,        /* another request than the one before */
    FORCED_REPLICA_FIT,      /* the volume lacks a quorum, and the replica is whole */
    FORCED_REPLICA_FLAW,     /* or it is not, */
    FORCED_HAS_QUORUM,       /* or the volume can be served without it */
    FORCED_SERVED,           /* it is served, as the confirmed request says */
    FORCED_CLOSED,           /* the target is closed, and no request waits for an answer */
    FORCED_CLOSED_REQUESTED, /* or one does */
};

enum forced_action { FORCED_WAIT, FORCED_REPORT };

extern const struct state_table forced_states; /* the names of its states are those of reports */
