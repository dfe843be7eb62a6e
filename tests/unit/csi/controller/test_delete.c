#include "tests/unit/csi/driver_test.h"

#define ID "5f7c41de-3c55-4a6e-9d2c-1f3f6c0e7a01"

struct kind {
    const char *call, *path, *key;
};

static const struct kind kinds[] = {
    { "/csi.v1.Controller/DeleteVolume", "/v3/volumes/" ID, "volume" },
    { "/csi.v1.Controller/DeleteSnapshot", "/v3/snapshots/" ID, "snapshot" },
};

static void shows_marked(struct scene *scene, const struct kind *kind, const char *status,
                         const char *metadata, unsigned times) {
    char body[512];

    snprintf(body, sizeof(body),
             "{\"%s\": {\"id\": \"" ID "\", \"status\": \"%s\", \"size\": 1, \"volume_id\": \"v\", "
             "\"metadata\": {%s}}}",
             kind->key, status, metadata);
    script_server_add(scene->api,
                      &(struct script_rule){ "GET", kind->path, 200, body, .times = times });
}

static void shows(struct scene *scene, const struct kind *kind, const char *status,
                  unsigned times) {
    shows_marked(scene, kind, status, "\"csi.name\": \"pvc-1\"", times);
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

/* It was there when it was read, and deleted by another call before this one. */
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

START_TEST(a_refused_delete_is_reported) {
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        struct scene *scene = scene_new(NULL);

        shows(scene, &kinds[i], "available", 0);
        answers(scene, "DELETE", &kinds[i], 400);
        script_server_add(scene->api, &(struct script_rule){ .method = "GET",
                                                             .path = "/v3/snapshots/detail*",
                                                             .status = 200,
                                                             .body = "{\"snapshots\": []}" });
        expect_code(scene, &kinds[i], "9");
        scene_end(scene);
    }
}
END_TEST

/* The reason may be a snapshot that is being deleted. */
START_TEST(a_delete_that_is_refused_for_an_unknown_reason_is_repeated) {
    struct scene *scene = scene_new(NULL);

    shows(scene, &kinds[0], "available", 0);
    answers(scene, "DELETE", &kinds[0], 400);
    script_server_add(
        scene->api,
        &(struct script_rule){ .method = "GET", .path = "/v3/snapshots/detail*", .status = 503 });
    expect_code(scene, &kinds[0], "10");
    scene_end(scene);
}
END_TEST

/* Other operations on a volume end by themselves. */
START_TEST(a_temporarily_refused_delete_is_repeated) {
    struct scene *scene = scene_new(NULL);

    shows(scene, &kinds[0], "available", 1);
    answers(scene, "DELETE", &kinds[0], 400);
    shows(scene, &kinds[0], "extending", 0);
    expect_code(scene, &kinds[0], "10");
    scene_end(scene);
}
END_TEST

/* The volume's snapshots may be on their way. */
START_TEST(a_delete_before_the_end_of_snapshots_is_repeated) {
    static const struct {
        const char *other, *code;
    } rows[] = { { "deleting", "10" }, { "available", "9" }, { "error_deleting", "9" } };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct scene *scene = scene_new(NULL);
        char list[256];

        snprintf(list, sizeof(list),
                 "{\"snapshots\": [{\"id\": \"1\", \"status\": \"deleting\", \"size\": 1, "
                 "\"volume_id\": \"" ID "\"}, {\"id\": \"2\", \"status\": \"%s\", "
                 "\"size\": 1, \"volume_id\": \"" ID "\"}]}",
                 rows[i].other);
        shows(scene, &kinds[0], "available", 0);
        answers(scene, "DELETE", &kinds[0], 400);
        script_server_add(scene->api, &(struct script_rule){ .method = "GET",
                                                             .path = "/v3/snapshots/detail*",
                                                             .status = 200,
                                                             .body = list,
                                                             .times = 1 });
        script_server_add(scene->api, &(struct script_rule){ .method = "GET",
                                                             .path = "/v3/snapshots/detail*",
                                                             .status = 200,
                                                             .body = "{\"snapshots\": []}" });
        expect_code(scene, &kinds[0], rows[i].code);
        scene_end(scene);
    }
}
END_TEST

