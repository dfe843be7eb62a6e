#include "identity/identity.h"

#include "identity/authtoken.h"
#include "tests/lib/check_main.h"
#include "tests/lib/exchange.h"
#include "tests/lib/script_keystone.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct scene {
    struct script_server *server;
    struct config *config;
    struct authtoken *authtoken;
    struct identity *identity;
    struct error err;

    /* the last caller */
    struct test_exchange *test;
    struct context context;
    enum identity_outcome outcome;
    bool later;
    struct identity_later tell;
    pthread_mutex_t lock; /* guards `reported` */
    pthread_cond_t changed;
    bool reported;
};

static struct scene *scene_with(const char *option1, const char *option2) {
    static const struct option *const tables[] = { authtoken_options, NULL };
    struct scene *scene = calloc(1, sizeof(*scene));
    const char *arguments[] = { NULL,
                                "--keystone_authtoken.username=scoria",
                                "--keystone_authtoken.password=secret",
                                "--keystone_authtoken.project_name=service",
                                "--keystone_authtoken.service_type=volumev3",
                                option1,
                                option1 ? option2 : NULL,
                                NULL };
    char url[128];

    scene->server = script_server_new();
    script_keystone_begin(scene->server);
    snprintf(url, sizeof(url), "--keystone_authtoken.auth_url=%s/v3",
             script_server_url(scene->server));
    arguments[0] = url;
    ck_assert_int_eq(config_load(tables, NULL, arguments, &scene->config, &scene->err), 0);
    ck_assert_int_eq(authtoken_new(scene->config, 0, &scene->authtoken, &scene->err), 0);
    scene->identity = identity_keystone_new(scene->config, scene->authtoken);
    pthread_mutex_init(&scene->lock, NULL);
    pthread_cond_init(&scene->changed, NULL);
    return scene;
}

static void forget_caller(struct scene *scene) {
    if (scene->test)
        test_exchange_free(scene->test);
    scene->test = NULL;
}

static void scene_end(struct scene *scene) {
    forget_caller(scene);
    identity_keystone_free(scene->identity);
    authtoken_free(scene->authtoken);
    config_free(scene->config);
    script_server_free(scene->server);
    free(scene);
}

static void note_outcome(void *arg, enum identity_outcome outcome, const struct error *err) {
    struct scene *scene = arg;

    pthread_mutex_lock(&scene->lock);
    scene->outcome = outcome;
    scene->err = *err;
    scene->reported = true;
    pthread_cond_broadcast(&scene->changed);
    pthread_mutex_unlock(&scene->lock);
}

static void await(struct scene *scene) {
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 20;
    pthread_mutex_lock(&scene->lock);
    while (!scene->reported)
        ck_assert_int_ne(pthread_cond_timedwait(&scene->changed, &scene->lock, &until), ETIMEDOUT);
    pthread_mutex_unlock(&scene->lock);
}

static enum identity_outcome send_request(struct scene *scene, const char *method, const char *path,
                                          const struct http_header *headers) {
    enum identity_outcome outcome;
    struct error err = { 0 };

    forget_caller(scene);
    scene->test = test_exchange_new(method, path, headers, NULL);
    scene->context = (struct context){ 0 };
    scene->reported = false;
    scene->tell = (struct identity_later){ note_outcome, scene };
    outcome = scene->identity->authenticate(scene->identity, test_exchange_of(scene->test), NULL,
                                            &scene->tell, &scene->context, &err);
    scene->later = outcome == IDENTITY_LATER;
    if (scene->later) {
        await(scene);
    } else {
        scene->outcome = outcome;
        scene->err = err;
    }
    return scene->outcome;
}

#define HEADERS(...) ((const struct http_header[]){ __VA_ARGS__, { NULL, NULL } })
#define USER \
    { "X-Auth-Token", "user-token" }
#define SERVICE \
    { "X-Service-Token", "service-token" }
#define REQUEST(scene, ...) send_request(scene, "GET", "/v3/volumes", HEADERS(__VA_ARGS__))

static void expect_refused(struct scene *scene) {
    char challenge[128];

    ck_assert_int_eq(scene->outcome, IDENTITY_FAILED);
    ck_assert_int_eq(scene->err.kind, ERROR_UNAUTHORIZED);
    ck_assert_ptr_null(scene->context.user_id);
    snprintf(challenge, sizeof(challenge), "Keystone uri=\"%s/v3\"",
             script_server_url(scene->server));
    ck_assert_str_eq(test_exchange_header(scene->test, "WWW-Authenticate"), challenge);
}

