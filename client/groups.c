#include "client/groups.h"

#include "common/clock.h"
#include "common/scoria_headers.h"
#include "json/out.h"

/* ---- groups ---- */

static int read_group(struct arena *arena, const json_t *object, void *ret, struct error *err) {
    const struct remote_group group = {
        .id = json_text_of(object, "id"),
        .status = json_text_of(object, "status"),
        .name = json_text_of(object, "name"),
        .description = json_text_of(object, "description"),
        .created_at = json_text_of(object, "created_at"),
        .group_type = json_text_of(object, "group_type"),
        .volume_types = json_object_get(object, "volume_types"),
        .volumes = json_object_get(object, "volumes"),
    };

    (void)arena;
    if (!group.id || !group.status || !json_is_array(group.volumes))
        return error_set(err, ERROR_UNAVAILABLE, "the volume API described no group");
    *(struct remote_group *)ret = group;
    return 0;
}

int groups_read(const struct client *api, struct arena *arena, const char *group_id,
                struct remote_group *ret, struct error *err) {
    const struct client_call call = {
        .method = "GET",
        .path = "/groups",
        .id = group_id,
        .behind = "?list_volume=true",
    };
    const json_t *group = client_ask_for(api, arena, &call, "group", err);

    return group ? read_group(arena, group, ret, err) : -1;
}

int groups_list(const struct client *api, struct arena *arena, const char *query,
                const char *marker, unsigned limit, struct remote_group **ret, struct error *err) {
    const char *all =
        arena_join(arena, "list_volume=true", query ? "&" : "", query ? query : "", NULL);
    void *rows = NULL;
    int count = client_list(api, arena, client_page(arena, "/groups/detail", all, marker, limit),
                            "groups", read_group, sizeof(struct remote_group), &rows, err);

    *ret = rows;
    return count;
}

/* Of a new object; its name must be unique. */
static int make(const struct client *api, struct arena *arena, const char *path, const char *body,
                const char *name, const char **ret_id, struct error *err) {
    const struct client_call call = {
        .method = "POST",
        .path = path,
        .body = body,
        .header = { UNIQUE_HEADER, "name" },
        .former = UNIQUE_HEADER_FORMER,
    };
    const json_t *made = client_ask_for(api, arena, &call, name, err);
    const char *id = json_text_of(made, "id");

    if (!made)
        return -1;
    if (!id)
        return error_set(err, ERROR_UNAVAILABLE, "the volume API described no %s", name);
    *ret_id = id;
    return 0;
}

int groups_create(const struct client *api, struct arena *arena,
                  const struct remote_group_new *wanted, const char **ret_id, struct error *err) {
    struct json_out out;

    json_out_begin(&out, arena, "group");
    out_put_text(&out, "name", wanted->name);
    out_put_text(&out, "description", wanted->description);
    out_put_text(&out, "group_type", wanted->group_type);
    out_open_array(&out, "volume_types");
    for (unsigned i = 0; i < wanted->volume_type_count; i++)
        out_text(&out, wanted->volume_types[i]);
    out_end_array(&out);
    return make(api, arena, "/groups", json_out_end(&out), "group", ret_id, err);
}

int groups_change(const struct client *api, struct arena *arena, const char *group_id,
                  const char *description, const char *add, const char *remove, struct error *err) {
    struct client_call call = {
        .method = "PUT", .path = "/groups", .id = group_id, .done = { 202 }
    };
    struct http_answer answer;
    struct json_out out;

    json_out_begin(&out, arena, "group");
    if (description)
        out_put_text(&out, "description", description);
    if (*add)
        out_put_text(&out, "add_volumes", add);
    if (*remove)
        out_put_text(&out, "remove_volumes", remove);
    call.body = json_out_end(&out);
    return client_call(api, arena, &call, &answer, err);
}

int groups_delete(const struct client *api, struct arena *arena, const char *group_id,
                  bool with_volumes, struct error *err) {
    const struct client_call call = {
        .method = "POST",
        .path = "/groups",
        .id = group_id,
        .behind = "/action",
        .body = with_volumes ? "{\"delete\": {\"delete-volumes\": true}}"
                             : "{\"delete\": {\"delete-volumes\": false}}",
        .done = { 202 },
    };
    struct http_answer answer;

    return client_call(api, arena, &call, &answer, err);
}

/* ---- group snapshots ---- */

static int read_group_snapshot(struct arena *arena, const json_t *object, void *ret,
                               struct error *err) {
    const char *created_at = json_text_of(object, "created_at");
    struct remote_group_snapshot row = {
        .id = json_text_of(object, "id"),
        .status = json_text_of(object, "status"),
        .group_id = json_text_of(object, "group_id"),
        .name = json_text_of(object, "name"),
        .description = json_text_of(object, "description"),
    };

    (void)arena;
    if (!row.id || !row.status || !row.group_id ||
        (created_at && clock_parse(created_at, &row.created_us) < 0))
        return error_set(err, ERROR_UNAVAILABLE, "the volume API described no group snapshot");
    *(struct remote_group_snapshot *)ret = row;
    return 0;
}

int group_snapshots_read(const struct client *api, struct arena *arena, const char *id,
                         struct remote_group_snapshot *ret, struct error *err) {
    const struct client_call call = { .method = "GET", .path = "/group_snapshots", .id = id };
    const json_t *row = client_ask_for(api, arena, &call, "group_snapshot", err);

    return row ? read_group_snapshot(arena, row, ret, err) : -1;
}

int group_snapshots_list(const struct client *api, struct arena *arena, const char *query,
                         const char *marker, unsigned limit, struct remote_group_snapshot **ret,
                         struct error *err) {
    void *rows = NULL;
    int count = client_list(
        api, arena, client_page(arena, "/group_snapshots/detail", query, marker, limit),
        "group_snapshots", read_group_snapshot, sizeof(struct remote_group_snapshot), &rows, err);

    *ret = rows;
    return count;
}

int group_snapshots_create(const struct client *api, struct arena *arena, const char *group_id,
                           const char *name, const char *description, const char **ret_id,
                           struct error *err) {
    struct json_out out;

    json_out_begin(&out, arena, "group_snapshot");
    out_put_text(&out, "group_id", group_id);
    out_put_text(&out, "name", name);
    out_put_text(&out, "description", description);
    return make(api, arena, "/group_snapshots", json_out_end(&out), "group_snapshot", ret_id, err);
}

int group_snapshots_delete(const struct client *api, struct arena *arena, const char *id,
                           struct error *err) {
    const struct client_call call = {
        .method = "DELETE", .path = "/group_snapshots", .id = id, .done = { 202 }
    };
    struct http_answer answer;

    return client_call(api, arena, &call, &answer, err);
}
