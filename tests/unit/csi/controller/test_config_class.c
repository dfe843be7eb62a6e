/*
 * Parameters of a class for volumes that are made from a policy, the capacity for them, their
 * mutable parameters, and their health.
 */
#include "tests/unit/csi/driver_test.h"

#define UID     "6a1f4b1e-0000-4000-8000-000000000001"
#define OTHER   "6a1f4b1e-0000-4000-8000-000000000002"
#define CONFIGS "/v3/volume_configs"
#define GIB     ((int64_t)1 << 30)

#define ROW(uid_, spec_, publish_, conditions_)                                                   \
    "{\"metadata\": {\"name\": \"n\", \"uid\": \"" uid_ "\", \"resourceVersion\": \"7\", "        \
    "\"annotations\": {\"csi.scoria.io/name\": \"n\", \"openebs.io/volume-policy\": \"p\"}}, "    \
    "\"spec\": {\"capacity\": {\"storage\": \"1Gi\"}, \"provision\": {\"replicaCount\": 3}" spec_ \
    "}, \"publish\": {\"nodeId\": \"" publish_                                                    \
    "\"}, \"status\": {\"phase\": \"Bound\", \"conditions\": [" conditions_ "]}}"
#define THE(...) "{\"volume_config\": " ROW(UID, __VA_ARGS__) "}"
#define POLICY(spec_) \
    "{\"volume_policy\": {\"metadata\": {\"name\": \"p\"}, \"spec\": {" spec_ "}}}"
#define NO_VOLUMES "{\"volumes\": []}"

typedef Csi__V1__CreateVolumeRequest__ParametersEntry parameter;

static void answer(struct scene *scene, const char *method, const char *path, int status,
                   const char *body, unsigned times) {
    script_server_add(
        scene->api,
        &(struct script_rule){
            .method = method, .path = path, .status = status, .body = body, .times = times });
}

static void check(const struct wire_answer *got, const char *code, const char *part) {
    ck_assert_msg(strcmp(got->status, code) == 0, "%s instead of %s: %s", got->status, code,
                  got->message);
    ck_assert_msg(strstr(got->message, part) != NULL, "%s is not in %s", part, got->message);
}

/* Of whichever message: a parameter's own is in all of them the same. */
static parameter *parameter_of(const char *key, const char *value) {
    parameter *made = malloc(sizeof(*made));

    *made = (parameter)CSI__V1__CREATE_VOLUME_REQUEST__PARAMETERS_ENTRY__INIT;
    made->key = strdup(key);
    made->value = strdup(value);
    return made;
}

static void forget(parameter *made) {
    free(made->key);
    free(made->value);
    free(made);
}

/* "n" of the policy "p", with one more parameter. */
static void create(struct scene *scene, bool is_mutable, const char *key, const char *value,
                   const char *code, const char *part) {
    parameter *both[] = { parameter_of("cstorVolumePolicy", "p"), parameter_of(key, value) };
    Csi__V1__CreateVolumeRequest request = CSI__V1__CREATE_VOLUME_REQUEST__INIT;
    autofree struct wire_answer *got = NULL;

    request.name = (char[]){ "n" };
    request.parameters = both;
    request.n_parameters = is_mutable ? 1 : 2;
    request.mutable_parameters =
        (Csi__V1__CreateVolumeRequest__MutableParametersEntry **)(void *)&both[1];
    request.n_mutable_parameters = is_mutable;
    got = scene_create_volume(scene, &request);
    check(got, code, part);
    forget(both[0]);
    forget(both[1]);
}

static void create_plain(struct scene *scene, const char *key, const char *code, const char *part) {
    parameter *one = parameter_of(key, "p");
    Csi__V1__CreateVolumeRequest request = CSI__V1__CREATE_VOLUME_REQUEST__INIT;
    autofree struct wire_answer *got = NULL;

    request.name = (char[]){ "n" };
    request.parameters = &one;
    request.n_parameters = 1;
    got = scene_create_volume(scene, &request);
    check(got, code, part);
    forget(one);
}

