/*
 * Group snapshots of one moment beside all other requests to the hosts of their guests: messages
 * come in any order, a host takes a set only when all of it was requested, and yet all of it ends,
 * and no operation is overtaken for ever.
 */
#include "tests/lib/groups.h"
#include "tests/lib/memory_guests.h"

#include <string.h>

enum { MEMBERS = 3, ORDERS = 24, TIMEOUT_S = 200, GIVES_UP_S = 20, MOST = 16 };

#define ONE_MOMENT "{\"consistent_group_snapshot_enabled\": \"<is> True\"}"

static const char made[] = "{\"os-update_snapshot_status\": {\"status\": \"creating\", "
                           "\"progress\": \"90%\"}}";
static const char not_made[] = "{\"os-update_snapshot_status\": {\"status\": \"error\"}}";
static const char merged[] = "{\"os-update_snapshot_status\": {\"status\": \"deleting\", "
                             "\"progress\": \"90%\"}}";

static const char *volumes[MEMBERS];

/* Requests to the host that are not done yet. */
static struct {
    struct world_assist queried;
    int64_t since_us;
} open_assists[MOST];
static unsigned open_count;
static int merge_s; /* how long it merges */

static bool was_requested(const char *snapshot_id) {
    for (unsigned i = 0; i < open_count; i++)
        if (strcmp(open_assists[i].queried.snapshot_id, snapshot_id) == 0)
            return true;
    return false;
}

/* One that is requested again is at it. */
static void note_request(struct world *world, const struct world_assist *assist) {
    if (was_requested(assist->snapshot_id))
        return;
    ck_assert_uint_lt(open_count, MOST);
    open_assists[open_count].queried = *assist;
    open_assists[open_count++].since_us = world->now_us;
}

static struct world *with_guest(void) {
    struct world *world = world_new(NULL);

    world->settings.quota_snapshots = 100;
    for (int i = 0; i < MEMBERS; i++)
        volumes[i] = world_volume(world, 2);
    group_of_type(world, group_type(world, "moment", ONE_MOMENT), volumes, MEMBERS);
    open_count = 0;
    merge_s = 5;
    world->on_assist = note_request;
    return world;
}

/* The guest comes when the snapshots are there that are to be merged. */
static void start_guest(struct world *world) {
    for (int i = 1; i < MEMBERS; i++)
        world_attach(world, volumes[i], WORLD_INSTANCE);
    memory_defer_snapshots(world->memory, true);
}

static bool has_all(const struct world_assist *assist) {
    char id[37];

    for (const char *next = assist->together; *next; next += sizeof id) {
        snprintf(id, sizeof id, "%.36s", next);
        if (!was_requested(id))
            return false;
    }
    return true;
}

/* The other members of its set have not come. */
static void give_up(struct world *world, const char *snapshot_id) {
    world_call(world, "POST", PATH("/snapshots/%s/action", snapshot_id), not_made);
}

static void do_one(struct world *world, const struct world_assist *assist) {
    memory_assist(world->memory, assist->snapshot_id);
    ck_assert_int_eq(world_call(world, "POST", PATH("/snapshots/%s/action", assist->snapshot_id),
                                assist->deletes ? merged : made),
                     202);
}

static bool is_over(const struct world *world, unsigned i, int after_s) {
    return world->now_us - open_assists[i].since_us >= after_s * INT64_C(1000000);
}

/* The host's turn: all that it can do. */
static void do_all(struct world *world) {
    bool ready[MOST];
    unsigned left = 0;

    for (unsigned i = 0; i < open_count; i++)
        ready[i] = open_assists[i].queried.deletes ? is_over(world, i, merge_s)
                                                   : has_all(&open_assists[i].queried);
    for (unsigned i = 0; i < open_count; i++) {
        if (ready[i])
            do_one(world, &open_assists[i].queried);
        else if (!open_assists[i].queried.deletes && is_over(world, i, GIVES_UP_S))
            give_up(world, open_assists[i].queried.snapshot_id);
        else
            open_assists[left++] = open_assists[i];
    }
    open_count = left;
}

static unsigned draw(unsigned *seed, unsigned below) {
    *seed = *seed * 1103515245 + 12345;
    return *seed / 65536 % below;
}

/* Another manager has claimed the queued operation, and sleeps for three seconds. */
static void take_away(struct world *world) {
    world_sql(world, PATH("UPDATE operations SET owner = 'other', phase = 'running', attempts = 1, "
                          "lease_until = %jd WHERE phase = 'queued' AND kind = 'snapshot_create'",
                          (intmax_t)world->now_us + 3000000));
}

