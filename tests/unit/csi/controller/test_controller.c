/*
 * The controller in front of an API that fails, refuses or forgets in the middle of a call: the
 * caller gets no final error while the object may go on.
 */
#include "common/clock.h"
#include "tests/unit/csi/driver_test.h"

#define ID    "6a1f4b1e-0000-4000-8000-000000000001"
#define GROUP "6a1f4b1e-0000-4000-8000-000000000002"
#define LEFT  "6a1f4b1e-0000-4000-8000-000000000003"

#define ROW(status_, metadata_) ROW_OF(ID, status_, metadata_)
#define ROW_OF(id_, status_, metadata_)                                                           \
    "{\"id\": \"" id_ "\", \"status\": \"" status_ "\", \"size\": 1, \"volume_id\": \"" ID "\", " \
    "\"attachments\": [], \"metadata\": {\"csi.name\": \"n\"" metadata_ "}}"
#define UNTOLD ", \"csi.untold\": \"yes\""

static void answer(struct scene *scene, const char *method, const char *path, int status,
                   const char *body) {
    script_server_add(
        scene->api,
        &(struct script_rule){ .method = method, .path = path, .status = status, .body = body });
}

static void answer_once(struct scene *scene, const char *method, const char *path, int status,
                        const char *body) {
    script_server_add(
        scene->api,
        &(struct script_rule){
            .method = method, .path = path, .status = status, .body = body, .times = 1 });
}

static struct wire_answer *send_request(struct scene *scene, const char *path,
                                        const void *message) {
    size_t size = protobuf_c_message_get_packed_size(message);
    autofree uint8_t *bytes = malloc(size + 1);

    protobuf_c_message_pack(message, bytes);
    return scene_call(scene, path, bytes, size);
}

static const char *part = ""; /* of each refusal */

static void expect(struct scene *scene, const char *path, const void *message, const char *code) {
    autofree struct wire_answer *answer = send_request(scene, path, message);

    ck_assert_msg(strcmp(answer->status, code) == 0, "%s: %s instead of %s: %s", path,
                  answer->status, code, answer->message);
    ck_assert_msg(strstr(answer->message, part) != NULL, "%s", answer->message);
}

static void create_volume(struct scene *scene, const char *code) {
    Csi__V1__VolumeCapability__AccessMode mode = CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__INIT;
    Csi__V1__VolumeCapability__BlockVolume block = CSI__V1__VOLUME_CAPABILITY__BLOCK_VOLUME__INIT;
    Csi__V1__VolumeCapability capability = CSI__V1__VOLUME_CAPABILITY__INIT, *one = &capability;
    Csi__V1__CreateVolumeRequest request = CSI__V1__CREATE_VOLUME_REQUEST__INIT;

    mode.mode = CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_WRITER;
    capability.access_mode = &mode;
    capability.access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;
    capability.block = &block;
    request.name = (char[]){ "n" };
    request.n_volume_capabilities = 1;
    request.volume_capabilities = &one;
    answer(scene, "GET", "/v3/volume_configs/n", 404, NULL);
    expect(scene, "/csi.v1.Controller/CreateVolume", &request, code);
}

static void create_snapshot(struct scene *scene, const char *code) {
    Csi__V1__CreateSnapshotRequest request = CSI__V1__CREATE_SNAPSHOT_REQUEST__INIT;

    request.name = (char[]){ "n" };
    request.source_volume_id = (char[]){ ID };
    expect(scene, "/csi.v1.Controller/CreateSnapshot", &request, code);
}

/* ---- while something may go on ---- */

#define VOLUMES          "/v3/volumes/detail*"
#define SNAPSHOTS        "/v3/snapshots/detail*"
#define NONE(word_)      "{\"" word_ "\": []}"
#define ONE(word_, row_) "{\"" word_ "\": [" row_ "]}"
#define THE(word_, row_) "{\"" word_ "\": " row_ "}"

static const int failures[] = { 500, 502, 401, 403, 404 };

