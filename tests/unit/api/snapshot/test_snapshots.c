#include "tests/lib/check_main.h"
#include "tests/lib/exchange.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/roles.h"
#include "tests/lib/snapshots.h"

/* ---- life ---- */

START_TEST(a_snapshot_is_made_shown_listed_and_deleted) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2);
    const json_t *made;
    const char *id;

    memory_write(world->memory, volume, 7);
    id = new_snapshot(world, volume);
    made = json_object_get(world->answer, "snapshot");
    ck_assert_str_eq(json_string_value(json_object_get(made, "status")), "creating");
    ck_assert_int_eq(json_integer_value(json_object_get(made, "size")), 2);
    ck_assert_ptr_null(json_object_get(made, "os-extended-snapshot-attributes:progress"));
    world_settle(world);
    made = snapshot_shown(world, id);
    ck_assert_str_eq(json_string_value(json_object_get(made, "status")), "available");
    ck_assert_str_eq(json_string_value(json_object_get(made, "volume_id")), volume);
    ck_assert_str_eq(
        json_string_value(json_object_get(made, "os-extended-snapshot-attributes:progress")),
        "100%");
    ck_assert_int_eq(memory_read_snapshot(world->memory, id), 7);
    ck_assert_int_eq(world_in_use(world, "snapshots"), 1);
    ck_assert_int_eq(world_in_use(world, "snapshots___DEFAULT__"), 1);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 4);
    ck_assert_int_eq(world_check(world), 0);

    ck_assert_int_eq(world_call(world, "GET", "/snapshots/detail?with_count=true", NULL), 200);
    ck_assert_int_eq(json_integer_value(json_object_get(world->answer, "count")), 1);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", id), NULL), 202);
    ck_assert_str_eq(snapshot_status(world, id), "deleting");
    world_settle(world);
    ck_assert_str_eq(snapshot_status(world, id), "gone");
    ck_assert_int_eq(memory_read_snapshot(world->memory, id), -1);
    ck_assert_int_eq(world_in_use(world, "snapshots"), 0);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 2);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

static struct world *copying;

static void assert_progress(const struct driver_snapshot *snapshot, const char *percent) {
    const json_t *shown = snapshot_shown(copying, snapshot->id);

    ck_assert_str_eq(
        json_string_value(json_object_get(shown, "os-extended-snapshot-attributes:progress")),
        percent);
}

/* A storage that copies: 1 GiB, and a second later 2 of 3. */
static enum driver_outcome copy_slowly(void *handle, struct arena *arena,
                                       const struct driver_volume *volume,
                                       const struct driver_snapshot *snapshot,
                                       const struct driver_progress *progress,
                                       struct driver_created *ret, struct error *err) {
    ck_assert(progress->tell(progress, GIB, 3 * GIB));
    assert_progress(snapshot, "0%");
    world_advance(copying, 2);
    ck_assert(progress->tell(progress, 2 * GIB, 3 * GIB));
    assert_progress(snapshot, "66%");
    world_advance(copying, 2);
    ck_assert(progress->tell(progress, 3 * GIB, 3 * GIB));
    assert_progress(snapshot, "99%");
    (void)handle;
    return memory_driver.create_snapshot(copying->memory, arena, volume, snapshot, progress, ret,
                                         err);
}

START_TEST(a_snapshot_that_is_copied_shows_how_far_it_is) {
    autoworld struct world *world = copying = world_new(NULL);
    const char *volume = world_volume(world, 3), *id;

    world->filter.create_snapshot = copy_slowly;
    id = snapshot_of_volume(world, volume);
    assert_snapshot(world, id, "available");
    ck_assert_str_eq(json_string_value(json_object_get(snapshot_shown(world, id),
                                                       "os-extended-snapshot-attributes:progress")),
                     "100%");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(a_volume_with_snapshots_is_not_deleted) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *id = snapshot_of_volume(world, volume);

    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s", volume), NULL), 400);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s?force=true", volume), NULL),
                     400);
    ck_assert_str_eq(world_status(world, volume), "available");
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", id), NULL), 202);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s", volume), NULL), 400);
    world_settle(world);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s", volume), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(world_status(world, volume), "gone");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(snapshots_of_one_volume_are_worked_on_one_after_the_other) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *ids[3];

    for (int i = 0; i < 3; i++)
        ids[i] = new_snapshot(world, volume);
    ck_assert_int_eq(world_action(world, volume, "{\"os-extend\": {\"new_size\": 5}}"), 202);
    world_relay(world);
    while (world_step(world, 3) || world_step(world, 2) || world_step(world, 1)) /* not in order */
        world_relay(world);
    world_settle(world);
    for (int i = 0; i < 3; i++)
        ck_assert_str_eq(snapshot_status(world, ids[i]), "available");
    ck_assert_int_eq(world_size(world, volume), 5);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* ---- bodies ---- */

