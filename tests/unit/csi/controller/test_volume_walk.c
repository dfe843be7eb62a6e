/*
 * Volumes and snapshots between drivers and a real service (walk.h): the repeated call succeeds, an
 * object that was reported stays, and nothing else is left.
 */
#include "tests/unit/csi/controller/walk.h"

#define RPC(name_) "/csi.v1.Controller/" name_

static char made[64], snapshot[64]; /* as reported last */

/* ---- calls ---- */

static unsigned create_of(struct door *door, int64_t gb, Csi__V1__VolumeContentSource *source,
                          const char *type) {
    Csi__V1__CreateVolumeRequest request = CSI__V1__CREATE_VOLUME_REQUEST__INIT;
    Csi__V1__CreateVolumeRequest__ParametersEntry
        parameter = CSI__V1__CREATE_VOLUME_REQUEST__PARAMETERS_ENTRY__INIT,
        *parameters = &parameter;
    Csi__V1__CapacityRange range = CSI__V1__CAPACITY_RANGE__INIT;
    Csi__V1__VolumeCapability *wanted = one_node();
    Csi__V1__CreateVolumeResponse *answer;
    unsigned code;

    range.required_bytes = range.limit_bytes = gb << 30;
    request.name = (char[]){ "pvc" };
    request.capacity_range = &range;
    request.n_volume_capabilities = 1;
    request.volume_capabilities = &wanted;
    request.volume_content_source = source;
    parameter.key = (char[]){ "type" };
    parameter.value = arena_text(service.world->arena, type);
    request.n_parameters = type ? 1 : 0;
    request.parameters = &parameters;
    code = call(door, RPC("CreateVolume"), &request, &csi__v1__create_volume_response__descriptor,
                &answer);
    if (code == 0) {
        snprintf(made, sizeof(made), "%s", answer->volume->volume_id);
        protobuf_c_message_free_unpacked(&answer->base, NULL);
    }
    return code;
}

static unsigned create(struct door *door, int64_t gb, Csi__V1__VolumeContentSource *source) {
    return create_of(door, gb, source, NULL);
}

static unsigned create_typed(struct door *door) {
    return create_of(door, 1, NULL, "other");
}

static unsigned create_of_missing_type(struct door *door) {
    return create_of(door, 1, NULL, "missing");
}

static unsigned create_impossible(struct door *door) {
    return create_of(door, INT64_C(1) << 32, NULL, NULL);
}

static unsigned create_plain(struct door *door) {
    return create(door, 1, NULL);
}

static unsigned create_larger(struct door *door) {
    return create(door, 2, NULL);
}

static unsigned create_clone(struct door *door) {
    Csi__V1__VolumeContentSource source = CSI__V1__VOLUME_CONTENT_SOURCE__INIT;
    Csi__V1__VolumeContentSource__VolumeSource volume =
        CSI__V1__VOLUME_CONTENT_SOURCE__VOLUME_SOURCE__INIT;

    volume.volume_id = id_of(0);
    source.type_case = CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_VOLUME;
    source.volume = &volume;
    return create(door, 1, &source);
}

static unsigned restore(struct door *door) {
    Csi__V1__VolumeContentSource source = CSI__V1__VOLUME_CONTENT_SOURCE__INIT;
    Csi__V1__VolumeContentSource__SnapshotSource of =
        CSI__V1__VOLUME_CONTENT_SOURCE__SNAPSHOT_SOURCE__INIT;

    of.snapshot_id = snapshot;
    source.type_case = CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT;
    source.snapshot = &of;
    return create(door, 1, &source);
}

static unsigned delete_first(struct door *door) {
    Csi__V1__DeleteVolumeRequest request = CSI__V1__DELETE_VOLUME_REQUEST__INIT;

    request.volume_id = id_of(0);
    return call(door, RPC("DeleteVolume"), &request, NULL, NULL);
}

static unsigned publish(struct door *door) {
    return publish_on(door, "node-1", false);
}

static unsigned publish_readonly(struct door *door) {
    return publish_on(door, "node-1", true);
}

static unsigned publish_on_second(struct door *door) {
    return publish_on(door, "node-2", false);
}

static unsigned unpublish_of(struct door *door, const char *node) {
    Csi__V1__ControllerUnpublishVolumeRequest request =
        CSI__V1__CONTROLLER_UNPUBLISH_VOLUME_REQUEST__INIT;

    request.volume_id = id_of(0);
    request.node_id = arena_text(service.world->arena, node);
    return call(door, RPC("ControllerUnpublishVolume"), &request, NULL, NULL);
}

