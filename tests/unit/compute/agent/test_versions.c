#include "tests/lib/check_main.h"

#include "compute/agent/versions.h"
#include "tests/lib/exchange.h"

#include <string.h>

#define STANDARD "OpenStack-API-Version"
#define LEGACY   "X-OpenStack-Nova-API-Version"

/* Negotiates with up to two headers; the result, and the headers of the response. */
static int negotiate(const char *standard, const char *legacy, struct compute_version *version,
                     struct error *err, char sent_headers[64]) {
    struct http_header headers[3] = { 0 };
    struct test_exchange *test;
    unsigned count = 0;
    const char *header;
    int result;

    if (standard)
        headers[count++] = (struct http_header){ STANDARD, standard };
    if (legacy)
        headers[count++] = (struct http_header){ LEGACY, legacy };
    test = test_exchange_new("POST", "/", headers, NULL);
    result = versions_negotiate(test_exchange_of(test), version, err);
    header = test_exchange_header(test, STANDARD);
    snprintf(sent_headers, 64, "%s", header ? header : "");
    if (header) {
        ck_assert_str_eq(test_exchange_header(test, LEGACY), header + strlen("compute "));
        ck_assert_str_eq(test_exchange_header(test, "Vary"), STANDARD ", " LEGACY);
    }
    test_exchange_free(test);
    return result;
}

START_TEST(the_requested_version_is_read_and_returned) {
    static const struct {
        const char *standard, *legacy;
        unsigned minor;
    } rows[] = {
        { NULL, NULL, 1 },
        { "compute 2.51", NULL, 51 },
        { "COMPUTE 2.1", NULL, 1 },
        { "compute   2.93", NULL, 93 },
        { "compute latest", NULL, 93 },
        { "volume 3.71, compute 2.60 ,identity 3.0", NULL, 60 },
        { NULL, "2.76", 76 },
        { NULL, "latest", 93 },
        { "compute 2.51", "2.90", 51 }, /* the standard header wins */
        { "volume 3.71", "2.90", 90 },
        { "volume 3.71", NULL, 1 },
        { "compute", NULL, 1 },
        { ",,", NULL, 1 },
    };

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct compute_version version = { 0 };
        struct error err = { 0 };
        char sent_headers[64], wanted[64];

        ck_assert_int_eq(negotiate(rows[i].standard, rows[i].legacy, &version, &err, sent_headers),
                         0);
        ck_assert_uint_eq(version.major, 2);
        ck_assert_uint_eq(version.minor, rows[i].minor);
        snprintf(wanted, sizeof(wanted), "compute 2.%u", rows[i].minor);
        ck_assert_str_eq(sent_headers, wanted);
    }
}
END_TEST

START_TEST(a_version_outside_of_the_range_is_refused_with_the_range) {
    static const char *const versions[] = { "2.94", "2.0", "3.1", "1.99", "2.999999999" };

    for (size_t i = 0; i < LENGTH(versions); i++) {
        struct compute_version version = { 7, 7 };
        struct error err = { 0 };
        char sent_headers[64], wanted[64];

        ck_assert_int_eq(negotiate(NULL, versions[i], &version, &err, sent_headers), -1);
        ck_assert_int_eq(err.kind, ERROR_NOT_ACCEPTABLE);
        ck_assert_ptr_nonnull(strstr(err.message, "Minimum is 2.1 and maximum is 2.93."));
        snprintf(wanted, sizeof(wanted), "compute %s", versions[i]);
        ck_assert_str_eq(sent_headers, wanted);
        ck_assert_uint_eq(version.minor, 7);
    }
}
END_TEST

START_TEST(a_malformed_version_is_a_bad_request) {
    static const char *const versions[] = { "2",    "2.",    "2.x",  ".51", "x",           "2.51.1",
                                            "2.05", "02.51", "0.51", "",    "2.1234567890" };

    for (size_t i = 0; i < LENGTH(versions); i++) {
        struct compute_version version = { 7, 7 };
        struct error err = { 0 };
        char sent_headers[64];

        ck_assert_int_eq(negotiate(NULL, versions[i], &version, &err, sent_headers), -1);
        ck_assert_int_eq(err.kind, ERROR_BAD_REQUEST);
        ck_assert_str_eq(sent_headers, "");
        ck_assert_uint_eq(version.minor, 7);
    }
}
END_TEST

static const char *text(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

static const char *self_link(const json_t *entry) {
    const json_t *link = json_array_get(json_object_get(entry, "links"), 0);

    ck_assert_str_eq(text(link, "rel"), "self");
    return text(link, "href");
}

START_TEST(the_list_names_both_versions) {
    struct test_exchange *test = test_exchange_new("GET", "/", NULL, NULL);
    const json_t *list, *old, *now;

    versions_reply_list(test_exchange_of(test), "http://host:8774/v2.1");
    ck_assert_int_eq(test_exchange_await(test), 200);
    ck_assert_str_eq(test_exchange_header(test, "Content-Type"), "application/json");
    list = json_object_get(test_exchange_json(test), "versions");
    ck_assert_uint_eq(json_array_size(list), 2);
    old = json_array_get(list, 0);
    now = json_array_get(list, 1);
    ck_assert_str_eq(text(old, "id"), "v2.0");
    ck_assert_str_eq(text(old, "status"), "DEPRECATED");
    ck_assert_str_eq(text(old, "version"), "");
    ck_assert_str_eq(text(old, "min_version"), "");
    ck_assert_str_eq(self_link(old), "http://host:8774/v2/");
    ck_assert_str_eq(text(now, "id"), "v2.1");
    ck_assert_str_eq(text(now, "status"), "CURRENT");
    ck_assert_str_eq(text(now, "min_version"), "2.1");
    ck_assert_str_eq(text(now, "version"), "2.93");
    ck_assert_str_eq(self_link(now), "http://host:8774/v2.1/");
    test_exchange_free(test);
}
END_TEST

START_TEST(the_document_of_one_version_has_its_media_type) {
    struct test_exchange *test = test_exchange_new("GET", "/v2.1/", NULL, NULL);
    const json_t *entry, *type;

    versions_reply_one(test_exchange_of(test), "http://host:8774/compute/v2.1/");
    ck_assert_int_eq(test_exchange_await(test), 200);
    entry = json_object_get(test_exchange_json(test), "version");
    ck_assert_str_eq(text(entry, "id"), "v2.1");
    ck_assert_str_eq(text(entry, "version"), "2.93");
    ck_assert_str_eq(self_link(entry), "http://host:8774/compute/v2.1/");
    type = json_array_get(json_object_get(entry, "media-types"), 0);
    ck_assert_str_eq(text(type, "type"), "application/vnd.openstack.compute+json;version=2.1");
    test_exchange_free(test);
}
END_TEST

START_TEST(a_root_without_the_version_stays_as_it_is) {
    struct test_exchange *test = test_exchange_new("GET", "/", NULL, NULL);
    const json_t *list;

    versions_reply_list(test_exchange_of(test), "http://host");
    list = json_object_get(test_exchange_json(test), "versions");
    ck_assert_str_eq(self_link(json_array_get(list, 1)), "http://host/v2.1/");
    test_exchange_free(test);
}
END_TEST

CHECK_MAIN("versions", the_requested_version_is_read_and_returned,
           a_version_outside_of_the_range_is_refused_with_the_range,
           a_malformed_version_is_a_bad_request, the_list_names_both_versions,
           the_document_of_one_version_has_its_media_type,
           a_root_without_the_version_stays_as_it_is)
