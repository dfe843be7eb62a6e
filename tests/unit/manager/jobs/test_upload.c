/*
 * Uploads whose image service is away, and what is left of them: the former status, a message, no
 * snapshot.  Uploads that arrive are in tests/e2e/test_images.py.
 */
#include "common/cleanup.h"
#include "drivers/memory.h"
#include "tests/lib/check_main.h"
#include "tests/lib/images.h"
#include "tests/lib/other_manager.h"
#include "tests/lib/snapshots.h"

#define RESET(status) "{\"os-reset_status\": {\"status\": \"" status "\"}}"

static struct world *world_with_images(void) {
    struct world *world = world_new(NULL);

    world->settings.enable_force_upload = true;
    return world;
}

static const char *volume_of(struct world *world, bool attached) {
    const char *id = world_volume(world, 2);

    ck_assert(memory_write(world->memory, id, 7));
    if (attached)
        world_attach(world, id, WORLD_INSTANCE);
    images_begin(world);
    return id;
}

static void assert_former(struct world *world, const char *id, bool attached) {
    ck_assert_str_eq(world_status(world, id), attached ? "in-use" : "available");
    ck_assert_int_eq(memory_read(world->memory, id), 7);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 2);
    ck_assert_int_eq(world_reserved(world, "gigabytes"), 0);
    ck_assert_int_eq(world_check(world), 0);
}

START_TEST(a_failed_upload_leaves_the_former_status_and_a_message) {
    for (int attached = 0; attached <= 1; attached++) {
        autoworld struct world *world = world_with_images();
        const char *id = volume_of(world, attached);

        ck_assert_int_eq(world_action(world, id, "%s", IMAGES_UPLOAD), 202);
        ck_assert_str_eq(world_status(world, id), "uploading");
        world_settle(world);
        assert_former(world, id, attached);
        ck_assert(world_has_message(world, id, "VOLUME_VOLUME_003_004"));
    }
}
END_TEST

START_TEST(an_attached_volume_needs_a_snapshot_below_its_guest) {
    autoworld struct world *world = world_with_images();
    const char *id = volume_of(world, true);

    memory_defer_snapshots(world->memory, true);
    ck_assert_int_eq(world_action(world, id, "%s", IMAGES_UPLOAD), 202);
    world_settle(world);
    assert_former(world, id, true);
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_003_004"));
}
END_TEST

START_TEST(a_stop_between_any_two_steps_leaves_the_former_status) {
    for (int attached = 0; attached <= 1; attached++) {
        bool died = true;

        for (int effects = 1; died; effects++) {
            autoworld struct world *world = world_with_images();
            const char *id = volume_of(world, attached);

            ck_assert_int_eq(world_action(world, id, "%s", IMAGES_UPLOAD), 202);
            world_die_after(world, effects);
            world_settle(world);
            died = world->dead;
            world_restart(world);
            for (int i = 0; i < 6; i++) {
                world_advance(world, 31);
                world_settle(world);
            }
            assert_former(world, id, attached);
        }
    }
}
END_TEST

static struct fault_decision reset_during_the_call(void *arg, const char *call,
                                                   const char *volume_id) {
    struct world *world = arg;

    if (strcmp(call, "open_volume_data") == 0 || strcmp(call, "open_snapshot_data") == 0) {
        world->decide = NULL;
        ck_assert_int_eq(world_action(world, volume_id, RESET("error")), 202);
    }
    return (struct fault_decision){ .action = FAULT_PASS };
}

START_TEST(an_upload_that_is_reset_leaves_no_snapshot) {
    for (int attached = 0; attached <= 1; attached++) {
        autoworld struct world *world = world_with_images();
        const char *id = volume_of(world, attached);

        world->decide = reset_during_the_call;
        ck_assert_int_eq(world_action(world, id, "%s", IMAGES_UPLOAD), 202);
        world_settle(world);
        ck_assert_str_eq(world_status(world, id), "error");
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

static struct fault_decision reset_and_detached(void *arg, const char *call,
                                                const char *volume_id) {
    struct world *world = arg;

    if (strcmp(call, "open_snapshot_data") == 0) {
        world->decide = NULL;
        ck_assert_int_eq(world_action(world, volume_id, RESET("available")), 202);
        ck_assert_int_eq(world_action(world, volume_id, "{\"os-detach\": {}}"), 202);
    }
    return (struct fault_decision){ .action = FAULT_PASS };
}

START_TEST(an_upload_whose_volume_was_detached_leaves_no_snapshot) {
    autoworld struct world *world = world_with_images();
    const char *id = volume_of(world, true);

    world->decide = reset_and_detached;
    ck_assert_int_eq(world_action(world, id, "%s", IMAGES_UPLOAD), 202);
    for (int i = 0; i < 3; i++) {
        world_settle(world);
        world_advance(world, 31);
    }
    assert_former(world, id, false);
}
END_TEST

/* ---- late workers, busy storage ---- */

static bool suspend_snapshot(void *arg, enum memory_point point, const char *call,
                             const char *name_id) {
    struct world *world = arg;

    (void)name_id;
    if (point != MEMORY_FENCED || strcmp(call, "create_snapshot") != 0)
        return true;
    memory_watch(world->memory, NULL, NULL);
    other_manager_works(world);
    return true;
}

/* Its snapshot is made when the operation has ended. */
START_TEST(a_late_worker_leaves_no_snapshot) {
    autoworld struct world *world = world_with_images();
    const char *id = volume_of(world, true);

    memory_watch(world->memory, suspend_snapshot, world);
    ck_assert_int_eq(world_action(world, id, "%s", IMAGES_UPLOAD), 202);
    world_settle(world);
    assert_former(world, id, true);
}
END_TEST

START_TEST(a_snapshot_is_deleted_when_the_storage_permits) {
    for (int reset = 0; reset <= 1; reset++) {
        autoworld struct world *world = world_with_images();
        const char *id = volume_of(world, true);

        world->decide = reset ? reset_during_the_call : NULL;
        memory_fail_next(world->memory, "delete_snapshot", ERROR_BUSY);
        ck_assert_int_eq(world_action(world, id, "%s", IMAGES_UPLOAD), 202);
        for (int i = 0; i < 6; i++) {
            world_settle(world);
            world_advance(world, 31);
        }
        ck_assert_str_eq(world_status(world, id), reset ? "error" : "in-use");
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

CHECK_MAIN("upload", a_failed_upload_leaves_the_former_status_and_a_message,
           an_attached_volume_needs_a_snapshot_below_its_guest,
           a_stop_between_any_two_steps_leaves_the_former_status,
           an_upload_that_is_reset_leaves_no_snapshot,
           an_upload_whose_volume_was_detached_leaves_no_snapshot, a_late_worker_leaves_no_snapshot,
           a_snapshot_is_deleted_when_the_storage_permits)
