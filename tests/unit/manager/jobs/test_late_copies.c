/*
 * Snapshots, copies of volumes and reverts whose worker sleeps in front of its effect, dies between
 * two steps, or cannot record its result: nothing newer is lost, and nothing is left over.
 */
#include "common/cleanup.h"
#include "db/engine.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/other_manager.h"
#include "tests/lib/reasons.h"
#include "tests/lib/snapshots.h"

#define RESET(status) "{\"os-reset_status\": {\"status\": \"" status "\"}}"
#define FORCE_DELETE  "{\"os-force_delete\": {}}"
#define COUNT(what)   world_count(world, "SELECT COUNT(*) FROM " what)

static struct scene {
    struct world *world;
    const char *id, *snapshot, *copy;
    const char *call; /* of the driver, in the middle of which the first worker sleeps */
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

/* A volume with the content 8, of which a snapshot has kept the content 7. */
static void set_scene(struct world *world) {
    scene = (struct scene){ .world = world, .id = world_volume(world, 2) };
    memory_write(world->memory, scene.id, 7);
    scene.snapshot = snapshot_of_volume(world, scene.id);
    memory_write(world->memory, scene.id, 8);
}

static void sleep_in(const char *call, void (*meanwhile)(void)) {
    scene.call = call;
    scene.meanwhile = meanwhile;
    memory_watch(scene.world->memory, between, NULL);
}

static void rest(struct world *world) {
    for (int i = 0; i < 4; i++) {
        world_settle(world);
        world_advance(world, 61);
    }
    world_settle(world);
}

static void assert_rests(struct world *world) {
    ck_assert_int_eq(world_check(world), 0);
    ck_assert_int_eq(COUNT("operations"), 0);
    ck_assert_uint_eq(memory_count(world->memory),
                      (size_t)COUNT("volumes WHERE provider_location IS NOT NULL"));
}

/* ---- requests ---- */

static void revert(void) {
    struct world *world = scene.world;

    ck_assert_int_eq(
        world_action(world, scene.id, "{\"revert\": {\"snapshot_id\": \"%s\"}}", scene.snapshot),
        202);
}

static void copy(const char *source, const char *id) {
    struct world *world = scene.world;

    world_call(world, "POST", "/volumes", PATH("{\"volume\": {\"%s\": \"%s\"}}", source, id));
    ck_assert_int_eq(world->status, 202);
    scene.copy = world_answer_id(world, "volume");
}

static void copy_snapshot(void) {
    copy("snapshot_id", scene.snapshot);
}

static void copy_volume(void) {
    copy("source_volid", scene.id);
}

static void delete_all(void) {
    struct world *world = scene.world;

    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s?cascade=true", scene.id), NULL),
                     202);
}

static void delete_snapshot(void) {
    struct world *world = scene.world;

    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", scene.snapshot), NULL), 202);
}

static void another_snapshot(void) {
    world_advance(scene.world, 1);
    scene.snapshot = new_snapshot(scene.world, scene.id);
}

static const struct db_engine *engine;
static int reads_before; /* the one that fails */

static int read_or_fail(struct db *db, db_body *body, void *arg, struct error *err) {
    if (reads_before-- == 0)
        return error_set(err, ERROR_UNAVAILABLE, "The database does not answer.");
    return engine->read(db, body, arg, err);
}

/* ---- late ---- */

/* The other manager ends the revert, and a client writes. */
static void reverted_and_written(void) {
    other_manager_works(scene.world);
    ck_assert_str_eq(world_status(scene.world, scene.id), "available");
    ck_assert_int_eq(memory_read(scene.world->memory, scene.id), 7);
    memory_write(scene.world->memory, scene.id, 9);
}

/* An operator does not wait. */
static void reset_and_written(void) {
    ck_assert_int_eq(world_action(scene.world, scene.id, RESET("available")), 202);
    other_manager_works(scene.world);
    memory_write(scene.world->memory, scene.id, 9);
}

