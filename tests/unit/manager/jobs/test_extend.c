/*
 * The manager's part of an extend: every outcome of the driver with every number of instances, the
 * event and its answers, deadlines, detaches, deaths.
 */
#include "tests/lib/extend.h"

/* R30: failed, attached to something: no event either. */
START_TEST(failed_driver_of_an_attached_volume) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world_attach(world, id, WORLD_INSTANCE);
    memory_fail_next(world->memory, "extend_volume", ERROR_BACKEND);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);

    assert_volume(world, id, "error_extending", 2);
    ck_assert_uint_eq(world->event_count, 0);
    assert_settled(world);
}
END_TEST

/* A backend that is away: the first attempt has done nothing and reports it.  One that takes over
 * from a dead manager does not know, and waits until the image can be read; nor does one whose
 * operation is older than its manager, because a machine that lost its power may have forgotten the
 * claim. */
static void take_over_while_away(bool after_a_start) {
    autoworld struct world *world = world_new(NULL);
    const char *first = world_volume(world, 2);
    const char *second = world_volume(world, 2);

    memory_fail_next(world->memory, "extend_volume", ERROR_UNAVAILABLE);
    ck_assert_int_eq(world_action(world, first, EXTEND(5)), 202);
    world_settle(world);
    assert_volume(world, first, "error_extending", 2);

    ck_assert_int_eq(world_action(world, second, EXTEND(5)), 202);
    if (after_a_start) {
        world->now_us += 1000000;
        world_restart(world);
    } else {
        world_sql(world, "UPDATE operations SET attempts = 1");
    }
    memory_fail_next(world->memory, "extend_volume", ERROR_UNAVAILABLE);
    world_settle(world);
    assert_volume(world, second, "extending", 2);
    ck_assert_int_eq(world_reserved(world, "gigabytes"), 3);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 1);

    world_advance(world, 31);
    world_settle(world);
    assert_volume(world, second, "available", 5);
    assert_settled(world);
}

START_TEST(an_extend_taken_over_waits_for_a_backend_that_is_away) {
    take_over_while_away(false);
    take_over_while_away(true);
}
END_TEST

/* R32, R24: done while attached: finished, and every instance is notified once (X19). */
START_TEST(an_extend_below_instances_notifies_them) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world_attach(world, id, WORLD_INSTANCE);
    memory_lock(world->memory, id, false);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);

    assert_volume(world, id, "in-use", 5);
    ck_assert_uint_eq(world->event_count, 1);
    ck_assert_str_eq(world->events[0].instance_uuid, WORLD_INSTANCE);
    ck_assert_str_eq(world->events[0].host, WORLD_NODE);
    ck_assert(!world->events[0].wants_completion);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    assert_settled(world);
}
END_TEST

/* Refused notifications are repeated, and given up without harm to the volume. */
START_TEST(a_refused_notification_changes_nothing) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world_attach(world, id, WORLD_INSTANCE);
    memory_lock(world->memory, id, false);
    world->verdict = EVENT_REFUSED;
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    for (int i = 0; i < 8; i++) {
        world_settle(world);
        world_advance(world, 31);
    }
    assert_volume(world, id, "in-use", 5);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    assert_settled(world);
}
END_TEST

/* News of a volume that is deleted meanwhile end with it. */
START_TEST(notifications_end_with_their_volume) {
    autoworld struct world *world = world_new(NULL);
    autoarena struct arena *arena = arena_new();
    const char *id = world_volume(world, 2);
    const char *attachment = world_attach(world, id, WORLD_INSTANCE);

    memory_lock(world->memory, id, false);
    world->verdict = EVENT_REFUSED;
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE kind = 'notify'"),
                     1);
    ck_assert_int_eq(
        world_call(world, "DELETE", arena_format(arena, "/attachments/%s", attachment), NULL), 200);
    ck_assert_int_eq(world_call(world, "DELETE", arena_format(arena, "/volumes/%s", id), NULL),
                     202);
    world_settle(world);

    ck_assert_str_eq(world_status(world, id), "gone");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* R33: the image is locked although nothing is attached. */
START_TEST(deferred_without_an_instance_fails) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    memory_lock(world->memory, id, true);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);

    assert_volume(world, id, "error_extending", 2);
    ck_assert_uint_eq(world->event_count, 0);
    assert_quota(world, 2, 0);
    assert_settled(world);
}
END_TEST

/* A worker that sleeps in the middle of it holds the lock itself: its successor waits for it, and
 * in the end no longer. */
