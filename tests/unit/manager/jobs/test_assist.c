/*
 * Snapshots below a running guest, made and deleted with the help of the guest's host: each answer
 * and report of the compute side, reports that are late, early or wrong, guests that leave, deaths.
 */
#include "tests/lib/extend.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/snapshots.h"

#define CREATE_MESSAGE "VOLUME_VOLUME_SNAPSHOT_009_013"
#define IN_USE_MESSAGE "VOLUME_VOLUME_SNAPSHOT_009_910"

static const char host_done[] = "{\"os-update_snapshot_status\": {\"status\": \"creating\", "
                                "\"progress\": \"90%\"}}";
static const char host_failed[] = "{\"os-update_snapshot_status\": {\"status\": \"error\"}}";

static int report(struct world *world, const char *id, const char *body) {
    return world_call(world, "POST", PATH("/snapshots/%s/action", id), body);
}

static void do_it(struct world *world, const struct world_assist *assist) {
    ck_assert(memory_assist(world->memory, assist->snapshot_id));
}

/* An attached volume with content 7 on a storage that cannot take a moment below a guest. */
static const char *busy_volume(struct world *world) {
    const char *volume = world_volume(world, 2);

    world_attach(world, volume, WORLD_INSTANCE);
    memory_defer_snapshots(world->memory, true);
    memory_write(world->memory, volume, 7);
    return volume;
}

static int64_t operations_in(struct world *world, const char *phase) {
    return world_count(world, PATH("SELECT COUNT(*) FROM operations WHERE phase = '%s'", phase));
}

/* One with an awaited report. */
static const char *pending(struct world *world, const char *volume) {
    const char *id = new_snapshot(world, volume);

    world_settle(world);
    assert_snapshot(world, id, "creating");
    ck_assert_int_eq(operations_in(world, "waiting"), 1);
    return id;
}

#define assert_at_rest(world)                                                       \
    do {                                                                            \
        ck_assert_int_eq(world_check(world), 0);                                    \
        ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0); \
    } while (0)

static void assert_made(struct world *world, const char *id, int64_t content) {
    assert_snapshot(world, id, "available");
    ck_assert_int_eq(memory_read_snapshot(world->memory, id), content);
    assert_at_rest(world);
}

/* Nor can a host that is late make it. */
static void assert_not_made(struct world *world, const char *id) {
    assert_snapshot(world, id, "error");
    ck_assert(world_has_message(world, id, CREATE_MESSAGE) !=
              world_has_message(world, id, IN_USE_MESSAGE));
    ck_assert(!memory_assist(world->memory, id));
    ck_assert_int_eq(memory_read_snapshot(world->memory, id), -1);
    assert_at_rest(world);
}

/* ---- create ---- */

START_TEST(a_host_takes_a_snapshot_that_the_storage_cannot) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id;

    world->on_assist = do_it;
    id = pending(world, volume);
    ck_assert_uint_eq(world->assist_count, 1);
    ck_assert_str_eq(world->assists[0].snapshot_id, id);
    ck_assert_str_eq(world->assists[0].host, WORLD_NODE);
    memory_write(world->memory, volume, 8);
    ck_assert_int_eq(report(world, id, host_done), 202);
    assert_snapshot(world, id, "creating"); /* until the manager has looked */
    ck_assert_str_eq(json_string_value(json_object_get(snapshot_shown(world, id),
                                                       "os-extended-snapshot-attributes:progress")),
                     "90%");
    world_settle(world);
    assert_made(world, id, 7);
    ck_assert_str_eq(world_status(world, volume), "in-use");
    ck_assert_uint_eq(world->event_count, 0);
}
END_TEST

START_TEST(a_storage_with_live_snapshots_needs_no_host) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id;

    memory_defer_snapshots(world->memory, false);
    id = snapshot_of_volume(world, volume);
    assert_made(world, id, 7);
    ck_assert_uint_eq(world->assist_count, 0);
}
END_TEST

START_TEST(a_refusal_undoes_it) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id;

    world->verdict = EVENT_REFUSED;
    id = snapshot_of_volume(world, volume);
    assert_not_made(world, id);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", id), NULL), 202);
    world_settle(world);
    assert_snapshot(world, id, "gone");
    assert_at_rest(world);
}
END_TEST

/* The files decide when no report came in time, whether the host was requested or that is
 * unknown. */