START_TEST(a_late_revert_undoes_nothing) {
    static void (*const stories[])(void) = { reverted_and_written, reset_and_written };

    for (unsigned i = 0; i < LENGTH(stories); i++) {
        autoworld struct world *world = world_new(NULL);

        set_scene(world);
        sleep_in("revert_volume", stories[i]);
        revert();
        rest(world);
        ck_assert(scene.asleep);
        ck_assert_int_eq(memory_read(world->memory, scene.id), 9);
        ck_assert_str_eq(world_status(world, scene.id), "available");
        assert_snapshot(world, scene.snapshot, "available");
        assert_rests(world);
    }
}
END_TEST

static void copied_and_written(void) {
    other_manager_works(scene.world);
    ck_assert_str_eq(world_status(scene.world, scene.copy), "available");
    memory_write(scene.world->memory, scene.copy, 9);
}

/* The copy has another name by then: a revert of it was taken over. */
static void copied_and_renamed(void) {
    struct world *world = scene.world;
    const char *id = scene.id, *snapshot = scene.snapshot;

    other_manager_works(world);
    scene.id = scene.copy;
    scene.snapshot = new_snapshot(world, scene.id);
    other_manager_works(world);
    revert();
    world_sql(world, "UPDATE operations SET attempts = 1 WHERE kind = 'revert'");
    other_manager_works(world);
    ck_assert_int_eq(COUNT("volumes WHERE name_id <> id"), 1);
    memory_write(world->memory, scene.copy, 9);
    scene.id = id;
    scene.snapshot = snapshot;
}

static void copied_and_deleted(void) {
    struct world *world = scene.world;

    other_manager_works(world);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s", scene.copy), NULL), 202);
    other_manager_works(world);
    ck_assert_str_eq(world_status(world, scene.copy), "gone");
}

static void cancelled_and_deleted(void) {
    ck_assert_int_eq(world_action(scene.world, scene.copy, FORCE_DELETE), 202);
    other_manager_works(scene.world);
}

START_TEST(a_late_copy_replaces_and_leaves_nothing) {
    static void (*const stories[])(void) = { copied_and_written, copied_and_renamed,
                                             copied_and_deleted, cancelled_and_deleted };

    for (unsigned i = 0; i < 2 * LENGTH(stories); i++) {
        autoworld struct world *world = world_new(NULL);

        set_scene(world);
        sleep_in(i % 2 ? "clone_snapshot" : "clone_volume", stories[i / 2]);
        (i % 2 ? copy_snapshot : copy_volume)();
        rest(world);
        ck_assert(scene.asleep);
        if (i < 4)
            ck_assert_int_eq(memory_read(world->memory, scene.copy), 9);
        else
            ck_assert_str_eq(world_status(world, scene.copy), "gone");
        assert_rests(world);
    }
}
END_TEST

/* An open operation on the copy might still need the old name. */
static void copied_and_renamed_and_busy(void) {
    copied_and_renamed();
    new_snapshot(scene.world, scene.copy);
}

START_TEST(leftovers_under_an_old_name_are_removed) {
    autoworld struct world *world = world_new(NULL);

    set_scene(world);
    sleep_in("clone_volume", copied_and_renamed_and_busy);
    copy_volume();
    rest(world);
    ck_assert(scene.asleep);
    ck_assert_int_eq(memory_read(world->memory, scene.copy), 9);
    assert_rests(world);
}
END_TEST

static void made_and_written(void) {
    other_manager_works(scene.world);
    memory_write(scene.world->memory, scene.id, 9);
}

START_TEST(a_late_snapshot_keeps_the_moment_of_the_first) {
    autoworld struct world *world = world_new(NULL);

    set_scene(world);
    sleep_in("create_snapshot", made_and_written);
    another_snapshot();
    rest(world);
    ck_assert(scene.asleep);
    ck_assert_int_eq(memory_read_snapshot(world->memory, scene.snapshot), 8);
    assert_rests(world);
}
END_TEST

static void made_and_deleted(void) {
    other_manager_works(scene.world);
    delete_snapshot();
    other_manager_works(scene.world);
    ck_assert_str_eq(snapshot_status(scene.world, scene.snapshot), "gone");
}

