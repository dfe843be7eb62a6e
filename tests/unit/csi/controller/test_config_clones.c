/*
 * Volumes with a policy that are made of another one, in front of an API that is at any step of it;
 * and names and sources of volumes with and without a policy.
 */
#include "tests/unit/csi/driver_test.h"

#define SOURCE "6a1f4b1e-0000-4000-8000-000000000001"
#define CLONE  "6a1f4b1e-0000-4000-8000-000000000002"
#define SHOT   "6a1f4b1e-0000-4000-8000-000000000003"
#define PLAIN  "6a1f4b1e-0000-4000-8000-000000000004"
#define SNAP   "6a1f4b1e-0000-4000-8000-0000000000a5"
/* Of the source's uid and the name "n": a release after an upgrade has to find it, too. */
#define NAME    "clone-471bdae95e34c4460d4d0557209182b7"
#define CONFIGS "/v3/volume_configs"
#define SHOTS   "/v3/volume_config_snapshots"
#define GONE    ", \"deletionTimestamp\": \"2024-01-02T03:04:05Z\""

#define THE_SOURCE(metadata_)                                                                \
    "{\"volume_config\": {\"metadata\": {\"name\": \"s\", \"uid\": \"" SOURCE "\"" metadata_ \
    ", \"annotations\": {\"csi.scoria.io/name\": \"s\"}}, \"spec\": {}, \"status\": {\"phase\": \"Bound\", \"capacity\": {\"storage\": \"2Gi\"}}}}"

/* As its finalizers, its other metadata, and its phase are. */
#define THE_CLONE(finalizers_, metadata_, phase_)                                                \
    "{\"volume_config\": {\"metadata\": {\"name\": \"n\", \"uid\": \"" CLONE                     \
    "\", \"resourceVersion\": \"7\", \"annotations\": {\"csi.scoria.io/name\": \"n\", "          \
    "\"openebs.io/volume-policy\": \"p\"}, \"finalizers\": [" finalizers_ "]" metadata_          \
    "}, \"spec\": {\"capacity\": {\"storage\": \"2Gi\"}, \"provision\": {\"replicaCount\": 3}, " \
    "\"cstorVolumeSource\": \"s@" NAME "\"}, \"status\": {\"phase\": \"" phase_                  \
    "\", \"capacity\": {\"storage\": \"2Gi\"}}}}"
#define BEGUN   "\"cvc.openebs.io/finalizer\", \"csi.scoria.io/clone\""
#define ENDED   "\"cvc.openebs.io/finalizer\""
#define LABEL   ", \"labels\": {\"openebs.io/source-volume\": \"s\"}"
#define PENDING THE_CLONE(BEGUN, LABEL, "Pending")
#define BOUND   THE_CLONE(BEGUN, LABEL, "Bound")
#define DONE    THE_CLONE(ENDED, "", "Bound")

#define SHOT_ROW(annotation_, metadata_, phase_, pools_)                                        \
    "{\"metadata\": {\"name\": \"" NAME "\", \"uid\": \"" SHOT                                  \
    "\", \"annotations\": {" annotation_ "}" metadata_ "}, \"spec\": {\"volumeName\": \"s\"}, " \
    "\"status\": {\"phase\": \"" phase_ "\", \"creationTime\": \"2024-01-02T03:04:05Z\", "      \
    "\"capacity\": {\"storage\": \"2Gi\"}, " pools_ "}}"
#define THE_SHOT(...) "{\"volume_config_snapshot\": " SHOT_ROW(__VA_ARGS__) "}"
#define OURS          "\"csi.scoria.io/clone\": \"n\""
#define ALL_POOLS     "\"poolInfo\": [\"a\", \"b\", \"c\"]"
#define READY         THE_SHOT(OURS, "", "Ready", ALL_POOLS)

static void answer(struct scene *scene, const char *method, const char *path, int status,
                   const char *body, unsigned times) {
    script_server_add(
        scene->api,
        &(struct script_rule){
            .method = method, .path = path, .status = status, .body = body, .times = times });
}

static struct scene *scene_with_source(void) {
    struct scene *scene = scene_new(NULL);

