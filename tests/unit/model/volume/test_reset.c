/*
 * os-reset_status, and its effect on an extend (R56–R58, X33, X34).
 */
#include "manager/runtime/job.h"
#include "tests/lib/extend.h"

#define RESET(status) "{\"os-reset_status\": {\"status\": \"" status "\"}}"

/* R56, R57, X14, X33: every target, also extending again, also in capitals. */
START_TEST(reset_of_a_pending_extend_rolls_it_back) {
    static const struct {
        const char *body;
        const char *becomes;
    } rows[] = {
        { RESET("in-use"), "in-use" },       { RESET("error"), "error" },
        { RESET("AVAILABLE"), "available" }, { RESET("extending"), "extending" },
        { RESET("Extending"), "extending" }, { RESET("error_extending"), "error_extending" },
    };

    for (unsigned i = 0; i < LENGTH(rows); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = pending_extend(world);

        ck_assert_int_eq(world_action(world, id, "%s", rows[i].body), 202);
        assert_volume(world, id, rows[i].becomes, 2);
        assert_quota(world, 2, 0);
        ck_assert_int_eq(world_count(world, "SELECT allocated_gb FROM pools"), 2);
        assert_settled(world);

        /* A late report finds no waiting extend. */
        ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 400);
        world_advance(world, 10000);
        world_settle(world);
        assert_volume(world, id, rows[i].becomes, 2);
    }
}
END_TEST

/* R58: a lost answer, a reset and another try leave no reservation behind. */
START_TEST(lost_answer_reset_and_retry) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(world_action(world, id, RESET("in-use")), 202);
        ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
        world_settle(world);
        assert_quota(world, 2, 3);
    }
    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    world_settle(world);

    assert_volume(world, id, "in-use", 5);
    assert_quota(world, 5, 0);
    assert_settled(world);
}
END_TEST

/* X34: whichever comes first, the other finds nothing. */
START_TEST(reset_and_report_exclude_each_other) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, RESET("in-use")), 202);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 400);
    world_settle(world);
    assert_volume(world, id, "in-use", 2);
    assert_quota(world, 2, 0);
    assert_settled(world);
}
END_TEST

/* A reset while the driver is still to be called. */
START_TEST(reset_before_the_driver_is_called) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    ck_assert_int_eq(world_action(world, id, RESET("available")), 202);
    world_settle(world);

    assert_volume(world, id, "available", 2);
    ck_assert_int_eq(world_real_gb(world, id), 2);
    assert_settled(world);
}
END_TEST

/* R57: keys without an operation go too. */
START_TEST(stray_keys_go) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world_sql(world, "UPDATE volumes SET status = 'extending', status_by_reset = 1");
    world_sql(world, "INSERT INTO volume_admin_metadata (volume_id, key, value) "
                     "SELECT id, 'extend_new_size', '9' FROM volumes");
    ck_assert_int_eq(world_action(world, id, RESET("available")), 202);
    assert_volume(world, id, "available", 2);
    assert_settled(world);
}
END_TEST

static const char *create(struct world *world) {
    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 1}}"), 202);
    return world_answer_id(world, "volume");
}

static void assert_not_usable(struct world *world, const char *id, const char *is) {
    static const char *const usable[] = { RESET("available"),        RESET("Available"),
                                          RESET("reserved"),         RESET("attaching"),
                                          RESET("detaching"),        RESET("maintenance"),
                                          RESET("awaiting-transfer") };

    for (unsigned i = 0; i < LENGTH(usable); i++) {
        ck_assert_msg(world_action(world, id, "%s", usable[i]) == 400, "%s", usable[i]);
        ck_assert_ptr_nonnull(strstr(world->answer_text, "has no storage"));
        ck_assert_str_eq(world_status(world, id), is);
    }
    ck_assert_int_eq(world_check(world), 0);
}

