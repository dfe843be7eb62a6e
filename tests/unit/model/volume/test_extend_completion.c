/*
 * os-extend_volume_completion: the action on the wire, and one completion, exactly once.
 */
#include "common/log.h"
#include "tests/lib/extend.h"
#include "tests/lib/roles.h"

#include <sys/mman.h>

/* R1, R4, R7, R13, R14: the report is taken, the keys go, the manager is notified. */
START_TEST(completion_is_accepted_without_waiting_for_the_manager) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);

    ck_assert_str_eq(world->answer_text, "");
    assert_volume(world, id, "extending", 2);
    ck_assert_ptr_null(metadata_of(world, id, "extend_new_size"));
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_admin_metadata "
                                        "WHERE key LIKE 'extend%'"),
                     0);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM outbox "
                                        "WHERE method = 'extend_volume_completion'"),
                     1);
}
END_TEST

/* R18–R21, R59: size, quota, pool and status change together, and only on success. */
START_TEST(success_grows_size_quota_and_pool) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    assert_quota(world, 2, 3);
    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    world_settle(world);

    assert_volume(world, id, "in-use", 5);
    assert_quota(world, 5, 0);
    ck_assert_int_eq(world_count(world, "SELECT allocated_gb FROM pools"), 5);
    ck_assert(!world_has_message(world, id, COMPUTE_MESSAGE));
    assert_settled(world);
}
END_TEST

/* R15–R17, X41, X44: everything is rolled back, the user gets a message. */
START_TEST(an_error_rolls_everything_back) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    ck_assert_int_eq(world_action(world, id, COMPLETE_ERROR), 202);
    world_settle(world);

    assert_volume(world, id, "error_extending", 2);
    assert_quota(world, 2, 0);
    ck_assert_int_eq(world_count(world, "SELECT allocated_gb FROM pools"), 2);
    ck_assert(world_has_message(world, id, COMPUTE_MESSAGE));
    ck_assert_uint_eq(json_array_size(json_object_get(world_show(world, id), "attachments")), 1);
    assert_settled(world);
}
END_TEST

/* R17: one line for the operator, with the request and the reason of the failure. */
START_TEST(error_is_logged_once_with_its_request) {
    autoworld struct world *world = world_new(NULL);
    autoclose int log = memfd_create("log", MFD_CLOEXEC);
    const char *id = pending_extend(world), *line;
    char text[8192] = { 0 };

    log_open(log, LOG_ERROR, LOG_TEXT);
    ck_assert_int_eq(world_action(world, id, COMPLETE_ERROR), 202);
    world_settle(world);
    log_open(-1, LOG_ERROR, LOG_TEXT);

    ck_assert_int_gt(pread(log, text, sizeof text - 1, 0), 0);
    line = strstr(text, "extend failed");
    ck_assert_ptr_nonnull(line);
    ck_assert_ptr_nonnull(strstr(line, id));
    ck_assert_ptr_nonnull(strstr(line, "request_id=req-"));
    ck_assert_ptr_nonnull(strstr(line, "the compute side could not grow the disk"));
    ck_assert_ptr_null(strstr(line + 1, "extend failed"));
}
END_TEST

/* R24: the completion sends no event, whatever the outcome. */
START_TEST(completion_sends_no_event) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    world_settle(world);

    ck_assert_uint_eq(world->event_count, 1);
}
END_TEST