START_TEST(a_bad_body_makes_nothing) {
    static const char *const bodies[] = {
        "{}",
        "{\"snapshot\": {}}",
        "{\"snapshot\": {\"volume_id\": \"x\"}}",
        "{\"snapshot\": {\"volume_id\": \"V\", \"more\": 1}}",
        "{\"snapshot\": {\"volume_id\": \"V\", \"force\": \"perhaps\"}}",
        "{\"snapshot\": {\"volume_id\": \"V\", \"force\": false}}",
        "{\"snapshot\": {\"volume_id\": \"V\", \"name\": 1}}",
        "{\"snapshot\": {\"volume_id\": \"V\", \"description\": \"two\\nlines\"}}",
        "{\"snapshot\": {\"volume_id\": \"V\", \"metadata\": {\"a/b\": \"c\"}}}",
        "{\"snapshot\": {\"volume_id\": \"V\", \"metadata\": {\"a\": null}}}",
        "{\"snapshot\": {\"volume_id\": \"V\"}, \"more\": 1}",
    };
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);

    for (unsigned i = 0; i < LENGTH(bodies); i++)
        ck_assert_msg(
            world_call(world, "POST", "/snapshots", with_volume(world, bodies[i], volume)) == 400,
            "%s: %d", bodies[i], world->status);
    ck_assert_int_eq(
        world_call(world, "POST", "/snapshots", "{\"snapshot\": {\"volume_id\": null}}"), 404);
    ck_assert_int_eq(world_call(world, "POST", "/snapshots",
                                "{\"snapshot\": {\"volume_id\": \"" WORLD_INSTANCE "\"}}"),
                     404);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM snapshots"), 0);
    ck_assert_int_eq(world_in_use(world, "snapshots"), 0);
}
END_TEST

START_TEST(the_meaning_of_force_follows_the_microversion) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);

    world_attach(world, volume, WORLD_INSTANCE);
    world->minor = 65;
    ck_assert_int_eq(request_snapshot(world, volume, ""), 400);
    ck_assert_int_eq(request_snapshot(world, volume, ", \"force\": false"), 400);
    ck_assert_int_eq(request_snapshot(world, volume, ", \"force\": \"true\""), 202);
    world->minor = 66;
    ck_assert_int_eq(request_snapshot(world, volume, ""), 202);
    ck_assert_int_eq(request_snapshot(world, volume, ", \"force\": true"), 202);
    ck_assert_int_eq(request_snapshot(world, volume, ", \"force\": false"), 400);
    world_settle(world);
    ck_assert_int_eq(
        world_count(world, "SELECT COUNT(*) FROM snapshots WHERE status = 'available'"), 3);
    ck_assert_str_eq(world_status(world, volume), "in-use");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(an_unsupported_snapshot_below_a_guest_is_refused) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id;

    world_attach(world, volume, WORLD_INSTANCE);
    memory_defer_snapshots(world->memory, true);
    world->verdict = EVENT_REFUSED;
    id = new_snapshot(world, volume);
    world_settle(world);
    ck_assert_str_eq(snapshot_status(world, id), "error");
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_SNAPSHOT_009_013"));
    ck_assert_int_eq(world_check(world), 0);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", id), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(snapshot_status(world, id), "gone");
}
END_TEST

START_TEST(an_update_changes_the_named_fields) {
    autoworld struct world *world = world_new(NULL);
    const char *id = snapshot_of_volume(world, world_volume(world, 1));
    const char *path = PATH("/snapshots/%s", id);

    ck_assert_int_eq(world_call(world, "PUT", path, "{\"snapshot\": {}}"), 400);
    ck_assert_int_eq(world_call(world, "PUT", path, "{\"snapshot\": {\"size\": 3}}"), 400);
    ck_assert_int_eq(
        world_call(world, "PUT", path,
                   "{\"snapshot\": {\"name\": \"n\", \"display_description\": \"d\"}}"),
        200);
    ck_assert_int_eq(world_call(world, "PUT", path, "{\"snapshot\": {\"description\": null}}"),
                     200);
    ck_assert_str_eq(json_string_value(json_object_get(snapshot_shown(world, id), "name")), "n");
    ck_assert(json_is_null(json_object_get(snapshot_shown(world, id), "description")));
}
END_TEST

