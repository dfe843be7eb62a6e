/*
 * Volumes that are made of snapshots and of other volumes, that go back to a snapshot, and that go
 * with all their snapshots.
 */
#include "common/cleanup.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/roles.h"
#include "tests/lib/snapshots.h"

#define RESET(status) "{\"os-reset_status\": {\"status\": \"" status "\"}}"
#define FROM_SNAPSHOT "\"snapshot_id\": \"%s\""
#define FROM_VOLUME   "\"source_volid\": \"%s\""
#define REVERT(id)    PATH("{\"revert\": {\"snapshot_id\": \"%s\"}}", id)
#define COUNT(what)   world_count(world, "SELECT COUNT(*) FROM " what)
#define assert_rests(world)                                                         \
    do {                                                                            \
        ck_assert_int_eq(world_check(world), 0);                                    \
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0); \
    } while (0)

/* POST /volumes with such a source and more; its id, or NULL when it is refused. */
static const char *copy(struct world *world, const char *source, const char *more) {
    world_call(world, "POST", "/volumes", PATH("{\"volume\": {%s%s}}", source, more));
    return world->status == 202 ? world_answer_id(world, "volume") : NULL;
}

/* ---- made of others ---- */

START_TEST(a_volume_is_made_of_a_snapshot) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *snapshot, *made;

    memory_write(world->memory, volume, 7);
    ck_assert_int_eq(world_action(world, volume, "{\"os-set_bootable\": {\"bootable\": true}}"),
                     200);
    snapshot = snapshot_of_volume(world, volume);
    memory_write(world->memory, volume, 8);
    made = copy(world, PATH(FROM_SNAPSHOT, snapshot), ", \"size\": 3");
    ck_assert_ptr_nonnull(made);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", snapshot), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, made), "available");
    ck_assert_int_eq(world_size(world, made), 3);
    ck_assert_int_eq(world_real_gb(world, made), 3);
    ck_assert_int_eq(memory_read(world->memory, made), 7);
    ck_assert_str_eq(json_string_value(json_object_get(world_show(world, made), "snapshot_id")),
                     snapshot);
    ck_assert_str_eq(json_string_value(json_object_get(world_show(world, made), "bootable")),
                     "true");
    ck_assert_str_eq(snapshot_status(world, snapshot), "gone");
    assert_rests(world);
}
END_TEST

START_TEST(a_volume_is_made_of_another_one_also_in_use) {
    for (int used = 0; used <= 1; used++) {
        autoworld struct world *world = world_new(NULL);
        const char *volume = world_volume(world, 2), *made;

        memory_write(world->memory, volume, 7);
        if (used)
            world_attach(world, volume, WORLD_INSTANCE);
        made = copy(world, PATH(FROM_VOLUME, volume), "");
        ck_assert_ptr_nonnull(made);
        if (!used) /* waits until it has been read */
            ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s", volume), NULL), 202);
        world_settle(world);
        ck_assert_str_eq(world_status(world, made), "available");
        ck_assert_int_eq(world_size(world, made), 2);
        ck_assert_int_eq(memory_read(world->memory, made), 7);
        ck_assert_str_eq(world_status(world, volume), used ? "in-use" : "gone");
        assert_rests(world);
    }
}
END_TEST

START_TEST(an_unsuitable_source_is_refused) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *snapshot = snapshot_of_volume(world, volume);

    ck_assert_ptr_null(copy(world, PATH(FROM_SNAPSHOT, snapshot), ", \"size\": 1"));
    ck_assert_int_eq(world->status, 400);
    ck_assert_ptr_null(copy(world, PATH(FROM_VOLUME, volume), ", \"size\": 1"));
    ck_assert_int_eq(world->status, 400);
    ck_assert_ptr_null(copy(world, PATH(FROM_SNAPSHOT ", " FROM_VOLUME, snapshot, volume), ""));
    ck_assert_int_eq(world->status, 400);
    ck_assert_ptr_null(
        copy(world, PATH(FROM_SNAPSHOT, snapshot), ", \"availability_zone\": \"x\""));
    ck_assert_int_eq(world->status, 400);
    ck_assert_ptr_null(copy(world, PATH(FROM_SNAPSHOT, WORLD_INSTANCE), ""));
    ck_assert_int_eq(world->status, 404);
    roles_enter(world, NULL);
    world->token = "member:" WORLD_OTHER;
    ck_assert_ptr_null(copy(world, PATH(FROM_SNAPSHOT, snapshot), ""));
    ck_assert_int_eq(world->status, 404);
    ck_assert_ptr_null(copy(world, PATH(FROM_VOLUME, volume), ""));
    ck_assert_int_eq(world->status, 404);
    world->token = "admin:" WORLD_PROJECT;
    ck_assert_int_eq(world_action(world, volume, RESET("error")), 202);
    ck_assert_ptr_null(copy(world, PATH(FROM_VOLUME, volume), ""));
    ck_assert_int_eq(world->status, 400);
    ck_assert_int_eq(
        world_call(world, "POST", PATH("/snapshots/%s/action", snapshot), RESET("error")), 202);
    ck_assert_ptr_null(copy(world, PATH(FROM_SNAPSHOT, snapshot), ""));
    ck_assert_int_eq(world->status, 400);
    ck_assert_int_eq(COUNT("volumes"), 1);
    assert_rests(world);
}
END_TEST

