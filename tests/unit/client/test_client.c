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

#define FAULT(key, code) "{\"" key "\": {\"code\": " code ", \"message\": \"no such\"}}"
#define PATH(code)       "{\"code\": \"" code "\", \"title\": \"x\", \"message\": \"no such\"}"

static void assert_failure(struct scene *scene, int status, const char *body, enum error_kind kind,
                           const char *what) {
    unsigned before = sent(scene);

    scene->client.repeats = 0;
    script_server_clear(scene->server);
    answer(scene, &(struct script_rule){ .status = status, .body = body });
    ck_assert_int_eq(call(scene, "GET"), -1);
    ck_assert_msg(scene->err.kind == kind, "%d %s: kind %d", status, body, (int)scene->err.kind);
    ck_assert_msg(strstr(scene->err.message, what) != NULL, "%s", scene->err.message);
    ck_assert_uint_eq(sent(scene), before + 1);
}

START_TEST(a_fault_is_an_error_with_its_kind_and_message) {
    static const struct {
        int status;
        enum error_kind kind;
        const char *body;
    } rows[] = {
        { 404, ERROR_NOT_FOUND, FAULT("itemNotFound", "404") },
        { 400, ERROR_BAD_REQUEST, FAULT("badRequest", "400") },
        { 401, ERROR_UNAUTHORIZED, FAULT("unauthorized", "401") },
        { 401, ERROR_UNAUTHORIZED, FAULT("error", "401") }, /* of Keystone's middleware */
        { 406, ERROR_NOT_ACCEPTABLE, FAULT("computeFault", "406") },
        { 422, ERROR_BACKEND, FAULT("computeFault", "422") },
        { 413, ERROR_TOO_LARGE, PATH("413 Request Entity Too Large") },
        { 500, ERROR_UNAVAILABLE, FAULT("computeFault", "500") },
        { 429, ERROR_UNAVAILABLE, FAULT("overLimit", "429") },
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_failure(scene, rows[i].status, rows[i].body, rows[i].kind, "the API answered");
    scene_end(scene);
}
END_TEST

/* Of a gateway, of a page to log in, of a path that is none, of another service. */
START_TEST(a_response_of_another_server_is_no_result) {
    static const int statuses[] = { 302, 400, 401, 403, 404, 406, 409, 410, 413, 418 };
    static const char *const bodies[] = {
        "",
        "<html><body>Not here</body></html>",
        "[]",
        "{}",
        "{\"message\": \"no Route matched with those values\"}",
        "{\"error\": {\"code\": 404, \"message\": \"of Keystone\"}}",
        "{\"kind\": \"Status\", \"reason\": \"NotFound\", \"code\": 404, \"message\": \"x\"}",
        FAULT("itemNotFound", "405"),
        FAULT("itemNotFound", "\"404\""),
        "{\"itemNotFound\": {\"code\": 404}}",
        "{\"itemNotFound\": {\"code\": 404, \"message\"",
    };
    struct scene *scene = scene_new();
    char what[96];

    for (size_t i = 0; i < LENGTH(statuses); i++)
        for (size_t j = 0; j < LENGTH(bodies); j++) {
            snprintf(what, sizeof(what), "status %d at %s/base/it", statuses[i],
                     script_server_url(scene->server));
            assert_failure(scene, statuses[i], bodies[j], ERROR_UNAVAILABLE, what);
        }
    scene_end(scene);
}
END_TEST

/* A response that requests a retry decides nothing else, in whatever form. */
START_TEST(a_temporary_failure_is_no_refusal) {
    static const int statuses[] = { 408, 425, 429, 500, 502, 503, 504, 520 };
    static const char *const bodies[] = { "", "<html>", FAULT("itemNotFound", "404") };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(statuses); i++)
        for (size_t j = 0; j < LENGTH(bodies); j++)
            assert_failure(scene, statuses[i], bodies[j], ERROR_UNAVAILABLE, "the API answered");
    scene_end(scene);
}
END_TEST

START_TEST(an_unrouted_path_is_not_found_where_the_caller_expects_that) {
    struct client_call call = { .method = "GET", .path = "/it" };
    struct scene *scene = scene_new();

    answer(scene, &(struct script_rule){ .status = 404, .body = PATH("404 Not Found") });
    for (int knows = 0; knows <= 1; knows++) {
        call.may_lack = knows;
        ck_assert_int_eq(
            client_call(&scene->client, scene->arena, &call, &scene->answer, &scene->err), -1);
        ck_assert_int_eq(scene->err.kind, knows ? ERROR_NOT_FOUND : ERROR_UNAVAILABLE);
    }
    script_server_clear(scene->server);
    answer(scene, &(struct script_rule){ .status = 404, .body = "<html>" });
    ck_assert_int_eq(client_call(&scene->client, scene->arena, &call, &scene->answer, &scene->err),
                     -1);
    ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    scene_end(scene);
}
END_TEST

START_TEST(repeatable_requests_are_sent_again) {
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

START_TEST(responses_that_request_a_retry_are_retried) {
    static const int statuses[] = { 408, 425, 429, 502, 503, 504 };

    for (size_t i = 0; i < LENGTH(statuses); i++) {
        struct scene *scene = scene_new();

        answer(scene, &(struct script_rule){ .status = statuses[i], .times = 1 });
        answer(scene, &(struct script_rule){ .status = 200, .body = "{}" });
        ck_assert_int_eq(call(scene, "GET"), 0);
        ck_assert_uint_eq(sent(scene), 2);
        scene_end(scene);
    }
}
END_TEST

START_TEST(unrepeatable_requests_are_sent_once) {
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

START_TEST(retries_are_bounded) {
    struct scene *scene = scene_new();

    answer(scene, &(struct script_rule){ .status = 503 });
    ck_assert_int_eq(call(scene, "GET"), -1);
    ck_assert_uint_eq(sent(scene), 3);
    scene_end(scene);
}
END_TEST

START_TEST(a_retry_after_beyond_the_deadline_is_not_awaited) {
    struct scene *scene = scene_new();

    answer(scene, &(struct script_rule){ .status = 503, .header = "Retry-After: 3600" });
    ck_assert_int_eq(call(scene, "GET"), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    ck_assert_uint_eq(sent(scene), 1);
    scene_end(scene);
}
END_TEST

START_TEST(final_refusals_are_not_retried) {
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
           a_response_of_another_server_is_no_result, a_temporary_failure_is_no_refusal,
           an_unrouted_path_is_not_found_where_the_caller_expects_that,
           repeatable_requests_are_sent_again, responses_that_request_a_retry_are_retried,
           unrepeatable_requests_are_sent_once, retries_are_bounded,
           a_retry_after_beyond_the_deadline_is_not_awaited, final_refusals_are_not_retried)