START_TEST(a_callers_token_fills_the_context) {
    struct scene *scene = scene_with(NULL, NULL);

    script_keystone_answer(
        scene->server, 200,
        script_keystone_token("\"member\", \"reader\"", 100, "\"domain\": {\"id\": \"d\"}"), 0);
    for (unsigned i = 0; i < 2; i++) { /* queried, and remembered */
        ck_assert_int_eq(REQUEST(scene, USER), IDENTITY_KNOWN);
        ck_assert_int_eq(scene->later, i == 0);
        ck_assert_str_eq(scene->context.user_id, "u1");
        ck_assert_str_eq(scene->context.project_id, "0123abcd");
        ck_assert_str_eq(scene->context.user_domain_id, "ud");
        ck_assert_str_eq(scene->context.project_domain_id, "pd");
        ck_assert_str_eq(scene->context.domain_id, "d");
        ck_assert_str_eq(scene->context.roles[0], "member");
        ck_assert_str_eq(scene->context.roles[1], "reader");
        ck_assert_ptr_null(scene->context.roles[2]);
        ck_assert(scene->context.is_admin_project && !scene->context.from_service);
        ck_assert_ptr_null(test_exchange_header(scene->test, "WWW-Authenticate"));
    }
    ck_assert_int_eq(REQUEST(scene, { "X-Storage-Token", "user-token" }), IDENTITY_KNOWN);
    ck_assert(!scene->later);
    scene_end(scene);
}
END_TEST

START_TEST(no_token_or_a_bad_one_is_sent_to_keystone) {
    struct scene *scene = scene_with(NULL, NULL);

    script_keystone_answer(scene->server, 404, KEYSTONE_UNKNOWN, 0);
    send_request(scene, "GET", "/v3/volumes", NULL);
    expect_refused(scene);
    REQUEST(scene, { "X-Auth-Token", "  " }, { "X-Identity-Status", "Confirmed" },
            { "X-User-Id", "forged" });
    expect_refused(scene);
    ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), 0);
    for (unsigned i = 0; i < 2; i++) {
        REQUEST(scene, USER);
        ck_assert_int_eq(scene->later, i == 0);
        expect_refused(scene);
    }
    scene_end(scene);
}
END_TEST

START_TEST(the_configured_address_is_named) {
    struct scene *scene = scene_with("--keystone_authtoken.www_authenticate_uri=https://k/", NULL);

    send_request(scene, "GET", "/v3/volumes", NULL);
    ck_assert_str_eq(test_exchange_header(scene->test, "WWW-Authenticate"),
                     "Keystone uri=\"https://k/\"");
    scene_end(scene);
}
END_TEST

START_TEST(an_outage_is_no_refusal) {
    struct scene *scene = scene_with(NULL, NULL);

    ck_assert_int_eq(REQUEST(scene, USER), IDENTITY_FAILED);
    ck_assert_int_eq(scene->err.kind, ERROR_TRY_LATER);
    ck_assert_ptr_null(test_exchange_header(scene->test, "WWW-Authenticate"));
    ck_assert_int_eq(REQUEST(scene, USER, SERVICE), IDENTITY_FAILED);
    ck_assert_int_eq(scene->err.kind, ERROR_TRY_LATER);
    scene_end(scene);
}
END_TEST

/* Of the service's token, then of the user's. */
static void answer_both(struct scene *scene, const char *service_roles, int64_t user_seconds) {
    script_keystone_answer(scene->server, 200, script_keystone_token(service_roles, 100, ""), 1);
    script_keystone_answer(scene->server, 200,
                           script_keystone_token("\"member\"", user_seconds, ""), 1);
}

START_TEST(a_role_in_a_header_is_no_service_token) {
    struct scene *scene = scene_with(NULL, NULL);

    script_keystone_answer(scene->server, 200, script_keystone_token("\"member\"", 100, ""), 0);
    ck_assert_int_eq(REQUEST(scene, USER, { "X-Service-Roles", "service" }), IDENTITY_KNOWN);
    ck_assert(!scene->context.from_service);
    scene_end(scene);
}
END_TEST

START_TEST(a_service_may_come_with_an_expired_token) {
    struct scene *scene = scene_with(NULL, NULL);

    answer_both(scene, "\"Service\"", -5);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(REQUEST(scene, USER, SERVICE), IDENTITY_KNOWN);
        ck_assert_int_eq(scene->later, i == 0);
        ck_assert(scene->context.from_service);
        ck_assert_str_eq(scene->context.roles[0], "member");
    }
    ck_assert_uint_eq(script_server_count(scene->server, "GET", KEYSTONE_TOKENS "?allow_expired=1"),
                      1);
    REQUEST(scene, USER); /* alone */
    ck_assert(!scene->later);
    expect_refused(scene);
    scene_end(scene);
}
END_TEST

