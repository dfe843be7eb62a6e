/*
 * A driver that finds a needed file in use: the operation leaves its worker, counts no attempt and
 * goes on once that is free, however long it takes.
 */
#include "common/cleanup.h"
#include "drivers/memory.h"
#include "tests/lib/snapshots.h"

#define COUNT(what) world_count(world, "SELECT COUNT(*) FROM " what)

static const char *busy_call; /* NULL: none */
static enum fault_action action = FAULT_BUSY;
static unsigned queried;

static struct fault_decision decide(void *arg, const char *call, const char *volume_id) {
    bool busy = busy_call && strcmp(call, busy_call) == 0;

    (void)arg, (void)volume_id;
    queried += busy;
    return (struct fault_decision){ .action = busy ? action : FAULT_PASS };
}

static struct world *new_world(void) {
    struct world *world = world_new(NULL);

    world->decide = decide;
    busy_call = NULL;
    action = FAULT_BUSY;
    queried = 0;
    return world;
}

static void pass(struct world *world, int64_t seconds) {
    for (; seconds > 0; seconds--) {
        world_advance(world, 1);
        world_settle(world);
    }
}

/* ---- each kind of operation ---- */

static void extend(struct world *world, const char *id, const char *snapshot) {
    (void)snapshot;
    ck_assert_int_eq(world_action(world, id, "{\"os-extend\": {\"new_size\": 3}}"), 202);
}

static void delete_volume(struct world *world, const char *id, const char *snapshot) {
    (void)snapshot;
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s?cascade=true", id), NULL), 202);
}

static void make_snapshot(struct world *world, const char *id, const char *snapshot) {
    (void)snapshot;
    new_snapshot(world, id);
}

static void delete_snapshot(struct world *world, const char *id, const char *snapshot) {
    (void)id;
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", snapshot), NULL), 202);
}

static void revert(struct world *world, const char *id, const char *snapshot) {
    ck_assert_int_eq(world_action(world, id, "{\"revert\": {\"snapshot_id\": \"%s\"}}", snapshot),
                     202);
}

static void copy_snapshot(struct world *world, const char *id, const char *snapshot) {
    (void)id;
    ck_assert_int_eq(world_call(world, "POST", "/volumes",
                                PATH("{\"volume\": {\"snapshot_id\": \"%s\"}}", snapshot)),
                     202);
}

static void copy_volume(struct world *world, const char *id, const char *snapshot) {
    (void)snapshot;
    ck_assert_int_eq(
        world_call(world, "POST", "/volumes", PATH("{\"volume\": {\"source_volid\": \"%s\"}}", id)),
        202);
}

static void reclaim(struct world *world, const char *id, const char *snapshot) {
    (void)snapshot;
    ck_assert_int_eq(world_action(world, id, "{\"os-reclaim_space\": {}}"), 202);
}

static void unmanage(struct world *world, const char *id, const char *snapshot) {
    (void)id;
    ck_assert_int_eq(
        world_call(world, "POST", PATH("/snapshots/%s/action", snapshot), "{\"os-unmanage\": {}}"),
        202);
}

static const struct {
    const char *call;
    void (*request)(struct world *world, const char *id, const char *snapshot);
} kinds[] = {
    { "extend_volume", extend },          { "delete_volume", delete_volume },
    { "create_snapshot", make_snapshot }, { "delete_snapshot", delete_snapshot },
    { "delete_snapshot", delete_volume }, { "revert_volume", revert },
    { "clone_snapshot", copy_snapshot },  { "clone_volume", copy_volume },
    { "reclaim_volume", reclaim },        { "unmanage_snapshot", unmanage },
};

