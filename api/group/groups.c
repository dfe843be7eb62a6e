#include "api/group/resource.h"

#include "api/routes.h"
#include "common/scoria_headers.h"
#include "common/words.h"
#include "model/group/create.h"
#include "model/group/delete.h"
#include "model/group/update.h"
#include "model/type/group_type.h"
#include "rest/answer.h"
#include "rest/status_body.h"
#include "rest/unique.h"

#include <string.h>

#define TYPES_MOST   1000 /* of one group */
#define TYPES_LENGTH 4000 /* of a hundred of them in one text */

/* ---- create ---- */

struct create_body {
    const char *group_type, *name, *description, *availability_zone;
    const json_t *volume_types;
};

static const struct field create_fields[] = {
    FIELD_TEXT(struct create_body, group_type, "group_type", FIELD_REQUIRED, 1, 255),
    FIELD_LIST(struct create_body, volume_types, "volume_types", FIELD_REQUIRED, 1, TYPES_MOST),
    FIELD_NAME0(struct create_body, name, "name", 0),
    FIELD_DESC(struct create_body, description, "description", 0),
    FIELD_TEXT(struct create_body, availability_zone, "availability_zone", FIELD_NULLABLE, 1, 255),
    FIELDS_END,
};

static int check_create(struct request *request, struct error *err) {
    const struct create_body *body = request->body;
    json_t *seen = json_keep(request->http->arena, json_object());

    for (size_t i = 0; i < json_array_size(body->volume_types); i++) {
        const json_t *value = json_array_get(body->volume_types, i);

        if (!json_is_string(value) || json_string_length(value) == 0 ||
            json_string_length(value) > 255 || json_object_get(seen, json_string_value(value)))
            return error_set(err, ERROR_BAD_REQUEST,
                             "Invalid input for field/attribute volume_types: element %zu is not "
                             "the name or id of a type, or stands twice.",
                             i);
        json_object_set_new(seen, json_string_value(value), json_true());
    }
    return 0;
}

static int create_group(struct request *request, struct error *err) {
    const struct create_body *body = request->body;
    size_t count = json_array_size(body->volume_types);
    const char **types = arena_alloc(request->work.arena, count * sizeof *types);
    const struct group_new wanted = {
        .name = body->name,
        .description = body->description,
        .group_type = body->group_type,
        .volume_types = types,
        .volume_type_count = (unsigned)count,
        .availability_zone = body->availability_zone,
    };
    struct volume_group group;

    for (size_t i = 0; i < count; i++)
        types[i] = json_string_value(json_array_get(body->volume_types, i));
    if (unique_check_name(request, &group_resource, body->name, body->description, err) < 0 ||
        group_create(&request->work, &wanted, &group, err) < 0)
        return -1;
    answer_row(request, &group, 0);
    return 0;
}

/* ---- update ---- */

struct update_body {
    const char *name, *description, *add_volumes, *remove_volumes;
};

static const struct field update_fields[] = {
    FIELD_NAME0(struct update_body, name, "name", 0),
    FIELD_DESC(struct update_body, description, "description", 0),
    FIELD_DESC(struct update_body, add_volumes, "add_volumes", 0),
    FIELD_DESC(struct update_body, remove_volumes, "remove_volumes", 0),
    FIELDS_END,
};

/* Before 3.6 an empty text counts as absent. */
static const char *given(const struct request *request, const char *text) {
    return request->minor < MV_CONSISTENCY_GROUP_BLANKS ? text_or_null(text) : text;
}

static int check_update(struct request *request, struct error *err) {
    const struct update_body *body = request->body;

    if (given(request, body->name) || given(request, body->description) ||
        text_or_null(body->add_volumes) || text_or_null(body->remove_volumes))
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Name, description, add_volumes, and remove_volumes can not be all empty in "
                     "the request body.");
}

