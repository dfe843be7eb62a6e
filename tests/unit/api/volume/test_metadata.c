#include "common/md5.h"
#include "common/scoria_headers.h"
#include "tests/lib/check_main.h"
#include "tests/lib/exchange.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include "rest/router.h"

#include <string.h>

#define PATH(...) arena_format(world->arena, __VA_ARGS__)

static const char *make(struct world *world) {
    const char *id = world_volume(world, 1);

    ck_assert_int_eq(world_call(world, "POST", PATH("/volumes/%s/metadata", id),
                                "{\"metadata\": {\"a\": \"1\", \"b\": \"2\"}}"),
                     200);
    return PATH("/volumes/%s/metadata", id);
}

/* The stored set as a JSON text. */
static const char *stored(struct world *world, const char *path) {
    ck_assert_int_eq(world_call(world, "GET", path, NULL), 200);
    return world->answer_text;
}

#define BOTH "{\"metadata\":{\"a\":\"1\",\"b\":\"2\"}}"

START_TEST(post_adds_and_put_replaces) {
    autoworld struct world *world = world_new(NULL);
    const char *path = make(world);

    ck_assert_int_eq(
        world_call(world, "POST", path, "{\"metadata\": {\"b\": \"3\", \"c\": \"4\"}}"), 200);
    ck_assert_str_eq(world->answer_text, "{\"metadata\":{\"a\":\"1\",\"b\":\"3\",\"c\":\"4\"}}");
    ck_assert_str_eq(stored(world, path), "{\"metadata\":{\"a\":\"1\",\"b\":\"3\",\"c\":\"4\"}}");
    ck_assert_int_eq(world_call(world, "PUT", path, "{\"metadata\": {\"d\": \"5\"}}"), 200);
    ck_assert_str_eq(world->answer_text, "{\"metadata\":{\"d\":\"5\"}}");
    ck_assert_int_eq(world_call(world, "PUT", path, "{\"metadata\": {}}"), 200);
    ck_assert_str_eq(stored(world, path), "{\"metadata\":{}}");
}
END_TEST

START_TEST(one_key_is_shown_set_and_removed) {
    autoworld struct world *world = world_new(NULL);
    const char *path = make(world), *key = PATH("%s/a", path);

    ck_assert_int_eq(world_call(world, "GET", key, NULL), 200);
    ck_assert_str_eq(world->answer_text, "{\"meta\":{\"a\":\"1\"}}");
    ck_assert_int_eq(world_call(world, "PUT", key, "{\"meta\": {\"a\": \"9\"}}"), 200);
    ck_assert_str_eq(world->answer_text, "{\"meta\":{\"a\":\"9\"}}");
    ck_assert_int_eq(world_call(world, "DELETE", key, NULL), 200);
    ck_assert_str_eq(world->answer_text, "");
    ck_assert_int_eq(world_call(world, "GET", key, NULL), 404);
    ck_assert_int_eq(world_call(world, "DELETE", key, NULL), 404);
    ck_assert_str_eq(stored(world, path), "{\"metadata\":{\"b\":\"2\"}}");
}
END_TEST

START_TEST(a_bad_change_changes_nothing) {
    static const struct {
        const char *method, *key, *body;
    } cases[] = {
        { "POST", "", "{\"metadata\": {\"extend_new_size\": \"9\"}}" },
        { "PUT", "", "{\"metadata\": {\"extend_reservations\": \"9\"}}" },
        { "PUT", "/extend_new_size", "{\"meta\": {\"extend_new_size\": \"9\"}}" },
        { "PUT", "/a", "{\"meta\": {\"b\": \"9\"}}" },
        { "PUT", "/a", "{\"meta\": {\"a\": \"9\", \"b\": \"9\"}}" },
        { "PUT", "/a", "{\"meta\": {}}" },
        { "PUT", "/a", "{\"metadata\": {\"a\": \"9\"}}" },
        { "PUT", "", "{\"metadata\": {\"a\": null}}" },
        { "PUT", "", "{\"metadata\": null}" },
        { "PUT", "", "{\"metadata\": {}, \"more\": 1}" },
        { "PUT", "", "{}" },
        { "POST", "", "[]" },
    };
    autoworld struct world *world = world_new(NULL);
    const char *path = make(world);

    for (size_t i = 0; i < LENGTH(cases); i++)
        ck_assert_msg(world_call(world, cases[i].method, PATH("%s%s", path, cases[i].key),
                                 cases[i].body) == 400,
                      "%s: %d", cases[i].body, world->status);
    ck_assert_str_eq(stored(world, path), BOTH);
}
END_TEST

