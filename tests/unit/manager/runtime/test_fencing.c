/*
 * A manager that is paused beyond its lease in the middle of a driver's call, and another one that
 * takes its work over meanwhile: the late one ends nothing.
 */
#include "db/engine.h"
#include "tests/lib/extend.h"

static const struct fault_decision passes = { .action = FAULT_PASS };
static const struct fault_decision fails = { .action = FAULT_BEFORE };

#define TAKEN_OVER                                                                       \
    "UPDATE operations SET owner = 'other:1:1', lease_until = lease_until + 1000000000 " \
    "WHERE owner <> 'other:1:1'"

static struct fault_decision other_takes_over(void *world, const char *call, const char *id) {
    (void)call, (void)id;
    world_sql(world, TAKEN_OVER);
    return passes;
}

static struct fault_decision other_takes_over_and_it_fails(void *world, const char *call,
                                                           const char *id) {
    (void)call, (void)id;
    world_sql(world, TAKEN_OVER);
    return fails;
}

static struct fault_decision sleeps_and_fails(void *arg, const char *call, const char *id) {
    struct world *world = arg;

    (void)call, (void)id;
    world->now_us += 60 * 1000000;
    world->decide = NULL;
    return fails;
}

/* Nothing of it is ended, and when the other one is gone, too, it is done after all. */
static void assert_left_alone(struct world *world, const char *id, const char *status) {
    world->decide = NULL;
    ck_assert_str_eq(world_status(world, id), status);
    ck_assert_int_eq(
        world_count(world, "SELECT COUNT(*) FROM operations WHERE owner = 'other:1:1'"), 1);
    world_advance(world, 2000);
    world_settle(world);
}

START_TEST(a_late_extend_ends_nothing) {
    struct fault_decision (*const rivals[])(
        void *, const char *, const char *) = { other_takes_over, other_takes_over_and_it_fails };

    for (unsigned i = 0; i < 2; i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = world_volume(world, 2);

        world->decide = rivals[i];
        ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
        world_settle(world);
        assert_quota(world, 2, 3);
        assert_left_alone(world, id, "extending");
        assert_volume(world, id, "available", 5);
        assert_quota(world, 5, 0);
        assert_settled(world);
    }
}
END_TEST

START_TEST(a_late_delete_ends_nothing) {
    autoworld struct world *world = world_new(NULL);
    autoarena struct arena *arena = arena_new();
    const char *id = world_volume(world, 2);

    world->decide = other_takes_over_and_it_fails;
    ck_assert_int_eq(world_call(world, "DELETE", arena_format(arena, "/volumes/%s", id), NULL),
                     202);
    world_settle(world);
    assert_left_alone(world, id, "deleting");
    ck_assert_str_eq(world_status(world, id), "gone");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

static const char *new_volume(struct world *world) {
    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 2}}"), 202);
    return world_answer_id(world, "volume");
}

