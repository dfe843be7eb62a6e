/*
 * Group snapshots of volumes that running guests have where the storage takes none below a guest:
 * their hosts make and delete these members, and whatever a host, a guest or a manager does
 * meanwhile, the group snapshot ends with the last of them, whole.
 */
#include "tests/lib/extend.h"
#include "tests/lib/groups.h"
#include "tests/lib/memory_guests.h"

#include <string.h>

enum { MEMBERS = 3, GUESTS = 2 }; /* the first is attached to no instance */

#define ONE_MOMENT "{\"consistent_group_snapshot_enabled\": \"<is> True\"}"

static const char made[] = "{\"os-update_snapshot_status\": {\"status\": \"creating\", "
                           "\"progress\": \"90%\"}}";
static const char not_made[] = "{\"os-update_snapshot_status\": {\"status\": \"error\"}}";
static const char merged[] = "{\"os-update_snapshot_status\": {\"status\": \"deleting\", "
                             "\"progress\": \"90%\"}}";
static const char not_merged[] =
    "{\"os-update_snapshot_status\": {\"status\": \"error_deleting\"}}";

static int report(struct world *world, const char *member, const char *body) {
    return world_call(world, "POST", PATH("/snapshots/%s/action", member), body);
}

static int reset(struct world *world, const char *id, const char *status) {
    return world_call(world, "POST", PATH("/group_snapshots/%s/action", id),
                      PATH("{\"reset_status\": {\"status\": \"%s\"}}", status));
}

static void do_it(struct world *world, const struct world_assist *assist) {
    memory_assist(world->memory, assist->snapshot_id);
}

struct members {
    const char *volumes[MEMBERS], *guests[MEMBERS]; /* attachments; NULL of the first */
};

/* Three volumes that hold 1, 2 and 3, two of them below a guest. */
static struct world *with_guests(struct members *ret) {
    static const char *const instances[MEMBERS] = { NULL, WORLD_INSTANCE, WORLD_INSTANCE2 };
    struct world *world = world_new(NULL);

    for (int i = 0; i < MEMBERS; i++) {
        ret->volumes[i] = world_volume(world, 2);
        memory_write(world->memory, ret->volumes[i], i + 1);
        ret->guests[i] = instances[i] ? world_attach(world, ret->volumes[i], instances[i]) : NULL;
    }
    group_of(world, ret->volumes, MEMBERS);
    memory_defer_snapshots(world->memory, true);
    world->on_assist = do_it;
    return world;
}

static void assert_all(struct world *world, const char *id, const char *status) {
    ck_assert_int_eq(
        COUNT("snapshots WHERE group_snapshot_id = '%s' AND status = '%s'", id, status), MEMBERS);
}

#define assert_rests(world)                            \
    do {                                               \
        ck_assert_int_eq(world_check(world), 0);       \
        ck_assert_int_eq(COUNT("operations"), 0);      \
        ck_assert_int_eq(COUNT("operation_turns"), 0); \
    } while (0)

static void assert_made(struct world *world, const struct members *members, const char *id) {
    ck_assert_str_eq(group_snapshot_status(world, id), "available");
    assert_all(world, id, "available");
    for (int i = 0; i < MEMBERS; i++)
        ck_assert_int_eq(
            memory_read_snapshot(world->memory, member_of(world, id, members->volumes[i])), i + 1);
    ck_assert_int_eq(COUNT("snapshots WHERE provider_location IS NULL OR progress <> '100%%'"), 0);
    assert_rests(world);
}

/* Of all awaited reports but that of `but`. */
static void report_all(struct world *world, const struct members *members, const char *id,
                       const char *body, const char *but) {
    for (int i = 1; i < MEMBERS; i++) {
        const char *member = member_of(world, id, members->volumes[i]);

        if (!but || strcmp(member, but) != 0)
            report(world, member, body);
    }
    world_settle(world);
}

/* One that waits for its two hosts. */
static const char *pending(struct world *world) {
    const char *id = group_snapshot(world);

    ck_assert_str_eq(group_snapshot_status(world, id), "creating");
    ck_assert_int_eq(COUNT("operations WHERE phase = 'waiting'"), 1 + GUESTS);
    ck_assert_int_eq(world_check(world), 0);
    return id;
}