static void modify(struct scene *scene, const char *key, const char *value, const char *code,
                   const char *part) {
    Csi__V1__ControllerModifyVolumeRequest request =
        CSI__V1__CONTROLLER_MODIFY_VOLUME_REQUEST__INIT;
    parameter *one = parameter_of(key, value);
    autofree struct wire_answer *got = NULL;

    request.volume_id = (char[]){ "config-" UID };
    request.mutable_parameters =
        (Csi__V1__ControllerModifyVolumeRequest__MutableParametersEntry **)(void *)&one;
    request.n_mutable_parameters = 1;
    got = scene_request(scene, "/csi.v1.Controller/ControllerModifyVolume", &request);
    check(got, code, part);
    forget(one);
}

START_TEST(an_unknown_parameter_is_reported_with_the_nearest) {
    struct scene *scene = scene_new(NULL);

    answer(scene, "GET", CONFIGS "/" UID, 200, THE(", \"policy\": {}", "", ""), 0);
    answer(scene, "GET", "/v3/volumes/detail*", 200, NO_VOLUMES, 0);
    create(scene, false, "replicacount", "2", "3", "did you mean replicaCount?");
    create(scene, false, "type", "fast", "3",
           "There is no parameter type of a volume with a policy");
    create(scene, true, "bytePerSecond", "1", "3", "did you mean bytesPerSecond?");
    create(scene, true, "iops", "many", "3", "iops is not a number");
    create_plain(scene, "cstorVolumePolcy", "3", "did you mean cstorVolumePolicy?");
    create_plain(scene, "Availability", "3", "did you mean availability?");
    modify(scene, "IOPS", "1", "3", "There is no mutable parameter IOPS");
    modify(scene, "iop", "1", "3", "did you mean iops?");
    modify(scene, "iops", "-1", "3", "iops is not a number");
    ck_assert_uint_eq(script_server_count(scene->api, "POST", NULL), 0);
    ck_assert_uint_eq(script_server_count(scene->api, "PATCH", NULL), 0);
    scene_end(scene);
}
END_TEST

/* They are a part of the volume's own copy of its policy, which it has only after a while. */
START_TEST(a_volume_is_created_with_mutable_parameters) {
    static const char limits[] =
        "{\"volume_config\":{\"spec\":{\"policy\":{\"target\":{\"qos\":{\"iops\":100}}}}}}";
    struct scene *scene = scene_new(NULL);

    answer(scene, "GET", CONFIGS "/n", 404, NULL, 0);
    answer(scene, "GET", "/v3/volumes/detail*", 200, NO_VOLUMES, 0);
    answer(scene, "GET", "/v3/volume_policies/p", 404, NULL, 0);
    answer(scene, "POST", CONFIGS, 201, THE("", "", ""), 0);
    answer(scene, "GET", CONFIGS "/" UID, 200, THE("", "", ""), 1);
    answer(scene, "GET", CONFIGS "/" UID, 200, THE(", \"policy\": {}", "", ""), 0);
    answer(scene, "PATCH", CONFIGS "/" UID, 200, THE(", \"policy\": {}", "", ""), 0);
    create(scene, true, "iops", "100", "0", "");
    ck_assert_uint_eq(script_server_count(scene->api, "GET", CONFIGS "/" UID), 2);
    ck_assert_uint_eq(script_server_count(scene->api, "PATCH", NULL), 1);
    ck_assert_str_eq(script_server_request(scene->api, "PATCH", NULL, 0)->body, limits);
    scene_end(scene);
}
END_TEST

/* Behind the creation: the caller of a final code would forget the config. */
START_TEST(a_failure_to_set_mutable_parameters_is_repeated) {
    static const struct {
        int status;
        const char *value, *code;
        unsigned made;
    } rows[] = {
        { 200, "1000000000000001", "3", 0 },
        { 200, "99999999999999999999", "3", 0 },
        { 200, "1000000000000000", "0", 1 },
        { 400, "100", "14", 1 },
        { 401, "100", "14", 1 },
        { 403, "100", "14", 1 },
        { 409, "100", "10", 1 },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = scene_new(NULL);

        answer(scene, "GET", CONFIGS "/n", 404, NULL, 0);
        answer(scene, "GET", "/v3/volumes/detail*", 200, NO_VOLUMES, 0);
        answer(scene, "GET", "/v3/volume_policies/p", 404, NULL, 0);
        answer(scene, "POST", CONFIGS, 201, THE(", \"policy\": {}", "", ""), 0);
        answer(scene, "PATCH", CONFIGS "/" UID, rows[i].status,
               rows[i].status == 200 ? THE(", \"policy\": {}", "", "") : NULL, 0);
        create(scene, true, "iops", rows[i].value, rows[i].code, "");
        ck_assert_uint_eq(script_server_count(scene->api, "POST", NULL), rows[i].made);
        ck_assert_uint_eq(script_server_count(scene->api, "DELETE", NULL), 0);
        scene_end(scene);
    }
}
END_TEST