START_TEST(a_copy_that_fails_leaves_an_error_and_nothing_else) {
    autoworld struct world *world = world_new(NULL);
    const char *snapshot = snapshot_of_volume(world, world_volume(world, 2)), *made;

    memory_fail_next(world->memory, "clone_snapshot", ERROR_BACKEND);
    made = copy(world, PATH(FROM_SNAPSHOT, snapshot), "");
    world_settle(world);
    ck_assert_str_eq(world_status(world, made), "error");
    ck_assert(world_has_message(world, made, "VOLUME_VOLUME_008_012"));
    assert_snapshot(world, snapshot, "available");
    assert_rests(world);
}
END_TEST

/* ---- back to a snapshot ---- */

START_TEST(a_volume_is_reverted_to_its_newest_snapshot) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *first, *second;

    ck_assert_int_eq(world_action(world, volume, "%s", REVERT(WORLD_INSTANCE)), 400);
    first = snapshot_of_volume(world, volume);
    world_advance(world, 1);
    world_step_wall(world, -3600); /* the newest is so whatever the wall clock */
    memory_write(world->memory, volume, 7);
    second = snapshot_of_volume(world, volume);
    memory_write(world->memory, volume, 8);
    ck_assert_int_eq(world_action(world, volume, "%s", REVERT(first)), 400);
    ck_assert_int_eq(world_action(world, volume, "{\"revert\": {\"snapshot_id\": null}}"), 400);
    world->minor = 39;
    ck_assert_int_eq(world_action(world, volume, "%s", REVERT(second)), 404);
    world->minor = 40;
    ck_assert_int_eq(world_action(world, volume, "%s", REVERT(second)), 202);
    ck_assert_str_eq(world_status(world, volume), "reverting");
    assert_snapshot(world, second, "restoring");
    ck_assert_int_eq(world_check(world), 0);
    world_settle(world);
    ck_assert_str_eq(world_status(world, volume), "available");
    assert_snapshot(world, second, "available");
    ck_assert_int_eq(memory_read(world->memory, volume), 7);
    assert_rests(world);
}
END_TEST

START_TEST(a_revert_needs_both_available_and_of_one_size) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *id = snapshot_of_volume(world, volume);

    world_attach(world, volume, WORLD_INSTANCE);
    ck_assert_int_eq(world_action(world, volume, "%s", REVERT(id)), 409);
    ck_assert_int_eq(world_action(world, volume, "{\"os-detach\": {}}"), 202);
    memory_lock(world->memory, volume, false);
    ck_assert_int_eq(world_call(world, "POST", PATH("/snapshots/%s/action", id), RESET("error")),
                     202);
    ck_assert_int_eq(world_action(world, volume, "%s", REVERT(id)), 409);
    ck_assert_int_eq(
        world_call(world, "POST", PATH("/snapshots/%s/action", id), RESET("available")), 202);
    ck_assert_int_eq(world_action(world, volume, "{\"os-extend\": {\"new_size\": 3}}"), 202);
    world_settle(world);
    ck_assert_int_eq(world_action(world, volume, "%s", REVERT(id)), 400);
    assert_rests(world);
}
END_TEST

START_TEST(a_revert_that_fails_leaves_an_error) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *id = snapshot_of_volume(world, volume);

    memory_fail_next(world->memory, "revert_volume", ERROR_BACKEND);
    ck_assert_int_eq(world_action(world, volume, "%s", REVERT(id)), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, volume), "error");
    assert_snapshot(world, id, "available");
    ck_assert(world_has_message(world, volume, "VOLUME_VOLUME_902_902"));
    assert_rests(world);
}
END_TEST

