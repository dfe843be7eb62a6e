/*
 * Operations that the transactions of their requests claim for the manager of the process, which
 * gets them behind the commit without a message.
 */
#include "db/engine.h"
#include "manager/runtime/taken.h"
#include "tests/lib/extend.h"
#include "tests/lib/postgresql.h"

#define LEASE_S   30
#define COUNT(of) "SELECT COUNT(*) FROM " of
#define CLAIMED   COUNT("operations WHERE owner <> '' AND phase = 'running' AND attempts = 1")
#define OTHER_HAS_IT                                                                      \
    "UPDATE operations SET owner = 'other:1:1', lease_until = lease_until + 1000000000, " \
    "attempts = 2"

static struct world *world_at_once(void) {
    return world_new(&(struct world_settings){ .at_once = true });
}

static const char *new_volume(struct world *world) {
    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 2}}"), 202);
    return world_answer_id(world, "volume");
}

static void delete (struct world *world, const char *id) {
    ck_assert_int_eq(
        world_call(world, "DELETE", arena_format(world->arena, "/volumes/%s", id), NULL), 202);
}

/* By its request, and no message is there. */
static void assert_claimed(struct world *world) {
    ck_assert_int_eq(world_count(world, COUNT("outbox")), 0);
    ck_assert_int_eq(world_count(world, COUNT("operations")), 1);
    ck_assert_int_eq(world_count(world, CLAIMED), 1);
    ck_assert_uint_eq(world->manager->hosts[0].lanes[LANE_SHORT].taken, 1);
    ck_assert_uint_eq(rpc_local_waiting(world->rpc), 1);
}

static void assert_idle(struct world *world) {
    ck_assert_int_eq(world_count(world, COUNT("operations")), 0);
    ck_assert_uint_eq(world->manager->hosts[0].lanes[LANE_SHORT].taken, 0);
    ck_assert(TAILQ_EMPTY(&world->manager->taken));
    ck_assert_int_eq(world_check(world), 0);
}

START_TEST(a_request_claims_its_operation) {
    autoworld struct world *world = world_at_once();
    const char *id = new_volume(world);

    assert_claimed(world);
    ck_assert(world_step(world, 0));
    assert_volume(world, id, "available", 2);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    assert_claimed(world);
    ck_assert(world_step(world, 0));
    assert_volume(world, id, "available", 5);
    delete (world, id);
    assert_claimed(world);
    ck_assert(world_step(world, 0));
    ck_assert_str_eq(world_status(world, id), "gone");
    assert_idle(world);
}
END_TEST

START_TEST(without_a_commit_nothing_is_handed_over) {
    autoworld struct world *world = world_at_once();

    world->hiccups = 2; /* the first attempt makes space */
    world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 2}}");
    ck_assert_int_ge(world->status, 500);
    ck_assert_uint_eq(rpc_local_waiting(world->rpc), 0);
    assert_idle(world);
}
END_TEST

/* Its next start has nothing to wait for: neither a lease nor a message. */
START_TEST(a_claimed_operation_survives_its_process) {
    autoworld struct world *world = world_at_once();
    const char *id = new_volume(world);

    world_restart(world);
    ck_assert_uint_eq(rpc_local_waiting(world->rpc), 0);
    ck_assert_int_eq(world_count(world, COUNT("outbox")), 1);
    world_settle(world);
    assert_volume(world, id, "available", 2);
    assert_idle(world);
}
END_TEST

/* Each death between the request and the end. */
START_TEST(each_death_leaves_work_that_is_done) {
    for (int64_t effects = 1; effects < 12; effects++) {
        autoworld struct world *world = world_at_once();
        const char *id = world_volume(world, 2);

        world_die_after(world, effects);
        world_action(world, id, EXTEND(5));
        world_settle(world);
        world_restart(world);
        world_settle(world);
        world_advance(world, LEASE_S + 20);
        world_settle(world);
        assert_volume(world, id, "available", world_size(world, id));
        assert_quota(world, world_size(world, id), 0);
        ck_assert_int_eq(world_real_gb(world, id), world_size(world, id));
        assert_idle(world);
    }
}
END_TEST