    answer(scene, "GET", CONFIGS "/" SOURCE, 200, THE_SOURCE(""), 0);
    answer(scene, "GET", CONFIGS "/s", 200, THE_SOURCE(""), 0);
    answer(scene, "GET", "/v3/volume_policies/p", 404, NULL, 0);
    return scene;
}

static void expect_unused_name(struct scene *scene) {
    answer(scene, "GET", "/v3/volumes/detail*", 200, "{\"volumes\": []}", 0);
}

static unsigned count(struct scene *scene, const char *method, const char *path) {
    return script_server_count(scene->api, method, path);
}

static void check_code(const struct wire_answer *got, const char *code) {
    ck_assert_msg(strcmp(got->status, code) == 0, "%s instead of %s: %s", got->status, code,
                  got->message);
}

/* "n", of a volume or of a snapshot, with the policy "p" or none. */
static void create(struct scene *scene, const char *of, bool with_policy, const char *code) {
    Csi__V1__CreateVolumeRequest__ParametersEntry
        policy = CSI__V1__CREATE_VOLUME_REQUEST__PARAMETERS_ENTRY__INIT,
        *parameters = &policy;
    Csi__V1__VolumeContentSource__VolumeSource volume =
        CSI__V1__VOLUME_CONTENT_SOURCE__VOLUME_SOURCE__INIT;
    Csi__V1__VolumeContentSource__SnapshotSource snapshot =
        CSI__V1__VOLUME_CONTENT_SOURCE__SNAPSHOT_SOURCE__INIT;
    Csi__V1__VolumeContentSource source = CSI__V1__VOLUME_CONTENT_SOURCE__INIT;
    Csi__V1__CreateVolumeRequest request = CSI__V1__CREATE_VOLUME_REQUEST__INIT;
    autofree struct wire_answer *got = NULL;
    bool is_snapshot = of && (strstr(of, "snap") || strstr(of, "a5"));
    char id[64];

    snprintf(id, sizeof(id), "%s", of ? of : "");
    policy.key = (char[]){ "cstorVolumePolicy" };
    policy.value = (char[]){ "p" };
    volume.volume_id = snapshot.snapshot_id = id;
    source.type_case = is_snapshot ? CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT
                                   : CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_VOLUME;
    if (is_snapshot)
        source.snapshot = &snapshot;
    else
        source.volume = &volume;
    request.name = (char[]){ "n" };
    request.n_parameters = with_policy;
    request.parameters = &parameters;
    request.volume_content_source = of ? &source : NULL;
    got = scene_create_volume(scene, &request);
    check_code(got, code);
}

static void clone(struct scene *scene, const char *code) {
    create(scene, "config-" SOURCE, true, code);
}

static void delete (struct scene *scene, const char *id, const char *code) {
    Csi__V1__DeleteVolumeRequest request = CSI__V1__DELETE_VOLUME_REQUEST__INIT;
    autofree struct wire_answer *got = NULL;
    char text[64];

    snprintf(text, sizeof(text), "%s", id);
    request.volume_id = text;
    got = scene_request(scene, "/csi.v1.Controller/DeleteVolume", &request);
    check_code(got, code);
}

static void check_sent(struct scene *scene, const char *method, const char *path,
                       const char *part) {
    const struct script_request *sent = script_server_request(scene->api, method, path, 0);

    ck_assert_ptr_nonnull(sent);
    ck_assert_msg(strstr(sent->body, part) != NULL, "%s is not in %s", part, sent->body);
}

/* The snapshot goes, and then the finalizers of the config and its source. */
static void expect_end(struct scene *scene, const char *shown) {
    answer(scene, "GET", SHOTS "/" NAME, 200, READY, 0);
    answer(scene, "DELETE", SHOTS "/" SHOT, 202, NULL, 0);
    answer(scene, "PATCH", CONFIGS "/" CLONE, 200, shown, 0);
}

static void check_end(struct scene *scene) {
    ck_assert_uint_eq(count(scene, "DELETE", SHOTS "/" SHOT), 1);
    ck_assert_uint_eq(count(scene, "DELETE", CONFIGS "/*"), 0);
    ck_assert_uint_eq(count(scene, "PATCH", NULL), 1);
    check_sent(scene, "PATCH", NULL, "\"finalizers\":[\"cvc.openebs.io/finalizer\"]");
    check_sent(scene, "PATCH", NULL, "\"openebs.io/source-volume\":null");
    check_sent(scene, "PATCH", NULL, "\"resourceVersion\":\"7\"");
}

