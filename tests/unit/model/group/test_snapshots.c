/*
 * A group snapshot is one operation with the turns of all of its volumes: all of its snapshots are
 * made, or none is any good, and whatever happens in between, each object has its row.
 */
#include "common/cleanup.h"
#include "tests/lib/groups.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/other_manager.h"

#include <string.h>

enum { MEMBERS = 3 };

#define assert_rests(world)                            \
    do {                                               \
        ck_assert_int_eq(world_check(world), 0);       \
        ck_assert_int_eq(COUNT("operations"), 0);      \
        ck_assert_int_eq(COUNT("operation_turns"), 0); \
    } while (0)

/* Three volumes that hold 1, 2 and 3, and their group. */
static struct world *with_members(const char **ret_volumes) {
    struct world *world = world_new(NULL);

    for (int i = 0; i < MEMBERS; i++) {
        ret_volumes[i] = world_volume(world, 2);
        memory_write(world->memory, ret_volumes[i], i + 1);
    }
    group_of(world, ret_volumes, MEMBERS);
    return world;
}

static void assert_members(struct world *world, const char *id, const char *status) {
    ck_assert_int_eq(
        COUNT("snapshots WHERE group_snapshot_id = '%s' AND status = '%s'", id, status), MEMBERS);
}

/* ---- made and deleted ---- */

START_TEST(all_members_are_taken_and_go_together) {
    const char *volumes[MEMBERS], *id;
    autoworld struct world *world = with_members(volumes);

    id = group_snapshot(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "available");
    assert_members(world, id, "available");
    for (int i = 0; i < MEMBERS; i++)
        ck_assert_int_eq(memory_read_snapshot(world->memory, member_of(world, id, volumes[i])),
                         i + 1);
    ck_assert_int_eq(world_in_use(world, "snapshots"), MEMBERS);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 2 * 2 * MEMBERS);
    assert_rests(world);

    ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", id), NULL), 202);
    ck_assert_str_eq(group_snapshot_status(world, id), "deleting");
    assert_members(world, id, "deleting");
    world_settle(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "gone");
    ck_assert_int_eq(COUNT("snapshots"), 0);
    ck_assert_int_eq(world_in_use(world, "snapshots"), 0);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 2 * MEMBERS);
    assert_rests(world);
}
END_TEST

/* ---- turns ---- */

static void hold(struct world *world, const char *kind) {
    world_sql(world,
              PATH("UPDATE operations SET phase = 'running', attempts = 1, owner = 'other:1:1', "
                   "lease_until = 4000000000000000 WHERE kind = '%s'",
                   kind));
}

static void let_go(struct world *world) {
    world_sql(world, "UPDATE operations SET lease_until = 1 WHERE owner = 'other:1:1'");
    world_advance(world, 1);
    world_settle(world);
}

START_TEST(a_group_snapshot_waits_for_changes_of_its_volumes) {
    const char *volumes[MEMBERS], *id;
    autoworld struct world *world = with_members(volumes);

    ck_assert_int_eq(world_action(world, volumes[2], "{\"os-extend\": {\"new_size\": 3}}"), 202);
    ck_assert_int_eq(request_group_snapshot(world, ""), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "extend"));
    /* An operator resets it as ended, while it goes on. */
    world_sql(world, PATH("UPDATE volumes SET status = 'available' WHERE id = '%s'", volumes[2]));
    ck_assert_int_eq(request_group_snapshot(world, ""), 400);
    world_sql(world, PATH("UPDATE volumes SET status = 'extending' WHERE id = '%s'", volumes[2]));
    world_settle(world);
    id = group_snapshot(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "available");
    assert_rests(world);
}
END_TEST

START_TEST(changes_of_a_volume_wait_for_its_group_snapshot) {
    const char *volumes[MEMBERS], *id, *beside;
    autoworld struct world *world = with_members(volumes);

    id = new_group_snapshot(world);
    hold(world, "group_snapshot_create");
    world_advance(world, 1);
    beside = new_snapshot(world, volumes[1]);
    ck_assert_int_eq(world_action(world, volumes[1], "{\"os-extend\": {\"new_size\": 3}}"), 202);
    world_settle(world);
    assert_snapshot(world, beside, "available");
    ck_assert_str_eq(world_status(world, volumes[1]), "extending");
    ck_assert_int_eq(world_real_gb(world, volumes[1]), 2);
    let_go(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "available");
    ck_assert_str_eq(world_status(world, volumes[1]), "available");
    ck_assert_int_eq(world_real_gb(world, volumes[1]), 3);
    assert_rests(world);
}
END_TEST