/* ---- quota ---- */

START_TEST(a_snapshot_past_its_quota_changes_nothing) {
    const struct world_settings settings = { .quota_gigabytes = 3 };
    autoworld struct world *world = world_new(&settings);
    const char *volume = world_volume(world, 2);

    ck_assert_int_eq(request_snapshot(world, volume, ""), 413);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "VolumeSizeExceedsAvailableQuota"));
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM snapshots"), 0);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 2);
    world->settings.no_snapshot_gb_quota = true;
    world->settings.quota_snapshots = 1;
    ck_assert_int_eq(request_snapshot(world, volume, ""), 202);
    ck_assert_int_eq(request_snapshot(world, volume, ""), 413);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "SnapshotLimitExceeded"));
    world_settle(world);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 2);
    world->settings.no_snapshot_gb_quota = false; /* the counted quota is released, no more */
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* ---- statuses that others set ---- */

#define ACT(id, body)  world_call(world, "POST", PATH("/snapshots/%s/action", id), body)
#define RESET(status)  "{\"os-reset_status\": {\"status\": \"" status "\"}}"
#define REPORT(fields) "{\"os-update_snapshot_status\": {" fields "}}"

START_TEST(a_snapshot_being_destroyed_is_unavailable) {
    autoworld struct world *world = world_new(NULL);
    const char *id = snapshot_of_volume(world, world_volume(world, 1));

    memory_fail_next(world->memory, "delete_snapshot", ERROR_BACKEND);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", id), NULL), 202);
    world_settle(world);
    assert_snapshot(world, id, "error_deleting");
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_SNAPSHOT_010_016"));
    ck_assert_int_eq(ACT(id, RESET("available")), 400);
    ck_assert_int_eq(ACT(id, RESET("Error")), 202);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", id), NULL), 202);
    world_settle(world);
    assert_snapshot(world, id, "gone");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* Its create is queued, or has failed; nor does a report of a compute service make it so. */
START_TEST(a_snapshot_without_storage_is_not_reset_to_available) {
    for (int fails = 0; fails <= 1; fails++) {
        autoworld struct world *world = world_new(NULL);
        const char *id = new_snapshot(world, world_volume(world, 1));

        if (fails) {
            memory_fail_next(world->memory, "create_snapshot", ERROR_BACKEND);
            world_settle(world);
        }
        ck_assert_int_eq(ACT(id, RESET("available")), 400);
        ck_assert_ptr_nonnull(strstr(world->answer_text, "has no storage"));
        assert_snapshot(world, id, fails ? "error" : "creating");
        if (fails) {
            ck_assert_int_eq(ACT(id, RESET("creating")), 202);
            ck_assert_int_eq(ACT(id, REPORT("\"status\": \"available\"")), 400);
            assert_snapshot(world, id, "creating");
            world_sql(world, "UPDATE snapshots SET status = 'available'");
            ck_assert_int_eq(world_check(world), 1);
        }
        ck_assert_int_eq(ACT(id, RESET("error")), 202);
        world_settle(world);
        ck_assert_int_eq(world_check(world), 0);
        ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", id), NULL), 202);
        world_settle(world);
        assert_snapshot(world, id, "gone");
        ck_assert_int_eq(world_in_use(world, "snapshots"), 0);
    }
}
END_TEST

START_TEST(a_queued_delete_that_is_reset_destroys_nothing) {
    autoworld struct world *world = world_new(NULL);
    const char *id = snapshot_of_volume(world, world_volume(world, 1));

    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", id), NULL), 202);
    ck_assert_int_eq(ACT(id, RESET("available")), 202);
    world_settle(world);
    assert_snapshot(world, id, "available");
    ck_assert_int_eq(memory_read_snapshot(world->memory, id), 0);
    ck_assert_int_eq(ACT(id, RESET("nonsense")), 400);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(a_report_follows_the_map_and_ends_no_work_of_ours) {
    autoworld struct world *world = world_new(NULL);
    const char *id = new_snapshot(world, world_volume(world, 1));

    ck_assert_int_eq(ACT(id, REPORT("\"status\": \"available\"")), 400); /* we are at it */
    ck_assert_int_eq(ACT(id, REPORT("\"status\": \"creating\", \"progress\": \"90%\"")), 202);
    world_settle(world);
    assert_snapshot(world, id, "available");
    ck_assert_int_eq(ACT(id, REPORT("\"status\": \"error\"")), 400);
    ck_assert_int_eq(ACT(id, RESET("creating")), 202);
    ck_assert_int_eq(ACT(id, REPORT("\"status\": \"deleting\"")), 400);
    ck_assert_int_eq(ACT(id, REPORT("\"status\": \"error\", \"progress\": \"101%\"")), 400);
    ck_assert_int_eq(ACT(id, REPORT("\"progress\": \"80%\"")), 400);
    ck_assert_int_eq(ACT(id, REPORT("\"status\": \"error\", \"progress\": \"80%\"")), 202);
    ck_assert_str_eq(json_string_value(json_object_get(snapshot_shown(world, id),
                                                       "os-extended-snapshot-attributes:progress")),
                     "80%");
    assert_snapshot(world, id, "error");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

START_TEST(changes_of_a_snapshot_are_notified) {
    static const char *const events[] = { "create.start", "create.end",   "update.start",
                                          "update.end",   "delete.start", "delete.end" };
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id;

    world->settings.notifications = true;
    id = snapshot_of_volume(world, volume);
    ck_assert_int_eq(
        world_call(world, "PUT", PATH("/snapshots/%s", id), "{\"snapshot\": {\"name\": \"n\"}}"),
        200);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", id), NULL), 202);
    world_settle(world);
    for (unsigned i = 0; i < LENGTH(events); i++)
        ck_assert_msg(world_count(world, PATH("SELECT COUNT(*) FROM outbox WHERE method = "
                                              "'snapshot.%s' AND payload LIKE '%%%s%%'",
                                              events[i], id)) == 1,
                      "%s", events[i]);
}
END_TEST

/* ---- eyes ---- */

START_TEST(snapshots_of_another_project_are_not_found) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id = snapshot_of_volume(world, volume);

    roles_enter(world, NULL);
    world->token = "member:" WORLD_OTHER;
    ck_assert_int_eq(world_call(world, "GET", PATH("/snapshots/%s", id), NULL), 404);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", id), NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", PATH("/snapshots/%s/metadata", id), NULL), 404);
    ck_assert_int_eq(world_call(world, "GET", "/snapshots", NULL), 200);
    ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "snapshots")), 0);
    ck_assert_int_eq(world_call(world, "GET", "/snapshots?all_tenants=1", NULL), 200);
    ck_assert_uint_eq(json_array_size(json_object_get(world->answer, "snapshots")), 0);
    ck_assert_int_eq(request_snapshot(world, volume, ""), 404);
}
END_TEST

