/*
 * A worker that sleeps while it makes files ready for the host of a guest, and wakes up when its
 * operation is over: a host that is as late finds nothing that it could do.
 */
#include "tests/lib/extend.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/snapshots.h"

static const char *sleeps_at, *given_up; /* a call of the driver, and the snapshot meanwhile */
static bool comes_back;

/* Between the fence and the effect. */
static bool between(void *arg, enum memory_point point, const char *call, const char *name_id) {
    struct world *world = arg;

    if (point != MEMORY_FENCED || !sleeps_at || strcmp(call, sleeps_at) != 0)
        return true;
    sleeps_at = NULL;
    given_up = PATH("%s", name_id);
    ck_assert_int_eq(world_call(world, "POST", PATH("/snapshots/%s/action", given_up),
                                "{\"os-force_delete\": null}"),
                     202);
    if (comes_back) /* an operator's request: it is wanted after all */
        world_sql(world,
                  PATH("UPDATE snapshots SET status = 'creating' WHERE id = '%s'", given_up));
    return true;
}

static struct world *with_guest(const char **ret_id) {
    struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2);

    world_attach(world, volume, WORLD_INSTANCE);
    memory_defer_snapshots(world->memory, true);
    world->token = "admin:" WORLD_PROJECT;
    *ret_id = new_snapshot(world, volume);
    sleeps_at = "prepare_assist";
    memory_watch(world->memory, between, world);
    world_relay(world);
    return world;
}

START_TEST(files_prepared_too_late_are_removed) {
    const char *id;
    autoworld struct world *world = with_guest(&id);

    comes_back = false;
    world_step(world, 0);
    ck_assert_str_eq(given_up, id);
    ck_assert_uint_eq(world->assist_count, 0);
    ck_assert(!memory_assist(world->memory, id));
    world_settle(world);
    ck_assert_str_eq(snapshot_status(world, id), "gone");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* Another worker may be at it by then, whose host is requested for these files. */
START_TEST(an_object_still_wanted_is_left_alone) {
    const char *id;
    autoworld struct world *world = with_guest(&id);

    comes_back = true;
    world_step(world, 0);
    ck_assert_str_eq(given_up, id);
    ck_assert_uint_eq(world->assist_count, 0);
    ck_assert(memory_assist(world->memory, id));
}
END_TEST

/* The late worker has found the snapshot unwanted, and is paused again. */
static struct fault_decision wanted_again(void *arg, const char *call, const char *id) {
    struct world *world = arg;

    (void)id; /* the volume's */
    if (strcmp(call, "complete_assist") == 0)
        world_sql(world,
                  PATH("UPDATE snapshots SET status = 'creating' WHERE id = '%s'", given_up));
    return (struct fault_decision){ .action = FAULT_PASS };
}

START_TEST(a_clean_up_reads_the_rows_right_before_its_effect) {
    const char *id;
    autoworld struct world *world = with_guest(&id);

    comes_back = false;
    world->decide = wanted_again;
    world_step(world, 0);
    world->decide = NULL;
    ck_assert_str_eq(given_up, id);
    ck_assert_str_eq(snapshot_status(world, id), "creating");
    ck_assert(memory_assist(world->memory, id));
}
END_TEST

CHECK_MAIN("late assist", files_prepared_too_late_are_removed, an_object_still_wanted_is_left_alone,
           a_clean_up_reads_the_rows_right_before_its_effect)
