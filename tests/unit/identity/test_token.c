#include "identity/token.h"

#include "identity/token_cache.private.h"
#include "tests/lib/check_main.h"
#include "tests/lib/script_keystone.h"

#include <string.h>

static const struct token *read_text(const char *body, struct error *err) {
    return token_read(body, strlen(body), "volumev3", err);
}

static const struct token *read_good(const char *roles, const char *more) {
    struct error err;
    const struct token *token = read_text(script_keystone_token(roles, 100, more), &err);

    ck_assert_ptr_nonnull(token);
    return token;
}

START_TEST(a_token_has_user_project_and_roles) {
    const struct token *token = read_good("\"member\", \"Reader\"", "");

    ck_assert_str_eq(token->user_id, "u1");
    ck_assert_str_eq(token->user_domain_id, "ud");
    ck_assert_str_eq(token->project_id, "0123abcd");
    ck_assert_str_eq(token->project_domain_id, "pd");
    ck_assert_ptr_null(token->domain_id);
    ck_assert_str_eq(token->roles[0], "member");
    ck_assert_str_eq(token->roles[1], "Reader");
    ck_assert_ptr_null(token->roles[2]);
    ck_assert(token->is_admin_project && !token->system_scope && !token->restricted);
    ck_assert(token_has_role(token, "reader") && !token_has_role(token, "admin"));
    ck_assert(token_allows(token, NULL, "GET", "/anything"));
    token_release(token_hold(token));
    token_release(token);
    token_release(NULL);
}
END_TEST

START_TEST(other_scopes_are_seen) {
    const struct token *token = read_good(
        "",
        "\"system\": {\"all\": true}, \"is_admin_project\": false, \"domain\": {\"id\": \"d\"}");

    ck_assert(token->system_scope && !token->is_admin_project);
    ck_assert_str_eq(token->domain_id, "d");
    ck_assert_ptr_null(token->roles[0]);
    token_release(token);
}
END_TEST

START_TEST(a_malformed_token_is_refused) {
    static const char *const bodies[] = {
        "",
        "{}",
        "{\"token\": {\"user\": {\"id\": 5}, \"expires_at\": \"2030-01-01T00:00:00Z\"}}",
        "{\"token\": {\"user\": {\"id\": \"u\"}}}",
        "{\"token\": {\"user\": {\"id\": \"u\"}, \"expires_at\": \"soon\"}}",
        "{\"token\": {\"user\": {\"id\": \"u\"}, \"expires_at\": \"2030-01-01\", \"roles\": [{}]}}",
    };

    for (size_t i = 0; i < LENGTH(bodies); i++) {
        struct error err = { 0 };

        ck_assert_ptr_null(read_text(bodies[i], &err));
        ck_assert_int_eq(err.kind, ERROR_UNAVAILABLE);
    }
}
END_TEST

#define CATALOG      "\"catalog\": [{\"type\": \"compute\"}, {\"type\": \"volumev3\"}]"
#define RULES(rules) "\"application_credential\": {\"access_rules\": [" rules "]}"
#define RULE(service, method, path) \
    "{\"service\": \"" service "\", \"method\": \"" method "\", \"path\": \"" path "\"}"

START_TEST(access_rules_allow_only_the_named_calls) {
    static const struct {
        const char *pattern, *path;
        bool fits;
    } cases[] = {
        { "/v3/volumes", "/v3/volumes", true },
        { "/v3/volumes", "/v3/volumes/", false },
        { "/v3/volumes", "/v3/volume", false },
        { "/v3/*/volumes", "/v3/p/volumes", true },
        { "/v3/*/volumes", "/v3//volumes", false },
        { "/v3/*/volumes", "/v3/p/q/volumes", false },
        { "/v3/volumes*", "/v3/volumes", false },
        { "/v3/volumes*", "/v3/volumes/", false },
        { "/v3/volumes*", "/v3/volumesx", true },
        { "/v3/volumes/*", "/v3/volumes/v", true },
        { "/v3/volumes/*", "/v3/volumes/", false },
        { "/v3/volumes/*", "/v3/volumes/v/action", false },
        { "/v3/{project}/volumes", "/v3/p/volumes", true },
        { "/v3/{project}/volumes", "/v3//volumes", false },
        { "/v3/{project}/volumes", "/v3/p/q/volumes", false },
        { "/v3/**", "/v3/p/q/volumes", true },
        { "/v3/**", "/v3/", true },
        { "/v3/**", "/v3", false },
        { "/v3/**/detail", "/v3/a/b/detail", true },
        { "/v3/**/detail", "/v3/a/b/details", false },
        { "/v3/{id", "/v3/{id", true },
        { "**", "", true },
        { "/*a*b", "/xaxb", true },
        { "/*a*b", "/xaxbx", false },
        { "/v3/{a}{b}", "/v3/xy", true },
        { "/v3/{a}{b}", "/v3/x", false },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        char more[512];
        const struct token *token;

        snprintf(more, sizeof(more), CATALOG ", " RULES(RULE("volumev3", "GET", "%s")),
                 cases[i].pattern);
        token = read_good("", more);
        ck_assert_msg(token_allows(token, "volumev3", "GET", cases[i].path) == cases[i].fits,
                      "%s %s", cases[i].pattern, cases[i].path);
        ck_assert(!token_allows(token, "volumev3", "POST", cases[i].path));
        ck_assert(!token_allows(token, NULL, "GET", cases[i].path));
        token_release(token);
    }
}
END_TEST