START_TEST(lists_filter_sort_and_page) {
    static const struct {
        unsigned minor, status, count;
        const char *query;
    } cases[] = {
        { 71, 200, 3, "" },
        { 71, 200, 1, "?name=b" },
        { 71, 200, 3, "?status=available" },
        { 71, 200, 0, "?status=error" },
        { 71, 200, 1, "?metadata={'k':'b'}" },
        { 21, 200, 3, "?metadata={'k':'b'}" },
        { 71, 200, 3, "?availability_zone=nova" },
        { 71, 200, 0, "?availability_zone=elsewhere" },
        { 71, 200, 3, "?consumes_quota=true" },
        { 71, 200, 2, "?limit=2" },
        { 71, 200, 1, "?offset=2" },
        { 71, 400, 0, "?limit=-1" },
        { 71, 404, 0, "?marker=" WORLD_INSTANCE },
        { 71, 200, 3, "?sort=name:asc" },
        { 30, 200, 3, "?sort=name:asc" },
        { 29, 400, 0, "?sort=name:asc" },
        { 29, 200, 3, "?sort=display_name:asc" },
        { 71, 400, 0, "?sort=nothing" },
        { 71, 200, 3, "?sort=volume_id&all_tenants=1" },
    };
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);

    for (const char *name = "a\0b\0c\0"; *name; name += 2)
        ck_assert_int_eq(
            request_snapshot(world, volume,
                             PATH(", \"name\": \"%s\", \"metadata\": {\"k\": \"%s\"}", name, name)),
            202);
    world_settle(world);
    for (unsigned i = 0; i < LENGTH(cases); i++) {
        world->minor = cases[i].minor;
        ck_assert_msg(world_call(world, "GET", PATH("/snapshots%s", cases[i].query), NULL) ==
                          (int)cases[i].status,
                      "%s: %d", cases[i].query, world->status);
        ck_assert_msg(json_array_size(json_object_get(world->answer, "snapshots")) ==
                          cases[i].count,
                      "3.%u %s: %s", cases[i].minor, cases[i].query, world->answer_text);
    }
}
END_TEST