/* ---- capacity ---- */

#define POOL(name_, up_, read_only_, gib_)                                  \
    "{\"name\": \"" name_ "\", \"up\": " up_ ", \"read_only\": " read_only_ \
    ", \"free_bytes\": " gib_ "073741824}"
#define POOLS(list_) "{\"replica_pools\": [" list_ "]}"
/* 11, 31, 21, 41 and 51 GiB less a little, of which two are not to be used. */
#define FIVE                                                                                \
    POOLS(POOL("a", "true", "false", "11") ", " POOL("b", "true", "false", "31") ", " POOL( \
        "c", "true", "false", "21") ", " POOL("d", "false", "false",                        \
                                              "41") ", " POOL("e", "true", "true", "51"))

static int64_t capacity(struct scene *scene, const char *count) {
    parameter *both[] = { parameter_of("cstorVolumePolicy", "p"),
                          parameter_of("replicaCount", count ? count : "") };
    Csi__V1__GetCapacityRequest request = CSI__V1__GET_CAPACITY_REQUEST__INIT;
    autofree struct wire_answer *got = NULL;
    Csi__V1__GetCapacityResponse *response;
    int64_t bytes;

    request.parameters = (Csi__V1__GetCapacityRequest__ParametersEntry **)(void *)both;
    request.n_parameters = count ? 2 : 1;
    got = scene_request(scene, "/csi.v1.Controller/GetCapacity", &request);
    response = scene_message(got, &csi__v1__get_capacity_response__descriptor);
    bytes = response->available_capacity;
    ck_assert_int_eq(response->maximum_volume_size->value, bytes);
    protobuf_c_message_free_unpacked(&response->base, NULL);
    forget(both[0]);
    forget(both[1]);
    return bytes;
}

static struct scene *scene_with_pools(int status, const char *policy, const char *pools) {
    struct scene *scene = scene_new(NULL);

    answer(scene, "GET", "/v3/volume_policies/p", status, policy, 0);
    answer(scene, "GET", "/v3/replica_pools", 200, pools, 0);
    return scene;
}

START_TEST(capacity_is_that_of_the_smallest_pool_in_use) {
    struct scene *scene = scene_with_pools(200, POLICY(""), FIVE);

    ck_assert_int_eq(capacity(scene, "1"), 28 * GIB);
    ck_assert_int_eq(capacity(scene, "2"), 19 * GIB);
    ck_assert_int_eq(capacity(scene, NULL), 10 * GIB);
    ck_assert_int_eq(capacity(scene, "4"), 0);
    ck_assert_uint_eq(script_server_count(scene->api, "GET", "/v3/scheduler-stats/*"), 0);
    scene_end(scene);

    scene = scene_with_pools(
        200, POLICY("\"replicaPoolInfo\": [{\"poolName\": \"b\"}, {\"poolName\": \"c\"}]"), FIVE);
    ck_assert_int_eq(capacity(scene, NULL), 19 * GIB);
    ck_assert_int_eq(capacity(scene, "1"), 0); /* it names another number */
    scene_end(scene);

    scene = scene_with_pools(200, POLICY("\"replicaPoolInfo\": [{\"poolName\": \"d\"}]"), FIVE);
    ck_assert_int_eq(capacity(scene, NULL), 0);
    scene_end(scene);

    scene = scene_with_pools(404, NULL, FIVE); /* nothing is made of it before it is there */
    ck_assert_int_eq(capacity(scene, NULL), 0);
    scene_end(scene);

    scene = scene_with_pools(200, POLICY(""), POOLS(POOL("a", "true", "false", "9001")));
    ck_assert_int_eq(capacity(scene, "1"), 1024 * GIB);
    scene_end(scene);
}
END_TEST