START_TEST(maintenance_keeps_the_metadata_as_they_are) {
    autoworld struct world *world = world_new(NULL);
    const char *path = make(world);

    world_sql(world, "UPDATE volumes SET status = 'maintenance', status_by_reset = 1");
    ck_assert_int_eq(world_call(world, "POST", path, "{\"metadata\": {\"c\": \"4\"}}"), 400);
    ck_assert_int_eq(world_call(world, "PUT", PATH("%s/a", path), "{\"meta\": {\"a\": \"9\"}}"),
                     400);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s/a", path), NULL), 400);
    ck_assert_str_eq(stored(world, path), BOTH);
}
END_TEST

START_TEST(readers_read_only) {
    autoworld struct world *world = world_new(NULL);
    const char *path = make(world);

    roles_enter(world, NULL);
    world->token = "reader:" WORLD_PROJECT;
    ck_assert_int_eq(world_call(world, "POST", path, "{\"metadata\": {\"c\": \"4\"}}"), 403);
    ck_assert_int_eq(world_call(world, "PUT", path, "{\"metadata\": {\"c\": \"4\"}}"), 403);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s/a", path), NULL), 403);
    ck_assert_str_eq(stored(world, path), BOTH);
}
END_TEST

/* ---- entity tags ---- */

/* Sends with If-Match (NULL: none); status and the answer's tag. */
static int send_tagged(struct world *world, const char *method, const char *path, const char *body,
                       const char *tags, const char **ret_tag) {
    const struct http_header headers[] = {
        { "Content-Type", "application/json" },
        { "X-Auth-Token", world->token },
        { "OpenStack-API-Version", PATH("volume 3.%u", world->minor) },
        { tags ? "If-Match" : NULL, tags },
        { NULL, NULL },
    };
    struct test_exchange *exchange =
        test_exchange_new(method, PATH("/v3/" WORLD_PROJECT "%s", path), headers, body);
    int status;

    api_handle(world->api, test_exchange_of(exchange));
    status = test_exchange_await(exchange);
    if (status == 412)
        ck_assert_uint_eq(test_exchange_of(exchange)->reply_size, 0);
    if (ret_tag)
        *ret_tag = arena_text(world->arena, test_exchange_header(exchange, "Etag"));
    test_exchange_free(exchange);
    return status;
}

START_TEST(the_tag_is_the_digest_of_the_answer_from_3_15_on) {
    autoworld struct world *world = world_new(NULL);
    const char *path = make(world), *tag;
    char hex[MD5_HEX_SIZE];

    md5_hex(BOTH, strlen(BOTH), hex);
    ck_assert_int_eq(send_tagged(world, "GET", path, NULL, NULL, &tag), 200);
    ck_assert_str_eq(tag, hex);
    world->minor = 14;
    ck_assert_int_eq(send_tagged(world, "GET", path, NULL, NULL, &tag), 200);
    ck_assert_ptr_null(tag);
}
END_TEST

START_TEST(a_stale_tag_changes_nothing) {
    static const char *const stale[] = { "0", "\"0\"", "\"0\", W/\"1\"", "**", "\"\"", "" };
    autoworld struct world *world = world_new(NULL);
    const char *path = make(world), *key = PATH("%s/a", path);

    for (size_t i = 0; i < LENGTH(stale); i++) {
        ck_assert_int_eq(send_tagged(world, "PUT", path, "{\"metadata\": {}}", stale[i], NULL),
                         412);
        ck_assert_int_eq(
            send_tagged(world, "PUT", key, "{\"meta\": {\"a\": \"9\"}}", stale[i], NULL), 412);
    }
    ck_assert_str_eq(stored(world, path), BOTH);
}
END_TEST