static const char *made_by_hosts(struct world *world, const struct members *members) {
    const char *id = pending(world);

    report_all(world, members, id, made, NULL);
    assert_made(world, members, id);
    return id;
}

static void request_delete(struct world *world, const char *id) {
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", id), NULL), 202);
    world_settle(world);
}

static void assert_gone(struct world *world, const char *id) {
    ck_assert_str_eq(group_snapshot_status(world, id), "gone");
    ck_assert_int_eq(COUNT("snapshots"), 0);
    ck_assert_int_eq(world_in_use(world, "snapshots"), 0);
    assert_rests(world);
}

/* The remaining members are deleted, with hosts that execute their requests. */
static void delete_all(struct world *world, const struct members *members, const char *id) {
    world->verdict = EVENT_ACCEPTED;
    world->on_assist = do_it;
    request_delete(world, id);
    report_all(world, members, id, merged, NULL);
    assert_gone(world, id);
}

/* ---- create ---- */

START_TEST(a_group_snapshot_is_available_with_the_last_host) {
    struct members members;
    autoworld struct world *world = with_guests(&members);
    const char *id = pending(world);

    assert_all(world, id, "creating");
    ck_assert_uint_eq(world->assist_count, GUESTS);
    ck_assert_int_eq(report(world, member_of(world, id, members.volumes[1]), made), 202);
    world_settle(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "creating");
    assert_all(world, id, "creating");
    ck_assert_int_eq(world_check(world), 0);
    memory_write(world->memory, members.volumes[2], 9);
    ck_assert_int_eq(report(world, member_of(world, id, members.volumes[2]), made), 202);
    world_settle(world);
    assert_made(world, &members, id);
    ck_assert_int_eq(world_in_use(world, "snapshots"), MEMBERS);
}
END_TEST

/* The one that a guest has is of its own moment, and the others do not change before it is
 * taken. */
START_TEST(the_promise_of_one_moment_is_kept_with_one_guest) {
    autoworld struct world *world = world_new(NULL);
    const char *volumes[2], *id;

    for (int i = 0; i < 2; i++)
        volumes[i] = world_volume(world, 1);
    world_attach(world, volumes[1], WORLD_INSTANCE);
    group_of_type(world, group_type(world, "moment", ONE_MOMENT), volumes, 2);
    memory_defer_snapshots(world->memory, true);
    world->on_assist = do_it;
    id = group_snapshot(world);
    ck_assert_int_eq(world_call(world, "POST", "/attachments",
                                PATH("{\"attachment\": {\"volume_uuid\": \"%s\"}}", volumes[0])),
                     400);
    ck_assert_int_eq(world_action(world, volumes[0], "{\"revert\": {\"snapshot_id\": \"%s\"}}",
                                  member_of(world, id, volumes[0])),
                     409);
    ck_assert_int_eq(report(world, member_of(world, id, volumes[1]), made), 202);
    world_settle(world);
    ck_assert_str_eq(group_snapshot_status(world, id), "available");
    ck_assert_int_eq(world_call(world, "POST", "/attachments",
                                PATH("{\"attachment\": {\"volume_uuid\": \"%s\"}}", volumes[0])),
                     200);
    assert_rests(world);
}
END_TEST

START_TEST(a_failed_host_fails_all_members) {
    for (int refuses = 0; refuses <= 1; refuses++) {
        struct members members;
        autoworld struct world *world = with_guests(&members);
        const char *id, *spoilt;

        world->on_assist = NULL;
        world->verdict = refuses ? EVENT_REFUSED : EVENT_ACCEPTED;
        id = refuses ? group_snapshot(world) : pending(world);
        spoilt = member_of(world, id, members.volumes[1]);
        if (!refuses) {
            ck_assert(memory_assist(world->memory, member_of(world, id, members.volumes[2])));
            ck_assert_int_eq(report(world, spoilt, not_made), 202);
            world_settle(world);
            ck_assert_str_eq(group_snapshot_status(world, id), "creating");
            report_all(world, &members, id, made, spoilt);
        }
        ck_assert_str_eq(group_snapshot_status(world, id), "error");
        assert_all(world, id, "error");
        ck_assert(world_has_message(world, id, "VOLUME_GROUP_SNAPSHOT_904_903"));
        ck_assert(world_has_message(world, spoilt, "VOLUME_VOLUME_SNAPSHOT_009_013"));
        ck_assert(!memory_assist(world->memory, spoilt));
        ck_assert_int_eq(COUNT("volumes WHERE status = 'in-use'"), GUESTS);
        assert_rests(world);
        delete_all(world, &members, id);
    }
}
END_TEST

