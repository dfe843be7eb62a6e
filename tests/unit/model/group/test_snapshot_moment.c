/*
 * Group snapshots whose type promises one moment, of several volumes of one running guest: the
 * guest's host takes these together, or none of them is any good.
 */
#include "tests/lib/groups.h"
#include "tests/lib/memory_guests.h"

#include <string.h>

enum { MEMBERS = 3, ATTACHED = 2 }; /* the first is attached to no instance */

#define ONE_MOMENT "{\"consistent_group_snapshot_enabled\": \"<is> True\"}"

static const char made[] = "{\"os-update_snapshot_status\": {\"status\": \"creating\", "
                           "\"progress\": \"90%\"}}";
static const char not_made[] = "{\"os-update_snapshot_status\": {\"status\": \"error\"}}";

static const char *volumes[MEMBERS], *attachments[MEMBERS];

/* Of the promise, with two volumes that one guest has. */
static struct world *with_guest(void) {
    struct world *world = world_new(NULL);

    for (int i = 0; i < MEMBERS; i++) {
        volumes[i] = world_volume(world, 2);
        memory_write(world->memory, volumes[i], i + 1);
        if (i > 0)
            attachments[i] = world_attach(world, volumes[i], WORLD_INSTANCE);
    }
    group_of_type(world, group_type(world, "moment", ONE_MOMENT), volumes, MEMBERS);
    memory_defer_snapshots(world->memory, true);
    return world;
}

static int report(struct world *world, const char *id, int i, const char *body) {
    return world_call(world, "POST", PATH("/snapshots/%s/action", member_of(world, id, volumes[i])),
                      body);
}

/* The host has them all, and takes them. */
static void take_all(struct world *world, const char *id) {
    for (int i = 1; i < MEMBERS; i++)
        ck_assert(memory_assist(world->memory, member_of(world, id, volumes[i])));
}

static void assert_rests(struct world *world) {
    ck_assert_int_eq(world_check(world), 0);
    ck_assert_int_eq(COUNT("operations"), 0);
    ck_assert_int_eq(COUNT("operation_turns"), 0);
}

static void assert_made(struct world *world, const char *id) {
    ck_assert_str_eq(group_snapshot_status(world, id), "available");
    for (int i = 0; i < MEMBERS; i++)
        ck_assert_int_eq(memory_read_snapshot(world->memory, member_of(world, id, volumes[i])),
                         i + 1);
    assert_rests(world);
}

/* Nothing of those is left that the host was to take. */
static void assert_none(struct world *world, const char *id) {
    ck_assert_str_eq(group_snapshot_status(world, id), "error");
    ck_assert_int_eq(COUNT("snapshots WHERE status = 'error'"), MEMBERS);
    for (int i = 1; i < MEMBERS; i++)
        ck_assert(!memory_assist(world->memory, member_of(world, id, volumes[i])));
    assert_rests(world);
}

START_TEST(the_host_gets_the_set_of_each_member) {
    autoworld struct world *world = with_guest();
    const char *id = group_snapshot(world), *all = "";

    for (int i = 1; i < MEMBERS; i++)
        all = PATH("%s%s ", all, member_of(world, id, volumes[i]));
    ck_assert_uint_eq(world->assist_count, ATTACHED);
    for (int i = 0; i < ATTACHED; i++)
        ck_assert_uint_eq(strlen(world->assists[i].together), strlen(all));
    ck_assert_str_eq(world->assists[0].together, world->assists[1].together);
    for (int i = 1; i < MEMBERS; i++)
        ck_assert_ptr_nonnull(strstr(world->assists[0].together, member_of(world, id, volumes[i])));
    world_advance(world, 30); /* no response: it is requested again */
    world_settle(world);
    ck_assert_uint_eq(world->assist_count, 2 * ATTACHED);
    ck_assert_str_eq(world->assists[0].together, world->assists[3].together);
    take_all(world, id);
    ck_assert_int_eq(report(world, id, 1, made), 202);
    world_settle(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "creating");
    ck_assert_int_eq(report(world, id, 2, made), 202);
    world_settle(world);
    assert_made(world, id);
}
END_TEST

/* Then no other host's report is waited for: it waits for the one that failed. */
START_TEST(a_failed_member_ends_the_others) {
    for (int i = 1; i < MEMBERS; i++) {
        autoworld struct world *world = with_guest();
        const char *id = group_snapshot(world);

        ck_assert_int_eq(report(world, id, i, not_made), 202);
        world_settle(world);
        assert_none(world, id);
        ck_assert_int_eq(report(world, id, MEMBERS - i, made), 400);
    }
}
END_TEST

static int prepared_before;

static struct fault_decision fail_prepare(void *arg, const char *call, const char *name_id) {
    (void)arg, (void)name_id;
    return (struct fault_decision){
        .action = strcmp(call, "prepare_assist") == 0 && prepared_before-- == 0 ? FAULT_BEFORE : 0,
    };
}