static unsigned unpublish(struct door *door) {
    return unpublish_of(door, "node-1");
}

static unsigned unpublish_second(struct door *door) {
    return unpublish_of(door, "node-2");
}

static unsigned expand(struct door *door) {
    Csi__V1__ControllerExpandVolumeRequest request =
        CSI__V1__CONTROLLER_EXPAND_VOLUME_REQUEST__INIT;
    Csi__V1__CapacityRange range = CSI__V1__CAPACITY_RANGE__INIT;

    range.required_bytes = INT64_C(2) << 30;
    request.volume_id = id_of(0);
    request.capacity_range = &range;
    return call(door, RPC("ControllerExpandVolume"), &request, NULL, NULL);
}

static unsigned cut_of(struct door *door, unsigned index) {
    Csi__V1__CreateSnapshotRequest request = CSI__V1__CREATE_SNAPSHOT_REQUEST__INIT;
    Csi__V1__CreateSnapshotResponse *answer;
    unsigned code;

    request.name = (char[]){ "snapshot" };
    request.source_volume_id = id_of(index);
    code = call(door, RPC("CreateSnapshot"), &request,
                &csi__v1__create_snapshot_response__descriptor, &answer);
    if (code == 0) {
        snprintf(snapshot, sizeof(snapshot), "%s", answer->snapshot->snapshot_id);
        protobuf_c_message_free_unpacked(&answer->base, NULL);
    }
    return code;
}

static unsigned cut(struct door *door) {
    return cut_of(door, 0);
}

static unsigned cut_other(struct door *door) {
    return cut_of(door, 1);
}

/* Deleted, as far as the orchestrator knows. */
static unsigned cut_of_missing(struct door *door) {
    service.volumes[2] = "6a1f4b1e-0000-4000-8000-000000000001";
    return cut_of(door, 2);
}

static unsigned delete_snapshot(struct door *door) {
    Csi__V1__DeleteSnapshotRequest request = CSI__V1__DELETE_SNAPSHOT_REQUEST__INIT;

    request.snapshot_id = snapshot;
    return call(door, RPC("DeleteSnapshot"), &request, NULL, NULL);
}

static unsigned modify(struct door *door) {
    Csi__V1__ControllerModifyVolumeRequest request =
        CSI__V1__CONTROLLER_MODIFY_VOLUME_REQUEST__INIT;
    Csi__V1__ControllerModifyVolumeRequest__MutableParametersEntry
        type = CSI__V1__CONTROLLER_MODIFY_VOLUME_REQUEST__MUTABLE_PARAMETERS_ENTRY__INIT,
        key = CSI__V1__CONTROLLER_MODIFY_VOLUME_REQUEST__MUTABLE_PARAMETERS_ENTRY__INIT;
    Csi__V1__ControllerModifyVolumeRequest__MutableParametersEntry *both[] = { &type, &key };

    type.key = (char[]){ "type" };
    type.value = (char[]){ "other" };
    key.key = (char[]){ "metadata.a" };
    key.value = (char[]){ "b" };
    request.volume_id = id_of(0);
    request.n_mutable_parameters = LENGTH(both);
    request.mutable_parameters = both;
    return call(door, RPC("ControllerModifyVolume"), &request, NULL, NULL);
}

/* ---- states ---- */

static void begin(void) {
    renew_world();
    made[0] = snapshot[0] = '\0';
    world_call(service.world, "POST", "/types", "{\"volume_type\": {\"name\": \"other\"}}");
    for (unsigned i = 0; i < 2; i++)
        service.volumes[i] = new_volume("__DEFAULT__");
}

static void begin_published(void) {
    begin();
    ck_assert_uint_eq(publish(&doors[0]), 0);
}

/* A publish was interrupted: reserved, or connected to the second node. */
static void leave_attachment(bool connected) {
    begin();
    ck_assert_int_eq(
        world_call(service.world, "POST", "/attachments",
                   FORMAT("{\"attachment\": {\"volume_uuid\": \"%s\"%s}}", service.volumes[0],
                          connected ? ", \"connector\": {\"host\": \"node-2\", "
                                      "\"mountpoint\": \"node-2\", \"mode\": \"rw\"}"
                                    : "")),
        200);
}

static void begin_reserved(void) {
    leave_attachment(false);
}

static void begin_connected(void) {
    leave_attachment(true);
}