START_TEST(a_lock_of_a_worker_that_sleeps_is_waited_for) {
    for (int wakes = 0; wakes <= 1; wakes++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = world_volume(world, 2);

        ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
        world_sql(world, "UPDATE operations SET phase = 'running', owner = 'other:1:1', "
                         "lease_until = 1, attempts = 1");
        memory_lock(world->memory, id, true);
        world_settle(world);
        assert_volume(world, id, "extending", 2);
        memory_lock(world->memory, id, !wakes);
        if (!wakes)
            world_sql(world, "UPDATE operations SET attempts = 59");
        world_advance(world, 11);
        world_settle(world);
        assert_volume(world, id, wakes ? "available" : "error_extending", wakes ? 5 : 2);
        assert_settled(world);
    }
}
END_TEST

/* X19: an attachment without an instance cannot grow it. */
START_TEST(deferred_for_a_host_without_an_instance_fails) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    ck_assert_int_eq(
        world_action(world, id,
                     "{\"os-attach\": {\"mountpoint\": \"/dev/vdb\", \"host_name\": \"h\"}}"),
        202);
    memory_lock(world->memory, id, true);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    assert_volume(world, id, "error_extending", 2);
    assert_settled(world);
}
END_TEST

static const char *attach_twice(struct world *world, const char *second_instance) {
    const char *id = world_volume(world, 2);

    world_sql(world, "UPDATE volumes SET multiattach = 1");
    world_attach(world, id, WORLD_INSTANCE);
    world_attach(world, id, second_instance);
    return id;
}

/* R34: more than one instance. */
START_TEST(deferred_with_two_instances_fails) {
    autoworld struct world *world = world_new(NULL);
    const char *id = attach_twice(world, WORLD_INSTANCE2);

    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);

    assert_volume(world, id, "error_extending", 2);
    ck_assert_uint_eq(world->event_count, 0);
    assert_quota(world, 2, 0);
    assert_settled(world);
}
END_TEST

/* X19: two attachments of one instance (it moves) are one event. */
START_TEST(two_attachments_of_one_instance_are_one) {
    autoworld struct world *world = world_new(NULL);
    const char *id = attach_twice(world, WORLD_INSTANCE);

    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);

    assert_volume(world, id, "extending", 2);
    ck_assert_uint_eq(world->event_count, 1);
}
END_TEST

/* X19: an attachment that is only reserved does not count. */
START_TEST(a_reserved_attachment_does_not_count) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world_attach(world, id, WORLD_INSTANCE);
    world_sql(world, "INSERT INTO attachments (id, volume_id, project_id, instance_uuid, "
                     "attach_status, created_at) SELECT 'a', id, project_id, '" WORLD_INSTANCE2
                     "', 'reserved', 1 FROM volumes");
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    assert_volume(world, id, "extending", 2);
    ck_assert_uint_eq(world->event_count, 1);
}
END_TEST

static void pending_extend_of_many(struct world *world) {
    const char *id = world_volume(world, 2);

    world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, id), "extending");
}

/* R35–R38: both keys, the event with the promise of a report, and the volume stays extending. */
START_TEST(deferred_with_one_instance_is_handed_over) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    ck_assert_str_eq(world->events[0].volume_id, id);
    ck_assert_str_eq(world->events[0].instance_uuid, WORLD_INSTANCE);
    ck_assert_str_eq(world->events[0].host, WORLD_NODE);
    ck_assert(world->events[0].wants_completion);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_admin_metadata "
                                        "WHERE key LIKE 'extend%'"),
                     2);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE phase = 'waiting' "
                                        "AND owner IS NULL"),
                     1);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* X40: the one thread of this world, its database and its locks are free for others meanwhile. */
START_TEST(many_pending_extends_delay_no_other_operation) {
    autoworld struct world *world = world_new(NULL);
    const char *other;

    for (int i = 0; i < 40; i++)
        pending_extend_of_many(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE phase = 'waiting' "
                                        "AND owner IS NULL AND lease_until IS NULL"),
                     40);
    other = world_volume(world, 2);
    ck_assert_int_eq(world_action(world, other, EXTEND(5)), 202);
    world_settle(world);
    assert_volume(world, other, "available", 5);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* R39, R40, X17: refused: rolled back, message 009. */
START_TEST(refused_event_is_rolled_back) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world_attach(world, id, WORLD_INSTANCE);
    world->verdict = EVENT_REFUSED;
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);

    assert_volume(world, id, "error_extending", 2);
    assert_quota(world, 2, 0);
    ck_assert(world_has_message(world, id, COMPUTE_MESSAGE));
    assert_settled(world);
}
END_TEST