/* Is there one?  Was that one made?  Unknown. */
START_TEST(a_failed_search_is_not_final) {
    for (size_t i = 0; i < LENGTH(failures); i++) {
        struct scene *scene = scene_new(NULL);

        answer(scene, "GET", VOLUMES, failures[i], "{}");
        answer(scene, "GET", SNAPSHOTS, failures[i], "{}");
        create_volume(scene, "14");
        create_snapshot(scene, "14");
        ck_assert_uint_eq(script_server_count(scene->api, "POST", NULL), 0);
        scene_end(scene);
    }
}
END_TEST

START_TEST(a_created_object_that_is_not_found_is_not_final) {
    for (size_t i = 0; i < LENGTH(failures); i++) {
        struct scene *scene = scene_new(NULL);

        answer_once(scene, "GET", VOLUMES, 200, NONE("volumes"));
        answer_once(scene, "GET", SNAPSHOTS, 200, NONE("snapshots"));
        answer(scene, "GET", VOLUMES, failures[i], "{}");
        answer(scene, "GET", SNAPSHOTS, failures[i], "{}");
        answer(scene, "GET", "/v3/volumes/" ID, 200, THE("volume", ROW("available", "")));
        answer(scene, "POST", "/v3/volumes", 202, THE("volume", ROW("creating", UNTOLD)));
        answer(scene, "POST", "/v3/snapshots", 202, THE("snapshot", ROW("creating", UNTOLD)));
        create_volume(scene, "14");
        create_snapshot(scene, "14");
        ck_assert_uint_eq(script_server_count(scene->api, "POST", NULL), 2);
        scene_end(scene);
    }
}
END_TEST

START_TEST(an_unreadable_object_in_progress_is_not_final) {
    for (size_t i = 0; i + 1 < LENGTH(failures); i++) {
        struct scene *scene = scene_new(NULL);

        answer(scene, "GET", VOLUMES, 200, ONE("volumes", ROW("creating", UNTOLD)));
        answer(scene, "GET", SNAPSHOTS, 200, ONE("snapshots", ROW("creating", UNTOLD)));
        answer(scene, "GET", NULL, failures[i], "{}");
        create_volume(scene, "14");
        create_snapshot(scene, "14");
        scene_end(scene);
    }
}
END_TEST

/* Nor is a failed object that cannot be removed yet. */
START_TEST(leftovers_of_a_failure_are_not_final) {
    struct scene *scene = scene_new(NULL);

    answer(scene, "GET", VOLUMES, 200, ONE("volumes", ROW("error", UNTOLD)));
    answer(scene, "GET", SNAPSHOTS, 200, ONE("snapshots", ROW("error", UNTOLD)));
    answer(scene, "GET", "/v3/volumes/" ID, 200, THE("volume", ROW("error", UNTOLD)));
    answer(scene, "GET", "/v3/snapshots/" ID, 200, THE("snapshot", ROW("error", UNTOLD)));
    answer(scene, "DELETE", NULL, 400, NULL);
    create_volume(scene, "14");
    create_snapshot(scene, "14");
    scene_end(scene);
}
END_TEST

static void expand(struct scene *scene, const char *code) {
    Csi__V1__ControllerExpandVolumeRequest request =
        CSI__V1__CONTROLLER_EXPAND_VOLUME_REQUEST__INIT;
    Csi__V1__CapacityRange range = CSI__V1__CAPACITY_RANGE__INIT;

    range.required_bytes = INT64_C(2) << 30;
    request.volume_id = (char[]){ ID };
    request.capacity_range = &range;
    expect(scene, "/csi.v1.Controller/ControllerExpandVolume", &request, code);
}

#define MESSAGE(text_) "{\"messages\": [{\"event_id\": \"e\", \"user_message\": \"" text_ "\"}]}"

