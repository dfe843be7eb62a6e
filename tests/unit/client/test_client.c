#include "client/client.h"

#include "tests/lib/check_main.h"
#include "tests/lib/script_server.h"

#include <stdio.h>
#include <string.h>

/* A scripted API below /base/ and a client of it, with a minute for two repetitions. */
struct scene {
    struct script_server *server;
    struct arena *arena;
    struct client client;
    struct http_answer answer;
    struct error err;
};

static struct scene *scene_new(void) {
    struct scene *scene = calloc(1, sizeof(*scene));

    scene->server = script_server_new();
    scene->arena = arena_new();
    scene->client = (struct client){
        .name = "the API",
        .service = "volume",
        .version = "3.71",
        .url = arena_format(scene->arena, "%s/base//", script_server_url(scene->server)),
        .timeout_ms = 60000,
        .repeats = 2,
    };
    return scene;
}

static void scene_end(struct scene *scene) {
    script_server_free(scene->server);
    arena_free(scene->arena);
    free(scene);
}

static int call(struct scene *scene, const char *method) {
    const struct client_call call = { .method = method, .path = "/it" };

    return client_call(&scene->client, scene->arena, &call, &scene->answer, &scene->err);
}

static unsigned sent(struct scene *scene) {
    return script_server_count(scene->server, NULL, "/base/it");
}

static void answer(struct scene *scene, const struct script_rule *rule) {
    script_server_add(scene->server, rule);
}

START_TEST(a_fault_is_an_error_with_its_kind_and_message) {
    static const struct {
        const char *body, *told;
    } rows[] = {
        { "{\"itemNotFound\": {\"code\": 404, \"message\": \"no such\"}}", "404: no such" },
        { "{\"itemNotFound\": {\"code\": 404}}", "404: {\"itemNotFound\"" },
        { "<html>", "404: <html>" },
        { "[]", "404: []" },
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(rows); i++) {
        script_server_clear(scene->server);
        answer(scene, &(struct script_rule){ .status = 404, .body = rows[i].body });
        ck_assert_int_eq(call(scene, "GET"), -1);
        ck_assert_int_eq(scene->err.kind, ERROR_NOT_FOUND);
        ck_assert_ptr_nonnull(strstr(scene->err.message, "GET /it: the API answered"));
        ck_assert_ptr_nonnull(strstr(scene->err.message, rows[i].told));
        ck_assert_uint_eq(sent(scene), i + 1);
    }
    scene_end(scene);
}
END_TEST

START_TEST(what_may_come_twice_is_sent_again) {
    static const char *const methods[] = { "GET", "PUT", "DELETE" };

    for (size_t i = 0; i < LENGTH(methods); i++) {
        struct scene *scene = scene_new();

        answer(scene, &(struct script_rule){ .status = 503, .times = 1 });
        answer(scene, &(struct script_rule){ .manner = SCRIPT_CLOSE, .times = 1 });
        answer(scene, &(struct script_rule){ .status = 200, .body = "{}" });
        ck_assert_int_eq(call(scene, methods[i]), 0);
        ck_assert_uint_eq(sent(scene), 3);
        scene_end(scene);
    }
}
END_TEST

START_TEST(what_may_not_come_twice_is_sent_once) {
    static const char *const methods[] = { "POST", "PATCH" };
    static const struct script_rule rules[] = { { .status = 503 }, { .manner = SCRIPT_CLOSE } };

    for (size_t i = 0; i < LENGTH(methods); i++)
        for (size_t j = 0; j < LENGTH(rules); j++) {
            struct scene *scene = scene_new();

            answer(scene, &rules[j]);
            ck_assert_int_eq(call(scene, methods[i]), -1);
            ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
            ck_assert_uint_eq(sent(scene), 1);
            scene_end(scene);
        }
}
END_TEST

START_TEST(repetitions_have_an_end) {
    struct scene *scene = scene_new();

    answer(scene, &(struct script_rule){ .status = 503 });
    ck_assert_int_eq(call(scene, "GET"), -1);
    ck_assert_uint_eq(sent(scene), 3);
    scene_end(scene);
}
END_TEST

START_TEST(a_peer_that_wants_more_time_than_there_is_is_not_waited_for) {
    struct scene *scene = scene_new();

    answer(scene, &(struct script_rule){ .status = 503, .header = "Retry-After: 3600" });
    ck_assert_int_eq(call(scene, "GET"), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    ck_assert_uint_eq(sent(scene), 1);
    scene_end(scene);
}
END_TEST

START_TEST(what_the_peer_refuses_for_good_is_not_sent_again) {
    static const int statuses[] = { 400, 401, 403, 404, 409, 413, 500 };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(statuses); i++) {
        script_server_clear(scene->server);
        answer(scene, &(struct script_rule){ .status = statuses[i] });
        ck_assert_int_eq(call(scene, "GET"), -1);
        ck_assert_uint_eq(sent(scene), i + 1);
    }
    scene_end(scene);
}
END_TEST

CHECK_MAIN("client", a_fault_is_an_error_with_its_kind_and_message,
           what_may_come_twice_is_sent_again, what_may_not_come_twice_is_sent_once,
           repetitions_have_an_end, a_peer_that_wants_more_time_than_there_is_is_not_waited_for,
           what_the_peer_refuses_for_good_is_not_sent_again)
