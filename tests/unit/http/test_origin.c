#include "http/origin.h"
#include "tests/lib/check_main.h"
#include "tests/lib/exchange.h"

static bool is_taken(const struct http_header *headers, const struct http_origin *origin) {
    struct test_exchange *test = test_exchange_new("GET", "/", headers, NULL);
    bool here = !http_origin_fault(test_exchange_of(test), origin);

    test_exchange_free(test);
    return here;
}

static bool is_from_here(const char *host, const char *page, const struct http_origin *origin) {
    const struct http_header headers[] = { { host ? "Host" : "X-A", host ? host : "" },
                                           { page ? "Origin" : "X-B", page ? page : "" },
                                           { NULL, NULL } };

    return is_taken(headers, origin);
}

/* As an image or a link in a page, which send no Origin. */
static bool is_from_site(const char *site, const struct http_origin *origin) {
    const struct http_header headers[] = { { "Host", "localhost:8776" },
                                           { "Sec-Fetch-Site", site },
                                           { NULL, NULL } };

    return is_taken(headers, origin);
}

static const char *const names[] = { "storage.example", "node1", NULL };
static const struct http_origin ours = { .names = names };

START_TEST(foreign_host_names_are_replaced) {
    static const char *const here[] = { NULL,        "localhost",       "LocalHost:8776",
                                        "127.0.0.1", "127.0.0.1:8776",  "[::1]:8776",
                                        "10.1.2.3",  "storage.example", "NODE1:8776" };
    static const char *const elsewhere[] = { "evil.example",
                                             "evil.example:8776",
                                             "localhost.evil.test",
                                             "127.0.0.1.evil.test",
                                             "storage.example.evil",
                                             "",
                                             "x/evil",
                                             "node1@evil" };
    const struct http_origin any = { .any_host = true };

    for (size_t i = 0; i < LENGTH(here); i++)
        ck_assert_msg(is_from_here(here[i], NULL, &ours), "%s", here[i]);
    for (size_t i = 0; i < LENGTH(elsewhere); i++) {
        ck_assert_msg(!is_from_here(elsewhere[i], NULL, &ours), "%s", elsewhere[i]);
        ck_assert_msg(is_from_here(elsewhere[i], NULL, &any), "%s", elsewhere[i]);
    }
}
END_TEST

START_TEST(pages_of_other_origins_are_refused) {
    const struct http_origin any = { .any_host = true };

    ck_assert(is_from_here("localhost:8776", "http://localhost:8776", &ours));
    ck_assert(is_from_here("localhost:8776", "https://LOCALHOST:8776", &ours));
    ck_assert(!is_from_here("localhost:8776", "http://localhost:3000", &ours));
    ck_assert(!is_from_here("127.0.0.1:8776", "http://evil.example", &ours));
    ck_assert(!is_from_here("127.0.0.1:8776", "null", &ours));
    ck_assert(!is_from_here(NULL, "http://localhost", &ours));
    ck_assert(!is_from_here("node:8776", "http://evil.example", &any));
    ck_assert(is_from_site("same-origin", &ours));
    ck_assert(is_from_site("none", &ours));
    ck_assert(!is_from_site("same-site", &ours));
    ck_assert(!is_from_site("cross-site", &ours));
    ck_assert(!is_from_site("cross-site", &any));
}
END_TEST

START_TEST(hosts_are_found_in_urls) {
    static const char *const cases[][2] = {
        { "http://a.example/volume", "a.example" },
        { "https://a.example:1/x", "a.example" },
        { "http://[::1]:8776/v3", "::1" },
        { "a:1", "a" },
        { "a", "a" },
        { "", "" },
    };
    autoarena struct arena *arena = arena_new();

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_str_eq(http_origin_host(arena, cases[i][0]), cases[i][1]);
}
END_TEST

CHECK_MAIN("http_origin", foreign_host_names_are_replaced, pages_of_other_origins_are_refused,
           hosts_are_found_in_urls)
