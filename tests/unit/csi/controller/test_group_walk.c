/*
 * Volume groups between a driver and a real service: each request to the service fails in turn, in
 * each of several ways, and each call meets another one before each of its requests.  Whatever has
 * failed, the caller repeats its call until that succeeds, and nothing else is left.
 */
#include "common/scoria_headers.h"
#include "tests/lib/world.h"
#include "tests/unit/csi/driver_test.h"

#include <pthread.h>
#include <stdatomic.h>

#define RPC(name_)  "/volumegroup.Controller/" name_
#define FORMAT(...) arena_format(service.world->arena, __VA_ARGS__)
#define COUNT(...)  world_count(service.world, FORMAT("SELECT COUNT(*) FROM " __VA_ARGS__))

enum { MOST_ATTEMPTS = 30, OTHERS = 3 };

static struct {
    pthread_mutex_t lock; /* guards the world, which has one thread at a time */
    struct world *world;
    atomic_uint steps; /* of its work, after each request */
    const char *volumes[OTHERS];
    char group[64];      /* the last one that a call has reported */
    const char *failing; /* the call of the driver that fails, so many times */
    unsigned failures;
} service = { .lock = PTHREAD_MUTEX_INITIALIZER };

static char met_group[sizeof(service.group)]; /* reported by another call */

enum manner { REFUSED, CONFLICTS, UNAVAILABLE, LOST, DEAD, DEAD_AFTER, MANNERS };

/* A driver and its way to the service.  A thread of the server reads its members. */
struct door {
    struct scene *scene;
    atomic_uint requests; /* of the current call */
    atomic_uint fail_at;  /* from 1 on; 0: never */
    _Atomic enum manner manner;
    atomic_uint meets_at; /* from 1 on; 0: never */
    void (*meets)(void);
    char *body;
};

static struct door doors[2];

/* ---- the service ---- */

static int answer_of_world(struct door *door, const struct script_request *request,
                           const char **ret_body) {
    struct world *world = service.world;
    int status;

    pthread_mutex_lock(&service.lock);
    world->header = script_request_has(request, UNIQUE_HEADER, "name") ? UNIQUE_HEADER : NULL;
    world->header_value = "name";
    world->retry = script_request_has(request, RETRY_HEADER, "true") ? "true" : NULL;
    status = world_call(world, request->method, request->path + strlen("/v3"),
                        *request->body ? request->body : NULL);
    free(door->body);
    *ret_body = door->body = world->answer ? json_dumps(world->answer, 0) : NULL;
    for (unsigned i = 0; i < service.steps && world_relay(world) > 0; i++)
        world_step(world, 0);
    pthread_mutex_unlock(&service.lock);
    return status;
}

static int serve(void *arg, const struct script_request *request, const char **ret_body) {
    struct door *door = arg;
    unsigned number = ++door->requests;
    bool fails = number == door->fail_at;
    int status;

    if (number == door->meets_at)
        door->meets();
    if (door->fail_at && number > door->fail_at &&
        (door->manner == DEAD || door->manner == DEAD_AFTER))
        return 503;
    if (fails && (door->manner == DEAD || door->manner == UNAVAILABLE))
        return 503;
    if (fails && (door->manner == REFUSED || door->manner == CONFLICTS))
        return door->manner == REFUSED ? 400 : 409;
    status = answer_of_world(door, request, ret_body);
    return fails ? 0 : status;
}

/* ---- calls ---- */

/* The code of a call; *ret_answer is its message or NULL, for
 * protobuf_c_message_free_unpacked(). */
static unsigned call(struct door *door, const char *path, const void *request,
                     const ProtobufCMessageDescriptor *type, void *ret_answer) {
    autofree struct wire_answer *answer = NULL;
    unsigned code;

    door->requests = 0;
    answer = scene_request(door->scene, path, request);
    ck_assert_msg(!answer->gone && *answer->status, "%s: no response", path);
    code = (unsigned)strtoul(answer->status, NULL, 10);
    if (getenv("WORLD_LOG"))
        fprintf(stderr, "%s: %u %s\n", path, code, answer->message);
    if (ret_answer)
        *(void **)ret_answer = code == 0 ? scene_message(answer, type) : NULL;
    return code;
}

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

static struct fault_decision driver_effect(void *arg, const char *name, const char *volume_id) {
    (void)arg, (void)volume_id;
    if (service.failures == 0 || strcmp(name, service.failing) != 0)
        return (struct fault_decision){ .action = FAULT_PASS };
    service.failures--;
    return (struct fault_decision){ .action = FAULT_BEFORE };
}

static const char *new_volume(const char *type) {
    struct world *world = service.world;
    const char *id;

    world_call(world, "POST", "/volumes",
               FORMAT("{\"volume\": {\"size\": 1, \"volume_type\": \"%s\", \"metadata\": "
                      "{\"csi.name\": \"%u\"}}}",
                      type, (unsigned)COUNT("volumes")));
    id = world_answer_id(world, "volume");
    world_settle(world);
    return id;
}

/* Volumes a, b and c of the default type. */
static void begin_world(void) {
    if (service.world)
        world_free(service.world);
    service.world = world_new(NULL);
    service.world->decide = driver_effect;
    world_call(service.world, "POST", "/group_types", "{\"group_type\": {\"name\": \"csi\"}}");
    service.steps = 1;
    service.failures = 0;
    service.group[0] = '\0';
    for (unsigned i = 0; i < OTHERS; i++)
        service.volumes[i] = new_volume("__DEFAULT__");
}

