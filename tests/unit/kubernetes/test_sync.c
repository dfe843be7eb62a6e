/*
 * One server plays both the cluster and our API.
 */
#include "kubernetes/sync.h"

#include "client/volumes.h"
#include "kubernetes/translate.h"
#include "tests/lib/script_server.h"
#include "tests/unit/kubernetes/quoted.h"

#include <stdlib.h>

#define OBJECT  "/apis/cstor.openebs.io/v1/namespaces/s/cstorvolumeconfigs/n"
#define WRITTEN OBJECT "?fieldManager=scoria"
#define STATUS  OBJECT "/status?fieldManager=scoria"
#define CONFIG  "/volume_configs/s.n"
#define CONFIGS "/volume_configs"
#define NAMED   "/volume_configs?name=s.n"
#define BY_UID  "/volume_configs/d"

#define META(more) "'metadata':{'name':'n','namespace':'s','uid':'u','generation':2" more "}"
#define HELD       ",'finalizers':['kubernetes.scoria.io/volume']"
#define SPEC       "'spec':{'capacity':{'storage':'1Gi'}}"
#define TAKEN                                               \
    "{'type':'Applied','status':'True','reason':'Applied'," \
    "'message':'The service has what is declared.','lastTransitionTime':'2026-01-01T'}"
#define THING(more, status) "{" META(more) "," SPEC ",'status':{" status "}}"
#define BOUND_STATUS        "'phase':'Bound','conditions':[" TAKEN "],'observedGeneration':2"
#define DOCUMENT(uid, version, more, phase)                                             \
    "{'volume_config':{'metadata':{'name':'s.n','uid':'d','resourceVersion':'" version  \
    "','labels':{},'annotations':{'kubernetes.scoria.io/uid':'" uid "'}" more "}," SPEC \
    ",'status':{'phase':'" phase "'}}}"
#define BOUND            DOCUMENT("u", "5", "", "Bound")
#define NO(code, reason) "{'kind':'Status','code':" code ",'reason':'" reason "','message':'no'}"
#define ABSENT           "{'itemNotFound':{'code':404,'message':'not there'}}"

struct scene {
    struct script_server *server;
    struct arena *arena;
    struct cluster cluster;
    struct client api;
    struct error err;
};

static struct scene *scene_new(void) {
    struct scene *scene = calloc(1, sizeof *scene);

    ck_assert_ptr_nonnull(scene);
    scene->server = script_server_new();
    scene->arena = arena_new();
    scene->cluster = (struct cluster){ .url = script_server_url(scene->server) };
    scene->api = volumes_client(script_server_url(scene->server), NULL, NULL);
    return scene;
}

static void scene_end(struct scene *scene) {
    script_server_free(scene->server);
    arena_free(scene->arena);
    free(scene);
}

static void answer(struct scene *scene, const char *method, const char *path, int status,
                   const char *text) {
    const struct script_rule rule = { .method = method,
                                      .path = path,
                                      .status = status,
                                      .body = quoted(scene->arena, text),
                                      .times = 1 };

    script_server_add(scene->server, &rule);
}

static int sync_it(struct scene *scene) {
    const struct sync sync = { &scene->cluster, &scene->api, &sync_kinds[1] };

    return sync_object(&sync, scene->arena, "s", "n", &scene->err);
}

/* ---- the same of a snapshot ---- */

#define SNAPSHOT "/apis/cstor.openebs.io/v1/namespaces/s/cstorvolumesnapshots/n"
#define SHOT(more, status) \
    "{'kind':'CStorVolumeSnapshot'," META(more) ",'spec':{'volumeName':'v'},'status':{" status "}}"

static int sync_snapshot(struct scene *scene) {
    const struct sync sync = { &scene->cluster, &scene->api, &sync_kinds[2] };

    return sync_object(&sync, scene->arena, "s", "n", &scene->err);
}

static unsigned writes(struct scene *scene) {
    return script_server_count(scene->server, "PUT", NULL) +
           script_server_count(scene->server, "POST", NULL) +
           script_server_count(scene->server, "DELETE", NULL);
}

