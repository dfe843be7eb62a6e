/*
 * The code that a refusal of the API becomes, by the status of the volume: a sidecar calls again
 * after ABORTED and INTERNAL, and gives up after FAILED_PRECONDITION.
 */
#include "tests/unit/csi/driver_test.h"

#define ID     "5f7c41de-3c55-4a6e-9d2c-1f3f6c0e7a02"
#define VOLUME "/v3/volumes/" ID
#define GIB    (INT64_C(1) << 30)

static void shows(struct scene *scene, const char *status, unsigned times) {
    char body[256];

    snprintf(body, sizeof(body),
             "{\"volume\": {\"id\": \"" ID "\", \"status\": \"%s\", \"size\": 1, "
             "\"metadata\": {\"csi.name\": \"pvc\"}}}",
             status);
    script_server_add(scene->api,
                      &(struct script_rule){ "GET", VOLUME, 200, body, .times = times });
}

/* `why`: NULL: no reason is given. */
static void refuses_for(struct scene *scene, const char *method, const char *path, int status,
                        const char *why) {
    char body[512];

    snprintf(body, sizeof(body), "{\"badRequest\": {\"code\": %d, \"message\": \"%s\"}}", status,
             why ? why : "");
    script_server_add(scene->api, &(struct script_rule){ .method = method,
                                                         .path = path,
                                                         .status = status,
                                                         .body = why ? body : NULL });
}

static void refuses(struct scene *scene, const char *method, const char *path, int status) {
    refuses_for(scene, method, path, status, NULL);
}

static void expand(struct scene *scene, const char *code) {
    Csi__V1__ControllerExpandVolumeRequest request =
        CSI__V1__CONTROLLER_EXPAND_VOLUME_REQUEST__INIT;
    Csi__V1__CapacityRange range = CSI__V1__CAPACITY_RANGE__INIT;
    autofree struct wire_answer *answer = NULL;

    range.required_bytes = 2 * GIB;
    request.volume_id = (char[]){ ID };
    request.capacity_range = &range;
    answer = scene_request(scene, "/csi.v1.Controller/ControllerExpandVolume", &request);
    ck_assert_msg(strcmp(answer->status, code) == 0, "%s, not %s: %s", answer->status, code,
                  answer->message);
}

