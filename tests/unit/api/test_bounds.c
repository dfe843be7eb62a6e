/* The cost of one object, one request and one project for all others. */
#include "common/cleanup.h"
#include "identity/identity.h"
#include "rest/literal.h"
#include "rest/router.h"
#include "tests/lib/check_main.h"
#include "tests/lib/exchange.h"
#include "tests/lib/memory_guests.h"
#include "tests/lib/postgresql.h"
#include "tests/lib/world.h"

#include <sqlite3.h>
#include <string.h>

#define PATH(...) arena_format(world->arena, __VA_ARGS__)
#define MOST      128 /* quota_metadata_items of the world */

/* {"<word>": {"k<first>": "v", …}} */
static const char *items(struct world *world, const char *word, unsigned first, unsigned count) {
    const char *text = PATH("{\"%s\": {", word);

    for (unsigned i = first; i < first + count; i++)
        text = PATH("%s%s\"k%u\": \"v\"", text, i > first ? ", " : "", i);
    return PATH("%s}}", text);
}

static void assert_refused(struct world *world, const char *name) {
    ck_assert_int_eq(world->status, 413);
    ck_assert_msg(strstr(world->answer_text, "MetadataLimitExceeded") &&
                      strstr(world->answer_text, name),
                  "%s", world->answer_text);
}

/* ---- sets of keys and values ---- */

START_TEST(items_of_a_volume_are_bounded) {
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/volumes/%s/metadata", world_volume(world, 1));

    ck_assert_int_eq(world_call(world, "POST", path, items(world, "metadata", 0, MOST)), 200);
    world_call(world, "POST", path, items(world, "metadata", MOST, 1));
    assert_refused(world, "Metadata of volume");
    world_call(world, "PUT", PATH("%s/more", path), "{\"meta\": {\"more\": \"v\"}}");
    assert_refused(world, "Metadata of volume");
    world_call(world, "PUT", path, items(world, "metadata", 0, MOST + 1));
    assert_refused(world, "Metadata of volume");
    ck_assert_int_eq(world_call(world, "PUT", PATH("%s/k1", path), "{\"meta\": {\"k1\": \"w\"}}"),
                     200);
    ck_assert_int_eq(world_call(world, "POST", path, items(world, "metadata", 0, MOST)), 200);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_metadata"), MOST);
    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s/k1", path), NULL), 200);
    ck_assert_int_eq(world_call(world, "POST", path, items(world, "metadata", MOST, 1)), 200);
}
END_TEST

START_TEST(a_volume_above_the_limit_can_be_reduced) {
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/volumes/%s/metadata", world_volume(world, 1));

    ck_assert_int_eq(world_call(world, "POST", path, items(world, "metadata", 0, MOST)), 200);
    world->settings.metadata_items = 2;
    ck_assert_int_eq(world_call(world, "GET", path, NULL), 200);
    world_call(world, "PUT", PATH("%s/k1", path), "{\"meta\": {\"k1\": \"w\"}}");
    assert_refused(world, "Metadata of volume");
    ck_assert_int_eq(world_call(world, "DELETE", PATH("%s/k1", path), NULL), 200);
    ck_assert_int_eq(world_call(world, "PUT", path, items(world, "metadata", 0, 2)), 200);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_metadata"), 2);
}
END_TEST

START_TEST(no_volume_begins_or_changes_with_too_many_items) {
    autoworld struct world *world = world_new(NULL);
    const char *many = items(world, "metadata", 0, MOST + 1);
    const char *id = world_volume(world, 1);

    many = arena_text_n(world->arena, many + 1, strlen(many) - 2); /* without the outer braces */
    world_call(world, "POST", "/volumes", PATH("{\"volume\": {\"size\": 1, %s}}", many));
    assert_refused(world, "Metadata of volume");
    world_call(world, "PUT", PATH("/volumes/%s", id), PATH("{\"volume\": {%s}}", many));
    assert_refused(world, "Metadata of volume");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volumes"), 1);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_metadata"), 0);
    ck_assert_int_eq(world_in_use(world, "volumes"), 1);
}
END_TEST

#define IMAGE(members) world_action(world, id, "{\"os-set_image_metadata\": %s}", members)