START_TEST(a_lease_is_renewed_while_no_worker_is_free) {
    autoworld struct world *world = world_at_once();
    const char *id = new_volume(world);

    for (int i = 0; i < 10; i++) {
        world->manager->hosts[0].lanes[LANE_SHORT].heard_at =
            clock_steady_us(&world->clock); /* others end */
        world_advance(world, LEASE_S / 3);
        assert_claimed(world);
    }
    ck_assert_int_gt(world_count(world, "SELECT lease_until FROM operations"),
                     clock_shared_us(&world->clock) + (LEASE_S / 2) * SECOND_US);
    ck_assert(world_step(world, 0));
    assert_volume(world, id, "available", 2);
    assert_idle(world);
}
END_TEST

/* Another manager of the backend could not have it otherwise. */
START_TEST(no_lease_is_renewed_while_the_backend_hangs) {
    autoworld struct world *world = world_at_once();
    const char *id = new_volume(world);

    for (int i = 0; i < 8; i++)
        world_advance(world, LEASE_S / 3);
    ck_assert_int_eq(world_count(world, CLAIMED), 0); /* a message has been written */
    world_sql(world, OTHER_HAS_IT);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "creating");
    ck_assert_int_eq(world_count(world, COUNT("operations WHERE owner = 'other:1:1'")), 1);
    ck_assert_uint_eq(world->manager->hosts[0].lanes[LANE_SHORT].taken, 0);
}
END_TEST

/* This process was suspended, and nothing of it ran meanwhile. */
START_TEST(an_operation_that_another_manager_has_is_left_alone) {
    autoworld struct world *world = world_at_once();
    const char *id = new_volume(world);

    world->now_us += (LEASE_S - 1) * SECOND_US;
    world_sql(world, OTHER_HAS_IT);
    ck_assert(world_step(world, 0));
    ck_assert_str_eq(world_status(world, id), "creating");
    ck_assert_int_eq(world_count(world, COUNT("operations WHERE owner = 'other:1:1'")), 1);
    world_advance(world, 2000);
    world_settle(world);
    assert_volume(world, id, "available", 2);
    assert_idle(world);
}
END_TEST

START_TEST(after_a_pause_beyond_its_lease_it_is_claimed_again) {
    autoworld struct world *world = world_at_once();
    const char *id = new_volume(world);

    world->now_us += (LEASE_S + 1) * SECOND_US;
    ck_assert(world_step(world, 0));
    assert_volume(world, id, "available", 2);
    assert_idle(world);
}
END_TEST

START_TEST(one_with_others_in_its_queue_gets_a_message) {
    autoworld struct world *world = world_at_once();
    const char *id = world_volume(world, 2);
    const char *body =
        arena_format(world->arena, "{\"snapshot\": {\"volume_id\": \"%s\", \"force\": true}}", id);

    ck_assert_int_eq(world_call(world, "POST", "/snapshots", body), 202);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    ck_assert_int_eq(world_count(world, CLAIMED), 0);
    ck_assert_int_eq(world_count(world, COUNT("outbox")), 2);
    world_settle(world);
    assert_volume(world, id, "available", 5);
    assert_idle(world);
}
END_TEST

START_TEST(one_that_copies_a_volume_gets_a_message) {
    autoworld struct world *world = world_at_once();
    const char *id = world_volume(world, 2);
    const char *body =
        arena_format(world->arena, "{\"volume\": {\"source_volid\": \"%s\", \"size\": 2}}", id);

    ck_assert_int_eq(world_call(world, "POST", "/volumes", body), 202);
    ck_assert_int_eq(world_count(world, CLAIMED), 0);
    ck_assert_int_eq(world_count(world, COUNT("outbox")), 1);
    world_settle(world);
    assert_idle(world);
}
END_TEST

/* The volume's delete waits until the worker of the create has ended. */
START_TEST(one_cancelled_before_it_began_is_closed) {
    autoworld struct world *world = world_at_once();
    const char *id = new_volume(world);

    ck_assert_int_eq(world_action(world, id, "{\"os-force_delete\": {}}"), 202);
    ck_assert_int_eq(world_count(world, COUNT("operations WHERE phase = 'cancelled'")), 1);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "gone");
    ck_assert_int_lt(world_real_gb(world, id), 1);
    assert_idle(world);
}
END_TEST