START_TEST(at_the_deadline_the_files_decide) {
    for (int has_done = 0; has_done <= 1; has_done++)
        for (int unknown = 0; unknown <= 1; unknown++) {
            autoworld struct world *world = world_new(NULL);
            const char *volume = busy_volume(world), *id;

            world->verdict = unknown ? EVENT_UNKNOWN : EVENT_ACCEPTED;
            world->on_assist = has_done ? do_it : NULL;
            id = pending(world, volume);
            world_advance(world, 500);
            world_settle(world);
            assert_snapshot(world, id, "creating");
            world_advance(world, 200);
            world_settle(world);
            if (has_done)
                assert_made(world, id, 7);
            else
                assert_not_made(world, id);
            ck_assert_int_eq(report(world, id, host_done), 400);
            ck_assert_int_eq(report(world, id, host_failed), 400);
        }
}
END_TEST

START_TEST(the_files_take_precedence_over_a_report) {
    for (int has_done = 0; has_done <= 1; has_done++) {
        autoworld struct world *world = world_new(NULL);
        const char *volume = busy_volume(world), *id;

        world->on_assist = has_done ? do_it : NULL;
        id = pending(world, volume);
        ck_assert_int_eq(report(world, id, has_done ? host_failed : host_done), 202);
        world_settle(world);
        if (has_done)
            assert_made(world, id, 7);
        else
            assert_not_made(world, id);
    }
}
END_TEST

/* Early, twice, unlike the first, or of no meaning. */
START_TEST(one_report_counts) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id = new_snapshot(world, volume);

    world->on_assist = do_it;
    ck_assert_int_eq(report(world, id, host_failed), 400); /* no host was requested */
    ck_assert_int_eq(report(world, id, host_done), 202);   /* is only shown */
    ck_assert_int_eq(operations_in(world, "queued"), 1);
    world_settle(world);
    ck_assert_int_eq(report(world, id,
                            "{\"os-update_snapshot_status\": {\"status\": \"creating\", "
                            "\"progress\": \"50%\"}}"),
                     202);
    ck_assert_int_eq(
        report(world, id, "{\"os-update_snapshot_status\": {\"status\": \"available\"}}"), 400);
    ck_assert_int_eq(operations_in(world, "waiting"), 1);
    ck_assert_int_eq(report(world, id, host_done), 202);
    ck_assert_int_eq(report(world, id, host_done), 202);
    ck_assert_int_eq(report(world, id, host_failed), 400);
    world_settle(world);
    assert_made(world, id, 7);
    ck_assert_int_eq(report(world, id, host_failed), 400);
}
END_TEST

START_TEST(one_attachment_of_an_instance_is_requested) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id;

    /* As while the instance moves to another host. */
    ck_assert_int_eq(
        world_call(world, "POST", "/attachments",
                   PATH("{\"attachment\": {\"volume_uuid\": \"%s\", \"instance_uuid\": \"%s\"}}",
                        volume, WORLD_INSTANCE)),
        200);
    id = snapshot_of_volume(world, volume);
    ck_assert_uint_eq(world->assist_count, 0);
    assert_not_made(world, id);
    ck_assert(world_has_message(world, id, IN_USE_MESSAGE));
}
END_TEST

/* Another guest's or none: there was no host to request. */
START_TEST(a_lock_that_no_row_explains_fails) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *id;

    memory_defer_snapshots(world->memory, true);
    memory_lock(world->memory, volume, true);
    id = snapshot_of_volume(world, volume);
    ck_assert_uint_eq(world->assist_count, 0);
    assert_not_made(world, id);
    ck_assert(world_has_message(world, id, IN_USE_MESSAGE));
}
END_TEST

/* Other operations on the volume begin when it has ended. */
START_TEST(others_wait_for_the_host) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *first, *second, *clone;

    world->on_assist = do_it;
    first = pending(world, volume);
    second = new_snapshot(world, volume);
    ck_assert_int_eq(world_action(world, volume, EXTEND(5)), 202);
    ck_assert_int_eq(world_call(world, "POST", "/volumes",
                                PATH("{\"volume\": {\"source_volid\": \"%s\"}}", volume)),
                     400); /* its status is extending */
    world_settle(world);
    world_advance(world, 5);
    world_settle(world);
    ck_assert_uint_eq(world->assist_count, 1);
    ck_assert_uint_eq(world->event_count, 0);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE attempts > 0"), 1);
    ck_assert_int_eq(world_call(world, "POST", "/attachments",
                                PATH("{\"attachment\": {\"volume_uuid\": \"%s\"}}", volume)),
                     400);
    ck_assert_int_eq(report(world, first, host_done), 202);
    world_settle(world);
    assert_snapshot(world, first, "available");
    ck_assert_uint_eq(world->assist_count, 2);
    ck_assert_uint_eq(world->event_count, 0);
    ck_assert_int_eq(report(world, second, host_done), 202);
    world_settle(world);
    ck_assert_uint_eq(world->event_count, 1);
    guest_grows(world, volume, 5);
    ck_assert_int_eq(world_action(world, volume, COMPLETE_OK), 202);
    world_settle(world);
    assert_snapshot(world, second, "available");
    ck_assert_int_eq(world_size(world, volume), 5);
    ck_assert_int_eq(world_call(world, "POST", "/volumes",
                                PATH("{\"volume\": {\"snapshot_id\": \"%s\"}}", first)),
                     202);
    clone = world_answer_id(world, "volume");
    world_settle(world);
    ck_assert_str_eq(world_status(world, clone), "available");
    assert_at_rest(world);
}
END_TEST