START_TEST(a_clone_uses_a_temporary_snapshot) {
    struct scene *scene = scene_with_source();

    expect_unused_name(scene);
    answer(scene, "GET", CONFIGS "/n", 404, NULL, 0);
    answer(scene, "GET", SHOTS "/" NAME, 404, NULL, 1);
    answer(scene, "POST", SHOTS, 201, THE_SHOT(OURS, "", "Pending", "\"poolInfo\": []"), 0);
    answer(
        scene, "GET", SHOTS "/" SHOT, 200,
        THE_SHOT(OURS, "", "Ready", "\"poolInfo\": [\"a\", \"b\"], \"pendingPoolInfo\": [\"c\"]"),
        1); /* the third replica is on its way */
    answer(scene, "GET", SHOTS "/" SHOT, 200, READY, 0);
    answer(scene, "POST", CONFIGS, 201, PENDING, 0);
    answer(scene, "GET", CONFIGS "/" CLONE, 200, PENDING, 1);
    answer(scene, "GET", CONFIGS "/" CLONE, 200, BOUND, 0);
    expect_end(scene, DONE);
    clone(scene, "0");
    check_sent(scene, "POST", SHOTS, "\"csi.scoria.io/clone\":\"n\"");
    check_sent(scene, "POST", CONFIGS, "\"cstorVolumeSource\":\"s@" NAME "\"");
    check_sent(scene, "POST", CONFIGS, "\"finalizers\":[\"csi.scoria.io/clone\"]");
    check_sent(scene, "POST", CONFIGS, "\"storage\":\"2Gi\"");
    ck_assert_uint_eq(count(scene, "GET", SHOTS "/" SHOT), 2);
    check_end(scene);
    scene_end(scene);
}
END_TEST

START_TEST(a_repeated_call_continues_the_clone) {
    struct scene *scene = scene_with_source(); /* the snapshot is there */

    expect_unused_name(scene);
    answer(scene, "GET", CONFIGS "/n", 404, NULL, 0);
    answer(scene, "POST", CONFIGS, 201, BOUND, 0);
    expect_end(scene, DONE);
    clone(scene, "0");
    ck_assert_uint_eq(count(scene, "POST", SHOTS), 0);
    check_end(scene);
    scene_end(scene);

    scene = scene_new(NULL); /* the config is there; its source need not be any more */
    expect_unused_name(scene);
    answer(scene, "GET", CONFIGS "/n", 200, BOUND, 0);
    expect_end(scene, DONE);
    clone(scene, "0");
    ck_assert_uint_eq(count(scene, "POST", NULL), 0);
    check_end(scene);
    scene_end(scene);

    scene = scene_new(NULL); /* the snapshot has gone; the config is changed meanwhile */
    expect_unused_name(scene);
    answer(scene, "GET", CONFIGS "/n", 200, BOUND, 0);
    answer(scene, "GET", SHOTS "/" NAME, 404, NULL, 0);
    answer(scene, "PATCH", CONFIGS "/" CLONE, 409, NULL, 1);
    answer(scene, "GET", CONFIGS "/" CLONE, 200, BOUND, 0);
    answer(scene, "PATCH", CONFIGS "/" CLONE, 200, DONE, 0);
    clone(scene, "0");
    ck_assert_uint_eq(count(scene, "PATCH", NULL), 2);
    ck_assert_uint_eq(count(scene, "DELETE", NULL), 0);
    scene_end(scene);

    scene = scene_new(NULL); /* all is done */
    expect_unused_name(scene);
    answer(scene, "GET", CONFIGS "/n", 200, DONE, 0);
    clone(scene, "0");
    ck_assert_uint_eq(count(scene, NULL, NULL), 2);
    scene_end(scene);
}
END_TEST

#define EVENT(type_, reason_) "{\"type\": \"" type_ "\", \"reason\": \"" reason_ "\"}"
#define NO_PLACE              EVENT("Warning", "Provisioning")
#define EVENTS(...)           "{\"events\": [" __VA_ARGS__ "]}"

