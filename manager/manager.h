/*
 * The volume manager: opens the backends of the configuration, takes messages for them, runs the
 * operations through the drivers, sends and judges compute events, takes over what dead workers
 * left.
 *
 * Nothing it holds in memory is needed after a crash: the operations table is.
 */
#pragma once

#include "common/option.h"
#include "db/db.h"
#include "drivers/driver.h"
#include "manager/compute_event.h"
#include "rpc/rpc.h"
#include "volume/settings.h"

struct manager;

struct manager_backend {
    const char *name;         /* section; the host is <node>@<name> */
    const char *backend_name; /* volume_backend_name, what types ask for */
    const struct driver *driver;
    void *handle;
};

struct manager_settings {
    struct db *db;
    struct rpc *rpc;
    const struct settings *settings;
    struct compute_sender *compute;
    const char *node;  /* option host, or the machine's name */
    const char *owner; /* of this incarnation: "<node>:<pid>:<start>" */
    const char *zone;
    const struct manager_backend *backends; /* ended with a NULL name */
    bool threaded; /* false: no thread of its own; manager_tick() does (tests) */
    void (*operation_ended)(void *arg); /* may be NULL; any thread */
    void *operation_ended_arg;
};

int manager_start(const struct manager_settings *settings, struct manager **ret, struct error *err);
/* One round of the periodic work by the clock: leases, orphans and deadlines, and from time to time
 * heartbeat, pools, old messages. A crash of this process is as if no more rounds came. */
int manager_tick(struct manager *manager, struct error *err);
void manager_stop(struct manager *manager);