/* No worker is held meanwhile, and there is no polling; the end notifies them. */
START_TEST(the_end_of_a_hosts_part_notifies_waiting_operations) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *old, *id, *copy;

    memory_defer_snapshots(world->memory, false);
    old = snapshot_of_volume(world, volume);
    memory_defer_snapshots(world->memory, true);
    world->on_assist = do_it;
    id = pending(world, volume);
    world_advance(world, 1);
    world_call(world, "POST", "/volumes", PATH("{\"volume\": {\"snapshot_id\": \"%s\"}}", old));
    copy = world_answer_id(world, "volume");
    new_snapshot(world, volume);
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE attempts > 0"), 1);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations WHERE owner <> '' OR "
                                        "lease_until IS NOT NULL"),
                     0);
    ck_assert_str_eq(world_status(world, copy), "creating");
    ck_assert_int_eq(report(world, id, host_done), 202);
    world_settle(world);
    assert_snapshot(world, id, "available");
    ck_assert_uint_eq(world->assist_count, 2);
}
END_TEST

/* The last guest goes: no report will come, the files decide at once. */
START_TEST(a_guest_that_leaves_is_not_waited_for) {
    for (int has_done = 0; has_done <= 1; has_done++) {
        autoworld struct world *world = world_new(NULL);
        const char *volume = world_volume(world, 2), *id;
        const char *attachment = world_attach(world, volume, WORLD_INSTANCE);

        memory_defer_snapshots(world->memory, true);
        memory_write(world->memory, volume, 7);
        world->on_assist = has_done ? do_it : NULL;
        id = pending(world, volume);
        ck_assert_int_eq(world_call(world, "DELETE", PATH("/attachments/%s", attachment), NULL),
                         200);
        memory_lock(world->memory, volume, false);
        world_settle(world);
        if (has_done)
            assert_made(world, id, 7);
        else
            assert_not_made(world, id);
        ck_assert_str_eq(world_status(world, volume), "available");
    }
}
END_TEST

/* It may take as long as it likes: nothing is decided that cannot be known. */
START_TEST(an_unknown_outcome_keeps_waiting) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id;

    world->on_assist = do_it;
    id = pending(world, volume);
    memory_fail_next(world->memory, "complete_assist", ERROR_BACKEND);
    world_advance(world, 700);
    world_settle(world);
    assert_snapshot(world, id, "creating");
    ck_assert_int_eq(operations_in(world, "waiting"), 1);
    memory_fail_next(world->memory, "complete_assist", ERROR_BACKEND);
    ck_assert_int_eq(report(world, id, host_done), 202);
    world_settle(world);
    assert_snapshot(world, id, "creating");
    world_advance(world, 31);
    world_settle(world);
    assert_made(world, id, 7);
}
END_TEST

START_TEST(files_that_cannot_be_made_ready_fail_it) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id;

    memory_fail_next(world->memory, "prepare_assist", ERROR_BACKEND);
    id = snapshot_of_volume(world, volume);
    ck_assert_uint_eq(world->assist_count, 0);
    assert_not_made(world, id);
}
END_TEST

static bool tells_lack_of_space(struct world *world, const char *id) {
    return world_count(world, PATH("SELECT COUNT(*) FROM messages WHERE resource_uuid = '%s' AND "
                                   "reason LIKE 'No space is left%%'",
                                   id)) == 1;
}

START_TEST(lack_of_space_for_the_files_reaches_the_user) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id;

    memory_fill_before(world->memory, "prepare_assist");
    id = snapshot_of_volume(world, volume);
    ck_assert_uint_eq(world->assist_count, 0);
    assert_not_made(world, id);
    ck_assert(tells_lack_of_space(world, id));
}
END_TEST

/* An operator ends the wait: by force, and the object goes; a reset leaves the end to the host. */
START_TEST(a_forced_delete_ends_the_wait) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id = pending(world, volume);

    memory_defer_snapshots(world->memory, false);
    ck_assert_int_eq(report(world, id, "{\"os-force_delete\": null}"), 202);
    world_settle(world);
    assert_snapshot(world, id, "gone");
    assert_at_rest(world);
}
END_TEST