START_TEST(a_refused_expand_is_final_only_when_the_size_cannot_be_had) {
    static const struct {
        int refusal;
        const char *status, *code;
    } cases[] = {
        { 400, "available", "11" }, { 400, "in-use", "11" },    { 400, "error_extending", "13" },
        { 400, "error", "13" },     { 400, "extending", "10" }, { 400, "attaching", "10" },
        { 409, "available", "10" }, { 409, "error", "13" },     { 413, "available", "8" },
        { 503, "available", "14" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct scene *scene = scene_new(NULL);

        shows(scene, "available", 1);
        refuses(scene, "POST", VOLUME "/action", cases[i].refusal);
        shows(scene, cases[i].status, 0);
        expand(scene, cases[i].code);
        scene_end(scene);
    }
}
END_TEST

#define RUNS "Invalid volume: Volume " ID " cannot do it before its former reclaim has ended."
/* Of a volume that was reset. */
#define LACKS "Invalid volume: Volume " ID " has nothing on its backend and cannot do it."

/* Some operations keep the status of the volume, as a reclaim does: the reason alone is left. */
START_TEST(an_expand_that_an_operation_refuses_is_repeated) {
    static const struct {
        const char *why, *code;
    } cases[] = {
        { RUNS, "10" },
        { "Invalid volume: Volume " ID " status must be available.", "10" },
        { LACKS, "9" },
        { "Invalid volume: Volume " ID " is on no backend and cannot extend.", "9" },
        { "Invalid volume: Volume " ID " cannot be extended while a host has a connection to it "
          "without being attached: attach the volume there, or end the connection with "
          "os-terminate_connection.",
          "9" },
        { "Invalid input received: The backend of this volume has none that are larger.", "11" },
        { "Specified volume size of '2' is greater than the maximum allowed size.", "11" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct scene *scene = scene_new(NULL);

        shows(scene, "available", 0);
        refuses_for(scene, "POST", VOLUME "/action", 400, cases[i].why);
        expand(scene, cases[i].code);
        scene_end(scene);
    }
}
END_TEST

/* Until an administrator ends that. */
START_TEST(an_expand_of_a_volume_in_another_lasting_status_is_refused) {
    static const char *const statuses[] = { "maintenance", "awaiting-transfer" };

    for (size_t i = 0; i < LENGTH(statuses); i++) {
        struct scene *scene = scene_new(NULL);

        shows(scene, statuses[i], 0);
        refuses_for(scene, "POST", VOLUME "/action", 400,
                    "Invalid volume: Volume " ID " status must not be that to extend.");
        expand(scene, "9");
        scene_end(scene);
    }
}
END_TEST

/* Of another Cinder, which knows no retry. */
START_TEST(a_volume_that_stays_in_its_error_is_no_precondition) {
    struct scene *scene = scene_new(NULL);

    shows(scene, "error_extending", 0);
    refuses(scene, "POST", VOLUME "/action", 400);
    expand(scene, "13");
    ck_assert_uint_eq(script_server_count(scene->api, "POST", VOLUME "/action"), 1);
    scene_end(scene);
}
END_TEST

static void delete_volume(struct scene *scene, const char *code) {
    Csi__V1__DeleteVolumeRequest request = CSI__V1__DELETE_VOLUME_REQUEST__INIT;
    autofree struct wire_answer *answer = NULL;

    request.volume_id = (char[]){ ID };
    answer = scene_request(scene, "/csi.v1.Controller/DeleteVolume", &request);
    ck_assert_msg(strcmp(answer->status, code) == 0, "%s, not %s: %s", answer->status, code,
                  answer->message);
}

/* The reason is not the status where a deletion could begin: the volume has snapshots. */
START_TEST(a_refused_delete_is_retried_only_when_its_status_is_the_reason) {
    static const struct {
        int refusal;
        const char *status, *code;
    } cases[] = {
        { 400, "available", "9" },
        { 400, "error_extending", "9" },
        { 400, "error", "9" },
        { 400, "error_restoring", "9" },
        { 400, "error_managing", "9" },
        { 400, "error_deleting", "13" },
        { 400, "error_backing-up", "13" },
        { 409, "error_extending", "10" },
        { 400, "in-use", "9" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct scene *scene = scene_new(NULL);

        shows(scene, cases[i].status, 0);
        refuses(scene, "DELETE", VOLUME, cases[i].refusal);
        script_server_add(scene->api, &(struct script_rule){ .method = "GET",
                                                             .path = "/v3/snapshots/detail*",
                                                             .status = 200,
                                                             .body = "{\"snapshots\": []}" });
        delete_volume(scene, cases[i].code);
        scene_end(scene);
    }
}
END_TEST

/* ---- by the reason, at a status where each call is accepted ---- */

static void publish(struct scene *scene, const char *code) {
    Csi__V1__ControllerPublishVolumeRequest request =
        CSI__V1__CONTROLLER_PUBLISH_VOLUME_REQUEST__INIT;
    Csi__V1__VolumeCapability__AccessMode mode = CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__INIT;
    Csi__V1__VolumeCapability__BlockVolume block = CSI__V1__VOLUME_CAPABILITY__BLOCK_VOLUME__INIT;
    Csi__V1__VolumeCapability capability = CSI__V1__VOLUME_CAPABILITY__INIT;
    autofree struct wire_answer *answer = NULL;

    mode.mode = CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_WRITER;
    capability.access_mode = &mode;
    capability.access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;
    capability.block = &block;
    request.volume_id = (char[]){ ID };
    request.node_id = (char[]){ "node" };
    request.volume_capability = &capability;
    answer = scene_request(scene, "/csi.v1.Controller/ControllerPublishVolume", &request);
    ck_assert_msg(strcmp(answer->status, code) == 0, "%s, not %s: %s", answer->status, code,
                  answer->message);
}

static void snapshot(struct scene *scene, const char *code) {
    Csi__V1__CreateSnapshotRequest request = CSI__V1__CREATE_SNAPSHOT_REQUEST__INIT;
    autofree struct wire_answer *answer = NULL;

    request.name = (char[]){ "n" };
    request.source_volume_id = (char[]){ ID };
    answer = scene_request(scene, "/csi.v1.Controller/CreateSnapshot", &request);
    ck_assert_msg(strcmp(answer->status, code) == 0, "%s, not %s: %s", answer->status, code,
                  answer->message);
}

static void modify(struct scene *scene, const char *code) {
    Csi__V1__ControllerModifyVolumeRequest request =
        CSI__V1__CONTROLLER_MODIFY_VOLUME_REQUEST__INIT;
    Csi__V1__ControllerModifyVolumeRequest__MutableParametersEntry entry =
        CSI__V1__CONTROLLER_MODIFY_VOLUME_REQUEST__MUTABLE_PARAMETERS_ENTRY__INIT;
    Csi__V1__ControllerModifyVolumeRequest__MutableParametersEntry *entries = &entry;
    autofree struct wire_answer *answer = NULL;

    entry.key = (char[]){ "type" };
    entry.value = (char[]){ "other" };
    request.volume_id = (char[]){ ID };
    request.n_mutable_parameters = 1;
    request.mutable_parameters = &entries;
    answer = scene_request(scene, "/csi.v1.Controller/ControllerModifyVolume", &request);
    ck_assert_msg(strcmp(answer->status, code) == 0, "%s, not %s: %s", answer->status, code,
                  answer->message);
}

START_TEST(a_refusal_is_repeated_while_an_operation_is_the_reason) {
    static const struct {
        void (*call)(struct scene *scene, const char *code);
        const char *method, *path, *why, *code;
    } cases[] = {
        { delete_volume, "DELETE", VOLUME, RUNS, "10" },
        { delete_volume, "DELETE", VOLUME, LACKS, "9" },
        { snapshot, "POST", "/v3/snapshots", RUNS, "10" },
        { snapshot, "POST", "/v3/snapshots", LACKS, "9" },
        { publish, "POST", "/v3/attachments", RUNS, "10" },
        { publish, "POST", "/v3/attachments", LACKS, "9" },
        { modify, "POST", VOLUME "/action", RUNS, "10" },
        { modify, "POST", VOLUME "/action", LACKS, "3" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct scene *scene = scene_new(NULL);

        shows(scene, "available", 0);
        script_server_add(scene->api, &(struct script_rule){ .method = "GET",
                                                             .path = "/v3/attachments*",
                                                             .status = 200,
                                                             .body = "{\"attachments\": []}" });
        script_server_add(scene->api, &(struct script_rule){ .method = "GET",
                                                             .path = "/v3/snapshots/detail*",
                                                             .status = 200,
                                                             .body = "{\"snapshots\": []}" });
        script_server_add(
            scene->api, &(struct script_rule){
                            .method = "GET",
                            .path = "/v3/types*",
                            .status = 200,
                            .body = "{\"volume_type\": {\"id\": \"t\", \"name\": \"other\"}, "
                                    "\"volume_types\": [{\"id\": \"t\", \"name\": \"other\"}]}" });
        refuses_for(scene, cases[i].method, cases[i].path, 400, cases[i].why);
        cases[i].call(scene, cases[i].code);
        scene_end(scene);
    }
}
END_TEST

CHECK_MAIN("csi controller refusal", a_refusal_is_repeated_while_an_operation_is_the_reason,
           an_expand_of_a_volume_in_another_lasting_status_is_refused,
           a_refused_delete_is_retried_only_when_its_status_is_the_reason,
           a_refused_expand_is_final_only_when_the_size_cannot_be_had,
           an_expand_that_an_operation_refuses_is_repeated,
           a_volume_that_stays_in_its_error_is_no_precondition)
