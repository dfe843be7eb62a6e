/*
 * Client exports: access of other hosts to a volume that is served here.  Each is for one host: a
 * storage daemon that is a client of the volume's daemon, like the clients of this host, and
 * exports it over NBD with TLS at a port of its own, to a client whose certificate has the name of
 * that host as its CN.
 *
 * An export serves while the volume is served, and queues no request: a request in flight when the
 * volume's daemon ends fails, and the client retries it.  An export outlives the agent, and keeps
 * its port and name over restarts.  Its files are in the volume's run directory, RUN/c0 and on; the
 * caller holds the volume's target.
 */
#pragma once

#include "replication/node/nbd_server.h"

#define CLIENT_EXPORTS_MOST 4

struct client_exports_settings { /* referenced objects outlive them */
    struct nbd_server_settings listener;
    const char *host; /* name of this one for others */
};

struct export_client {
    const char *node;
    unsigned port; /* that was reported for it; 0: none yet */
};

struct client_exports_request {
    const char *run, *volume; /* run directory and uid of the volume; the uid names the export */
    int64_t bytes;            /* current size */
    const struct export_client *clients;
    unsigned count;
};

/* Exports the volume to these clients, and to no other.  A failure for one client does not affect
 * the others; its port is 0. */
int client_exports_reconcile(const struct client_exports_settings *settings,
                             const struct client_exports_request *request,
                             unsigned ret_ports[CLIENT_EXPORTS_MOST], struct error *err);

/* Stops all; client_exports_reconcile() restarts them with the same ports. */
int client_exports_stop(const char *run, int64_t timeout_ms, struct error *err);
/* Stops all and removes their files. */
int client_exports_end(const char *run, int64_t timeout_ms, struct error *err);
