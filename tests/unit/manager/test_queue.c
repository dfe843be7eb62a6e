/*
 * What waits long for a worker: how often it is told of.
 */
#include "manager/host.h"
#include "tests/lib/check_main.h"
#include "tests/lib/world.h"

static int64_t told(struct world *world) {
    return world_count(world, "SELECT COUNT(*) FROM outbox");
}

static void ask_for_a_volume(struct world *world) {
    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 2}}"), 202);
}

static void pass_an_hour(struct world *world) {
    for (int i = 0; i < 360; i++)
        world_advance(world, 10);
}

START_TEST(what_waits_behind_others_is_told_of_ever_more_seldom) {
    autoworld struct world *world = world_new(NULL);
    struct manager_host *host = &world->manager->hosts[0];
    int64_t before;

    ask_for_a_volume(world);
    before = told(world);
    ck_assert_int_eq(host_enter(host, NULL), 0); /* a worker has something slow */
    pass_an_hour(world);
    ck_assert_int_ge(told(world), before + 6);
    ck_assert_int_le(told(world), before + 9);
    before = told(world);
    pass_an_hour(world);
    ck_assert_int_le(told(world), before + 1);

    /* It has ended: its next message is just about to come. */
    before = told(world);
    host_leave(host);
    world_advance(world, 1);
    ck_assert_int_eq(told(world), before);
    /* None did: there is none. */
    world_advance(world, 20);
    ck_assert_int_eq(told(world), before + 1);
    world_advance(world, 20);
    ck_assert_int_eq(told(world), before + 2);
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
}
END_TEST

CHECK_MAIN("queue", what_waits_behind_others_is_told_of_ever_more_seldom)