/* Two of the same group read their volumes side by side; a change behind the first waits for it,
 * and the second for the change. */
START_TEST(operations_on_several_volumes_keep_their_order) {
    const char *volumes[MEMBERS], *first, *second;
    autoworld struct world *world = with_members(volumes);

    first = new_group_snapshot(world);
    hold(world, "group_snapshot_create");
    world_advance(world, 1);
    ck_assert_int_eq(world_action(world, volumes[0], "{\"os-extend\": {\"new_size\": 3}}"), 202);
    world_settle(world);
    world_sql(world, PATH("UPDATE volumes SET group_id = NULL WHERE id = '%s'", volumes[0]));
    world_advance(world, 1);
    second = new_group_snapshot(world);
    world_settle(world);
    ck_assert_str_eq(group_snapshot_status(world, first), "creating");
    ck_assert_str_eq(group_snapshot_status(world, second), "available");
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", second), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(group_snapshot_status(world, second), "gone");
    let_go(world);
    ck_assert_str_eq(group_snapshot_status(world, first), "available");
    ck_assert_str_eq(world_status(world, volumes[0]), "available");
    assert_rests(world);
}
END_TEST

START_TEST(a_volume_that_is_made_of_a_member_keeps_it) {
    const char *volumes[MEMBERS], *id, *made;
    autoworld struct world *world = with_members(volumes);

    id = group_snapshot(world);
    ck_assert_int_eq(world_call(world, "POST", "/volumes",
                                PATH("{\"volume\": {\"snapshot_id\": \"%s\"}}",
                                     member_of(world, id, volumes[1]))),
                     202);
    made = world_answer_id(world, "volume");
    hold(world, "create");
    world_advance(world, 1);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", id), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "deleting");
    ck_assert_int_eq(COUNT("snapshots WHERE delete_begun = 1"), 0);
    let_go(world);
    ck_assert_str_eq(world_status(world, made), "available");
    ck_assert_int_eq(memory_read(world->memory, made), 2);
    ck_assert_str_eq(group_snapshot_status(world, id), "gone");
    assert_rests(world);
}
END_TEST

/* ---- failures ---- */

static int calls_left; /* of the call that fails */
static const char *failing;

static struct fault_decision fail_late(void *arg, const char *call, const char *name_id) {
    struct fault_decision decision = { 0 };

    (void)arg, (void)name_id;
    if (strcmp(call, failing) == 0 && calls_left-- == 0)
        decision.action = FAULT_BEFORE;
    return decision;
}

static void break_call(struct world *world, const char *call, int after) {
    failing = call;
    calls_left = after;
    world->decide = fail_late;
}

START_TEST(a_member_that_cannot_be_taken_fails_all) {
    const char *volumes[MEMBERS], *id;
    autoworld struct world *world = with_members(volumes);

    break_call(world, "create_snapshot", 1);
    id = group_snapshot(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "error");
    assert_members(world, id, "error");
    ck_assert_int_eq(COUNT("snapshots WHERE provider_location IS NOT NULL"), 0);
    ck_assert(world_has_message(world, id, "VOLUME_GROUP_SNAPSHOT_904_903"));
    assert_rests(world);
    /* The backend has the one that was made, and its row knows: it goes with the others. */
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", id), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "gone");
    ck_assert_int_eq(world_in_use(world, "snapshots"), 0);
    assert_rests(world);
}
END_TEST

START_TEST(a_member_that_cannot_be_deleted_leaves_all_rows) {
    const char *volumes[MEMBERS], *id;
    autoworld struct world *world = with_members(volumes);

    id = group_snapshot(world);
    break_call(world, "delete_snapshot", 1);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", id), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "error");
    assert_members(world, id, "error_deleting");
    ck_assert(world_has_message(world, id, "VOLUME_GROUP_SNAPSHOT_905_904"));
    assert_rests(world);
    /* A snapshot that may be gone is not made available. */
    ck_assert_int_eq(world_call(world, "POST", PATH("/group_snapshots/%s/action", id),
                                "{\"reset_status\": {\"status\": \"available\"}}"),
                     400);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", id), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "gone");
    assert_rests(world);
}
END_TEST

/* Killed after each effect in turn, and started again. */
static const char *after_deaths(struct world *world, int effects, const char *id,
                                const char *method) {
    world_die_after(world, effects);
    if (method)
        world_call(world, method, PATH("/group_snapshots/%s", id), NULL);
    else if (request_group_snapshot(world, "") == 202)
        id = world_answer_id(world, "group_snapshot");
    if (!world->dead)
        world_settle(world);
    if (!world->dead)
        return NULL;
    world_restart(world);
    world_settle(world);
    for (int i = 0; i < 5; i++) {
        world_advance(world, 400);
        world_settle(world);
    }
    return id;
}

