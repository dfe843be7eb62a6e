/*
 * Volume groups between a driver and a real service: each request to the service fails in turn, in
 * each of several ways, and each call meets another one before each of its requests.  Whatever has
 * failed, the caller repeats its call until that succeeds, and nothing else is left.
 */
#include "tests/unit/csi/controller/walk.h"

#define RPC(name_) "/volumegroup.Controller/" name_

static char met_group[sizeof(service.group)]; /* reported by another call */

/* The letters are the group's volumes; `typed`: the group accepts the default type only. */
static unsigned create(struct door *door, const char *letters, bool typed, char *ret_group) {
    Volumegroup__CreateVolumeGroupRequest request = VOLUMEGROUP__CREATE_VOLUME_GROUP_REQUEST__INIT;
    Volumegroup__CreateVolumeGroupRequest__ParametersEntry entry =
        VOLUMEGROUP__CREATE_VOLUME_GROUP_REQUEST__PARAMETERS_ENTRY__INIT;
    Volumegroup__CreateVolumeGroupRequest__ParametersEntry *one = &entry;
    Volumegroup__CreateVolumeGroupResponse *answer;
    char *ids[OTHERS];
    unsigned code;

    for (; letters[request.n_volume_ids]; request.n_volume_ids++)
        ids[request.n_volume_ids] =
            arena_text(service.world->arena, service.volumes[letters[request.n_volume_ids] - 'a']);
    entry.key = (char[]){ "volume_types" };
    entry.value = (char[]){ "__DEFAULT__" };
    request.name = (char[]){ "n" };
    request.volume_ids = ids;
    request.n_parameters = typed;
    request.parameters = &one;
    code = call(door, RPC("CreateVolumeGroup"), &request,
                &volumegroup__create_volume_group_response__descriptor, &answer);
    if (code == 0) {
        snprintf(ret_group, sizeof(service.group), "%s", answer->volume_group->volume_group_id);
        protobuf_c_message_free_unpacked(&answer->base, NULL);
    }
    return code;
}

static unsigned modify(struct door *door, const char *letters) {
    Volumegroup__ModifyVolumeGroupMembershipRequest request =
        VOLUMEGROUP__MODIFY_VOLUME_GROUP_MEMBERSHIP_REQUEST__INIT;
    char *ids[OTHERS];

    for (; letters[request.n_volume_ids]; request.n_volume_ids++)
        ids[request.n_volume_ids] =
            arena_text(service.world->arena, service.volumes[letters[request.n_volume_ids] - 'a']);
    request.volume_group_id = service.group;
    request.volume_ids = ids;
    return call(door, RPC("ModifyVolumeGroupMembership"), &request, NULL, NULL);
}

static unsigned delete (struct door *door) {
    Volumegroup__DeleteVolumeGroupRequest request = VOLUMEGROUP__DELETE_VOLUME_GROUP_REQUEST__INIT;

    request.volume_group_id = service.group;
    return call(door, RPC("DeleteVolumeGroup"), &request, NULL, NULL);
}

/* How many groups are listed. */
static size_t list(struct door *door) {
    Volumegroup__ListVolumeGroupsRequest request = VOLUMEGROUP__LIST_VOLUME_GROUPS_REQUEST__INIT;
    Volumegroup__ListVolumeGroupsResponse *answer;
    size_t count;

    ck_assert_uint_eq(call(door, RPC("ListVolumeGroups"), &request,
                           &volumegroup__list_volume_groups_response__descriptor, &answer),
                      0);
    count = answer->n_entries;
    protobuf_c_message_free_unpacked(&answer->base, NULL);
    return count;
}

/* ---- objects ---- */

/* Volumes a, b and c of the default type. */
static void begin_world(void) {
    renew_world();
    world_call(service.world, "POST", "/group_types", "{\"group_type\": {\"name\": \"csi\"}}");
    service.group[0] = '\0';
    for (unsigned i = 0; i < OTHERS; i++)
        service.volumes[i] = new_volume("__DEFAULT__");
}

static void expect_members(const char *letters) {
    ck_assert_int_eq(COUNT("volumes WHERE group_id IS NOT NULL"), (int64_t)strlen(letters));
    for (; *letters; letters++)
        ck_assert_int_eq(COUNT("volumes WHERE id = '%s' AND group_id = '%s'",
                               service.volumes[*letters - 'a'], service.group),
                         1);
}