START_TEST(a_late_snapshot_of_a_deleted_volume_leaves_nothing) {
    autoworld struct world *world = world_new(NULL);

    set_scene(world);
    sleep_in("create_snapshot", made_and_deleted);
    another_snapshot();
    rest(world);
    ck_assert(scene.asleep);
    assert_rests(world);
}
END_TEST

/* ---- a clean-up that fails once ---- */

static struct fault_decision fail_removals(void *arg, const char *call, const char *volume_id) {
    (void)arg, (void)volume_id;
    return (struct fault_decision){ .action = strcmp(call, "delete_volume") == 0 ? FAULT_BEFORE
                                                                                 : FAULT_PASS };
}

static void deleted_before_the_storage_fails(void) {
    copied_and_deleted();
    scene.world->decide = fail_removals;
}

/* Sixteen of them would occupy every worker of a backend. */
START_TEST(a_clean_up_that_fails_waits_without_a_worker) {
    autoworld struct world *world = world_new(NULL);

    set_scene(world);
    sleep_in("clone_volume", deleted_before_the_storage_fails);
    copy_volume();
    world_settle(world);
    ck_assert(scene.asleep);
    ck_assert_int_eq(COUNT("operations WHERE kind = 'remove_unwanted' AND owner = ''"), 1);
    ck_assert_int_eq(COUNT("operations"), 1);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", scene.snapshot), NULL), 202);
    world_settle(world);
    ck_assert_str_eq(snapshot_status(world, scene.snapshot), "gone");

    /* `manage check` does not report an object that is about to be removed */
    ck_assert_uint_gt(memory_count(world->memory),
                      (size_t)COUNT("volumes WHERE provider_location IS NOT NULL"));
    ck_assert_int_eq(world_check(world), 0);

    world->decide = NULL;
    rest(world);
    assert_rests(world);
}
END_TEST

/* Managers of the release before do not know the operation, and use up attempts. */
START_TEST(a_clean_up_that_fails_is_repeated_for_a_day) {
    autoworld struct world *world = world_new(NULL);

    set_scene(world);
    sleep_in("clone_volume", deleted_before_the_storage_fails);
    copy_volume();
    world_settle(world);
    world_sql(world, "UPDATE operations SET attempts = 1000");
    for (int i = 0; i < 143; i++) {
        world_advance(world, 601);
        world_settle(world);
    }
    ck_assert_int_eq(COUNT("operations WHERE kind = 'remove_unwanted'"), 1);
    world_advance(world, 1200);
    world_settle(world);
    ck_assert_int_eq(COUNT("operations"), 0);
}
END_TEST

/* The late worker was of a later release. */
START_TEST(a_clean_up_of_another_version_costs_no_attempt) {
    autoworld struct world *world = world_new(NULL);

    set_scene(world);
    sleep_in("clone_volume", deleted_before_the_storage_fails);
    copy_volume();
    world_settle(world);
    world_sql(world, "UPDATE operations SET attempts = 0, arguments = "
                     "REPLACE(arguments, 'clean_up', 'later')");
    rest(world);
    ck_assert_int_eq(COUNT("operations WHERE kind = 'remove_unwanted' AND attempts = 0"), 1);
}
END_TEST

/* The process that made the object is gone by then. */
START_TEST(a_clean_up_is_continued_by_the_next_manager) {
    autoworld struct world *world = world_new(NULL);

    set_scene(world);
    sleep_in("clone_volume", deleted_before_the_storage_fails);
    copy_volume();
    world_settle(world);
    world->decide = NULL;
    other_manager_works(world);
    assert_rests(world);
}
END_TEST

/* Neither the end nor the first record of the clean-up is written. */
static void deleted_before_an_outage(void) {
    deleted_before_the_storage_fails();
    scene.world->hiccups = 3;
}

START_TEST(a_clean_up_is_recorded_after_an_outage_of_the_database) {
    autoworld struct world *world = world_new(NULL);

    set_scene(world);
    sleep_in("clone_volume", deleted_before_an_outage);
    copy_volume();
    world_settle(world);
    ck_assert(scene.asleep);
    ck_assert_int_eq(world->hiccups, 0);
    ck_assert_int_eq(COUNT("operations WHERE kind = 'remove_unwanted'"), 1);
    world->decide = NULL;
    rest(world);
    assert_rests(world);
}
END_TEST