/* R2, X22 and D10: values of `error`. */
START_TEST(error_is_read_as_a_boolean) {
    static const struct {
        const char *body;
        int status;
        const char *becomes;
    } rows[] = {
        { "{\"os-extend_volume_completion\": {\"error\": \"false\"}}", 202, "in-use" },
        { "{\"os-extend_volume_completion\": {\"error\": \"No\"}}", 202, "in-use" },
        { "{\"os-extend_volume_completion\": {\"error\": null}}", 202, "in-use" },
        { "{\"os-extend_volume_completion\": {}}", 202, "in-use" },
        { "{\"os-extend_volume_completion\": {\"error\": \"TRUE\"}}", 202, "error_extending" },
        { "{\"os-extend_volume_completion\": {\"error\": \"on\"}}", 202, "error_extending" },
        { "{\"os-extend_volume_completion\": {\"error\": \"maybe\"}}", 400, "extending" },
        { "{\"os-extend_volume_completion\": {\"error\": \"\"}}", 400, "extending" },
        { "{\"os-extend_volume_completion\": {\"error\": 1}}", 400, "extending" },
        { "{\"os-extend_volume_completion\": {\"error\": []}}", 400, "extending" },
        { "{\"os-extend_volume_completion\": {\"error\": {}}}", 400, "extending" },
        { "{\"os-extend_volume_completion\": {\"error\": false, \"x\": 1}}", 400, "extending" },
        { "{\"os-extend_volume_completion\": null}", 400, "extending" },
        { "{\"os-extend_volume_completion\": \"false\"}", 400, "extending" },
        { "{\"os-extend_volume_completion\": {\"error\": false}, \"second\": {}}", 400,
          "extending" },
        { "{\"os-extend_volume_completion\": {\"error\": false}", 400, "extending" },
    };

    for (unsigned i = 0; i < LENGTH(rows); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = pending_extend(world);

        guest_grows(world, id, 5);
        ck_assert_msg(world_action(world, id, "%s", rows[i].body) == rows[i].status, "%s: %d",
                      rows[i].body, world->status);
        world_settle(world);
        ck_assert_msg(strcmp(world_status(world, id), rows[i].becomes) == 0, "%s: %s", rows[i].body,
                      world_status(world, id));
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

/* R1 and D9: below 3.71 there is no such action; above there is no such version. */
START_TEST(action_exists_from_its_microversion_on) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    world->minor = 70;
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 404);
    world->minor = 0;
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 404);
    world->minor = 72;
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 406);

    world->minor = 71;
    assert_volume(world, id, "extending", 2);
    ck_assert_str_eq(metadata_of(world, id, "extend_new_size"), "5");
}
END_TEST

/* R5: unknown volumes, also with an id that is none. */
START_TEST(unknown_volume_is_404) {
    autoworld struct world *world = world_new(NULL);

    ck_assert_int_eq(world_action(world, "00000000-0000-4000-8000-000000000000", COMPLETE_OK), 404);
    ck_assert_int_eq(world_action(world, "no-uuid", COMPLETE_OK), 404);
}
END_TEST

/* R6, R8, R12: a volume that is not being extended. */
START_TEST(volume_in_another_status_is_400) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 400);
    assert_volume(world, id, "available", 2);

    world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 400);
    assert_volume(world, id, "in-use", 2);
}
END_TEST

/* R9–R12: keys that are missing or make no sense refuse the completion and stay. */
START_TEST(unsound_keys_are_400_and_stay) {
    static const char *const changes[] = {
        "DELETE FROM volume_admin_metadata WHERE key = 'extend_new_size'",
        "DELETE FROM volume_admin_metadata WHERE key = 'extend_reservations'",
        "UPDATE volume_admin_metadata SET value = 'five' WHERE key = 'extend_new_size'",
        "UPDATE volume_admin_metadata SET value = ' 5 ' WHERE key = 'extend_new_size'",
        "UPDATE volume_admin_metadata SET value = '1_0' WHERE key = 'extend_new_size'",
        "UPDATE volume_admin_metadata SET value = '2' WHERE key = 'extend_new_size'",
        "UPDATE volume_admin_metadata SET value = '-5' WHERE key = 'extend_new_size'",
        "UPDATE volume_admin_metadata SET value = 'no list' WHERE key = 'extend_reservations'",
        "UPDATE volume_admin_metadata SET value = '{}' WHERE key = 'extend_reservations'",
    };

    for (unsigned i = 0; i < LENGTH(changes); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = pending_extend(world);
        int64_t keys;

        world_sql(world, changes[i]);
        keys = world_count(world, "SELECT COUNT(*) FROM volume_admin_metadata");
        ck_assert_msg(world_action(world, id, COMPLETE_OK) == 400, "%s: %d", changes[i],
                      world->status);
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_admin_metadata"), keys);
        assert_quota(world, 2, 3);
    }
}
END_TEST

