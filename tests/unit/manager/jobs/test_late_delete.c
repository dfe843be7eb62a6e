/*
 * A worker of a delete sleeps between its last check and the effect, for as long as it likes:
 * whatever another manager and an operator do meanwhile, a volume that is built then is not
 * destroyed.
 */
#include "common/cleanup.h"
#include "tests/lib/extend.h"
#include "tests/lib/other_manager.h"
#include "tests/lib/snapshots.h"

#include <stdio.h>

#define RESET   "{\"os-reset_status\": {\"status\": \"available\"}}"
#define RESERVE "{\"os-reserve\": null}"

static struct scene {
    struct world *world;
    const char *id;
    const char *call; /* of the driver, in the middle of which the first worker sleeps */
    void (*meanwhile)(void);
    bool asleep;
} scene;

static void other_works(void) {
    other_manager_works(scene.world);
}

/* ---- the one that sleeps ---- */

static bool between(void *arg, enum memory_point point, const char *call, const char *name_id) {
    (void)arg, (void)name_id;
    if (point != MEMORY_FENCED || scene.asleep || strcmp(call, scene.call) != 0)
        return true;
    scene.asleep = true;
    scene.meanwhile();
    return true;
}

static void sleep_in(struct world *world, const char *call, void (*meanwhile)(void)) {
    scene = (struct scene){
        .world = world, .id = world_volume(world, 2), .call = call, .meanwhile = meanwhile
    };
    memory_watch(world->memory, between, world);
}

static void begin_delete(void) {
    ck_assert_int_eq(world_call(scene.world, "DELETE",
                                arena_format(scene.world->arena, "/volumes/%s", scene.id), NULL),
                     202);
}

/* A worker of before has died with it. */
static void begin_delete_again(void) {
    begin_delete();
    world_sql(scene.world, "UPDATE operations SET attempts = 1");
}

static void assert_kept(void) {
    struct world *world = scene.world;

    ck_assert(scene.asleep);
    for (int i = 0; i < 3; i++) {
        world_settle(world);
        world_advance(world, 61);
    }
    world_settle(world);
    ck_assert_int_eq(world_real_gb(world, scene.id), 2);
    ck_assert_str_eq(world_status(world, scene.id), "in-use");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(world_check(world), 0);
}

/* A guest finds the image where the API has it. */
static void attach(void) {
    struct world *world = scene.world;
    autoarena struct arena *arena = arena_new();
    const char *attachment = world_attach(world, scene.id, WORLD_INSTANCE);
    const json_t *info;

    ck_assert_int_eq(
        world_call(world, "GET", arena_format(arena, "/attachments/%s", attachment), NULL), 200);
    info = json_object_get(json_object_get(world->answer, "attachment"), "connection_info");
    ck_assert_int_eq(
        world_count(world, arena_format(arena,
                                        "SELECT COUNT(*) FROM volumes WHERE name_id = '%s' AND "
                                        "name_id <> id",
                                        json_string_value(json_object_get(info, "name")))),
        1);
}

/* ---- events meanwhile ---- */

static void reset_and_closed(void) {
    ck_assert_int_eq(world_action(scene.world, scene.id, RESET), 202);
    ck_assert_int_eq(world_action(scene.world, scene.id, RESERVE), 400);
    other_works();
    attach();
}

static void failed_and_reset(void) {
    memory_fail_next(scene.world->memory, "delete_volume", ERROR_BACKEND);
    other_works();
    ck_assert_str_eq(world_status(scene.world, scene.id), "error_deleting");
    ck_assert_int_eq(world_action(scene.world, scene.id, RESET), 202);
    other_works(); /* it finds the storage */
    attach();
}

static void (*const stories[])(void) = { reset_and_closed, failed_and_reset };

START_TEST(a_delete_suspended_before_its_effect_destroys_nothing_of_others) {
    for (unsigned i = 0; i < LENGTH(stories); i++) {
        autoworld struct world *world = world_new(NULL);

        sleep_in(world, "delete_volume", stories[i]);
        begin_delete();
        world_settle(world);
        assert_kept();
    }
}
END_TEST

/* One that was begun before renames first: it may sleep there, or behind that. */
START_TEST(a_taken_over_delete_destroys_nothing_of_others) {
    static const char *const calls[] = { "rename_volume", "delete_volume" };

    for (unsigned i = 0; i < LENGTH(stories) * LENGTH(calls); i++) {
        autoworld struct world *world = world_new(NULL);

        sleep_in(world, calls[i / 2], stories[i % 2]);
        begin_delete_again();
        world_settle(world);
        assert_kept();
    }
}
END_TEST

static void closed_and_attached(void) {
    other_works();
    attach();
}

/* Nor does a late worker that closes a cancelled one. */
START_TEST(a_closing_delete_destroys_nothing_of_others) {
    autoworld struct world *world = world_new(NULL);

    sleep_in(world, "rename_volume", closed_and_attached);
    begin_delete_again();
    ck_assert_int_eq(world_action(world, scene.id, RESET), 202);
    world_settle(world);
    assert_kept();
}
END_TEST

static void delete_ended(void) {
    other_works();
    ck_assert_str_eq(world_status(scene.world, scene.id), "gone");
}

