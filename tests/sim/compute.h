/* Inside of compute.c and guests.c: a host, its agent and its guests. */
#pragma once

#include "compute/hypervisor/hypervisor.h"
#include "tests/sim/sim.h"

struct jobs;
struct reporter;
struct trims;
struct worker_pool;

#define SIM_ASSISTS 32

/* A request to a host about a snapshot that it has not forgotten. */
struct assist {
    struct host *host;
    char volume_id[37], snapshot_id[37]; /* the latter "": none */
    char operation[64];                  /* that it was requested */
    char together[SIM_TOGETHER][37];     /* snapshots of one moment, itself among them */
    unsigned together_count;             /* 0: it is taken alone */
    bool carried;                        /* another one takes it along just now */
    bool deletes, in_work;
    unsigned rounds;          /* before it is through */
    int64_t due_us, since_us; /* of its next round, and of its request */
};

struct plug {
    char volume_id[37]; /* "": none */
    int64_t capacity;   /* the size that a running guest sees */
    int64_t requested;  /* the requested size of a guest that hangs */
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
    struct trims *trims;
    struct reporter *reporter;
    struct assist assists[SIM_ASSISTS];
    bool silent;                     /* its libvirt hangs */
    struct guest guests[SIM_GUESTS]; /* those with guest_home() here */
};

struct host *host_named(struct sim *sim, const char *name); /* NULL: there is none */

/* ---- assists.c ---- */

bool assists_work(struct sim *sim, struct host *host);
void assists_forget(struct host *host);

/* ---- guests.c ---- */

/* Of the guest of this host that has the volume; off without one. */
enum guest_state guest_state_of(struct host *host, const char *volume_id);

/* Has one of its guests that runs all of them? */
bool guest_runs_all(struct host *host, const char (*volume_ids)[37], unsigned count);

void guests_start(struct host *host); /* its hypervisor, and all guests run */
void guests_go_on(struct host *host); /* those that hang */
