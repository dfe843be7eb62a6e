/*
 * Operations that wait long for a worker: how often they are announced, also past a broker's queue.
 */
#include "manager/runtime/host.h"
#include "tests/lib/check_main.h"
#include "tests/lib/world.h"

static int64_t announced(struct world *world) {
    return world_count(world, "SELECT COUNT(*) FROM outbox");
}

static void request_for_a_volume(struct world *world) {
    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 2}}"), 202);
}

static void pass_an_hour(struct world *world) {
    for (int i = 0; i < 360; i++)
        world_advance(world, 10);
}

START_TEST(queued_operations_are_announced_ever_less_often) {
    autoworld struct world *world = world_new(NULL);
    struct manager_host *host = &world->manager->hosts[0];
    int64_t before;

    request_for_a_volume(world);
    before = announced(world);
    ck_assert_int_eq(lane_enter(&host->lanes[LANE_SHORT], NULL),
                     0); /* a worker has something slow */
    pass_an_hour(world);
    ck_assert_int_ge(announced(world), before + 4);
    ck_assert_int_le(announced(world), before + 9);
    before = announced(world);
    pass_an_hour(world);
    ck_assert_int_le(announced(world), before + 1);

    /* It has ended: its next message is just about to come. */
    before = announced(world);
    lane_leave(&host->lanes[LANE_SHORT]);
    world_advance(world, 1);
    ck_assert_int_eq(announced(world), before);
    /* None did: there is none. */
    world_advance(world, 20);
    ck_assert_int_eq(announced(world), before + 1);
    world_advance(world, 20);
    ck_assert_int_eq(announced(world), before + 2);
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
}
END_TEST

/* ---- past the queue of a broker ---- */

/* An engine that has a place for this process alone. */
struct broker {
    struct rpc rpc; /* its first member */
    unsigned count;
    char topic[64], project[64]; /* of the last message */
    bool silent;                 /* it takes, and does not confirm */
    void (*confirm)(void *arg, bool taken);
    void *confirm_arg;
};

static const char *own_topic(struct rpc *rpc, struct arena *arena, const char *topic) {
    (void)rpc;
    return arena_format(arena, "%s.own", topic);
}

static int take_over(struct rpc *rpc, const struct rpc_message *message,
                     void (*confirm)(void *arg, bool taken), void *arg, struct error *err) {
    struct broker *broker = (struct broker *)rpc;

    (void)err;
    broker->count++;
    snprintf(broker->topic, sizeof broker->topic, "%s", message->topic);
    snprintf(broker->project, sizeof broker->project, "%s", message->project);
    broker->confirm = confirm;
    broker->confirm_arg = arg;
    if (!broker->silent)
        confirm(arg, true);
    return 0;
}

static const struct rpc_engine broker_engine = { .name = "broker",
                                                 .publish = take_over,
                                                 .own_topic = own_topic };

/* A project has a worker and more that waits, behind it another has two operations. */
static void wait_in_line(struct world *world, struct broker *broker) {
    for (int i = 0; i < 5; i++) {
        request_for_a_volume(world);
        world->now_us++;
    }
    world_sql(world, "UPDATE operations SET project_id = 'few' WHERE id IN "
                     "(SELECT id FROM operations ORDER BY created_at DESC LIMIT 2)");
    world_sql(world,
              "UPDATE operations SET owner = 'x:1:1', lease_until = created_at + 1000000000000 "
              "WHERE id IN (SELECT id FROM operations ORDER BY created_at LIMIT 1)");
    *broker = (struct broker){ .rpc.engine = &broker_engine };
    world->manager->settings.rpc = &broker->rpc;
    ck_assert_int_eq(lane_enter(&world->manager->hosts[0].lanes[LANE_SHORT], NULL), 0);
}

static void end_line(struct world *world) {
    lane_leave(&world->manager->hosts[0].lanes[LANE_SHORT]);
    world->manager->settings.rpc = world->rpc;
}

START_TEST(a_project_without_a_worker_is_announced_past_the_queue) {
    autoworld struct world *world = world_new(NULL);
    struct broker broker;

    wait_in_line(world, &broker);
    world_advance(world, 14);
    ck_assert_uint_eq(broker.count, 0);
    world_advance(world, 6);
    ck_assert_uint_eq(broker.count, 1);
    ck_assert_str_eq(broker.topic, arena_format(world->arena, "%s.own",
                                                world->manager->hosts[0].lanes[LANE_SHORT].topic));
    ck_assert_str_eq(broker.project, "few");
    /* That message is here; should it be lost after all, another follows. */
    for (int i = 0; i < 9; i++)
        world_advance(world, 6);
    ck_assert_uint_eq(broker.count, 1);
    for (int i = 0; i < 20 && broker.count == 1; i++)
        world_advance(world, 6);
    ck_assert_uint_eq(broker.count, 2);
    ck_assert_str_eq(broker.project, "few");
    /* One of it has a worker: the rest comes in its turn. */
    world_sql(world, "UPDATE operations SET owner = 'x:1:1', lease_until = created_at + "
                     "1000000000000 WHERE id = (SELECT MIN(id) FROM operations WHERE "
                     "project_id = 'few')");
    pass_an_hour(world);
    ck_assert_uint_eq(broker.count, 2);
    end_line(world);
}
END_TEST

/* Until the broker has taken earlier announcements, nothing more gathers. */
START_TEST(an_unresponsive_broker_gets_no_more_announcements) {
    autoworld struct world *world = world_new(NULL);
    struct broker broker;

    wait_in_line(world, &broker);
    broker.silent = true;
    pass_an_hour(world);
    ck_assert_uint_eq(broker.count, 1);
    broker.confirm(broker.confirm_arg, false);
    world_advance(world, 100);
    ck_assert_uint_eq(broker.count, 2);
    broker.confirm(broker.confirm_arg, true);
    end_line(world);
}
END_TEST

/* Behind that the broker's client goes, whatever the manager still has to do. */
START_TEST(a_stopping_manager_reports_nothing) {
    autoworld struct world *world = world_new(NULL);
    struct broker broker;

    wait_in_line(world, &broker);
    manager_drain(world->manager);
    world->manager->settings.rpc = NULL;
    world_advance(world, 100);
    ck_assert_uint_eq(broker.count, 0);
    end_line(world);
}
END_TEST

/* Else systemd would end it, with its work, again and again until the database is back. */
START_TEST(a_manager_whose_database_refuses_is_alive) {
    autoworld struct world *world = world_new(NULL);
    struct manager *manager = world->manager;
    struct error err;

    manager->round_us = clock_monotonic_us() - 3600 * SECOND_US;
    ck_assert(!manager_alive(manager));
    world->now_us += 100 * SECOND_US;
    world->hiccups = 1000;
    ck_assert_int_eq(manager_tick(manager, &err), -1);
    ck_assert(manager_alive(manager));
    world->hiccups = 0;
}
END_TEST

CHECK_MAIN("queue", queued_operations_are_announced_ever_less_often,
           a_project_without_a_worker_is_announced_past_the_queue,
           an_unresponsive_broker_gets_no_more_announcements, a_stopping_manager_reports_nothing,
           a_manager_whose_database_refuses_is_alive)
