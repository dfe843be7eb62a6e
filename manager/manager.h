/*
 * The volume manager: opens the backends of the configuration, takes messages for them, runs the
 * operations through the drivers, sends and judges compute events, takes over what dead workers
 * left.
 *
 * Nothing it holds in memory is needed after a crash: the operations table is.
 */
#pragma once

#include "manager/settings.h"

struct manager;

/* *ret has to be stopped also when this fails: a thread may be with a backend that does not
 * answer. */
int manager_start(const struct manager_settings *settings, struct manager **ret, struct error *err);
/* One round of the periodic work by the clock: leases, orphans and deadlines, and from time to time
 * heartbeat, pools, old messages. A crash of this process is as if no more rounds came. */
int manager_tick(struct manager *manager, struct error *err);
/* Tells of its backends now, and not when it is time. */
int manager_report(struct manager *manager, struct error *err);
/* True while its rounds go on; one that hangs is not alive. */
bool manager_alive(struct manager *manager);
/* An operation that a worker of this process has, as people are told of it. */
struct manager_work {
    const char *operation_id, *kind, *volume_id;
    int64_t for_us; /* how long it has had it */
    int percent;    /* -1: not known */
};
/* All of them, into the arena; how many.  Any thread. */
unsigned manager_running(struct manager *manager, struct arena *arena, struct manager_work **ret);
/* From now on nothing is claimed: what comes is left for others. What runs goes on. */
void manager_drain(struct manager *manager);
/* After the rpc engine: nothing runs.  Waits for backends that are being asked: for ever, when one
 * does not answer. */
void manager_stop(struct manager *manager);