/* Its lease is not renewed any more: it is closed without a wait for the end of that. */
START_TEST(one_cancelled_while_it_waits_is_closed_by_its_worker) {
    autoworld struct world *world = world_at_once();
    const char *id = new_volume(world);

    ck_assert_int_eq(world_action(world, id, "{\"os-force_delete\": {}}"), 202);
    world->manager->hosts[0].lanes[LANE_SHORT].heard_at = clock_steady_us(&world->clock);
    world_advance(world, LEASE_S / 3);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "gone");
    assert_idle(world);
}
END_TEST

START_TEST(a_manager_that_drains_takes_none) {
    autoworld struct world *world = world_at_once();
    const char *id;

    manager_drain(world->manager);
    id = new_volume(world);
    ck_assert_int_eq(world_count(world, CLAIMED), 0);
    ck_assert_int_eq(world_count(world, COUNT("outbox")), 1);
    world_restart(world);
    world_settle(world);
    assert_volume(world, id, "available", 2);
}
END_TEST

/* Another manager has them at its next look, without waiting for a lease. */
START_TEST(waiting_operations_are_released_when_the_manager_drains) {
    autoworld struct world *world = world_at_once();
    const char *id = new_volume(world);

    manager_drain(world->manager);
    ck_assert_int_eq(world_count(world, COUNT("operations WHERE owner <> ''")), 0);
    ck_assert_int_eq(world_count(world, COUNT("operations WHERE attempts = 0")), 1);
    ck_assert(world_step(world, 0));
    ck_assert_str_eq(world_status(world, id), "creating");
    world_restart(world);
    world_advance(world, 1);
    world_settle(world);
    assert_volume(world, id, "available", 2);
    assert_idle(world);
}
END_TEST

/* The clock is read by the transaction, right behind the claim. */
static int64_t drain_behind_the_claim(void *arg) {
    struct world *world = arg;
    struct manager *manager = world->manager;

    manager->draining |= manager->hosts[0].lanes[LANE_SHORT].taken > 0;
    return world->now_us;
}

START_TEST(one_that_is_committed_after_the_drain_is_released) {
    autoworld struct world *world = world_at_once();
    int64_t (*shared_us)(void *);
    const char *id;

    shared_us = world->clock.shared_us;
    world->clock.shared_us = drain_behind_the_claim;
    id = new_volume(world);
    world->clock.shared_us = shared_us;
    ck_assert_uint_eq(rpc_local_waiting(world->rpc), 0);
    ck_assert_uint_eq(world->manager->hosts[0].lanes[LANE_SHORT].taken, 0);
    world_advance(world, 1);
    ck_assert_int_eq(world_count(world, COUNT("operations WHERE owner <> ''")), 0);
    ck_assert_int_eq(world_count(world, COUNT("operations WHERE attempts = 0")), 1);
    ck_assert(TAILQ_EMPTY(&world->manager->taken));
    world_restart(world);
    world_settle(world);
    world_advance(world, 1);
    world_settle(world);
    assert_volume(world, id, "available", 2);
}
END_TEST

/* There is no other round: the process ends. */
START_TEST(one_that_is_committed_after_the_drain_is_released_by_the_stop) {
    autoworld struct world *world = world_at_once();
    int64_t (*shared_us)(void *);
    const char *id;

    shared_us = world->clock.shared_us;
    world->clock.shared_us = drain_behind_the_claim;
    id = new_volume(world);
    world->clock.shared_us = shared_us;
    taken_wait(world->manager);
    ck_assert_int_eq(world_count(world, COUNT("operations WHERE owner <> ''")), 0);
    ck_assert(TAILQ_EMPTY(&world->manager->taken));
    world_restart(world);
    world_advance(world, 1);
    world_settle(world);
    assert_volume(world, id, "available", 2);
}
END_TEST

static const struct db_engine *engine;
static unsigned failing_reads;

static int read_or_fail(struct db *db, db_body *body, void *arg, struct error *err) {
    if (failing_reads > 0 && failing_reads-- > 0)
        return error_set(err, ERROR_UNAVAILABLE, "The database does not answer.");
    return engine->read(db, body, arg, err);
}

