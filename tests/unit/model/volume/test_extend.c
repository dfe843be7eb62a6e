/*
 * os-extend: the begin of an extend, and the life of its reservation.
 */
#include "tests/lib/extend.h"

/* R23, R31, R41: an offline extend is finished by the driver alone. */
START_TEST(offline_extend_grows_without_an_event) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    assert_volume(world, id, "extending", 2);
    assert_quota(world, 2, 3);
    world_settle(world);

    assert_volume(world, id, "available", 5);
    ck_assert_int_eq(world_real_gb(world, id), 5);
    assert_quota(world, 5, 0);
    ck_assert_uint_eq(world->event_count, 0);
    assert_settled(world);
}
END_TEST

START_TEST(a_size_that_is_not_larger_changes_nothing) {
    static const char *const bodies[] = { EXTEND(2),
                                          EXTEND(1),
                                          EXTEND(0),
                                          EXTEND(-3),
                                          EXTEND("3.5"),
                                          EXTEND(3.0),
                                          EXTEND(9223372036854775807),
                                          EXTEND(2147483648),
                                          EXTEND(null),
                                          EXTEND(true),
                                          "{\"os-extend\": {}}",
                                          "{\"os-extend\": null}",
                                          "{\"os-extend\": {\"new_size\": 3, \"x\": 1}}" };

    for (unsigned i = 0; i < LENGTH(bodies); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = world_volume(world, 2);

        ck_assert_msg(world_action(world, id, "%s", bodies[i]) == 400, "%s: %d", bodies[i],
                      world->status);
        assert_volume(world, id, "available", 2);
        assert_quota(world, 2, 0);
        assert_settled(world);
    }
}
END_TEST

START_TEST(digits_as_text_are_a_size) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    ck_assert_int_eq(world_action(world, id, EXTEND("5")), 202);
    world_settle(world);
    assert_volume(world, id, "available", 5);
}
END_TEST

START_TEST(extend_past_quota_changes_nothing) {
    const struct world_settings settings = { .quota_gigabytes = 10 };
    autoworld struct world *world = world_new(&settings);
    const char *id = world_volume(world, 8);

    ck_assert_int_eq(world_action(world, id, EXTEND(12)), 413);

    ck_assert_ptr_nonnull(strstr(world->answer_text, "overLimit"));
    ck_assert_ptr_nonnull(strstr(world->answer_text, "exceed"));
    assert_volume(world, id, "available", 8);
    assert_quota(world, 8, 0);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM outbox"), 0);
    assert_settled(world);
}
END_TEST

START_TEST(extend_past_the_single_volume_limit_changes_nothing) {
    const struct world_settings settings = { .per_volume_size_limit = 4 };
    autoworld struct world *world = world_new(&settings);
    const char *id = world_volume(world, 3);

    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 413);
    assert_volume(world, id, "available", 3);
    assert_settled(world);
}
END_TEST

START_TEST(extend_past_the_limit_of_the_backend_changes_nothing) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world_sql(world, "UPDATE pools SET capabilities = '{\"largest_volume_gb\": 4}'");
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "larger than 4 GiB"));
    assert_volume(world, id, "available", 2);
    assert_quota(world, 2, 0);
    ck_assert_int_eq(world_action(world, id, EXTEND(4)), 202);
}
END_TEST

/* The scheduler finds no space: the volume is back where it was, the user gets a message. */
START_TEST(extend_without_space_leaves_the_volume_unchanged) {
    const struct world_settings settings = { .capacity_gb = 10 };
    autoworld struct world *world = world_new(&settings);
    const char *id = world_volume(world, 2);

    ck_assert_int_eq(world_action(world, id, EXTEND(5000)), 202);
    world_settle(world);

    assert_volume(world, id, "available", 2);
    assert_quota(world, 2, 0);
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_007_003"));
    assert_settled(world);
}
END_TEST

/* R29, R30, X41, X44: a failure of the driver. */
START_TEST(a_failed_driver_rolls_everything_back) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    memory_fail_next(world->memory, "extend_volume", ERROR_BACKEND);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);

    assert_volume(world, id, "error_extending", 2);
    assert_quota(world, 2, 0);
    ck_assert_int_eq(world_count(world, "SELECT allocated_gb FROM pools"), 2);
    ck_assert(world_has_message(world, id, DRIVER_MESSAGE));
    assert_settled(world);
}
END_TEST

