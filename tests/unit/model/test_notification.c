/*
 * Notifications: with the change that they report, once, and not at all unless they are enabled
 * (R22, X42).
 */
#include "tests/lib/extend.h"

static struct world *loud_world(void) {
    struct world *world = world_new(NULL);

    world->settings.notifications = true;
    return world;
}

#define count_of(world, event) \
    world_count(world, "SELECT COUNT(*) FROM outbox WHERE method = '" event "'")

START_TEST(resize_starts_once_and_ends_with_the_new_size) {
    autoworld struct world *world = loud_world();
    const char *id = pending_extend(world);

    ck_assert_int_eq(count_of(world, "volume.resize.start"), 1);
    ck_assert_int_eq(count_of(world, "volume.resize.end"), 0);
    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    world_settle(world);

    ck_assert_int_eq(count_of(world, "volume.resize.start"), 1);
    ck_assert_int_eq(count_of(world, "volume.resize.end"), 1);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM outbox WHERE method = "
                                        "'volume.resize.end' AND payload LIKE '%\"size\":5,%' "
                                        "AND payload LIKE '%\"status\":\"in-use\"%'"),
                     1);
}
END_TEST

START_TEST(a_failed_resize_has_no_end) {
    autoworld struct world *world = loud_world();
    const char *id = pending_extend(world);

    ck_assert_int_eq(world_action(world, id, COMPLETE_ERROR), 202);
    world_settle(world);
    ck_assert_int_eq(count_of(world, "volume.resize.start"), 1);
    ck_assert_int_eq(count_of(world, "volume.resize.end"), 0);
}
END_TEST

START_TEST(a_refused_request_sends_no_notification) {
    autoworld struct world *world = loud_world();
    const char *id = world_volume(world, 2);
    int64_t before = world_count(world, "SELECT COUNT(*) FROM outbox");

    ck_assert_int_eq(world_action(world, id, EXTEND(1)), 400);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM outbox"), before);
}
END_TEST

START_TEST(all_events_of_a_volume_are_notified) {
    autoworld struct world *world = loud_world();
    autoarena struct arena *arena = arena_new();
    const char *id = world_volume(world, 2);
    const char *attachment = world_attach(world, id, WORLD_INSTANCE);

    memory_lock(world->memory, id, false);
    ck_assert_int_eq(
        world_call(world, "DELETE", arena_format(arena, "/attachments/%s", attachment), NULL), 200);
    ck_assert_int_eq(world_call(world, "DELETE", arena_format(arena, "/volumes/%s", id), NULL),
                     202);
    world_settle(world);

    ck_assert_int_eq(count_of(world, "volume.create.start"), 1);
    ck_assert_int_eq(count_of(world, "volume.create.end"), 1);
    ck_assert_int_eq(count_of(world, "volume.attach.start"), 1);
    ck_assert_int_eq(count_of(world, "volume.attach.end"), 1);
    ck_assert_int_eq(count_of(world, "volume.detach.start"), 1);
    ck_assert_int_eq(count_of(world, "volume.detach.end"), 1);
    ck_assert_int_eq(count_of(world, "volume.delete.start"), 1);
    ck_assert_int_eq(count_of(world, "volume.delete.end"), 1);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM outbox WHERE method LIKE 'volume.%' "
                                        "AND payload LIKE '%connection_info%'"),
                     0);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM outbox WHERE method LIKE 'volume.%' "
                                        "AND project_id IS NULL"),
                     0);
}
END_TEST

START_TEST(notifications_are_off_by_default) {
    autoworld struct world *world = world_new(NULL);

    pending_extend(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM outbox WHERE method LIKE 'volume.%'"),
                     0);
}
END_TEST

CHECK_MAIN("notification", resize_starts_once_and_ends_with_the_new_size,
           a_failed_resize_has_no_end, a_refused_request_sends_no_notification,
           all_events_of_a_volume_are_notified, notifications_are_off_by_default)