/* The items between commas, each once; `uuids`: in canonical form. */
static unsigned split(struct arena *arena, const char *list, bool uuids, const char *const **ret) {
    const char **ids = arena_alloc(arena, (list ? strlen(list) : 0) * sizeof *ids + 1);
    char *rest = list ? arena_text(arena, list) : NULL;
    unsigned count = 0;

    for (const char *word; (word = strsep(&rest, ","));) {
        char uuid[UUID_SIZE];

        if (uuids && uuid_parse(word, uuid))
            word = arena_text(arena, uuid);
        if (*word && !words_have(ids, count, word))
            ids[count++] = word;
    }
    *ret = ids;
    return count;
}

static int update_group(struct request *request, struct error *err) {
    const struct update_body *body = request->body;
    struct group_changes changes = {
        .name = given(request, body->name),
        .description = given(request, body->description),
    };

    changes.add_count = split(request->work.arena, body->add_volumes, true, &changes.add_volumes);
    changes.remove_count =
        split(request->work.arena, body->remove_volumes, true, &changes.remove_volumes);
    return group_update(&request->work, request->object, &changes, err);
}

/* ---- actions ---- */

struct delete_body {
    bool delete_volumes;
};

static const struct field delete_fields[] = {
    FIELD_BOOL(struct delete_body, delete_volumes, "delete-volumes", 0),
    FIELDS_END,
};

static int delete_group(struct request *request, struct error *err) {
    const struct delete_body *body = request->body;

    return group_delete(&request->work, request->object, body->delete_volumes, err);
}

static int reset_status(struct request *request, struct error *err) {
    const struct status_body *body = request->body;

    return group_reset_status(&request->work, request->object, body->status, err);
}

/* ---- replication ---- */

struct failover_body {
    bool allow_attached_volume;
    const char *secondary_backend_id;
};

static const struct field no_fields[] = { FIELDS_END };
static const struct field failover_fields[] = {
    FIELD_BOOL(struct failover_body, allow_attached_volume, "allow_attached_volume", 0),
    FIELD_NAME0(struct failover_body, secondary_backend_id, "secondary_backend_id", 0),
    FIELDS_END,
};

/* No backend of this service replicates groups. */
static int refuse_replication(struct request *request, struct error *err) {
    const struct volume_group *group = request->object;
    struct group_type type;

    if (group_type_row(&request->work, group->group_type_id, &type, err) < 0)
        return -1;
    if (!group_type_replicates(&type))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid group type: Group %s is not a replication group type.",
                         group->id);
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid group: The backend of group %s does not replicate groups.",
                     group->id);
}

/* ---- consistency groups: those of the reserved type ---- */

struct consistency_body {
    const char *volume_types, *name, *description, *availability_zone;
};

static const struct field consistency_fields[] = {
    FIELD_TEXT(struct consistency_body, volume_types, "volume_types", FIELD_REQUIRED, 1,
               TYPES_LENGTH),
    FIELD_NAME0(struct consistency_body, name, "name", 0),
    FIELD_DESC(struct consistency_body, description, "description", 0),
    FIELD_TEXT(struct consistency_body, availability_zone, "availability_zone", FIELD_NULLABLE, 1,
               255),
    FIELDS_END,
};

static int check_consistency(struct request *request, struct error *err) {
    const struct consistency_body *body = request->body;

    if (body->volume_types[strspn(body->volume_types, ",")] != '\0')
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid input for field/attribute volume_types: it names no type.");
}

static int create_consistency(struct request *request, struct error *err) {
    const struct consistency_body *body = request->body;
    struct group_new wanted = {
        .name = body->name,
        .description = body->description,
        .availability_zone = body->availability_zone,
    };
    struct volume_group group;

    wanted.volume_type_count =
        split(request->work.arena, body->volume_types, false, &wanted.volume_types);
    if (group_create(&request->work, &wanted, &group, err) < 0)
        return -1;
    answer_row(request, &group, 0);
    return 0;
}

struct force_body {
    bool force;
};

static const struct field force_fields[] = {
    FIELD_BOOL(struct force_body, force, "force", 0),
    FIELDS_END,
};

static int delete_consistency(struct request *request, struct error *err) {
    const struct force_body *body = request->body;

    return group_delete(&request->work, request->object, body->force, err);
}

/* ---- rows ---- */