/* X1, X7: of two reports one is taken, whatever their outcomes. */
START_TEST(second_completion_is_400) {
    static const char *const bodies[] = { COMPLETE_OK, COMPLETE_ERROR };

    for (unsigned i = 0; i < 4; i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = pending_extend(world);
        bool error = i & 1;

        guest_grows(world, id, 5);
        ck_assert_int_eq(world_action(world, id, "%s", bodies[i & 1]), 202);
        ck_assert_int_eq(world_action(world, id, "%s", bodies[i >> 1]), 400);
        world_settle(world);
        ck_assert_int_eq(world_action(world, id, "%s", bodies[i >> 1]), 400);

        assert_volume(world, id, error ? "error_extending" : "in-use", error ? 2 : 5);
        assert_quota(world, error ? 2 : 5, 0);
        assert_settled(world);
    }
}
END_TEST

/* X3: between the keys and the finish nothing is lost, whenever the process dies. */
START_TEST(death_at_any_effect_loses_no_report) {
    for (int64_t effects = 0; effects < 12; effects++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = pending_extend(world);
        int status;

        guest_grows(world, id, 5);
        world_die_after(world, effects);
        status = world_action(world, id, COMPLETE_OK);
        world_settle(world);
        world_restart(world);
        world_settle(world);
        if (strcmp(world_status(world, id), "extending") == 0) {
            /* Not accepted before the death: the sender got no response, so it sends the report
             * again. */
            ck_assert_int_eq(status, 0);
            ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
            world_settle(world);
        }
        assert_volume(world, id, "in-use", 5);
        assert_quota(world, 5, 0);
        assert_settled(world);
    }
}
END_TEST

/* X5, X34: a report whose extend was reset meanwhile does nothing. */
START_TEST(report_after_a_reset_does_nothing) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    ck_assert_int_eq(world_action(world, id, "{\"os-reset_status\": {\"status\": \"in-use\"}}"),
                     202);
    world_settle(world);

    assert_volume(world, id, "in-use", 2);
    assert_quota(world, 2, 0);
    assert_settled(world);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 400);
}
END_TEST

/* X5: the compute side read an extend, which was reset, and another one began: no report about the
 * first ends the second. */
START_TEST(report_of_another_extend_is_refused) {
    static const char *const reports[] = { COMPLETE_OK, COMPLETE_ERROR };

    for (unsigned i = 0; i < LENGTH(reports); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = pending_extend(world), *first, *second;

        world_show(world, id);
        first = arena_text(world->arena, world->named_extend);
        ck_assert_str_ne(first, "");
        ck_assert_int_eq(world_action(world, id, "{\"os-reset_status\": {\"status\": \"in-use\"}}"),
                         202);
        world_show(world, id);
        ck_assert_str_eq(world->named_extend, "");
        ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
        world_settle(world);
        guest_grows(world, id, 5);
        world_show(world, id);
        second = arena_text(world->arena, world->named_extend);
        ck_assert_str_ne(first, second);

        world->extend = first;
        ck_assert_int_eq(world_action(world, id, "%s", reports[i]), 400);
        world_settle(world);
        assert_volume(world, id, "extending", 2);
        ck_assert_str_eq(metadata_of(world, id, "extend_new_size"), "5");
        assert_quota(world, 2, 3);
        world->extend = second;
        ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
        world->extend = NULL;
        world_settle(world);
        assert_volume(world, id, "in-use", 5);
        assert_settled(world);
    }
}
END_TEST

/* ---- reports without a name, as of a real compute service, behind an extend without one ---- */

#define TO_IN_USE "{\"os-reset_status\": {\"status\": \"in-use\"}}"