START_TEST(image_metadata_are_bounded_in_number_and_size) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);
    char *value = arena_alloc(world->arena, 60001);

    ck_assert_int_eq(IMAGE(items(world, "metadata", 0, MOST)), 200);
    IMAGE(items(world, "metadata", MOST, 1));
    assert_refused(world, "Image metadata of volume");
    memset(value, 'x', 60000);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(IMAGE(PATH("{\"metadata\": {\"k%u\": \"%s\"}}", i, value)), 200);
    IMAGE(PATH("{\"metadata\": {\"k2\": \"%s\"}}", value));
    assert_refused(world, "Image metadata of volume");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_glance_metadata "
                                        "WHERE LENGTH(value) > 1"),
                     2);
}
END_TEST

START_TEST(specs_of_a_type_are_bounded) {
    autoworld struct world *world = world_new(NULL);
    const char *path;

    ck_assert_int_eq(world_call(world, "POST", "/types", "{\"volume_type\": {\"name\": \"t\"}}"),
                     200);
    path = PATH("/types/%s/extra_specs", world_answer_id(world, "volume_type"));
    ck_assert_int_eq(world_call(world, "POST", path, items(world, "extra_specs", 0, MOST)), 200);
    world_call(world, "POST", path, items(world, "extra_specs", MOST, 1));
    assert_refused(world, "Extra specs of volume type");
    world_call(world, "PUT", PATH("%s/more", path), "{\"more\": \"v\"}");
    assert_refused(world, "Extra specs of volume type");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM volume_type_extra_specs"), MOST);
}
END_TEST

/* ---- a change costs as much as it names ---- */

static unsigned rows_read;

static int row_seen(unsigned kind, void *arg, void *statement, void *nothing) {
    (void)kind, (void)arg, (void)statement, (void)nothing;
    rows_read++;
    return 0;
}

static int database_opened(sqlite3 *handle, const char **message, const void *routines) {
    (void)message, (void)routines;
    return sqlite3_trace_v2(handle, SQLITE_TRACE_ROW, row_seen, NULL);
}

static unsigned rows_for(struct world *world, const char *method, const char *path,
                         const char *body) {
    rows_read = 0;
    ck_assert_msg(world_call(world, method, path, body) == 200, "%s %s: %s", method, path,
                  world->answer_text);
    return rows_read;
}

START_TEST(a_key_costs_the_same_whatever_else_is_there) {
    if (postgresql_given())
        return; /* its rows are not seen here */

    ck_assert_int_eq(sqlite3_auto_extension((void (*)(void))database_opened), SQLITE_OK);
    world_open_anew();
    autoworld struct world *world = world_new(NULL);
    const char *path = PATH("/volumes/%s/metadata", world_volume(world, 1));
    const char *key = PATH("%s/more", path), *body = "{\"meta\": {\"more\": \"v\"}}";
    unsigned put, get, removal;

    put = rows_for(world, "PUT", key, body);
    get = rows_for(world, "GET", key, NULL);
    removal = rows_for(world, "DELETE", key, NULL);
    ck_assert_uint_gt(put, 0);
    ck_assert_int_eq(world_call(world, "POST", path, items(world, "metadata", 0, MOST - 1)), 200);
    ck_assert_uint_eq(rows_for(world, "PUT", key, body), put);
    ck_assert_uint_eq(rows_for(world, "GET", key, NULL), get);
    ck_assert_uint_eq(rows_for(world, "DELETE", key, NULL), removal);
}
END_TEST

/* ---- attachments ---- */

#define RESERVE(id)                                                                                \
    PATH("{\"attachment\": {\"volume_uuid\": \"%s\", \"instance_uuid\": \"" WORLD_INSTANCE "\"}}", \
         id)

START_TEST(attachments_of_a_volume_are_bounded) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    world->settings.per_volume_attachments = 3;
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(world_call(world, "POST", "/attachments", RESERVE(id)), 200);
    ck_assert_int_eq(world_call(world, "POST", "/attachments", RESERVE(id)), 400);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "3 attachments already"));
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 3);
}
END_TEST

START_TEST(connectors_are_bounded_in_size) {
    static const char *const wrong[] = { "{\"host\": \"%s\"}", "{\"host\": \"h\", \"x\": \"%s\"}",
                                         "{\"host\": \"h\", \"mountpoint\": \"%s\"}",
                                         "{\"host\": \"h\", \"mode\": \"%s\"}" };
    static const unsigned lengths[] = { 256, 8192, 256, 256 };
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1), *path;

    ck_assert_int_eq(world_call(world, "POST", "/attachments", RESERVE(id)), 200);
    path = PATH("/attachments/%s", world_answer_id(world, "attachment"));
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        char *text = arena_alloc(world->arena, lengths[i] + 1);
        const char *connector;

        memset(text, 'x', lengths[i]);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        connector = PATH(wrong[i], text);