/* It is not given up: there may be space later, and no client has to begin again. */
START_TEST(a_clone_without_capacity_is_reported_and_continues_later) {
    struct scene *scene = scene_new(NULL);
    const char *events = CONFIGS "/" CLONE "/events";

    expect_unused_name(scene);
    answer(scene, "GET", CONFIGS "/n", 200, PENDING, 0);
    answer(scene, "GET", events, 200, EVENTS(EVENT("Normal", "Provisioning") "," NO_PLACE), 1);
    clone(scene, "10");
    ck_assert_uint_eq(count(scene, "DELETE", NULL), 0);
    ck_assert_uint_eq(count(scene, "PATCH", NULL), 0);

    answer(scene, "GET", events, 200, EVENTS(NO_PLACE "," EVENT("Normal", "Provisioning")), 1);
    answer(scene, "GET", events, 200, EVENTS(EVENT("Warning", "ReconcileFailed")), 1);
    answer(scene, "GET", events, 200, EVENTS(), 1);
    answer(scene, "GET", events, 503, NULL, 1);
    answer(scene, "GET", CONFIGS "/" CLONE, 200, PENDING, 3);
    answer(scene, "GET", CONFIGS "/" CLONE, 200, BOUND, 0);
    expect_end(scene, DONE);
    clone(scene, "0");
    check_end(scene);
    scene_end(scene);
}
END_TEST

/* Its snapshot was lost before it was whole. */
START_TEST(a_failed_clone_is_deleted_and_may_be_created_again) {
    struct scene *scene = scene_new(NULL);

    expect_unused_name(scene);
    answer(scene, "GET", CONFIGS "/n", 200, THE_CLONE(BEGUN, LABEL, "Failed"), 0);
    answer(scene, "GET", CONFIGS "/" CLONE, 200, THE_CLONE(BEGUN, LABEL, "Failed"), 1);
    answer(scene, "DELETE", CONFIGS "/" CLONE, 202, NULL, 0);
    answer(scene, "GET", CONFIGS "/" CLONE, 200, THE_CLONE(BEGUN, LABEL GONE, "Failed"), 0);
    expect_end(scene, THE_CLONE(ENDED, LABEL GONE, "Failed"));
    clone(scene, "10");
    ck_assert_uint_eq(count(scene, "DELETE", CONFIGS "/" CLONE), 1);
    ck_assert_uint_eq(count(scene, "DELETE", SHOTS "/" SHOT), 1);
    ck_assert_uint_eq(count(scene, "PATCH", NULL), 1);
    scene_end(scene);

    scene = scene_new(NULL); /* of a user's snapshot: it cannot be created again */
    expect_unused_name(scene);
    answer(scene, "GET", CONFIGS "/n", 200, THE_CLONE(ENDED, LABEL, "Failed"), 0);
    answer(scene, "GET", CONFIGS "/" CLONE, 200, THE_CLONE(ENDED, LABEL, "Failed"), 0);
    answer(scene, "GET", SHOTS "/" SHOT, 404, NULL, 0);
    answer(scene, "DELETE", CONFIGS "/" CLONE, 503, NULL, 1);
    answer(scene, "DELETE", CONFIGS "/" CLONE, 202, NULL, 0);
    create(scene, "configsnap-" SHOT, true, "14");
    create(scene, "configsnap-" SHOT, true, "9");
    scene_end(scene);
}
END_TEST

