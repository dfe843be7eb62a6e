#include "identity/own_user.h"

#include "tests/lib/check_main.h"
#include "tests/lib/script_keystone.h"

#include <stdio.h>
#include <string.h>

struct scene {
    struct script_server *server;
    struct config *config;
    struct own_user *user;
    struct arena *arena;
    struct error err;
};

static struct config *load(const char *const *arguments) {
    static const struct option *const tables[] = { own_user_options, NULL };
    struct config *config;
    struct error err;

    ck_assert_int_eq(config_load(tables, NULL, arguments, &config, &err), 0);
    return config;
}

/* Both sections have a user when `users`. */
static struct scene *scene_with(bool users, const char *section, const char *option) {
    struct scene *scene = calloc(1, sizeof(*scene));
    char url[128];
    const char *arguments[] = { option,
                                url,
                                "--service_user.username=scoria",
                                "--service_user.password=secret",
                                "--service_user.project_name=service",
                                "--nova.auth_section=service_user",
                                NULL };

    scene->server = script_server_new();
    scene->arena = arena_new();
    script_keystone_begin(scene->server);
    snprintf(url, sizeof(url), "--service_user.auth_url=%s/v3", script_server_url(scene->server));
    if (!users)
        arguments[1] = NULL;
    scene->config = load(arguments);
    ck_assert_msg(own_user_new(scene->config, section, &scene->user, &scene->err) == 0, "%s",
                  scene->err.message);
    return scene;
}

static void scene_end(struct scene *scene) {
    own_user_free(scene->user);
    config_free(scene->config);
    script_server_free(scene->server);
    arena_free(scene->arena);
    free(scene);
}

static void answer(struct scene *scene, int status, unsigned times) {
    script_server_add(
        scene->server,
        &(struct script_rule){ .path = "/peer", .status = status, .times = times, .body = "{}" });
}

static int call(struct scene *scene, struct http_answer *ret) {
    const struct http_header headers[] = { { "X-More", "yes" }, { NULL, NULL } };
    const struct http_call call = {
        .method = "POST",
        .url = arena_format(scene->arena, "%s/peer", script_server_url(scene->server)),
        .headers = headers,
        .body = "{}",
    };

    return own_user_call(scene->user, scene->arena, &call, ret, &scene->err);
}

static const struct script_request *received(struct scene *scene, unsigned index) {
    return script_server_request(scene->server, "POST", "/peer", index);
}

START_TEST(a_call_carries_the_users_token) {
    struct scene *scene = scene_with(true, "nova", "--service_user.send_service_user_token=false");
    struct http_answer got;

    answer(scene, 202, 0);
    ck_assert(own_user_is_known(scene->user) && !own_user_is_known(NULL));
    ck_assert_int_eq(call(scene, &got), 0);
    ck_assert_int_eq(got.status, 202);
    ck_assert(script_request_has(received(scene, 0), "X-Auth-Token", KEYSTONE_OWN));
    ck_assert(script_request_has(received(scene, 0), "X-More", "yes"));
    ck_assert_ptr_null(strstr(received(scene, 0)->head, "X-Service-Token"));
    scene_end(scene);
}
END_TEST

START_TEST(a_service_token_is_added_when_requested) {
    static const char *const sections[] = { "nova", "service_user" };

    for (size_t i = 0; i < LENGTH(sections); i++) {
        struct scene *scene =
            scene_with(true, sections[i], "--service_user.send_service_user_token=true");
        struct http_answer got;

        answer(scene, 401, 1);
        answer(scene, 202, 0);
        ck_assert_int_eq(call(scene, &got), 0);
        ck_assert_int_eq(got.status, 202);
        ck_assert(script_request_has(received(scene, 0), "X-Service-Token", KEYSTONE_OWN));
        ck_assert(script_request_has(received(scene, 1), "X-Service-Token", KEYSTONE_OWN));
        /* one user, or one of each section; both were refused */
        ck_assert_uint_eq(script_server_count(scene->server, "POST", KEYSTONE_TOKENS),
                          i == 0 ? 4 : 2);
        scene_end(scene);
    }
}
END_TEST

