#include "identity/identity.h"
#include "tests/lib/check_main.h"
#include "tests/lib/exchange.h"

#include <string.h>

struct queried {
    struct test_exchange *test;
    struct context context;
    struct error err;
    enum identity_outcome outcome;
};

static struct queried send_request(const struct http_header *headers, const char *path_project) {
    struct queried queried = { .test = test_exchange_new("GET", "/v3/", headers, NULL) };

    queried.outcome =
        identity_none.authenticate(&identity_none, test_exchange_of(queried.test), path_project,
                                   NULL, &queried.context, &queried.err);
    return queried;
}

static void expect_caller(const struct queried *queried, const char *user, const char *project) {
    ck_assert_int_eq(queried->outcome, IDENTITY_KNOWN);
    ck_assert_str_eq(queried->context.user_id, user);
    ck_assert_str_eq(queried->context.project_id, project);
    ck_assert_str_eq(queried->context.roles[0], "admin");
    ck_assert_ptr_null(queried->context.roles[1]);
    ck_assert(queried->context.is_admin_project);
    ck_assert(!queried->context.from_service);
    test_exchange_free(queried->test);
}

#define HEADERS(...) ((const struct http_header[]){ __VA_ARGS__, { NULL, NULL } })

START_TEST(a_token_names_user_and_project) {
    struct queried queried = send_request(HEADERS({ "X-Auth-Token", "joe:0123abcd" }), "ffff");

    expect_caller(&queried, "joe", "0123abcd");
    queried = send_request(HEADERS({ "X-Auth-Token", "solo" }), NULL);
    expect_caller(&queried, "solo", "solo");
    queried = send_request(HEADERS({ "X-Auth-Token", "joe:a:b" }, { "X-Auth-User", "eve" }), NULL);
    expect_caller(&queried, "joe", "a:b");
}
END_TEST

START_TEST(clients_that_name_a_project_alone_are_admin_of_it) {
    struct queried queried = send_request(HEADERS({ "X-Auth-Token", ":p1" }), "p1");

    expect_caller(&queried, "admin", "p1");
}
END_TEST

START_TEST(without_any_header_the_caller_is_admin_of_the_paths_project) {
    struct queried queried = send_request(NULL, "0123abcd");

    expect_caller(&queried, "admin", "0123abcd");
    queried = send_request(NULL, NULL);
    expect_caller(&queried, "admin", "admin");
    queried = send_request(HEADERS({ "X-Auth-Token", "" }), NULL);
    expect_caller(&queried, "admin", "admin");
}
END_TEST

START_TEST(the_token_notused_counts_as_no_token) {
    struct queried queried = send_request(HEADERS({ "X-Auth-Token", "notused" }), NULL);

    expect_caller(&queried, "admin", "admin");
    queried = send_request(HEADERS({ "X-Auth-Token", "notused" }), "0123abcd");
    expect_caller(&queried, "admin", "0123abcd");
    queried = send_request(HEADERS({ "X-Auth-Token", "notused:p1" }), NULL);
    expect_caller(&queried, "notused", "p1");
}
END_TEST

START_TEST(harmful_names_are_refused) {
    static const char *const tokens[] = { ":", "joe:", ": p", "a b:c", "a:b\x01", "a:b\xc3\xa4" };
    char longest[600];

    for (size_t i = 0; i < LENGTH(tokens); i++) {
        struct queried queried = send_request(HEADERS({ "X-Auth-Token", tokens[i] }), NULL);

        ck_assert_int_eq(queried.outcome, IDENTITY_FAILED);
        ck_assert_int_eq(queried.err.kind, ERROR_UNAUTHORIZED);
        test_exchange_free(queried.test);
    }
    memset(longest, 'x', sizeof(longest));
    longest[256] = '\0';
    struct queried queried = send_request(HEADERS({ "X-Auth-Token", longest }), NULL);
    ck_assert_int_eq(queried.outcome, IDENTITY_FAILED);
    test_exchange_free(queried.test);
}
END_TEST

