/*
 * Gates: how clients of other hosts reach a volume that is served here.  Each is for one host: a
 * storage daemon that is a client of the volume's own, as those of this host are, and exports it
 * over NBD with TLS to whoever shows a certificate with that host's name as its CN, at a port of
 * its own.
 *
 * A gate serves while the volume is served, and holds nothing back: what it was asked for and has
 * not done when the volume's daemon ends has failed, and is its client's to ask for again.  It
 * outlives the agent, and has the same port and export whenever it begins anew.  All of that stands
 * in the volume's run directory, RUN/c0 and on, and whoever calls holds the volume's target.
 */
#pragma once

#include "replication/node/nbd_server.h"

#define GATES_MOST 4

struct gates_settings { /* what they point to outlives them */
    struct nbd_server_settings listener;
    const char *host; /* by which others reach this one */
};

struct gate_client {
    const char *node;
    unsigned port; /* that it was told; 0: none yet */
};

struct gates_request {
    const char *run, *volume; /* the volume's; its uid is the name of the export */
    int64_t bytes;            /* that it is served with */
    const struct gate_client *clients;
    unsigned count;
};

/* Each of these clients has a gate and no other has.  What cannot be done for one keeps none of the
 * others from theirs; its port is 0. */
int gates_keep(const struct gates_settings *settings, const struct gates_request *request,
               unsigned ret_ports[GATES_MOST], struct error *err);

/* None serves any more; each begins anew as it was. */
int gates_shut(const char *run, int64_t timeout_ms, struct error *err);
/* Nothing is left of any. */
int gates_end(const char *run, int64_t timeout_ms, struct error *err);
