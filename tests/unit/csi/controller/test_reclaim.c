/*
 * ControllerReclaimSpace: responses of the volume API as CSI-Addons has them.
 */
#include "tests/unit/csi/driver_test.h"

#define ID             "5f7c41de-3c55-4a6e-9d2c-1f3f6c0e7a01"
#define PATH           "/v3/volumes/" ID
#define IS(status_)    "{\"volume\": {\"id\": \"" ID "\", \"status\": \"" status_ "\", \"size\": 1}}"
#define DONE           "{\"reclaim_space\": {\"status\": \"done\", \"pre_usage\": 9, \"post_usage\": 4}}"
#define ERROR(reason_) "{\"reclaim_space\": {\"status\": \"error\", \"reason\": \"" reason_ "\"}}"

static void answer_once(struct scene *scene, const char *method, const char *path, int status,
                        const char *body) {
    script_server_add(scene->api, &(struct script_rule){ method, path, status, body, .times = 1 });
}

static const struct {
    const char *code;
    int found; /* the response to GET of the volume */
    const char *volume;
    int begun;        /* the response to the action; 0: it is not sent */
    const char *last; /* its outcome; NULL: not queried */
} rows[] = {
    { "0", 200, IS("available"), 202, DONE },
    { "0", 200, IS("reclaiming"), 0, DONE },
    { "5", 404, NULL, 0, NULL },
    { "16", 401, NULL, 0, NULL },
    { "7", 403, NULL, 0, NULL },
    { "14", 503, "{}", 0, NULL },
    { "10", 200, IS("attaching"), 0, NULL },
    { "10", 200, IS("available"), 409, NULL },
    { "10", 200, IS("available"), 202, ERROR("busy") },
    { "10", 200, IS("available"), 202, ERROR("cancelled") },
    { "12", 200, IS("available"), 202, ERROR("unsupported") },
    { "13", 200, IS("available"), 202, ERROR("failed") },
};

START_TEST(each_response_of_the_api_has_its_code) {
    static const char message[] = "\x0a\x24" ID;
    struct scene *scene = scene_new(NULL);

    for (size_t i = 0; i < LENGTH(rows); i++) {
        autofree struct wire_answer *answer = NULL;

        answer_once(scene, "GET", PATH, rows[i].found, rows[i].volume);
        if (rows[i].begun)
            answer_once(scene, "POST", PATH "/action", rows[i].begun, NULL);
        if (rows[i].last)
            answer_once(scene, "GET", PATH "/reclaim_space", 200, rows[i].last);
        answer = scene_call(scene, "/reclaimspace.ReclaimSpaceController/ControllerReclaimSpace",
                            message, sizeof(message) - 1);
        ck_assert_msg(strcmp(answer->status, rows[i].code) == 0, "row %zu: %s instead of %s: %s", i,
                      answer->status, rows[i].code, answer->message);
    }
    scene_end(scene);
}
END_TEST

#define CONFIG(publish_, reclaim_)                                        \
    "{\"volume_config\": {\"metadata\": {\"name\": \"v\", \"uid\": \"" ID \
    "\"}, \"spec\": {}" publish_ ", \"status\": {\"phase\": \"Bound\"" reclaim_ "}}}"
#define SPACE(number_, phase_, more)                                                               \
    CONFIG("", ", \"reclaim\": {\"number\": " number_ ", \"phase\": \"" phase_ "\", \"message\": " \
               "\"why\"" more "}")
#define CONFIG_PATH "/v3/volume_configs/" ID

/* Of a volume made from a policy. */
static const struct {
    const char *code;
    int found; /* the first response to GET */
    const char *config;
    int changed;         /* the response to PATCH; 0: it is not sent */
    const char *after;   /* its value, and */
    const char *last;    /* the response to GET then; NULL: not queried */
    const char *message; /* of the answer; NULL: any */
} declared[] = {
    { "0", 200, CONFIG(", \"publish\": {\"nodeId\": \"n\"}", ""), 0, NULL, NULL, NULL },
    { "5", 404, NULL, 0, NULL, NULL, NULL },
    { "14", 503, "{}", 0, NULL, NULL, NULL },
    { "0", 200, CONFIG("", ""), 200, SPACE("1", "Pending", ""),
      SPACE("1", "Done", ", \"beforeBytes\": 9, \"afterBytes\": 4"), NULL },
    { "0", 200, SPACE("1", "Pending", ""), 0, NULL, SPACE("1", "Done", ""), NULL },
    { "0", 200, SPACE("1", "Done", ""), 200, SPACE("2", "Pending", ""), SPACE("2", "Done", ""),
      NULL },
    { "10", 200, CONFIG("", ""), 409,
      "{\"conflictingRequest\": {\"code\": 409, \"message\": \"x\"}}", NULL, NULL },
    { "10", 200, SPACE("1", "Pending", ""), 0, NULL, SPACE("1", "Stopped", ""), "why" },
    { "10", 200, SPACE("1", "Pending", ""), 0, NULL, SPACE("2", "Done", ""), "has been requested" },
    { "12", 200, SPACE("1", "Pending", ""), 0, NULL,
      SPACE("1", "Failed", ", \"reason\": \"unsupported\""), "why" },
    { "13", 200, SPACE("1", "Pending", ""), 0, NULL, SPACE("1", "Failed", ", \"reason\": \"away\""),
      "why" },
};

START_TEST(a_volume_with_a_policy_is_reclaimed_while_no_node_has_it) {
    static const char message[] = "\x0a\x2b"
                                  "config-" ID;
    struct scene *scene = scene_new(NULL);

    for (size_t i = 0; i < LENGTH(declared); i++) {
        autofree struct wire_answer *answer = NULL;
        unsigned before = script_server_count(scene->api, "PATCH", CONFIG_PATH);

        answer_once(scene, "GET", CONFIG_PATH, declared[i].found, declared[i].config);
        if (declared[i].changed)
            answer_once(scene, "PATCH", CONFIG_PATH, declared[i].changed, declared[i].after);
        if (declared[i].last)
            answer_once(scene, "GET", CONFIG_PATH, 200, declared[i].last);
        answer = scene_call(scene, "/reclaimspace.ReclaimSpaceController/ControllerReclaimSpace",
                            message, sizeof(message) - 1);
        ck_assert_msg(strcmp(answer->status, declared[i].code) == 0, "case %zu: %s: %s", i,
                      answer->status, answer->message);
        ck_assert_msg(!declared[i].message || strstr(answer->message, declared[i].message),
                      "case %zu: %s", i, answer->message);
        ck_assert_uint_eq(script_server_count(scene->api, "PATCH", CONFIG_PATH) - before,
                          declared[i].changed ? 1 : 0);
    }
    scene_end(scene);
}
END_TEST

CHECK_MAIN("csi controller reclaim", each_response_of_the_api_has_its_code,
           a_volume_with_a_policy_is_reclaimed_while_no_node_has_it)