START_TEST(a_refusal_is_answered_with_a_new_token_once) {
    struct scene *scene = scene_with(true, "nova", "--nova.interface=public");
    struct http_answer got;

    answer(scene, 401, 0);
    ck_assert_int_eq(call(scene, &got), 0);
    ck_assert_int_eq(got.status, 401);
    ck_assert_uint_eq(script_server_count(scene->server, "POST", "/peer"), 2);
    ck_assert_uint_eq(script_server_count(scene->server, "POST", KEYSTONE_TOKENS), 2);
    script_server_clear(scene->server);
    answer(scene, 202, 0);
    ck_assert_int_eq(call(scene, &got), 0); /* the second token was not refused by itself */
    scene_end(scene);
}
END_TEST

START_TEST(without_keystone_nothing_is_sent) {
    struct scene *scene = scene_with(true, "nova", "--nova.interface=public");
    struct http_answer got;

    script_server_clear(scene->server);
    answer(scene, 202, 0);
    ck_assert_int_eq(call(scene, &got), HTTP_NOT_SENT);
    ck_assert_uint_eq(script_server_count(scene->server, "POST", "/peer"), 0);
    scene_end(scene);
}
END_TEST

START_TEST(without_a_user_calls_are_made_without_a_token) {
    struct scene *scene = scene_with(false, "nova", "--nova.interface=public");
    struct own_user *user = scene->user;
    struct http_answer got;

    answer(scene, 401, 0);
    ck_assert(!own_user_is_known(scene->user));
    ck_assert_int_eq(call(scene, &got), 0);
    ck_assert_int_eq(got.status, 401);
    ck_assert_ptr_null(strstr(received(scene, 0)->head, "Token"));
    scene->user = NULL;
    ck_assert_int_eq(call(scene, &got), 0);
    ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), 2);
    own_user_free(user);
    scene_end(scene);
}
END_TEST

START_TEST(endpoints_are_configured_or_found) {
    static const char *const types[] = { "compute", NULL };
    struct scene *scene = scene_with(true, "nova", "--nova.interface=public");
    const char *url;

    ck_assert_int_eq(own_user_endpoint(scene->user, scene->arena, types, 0, &url, &scene->err), 0);
    ck_assert_ptr_nonnull(strstr(url, "/compute/v2.1"));
    scene_end(scene);
    scene = scene_with(true, "nova", "--nova.endpoint_override=http://n/v2.1/");
    ck_assert_int_eq(own_user_endpoint(scene->user, scene->arena, types, 0, &url, &scene->err), 0);
    ck_assert_str_eq(url, "http://n/v2.1");
    ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), 0);
    scene_end(scene);
}
END_TEST

START_TEST(a_service_token_needs_a_user) {
    const char *const arguments[] = { "--nova.auth_url=http://k",
                                      "--nova.username=u",
                                      "--nova.password=p",
                                      "--nova.project_name=s",
                                      "--service_user.send_service_user_token=true",
                                      NULL };
    const char *const broken[] = { "--nova.auth_url=http://k", NULL };
    struct config *config = load(arguments);
    struct own_user *user;
    struct error err;

    ck_assert_int_eq(own_user_new(config, "nova", &user, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "[service_user] auth_url"));
    config_free(config);
    config = load(broken);
    ck_assert_int_eq(own_user_new(config, "nova", &user, &err), -1);
    config_free(config);
}
END_TEST

CHECK_MAIN("own_user", a_call_carries_the_users_token, a_service_token_is_added_when_requested,
           a_refusal_is_answered_with_a_new_token_once, without_keystone_nothing_is_sent,
           without_a_user_calls_are_made_without_a_token, endpoints_are_configured_or_found,
           a_service_token_needs_a_user)