START_TEST(death_at_any_moment_of_a_create_strands_nothing) {
    int effects = 0;
    bool died = true;

    for (; died; effects++) {
        const char *volumes[MEMBERS];
        autoworld struct world *world = with_members(volumes);

        died = after_deaths(world, effects, "", NULL) != NULL;
        ck_assert_int_eq(COUNT("group_snapshots WHERE status <> 'available'"), 0);
        ck_assert_int_eq(COUNT("snapshots WHERE status <> 'available'"), 0);
        ck_assert_int_eq(COUNT("snapshots"), MEMBERS * COUNT("group_snapshots"));
        assert_rests(world);
    }
    ck_assert_int_gt(effects, 5);
}
END_TEST

START_TEST(death_at_any_moment_of_a_delete_strands_nothing) {
    int effects = 0;
    bool died = true;

    for (; died; effects++) {
        const char *volumes[MEMBERS];
        autoworld struct world *world = with_members(volumes);
        const char *id = group_snapshot(world);

        died = after_deaths(world, effects, id, "DELETE") != NULL;
        ck_assert_int_eq(COUNT("snapshots"), MEMBERS * COUNT("group_snapshots"));
        ck_assert_int_eq(COUNT("group_snapshots WHERE status <> 'available'"), 0);
        assert_rests(world);
    }
    ck_assert_int_gt(effects, 5);
}
END_TEST

/* ---- other operations in between ---- */

/* A late worker has made an object when its group snapshot is given up: it takes it away. */
START_TEST(a_delete_of_one_that_is_being_made_leaves_nothing) {
    const char *volumes[MEMBERS], *id;
    autoworld struct world *world = with_members(volumes);

    id = new_group_snapshot(world);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", id), NULL), 400);
    hold(world, "group_snapshot_create");
    ck_assert_int_eq(world_call(world, "POST", PATH("/group_snapshots/%s/action", id),
                                "{\"reset_status\": {\"status\": \"error\"}}"),
                     202);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", id), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "deleting");
    /* Its worker is not known to have ended: nothing begins on its volumes. */
    ck_assert_int_eq(request_snapshot(world, volumes[0], ""), 400);
    let_go(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "gone");
    assert_rests(world);
}
END_TEST

static struct late {
    const char *id;
    int members; /* before the worker is suspended */
    bool disk_is_full;
} late;

/* Others complete and delete the group snapshot; then one step of the late worker's end fails. */
static bool suspend(void *arg, enum memory_point point, const char *call, const char *name_id) {
    struct world *world = arg;

    (void)name_id;
    if (point != MEMORY_FENCED || strcmp(call, "create_snapshot") != 0 || late.members-- > 0)
        return true;
    memory_watch(world->memory, NULL, NULL);
    other_manager_works(world);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", late.id), NULL), 202);
    other_manager_works(world);
    ck_assert_str_eq(group_snapshot_status(world, late.id), "gone");
    world->hiccups = late.disk_is_full;
    if (!late.disk_is_full)
        memory_fail_next(world->memory, "delete_snapshot", ERROR_BACKEND);
    return true;
}

START_TEST(a_late_worker_repeats_its_clean_up) {
    for (int i = 0; i < 2 * MEMBERS; i++) {
        const char *volumes[MEMBERS];
        autoworld struct world *world = with_members(volumes);

        late = (struct late){ new_group_snapshot(world), i / 2, i % 2 };
        memory_watch(world->memory, suspend, world);
        world_settle(world);
        ck_assert_int_lt(late.members, 0);
        world_advance(world, 61);
        world_settle(world);
        assert_rests(world);
    }
}
END_TEST

START_TEST(a_reset_ends_a_delete) {
    const char *volumes[MEMBERS], *id;
    autoworld struct world *world = with_members(volumes);

    id = group_snapshot(world);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", id), NULL), 202);
    ck_assert_int_eq(world_call(world, "POST", PATH("/group_snapshots/%s/action", id),
                                "{\"reset_status\": {\"status\": \"available\"}}"),
                     202);
    world_settle(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "available");
    assert_members(world, id, "error_deleting");
    for (int i = 0; i < MEMBERS; i++)
        ck_assert_int_eq(memory_read_snapshot(world->memory, member_of(world, id, volumes[i])),
                         i + 1);
    assert_rests(world);
}
END_TEST

