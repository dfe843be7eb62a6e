/*
 * Storage that is managed or unmanaged by a worker that sleeps right in front of its effect:
 * nothing of a volume that lives is taken away, and nothing has a volume's name that is none's.
 */
#include "common/cleanup.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/other_manager.h"
#include "tests/lib/snapshots.h"

#define COUNT(what) world_count(world, "SELECT COUNT(*) FROM " what)

static struct scene {
    struct world *world;
    const char *id;
    const char *call; /* in the middle of which the first worker sleeps */
    void (*meanwhile)(void);
    bool asleep;
} scene;

static bool between(void *arg, enum memory_point point, const char *call, const char *name_id) {
    (void)arg, (void)name_id;
    if (point != MEMORY_FENCED || scene.asleep || strcmp(call, scene.call) != 0)
        return true;
    scene.asleep = true;
    scene.meanwhile();
    return true;
}

static void sleep_in(struct world *world, const char *call, void (*meanwhile)(void)) {
    scene = (struct scene){ .world = world, .call = call, .meanwhile = meanwhile };
    memory_watch(world->memory, between, NULL);
}

static void manage(const char *source) {
    struct world *world = scene.world;

    ck_assert_int_eq(
        world_call(world, "POST", "/os-volume-manage",
                   PATH("{\"volume\": {\"host\": \"node@memory\", \"ref\": \"%s\"}}", source)),
        202);
    scene.id = world_answer_id(world, "volume");
}

static void rest(struct world *world) {
    for (int i = 0; i < 4; i++) {
        world_settle(world);
        world_advance(world, 61);
    }
    world_settle(world);
    ck_assert(scene.asleep);
    ck_assert_int_eq(world_check(world), 0);
    ck_assert_int_eq(COUNT("operations"), 0);
    ck_assert_int_eq(COUNT("reservations"), 0);
}

static bool is_nobodys(struct world *world, const char *id) {
    return memory_has(world->memory, PATH("unmanaged-%s", id));
}

/* ---- manage ---- */

static void managed_and_written(void) {
    other_manager_works(scene.world);
    ck_assert_str_eq(world_status(scene.world, scene.id), "available");
    memory_write(scene.world->memory, scene.id, 9);
}

START_TEST(a_late_manage_changes_nothing) {
    autoworld struct world *world = world_new(NULL);

    sleep_in(world, "manage_volume", managed_and_written);
    memory_put(world->memory, "disk", GIB, 7);
    manage("disk");
    rest(world);
    ck_assert_str_eq(world_status(world, scene.id), "available");
    ck_assert_int_eq(memory_read(world->memory, scene.id), 9);
    ck_assert_uint_eq(memory_count(world->memory), 1);
}
END_TEST

static void given_up(void) {
    ck_assert_int_eq(world_action(scene.world, scene.id, "{\"os-force_delete\": {}}"), 202);
    other_manager_works(scene.world);
}

START_TEST(an_object_managed_too_late_is_unmanaged_again) {
    autoworld struct world *world = world_new(NULL);

    sleep_in(world, "manage_volume", given_up);
    memory_put(world->memory, "disk", GIB, 7);
    manage("disk");
    rest(world);
    ck_assert_int_eq(COUNT("volumes"), 0);
    ck_assert_uint_eq(memory_count(world->memory), 0);
    ck_assert(is_nobodys(world, scene.id));
}
END_TEST

static void given_up_before_a_full_disk(void) {
    given_up();
    scene.world->hiccups = 1;
}

static void given_up_before_a_failure(void) {
    given_up();
    memory_fail_next(scene.world->memory, "unmanage_volume", ERROR_BACKEND);
}

/* No other worker knows of the object. */
START_TEST(a_late_manage_repeats_its_clean_up) {
    static void (*const obstacles[])(void) = { given_up_before_a_full_disk,
                                               given_up_before_a_failure };

    for (unsigned i = 0; i < LENGTH(obstacles); i++) {
        autoworld struct world *world = world_new(NULL);

        sleep_in(world, "manage_volume", obstacles[i]);
        memory_put(world->memory, "disk", GIB, 7);
        manage("disk");
        rest(world);
        ck_assert_uint_eq(memory_count(world->memory), 0);
        ck_assert(is_nobodys(world, scene.id));
    }
}
END_TEST