START_TEST(a_reset_does_not_end_the_work) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id;

    world->on_assist = do_it;
    id = pending(world, volume);
    ck_assert_int_eq(report(world, id, "{\"os-reset_status\": {\"status\": \"error\"}}"), 202);
    ck_assert_int_eq(
        report(world, id, "{\"os-update_snapshot_status\": {\"status\": \"creating\"}}"), 202);
    ck_assert_int_eq(report(world, id, host_done), 202);
    world_settle(world);
    assert_snapshot(world, id, "error"); /* as the operator calls it */
    ck_assert_int_eq(memory_read_snapshot(world->memory, id), 7);
    assert_at_rest(world);
}
END_TEST

/* ---- delete ---- */

#define DELETE_MESSAGE "VOLUME_VOLUME_SNAPSHOT_010_016"

static const char merge_done[] = "{\"os-update_snapshot_status\": {\"status\": \"deleting\", "
                                 "\"progress\": \"90%\"}}";
static const char merge_failed[] =
    "{\"os-update_snapshot_status\": {\"status\": \"error_deleting\"}}";

/* A snapshot with content 7 below a guest that writes 8. */
static const char *kept_snapshot(struct world *world, const char **ret_volume) {
    const char *volume = busy_volume(world), *id;

    memory_defer_snapshots(world->memory, false);
    id = snapshot_of_volume(world, volume);
    memory_defer_snapshots(world->memory, true);
    memory_write(world->memory, volume, 8);
    *ret_volume = volume;
    return id;
}

static void request_delete(struct world *world, const char *id) {
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", id), NULL), 202);
    world_settle(world);
}

START_TEST(a_host_merges_images_that_the_storage_cannot) {
    autoworld struct world *world = world_new(NULL);
    const char *volume, *id = kept_snapshot(world, &volume);

    world->on_assist = do_it;
    request_delete(world, id);
    ck_assert_uint_eq(world->assist_count, 1);
    ck_assert(world->assists[0].deletes);
    assert_snapshot(world, id, "deleting");
    ck_assert_int_eq(report(world, id, host_done), 400);
    ck_assert_int_eq(report(world, id, merge_done), 202);
    world_settle(world);
    assert_snapshot(world, id, "gone");
    ck_assert_int_eq(memory_read(world->memory, volume), 8);
    assert_at_rest(world);
}
END_TEST

START_TEST(a_refused_merge_changes_nothing) {
    autoworld struct world *world = world_new(NULL);
    const char *volume, *id = kept_snapshot(world, &volume);

    world->verdict = EVENT_REFUSED;
    request_delete(world, id);
    assert_snapshot(world, id, "error_deleting");
    ck_assert(world_has_message(world, id, DELETE_MESSAGE));
    ck_assert_int_eq(memory_read_snapshot(world->memory, id), 7);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM snapshots WHERE delete_begun = 1"),
                     0);
    assert_at_rest(world);
    ck_assert_int_eq(report(world, id, "{\"os-reset_status\": {\"status\": \"available\"}}"), 202);

    world->verdict = EVENT_ACCEPTED;
    world->on_assist = do_it;
    request_delete(world, id);
    ck_assert_int_eq(report(world, id, merge_done), 202);
    world_settle(world);
    assert_snapshot(world, id, "gone");
    assert_at_rest(world);
}
END_TEST

START_TEST(lack_of_space_for_a_merge_reaches_the_user) {
    autoworld struct world *world = world_new(NULL);
    const char *volume, *id = kept_snapshot(world, &volume);

    memory_fill_before(world->memory, "prepare_assist");
    request_delete(world, id);
    ck_assert_uint_eq(world->assist_count, 0);
    assert_snapshot(world, id, "error_deleting");
    ck_assert(world_has_message(world, id, DELETE_MESSAGE));
    ck_assert(tells_lack_of_space(world, id));
    assert_at_rest(world);
}
END_TEST

START_TEST(the_files_decide_how_a_merge_ended) {
    static const char *const reports[] = { merge_done, merge_failed, NULL };

    for (size_t i = 0; i < LENGTH(reports); i++)
        for (int has_done = 0; has_done <= 1; has_done++) {
            autoworld struct world *world = world_new(NULL);
            const char *volume, *id = kept_snapshot(world, &volume);

            world->on_assist = has_done ? do_it : NULL;
            request_delete(world, id);
            if (reports[i])
                ck_assert_int_eq(report(world, id, reports[i]), 202);
            else
                world_advance(world, 7300);
            world_settle(world);
            assert_snapshot(world, id, has_done ? "gone" : "error_deleting");
            assert_at_rest(world);
            /* A snapshot that may have been begun does not become available. */
            if (!has_done)
                ck_assert_int_eq(
                    report(world, id, "{\"os-reset_status\": {\"status\": \"available\"}}"), 400);
        }
}
END_TEST

