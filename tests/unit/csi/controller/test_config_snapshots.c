/*
 * Snapshots of volumes that are made from a policy, in front of an API that has them in whatever
 * state.
 */
#include "tests/unit/csi/driver_test.h"

#define VOLUME "6a1f4b1e-0000-4000-8000-000000000001"
#define SHOT   "6a1f4b1e-0000-4000-8000-00000000000"
#define CONFIG                                                                        \
    "{\"volume_config\": {\"metadata\": {\"name\": \"v\", \"uid\": \"" VOLUME "\"}, " \
    "\"spec\": {}, \"status\": {\"phase\": \"Bound\"}}}"
#define TAKEN ", \"creationTime\": \"2024-01-02T03:04:05Z\", \"capacity\": {\"storage\": \"1Gi\"}"
#define MARKED_ROW(number_, name_, mark_, metadata_, phase_, status_)                   \
    "{\"metadata\": {\"name\": \"" name_ "\", \"uid\": \"" SHOT number_ "\", "          \
    "\"annotations\": {\"csi.scoria.io/name\": \"" name_ "\"" mark_ "}" metadata_ "}, " \
    "\"spec\": {\"volumeName\": \"v\"}, \"status\": {\"phase\": \"" phase_ "\"" status_ "}}"
#define ROW(number_, name_, ...) MARKED_ROW(number_, name_, "", __VA_ARGS__)
/* No response has reported it yet. */
#define NEW(...)    THE(MARKED_ROW("1", "n", ", \"csi.scoria.io/unreported\": \"yes\"", __VA_ARGS__))
#define THE(row_)   "{\"volume_config_snapshot\": " row_ "}"
#define CALL(name_) "/csi.v1.Controller/" name_
#define ALL         "/v3/volume_config_snapshots"
#define GONE        ", \"deletionTimestamp\": \"2024-01-02T03:04:05Z\""

static void answer(struct scene *scene, const char *method, const char *path, int status,
                   const char *body, unsigned times) {
    script_server_add(
        scene->api,
        &(struct script_rule){
            .method = method, .path = path, .status = status, .body = body, .times = times });
}

static struct scene *scene_with_volume(void) {
    struct scene *scene = scene_new(NULL);

    answer(scene, "GET", "/v3/volume_configs/" VOLUME, 200, CONFIG, 0);
    answer(scene, "GET", "/v3/volume_configs/v", 200, CONFIG, 0);
    return scene;
}

static struct wire_answer *send_request(struct scene *scene, const char *path,
                                        const void *message) {
    size_t size = protobuf_c_message_get_packed_size(message);
    autofree uint8_t *bytes = malloc(size + 1);

    protobuf_c_message_pack(message, bytes);
    return scene_call(scene, path, bytes, size);
}

static struct wire_answer *create(struct scene *scene) {
    Csi__V1__CreateSnapshotRequest request = CSI__V1__CREATE_SNAPSHOT_REQUEST__INIT;

    request.name = (char[]){ "n" };
    request.source_volume_id = (char[]){ "config-" VOLUME };
    return send_request(scene, CALL("CreateSnapshot"), &request);
}

static void check_refused(struct wire_answer *got, const char *code, const char *part) {
    ck_assert_msg(strcmp(got->status, code) == 0, "%s instead of %s: %s", got->status, code,
                  got->message);
    ck_assert_ptr_nonnull(strstr(got->message, part));
    free(got);
}

/* Before it is taken there is no response, and then at once, whichever node has it. */
START_TEST(a_create_returns_when_the_snapshot_is_taken) {
    struct scene *scene = scene_with_volume();
    autofree struct wire_answer *got = NULL;
    Csi__V1__CreateSnapshotResponse *made;

    answer(scene, "GET", ALL "/n", 404, NULL, 2);
    answer(scene, "GET", ALL "/n", 200, NEW("", "Pending", TAKEN), 0);
    answer(scene, "POST", ALL, 409, NULL, 1); /* the volume is not made yet */
    answer(scene, "POST", ALL, 201, NEW("", "Pending", ""), 0);
    answer(scene, "GET", ALL "/" SHOT "1", 200, NEW("", "Pending", ""), 2);
    answer(scene, "GET", ALL "/" SHOT "1", 200, NEW("", "Pending", TAKEN), 0);
    answer(scene, "PATCH", ALL "/" SHOT "1", 503, NULL, 1);
    answer(scene, "PATCH", ALL "/" SHOT "1", 403, NULL, 1);
    answer(scene, "PATCH", ALL "/" SHOT "1", 200, THE(ROW("1", "n", "", "Pending", TAKEN)), 0);
    check_refused(create(scene), "14", ""); /* not marked as reported: no final code */
    check_refused(create(scene), "14", "");
    got = create(scene);
    made = scene_message(got, &csi__v1__create_snapshot_response__descriptor);
    ck_assert_str_eq(made->snapshot->snapshot_id, "configsnap-" SHOT "1");
    ck_assert_str_eq(made->snapshot->source_volume_id, "config-" VOLUME);
    ck_assert_int_eq(made->snapshot->size_bytes, 1 << 30);
    ck_assert_int_eq(made->snapshot->creation_time->seconds, 1704164645);
    ck_assert(!made->snapshot->ready_to_use);
    protobuf_c_message_free_unpacked(&made->base, NULL);
    ck_assert_uint_eq(script_server_count(scene->api, "POST", ALL), 2);
    scene_end(scene);
}
END_TEST

