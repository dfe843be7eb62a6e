#include "api/documents/watchers.h"
#include "tests/lib/check_main.h"
#include "tests/lib/exchange.h"
#include "tests/lib/roles.h"
#include "tests/lib/world.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define POLICY(name, labels)                                                                  \
    "{\"volume_policy\": {\"metadata\": {\"name\": \"" name "\", \"labels\": {" labels "}}, " \
    "\"spec\": {}}}"

static void expect(struct world *world, const char *method, const char *path, const char *body,
                   int status) {
    ck_assert_msg(world_call(world, method, path, body) == status, "%s %s %s: %d %s", method, path,
                  body ? body : "", world->status, world->answer_text);
    api_documents_changed(world->api);
}

static void make(struct world *world, const char *name) {
    char body[256];

    snprintf(body, sizeof(body), POLICY("%s", ""), name);
    expect(world, "POST", "/volume_policies", body, 201);
}

static void drop(struct world *world, const char *name) {
    char path[128];

    snprintf(path, sizeof(path), "/volume_policies/%s", name);
    expect(world, "DELETE", path, NULL, 204);
}

/* Of `query` as `token`; NULL when it is refused: world->status has the status. */
static struct test_exchange *request_as(struct world *world, const char *token, const char *path,
                                        const char *query) {
    static const struct http_header none = { NULL, NULL };
    static struct http_header headers[3];
    struct test_exchange *test;

    headers[0] = (struct http_header){ "X-Auth-Token", token };
    headers[1] = (struct http_header){ "OpenStack-API-Version", "volume 3.71" };
    headers[2] = none;
    test = test_exchange_new("GET", path, headers, NULL);
    test_exchange_of(test)->query = query;
    api_handle(world->api, test_exchange_of(test));
    world->status = test_exchange_await(test);
    if (test_exchange_pieces(test))
        return test;
    test_exchange_free(test);
    return NULL;
}

static struct test_exchange *watch(struct world *world, const char *query) {
    struct test_exchange *test = request_as(world, world->token, "/v3/volume_policies", query);

    ck_assert_msg(test != NULL, "%s: %d", query, world->status);
    return test;
}

/* The events so far: "ADDED a 1;". */
static const char *events_of(struct test_exchange *test) {
    static char text[4096];
    const char *line = test_exchange_pieces(test), *end;

    text[0] = '\0';
    for (; (end = strchr(line, '\n')); line = end + 1) {
        json_t *event = json_loadb(line, (size_t)(end - line), 0, NULL);
        const json_t *metadata = json_object_get(json_object_get(event, "object"), "metadata");
        const char *name = json_string_value(json_object_get(metadata, "name"));

        ck_assert_ptr_nonnull(event);
        sprintf(text + strlen(text), "%s %s %s;", json_string_value(json_object_get(event, "type")),
                name ? name : "-", json_string_value(json_object_get(metadata, "resourceVersion")));
        json_decref(event);
    }
    ck_assert_str_eq(line, "");
    return text;
}

START_TEST(a_list_has_the_version_to_watch_from) {
    autoworld struct world *world = world_new(NULL);
    const char *version;
    struct test_exchange *test;

    make(world, "a");
    make(world, "b");
    expect(world, "GET", "/volume_policies?limit=1", NULL, 200);
    version = json_string_value(
        json_object_get(json_object_get(world->answer, "metadata"), "resourceVersion"));
    ck_assert_str_eq(version, "2");
    test = watch(world, "watch=true&resourceVersion=2");
    ck_assert_str_eq(events_of(test), "");
    make(world, "c");
    expect(world, "PATCH", "/volume_policies/a",
           "{\"volume_policy\": {\"metadata\": {\"labels\": {\"x\": \"1\"}}}}", 200);
    drop(world, "b");
    ck_assert_str_eq(events_of(test), "ADDED c 3;MODIFIED a 4;DELETED b 5;");
    test_exchange_leave(test);
    api_documents_changed(world->api);
    ck_assert(test_exchange_ended(test));
    test_exchange_free(test);
}
END_TEST

START_TEST(a_watch_from_the_beginning_sends_existing_documents_first) {
    autoworld struct world *world = world_new(NULL);
    struct test_exchange *empty = watch(world, "watch=true"), *test;

    ck_assert_str_eq(events_of(empty), "BOOKMARK - 0;");
    make(world, "a");
    make(world, "b");
    drop(world, "a");
    test = watch(world, "watch=1&resourceVersion=");
    ck_assert_str_eq(events_of(test), "ADDED b 2;BOOKMARK - 3;");
    ck_assert_str_eq(events_of(empty), "BOOKMARK - 0;ADDED a 1;ADDED b 2;DELETED a 3;");
    make(world, "c");
    ck_assert_str_eq(events_of(test), "ADDED b 2;BOOKMARK - 3;ADDED c 4;");
    world_free(take(world));
    ck_assert(test_exchange_ended(empty));
    ck_assert(test_exchange_ended(test));
    test_exchange_free(empty);
    test_exchange_free(test);
}
END_TEST