/* X18: its arrival is unknown: it stays pending and the report is welcome. */
START_TEST(unknown_answer_stays_pending) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world_attach(world, id, WORLD_INSTANCE);
    world->verdict = EVENT_UNKNOWN;
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    assert_volume(world, id, "extending", 2);

    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    world_settle(world);
    assert_volume(world, id, "in-use", 5);
    assert_settled(world);
}
END_TEST

/* X20, X36, D13: at the deadline the image decides. */
START_TEST(deadline_with_a_grown_image_is_a_success) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    guest_grows(world, id, 5);
    world_advance(world, 599);
    world_settle(world);
    assert_volume(world, id, "extending", 2);
    world_advance(world, 2);
    world_settle(world);

    assert_volume(world, id, "in-use", 5);
    assert_quota(world, 5, 0);
    assert_settled(world);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 400);
}
END_TEST

START_TEST(deadline_with_an_old_image_is_rolled_back) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    world_advance(world, 601);
    world_settle(world);

    assert_volume(world, id, "error_extending", 2);
    assert_quota(world, 2, 0);
    ck_assert(world_has_message(world, id, COMPUTE_MESSAGE));
    assert_settled(world);
}
END_TEST

START_TEST(deadline_with_an_unreadable_image_waits_on) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    memory_fail_next(world->memory, "get_size", ERROR_UNAVAILABLE);
    world_advance(world, 601);
    world_settle(world);
    assert_volume(world, id, "extending", 2);
    ck_assert(world_has_message(world, id, COMPUTE_MESSAGE));
    ck_assert_str_eq(metadata_of(world, id, "extend_new_size"), "5");

    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    world_settle(world);
    assert_volume(world, id, "in-use", 5);
    assert_settled(world);
}
END_TEST

static void detach(struct world *world, const char *attachment) {
    autoarena struct arena *arena = arena_new();

    ck_assert_int_eq(
        world_call(world, "DELETE", arena_format(arena, "/attachments/%s", attachment), NULL), 200);
}

static const char *pending_with_attachment(struct world *world, const char **ret_attachment) {
    const char *id = world_volume(world, 2);

    *ret_attachment = world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    return id;
}

/* X30: the last attachment goes: grown already, or grown offline, or rolled back. */
START_TEST(detach_of_a_grown_image_is_a_success) {
    autoworld struct world *world = world_new(NULL);
    const char *attachment, *id = pending_with_attachment(world, &attachment);

    guest_grows(world, id, 5);
    detach(world, attachment);
    world_settle(world);

    assert_volume(world, id, "available", 5);
    assert_quota(world, 5, 0);
    assert_settled(world);
}
END_TEST

START_TEST(detach_grows_the_image_offline) {
    autoworld struct world *world = world_new(NULL);
    const char *attachment, *id = pending_with_attachment(world, &attachment);

    memory_lock(world->memory, id, false);
    detach(world, attachment);
    world_settle(world);

    assert_volume(world, id, "available", 5);
    ck_assert_int_eq(world_real_gb(world, id), 5);
    assert_settled(world);
}
END_TEST

START_TEST(detach_with_the_image_still_locked_is_rolled_back) {
    autoworld struct world *world = world_new(NULL);
    const char *attachment, *id = pending_with_attachment(world, &attachment);

    detach(world, attachment);
    world_settle(world);

    assert_volume(world, id, "error_extending", 2);
    assert_quota(world, 2, 0);
    assert_settled(world);
}
END_TEST

#define RESERVE_AGAIN "{\"attachment\": {\"volume_uuid\": \"%s\", \"instance_uuid\": \"%s\"}}"
#define HOST_ATTACH   "{\"os-attach\": {\"mountpoint\": \"/dev/vdc\", \"host_name\": \"h\"}}"

/* Attachments that stay when the only instance leaves a pending extend: a reserved one, as for a
 * server that is shelved or moves while it is off, or a host without an agent. */
static void leave_behind(bool a_host, bool freed) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2), *attachment;
    const char *stays = a_host ? "in-use" : "reserved";

    if (a_host)
        world_sql(world, "UPDATE volumes SET multiattach = 1");
    attachment = world_attach(world, id, WORLD_INSTANCE);
    if (a_host)
        ck_assert_int_eq(world_action(world, id, HOST_ATTACH), 202);
    else
        ck_assert_int_eq(world_call(world, "POST", "/attachments",
                                    arena_format(world->arena, RESERVE_AGAIN, id, WORLD_INSTANCE)),
                         200);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    ck_assert_uint_eq(world->event_count, 1);
    assert_volume(world, id, "extending", 2);

    memory_lock(world->memory, id, !freed);
    detach(world, attachment);
    world_settle(world);
    assert_volume(world, id, freed ? stays : "error_extending", freed ? 5 : 2);
    assert_quota(world, freed ? 5 : 2, 0);
    ck_assert_uint_eq(world->event_count, 1);
    assert_settled(world);
}

