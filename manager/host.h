/*
 * A backend in the hands of a manager.  A thread of its own opens it, unless it is open, and
 * reports it; so one that does not answer holds up nobody but its own work.  What comes for it
 * before it is open waits.
 *
 * Without threads (tests) it is open from the beginning, and manager_tick() reports it.
 */
#pragma once

#include "manager/state.private.h"

void host_init(struct manager_host *host, struct manager *manager,
               const struct manager_backend *backend);
void host_start(struct manager_host *host);
/* Waits until `until_us` (monotonic) for the first report.  -1: the backend cannot be opened.  One
 * that does not answer, or is not there, is no failure: it is opened as soon as it answers. */
int host_wait(struct manager_host *host, int64_t until_us, struct error *err);
/* Reports the node, and each backend at once or, when it has a thread for that, soon. */
int hosts_report(struct manager *manager, struct error *err);
/* Waits for the thread.  Nothing may work with the backend any more. */
void host_free(struct manager_host *host);

/* A worker begins with a message, as soon as the backend is open. -1: the manager ends. */
int lane_enter(struct manager_lane *lane, struct error *err);
void lane_leave(struct manager_lane *lane);
/* One volume at a time gives back room: who goes gently through a whole disk is enough of a load.
 * false: another one does. */
bool host_begin_reclaim(struct manager_host *host);
void host_end_reclaim(struct manager_host *host);
/*
 * Is it time to look for messages that got lost?  Not while others arrive, as the missing one may
 * stand behind them, and not soon after the start; but now and then even so.  `surely`: nothing
 * arrives, and no worker has anything that others could wait for.  Not thread-safe.
 */
bool lane_misses_messages(struct manager_lane *lane, bool *ret_surely);
/* Has no worker finished since the last call, and how many are busy?  Not thread-safe. */
enum lane_load {
    LANE_MOVES,
    LANE_SHARE_TAKEN, /* as many as one project can have: only others' messages could be taken up */
    LANE_STUCK,       /* all: further messages would only queue up */
};
enum lane_load lane_load(struct manager_lane *lane);