/* As on a full disk: whether the other was requested before or is requested behind that. */
START_TEST(a_member_that_cannot_be_prepared_ends_the_others) {
    for (int i = 0; i < ATTACHED; i++) {
        autoworld struct world *world = with_guest();
        const char *id;

        prepared_before = i;
        world->decide = fail_prepare;
        id = group_snapshot(world);
        assert_none(world, id);
    }
}
END_TEST

START_TEST(a_member_taken_by_the_storage_is_of_another_moment) {
    autoworld struct world *world = with_guest();
    const char *id;

    memory_defer_snapshots(world->memory, false);
    id = group_snapshot(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "error");
    ck_assert_int_eq(COUNT("snapshots WHERE status = 'error'"), MEMBERS);
    ck_assert(world_has_message(world, member_of(world, id, volumes[1]),
                                "VOLUME_VOLUME_SNAPSHOT_009_911"));
    assert_rests(world);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", id), NULL), 202);
    world_settle(world);
    ck_assert_int_eq(COUNT("snapshots"), 0);
    assert_rests(world);
}
END_TEST

static void detach(struct world *world, int i) {
    memory_lock(world->memory, volumes[i], false);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/attachments/%s", attachments[i]), NULL),
                     200);
}

static void pass(struct world *world, int seconds) {
    for (int s = 0; s < seconds; s++) {
        world_settle(world);
        world_advance(world, 1);
    }
}

/* Before it detaches, the guest writes once more. */
static void leave(struct world *world, int i) {
    memory_write(world->memory, volumes[i], 10 + i);
    detach(world, i);
}

static void request_host(struct world *world) {
    for (int steps = 0; steps < 20 && COUNT("operations") < 1 + ATTACHED; steps++) {
        world_relay(world);
        world_step(world, 0);
    }
}

/* Its part is queued then, or has begun: long before the deadline it is known that the others
 * cannot be taken. */
START_TEST(a_member_without_its_guest_ends_the_others) {
    int messages = 0;

    for (int i = 0; i < ATTACHED << 3; i++) {
        autoworld struct world *world = with_guest();
        const char *id = new_group_snapshot(world);
        int leaver = 1 + i % ATTACHED;

        request_host(world);
        for (int steps = 0; steps < i / ATTACHED; steps++) {
            world_relay(world);
            world_step(world, 0);
        }
        detach(world, leaver);
        pass(world, 30);
        ck_assert_str_eq(group_snapshot_status(world, id), "error");
        ck_assert_int_eq(COUNT("snapshots WHERE status = 'error'"), MEMBERS);
        ck_assert_int_eq(report(world, id, MEMBERS - leaver, made), 400);
        messages += world_has_message(world, member_of(world, id, volumes[leaver]),
                                      "VOLUME_VOLUME_SNAPSHOT_009_912");
        assert_rests(world);
        memory_defer_snapshots(world->memory, false);
        ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", id), NULL), 202);
        world_settle(world);
        ck_assert_int_eq(COUNT("snapshots"), 0);
        assert_rests(world);
    }
    ck_assert_int_gt(messages, 0);
}
END_TEST

static int leavers; /* bits */
static bool leave_in_the_middle;

/* Its storage takes the detached one: the others were found in use. */
static struct fault_decision leave_beside(void *arg, const char *call, const char *volume_id) {
    struct world *world = arg;

    if (leave_in_the_middle && strcmp(call, "create_snapshot") == 0) {
        leave_in_the_middle = false;
        for (int i = 1; i < MEMBERS; i++)
            if (leavers >> i & 1)
                leave(world, i);
    }
    (void)volume_id;
    return (struct fault_decision){ 0 };
}

/* The remaining hosts get only their own members, and a detached member is as it was at the end. */
static void assert_taken_as_it_stays(struct world *world, const char *id) {
    pass(world, 5);
    for (int i = 1; i < MEMBERS; i++) {
        if (leavers >> i & 1)
            continue;
        ck_assert_uint_eq(world->assist_count, 1);
        ck_assert_str_eq(world->assists[0].together, "");
        ck_assert(memory_assist(world->memory, member_of(world, id, volumes[i])));
        ck_assert_int_eq(report(world, id, i, made), 202);
        world_settle(world);
    }
    ck_assert_str_eq(group_snapshot_status(world, id), "available");
    for (int i = 0; i < MEMBERS; i++)
        ck_assert_int_eq(memory_read_snapshot(world->memory, member_of(world, id, volumes[i])),
                         leavers >> i & 1 ? 10 + i : i + 1);
    assert_rests(world);
}