/* The reason of one member is that of the whole: its create, and its delete. */
START_TEST(lack_of_space_below_a_guest_reaches_the_user) {
    for (int deletes = 0; deletes <= 1; deletes++) {
        struct members members;
        autoworld struct world *world = with_guests(&members);
        const char *id = NULL;

        if (deletes) {
            id = pending(world);
            report_all(world, &members, id, made, NULL);
            ck_assert_str_eq(group_snapshot_status(world, id), "available");
        }
        memory_fill_before(world->memory, "prepare_assist");
        if (deletes)
            ck_assert_int_eq(world_call(world, "DELETE", PATH("/group_snapshots/%s", id), NULL),
                             202);
        else
            id = group_snapshot(world);
        world_settle(world);
        for (int i = 1; i < MEMBERS; i++)
            report(world, member_of(world, id, members.volumes[i]), deletes ? merged : made);
        world_settle(world);
        ck_assert_str_eq(group_snapshot_status(world, id), "error");
        ck_assert_int_eq(COUNT("messages WHERE resource_type = 'GROUP_SNAPSHOT' AND "
                               "reason LIKE 'No space is left%%'"),
                         1);
        assert_rests(world);
    }
}
END_TEST

static struct {
    const char *call;
    int after;
} failing;

static struct fault_decision fail_later(void *arg, const char *call, const char *name_id) {
    (void)arg, (void)name_id;
    return (struct fault_decision){
        .action = strcmp(call, failing.call) == 0 && failing.after-- == 0 ? FAULT_BEFORE : 0,
    };
}

/* As on a full disk: no host is requested for this one, and the other host's overlay is not
 * lost. */
START_TEST(a_member_whose_files_cannot_be_prepared_fails_all) {
    for (int i = 0; i < GUESTS; i++) {
        struct members members;
        autoworld struct world *world = with_guests(&members);
        const char *id;

        failing.call = "prepare_assist";
        failing.after = i;
        world->decide = fail_later;
        id = group_snapshot(world);
        ck_assert_str_eq(group_snapshot_status(world, id), "creating");
        ck_assert_uint_eq(world->assist_count, GUESTS - 1);
        report_all(world, &members, id, made, NULL);
        ck_assert_str_eq(group_snapshot_status(world, id), "error");
        assert_all(world, id, "error");
        ck_assert_int_eq(COUNT("snapshots WHERE provider_location IS NOT NULL"), MEMBERS - 1);
        assert_rests(world);
        delete_all(world, &members, id);
    }
}
END_TEST

/* No report comes, or the guest goes: the files decide. */
START_TEST(an_unresponsive_host_is_not_waited_for) {
    for (int leaves = 0; leaves <= 1; leaves++)
        for (int has_done = 0; has_done <= 1; has_done++) {
            struct members members;
            autoworld struct world *world = with_guests(&members);
            const char *id;

            world->on_assist = has_done ? do_it : NULL;
            id = pending(world);
            for (int i = 1; i < MEMBERS && leaves; i++) {
                ck_assert_int_eq(
                    world_call(world, "DELETE", PATH("/attachments/%s", members.guests[i]), NULL),
                    200);
                memory_lock(world->memory, members.volumes[i], false);
                world_settle(world);
            }
            if (!leaves)
                world_advance(world, 700);
            world_settle(world);
            if (has_done)
                assert_made(world, &members, id);
            else
                assert_all(world, id, "error");
            assert_rests(world);
        }
}
END_TEST