/* By a publish on the first node. */
static void begin_continued(void) {
    begin();
    ck_assert_int_eq(
        world_call(service.world, "POST", "/attachments",
                   FORMAT("{\"attachment\": {\"volume_uuid\": \"%s\", \"connector\": {\"host\": "
                          "\"node-1\", \"mountpoint\": \"node-1\", \"mode\": \"rw\"}}}",
                          service.volumes[0])),
        200);
}

static void begin_shared(void) {
    begin();
    world_sql(service.world, "UPDATE volumes SET multiattach = 1");
    capability.several = true;
}

static void begin_with_snapshot(void) {
    begin();
    ck_assert_uint_eq(cut(&doors[0]), 0);
}

static void begin_failing(const char *name) {
    begin();
    service.failing = name;
    service.failures = 1;
}

static void begin_failing_create(void) {
    begin_failing("create_volume");
}

static void begin_failing_delete(void) {
    begin_failing("delete_volume");
}

static void begin_failing_extend(void) {
    begin_failing("extend_volume");
}

static void begin_failing_snapshot(void) {
    begin_failing("create_snapshot");
}

static void begin_extended(void) {
    begin();
    ck_assert_int_eq(
        world_action(service.world, service.volumes[0], "{\"os-extend\": {\"new_size\": 2}}"), 202);
}

/* ---- ends ---- */

static void expect_volumes(int64_t count) {
    ck_assert_int_eq(COUNT("volumes"), count);
    ck_assert_int_eq(COUNT("volume_metadata WHERE key = 'csi.untold'"), 0);
}

static void check_created(void) {
    expect_volumes(3);
    ck_assert_int_eq(COUNT("volumes WHERE id = '%s' AND status = 'available'", made), 1);
}

static void check_larger(void) {
    check_created();
    ck_assert_int_eq(COUNT("volumes WHERE id = '%s' AND size_gb = 2", made), 1);
}

static void check_deleted(void) {
    expect_volumes(1);
    ck_assert_int_eq(COUNT("attachments"), 0);
}

static void expect_attachments(const char *node, const char *mode) {
    ck_assert_int_eq(COUNT("attachments"), 1);
    ck_assert_int_eq(COUNT("attachments WHERE attach_status = 'attached' AND attached_host = '%s' "
                           "AND attach_mode = '%s'",
                           node, mode),
                     1);
    ck_assert_str_eq(world_status(service.world, service.volumes[0]), "in-use");
}

static void check_published(void) {
    expect_attachments("node-1", "rw");
}

static void check_published_on_second(void) {
    expect_attachments("node-2", "rw");
}

static void check_continued(void) {
    check_published();
    ck_assert_uint_eq(service.undone, 0);
}

static void check_shared(void) {
    ck_assert_int_eq(COUNT("attachments WHERE attach_status = 'attached'"), 2);
    ck_assert_uint_eq(service.undone, 0);
}

static void check_readonly(void) {
    expect_attachments("node-1", "ro");
}

static void check_unpublished(void) {
    ck_assert_int_eq(COUNT("attachments"), 0);
    ck_assert_str_eq(world_status(service.world, service.volumes[0]), "available");
}

static void check_expanded(void) {
    ck_assert_int_eq(world_size(service.world, service.volumes[0]), 2);
}

static void check_cut(void) {
    expect_volumes(2);
    ck_assert_int_eq(COUNT("snapshots WHERE id = '%s' AND status = 'available'", snapshot), 1);
    ck_assert_int_eq(COUNT("snapshots"), 1);
    ck_assert_int_eq(COUNT("snapshot_metadata WHERE key = 'csi.untold'"), 0);
}

static void check_no_snapshot(void) {
    ck_assert_int_eq(COUNT("snapshots"), 0);
}

static void check_modified(void) {
    const json_t *volume = world_show(service.world, service.volumes[0]);

    ck_assert_str_eq(json_string_value(json_object_get(volume, "volume_type")), "other");
    ck_assert_str_eq(json_string_value(json_object_get(json_object_get(volume, "metadata"), "a")),
                     "b");
}

/* ---- calls whose requests fail ---- */