START_TEST(a_resumed_watch_gets_the_current_state_of_all_documents) {
    autoworld struct world *world = world_new(NULL);
    struct test_exchange *test;

    make(world, "a");
    make(world, "b");
    world_restart(world);
    drop(world, "a");
    make(world, "c");
    test = watch(world, "watch=true&resourceVersion=1");
    ck_assert_str_eq(events_of(test), "ADDED b 2;DELETED a 3;ADDED c 4;");
    world_free(take(world));
    test_exchange_free(test);
}
END_TEST

START_TEST(a_slow_watch_gets_the_state_of_the_time_it_reads) {
    autoworld struct world *world = world_new(NULL);
    struct test_exchange *test = watch(world, "watch=true&resourceVersion=0");
    struct test_exchange *other = watch(world, "watch=true&resourceVersion=0");

    make(world, "a");
    test_exchange_hold(test, true);
    make(world, "b");
    make(world, "c");
    drop(world, "b");
    ck_assert_str_eq(events_of(test), "ADDED a 1;");
    ck_assert_str_eq(events_of(other), "ADDED a 1;ADDED b 2;ADDED c 3;DELETED b 4;");
    test_exchange_hold(test, false);
    api_documents_changed(world->api);
    ck_assert_str_eq(events_of(test), "ADDED a 1;ADDED c 3;DELETED b 4;");
    make(world, "d");
    ck_assert_str_eq(events_of(test), "ADDED a 1;ADDED c 3;DELETED b 4;ADDED d 5;");
    world_free(take(world));
    test_exchange_free(test);
    test_exchange_free(other);
}
END_TEST

START_TEST(a_version_outside_the_history_is_refused_and_ends_a_watch) {
    autoworld struct world *world = world_new(NULL);
    struct test_exchange *slow, *quick;

    make(world, "a");
    slow = watch(world, "watch=true&resourceVersion=1");
    quick = watch(world, "watch=true&resourceVersion=1");
    test_exchange_hold(slow, true);
    make(world, "b");
    world_sql(world, "UPDATE document_versions SET version = version + 10000");
    make(world, "c");
    ck_assert(test_exchange_ended(slow));
    ck_assert(!test_exchange_ended(quick));
    ck_assert_str_eq(events_of(quick), "ADDED b 2;ADDED c 10003;");
    ck_assert_ptr_null(
        request_as(world, world->token, "/v3/volume_policies", "watch=true&resourceVersion=2"));
    ck_assert_int_eq(world->status, 410);
    ck_assert_ptr_null(
        request_as(world, world->token, "/v3/volume_policies", "watch=true&resourceVersion=10004"));
    ck_assert_int_eq(world->status, 410);
    world_free(take(world));
    test_exchange_free(slow);
    test_exchange_free(quick);
}
END_TEST

START_TEST(each_watch_gets_visible_and_matching_documents) {
    autoworld struct world *world = world_new(NULL);
    struct test_exchange *own = watch(world, "watch=true&resourceVersion=0");
    struct test_exchange *ssd =
        watch(world, "watch=true&resourceVersion=0&labels=%7B'disk'%3A'ssd'%7D");
    struct test_exchange *named = watch(world, "watch=true&resourceVersion=0&name=b");
    struct test_exchange *other = request_as(world, "user:" WORLD_OTHER, "/v3/volume_policies",
                                             "watch=true&resourceVersion=0");
    struct test_exchange *all = watch(world, "watch=true&resourceVersion=0&all_tenants=true");

    ck_assert_ptr_nonnull(other);
    expect(world, "POST", "/volume_policies", POLICY("a", "\"disk\": \"ssd\""), 201);
    expect(world, "POST", "/volume_policies", POLICY("b", ""), 201);
    expect(world, "PATCH", "/volume_policies/a",
           "{\"volume_policy\": {\"metadata\": {\"labels\": {\"disk\": \"tape\"}}}}", 200);
    expect(world, "PATCH", "/volume_policies/b",
           "{\"volume_policy\": {\"metadata\": {\"labels\": {\"disk\": \"ssd\"}}}}", 200);
    world->token = "user:" WORLD_OTHER;
    make(world, "mine");
    ck_assert_str_eq(events_of(own), "ADDED a 1;ADDED b 2;MODIFIED a 3;MODIFIED b 4;");
    ck_assert_str_eq(events_of(ssd), "ADDED a 1;DELETED a 3;MODIFIED b 4;");
    ck_assert_str_eq(events_of(named), "ADDED b 2;MODIFIED b 4;");
    ck_assert_str_eq(events_of(other), "ADDED mine 5;");
    ck_assert_str_eq(events_of(all), "ADDED a 1;ADDED b 2;MODIFIED a 3;MODIFIED b 4;ADDED mine 5;");
    world_free(take(world));
    test_exchange_free(own);
    test_exchange_free(ssd);
    test_exchange_free(named);
    test_exchange_free(other);
    test_exchange_free(all);
}
END_TEST