START_TEST(a_right_tag_in_any_form_lets_the_change_pass) {
    static const char *const forms[] = { "%s", "\"%s\"", "\"0\", \"%s\"", "0,%s , 1", "*" };
    autoworld struct world *world = world_new(NULL);
    const char *path = make(world);

    for (size_t i = 0; i < LENGTH(forms); i++) {
        const char *tag, *place = strstr(forms[i], "%s");
        const char *tags = forms[i];

        ck_assert_int_eq(send_tagged(world, "GET", path, NULL, NULL, &tag), 200);
        if (place)
            tags = PATH("%.*s%s%s", (int)(place - forms[i]), forms[i], tag, place + 2);
        ck_assert_int_eq(send_tagged(world, "PUT", PATH("%s/n", path),
                                     PATH("{\"meta\": {\"n\": \"%zu\"}}", i), tags, NULL),
                         200);
    }
    ck_assert_int_eq(send_tagged(world, "PUT", path, "{\"metadata\": {}}", "*", NULL), 200);
    ck_assert_str_eq(stored(world, path), "{\"metadata\":{}}");
}
END_TEST

START_TEST(tags_count_only_from_3_15_on_and_for_the_two_puts) {
    autoworld struct world *world = world_new(NULL);
    const char *path = make(world);

    ck_assert_int_eq(send_tagged(world, "POST", path, "{\"metadata\": {}}", "0", NULL), 200);
    ck_assert_int_eq(send_tagged(world, "DELETE", PATH("%s/a", path), NULL, "0", NULL), 200);
    world->minor = 14;
    ck_assert_int_eq(send_tagged(world, "PUT", path, "{\"metadata\": {}}", "0", NULL), 200);
    ck_assert_str_eq(stored(world, path), "{\"metadata\":{}}");
}
END_TEST

/* ---- sought among all of a project ---- */

/* Each of the characters has four bytes and comes once: nothing compresses. */
static const char *longest_value(struct world *world) {
    char *text = arena_alloc(world->arena, 4 * 255 + 1), *end = text;

    for (unsigned i = 0; i < 255; i++) {
        unsigned code = (i * i * 131) % 65536;

        *end++ = '\xf0';
        *end++ = (char)(0x90 + (code >> 12));
        *end++ = (char)(0x80 + (code >> 6) % 64);
        *end++ = (char)(0x80 + code % 64);
    }
    *end = '\0';
    return text;
}

START_TEST(the_longest_pair_of_the_longest_project_fits) {
    autoworld struct world *world = world_new(NULL);
    char longest[256] = "";
    const char *body;

    memset(longest, 'k', 255);
    body = PATH("{\"volume\": {\"size\": 1, \"metadata\": {\"%s\": \"%s\"}}}", longest,
                longest_value(world));
    world->token = PATH("admin:%s", longest);
    world->path_project = "";
    ck_assert_msg(world_call(world, "POST", "/volumes", body) == 202, "%s", world->answer_text);
}
END_TEST

/* POST with a metadata key by the former name of the header, by both names, or by the new one. */
static int create_by_names(struct world *world, const char *kind, const char *former,
                           const char *key, const char *body) {
    const struct http_header headers[] = {
        { "Content-Type", "application/json" },
        { "X-Auth-Token", world->token },
        { former ? UNIQUE_HEADER_FORMER : UNIQUE_HEADER, former ? former : key },
        { former && key ? UNIQUE_HEADER : NULL, key },
        { NULL, NULL },
    };
    const char *project = strchr(world->token, ':') + 1;
    struct test_exchange *exchange =
        test_exchange_new("POST", PATH("/v3/%s/%ss", project, kind), headers, body);
    int status;

    api_handle(world->api, test_exchange_of(exchange));
    status = test_exchange_await(exchange);
    test_exchange_free(exchange);
    return status;
}

static int create_unique(struct world *world, const char *kind, const char *key, const char *body) {
    return create_by_names(world, kind, NULL, key, body);
}