/* Work on a member behind it begins behind its host, and it begins behind another's. */
START_TEST(a_group_snapshot_waits_in_the_queue) {
    struct members members;
    autoworld struct world *world = with_guests(&members);
    const char *alone = new_snapshot(world, members.volumes[1]), *id;

    world_settle(world);
    id = new_group_snapshot(world);
    ck_assert_int_eq(world_action(world, members.volumes[2], EXTEND(5)), 202);
    world_settle(world);
    ck_assert_int_eq(COUNT("operations WHERE kind = 'group_snapshot_create' AND attempts > 0"), 0);
    ck_assert_int_eq(report(world, alone, made), 202);
    world_settle(world);
    assert_snapshot(world, alone, "available");
    ck_assert_uint_eq(world->assist_count, 1 + GUESTS);
    ck_assert_int_eq(COUNT("operations WHERE kind = 'extend' AND attempts > 0"), 0);
    ck_assert_int_eq(COUNT("operations WHERE phase = 'waiting'"), 1 + GUESTS);
    ck_assert_int_eq(COUNT("snapshots WHERE size_gb <> 2"), 0);
    report_all(world, &members, id, made, NULL);
    ck_assert_str_eq(group_snapshot_status(world, id), "available");
    world_settle(world);
    guest_grows(world, members.volumes[2], 5);
    ck_assert_int_eq(world_action(world, members.volumes[2], COMPLETE_OK), 202);
    world_settle(world);
    assert_made(world, &members, id);
}
END_TEST

/* ---- delete ---- */

START_TEST(a_group_snapshot_is_deleted_with_the_last_host) {
    struct members members;
    autoworld struct world *world = with_guests(&members);
    const char *id = made_by_hosts(world, &members);

    request_delete(world, id);
    ck_assert_str_eq(group_snapshot_status(world, id), "deleting");
    ck_assert_uint_eq(world->assist_count, 2 * GUESTS);
    ck_assert_int_eq(report(world, member_of(world, id, members.volumes[2]), merged), 202);
    world_settle(world);
    assert_all(world, id, "deleting");
    ck_assert_int_eq(COUNT("snapshots WHERE delete_begun = 1"), MEMBERS);
    ck_assert_int_eq(world_check(world), 0);
    ck_assert_int_eq(report(world, member_of(world, id, members.volumes[1]), merged), 202);
    world_settle(world);
    assert_gone(world, id);
    for (int i = 0; i < MEMBERS; i++)
        ck_assert_int_eq(memory_read(world->memory, members.volumes[i]), i + 1);
}
END_TEST

START_TEST(a_failed_merge_leaves_all_rows) {
    for (int refuses = 0; refuses <= 1; refuses++) {
        struct members members;
        autoworld struct world *world = with_guests(&members);
        const char *id = made_by_hosts(world, &members), *left;

        world->on_assist = NULL;
        world->verdict = refuses ? EVENT_REFUSED : EVENT_ACCEPTED;
        request_delete(world, id);
        left = member_of(world, id, members.volumes[1]);
        if (!refuses) {
            ck_assert(memory_assist(world->memory, member_of(world, id, members.volumes[2])));
            ck_assert_int_eq(report(world, left, not_merged), 202);
            report_all(world, &members, id, merged, left);
        }
        ck_assert_str_eq(group_snapshot_status(world, id), "error");
        assert_all(world, id, "error_deleting");
        ck_assert(world_has_message(world, id, "VOLUME_GROUP_SNAPSHOT_905_904"));
        ck_assert(world_has_message(world, left, "VOLUME_VOLUME_SNAPSHOT_010_016"));
        ck_assert_int_eq(reset(world, id, "available"), 400);
        assert_rests(world);
        delete_all(world, &members, id);
    }
}
END_TEST

/* As while its instance moves to another host: no host is requested, and nothing of it has
 * begun. */