/* The call was interrupted, and the snapshot was deleted since. */
START_TEST(a_repeated_call_needs_its_snapshot_no_more) {
    struct scene *scene = scene_new(NULL);

    expect_unused_name(scene);
    answer(scene, "GET", SHOTS "/" SHOT, 404, NULL, 0);
    answer(scene, "GET", CONFIGS "/n", 404, NULL, 1);
    answer(scene, "GET", CONFIGS "/n", 200, THE_CLONE(ENDED, LABEL, "Bound"), 0);
    create(scene, "configsnap-" SHOT, true, "5");
    create(scene, "configsnap-" SHOT, true, "0");
    create(scene, NULL, true, "6");
    ck_assert_uint_eq(count(scene, "DELETE", NULL), 0);
    ck_assert_uint_eq(count(scene, "POST", NULL), 0);
    scene_end(scene);

    scene = scene_new(NULL); /* it is there, and another one */
    answer(scene, "GET", SHOTS "/" SHOT, 200,
           "{\"volume_config_snapshot\": {\"metadata\": {\"name\": \"other\", \"uid\": \"" SHOT
           "\"}, \"spec\": {\"volumeName\": \"s\"}, \"status\": {\"phase\": \"Failed\"}}}",
           0);
    answer(scene, "GET", CONFIGS "/s", 200, THE_SOURCE(""), 0);
    answer(scene, "GET", CONFIGS "/n", 200, THE_CLONE(ENDED, LABEL, "Bound"), 0);
    create(scene, "configsnap-" SHOT, true, "6");
    scene_end(scene);
}
END_TEST

/* When it is over nothing stays of it; while it may go on, all of it. */
START_TEST(a_refused_clone_leaves_no_snapshot) {
    static const struct {
        int status;
        const char *code;
        unsigned drops;
    } rows[] = { { 400, "3", 1 }, { 413, "8", 1 }, { 404, "10", 0 }, { 500, "14", 0 } };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = scene_with_source();

        expect_unused_name(scene);
        answer(scene, "GET", CONFIGS "/n", 404, NULL, 0);
        answer(scene, "POST", CONFIGS, rows[i].status, NULL, 0);
        expect_end(scene, DONE);
        clone(scene, rows[i].code);
        ck_assert_uint_eq(count(scene, "DELETE", SHOTS "/" SHOT), rows[i].drops);
        scene_end(scene);
    }
}
END_TEST