static void publish(struct scene *scene, const char *code, const char *part) {
    Csi__V1__ControllerPublishVolumeRequest request =
        CSI__V1__CONTROLLER_PUBLISH_VOLUME_REQUEST__INIT;
    Csi__V1__VolumeCapability__AccessMode mode = CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__INIT;
    Csi__V1__VolumeCapability__BlockVolume block = CSI__V1__VOLUME_CAPABILITY__BLOCK_VOLUME__INIT;
    Csi__V1__VolumeCapability capability = CSI__V1__VOLUME_CAPABILITY__INIT;
    autofree struct wire_answer *got = NULL;

    mode.mode = CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_WRITER;
    capability.access_mode = &mode;
    capability.access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;
    capability.block = &block;
    request.volume_id = (char[]){ "config-" UID };
    request.node_id = (char[]){ "here" };
    request.volume_capability = &capability;
    got = scene_request(scene, "/csi.v1.Controller/ControllerPublishVolume", &request);
    check(got, code, part);
}

#define LIST(row_) "{\"volume_configs\": [" row_ "]}"

/* Also when it is full only after the volume was given to it. */
START_TEST(volumes_of_a_node_are_limited) {
    static const char *const one[] = { "--csi.kubelet_directory=/nowhere", "--csi.max_volumes=1",
                                       NULL };
    struct scene *scene = scene_new(one);

    answer(scene, "GET", "/v3/volumes/detail*", 200, NO_VOLUMES, 0);
    answer(scene, "GET", CONFIGS "/" UID, 200, THE("", "", ""), 0);
    answer(scene, "GET", CONFIGS "?*", 200, LIST(ROW(OTHER, "", "here", "")), 1);
    answer(scene, "GET", CONFIGS "?*", 200, LIST(""), 1);
    publish(scene, "8", "Node here has 1 volumes");
    ck_assert_uint_eq(script_server_count(scene->api, "PATCH", NULL), 0);
    script_server_clear(scene->api);
    answer(scene, "GET", "/v3/volumes/detail*", 200, NO_VOLUMES, 0);
    answer(scene, "GET", CONFIGS "/" UID, 200, THE("", "", ""), 0);
    answer(scene, "GET", CONFIGS "?*", 200, LIST(ROW(OTHER, "", "there", "")), 1);
    answer(scene, "GET", CONFIGS "?*", 200, LIST(""), 1);
    answer(scene, "PATCH", CONFIGS "/" UID, 200, THE("", "here", ""), 1);
    answer(scene, "GET", CONFIGS "?*", 200, LIST(ROW(OTHER, "", "here", "")), 1);
    answer(scene, "GET", CONFIGS "?*", 200, LIST(""), 0);
    answer(scene, "PATCH", CONFIGS "/" UID, 200, THE("", "", ""), 0);
    publish(scene, "8", "Node here has 1 volumes");
    ck_assert_uint_eq(script_server_count(scene->api, "PATCH", NULL), 2);
    scene_end(scene);
}
END_TEST

/* ---- health ---- */

#define BECAUSE(type_, status_, reason_)                                            \
    "{\"type\": \"" type_ "\", \"status\": \"" status_ "\", \"reason\": \"" reason_ \
    "\", \"message\": \"/srv/pool-a on host-7 is away\"}"
#define CONDITION(type_, status_) BECAUSE(type_, status_, "Other")

/* The one document in a list. */
static void list_of(char *list, size_t size, const char *key, const char *document) {
    const char *inner = strchr(document + 1, '{');

    snprintf(list, size, "{\"%s\": [%.*s]}", key, (int)strlen(inner) - 1, inner);
}

