/*
 * ControllerReclaimSpace: what the volume API answers, as CSI-Addons has it.
 */
#include "tests/unit/csi/driver_test.h"

#define ID             "5f7c41de-3c55-4a6e-9d2c-1f3f6c0e7a01"
#define PATH           "/v3/volumes/" ID
#define IS(status_)    "{\"volume\": {\"id\": \"" ID "\", \"status\": \"" status_ "\", \"size\": 1}}"
#define DONE           "{\"reclaim_space\": {\"status\": \"done\", \"pre_usage\": 9, \"post_usage\": 4}}"
#define ERROR(reason_) "{\"reclaim_space\": {\"status\": \"error\", \"reason\": \"" reason_ "\"}}"

static void answer_once(struct scene *scene, const char *method, const char *path, int status,
                        const char *body) {
    script_server_add(scene->api,
                      &(struct script_rule){ method, path, status, body, NULL, SCRIPT_WHOLE, 1 });
}

static const struct {
    const char *code;
    int found; /* what GET of the volume answers */
    const char *volume;
    int begun;        /* what the action answers; 0: it is not asked */
    const char *last; /* what became of it; NULL: nobody asks */
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

START_TEST(what_the_api_says_has_its_code) {
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

#define CONFIG(publish_)                                                  \
    "{\"volume_config\": {\"metadata\": {\"name\": \"v\", \"uid\": \"" ID \
    "\"}, \"spec\": {}" publish_ ", \"status\": {\"phase\": \"Bound\"}}}"

START_TEST(a_volume_made_from_a_policy_is_its_nodes_matter) {
    static const char message[] = "\x0a\x2b"
                                  "config-" ID;
    static const struct {
        const char *code;
        int found;
        const char *config;
    } cases[] = {
        { "0", 200, CONFIG(", \"publish\": {\"nodeId\": \"n\"}") },
        { "12", 200, CONFIG("") },
        { "5", 404, NULL },
        { "14", 503, "{}" },
    };
    struct scene *scene = scene_new(NULL);

    for (size_t i = 0; i < LENGTH(cases); i++) {
        autofree struct wire_answer *answer = NULL;

        answer_once(scene, "GET", "/v3/volume_configs/" ID, cases[i].found, cases[i].config);
        answer = scene_call(scene, "/reclaimspace.ReclaimSpaceController/ControllerReclaimSpace",
                            message, sizeof(message) - 1);
        ck_assert_msg(strcmp(answer->status, cases[i].code) == 0, "case %zu: %s: %s", i,
                      answer->status, answer->message);
    }
    scene_end(scene);
}
END_TEST

CHECK_MAIN("csi controller reclaim", what_the_api_says_has_its_code,
           a_volume_made_from_a_policy_is_its_nodes_matter)