/* The first worker died in front of its effect or behind it: the next one takes another name. */
START_TEST(a_revert_that_is_taken_over_leaves_the_name_that_others_know) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *id;

    memory_write(world->memory, volume, 7);
    id = snapshot_of_volume(world, volume);
    memory_write(world->memory, volume, 8);
    ck_assert_int_eq(world_action(world, volume, "%s", REVERT(id)), 202);
    world_sql(world, "UPDATE operations SET phase = 'running', owner = 'dead:1:1', "
                     "lease_until = 1, attempts = 1");
    world_restart(world);
    world_advance(world, 31);
    world_settle(world);
    ck_assert_str_eq(world_status(world, volume), "available");
    ck_assert_int_eq(COUNT("volumes WHERE name_id IS NOT NULL AND name_id <> id"), 1);
    ck_assert_int_eq(memory_bytes(world->memory, volume), 2 * GIB); /* under its later name */
    assert_rests(world);
}
END_TEST

/* ---- features that not every backend has ---- */

#define FEATURES(can)                                                                          \
    "UPDATE pools SET capabilities = '{\"snapshot_support\": " can ", \"clone_support\": " can \
    ", \"revert_support\": " can "}'"

START_TEST(unsupported_features_are_refused_at_the_request) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *snapshot = snapshot_of_volume(world, volume);

    ck_assert_int_eq(COUNT("pools WHERE capabilities LIKE '%snapshot_support%true%' AND "
                           "capabilities LIKE '%clone_support%true%' AND "
                           "capabilities LIKE '%revert_support%true%'"),
                     COUNT("pools"));
    world_sql(world, FEATURES("false"));
    ck_assert_int_eq(request_snapshot(world, volume, ""), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "makes no snapshots"));
    ck_assert_ptr_null(copy(world, PATH(FROM_SNAPSHOT, snapshot), ""));
    ck_assert_int_eq(world->status, 400);
    ck_assert_ptr_null(copy(world, PATH(FROM_VOLUME, volume), ""));
    ck_assert_int_eq(world->status, 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "makes no volume of another one"));
    ck_assert_int_eq(world_action(world, volume, "%s", REVERT(snapshot)), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "reverts none"));
    ck_assert_str_eq(world_status(world, volume), "available");
    assert_snapshot(world, snapshot, "available");
    ck_assert_int_eq(COUNT("snapshots"), 1);
    ck_assert_int_eq(COUNT("volumes"), 1);
    assert_rests(world);
}
END_TEST

/* A manager of before reports nothing of the kind. */
START_TEST(unreported_features_are_tried) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *snapshot;

    world_sql(world, "UPDATE pools SET capabilities = '{}'");
    snapshot = snapshot_of_volume(world, volume);
    assert_snapshot(world, snapshot, "available");
    world_sql(world, "DELETE FROM pools");
    assert_snapshot(world, snapshot_of_volume(world, volume), "available");
    ck_assert_int_eq(COUNT("operations"), 0);
}
END_TEST

/* ---- with all snapshots ---- */

START_TEST(a_cascade_deletes_the_snapshots) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2);

    for (int i = 0; i < 3; i++)
        snapshot_of_volume(world, volume);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s", volume), NULL), 400);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s?cascade=true", volume), NULL),
                     202);
    ck_assert_int_eq(COUNT("snapshots WHERE status = 'deleting'"), 3);
    ck_assert_int_eq(world_check(world), 0);
    world_settle(world);
    ck_assert_str_eq(world_status(world, volume), "gone");
    ck_assert_int_eq(COUNT("snapshots"), 0);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 0);
    ck_assert_int_eq(world_in_use(world, "snapshots"), 0);
    assert_rests(world);
}
END_TEST

/* Where they are a part of its object, no backend deletes them one by one. */
START_TEST(a_cascade_deletes_snapshots_with_the_object_or_not_at_all) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *ids[2];

    for (size_t i = 0; i < LENGTH(ids); i++)
        ids[i] = snapshot_of_volume(world, volume);
    memory_defer_snapshots(world->memory, true);
    memory_fail_next(world->memory, "delete_volume", ERROR_BACKEND);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s?cascade=true", volume), NULL),
                     202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, volume), "error_deleting");
    for (size_t i = 0; i < LENGTH(ids); i++)
        assert_snapshot(world, ids[i], "error_deleting");
    assert_rests(world);
    ck_assert_int_eq(
        world_call(world, "DELETE", PATH("/volumes/%s?cascade=true&force=true", volume), NULL),
        202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, volume), "gone");
    ck_assert_int_eq(COUNT("snapshots"), 0);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 0);
    ck_assert_int_eq(world_in_use(world, "snapshots"), 0);
    assert_rests(world);
}
END_TEST