/* Ends the pending extend without a report. */
static void end_by_reset(struct world *world, const char *id) {
    ck_assert_int_eq(world_action(world, id, TO_IN_USE), 202);
}

static void end_by_deadline(struct world *world, const char *id) {
    world_advance(world, 700);
    world_settle(world);
    assert_volume(world, id, "error_extending", 2);
    ck_assert_int_eq(world_action(world, id, TO_IN_USE), 202);
}

static void (*const ends[])(struct world *world, const char *id) = { end_by_reset,
                                                                     end_by_deadline };

static const char *extend_behind(struct world *world, unsigned end, int new_gb) {
    const char *id = pending_extend(world);

    ends[end](world, id);
    ck_assert_int_eq(world_action(world, id, "{\"os-extend\": {\"new_size\": %d}}", new_gb), 202);
    world_settle(world);
    assert_volume(world, id, "extending", 2);
    return id;
}

START_TEST(a_late_failure_of_an_earlier_extend_ends_no_newer_one) {
    for (unsigned i = 0; i < LENGTH(ends); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = extend_behind(world, i, 5);

        ck_assert_int_eq(world_action(world, id, COMPLETE_ERROR), 400);
        ck_assert_ptr_nonnull(strstr(world->answer_text, "earlier extend"));
        world_settle(world);
        assert_volume(world, id, "extending", 2);
        ck_assert_str_eq(metadata_of(world, id, "extend_new_size"), "5");
        assert_quota(world, 2, 3);
        /* That of the newer one counts. */
        guest_grows(world, id, 5);
        ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
        world_settle(world);
        assert_volume(world, id, "in-use", 5);
        assert_quota(world, 5, 0);
        assert_settled(world);
    }
}
END_TEST

/* The object shows that it is not the newer one's. */
START_TEST(a_late_success_of_an_earlier_extend_ends_no_newer_one) {
    for (unsigned i = 0; i < LENGTH(ends); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = extend_behind(world, i, 7);

        guest_grows(world, id, 5);
        ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
        world_settle(world);
        assert_volume(world, id, "extending", 2);
        ck_assert_str_eq(metadata_of(world, id, "extend_new_size"), "7");
        assert_quota(world, 2, 5);
        ck_assert_int_eq(world_check(world), 0);
        guest_grows(world, id, 7);
        ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
        world_settle(world);
        assert_volume(world, id, "in-use", 7);
        assert_settled(world);
    }
}
END_TEST

/* X30: the guest went while the report was being checked. */
START_TEST(a_detach_behind_a_late_success_is_settled_at_once) {
    for (unsigned i = 0; i < LENGTH(ends); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = extend_behind(world, i, 7);

        guest_grows(world, id, 5);
        ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
        memory_lock(world->memory, id, false);
        ck_assert_int_eq(world_action(world, id, "{\"os-detach\": {}}"), 202);
        world_settle(world);
        assert_volume(world, id, "available", 7);
        assert_quota(world, 7, 0);
        assert_settled(world);
    }
}
END_TEST

/* A refused report is not lost: the object decides at the deadline, which no report moves. */
START_TEST(the_deadline_decides_without_a_report) {
    for (int grows = 0; grows < 2; grows++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = extend_behind(world, 0, 5);

        ck_assert_int_eq(world_action(world, id, COMPLETE_ERROR), 400);
        world_advance(world, 400);
        ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
        world_settle(world);
        assert_volume(world, id, "extending", 2);
        if (grows)
            guest_grows(world, id, 5);
        world_advance(world, 250);
        world_settle(world);
        assert_volume(world, id, grows ? "in-use" : "error_extending", grows ? 5 : 2);
        assert_settled(world);
    }
}
END_TEST