/* Messages in an order that `seed` decides. */
static void deliver(struct world *world, unsigned *seed) {
    for (unsigned waiting = world_relay(world); waiting > 0; waiting = world_relay(world)) {
        world_step(world, draw(seed, waiting));
        if (draw(seed, 4) == 0)
            take_away(world);
    }
}

static void pass_second(struct world *world, unsigned *seed) {
    deliver(world, seed);
    do_all(world);
    deliver(world, seed);
    world_advance(world, 1);
}

static void assert_rests(struct world *world) {
    ck_assert_int_eq(world_check(world), 0);
    ck_assert_int_eq(COUNT("operations"), 0);
    ck_assert_int_eq(COUNT("operation_turns"), 0);
}

static void request_delete(struct world *world, const char *id) {
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/snapshots/%s", id), NULL), 202);
}

/* Until nothing is left to do. */
static void pass_all(struct world *world, unsigned *seed) {
    for (int s = 0; s < TIMEOUT_S && COUNT("operations") > 0; s++)
        pass_second(world, seed);
    assert_rests(world);
}

START_TEST(two_of_the_same_volumes_do_not_wait_for_each_other) {
    for (unsigned order = WALK_FIRST; order < ORDERS; order += WALK_STEP) {
        autoworld struct world *world = with_guest();
        unsigned seed = order;
        const char *ids[3];

        start_guest(world);
        for (unsigned i = 0; i < LENGTH(ids); i++)
            ids[i] = new_group_snapshot(world);
        pass_all(world, &seed);
        for (unsigned i = 0; i < LENGTH(ids); i++)
            ck_assert_str_eq(group_snapshot_status(world, ids[i]), "available");
    }
}
END_TEST

/* Merges of both members' snapshots, and another snapshot, requested before and behind it. */
START_TEST(beside_merges_all_of_it_ends) {
    for (unsigned order = WALK_FIRST; order < ORDERS; order += WALK_STEP) {
        autoworld struct world *world = with_guest();
        const char *old[MEMBERS], *id, *alone;
        unsigned seed = order;

        merge_s = 30;
        for (int i = 1; i < MEMBERS; i++)
            old[i] = snapshot_of_volume(world, volumes[i]);
        start_guest(world);
        request_delete(world, old[1]);
        if (order % 2)
            deliver(world, &seed);
        id = new_group_snapshot(world);
        request_delete(world, old[2]);
        ck_assert_int_eq(request_snapshot(world, volumes[2], ", \"force\": true"), 202);
        alone = world_answer_id(world, "snapshot");
        pass_all(world, &seed);
        ck_assert_str_eq(group_snapshot_status(world, id), "available");
        assert_snapshot(world, alone, "available");
        ck_assert_int_eq(COUNT("snapshots"), MEMBERS + 1);
    }
}
END_TEST

/* One after the other on both members, for ever: it is not overtaken by those behind it. */
START_TEST(a_group_snapshot_gets_its_turn_among_endless_merges) {
    enum { MERGES = 12 };

    for (unsigned order = WALK_FIRST % 2; order < 2; order += WALK_STEP) {
        autoworld struct world *world = with_guest();
        const char *old[MERGES], *id;
        unsigned seed = order, queried = 0;

        for (unsigned i = 0; i < MERGES; i++)
            old[i] = snapshot_of_volume(world, volumes[1 + i % 2]);
        start_guest(world);
        while (queried < 2)
            request_delete(world, old[queried++]);
        deliver(world, &seed);
        id = new_group_snapshot(world);
        while (queried < MERGES && strcmp(group_snapshot_status(world, id), "creating") == 0) {
            if (COUNT("operations WHERE kind = 'snapshot_delete'") < 3)
                request_delete(world, old[queried++]);
            pass_second(world, &seed);
        }
        ck_assert_int_lt(queried, 6);
        pass_all(world, &seed);
        ck_assert_str_eq(group_snapshot_status(world, id), "available");
    }
}
END_TEST

/* Nor does it overtake a merge for ever. */
START_TEST(a_merge_gets_its_turn_among_endless_group_snapshots) {
    for (unsigned order = WALK_FIRST % 2; order < 2; order += WALK_STEP) {
        autoworld struct world *world = with_guest();
        unsigned seed = order, queried = 0;
        const char *old;

        old = snapshot_of_volume(world, volumes[1]);
        start_guest(world);
        new_group_snapshot(world);
        deliver(world, &seed);
        request_delete(world, old);
        while (queried < 12 && strcmp(snapshot_status(world, old), "gone") != 0) {
            if (COUNT("operations WHERE kind = 'group_snapshot_create'") < 2)
                ck_assert(new_group_snapshot(world) && ++queried);
            pass_second(world, &seed);
        }
        ck_assert_int_lt(queried, 8);
        pass_all(world, &seed);
    }
}
END_TEST