START_TEST(a_reset_of_one_that_is_made_changes_nothing_of_its_end) {
    const char *volumes[MEMBERS], *id;
    autoworld struct world *world = with_members(volumes);

    id = new_group_snapshot(world);
    ck_assert_int_eq(world_call(world, "POST", PATH("/group_snapshots/%s/action", id),
                                "{\"reset_status\": {\"status\": \"error\"}}"),
                     202);
    world_settle(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "error");
    assert_members(world, id, "available");
    assert_rests(world);
}
END_TEST

START_TEST(a_report_about_one_member_is_no_end_of_its_work) {
    const char *volumes[MEMBERS], *id;
    autoworld struct world *world = with_members(volumes);

    id = new_group_snapshot(world);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(
            world_call(world, "POST",
                       PATH("/snapshots/%s/action", member_of(world, id, volumes[0])),
                       i == 0 ? "{\"os-update_snapshot_status\": {\"status\": \"available\"}}"
                              : "{\"os-update_snapshot_status\": {\"status\": \"error\"}}"),
            400);
    assert_members(world, id, "creating");
    world_settle(world);
    assert_members(world, id, "available");
    assert_rests(world);
}
END_TEST

START_TEST(a_member_of_one_that_goes_is_not_kept_alone) {
    const char *volumes[MEMBERS], *id, *path;
    autoworld struct world *world = with_members(volumes);

    id = new_group_snapshot(world);
    world_settle(world);
    path = PATH("/snapshots/%s/action", member_of(world, id, volumes[0]));
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", id), NULL), 202);
    ck_assert_int_eq(
        world_call(world, "POST", path, "{\"os-reset_status\": {\"status\": \"available\"}}"), 400);
    assert_members(world, id, "deleting");
    ck_assert_int_eq(
        world_call(world, "POST", path, "{\"os-reset_status\": {\"status\": \"error\"}}"), 202);
    world_settle(world);
    ck_assert_int_eq(COUNT("snapshots"), 0);
    assert_rests(world);
}
END_TEST

START_TEST(a_hundred_are_one_operation) {
    enum { MANY = 100 };
    const struct world_settings settings = { .quota_volumes = 1000 };
    autoworld struct world *world = world_new(&settings);
    const char *volumes[MANY], *id;

    for (int i = 0; i < MANY; i++)
        volumes[i] = world_volume(world, 1);
    group_of(world, volumes, MANY);
    world->settings.quota_snapshots = 1000;
    id = new_group_snapshot(world);
    ck_assert_int_eq(COUNT("operations"), 1);
    world_settle(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "available");
    ck_assert_int_eq(COUNT("snapshots WHERE status = 'available'"), MANY);
    assert_rests(world);
}
END_TEST

/* A member waits for several at once: each is notified once, however many volumes it has. */
START_TEST(waiting_operations_are_notified_once) {
    enum { MANY = 40, TAKEN = 4 };
    autoworld struct world *world = world_new(NULL);
    const char *volumes[MANY];
    unsigned messages = 0;

    for (int i = 0; i < MANY; i++)
        volumes[i] = world_volume(world, 1);
    group_of(world, volumes, MANY);
    world->settings.quota_snapshots = 1000;
    for (int i = 0; i < TAKEN; i++)
        new_group_snapshot(world);
    while (world_relay(world) > 0 && world_step(world, 0))
        messages++;
    ck_assert_int_eq(COUNT("group_snapshots WHERE status = 'available'"), TAKEN);
    ck_assert_uint_eq(messages, TAKEN);
    assert_rests(world);
}
END_TEST

CHECK_MAIN("group_snapshots", all_members_are_taken_and_go_together,
           a_group_snapshot_waits_for_changes_of_its_volumes,
           changes_of_a_volume_wait_for_its_group_snapshot,
           operations_on_several_volumes_keep_their_order,
           a_volume_that_is_made_of_a_member_keeps_it, a_member_that_cannot_be_taken_fails_all,
           a_member_that_cannot_be_deleted_leaves_all_rows,
           death_at_any_moment_of_a_create_strands_nothing,
           death_at_any_moment_of_a_delete_strands_nothing,
           a_delete_of_one_that_is_being_made_leaves_nothing, a_late_worker_repeats_its_clean_up,
           a_reset_ends_a_delete, a_reset_of_one_that_is_made_changes_nothing_of_its_end,
           a_report_about_one_member_is_no_end_of_its_work,
           a_member_of_one_that_goes_is_not_kept_alone, a_hundred_are_one_operation,
           waiting_operations_are_notified_once)