START_TEST(a_snapshot_of_another_owner_is_left_alone) {
    struct scene *scene = scene_with_source();

    expect_unused_name(scene);
    answer(scene, "GET", CONFIGS "/n", 404, NULL, 0);
    answer(scene, "GET", SHOTS "/" NAME, 200, THE_SHOT("", "", "Ready", ALL_POOLS), 0);
    clone(scene, "6");
    ck_assert_uint_eq(count(scene, "POST", NULL), 0);
    ck_assert_uint_eq(count(scene, "DELETE", NULL), 0);
    answer(scene, "GET", CONFIGS "/" CLONE, 200, THE_CLONE(BEGUN, GONE, "Pending"), 0);
    answer(scene, "PATCH", CONFIGS "/" CLONE, 200, THE_CLONE(ENDED, GONE, "Pending"), 0);
    delete (scene, "config-" CLONE, "0");
    ck_assert_uint_eq(count(scene, "DELETE", NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(an_abandoned_clone_is_deleted_with_its_snapshot) {
    struct scene *scene = scene_new(NULL);

    answer(scene, "GET", CONFIGS "/" CLONE, 200, PENDING, 1);
    answer(scene, "DELETE", CONFIGS "/" CLONE, 202, NULL, 0);
    answer(scene, "GET", CONFIGS "/" CLONE, 200, THE_CLONE(BEGUN, LABEL GONE, "Pending"), 0);
    answer(scene, "GET", SHOTS "/" NAME, 200, READY, 0);
    answer(scene, "DELETE", SHOTS "/" SHOT, 500, "{}", 1);
    delete (scene, "config-" CLONE, "14");
    answer(scene, "DELETE", SHOTS "/" SHOT, 202, NULL, 0);
    answer(scene, "PATCH", CONFIGS "/" CLONE, 200, THE_CLONE(ENDED, LABEL GONE, "Pending"), 0);
    delete (scene, "config-" CLONE, "0");
    ck_assert_uint_eq(count(scene, "DELETE", CONFIGS "/" CLONE), 1);
    ck_assert_uint_eq(count(scene, "DELETE", SHOTS "/" SHOT), 2);
    ck_assert_uint_eq(count(scene, "PATCH", NULL), 1);
    scene_end(scene);
}
END_TEST

/* A user's keep it; those that a clone was to be made by, and never was, do not. */
START_TEST(a_source_is_deleted_with_leftovers_of_its_clones) {
    static const char theirs[] =
        "{\"volume_config_snapshots\": [" SHOT_ROW("", "", "Ready", ALL_POOLS) "]}";
    static const char left[] =
        "{\"volume_config_snapshots\": [" SHOT_ROW(OURS, "", "Ready", ALL_POOLS) "]}";
    struct scene *scene = scene_with_source();

    answer(scene, "DELETE", CONFIGS "/" SOURCE, 409, NULL, 2);
    answer(scene, "DELETE", CONFIGS "/" SOURCE, 202, NULL, 0);
    answer(scene, "GET", SHOTS "?*", 200, theirs, 1);
    answer(scene, "GET", SHOTS "?*", 200, left, 1);
    answer(scene, "DELETE", SHOTS "/" SHOT, 202, NULL, 0);
    delete (scene, "config-" SOURCE, "9");
    ck_assert_uint_eq(count(scene, "DELETE", SHOTS "/*"), 0);
    delete (scene, "config-" SOURCE, "0");
    ck_assert_uint_eq(count(scene, "DELETE", SHOTS "/" SHOT), 1);
    ck_assert_uint_eq(count(scene, "DELETE", CONFIGS "/" SOURCE), 3);
    scene_end(scene);
}
END_TEST

/* ---- with a policy and without ---- */

#define PLAIN_ROW(more_)                                                                    \
    "{\"id\": \"" PLAIN "\", \"status\": \"available\", \"size\": 1, \"attachments\": [], " \
    "\"metadata\": {\"csi.name\": \"n\"" more_ "}}"
#define PLAINS(more_)    "{\"volumes\": [" PLAIN_ROW(more_) "]}"
#define THE_PLAIN(more_) "{\"volume\": " PLAIN_ROW(more_) "}"
#define UNTOLD           ", \"csi.untold\": \"yes\""
#define LISTED           "/v3/volumes/detail*"

START_TEST(a_name_belongs_to_one_volume_with_or_without_a_policy) {
    struct scene *scene = scene_new(NULL);

    answer(scene, "GET", CONFIGS "/n", 404, NULL, 1);
    answer(scene, "GET", LISTED, 200, PLAINS(""), 1);
    create(scene, NULL, true, "6");
    answer(scene, "GET", LISTED, 200, "{\"volumes\": []}", 2);
    answer(scene, "GET", CONFIGS "/n", 200, DONE, 1);
    create(scene, NULL, false, "6");
    answer(scene, "GET", LISTED, 200, "{\"volumes\": []}", 1);
    answer(scene, "GET", CONFIGS "/n", 200, THE_CLONE(ENDED, GONE, "Bound"), 1);
    create(scene, NULL, false, "10");
    ck_assert_uint_eq(count(scene, "POST", NULL), 0);
    ck_assert_uint_eq(count(scene, "DELETE", NULL), 0);
    scene_end(scene);
}
END_TEST

static void delete_untold(struct scene *scene) {
    answer(scene, "GET", LISTED, 200, PLAINS(UNTOLD), 1);
    answer(scene, "GET", "/v3/volumes/" PLAIN, 200, THE_PLAIN(UNTOLD), 1);
    answer(scene, "DELETE", "/v3/volumes/" PLAIN, 202, NULL, 0);
    answer(scene, "GET", "/v3/volumes/" PLAIN, 404, NULL, 0);
}

/* Both are there when the first one looks again. */
START_TEST(of_concurrent_creates_the_one_without_a_policy_is_deleted) {
    for (int with_policy = 0; with_policy < 2; with_policy++) {
        struct scene *scene = scene_with_source();

        if (with_policy) {
            answer(scene, "GET", CONFIGS "/n", 404, NULL, 1);
            answer(scene, "GET", LISTED, 200, "{\"volumes\": []}", 1);
            answer(scene, "POST", CONFIGS, 201, DONE, 0);
        }
        answer(scene, "GET", CONFIGS "/n", 200, DONE, 0);
        delete_untold(scene);
        answer(scene, "GET", LISTED, 200, "{\"volumes\": []}", 0);
        create(scene, NULL, with_policy, with_policy ? "0" : "6");
        ck_assert_uint_eq(count(scene, "DELETE", "/v3/volumes/" PLAIN), 1);
        ck_assert_uint_eq(count(scene, "DELETE", NULL), 1);
        scene_end(scene);
    }
}
END_TEST

/* The class of a claim was replaced by one with a policy: no other call deletes the volume of an
 * earlier create, and a reported one has the name. */
START_TEST(an_unreported_volume_without_a_policy_is_deleted_for_a_class_with_one) {
    struct scene *scene = scene_with_source();

    answer(scene, "GET", CONFIGS "/n", 404, NULL, 1);
    delete_untold(scene);
    answer(scene, "POST", CONFIGS, 201, DONE, 0);
    answer(scene, "GET", LISTED, 200, "{\"volumes\": []}", 0);
    create(scene, NULL, true, "0");
    ck_assert(script_server_count(scene->api, "DELETE", "/v3/volumes/" PLAIN) == 1);
    scene_end(scene);
}
END_TEST

/* One that was there before this call may belong to another client. */
START_TEST(a_reported_volume_is_not_deleted) {
    struct scene *scene = scene_with_source();

    answer(scene, "GET", CONFIGS "/n", 404, NULL, 1);
    answer(scene, "GET", LISTED, 200, "{\"volumes\": []}", 1);
    answer(scene, "GET", LISTED, 200, PLAINS(""), 0);
    answer(scene, "POST", CONFIGS, 201, THE_CLONE(ENDED, "", "Pending"), 0);
    answer(scene, "GET", CONFIGS "/" CLONE, 200, THE_CLONE(ENDED, "", "Pending"), 0);
    answer(scene, "DELETE", CONFIGS "/" CLONE, 202, NULL, 0);
    create(scene, NULL, true, "6");
    ck_assert_uint_eq(count(scene, "DELETE", NULL), 1);
    scene_end(scene);

    scene = scene_new(NULL);
    answer(scene, "GET", CONFIGS "/n", 200, DONE, 0);
    answer(scene, "GET", LISTED, 200, PLAINS(""), 0);
    clone(scene, "6");
    ck_assert_uint_eq(count(scene, "DELETE", NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(volumes_are_cloned_from_their_own_kind_only) {
    struct scene *scene = scene_with_source();

    expect_unused_name(scene);
    answer(scene, "GET", CONFIGS "/n", 404, NULL, 0);
    answer(scene, "GET", "/v3/volumes/" PLAIN, 200, THE_PLAIN(""), 0);
    answer(scene, "GET", "/v3/snapshots/" SNAP, 200,
           "{\"snapshot\": {\"id\": \"" SNAP "\", \"status\": \"available\", \"size\": 1, "
           "\"volume_id\": \"" PLAIN "\"}}",
           0);
    answer(scene, "GET", SHOTS "/" SHOT, 200, READY, 0);
    create(scene, PLAIN, true, "3");
    create(scene, SNAP, true, "3");
    create(scene, "config-" SOURCE, false, "3");
    create(scene, "configsnap-" SHOT, false, "3");
    answer(scene, "GET", NULL, 404, NULL, 0);
    create(scene, CLONE, true, "5");
    create(scene, "snap-other", true, "5");
    create(scene, "config-" CLONE, true, "5");
    create(scene, "config-" CLONE, false, "5");
    create(scene, "configsnap-" CLONE, false, "5");
    ck_assert_uint_eq(count(scene, "POST", NULL), 0);
    scene_end(scene);
}
END_TEST

CHECK_MAIN("csi clones of configs", a_clone_uses_a_temporary_snapshot,
           a_repeated_call_continues_the_clone,
           a_clone_without_capacity_is_reported_and_continues_later,
           a_failed_clone_is_deleted_and_may_be_created_again,
           a_repeated_call_needs_its_snapshot_no_more, a_refused_clone_leaves_no_snapshot,
           a_snapshot_of_another_owner_is_left_alone,
           an_abandoned_clone_is_deleted_with_its_snapshot,
           a_source_is_deleted_with_leftovers_of_its_clones,
           a_name_belongs_to_one_volume_with_or_without_a_policy,
           of_concurrent_creates_the_one_without_a_policy_is_deleted,
           an_unreported_volume_without_a_policy_is_deleted_for_a_class_with_one,
           a_reported_volume_is_not_deleted, volumes_are_cloned_from_their_own_kind_only)