static const struct route_query queries[] = {
    { "list_volume", .since = MV_GROUP_VOLUMES, .is_boolean = true },
    { .name = NULL },
};

/* clang-format off */
#define WITH_VOLUMES .queries = queries
#define GROUPS(method_, path_, rule_, handler_, status_) \
    .method = method_, .path = "/groups" path_, .since = MV_GROUPS, .resource = &group_resource, \
    .rule = "group:" rule_, .handler = handler_, .status = status_
#define ACTION(name, since_, rule_, handler_, status_) \
    .method = "POST", .path = "/groups/{id}/action", .action = name, .since = since_, \
    .resource = &group_resource, .rule = "group:" rule_, .handler = handler_, .status = status_
#define REPLICATION(name, status_) \
    ACTION(name, MV_GROUP_REPLICATION, name, refuse_replication, status_)
#define CONSISTENCY_GROUPS(method_, path_, rule_, handler_, status_) \
    .method = method_, .path = "/consistencygroups" path_, .resource = &consistency_group_resource, \
    .rule = "group:" rule_, .handler = handler_, .status = status_
#define CONSISTENCY_UPDATE(path) \
    CONSISTENCY_GROUPS("PUT", path, "update", update_group, 202), .wrapper = "consistencygroup", \
    BODY(update_fields, struct update_body), .check = check_update
#define CONSISTENCY_DELETE(method, path) \
    CONSISTENCY_GROUPS(method, path, "delete", delete_consistency, 202), .wrapper = "consistencygroup", \
    .flags = ROUTE_NULL_VALUE | ROUTE_EMPTY_BODY, BODY(force_fields, struct force_body)

const struct route group_routes[] = {
    { GROUPS("GET", "", "get_all", resource_list, 200), WITH_VOLUMES },
    { GROUPS("GET", "/detail", "get_all", resource_list_detail, 200), WITH_VOLUMES },
    { GROUPS("POST", "", "create", create_group, 202), HEADER_IN(IN_HEADER, UNIQUE_HEADER), .wrapper = "group",
      BODY(create_fields, struct create_body), .check = check_create,
      ANSWER("group", group_short_shape) },
    { GROUPS("GET", "/{id}", "get", resource_show, 200), WITH_VOLUMES, .flags = ROUTE_BROAD },
    { GROUPS("PUT", "/{id}", "update", update_group, 202), .wrapper = "group",
      BODY(update_fields, struct update_body), .check = check_update },
    ABSENT("DELETE", "/groups/{id}"),

    { ACTION("delete", MV_GROUPS, "delete", delete_group, 202),
      BODY(delete_fields, struct delete_body) },
    { ACTION("reset_status", MV_GROUP_RESET, "reset_status", reset_status, 202),
      BODY(status_body_fields, struct status_body) },
    { REPLICATION("enable_replication", 202), BODY(no_fields, struct failover_body) },
    { REPLICATION("disable_replication", 202), BODY(no_fields, struct failover_body) },
    { REPLICATION("failover_replication", 202), BODY(failover_fields, struct failover_body) },
    { REPLICATION("list_replication_targets", 200), BODY(no_fields, struct failover_body) },

    { CONSISTENCY_GROUPS("GET", "", "get_all", resource_list, 200) },
    { CONSISTENCY_GROUPS("GET", "/detail", "get_all", resource_list_detail, 200) },
    { CONSISTENCY_GROUPS("POST", "", "create", create_consistency, 202),
      .wrapper = "consistencygroup", .flags = ROUTE_OPEN,
      BODY(consistency_fields, struct consistency_body), .check = check_consistency,
      ANSWER("consistencygroup", group_short_shape) },
    { CONSISTENCY_GROUPS("GET", "/{id}", "get", resource_show, 200) },
    { CONSISTENCY_UPDATE("/{id}") },
    { CONSISTENCY_UPDATE("/{id}/update") },
    { CONSISTENCY_DELETE("POST", "/{id}/delete") },
    { CONSISTENCY_DELETE("DELETE", "/{id}") },
    ROUTES_END,
};
/* clang-format on */