START_TEST(a_node_gets_its_own_documents_of_all_projects) {
    autoworld struct world *world = world_new(NULL);
    struct test_exchange *a = request_as(world, world->token, "/v3/volume_replicas",
                                         "watch=true&resourceVersion=0&node=host-a");
    struct test_exchange *b = request_as(world, world->token, "/v3/volume_replicas",
                                         "watch=true&resourceVersion=0&node=host-b");

    ck_assert(a && b);
    world_sql(world, "INSERT INTO documents (id, kind, project_id, name, version, first_version, "
                     "generation, metadata, body, status, created_at, node) VALUES ('r', "
                     "'CStorVolumeReplica', 'p', 'r', 1, 1, 1, '{}', '{}', '{}', 1, 'host-a')");
    world_sql(world, "UPDATE document_versions SET version = 1");
    api_documents_changed(world->api);
    world_sql(world, "UPDATE documents SET version = 3, node = 'host-b'");
    world_sql(world, "INSERT INTO document_moves VALUES (2, 'CStorVolumeReplica', 'r')");
    world_sql(world, "UPDATE document_versions SET version = 3");
    api_documents_changed(world->api);
    ck_assert_str_eq(events_of(a), "ADDED r 1;DELETED r 2;");
    ck_assert_str_eq(events_of(b), "MODIFIED r 3;");
    world_free(take(world));
    test_exchange_free(a);
    test_exchange_free(b);
}
END_TEST

/* In either order: no watch gets the events of the other. */
START_TEST(paths_and_hosts_are_sent_to_administrators_only) {
    autoworld struct world *world = world_new(NULL);
    struct test_exchange *watches[4];

    roles_enter(world, NULL);
    for (unsigned i = 0; i < LENGTH(watches); i++)
        watches[i] = request_as(world, i % 3 ? "member:" WORLD_PROJECT : "admin:" WORLD_PROJECT,
                                "/v3/volume_replicas", "watch=true&resourceVersion=0");
    world_sql(
        world,
        "INSERT INTO documents (id, kind, project_id, name, version, first_version, "
        "generation, metadata, body, status, created_at) VALUES ('r', "
        "'CStorVolumeReplica', '" WORLD_PROJECT "', 'v-secret', 1, 1, 1, '{}', '{\"spec\":"
        "{\"path\":\"/secret\",\"poolName\":\"secret\",\"capacity\":\"1Gi\"}}', '{\"message\":\"/secret\"}', 1)");
    world_sql(world, "UPDATE document_versions SET version = 1");
    api_documents_changed(world->api);
    for (unsigned i = 0; i < LENGTH(watches); i++) {
        ck_assert_str_eq(events_of(watches[i]), i % 3 ? "ADDED r 1;" : "ADDED v-secret 1;");
        ck_assert(strstr(test_exchange_pieces(watches[i]), "\"capacity\":\"1Gi\"") != NULL);
        ck_assert_msg(!strstr(test_exchange_pieces(watches[i]), "secret") == (i % 3 != 0), "%u: %s",
                      i, test_exchange_pieces(watches[i]));
    }
    world_free(take(world));
    for (unsigned i = 0; i < LENGTH(watches); i++)
        test_exchange_free(watches[i]);
}
END_TEST

START_TEST(an_invalid_query_is_refused) {
    static const char *const queries[] = {
        "watch=perhaps",
        "watch=true&resourceVersion=-1",
        "watch=true&resourceVersion=x",
        "watch=true&resourceVersion=99999999999999999999",
        "watch=true&timeoutSeconds=0",
        "watch=true&timeoutSeconds=601",
        "watch=true&limit=5",
        "watch=true&marker=x",
        "watch=true&node=host-a",
        "watch=true&labels=disk",
        "watch=true&labels=%7B'a'%3A1%7D",
    };
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < LENGTH(queries); i++) {
        ck_assert_ptr_null(request_as(world, world->token, "/v3/volume_policies", queries[i]));
        ck_assert_msg(world->status == 400, "%s: %d", queries[i], world->status);
    }
    expect(world, "GET", "/volume_policies?watch=false", NULL, 200);
    ck_assert_ptr_null(request_as(world, world->token, "/v3/volumes", "watch=true"));
}
END_TEST

