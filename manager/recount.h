/*
 * Counts of the pools of this manager's backends that a manager of the release before, which may
 * work beside this one, does not keep: compared with the rows soon after the start and then every
 * hour, and written only where they differ.
 */
#pragma once

#include "manager/state.private.h"

/* Does so when it is time.  By the thread that ticks. */
int recount_pools(struct manager *manager, struct error *err);
