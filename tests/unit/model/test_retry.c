/*
 * A request that repeats a failed one and is marked as a retry (X-Scoria-Retry).
 */
#include "tests/lib/extend.h"
#include "tests/lib/snapshots.h"

#include <string.h>

static const char *failed_extend(struct world *world) {
    const char *id = world_volume(world, 2);

    memory_fail_next(world->memory, "extend_volume", ERROR_BACKEND);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    assert_volume(world, id, "error_extending", 2);
    return id;
}

static int remove_of(struct world *world, const char *kind, const char *id) {
    autoarena struct arena *arena = arena_new();

    return world_call(world, "DELETE", arena_format(arena, "/%s/%s", kind, id), NULL);
}

START_TEST(a_failed_extend_succeeds_when_it_is_retried) {
    autoworld struct world *world = world_new(NULL);
    const char *id = failed_extend(world);

    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 400);
    world->retry = "true";
    memory_fail_next(world->memory, "extend_volume", ERROR_BACKEND);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    assert_volume(world, id, "error_extending", 2);
    assert_quota(world, 2, 0);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    assert_volume(world, id, "available", 5);
    ck_assert_int_eq(world_real_gb(world, id), 5);
    assert_quota(world, 5, 0);
    assert_settled(world);
}
END_TEST

START_TEST(a_volume_that_could_not_grow_is_usable_at_its_old_size) {
    autoworld struct world *world = world_new(NULL);
    const char *id = failed_extend(world);

    world->retry = "true";
    ck_assert_int_eq(world_action(world, id, EXTEND(1)), 400);
    assert_volume(world, id, "error_extending", 2);
    ck_assert_int_eq(world_action(world, id, EXTEND(2)), 202);
    world_settle(world);
    assert_volume(world, id, "available", 2);
    assert_quota(world, 2, 0);
    ck_assert_int_eq(world_action(world, id, EXTEND(2)), 400);
    assert_settled(world);
}
END_TEST

/* Before 3.42 no volume is extended while it is attached, retried or not. */
START_TEST(a_retried_extend_of_an_attached_volume_needs_the_microversion) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    ck_assert_int_eq(world_action(world, id, COMPLETE_ERROR), 202);
    world_settle(world);
    assert_volume(world, id, "error_extending", 2);
    world->retry = "true";
    world->minor = 41;
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 400);
    ck_assert_int_eq(world_action(world, id, EXTEND(2)), 400);
    assert_volume(world, id, "error_extending", 2);
    world->minor = 42;
    ck_assert_int_eq(world_action(world, id, EXTEND(2)), 202);
    world_settle(world);
    assert_volume(world, id, "in-use", 2);
    assert_settled(world);
}
END_TEST

/* One without space stays in its error. */
START_TEST(a_retried_extend_without_space_changes_nothing) {
    const struct world_settings settings = { .capacity_gb = 10 };
    autoworld struct world *world = world_new(&settings);
    const char *id = failed_extend(world);

    world->retry = "true";
    ck_assert_int_eq(world_action(world, id, EXTEND(5000)), 202);
    world_settle(world);
    assert_volume(world, id, "error_extending", 2);
    assert_quota(world, 2, 0);
    assert_settled(world);
}
END_TEST

START_TEST(a_retry_changes_nothing_where_nothing_has_failed) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world->retry = "true";
    ck_assert_int_eq(world_action(world, id, EXTEND(2)), 400);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    ck_assert_int_eq(world_action(world, id, EXTEND(6)), 400);
    ck_assert_int_eq(remove_of(world, "volumes", id), 400);
    world_settle(world);
    assert_volume(world, id, "available", 5);
    ck_assert_int_eq(world_action(world, id, "{\"os-reset_status\": {\"status\": \"error\"}}"),
                     202);
    ck_assert_int_eq(world_action(world, id, EXTEND(6)), 400);
    assert_volume(world, id, "error", 5);
}
END_TEST

START_TEST(a_failed_delete_succeeds_when_it_is_retried) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    memory_fail_next(world->memory, "delete_volume", ERROR_BACKEND);
    ck_assert_int_eq(remove_of(world, "volumes", id), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "error_deleting");
    ck_assert_int_eq(remove_of(world, "volumes", id), 400);
    world->retry = "true";
    ck_assert_int_eq(remove_of(world, "volumes", id), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "gone");
    assert_quota(world, 0, 0);
    assert_settled(world);
}
END_TEST

START_TEST(a_failed_delete_of_a_snapshot_succeeds_when_it_is_retried) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2), *snapshot = snapshot_of_volume(world, id);

    memory_fail_next(world->memory, "delete_snapshot", ERROR_BACKEND);
    ck_assert_int_eq(remove_of(world, "snapshots", snapshot), 202);
    world_settle(world);
    assert_snapshot(world, snapshot, "error_deleting");
    ck_assert_int_eq(remove_of(world, "snapshots", snapshot), 400);
    world->retry = "true";
    ck_assert_int_eq(remove_of(world, "snapshots", snapshot), 202);
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM snapshots"), 0);
    assert_settled(world);
}
END_TEST

START_TEST(a_retry_that_is_not_true_is_refused) {
    static const char *const values[] = { "", "1", "yes", "True", "false" };
    autoworld struct world *world = world_new(NULL);
    const char *id = failed_extend(world);

    for (size_t i = 0; i < LENGTH(values); i++) {
        world->retry = values[i];
        ck_assert_int_eq(world_action(world, id, EXTEND(5)), 400);
        ck_assert_ptr_nonnull(strstr(world->answer_text, "X-Scoria-Retry"));
        ck_assert_int_eq(remove_of(world, "volumes", id), 400);
    }
    assert_volume(world, id, "error_extending", 2);
}
END_TEST

CHECK_MAIN("retry", a_failed_extend_succeeds_when_it_is_retried,
           a_volume_that_could_not_grow_is_usable_at_its_old_size,
           a_retried_extend_of_an_attached_volume_needs_the_microversion,
           a_retried_extend_without_space_changes_nothing,
           a_retry_changes_nothing_where_nothing_has_failed,
           a_failed_delete_succeeds_when_it_is_retried,
           a_failed_delete_of_a_snapshot_succeeds_when_it_is_retried,
           a_retry_that_is_not_true_is_refused)