/* False: it did not die. */
static bool live_through_a_removal(int64_t effects) {
    autoworld struct world *world = world_new(NULL);
    bool died;

    set_scene(world);
    sleep_in("clone_volume", deleted_before_the_storage_fails);
    copy_volume();
    world_settle(world);
    world->decide = NULL;
    world_die_after(world, effects);
    rest(world);
    died = world->dead;
    world_restart(world);
    rest(world);
    ck_assert(scene.asleep);
    assert_rests(world);
    return died;
}

START_TEST(a_removal_interrupted_anywhere_is_finished_by_the_next) {
    int64_t effects = WALK_FIRST;

    while (live_through_a_removal(effects))
        effects += (int64_t)WALK_STEP;
    ck_assert_int_gt(effects, 2);
}
END_TEST

static void full_disk_once(void) {
    scene.world->hiccups = 1;
}

static void failed_read_once(void) {
    static struct db_engine failing;

    engine = scene.world->db->engine;
    failing = *engine;
    failing.read = read_or_fail;
    reads_before = 0;
    scene.world->db->engine = &failing;
}

static void failed_removal_once(void) {
    memory_fail_next(scene.world->memory, scene.copy ? "delete_volume" : "delete_snapshot",
                     ERROR_BACKEND);
}

static void both_once(void) {
    full_disk_once();
    failed_removal_once();
}

static void (*obstacle)(void);

static void deleted_before_an_obstacle(void) {
    (scene.copy ? copied_and_deleted : made_and_deleted)();
    obstacle();
}

/* No other worker knows of the object. */
START_TEST(a_late_worker_repeats_its_clean_up) {
    static void (*const obstacles[])(void) = { full_disk_once, failed_read_once,
                                               failed_removal_once, both_once };
    static const struct {
        const char *call;
        void (*begin)(void);
    } makings[] = { { "create_snapshot", another_snapshot },
                    { "clone_volume", copy_volume },
                    { "clone_snapshot", copy_snapshot } };

    for (unsigned i = 0; i < LENGTH(obstacles) * LENGTH(makings); i++) {
        autoworld struct world *world = world_new(NULL);

        set_scene(world);
        obstacle = obstacles[i / LENGTH(makings)];
        sleep_in(makings[i % LENGTH(makings)].call, deleted_before_an_obstacle);
        makings[i % LENGTH(makings)].begin();
        engine = world->db->engine;
        rest(world);
        ck_assert(scene.asleep);
        world->db->engine = engine;
        ck_assert_int_eq(world->hiccups, 0);
        assert_rests(world);
    }
}
END_TEST

/* ---- a clean-up that fails ---- */

static unsigned failing_reads; /* the next ones */

static int read_and_fail(struct db *db, db_body *body, void *arg, struct error *err) {
    if (failing_reads > 0) {
        failing_reads--;
        return error_set(err, ERROR_UNAVAILABLE, "The database does not answer.");
    }
    return engine->read(db, body, arg, err);
}

static void fail_reads(unsigned count) {
    static struct db_engine failing;

    engine = scene.world->db->engine;
    failing = *engine;
    failing.read = read_and_fail;
    failing_reads = count;
    scene.world->db->engine = &failing;
}

static void outage_after_another_worker(void) {
    made_and_written();
    fail_reads(1);
}

/* The object is wanted: this worker's operation is continued. */
static void outage_at_the_end(void) {
    full_disk_once();
    fail_reads(2);
}

static struct fault_decision fail_removal(void *arg, const char *call, const char *volume_id) {
    (void)arg, (void)volume_id;
    return (struct fault_decision){ .action = strcmp(call, "delete_snapshot") == 0 ? FAULT_BEFORE
                                                                                   : FAULT_PASS };
}

static void removal_fails(void) {
    made_and_deleted();
    scene.world->decide = fail_removal;
}