static void assert_can_be_deleted(struct world *world, const char *id) {
    ck_assert_int_eq(world_action(world, id, RESET("error")), 202);
    world_settle(world);
    ck_assert_int_eq(
        world_call(world, "DELETE", arena_format(world->arena, "/volumes/%s", id), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "gone");
    assert_quota(world, 0, 0);
    ck_assert_int_eq(world_check(world), 0);
}

START_TEST(a_volume_on_no_backend_is_not_reset_to_a_usable_status) {
    autoworld struct world *world = world_new(NULL);
    const char *id;

    world_sql(world, "UPDATE services SET disabled = 1");
    id = create(world);
    assert_not_usable(world, id, "error");
    assert_can_be_deleted(world, id);
}
END_TEST

START_TEST(a_volume_is_not_reset_to_a_usable_status_before_its_create_has_ended) {
    autoworld struct world *world = world_new(NULL);
    const char *id = create(world);

    assert_not_usable(world, id, "creating");
    world_settle(world);
    assert_volume(world, id, "available", 1);
    ck_assert_int_eq(world_action(world, id, RESET("maintenance")), 202);
    assert_can_be_deleted(world, id);
}
END_TEST

/* The delete has cancelled the create. */
START_TEST(a_forced_delete_of_a_creating_volume_is_not_reset_to_a_usable_status) {
    for (int reset = 0; reset <= 1; reset++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = create(world);

        ck_assert_int_eq(world_action(world, id, "{\"os-force_delete\": null}"), 202);
        assert_not_usable(world, id, "deleting");
        if (reset) {
            assert_can_be_deleted(world, id);
            continue;
        }
        world_settle(world);
        ck_assert_str_eq(world_status(world, id), "gone");
        assert_quota(world, 0, 0);
    }
}
END_TEST

START_TEST(a_volume_whose_create_failed_is_not_reset_to_a_usable_status) {
    autoworld struct world *world = world_new(NULL);
    const char *id = create(world);

    memory_fail_next(world->memory, "create_volume", ERROR_BACKEND);
    world_settle(world);
    assert_not_usable(world, id, "error");
    assert_can_be_deleted(world, id);
}
END_TEST

static const char *tried; /* as the driver gets it */

static int read_tried(struct work *work, void *arg, struct error *err) {
    struct volume volume;

    if (volume_details(work, arg, &volume, err) < 0)
        return -1;
    tried = driver_volume_of(&volume).tried;
    return 0;
}

/* Of an operation with several workers one may have been at another place. */
START_TEST(a_failed_create_records_where_it_was_tried) {
    for (int others = 0; others <= 1; others++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = create(world);
        struct work base;
        struct error err;

        if (others)
            world_sql(world, "UPDATE operations SET attempts = 1");
        memory_fail_next(world->memory, "create_volume", ERROR_BACKEND);
        world_settle(world);
        ck_assert_str_eq(world_status(world, id), "error");
        base = work_own(&world->settings, world->arena);
        ck_assert_int_eq(work_read(world->db, &base, read_tried, (char *)(uintptr_t)id, &err), 0);
        if (others)
            ck_assert_ptr_null(tried);
        else
            ck_assert_str_eq(tried, "memory");
        assert_can_be_deleted(world, id);
    }
}
END_TEST

/* The driver has destroyed the volume, says that it has failed, and cannot be queried. */
static bool unreadable;

static struct fault_decision destroys_and_fails(void *arg, const char *call,
                                                const char *volume_id) {
    struct fault_decision decision = { .action = FAULT_PASS };

    (void)arg, (void)volume_id;
    if (unreadable && strcmp(call, "get_size") == 0)
        decision.action = FAULT_BEFORE;
    if (unreadable && strcmp(call, "delete_volume") == 0)
        decision.action = FAULT_AFTER;
    return decision;
}

static const char *destroyed_in_error_deleting(struct world *world) {
    const char *id = world_volume(world, 2);

    unreadable = true;
    world->decide = destroys_and_fails;
    ck_assert_int_eq(
        world_call(world, "DELETE", arena_format(world->arena, "/volumes/%s", id), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "error_deleting");
    unreadable = false;
    return id;
}

/* Also by a reset to error between them, and while no manager has looked yet. */
START_TEST(a_volume_whose_delete_failed_is_usable_only_with_its_storage) {
    static const char *const first[] = { RESET("available"), RESET("error"), RESET("maintenance"),
                                         RESET("deleting") };

    for (unsigned i = 0; i < LENGTH(first); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = destroyed_in_error_deleting(world);

        ck_assert_int_eq(world_action(world, id, "%s", first[i]), 202);
        world_action(world, id, RESET("available"));
        ck_assert_int_eq(world_action(world, id, "{\"os-reserve\": {}}"), 400);
        world_settle(world);
        ck_assert_str_eq(world_status(world, id), "error");
        ck_assert(world_has_message(world, id, "VOLUME_VOLUME_901_901"));
        assert_not_usable(world, id, "error");
        assert_can_be_deleted(world, id);
        assert_settled(world);
    }
}
END_TEST

START_TEST(a_volume_whose_delete_failed_can_be_used_again) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    memory_fail_next(world->memory, "delete_volume", ERROR_BACKEND);
    ck_assert_int_eq(
        world_call(world, "DELETE", arena_format(world->arena, "/volumes/%s", id), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "error_deleting");
    ck_assert_int_eq(world_action(world, id, RESET("available")), 202);
    world_settle(world);
    assert_volume(world, id, "available", 2);
    ck_assert_int_eq(world_real_gb(world, id), 2);
    assert_settled(world);
    ck_assert_int_eq(world_action(world, id, "{\"os-reserve\": {}}"), 202);
}
END_TEST

START_TEST(repeated_resets_of_a_volume_whose_delete_failed_leave_one_inspection) {
    autoworld struct world *world = world_new(NULL);
    const char *id = destroyed_in_error_deleting(world);

    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(world_action(world, id, RESET("error_deleting")), 202);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 1);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM outbox WHERE method = '"
                                            "delete_volume'"),
                         1);
    }
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "error");
    assert_can_be_deleted(world, id);
    assert_settled(world);
}
END_TEST