/* It has lost its copies before its id was in a response: no other call would delete it. */
START_TEST(a_snapshot_that_fails_before_it_is_reported_is_deleted) {
    struct scene *scene = scene_with_volume();

    answer(scene, "GET", ALL "/n", 404, NULL, 1);
    answer(scene, "POST", ALL, 201, NEW("", "Pending", ""), 0);
    answer(scene, "GET", ALL "/" SHOT "1", 200, NEW("", "Pending", ""), 2);
    answer(scene, "GET", ALL "/" SHOT "1", 200, NEW("", "Failed", TAKEN), 2);
    answer(scene, "DELETE", ALL "/" SHOT "1", 503, NULL, 0);
    check_refused(create(scene), "14", "");
    scene_end(scene);

    scene = scene_with_volume();
    answer(scene, "GET", ALL "/n", 200, NEW("", "Failed", TAKEN), 1);
    answer(scene, "GET", ALL "/" SHOT "1", 200, NEW("", "Failed", TAKEN), 1);
    answer(scene, "DELETE", ALL "/" SHOT "1", 202, NULL, 0);
    answer(scene, "GET", ALL "/" SHOT "1", 200, NEW(GONE, "Failed", TAKEN), 2);
    answer(scene, "GET", ALL "/" SHOT "1", 404, NULL, 0);
    check_refused(create(scene), "13", "is deleted");
    ck_assert_uint_eq(script_server_count(scene->api, "DELETE", ALL "/" SHOT "1"), 1);
    ck_assert_uint_eq(script_server_count(scene->api, "POST", NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_reported_snapshot_that_fails_stays_until_it_is_deleted) {
    struct scene *scene = scene_with_volume();

    answer(scene, "GET", ALL "/n", 200, THE(ROW("1", "n", "", "Failed", TAKEN)), 0);
    check_refused(create(scene), "13", SHOT "1");
    ck_assert_uint_eq(script_server_count(scene->api, "DELETE", NULL), 0);
    ck_assert_uint_eq(script_server_count(scene->api, "POST", NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(refusals_of_the_service_have_their_code) {
    static const struct {
        int status;
        const char *code;
    } rows[] = { { 404, "5" }, { 413, "8" }, { 500, "14" } };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = scene_with_volume();

        answer(scene, "GET", ALL "/n", 404, NULL, 0);
        answer(scene, "POST", ALL, rows[i].status, NULL, 0);
        check_refused(create(scene), rows[i].code, "");
        scene_end(scene);
    }
}
END_TEST

START_TEST(the_source_of_a_clone_in_progress_is_not_deleted) {
    Csi__V1__DeleteSnapshotRequest request = CSI__V1__DELETE_SNAPSHOT_REQUEST__INIT;
    struct scene *scene = scene_with_volume();

    request.snapshot_id = (char[]){ "configsnap-" SHOT "1" };
    answer(scene, "GET", ALL "/" SHOT "1", 200, THE(ROW("1", "n", "", "Ready", TAKEN)), 3);
    answer(scene, "DELETE", ALL "/" SHOT "1", 409, NULL, 1);
    check_refused(send_request(scene, CALL("DeleteSnapshot"), &request), "10", "");
    answer(scene, "DELETE", ALL "/" SHOT "1", 202, NULL, 0);
    answer(scene, "GET", ALL "/" SHOT "1", 200, THE(ROW("1", "n", GONE, "Ready", TAKEN)), 2);
    answer(scene, "GET", ALL "/" SHOT "1", 404, NULL, 0);
    check_refused(send_request(scene, CALL("DeleteSnapshot"), &request), "0", "");
    ck_assert_uint_eq(script_server_count(scene->api, "DELETE", NULL), 2);
    scene_end(scene);
}
END_TEST

/* A page may have none of those that are listed, and others come behind it. */
START_TEST(incomplete_and_deleted_snapshots_are_not_listed) {
    static const char first[] = "{\"volume_config_snapshots\": [" ROW(
        "1", "a", "", "Pending", "") ", " ROW("2", "b", GONE, "Ready", TAKEN) "]}";
    static const char second[] = "{\"volume_config_snapshots\": [" ROW(
        "3", "c", "", "Failed", TAKEN) ", " ROW("4", "d", "", "Ready", TAKEN) "]}";
    Csi__V1__ListSnapshotsRequest request = CSI__V1__LIST_SNAPSHOTS_REQUEST__INIT;
    struct scene *scene = scene_with_volume();
    autofree struct wire_answer *got = NULL;
    Csi__V1__ListSnapshotsResponse *all;

    answer(scene, "GET", "/v3/snapshots/detail*", 200, "{\"snapshots\": []}", 0);
    answer(scene, "GET", ALL "?sort=id:asc&limit=1000", 200, first, 0);
    answer(scene, "GET", ALL "?sort=id:asc&limit=1000&marker=" SHOT "2", 200, second, 0);
    answer(scene, "GET", ALL "?*", 200, "{\"volume_config_snapshots\": []}", 0);
    got = send_request(scene, CALL("ListSnapshots"), &request);
    all = scene_message(got, &csi__v1__list_snapshots_response__descriptor);
    ck_assert_uint_eq(all->n_entries, 1);
    ck_assert_str_eq(all->entries[0]->snapshot->snapshot_id, "configsnap-" SHOT "4");
    ck_assert_str_eq(all->next_token, "");
    protobuf_c_message_free_unpacked(&all->base, NULL);
    scene_end(scene);
}
END_TEST

CHECK_MAIN("csi snapshots of configs", a_create_returns_when_the_snapshot_is_taken,
           a_snapshot_that_fails_before_it_is_reported_is_deleted,
           a_reported_snapshot_that_fails_stays_until_it_is_deleted,
           refusals_of_the_service_have_their_code,
           the_source_of_a_clone_in_progress_is_not_deleted,
           incomplete_and_deleted_snapshots_are_not_listed)