/* X30: the remaining attachments cannot report. */
START_TEST(the_last_instance_leaves_others_behind) {
    for (int i = 0; i < 4; i++)
        leave_behind(i & 1, i & 2);
}
END_TEST

/* ---- attachments that change while the manager is at it ---- */

static const char *leaving; /* the attachment that goes in the middle */
static bool lets_go;        /* its guest frees the image behind it */

static struct fault_decision detached_meanwhile(void *arg, const char *call,
                                                const char *volume_id) {
    struct world *world = arg;

    if (strcmp(call, "extend_volume") == 0 && leaving) {
        detach(world, leaving);
        leaving = NULL;
    } else if (strcmp(call, "extend_volume") == 0 && lets_go) {
        memory_lock(world->memory, volume_id, false);
    }
    return (struct fault_decision){ .action = FAULT_PASS };
}

/* X30: the driver found the image locked, and the guest went before any host was notified. */
START_TEST(detach_during_the_drivers_call_is_settled_at_once) {
    for (int freed = 0; freed <= 1; freed++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = world_volume(world, 2);

        leaving = world_attach(world, id, WORLD_INSTANCE);
        lets_go = freed;
        world->decide = detached_meanwhile;
        ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
        world_settle(world);

        assert_volume(world, id, freed ? "available" : "error_extending", freed ? 5 : 2);
        assert_quota(world, freed ? 5 : 2, 0);
        ck_assert_uint_eq(world->event_count, 0);
        assert_settled(world);
    }
}
END_TEST

/* X19: of two instances one leaves: the one that is left at the hand-over is notified. */
START_TEST(the_event_goes_to_the_instance_attached_at_that_moment) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world_sql(world, "UPDATE volumes SET multiattach = 1");
    leaving = world_attach(world, id, WORLD_INSTANCE);
    lets_go = false;
    world_attach(world, id, WORLD_INSTANCE2);
    world->decide = detached_meanwhile;
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);

    assert_volume(world, id, "extending", 2);
    ck_assert_uint_eq(world->event_count, 1);
    ck_assert_str_eq(world->events[0].instance_uuid, WORLD_INSTANCE2);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

static void detached_behind_the_event(struct world *world, const struct world_event *event) {
    memory_lock(world->memory, event->volume_id, false);
    detach(world, leaving);
}

/* X30: the guest goes while the event is on its way. */
START_TEST(detach_during_the_event_is_settled_at_once) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    leaving = world_attach(world, id, WORLD_INSTANCE);
    world->on_event = detached_behind_the_event;
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);

    assert_volume(world, id, "available", 5);
    assert_settled(world);
}
END_TEST

/* X30: it went before a manager that died could send the event. */
START_TEST(detach_before_the_event_is_settled_at_once) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    leaving = world_attach(world, id, WORLD_INSTANCE);
    world_settle(world);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_die_after(world, 5); /* the keys are stored, and nothing behind them */
    world_settle(world);
    ck_assert_str_eq(world->died_at, "after_commit");
    world_restart(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE phase = 'sending'"),
                     1);
    memory_lock(world->memory, id, false);
    detach(world, leaving);
    world_settle(world);

    assert_volume(world, id, "available", 5);
    ck_assert_uint_eq(world->event_count, 0);
    assert_settled(world);
}
END_TEST

static struct fault_decision services_vanish(void *arg, const char *call, const char *volume_id) {
    (void)volume_id;
    if (strcmp(call, "extend_volume") == 0)
        world_sql(arg, "ALTER TABLE services RENAME TO vanished");
    return (struct fault_decision){ .action = FAULT_PASS };
}

/* X18: a database that does not answer proves nothing about the compute side. */
static struct fault_decision away(void *arg, const char *call, const char *volume_id) {
    (void)volume_id;
    if (strcmp(call, "get_size") == 0)
        memory_fail_next(((struct world *)arg)->memory, "get_size", ERROR_UNAVAILABLE);
    return (struct fault_decision){ .action = FAULT_PASS };
}