START_TEST(a_late_create_ends_nothing) {
    autoworld struct world *world = world_new(NULL);
    const char *id = new_volume(world);

    world->decide = other_takes_over_and_it_fails;
    world_settle(world);
    assert_left_alone(world, id, "creating");
    assert_volume(world, id, "available", 2);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

static struct fault_decision volume_goes(void *world, const char *call, const char *id) {
    (void)id;
    if (strcmp(call, "create_volume") != 0)
        return passes;
    world_sql(world, "DELETE FROM operations");
    world_sql(world, "DELETE FROM volumes");
    world_sql(world, "UPDATE quota_usages SET used = 0");
    world_sql(world, "UPDATE pools SET allocated_gb = 0");
    return passes;
}

/* Finished by another one and deleted since: the late create takes its object away again. */
START_TEST(a_late_create_leaves_no_object) {
    autoworld struct world *world = world_new(NULL);
    const char *id = new_volume(world);

    world->decide = volume_goes;
    world_settle(world);
    world->decide = NULL;
    ck_assert_int_lt(world_real_gb(world, id), 1);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

static bool finished_by_another; /* the create; else it is deleted before that */

/* Its fence falls in the middle: a part of the object is made, and the driver fails. */
static struct fault_decision volume_goes_while_it_is_made(void *arg, const char *call,
                                                          const char *id) {
    struct world *world = arg;
    const struct driver_volume volume = { .id = id, .name_id = id, .size_gb = 2 };
    autoarena struct arena *arena = arena_new();
    struct driver_created created;
    struct error err;

    if (strcmp(call, "create_volume") != 0)
        return passes;
    ck_assert_int_eq(memory_driver.create_volume(world->memory, arena, &volume, &created, &err), 0);
    if (finished_by_another)
        return volume_goes(arg, call, id);
    world_sql(world, "UPDATE operations SET kind = 'delete', owner = 'other:1:1'");
    world_sql(world, "UPDATE volumes SET status = 'deleting'");
    return passes;
}

/* Deleted since, or being deleted by another worker that found no object yet. */
START_TEST(a_create_that_finds_out_in_the_middle_leaves_no_object) {
    for (int i = 0; i <= 1; i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = new_volume(world);

        finished_by_another = i;
        world->decide = volume_goes_while_it_is_made;
        world_settle(world);
        world->decide = NULL;
        ck_assert_int_eq(world_real_gb(world, id), -1);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

/* A driver's failure after its lease is over is no reason to set the volume to error. */
START_TEST(a_failure_beyond_the_lease_is_tried_again) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world->decide = sleeps_and_fails;
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "extending");
    world_advance(world, 2);
    world_settle(world);
    assert_volume(world, id, "available", 5);
    assert_settled(world);
}
END_TEST

static int64_t (*steady)(void *arg);

static int64_t late_once(void *arg) {
    struct world *world = arg;

    world->clock.steady_us = steady;
    return steady(arg) + INT64_C(3600) * 1000000;
}

static struct fault_decision the_fence_refuses_once(void *arg, const char *call, const char *id) {
    struct world *world = arg;

    (void)id;
    if (strcmp(call, "extend_volume") == 0) {
        world->decide = NULL;
        steady = world->clock.steady_us;
        world->clock.steady_us = late_once;
    }
    return passes;
}

/* The driver's failure then is no verdict, also when the lease is found renewed right after. */
START_TEST(a_fence_that_has_refused_once_is_no_failure) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world->decide = the_fence_refuses_once;
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    assert_volume(world, id, "extending", 2);
    world_advance(world, 2);
    world_settle(world);
    assert_volume(world, id, "available", 5);
    assert_settled(world);
}
END_TEST

static const struct db_engine *engine;

/* ---- a database that refuses ---- */

static struct {
    struct world *world;
    struct db_engine engine;
    unsigned seconds;
} outage;

static int read_or_refuse(struct db *db, db_body *body, void *arg, struct error *err) {
    if (outage.seconds == 0)
        return engine->read(db, body, arg, err);
    outage.seconds--;
    outage.world->now_us += SECOND_US;
    return error_set(err, ERROR_UNAVAILABLE, "The database is away.");
}

static struct fault_decision the_database_goes(void *arg, const char *call, const char *id) {
    struct world *world = arg;

    (void)id;
    if (strcmp(call, "extend_volume") == 0) {
        world->decide = NULL;
        world->db->engine = &outage.engine;
    }
    return passes;
}

/* Hours of copying would be lost with each restart of a database server.  Beyond the lease another
 * manager may reach the database, and needs the locks of this one. */
START_TEST(a_database_that_refuses_within_a_lease_ends_no_work) {
    static const unsigned seconds[] = { 5, 60 };

    for (unsigned i = 0; i < LENGTH(seconds); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = world_volume(world, 2);

        engine = world->db->engine;
        outage.world = world;
        outage.engine = *engine;
        outage.engine.read = read_or_refuse;
        outage.seconds = seconds[i];
        world->decide = the_database_goes;
        ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
        world_settle(world);
        ck_assert_uint_eq(outage.seconds > 0, i);
        outage.seconds = 0;
        ck_assert_int_eq(world_real_gb(world, id), i ? 2 : 5);
        world_advance(world, 2);
        world_settle(world);
        world->db->engine = engine;
        assert_volume(world, id, "available", 5);
        assert_settled(world);
    }
}
END_TEST

static struct world *sleeper;

/* Another thread of the process gets the operation before the sleeper has looked up. */
static void sleep_after_commit(struct db *db, struct db_job *job) {
    db->engine = engine;
    engine->submit(db, job);
    world_advance(sleeper, 60);
    world_settle(sleeper);
    ck_assert_int_eq(world_count(sleeper, "SELECT attempts FROM operations"), 1);
}

/* They have one name: a lease that is renewed for the one would let the other go on. */
START_TEST(two_threads_of_a_process_never_have_one_operation) {
    autoworld struct world *world = sleeper = world_new(NULL);
    const char *id = world_volume(world, 2);
    struct db_engine sleepy = *(engine = world->db->engine);

    sleepy.submit = sleep_after_commit;
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    ck_assert_uint_eq(world_relay(world), 1);
    world->db->engine = &sleepy;
    ck_assert(world_step(world, 0));
    ck_assert_ptr_eq(world->db->engine, engine);
    assert_volume(world, id, "extending", 2);
    world_advance(world, 20);
    world_settle(world);
    assert_volume(world, id, "available", 5);
    assert_settled(world);
}
END_TEST

/* A manager of another place is not disturbed by the start of this one. */
START_TEST(leases_of_other_processes_outlive_a_start) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world->decide = other_takes_over;
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    world->decide = NULL;
    world_restart(world);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "extending");
    world_sql(world, "UPDATE operations SET owner = 'node:0:0'");
    world_restart(world);
    world_settle(world);
    assert_volume(world, id, "available", 5);
}
END_TEST