/* Before, at and after the delete. */
START_TEST(a_volume_unknown_to_a_gateway_does_not_count_as_deleted) {
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

/* ---- objects that a driver created ---- */

static struct scene *scene_of(const char *cluster) {
    static char option[128];
    const char *const arguments[] = { "--csi.kubelet_directory=/nowhere", option, NULL };

    snprintf(option, sizeof(option), "--csi.cluster=%s", cluster);
    return scene_new(arguments);
}

/* "9": no delete was sent; "0": it was. */
static void expect_delete(const char *cluster, const struct kind *kind, const char *metadata,
                          const char *code) {
    struct scene *scene = scene_of(cluster);

    shows_marked(scene, kind, "available", metadata, 1);
    answers(scene, "DELETE", kind, 202);
    answers(scene, "GET", kind, 404);
    expect_code(scene, kind, code);
    ck_assert_uint_eq(script_server_count(scene->api, "DELETE", NULL), strcmp(code, "0") == 0);
    scene_end(scene);
}

START_TEST(volumes_of_other_clients_are_not_deleted) {
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        expect_delete("", &kinds[i], "", "9");
        expect_delete("", &kinds[i], "\"name\": \"pvc-1\", \"csi.untold\": \"yes\"", "9");
        expect_delete("", &kinds[i], "\"csi.name\": \"\"", "9");
        expect_delete("east", &kinds[i], "", "9");
    }
}
END_TEST

START_TEST(volumes_of_another_cluster_are_not_deleted) {
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        expect_delete("east", &kinds[i], "\"csi.name\": \"@east/pvc-1\"", "0");
        expect_delete("east", &kinds[i], "\"csi.name\": \"@west/pvc-1\"", "9");
        expect_delete("east", &kinds[i], "\"csi.name\": \"@eastern/pvc-1\"", "9");
        expect_delete("east", &kinds[i], "\"csi.name\": \"@eas/t/pvc-1\"", "9");
        expect_delete("", &kinds[i], "\"csi.name\": \"@east/pvc-1\"", "9");
    }
}
END_TEST

START_TEST(volumes_of_a_driver_without_a_cluster_are_deleted_by_any) {
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        expect_delete("", &kinds[i], "\"csi.name\": \"pvc-1\"", "0");
        expect_delete("east", &kinds[i], "\"csi.name\": \"pvc-1\"", "0");
        expect_delete("east", &kinds[i], "\"csi.name\": \"@/@west/pvc\"", "0");
    }
}
END_TEST

#define TOO_LONG "--csi.cluster=0123456789012345678901234567890123456789012345678901234567890123"

START_TEST(a_cluster_is_named_by_letters_digits_and_marks) {
    static const char *const wrong[] = { "--csi.cluster=a/b", "--csi.cluster=@a",
                                         "--csi.cluster=a b", TOO_LONG };

    for (size_t i = 0; i < LENGTH(wrong); i++) {
        const char *const arguments[] = { "--csi.kubelet_directory=/nowhere", wrong[i], NULL };
        struct error err = { .kind = ERROR_NONE };
        struct scene *scene = malloc(sizeof(*scene));

        ck_assert_int_eq(scene_begin(scene, arguments, &err), -1);
        ck_assert_msg(strstr(err.message, "[csi] cluster: "), "%s", err.message);
        scene->driver = NULL;
        scene_end(scene);
    }
}
END_TEST

CHECK_MAIN("csi controller delete", of_two_deletes_both_are_done, a_refused_delete_is_reported,
           a_delete_that_is_refused_for_an_unknown_reason_is_repeated,
           a_temporarily_refused_delete_is_repeated,
           a_volume_unknown_to_a_gateway_does_not_count_as_deleted,
           volumes_of_other_clients_are_not_deleted, volumes_of_another_cluster_are_not_deleted,
           volumes_of_a_driver_without_a_cluster_are_deleted_by_any,
           a_delete_before_the_end_of_snapshots_is_repeated,
           a_cluster_is_named_by_letters_digits_and_marks)