/* With the newest message about the object. */
START_TEST(the_reason_of_a_failure_is_reported) {
    static const struct {
        const char *messages, *part, *create, *snapshot, *expand;
    } rows[] = {
        { MESSAGE("Failed. No space is left on the storage of the backend."),
          "No space is left on the storage of the backend.", "8", "8", "8" },
        { MESSAGE("The driver failed."), "The driver failed.", "8", "13", "13" },
        { "{\"messages\": []}", "the service's log", "8", "13", "13" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = scene_new(NULL);

        answer(scene, "GET", "/v3/messages*", 200, rows[i].messages);
        answer_once(scene, "GET", VOLUMES, 200, ONE("volumes", ROW("error", UNTOLD)));
        answer_once(scene, "GET", SNAPSHOTS, 200, ONE("snapshots", ROW("error", UNTOLD)));
        answer(scene, "GET", VOLUMES, 200, NONE("volumes"));
        answer(scene, "GET", SNAPSHOTS, 200, NONE("snapshots"));
        answer_once(scene, "GET", "/v3/volumes/" ID, 200, THE("volume", ROW("error", UNTOLD)));
        answer_once(scene, "GET", "/v3/snapshots/" ID, 200, THE("snapshot", ROW("error", UNTOLD)));
        answer(scene, "GET", "/v3/snapshots/" ID, 404, NULL);
        answer_once(scene, "GET", "/v3/volumes/" ID, 404, NULL);
        answer(scene, "DELETE", NULL, 202, NULL);
        part = rows[i].part;
        create_volume(scene, rows[i].create);
        create_snapshot(scene, rows[i].snapshot);
        ck_assert_uint_eq(script_server_count(scene->api, "DELETE", NULL), 2);
        answer(scene, "GET", "/v3/volumes/" ID, 200, THE("volume", ROW("error_extending", "")));
        answer(scene, "POST", "/v3/volumes/" ID "/action", 202, NULL);
        expand(scene, rows[i].expand);
        part = "";
        scene_end(scene);
    }
}
END_TEST

/* No other call has its id. */
START_TEST(an_unreported_object_is_deleted_again_after_a_failure) {
    struct scene *scene = scene_new(NULL);

    answer(scene, "GET", VOLUMES, 200, ONE("volumes", ROW("error_deleting", UNTOLD)));
    answer(scene, "GET", SNAPSHOTS, 200, ONE("snapshots", ROW("error_deleting", UNTOLD)));
    answer_once(scene, "GET", "/v3/volumes/" ID, 200, THE("volume", ROW("error_deleting", UNTOLD)));
    answer_once(scene, "GET", "/v3/snapshots/" ID, 200,
                THE("snapshot", ROW("error_deleting", UNTOLD)));
    answer(scene, "GET", NULL, 404, NULL);
    answer(scene, "DELETE", NULL, 202, NULL);
    create_volume(scene, "10");
    ck_assert_uint_eq(script_server_count(scene->api, "DELETE", "/v3/volumes/" ID), 1);
    create_snapshot(scene, "10");
    ck_assert_uint_eq(script_server_count(scene->api, "DELETE", "/v3/snapshots/" ID), 1);
    scene_end(scene);
}
END_TEST

/* An API of a former release would delete it all the same. */
START_TEST(an_object_that_was_reported_before_its_deletion_stays) {
    struct scene *scene = scene_new(NULL);

    answer(scene, "GET", VOLUMES, 200, ONE("volumes", ROW("error_deleting", UNTOLD)));
    answer(scene, "GET", SNAPSHOTS, 200, ONE("snapshots", ROW("error_deleting", UNTOLD)));
    answer(scene, "GET", "/v3/volumes/" ID, 200, THE("volume", ROW("available", "")));
    answer(scene, "GET", "/v3/snapshots/" ID, 200, THE("snapshot", ROW("available", "")));
    answer(scene, "DELETE", NULL, 202, NULL);
    create_volume(scene, "10");
    create_snapshot(scene, "10");
    ck_assert_uint_eq(script_server_count(scene->api, "DELETE", NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_reported_object_is_deleted_by_its_id_alone) {
    struct scene *scene = scene_new(NULL);

    answer(scene, "GET", VOLUMES, 200, ONE("volumes", ROW("error_deleting", "")));
    answer(scene, "GET", SNAPSHOTS, 200, ONE("snapshots", ROW("error_deleting", "")));
    create_volume(scene, "10");
    create_snapshot(scene, "10");
    ck_assert_uint_eq(script_server_count(scene->api, "DELETE", NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_created_object_is_not_final_until_it_is_reported) {
    for (size_t i = 0; i + 1 < LENGTH(failures); i++) {
        struct scene *scene = scene_new(NULL);

        answer(scene, "GET", VOLUMES, 200, ONE("volumes", ROW("available", UNTOLD)));
        answer(scene, "GET", SNAPSHOTS, 200, ONE("snapshots", ROW("available", UNTOLD)));
        answer(scene, "DELETE", NULL, failures[i], "{}");
        create_volume(scene, "14");
        create_snapshot(scene, "14");
        scene_end(scene);
    }
}
END_TEST

/* Another call has reported it, or deleted it. */
START_TEST(an_object_that_was_deleted_before_its_report_is_not_reported) {
    static const struct {
        int status;
        const char *volume, *snapshot, *code;
    } rows[] = {
        { 404, NULL, NULL, "10" },
        { 200, THE("volume", ROW("deleting", UNTOLD)), THE("snapshot", ROW("deleting", UNTOLD)),
          "10" },
        { 200, THE("volume", ROW("available", "")), THE("snapshot", ROW("available", "")), "0" },
        { 503, NULL, NULL, "14" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = scene_new(NULL);

        answer(scene, "GET", VOLUMES, 200, ONE("volumes", ROW("available", UNTOLD)));
        answer(scene, "GET", SNAPSHOTS, 200, ONE("snapshots", ROW("available", UNTOLD)));
        answer(scene, "DELETE", NULL, 404, NULL);
        answer(scene, "GET", "/v3/volumes/" ID, rows[i].status, rows[i].volume);
        answer(scene, "GET", "/v3/snapshots/" ID, rows[i].status, rows[i].snapshot);
        create_volume(scene, rows[i].code);
        create_snapshot(scene, rows[i].code);
        scene_end(scene);
    }
}
END_TEST

START_TEST(a_failing_api_is_not_final) {
    struct scene *scene = scene_new(NULL);

    answer(scene, "GET", VOLUMES, 200, NONE("volumes"));
    answer(scene, "GET", SNAPSHOTS, 200, NONE("snapshots"));
    answer(scene, "GET", "/v3/volumes/" ID, 200, THE("volume", ROW("available", "")));
    answer(scene, "POST", NULL, 500, "{}");
    create_volume(scene, "14");
    create_snapshot(scene, "14");
    scene_end(scene);
}
END_TEST

/* Another call of that name goes on. */
START_TEST(a_name_taken_by_a_concurrent_call_is_not_final) {
    struct scene *scene = scene_new(NULL);

    answer(scene, "GET", VOLUMES, 200, NONE("volumes"));
    answer(scene, "GET", SNAPSHOTS, 200, NONE("snapshots"));
    answer(scene, "GET", "/v3/volumes/" ID, 200, THE("volume", ROW("available", "")));
    answer(scene, "POST", NULL, 409, NULL);
    create_volume(scene, "10");
    create_snapshot(scene, "10");
    scene_end(scene);
}
END_TEST

/* In front of an API that makes one more of a name: the older one is of another volume. */
START_TEST(a_second_caller_gets_the_same_object_or_none) {
    struct scene *scene = scene_new(NULL);

    answer_once(scene, "GET", SNAPSHOTS, 200, NONE("snapshots"));
    answer(scene, "GET", SNAPSHOTS, 200,
           ONE("snapshots", "{\"id\": \"" GROUP "\", \"status\": \"available\", \"size\": 1, "
                            "\"volume_id\": \"" LEFT "\", \"metadata\": {\"csi.name\": \"n\"}}"));
    answer(scene, "GET", "/v3/volumes/" ID, 200, THE("volume", ROW("available", "")));
    answer(scene, "POST", "/v3/snapshots", 202, THE("snapshot", ROW("creating", UNTOLD)));
    answer_once(scene, "GET", "/v3/snapshots/" ID, 200, THE("snapshot", ROW("available", UNTOLD)));
    answer(scene, "GET", "/v3/snapshots/" ID, 404, NULL);
    answer(scene, "DELETE", "/v3/snapshots/" ID, 202, NULL);
    create_snapshot(scene, "6");
    ck_assert_uint_eq(script_server_count(scene->api, "DELETE", NULL), 1);
    scene_end(scene);
}
END_TEST

#define ROW_OF_GROUP(description_)                                         \
    "{\"id\": \"" GROUP "\", \"status\": \"available\", \"name\": \"n\", " \
    "\"description\": \"" description_ "\", \"volumes\": []}"
#define UNREPORTED ROW_OF_GROUP("being made by CSI")
#define REPORTED   ROW_OF_GROUP("made by CSI")

/* A group with one volume, of an API with one type. */
static void create_group(struct scene *scene, const char *code) {
    Volumegroup__CreateVolumeGroupRequest request = VOLUMEGROUP__CREATE_VOLUME_GROUP_REQUEST__INIT;
    char *member = (char[]){ LEFT };

    request.name = (char[]){ "n" };
    request.n_volume_ids = 1;
    request.volume_ids = &member;
    answer(scene, "GET", "/v3/volumes/" LEFT, 200, THE("volume", ROW_OF(LEFT, "available", "")));
    answer(scene, "GET", "/v3/types/default", 200, THE("volume_type", "{\"id\": \"t\"}"));
    answer(scene, "GET", "/v3/group_types/default", 404, NULL);
    answer(scene, "GET", "/v3/group_types", 200, ONE("group_types", "{\"name\": \"csi\"}"));
    expect(scene, "/volumegroup.Controller/CreateVolumeGroup", &request, code);
}

START_TEST(a_created_group_is_not_final_until_it_is_shown) {
    static const struct {
        int changed, removed;
        const char *code;
    } rows[] = { { 403, 202, "14" }, { 401, 202, "14" }, { 400, 503, "14" }, { 400, 202, "9" } };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = scene_new(NULL);

        answer_once(scene, "GET", "/v3/groups/detail*", 200, NONE("groups"));
        answer(scene, "GET", "/v3/groups/detail*", 200, ONE("groups", UNREPORTED));
        answer(scene, "GET", "/v3/groups/" GROUP "*", 200, THE("group", UNREPORTED));
        answer(scene, "POST", "/v3/groups", 202, THE("group", "{\"id\": \"" GROUP "\"}"));
        answer(scene, "PUT", "/v3/groups/" GROUP, rows[i].changed, NULL);
        answer(scene, "POST", "/v3/groups/" GROUP "/action", rows[i].removed, NULL);
        create_group(scene, rows[i].code);
        ck_assert_uint_eq(script_server_count(scene->api, "POST", "/v3/groups/" GROUP "/action"),
                          rows[i].changed == 400);
        scene_end(scene);
    }
}
END_TEST

/* In front of such an API, too: the group that is there was reported to its creator. */
START_TEST(a_group_of_another_call_is_not_deleted) {
    struct scene *scene = scene_new(NULL);

    answer_once(scene, "GET", "/v3/groups/detail*", 200, NONE("groups"));
    answer(scene, "GET", "/v3/groups/detail*", 200, ONE("groups", REPORTED));
    answer(scene, "GET", "/v3/groups/" GROUP "*", 200, THE("group", REPORTED));
    answer(scene, "POST", "/v3/groups", 202, THE("group", "{\"id\": \"" ID "\"}"));
    answer(scene, "POST", "/v3/groups/" ID "/action", 202, NULL);
    answer(scene, "PUT", "/v3/groups/" GROUP, 400, NULL);
    create_group(scene, "9");
    ck_assert_uint_eq(script_server_count(scene->api, "POST", "/v3/groups/" ID "/action"), 1);
    ck_assert_uint_eq(script_server_count(scene->api, "POST", "/v3/groups/" GROUP "/action"), 0);
    scene_end(scene);
}
END_TEST

/* ---- lists ---- */

/* 1,000 rows are a page. */
START_TEST(a_row_deleted_between_two_pages_ends_the_list) {
    Csi__V1__ListVolumesRequest request = CSI__V1__LIST_VOLUMES_REQUEST__INIT;
    struct scene *scene = scene_new(NULL);

    answer(scene, "GET", "/v3/volumes/detail?limit=1000", 200,
           ONE("volumes", ROW("available", "")));
    answer(scene, "GET", VOLUMES, 404, NULL);
    expect(scene, "/csi.v1.Controller/ListVolumes", &request, "10");
    scene_end(scene);
}
END_TEST

/* ---- begun work ---- */

START_TEST(leftovers_of_a_publish_do_not_block_a_delete) {
    Csi__V1__DeleteVolumeRequest request = CSI__V1__DELETE_VOLUME_REQUEST__INIT;
    struct scene *scene = scene_new(NULL);

    answer_once(scene, "GET", "/v3/volumes/" ID, 200, THE("volume", ROW("attaching", "")));
    answer(scene, "GET", "/v3/volumes/" ID, 404, NULL);
    answer(scene, "GET", "/v3/attachments/detail*", 200,
           ONE("attachments",
               "{\"id\": \"" LEFT "\", \"status\": \"reserved\", \"volume_id\": \"" ID
               "\"}, {\"id\": \"" GROUP "\", \"status\": \"reserved\", "
               "\"volume_id\": \"" ID "\", \"instance\": \"" ID "\"}"));
    answer(scene, "DELETE", "/v3/attachments/" LEFT, 200, NONE("attachments"));
    answer(scene, "DELETE", "/v3/volumes/" ID, 202, NULL);
    request.volume_id = (char[]){ ID };
    expect(scene, "/csi.v1.Controller/DeleteVolume", &request, "0");
    ck_assert_uint_eq(script_server_count(scene->api, "DELETE", NULL), 2);
    scene_end(scene);
}
END_TEST

/* ---- group snapshots ---- */

/* A group whose only volume has left it. */
static struct scene *group_scene(const char *status, int member_status) {
    struct scene *scene = scene_new(NULL);
    char row[256];

    snprintf(row, sizeof(row),
             THE("group_snapshot",
                 "{\"id\": \"" ID "\", \"status\": \"%s\", \"group_id\": \"" GROUP "\"}"),
             status);
    answer_once(scene, "GET", "/v3/group_snapshots/" ID "*", 200, row);
    answer(scene, "GET", "/v3/groups/" GROUP "*", 200,
           THE("group", "{\"id\": \"" GROUP "\", \"status\": \"available\", \"volumes\": []}"));
    answer(scene, "GET", "/v3/snapshots/" LEFT, member_status,
           member_status != 200
               ? NULL
               : THE("snapshot",
                     "{\"id\": \"" LEFT "\", \"status\": \"available\", \"size\": 1, "
                     "\"volume_id\": \"" LEFT "\", \"group_snapshot_id\": \"" ID "\"}"));
    answer(scene, "GET", "/v3/snapshots/*", 404, NULL);
    answer(scene, "GET", "/v3/group_snapshots/" ID "*", 404, NULL);
    return scene;
}

static void delete_group_snapshot(struct scene *scene, char *snapshot_id, const char *code) {
    Csi__V1__DeleteVolumeGroupSnapshotRequest request =
        CSI__V1__DELETE_VOLUME_GROUP_SNAPSHOT_REQUEST__INIT;

    request.group_snapshot_id = (char[]){ ID };
    request.n_snapshot_ids = 1;
    request.snapshot_ids = &snapshot_id;
    expect(scene, "/csi.v1.GroupController/DeleteVolumeGroupSnapshot", &request, code);
    scene_end(scene);
}

START_TEST(a_removed_member_does_not_block_a_group_snapshot) {
    delete_group_snapshot(group_scene("available", 200), (char[]){ LEFT }, "0");
    delete_group_snapshot(group_scene("available", 200), (char[]){ ID }, "3");
    delete_group_snapshot(group_scene("available", 404), (char[]){ LEFT }, "3");
    delete_group_snapshot(group_scene("error_deleting", 404), (char[]){ LEFT }, "0");
}
END_TEST

START_TEST(the_snapshot_of_a_removed_member_is_shown_when_given) {
    Csi__V1__GetVolumeGroupSnapshotRequest request =
        CSI__V1__GET_VOLUME_GROUP_SNAPSHOT_REQUEST__INIT;
    struct scene *scene = group_scene("available", 200);
    autofree struct wire_answer *got = NULL;
    char *snapshot_id = (char[]){ LEFT };
    Csi__V1__GetVolumeGroupSnapshotResponse *shown;

    request.group_snapshot_id = (char[]){ ID };
    request.n_snapshot_ids = 1;
    request.snapshot_ids = &snapshot_id;
    got = send_request(scene, "/csi.v1.GroupController/GetVolumeGroupSnapshot", &request);
    shown = scene_message(got, &csi__v1__get_volume_group_snapshot_response__descriptor);
    ck_assert_uint_eq(shown->group_snapshot->n_snapshots, 1);
    ck_assert_str_eq(shown->group_snapshot->snapshots[0]->snapshot_id, LEFT);
    csi__v1__get_volume_group_snapshot_response__free_unpacked(shown, NULL);
    scene_end(scene);
}
END_TEST

#define GROUP_SNAPSHOT                                                                        \
    "{\"id\": \"" ID "\", \"status\": \"available\", \"group_id\": \"" GROUP "\", \"name\": " \
    "\"n\", \"description\": \"made by CSI\"}"
#define MEMBER_SNAPSHOT(id_, volume_)                                                         \
    "{\"id\": \"" id_ "\", \"status\": \"available\", \"size\": 1, \"volume_id\": \"" volume_ \
    "\", \"group_snapshot_id\": \"" ID "\"}"
#define GROUP_WITH(volumes_) \
    THE("group", "{\"id\": \"" GROUP "\", \"status\": \"available\", \"volumes\": [" volumes_ "]}")

/* Of the volume LEFT. */
static void create_group_snapshot(struct scene *scene, const char *code) {
    Csi__V1__CreateVolumeGroupSnapshotRequest request =
        CSI__V1__CREATE_VOLUME_GROUP_SNAPSHOT_REQUEST__INIT;
    char *source = (char[]){ LEFT };

    request.name = (char[]){ "n" };
    request.n_source_volume_ids = 1;
    request.source_volume_ids = &source;
    answer(scene, "GET", "/v3/snapshots/detail?volume_id=" LEFT "*", 200,
           ONE("snapshots", MEMBER_SNAPSHOT(LEFT, LEFT)));
    answer(scene, "GET", "/v3/snapshots/detail?volume_id=" ID "*", 200,
           ONE("snapshots", MEMBER_SNAPSHOT(ID, ID)));
    expect(scene, "/csi.v1.GroupController/CreateVolumeGroupSnapshot", &request, code);
}

START_TEST(a_group_snapshot_is_found_again_after_its_volumes_have_left) {
    struct scene *scene = scene_new(NULL);

    answer(scene, "GET", "/v3/group_snapshots/detail*", 200,
           ONE("group_snapshots", GROUP_SNAPSHOT));
    answer(scene, "GET", "/v3/groups/" GROUP "*", 200, GROUP_WITH(""));
    create_group_snapshot(scene, "0");
    scene_end(scene);
}
END_TEST

/* A volume joins its group between the check and the snapshot. */
START_TEST(a_group_snapshot_with_another_volume_is_deleted) {
    struct scene *scene = scene_new(NULL);

    answer_once(scene, "GET", "/v3/group_snapshots/detail*", 200, NONE("group_snapshots"));
    answer(scene, "GET", "/v3/group_snapshots/detail*", 200,
           ONE("group_snapshots", GROUP_SNAPSHOT));
    answer(scene, "GET", "/v3/volumes/" LEFT, 200,
           THE("volume", "{\"id\": \"" LEFT "\", \"status\": \"available\", \"size\": 1, "
                         "\"group_id\": \"" GROUP "\"}"));
    answer_once(scene, "GET", "/v3/groups/" GROUP "*", 200, GROUP_WITH("\"" LEFT "\""));
    answer(scene, "GET", "/v3/groups/" GROUP "*", 200, GROUP_WITH("\"" LEFT "\", \"" ID "\""));
    answer(scene, "POST", "/v3/group_snapshots", 202, THE("group_snapshot", GROUP_SNAPSHOT));
    answer_once(scene, "GET", "/v3/group_snapshots/" ID, 200,
                THE("group_snapshot", GROUP_SNAPSHOT));
    answer(scene, "GET", "/v3/group_snapshots/" ID, 404, NULL);
    answer(scene, "DELETE", "/v3/group_snapshots/" ID, 202, NULL);
    create_group_snapshot(scene, "10");
    ck_assert_uint_eq(script_server_count(scene->api, "DELETE", NULL), 1);
    scene_end(scene);
}
END_TEST

/* ---- probes ---- */

/* The one thread waits for the API, as long as it does for each of these calls. */
START_TEST(a_probe_waits_for_no_call) {
    const char *const arguments[] = { "--csi.workers=1", NULL };
    struct scene *scene = scene_new(arguments);
    autofree struct wire_answer *probe = NULL;

    script_server_add(scene->api,
                      &(struct script_rule){ .path = "/v3/volumes/*", .manner = SCRIPT_SILENT });
    answer(scene, "GET", "/v3/", 200, VERSIONS);
    for (scene->stream = 1; scene->stream < 40; scene->stream += 2)
        wire_call(scene->wire, scene->stream, "/csi.v1.Controller/ListVolumes", "", 0);
    ck_assert(script_server_await(scene->api, "GET", VOLUMES, 1));
    probe = scene_call(scene, "/csi.v1.Identity/Probe", "", 0);
    ck_assert_str_eq(probe->status, "0");
    ck_assert_uint_eq(script_server_count(scene->api, "GET", VOLUMES), 1);
    script_server_drop_silent(scene->api);
    scene_end(scene);
}
END_TEST

/* A volume stays in deletion: calls that wait for its end leave the one thread to another call. */
START_TEST(calls_that_wait_for_the_service_delay_no_others) {
    const char *const arguments[] = { "--csi.workers=1", NULL };
    struct scene *scene = scene_new(arguments);
    Csi__V1__DeleteVolumeRequest request = CSI__V1__DELETE_VOLUME_REQUEST__INIT;
    int64_t begun_us = clock_monotonic_us();
    uint8_t bytes[64];
    size_t size;

    answer(scene, "GET", "/v3/volumes/" ID, 200, THE("volume", ROW("deleting", "")));
    answer(scene, "GET", "/v3/volumes/" LEFT, 404, NULL);
    request.volume_id = (char[]){ ID };
    size = protobuf_c_message_pack(&request.base, bytes);
    for (scene->stream = 1; scene->stream < 9; scene->stream += 2)
        wire_call(scene->wire, scene->stream, "/csi.v1.Controller/DeleteVolume", bytes, size);
    request.volume_id = (char[]){ LEFT };
    expect(scene, "/csi.v1.Controller/DeleteVolume", &request, "0");
    ck_assert_int_lt(clock_monotonic_us() - begun_us, 20 * SECOND_US); /* one waits for 30 */
    scene_end(scene);
}
END_TEST

CHECK_MAIN(
    "csi controller", a_failed_search_is_not_final, a_created_object_that_is_not_found_is_not_final,
    an_unreadable_object_in_progress_is_not_final, leftovers_of_a_failure_are_not_final,
    the_reason_of_a_failure_is_reported, an_unreported_object_is_deleted_again_after_a_failure,
    an_object_that_was_reported_before_its_deletion_stays,
    a_reported_object_is_deleted_by_its_id_alone,
    a_created_object_is_not_final_until_it_is_reported,
    an_object_that_was_deleted_before_its_report_is_not_reported,
    a_second_caller_gets_the_same_object_or_none, a_created_group_is_not_final_until_it_is_shown,
    a_group_of_another_call_is_not_deleted, a_failing_api_is_not_final,
    a_name_taken_by_a_concurrent_call_is_not_final, a_row_deleted_between_two_pages_ends_the_list,
    leftovers_of_a_publish_do_not_block_a_delete, a_removed_member_does_not_block_a_group_snapshot,
    the_snapshot_of_a_removed_member_is_shown_when_given,
    a_group_snapshot_is_found_again_after_its_volumes_have_left,
    a_group_snapshot_with_another_volume_is_deleted, a_probe_waits_for_no_call,
    calls_that_wait_for_the_service_delay_no_others)