/* An operator destroys an object that is called unwanted. */
START_TEST(only_an_object_known_as_unwanted_is_reported_as_such) {
    static const struct {
        void (*meanwhile)(void);
        bool unwanted, unknown;
    } rows[] = { { outage_after_another_worker, false, false },
                 { outage_at_the_end, false, true },
                 { removal_fails, true, false } };

    for (unsigned i = 0; i < LENGTH(rows); i++) {
        autoworld struct world *world = world_new(NULL);

        set_scene(world);
        sleep_in("create_snapshot", rows[i].meanwhile);
        another_snapshot();
        engine = world->db->engine;
        begin_log("WORLD_LOG");
        ck_assert_int_eq(ftruncate(reasons_fd, 0), 0);
        ck_assert_int_eq(lseek(reasons_fd, 0, SEEK_SET), 0);
        for (int k = 0; k < 150; k++) {
            world_settle(world);
            world_advance(world, 601);
        }
        ck_assert(scene.asleep);
        world->db->engine = engine;
        ck_assert_uint_eq(failing_reads, 0);
        ck_assert_int_eq(was_logged("unwanted object may be left on the backend"),
                         rows[i].unwanted);
        ck_assert_int_eq(was_logged("cannot query whether the object is unwanted"),
                         rows[i].unknown);
        if (!rows[i].unwanted)
            assert_snapshot(world, scene.snapshot, "available");
    }
}
END_TEST

/* ---- a late delete ---- */

/* The operator wants the volume back; the snapshot that was begun with is lost. */
static void cascade_reset(void) {
    reset_and_written();
    ck_assert_str_eq(world_status(scene.world, scene.id), "available");
    assert_snapshot(scene.world, scene.snapshot, "error_deleting");
}

START_TEST(a_late_cascade_destroys_no_reset_volume) {
    autoworld struct world *world = world_new(NULL);

    set_scene(world);
    sleep_in("delete_snapshot", cascade_reset);
    delete_all();
    rest(world);
    ck_assert(scene.asleep);
    ck_assert_int_eq(memory_read(world->memory, scene.id), 9);
    ck_assert_str_eq(world_status(world, scene.id), "available");
    ck_assert_int_eq(
        world_call(world, "POST", PATH("/snapshots/%s/action", scene.snapshot), RESET("available")),
        400);
    ck_assert_int_eq(
        world_call(world, "POST", PATH("/snapshots/%s/action", scene.snapshot), FORCE_DELETE), 202);
    rest(world);
    assert_snapshot(world, scene.snapshot, "gone");
    assert_rests(world);
}
END_TEST

/* ---- death between each two steps, and unrecorded results ---- */

static const struct {
    void (*begin)(void);
    const char *volume, *snapshot; /* their state in the end */
    int64_t content;
} works[] = {
    { revert, "available", "available", 7 },      { copy_snapshot, "available", "available", 8 },
    { copy_volume, "available", "available", 8 }, { another_snapshot, "available", "available", 8 },
    { delete_snapshot, "available", "gone", 8 },  { delete_all, "gone", "gone", -1 },
};

static void assert_done(struct world *world, unsigned i) {
    assert_rests(world);
    ck_assert_str_eq(world_status(world, scene.id), works[i].volume);
    ck_assert_str_eq(snapshot_status(world, scene.snapshot), works[i].snapshot);
    ck_assert_int_eq(memory_read(world->memory, scene.id), works[i].content);
    ck_assert_int_eq(COUNT("volumes WHERE status <> 'available'"), 0);
}

/* Dies twice, each time after so many effects; false: it did not. */
static bool live_through(unsigned i, int64_t effects) {
    autoworld struct world *world = world_new(NULL);
    bool died;

    set_scene(world);
    works[i].begin();
    world_die_after(world, effects);
    rest(world);
    died = world->dead;
    world_restart(world);
    world_die_after(world, effects);
    rest(world);
    world_restart(world);
    rest(world);
    assert_done(world, i);
    return died;
}

START_TEST(a_copy_interrupted_anywhere_is_finished_by_the_next) {
    for (unsigned i = 0; i < LENGTH(works); i++) {
        int64_t effects = WALK_FIRST;

        while (live_through(i, effects))
            effects += (int64_t)WALK_STEP;
        ck_assert_int_gt(effects, 3);
    }
}
END_TEST

