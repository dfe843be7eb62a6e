/* Inside of nodes.c; compute.c and model.c see the processes. */
#pragma once

#include "api/router.h"
#include "db/engine.h"
#include "manager/manager.h"
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