/* A pool of 10 GiB that promises no more than it has; the volume has 3 of them. */
static const char *volume_in_small_pool(struct world *world) {
    const char *volume = world_volume(world, 3);

    world_sql(world, "UPDATE pools SET total_gb = 10, free_gb = 10, infinite = 0, "
                     "capabilities = '{\"thin_provisioning_support\": true, "
                     "\"max_over_subscription_ratio\": 1.0}'");
    return volume;
}

START_TEST(snapshots_are_promised_space_of_the_pool) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = volume_in_small_pool(world), *first, *failed;

    first = new_snapshot(world, volume);
    new_snapshot(world, volume);
    failed = new_snapshot(world, volume);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 2);
    world_settle(world);
    ck_assert_str_eq(snapshot_status(world, first), "available");
    ck_assert_str_eq(snapshot_status(world, failed), "error");
    ck_assert(world_has_message(world, failed, "VOLUME_VOLUME_SNAPSHOT_009_003"));
    ck_assert_int_eq(memory_read_snapshot(world->memory, failed), -1);
    ck_assert_int_eq(world_count(world, "SELECT snapshots_gb FROM pools"), 6);
    ck_assert_int_eq(world_call(world, "GET", "/scheduler-stats/get_pools?detail=true", NULL), 200);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "\"provisioned_capacity_gb\":9"));
    ck_assert_int_eq(world_check(world), 0);

    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", failed), NULL), 202);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", first), NULL), 202);
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT snapshots_gb FROM pools"), 3);
    first = new_snapshot(world, volume);
    world_settle(world);
    ck_assert_str_eq(snapshot_status(world, first), "available");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* A manager of the release before deletes a snapshot and leaves the count of its pool. */
START_TEST(space_promised_to_snapshots_of_the_previous_release_is_recounted) {
    autoworld struct world *world = world_new(NULL);

    new_snapshot(world, volume_in_small_pool(world));
    world_settle(world);
    world_sql(world, "UPDATE pools SET snapshots_gb = 8");
    ck_assert_int_eq(world_check(world), 1);
    world_restart(world);
    world_advance(world, 6);
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT snapshots_gb FROM pools"), 3);
    ck_assert_int_eq(world_check(world), 0);
    world_sql(world, "UPDATE pools SET snapshots_gb = 8");
    world_advance(world, 3601);
    world_settle(world);
    ck_assert_int_eq(world_count(world, "SELECT snapshots_gb FROM pools"), 3);
}
END_TEST

CHECK_MAIN("snapshots", snapshots_are_promised_space_of_the_pool,
           space_promised_to_snapshots_of_the_previous_release_is_recounted,
           a_snapshot_that_is_copied_shows_how_far_it_is,
           a_snapshot_is_made_shown_listed_and_deleted, a_volume_with_snapshots_is_not_deleted,
           snapshots_of_one_volume_are_worked_on_one_after_the_other, a_bad_body_makes_nothing,
           the_meaning_of_force_follows_the_microversion,
           an_unsupported_snapshot_below_a_guest_is_refused, an_update_changes_the_named_fields,
           a_snapshot_past_its_quota_changes_nothing, a_snapshot_being_destroyed_is_unavailable,
           a_snapshot_without_storage_is_not_reset_to_available,
           a_queued_delete_that_is_reset_destroys_nothing,
           a_report_follows_the_map_and_ends_no_work_of_ours, changes_of_a_snapshot_are_notified,
           snapshots_of_another_project_are_not_found, lists_filter_sort_and_page)