START_TEST(files_in_use_are_awaited_without_a_worker) {
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        autoworld struct world *world = new_world();
        const char *id = world_volume(world, 2);
        const char *snapshot = snapshot_of_volume(world, id);
        unsigned before;

        world->token = "admin:" WORLD_PROJECT;
        busy_call = kinds[i].call;
        kinds[i].request(world, id, snapshot);
        world_settle(world);
        ck_assert_msg(queried == 1, "%s", kinds[i].call);
        ck_assert_int_eq(COUNT("operations WHERE owner = '' AND attempts = 0 AND "
                               "waits_for = 'volume files'"),
                         1);
        pass(world, 600);
        before = queried;
        ck_assert_msg(before >= 50 && before <= 100, "%s: %u", kinds[i].call, before);
        ck_assert_int_eq(world_check(world), 0);
        busy_call = NULL;
        pass(world, 12);
        ck_assert_msg(COUNT("operations") == 0, "%s", kinds[i].call);
        ck_assert_int_eq(COUNT("volumes WHERE status LIKE 'error%'"), 0);
        ck_assert_int_eq(COUNT("snapshots WHERE status LIKE 'error%'"), 0);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

START_TEST(work_that_moves_much_data_goes_on_with_another_worker) {
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        autoworld struct world *world = new_world();
        const char *id = world_volume(world, 2);
        const char *snapshot = snapshot_of_volume(world, id);

        world->token = "admin:" WORLD_PROJECT;
        busy_call = kinds[i].call;
        action = FAULT_LONG;
        kinds[i].request(world, id, snapshot);
        while (queried == 0)
            ck_assert(world_relay(world) > 0 && world_step(world, 0));
        ck_assert_int_eq(COUNT("operations WHERE is_long = 1 AND owner IS NULL AND attempts = 0"),
                         1);
        ck_assert_int_eq(COUNT("outbox WHERE topic LIKE 'cinder-volume-long.%'"), 1);
        ck_assert_int_eq(world_check(world), 0);
        world_settle(world);
        ck_assert_msg(COUNT("operations") == 0, "%s", kinds[i].call);
        ck_assert_msg(queried == 2, "%s: %u", kinds[i].call, queried);
        ck_assert_int_eq(COUNT("volumes WHERE status LIKE 'error%'"), 0);
        ck_assert_int_eq(COUNT("snapshots WHERE status LIKE 'error%'"), 0);
    }
}
END_TEST

/* Its message may be lost as any other, and its manager may restart. */
START_TEST(data_copies_are_never_lost) {
    autoworld struct world *world = new_world();
    const char *id = world_volume(world, 2);

    world->token = "admin:" WORLD_PROJECT;
    busy_call = "extend_volume";
    action = FAULT_LONG;
    extend(world, id, NULL);
    while (queried == 0)
        ck_assert(world_relay(world) > 0 && world_step(world, 0));
    world_sql(world, "DELETE FROM outbox");
    world_restart(world);
    pass(world, 60);
    ck_assert_int_eq(COUNT("operations"), 0);
    ck_assert_int_eq(world_size(world, id), 3);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* ---- how far it is ---- */

static struct world *reported_world;
static unsigned writes;

static int clone_slowly(void *handle, struct arena *arena, const struct driver_volume *volume,
                        const struct driver_volume *source, const struct driver_progress *progress,
                        struct driver_created *ret, struct error *err) {
    struct world *world = reported_world;

    for (int64_t percent = 0; percent < 100; percent++) {
        int64_t shown = COUNT("operations WHERE progress IS NOT NULL") > 0
                            ? world_count(world, "SELECT progress FROM operations")
                            : -1;

        ck_assert_int_le(shown, percent);
        ck_assert_int_ge(shown, percent - 20); /* at ten percent in a second */
        world->now_us += SECOND_US / 10;
        ck_assert(progress->tell(progress, percent * GIB, 100 * GIB));
        writes += world_count(world, "SELECT COALESCE(MAX(progress), -1) FROM operations") != shown;
    }
    return memory_driver.clone_volume(reported_world->memory, arena, volume, source, progress, ret,
                                      err) < 0
               ? -1
               : ((void)handle, 0);
}

START_TEST(the_progress_of_a_copy_is_shown_at_little_cost) {
    autoworld struct world *world = new_world();
    const char *id = world_volume(world, 2);

    reported_world = world;
    writes = 0;
    world->filter.clone_volume = clone_slowly;
    copy_volume(world, id, NULL);
    world_settle(world);
    ck_assert_uint_ge(writes, 4);
    ck_assert_uint_le(writes, 5);
    ck_assert_int_eq(COUNT("operations"), 0);
    ck_assert_int_eq(COUNT("volumes WHERE status = 'available'"), 2);
}
END_TEST

/* ---- other operations ---- */

/* Else those that read would keep a change away for ever, one after the other. */
START_TEST(new_readers_stay_behind_a_change_that_found_the_files_in_use) {
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        autoworld struct world *world = new_world();
        const char *id = world_volume(world, 2);
        const char *first = snapshot_of_volume(world, id), *second;

        if (kinds[i].request == delete_volume || kinds[i].request == copy_snapshot ||
            kinds[i].request == copy_volume || kinds[i].request == reclaim ||
            kinds[i].request == revert)
            continue;
        world_advance(world, 1);
        second = snapshot_of_volume(world, id);
        world->token = "admin:" WORLD_PROJECT;
        busy_call = kinds[i].call;
        kinds[i].request(world, id, first);
        world_settle(world);
        copy_snapshot(world, id, second);
        world_settle(world);
        ck_assert_msg(COUNT("operations WHERE phase = 'queued' AND kind = 'create'") == 1, "%s",
                      kinds[i].call);
        busy_call = NULL;
        pass(world, 12);
        ck_assert_int_eq(COUNT("operations"), 0);
        ck_assert_int_eq(COUNT("volumes WHERE status = 'available'"), 2);
        ck_assert_int_eq(world_check(world), 0);
    }
}
END_TEST