START_TEST(a_reset_ends_the_wait_for_a_merge) {
    autoworld struct world *world = world_new(NULL);
    const char *volume, *id = kept_snapshot(world, &volume);

    request_delete(world, id);
    ck_assert_int_eq(report(world, id, "{\"os-reset_status\": {\"status\": \"error\"}}"), 202);
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(report(world, id, merge_done), 400);
    world->on_assist = do_it;
    request_delete(world, id);
    ck_assert_int_eq(report(world, id, merge_done), 202);
    world_settle(world);
    assert_snapshot(world, id, "gone");
    assert_at_rest(world);
}
END_TEST

/* An image that must not be below a guest is refused at the request. */
START_TEST(a_cascade_requests_no_host) {
    autoworld struct world *world = world_new(NULL);
    const char *volume, *id = kept_snapshot(world, &volume);

    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s?cascade=true", volume), NULL),
                     400);
    ck_assert_int_eq(world_action(world, volume, "{\"revert\": {\"snapshot_id\": \"%s\"}}", id),
                     409);
    ck_assert_int_eq(world_action(world, volume, "{\"os-unmanage\": null}"), 400);
    world_settle(world);
    assert_snapshot(world, id, "available");
    ck_assert_uint_eq(world->assist_count, 0);
}
END_TEST

/* ---- deaths ---- */

static bool reports_at_once;

static void do_it_and_report(struct world *world, const struct world_assist *assist) {
    memory_assist(world->memory, assist->snapshot_id);
    reports_at_once = true;
}

START_TEST(death_at_any_effect_strands_nothing) {
    for (int64_t effects = WALK_FIRST; effects < 40; effects += WALK_STEP) {
        autoworld struct world *world = world_new(NULL);
        const char *volume = busy_volume(world), *id;

        world->on_assist = do_it_and_report;
        world_die_after(world, effects);
        id = request_snapshot(world, volume, "") == 202 ? world_answer_id(world, "snapshot") : NULL;
        world_settle(world);
        if (id && !world->dead)
            report(world, id, host_done);
        world_settle(world);
        world_restart(world);
        world_settle(world);
        ck_assert_int_eq(world_check(world), 0);
        if (!id)
            continue;
        if (strcmp(snapshot_status(world, id), "creating") == 0) {
            ck_assert_int_eq(report(world, id, host_done), 202);
            world_settle(world);
        }
        assert_made(world, id, 7);
    }
    ck_assert(reports_at_once || !WALK_IS_WHOLE);
}
END_TEST

START_TEST(death_at_any_effect_of_a_merge_strands_nothing) {
    for (int64_t effects = WALK_FIRST; effects < 40; effects += WALK_STEP) {
        autoworld struct world *world = world_new(NULL);
        const char *volume, *id = kept_snapshot(world, &volume);

        world->on_assist = do_it_and_report;
        world_die_after(world, effects);
        world_call(world, "DELETE", PATH("/snapshots/%s", id), NULL);
        world_settle(world);
        if (!world->dead)
            report(world, id, merge_done);
        world_settle(world);
        world_restart(world);
        world_settle(world);
        ck_assert_int_eq(world_check(world), 0);
        if (strcmp(snapshot_status(world, id), "available") == 0)
            continue;
        if (strcmp(snapshot_status(world, id), "deleting") == 0) {
            ck_assert_int_eq(report(world, id, merge_done), 202);
            world_settle(world);
        }
        assert_snapshot(world, id, "gone");
        assert_at_rest(world);
    }
}
END_TEST

/* Of a host that does nothing. */
START_TEST(death_at_any_effect_of_an_undoing_strands_nothing) {
    for (int64_t effects = WALK_FIRST; effects < 40; effects += WALK_STEP) {
        autoworld struct world *world = world_new(NULL);
        const char *volume = busy_volume(world), *id;

        world_die_after(world, effects);
        id = request_snapshot(world, volume, "") == 202 ? world_answer_id(world, "snapshot") : NULL;
        world_settle(world);
        if (id && !world->dead)
            report(world, id, host_failed);
        world_settle(world);
        world_restart(world);
        world_settle(world);
        world_advance(world, 700);
        world_settle(world);
        if (id)
            assert_not_made(world, id);
    }
}
END_TEST

/* ---- an unresponsive host ---- */

static const char create_sign[] = "{\"os-update_snapshot_status\": {\"status\": \"creating\", "
                                  "\"progress\": \"0%\"}}";
