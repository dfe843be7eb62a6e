#include "compute/agent/event_authorization.h"

#include "identity/authtoken.h"
#include "tests/lib/check_main.h"
#include "tests/lib/exchange.h"
#include "tests/lib/script_keystone.h"

#include <stdio.h>
#include <string.h>

struct scene {
    struct script_server *server;
    struct config *config;
    struct authtoken *authtoken;
};

static struct scene scene_with(const char *more) {
    static const struct option *const tables[] = { authtoken_options, NULL };
    struct scene scene = { .server = script_server_new() };
    char url[128];
    const char *arguments[] = { url,
                                "--keystone_authtoken.username=scoria",
                                "--keystone_authtoken.password=secret",
                                "--keystone_authtoken.project_name=service",
                                more,
                                NULL };
    struct error err;

    script_keystone_begin(scene.server);
    snprintf(url, sizeof(url), "--keystone_authtoken.auth_url=%s/v3",
             script_server_url(scene.server));
    ck_assert_int_eq(config_load(tables, NULL, arguments, &scene.config, &err), 0);
    ck_assert_int_eq(authtoken_new(scene.config, 0, &scene.authtoken, &err), 0);
    return scene;
}

static struct scene scene_new(void) {
    return scene_with(NULL);
}

static void scene_end(struct scene *scene) {
    authtoken_free(scene->authtoken);
    config_free(scene->config);
    script_server_free(scene->server);
}

static void pass(void *arg, struct http_exchange *exchange) {
    ck_assert_str_eq(arg, "arg");
    exchange->status = 200;
    http_reply(exchange);
}

static int visit_beside(const struct authtoken *authtoken, const char *token, const char *service,
                        const char *header, const char *value) {
    const struct http_header headers[] = { { "X-Auth-Token", token },
                                           { service ? "X-Service-Token" : NULL, service },
                                           { NULL, NULL } };
    struct test_exchange *test = test_exchange_new("POST", "/", token ? headers : NULL, NULL);
    char arg[] = "arg";
    int status;

    event_authorize(authtoken, test_exchange_of(test), pass, arg);
    status = test_exchange_await(test);
    if (header)
        ck_assert_str_eq(test_exchange_header(test, header), value);
    test_exchange_free(test);
    return status;
}

static int visit(const struct authtoken *authtoken, const char *token, const char *header,
                 const char *value) {
    return visit_beside(authtoken, token, NULL, header, value);
}

START_TEST(without_authtoken_all_events_are_accepted) {
    ck_assert_int_eq(visit(NULL, NULL, NULL, NULL), 200);
}
END_TEST

START_TEST(only_services_and_administrators_are_authorized) {
    static const struct {
        const char *roles, *more;
        int status;
    } cases[] = {
        { "\"service\"", "", 200 },
        { "\"reader\", \"ADMIN\"", "", 200 },
        { "\"member\"", "", 403 },
        { "", "", 403 },
        { "\"admin\"", "\"application_credential\": {\"access_rules\": []}", 403 },
    };
    struct scene scene = scene_new();
    char token[16];

    for (size_t i = 0; i < LENGTH(cases); i++)
        script_keystone_answer(scene.server, 200,
                               script_keystone_token(cases[i].roles, 100, cases[i].more), 1);
    for (size_t i = 0; i < 2 * LENGTH(cases); i++) { /* queried, and remembered */
        snprintf(token, sizeof(token), "t%zu", i % LENGTH(cases));
        ck_assert_int_eq(visit(scene.authtoken, token, NULL, NULL),
                         cases[i % LENGTH(cases)].status);
    }
    scene_end(&scene);
}
END_TEST

START_TEST(a_missing_an_invalid_token_and_an_outage_are_distinguished) {
    struct scene scene = scene_new();
    char challenge[128];

    snprintf(challenge, sizeof(challenge), "Keystone uri=\"%s/v3\"",
             script_server_url(scene.server));
    script_keystone_answer(scene.server, 404, KEYSTONE_UNKNOWN, 1);
    ck_assert_int_eq(visit(scene.authtoken, NULL, "WWW-Authenticate", challenge), 401);
    ck_assert_int_eq(visit(scene.authtoken, "bad", "WWW-Authenticate", challenge), 401);
    ck_assert_int_eq(visit(scene.authtoken, "other", "Retry-After", "5"), 503);
    scene_end(&scene);
}
END_TEST

static void answer_token(const struct scene *scene, const char *role, int64_t seconds,
                         const char *more) {
    script_keystone_answer(scene->server, 200, script_keystone_token(role, seconds, more), 1);
}

START_TEST(a_service_token_makes_an_expired_token_valid) {
    struct scene scene = scene_new();

    answer_token(&scene, "\"service\"", 100, "");
    answer_token(&scene, "\"admin\"", -100, "");
    ck_assert_int_eq(visit_beside(scene.authtoken, "old", "s", NULL, NULL), 200);
    ck_assert_uint_eq(script_server_count(scene.server, "GET", KEYSTONE_TOKENS "?allow_expired=1"),
                      1);
    ck_assert_int_eq(visit_beside(scene.authtoken, "old", "s", NULL, NULL), 200); /* remembered */
    ck_assert_int_eq(visit(scene.authtoken, "old", NULL, NULL), 401);
    answer_token(&scene, "\"member\"", -100, "");
    ck_assert_int_eq(visit_beside(scene.authtoken, "users", "s", NULL, NULL), 403);
    answer_token(&scene, "\"admin\"", 100, "\"application_credential\": {\"access_rules\": []}");
    ck_assert_int_eq(visit_beside(scene.authtoken, "bound", "s", NULL, NULL), 200);
    ck_assert_int_eq(visit_beside(scene.authtoken, "good", " ", NULL, NULL),
                     503); /* none; queried */
    scene_end(&scene);
}
END_TEST

START_TEST(an_invalid_service_token_refuses) {
    struct scene scene = scene_new();

    answer_token(&scene, "\"member\"", 100, "");
    ck_assert_int_eq(visit_beside(scene.authtoken, "t", "no-service", NULL, NULL), 401);
    script_keystone_answer(scene.server, 404, KEYSTONE_UNKNOWN, 1);
    ck_assert_int_eq(visit_beside(scene.authtoken, "t", "forged", NULL, NULL), 401);
    ck_assert_int_eq(visit_beside(scene.authtoken, "t", "asked", "Retry-After", "5"), 503);
    answer_token(&scene, "\"service\"", -100, "");
    ck_assert_int_eq(visit_beside(scene.authtoken, "t", "over", NULL, NULL), 401);
    scene_end(&scene);
}
END_TEST

START_TEST(without_required_roles_a_service_token_grants_nothing) {
    struct scene scene = scene_with("--keystone_authtoken.service_token_roles_required=false");

    answer_token(&scene, "\"member\"", 100, "");
    answer_token(&scene, "\"admin\"", 100, "");
    ck_assert_int_eq(visit_beside(scene.authtoken, "t", "no-service", NULL, NULL), 200);
    answer_token(&scene, "\"admin\"", -100, "");
    ck_assert_int_eq(visit_beside(scene.authtoken, "old", "no-service", NULL, NULL), 401);
    scene_end(&scene);
}
END_TEST

CHECK_MAIN("event_authorization", without_authtoken_all_events_are_accepted,
           only_services_and_administrators_are_authorized,
           a_missing_an_invalid_token_and_an_outage_are_distinguished,
           a_service_token_makes_an_expired_token_valid, an_invalid_service_token_refuses,
           without_required_roles_a_service_token_grants_nothing)
