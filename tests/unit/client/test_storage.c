/*
 * Snapshots, attachments, pools, types and groups as we query them from the volume API, and changes
 * of volumes: each request, each response, and that an invalid response counts as none.
 */
#include "client/attachments.h"
#include "client/groups.h"
#include "client/pools.h"
#include "client/snapshots.h"
#include "client/volumes.h"
#include "tests/lib/check_main.h"
#include "tests/lib/script_server.h"

#include <stdio.h>
#include <string.h>

#define ID     "11111111-1111-4111-8111-111111111111"
#define VOLUME "{\"id\": \"" ID "\", \"status\": \"creating\", \"size\": 2}"
#define SNAPSHOT                                                                         \
    "{\"id\": \"" ID "\", \"status\": \"available\", \"volume_id\": \"v\", \"size\": 3," \
    " \"created_at\": \"2026-11-21T09:08:07.000001\", \"metadata\": {\"k\": \"v\"}}"
#define ATTACHMENT                                                         \
    "{\"id\": \"" ID "\", \"status\": \"attached\", \"volume_id\": \"v\"," \
    " \"instance\": null, \"attach_mode\": \"ro\", \"connection_info\": {\"x\": 1}}"
#define GROUP "{\"id\": \"" ID "\", \"status\": \"available\", \"volumes\": [\"v\"]}"
#define COPY  "{\"id\": \"" ID "\", \"status\": \"creating\", \"group_id\": \"g\"}"

static const char *named = ID; /* whatever a call is about */

struct scene {
    struct script_server *server;
    struct arena *arena;
    char url[80];
    struct client api;
    struct error err;
};

static struct scene *scene_new(void) {
    struct scene *scene = calloc(1, sizeof(*scene));

    scene->server = script_server_new();
    scene->arena = arena_new();
    snprintf(scene->url, sizeof(scene->url), "%s/v3", script_server_url(scene->server));
    scene->api = volumes_client(scene->url, NULL, NULL);
    return scene;
}

static void scene_end(struct scene *scene) {
    script_server_free(scene->server);
    arena_free(scene->arena);
    free(scene);
}

static void answer(struct scene *scene, int status, const char *body) {
    script_server_clear(scene->server);
    script_server_add(scene->server, &(struct script_rule){ .status = status, .body = body });
}

/* The last one that came there; NULL: none. */
static const struct script_request *last(struct scene *scene, const char *method,
                                         const char *path) {
    unsigned count = script_server_count(scene->server, method, path);

    return count ? script_server_request(scene->server, method, path, count - 1) : NULL;
}

/* ---- every call ---- */

static int volume_create(struct scene *scene) {
    static const struct remote_pair metadata[] = { { "k", "v\"" }, { NULL, NULL } };
    const struct remote_volume_new wanted = {
        .name = "n", .type = "t", .snapshot_id = "s", .size_gb = 2, .metadata = metadata
    };
    struct remote_volume volume;

    return volumes_create(&scene->api, scene->arena, &wanted, &volume, &scene->err);
}

static int volume_page(struct scene *scene) {
    struct remote_volume *volumes;

    return volumes_list(&scene->api, scene->arena, "name=a%20b", "m/1", 7, &volumes, &scene->err);
}

static int volume_delete(struct scene *scene) {
    return volumes_delete(&scene->api, scene->arena, named, NULL, &scene->err);
}

static int volume_extend(struct scene *scene) {
    return volumes_extend(&scene->api, scene->arena, named, 5, &scene->err);
}

static int volume_reclaim(struct scene *scene) {
    return volumes_reclaim(&scene->api, scene->arena, named, &scene->err);
}

static int reclaim_read(struct scene *scene) {
    struct remote_reclaim found = { 0 };
    int result = volumes_read_reclaim(&scene->api, scene->arena, named, &found, &scene->err);

    if (result == 0) {
        ck_assert_str_eq(found.status, "done");
        ck_assert_int_eq(found.pre_usage, 7);
        ck_assert_int_eq(found.post_usage, -1);
    }
    return result;
}