/* An unavailable backend is not logged every minute. */
START_TEST(a_detach_before_the_event_waits_for_an_unresponsive_backend) {
    autoworld struct world *world = world_new(NULL);
    const char *attachment, *id = pending_with_attachment(world, &attachment);

    world_sql(world,
              "UPDATE operations SET phase = 'sending', owner = 'dead:1:1', lease_until = 1");
    detach(world, attachment);
    world->decide = away;
    for (int i = 0; i < 10; i++) {
        world_settle(world);
        world_advance(world, 31);
    }
    ck_assert_int_le(world_count(world, "SELECT COUNT(*) FROM messages"), 1);
    world->decide = NULL;
    memory_lock(world->memory, id, false);
    for (int i = 0; i < 30; i++) {
        world_advance(world, 31);
        world_settle(world);
    }
    assert_volume(world, id, "available", 5);
    assert_settled(world);
}
END_TEST

/* One without a reporter waits for the image alone, and not for another deadline. */
START_TEST(detach_with_an_unreadable_image_is_settled_when_it_can_be_read) {
    autoworld struct world *world = world_new(NULL);
    const char *attachment, *id = pending_with_attachment(world, &attachment);

    world_settle(world);
    memory_lock(world->memory, id, false);
    memory_fail_next(world->memory, "get_size", ERROR_UNAVAILABLE);
    detach(world, attachment);
    world_settle(world);
    assert_volume(world, id, "extending", 2);
    world_advance(world, 31);
    world_settle(world);
    assert_volume(world, id, "available", 5);
    assert_settled(world);
}
END_TEST

static struct fault_decision detached_and_unreadable(void *arg, const char *call,
                                                     const char *volume_id) {
    struct world *world = arg;

    if (strcmp(call, "get_size") == 0) {
        world->decide = NULL;
        memory_lock(world->memory, volume_id, false);
        detach(world, leaving);
        memory_fail_next(world->memory, "get_size", ERROR_UNAVAILABLE);
    }
    return (struct fault_decision){ .action = FAULT_PASS };
}

/* X30: the guest went while its image was being read at the deadline. */
START_TEST(detach_during_an_unsuccessful_read_waits_for_no_report) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_with_attachment(world, &leaving);

    world->decide = detached_and_unreadable;
    world_advance(world, 601);
    world_settle(world);
    assert_volume(world, id, "extending", 2);
    world_advance(world, 31);
    world_settle(world);
    assert_volume(world, id, "available", 5);
    assert_settled(world);
}
END_TEST

START_TEST(a_receiver_that_cannot_be_found_is_no_refusal) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world_attach(world, id, WORLD_INSTANCE);
    world->decide = services_vanish;
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    world->decide = NULL;
    assert_volume(world, id, "extending", 2);
    ck_assert_uint_eq(world->event_count, 0);

    world_sql(world, "ALTER TABLE vanished RENAME TO services");
    world_advance(world, 2);
    world_settle(world);
    ck_assert_uint_eq(world->event_count, 1);
    assert_volume(world, id, "extending", 2);
    assert_quota(world, 2, 3);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* X35: the service dies anywhere between the request and the event's answer. */
START_TEST(death_at_any_effect_of_the_hand_over_strands_nothing) {
    for (int64_t effects = 0; effects < 20; effects++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = world_volume(world, 2);
        int status;

        world_attach(world, id, WORLD_INSTANCE);
        world_die_after(world, effects);
        status = world_action(world, id, EXTEND(5));
        world_settle(world);
        world_restart(world);
        world_settle(world);
        ck_assert_int_eq(world_check(world), 0);
        if (strcmp(world_status(world, id), "in-use") == 0) {
            ck_assert_int_eq(status, 0); /* never accepted */
            assert_quota(world, 2, 0);
            continue;
        }
        assert_volume(world, id, "extending", 2);
        ck_assert_uint_ge(world->event_count, 1);
        guest_grows(world, id, 5);
        ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
        world_settle(world);
        assert_volume(world, id, "in-use", 5);
        assert_quota(world, 5, 0);
        assert_settled(world);
    }
}
END_TEST

/* The database takes nothing for a while: begun work is finished later. */
START_TEST(commits_that_fail_strand_nothing) {
    for (unsigned hiccups = 1; hiccups < 4; hiccups++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = world_volume(world, 2);

        ck_assert_int_eq(world_action(world, id, EXTEND(9)), 202);
        world_relay(world);
        world->hiccups = hiccups;
        for (int i = 0; i < 10; i++) {
            world_settle(world);
            world_advance(world, 20);
        }
        assert_volume(world, id, "available", 9);
        assert_quota(world, 9, 0);
        assert_settled(world);
    }
}
END_TEST