/* The requests that were sent. */
static const json_t *sent(struct scene *scene, const char *method, const char *path) {
    const struct script_request *request = script_server_request(scene->server, method, path, 0);

    ck_assert_msg(request != NULL, "no %s %s", method, path);
    return json_parse(scene->arena, request->body, strlen(request->body), NULL);
}

static void assert_applied(struct scene *scene, const char *status, const char *reason,
                           const char *words) {
    const json_t *conditions =
        json_object_get(json_object_get(sent(scene, "PUT", STATUS), "status"), "conditions");
    const json_t *last = json_array_get(conditions, json_array_size(conditions) - 1);

    ck_assert_str_eq(json_text_of(last, "type"), "Applied");
    ck_assert_str_eq(json_text_of(last, "status"), status);
    ck_assert_str_eq(json_text_of(last, "reason"), reason);
    ck_assert_ptr_nonnull(strstr(json_text_of(last, "message"), words));
}

/* ---- desired state ---- */

START_TEST(a_deleted_object_has_no_document) {
    struct scene *scene = scene_new();

    answer(scene, "GET", OBJECT, 404, NO("404", "NotFound"));
    ck_assert_int_eq(sync_it(scene), 0);
    ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), 1);
    scene_end(scene);
}
END_TEST

START_TEST(a_new_object_is_held_before_its_document_is_made) {
    struct scene *scene = scene_new();

    answer(scene, "GET", OBJECT, 200, THING("", ""));
    answer(scene, "GET", CONFIG, 404, ABSENT);
    answer(scene, "GET", NAMED, 200, "{'volume_configs':[]}");
    answer(scene, "PUT", WRITTEN, 200, THING(HELD ",'resourceVersion':'11'", ""));
    answer(scene, "POST", CONFIGS, 201, DOCUMENT("u", "5", "", "Pending"));
    answer(scene, "GET", OBJECT, 200, THING(HELD, ""));
    answer(scene, "PUT", STATUS, 200, THING(HELD, ""));
    ck_assert_int_eq(sync_it(scene), 1);
    ck_assert(object_has_finalizer(sent(scene, "PUT", WRITTEN)));
    ck_assert_str_eq(
        object_text(json_object_get(sent(scene, "POST", CONFIGS), "volume_config"), "name"), "s.n");
    ck_assert_str_eq(object_text(sent(scene, "PUT", STATUS), "resourceVersion"), "11");
    assert_applied(scene, "True", "Applied", "");
    scene_end(scene);
}
END_TEST