/* No event was taken, or its report has come, or it is long past. */
START_TEST(a_failure_without_a_name_counts_where_no_other_is_due) {
    for (int way = 0; way < 3; way++) {
        autoworld struct world *world = world_new(NULL);
        const char *id;

        if (way == 0) {
            id = world_volume(world, 2);
            world_attach(world, id, WORLD_INSTANCE);
            world->verdict = EVENT_REFUSED;
            ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
            world_settle(world);
            world->verdict = EVENT_ACCEPTED;
        } else {
            id = pending_extend(world);
            if (way == 1)
                ck_assert_int_eq(world_action(world, id, COMPLETE_ERROR), 202);
            else
                end_by_deadline(world, id);
            world_settle(world);
        }
        ck_assert_int_eq(world_action(world, id, TO_IN_USE), 202);
        if (way == 2)
            world_advance(world, 86400);
        ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
        world_settle(world);
        ck_assert_int_eq(world_action(world, id, COMPLETE_ERROR), 202);
        world_settle(world);
        assert_volume(world, id, "error_extending", 2);
        assert_settled(world);
    }
}
END_TEST

/* Only callers that may be the compute side see the name of the extend. */
START_TEST(the_name_of_an_extend_is_hidden_from_members) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    roles_enter(world, NULL);
    world->token = "member:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "GET", arena_format(world->arena, "/volumes/%s", id), NULL),
                     200);
    ck_assert_str_eq(world->named_extend, "");
}
END_TEST

/* X6: the volume is gone when the manager gets to it: the reservation ends, nothing else
 * happens. */
START_TEST(report_for_a_vanished_volume_gives_the_quota_back) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    world_sql(world, "DELETE FROM attachments");
    world_sql(world, "DELETE FROM volume_admin_metadata");
    world_sql(world, "DELETE FROM volumes");
    world_settle(world);

    ck_assert_int_eq(world_reserved(world, "gigabytes"), 0);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM reservations"), 0);
    ck_assert_str_eq(world_status(world, id), "gone");
}
END_TEST

/* X9: reservations that another program removed do not make the growth free. */
START_TEST(growth_counts_without_its_reservations) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    world_sql(world, "DELETE FROM reservations");
    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    world_settle(world);

    assert_volume(world, id, "in-use", 5);
    assert_quota(world, 5, 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* X8: days may pass, the reservation stays as long as its extend. */
START_TEST(reservation_of_a_pending_extend_does_not_expire) {
    autoworld struct world *world = world_new(NULL);
    const char *id;

    world->settings.extend_deadline_s = 10000000;
    id = pending_extend(world);
    world_advance(world, 3 * 86400);
    world_settle(world);
    assert_quota(world, 2, 3);
    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    world_settle(world);

    assert_volume(world, id, "in-use", 5);
    assert_quota(world, 5, 0);
}
END_TEST

/* X10: the volume's project pays, not the caller's. */
START_TEST(the_volumes_project_pays) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    guest_grows(world, id, 5);
    world->token = "nova:" WORLD_OTHER;
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    world_settle(world);

    world->token = "admin:" WORLD_PROJECT;
    assert_volume(world, id, "in-use", 5);
    assert_quota(world, 5, 0);
    ck_assert_int_eq(
        world_count(world, "SELECT COUNT(*) FROM quota_usages WHERE project_id = '" WORLD_OTHER
                           "' AND used > 0"),
        0);
}
END_TEST

/* X22, X23: a success that the image does not confirm is a failure. */
START_TEST(success_without_growth_is_a_failure) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    ck_assert_int_eq(world_action(world, id, "{\"os-extend_volume_completion\": {}}"), 202);
    world_settle(world);

    assert_volume(world, id, "error_extending", 2);
    assert_quota(world, 2, 0);
    ck_assert(world_has_message(world, id, COMPUTE_MESSAGE));
    assert_settled(world);
}
END_TEST

/* X23: the image cannot be checked just now: the report is kept and evaluated later. */
START_TEST(success_that_cannot_be_verified_waits) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    memory_fail_next(world->memory, "get_size", ERROR_UNAVAILABLE);
    world_settle(world);
    assert_volume(world, id, "extending", 2);
    assert_quota(world, 2, 3);

    world_advance(world, 31);
    world_settle(world);
    assert_volume(world, id, "in-use", 5);
    assert_settled(world);
}
END_TEST