/* A lease lives as long as a job runs, not as long as the manager does. */
START_TEST(a_job_that_cannot_roll_back_is_taken_over) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_sql(world, "UPDATE operations SET phase = 'running', owner = '" WORLD_NODE
                     ":1:1', lease_until = 9000000000000000, updated_at = 1");
    world_settle(world);
    assert_volume(world, id, "extending", 2);
    world_sql(world, "UPDATE operations SET lease_until = created_at + 30000000");
    world_advance(world, 20);
    world_advance(world, 20);
    world_settle(world);
    assert_volume(world, id, "available", 5);
    assert_settled(world);
}
END_TEST

/* X29, X25: nothing shrinks: an image that is larger than the target stays and the extend is
 * done. */
START_TEST(a_larger_image_stays) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    guest_grows(world, id, 5);
    world_sql(world, "UPDATE volumes SET largest_gb = 5");
    ck_assert_int_eq(world_action(world, id, EXTEND(3)), 202);
    world_settle(world);

    assert_volume(world, id, "available", 3);
    ck_assert_int_eq(world_real_gb(world, id), 5);
    assert_settled(world); /* the check knows that the object may be larger */
}
END_TEST

/* X39: the driver is notified how an extend has ended, whichever way it went. */
static struct {
    unsigned times;
    int64_t size_gb;
    bool grown;
} notified;

static void note_end(void *handle, const struct driver_volume *volume, int64_t size_gb,
                     bool grown) {
    (void)handle, (void)volume;
    notified.times++;
    notified.size_gb = size_gb;
    notified.grown = grown;
}

START_TEST(the_driver_is_notified_of_the_end) {
    autoworld struct world *world = world_new(NULL);
    const char *id = pending_extend(world);

    world->filter.extend_finished = note_end;
    ck_assert_int_eq(world_action(world, id, COMPLETE_ERROR), 202);
    world_settle(world);
    ck_assert_uint_eq(notified.times, 1);
    ck_assert_int_eq(notified.size_gb, 2);
    ck_assert(!notified.grown);

    ck_assert_int_eq(world_action(world, id, "{\"os-reset_status\": {\"status\": \"in-use\"}}"),
                     202);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    ck_assert_uint_eq(notified.times, 1);
    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    world_settle(world);
    ck_assert_uint_eq(notified.times, 2);
    ck_assert_int_eq(notified.size_gb, 5);
    ck_assert(notified.grown);
}
END_TEST

/* R46, R47: the event goes only to an agent that is known to work on the guest's host. */
static char queried[64];

static enum event_verdict note_endpoint(struct compute_sender *sender, struct arena *arena,
                                        const struct compute_event *event, struct error *err) {
    (void)sender, (void)arena;
    snprintf(queried, sizeof queried, "%s", event->endpoint ? event->endpoint : "none");
    error_set(err, ERROR_UNAVAILABLE, "a refusal of the test");
    return EVENT_REFUSED;
}

#define REPORT(host)                                            \
    "{\"binary\": \"scoria-compute\", \"host\": \"" host "\", " \
    "\"endpoint\": \"http://" host "/v2.1\"}"

START_TEST(only_an_agent_that_reports_gets_events) {
    static const struct {
        const char *report;
        int64_t seconds;
        const char *queried;
    } rows[] = {
        { REPORT(WORLD_NODE), 0, "http://" WORLD_NODE "/v2.1" },
        { REPORT("elsewhere"), 0, "none" },
        { REPORT(WORLD_NODE), 3600, "none" },
    };

    for (unsigned i = 0; i < LENGTH(rows); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = world_volume(world, 2);

        world->sender.send = note_endpoint;
        world_attach(world, id, WORLD_INSTANCE);
        ck_assert_int_eq(world_call(world, "PUT", "/os-services/report", rows[i].report), 200);
        world_advance(world, rows[i].seconds);
        ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
        world_settle(world);
        ck_assert_str_eq(queried, rows[i].queried);
        assert_volume(world, id, "error_extending", 2);
        assert_settled(world);
    }
}
END_TEST

START_TEST(a_disabled_agent_gets_no_events) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);

    world->sender.send = note_endpoint;
    world_attach(world, id, WORLD_INSTANCE);
    ck_assert_int_eq(world_call(world, "PUT", "/os-services/report", REPORT(WORLD_NODE)), 200);
    ck_assert_int_eq(world_call(world, "PUT", "/os-services/disable",
                                "{\"binary\": \"scoria-compute\", \"host\": \"" WORLD_NODE "\"}"),
                     200);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    ck_assert_str_eq(queried, "none");
}
END_TEST