START_TEST(a_member_that_no_host_can_merge_leaves_all_rows) {
    struct members members;
    autoworld struct world *world = with_guests(&members);
    const char *id = made_by_hosts(world, &members), *left, *second;

    left = member_of(world, id, members.volumes[1]);
    ck_assert_int_eq(
        world_call(world, "POST", "/attachments",
                   PATH("{\"attachment\": {\"volume_uuid\": \"%s\", \"instance_uuid\": \"%s\"}}",
                        members.volumes[1], WORLD_INSTANCE)),
        200);
    second = world_answer_id(world, "attachment");
    request_delete(world, id);
    report_all(world, &members, id, merged, left);
    ck_assert_str_eq(group_snapshot_status(world, id), "error");
    assert_all(world, id, "error_deleting");
    ck_assert(world_has_message(world, left, "VOLUME_VOLUME_SNAPSHOT_010_015"));
    ck_assert_int_eq(COUNT("snapshots WHERE delete_begun = 0 AND id = '%s'", left), 1);
    assert_rests(world);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/attachments/%s", second), NULL), 200);
    delete_all(world, &members, id);
}
END_TEST

/* ---- an operator in between ---- */

START_TEST(a_reset_ends_the_wait_for_merges) {
    struct members members;
    autoworld struct world *world = with_guests(&members);
    const char *id = made_by_hosts(world, &members);

    world->on_assist = NULL;
    request_delete(world, id);
    ck_assert_int_eq(reset(world, id, "error"), 202);
    world_settle(world);
    ck_assert_int_eq(report(world, member_of(world, id, members.volumes[1]), merged), 400);
    ck_assert_str_eq(group_snapshot_status(world, id), "error");
    assert_all(world, id, "error_deleting");
    assert_rests(world);
    delete_all(world, &members, id);
}
END_TEST

/* Nor does one of a member end its merge. */
START_TEST(a_reset_of_a_member_ends_nothing) {
    struct members members;
    autoworld struct world *world = with_guests(&members);
    const char *id = made_by_hosts(world, &members), *member;

    request_delete(world, id);
    member = member_of(world, id, members.volumes[1]);
    ck_assert_int_eq(report(world, member, "{\"os-reset_status\": {\"status\": \"available\"}}"),
                     400);
    ck_assert_int_eq(report(world, member, "{\"os-reset_status\": {\"status\": \"error\"}}"), 202);
    ck_assert_int_eq(COUNT("operations WHERE phase = 'waiting'"), 1 + GUESTS);
    report_all(world, &members, id, merged, member);
    ck_assert_str_eq(group_snapshot_status(world, id), "deleting");
    world_advance(world, 7300); /* a reset member is reported no more */
    world_settle(world);
    assert_gone(world, id);
}
END_TEST

START_TEST(a_cancelled_group_snapshot_is_deleted) {
    for (int has_done = 0; has_done <= 1; has_done++) {
        struct members members;
        autoworld struct world *world = with_guests(&members);
        const char *id;

        world->on_assist = has_done ? do_it : NULL;
        id = pending(world);
        ck_assert_int_eq(reset(world, id, "error"), 202);
        delete_all(world, &members, id);
        for (int i = 0; i < MEMBERS; i++)
            ck_assert_int_eq(memory_read(world->memory, members.volumes[i]), i + 1);
    }
}
END_TEST

/* The maker of a member for it may still be at work. */
START_TEST(a_delete_waits_for_the_creation_of_a_member) {
    struct members members;
    autoworld struct world *world = with_guests(&members);
    const char *id = pending(world), *member = member_of(world, id, members.volumes[1]);

    world_sql(world, PATH("UPDATE operations SET phase = 'preparing', owner = 'other:1:1', "
                          "lease_until = 4000000000000000 WHERE target_id = '%s'",
                          member));
    ck_assert_int_eq(reset(world, id, "error"), 202);
    request_delete(world, id);
    ck_assert_int_eq(COUNT("operations WHERE phase = 'cancelled'"), 1);
    ck_assert_int_eq(COUNT("snapshots WHERE delete_begun = 1"), 0);
    world_sql(world, "UPDATE operations SET lease_until = 1 WHERE owner = 'other:1:1'");
    world_advance(world, 1);
    world_settle(world);
    ck_assert_int_eq(COUNT("operations WHERE phase = 'cancelled'"), 0);
    report_all(world, &members, id, merged, NULL);
    assert_gone(world, id);
}
END_TEST

