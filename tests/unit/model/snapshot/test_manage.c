/*
 * Existing storage becomes a snapshot, a snapshot is unmanaged, and manageable objects are listed.
 */
#include "tests/lib/memory_guests.h"
#include "tests/lib/other_manager.h"
#include "tests/lib/snapshots.h"

#define UNMANAGE    "{\"os-unmanage\": {}}"
#define FORCE       "{\"os-force_delete\": {}}"
#define COUNT(what) world_count(world, "SELECT COUNT(*) FROM " what)
#define assert_rests(world)                       \
    do {                                          \
        ck_assert_int_eq(world_check(world), 0);  \
        ck_assert_int_eq(COUNT("operations"), 0); \
    } while (0)

static const char *string(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static int send_request(struct world *world, const char *volume, const char *source) {
    return world_call(
        world, "POST", "/os-snapshot-manage",
        PATH("{\"snapshot\": {\"volume_id\": \"%s\", \"ref\": \"%s\"}}", volume, source));
}

/* The id of a snapshot that is to become of the object. */
static const char *manage(struct world *world, const char *volume, const char *source) {
    ck_assert_int_eq(send_request(world, volume, source), 202);
    return world_answer_id(world, "snapshot");
}

static int act(struct world *world, const char *id, const char *body) {
    return world_call(world, "POST", PATH("/snapshots/%s/action", id), body);
}

static bool is_nobodys(struct world *world, const char *id) {
    return memory_has(world->memory, PATH("unmanaged-%s", id));
}

/* ---- taken over ---- */

START_TEST(an_object_becomes_a_snapshot_with_its_content) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *id;
    const json_t *snapshot;

    memory_put(world->memory, "disk", GIB, 7);
    ck_assert_int_eq(world_call(world, "POST", "/manageable_snapshots",
                                PATH("{\"snapshot\": {\"volume_id\": \"%s\", \"name\": \"mine\", "
                                     "\"ref\": {\"source-name\": \"disk\"}, "
                                     "\"metadata\": {\"a\": \"b\"}}}",
                                     volume)),
                     202);
    snapshot = json_object_get(world->answer, "snapshot");
    id = world_answer_id(world, "snapshot");
    ck_assert_str_eq(string(snapshot, "status"), "creating");
    /* The view of 3.0, whatever the microversion. */
    ck_assert_ptr_null(json_object_get(snapshot, "group_snapshot_id"));
    ck_assert_ptr_null(json_object_get(snapshot, "user_id"));
    ck_assert_int_eq(world_in_use(world, "snapshots"), 1);
    world_settle(world);
    assert_snapshot(world, id, "available");
    snapshot = snapshot_shown(world, id);
    ck_assert_str_eq(string(snapshot, "name"), "mine");
    ck_assert_str_eq(string(snapshot, "volume_id"), volume);
    ck_assert_str_eq(string(snapshot, "os-extended-snapshot-attributes:progress"), "100%");
    ck_assert_str_eq(string(json_object_get(snapshot, "metadata"), "a"), "b");
    ck_assert_int_eq(json_integer_value(json_object_get(snapshot, "size")), 1);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 3);
    ck_assert_int_eq(memory_read_snapshot(world->memory, id), 7);
    ck_assert(!memory_has(world->memory, "disk"));
    assert_rests(world);

    ck_assert_int_eq(
        world_call(world, "POST", "/volumes", PATH("{\"volume\": {\"snapshot_id\": \"%s\"}}", id)),
        202);
    volume = world_answer_id(world, "volume");
    world_settle(world);
    ck_assert_int_eq(memory_read(world->memory, volume), 7);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", id), NULL), 202);
    world_settle(world);
    ck_assert_int_eq(COUNT("snapshots"), 0);
    ck_assert_int_eq(memory_read_snapshot(world->memory, id), -1);
    ck_assert_int_eq(world_in_use(world, "snapshots"), 0);
    assert_rests(world);
}
END_TEST

