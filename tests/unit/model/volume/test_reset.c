/*
 * os-reset_status, and its effect on an extend (R56–R58, X33, X34).
 */
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

/* A volume that a reset makes available is not always there: no backend, or an operation still
 * works on it. */
START_TEST(a_reset_volume_without_an_object_is_not_extended) {
    autoworld struct world *world = world_new(NULL);
    const char *id;

    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 1}}"), 202);
    id = world_answer_id(world, "volume");
    ck_assert_int_eq(world_action(world, id, RESET("available")), 202);
    ck_assert_int_eq(world_action(world, id, EXTEND(2)), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "before its create has ended"));
    world_settle(world);
    ck_assert_int_eq(world_action(world, id, EXTEND(2)), 202);

    world_sql(world, "UPDATE services SET disabled = 1");
    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 1}}"), 202);
    id = world_answer_id(world, "volume");
    assert_volume(world, id, "error", 1);
    ck_assert_int_eq(world_action(world, id, RESET("available")), 202);
    ck_assert_int_eq(world_action(world, id, EXTEND(2)), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "on no backend"));
    ck_assert_int_eq(world_check(world), 1); /* it has no storage */
}
END_TEST

/* Nor is one that was never made: the create was cancelled by a delete, and the delete by a
 * reset. */
START_TEST(a_reset_volume_that_was_never_made_cannot_be_extended) {
    autoworld struct world *world = world_new(NULL);
    const char *id;

    ck_assert_int_eq(world_call(world, "POST", "/volumes", "{\"volume\": {\"size\": 1}}"), 202);
    id = world_answer_id(world, "volume");
    ck_assert_int_eq(world_action(world, id, RESET("available")), 202);
    ck_assert_int_eq(
        world_call(world, "DELETE", arena_format(world->arena, "/volumes/%s", id), NULL), 202);
    ck_assert_int_eq(world_action(world, id, RESET("available")), 202);
    world_settle(world);
    ck_assert_int_eq(world_real_gb(world, id), -1);

    ck_assert_int_eq(world_action(world, id, EXTEND(2)), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "has nothing on its backend"));
    assert_volume(world, id, "available", 1);
    assert_quota(world, 1, 0);
    ck_assert_int_eq(world_check(world), 1); /* it has no storage */

    ck_assert_int_eq(
        world_call(world, "DELETE", arena_format(world->arena, "/volumes/%s", id), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "gone");
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
           a_reset_volume_without_an_object_is_not_extended,
           a_reset_volume_that_was_never_made_cannot_be_extended, refused_resets_change_nothing,
           reset_of_the_attach_status_detaches)