/* ---- a loss of power ---- */

static int64_t attempts_at_work;

static struct fault_decision note_attempts(void *world, const char *call, const char *id) {
    (void)id;
    if (strcmp(call, "create_volume") == 0)
        attempts_at_work = world_count(world, "SELECT attempts FROM operations");
    return passes;
}

/* The claim is lost, and the file that its worker has made, on one of several shares, is not: the
 * next worker searches all of them. */
START_TEST(a_create_of_an_earlier_boot_may_have_left_a_file) {
    for (int earlier = 0; earlier <= 1; earlier++) {
        autoworld struct world *world = world_new(NULL);

        ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 2}}"), 202);
        if (earlier) {
            world_restart(world);
            world_sql(world, "DELETE FROM clock");
            world_sql(world, "INSERT INTO clock (base, ahead_us, told_us) "
                             "SELECT 'boot', 0, created_at + 1 FROM operations");
        }
        world->decide = note_attempts;
        world_settle(world);
        ck_assert_int_eq(attempts_at_work, 1 + earlier);
        assert_volume(world, world_answer_id(world, "volume"), "available", 2);
    }
}
END_TEST

/* ---- versions ---- */

static void assert_passed_on(struct world *world) {
    for (int i = 0; i < 30; i++) {
        world_settle(world);
        world_advance(world, 5);
    }
    world_settle(world);
    ck_assert_int_eq(
        world_count(world, "SELECT COUNT(*) FROM operations WHERE attempts = 0 AND owner = ''"), 1);
}

/* Managers of the version that has written it may try thrice, say. */
START_TEST(an_operation_of_another_version_is_left_to_its_managers) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_sql(world, "UPDATE operations SET kind = 'later'");
    assert_passed_on(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE phase = 'queued'"),
                     1);
    world_sql(world, "UPDATE operations SET kind = 'extend', phase = 'later'");
    assert_passed_on(world);
    world_sql(world, "UPDATE operations SET phase = 'running'");
    world_advance(world, 11);
    world_settle(world);
    assert_volume(world, id, "available", 5);
}
END_TEST

/* They inspect its effects; nothing begins before. */
START_TEST(a_cancelled_operation_of_another_version_is_closed_by_its_managers) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_sql(world, "DELETE FROM reservations");
    world_sql(world, "UPDATE operations SET kind = 'later', phase = 'cancelled', target_id = id");
    assert_passed_on(world);
    world_sql(world, "UPDATE operations SET kind = 'extend'");
    world_advance(world, 11);
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
}
END_TEST

