/*
 * An attach takes precedence over a reclaim, whenever it comes.
 */
#include "model/volume/reclaim.h"

#include "common/cleanup.h"
#include "tests/lib/exchange.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/other_manager.h"
#include "tests/lib/snapshots.h"
#include "tests/lib/work_test.h"

#include <string.h>

#define RECLAIM   "{\"os-reclaim_space\": {}}"
#define CONNECTOR "{\"host\": \"" WORLD_NODE "\", \"mountpoint\": \"/dev/vdb\"}"
#define MIB       (INT64_C(1) << 20)

static const char *reason(struct world *world, const char *id) {
    const char *text;

    ck_assert_int_eq(world_call(world, "GET", PATH("/volumes/%s/reclaim_space", id), NULL), 200);
    text = json_string_value(
        json_object_get(json_object_get(world->answer, "reclaim_space"), "reason"));
    return text ? arena_text(world->arena, text) : "none";
}

static const char *wasteful(struct world *world) {
    const char *id = world_volume(world, 2);

    ck_assert(memory_write(world->memory, id, 7));
    ck_assert(memory_waste(world->memory, id, 8 * MIB));
    return id;
}

static void assert_whole(struct world *world, const char *id, const char *status) {
    ck_assert_str_eq(world_status(world, id), status);
    ck_assert_int_eq(memory_read(world->memory, id), 7);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE phase <> "
                                        "'answered'"),
                     0);
    ck_assert_int_eq(world_check(world), 0);
}

/* ---- the ways to attach ---- */

static int reserve(struct world *world, const char *id) {
    return world_action(world, id, "{\"os-reserve\": null}");
}

static int attach(struct world *world, const char *id) {
    return world_action(world, id,
                        "{\"os-attach\": {\"mountpoint\": \"/dev/vdb\", \"instance_uuid\": "
                        "\"" WORLD_INSTANCE "\"}}");
}

static int request_connection(struct world *world, const char *id) {
    return world_action(world, id,
                        "{\"os-initialize_connection\": {\"connector\": " CONNECTOR "}}");
}

static int attachment(struct world *world, const char *id, const char *instance,
                      const char *connector) {
    return world_call(world, "POST", "/attachments",
                      PATH("{\"attachment\": {\"volume_uuid\": \"%s\", \"instance_uuid\": \"%s\", "
                           "\"connector\": %s}}",
                           id, instance, connector));
}

static int attachment_alone(struct world *world, const char *id) {
    return attachment(world, id, WORLD_INSTANCE, "null");
}

static int attachment_connected(struct world *world, const char *id) {
    return attachment(world, id, WORLD_INSTANCE, CONNECTOR);
}

/* One that could not be connected before is tried again. */
static int attachment_again(struct world *world, const char *id) {
    world_sql(world, "INSERT INTO attachments (id, volume_id, project_id, instance_uuid, "
                     "attach_status, created_at) SELECT "
                     "'33333333-3333-4333-8333-333333333333', id, project_id, '" WORLD_INSTANCE
                     "', 'error_attaching', 1 FROM volumes");
    (void)id;
    return world_call(world, "PUT", "/attachments/33333333-3333-4333-8333-333333333333",
                      "{\"attachment\": {\"connector\": " CONNECTOR "}}");
}

static int attachment_complete_again(struct world *world, const char *id) {
    ck_assert_int_eq(attachment_again(world, id), 200);
    return world_call(world, "POST", "/attachments/33333333-3333-4333-8333-333333333333/action",
                      "{\"os-complete\": null}");
}

static const struct way {
    int (*send_request)(struct world *world, const char *id);
    int status;
    const char *becomes;
    bool waits; /* for the backend */
} ways[] = {
    { reserve, 202, "attaching", false },
    { attach, 202, "in-use", false },
    { request_connection, 200, "available", true },
    { attachment_alone, 200, "reserved", false },
    { attachment_connected, 200, "attaching", true },
    { attachment_again, 200, "attaching", true },
    { attachment_complete_again, 204, "in-use", true },
};

START_TEST(an_attach_cancels_a_queued_reclaim) {
    for (size_t i = 0; i < LENGTH(ways); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = wasteful(world);

        ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
        ck_assert_int_eq(ways[i].send_request(world, id), ways[i].status);
        world_settle(world);
        ck_assert_str_eq(reason(world, id), "cancelled");
        assert_whole(world, id, ways[i].becomes);
        ck_assert_int_eq(memory_read(world->memory, id), 7);
    }
}
END_TEST

