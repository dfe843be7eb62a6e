/*
 * Work on one volume waits for its turn, whichever worker gets it first; and its end, or its
 * release, notifies the next one and no other.
 */
#include "common/cleanup.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/snapshots.h"

#include <string.h>

#define COUNT(what) world_count(world, "SELECT COUNT(*) FROM " what)
#define OLDEST      "id = (SELECT id FROM operations ORDER BY created_at, id LIMIT 1)"
#define assert_rests(world)                       \
    do {                                          \
        ck_assert_int_eq(world_check(world), 0);  \
        ck_assert_int_eq(COUNT("operations"), 0); \
    } while (0)

/* Another manager has the oldest one in its hands. */
static void hold_oldest(struct world *world) {
    world_sql(world, "UPDATE operations SET phase = 'running', attempts = 1, owner = 'other:1:1', "
                     "lease_until = 4000000000000000 WHERE " OLDEST);
}

/* It dies. */
static void let_go_oldest(struct world *world) {
    world_sql(world, "UPDATE operations SET lease_until = 1 WHERE owner = 'other:1:1'");
    world_advance(world, 1);
}

static const char *copy_of(struct world *world, const char *source, const char *id) {
    world_call(world, "POST", "/volumes", PATH("{\"volume\": {\"%s\": \"%s\"}}", source, id));
    ck_assert_int_eq(world->status, 202);
    return world_answer_id(world, "volume");
}

/* Delivers everything; how many messages that were. */
static unsigned steps(struct world *world) {
    unsigned count = 0;

    while (world_relay(world) > 0 && world_step(world, 0))
        count++;
    return count;
}

START_TEST(a_snapshot_that_is_read_is_not_deleted_yet) {
    autoworld struct world *world = world_new(NULL);
    const char *snapshot = snapshot_of_volume(world, world_volume(world, 2)), *made;

    made = copy_of(world, "snapshot_id", snapshot);
    hold_oldest(world);
    world_advance(world, 1);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", snapshot), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(snapshot_status(world, snapshot), "deleting");
    ck_assert_int_eq(COUNT("snapshots WHERE delete_begun = 1"), 0);
    let_go_oldest(world);
    world_settle(world);
    ck_assert_str_eq(world_status(world, made), "available");
    ck_assert_str_eq(snapshot_status(world, snapshot), "gone");
    assert_rests(world);
}
END_TEST

START_TEST(readers_do_not_wait_for_each_other) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *snapshot = snapshot_of_volume(world, volume);
    const char *first = copy_of(world, "snapshot_id", snapshot), *second, *third;

    hold_oldest(world);
    world_advance(world, 1);
    second = copy_of(world, "snapshot_id", snapshot);
    third = copy_of(world, "source_volid", volume);
    world_settle(world);
    ck_assert_str_eq(world_status(world, first), "creating");
    ck_assert_str_eq(world_status(world, second), "available");
    ck_assert_str_eq(world_status(world, third), "available");
    let_go_oldest(world);
    world_settle(world);
    ck_assert_str_eq(world_status(world, first), "available");
    assert_rests(world);
}
END_TEST

/* A worker that sleeps over a long copy of a snapshot. */
START_TEST(a_copy_of_a_snapshot_blocks_only_its_delete) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *other = snapshot_of_volume(world, volume);
    const char *snapshot = snapshot_of_volume(world, volume), *taken;
    const char *made = copy_of(world, "snapshot_id", snapshot);

    hold_oldest(world);
    world_advance(world, 1);
    ck_assert_int_eq(world_action(world, volume, "{\"os-extend\": {\"new_size\": 3}}"), 202);
    world_settle(world);
    ck_assert_int_eq(world_size(world, volume), 3);
    taken = snapshot_of_volume(world, volume);
    ck_assert_str_eq(snapshot_status(world, taken), "available");
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", other), NULL), 202);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", snapshot), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(snapshot_status(world, other), "gone");
    ck_assert_str_eq(snapshot_status(world, snapshot), "deleting");
    ck_assert_int_eq(world_action(world, volume, "{\"os-extend\": {\"new_size\": 4}}"), 202);
    world_settle(world);
    ck_assert_int_eq(world_size(world, volume), 4);
    let_go_oldest(world);
    world_settle(world);
    ck_assert_str_eq(world_status(world, made), "available");
    ck_assert_str_eq(snapshot_status(world, snapshot), "gone");
    assert_rests(world);
}
END_TEST