/* The group that was reported, and no other one. */
static void expect_group(const char *letters) {
    ck_assert_int_eq(COUNT("volume_groups WHERE id = '%s'", service.group), 1);
    ck_assert_int_eq(COUNT("volume_groups"), 1);
    expect_members(letters);
}

static void expect_no_group(unsigned volumes) {
    ck_assert_int_eq(COUNT("volume_groups"), 0);
    ck_assert_int_eq(COUNT("volumes"), volumes);
    expect_members("");
}

/* ---- calls whose requests fail ---- */

static void create_ab(void) {
    begin_world();
    ck_assert_uint_eq(create(&doors[0], "ab", false, service.group), 0);
}

static unsigned request_ab(struct door *door) {
    return create(door, "ab", false, service.group);
}

static void check_ab(void) {
    expect_group("ab");
}

static unsigned request_empty(struct door *door) {
    return create(door, "", false, service.group);
}

static void check_empty(void) {
    expect_group("");
}

/* c has another type: the group cannot have it. */
static void prepare_unfit(void) {
    begin_world();
    world_call(service.world, "POST", "/types", "{\"volume_type\": {\"name\": \"other\"}}");
    service.volumes[2] = new_volume("other");
}

static unsigned request_unfit(struct door *door) {
    return create(door, "ac", true, service.group);
}

static void check_unfit(void) {
    expect_no_group(4);
}

static void extend(unsigned volume) {
    ck_assert_int_eq(
        world_action(service.world, service.volumes[volume], "{\"os-extend\": {\"new_size\": 2}}"),
        202);
}

/* c is being extended until the end of the first call. */
static void prepare_busy(void) {
    create_ab();
    service.steps = 0;
    extend(2);
}

static unsigned modify_busy(struct door *door) {
    unsigned code = modify(door, "bc");

    service.steps = 1;
    return code;
}

/* a could not be extended, nor c. */
static void prepare_failed_extends(void) {
    create_ab();
    service.failing = "extend_volume";
    service.failures = 2;
    extend(0);
    extend(2);
    world_settle(service.world);
    ck_assert_int_eq(COUNT("volumes WHERE status = 'error_extending'"), 2);
}

static unsigned modify_bc(struct door *door) {
    return modify(door, "bc");
}

static void check_bc(void) {
    expect_group("bc");
}

static unsigned modify_empty(struct door *door) {
    return modify(door, "");
}

/* c remains. */
static void check_deleted(void) {
    expect_no_group(1);
    ck_assert_int_eq(COUNT("attachments"), 0);
}

/* The driver of a backend fails once for one of the volumes. */
static void prepare_failing(void) {
    create_ab();
    service.failing = "delete_volume";
    service.failures = 1;
}

static void prepare_extended(void) {
    create_ab();
    extend(0);
}

/* Snapshots of the group, or of a volume, are being deleted until the end of the first call. */
static void prepare_ending_group_snapshot(void) {
    struct world *world;
    const char *id;

    create_ab();
    world = service.world;
    world_call(world, "POST", "/group_snapshots",
               FORMAT("{\"group_snapshot\": {\"group_id\": \"%s\"}}", service.group));
    id = world_answer_id(world, "group_snapshot");
    world_settle(world);
    ck_assert_int_eq(world_call(world, "DELETE", FORMAT("/group_snapshots/%s", id), NULL), 202);
    service.steps = 0;
}

static void prepare_ending_snapshot(void) {
    struct world *world;
    const char *id;

    create_ab();
    world = service.world;
    world_call(world, "POST", "/snapshots",
               FORMAT("{\"snapshot\": {\"volume_id\": \"%s\"}}", service.volumes[1]));
    id = world_answer_id(world, "snapshot");
    world_settle(world);
    ck_assert_int_eq(world_call(world, "DELETE", FORMAT("/snapshots/%s", id), NULL), 202);
    service.steps = 0;
}

static unsigned delete_later(struct door *door) {
    unsigned code = delete (door);

    service.steps = 1;
    return code;
}

/* A publish of each was interrupted. */
static void prepare_begun(void) {
    create_ab();
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(
            world_call(service.world, "POST", "/attachments",
                       FORMAT("{\"attachment\": {\"volume_uuid\": \"%s\"%s}}", service.volumes[i],
                              i == 0 ? ""
                                     : ", \"connector\": {\"host\": \"" WORLD_NODE
                                       "\", \"mountpoint\": \"" WORLD_NODE "\"}")),
            200);
}