START_TEST(a_cascade_that_fails_in_the_middle_leaves_errors_that_can_be_deleted) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *id;

    id = snapshot_of_volume(world, volume);
    memory_fail_next(world->memory, "delete_snapshot", ERROR_BACKEND);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s?cascade=true", volume), NULL),
                     202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, volume), "error_deleting");
    assert_snapshot(world, id, "error_deleting");
    ck_assert_int_eq(world_real_gb(world, volume), 2);
    assert_rests(world);
    ck_assert_int_eq(
        world_call(world, "DELETE", PATH("/volumes/%s?cascade=true&force=true", volume), NULL),
        202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, volume), "gone");
    assert_rests(world);
}
END_TEST

/* An operator's reset of one of them does not restore it: it is shown with its real state. */
START_TEST(a_cascade_shows_no_snapshot_as_available_once_begun) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *id = snapshot_of_volume(world, volume);

    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s?cascade=true", volume), NULL),
                     202);
    ck_assert_int_eq(world_call(world, "POST", PATH("/snapshots/%s/action", id),
                                "{\"os-reset_status\": {\"status\": \"available\"}}"),
                     202);
    memory_fail_next(world->memory, "delete_snapshot", ERROR_BACKEND);
    world_settle(world);
    ck_assert_str_eq(world_status(world, volume), "error_deleting");
    assert_snapshot(world, id, "error_deleting");
    assert_rests(world);
}
END_TEST

/* A guest without a row has the image that is above them. */
START_TEST(a_cascade_below_a_guest_begins_with_none) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *id = snapshot_of_volume(world, volume);
    const char *request = PATH("/volumes/%s?cascade=true&force=true", volume);

    memory_write(world->memory, volume, 7);
    memory_defer_snapshots(world->memory, true);
    memory_lock(world->memory, volume, true);
    ck_assert_int_eq(world_call(world, "DELETE", request, NULL), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, volume), "error_deleting");
    assert_snapshot(world, id, "error_deleting");
    ck_assert_int_eq(COUNT("snapshots WHERE delete_begun = 1"), 0);
    ck_assert_int_eq(memory_read_snapshot(world->memory, id), 0);
    assert_rests(world);
    ck_assert_int_eq(world_call(world, "POST", PATH("/snapshots/%s/action", id),
                                "{\"os-reset_status\": {\"status\": \"available\"}}"),
                     202);
    memory_lock(world->memory, volume, false);
    ck_assert_int_eq(world_call(world, "DELETE", request, NULL), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, volume), "gone");
    assert_rests(world);
}
END_TEST

/* A snapshot that an earlier attempt has begun with may be destroyed already. */
START_TEST(a_cascade_below_a_guest_restores_no_begun_snapshot) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *id = snapshot_of_volume(world, volume);

    memory_defer_snapshots(world->memory, true);
    memory_lock(world->memory, volume, true);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s?cascade=true", volume), NULL),
                     202);
    world_sql(world, "UPDATE snapshots SET delete_begun = 1");
    world_settle(world);
    assert_snapshot(world, id, "error_deleting");
    ck_assert_int_eq(COUNT("snapshots WHERE delete_begun = 1"), 1);
    assert_rests(world);
}
END_TEST

START_TEST(a_cascade_needs_all_of_them_ready) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *id = new_snapshot(world, volume);

    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s?cascade=true", volume), NULL),
                     400);
    world_settle(world);
    world_sql(world, "UPDATE snapshots SET project_id = '" WORLD_OTHER "'");
    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s?cascade=true", volume), NULL),
                     400);
    ck_assert_str_eq(snapshot_status(world, id), "available");
    ck_assert_str_eq(world_status(world, volume), "available");
}
END_TEST

CHECK_MAIN("copies", a_volume_is_made_of_a_snapshot, a_volume_is_made_of_another_one_also_in_use,
           an_unsuitable_source_is_refused, a_copy_that_fails_leaves_an_error_and_nothing_else,
           a_volume_is_reverted_to_its_newest_snapshot,
           a_revert_needs_both_available_and_of_one_size, a_revert_that_fails_leaves_an_error,
           a_revert_that_is_taken_over_leaves_the_name_that_others_know,
           unsupported_features_are_refused_at_the_request, unreported_features_are_tried,
           a_cascade_deletes_the_snapshots,
           a_cascade_deletes_snapshots_with_the_object_or_not_at_all,
           a_cascade_that_fails_in_the_middle_leaves_errors_that_can_be_deleted,
           a_cascade_shows_no_snapshot_as_available_once_begun,
           a_cascade_below_a_guest_begins_with_none,
           a_cascade_below_a_guest_restores_no_begun_snapshot, a_cascade_needs_all_of_them_ready)