/* X44: the pool's figures are taken at the start. */
START_TEST(pool_is_taken_at_the_start) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    ck_assert_int_eq(world_count(world, "SELECT allocated_gb FROM pools"), 5);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(attached_volumes_need_microversion_3_42) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world_attach(world, id, WORLD_INSTANCE);
    world->minor = 41;
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 400);
    world->minor = 71;
    assert_volume(world, id, "in-use", 2);

    world->minor = 42;
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
}
END_TEST

/* R60, X40: the request is answered before any work is done. */
START_TEST(the_answer_to_an_extend_waits_for_no_work) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);

    ck_assert_uint_eq(world->event_count, 0);
    ck_assert_int_eq(world_real_gb(world, id), 2);
    assert_volume(world, id, "extending", 2);
}
END_TEST

/* R42–R45, X13: the target is visible, the reservations never, and no user can fake either. */
START_TEST(keys_are_admin_metadata) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    ck_assert_str_eq(metadata_of(world, id, "extend_new_size"), "5");
    ck_assert_ptr_null(metadata_of(world, id, "extend_reservations"));
    world_call(world, "GET", "/volumes/detail", NULL);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "\"extend_new_size\":\"5\""));
    ck_assert_ptr_null(strstr(world->answer_text, "extend_reservations"));

    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_metadata"), 0);
    ck_assert_int_eq(world_count(world,
                                 "SELECT COUNT(*) FROM volume_admin_metadata "
                                 "WHERE key = 'extend_reservations' AND value LIKE '[\"%\"]'"),
                     1);
}
END_TEST

START_TEST(users_cannot_set_the_keys) {
    static const char *const names[] = { "extend_new_size", "extend_reservations" };
    autoarena struct arena *arena = arena_new();

    for (unsigned i = 0; i < LENGTH(names); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = pending_extend(world);
        const char *pair = arena_format(arena, "{\"metadata\": {\"%s\": \"999\"}}", names[i]);

        ck_assert_int_eq(
            world_call(world, "POST", arena_format(arena, "/volumes/%s/metadata", id), pair), 400);
        ck_assert_int_eq(
            world_call(world, "PUT", arena_format(arena, "/volumes/%s/metadata", id), pair), 400);
        ck_assert_int_eq(world_call(world, "PUT",
                                    arena_format(arena, "/volumes/%s/metadata/%s", id, names[i]),
                                    arena_format(arena, "{\"meta\": {\"%s\": \"999\"}}", names[i])),
                         400);
        ck_assert_int_eq(world_call(world, "POST", "/volumes",
                                    arena_format(arena,
                                                 "{\"volume\": {\"size\": 1, \"metadata\": "
                                                 "{\"%s\": \"999\"}}}",
                                                 names[i])),
                         400);
        ck_assert_str_eq(metadata_of(world, id, "extend_new_size"), "5");
    }
}
END_TEST

/* R43, X13: a user value of that name, wherever it came from, is hidden while it could be mistaken
 * for the key. */
START_TEST(a_users_value_is_never_taken_for_the_target) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    world_sql(world, "INSERT INTO volume_metadata SELECT id, 'extend_new_size', '999', "
                     "project_id, created_at FROM volumes");
    ck_assert_str_eq(metadata_of(world, id, "extend_new_size"), "5");
    world_sql(world, "DELETE FROM volume_admin_metadata WHERE key = 'extend_new_size'");
    ck_assert_ptr_null(metadata_of(world, id, "extend_new_size"));
}
END_TEST

/* X15: the other keys of the admin metadata stay. */
START_TEST(other_admin_metadata_stays) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    world_sql(world, "INSERT INTO volume_admin_metadata (volume_id, key, value) "
                     "SELECT id, 'readonly', 'False' FROM volumes");
    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    world_settle(world);

    ck_assert_str_eq(metadata_of(world, id, "readonly"), "False");
}
END_TEST

/* X14: keys that something left behind do not survive into the next extend. */
START_TEST(old_keys_go_before_a_new_extend) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world_sql(world, "INSERT INTO volume_admin_metadata (volume_id, key, value) "
                     "SELECT id, 'extend_new_size', '99' FROM volumes");
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    ck_assert_ptr_null(metadata_of(world, id, "extend_new_size"));
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 400);
    world_settle(world);
    assert_volume(world, id, "available", 5);
}
END_TEST

/* X11: a reservation ends once. X12: at most six ids fit a value. */
START_TEST(a_reservation_ends_once_and_fits_its_key) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    ck_assert_int_le(world_count(world, "SELECT COUNT(*) FROM reservations"), 2);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_admin_metadata "
                                        "WHERE length(value) > 255"),
                     0);
    ck_assert_int_eq(world_action(world, id, COMPLETE_ERROR), 202);
    world_settle(world);
    world_sql(world, "UPDATE volumes SET status = 'in-use'");
    ck_assert_int_eq(world_action(world, id, "{\"os-reset_status\": {\"status\": \"in-use\"}}"),
                     202);
    assert_quota(world, 2, 0);
    assert_settled(world);
}
END_TEST