static void open_doors(unsigned count) {
    begin_world(); /* which has no log */
    for (unsigned i = 0; i < count; i++) {
        doors[i].scene = scene_new(NULL);
        script_server_add(doors[i].scene->api,
                          &(struct script_rule){
                              .method = "GET", .path = "/v3/", .status = 200, .body = VERSIONS });
        script_server_add(doors[i].scene->api,
                          &(struct script_rule){ .serve = serve, .arg = &doors[i] });
    }
}

static void close_doors(unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        scene_end(doors[i].scene);
        free(doors[i].body);
    }
    world_free(service.world);
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

struct scenario {
    void (*prepare)(void);
    unsigned (*request)(struct door *door);
    unsigned end;         /* the code of the repeated call that ends it */
    unsigned other_codes; /* bits: that a service without faults is the reason of, too */
    void (*check)(void);
};

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

#define CODE(number) (1U << (number))

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

/* Repeats the call, whose first attempts fail at these requests.  Was each of these reached? */
static bool converge(unsigned index, enum manner manner, const unsigned *fail_at, unsigned count) {
    const struct scenario *scenario = &scenarios[index];
    struct door *door = &doors[0];
    bool met = true;
    unsigned code = 0;

    scenario->prepare();
    for (unsigned attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        door->fail_at = attempt < count ? fail_at[attempt] : 0;
        door->manner = manner;
        code = scenario->request(door);
        met = met && (attempt >= count || door->requests >= fail_at[attempt]);
        if (code == scenario->end && attempt + 1 >= count)
            break;
        ck_assert_msg(code == 0 || code == 10 || code == 14 || scenario->other_codes & CODE(code) ||
                          code == scenario->end ||
                          (attempt < count && (manner == REFUSED || manner == CONFLICTS)),
                      "scenario %u, manner %u, request %u of attempt %u: code %u", index, manner,
                      attempt < count ? fail_at[attempt] : 0, attempt, code);
    }
    door->fail_at = 0;
    ck_assert_msg(code == scenario->end, "scenario %u, manner %u, request %u: %u for ever", index,
                  manner, fail_at[0], code);
    world_settle(service.world);
    scenario->check();
    ck_assert_int_eq(world_check(service.world), 0);
    return met;
}

START_TEST(a_repeated_call_converges_after_any_failed_request) {
    open_doors(1);
    for (enum manner manner = 0; manner < MANNERS; manner++)
        for (unsigned fail_at = 1 + WALK_FIRST; converge((unsigned)_i, manner, &fail_at, 1);)
            fail_at += WALK_STEP;
    close_doors(1);
}
END_TEST

/* Two drivers die one after the other. */
START_TEST(a_repeated_call_converges_after_two_failed_requests) {
    bool met = true;

    open_doors(1);
    for (unsigned first = 1; met; first++)
        for (unsigned second = 1 + WALK_FIRST;; second += WALK_STEP) {
            const unsigned fail_at[] = { first, second };

            if (!converge((unsigned)_i, DEAD_AFTER, fail_at, LENGTH(fail_at))) {
                met = second > 1 + WALK_FIRST;
                break;
            }
        }
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

static unsigned met_code;
static unsigned (*met_request)(struct door *door);

static void meet(void) {
    met_code = met_request(&doors[1]);
}

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

static void check_one(void) {
    ck_assert_int_eq(COUNT("volume_groups"), 1);
}

static const struct meeting {
    void (*prepare)(void);
    unsigned (*request)(struct door *door), (*meets)(struct door *door);
    unsigned ends, met_ends; /* bits: codes that end the repetition */
    void (*check)(void);
} meetings[] = {
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
};

/* Of two calls each ends, and a group that was reported stays. */
START_TEST(calls_that_meet_converge) {
    const struct meeting *meeting = &meetings[_i];
    struct door *door = &doors[0];
    bool met = true;

    open_doors(2);
    for (unsigned at = 1; met; at++) {
        unsigned code;

        meeting->prepare();
        met_group[0] = '\0';
        met_request = meeting->meets;
        door->meets = meet;
        door->meets_at = at;
        code = meeting->request(door);
        met = door->requests >= at;
        door->meets_at = 0;
        if (!met)
            met_code = 10; /* its first time is behind the other one */
        for (unsigned i = 0; i < MOST_ATTEMPTS && !(meeting->met_ends & CODE(met_code)); i++) {
            ck_assert_msg(met_code == 10 || met_code == 14, "met %d at %u: %u", _i, at, met_code);
            meet();
        }
        for (unsigned i = 0; i < MOST_ATTEMPTS && !(meeting->ends & CODE(code)); i++) {
            ck_assert_msg(code == 10 || code == 14, "meeting %d at %u: %u", _i, at, code);
            code = meeting->request(door);
        }
        ck_assert_msg(meeting->met_ends & CODE(met_code), "met %d at %u: %u", _i, at, met_code);
        ck_assert_msg(meeting->ends & CODE(code), "meeting %d at %u: %u", _i, at, code);
        world_settle(service.world);
        if (*met_group && meeting->request != delete)
            ck_assert_int_eq(COUNT("volume_groups WHERE id = '%s'", met_group), 1);
        if (meeting->check)
            meeting->check();
        ck_assert_int_eq(world_check(service.world), 0);
    }
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
    tcase_add_test(cases, a_group_that_could_not_be_deleted_is_reported);
    suite_add_tcase(suite, cases);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
