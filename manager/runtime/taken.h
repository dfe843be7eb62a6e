/*
 * Operations that transactions of this process have claimed for its manager (operation/taker.h),
 * from the claim until a worker begins them.  They are handed over behind the commit, past the
 * outbox; until a worker is free their leases are renewed as those of running ones.  One that finds
 * a free worker is counted as an attempt with its claim, any other by the begin of an earlier one
 * once few are in front of it: a death leaves at most two for each worker that have not begun.
 *
 * None is taken while the backend is not open, the manager stops, or the workers make no progress:
 * another manager of the backend may have free ones.  Of an unresponsive backend no lease is
 * renewed any more, so that the operations become available to others as those of a dead worker.
 * One that has lost its lease begins as behind a message that has arrived.
 */
#pragma once

#include "manager/runtime/state.private.h"

/* Once messages may be received. */
void taken_start(struct manager *manager);
void taken_stop(struct manager *manager);
/* Those that were not handed over, and when the manager drains all that no worker has begun, are
 * other managers'. */
void taken_release(struct manager *manager);
/* At the end, when the rpc engine has stopped: waits for commits, and releases those of them. */
void taken_wait(struct manager *manager);

/* The ids of those with a lease to be renewed, copied and in their order; how many. */
unsigned taken_due(struct manager *manager, struct arena *arena, const char ***ret);
/* The result of their renewal, requested at `asked_us` of the steady clock. */
void taken_renewed(struct manager *manager, const char *const *ids, const bool *renewed,
                   unsigned count, int64_t asked_us);