START_TEST(a_volume_detached_before_the_request_is_taken_by_its_storage) {
    for (int i = 0; i < 6; i++) {
        autoworld struct world *world = with_guest();
        const char *id = new_group_snapshot(world);

        leavers = 2 * (1 + i % 3);
        leave_in_the_middle = i >= 3;
        world->decide = leave_beside;
        for (int member = 1; i < 3 && member < MEMBERS; member++)
            if (leavers >> member & 1)
                leave(world, member);
        assert_taken_as_it_stays(world, id);
        ck_assert(!leave_in_the_middle);
    }
}
END_TEST

/* The guest writes and leaves wherever the manager has died. */
START_TEST(members_that_detach_during_a_death_are_of_one_moment) {
    bool died = true;
    int taken = 0;

    for (int64_t effects = WALK_FIRST + 3; died; effects += WALK_STEP) {
        autoworld struct world *world = with_guest();
        const char *id = new_group_snapshot(world);

        world_die_after(world, effects);
        world_settle(world);
        died = world->dead;
        world_restart(world);
        for (int i = 1; i < MEMBERS; i++)
            leave(world, i);
        for (int i = 0; i < 5; i++) {
            world_settle(world);
            world_advance(world, 100);
        }
        world_settle(world);
        assert_rests(world);
        if (strcmp(group_snapshot_status(world, id), "available") != 0)
            continue;
        taken++;
        for (int i = 1; i < MEMBERS; i++)
            ck_assert_int_eq(memory_read_snapshot(world->memory, member_of(world, id, volumes[i])),
                             10 + i);
    }
    ck_assert(taken > 0 || !WALK_IS_WHOLE);
}
END_TEST

static void refuse(struct world *world, const char *why) {
    ck_assert_int_eq(request_group_snapshot(world, ""), 400);
    ck_assert_msg(strstr(world->answer_text, why), "%s", world->answer_text);
    for (int i = 1; i < MEMBERS; i++)
        ck_assert_ptr_nonnull(strstr(world->answer_text, volumes[i]));
    ck_assert_int_eq(COUNT("snapshots"), 0);
    assert_rests(world);
}

START_TEST(a_set_that_cannot_be_of_one_moment_is_refused_with_a_reason) {
    autoworld struct world *world = with_guest();

    world->settings.asks_service = true;
    refuse(world, "compute service takes one volume");
    world->settings.asks_service = false;
    world_sql(world, "UPDATE pools SET capabilities = '{\"snapshot_overlays\": false}'");
    refuse(world, "their backend takes snapshots one after the other");
    world_sql(world, "UPDATE pools SET capabilities = '{\"snapshot_overlays\": true}'");
    world_sql(world, PATH("UPDATE attachments SET instance_uuid = '" WORLD_INSTANCE2
                          "' WHERE volume_id = '%s'",
                          volumes[2]));
    refuse(world, "different instances");
    world_sql(world, PATH("UPDATE attachments SET instance_uuid = NULL WHERE volume_id = '%s'",
                          volumes[2]));
    refuse(world, "not each of them has one attachment");
}
END_TEST

/* It has another configuration than the service that accepted the request. */
START_TEST(a_compute_service_gets_no_set) {
    autoworld struct world *world = with_guest();

    world->sender.asks_again = false;
    assert_none(world, group_snapshot(world));
    ck_assert_uint_eq(world->assist_count, 0);
}
END_TEST

static void report_all(struct world *world, const char *id) {
    for (int i = 1; i < MEMBERS; i++)
        report(world, id, i, made);
    world_settle(world);
}

static void do_it(struct world *world, const struct world_assist *assist) {
    memory_assist(world->memory, assist->snapshot_id);
}

START_TEST(death_at_any_effect_strands_nothing) {
    bool died = true;

    for (int64_t effects = WALK_FIRST; died; effects += WALK_STEP) {
        autoworld struct world *world = with_guest();
        const char *id;

        world->on_assist = do_it;
        world_die_after(world, effects);
        id = request_group_snapshot(world, "") == 202 ? world_answer_id(world, "group_snapshot")
                                                      : NULL;
        world_settle(world);
        if (id && !world->dead)
            report_all(world, id);
        died = world->dead;
        world_restart(world);
        for (int i = 0; i < 5; i++) {
            world_settle(world);
            world_advance(world, 100);
        }
        world_settle(world);
        ck_assert_int_eq(world_check(world), 0);
        if (!id)
            continue;
        report_all(world, id);
        assert_made(world, id);
    }
}
END_TEST

CHECK_MAIN("group snapshot moment", the_host_gets_the_set_of_each_member,
           a_failed_member_ends_the_others, a_member_that_cannot_be_prepared_ends_the_others,
           a_member_taken_by_the_storage_is_of_another_moment,
           a_member_without_its_guest_ends_the_others,
           a_volume_detached_before_the_request_is_taken_by_its_storage,
           members_that_detach_during_a_death_are_of_one_moment,
           a_set_that_cannot_be_of_one_moment_is_refused_with_a_reason,
           a_compute_service_gets_no_set, death_at_any_effect_strands_nothing)
