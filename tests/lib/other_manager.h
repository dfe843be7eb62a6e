/*
 * Another manager of the same world: the leases of all operations are over, and it takes up
 * everything that there is to do.  Called from within a worker that sleeps.
 */
#pragma once

#include "tests/lib/check_main.h"
#include "tests/lib/world.h"

static inline void other_manager_works(struct world *world) {
    struct manager_settings settings = world_manager_settings(world);
    struct manager *other;
    struct relay *relay;
    struct error err;

    settings.owner = "other:1:1";
    settings.owner_prefix = "other:";
    settings.rpc = rpc_local_new(0);
    ck_assert_int_eq(manager_start(&settings, &other, &err), 0);
    relay = relay_new(world->db, settings.rpc, RELAY_STEPS);
    for (int i = 0; i < 3; i++) {
        world->now_us += 61 * INT64_C(1000000);
        ck_assert_int_eq(manager_tick(other, &err), 0);
        do
            relay_step(relay, &err);
        while (rpc_local_step(settings.rpc, 0));
    }
    relay_stop(relay);
    settings.rpc->engine->stop(settings.rpc);
    manager_stop(other);
}