static int snapshot_create(struct scene *scene) {
    static const struct remote_pair metadata[] = { { "k", "w" }, { NULL, NULL } };
    struct remote_snapshot snapshot;

    return snapshots_create(&scene->api, scene->arena, "v", "n", metadata, NULL, &snapshot,
                            &scene->err);
}

static int snapshot_read(struct scene *scene) {
    struct remote_snapshot snapshot = { 0 };
    int result = snapshots_read(&scene->api, scene->arena, named, &snapshot, &scene->err);

    if (result == 0) {
        ck_assert_str_eq(snapshot.volume_id, "v");
        ck_assert_int_eq(snapshot.size_gb, 3);
        ck_assert_int_eq(snapshot.created_us, INT64_C(1795252087000001));
        ck_assert_str_eq(json_text_of(snapshot.metadata, "k"), "v");
    }
    return result;
}

static int snapshot_page(struct scene *scene) {
    struct remote_snapshot *snapshots;

    return snapshots_list(&scene->api, scene->arena, NULL, NULL, 0, &snapshots, &scene->err);
}

static int snapshot_delete(struct scene *scene) {
    return snapshots_delete(&scene->api, scene->arena, named, NULL, &scene->err);
}

static const struct remote_connector connector = { .host = "node-1", .readonly = true };

static int attachment_create(struct scene *scene) {
    struct remote_connection connection = { 0 };
    int result =
        attachments_create(&scene->api, scene->arena, "v", &connector, &connection, &scene->err);

    if (result == 0) {
        ck_assert_str_eq(connection.mode, "ro");
        ck_assert_ptr_null(connection.instance_uuid);
        ck_assert_uint_eq(json_object_size(connection.info), 1);
    }
    return result;
}

static int attachment_read(struct scene *scene) {
    struct remote_connection connection;

    return attachments_read(&scene->api, scene->arena, named, &connection, &scene->err);
}

static int attachment_page(struct scene *scene) {
    struct remote_connection *connections;

    return attachments_list(&scene->api, scene->arena, "v", &connections, &scene->err);
}

static int attachment_complete(struct scene *scene) {
    return attachments_complete(&scene->api, scene->arena, named, 7, &scene->err);
}

static int attachment_delete(struct scene *scene) {
    return attachments_delete(&scene->api, scene->arena, named, true, &scene->err);
}

static int group_read(struct scene *scene) {
    struct remote_group group;

    return groups_read(&scene->api, scene->arena, named, &group, &scene->err);
}

static int group_page(struct scene *scene) {
    struct remote_group *groups;

    return groups_list(&scene->api, scene->arena, "name=n", "m", 2, &groups, &scene->err);
}

static int group_create(struct scene *scene) {
    static const char *const types[] = { "t", "u" };
    const struct remote_group_new wanted = {
        .name = "n", .group_type = "gt", .volume_types = types, .volume_type_count = 2
    };
    const char *id;

    return groups_create(&scene->api, scene->arena, &wanted, &id, &scene->err);
}

static int group_change(struct scene *scene) {
    return groups_change(&scene->api, scene->arena, named, NULL, "a,b", "", &scene->err);
}

static int group_delete(struct scene *scene) {
    return groups_delete(&scene->api, scene->arena, named, true, &scene->err);
}

static int copy_create(struct scene *scene) {
    const char *id;

    return group_snapshots_create(&scene->api, scene->arena, "g", "n", "d", &id, &scene->err);
}

static int copy_read(struct scene *scene) {
    struct remote_group_snapshot row;

    return group_snapshots_read(&scene->api, scene->arena, named, &row, &scene->err);
}

static int copy_page(struct scene *scene) {
    struct remote_group_snapshot *rows;

    return group_snapshots_list(&scene->api, scene->arena, NULL, NULL, 1, &rows, &scene->err);
}

static int copy_delete(struct scene *scene) {
    return group_snapshots_delete(&scene->api, scene->arena, named, &scene->err);
}

static int type_find(struct scene *scene) {
    struct remote_type type;

    return types_find(&scene->api, scene->arena, "t", &type, &scene->err);
}

static int room(struct scene *scene) {
    struct remote_room found;

    return pools_room(&scene->api, scene->arena, "a b", &found, &scene->err);
}