/* Without a wait for the end of the lease, which is of this process. */
START_TEST(one_that_cannot_be_read_is_begun_by_the_next_delivery) {
    autoworld struct world *world = world_at_once();
    struct db_engine failing = *world->db->engine;
    const char *id = new_volume(world);

    engine = world->db->engine;
    failing.read = read_or_fail;
    failing_reads = 2;
    world->db->engine = &failing;
    ck_assert(world_step(world, 0));
    ck_assert(world_step(world, 0));
    assert_claimed(world);
    ck_assert(!TAILQ_EMPTY(&world->manager->taken)); /* its lease is renewed */
    ck_assert(world_step(world, 0));
    world->db->engine = engine;
    assert_volume(world, id, "available", 2);
    assert_idle(world);
}
END_TEST

/* ---- attempts ---- */

static int64_t attempts_at_work; /* of the operation whose driver is called */

static struct fault_decision note_attempts(void *world, const char *call, const char *id) {
    if (strcmp(call, "create_volume") == 0)
        attempts_at_work = world_count(
            world, arena_format(((struct world *)world)->arena,
                                "SELECT attempts FROM operations WHERE volume_id = '%s'", id));
    return (struct fault_decision){ .action = FAULT_PASS };
}

/* The second of two, for one worker. */
static const char *waiting_volume(struct world *world) {
    world->manager->settings.workers = 1;
    new_volume(world);
    world->decide = note_attempts;
    return new_volume(world);
}

START_TEST(one_without_a_free_worker_is_an_attempt_when_it_begins) {
    autoworld struct world *world = world_at_once();
    const char *id = waiting_volume(world);

    ck_assert_int_eq(world_count(world, CLAIMED), 1);
    ck_assert_int_eq(world_count(world, COUNT("operations WHERE owner <> ''")), 2);
    ck_assert_int_eq(world_count(world, "SELECT SUM(attempts) FROM operations"), 1);
    ck_assert(world_step(world, 1));
    ck_assert_int_eq(attempts_at_work, 1);
    assert_volume(world, id, "available", 2);
    world_settle(world);
    assert_idle(world);
}
END_TEST

/* A transaction for each would be the larger part of many requests at once. */
START_TEST(a_begin_counts_the_next_ones) {
    autoworld struct world *world = world_at_once();

    world->manager->settings.workers = 2;
    for (unsigned i = 0; i < 7; i++)
        new_volume(world);
    ck_assert_int_eq(world_count(world, CLAIMED), 2);
    ck_assert(world_step(world, 0)); /* one is counted, and two with this */
    ck_assert_int_eq(world_count(world, CLAIMED), 3);
    ck_assert_int_eq(world_count(world, COUNT("operations WHERE attempts = 0")), 3);
    ck_assert(world_step(world, 0)); /* two are */
    ck_assert_int_eq(world_count(world, CLAIMED), 2);
    ck_assert(world_step(world, 5 - 1)); /* the last one, and the two in front of it */
    ck_assert_int_eq(world_count(world, COUNT("operations WHERE attempts = 0")), 2);
    world_settle(world);
    assert_idle(world);
}
END_TEST

/* The process was suspended. */
START_TEST(one_that_has_lost_its_claim_is_a_first_attempt_when_it_begins) {
    autoworld struct world *world = world_at_once();
    const char *id = waiting_volume(world);

    world->now_us += (LEASE_S + 1) * SECOND_US;
    ck_assert(world_step(world, 1));
    ck_assert_int_eq(attempts_at_work, 1);
    assert_volume(world, id, "available", 2);
    world_settle(world);
    assert_idle(world);
}
END_TEST

/* A create would need every share of its pool, a delete would rename. */
START_TEST(one_that_its_process_never_began_is_a_first_attempt_afterwards) {
    autoworld struct world *world = world_at_once();
    const char *id = waiting_volume(world);

    world_restart(world);
    attempts_at_work = 0;
    world_relay(world);
    ck_assert(world_step(world, 1));
    ck_assert_int_eq(attempts_at_work, 1);
    assert_volume(world, id, "available", 2);
    world_settle(world);
    assert_idle(world);
}
END_TEST

/* Each death between the begin and the end counts. */
START_TEST(one_that_its_process_began_is_a_second_attempt_afterwards) {
    autoworld struct world *world = world_at_once();
    const char *id = waiting_volume(world);

    world_die_after(world, 1); /* the begin itself */
    ck_assert(world_step(world, 1));
    world_restart(world);
    ck_assert_int_eq(world_count(world, "SELECT SUM(attempts) FROM operations"), 2);
    world_relay(world);
    ck_assert(world_step(world, 1));
    ck_assert_int_eq(attempts_at_work, 2);
    assert_volume(world, id, "available", 2);
    world_settle(world);
    assert_idle(world);
}
END_TEST

