/* Inside of compute.c and guests.c: a host, its agent and its guests. */
#pragma once

#include "compute/hypervisor.h"
#include "tests/sim/sim.h"

struct jobs;
struct reporter;
struct worker_pool;

struct plug {
    char volume_id[37]; /* "": none */
    int64_t capacity;   /* what a running guest sees */
    int64_t told;       /* what a hanging guest was told to grow it to */
};

enum guest_state { GUEST_OFF, GUEST_RUNNING, GUEST_HANGING };

struct guest {
    enum guest_state state;
    struct plug plugs[SIM_VOLUMES];
};

struct host {
    struct hypervisor hypervisor; /* first */
    struct process process;
    struct sim *sim;
    struct worker_pool *pools;
    struct worker_pool *reports;
    struct jobs *jobs;
    struct reporter *reporter;
    bool silent;                     /* its libvirt hangs */
    struct guest guests[SIM_GUESTS]; /* those with guest_home() here */
};

/* ---- guests.c ---- */

void guests_start(struct host *host); /* its hypervisor, and all guests run */
void guests_go_on(struct host *host); /* those that hang */