static const char *begins; /* another manager's work during the check of the group snapshot */

static struct fault_decision begin_beside(void *arg, const char *call, const char *volume_id) {
    struct world *world = arg;

    if (begins && strcmp(call, "create_snapshot") == 0 && strcmp(volume_id, volumes[0]) == 0) {
        world_sql(world, begins);
        begins = NULL;
    }
    return (struct fault_decision){ 0 };
}

/* It has the worker's time in between, and is released first: it is older, or is there already. */
START_TEST(operations_begun_during_a_check_go_first) {
    static const char *const states[] = { "phase = 'preparing', deadline = 2000000000000000",
                                          "phase = 'running'" };

    for (unsigned i = 0; i < LENGTH(states); i++) {
        autoworld struct world *world = with_guest();
        unsigned seed = 3;
        const char *old, *id;

        old = snapshot_of_volume(world, volumes[1]);
        start_guest(world);
        world->decide = begin_beside;
        request_delete(world, old);
        id = new_group_snapshot(world);
        begins = PATH("UPDATE operations SET %s, owner = 'other', attempts = 1, lease_until = %jd "
                      "WHERE kind = 'snapshot_delete'",
                      states[i], (intmax_t)world->now_us + 3000000);
        world_relay(world);
        world_step(world, 1);
        ck_assert_ptr_null(begins);
        ck_assert_int_eq(COUNT("operations"), 2);
        pass_all(world, &seed);
        ck_assert_str_eq(group_snapshot_status(world, id), "available");
        assert_snapshot(world, old, "gone");
    }
}
END_TEST

START_TEST(the_older_of_two_goes_first) {
    autoworld struct world *world = with_guest();
    const char *ids[2];
    unsigned seed = 0;

    start_guest(world);
    ids[0] = new_group_snapshot(world);
    world_sql(world, PATH("UPDATE operations SET phase = 'running', owner = 'other', attempts = 1, "
                          "lease_until = %jd",
                          (intmax_t)world->now_us + 3000000));
    ids[1] = new_group_snapshot(world);
    deliver(world, &seed);
    ck_assert_int_eq(COUNT("operations"), 2);
    pass_all(world, &seed);
    for (int i = 0; i < 2; i++)
        ck_assert_str_eq(group_snapshot_status(world, ids[i]), "available");
}
END_TEST

/* A later operation may record that it is older. */
START_TEST(a_begun_operation_waits_for_no_older_one) {
    autoworld struct world *world = with_guest();
    const char *ids[2];
    unsigned seed = 0;

    start_guest(world);
    ids[0] = new_group_snapshot(world);
    world_relay(world);
    world_step(world, 0);
    ck_assert_int_eq(COUNT("operations"), MEMBERS);
    ids[1] = new_group_snapshot(world);
    world_sql(world, PATH("UPDATE operations SET created_at = 1 WHERE target_id = '%s'", ids[1]));
    pass_all(world, &seed);
    for (int i = 0; i < 2; i++)
        ck_assert_str_eq(group_snapshot_status(world, ids[i]), "available");
}
END_TEST

/* No host was requested to merge it. */
START_TEST(a_refused_merge_that_waited_has_changed_nothing) {
    autoworld struct world *world = with_guest();
    unsigned seed = 0;
    const char *old;

    old = snapshot_of_volume(world, volumes[1]);
    start_guest(world);
    new_group_snapshot(world);
    world_relay(world);
    world_step(world, 0);
    request_delete(world, old);
    world_relay(world);
    while (world_step(world, 2)) /* before the parts */
        world_relay(world);
    assert_snapshot(world, old, "deleting");
    deliver(world, &seed);
    do_all(world);
    deliver(world, &seed);
    world->verdict = EVENT_REFUSED;
    pass_all(world, &seed);
    assert_snapshot(world, old, "error_deleting");
    ck_assert_int_eq(COUNT("snapshots WHERE delete_begun = 1"), 0);
}
END_TEST

CHECK_MAIN("group snapshot queue", two_of_the_same_volumes_do_not_wait_for_each_other,
           beside_merges_all_of_it_ends, a_group_snapshot_gets_its_turn_among_endless_merges,
           a_merge_gets_its_turn_among_endless_group_snapshots,
           operations_begun_during_a_check_go_first, the_older_of_two_goes_first,
           a_begun_operation_waits_for_no_older_one,
           a_refused_merge_that_waited_has_changed_nothing)