START_TEST(old_clients_get_their_token_by_a_handshake) {
    static const struct {
        struct http_header headers[4];
        const char *token;
    } cases[] = {
        { { { "X-Auth-User", "joe" }, { "X-Auth-Project-Id", "p1" }, { "Host", "h:8776" } },
          "joe:p1" },
        { { { "X-Auth-User", "joe" }, { "Host", "h:8776" } }, "joe:admin" },
        { { { "X-Auth-Key", "secret" }, { "Host", "h:8776" } }, "admin:admin" },
        { { { "X-Auth-Project-Id", "" }, { "Host", "h:8776" } }, "admin:admin" },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct queried queried = send_request(cases[i].headers, NULL);

        ck_assert_int_eq(queried.outcome, IDENTITY_ANSWERED);
        ck_assert_int_eq(test_exchange_of(queried.test)->status, 204);
        ck_assert_str_eq(test_exchange_header(queried.test, "X-Auth-Token"), cases[i].token);
        ck_assert_str_eq(test_exchange_header(queried.test, "X-Server-Management-Url"),
                         "http://h:8776/v3");
        ck_assert_ptr_null(queried.context.user_id);
        test_exchange_free(queried.test);
    }
}
END_TEST

START_TEST(a_handshake_with_bad_names_is_refused) {
    struct queried queried = send_request(HEADERS({ "X-Auth-User", "a:b" }), NULL);

    ck_assert_int_eq(queried.outcome, IDENTITY_FAILED);
    test_exchange_free(queried.test);
    queried = send_request(HEADERS({ "X-Auth-Project-Id", "a b" }), NULL);
    ck_assert_int_eq(queried.outcome, IDENTITY_FAILED);
    ck_assert_uint_eq(test_exchange_of(queried.test)->reply_header_count, 0);
    test_exchange_free(queried.test);
}
END_TEST

START_TEST(a_service_names_its_role_beside_the_token) {
    static const struct {
        const char *roles;
        bool from_service;
    } cases[] = {
        { "service", true },
        { "reader, service", true },
        { "reader,service ,x", true },
        { "\tservice\t", true },
        { "", false },
        { "services", false },
        { "reader, admin", false },
        { "Service", false },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct queried queried = send_request(
            HEADERS({ "X-Auth-Token", "nova:p1" }, { "X-Service-Roles", cases[i].roles }), NULL);

        ck_assert_int_eq(queried.outcome, IDENTITY_KNOWN);
        ck_assert_str_eq(queried.context.user_id, "nova");
        ck_assert_msg(queried.context.from_service == cases[i].from_service, "%s", cases[i].roles);
        test_exchange_free(queried.test);
    }
}
END_TEST

static void expect_base(const char *host, const char *url) {
    struct test_exchange *test =
        test_exchange_new("GET", "/", host ? HEADERS({ "Host", host }) : NULL, NULL);

    ck_assert_str_eq(identity_base_url(test_exchange_of(test)), url);
    test_exchange_free(test);
}

START_TEST(the_base_url_takes_only_hosts) {
    expect_base("volume.example.org:8776", "http://volume.example.org:8776");
    expect_base("[::1]:8776", "http://[::1]:8776");
    expect_base("Az_09-.", "http://Az_09-.");
    expect_base(NULL, "http://localhost:8776");
    expect_base("", "http://localhost:8776");
    expect_base("evil/path", "http://localhost:8776");
    expect_base("a\"b", "http://localhost:8776");
    expect_base("a\xc3\xa4", "http://localhost:8776");
}
END_TEST

CHECK_MAIN("identity_none", a_token_names_user_and_project,
           clients_that_name_a_project_alone_are_admin_of_it,
           without_any_header_the_caller_is_admin_of_the_paths_project,
           the_token_notused_counts_as_no_token, harmful_names_are_refused,
           old_clients_get_their_token_by_a_handshake, a_handshake_with_bad_names_is_refused,
           a_service_names_its_role_beside_the_token, the_base_url_takes_only_hosts)