/* As an older API wrote it, also while a create is open. */
START_TEST(check_reports_usable_volumes_without_storage) {
    static const char *const statuses[] = { "available", "in-use", "maintenance", "reserved" };

    for (unsigned i = 0; i < LENGTH(statuses); i++) {
        autoworld struct world *world = world_new(NULL);

        create(world);
        world_sql(world,
                  arena_format(world->arena, "UPDATE volumes SET status = '%s'", statuses[i]));
        ck_assert_int_ge(world_check(world), 1);
    }
}
END_TEST

START_TEST(refused_resets_change_nothing) {
    static const char *const bodies[] = {
        RESET("nonsense"),
        RESET("in-use"),
        RESET("reverting"),
        "{\"os-reset_status\": {}}",
        "{\"os-reset_status\": {\"status\": \"\", \"attach_status\": null}}",
        "{\"os-reset_status\": {\"attach_status\": \"attaching\"}}",
        "{\"os-reset_status\": {\"migration_status\": \"deleting\"}}",
        "{\"os-reset_status\": {\"status\": 5}}",
        "{\"os-reset_status\": {\"status\": \"error\", \"attach_status\": \"nonsense\"}}",
    };
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    for (unsigned i = 0; i < LENGTH(bodies); i++) {
        ck_assert_msg(world_action(world, id, "%s", bodies[i]) == 400, "%s: %d", bodies[i],
                      world->status);
        assert_volume(world, id, "available", 2);
    }
    assert_settled(world);
}
END_TEST

START_TEST(reset_of_the_attach_status_detaches) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(world_action(world, id,
                                  "{\"os-reset_status\": {\"status\": \"available\", "
                                  "\"attach_status\": \"detached\"}}"),
                     202);
    assert_volume(world, id, "available", 2);
    ck_assert_uint_eq(json_array_size(json_object_get(world_show(world, id), "attachments")), 0);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 0);
}
END_TEST

START_TEST(a_reset_to_deleting_is_accepted_and_deletes_nothing) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    ck_assert_int_eq(world_action(world, id, RESET("deleting")), 202);
    world_settle(world);
    assert_volume(world, id, "deleting", 2);
    ck_assert_int_eq(world_check(world), 0);
    ck_assert_int_eq(
        world_call(world, "DELETE", arena_format(world->arena, "/volumes/%s", id), NULL), 400);
    ck_assert_int_eq(world_action(world, id, RESET("available")), 202);
    assert_volume(world, id, "available", 2);
    assert_settled(world);
}
END_TEST

CHECK_MAIN("reset", a_reset_to_deleting_is_accepted_and_deletes_nothing,
           reset_of_a_pending_extend_rolls_it_back, lost_answer_reset_and_retry,
           reset_and_report_exclude_each_other, reset_before_the_driver_is_called, stray_keys_go,
           a_volume_on_no_backend_is_not_reset_to_a_usable_status,
           a_volume_is_not_reset_to_a_usable_status_before_its_create_has_ended,
           a_forced_delete_of_a_creating_volume_is_not_reset_to_a_usable_status,
           a_failed_create_records_where_it_was_tried,
           a_volume_whose_create_failed_is_not_reset_to_a_usable_status,
           a_volume_whose_delete_failed_is_usable_only_with_its_storage,
           a_volume_whose_delete_failed_can_be_used_again,
           repeated_resets_of_a_volume_whose_delete_failed_leave_one_inspection,
           check_reports_usable_volumes_without_storage, refused_resets_change_nothing,
           reset_of_the_attach_status_detaches)