static const struct scenario scenarios[] = {
    { begin_world, request_ab, 0, 0, check_ab },
    { begin_world, request_empty, 0, 0, check_empty },
    { prepare_unfit, request_unfit, 9, 0, check_unfit },
    { create_ab, request_ab, 0, 0, check_ab },
    { create_ab, modify_bc, 0, 0, check_bc },
    { prepare_busy, modify_busy, 0, 0, check_bc },
    { create_ab, modify_empty, 0, 0, check_empty },
    { create_ab, delete, 0, 0, check_deleted },
    { prepare_failing, delete, 0, CODE(13), check_deleted },
    { prepare_begun, delete, 0, 0, check_deleted },
    { prepare_extended, delete, 0, 0, check_deleted },
    { prepare_ending_group_snapshot, delete_later, 0, 0, check_deleted },
    { prepare_ending_snapshot, delete_later, 0, 0, check_deleted },
    { prepare_failed_extends, modify_bc, 0, 0, check_bc },
};

START_TEST(a_repeated_call_converges_after_any_failed_request) {
    open_doors(1);
    fail_everywhere(&scenarios[_i], (unsigned)_i);
    close_doors(1);
}
END_TEST

START_TEST(a_repeated_call_converges_after_two_failed_requests) {
    open_doors(1);
    fail_twice_everywhere(&scenarios[_i], (unsigned)_i);
    close_doors(1);
}
END_TEST

/* It was filled, and other volumes are requested: they are those of another group (H2), and the
 * first request still succeeds. */
START_TEST(a_create_with_other_volumes_is_refused_after_a_lost_success) {
    struct door *door = &doors[0];

    open_doors(1);
    create_ab();
    service.group[0] = '\0';
    ck_assert_uint_eq(create(door, "bc", false, met_group), 6);
    ck_assert_uint_eq(create(door, "a", false, met_group), 6);
    ck_assert_uint_eq(list(door), 1);
    ck_assert_uint_eq(create(door, "ab", false, service.group), 0);
    expect_group("ab");
    close_doors(1);
}
END_TEST

/* The group that cannot be filled is no more than begun: a list removes it. */
START_TEST(an_abandoned_create_leaves_nothing) {
    struct door *door = &doors[0];
    unsigned requests = 1;

    open_doors(1);
    for (enum manner manner = 0; manner < MANNERS; manner++)
        for (unsigned fail_at = 1; fail_at <= requests; fail_at++) {
            prepare_unfit();
            door->fail_at = fail_at;
            door->manner = manner;
            request_unfit(door);
            requests = door->requests > fail_at ? door->requests : fail_at;
            door->fail_at = 0;
            if (door->requests < fail_at)
                break;
            ck_assert_uint_eq(list(door), 0);
            check_unfit();
        }
    close_doors(1);
}
END_TEST

/* Other volumes are requested after a failure. */
START_TEST(a_changed_create_converges) {
    struct door *door = &doors[0];
    bool met = true;

    open_doors(1);
    for (unsigned fail_at = 1; met; fail_at++)
        for (unsigned empty = 0; empty < 2; empty++) {
            unsigned code = 0;

            prepare_unfit();
            door->fail_at = fail_at;
            door->manner = DEAD_AFTER;
            request_unfit(door);
            met = door->requests >= fail_at;
            door->fail_at = 0;
            for (unsigned i = 0; i == 0 || (code != 0 && i < MOST_ATTEMPTS); i++) {
                code = create(door, empty ? "" : "b", !empty, service.group);
                ck_assert_msg(code == 0 || code == 10 || code == 14, "request %u: code %u", fail_at,
                              code);
            }
            ck_assert_uint_eq(code, 0);
            expect_group(empty ? "" : "b");
        }
    close_doors(1);
}
END_TEST

/* Until its delete is repeated. */
START_TEST(a_group_that_could_not_be_deleted_is_reported) {
    struct door *door = &doors[0];

    open_doors(1);
    create_ab();
    service.failing = "delete_volume";
    service.failures = 2;
    ck_assert_uint_eq(delete (door), 13);
    world_settle(service.world);
    ck_assert_int_eq(COUNT("volumes WHERE status = 'error_deleting'"), 2);
    ck_assert_uint_eq(create(door, "ab", false, met_group), 10);
    ck_assert_uint_eq(create(door, "c", false, met_group), 10);
    ck_assert_uint_eq(modify(door, "b"), 13);
    ck_assert_uint_eq(list(door), 1);
    expect_group("ab");
    ck_assert_uint_eq(delete (door), 0);
    check_deleted();
    ck_assert_uint_eq(create(door, "c", false, service.group), 0);
    expect_group("c");
    close_doors(1);
}
END_TEST

