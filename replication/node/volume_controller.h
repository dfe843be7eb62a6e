/*
 * Reconciles the target of one volume with its document: opens it, starts it, watches it,
 * resynchronizes its replicas, rebuilds those that are not voting members, resizes it, stops it and
 * reports its status.
 *
 * Each has a thread: an unresponsive pool or daemon delays its own volume only.  When the agent
 * ends, the daemon goes on serving; the controller of the next agent adopts it.
 */
#pragma once

#include "replication/node/reports.h"

struct client_exports_settings;
struct health_probes;
struct rebuild_slots;
struct replica_access;
struct sessions;
struct volume_controller;

struct volume_controller_settings { /* referenced objects outlive every controller */
    const char *node;
    const char *run_directory; /* of all volumes */
    /* Access of this node to replicas of other nodes, and of other nodes to replicas of this one;
     * NULL: none. */
    const struct replica_access *remote;
    struct sessions *sessions;
    const struct client_exports_settings *exports; /* NULL: volumes are exported to no other host */
    struct health_probes *health_probes;           /* NULL: pools are not probed */
    const char *tls_directory;
    const char *program; /* NULL: qemu-storage-daemon */
    struct reports *reports;
    struct rebuild_slots *rebuilds, *scrubs;
    int64_t rebuild_speed;    /* bytes a second; 0: unlimited */
    int64_t scrub_speed;      /* the same of comparing replicas */
    int64_t scrub_interval_s; /* between two scrubs; 0: only when a running daemon is adopted */
    int64_t timeout_ms;       /* of one answer of the daemon; 0: the engine's */
    int64_t watch_ms;         /* between two checks of a healthy volume; 0: 1 000 */
    int64_t retry_ms;         /* before the first retry after a failure; 0: 1 000 */
    int64_t hang_ms;          /* a pool is unresponsive before its replica is excluded; 0: 6 000 */
};

/* Holds the assignment. */
int volume_controller_start(const struct volume_controller_settings *settings,
                            struct assignment *assignment, struct volume_controller **ret,
                            struct error *err);
/* False: it has ended. */
bool volume_controller_assign(struct volume_controller *controller, struct assignment *assignment);
/* The API lists no document of its volume: without a target it ends. */
void volume_controller_unlist(struct volume_controller *controller);
const char *volume_controller_uid(const struct volume_controller *controller);

/* Its target is stopped, as the volume is not assigned to this node any more, and none of its
 * abandoned calls into pools is still running. */
bool volume_controller_ended(struct volume_controller *controller);
/* Has its thread end; the daemon goes on serving. */
void volume_controller_end(struct volume_controller *controller);
/* Waits at most `ms` for the end of its thread; false: it is blocked, and its memory is kept.
 * *ret_running: an abandoned call may still change something in a pool. */
bool volume_controller_join(struct volume_controller *controller, int64_t ms, bool *ret_running);

/* Does the run directory have anything of this volume, as a daemon? */
bool volume_controller_finds(const struct volume_controller_settings *settings, const char *uid);
/* Reports that the volume has no target here. */
void volume_controller_report_none(const struct volume_controller_settings *settings,
                                   const struct assignment *assignment);