static const char merge_sign[] = "{\"os-update_snapshot_status\": {\"status\": \"deleting\", "
                                 "\"progress\": \"44%\"}}";

/* So many seconds pass, one by one. */
static void let_pass(struct world *world, int seconds) {
    for (int i = 0; i < seconds; i++) {
        world_advance(world, 1);
        world_settle(world);
    }
}

/* Is it requested again after that many seconds without a response, and not before? */
static void assert_requested_after(struct world *world, int seconds) {
    unsigned before = world->assist_count;

    let_pass(world, seconds - 1);
    ck_assert_uint_eq(world->assist_count, before);
    /* A message of a waiting operation is lost when it is older than the grace of orphans. */
    for (int i = 0; i < 30 && world->assist_count == before; i++)
        let_pass(world, 1);
    ck_assert_uint_eq(world->assist_count, before + 1);
    ck_assert(world->assists[before % WORLD_EVENTS].again);
}

START_TEST(an_agent_that_lost_its_job_is_requested_again) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id = pending(world, volume);

    ck_assert_uint_eq(world->assist_count, 1);
    ck_assert(!world->assists[0].again);
    world->on_assist = do_it;
    assert_requested_after(world, 20);
    ck_assert_str_eq(world->assists[1].snapshot_id, id);
    assert_snapshot(world, id, "creating");
    ck_assert_int_eq(operations_in(world, "waiting"), 1);
    ck_assert_int_eq(report(world, id, host_done), 202);
    world_settle(world);
    assert_made(world, id, 7);
}
END_TEST

START_TEST(pauses_between_requests_grow) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id = pending(world, volume);

    for (int silence = 20; silence <= 160; silence *= 2)
        assert_requested_after(world, silence);
    /* A sign of life ends that. */
    ck_assert_int_eq(report(world, id, create_sign), 202);
    assert_requested_after(world, 20);
    /* However often it is requested, the last deadline stays where it was. */
    let_pass(world, 300);
    assert_not_made(world, id);
}
END_TEST

START_TEST(an_agent_at_work_is_not_requested_again) {
    autoworld struct world *world = world_new(NULL);
    const char *volume, *id = kept_snapshot(world, &volume);

    request_delete(world, id);
    for (int i = 0; i < 100; i++) {
        let_pass(world, 10);
        ck_assert_int_eq(report(world, id, merge_sign), 202);
    }
    ck_assert_uint_eq(world->assist_count, 1);
    world->on_assist = do_it;
    assert_requested_after(world, 20);
    ck_assert_int_eq(report(world, id, merge_done), 202);
    world_settle(world);
    assert_snapshot(world, id, "gone");
    assert_at_rest(world);
}
END_TEST

/* Signs of life do not put off the deadline itself. */
START_TEST(an_agent_that_never_finishes_times_out) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id = pending(world, volume);

    for (int i = 0; i < 59; i++) {
        let_pass(world, 10);
        ck_assert_int_eq(report(world, id, create_sign), 202);
    }
    let_pass(world, 30);
    assert_not_made(world, id);
    ck_assert_int_eq(report(world, id, create_sign), 400);
}
END_TEST

/* A refusal now decides nothing about an earlier request; and a host that refuses at once is
 * requested less often. */
START_TEST(a_refusal_of_an_accepted_request_ends_nothing) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id = pending(world, volume);

    world->verdict = EVENT_REFUSED;
    let_pass(world, 300);
    assert_snapshot(world, id, "creating");
    ck_assert_int_eq(operations_in(world, "waiting"), 1);
    world->verdict = EVENT_ACCEPTED;
    world->on_assist = do_it;
    for (int i = 0; i < 40 && world->assist_count == 1; i++)
        let_pass(world, 1);
    ck_assert_uint_eq(world->assist_count, 2);
    ck_assert_int_eq(report(world, id, host_done), 202);
    world_settle(world);
    assert_made(world, id, 7);
}
END_TEST

/* Its guest is off, and the host that was requested before has gone. */
START_TEST(an_agent_that_cannot_do_it_ends_the_wait) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id = pending(world, volume);

    world->verdict = EVENT_REFUSED;
    world->refusal = ERROR_BAD_REQUEST;
    let_pass(world, 40);
    assert_not_made(world, id);
    ck_assert_int_eq(report(world, id, host_done), 400);
}
END_TEST