/* Below a guest, too: neither is notified. */
START_TEST(a_volume_in_use_gets_a_managed_snapshot) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id;

    memory_put(world->memory, "disk", GIB, 7);
    world_attach(world, volume, WORLD_INSTANCE);
    memory_lock(world->memory, volume, true);
    memory_defer_snapshots(world->memory, true);
    id = manage(world, volume, "disk");
    world_settle(world);
    assert_snapshot(world, id, "available");
    ck_assert_int_eq(act(world, id, UNMANAGE), 202);
    world_settle(world);
    ck_assert(is_nobodys(world, id));
    ck_assert_str_eq(world_status(world, volume), "in-use");
    assert_rests(world);
}
END_TEST

START_TEST(invalid_references_are_refused_at_the_request) {
    static const struct {
        const char *body;
        int status;
    } bodies[] = {
        { "{\"snapshot\": {\"volume_id\": \"V\"}}", 400 },
        { "{\"snapshot\": {\"volume_id\": \"V\", \"ref\": null}}", 400 },
        { "{\"snapshot\": {\"volume_id\": \"V\", \"ref\": {}}}", 400 },
        { "{\"snapshot\": {\"volume_id\": \"V\", \"ref\": 5}}", 400 },
        { "{\"snapshot\": {\"volume_id\": \"V\", \"ref\": \"\"}}", 400 },
        { "{\"snapshot\": {\"ref\": \"disk\"}}", 400 },
        { "{\"snapshot\": {\"volume_id\": \"no id\", \"ref\": \"disk\"}}", 400 },
        { "{\"snapshot\": {\"volume_id\": \"V\", \"ref\": \"disk\", \"size\": 1}}", 400 },
        { "{\"snapshot\": {\"volume_id\": \"V\", \"ref\": \"disk\", \"metadata\": 5}}", 400 },
        { "{\"snapshot\": {\"volume_id\": \"" WORLD_INSTANCE "\", \"ref\": \"disk\"}}", 404 },
    };
    const struct world_settings settings = { .quota_gigabytes = 3 };
    autoworld struct world *world = world_new(&settings);
    const char *volume = world_volume(world, 1), *large = world_volume(world, 2);

    memory_put(world->memory, "disk", GIB, 7);
    ck_assert_int_eq(send_request(world, large, "disk"), 413);
    world->settings.quota_gigabytes = 10;
    for (size_t i = 0; i < LENGTH(bodies); i++)
        ck_assert_msg(world_call(world, "POST", "/os-snapshot-manage",
                                 with_volume(world, bodies[i].body, volume)) == bodies[i].status,
                      "%s: %d %s", bodies[i].body, world->status, world->answer_text);
    world_sql(world, "UPDATE volumes SET status = 'error'");
    ck_assert_int_eq(send_request(world, volume, "disk"), 400);
    world_sql(world, "UPDATE volumes SET status = 'available'");
    world_sql(world, "UPDATE services SET disabled = 1 WHERE binary_name = 'cinder-volume'");
    ck_assert_int_eq(send_request(world, volume, "disk"), 400);
    world_sql(world, "UPDATE services SET disabled = 0, frozen = 1");
    ck_assert_int_eq(send_request(world, volume, "disk"), 400);
    ck_assert_int_eq(COUNT("snapshots"), 0);
    ck_assert_int_eq(COUNT("operations WHERE phase <> 'answered'"), 0);
    ck_assert(memory_has(world->memory, "disk"));
}
END_TEST

START_TEST(refusals_of_the_backend_are_refused_at_the_request) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);

    ck_assert_int_eq(send_request(world, volume, "disk"), 400);
    ck_assert_ptr_nonnull(
        strstr(world->answer_text, "invalid backend reference disk: There is no"));
    memory_put(world->memory, "disk", 0, 7);
    ck_assert_int_eq(send_request(world, volume, "disk"), 400);
    world_settle(world);
    ck_assert_int_eq(COUNT("snapshots"), 0);
    ck_assert_int_eq(COUNT("messages"), 0);
    ck_assert_int_eq(world_in_use(world, "snapshots"), 0);
    ck_assert_str_eq(world_status(world, volume), "available");
    ck_assert_int_eq(COUNT("operations WHERE phase <> 'answered'"), 0);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* Between the answer and the work nothing keeps the object. */