START_TEST(the_head_of_a_watch_is_no_watch) {
    autoworld struct world *world = world_new(NULL);

    ck_assert_int_eq(world_call(world, "HEAD", "/volume_policies?watch=true", NULL), 200);
}
END_TEST

START_TEST(a_project_has_as_many_watches_as_it_leaves_to_others) {
    autoworld struct world *world = world_new(NULL);
    struct api_settings settings = world_api_settings(world);
    struct test_exchange *tests[3];
    struct error err;
    struct api *api = world->api;

    settings.watchers = 4;
    ck_assert_int_eq(api_new(&settings, &world->api, &err), 0);
    for (size_t i = 0; i < 2; i++)
        tests[i] = watch(world, "watch=true");
    ck_assert_ptr_null(request_as(world, world->token, "/v3/volume_policies", "watch=true"));
    ck_assert_int_eq(world->status, 503);
    test_exchange_leave(tests[0]);
    api_documents_changed(world->api);
    tests[2] = watch(world, "watch=true");
    api_free(world->api);
    world->api = api;
    for (size_t i = 0; i < 3; i++)
        test_exchange_free(tests[i]);
}
END_TEST

/* All of a world have one address, as those behind a proxy have. */
START_TEST(projects_behind_one_address_share_its_watches) {
    const struct timespec pause = { .tv_nsec = 1000000 };
    autoworld struct world *world = world_new(NULL);
    struct api_settings settings = world_api_settings(world);
    struct test_exchange *first, *second, *other;
    struct error err;
    struct api *api = world->api;

    settings.watchers = 4;
    ck_assert_int_eq(api_new(&settings, &world->api, &err), 0);
    first = watch(world, "watch=true");
    second = watch(world, "watch=true");
    other = request_as(world, "user:" WORLD_OTHER, "/v3/volume_policies", "watch=true");
    ck_assert_ptr_nonnull(other);
    while (!test_exchange_ended(first) && !test_exchange_ended(second)) {
        nanosleep(&pause, NULL);
        api_documents_changed(world->api);
    }
    ck_assert(test_exchange_ended(first) != test_exchange_ended(second));
    ck_assert(!test_exchange_ended(other));
    ck_assert_ptr_null(request_as(world, world->token, "/v3/volume_policies", "watch=true"));
    ck_assert_int_eq(world->status, 503);
    api_free(world->api);
    world->api = api;
    test_exchange_free(first);
    test_exchange_free(second);
    test_exchange_free(other);
}
END_TEST

#define EAGER 21 /* more than are sent in one pass */

/* Clients of one project with many pending events get them beside the one of another. */
START_TEST(a_watch_far_behind_does_not_delay_others) {
    autoworld struct world *world = world_new(NULL);
    struct test_exchange *eager[EAGER], *other;
    char name[16];

    for (int i = 0; i < EAGER; i++)
        eager[i] = watch(world, "watch=true&resourceVersion=0");
    other = request_as(world, "user:" WORLD_OTHER, "/v3/volume_policies",
                       "watch=true&resourceVersion=0");
    for (int i = 0; i < EAGER; i++)
        test_exchange_hold(eager[i], true);
    test_exchange_hold(other, true);
    for (int i = 0; i < 250; i++) { /* three parts */
        snprintf(name, sizeof(name), "p-%d", i);
        make(world, name);
    }
    world->token = "user:" WORLD_OTHER;
    make(world, "mine");
    for (int i = 0; i < EAGER; i++)
        test_exchange_hold(eager[i], false);
    test_exchange_hold(other, false);
    api_documents_changed(world->api);
    ck_assert_str_eq(events_of(other), "ADDED mine 251;");
    for (int i = 0; i < EAGER; i++)
        ck_assert_uint_lt(test_exchange_first_piece(other), test_exchange_last_piece(eager[i]));
    world_free(take(world));
    for (int i = 0; i < EAGER; i++)
        test_exchange_free(eager[i]);
    test_exchange_free(other);
}
END_TEST

CHECK_MAIN("document watch", a_list_has_the_version_to_watch_from,
           a_watch_from_the_beginning_sends_existing_documents_first,
           a_resumed_watch_gets_the_current_state_of_all_documents,
           a_slow_watch_gets_the_state_of_the_time_it_reads,
           a_version_outside_the_history_is_refused_and_ends_a_watch,
           each_watch_gets_visible_and_matching_documents,
           a_node_gets_its_own_documents_of_all_projects,
           paths_and_hosts_are_sent_to_administrators_only, an_invalid_query_is_refused,
           the_head_of_a_watch_is_no_watch, a_project_has_as_many_watches_as_it_leaves_to_others,
           projects_behind_one_address_share_its_watches, a_watch_far_behind_does_not_delay_others)