static struct {
    struct world *world;
    const char *id; /* NULL: given up */
} making;

/* Deleted, and its delete comes in vain, while the files of a member are made ready. */
static struct fault_decision give_up(void *arg, const char *call, const char *name_id) {
    struct world *world = making.world;
    const char *id = making.id;

    (void)arg, (void)name_id;
    if (strcmp(call, "prepare_assist") != 0 || !id)
        return (struct fault_decision){ 0 };
    making.id = NULL;
    ck_assert_int_eq(reset(world, id, "error"), 202);
    request_delete(world, id);
    ck_assert_int_eq(COUNT("operations WHERE phase = 'cancelled'"), 1);
    ck_assert_int_eq(COUNT("operations WHERE kind = 'group_snapshot_delete' AND attempts = 0"), 1);
    return (struct fault_decision){ 0 };
}

START_TEST(a_delete_is_notified_when_the_creation_of_a_member_has_ended) {
    struct members members;
    autoworld struct world *world = with_guests(&members);
    const char *id;

    making.world = world;
    making.id = id = new_group_snapshot(world);
    world->decide = give_up;
    world_settle(world);
    ck_assert_ptr_null(making.id);
    assert_gone(world, id);
}
END_TEST

/* ---- deaths ---- */

static void live_on(struct world *world) {
    world_restart(world);
    for (int i = 0; i < 5; i++) {
        world_settle(world);
        world_advance(world, 100);
    }
    world_settle(world);
}

START_TEST(death_at_any_effect_of_a_create_strands_nothing) {
    bool died = true;

    for (int64_t effects = WALK_FIRST; died; effects += WALK_STEP) {
        struct members members;
        autoworld struct world *world = with_guests(&members);
        const char *id;

        world_die_after(world, effects);
        id = request_group_snapshot(world, "") == 202 ? world_answer_id(world, "group_snapshot")
                                                      : NULL;
        world_settle(world);
        if (id && !world->dead)
            report_all(world, &members, id, made, NULL);
        died = world->dead;
        live_on(world);
        ck_assert_int_eq(world_check(world), 0);
        if (!id)
            continue;
        report_all(world, &members, id, made, NULL);
        assert_made(world, &members, id);
    }
}
END_TEST

START_TEST(death_at_any_effect_of_a_delete_strands_nothing) {
    bool died = true;

    for (int64_t effects = WALK_FIRST; died; effects += WALK_STEP) {
        struct members members;
        autoworld struct world *world = with_guests(&members);
        const char *id = made_by_hosts(world, &members);

        world_die_after(world, effects);
        world_call(world, "DELETE", PATH("/group_snapshots/%s", id), NULL);
        world_settle(world);
        if (!world->dead)
            report_all(world, &members, id, merged, NULL);
        died = world->dead;
        live_on(world);
        ck_assert_int_eq(world_check(world), 0);
        if (strcmp(group_snapshot_status(world, id), "available") == 0)
            continue;
        if (strcmp(group_snapshot_status(world, id), "gone") != 0)
            report_all(world, &members, id, merged, NULL);
        assert_gone(world, id);
    }
}
END_TEST

CHECK_MAIN("group snapshot parts", a_group_snapshot_is_available_with_the_last_host,
           the_promise_of_one_moment_is_kept_with_one_guest, a_failed_host_fails_all_members,
           lack_of_space_below_a_guest_reaches_the_user,
           a_member_whose_files_cannot_be_prepared_fails_all,
           an_unresponsive_host_is_not_waited_for, a_group_snapshot_waits_in_the_queue,
           a_group_snapshot_is_deleted_with_the_last_host, a_failed_merge_leaves_all_rows,
           a_member_that_no_host_can_merge_leaves_all_rows, a_reset_ends_the_wait_for_merges,
           a_reset_of_a_member_ends_nothing, a_cancelled_group_snapshot_is_deleted,
           a_delete_waits_for_the_creation_of_a_member,
           a_delete_is_notified_when_the_creation_of_a_member_has_ended,
           death_at_any_effect_of_a_create_strands_nothing,
           death_at_any_effect_of_a_delete_strands_nothing)