START_TEST(a_volume_is_not_deleted_with_a_snapshot_that_is_read) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *snapshot = snapshot_of_volume(world, volume);
    const char *made = copy_of(world, "snapshot_id", snapshot);
    const char *request = PATH("/volumes/%s?cascade=true", volume);

    hold_oldest(world);
    ck_assert_int_eq(world_call(world, "DELETE", request, NULL), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, snapshot));
    ck_assert_str_eq(world_status(world, volume), "available");
    ck_assert_str_eq(snapshot_status(world, snapshot), "available");
    let_go_oldest(world);
    world_settle(world);
    ck_assert_int_eq(world_call(world, "DELETE", request, NULL), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, volume), "gone");
    ck_assert_str_eq(world_status(world, made), "available");
    assert_rests(world);
}
END_TEST

START_TEST(a_copy_of_a_volume_blocks_only_changes_of_it) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *snapshot = snapshot_of_volume(world, volume);
    const char *made = copy_of(world, "source_volid", volume), *taken;

    hold_oldest(world);
    world_advance(world, 1);
    taken = snapshot_of_volume(world, volume);
    ck_assert_str_eq(snapshot_status(world, taken), "available");
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", snapshot), NULL), 202);
    ck_assert_int_eq(world_action(world, volume, "{\"os-extend\": {\"new_size\": 3}}"), 202);
    world_settle(world);
    ck_assert_str_eq(snapshot_status(world, snapshot), "gone");
    ck_assert_str_eq(world_status(world, volume), "extending");
    let_go_oldest(world);
    world_settle(world);
    ck_assert_str_eq(world_status(world, made), "available");
    ck_assert_int_eq(world_size(world, made), 2);
    ck_assert_int_eq(world_size(world, volume), 3);
    assert_rests(world);
}
END_TEST

/* However many are requested; an operation that only uses the volume waits for none of them. */
START_TEST(snapshots_of_a_volume_take_two_workers) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *old[3];

    for (int i = 0; i < 3; i++)
        old[i] = snapshot_of_volume(world, volume);
    for (int i = 0; i < 3; i++)
        new_snapshot(world, volume);
    ck_assert_int_eq(COUNT("outbox WHERE method = 'create_snapshot'"), 3);
    copy_of(world, "source_volid", volume);
    ck_assert_int_eq(world_action(world, volume, "{\"os-extend\": {\"new_size\": 3}}"), 202);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", old[i]), NULL), 202);
    ck_assert_int_eq(COUNT("outbox WHERE method = 'delete_snapshot'"), 3);
    ck_assert_int_eq(COUNT("(SELECT DISTINCT key FROM outbox WHERE method IN ('create_snapshot', "
                           "'create_volume', 'extend_volume', 'delete_snapshot')) keys"),
                     4);
    world_settle(world);
    assert_rests(world);
}
END_TEST

/* A change waits for all readers, and the last of them notifies it. */
START_TEST(each_end_notifies_the_next_one_alone) {
    enum { MANY = 9 };
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2);

    for (int i = 0; i < MANY; i++) {
        new_snapshot(world, volume);
        world_advance(world, 1);
    }
    hold_oldest(world);
    ck_assert_int_eq(world_action(world, volume, "{\"os-extend\": {\"new_size\": 3}}"), 202);
    world_settle(world);
    ck_assert_int_eq(COUNT("snapshots WHERE status = 'creating'"), 1);
    ck_assert_str_eq(world_status(world, volume), "extending");
    let_go_oldest(world);
    ck_assert_uint_le(steps(world), 4);
    ck_assert_int_eq(COUNT("snapshots WHERE status = 'available'"), MANY);
    ck_assert_int_eq(world_size(world, volume), 3);
    assert_rests(world);
}
END_TEST