static int zones(struct scene *scene) {
    struct remote_pool pool = { .name = "n@b#p" };

    return pools_find_zones(&scene->api, scene->arena, &pool, 1, &scene->err);
}

/* clang-format off */
static const struct {
    int (*call)(struct scene *scene);
    int result;
    const char *method, *path, *sent; /* NULL: no body */
    const char *answered, *senseless; /* NULL: there is nothing to read */
    int done;                         /* the status of that error */
} calls[] = {
    { volume_create, 0, "POST", "/v3/volumes",
      "{\"volume\":{\"name\":\"n\",\"volume_type\":\"t\",\"snapshot_id\":\"s\",\"size\":2,\"metadata\":{\"k\":\"v\\\"\"}}}",
      "{\"volume\": " VOLUME "}", "{\"volume\": {}}", 200 },
    { volume_page, 1, "GET", "/v3/volumes/detail?name=a%20b&limit=7&marker=m%2F1", NULL,
      "{\"volumes\": [" VOLUME "]}", "{\"volumes\": [{}]}", 200 },
    { volume_delete, 0, "DELETE", "/v3/volumes/" ID, NULL, "", NULL, 202 },
    { volume_extend, 0, "POST", "/v3/volumes/" ID "/action", "{\"os-extend\": {\"new_size\": 5}}", "", NULL, 202 },
    { volume_reclaim, 0, "POST", "/v3/volumes/" ID "/action", "{\"os-reclaim_space\": null}", "", NULL, 202 },
    { reclaim_read, 0, "GET", "/v3/volumes/" ID "/reclaim_space", NULL,
      "{\"reclaim_space\": {\"status\": \"done\", \"pre_usage\": 7, \"post_usage\": null}}",
      "{\"reclaim_space\": {}}", 200 },
    { snapshot_create, 0, "POST", "/v3/snapshots",
      "{\"snapshot\":{\"volume_id\":\"v\",\"name\":\"n\",\"force\":true,\"metadata\":{\"k\":\"w\"}}}",
      "{\"snapshot\": " SNAPSHOT "}", "{\"snapshot\": {\"id\": \"x\"}}", 200 },
    { snapshot_read, 0, "GET", "/v3/snapshots/" ID, NULL, "{\"snapshot\": " SNAPSHOT "}", "{}", 200 },
    { snapshot_page, 1, "GET", "/v3/snapshots/detail", NULL, "{\"snapshots\": [" SNAPSHOT "]}", "{\"snapshots\": [1]}", 200 },
    { snapshot_delete, 0, "DELETE", "/v3/snapshots/" ID, NULL, "", NULL, 202 },
    { attachment_create, 0, "POST", "/v3/attachments",
      "{\"attachment\":{\"volume_uuid\":\"v\",\"connector\":{\"host\":\"node-1\",\"mountpoint\":\"node-1\",\"mode\":\"ro\"}}}",
      "{\"attachment\": " ATTACHMENT "}", "{\"attachment\": {}}", 200 },
    { attachment_read, 0, "GET", "/v3/attachments/" ID, NULL, "{\"attachment\": " ATTACHMENT "}", "{}", 200 },
    { attachment_page, 1, "GET", "/v3/attachments/detail?volume_id=v", NULL,
      "{\"attachments\": [" ATTACHMENT "]}", "{\"attachments\": [{}]}", 200 },
    { attachment_complete, 0, "POST", "/v3/attachments/" ID "/action", "{\"os-complete\": null}", "", NULL, 204 },
    { attachment_delete, 0, "DELETE", "/v3/attachments/" ID, NULL, "{\"attachments\": []}", "{}", 200 },
    { group_read, 0, "GET", "/v3/groups/" ID "?list_volume=true", NULL, "{\"group\": " GROUP "}",
      "{\"group\": {\"id\": \"g\", \"status\": \"available\"}}", 200 },
    { group_page, 1, "GET", "/v3/groups/detail?list_volume=true&name=n&limit=2&marker=m", NULL,
      "{\"groups\": [" GROUP "]}", "{\"groups\": [{}]}", 200 },
    { group_create, 0, "POST", "/v3/groups",
      "{\"group\":{\"name\":\"n\",\"description\":null,\"group_type\":\"gt\",\"volume_types\":[\"t\",\"u\"]}}",
      "{\"group\": {\"id\": \"g\"}}", "{\"group\": {}}", 200 },
    { group_change, 0, "PUT", "/v3/groups/" ID, "{\"group\":{\"add_volumes\":\"a,b\"}}", "", NULL, 202 },
    { group_delete, 0, "POST", "/v3/groups/" ID "/action", "{\"delete\": {\"delete-volumes\": true}}", "", NULL, 202 },
    { copy_create, 0, "POST", "/v3/group_snapshots",
      "{\"group_snapshot\":{\"group_id\":\"g\",\"name\":\"n\",\"description\":\"d\"}}",
      "{\"group_snapshot\": {\"id\": \"c\"}}", "{\"group_snapshot\": {}}", 200 },
    { copy_read, 0, "GET", "/v3/group_snapshots/" ID, NULL, "{\"group_snapshot\": " COPY "}", "{\"group_snapshot\": 1}", 200 },
    { copy_page, 1, "GET", "/v3/group_snapshots/detail?limit=1", NULL, "{\"group_snapshots\": [" COPY "]}",
      "{\"group_snapshots\": [{}]}", 200 },
    { copy_delete, 0, "DELETE", "/v3/group_snapshots/" ID, NULL, "", NULL, 202 },
    { type_find, 0, "GET", "/v3/types", NULL, "{\"volume_types\": [{\"id\": \"i\", \"name\": \"t\"}]}", "{}", 200 },
    { room, 0, "GET", "/v3/scheduler-stats/get_pools?detail=true&volume_type=a%20b", NULL, "{\"pools\": []}", "{}", 200 },
    { zones, 0, "GET", "/v3/os-services?binary=cinder-volume", NULL, "{\"services\": []}", "{}", 200 },
};
/* clang-format on */