/* ---- calls that meet ---- */

static unsigned meet_empty(struct door *door) {
    return create(door, "", false, met_group);
}

static unsigned meet_ab(struct door *door) {
    return create(door, "ab", false, met_group);
}

static unsigned meet_b(struct door *door) {
    return create(door, "b", true, met_group);
}

static unsigned meet_list(struct door *door) {
    list(door);
    return 0;
}

static unsigned meet_publish(struct door *door) {
    return publish_on(door, WORLD_NODE, false);
}

/* A volume of which a publish was answered OK keeps its attachment. */
static void check_deleted_or_published(void) {
    if (met_code != 0) {
        check_deleted();
        return;
    }
    ck_assert_uint_eq(first_code, 9);
    expect_group("ab");
    ck_assert_int_eq(COUNT("attachments WHERE volume_id = '%s' AND attach_status = 'attached'",
                           service.volumes[0]),
                     1);
}

static void check_one(void) {
    ck_assert_int_eq(COUNT("volume_groups"), 1);
}

static const struct meeting meetings[] = {
    { begin_world, request_ab, meet_ab, CODE(0), CODE(0), check_ab },
    { begin_world, request_ab, meet_empty, CODE(0), CODE(0), check_ab },
    { begin_world, request_empty, meet_ab, CODE(0), CODE(0), check_ab },
    { begin_world, request_ab, meet_b, CODE(0) | CODE(6), CODE(0) | CODE(6), check_one },
    { begin_world, request_ab, meet_list, CODE(0), CODE(0), check_ab },
    /* The one of the volumes that fit, or none, stays. */
    { prepare_unfit, request_unfit, meet_empty, CODE(9), CODE(0), check_one },
    { prepare_unfit, request_unfit, meet_b, CODE(6) | CODE(9), CODE(0), check_one },
    { prepare_unfit, request_unfit, request_unfit, CODE(9), CODE(9), check_unfit },
    { create_ab, modify_bc, modify_bc, CODE(0), CODE(0), check_bc },
    { create_ab, modify_bc, delete, CODE(0) | CODE(5), CODE(0), NULL },
    { create_ab, delete, modify_bc, CODE(0), CODE(0) | CODE(5), NULL },
    { create_ab, delete, delete, CODE(0), CODE(0), check_deleted },
    { create_ab, delete, meet_empty, CODE(0), CODE(0), NULL },
    { prepare_begun, delete, meet_publish, CODE(0) | CODE(9), CODE(0) | CODE(5),
      check_deleted_or_published },
};

static void check_met_group(const struct meeting *meeting) {
    if (*met_group && meeting->request != delete)
        ck_assert_int_eq(COUNT("volume_groups WHERE id = '%s'", met_group), 1);
    met_group[0] = '\0';
}

/* Of two calls each ends, and a group that was reported stays. */
START_TEST(calls_that_meet_converge) {
    open_doors(2);
    meet_everywhere(&meetings[_i], _i, check_met_group);
    close_doors(2);
}
END_TEST

/* A process for each row. */
int main(void) {
    Suite *suite = suite_create("csi volume groups");
    TCase *cases = tcase_create("walks");
    SRunner *runner;
    int failed;

    setenv("SCORIA_STATE_TABLES", "strict", 1);
    tcase_set_timeout(cases, 240);
    tcase_add_loop_test(cases, a_repeated_call_converges_after_any_failed_request, 0,
                        LENGTH(scenarios));
    tcase_add_loop_test(cases, a_repeated_call_converges_after_two_failed_requests, 0,
                        LENGTH(scenarios));
    tcase_add_loop_test(cases, calls_that_meet_converge, 0, LENGTH(meetings));
    tcase_add_test(cases, an_abandoned_create_leaves_nothing);
    tcase_add_test(cases, a_changed_create_converges);
    tcase_add_test(cases, a_create_with_other_volumes_is_refused_after_a_lost_success);
    tcase_add_test(cases, a_group_that_could_not_be_deleted_is_reported);
    suite_add_tcase(suite, cases);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