/* All readers may begin when the operation in front of them has ended. */
START_TEST(the_end_of_a_change_notifies_all_readers) {
    enum { MANY = 9 };
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2);

    for (int i = 0; i < MANY; i++)
        copy_of(world, "source_volid", volume);
    ck_assert_int_eq(world_action(world, volume, "{\"os-extend\": {\"new_size\": 3}}"), 202);
    world_sql(world, "UPDATE operations SET created_at = 1 WHERE kind = 'extend'");
    hold_oldest(world);
    world_advance(world, 1);
    world_settle(world);
    ck_assert_int_eq(COUNT("volumes WHERE status = 'creating'"), MANY);
    let_go_oldest(world);
    ck_assert_uint_le(steps(world), 2 * MANY);
    ck_assert_int_eq(COUNT("volumes WHERE status = 'creating'"), 0);
    assert_rests(world);
}
END_TEST

/* An operation that waits for a report lets the others go on, and they are notified. */
START_TEST(an_operation_that_waits_for_a_guest_blocks_no_other) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *snapshot = snapshot_of_volume(world, volume);
    const char *made;

    world_attach(world, volume, WORLD_INSTANCE);
    ck_assert_int_eq(world_action(world, volume, "{\"os-extend\": {\"new_size\": 3}}"), 202);
    world_advance(world, 1);
    made = copy_of(world, "snapshot_id", snapshot);
    ck_assert_uint_eq(world_relay(world), 2);
    world_step(world, 1); /* in vain */
    world_settle(world);
    ck_assert_str_eq(world_status(world, volume), "extending");
    ck_assert_str_eq(world_status(world, made), "available");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* One that has to be tried again lets those in that are older. */
START_TEST(a_dead_worker_blocks_no_older_operation) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *made;

    made = copy_of(world, "source_volid", volume);
    hold_oldest(world);
    ck_assert_int_eq(world_action(world, volume, "{\"os-extend\": {\"new_size\": 3}}"), 202);
    world_sql(world, "UPDATE operations SET created_at = 1 WHERE kind = 'extend'");
    world_settle(world);
    ck_assert_str_eq(world_status(world, volume), "extending");
    memory_fail_next(world->memory, "extend_volume", ERROR_BACKEND);
    let_go_oldest(world);
    world_settle(world);
    ck_assert_str_eq(world_status(world, volume), "error_extending");
    ck_assert_str_eq(world_status(world, made), "available");
    ck_assert_int_eq(COUNT("operations"), 0);
}
END_TEST

/* They would wait in the driver, each with a worker; here they wait, and are notified. */
START_TEST(copies_do_not_begin_while_a_snapshot_is_taken_out) {
    enum { MANY = 9 };
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *goes = snapshot_of_volume(world, volume);
    const char *snapshot = snapshot_of_volume(world, volume), *other = world_volume(world, 1);

    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", goes), NULL), 202);
    hold_oldest(world);
    world_advance(world, 1);
    for (int i = 0; i < MANY; i++) {
        copy_of(world, "snapshot_id", snapshot);
        copy_of(world, "source_volid", volume);
    }
    ck_assert_str_eq(world_status(world, copy_of(world, "source_volid", other)), "creating");
    world_settle(world);
    ck_assert_int_eq(COUNT("operations WHERE attempts > 0"), 1);
    ck_assert_int_eq(COUNT("volumes WHERE status = 'creating'"), 2 * MANY);
    /* There is no polling. */
    world_advance(world, 5);
    ck_assert_uint_eq(steps(world), 0);
    let_go_oldest(world);
    ck_assert_uint_le(steps(world), 4 * MANY + 2);
    ck_assert_int_eq(COUNT("volumes WHERE status = 'creating'"), 0);
    assert_snapshot(world, goes, "gone");
    assert_rests(world);
}
END_TEST

CHECK_MAIN("operation queue", a_snapshot_that_is_read_is_not_deleted_yet,
           readers_do_not_wait_for_each_other, a_copy_of_a_snapshot_blocks_only_its_delete,
           copies_do_not_begin_while_a_snapshot_is_taken_out,
           a_volume_is_not_deleted_with_a_snapshot_that_is_read,
           a_copy_of_a_volume_blocks_only_changes_of_it, snapshots_of_a_volume_take_two_workers,
           each_end_notifies_the_next_one_alone, the_end_of_a_change_notifies_all_readers,
           an_operation_that_waits_for_a_guest_blocks_no_other,
           a_dead_worker_blocks_no_older_operation)