/* X31, X45, X32: requests that are refused and allowed while an extend is pending. */
START_TEST(other_operations_are_refused_meanwhile) {
    static const char *const refused[] = {
        EXTEND(7),
        "{\"os-reserve\": {}}",
        "{\"os-begin_detaching\": {}}",
        "{\"os-attach\": {\"mountpoint\": \"/dev/vdc\", \"instance_uuid\": \"" WORLD_INSTANCE2
        "\"}}",
        "{\"os-force_delete\": {}}",
        "{\"os-update_readonly_flag\": {\"readonly\": true}}",
    };
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);
    autoarena struct arena *arena = arena_new();

    for (unsigned i = 0; i < LENGTH(refused); i++)
        ck_assert_msg(world_action(world, id, "%s", refused[i]) == 400, "%s: %d", refused[i],
                      world->status);
    ck_assert_int_eq(world_call(world, "POST", "/attachments",
                                arena_format(arena,
                                             "{\"attachment\": {\"volume_uuid\": \"%s\", "
                                             "\"instance_uuid\": \"" WORLD_INSTANCE2 "\"}}",
                                             id)),
                     400);
    ck_assert_int_eq(world_call(world, "DELETE", arena_format(arena, "/volumes/%s", id), NULL),
                     400);
    assert_volume(world, id, "extending", 2);
    assert_quota(world, 2, 3);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* X45: fields of an attachment may change, the status stays the extend's. */
START_TEST(attachment_changes_leave_the_status) {
    autoworld struct world *world = world_new(NULL);
    autoarena struct arena *arena = arena_new();
    const char *id = world_volume(world, 2);
    const char *attachment = world_attach(world, id, WORLD_INSTANCE);

    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    ck_assert_int_eq(world_call(world, "PUT", arena_format(arena, "/attachments/%s", attachment),
                                "{\"attachment\": {\"connector\": {\"host\": \"other\"}}}"),
                     200);
    assert_volume(world, id, "extending", 2);
    ck_assert_int_eq(world_call(world, "POST",
                                arena_format(arena, "/attachments/%s/action", attachment),
                                "{\"os-complete\": {}}"),
                     204);
    assert_volume(world, id, "extending", 2);
    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    world_settle(world);
    assert_volume(world, id, "in-use", 5);
}
END_TEST

/* X32: force delete rolls the reservation back first. */
START_TEST(force_delete_releases_the_reservation) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    ck_assert_int_eq(world_action(world, id, "{\"os-force_delete\": {}}"), 202);
    world_settle(world);

    ck_assert_str_eq(world_status(world, id), "gone");
    assert_quota(world, 0, 0);
    assert_settled(world);
}
END_TEST

/* R3 with 403 and 404 as clients see them is the router's test; a refusal leaves the extend
 * alone. */
START_TEST(death_at_any_effect_of_an_extend_loses_nothing) {
    for (int64_t effects = 0; effects < 14; effects++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = world_volume(world, 2);
        int status;

        world_die_after(world, effects);
        status = world_action(world, id, EXTEND(5));
        world_settle(world);
        world_restart(world);
        world_settle(world);
        ck_assert_int_eq(world_check(world), 0);
        if (status == 202 || world_size(world, id) != 2)
            assert_volume(world, id, "available", 5);
        else
            assert_volume(world, id, "available", 2);
        assert_settled(world);
    }
}
END_TEST

CHECK_MAIN("extend", offline_extend_grows_without_an_event,
           a_size_that_is_not_larger_changes_nothing, digits_as_text_are_a_size,
           extend_past_quota_changes_nothing, extend_past_the_single_volume_limit_changes_nothing,
           extend_past_the_limit_of_the_backend_changes_nothing,
           extend_without_space_leaves_the_volume_unchanged, a_failed_driver_rolls_everything_back,
           pool_is_taken_at_the_start, attached_volumes_need_microversion_3_42,
           the_answer_to_an_extend_waits_for_no_work, keys_are_admin_metadata,
           users_cannot_set_the_keys, a_users_value_is_never_taken_for_the_target,
           other_admin_metadata_stays, old_keys_go_before_a_new_extend,
           a_reservation_ends_once_and_fits_its_key, other_operations_are_refused_meanwhile,
           attachment_changes_leave_the_status, force_delete_releases_the_reservation,
           death_at_any_effect_of_an_extend_loses_nothing)