/* The database server's clock was set ahead, and this manager has just started: until the others
 * have set it right, waiting operations are not over, and kept messages are not thrown away. */
START_TEST(an_unsure_clock_expires_no_lease) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    world_sql(world, "INSERT INTO messages (id, project_id, request_id, action_id, detail_id, "
                     "message_level, created_at, expires_at, keep_until) "
                     "SELECT 'm', 'p', 'r', '007', '009', 'ERROR', 1, 1, deadline FROM operations");
    world->db->unsure = true;
    world_advance(world, 3600);
    world_settle(world);
    assert_volume(world, id, "extending", 2);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM messages"), 1);
    world->now_us -= 3600 * INT64_C(1000000);
    world->db->unsure = false;
    memory_grow(world->memory, id, 5 * GIB);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    world_settle(world);
    assert_volume(world, id, "in-use", 5);
    assert_settled(world);
}
END_TEST

/* ---- lost messages ---- */

static int64_t open_operations(struct world *world) {
    return world_count(world, "SELECT COUNT(*) FROM operations");
}

static int64_t messages_waiting(struct world *world) {
    return world_count(world, "SELECT COUNT(*) FROM outbox");
}

/* Thousands of them are all written again in one round. */
START_TEST(every_lost_message_is_written_again) {
    autoworld struct world *world = world_new(&(struct world_settings){ .quota_volumes = 5000 });

    for (int i = 0; i < 600; i++)
        new_volume(world);
    world_sql(world, "DELETE FROM outbox");
    world_restart(world);
    world_settle(world);
    ck_assert_int_eq(open_operations(world), 600);
    world_advance(world, 20);
    world_settle(world);
    ck_assert_int_eq(open_operations(world), 0);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes WHERE status = 'available'"),
                     600);
}
END_TEST

/* A start finds the messages of before where they were. */
START_TEST(a_message_that_waits_is_not_written_again_by_a_start) {
    autoworld struct world *world = world_new(NULL);

    new_volume(world);
    world->now_us += 1000 * INT64_C(1000000);
    world_restart(world);
    ck_assert_int_eq(messages_waiting(world), 1);
    world_settle(world);
    ck_assert_int_eq(open_operations(world), 0);
}
END_TEST

/* While others of the backend come in, one that is late is behind them; but not for ever. */
START_TEST(a_queue_that_moves_is_waited_for) {
    static const int64_t ages[] = { 20, 61 };

    for (unsigned i = 0; i < LENGTH(ages); i++) {
        autoworld struct world *world = world_new(NULL);

        new_volume(world);
        world_sql(world, "DELETE FROM outbox");
        world->now_us += ages[i] * 1000000;
        new_volume(world);
        world_settle(world); /* the other one's */
        world_advance(world, 0);
        ck_assert_int_eq(messages_waiting(world), i);
        world_advance(world, 6);
        ck_assert_int_eq(messages_waiting(world), 1);
        world_settle(world);
        ck_assert_int_eq(open_operations(world), 0);
    }
}
END_TEST

CHECK_MAIN("fencing", a_late_extend_ends_nothing, a_late_delete_ends_nothing,
           a_late_create_ends_nothing, a_late_create_leaves_no_object,
           a_create_that_finds_out_in_the_middle_leaves_no_object,
           a_failure_beyond_the_lease_is_tried_again, a_fence_that_has_refused_once_is_no_failure,
           a_database_that_refuses_within_a_lease_ends_no_work,
           two_threads_of_a_process_never_have_one_operation,
           leases_of_other_processes_outlive_a_start,
           a_create_of_an_earlier_boot_may_have_left_a_file,
           an_operation_of_another_version_is_left_to_its_managers,
           a_cancelled_operation_of_another_version_is_closed_by_its_managers,
           an_unsure_clock_expires_no_lease, every_lost_message_is_written_again,
           a_message_that_waits_is_not_written_again_by_a_start, a_queue_that_moves_is_waited_for)