START_TEST(an_object_with_a_unique_value_is_created_once) {
    autoworld struct world *world = world_new(NULL);
    const char *of = world_volume(world, 1), *own = world->token, *id;
    const char *volume = "{\"volume\": {\"size\": 1, \"metadata\": {\"k\": \"v\"}}}";
    const char *snapshot = PATH("{\"snapshot\": {\"volume_id\": \"%s\", "
                                "\"metadata\": {\"k\": \"v\"}}}",
                                of);

    ck_assert_int_eq(create_unique(world, "volume", "k", volume), 202);
    ck_assert_int_eq(create_unique(world, "volume", "k", volume), 409);
    ck_assert_int_eq(create_unique(world, "snapshot", "k", snapshot), 202);
    ck_assert_int_eq(create_unique(world, "snapshot", "k", snapshot), 409);
    ck_assert_int_eq(create_unique(world, "volume", "l", volume), 202);
    world->token = "admin:" WORLD_OTHER;
    ck_assert_int_eq(create_unique(world, "volume", "k", volume), 202);
    world->token = own;
    world_settle(world);
    ck_assert_int_eq(world_call(world, "GET", "/volumes?metadata={'k':'v'}&limit=1", NULL), 200);
    id = json_string_value(
        json_object_get(json_array_get(json_object_get(world->answer, "volumes"), 0), "id"));
    id = arena_text(world->arena, id);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("/volumes/%s/metadata/k", id), NULL), 200);
    ck_assert_int_eq(create_unique(world, "volume", "k", volume), 409);
}
END_TEST

/* A client of the release before sends only the former one, a newer client both. */
START_TEST(both_names_of_the_unique_header_count) {
    autoworld struct world *world = world_new(NULL);
    const char *volume = "{\"volume\": {\"size\": 1, \"metadata\": {\"k\": \"v\"}}}";

    ck_assert_int_eq(create_by_names(world, "volume", "k", NULL, volume), 202);
    ck_assert_int_eq(create_by_names(world, "volume", "k", NULL, volume), 409);
    ck_assert_int_eq(create_by_names(world, "volume", "k", "k", volume), 409);
    ck_assert_int_eq(create_by_names(world, "volume", NULL, "k", volume), 409);
    ck_assert_int_eq(create_by_names(world, "volume", "l", "k", volume), 400);
    ck_assert_int_eq(create_by_names(world, "volume", "l", "l", volume), 202);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes"), 2);
}
END_TEST

static int delete_unreported(struct world *world, const char *path, const char *key) {
    int status;

    world->header = UNREPORTED_HEADER;
    world->header_value = key;
    status = world_call(world, "DELETE", path, NULL);
    world->header = NULL;
    return status;
}

START_TEST(an_object_that_was_reported_meanwhile_is_not_deleted) {
    for (unsigned i = 0; i < 4; i++) {
        autoworld struct world *world = world_new(NULL);
        const char *kind = i % 2 ? "snapshot" : "volume", *of = world_volume(world, 1), *path;
        bool failed = i > 1; /* to be deleted */

        ck_assert_int_eq(world_call(world, "POST", PATH("/%ss", kind),
                                    PATH("{\"%s\": {%s%s%s, \"metadata\": {\"k\": \"v\"}}}", kind,
                                         i % 2 ? "\"volume_id\": \"" : "\"size\": 1",
                                         i % 2 ? of : "", i % 2 ? "\"" : "")),
                         202);
        path = PATH("/%ss/%s", kind, world_answer_id(world, kind));
        world_settle(world);
        if (failed)
            world_sql(world, PATH("UPDATE %ss SET status = 'error_deleting' WHERE id = '%s'", kind,
                                  strrchr(path, '/') + 1));
        ck_assert_int_eq(delete_unreported(world, path, "l"), 409);
        ck_assert_int_eq(world_call(world, "DELETE", PATH("%s/metadata/k", path), NULL), 200);
        ck_assert_int_eq(delete_unreported(world, path, "k"), 409);
        ck_assert_int_eq(
            world_call(world, "POST", PATH("%s/metadata", path), "{\"metadata\": {\"k\": \"\"}}"),
            200);
        ck_assert_int_eq(delete_unreported(world, path, "k"), 202);
        world_settle(world);
        ck_assert_int_eq(world_call(world, "GET", path, NULL), 404);
    }
}
END_TEST

CHECK_MAIN("volume_metadata", post_adds_and_put_replaces, one_key_is_shown_set_and_removed,
           a_bad_change_changes_nothing, maintenance_keeps_the_metadata_as_they_are,
           readers_read_only, the_tag_is_the_digest_of_the_answer_from_3_15_on,
           a_stale_tag_changes_nothing, a_right_tag_in_any_form_lets_the_change_pass,
           tags_count_only_from_3_15_on_and_for_the_two_puts,
           the_longest_pair_of_the_longest_project_fits,
           an_object_with_a_unique_value_is_created_once, both_names_of_the_unique_header_count,
           an_object_that_was_reported_meanwhile_is_not_deleted)
