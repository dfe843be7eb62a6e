/*
 * The volume manager: opens the configured backends, receives their messages, runs operations
 * through the drivers, sends compute events and classifies their responses, takes over operations
 * of dead workers.
 *
 * Its memory holds nothing that is needed after a crash: the operations table has it.
 */
#pragma once

#include "manager/runtime/settings.h"

struct manager;

/* *ret must be stopped also on failure: a thread may be in a call to an unresponsive backend. */
int manager_start(const struct manager_settings *settings, struct manager **ret, struct error *err);
/* One round of the periodic work: leases, orphans and deadlines, and at intervals heartbeat, pools,
 * old messages.  A crash of this process equals the end of rounds. */
int manager_tick(struct manager *manager, struct error *err);
/* Reports its backends now, ahead of the interval. */
int manager_report(struct manager *manager, struct error *err);
/* True while rounds end, also those that the database refuses; one that hangs is not alive. */
bool manager_alive(struct manager *manager);
/* An operation in progress in this process, for display. */
struct manager_work {
    const char *operation_id, *kind, *volume_id;
    int64_t for_us; /* how long it has been in progress */
    int percent;    /* -1: unknown */
};
/* All of them, into the arena; their number.  Any thread. */
unsigned manager_running(struct manager *manager, struct arena *arena, struct manager_work **ret);
/* Claims nothing from now on: operations are left for other managers.  Running ones continue. */
void manager_drain(struct manager *manager);
/* After the rpc engine: nothing runs.  Waits for calls to backends: without a limit, when one is
 * unresponsive. */
void manager_stop(struct manager *manager);