/* The commits behind the call of the driver. */
static struct fault_decision full_disk(void *arg, const char *call, const char *volume_id) {
    struct world *world = arg;

    (void)volume_id;
    if (!scene.asleep && strcmp(call, "get_pools") != 0)
        world->hiccups = 1;
    scene.asleep |= world->hiccups > 0;
    return (struct fault_decision){ 0 };
}

START_TEST(an_unrecorded_step_is_repeated) {
    for (unsigned i = 0; i < LENGTH(works); i++) {
        autoworld struct world *world = world_new(NULL);

        set_scene(world);
        works[i].begin();
        world->decide = full_disk;
        rest(world);
        ck_assert(scene.asleep);
        assert_done(world, i);
    }
}
END_TEST

/* False: there was no such read. */
static bool fail_read(unsigned i, int number) {
    autoworld struct world *world = world_new(NULL);
    struct db_engine failing = *(engine = world->db->engine);

    set_scene(world);
    works[i].begin();
    failing.read = read_or_fail;
    reads_before = number;
    world->db->engine = &failing;
    rest(world);
    world->db->engine = engine;
    assert_done(world, i);
    return reads_before < 0;
}

START_TEST(a_failed_read_decides_nothing) {
    for (unsigned i = 0; i < LENGTH(works); i++) {
        int number = (int)WALK_FIRST;

        while (fail_read(i, number))
            number += (int)WALK_STEP;
        ck_assert_int_gt(number, 3);
    }
}
END_TEST

/* ---- obstacles ---- */

START_TEST(a_forced_delete_waits_for_readers) {
    autoworld struct world *world = world_new(NULL);

    set_scene(world);
    delete_snapshot();
    rest(world);
    copy_volume();
    ck_assert_int_eq(world_action(world, scene.id, FORCE_DELETE), 202);
    ck_assert_int_eq(world_check(world), 0);
    rest(world);
    ck_assert_str_eq(world_status(world, scene.copy), "available");
    ck_assert_int_eq(memory_read(world->memory, scene.copy), 8);
    ck_assert_str_eq(world_status(world, scene.id), "gone");
    assert_rests(world);
}
END_TEST

/* A recorded rename has to be done, or the volume is not found. */
START_TEST(a_revert_that_cannot_rename_is_tried_again) {
    autoworld struct world *world = world_new(NULL);

    set_scene(world);
    revert();
    world_sql(world, "UPDATE operations SET attempts = 1");
    memory_fail_next(world->memory, "rename_volume", ERROR_BACKEND);
    world_settle(world);
    ck_assert_str_eq(world_status(world, scene.id), "reverting");
    rest(world);
    ck_assert_str_eq(world_status(world, scene.id), "available");
    ck_assert_int_eq(memory_read(world->memory, scene.id), 7);
    assert_rests(world);
}
END_TEST

CHECK_MAIN("late copies", a_late_revert_undoes_nothing, a_late_copy_replaces_and_leaves_nothing,
           leftovers_under_an_old_name_are_removed, a_late_snapshot_keeps_the_moment_of_the_first,
           a_late_snapshot_of_a_deleted_volume_leaves_nothing, a_late_worker_repeats_its_clean_up,
           a_clean_up_that_fails_waits_without_a_worker,
           a_clean_up_that_fails_is_repeated_for_a_day,
           a_clean_up_of_another_version_costs_no_attempt,
           a_clean_up_is_continued_by_the_next_manager,
           a_clean_up_is_recorded_after_an_outage_of_the_database,
           a_removal_interrupted_anywhere_is_finished_by_the_next,
           only_an_object_known_as_unwanted_is_reported_as_such,
           a_late_cascade_destroys_no_reset_volume,
           a_copy_interrupted_anywhere_is_finished_by_the_next, an_unrecorded_step_is_repeated,
           a_failed_read_decides_nothing, a_forced_delete_waits_for_readers,
           a_revert_that_cannot_rename_is_tried_again)
