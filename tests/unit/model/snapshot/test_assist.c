/*
 * A host has a part in a snapshot, and every possible reporter leaves: whatever the manager is
 * doing right then, or has just died at, nothing waits for a report that cannot come.
 */
#include "tests/lib/extend.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/snapshots.h"

#define TIMEOUT_S 60 /* far below the deadline */

static const char *attachment, *leaves_at;
static bool unreadable; /* once, the object of the check */

/* The guest leaves right before that call of the driver. */
static struct fault_decision leave(void *arg, const char *call, const char *name_id) {
    struct world *world = arg;
    bool fails = unreadable;

    (void)name_id;
    if (leaves_at && strcmp(call, leaves_at) == 0 && !world->dead) {
        leaves_at = NULL;
        ck_assert(world_call(world, "DELETE", PATH("/attachments/%s", attachment), NULL) == 200 ||
                  world->dead);
        unreadable = false;
        return (struct fault_decision){ .action = fails ? FAULT_BEFORE : 0 };
    }
    return (struct fault_decision){ 0 };
}

static struct world *with_guest(const char **ret_volume) {
    struct world *world = world_new(NULL);

    *ret_volume = world_volume(world, 2);
    attachment = world_attach(world, *ret_volume, WORLD_INSTANCE);
    memory_defer_snapshots(world->memory, true);
    return world;
}

static void assert_checked(struct world *world, const char *id) {
    for (int s = 0; s < TIMEOUT_S; s++) {
        world_settle(world);
        world_advance(world, 1);
    }
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_str_ne(snapshot_status(world, id), "creating");
    ck_assert_int_eq(world_check(world), 0);
}

/* A compute service is requested once: a worker that takes over a possible request waits for it. */
START_TEST(a_new_worker_does_not_wait_for_a_detached_guest) {
    for (int asks_again = 0; asks_again < 2; asks_again++) {
        bool died = true;

        for (int64_t effects = WALK_FIRST; died; effects += WALK_STEP) {
            const char *volume, *id;
            autoworld struct world *world = with_guest(&volume);

            world->sender.asks_again = asks_again;
            id = new_snapshot(world, volume);
            leaves_at = "prepare_assist";
            world->decide = leave;
            world_die_after(world, effects);
            world_settle(world);
            died = world->dead;
            world_restart(world);
            if (world_count(world, "SELECT COUNT(*) FROM attachments") == 0)
                assert_checked(world, id);
        }
    }
}
END_TEST

START_TEST(a_wait_without_readable_files_ends_with_the_guest) {
    const char *volume, *id;
    autoworld struct world *world = with_guest(&volume);

    world->sender.asks_again = false;
    id = new_snapshot(world, volume);
    world_settle(world);
    leaves_at = "complete_assist";
    unreadable = true;
    world->decide = leave;
    world_advance(world, world->settings.assisted_create_deadline_s + 1);
    assert_checked(world, id);
    ck_assert_ptr_null(leaves_at);
}
END_TEST

CHECK_MAIN("snapshot assist", a_new_worker_does_not_wait_for_a_detached_guest,
           a_wait_without_readable_files_ends_with_the_guest)