START_TEST(a_failed_manage_leaves_the_object_unchanged) {
    static const int64_t sizes[] = { -1, 0, GIB + 512, 5 * GIB };
    const struct world_settings settings = { .quota_gigabytes = 4 };

    for (size_t i = 0; i < LENGTH(sizes); i++) {
        autoworld struct world *world = world_new(&settings);
        const char *volume = world_volume(world, 1), *id;

        memory_put(world->memory, "disk", GIB, 7);
        id = manage(world, volume, "disk");
        memory_take(world->memory, "disk");
        if (sizes[i] >= 0)
            memory_put(world->memory, "disk", sizes[i], 7);
        world_settle(world);
        assert_snapshot(world, id, "error");
        ck_assert(world_has_message(world, id,
                                    sizes[i] == 5 * GIB ? "VOLUME_VOLUME_SNAPSHOT_008_006"
                                                        : "VOLUME_VOLUME_SNAPSHOT_008_013"));
        ck_assert_int_eq(world_in_use(world, "gigabytes"), 2);
        assert_rests(world);
        /* Of which no delete destroys anything. */
        if (i % 2)
            ck_assert_int_eq(act(world, id, i == 1 ? FORCE : UNMANAGE), 202);
        else
            ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", id), NULL), 202);
        world_settle(world);
        ck_assert_int_eq(COUNT("snapshots"), 0);
        ck_assert_int_eq(memory_has(world->memory, "disk"), sizes[i] >= 0);
        ck_assert_int_eq(world_in_use(world, "gigabytes"), 1);
        assert_rests(world);
    }
}
END_TEST

/* Under the name of one that has no object lies an unrequested object of a worker. */
START_TEST(an_object_under_the_name_of_a_failed_one_is_kept) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id, *made;

    memory_put(world->memory, "disk", GIB, 7);
    id = manage(world, volume, "disk");
    memory_take(world->memory, "disk");
    world_settle(world);
    assert_snapshot(world, id, "error");
    made = snapshot_of_volume(world, volume);
    world_sql(world, PATH("DELETE FROM snapshots WHERE id = '%s'", id));
    world_sql(world, PATH("UPDATE snapshots SET taken_over = 1, provider_location = NULL, "
                          "status = 'error' WHERE id = '%s'",
                          made));
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", made), NULL), 202);
    world_settle(world);
    ck_assert_int_eq(COUNT("snapshots"), 0);
    ck_assert_int_eq(memory_read_snapshot(world->memory, made), 0);
}
END_TEST

/* ---- unmanage ---- */

START_TEST(a_snapshot_is_unmanaged_and_managed_again) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *id, *again;

    memory_write(world->memory, volume, 9);
    id = snapshot_of_volume(world, volume);
    memory_write(world->memory, volume, 10);
    ck_assert_int_eq(act(world, id, UNMANAGE), 202);
    assert_snapshot(world, id, "unmanaging");
    world_settle(world);
    assert_snapshot(world, id, "gone");
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 2);
    ck_assert(is_nobodys(world, id));
    assert_rests(world);
    again = manage(world, volume, PATH("unmanaged-%s", id));
    world_settle(world);
    assert_snapshot(world, again, "available");
    ck_assert_int_eq(memory_read_snapshot(world->memory, again), 9);
    /* It is a snapshot as any other. */
    world_action(world, volume, "{\"revert\": {\"snapshot_id\": \"%s\"}}", again);
    ck_assert_int_eq(world->status, 202);
    world_settle(world);
    ck_assert_int_eq(memory_read(world->memory, volume), 9);
    assert_rests(world);
}
END_TEST

START_TEST(an_unmanaged_object_is_known_by_its_former_name) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id = snapshot_of_volume(world, volume), *again;
    const char *body = PATH("{\"snapshot\": {\"volume_id\": \"%s\", "
                            "\"ref\": {\"source-name\": \"snapshot-%s\"}}}",
                            volume, id);

    ck_assert_int_eq(world_call(world, "POST", "/os-snapshot-manage", body), 400);
    ck_assert_int_eq(act(world, id, UNMANAGE), 202);
    world_settle(world);
    ck_assert_int_eq(world_call(world, "POST", "/os-snapshot-manage", body), 202);
    again = world_answer_id(world, "snapshot");
    world_settle(world);
    assert_snapshot(world, again, "available");
    assert_rests(world);
}
END_TEST