START_TEST(a_volume_deleted_by_another_worker_stays_deleted) {
    static const char *const calls[] = { "rename_volume", "delete_volume" };

    for (unsigned i = 0; i < LENGTH(calls); i++) {
        autoworld struct world *world = world_new(NULL);

        sleep_in(world, calls[i], delete_ended);
        begin_delete_again();
        world_settle(world);
        ck_assert(scene.asleep);
        ck_assert_uint_eq(memory_count(world->memory), 0);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

/* ---- death between each two steps ---- */

static void rest(struct world *world) {
    for (int i = 0; i < 4; i++) {
        world_settle(world);
        world_advance(world, 61);
    }
    world_settle(world);
}

/* Dies, starts again and dies again, each time a step later; then all goes on. */
static bool live_through(struct world *world, int64_t effects) {
    bool died;

    world_die_after(world, effects);
    rest(world);
    died = world->dead;
    world_restart(world);
    world_die_after(world, effects);
    rest(world);
    world_restart(world);
    rest(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(world_check(world), 0);
    return died;
}

START_TEST(a_delete_that_dies_anywhere_is_done_by_the_next) {
    int64_t effects = 0;

    for (bool died = true; died; effects++) {
        autoworld struct world *world = world_new(NULL);

        scene = (struct scene){ .world = world, .id = world_volume(world, 2) };
        begin_delete_again();
        died = live_through(world, effects);
        ck_assert_str_eq(world_status(world, scene.id), "gone");
        ck_assert_uint_eq(memory_count(world->memory), 0);
    }
    ck_assert_int_gt(effects, 8);
}
END_TEST

START_TEST(a_cancelled_delete_whose_closing_dies_anywhere_leaves_the_volume_whole) {
    int64_t effects = 0;

    for (bool died = true; died; effects++) {
        autoworld struct world *world = world_new(NULL);

        scene = (struct scene){ .world = world, .id = world_volume(world, 2) };
        begin_delete_again();
        ck_assert_int_eq(world_action(world, scene.id, RESET), 202);
        died = live_through(world, effects);
        attach();
        scene.asleep = true;
        assert_kept();
    }
    ck_assert_int_gt(effects, 8);
}
END_TEST

/* Each write fails once, as on a full disk: an unrecorded step is not done. */
START_TEST(an_unrecorded_name_is_not_used) {
    autoworld struct world *world = world_new(NULL);

    scene = (struct scene){ .world = world, .id = world_volume(world, 2) };
    begin_delete_again();
    ck_assert_int_eq(world_action(world, scene.id, RESET), 202);
    for (int i = 0; i < 6; i++) {
        world->hiccups = 1;
        world_settle(world);
        world_advance(world, 61);
    }
    rest(world);
    attach();
    scene.asleep = true;
    assert_kept();
}
END_TEST

/* A backend that cannot rename now: the delete neither ends nor fails under the old name. */
START_TEST(a_failed_rename_is_retried) {
    for (int cancelled = 0; cancelled <= 1; cancelled++) {
        autoworld struct world *world = world_new(NULL);

        scene = (struct scene){ .world = world, .id = world_volume(world, 2) };
        begin_delete_again();
        if (cancelled)
            ck_assert_int_eq(world_action(world, scene.id, RESET), 202);
        memory_fail_next(world->memory, "rename_volume", ERROR_BACKEND);
        world_settle(world);
        ck_assert_str_eq(world_status(world, scene.id), cancelled ? "available" : "deleting");
        ck_assert_int_eq(world_action(world, scene.id, RESERVE), 400);
        rest(world);
        ck_assert_int_eq(world_real_gb(world, scene.id), cancelled ? 2 : -1);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

/* ---- objects that are gone ---- */

static void begin_unmanage(void) {
    ck_assert_int_eq(world_action(scene.world, scene.id, "{\"os-unmanage\": {}}"), 202);
}

static void begin_revert(void) {
    const char *snapshot = snapshot_of_volume(scene.world, scene.id);

    ck_assert_int_eq(
        world_action(scene.world, scene.id, "{\"revert\": {\"snapshot_id\": \"%s\"}}", snapshot),
        202);
}

static const struct {
    void (*begin)(void);
    const char *message;
} begun[] = {
    { begin_delete, "VOLUME_VOLUME_901_901" },
    { begin_unmanage, "VOLUME_VOLUME_006_906" },
    { begin_revert, "VOLUME_VOLUME_902_902" },
};

/* By the worker that has died, or in another way. */
START_TEST(a_volume_whose_object_is_gone_is_in_error_whichever_operation_was_cancelled) {
    for (unsigned i = 0; i < LENGTH(begun); i++) {
        autoworld struct world *world = world_new(NULL);

        scene = (struct scene){ .world = world, .id = world_volume(world, 2) };
        begun[i].begin();
        world_sql(world, "UPDATE operations SET attempts = 1");
        ck_assert_int_eq(world_action(world, scene.id, RESET), 202);
        ck_assert(memory_remove(world->memory, scene.id));
        rest(world);
        ck_assert_str_eq(world_status(world, scene.id), "error");
        ck_assert(world_has_message(world, scene.id, begun[i].message));
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
        ck_assert_int_eq(
            world_count(world, "SELECT COUNT(*) FROM volumes WHERE provider_location IS NULL"), 1);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

CHECK_MAIN("late delete", a_delete_suspended_before_its_effect_destroys_nothing_of_others,
           a_taken_over_delete_destroys_nothing_of_others,
           a_closing_delete_destroys_nothing_of_others,
           a_volume_deleted_by_another_worker_stays_deleted,
           a_delete_that_dies_anywhere_is_done_by_the_next,
           a_cancelled_delete_whose_closing_dies_anywhere_leaves_the_volume_whole,
           an_unrecorded_name_is_not_used, a_failed_rename_is_retried,
           a_volume_whose_object_is_gone_is_in_error_whichever_operation_was_cancelled)
