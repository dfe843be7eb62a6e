/*
 * A backend of a manager.  Its own thread opens it, unless it is open, and reports it; an
 * unresponsive one delays only its own operations.  Messages before it is open wait.
 *
 * Without threads (tests) it is open from the start, and manager_tick() reports it.
 */
#pragma once

#include "manager/runtime/state.private.h"

void host_init(struct manager_host *host, struct manager *manager,
               const struct manager_backend *backend);
void host_start(struct manager_host *host);
/* Waits until `until_us` (monotonic) for the first report.  -1: the backend cannot be opened.  An
 * unresponsive or unavailable one is not an error: it is opened later. */
int host_wait(struct manager_host *host, int64_t until_us, struct error *err);
/* Reports the node, and each backend at once or, if it has a thread, soon. */
int hosts_report(struct manager *manager, struct error *err);
/* Waits for the thread.  The backend must not be in use any more. */
void host_free(struct manager_host *host);

/* A worker starts a message, once the backend is open.  -1: the manager stops. */
int lane_enter(struct manager_lane *lane, struct error *err);
void lane_leave(struct manager_lane *lane);
/* One volume at a time is reclaimed: a rate-limited scan of a whole disk is enough load.  false:
 * another one is running. */
bool host_begin_reclaim(struct manager_host *host);
void host_end_reclaim(struct manager_host *host);
/*
 * Should lost messages be searched for?  Not while others arrive, because the missing one may be
 * behind them, and not soon after the start; but now and then regardless.  `surely`: no message
 * arrives, and no worker has an operation that others could wait for.  Not thread-safe.
 */
bool lane_misses_messages(struct manager_lane *lane, bool *ret_surely);
/* Has no worker finished since the last call, and how many are busy?  Not thread-safe. */
enum lane_load {
    LANE_MOVES,
    LANE_SHARE_TAKEN, /* a project's limit: only operations of others could start */
    LANE_STUCK,       /* all: further messages would only be queued */
};
enum lane_load lane_load(struct manager_lane *lane);