START_TEST(an_object_without_a_finalizer_gets_no_document) {
    struct scene *scene = scene_new();

    answer(scene, "GET", OBJECT, 200, THING("", ""));
    answer(scene, "GET", CONFIG, 404, ABSENT);
    answer(scene, "GET", NAMED, 200, "{'volume_configs':[]}");
    answer(scene, "PUT", WRITTEN, 409, NO("409", "Conflict"));
    ck_assert_int_eq(sync_it(scene), 1);
    ck_assert_uint_eq(script_server_count(scene->server, "POST", NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_document_of_an_object_that_went_meanwhile_goes_with_it) {
    struct scene *scene = scene_new();

    answer(scene, "GET", OBJECT, 200, THING(HELD, ""));
    answer(scene, "GET", CONFIG, 404, ABSENT);
    answer(scene, "GET", NAMED, 200, "{'volume_configs':[]}");
    answer(scene, "POST", CONFIGS, 201, DOCUMENT("u", "5", "", "Pending"));
    answer(scene, "GET", OBJECT, 404, NO("404", "NotFound"));
    answer(scene, "DELETE", BY_UID, 202, "{}");
    answer(scene, "PUT", STATUS, 404, NO("404", "NotFound"));
    ck_assert_int_eq(sync_it(scene), 1);
    ck_assert_uint_eq(script_server_count(scene->server, "DELETE", BY_UID), 1);
    scene_end(scene);
}
END_TEST

START_TEST(a_lost_volume_is_not_recreated) {
    struct scene *scene = scene_new();
    const char *lost = "{" META(HELD) ",'spec':{'cstorVolumeRef':{'name':'s.n'}},'status':{}}";

    answer(scene, "GET", OBJECT, 200, lost);
    answer(scene, "GET", CONFIG, 404, ABSENT);
    answer(scene, "GET", NAMED, 200, "{'volume_configs':[]}");
    answer(scene, "PUT", STATUS, 200, lost);
    ck_assert_int_eq(sync_it(scene), 1);
    assert_applied(scene, "False", "Lost", "s.n");
    ck_assert_uint_eq(script_server_count(scene->server, "POST", NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_snapshot_is_made_of_the_config_of_its_namespace) {
    struct scene *scene = scene_new();

    answer(scene, "GET", SNAPSHOT, 200, SHOT(HELD, ""));
    answer(scene, "GET", "/volume_config_snapshots/s.n", 404, ABSENT);
    answer(scene, "GET", "/volume_config_snapshots?name=s.n", 200,
           "{'volume_config_snapshots':[]}");
    answer(scene, "POST", "/volume_config_snapshots", 201,
           "{'volume_config_snapshot':{'metadata':{'name':'s.n','uid':'d','annotations':{"
           "'kubernetes.scoria.io/uid':'u'}},'spec':{'volumeName':'s.v'},'status':{"
           "'phase':'Pending'}}}");
    answer(scene, "GET", SNAPSHOT, 200, SHOT(HELD, ""));
    answer(scene, "PUT", SNAPSHOT "/status?fieldManager=scoria", 200, SHOT(HELD, ""));
    ck_assert_int_eq(sync_snapshot(scene), 1); /* it is Pending */
    ck_assert_str_eq(json_text_of(json_object_get(json_object_get(sent(scene, "POST", NULL),
                                                                  "volume_config_snapshot"),
                                                  "spec"),
                                  "volumeName"),
                     "s.v");
    ck_assert_str_eq(
        json_text_of(
            json_object_get(sent(scene, "PUT", SNAPSHOT "/status?fieldManager=scoria"), "status"),
            "phase"),
        "Pending");
    scene_end(scene);
}
END_TEST

START_TEST(a_snapshot_that_was_lost_is_not_one_of_another_moment) {
    struct scene *scene = scene_new();
    const char *lost = SHOT(HELD, "'creationTime':'2026-01-01T00:00:00Z'");

    answer(scene, "GET", SNAPSHOT, 200, lost);
    answer(scene, "GET", "/volume_config_snapshots/s.n", 404, ABSENT);
    answer(scene, "GET", "/volume_config_snapshots?name=s.n", 200,
           "{'volume_config_snapshots':[]}");
    answer(scene, "PUT", SNAPSHOT "/status?fieldManager=scoria", 200, lost);
    ck_assert_int_eq(sync_snapshot(scene), 1);
    ck_assert_uint_eq(script_server_count(scene->server, "POST", NULL), 0);
    ck_assert_ptr_nonnull(
        strstr(json_text(scene->arena, sent(scene, "PUT", SNAPSHOT "/status?fieldManager=scoria")),
               "another would be of another moment"));
    scene_end(scene);
}
END_TEST

START_TEST(an_equal_document_is_not_written) {
    struct scene *scene = scene_new();

    answer(scene, "GET", OBJECT, 200, THING(HELD, BOUND_STATUS));
    answer(scene, "GET", CONFIG, 200, BOUND);
    ck_assert_int_eq(sync_it(scene), 0);
    ck_assert_uint_eq(writes(scene), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_new_generation_is_observed_whatever_it_changes) {
    struct scene *scene = scene_new();

    answer(scene, "GET", OBJECT, 200, THING(HELD, "'phase':'Bound','observedGeneration':1"));
    answer(scene, "GET", CONFIG, 200, BOUND);
    answer(scene, "PUT", BY_UID, 200, BOUND);
    answer(scene, "PUT", STATUS, 200, THING(HELD, BOUND_STATUS));
    ck_assert_int_eq(sync_it(scene), 0);
    ck_assert_str_eq(object_text(json_object_get(sent(scene, "PUT", BY_UID), "volume_config"),
                                 "resourceVersion"),
                     "5");
    scene_end(scene);
}
END_TEST

START_TEST(a_refused_edit_is_reported_once_with_its_field) {
    struct scene *scene = scene_new();
    const char *refusal =
        "{'badRequest':{'code':400,'message':'spec.capacity.storage can only grow.'}}";
    const json_t *whole;

    answer(scene, "GET", OBJECT, 200, THING(HELD, "'observedGeneration':1"));
    answer(scene, "GET", CONFIG, 200, BOUND);
    answer(scene, "PUT", BY_UID, 400, refusal);
    answer(scene, "PUT", STATUS, 200, THING(HELD, ""));
    ck_assert_int_eq(sync_it(scene), 1);
    assert_applied(scene, "False", "Refused", "spec.capacity.storage can only grow.");

    /* Also when the object has no more fields than the document. */
    whole = sent(scene, "PUT", STATUS);
    answer(scene, "GET", OBJECT, 200, json_text(scene->arena, whole));
    answer(scene, "GET", CONFIG, 200, BOUND);
    answer(scene, "PUT", BY_UID, 400, refusal);
    ck_assert_int_eq(sync_it(scene), 1);
    ck_assert_uint_eq(script_server_count(scene->server, "PUT", BY_UID), 2);
    ck_assert_uint_eq(script_server_count(scene->server, "PUT", STATUS), 1);
    scene_end(scene);
}
END_TEST

START_TEST(a_document_that_changed_meanwhile_is_no_refusal) {
    struct scene *scene = scene_new();

    answer(scene, "GET", OBJECT, 200, THING(HELD, "'observedGeneration':1"));
    answer(scene, "GET", CONFIG, 200, BOUND);
    answer(scene, "PUT", BY_UID, 409,
           "{'conflictingRequest':{'code':409,'message':'read it again'}}");
    answer(scene, "GET", CONFIG, 200, DOCUMENT("u", "6", "", "Bound"));
    ck_assert_int_eq(sync_it(scene), 1);
    ck_assert_uint_eq(script_server_count(scene->server, "PUT", STATUS), 0);
    scene_end(scene);
}
END_TEST

START_TEST(an_obstacle_to_an_edit_is_reported) {
    struct scene *scene = scene_new();

    answer(scene, "GET", OBJECT, 200, THING(HELD, "'observedGeneration':1"));
    answer(scene, "GET", CONFIG, 200, BOUND);
    answer(scene, "PUT", BY_UID, 409,
           "{'conflictingRequest':{'code':409,'message':'the volume grows'}}");
    answer(scene, "GET", CONFIG, 200, BOUND);
    answer(scene, "PUT", STATUS, 200, THING(HELD, ""));
    ck_assert_int_eq(sync_it(scene), 1);
    assert_applied(scene, "False", "Refused", "the volume grows");
    scene_end(scene);
}
END_TEST

START_TEST(a_document_of_another_client_is_left_alone) {
    struct scene *scene = scene_new();

    answer(scene, "GET", OBJECT, 200, THING(HELD, ""));
    answer(scene, "GET", CONFIG, 200, DOCUMENT("another", "5", "", "Bound"));
    answer(scene, "PUT", STATUS, 200, THING(HELD, ""));
    ck_assert_int_eq(sync_it(scene), 1);
    assert_applied(scene, "False", "NameTaken", "s.n");
    ck_assert_ptr_null(
        json_object_get(json_object_get(sent(scene, "PUT", STATUS), "status"), "phase"));
    ck_assert_uint_eq(writes(scene), 1);
    scene_end(scene);
}
END_TEST

START_TEST(a_service_that_does_not_answer_is_no_refusal) {
    struct scene *scene = scene_new();

    answer(scene, "GET", OBJECT, 200, THING(HELD, ""));
    answer(scene, "GET", CONFIG, 503, "{}");
    ck_assert_int_eq(sync_it(scene), -1);
    ck_assert_uint_eq(writes(scene), 0);
    scene_end(scene);
}
END_TEST

/* ---- its end ---- */

#define DELETED HELD ",'deletionTimestamp':'2026-01-01T00:00:00Z'"

START_TEST(an_object_stays_until_its_document_has_gone) {
    struct scene *scene = scene_new();

    answer(scene, "GET", OBJECT, 200, THING(DELETED, BOUND_STATUS));
    answer(scene, "GET", CONFIG, 200, BOUND);
    answer(scene, "DELETE", BY_UID, 202, "{}");
    answer(scene, "PUT", STATUS, 200, THING(DELETED, ""));
    ck_assert_int_eq(sync_it(scene), 1);
    assert_applied(scene, "True", "Deleting", "");
    ck_assert_uint_eq(script_server_count(scene->server, "PUT", WRITTEN), 0);

    answer(scene, "GET", OBJECT, 200, THING(DELETED, BOUND_STATUS));
    answer(scene, "GET", CONFIG, 404, ABSENT);
    answer(scene, "GET", NAMED, 200, "{'volume_configs':[]}");
    answer(scene, "PUT", WRITTEN, 200, THING("", ""));
    ck_assert_int_eq(sync_it(scene), 0);
    ck_assert(!object_has_finalizer(sent(scene, "PUT", WRITTEN)));
    scene_end(scene);
}
END_TEST

START_TEST(a_refused_deletion_is_reported) {
    struct scene *scene = scene_new();

    answer(scene, "GET", OBJECT, 200, THING(DELETED, BOUND_STATUS));
    answer(scene, "GET", CONFIG, 200, BOUND);
    answer(scene, "DELETE", BY_UID, 409,
           "{'conflictingRequest':{'code':409,'message':'is published'}}");
    answer(scene, "PUT", STATUS, 200, THING(DELETED, ""));
    ck_assert_int_eq(sync_it(scene), 1);
    assert_applied(scene, "False", "DeletionRefused", "is published");
    scene_end(scene);
}
END_TEST

/* Also when it was taken from its node and deleted in one breath, or in the other order. */
START_TEST(an_unpublished_volume_can_be_deleted) {
    struct scene *scene = scene_new();

    answer(scene, "GET", OBJECT, 200,
           "{" META(DELETED) "," SPEC ",'publish':{'nodeId':''},'status':{" BOUND_STATUS "}}");
    answer(scene, "GET", CONFIG, 200,
           "{'volume_config':{'metadata':{'name':'s.n','uid':'d','resourceVersion':'5',"
           "'annotations':{'kubernetes.scoria.io/uid':'u'}}," SPEC ",'publish':{'nodeId':'host-a'},"
           "'status':{'phase':'Bound'}}}");
    answer(scene, "PUT", BY_UID, 200, DOCUMENT("u", "6", "", "Bound"));
    answer(scene, "DELETE", BY_UID, 202, "{}");
    answer(scene, "PUT", STATUS, 200, THING(DELETED, ""));
    ck_assert_int_eq(sync_it(scene), 1);
    ck_assert_str_eq(
        json_text_of(json_object_get(json_object_get(sent(scene, "PUT", BY_UID), "volume_config"),
                                     "publish"),
                     "nodeId"),
        "");
    ck_assert_uint_eq(script_server_count(scene->server, "DELETE", BY_UID), 1);
    assert_applied(scene, "True", "Deleting", "");
    scene_end(scene);
}
END_TEST

/* Somewhere else nothing is there, either: that does not end the life of a volume. */
START_TEST(a_404_of_an_unserved_path_is_no_deletion) {
    struct scene *scene = scene_new();

    answer(scene, "GET", OBJECT, 200, THING(DELETED, BOUND_STATUS));
    answer(scene, "GET", CONFIG, 404, "no such page");
    answer(scene, "GET", NAMED, 404, "no such page");
    ck_assert_int_eq(sync_it(scene), -1);
    ck_assert_uint_eq(writes(scene), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_gateways_response_is_not_reported_in_a_status) {
    static const struct script_rule rows[] = {
        { .status = 404, .body = "404 page not found" },
        { .status = 200, .body = "<html>" },
        { .status = 200, .body = "{}" },
        { .status = 200, .body = "{'metadata':{'name':'n','namespace':'other','uid':'u'}}" },
        { .status = 200, .body = "{'metadata':{'name':'m','namespace':'s','uid':'u'}}" },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = scene_new();

        answer(scene, "GET", OBJECT, rows[i].status, rows[i].body);
        ck_assert_int_eq(sync_it(scene), -1);
        ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
        ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), 1);
        scene_end(scene);
    }
}
END_TEST

/* A created document is deleted only when the server itself reports that the object has gone. */
START_TEST(documents_stay_while_a_gateway_responds_for_the_cluster) {
    struct scene *scene = scene_new();

    answer(scene, "GET", OBJECT, 200, THING(HELD, ""));
    answer(scene, "GET", CONFIG, 404, ABSENT);
    answer(scene, "GET", NAMED, 200, "{'volume_configs':[]}");
    answer(scene, "POST", CONFIGS, 201, DOCUMENT("u", "5", "", "Pending"));
    answer(scene, "GET", OBJECT, 404, "404 page not found");
    ck_assert_int_eq(sync_it(scene), -1);
    ck_assert_uint_eq(script_server_count(scene->server, "DELETE", NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_malformed_list_does_not_delete_documents) {
    static const char *const bodies[] = { "{}", "{'volume_configs':{}}", "{'volume_configs':null}",
                                          "[]" };

    for (size_t i = 0; i < LENGTH(bodies); i++) {
        struct scene *scene = scene_new();

        answer(scene, "GET", OBJECT, 200, THING(DELETED, BOUND_STATUS));
        answer(scene, "GET", CONFIG, 404, ABSENT);
        answer(scene, "GET", NAMED, 200, bodies[i]);
        ck_assert_int_eq(sync_it(scene), -1);
        ck_assert_uint_eq(writes(scene), 0);
        scene_end(scene);
    }
}
END_TEST

/* Nor does a gateway that lets other questions through; nor is a new one made for it. */
START_TEST(an_object_unknown_to_a_gateway_is_neither_lost_nor_created) {
    static const char *const objects[] = { THING(DELETED, BOUND_STATUS), THING(HELD, ""),
                                           THING(HELD, BOUND_STATUS) };

    for (size_t i = 0; i < LENGTH(objects); i++) {
        struct scene *scene = scene_new();

        answer(scene, "GET", OBJECT, 200, objects[i]);
        answer(scene, "GET", CONFIG, 404, "no such page");
        answer(scene, "GET", NAMED, 200, "{'volume_configs':[]}");
        ck_assert_int_eq(sync_it(scene), -1);
        ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
        ck_assert_uint_eq(writes(scene), 0);
        scene_end(scene);
    }
}
END_TEST

START_TEST(deleting_an_object_deletes_no_document_of_another_client) {
    struct scene *scene = scene_new();

    answer(scene, "GET", OBJECT, 200, THING(DELETED, ""));
    answer(scene, "GET", CONFIG, 200, DOCUMENT("another", "5", "", "Bound"));
    answer(scene, "PUT", WRITTEN, 200, THING("", ""));
    ck_assert_int_eq(sync_it(scene), 0);
    ck_assert_uint_eq(script_server_count(scene->server, "DELETE", NULL), 0);
    scene_end(scene);
}
END_TEST

CHECK_MAIN("sync", a_deleted_object_has_no_document,
           a_new_object_is_held_before_its_document_is_made,
           an_object_without_a_finalizer_gets_no_document,
           a_document_of_an_object_that_went_meanwhile_goes_with_it, a_lost_volume_is_not_recreated,
           a_snapshot_is_made_of_the_config_of_its_namespace,
           a_snapshot_that_was_lost_is_not_one_of_another_moment, an_equal_document_is_not_written,
           a_new_generation_is_observed_whatever_it_changes,
           a_refused_edit_is_reported_once_with_its_field,
           a_document_that_changed_meanwhile_is_no_refusal, an_obstacle_to_an_edit_is_reported,
           a_document_of_another_client_is_left_alone, a_service_that_does_not_answer_is_no_refusal,
           an_object_stays_until_its_document_has_gone, a_refused_deletion_is_reported,
           an_unpublished_volume_can_be_deleted, a_404_of_an_unserved_path_is_no_deletion,
           deleting_an_object_deletes_no_document_of_another_client,
           an_object_unknown_to_a_gateway_is_neither_lost_nor_created,
           a_gateways_response_is_not_reported_in_a_status,
           documents_stay_while_a_gateway_responds_for_the_cluster,
           a_malformed_list_does_not_delete_documents)
