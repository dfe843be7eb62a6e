#include "tests/unit/csi/driver_test.h"

#define ID "5f7c41de-3c55-4a6e-9d2c-1f3f6c0e7a01"

struct kind {
    const char *call, *path, *key;
};

static const struct kind kinds[] = {
    { "/csi.v1.Controller/DeleteVolume", "/v3/volumes/" ID, "volume" },
    { "/csi.v1.Controller/DeleteSnapshot", "/v3/snapshots/" ID, "snapshot" },
};

static void shows(struct scene *scene, const struct kind *kind, const char *status,
                  unsigned times) {
    char body[256];

    snprintf(body, sizeof(body),
             "{\"%s\": {\"id\": \"" ID
             "\", \"status\": \"%s\", \"size\": 1, \"volume_id\": \"v\"}}",
             kind->key, status);
    script_server_add(scene->api, &(struct script_rule){ "GET", kind->path, 200, body, NULL,
                                                         SCRIPT_WHOLE, times });
}

static void gateway_answers(struct scene *scene, const char *method, const struct kind *kind) {
    script_server_add(scene->api, &(struct script_rule){ .method = method,
                                                         .path = kind->path,
                                                         .status = 404,
                                                         .body = "<html>Not Found</html>" });
}

static void answers(struct scene *scene, const char *method, const struct kind *kind, int status) {
    script_server_add(scene->api,
                      &(struct script_rule){
                          .method = method, .path = kind->path, .status = status, .times = 0 });
}

/* A message whose first field is the id. */
static void expect_code(struct scene *scene, const struct kind *kind, const char *code) {
    static const char message[] = "\x0a\x24" ID;
    autofree struct wire_answer *answer =
        scene_call(scene, kind->call, message, sizeof(message) - 1);

    ck_assert_msg(strcmp(answer->status, code) == 0, "%s: %s: %s", kind->call, answer->status,
                  answer->message);
}

/* It was there when it was read, and another call's to delete when this one asked. */
START_TEST(of_two_deletes_both_are_done) {
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        struct scene *scene = scene_new(NULL);

        shows(scene, &kinds[i], "available", 1);
        answers(scene, "DELETE", &kinds[i], 400);
        shows(scene, &kinds[i], "deleting", 2);
        answers(scene, "GET", &kinds[i], 404);
        expect_code(scene, &kinds[i], "0");
        ck_assert_uint_eq(script_server_count(scene->api, "DELETE", NULL), 1);
        scene_end(scene);
    }
}
END_TEST

START_TEST(what_may_not_be_deleted_is_told) {
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        struct scene *scene = scene_new(NULL);

        shows(scene, &kinds[i], "available", 0);
        answers(scene, "DELETE", &kinds[i], 400);
        expect_code(scene, &kinds[i], "9");
        scene_end(scene);
    }
}
END_TEST

/* What else goes on with a volume ends by itself. */
START_TEST(what_may_be_deleted_soon_is_asked_for_again) {
    struct scene *scene = scene_new(NULL);

    shows(scene, &kinds[0], "available", 1);
    answers(scene, "DELETE", &kinds[0], 400);
    shows(scene, &kinds[0], "extending", 0);
    expect_code(scene, &kinds[0], "10");
    scene_end(scene);
}
END_TEST

/* Before, at and after the delete. */
START_TEST(what_a_gateway_does_not_know_is_not_deleted) {
    for (size_t i = 0; i < LENGTH(kinds); i++)
        for (unsigned when = 0; when < 3; when++) {
            struct scene *scene = scene_new(NULL);

            if (when > 0)
                shows(scene, &kinds[i], "available", 1);
            if (when > 1)
                answers(scene, "DELETE", &kinds[i], 202);
            gateway_answers(scene, when == 1 ? "DELETE" : "GET", &kinds[i]);
            shows(scene, &kinds[i], "available", 0);
            expect_code(scene, &kinds[i], "14");
            ck_assert_uint_eq(script_server_count(scene->api, "DELETE", NULL), when > 0);
            scene_end(scene);
        }
}
END_TEST

CHECK_MAIN("csi controller delete", of_two_deletes_both_are_done, what_may_not_be_deleted_is_told,
           what_may_be_deleted_soon_is_asked_for_again, what_a_gateway_does_not_know_is_not_deleted)