static const struct scenario scenarios[] = {
    { begin, create_plain, 0, 0, check_created },
    { begin, create_clone, 0, 0, check_created },
    { begin_with_snapshot, restore, 0, 0, check_created },
    { begin_failing_create, create_plain, 0, CODE(8), check_created },
    { begin, delete_first, 0, 0, check_deleted },
    { begin_failing_delete, delete_first, 0, CODE(13), check_deleted },
    { begin_connected, delete_first, 0, 0, check_deleted },
    { begin_extended, delete_first, 0, 0, check_deleted },
    { begin, publish, 0, 0, check_published },
    { begin_reserved, publish, 0, 0, check_published },
    { begin_connected, publish, 0, 0, check_published },
    { begin_continued, publish, 0, 0, check_published },
    { begin_connected, publish_readonly, 0, 0, check_readonly },
    { begin_extended, publish, 0, 0, check_published },
    { begin_published, unpublish, 0, 0, check_unpublished },
    { begin_connected, unpublish, 0, 0, check_unpublished },
    { begin, expand, 0, 0, check_expanded },
    { begin_published, expand, 0, 0, check_expanded },
    { begin_failing_extend, expand, 0, CODE(13), check_expanded },
    { begin, cut, 0, 0, check_cut },
    { begin_extended, cut, 0, 0, check_cut },
    { begin_failing_snapshot, cut, 0, CODE(13), check_cut },
    { begin_with_snapshot, delete_snapshot, 0, 0, check_no_snapshot },
    { begin, modify, 0, 0, check_modified },
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

/* ---- calls whose parameters change after a failure ---- */

static const struct change {
    unsigned (*before)(struct door *door), (*after)(struct door *door);
    unsigned refusal; /* once the first call has had its effect */
    void (*check)(void), (*check_before)(void);
} changes[] = {
    { create_plain, create_larger, 6, check_larger, check_created },
    { create_plain, create_clone, 6, check_created, check_created },
    { create_clone, create_plain, 6, check_created, check_created },
    { create_plain, create_typed, 6, check_created, check_created },
    { cut, cut_other, 6, check_cut, check_cut },
    { publish, publish_readonly, 6, check_readonly, check_published },
    { publish_on_second, publish, 9, check_published, check_published_on_second },
};

/* The response to the first call is lost: that or the second one has its effect. */
START_TEST(a_changed_call_converges) {
    const struct change *change = &changes[_i];
    struct door *door = &doors[0];
    bool met = true;

    open_doors(1);
    for (unsigned fail_at = 1; met; fail_at++) {
        unsigned code = 10;

        begin();
        door->fail_at = fail_at;
        door->manner = DEAD_AFTER;
        change->before(door);
        met = door->requests >= fail_at;
        door->fail_at = 0;
        for (unsigned i = 0; i < MOST_ATTEMPTS && (code == 10 || code == 14); i++)
            code = change->after(door);
        ck_assert_msg(code == 0 || code == change->refusal, "request %u: code %u", fail_at, code);
        if (code != 0)
            ck_assert_uint_eq(change->before(door), 0);
        world_settle(service.world);
        if (code == 0)
            change->check();
        else
            change->check_before();
        ck_assert_int_eq(world_check(service.world), 0);
    }
    close_doors(1);
}
END_TEST

/* The caller gives up after a final code: then nothing is left of earlier calls that no response
 * has reported. */
START_TEST(a_final_refusal_leaves_nothing) {
    static const struct {
        unsigned (*before)(struct door *door), (*after)(struct door *door);
        unsigned code;
    } rows[] = {
        { create_plain, create_of_missing_type, 3 },
        { create_plain, create_impossible, 11 },
        { create_clone, create_of_missing_type, 3 },
        { cut, cut_of_missing, 5 },
    };
    struct door *door = &doors[0];
    bool met = true;

    open_doors(1);
    for (unsigned fail_at = 1; met; fail_at++) {
        int64_t reported;
        unsigned code = 10;

        begin();
        door->fail_at = fail_at;
        door->manner = DEAD_AFTER;
        rows[_i].before(door);
        met = door->requests >= fail_at;
        door->fail_at = 0;
        reported = COUNT("volumes v WHERE display_name = 'pvc' AND NOT EXISTS (SELECT 1 FROM "
                         "volume_metadata m WHERE m.volume_id = v.id AND m.key = 'csi.untold')") +
                   COUNT("snapshots s WHERE NOT EXISTS (SELECT 1 FROM snapshot_metadata m WHERE "
                         "m.snapshot_id = s.id AND m.key = 'csi.untold')");
        for (unsigned i = 0; i < MOST_ATTEMPTS && (code == 10 || code == 14); i++)
            code = rows[_i].after(door);
        ck_assert_msg(code == rows[_i].code || (reported && code == 6), "request %u: code %u",
                      fail_at, code);
        world_settle(service.world);
        ck_assert_int_eq(COUNT("volumes") + COUNT("snapshots"), 2 + reported);
        ck_assert_int_eq(world_check(service.world), 0);
    }
    close_doors(1);
}
END_TEST

/* ---- calls that meet ---- */

/* An attachment of which a publish was answered OK stays, unless it is its unpublish. */
static void check_attachment(void) {
    if (met_code == 0)
        check_published();
}

static void check_one_of_both(void) {
    ck_assert_int_eq(COUNT("attachments WHERE attach_status = 'attached'"),
                     (first_code == 0) + (met_code == 0));
}

static void check_delete_or_publish(void) {
    if (met_code == 0) {
        ck_assert_uint_eq(first_code, 9);
        check_published();
    } else {
        check_deleted();
    }
}

/* Whatever a caller was given is there. */
static void check_one_created(void) {
    ck_assert(first_code == 0 || met_code == 0);
    check_created();
}

static const struct meeting meetings[] = {
    { begin_reserved, unpublish_second, publish, CODE(0), CODE(0), check_attachment },
    { begin_connected, unpublish_second, publish, CODE(0), CODE(0), check_attachment },
    { begin_reserved, delete_first, publish, CODE(0) | CODE(9), CODE(0) | CODE(5),
      check_delete_or_publish },
    { begin_connected, delete_first, publish, CODE(0) | CODE(9), CODE(0) | CODE(5),
      check_delete_or_publish },
    { begin, publish, publish, CODE(0), CODE(0), check_continued },
    { begin_continued, publish, publish, CODE(0), CODE(0), check_continued },
    { begin_shared, publish, publish_on_second, CODE(0), CODE(0), check_shared },
    { begin_reserved, publish, publish, CODE(0), CODE(0), check_published },
    { begin_reserved, publish_on_second, publish, CODE(0) | CODE(9), CODE(0) | CODE(9),
      check_one_of_both },
    { begin_connected, publish_on_second, publish, CODE(0) | CODE(9), CODE(0) | CODE(9),
      check_one_of_both },
    { begin, publish_on_second, publish, CODE(0) | CODE(9), CODE(0) | CODE(9), check_one_of_both },
    { begin, publish, unpublish_second, CODE(0), CODE(0), check_published },
    { begin, create_plain, create_plain, CODE(0), CODE(0), check_created },
    { begin, create_typed, create_plain, CODE(0) | CODE(6), CODE(0) | CODE(6), check_one_created },
    { begin, cut, cut, CODE(0), CODE(0), check_cut },
    { begin, expand, publish, CODE(0), CODE(0), check_expanded },
    { begin, publish, expand, CODE(0), CODE(0), check_expanded },
    { begin, delete_first, delete_first, CODE(0), CODE(0), check_deleted },
    { begin, delete_first, cut, CODE(0) | CODE(9), CODE(0) | CODE(5), NULL },
    { begin, delete_first, create_clone, CODE(0) | CODE(9), CODE(0) | CODE(5), NULL },
    { begin_with_snapshot, delete_snapshot, restore, CODE(0) | CODE(9), CODE(0) | CODE(5), NULL },
    { begin, modify, expand, CODE(0), CODE(0), check_modified },
    { begin, modify, modify, CODE(0), CODE(0), check_modified },
};

START_TEST(calls_that_meet_converge) {
    open_doors(2);
    meet_everywhere(&meetings[_i], _i, NULL);
    close_doors(2);
}
END_TEST

/* A process for each row. */
int main(void) {
    Suite *suite = suite_create("csi volumes");
    TCase *cases = tcase_create("walks");
    SRunner *runner;
    int failed;

    setenv("SCORIA_STATE_TABLES", "strict", 1);
    tcase_set_timeout(cases, 240);
    tcase_add_loop_test(cases, a_repeated_call_converges_after_any_failed_request, 0,
                        LENGTH(scenarios));
    tcase_add_loop_test(cases, a_repeated_call_converges_after_two_failed_requests, 0,
                        LENGTH(scenarios));
    tcase_add_loop_test(cases, a_changed_call_converges, 0, LENGTH(changes));
    tcase_add_loop_test(cases, a_final_refusal_leaves_nothing, 0, 4);
    tcase_add_loop_test(cases, calls_that_meet_converge, 0, LENGTH(meetings));
    suite_add_tcase(suite, cases);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
