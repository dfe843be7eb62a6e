/*
 * A pool of the agent as a state table; each status read is an event.
 */
#pragma once

#include "common/state_table.h"

enum pool_phase {
    POOL_IS_NEW, /* not read yet */
    POOL_IS_ONLINE,
    POOL_IS_READ_ONLY,
    POOL_IS_GONE,
    POOL_IS_FOREIGN,
    POOL_IS_FAILING,
    POOL_IS_UNRESPONSIVE,
    POOL_IS_ABANDONED, /* unresponsive for long: nothing of it is exported to other nodes */
};

enum pool_event {
    POOL_FOUND_ONLINE,
    POOL_FOUND_READ_ONLY,
    POOL_FOUND_GONE,
    POOL_FOUND_FOREIGN,
    POOL_FOUND_FAILING,
    POOL_DOES_NOT_ANSWER,
    POOL_DOES_NOT_ANSWER_FOR_LONG,
};

enum pool_action {
    POOL_CONTINUES,
    POOL_REPORTS, /* logged and reported, and the status of each replica is read at once */
};

extern const struct state_table pool_states;