/* ListVolumes has the same condition, with no more requests than there are pages. */
static void check_listed(struct scene *scene, const char *config,
                         const Csi__V1__VolumeCondition *shown) {
    Csi__V1__ListVolumesRequest request = CSI__V1__LIST_VOLUMES_REQUEST__INIT;
    autofree struct wire_answer *got = NULL;
    Csi__V1__ListVolumesResponse *list;
    char configs[1024];

    list_of(configs, sizeof(configs), "volume_configs", config);
    answer(scene, "GET", "/v3/volumes/detail*", 200, NO_VOLUMES, 0);
    answer(scene, "GET", CONFIGS "*", 200, configs, 1);
    answer(scene, "GET", CONFIGS "*", 200, "{\"volume_configs\": []}", 0);
    got = scene_request(scene, "/csi.v1.Controller/ListVolumes", &request);
    list = scene_message(got, &csi__v1__list_volumes_response__descriptor);
    ck_assert_uint_eq(list->n_entries, 1);
    ck_assert_str_eq(list->entries[0]->status->volume_condition->message, shown->message);
    ck_assert(list->entries[0]->status->volume_condition->abnormal == shown->abnormal);
    ck_assert_uint_eq(script_server_count(scene->api, "GET", "/v3/replicated_volumes*"), 0);
    protobuf_c_message_free_unpacked(&list->base, NULL);
}

START_TEST(an_unhealthy_volume_is_reported_without_a_host_or_a_path) {
    static const struct {
        const char *config, *response; /* NULL: it is well */
    } rows[] = {
        { THE("", "here", ""), NULL },
        { THE("", "here", CONDITION("Available", "True")), NULL },
        { THE("", "here", BECAUSE("Available", "False", "Starting")), NULL },
        { THE("", "", CONDITION("Available", "False")), NULL }, /* it is published to no node */
        { THE("", "", CONDITION("Redundant", "False")), NULL },
        { THE("", "here", CONDITION("Redundant", "False")), "Some of its replicas are missing" },
        { THE("", "here", BECAUSE("Redundant", "False", "SingleReplica")), NULL },
        { THE("", "here", CONDITION("Available", "False")), "It is not served" },
        { THE("", "here", CONDITION("Redundant", "False") ", " CONDITION("Available", "False")),
          "It is not served" },
        { THE("", "here", CONDITION("Available", "Unknown")), "Its availability is unknown" },
        { THE("", "here", CONDITION("Moving", "False")), "does not respond" },
        { THE("", "", CONDITION("Stopping", "False")), "has not released it" },
        { THE("", "here", CONDITION("VolumeResizeFailed", "True")), "could not be resized" },
        { THE("", "here", CONDITION("Resizing", "True")), NULL },
        { THE("", "here", CONDITION("Scaling", "True")), NULL },
    };
    Csi__V1__ControllerGetVolumeRequest request = CSI__V1__CONTROLLER_GET_VOLUME_REQUEST__INIT;

    request.volume_id = (char[]){ "config-" UID };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = scene_new(NULL);
        autofree struct wire_answer *got = NULL;
        Csi__V1__ControllerGetVolumeResponse *volume;
        const Csi__V1__VolumeCondition *condition;

        answer(scene, "GET", CONFIGS "/" UID, 200, rows[i].config, 0);
        got = scene_request(scene, "/csi.v1.Controller/ControllerGetVolume", &request);
        volume = scene_message(got, &csi__v1__controller_get_volume_response__descriptor);
        condition = volume->status->volume_condition;
        ck_assert_msg(condition->abnormal == (rows[i].response != NULL), "%s", condition->message);
        ck_assert_msg(!rows[i].response || strstr(condition->message, rows[i].response), "%s",
                      condition->message);
        ck_assert_ptr_null(strpbrk(condition->message, "/0123456789"));
        check_listed(scene, rows[i].config, condition);
        protobuf_c_message_free_unpacked(&volume->base, NULL);
        scene_end(scene);
    }
}
END_TEST

CHECK_MAIN("csi classes of configs", an_unknown_parameter_is_reported_with_the_nearest,
           a_volume_is_created_with_mutable_parameters,
           a_failure_to_set_mutable_parameters_is_repeated,
           capacity_is_that_of_the_smallest_pool_in_use, volumes_of_a_node_are_limited,
           an_unhealthy_volume_is_reported_without_a_host_or_a_path)