#pragma GCC diagnostic pop
        ck_assert_int_eq(world_call(world, "PUT", path,
                                    PATH("{\"attachment\": {\"connector\": %s}}", connector)),
                         400);
        ck_assert_ptr_nonnull(strstr(world->answer_text, "connector"));
        ck_assert_int_eq(world_action(world, id,
                                      "{\"os-initialize_connection\": {\"connector\": %s}}",
                                      connector),
                         400);
    }
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 0);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments WHERE connector IS NULL"),
                     1);
}
END_TEST

/* The backend never responds, and the callers do not wait for it. */
START_TEST(requests_to_an_unresponsive_backend_are_bounded) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    world->settings.per_volume_attachments = 3;
    for (unsigned i = 0; i < 3; i++)
        world_sql(world,
                  PATH("INSERT INTO operations (id, kind, target_id, volume_id, host, phase, "
                       "project_id, user_id, request_id, attempts, created_at) VALUES "
                       "('o%u', 'connect', 't%u', '%s', 'h', 'queued', 'p', 'u', 'r', 0, 1)",
                       i, i, id));
    ck_assert_int_eq(world_action(world, id,
                                  "{\"os-initialize_connection\": "
                                  "{\"connector\": {\"host\": \"h\"}}}"),
                     503);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 3);
}
END_TEST

/* The limit of queries does not limit created objects. */
START_TEST(a_manage_request_is_accepted_beside_an_unresponsive_backend) {
    autoworld struct world *world = world_new(NULL);

    memory_put(world->memory, "disk", (int64_t)1 << 30, 7);
    for (unsigned i = 0; i < 16; i++)
        world_sql(world,
                  PATH("INSERT INTO operations (id, kind, target_id, volume_id, host, phase, "
                       "project_id, user_id, request_id, attempts, created_at) VALUES "
                       "('o%u', 'list_manageable', 't%u', 'node@memory', 'h', 'queued', "
                       "'p', 'u', 'r', 0, 1)",
                       i, i));
    ck_assert_int_eq(world_call(world, "GET", "/manageable_volumes?host=node@memory%23pool", NULL),
                     503);
    ck_assert_int_eq(world_call(world, "POST", "/manageable_volumes",
                                "{\"volume\": {\"host\": \"node@memory#pool\", "
                                "\"ref\": {\"source-name\": \"disk\"}}}"),
                     202);
    ck_assert_str_eq(world_status(world, world_answer_id(world, "volume")), "creating");
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 17);
}
END_TEST

/* ---- places ---- */

#define CONNECT "{\"os-initialize_connection\": {\"connector\": {\"host\": \"h\"}}}"

static struct test_exchange *request_connection(struct world *world, struct api *api,
                                                const char *token, const char *volume_id) {
    struct http_header *headers = arena_alloc(world->arena, 3 * sizeof(*headers));
    struct test_exchange *exchange;

    headers[0] = (struct http_header){ "X-Auth-Token", token };
    headers[1] = (struct http_header){ "Content-Type", "application/json" };
    exchange = test_exchange_new(
        "POST", PATH("/v3/%s/volumes/%s/action", strchr(token, ':') + 1, volume_id), headers,
        CONNECT);
    api_handle(api, test_exchange_of(exchange));
    return exchange;
}

static void assert_try_later(struct test_exchange *exchange) {
    ck_assert_int_eq(test_exchange_await(exchange), 503);
    ck_assert_str_eq(test_exchange_header(exchange, "Retry-After"), "5");
    test_exchange_free(exchange);
}

/* The backend does not answer until the world is settled. */
START_TEST(requests_waiting_for_a_backend_leave_slots_to_other_projects) {
    autoworld struct world *world = world_new(NULL);
    const char *mine = world->token, *other = "other:" WORLD_OTHER;
    struct api_settings settings = world_api_settings(world);
    struct test_exchange *queried[3];
    const char *volume, *others;
    struct error err;
    struct api *api;

    settings.slots = 4;
    ck_assert_int_eq(api_new(&settings, &api, &err), 0);
    volume = world_volume(world, 1);
    world->token = other;
    others = world_volume(world, 1);
    queried[0] = request_connection(world, api, mine, volume);
    queried[1] = request_connection(world, api, mine, volume);
    assert_try_later(request_connection(world, api, mine, volume));
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM operations"), 2);
    queried[2] = request_connection(world, api, other, others);
    for (int i = 0; i < 3; i++)
        ck_assert(!test_exchange_answered(queried[i]));

    world_settle(world);
    api_operations_ended(api);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(test_exchange_await(queried[i]), 200);
        test_exchange_free(queried[i]);
    }
    for (int i = 0; i < 2; i++) /* the slots are free again, also those of requests that fail in
                                 * the end */
        queried[i] = request_connection(world, api, mine, volume);
    assert_try_later(request_connection(world, api, mine, volume));
    api_free(api);
    for (int i = 0; i < 2; i++)
        assert_try_later(queried[i]);
}
END_TEST