#define MOVED "33333333-3333-4333-8333-333333333333"

/* A compute side where each host answers for itself. */
static struct {
    enum event_verdict here, there;
    char notification[128];
    bool wanted; /* a report, by the last event */
} hosts;

static enum event_verdict answer_by_host(struct compute_sender *sender, struct arena *arena,
                                         const struct compute_event *event, struct error *err) {
    bool here = strcmp(event->host, WORLD_NODE) == 0;
    size_t length = strlen(hosts.notification);

    (void)sender, (void)arena;
    snprintf(hosts.notification + length, sizeof hosts.notification - length, "%s ",
             event->endpoint);
    hosts.wanted = event->wants_completion;
    error_set(err, ERROR_UNAVAILABLE, "a refusal of the test");
    return here ? hosts.here : hosts.there;
}

/* X21: the instance moves and has an attachment on either host: both are notified, and one that has
 * the guest is enough. */
START_TEST(both_hosts_of_a_moving_instance_get_the_event) {
    static const struct {
        enum event_verdict here, there;
        const char *becomes;
    } rows[] = {
        { EVENT_ACCEPTED, EVENT_REFUSED, "extending" },
        { EVENT_REFUSED, EVENT_ACCEPTED, "extending" },
        { EVENT_REFUSED, EVENT_UNKNOWN, "extending" },
        { EVENT_ACCEPTED, EVENT_ACCEPTED, "extending" },
        { EVENT_REFUSED, EVENT_REFUSED, "error_extending" },
    };

    for (unsigned i = 0; i < LENGTH(rows); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = world_volume(world, 2);

        world->sender.send = answer_by_host;
        hosts.here = rows[i].here;
        hosts.there = rows[i].there;
        hosts.notification[0] = '\0';
        world_attach(world, id, WORLD_INSTANCE);
        world_sql(world, "INSERT INTO attachments (id, volume_id, project_id, instance_uuid, "
                         "attach_status, attached_host, created_at) SELECT 'a', id, project_id, "
                         "'" WORLD_INSTANCE "', 'attaching', 'there', 1 FROM volumes");
        ck_assert_int_eq(world_call(world, "PUT", "/os-services/report", REPORT(WORLD_NODE)), 200);
        ck_assert_int_eq(world_call(world, "PUT", "/os-services/report", REPORT("there")), 200);
        ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
        world_settle(world);

        assert_volume(world, id, rows[i].becomes, 2);
        ck_assert_str_eq(hosts.notification, "http://" WORLD_NODE "/v2.1 http://there/v2.1 ");
    }
}
END_TEST

/* The instance began to move before the extend and arrives while its end is awaited: its new host
 * is notified, when the guest is there. */
START_TEST(the_new_host_of_an_instance_gets_the_event_of_a_pending_extend) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 2);
    const char *former = world_attach(world, id, WORLD_INSTANCE);

    world->sender.send = answer_by_host;
    hosts.here = hosts.there = EVENT_ACCEPTED;
    hosts.notification[0] = '\0';
    world_sql(world, "INSERT INTO attachments (id, volume_id, project_id, instance_uuid, "
                     "attach_status, created_at) SELECT '" MOVED "', id, project_id, "
                     "'" WORLD_INSTANCE "', 'reserved', 1 FROM volumes");
    ck_assert_int_eq(world_call(world, "PUT", "/os-services/report", REPORT(WORLD_NODE)), 200);
    ck_assert_int_eq(world_call(world, "PUT", "/os-services/report", REPORT("there")), 200);
    ck_assert_int_eq(world_action(world, id, EXTEND(5)), 202);
    world_settle(world);
    ck_assert_str_eq(hosts.notification, "http://" WORLD_NODE "/v2.1 ");

    ck_assert_int_eq(world_call(world, "PUT", "/attachments/" MOVED,
                                "{\"attachment\": {\"connector\": {\"host\": \"there\"}}}"),
                     200);
    ck_assert_int_eq(
        world_call(world, "POST", "/attachments/" MOVED "/action", "{\"os-complete\": null}"), 204);
    hosts.notification[0] = '\0';
    ck_assert_int_eq(
        world_call(world, "DELETE", arena_format(world->arena, "/attachments/%s", former), NULL),
        200);
    /* Several changes in a row are one piece of news, which goes where the guest is then. */
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE kind = 'notify'"),
                     1);
    world_settle(world);
    ck_assert_str_eq(hosts.notification, "http://there/v2.1 ");
    ck_assert(hosts.wanted);

    guest_grows(world, id, 5);
    ck_assert_int_eq(world_action(world, id, COMPLETE_OK), 202);
    world_settle(world);
    assert_volume(world, id, "in-use", 5);
    assert_settled(world);
    ck_assert_str_eq(hosts.notification, "http://there/v2.1 ");
}
END_TEST