/* It cannot join: a running job would be begun once more. */
START_TEST(a_compute_service_is_requested_once) {
    for (int64_t effects = WALK_FIRST; effects < 40; effects += WALK_STEP) {
        autoworld struct world *world = world_new(NULL);
        const char *volume = busy_volume(world), *id;

        world->sender.asks_again = false;
        world_die_after(world, effects);
        id = request_snapshot(world, volume, "") == 202 ? world_answer_id(world, "snapshot") : NULL;
        world_settle(world);
        world_restart(world);
        let_pass(world, 300);
        ck_assert_uint_le(world->assist_count, 1);
        if (!id)
            continue;
        assert_snapshot(world, id, "creating");
        let_pass(world, 400);
        assert_not_made(world, id);
    }
}
END_TEST

/* [compute] snapshots is nova since a restart: the agent that has the request may be at work. */
START_TEST(a_request_to_an_agent_is_not_repeated_to_nova) {
    for (int has_done = 0; has_done <= 1; has_done++) {
        autoworld struct world *world = world_new(NULL);
        const char *volume = busy_volume(world), *id;

        world->on_assist = has_done ? do_it : NULL;
        id = pending(world, volume);
        world->sender.assists_once = true;
        world_restart(world);
        let_pass(world, 300);
        ck_assert_uint_eq(world->assist_count, 1);
        assert_snapshot(world, id, "creating");
        if (has_done)
            ck_assert_int_eq(report(world, id, host_done), 202);
        let_pass(world, has_done ? 1 : 400);
        if (has_done)
            assert_made(world, id, 7);
        else
            assert_not_made(world, id);
        ck_assert_uint_eq(world->assist_count, 1);
    }
}
END_TEST

/* Its report was lost with it; of a merge the files show it before any request. */
START_TEST(an_unreported_result_is_found) {
    autoworld struct world *world = world_new(NULL);
    const char *volume, *id = kept_snapshot(world, &volume);

    world->on_assist = do_it;
    request_delete(world, id);
    ck_assert_int_eq(operations_in(world, "waiting"), 1);
    let_pass(world, 60);
    ck_assert_uint_eq(world->assist_count, 1);
    assert_snapshot(world, id, "gone");
    assert_at_rest(world);
}
END_TEST

/* Nor by a sign of life that comes late. */
START_TEST(no_host_is_queried_after_the_guest_has_left) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *id;
    const char *attachment = world_attach(world, volume, WORLD_INSTANCE);

    memory_defer_snapshots(world->memory, true);
    memory_write(world->memory, volume, 7);
    id = pending(world, volume);
    let_pass(world, 15);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/attachments/%s", attachment), NULL), 200);
    memory_lock(world->memory, volume, false);
    ck_assert_int_eq(report(world, id, create_sign), 202); /* late */
    world_settle(world);
    ck_assert_uint_eq(world->assist_count, 1);
    assert_not_made(world, id);
}
END_TEST

/* The files cannot be read just now. */
START_TEST(missing_storage_postpones_the_request) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id = pending(world, volume);

    memory_fail_next(world->memory, "prepare_assist", ERROR_UNAVAILABLE);
    let_pass(world, 37);
    ck_assert_uint_eq(world->assist_count, 1);
    ck_assert_int_eq(operations_in(world, "waiting"), 1);
    world->on_assist = do_it;
    let_pass(world, 40);
    ck_assert_uint_eq(world->assist_count, 2);
    ck_assert_int_eq(report(world, id, host_done), 202);
    world_settle(world);
    assert_made(world, id, 7);
}
END_TEST

/* An agent that slept queries whether it is awaited before it begins: not between two requests. */
START_TEST(progress_counts_only_while_it_is_awaited) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id = pending(world, volume);

    ck_assert_int_eq(report(world, id, create_sign), 202);
    ck_assert_int_eq(report(world, id, host_failed), 202);
    ck_assert_int_eq(report(world, id, create_sign), 400); /* a manager is about to undo it */
    world_settle(world);
    assert_not_made(world, id);
}
END_TEST

START_TEST(death_during_a_repeated_request_strands_nothing) {
    for (int64_t effects = WALK_FIRST; effects < 20; effects += WALK_STEP) {
        autoworld struct world *world = world_new(NULL);
        const char *volume = busy_volume(world), *id = pending(world, volume);

        world->on_assist = do_it;
        world_die_after(world, effects);
        let_pass(world, 40);
        world_restart(world);
        for (int i = 0; i < 60 && world->assist_count == 1; i++)
            let_pass(world, 1);
        ck_assert_uint_ge(world->assist_count, 2);
        ck_assert_int_eq(report(world, id, host_done), 202);
        world_settle(world);
        assert_made(world, id, 7);
    }
}
END_TEST

/* ---- a host that is down ---- */

#define OTHER_HOST "{\"host\": \"other\"}"

static void agent_reports(struct world *world) {
    const char *token = world->token;

    world->token = "admin:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "PUT", "/os-services/report",
                                "{\"binary\": \"scoria-compute\", \"host\": \"" WORLD_NODE
                                "\", \"endpoint\": \"http://agent/v2.1\"}"),
                     200);
    world->token = token;
}

