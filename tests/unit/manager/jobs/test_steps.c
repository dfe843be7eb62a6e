/*
 * The wall's clock is set, in either direction: nothing but displayed times changes.  Every lease,
 * fence, deadline, retry, report and life of the manager and the API keeps its pace.
 */
#include "tests/lib/extend.h"

static const int64_t steps[] = { -31536000, -3600, -60, -30, 30, 60, 3600, 31536000 };

static int64_t step; /* of this turn */

static void each_step(void (*promise)(struct world *world)) {
    for (unsigned i = 0; i < LENGTH(steps); i++) {
        autoworld struct world *world = world_new(NULL);

        step = steps[i];
        promise(world);
    }
}

#define STEPS_TEST(name)                               \
    static void name##_at_a_step(struct world *world); \
    START_TEST(name) {                                 \
        each_step(name##_at_a_step);                   \
    }                                                  \
    END_TEST                                           \
    static void name##_at_a_step(struct world *world)

/* ---- fences ---- */

static struct fault_decision sleeps_steps_and_fails(void *arg, const char *call, const char *id) {
    struct world *world = arg;

    (void)call, (void)id;
    world->now_us += 60 * INT64_C(1000000);
    world_step_wall(world, step);
    world->decide = NULL;
    return (struct fault_decision){ .action = FAULT_BEFORE };
}

static struct fault_decision steps_and_fails(void *arg, const char *call, const char *id) {
    struct world *world = arg;

    (void)call, (void)id;
    world_step_wall(world, step);
    world->decide = NULL;
    return (struct fault_decision){ .action = FAULT_BEFORE };
}

/* A driver's failure then is no reason to set the volume to error. */
STEPS_TEST(a_fence_of_a_paused_manager_is_over) {
    const char *id = world_volume(world, 2);

    world->decide = sleeps_steps_and_fails;
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "extending");
    world_advance(world, 2);
    world_settle(world);
    assert_volume(world, id, "available", 5);
}

STEPS_TEST(a_fence_of_a_working_manager_holds) {
    const char *id = world_volume(world, 2);

    world->decide = steps_and_fails;
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    assert_volume(world, id, "error_extending", 2);
}

/* ---- leases ---- */

static struct fault_decision other_has_it(void *world, const char *call, const char *id) {
    (void)call, (void)id;
    world_sql(world, "UPDATE operations SET owner = 'other:1:1'");
    return (struct fault_decision){ .action = FAULT_PASS };
}

STEPS_TEST(work_is_taken_over_when_its_lease_is_over_and_not_before) {
    const char *id = world_volume(world, 2);

    world->decide = other_has_it;
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    world->decide = NULL;
    world_step_wall(world, step);
    world_restart(world); /* a start reads its clocks again */
    world_advance(world, 29);
    world_settle(world);
    assert_volume(world, id, "extending", 2);
    world_advance(world, 2);
    world_settle(world);
    assert_volume(world, id, "available", 5);
}

/* ---- retries ---- */

STEPS_TEST(a_retry_happens_after_its_pause) {
    const char *id = world_volume(world, 2);

    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_sql(world, "UPDATE operations SET attempts = 1");
    memory_fail_next(world->memory, "extend_volume", ERROR_UNAVAILABLE);
    world_settle(world);
    world_step_wall(world, step);
    world_advance(world, 8);
    world_settle(world);
    assert_volume(world, id, "extending", 2);
    world_advance(world, 3);
    world_settle(world);
    assert_volume(world, id, "available", 5);
}

STEPS_TEST(a_lost_message_is_written_again_after_its_time) {
    const char *id;

    world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 2}}");
    id = world_answer_id(world, "volume");
    world_sql(world, "DELETE FROM outbox");
    world_step_wall(world, step);
    world_advance(world, 13);
    world_settle(world);
    assert_volume(world, id, "creating", 2);
    world_advance(world, 3);
    world_settle(world);
    assert_volume(world, id, "available", 2);
}