START_TEST(a_frozen_backend_unmanages_snapshots) {
    autoworld struct world *world = world_new(NULL);
    const char *id = snapshot_of_volume(world, world_volume(world, 1));

    world_sql(world, "UPDATE services SET frozen = 1");
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", id), NULL), 400);
    ck_assert_int_eq(act(world, id, UNMANAGE), 202);
    world_settle(world);
    ck_assert(is_nobodys(world, id));
    assert_rests(world);
}
END_TEST

START_TEST(a_snapshot_that_is_busy_or_a_groups_is_not_unmanaged) {
    static const char *const changes[] = {
        "status = 'creating'",   "status = 'deleting'",     "status = 'error_deleting'",
        "status = 'backing-up'", "group_snapshot_id = 'g'",
    };
    autoworld struct world *world = world_new(NULL);
    const char *id = snapshot_of_volume(world, world_volume(world, 1));

    for (size_t i = 0; i < LENGTH(changes); i++) {
        world_sql(world, PATH("UPDATE snapshots SET %s", changes[i]));
        ck_assert_msg(act(world, id, UNMANAGE) == 400, "%s", changes[i]);
    }
    ck_assert_int_eq(COUNT("operations"), 0);
    ck_assert_int_eq(memory_read_snapshot(world->memory, id), 0);
}
END_TEST

START_TEST(a_snapshot_that_cannot_be_unmanaged_is_unchanged) {
    static const char *const statuses[] = { "available", "error" };
    autoworld struct world *world = world_new(NULL);
    const char *id = snapshot_of_volume(world, world_volume(world, 1));

    ck_assert(memory_put(world->memory, PATH("unmanaged-%s", id), GIB, 1));
    for (size_t i = 0; i < LENGTH(statuses); i++) {
        world_sql(world, PATH("UPDATE snapshots SET status = '%s'", statuses[i]));
        ck_assert_int_eq(act(world, id, UNMANAGE), 202);
        world_settle(world);
        assert_snapshot(world, id, statuses[i]);
        ck_assert_int_eq(COUNT("snapshots WHERE delete_begun = 1"), 0);
    }
    ck_assert(world_has_message(world, id, "VOLUME_VOLUME_SNAPSHOT_006_907"));
    ck_assert_int_eq(memory_read_snapshot(world->memory, id), 0);
    assert_rests(world);
}
END_TEST

/* ---- deaths ---- */

enum { MANAGE, LET_GO };

static void do_one(struct world *world, int what, const char *volume, const char **ret_id) {
    world->may_wait = true; /* as long as it lives */
    if (what == LET_GO)
        act(world, *ret_id, UNMANAGE);
    else if (send_request(world, volume, "disk") == 202)
        *ret_id = world_answer_id(world, "snapshot");
}

static void wait_for_rest(struct world *world) {
    world_settle(world);
    for (int i = 0; i < 10; i++)
        world_advance(world, 120);
    world_settle(world);
}

/* After any effect; the next worker ends it, and one object stays one. */
static bool die_after(int what, int64_t effects) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *id = NULL;
    bool died, row;

    if (what == MANAGE)
        ck_assert(memory_put(world->memory, "disk", GIB, 7));
    else
        id = snapshot_of_volume(world, volume);
    world_die_after(world, effects);
    do_one(world, what, volume, &id);
    world_settle(world);
    died = world->dead;
    if (died) {
        world_restart(world);
        wait_for_rest(world);
    }
    row = COUNT("snapshots") == 1;
    if (row)
        ck_assert_int_eq(COUNT("snapshots WHERE status = 'available' AND delete_begun = 0"), 1);
    if (what == MANAGE)
        ck_assert_int_eq(memory_has(world->memory, "disk"), !row);
    else
        ck_assert_int_eq(is_nobodys(world, id), !row);
    ck_assert_int_eq(world_in_use(world, "gigabytes"), row ? (what == MANAGE ? 3 : 4) : 2);
    assert_rests(world);
    return died;
}

START_TEST(a_manage_interrupted_anywhere_is_finished_by_the_next) {
    for (int what = MANAGE; what <= LET_GO; what++) {
        int64_t effects = 0;

        while (die_after(what, effects))
            ck_assert_int_lt(++effects, 100);
        ck_assert_int_gt(effects, 3);
    }
}
END_TEST