static int attach_elsewhere(struct world *world, const char *id) {
    return world_call(world, "POST", "/attachments",
                      arena_format(world->arena,
                                   "{\"attachment\": {\"volume_uuid\": \"%s\", \"instance_uuid\": "
                                   "\"" WORLD_INSTANCE
                                   "\", \"connector\": {\"host\": \"elsewhere\"}}}",
                                   id));
}

/* Its host is dead, and no report will come: either way out leads on long before the deadline. */
START_TEST(a_pending_extend_of_a_dead_host_can_be_ended_at_once) {
    static const struct {
        const char *reset; /* NULL: the attachment is deleted */
        const char *status;
        int64_t size;
    } ways[] = {
        { "{\"os-reset_status\": {\"status\": \"in-use\"}}", "in-use", 2 },
        { NULL, "error_extending", 2 },
    };

    for (size_t i = 0; i < LENGTH(ways); i++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = pending_extend(world), *attachment;

        attachment = arena_format(
            world->arena, "%s",
            json_string_value(json_object_get(
                json_array_get(json_object_get(world_show(world, id), "attachments"), 0),
                "attachment_id")));
        ck_assert_int_eq(attach_elsewhere(world, id), 400);
        if (ways[i].reset)
            ck_assert_int_eq(world_action(world, id, "%s", ways[i].reset), 202);
        else
            ck_assert_int_eq(world_call(world, "DELETE",
                                        arena_format(world->arena, "/attachments/%s", attachment),
                                        NULL),
                             200);
        world_settle(world);
        assert_volume(world, id, ways[i].status, ways[i].size);
        assert_settled(world);
        if (!ways[i].reset)
            ck_assert_int_eq(
                world_action(world, id, "{\"os-reset_status\": {\"status\": \"available\"}}"), 202);
        ck_assert_int_eq(attach_elsewhere(world, id), 200);
    }
}
END_TEST

CHECK_MAIN("extend job", a_pending_extend_of_a_dead_host_can_be_ended_at_once,
           failed_driver_of_an_attached_volume,
           an_extend_taken_over_waits_for_a_backend_that_is_away,
           an_extend_below_instances_notifies_them, a_refused_notification_changes_nothing,
           notifications_end_with_their_volume, deferred_without_an_instance_fails,
           a_lock_of_a_worker_that_sleeps_is_waited_for,
           deferred_for_a_host_without_an_instance_fails, deferred_with_two_instances_fails,
           two_attachments_of_one_instance_are_one, a_reserved_attachment_does_not_count,
           deferred_with_one_instance_is_handed_over, many_pending_extends_delay_no_other_operation,
           refused_event_is_rolled_back, unknown_answer_stays_pending,
           deadline_with_a_grown_image_is_a_success, deadline_with_an_old_image_is_rolled_back,
           deadline_with_an_unreadable_image_waits_on, detach_of_a_grown_image_is_a_success,
           detach_grows_the_image_offline, detach_with_the_image_still_locked_is_rolled_back,
           the_last_instance_leaves_others_behind,
           detach_during_the_drivers_call_is_settled_at_once,
           the_event_goes_to_the_instance_attached_at_that_moment,
           detach_during_the_event_is_settled_at_once, detach_before_the_event_is_settled_at_once,
           a_detach_before_the_event_waits_for_an_unresponsive_backend,
           detach_with_an_unreadable_image_is_settled_when_it_can_be_read,
           detach_during_an_unsuccessful_read_waits_for_no_report,
           a_receiver_that_cannot_be_found_is_no_refusal,
           death_at_any_effect_of_the_hand_over_strands_nothing, commits_that_fail_strand_nothing,
           a_job_that_cannot_roll_back_is_taken_over, a_larger_image_stays,
           the_driver_is_notified_of_the_end, only_an_agent_that_reports_gets_events,
           a_disabled_agent_gets_no_events, both_hosts_of_a_moving_instance_get_the_event,
           the_new_host_of_an_instance_gets_the_event_of_a_pending_extend)