static struct test_exchange *request_attachment(struct world *world, struct api *api,
                                                const char *method, const char *path,
                                                const char *body) {
    struct http_header *headers = arena_alloc(world->arena, 4 * sizeof(*headers));
    struct test_exchange *exchange;

    headers[0] = (struct http_header){ "X-Auth-Token", world->token };
    headers[1] = (struct http_header){ "Content-Type", "application/json" };
    headers[2] = (struct http_header){ "OpenStack-API-Version", "volume 3.54" };
    exchange = test_exchange_new(method, PATH("/v3/%s", path), headers, body);
    api_handle(api, test_exchange_of(exchange));
    return exchange;
}

/* The attachment is there: asking again would only be refused, or make another one. */
START_TEST(only_repeatable_requests_get_retry_after) {
    autoworld struct world *world = world_new(NULL);
    struct api_settings settings = world_api_settings(world);
    struct test_exchange *made, *changed;
    const char *first = world_volume(world, 1), *second = world_volume(world, 1), *attachment;
    struct error err;
    struct api *api;

    world_call(world, "POST", "/attachments",
               PATH("{\"attachment\": {\"volume_uuid\": \"%s\"}}", first));
    attachment = world_answer_id(world, "attachment");
    ck_assert_int_eq(api_new(&settings, &api, &err), 0);
    made = request_attachment(world, api, "POST", "attachments",
                              PATH("{\"attachment\": {\"volume_uuid\": \"%s\", "
                                   "\"connector\": {\"host\": \"h\"}}}",
                                   second));
    changed = request_attachment(world, api, "PUT", PATH("attachments/%s", attachment),
                                 "{\"attachment\": {\"connector\": {\"host\": \"h\"}}}");
    ck_assert(!test_exchange_answered(made) && !test_exchange_answered(changed));
    api_free(api);
    ck_assert_int_eq(test_exchange_await(made), 503);
    ck_assert_ptr_null(test_exchange_header(made, "Retry-After"));
    test_exchange_free(made);
    assert_try_later(changed);
    ck_assert_int_eq(world_count(world, "SELECT COUNT(*) FROM attachments"), 2);
}
END_TEST

static enum identity_outcome of_no_project(const struct identity *identity,
                                           struct http_exchange *exchange, const char *path_project,
                                           const struct identity_later *later,
                                           struct context *context, struct error *err) {
    enum identity_outcome outcome =
        identity_none.authenticate(identity, exchange, path_project, later, context, err);

    context->project_id = NULL;
    return outcome;
}

static struct test_exchange *request_to_take(struct world *world, struct api *api,
                                             const char *volume, const char *name) {
    struct http_header *headers = arena_alloc(world->arena, 3 * sizeof(*headers));
    struct test_exchange *exchange;

    headers[0] = (struct http_header){ "X-Auth-Token", world->token };
    headers[1] = (struct http_header){ "Content-Type", "application/json" };
    exchange = test_exchange_new("POST", "/v3/os-snapshot-manage", headers,
                                 PATH("{\"snapshot\": {\"volume_id\": \"%s\", \"ref\": "
                                      "{\"source-name\": \"%s\"}}}",
                                      volume, name));
    api_handle(api, test_exchange_of(exchange));
    return exchange;
}

/* As an administrator of the whole system has one. */
START_TEST(a_token_of_no_project_takes_slots_too) {
    static const struct identity identity = { .name = "test", .authenticate = of_no_project };
    autoworld struct world *world = world_new(NULL);
    struct api_settings settings = world_api_settings(world);
    const char *volume = world_volume(world, 1);
    struct test_exchange *queried[2];
    struct error err;
    struct api *api;

    settings.slots = 4;
    settings.identity = &identity;
    ck_assert_int_eq(api_new(&settings, &api, &err), 0);
    memory_put(world->memory, "disk", (int64_t)1 << 30, 7);
    queried[0] = request_to_take(world, api, volume, "disk");
    queried[1] = request_to_take(world, api, volume, "none");
    assert_try_later(request_to_take(world, api, volume, "disk"));
    for (int i = 0; i < 2; i++)
        ck_assert(!test_exchange_answered(queried[i]));
    world_settle(world);
    api_operations_ended(api);
    ck_assert_int_eq(test_exchange_await(queried[0]), 202);
    ck_assert_int_eq(test_exchange_await(queried[1]), 400);
    for (int i = 0; i < 2; i++)
        test_exchange_free(queried[i]);
    api_free(api);
}
END_TEST