/* An operator gives up the work of a dead worker: the object of before is not destroyed. */
static bool given_up_after(int64_t effects) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *id = NULL;
    bool died;

    ck_assert(memory_put(world->memory, "disk", GIB, 7));
    world_die_after(world, effects);
    do_one(world, MANAGE, volume, &id);
    if (!world->dead)
        world_settle(world);
    died = world->dead;
    if (died)
        world_restart(world);
    if (!died || !id || COUNT("operations") == 0)
        return died;
    ck_assert_int_eq(act(world, id, FORCE), 202);
    wait_for_rest(world);
    ck_assert_int_eq(COUNT("snapshots"), 0);
    ck_assert_int_eq(memory_read_snapshot(world->memory, id), -1);
    ck_assert(memory_has(world->memory, "disk") || is_nobodys(world, id));
    ck_assert_int_eq(world_in_use(world, "gigabytes"), 1);
    assert_rests(world);
    return true;
}

START_TEST(an_object_of_a_cancelled_manage_is_kept) {
    int64_t effects = 0;

    while (given_up_after(effects))
        ck_assert_int_lt(++effects, 100);
    ck_assert_int_gt(effects, 3);
}
END_TEST

/* ---- a worker that sleeps right in front of its effect ---- */

static struct scene {
    struct world *world;
    const char *volume, *id, *call;
    void (*meanwhile)(void);
    bool asleep;
} scene;

static bool between(void *arg, enum memory_point point, const char *call, const char *name_id) {
    (void)arg, (void)name_id;
    if (point != MEMORY_FENCED || scene.asleep || strcmp(call, scene.call) != 0)
        return true;
    scene.asleep = true;
    scene.meanwhile();
    return true;
}

static void sleep_in(struct world *world, const char *volume, const char *call,
                     void (*meanwhile)(void)) {
    scene =
        (struct scene){ .world = world, .volume = volume, .call = call, .meanwhile = meanwhile };
    memory_watch(world->memory, between, NULL);
}

static void others_work(void) {
    other_manager_works(scene.world);
}

START_TEST(a_late_manage_changes_nothing) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);

    sleep_in(world, volume, "manage_snapshot", others_work);
    memory_put(world->memory, "disk", GIB, 7);
    scene.id = manage(world, volume, "disk");
    wait_for_rest(world);
    ck_assert(scene.asleep);
    assert_snapshot(world, scene.id, "available");
    ck_assert_int_eq(memory_read_snapshot(world->memory, scene.id), 7);
    assert_rests(world);
}
END_TEST

static void given_up(void) {
    ck_assert_int_eq(act(scene.world, scene.id, FORCE), 202);
    other_manager_works(scene.world);
}

START_TEST(an_object_managed_too_late_is_unmanaged_again) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);

    sleep_in(world, volume, "manage_snapshot", given_up);
    memory_put(world->memory, "disk", GIB, 7);
    scene.id = manage(world, volume, "disk");
    wait_for_rest(world);
    ck_assert(scene.asleep);
    ck_assert_int_eq(COUNT("snapshots"), 0);
    ck_assert_int_eq(memory_read_snapshot(world->memory, scene.id), -1);
    ck_assert(is_nobodys(world, scene.id));
    assert_rests(world);
}
END_TEST

static void let_go_and_taken_over(void) {
    const char *former = scene.id;
    struct world *world = scene.world;

    other_manager_works(world);
    ck_assert(is_nobodys(world, former));
    scene.id = manage(world, scene.volume, PATH("unmanaged-%s", former));
    other_manager_works(world);
}

START_TEST(a_late_unmanage_finds_nothing) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1), *former = snapshot_of_volume(world, volume);

    sleep_in(world, volume, "unmanage_snapshot", let_go_and_taken_over);
    scene.id = former;
    ck_assert_int_eq(act(world, former, UNMANAGE), 202);
    wait_for_rest(world);
    ck_assert(scene.asleep);
    ck_assert_str_ne(scene.id, former);
    assert_snapshot(world, scene.id, "available");
    ck_assert_int_eq(memory_read_snapshot(world->memory, scene.id), 0);
    ck_assert(!is_nobodys(world, former));
    assert_rests(world);
}
END_TEST

/* A reset meanwhile is refused: the snapshot cannot become available any more. */
static void reset(void) {
    static const struct {
        const char *status;
        int answer;
    } resets[] = { { "available", 400 }, { "error", 202 } };

    for (size_t i = 0; i < LENGTH(resets); i++)
        ck_assert_int_eq(
            act(scene.world, scene.id,
                arena_format(scene.world->arena, "{\"os-reset_status\": {\"status\": \"%s\"}}",
                             resets[i].status)),
            resets[i].answer);
    other_manager_works(scene.world);
}