START_TEST(a_drain_takes_no_attempt_that_was_not_counted) {
    autoworld struct world *world = world_at_once();

    waiting_volume(world);
    manager_drain(world->manager);
    ck_assert_int_eq(world_count(world, COUNT("operations WHERE owner <> ''")), 0);
    ck_assert_int_eq(world_count(world, COUNT("operations WHERE attempts = 0")), 2);
    world_restart(world);
    world_advance(world, 1);
    world_settle(world);
    assert_idle(world);
}
END_TEST

/* Its worker may be busy for hours. */
START_TEST(one_cancelled_before_it_began_blocks_no_other) {
    autoworld struct world *world = world_at_once();
    const char *id = world_volume(world, 2);

    waiting_volume(world);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    assert_quota(world, 6, 3);
    ck_assert_int_eq(world_action(world, id, "{\"os-reset_status\": {\"status\": \"available\"}}"),
                     202);
    assert_quota(world, 6, 0);
    ck_assert_int_eq(world_count(world, COUNT("operations")), 2);
    ck_assert_int_eq(world_action(world, id, EXTEND(7)), 202);
    world_settle(world);
    assert_volume(world, id, "available", 7);
    ck_assert_int_eq(world_real_gb(world, id), 7);
    assert_idle(world);
}
END_TEST

START_TEST(beyond_the_limit_operations_get_messages) {
    autoworld struct world *world = world_at_once();
    struct manager_lane *lane = &world->manager->hosts[0].lanes[LANE_SHORT];

    lane->taken = 1024;
    new_volume(world);
    ck_assert_int_eq(world_count(world, COUNT("outbox")), 1);
    lane->taken = 1023;
    new_volume(world);
    ck_assert_int_eq(world_count(world, COUNT("outbox")), 1);
    ck_assert_uint_eq(lane->taken, 1024);
    lane->taken = 1;
    world_settle(world);
    assert_idle(world);
}
END_TEST

/* A lane whose workers have ended nothing for a second. */
START_TEST(none_is_taken_behind_workers_that_hang) {
    autoworld struct world *world = world_at_once();

    world->manager->settings.workers = 1;
    new_volume(world);
    new_volume(world);
    ck_assert_int_eq(world_count(world, COUNT("outbox")), 0);
    world->now_us += SECOND_US;
    new_volume(world);
    ck_assert_int_eq(world_count(world, COUNT("outbox")), 1);
    ck_assert_int_eq(world_count(world, COUNT("operations WHERE owner <> ''")), 2);
    world_settle(world);
    assert_idle(world);
}
END_TEST

CHECK_MAIN_WITH("taken", !postgresql_given(), NULL, NULL, a_request_claims_its_operation,
                without_a_commit_nothing_is_handed_over, a_claimed_operation_survives_its_process,
                each_death_leaves_work_that_is_done, a_lease_is_renewed_while_no_worker_is_free,
                no_lease_is_renewed_while_the_backend_hangs,
                an_operation_that_another_manager_has_is_left_alone,
                after_a_pause_beyond_its_lease_it_is_claimed_again,
                one_with_others_in_its_queue_gets_a_message,
                one_that_copies_a_volume_gets_a_message, one_cancelled_before_it_began_is_closed,
                one_cancelled_while_it_waits_is_closed_by_its_worker,
                a_manager_that_drains_takes_none,
                waiting_operations_are_released_when_the_manager_drains,
                one_that_is_committed_after_the_drain_is_released,
                one_that_is_committed_after_the_drain_is_released_by_the_stop,
                one_that_cannot_be_read_is_begun_by_the_next_delivery,
                one_without_a_free_worker_is_an_attempt_when_it_begins,
                one_that_its_process_never_began_is_a_first_attempt_afterwards,
                one_that_its_process_began_is_a_second_attempt_afterwards,
                a_drain_takes_no_attempt_that_was_not_counted, a_begin_counts_the_next_ones,
                one_that_has_lost_its_claim_is_a_first_attempt_when_it_begins,
                one_cancelled_before_it_began_blocks_no_other,
                beyond_the_limit_operations_get_messages, none_is_taken_behind_workers_that_hang)