START_TEST(access_rules_of_others_and_broken_ones_allow_nothing) {
    static const char *const more[] = {
        CATALOG ", " RULES(""),
        CATALOG ", " RULES(RULE("compute", "GET", "**")),
        CATALOG ", " RULES("{\"service\": \"volumev3\", \"method\": \"GET\"}"),
        CATALOG ", " RULES("5"),
        RULES(RULE("volumev3", "GET", "**")), /* without us in the catalog */
    };
    char longest[1024];

    for (size_t i = 0; i < LENGTH(more); i++) {
        const struct token *token = read_good("", more[i]);

        ck_assert(!token_allows(token, "volumev3", "GET", "/v3/volumes"));
        token_release(token);
    }
    snprintf(longest, sizeof(longest), CATALOG ", " RULES(RULE("volumev3", "GET", "%0300d**")), 0);
    const struct token *token = read_good("", longest);
    ck_assert(!token_allows(token, "volumev3", "GET", "/v3/volumes"));
    token_release(token);
    token = read_good("", CATALOG ", \"application_credential\": {\"access_rules\": null}");
    ck_assert(token_allows(token, "volumev3", "GET", "/v3/volumes"));
    token_release(token);
}
END_TEST

/* ---- the cache ---- */

static struct token_digest digest_of(unsigned number) {
    struct token_digest digest = { { 0 } };

    memcpy(digest.bytes, &number, sizeof(number));
    return digest;
}

START_TEST(results_expire) {
    struct token_cache *cache = token_cache_new(4, 4);
    const struct token *token = read_good("", ""), *found;
    struct token_digest good = digest_of(1), bad = digest_of(2), other = digest_of(1 + 4096);
    bool is_bad;

    token_cache_put(cache, &good, token, 100);
    token_cache_put_bad(cache, &bad, false, 50);
    found = token_cache_find(cache, &good, false, 99, &is_bad);
    ck_assert_ptr_eq(found, token);
    ck_assert(!is_bad);
    token_release(found);
    ck_assert_ptr_null(token_cache_find(cache, &other, false, 1, &is_bad));
    ck_assert_ptr_null(token_cache_find(cache, &bad, false, 49, &is_bad));
    ck_assert(is_bad);
    ck_assert_ptr_null(token_cache_find(cache, &bad, true, 49, &is_bad));
    ck_assert(!is_bad); /* it may only have expired */
    token_cache_put_bad(cache, &bad, true, 50);
    ck_assert_ptr_null(token_cache_find(cache, &bad, true, 49, &is_bad));
    ck_assert(is_bad);
    ck_assert_ptr_null(token_cache_find(cache, &good, false, 100, &is_bad));
    ck_assert_ptr_null(token_cache_find(cache, &bad, false, 50, &is_bad));
    ck_assert(!is_bad);
    ck_assert_uint_eq(token_cache_count(cache), 0);
    token_release(token);
    token_cache_free(cache);
    token_cache_free(NULL);
}
END_TEST

START_TEST(the_least_recently_used_is_evicted_and_bad_tokens_evict_no_good_ones) {
    struct token_cache *cache = token_cache_new(2, 2);
    const struct token *token = read_good("", "");
    struct token_digest digests[8];
    bool bad;

    for (unsigned i = 0; i < LENGTH(digests); i++)
        digests[i] = digest_of(i);
    token_cache_put(cache, &digests[0], token, 100);
    token_cache_put(cache, &digests[1], token, 100);
    token_release(token_cache_find(cache, &digests[0], false, 1, &bad));
    token_cache_put(cache, &digests[2], token, 100);
    ck_assert_ptr_null(token_cache_find(cache, &digests[1], false, 1, &bad));
    for (unsigned i = 3; i < LENGTH(digests); i++)
        token_cache_put_bad(cache, &digests[i], false, 100);
    ck_assert_uint_eq(token_cache_count(cache), 4);
    token_release(token_cache_find(cache, &digests[0], false, 1, &bad));
    token_cache_put_bad(cache, &digests[0], false, 100); /* revoked: the newer result counts */
    ck_assert_ptr_null(token_cache_find(cache, &digests[0], false, 1, &bad));
    ck_assert(bad);
    token_release(token);
    token_cache_free(cache);
}
END_TEST

CHECK_MAIN("token", a_token_has_user_project_and_roles, other_scopes_are_seen,
           a_malformed_token_is_refused, access_rules_allow_only_the_named_calls,
           access_rules_of_others_and_broken_ones_allow_nothing, results_expire,
           the_least_recently_used_is_evicted_and_bad_tokens_evict_no_good_ones)