/* In whatever names the slots were taken, and however many of them. */
START_TEST(the_longest_waiting_request_ends_for_a_project_without_a_slot) {
    autoworld struct world *world = world_new(NULL);
    struct api_settings settings = world_api_settings(world);
    const char *token[4], *volume[4];
    struct test_exchange *queried[5];
    struct error err;
    struct api *api;

    settings.slots = 4;
    ck_assert_int_eq(api_new(&settings, &api, &err), 0);
    for (unsigned i = 0; i < 4; i++) {
        world->token = token[i] = PATH("user:%032u", i + 1);
        volume[i] = world_volume(world, 1);
    }
    queried[0] = request_connection(world, api, token[0], volume[0]);
    queried[1] = request_connection(world, api, token[0], volume[0]);
    queried[2] = request_connection(world, api, token[1], volume[1]);
    queried[3] = request_connection(world, api, token[2], volume[2]);
    queried[4] = request_connection(world, api, token[3], volume[3]);
    api_operations_ended(api);
    ck_assert_int_eq(test_exchange_await(queried[0]), 503);
    for (int i = 1; i < 5; i++)
        ck_assert(!test_exchange_answered(queried[i]));
    assert_try_later(request_connection(world, api, token[0], volume[0]));

    world_settle(world);
    api_operations_ended(api);
    for (int i = 1; i < 5; i++)
        ck_assert_int_eq(test_exchange_await(queried[i]), 200);
    for (int i = 0; i < 5; i++)
        test_exchange_free(queried[i]);
    api_free(api);
}
END_TEST

/* ---- pages ---- */

/* Follows the links from the first page on; every volume must come once. Returns the pages. */
static unsigned pages_of(struct world *world, const char *path, unsigned volumes, size_t largest) {
    unsigned pages = 0, seen = 0;

    while (path) {
        const json_t *links, *list;
        struct test_exchange *exchange = test_exchange_new(
            "GET", path,
            (const struct http_header[]){ { "X-Auth-Token", world->token },
                                          { "OpenStack-API-Version", "volume 3.71" },
                                          { NULL, NULL } },
            NULL);

        test_exchange_of(exchange)->query = strchr(path, '?') ? strchr(path, '?') + 1 : "";
        test_exchange_of(exchange)->path = arena_text_n(world->arena, path, strcspn(path, "?"));
        api_handle(world->api, test_exchange_of(exchange));
        ck_assert_int_eq(test_exchange_await(exchange), 200);
        ck_assert_uint_le(test_exchange_of(exchange)->reply_size, largest);
        list = json_object_get(test_exchange_json(exchange), "volumes");
        seen += (unsigned)json_array_size(list);
        links = json_object_get(test_exchange_json(exchange), "volumes_links");
        path = json_string_value(json_object_get(json_array_get(links, 0), "href"));
        path = path ? arena_text(world->arena, strstr(path, "/v3/")) : NULL;
        test_exchange_free(exchange);
        ck_assert_uint_le(++pages, volumes + 1); /* the last one may be empty */
    }
    ck_assert_uint_eq(seen, volumes);
    return pages;
}

#define DETAIL "/v3/" WORLD_PROJECT "/volumes/detail"

START_TEST(a_page_of_large_volumes_is_cut_with_a_link) {
    enum { VOLUMES = 20, VALUE = 250, ITEMS = 60 };
    autoworld struct world *world = world_new(NULL);
    char value[VALUE + 1];

    memset(value, 'x', VALUE);
    value[VALUE] = '\0';
    for (unsigned i = 0; i < VOLUMES; i++)
        world_volume(world, 1);
    for (unsigned i = 0; i < ITEMS; i++)
        world_sql(world, PATH("INSERT INTO volume_metadata "
                              "SELECT id, 'k%u', '%s', project_id, created_at FROM volumes",
                              i, value));
    ck_assert_uint_eq(pages_of(world, DETAIL, VOLUMES, 1 << 20), 1);
    world->settings.page_bytes = 64 * 1024;
    ck_assert_uint_gt(pages_of(world, DETAIL, VOLUMES, 64 * 1024), VOLUMES * ITEMS * VALUE / 65536);
    ck_assert_uint_eq(pages_of(world, DETAIL "?limit=1", VOLUMES, 64 * 1024), VOLUMES + 1);
    world->settings.page_bytes = 1; /* one is always shown */
    ck_assert_uint_eq(pages_of(world, DETAIL, VOLUMES, 64 * 1024), VOLUMES);
}
END_TEST