START_TEST(a_service_token_without_the_role_refuses_the_request) {
    struct scene *scene = scene_with(NULL, NULL);

    answer_both(scene, "\"member\"", 100);
    for (unsigned i = 0; i < 2; i++) {
        REQUEST(scene, USER, SERVICE);
        expect_refused(scene);
    }
    scene_end(scene);
}
END_TEST

START_TEST(a_bad_service_token_refuses_the_request) {
    struct scene *scene = scene_with(NULL, NULL);

    script_keystone_answer(scene->server, 404, KEYSTONE_UNKNOWN, 1);
    script_keystone_answer(scene->server, 200, script_keystone_token("", 100, ""), 0);
    for (unsigned i = 0; i < 2; i++) {
        REQUEST(scene, USER, SERVICE);
        expect_refused(scene);
    }
    ck_assert_int_eq(REQUEST(scene, USER, { "X-Service-Token", " " }), IDENTITY_KNOWN);
    ck_assert(!scene->context.from_service);
    scene_end(scene);
}
END_TEST

START_TEST(where_the_role_is_not_required_the_request_passes_without_its_rights) {
    struct scene *scene = scene_with("--keystone_authtoken.service_token_roles_required=false",
                                     "--keystone_authtoken.service_token_roles=one, two");

    answer_both(scene, "\"service\"", 100);
    ck_assert_int_eq(REQUEST(scene, USER, SERVICE), IDENTITY_KNOWN);
    ck_assert(!scene->context.from_service);
    ck_assert_uint_eq(script_server_count(scene->server, "GET", KEYSTONE_TOKENS), 2);
    answer_both(scene, "\"two\"", 100);
    ck_assert_int_eq(REQUEST(scene, { "X-Auth-Token", "u" }, { "X-Service-Token", "s" }),
                     IDENTITY_KNOWN);
    ck_assert(scene->context.from_service);
    scene_end(scene);
}
END_TEST

#define RESTRICTED                                                                    \
    "\"catalog\": [{\"type\": \"volumev3\"}], \"application_credential\": "           \
    "{\"access_rules\": [{\"service\": \"volumev3\", \"method\": \"GET\", \"path\": " \
    "\"/v3/volumes/*\"}]}"

START_TEST(access_rules_restrict_a_user_but_not_a_service) {
    struct scene *scene = scene_with(NULL, NULL);

    script_keystone_answer(scene->server, 200, script_keystone_token("", 100, RESTRICTED), 1);
    ck_assert_int_eq(send_request(scene, "GET", "/v3/volumes/v", HEADERS(USER)), IDENTITY_KNOWN);
    send_request(scene, "DELETE", "/v3/volumes/v", HEADERS(USER));
    ck_assert(!scene->later);
    expect_refused(scene);
    script_keystone_answer(scene->server, 200, script_keystone_token("\"service\"", 100, ""), 1);
    ck_assert_int_eq(send_request(scene, "DELETE", "/v3/volumes/v", HEADERS(USER, SERVICE)),
                     IDENTITY_KNOWN);
    scene_end(scene);
}
END_TEST

START_TEST(without_an_address_nothing_starts) {
    static const struct option *const tables[] = { authtoken_options, NULL };
    const char *const incomplete[] = { "--keystone_authtoken.auth_url=http://k", NULL };
    struct authtoken *authtoken;
    struct config *config;
    struct error err;

    ck_assert_int_eq(config_load(tables, NULL, NULL, &config, &err), 0);
    ck_assert_int_eq(authtoken_new(config, 0, &authtoken, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "auth_url"));
    config_free(config);
    ck_assert_int_eq(config_load(tables, NULL, incomplete, &config, &err), 0);
    ck_assert_int_eq(authtoken_new(config, 0, &authtoken, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "username"));
    config_free(config);
    authtoken_free(NULL);
}
END_TEST

CHECK_MAIN("identity_keystone", a_callers_token_fills_the_context,
           no_token_or_a_bad_one_is_sent_to_keystone, the_configured_address_is_named,
           an_outage_is_no_refusal, a_service_may_come_with_an_expired_token,
           a_role_in_a_header_is_no_service_token,
           a_service_token_without_the_role_refuses_the_request,
           a_bad_service_token_refuses_the_request,
           where_the_role_is_not_required_the_request_passes_without_its_rights,
           access_rules_restrict_a_user_but_not_a_service, without_an_address_nothing_starts)