START_TEST(each_call_sends_a_request_that_the_api_accepts) {
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(calls); i++) {
        const struct script_request *request;

        answer(scene, calls[i].done, calls[i].answered);
        ck_assert_msg(calls[i].call(scene) == calls[i].result, "%s: %s", calls[i].path,
                      scene->err.message);
        request = last(scene, calls[i].method, calls[i].path);
        ck_assert_msg(request, "%s %s", calls[i].method, calls[i].path);
        ck_assert_str_eq(request->body, calls[i].sent ? calls[i].sent : "");
    }
    scene_end(scene);
}
END_TEST

/* An API of the release before knows only the former name of a header. */
START_TEST(a_renamed_header_is_sent_by_both_names) {
    struct scene *scene = scene_new();
    const struct script_request *request;
    struct remote_snapshot snapshot;
    struct remote_volume volume;

    answer(scene, 200, "{\"snapshot\": " SNAPSHOT "}");
    ck_assert_int_eq(
        snapshots_create(&scene->api, scene->arena, "v", "n", NULL, "k", &snapshot, &scene->err),
        0);
    request = last(scene, "POST", "/v3/snapshots");
    ck_assert(script_request_has(request, "X-Scoria-Unique", "k"));
    ck_assert(script_request_has(request, "X-Scoria-Alone", "k"));
    answer(scene, 200, "{\"volume\": " VOLUME "}");
    ck_assert_int_eq(volumes_create(&scene->api, scene->arena,
                                    &(struct remote_volume_new){ .name = "n", .unique = "k" },
                                    &volume, &scene->err),
                     0);
    request = last(scene, "POST", "/v3/volumes");
    ck_assert(script_request_has(request, "X-Scoria-Unique", "k"));
    ck_assert(script_request_has(request, "X-Scoria-Alone", "k"));
    answer(scene, 200, "{\"group\": {\"id\": \"g\"}}");
    ck_assert_int_eq(group_create(scene), 0);
    request = last(scene, "POST", "/v3/groups");
    ck_assert(script_request_has(request, "X-Scoria-Unique", "name"));
    ck_assert(script_request_has(request, "X-Scoria-Alone", "name"));
    answer(scene, 204, "");
    ck_assert_int_eq(attachment_complete(scene), 0);
    request = last(scene, "POST", "/v3/attachments/" ID "/action");
    ck_assert(script_request_has(request, "X-Scoria-Volume-Limit", "7"));
    ck_assert(script_request_has(request, "X-Scoria-Room", "7"));
    scene_end(scene);
}
END_TEST

