/* Inside of nodes.c, door.c and messages.c. */
#pragma once

#include "db/engine.h"
#include "manager/runtime/manager.h"
#include "rest/router.h"
#include "rpc/relay.h"
#include "tests/sim/sim.h"

struct test_exchange;

struct node {
    struct process process;
    struct sim *sim;
    bool serves; /* the API, not a manager */
    struct db door;
    struct clock clock;
    int64_t ahead_us;  /* of its wall's clock before true time */
    int64_t booted_us; /* where its steady clock began */
    struct settings settings;
    struct rpc *rpc;
    struct relay *relay;
    struct manager *manager;
    struct api *api;
    void *filter_handle;
    struct manager_backend backends[2];
    struct compute_sender sender;
    char owner[48], prefix[16];
    unsigned incarnation;
    bool relaying, ticking;
    struct test_exchange *abandoned[SIM_THREADS];
    unsigned abandoned_count;
};

/* ---- door.c ---- */

void door_open(struct node *node);
void disk_lose(struct sim *sim);  /* it is as a loss of power leaves it */
void disk_flush(struct sim *sim); /* a commit past the doors */

/* ---- messages.c ---- */

struct rpc *messages_new(struct node *node);
bool messages_deliver(struct sim *sim, struct node *node); /* starts one; false: none waits */
void messages_lose(struct rpc *rpc);                       /* those on their way are returned */