/* Another operation's turn makes no difference. */
START_TEST(an_attach_cancels_a_waiting_reclaim) {
    autoworld struct world *world = world_new(NULL);
    const char *id = wasteful(world);

    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    world_sql(world, "UPDATE operations SET phase = 'running', owner = '', lease_until = 1");
    ck_assert_int_eq(attachment_connected(world, id), 200);
    ck_assert_str_eq(reason(world, id), "cancelled");
    assert_whole(world, id, "attaching");
}
END_TEST

/* ---- while it runs ---- */

static const struct way *way;
static bool happened, other_manager;

/* The worker is in the driver: an attach is answered, but no connection is given before it ends. */
static struct fault_decision in_the_middle(void *arg, const char *call, const char *volume_id) {
    struct world *world = arg;
    int status;

    if (strcmp(call, "connect") == 0)
        ck_assert_int_eq(
            world_count(world, "SELECT COUNT(*) FROM operations WHERE kind = 'reclaim'"), 0);
    if (strcmp(call, "reclaim_volume") != 0 || happened)
        return (struct fault_decision){ .action = FAULT_PASS };
    happened = true;
    world->may_wait = way->waits;
    status = way->send_request(world, volume_id);
    ck_assert_int_eq(status, way->waits ? 0 : way->status);
    world->may_wait = false;
    ck_assert_str_eq(world_status(world, volume_id), way->becomes);
    ck_assert_str_eq(reason(world, volume_id), "cancelled");
    ck_assert_int_eq(world_check(world), 0);
    if (other_manager)
        other_manager_works(world);
    return (struct fault_decision){ .action = FAULT_PASS };
}

static void meet_in_the_middle(struct world *world, const char *id) {
    happened = false;
    world->decide = in_the_middle;
    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    world_settle(world);
    ck_assert(happened);
    if (way->waits) {
        api_operations_ended(world->api);
        ck_assert_int_eq(test_exchange_await(world->abandoned), way->status);
    }
    ck_assert_str_eq(reason(world, id), "cancelled");
    assert_whole(world, id, way->becomes);
}

START_TEST(an_attach_waits_for_a_running_reclaim) {
    other_manager = false;
    for (size_t i = 0; i < LENGTH(ways); i++) {
        autoworld struct world *world = world_new(NULL);

        way = &ways[i];
        if (way->send_request != attachment_complete_again)
            meet_in_the_middle(world, wasteful(world));
    }
}
END_TEST

/* Its worker slept, and a manager that took over for it has admitted all attachments. */
START_TEST(a_late_reclaim_worker_is_harmless) {
    autoworld struct world *world = world_new(NULL);

    other_manager = true;
    way = &ways[4];
    ck_assert_ptr_eq(way->send_request, attachment_connected);
    meet_in_the_middle(world, wasteful(world));
}
END_TEST

/* The manager is dead: its lease is waited for, and no longer. */
START_TEST(a_dead_worker_is_waited_for) {
    autoworld struct world *world = world_new(NULL);
    const char *id = wasteful(world);

    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    world_sql(world, arena_format(world->arena,
                                  "UPDATE operations SET phase = 'running', owner = 'dead:1:1', "
                                  "attempts = 1, lease_until = %jd",
                                  (intmax_t)(world->now_us + 30 * SECOND_US)));
    world->may_wait = true;
    ck_assert_int_eq(attachment_connected(world, id), 0);
    ck_assert_str_eq(world_status(world, id), "attaching");
    world_advance(world, 10);
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 2);
    for (int i = 0; i < 3; i++) {
        world_advance(world, 31);
        world_settle(world);
    }
    api_operations_ended(world->api);
    ck_assert_int_eq(test_exchange_await(world->abandoned), 200);
    assert_whole(world, id, "attaching");
}
END_TEST

/* Wherever the process dies, and whenever it comes back, the volume can be attached at once. */
START_TEST(after_a_death_it_can_be_attached) {
    bool died = true;

    for (int64_t n = 1; died; n++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = wasteful(world);

        ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
        world_die_after(world, n);
        world_settle(world);
        died = world->dead;
        world_restart(world);
        ck_assert_int_eq(attachment_connected(world, id), 200);
        for (int i = 0; i < 3; i++) {
            world_advance(world, 61);
            world_settle(world);
        }
        assert_whole(world, id, "attaching");
        ck_assert_int_lt(n, 60);
    }
}
END_TEST