static int attach_elsewhere(struct world *world, const char *volume) {
    return world_call(world, "POST", "/attachments",
                      PATH("{\"attachment\": {\"volume_uuid\": \"%s\", \"instance_uuid\": "
                           "\"" WORLD_INSTANCE "\", \"connector\": " OTHER_HOST "}}",
                           volume));
}

/* Far before its deadline: the instance can start on another host. */
START_TEST(a_host_that_is_down_is_not_waited_for) {
    for (int deletes = 0; deletes < 2; deletes++) {
        autoworld struct world *world = world_new(NULL);
        const char *volume, *id = kept_snapshot(world, &volume);

        agent_reports(world);
        world->settings.assisted_create_deadline_s = 7200;
        if (deletes)
            request_delete(world, id);
        else
            id = pending(world, volume);
        world->verdict = EVENT_REFUSED;
        world->refusal = ERROR_UNAVAILABLE;
        ck_assert_int_eq(attach_elsewhere(world, volume), 400);
        let_pass(world, 55);
        ck_assert_int_eq(operations_in(world, "waiting"), 1);
        let_pass(world, 60);
        assert_snapshot(world, id, deletes ? "error_deleting" : "error");
        assert_at_rest(world);
        ck_assert_int_eq(attach_elsewhere(world, volume), 200);
        ck_assert_int_eq(memory_read(world->memory, volume), 8);
    }
}
END_TEST

/* The work that the host did before it went down is found. */
START_TEST(the_result_of_a_host_that_went_down_is_found) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id;

    agent_reports(world);
    world->on_assist = do_it;
    id = pending(world, volume);
    world->verdict = EVENT_REFUSED;
    world->refusal = ERROR_UNAVAILABLE;
    let_pass(world, 115);
    assert_made(world, id, 7);
}
END_TEST

static void let_pass_reporting(struct world *world, int seconds) {
    for (int i = 0; i < seconds; i += 10) {
        agent_reports(world);
        let_pass(world, 10);
    }
}

START_TEST(a_host_that_reports_is_waited_for) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = busy_volume(world), *id;

    world->settings.assisted_create_deadline_s = 7200;
    agent_reports(world);
    id = pending(world, volume);
    let_pass_reporting(world, 400);
    assert_snapshot(world, id, "creating");
    ck_assert_int_eq(operations_in(world, "waiting"), 1);
    world->on_assist = do_it;
    let_pass_reporting(world, 280);
    ck_assert_int_eq(report(world, id, host_done), 202);
    world_settle(world);
    assert_made(world, id, 7);
}
END_TEST

CHECK_MAIN("assist job", a_host_takes_a_snapshot_that_the_storage_cannot,
           a_storage_with_live_snapshots_needs_no_host, a_refusal_undoes_it,
           at_the_deadline_the_files_decide, the_files_take_precedence_over_a_report,
           one_report_counts, one_attachment_of_an_instance_is_requested,
           a_lock_that_no_row_explains_fails, others_wait_for_the_host,
           the_end_of_a_hosts_part_notifies_waiting_operations,
           a_guest_that_leaves_is_not_waited_for, an_unknown_outcome_keeps_waiting,
           files_that_cannot_be_made_ready_fail_it, lack_of_space_for_the_files_reaches_the_user,
           lack_of_space_for_a_merge_reaches_the_user, a_forced_delete_ends_the_wait,
           a_reset_does_not_end_the_work, death_at_any_effect_strands_nothing,
           death_at_any_effect_of_an_undoing_strands_nothing,
           a_host_merges_images_that_the_storage_cannot, a_refused_merge_changes_nothing,
           the_files_decide_how_a_merge_ended, a_reset_ends_the_wait_for_a_merge,
           a_cascade_requests_no_host, death_at_any_effect_of_a_merge_strands_nothing,
           an_agent_that_lost_its_job_is_requested_again, pauses_between_requests_grow,
           an_agent_at_work_is_not_requested_again, an_agent_that_never_finishes_times_out,
           a_refusal_of_an_accepted_request_ends_nothing, an_agent_that_cannot_do_it_ends_the_wait,
           a_compute_service_is_requested_once, a_request_to_an_agent_is_not_repeated_to_nova,
           an_unreported_result_is_found, no_host_is_queried_after_the_guest_has_left,
           missing_storage_postpones_the_request, progress_counts_only_while_it_is_awaited,
           death_during_a_repeated_request_strands_nothing, a_host_that_is_down_is_not_waited_for,
           the_result_of_a_host_that_went_down_is_found, a_host_that_reports_is_waited_for)