/* An id that could be the name of another route is never sent. */
START_TEST(an_invalid_uuid_is_not_found) {
    static const char *const names[] = { "detail", "summary", "a/b", "..", "", ID "x" };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(calls) * LENGTH(names); i++) {
        size_t n = i / LENGTH(names);

        if (!strstr(calls[n].path, ID))
            continue;
        named = names[i % LENGTH(names)];
        answer(scene, calls[n].done, calls[n].answered);
        ck_assert_int_eq(calls[n].call(scene), -1);
        ck_assert_int_eq(scene->err.kind, ERROR_NOT_FOUND);
        ck_assert_uint_eq(script_server_count(scene->server, NULL, NULL), 0);
    }
    named = ID;
    scene_end(scene);
}
END_TEST

START_TEST(an_invalid_response_counts_as_none) {
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(calls); i++) {
        if (!calls[i].senseless)
            continue;
        answer(scene, 200, calls[i].senseless);
        ck_assert_int_eq(calls[i].call(scene), -1);
        ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
    }
    scene_end(scene);
}
END_TEST

static void assert_unbelieved(struct scene *scene, size_t call, int status, const char *body) {
    answer(scene, status, body);
    ck_assert_msg(calls[call].call(scene) == -1, "%s: %d %s", calls[call].path, status, body);
    ck_assert_int_eq(scene->err.kind, ERROR_UNAVAILABLE);
}

/* A proxy that answers by itself. */
START_TEST(a_response_of_another_server_is_no_success) {
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(calls); i++) {
        assert_unbelieved(scene, i, 200, "");
        if (calls[i].done == 204) /* which has no body */
            continue;
        assert_unbelieved(scene, i, 204, "");
        assert_unbelieved(scene, i, calls[i].done, "<html>Please log in</html>");
        assert_unbelieved(scene, i, calls[i].done, "{\"volume\": {\"id\"");
    }
    scene_end(scene);
}
END_TEST

START_TEST(an_object_of_another_id_is_not_accepted) {
    struct scene *scene = scene_new();
    unsigned found = 0;

    for (size_t i = 0; i < LENGTH(calls); i++) {
        char *other = arena_text(scene->arena, calls[i].answered), *id = strstr(other, ID);

        if (!id || !strstr(calls[i].path, ID))
            continue;
        *id = '2';
        assert_unbelieved(scene, i, 200, other);
        found++;
    }
    ck_assert_uint_eq(found, 4);
    scene_end(scene);
}
END_TEST

START_TEST(a_fault_has_its_kind_and_text) {
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(calls); i++) {
        answer(scene, 409, "{\"conflictingRequest\": {\"code\": 409, \"message\": \"busy so\"}}");
        ck_assert_int_eq(calls[i].call(scene), -1);
        ck_assert_int_eq(scene->err.kind, ERROR_CONFLICT);
        ck_assert_ptr_nonnull(strstr(scene->err.message, "busy so"));
    }
    scene_end(scene);
}
END_TEST

START_TEST(the_request_id_goes_along_with_every_call) {
    struct scene *scene = scene_new();

    scene->api.request_id = "req-7";
    for (size_t i = 0; i < LENGTH(calls); i++) {
        answer(scene, calls[i].done, calls[i].answered);
        calls[i].call(scene);
        ck_assert(script_request_has(last(scene, calls[i].method, calls[i].path),
                                     "X-OpenStack-Request-ID", "req-7"));
    }
    scene_end(scene);
}
END_TEST