static void others_work(void) {
    other_manager_works(scene.world);
}

START_TEST(an_object_being_unmanaged_is_not_managed_again) {
    autoworld struct world *world = world_new(NULL);

    sleep_in(world, "unmanage_volume", others_work);
    memory_put(world->memory, "disk", GIB + 512, 7);
    memory_fail_next(world->memory, "extend_volume", ERROR_BACKEND);
    manage("disk");
    rest(world);
    ck_assert_int_eq(COUNT("volumes WHERE status = 'error_managing'"), 1);
    ck_assert(world_has_message(world, scene.id, "VOLUME_VOLUME_008_012"));
    ck_assert_uint_eq(memory_count(world->memory), 0);
    ck_assert(is_nobodys(world, scene.id));
}
END_TEST

/* ---- unmanage ---- */

static void unmanage(struct world *world) {
    ck_assert_int_eq(world_action(world, scene.id, "{\"os-unmanage\": {}}"), 202);
}

static void reset_and_written(void) {
    ck_assert_int_eq(
        world_action(scene.world, scene.id, "{\"os-reset_status\": {\"status\": \"available\"}}"),
        202);
    other_manager_works(scene.world);
    memory_write(scene.world->memory, scene.id, 9);
}

START_TEST(a_late_unmanage_takes_no_storage_from_a_volume) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    sleep_in(world, "unmanage_volume", reset_and_written);
    scene.id = id;
    unmanage(world);
    rest(world);
    /* It goes on with its object, or gets an error when it has none. */
    if (strcmp(world_status(world, id), "available") == 0)
        ck_assert_int_eq(world_real_gb(world, id), 1);
    else
        ck_assert(is_nobodys(world, id));
}
END_TEST

static const char *former;

static void let_go_and_taken_over(void) {
    struct world *world = scene.world;

    other_manager_works(world);
    former = scene.id;
    ck_assert(is_nobodys(world, former));
    manage(PATH("unmanaged-%s", former));
    other_manager_works(world);
    memory_write(world->memory, scene.id, 9);
}

START_TEST(a_late_unmanage_finds_nothing) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    sleep_in(world, "unmanage_volume", let_go_and_taken_over);
    scene.id = id;
    unmanage(world);
    rest(world);
    ck_assert_str_eq(world_status(world, scene.id), "available");
    ck_assert_str_ne(scene.id, former);
    ck_assert_int_eq(memory_read(world->memory, scene.id), 9);
    ck_assert(!is_nobodys(world, former));
}
END_TEST

/* A worker dies after any of its effects, and the unmanage is cancelled before the next one. */
START_TEST(a_cancelled_unmanage_leaves_no_volume_available_without_its_storage) {
    int64_t effects = 0;
    bool died = true;
    int without = 0;

    for (; died; effects++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = world_volume(world, 1);

        scene = (struct scene){ .world = world, .id = id, .asleep = true };
        unmanage(world);
        world_die_after(world, effects);
        world_settle(world);
        died = world->dead;
        world_restart(world);
        if (strcmp(world_status(world, id), "gone") != 0)
            ck_assert_int_eq(
                world_action(world, id, "{\"os-reset_status\": {\"status\": \"available\"}}"), 202);
        rest(world);
        if (strcmp(world_status(world, id), "available") == 0) {
            ck_assert_int_eq(world_real_gb(world, id), 1);
            continue;
        }
        ck_assert(is_nobodys(world, id));
        if (strcmp(world_status(world, id), "gone") == 0)
            continue;
        without++;
        ck_assert_str_eq(world_status(world, id), "error");
        ck_assert_int_eq(COUNT("volumes WHERE provider_location IS NULL"), 1);
        ck_assert(world_has_message(world, id, "VOLUME_VOLUME_006_906"));
    }
    ck_assert_int_gt(without, 0);
    ck_assert_int_gt(effects, 2);
}
END_TEST

CHECK_MAIN("late manage", a_late_manage_changes_nothing,
           an_object_managed_too_late_is_unmanaged_again, a_late_manage_repeats_its_clean_up,
           an_object_being_unmanaged_is_not_managed_again,
           a_late_unmanage_takes_no_storage_from_a_volume, a_late_unmanage_finds_nothing,
           a_cancelled_unmanage_leaves_no_volume_available_without_its_storage)