/* A request of a user ends it as any other work. */
START_TEST(waiting_work_can_be_cancelled) {
    autoworld struct world *world = new_world();
    const char *id = world_volume(world, 2);

    world->token = "admin:" WORLD_PROJECT;
    busy_call = "extend_volume";
    extend(world, id, NULL);
    world_settle(world);
    ck_assert_int_eq(world_action(world, id, "{\"os-reset_status\": {\"status\": \"available\"}}"),
                     202);
    pass(world, 12);
    ck_assert_int_eq(COUNT("operations"), 0);
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_int_eq(world_size(world, id), 2);
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

/* Its former worker may have left traces, and those that move data may be busy for hours. */
START_TEST(abandoned_work_is_cleaned_up_by_workers_that_move_no_data) {
    autoworld struct world *world = new_world();
    const char *id = world_volume(world, 2);

    world->token = "admin:" WORLD_PROJECT;
    busy_call = "delete_volume";
    action = FAULT_LONG;
    delete_volume(world, id, NULL);
    while (queried == 0)
        ck_assert(world_relay(world) > 0 && world_step(world, 0));
    world_sql(world, "UPDATE operations SET attempts = 1"); /* it was begun, and its worker died */
    world_sql(world, "DELETE FROM outbox");
    ck_assert_int_eq(world_action(world, id, "{\"os-reset_status\": {\"status\": \"available\"}}"),
                     202);
    ck_assert_int_eq(COUNT("operations WHERE phase = 'cancelled'"), 1);
    ck_assert_int_eq(COUNT("operations WHERE is_long = 1"), 0);
    ck_assert_int_eq(COUNT("outbox WHERE topic LIKE 'cinder-volume-long.%'"), 0);
    pass(world, 12);
    ck_assert_int_eq(COUNT("operations"), 0);
    ck_assert_str_eq(world_status(world, id), "available");
    ck_assert_int_eq(world_check(world), 0);
}
END_TEST

CHECK_MAIN("busy", files_in_use_are_awaited_without_a_worker,
           work_that_moves_much_data_goes_on_with_another_worker, data_copies_are_never_lost,
           the_progress_of_a_copy_is_shown_at_little_cost,
           new_readers_stay_behind_a_change_that_found_the_files_in_use,
           waiting_work_can_be_cancelled, abandoned_work_is_cleaned_up_by_workers_that_move_no_data)