/* X24, X43: an error although the image has grown leaves a volume that can be used and extended. */
START_TEST(error_with_a_grown_image_does_not_brick_the_volume) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_ERROR), 202);
    world_settle(world);
    assert_volume(world, id, "error_extending", 2);
    assert_settled(world);

    ck_assert_int_eq(world_action(world, id, "{\"os-reset_status\": {\"status\": \"in-use\"}}"),
                     202);
    ck_assert_int_eq(
        world_action(world, id,
                     "{\"os-initialize_connection\": {\"connector\": {\"host\": \"h\"}}}"),
        200);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    assert_volume(world, id, "in-use", 5);
    ck_assert_int_eq(world_real_gb(world, id), 5);
    assert_quota(world, 5, 0);
    assert_settled(world);
}
END_TEST

/* X16: the report may come before the event's answer. */
static void report_at_once(struct world *world, const struct world_event *event) {
    world->on_event = NULL;
    memory_grow(world->memory, event->volume_id, 5 * GIB);
    ck_assert_str_eq(metadata_of(world, event->volume_id, "extend_new_size"), "5");
    ck_assert_int_eq(world_action(world, event->volume_id, COMPLETE_OK), 202);
}

START_TEST(report_before_the_events_answer) {
    static const enum event_verdict verdicts[] = { EVENT_ACCEPTED, EVENT_UNKNOWN };

    for (unsigned i = 0; i < LENGTH(verdicts); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = world_volume(world, 2);

        world_attach(world, id, WORLD_INSTANCE);
        world->verdict = verdicts[i];
        world->on_event = report_at_once;
        ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
        world_settle(world);

        assert_volume(world, id, "in-use", 5);
        assert_quota(world, 5, 0);
        assert_settled(world);
    }
}
END_TEST

/* X37, X38: no manager is there when the report comes; any later one finishes it. */
START_TEST(report_without_a_manager_is_kept) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    world_relay(world);
    rpc_local_forget(world->rpc);
    world_restart(world);
    world_settle(world);

    assert_volume(world, id, "in-use", 5);
    assert_settled(world);
}
END_TEST

/* A message that comes twice, and one that comes long after, change nothing more. */
START_TEST(repeated_messages_do_nothing) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    world_sql(world, "INSERT INTO outbox (topic, method, key, payload, created_at) "
                     "SELECT topic, method, key, payload, created_at FROM outbox");
    world_settle(world);
    assert_volume(world, id, "in-use", 5);
    assert_quota(world, 5, 0);
    ck_assert_int_eq(world_count(world, "SELECT allocated_gb FROM pools"), 5);
    assert_settled(world);
}
END_TEST

CHECK_MAIN("extend completion", completion_is_accepted_without_waiting_for_the_manager,
           success_grows_size_quota_and_pool, an_error_rolls_everything_back,
           error_is_logged_once_with_its_request, completion_sends_no_event,
           error_is_read_as_a_boolean, action_exists_from_its_microversion_on,
           unknown_volume_is_404, volume_in_another_status_is_400, unsound_keys_are_400_and_stay,
           second_completion_is_400, death_at_any_effect_loses_no_report,
           report_after_a_reset_does_nothing, report_of_another_extend_is_refused,
           a_late_failure_of_an_earlier_extend_ends_no_newer_one,
           a_late_success_of_an_earlier_extend_ends_no_newer_one,
           a_detach_behind_a_late_success_is_settled_at_once, the_deadline_decides_without_a_report,
           a_failure_without_a_name_counts_where_no_other_is_due,
           the_name_of_an_extend_is_hidden_from_members,
           report_for_a_vanished_volume_gives_the_quota_back,
           growth_counts_without_its_reservations, reservation_of_a_pending_extend_does_not_expire,
           the_volumes_project_pays, success_without_growth_is_a_failure,
           success_that_cannot_be_verified_waits,
           error_with_a_grown_image_does_not_brick_the_volume, report_before_the_events_answer,
           report_without_a_manager_is_kept, repeated_messages_do_nothing)