/* ---- deadlines ---- */

STEPS_TEST(a_deadline_comes_after_its_time) {
    const char *id = pending_extend(world);

    world_step_wall(world, step);
    world_advance(world, 598);
    world_settle(world);
    assert_volume(world, id, "extending", 2);
    world_step_wall(world, step);
    world_advance(world, 3);
    world_settle(world);
    assert_volume(world, id, "error_extending", 2);
    assert_settled(world);
}

/* ---- reports ---- */

static bool is_up(struct world *world) {
    const json_t *services;

    ck_assert_int_eq(world_call(world, "GET", "/os-services?binary=cinder-volume", NULL), 200);
    services = json_object_get(world->answer, "services");
    return strcmp(json_string_value(json_object_get(json_array_get(services, 0), "state")), "up") ==
           0;
}

STEPS_TEST(a_service_is_up_for_its_time) {
    ck_assert(is_up(world));
    world_step_wall(world, step);
    world->now_us += INT64_C(59000000);
    ck_assert(is_up(world));
    world->now_us += INT64_C(2000000);
    ck_assert(!is_up(world));
    world_advance(world, 0); /* it reports */
    ck_assert(is_up(world));
}

STEPS_TEST(a_backend_that_reports_gets_volumes) {
    world_step_wall(world, step);
    for (int i = 0; i < 10; i++)
        world_advance(world, 9); /* no other process reports it */
    assert_volume(world, world_volume(world, 1), "available", 1);
}

/* ---- lives ---- */

STEPS_TEST(a_message_is_kept_for_its_time) {
    const char *id = world_volume(world, 2);

    world->settings.message_ttl_s = 1000;
    memory_fail_next(world->memory, "extend_volume", ERROR_BACKEND);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    world_step_wall(world, step);
    world_advance(world, 990);
    ck_assert(world_has_message(world, id, DRIVER_MESSAGE));
    world_advance(world, 70);
    ck_assert(!world_has_message(world, id, DRIVER_MESSAGE));
}

STEPS_TEST(a_response_is_kept_for_its_time) {
    world_volume(world, 2);
    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 2}}"), 202);
    world_sql(world, "DELETE FROM outbox");
    world_sql(world, "UPDATE operations SET phase = 'answered', updated_at = created_at");
    world_step_wall(world, step);
    world_advance(world, 110);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 1);
    world_advance(world, 70);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
}

/* ---- displayed times ---- */

static int64_t shown(const json_t *object, const char *key) {
    int64_t instant_us;

    ck_assert_int_eq(clock_parse(json_string_value(json_object_get(object, key)), &instant_us), 0);
    return instant_us;
}

STEPS_TEST(displayed_times_follow_the_wall_clock) {
    const char *before = world_volume(world, 1), *after;
    int64_t made_us = shown(world_show(world, before), "created_at");
    const json_t *services;

    world_step_wall(world, step);
    after = world_volume(world, 1);
    ck_assert_int_lt(
        llabs(shown(world_show(world, after), "created_at") - made_us - step * 1000000), 1000000);
    world_call(world, "GET", "/os-services?binary=cinder-volume", NULL);
    services = json_object_get(world->answer, "services");
    ck_assert_int_lt(
        llabs(shown(json_array_get(services, 0), "updated_at") - made_us - step * 1000000),
        1000000);
}

CHECK_MAIN("steps", a_fence_of_a_paused_manager_is_over, a_fence_of_a_working_manager_holds,
           work_is_taken_over_when_its_lease_is_over_and_not_before,
           a_retry_happens_after_its_pause, a_lost_message_is_written_again_after_its_time,
           a_deadline_comes_after_its_time, a_service_is_up_for_its_time,
           a_backend_that_reports_gets_volumes, a_message_is_kept_for_its_time,
           a_response_is_kept_for_its_time, displayed_times_follow_the_wall_clock)
