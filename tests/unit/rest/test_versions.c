#include "rest/versions.h"
#include "tests/lib/check_main.h"
#include "tests/lib/exchange.h"

#include <string.h>

static void expect(const char *header, unsigned minor, const char *echo) {
    autoarena struct arena *arena = arena_new();
    struct error err = { .kind = ERROR_NONE };
    struct version version;

    ck_assert_msg(version_negotiate(arena, header, &version, &err) == 0, "%s", err.message);
    ck_assert_uint_eq(version.minor, minor);
    ck_assert_str_eq(version.echo, echo);
}

static void refused(const char *header, enum error_kind kind, const char *echo) {
    autoarena struct arena *arena = arena_new();
    struct error err = { .kind = ERROR_NONE };
    struct version version;

    ck_assert_msg(version_negotiate(arena, header, &version, &err) == -1, "'%s'", header);
    ck_assert_int_eq(err.kind, kind);
    ck_assert_pstr_eq(version.echo, echo);
}

START_TEST(supported_versions_are_accepted) {
    expect(NULL, 0, "volume 3.0");
    expect("volume 3.0", 0, "volume 3.0");
    expect("volume 3.9", 9, "volume 3.9");
    expect("volume 3.71", 71, "volume 3.71");
    expect("volume latest", 71, "volume 3.71");
    expect("volume\t 3.5 ", 5, "volume 3.5");
    expect("compute 2.1,volume 3.10", 10, "volume 3.10");
    expect("compute 2.1, volume 3.10 , volume 3.11", 10, "volume 3.10");
}
END_TEST

START_TEST(invalid_version_headers_are_bad_requests) {
    refused("compute 2.1", ERROR_BAD_REQUEST, NULL);
    refused("", ERROR_BAD_REQUEST, NULL);
    refused("volume", ERROR_BAD_REQUEST, NULL);
    refused("volume ", ERROR_BAD_REQUEST, NULL);
    refused("volume 3", ERROR_BAD_REQUEST, NULL);
    refused("volume 3.", ERROR_BAD_REQUEST, NULL);
    refused("volume 3.01", ERROR_BAD_REQUEST, NULL);
    refused("volume 03.1", ERROR_BAD_REQUEST, NULL);
    refused("volume 0.1", ERROR_BAD_REQUEST, NULL);
    refused("volume 3.1.1", ERROR_BAD_REQUEST, NULL);
    refused("volume 3.-1", ERROR_BAD_REQUEST, NULL);
    refused("volume 3.1x", ERROR_BAD_REQUEST, NULL);
    refused("volume Latest", ERROR_BAD_REQUEST, NULL);
}
END_TEST

START_TEST(unsupported_versions_are_echoed) {
    refused("volume 3.72", ERROR_NOT_ACCEPTABLE, "volume 3.72");
    refused("volume 4.0", ERROR_NOT_ACCEPTABLE, "volume 4.0");
    refused("volume 2.5", ERROR_NOT_ACCEPTABLE, "volume 2.5");
    refused("volume 30.0", ERROR_NOT_ACCEPTABLE, "volume 30.0");
    refused("volume 3.99999999999999999999", ERROR_NOT_ACCEPTABLE, "volume 3.99999999999999999999");
    refused("volume 2.0", ERROR_NOT_ACCEPTABLE, NULL);
    refused("volume 1.0", ERROR_NOT_ACCEPTABLE, NULL);
}
END_TEST

START_TEST(a_long_version_is_not_echoed_whole) {
    char header[5000] = "volume 3.";

    memset(header + 9, '9', sizeof(header) - 10);
    refused(header, ERROR_BAD_REQUEST, NULL);
}
END_TEST

START_TEST(an_unsupported_version_is_refused_with_the_range) {
    autoarena struct arena *arena = arena_new();
    struct version version;
    struct error err;

    version_negotiate(arena, "volume 3.72", &version, &err);
    ck_assert(strstr(err.message, "3.72") && strstr(err.message, "3.0") &&
              strstr(err.message, "3.71"));
}
END_TEST

static const char *text_at(const json_t *object, const char *key) {
    return json_string_value(json_object_get(object, key));
}

START_TEST(the_document_has_the_keys_of_clients) {
    struct test_exchange *test = test_exchange_new("GET", "/", NULL, NULL);
    const json_t *versions, *version, *links, *media;

    version_render(test_exchange_of(test), "https://example.org/volume", 300);
    ck_assert_int_eq(test_exchange_of(test)->status, 300);
    versions = json_object_get(test_exchange_json(test), "versions");
    ck_assert_uint_eq(json_array_size(versions), 1);
    version = json_array_get(versions, 0);
    ck_assert_str_eq(text_at(version, "id"), "v3.0");
    ck_assert_str_eq(text_at(version, "status"), "CURRENT");
    ck_assert_str_eq(text_at(version, "version"), "3.71");
    ck_assert_str_eq(text_at(version, "min_version"), "3.0");
    ck_assert_str_eq(text_at(version, "updated"), "2023-08-31T00:00:00Z");
    links = json_object_get(version, "links");
    ck_assert_str_eq(text_at(json_array_get(links, 0), "rel"), "describedby");
    ck_assert_str_eq(text_at(json_array_get(links, 0), "type"), "text/html");
    ck_assert_str_eq(text_at(json_array_get(links, 1), "rel"), "self");
    ck_assert_str_eq(text_at(json_array_get(links, 1), "href"), "https://example.org/volume/v3/");
    media = json_array_get(json_object_get(version, "media-types"), 0);
    ck_assert_str_eq(text_at(media, "base"), "application/json");
    ck_assert_str_eq(text_at(media, "type"), "application/vnd.openstack.volume+json;version=3");
    test_exchange_free(test);
}
END_TEST

CHECK_MAIN("versions", supported_versions_are_accepted, invalid_version_headers_are_bad_requests,
           unsupported_versions_are_echoed, an_unsupported_version_is_refused_with_the_range,
           a_long_version_is_not_echoed_whole, the_document_has_the_keys_of_clients)