/* And wherever it dies during an attach. */
START_TEST(an_attach_that_dies_can_be_repeated) {
    bool died = true;

    for (int64_t n = 1; died; n++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = wasteful(world);

        ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
        world->may_wait = true;
        world_die_after(world, n);
        attachment_connected(world, id);
        died = world->dead;
        world_restart(world);
        for (int i = 0; i < 3; i++) {
            world_advance(world, 61);
            world_settle(world);
        }
        if (strcmp(world_status(world, id), "available") == 0)
            ck_assert_int_eq(attachment_connected(world, id), 200);
        assert_whole(world, id, "attaching");
        ck_assert_int_lt(n, 60);
    }
}
END_TEST

/* ---- two of them, and none ---- */

START_TEST(of_two_attaches_one_gets_the_volume) {
    autoworld struct world *world = world_new(NULL);
    const char *id = wasteful(world);

    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    ck_assert_int_eq(attachment(world, id, WORLD_INSTANCE, "null"), 200);
    ck_assert_int_eq(attachment(world, id, WORLD_INSTANCE2, "null"), 400);
    ck_assert_int_eq(reserve(world, id), 400);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 1);
    assert_whole(world, id, "reserved");
}
END_TEST

START_TEST(both_get_a_multiattach_volume) {
    autoworld struct world *world = world_new(NULL);
    const char *id = wasteful(world);

    world_sql(world, "UPDATE volumes SET multiattach = 1");
    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    ck_assert_int_eq(attachment(world, id, WORLD_INSTANCE, "null"), 200);
    world_sql(world, "UPDATE attachments SET attach_status = 'attached'");
    world_sql(world, "UPDATE volumes SET status = 'in-use'");
    ck_assert_int_eq(attachment(world, id, WORLD_INSTANCE2, CONNECTOR), 200);
    assert_whole(world, id, "in-use");
}
END_TEST

/* A refused caller has changed nothing. */
START_TEST(a_refused_attach_leaves_the_reclaim) {
    autoworld struct world *world = world_new(NULL);
    const char *id = wasteful(world);

    ck_assert_int_eq(world_action(world, id, "{\"os-update_readonly_flag\": {\"readonly\": true}}"),
                     202);
    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    ck_assert_int_eq(world_action(world, id,
                                  "{\"os-attach\": {\"mountpoint\": \"/dev/vdb\", \"mode\": "
                                  "\"rw\", \"instance_uuid\": \"" WORLD_INSTANCE "\"}}"),
                     400);
    ck_assert_str_eq(world_status(world, id), "reclaiming");
    world_settle(world);
    ck_assert_str_eq(reason(world, id), "none");
    assert_whole(world, id, "available");
    ck_assert_int_eq(world_call(world, "GET", PATH("/volumes/%s/reclaim_space", id), NULL), 200);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "\"done\""));
}
END_TEST

/* ---- by a guest ---- */

/* An instance that moves has two attachments: its guest's trim is over, and its report is late. */
START_TEST(a_moving_guest_takes_precedence_over_its_trim) {
    autoworld struct world *world = world_new(NULL);
    const char *id = wasteful(world);

    ck_assert_int_eq(world_call(world, "PUT", "/os-services/report",
                                "{\"binary\": \"scoria-compute\", \"host\": \"" WORLD_NODE
                                "\", \"endpoint\": \"http://agent/v2.1\"}"),
                     200);
    world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(world_action(world, id, RECLAIM), 202);
    world_settle(world);
    ck_assert_uint_eq(world->trim_count, 1);
    ck_assert_int_eq(attachment(world, id, WORLD_INSTANCE2, "null"), 400);
    ck_assert_str_eq(world_status(world, id), "reclaiming");
    ck_assert_int_eq(attachment(world, id, WORLD_INSTANCE, CONNECTOR), 200);
    ck_assert_str_eq(reason(world, id), "cancelled");
    ck_assert_int_eq(world_action(world, id,
                                  "{\"os-update_reclaim_space\": {\"id\": \"%s\", \"status\": "
                                  "\"done\"}}",
                                  world->trims[0].id),
                     400);
    world_settle(world);
    assert_whole(world, id, "in-use");
}
END_TEST

CHECK_MAIN("reclaim_attach", an_attach_cancels_a_queued_reclaim,
           an_attach_cancels_a_waiting_reclaim, an_attach_waits_for_a_running_reclaim,
           a_late_reclaim_worker_is_harmless, a_dead_worker_is_waited_for,
           after_a_death_it_can_be_attached, an_attach_that_dies_can_be_repeated,
           of_two_attaches_one_gets_the_volume, both_get_a_multiattach_volume,
           a_refused_attach_leaves_the_reclaim, a_moving_guest_takes_precedence_over_its_trim)