START_TEST(pools_have_their_segment_and_reachability) {
    struct scene *scene = scene_new();
    struct remote_pool *pools;

    answer(scene, 200,
           "{\"pools\": [{\"name\": \"n@b#p\", \"capabilities\": {\"storage_protocol\": "
           "\"file\", \"free_capacity_gb\": 7}}, {\"name\": \"n@bb#p\"}, {}]}");
    ck_assert_int_eq(pools_find(&scene->api, scene->arena, NULL, &pools, &scene->err), 3);
    ck_assert_str_eq(pools[0].name, "n@b#p");
    ck_assert_str_eq(pools[0].protocol, "file");
    ck_assert_int_eq(pools[0].free_gb, 7);
    ck_assert_ptr_null(pools[1].protocol);
    answer(scene, 200,
           "{\"services\": [{\"host\": \"n@b\", \"zone\": \"east\"}, {}, {\"host\": \"n\", "
           "\"zone\": \"north\"}, {\"host\": \"n@bb#p\", \"zone\": \"west\"}]}");
    ck_assert_int_eq(pools_find_zones(&scene->api, scene->arena, pools, 3, &scene->err), 0);
    ck_assert_str_eq(pools[0].zone, "east");
    ck_assert_str_eq(pools[1].zone, "west");
    ck_assert_ptr_null(pools[2].zone);
    scene_end(scene);
}
END_TEST

START_TEST(capacity_is_the_sum_and_the_maximum_of_the_pools) {
    static const struct {
        const char *pools;
        int64_t free_gb, largest_gb;
    } rows[] = {
        { "", 0, 0 },
        { "{}", FIELD_MAX_SIZE_GB, FIELD_MAX_SIZE_GB },
        { "{\"capabilities\": {\"free_capacity_gb\": \"infinite\"}}", FIELD_MAX_SIZE_GB,
          FIELD_MAX_SIZE_GB },
        { "{\"capabilities\": {\"free_capacity_gb\": 2.9}}, {\"capabilities\": "
          "{\"free_capacity_gb\": 5}}",
          7, 5 },
        { "{\"capabilities\": {\"free_capacity_gb\": -3}}", 0, 0 },
        { "{\"capabilities\": {\"free_capacity_gb\": 1e300}}", FIELD_MAX_SIZE_GB,
          FIELD_MAX_SIZE_GB },
    };
    struct scene *scene = scene_new();

    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct remote_room found;

        answer(scene, 200, arena_format(scene->arena, "{\"pools\": [%s]}", rows[i].pools));
        ck_assert_int_eq(pools_room(&scene->api, scene->arena, NULL, &found, &scene->err), 0);
        ck_assert_int_eq(found.free_gb, rows[i].free_gb);
        ck_assert_int_eq(found.largest_gb, rows[i].largest_gb);
    }
    scene_end(scene);
}
END_TEST

START_TEST(a_type_is_found_by_name_or_id) {
    static const char list[] = "{\"volume_types\": [{\"id\": \"i1\", \"name\": \"a\"}, {\"id\": "
                               "\"i2\", \"name\": \"b\", \"extra_specs\": {\"multiattach\": "
                               "\"<is> True\"}}]}";
    struct scene *scene = scene_new();
    struct remote_type type;

    answer(scene, 200, list);
    ck_assert_int_eq(types_find(&scene->api, scene->arena, "b", &type, &scene->err), 0);
    ck_assert_str_eq(type.id, "i2");
    ck_assert(type.multiattach);
    ck_assert_int_eq(types_find(&scene->api, scene->arena, "i1", &type, &scene->err), 0);
    ck_assert_str_eq(type.name, "a");
    ck_assert(!type.multiattach);
    ck_assert_int_eq(types_find(&scene->api, scene->arena, named, &type, &scene->err), -1);
    ck_assert_int_eq(scene->err.kind, ERROR_NOT_FOUND);
    scene_end(scene);
}
END_TEST

CHECK_MAIN("storage", each_call_sends_a_request_that_the_api_accepts,
           a_renamed_header_is_sent_by_both_names, an_invalid_uuid_is_not_found,
           an_invalid_response_counts_as_none, a_fault_has_its_kind_and_text,
           the_request_id_goes_along_with_every_call, pools_have_their_segment_and_reachability,
           capacity_is_the_sum_and_the_maximum_of_the_pools, a_type_is_found_by_name_or_id,
           a_response_of_another_server_is_no_success, an_object_of_another_id_is_not_accepted)