START_TEST(a_snapshot_being_unmanaged_cannot_be_used) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 1);

    sleep_in(world, volume, "unmanage_snapshot", reset);
    scene.id = snapshot_of_volume(world, volume);
    ck_assert_int_eq(act(world, scene.id, UNMANAGE), 202);
    wait_for_rest(world);
    ck_assert(scene.asleep);
    ck_assert_int_eq(COUNT("snapshots WHERE status = 'error' AND delete_begun = 1"), 1);
    ck_assert_int_eq(world_call(world, "POST", "/volumes",
                                PATH("{\"volume\": {\"snapshot_id\": \"%s\"}}", scene.id)),
                     400);
    assert_rests(world);
    /* Once more, whatever is left of it. */
    ck_assert_int_eq(act(world, scene.id, UNMANAGE), 202);
    wait_for_rest(world);
    ck_assert_int_eq(COUNT("snapshots"), 0);
    ck_assert(is_nobodys(world, scene.id));
    assert_rests(world);
}
END_TEST

/* ---- lists ---- */

START_TEST(manageable_objects_are_listed) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = world_volume(world, 2), *id = snapshot_of_volume(world, volume);
    const json_t *all, *item;

    memory_put(world->memory, "disk", GIB, 0);
    world_call(world, "GET", "/manageable_snapshots/detail?host=node@memory%23pool&sort=size:asc",
               NULL);
    all = json_object_get(world->answer, "manageable-snapshots");
    ck_assert_msg(json_array_size(all) == 2, "%d %s", world->status, world->answer_text);
    item = json_array_get(all, 0);
    ck_assert_str_eq(string(json_object_get(item, "reference"), "source-name"), "disk");
    ck_assert(json_is_true(json_object_get(item, "safe_to_manage")));
    ck_assert(json_is_null(json_object_get(item, "cinder_id")));
    ck_assert_uint_eq(json_object_size(json_object_get(item, "source_reference")), 0);
    item = json_array_get(all, 1);
    ck_assert_str_eq(string(item, "cinder_id"), id);
    ck_assert_str_eq(string(item, "reason_not_safe"), "already managed");
    ck_assert_str_eq(string(json_object_get(item, "source_reference"), "source-id"), volume);
    ck_assert_int_eq(json_integer_value(json_object_get(item, "size")), 2);
    world_call(world, "GET", "/os-snapshot-manage?host=node@memory&limit=1", NULL);
    all = json_object_get(world->answer, "manageable-snapshots");
    ck_assert_uint_eq(json_array_size(all), 1);
    ck_assert_ptr_null(json_object_get(json_array_get(all, 0), "cinder_id"));
    ck_assert_int_eq(world_call(world, "GET", "/manageable_snapshots", NULL), 400);
    memory_fail_next(world->memory, "list_manageable_snapshots", ERROR_BACKEND);
    ck_assert_int_eq(world_call(world, "GET", "/manageable_snapshots?host=node@memory", NULL), 500);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

CHECK_MAIN("manage snapshots", refusals_of_the_backend_are_refused_at_the_request,
           an_object_becomes_a_snapshot_with_its_content, a_volume_in_use_gets_a_managed_snapshot,
           invalid_references_are_refused_at_the_request,
           a_failed_manage_leaves_the_object_unchanged,
           an_object_under_the_name_of_a_failed_one_is_kept,
           a_snapshot_is_unmanaged_and_managed_again,
           an_unmanaged_object_is_known_by_its_former_name, a_frozen_backend_unmanages_snapshots,
           a_snapshot_that_is_busy_or_a_groups_is_not_unmanaged,
           a_snapshot_that_cannot_be_unmanaged_is_unchanged,
           a_manage_interrupted_anywhere_is_finished_by_the_next,
           an_object_of_a_cancelled_manage_is_kept, a_late_manage_changes_nothing,
           an_object_managed_too_late_is_unmanaged_again, a_late_unmanage_finds_nothing,
           a_snapshot_being_unmanaged_cannot_be_used, manageable_objects_are_listed)