START_TEST(a_page_of_much_text_ends_early) {
    enum { VOLUMES = 50 };
    autoworld struct world *world = world_new(NULL);

    for (unsigned i = 0; i < VOLUMES; i++)
        world_volume(world, 1);
    world->settings.page_bytes = 16 * 1024;
    ck_assert_uint_gt(pages_of(world, DETAIL, VOLUMES, 20 * 1024), 2);
}
END_TEST

START_TEST(a_summary_of_too_many_metadata_is_refused) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    world_sql(
        world,
        PATH("INSERT INTO volume_metadata "
             "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM "
             "numbers WHERE n < 20000) SELECT '%s', CAST(n AS TEXT), 'v', 'p', 1 FROM numbers",
             id));
    ck_assert_int_eq(world_call(world, "GET", "/volumes/summary", NULL), 200);
    world_sql(world, PATH("INSERT INTO volume_metadata VALUES ('%s', 'k', 'v', 'p', 1)", id));
    ck_assert_int_eq(world_call(world, "GET", "/volumes/summary", NULL), 413);
    ck_assert_ptr_nonnull(strstr(world->answer_text, "metadata"));
    world->minor = 35;
    ck_assert_int_eq(world_call(world, "GET", "/volumes/summary", NULL), 200);
}
END_TEST

/* Sizes that no sum can hold show whether the volumes are counted. */
START_TEST(a_summary_over_its_limit_is_refused_before_volumes_are_counted) {
    autoworld struct world *world = world_new(NULL);
    const char *id = world_volume(world, 1);

    world_volume(world, 1);
    world_sql(world, "UPDATE volumes SET size_gb = 9223372036854775807");
    ck_assert_int_eq(world_call(world, "GET", "/volumes/summary", NULL), 500);
    world_sql(
        world,
        PATH("INSERT INTO volume_metadata "
             "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM "
             "numbers WHERE n < 20001) SELECT '%s', CAST(n AS TEXT), 'v', 'p', 1 FROM numbers",
             id));
    ck_assert_int_eq(world_call(world, "GET", "/volumes/summary", NULL), 413);
    ck_assert_int_eq(world_call(world, "GET", "/volumes/summary?all_tenants=1", NULL), 413);
}
END_TEST

/* ---- the cost of a query ---- */

START_TEST(a_list_of_values_takes_the_memory_of_its_text) {
    enum { COUNT = 10000 };
    autoarena struct arena *arena = arena_new();
    char *text = arena_alloc(arena, 3 * COUNT + 2), *end = text;
    struct literal read;

    *end++ = '[';
    for (unsigned i = 0; i < COUNT; i++)
        end = stpcpy(end, "'',");
    end[-1] = ']';
    literal_read(arena, text, &read);
    ck_assert_uint_eq(read.count, COUNT);
    ck_assert_uint_lt(arena_bytes(arena), 4 << 20);
}
END_TEST

CHECK_MAIN("bounds", a_token_of_no_project_takes_slots_too,
           only_repeatable_requests_get_retry_after, items_of_a_volume_are_bounded,
           a_volume_above_the_limit_can_be_reduced, no_volume_begins_or_changes_with_too_many_items,
           image_metadata_are_bounded_in_number_and_size, specs_of_a_type_are_bounded,
           a_key_costs_the_same_whatever_else_is_there, attachments_of_a_volume_are_bounded,
           connectors_are_bounded_in_size, requests_to_an_unresponsive_backend_are_bounded,
           a_manage_request_is_accepted_beside_an_unresponsive_backend,
           requests_waiting_for_a_backend_leave_slots_to_other_projects,
           the_longest_waiting_request_ends_for_a_project_without_a_slot,
           a_page_of_large_volumes_is_cut_with_a_link, a_page_of_much_text_ends_early,
           a_summary_of_too_many_metadata_is_refused,
           a_summary_over_its_limit_is_refused_before_volumes_are_counted,
           a_list_of_values_takes_the_memory_of_its_text)
