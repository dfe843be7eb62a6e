#include "api/routes.h"
#include "common/cleanup.h"
#include "model/type/type.h"
#include "rest/answer.h"

#include <string.h>

#define LIMIT_MOST 2147483647
#define OWNER_MOST 255

/* ---- responses ---- */

/* Of a project or a class. */
struct quota_set {
    const char *id; /* NULL: omitted, as in the response to a change */
    const struct quota *quotas;
    int count;
    bool usage;
};

static const struct shape_key usage_keys[] = {
    SHAPE(struct quota, limit, "limit", INT),
    SHAPE(struct quota, in_use, "in_use", INT),
    SHAPE(struct quota, reserved, "reserved", INT),
    SHAPES_END,
};
static const struct shape usage_shape = { "quota_usage", usage_keys };

static bool has_id(const void *row) {
    const struct quota_set *set = row;

    return set->id != NULL;
}

static void put_quotas(struct request *request, const void *row) {
    const struct quota_set *set = row;

    for (int i = 0; i < set->count; i++) {
        out_key_text(&request->out, set->quotas[i].resource);
        if (set->usage)
            shape_put(request, &usage_shape, &set->quotas[i], 0);
        else
            out_int(&request->out, set->quotas[i].limit);
    }
}

static const struct shape_key set_keys[] = {
    SHAPE(struct quota_set, id, "id", TEXT, .has = has_id),
    SHAPE_ELSE(INT, 0, .put = put_quotas, .of = &usage_shape),
    SHAPES_END,
};
static const struct shape set_shape = { "quota_set", set_keys };

static void answer_quotas(struct request *request, const char *id, const struct quota *quotas,
                          int count, bool usage) {
    answer_row(request, &(struct quota_set){ id, quotas, count, usage }, 0);
}

/* ---- quota sets of projects ---- */

#define QUOTA_SET "quota_set"

/* The rule's target is the project in the path. */
static int authorize_show(struct request *request, struct error *err) {
    return request_authorize(request, "volume_extension:quotas:show",
                             &(struct policy_target){ .project_id = request->id }, err);
}

static int show_quota_set(struct request *request, struct error *err) {
    const char *asked = request_query(request, "usage");
    bool usage = false;
    struct quota *quotas;
    int count;

    if (authorize_show(request, err) < 0)
        return -1;
    if (asked && !json_boolean_word(asked, true, &usage))
        return error_set(err, ERROR_BAD_REQUEST, "Invalid usage: '%s' is not a boolean.", asked);
    count = quota_limit_list(&request->work, &volume_type_quotas, request->id, false, &quotas, err);
    if (count < 0)
        return -1;
    answer_quotas(request, request->id, quotas, count, usage);
    return 0;
}

static int show_quota_defaults(struct request *request, struct error *err) {
    struct quota *quotas;
    int count;

    if (authorize_show(request, err) < 0)
        return -1;
    count = quota_limit_list(&request->work, &volume_type_quotas, request->id, true, &quotas, err);
    if (count < 0)
        return -1;
    answer_quotas(request, request->id, quotas, count, false);
    return 0;
}

/* ---- changes ---- */

/* The keys are checked one by one: valid names are in the database. */
struct limits_body {
    const json_t *ignored;
    int64_t limit;
};

static const struct field limits_fields[] = {
    FIELD_ELSE(struct limits_body, limit, SIZE, 0, .min = -1, .max = LIMIT_MOST),
    FIELD_ANY(struct limits_body, ignored, "tenant_id", 0),
    FIELD_ANY(struct limits_body, ignored, "id", 0),
    FIELDS_END,
};

typedef int set_limit(struct work *work, const char *owner, const char *resource, int64_t limit,
                      struct error *err);

static int check_limits(struct request *request, struct error *err) {
    if (strlen(request->id) > OWNER_MOST)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid project or class: it has more than %d characters.", OWNER_MOST);
    if (json_object_size(request->json) == 0)
        return error_set(err, ERROR_BAD_REQUEST, "%s must be an object with at least one key.",
                         request->route->wrapper);
    return 0;
}

static int change_limits(struct request *request, set_limit *set, struct error *err) {
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)request->json, key, value) {
        int64_t limit;

        if (strcmp(key, "tenant_id") == 0 || strcmp(key, "id") == 0)
            continue;
        if (error_if_none(quota_limit_known(&request->work, &volume_type_quotas, key, err), err,
                          ERROR_BAD_REQUEST, "Bad key(s) in quota set: %s", key) < 0 ||
            field_read(request->work.arena, limits_fields, value, &limit, err) < 0 ||
            set(&request->work, request->id, key, limit, err) < 0)
            return -1;
    }
    return 0;
}

static int update_quota_set(struct request *request, struct error *err) {
    struct quota *quotas;
    int count;

    if (change_limits(request, quota_limit_set, err) < 0)
        return -1;
    count = quota_limit_list(&request->work, &volume_type_quotas, request->id, false, &quotas, err);
    if (count < 0)
        return -1;
    answer_quotas(request, NULL, quotas, count, false);
    return 0;
}

static int delete_quota_set(struct request *request, struct error *err) {
    return quota_limit_reset(&request->work, request->id, err);
}

/* ---- quota classes ---- */

#define CLASS_SET "quota_class_set"

static int answer_class(struct request *request, const char *id, struct error *err) {
    struct quota *quotas;
    int count =
        quota_limit_list_class(&request->work, &volume_type_quotas, request->id, &quotas, err);

    if (count < 0)
        return -1;
    answer_quotas(request, id, quotas, count, false);
    return 0;
}

static int show_class(struct request *request, struct error *err) {
    return answer_class(request, request->id, err);
}

static int update_class(struct request *request, struct error *err) {
    if (change_limits(request, quota_limit_set_class, err) < 0)
        return -1;
    return answer_class(request, NULL, err);
}

/* ---- limits ---- */

static const struct absolute_limit {
    const char *resource, *limit_key, *used_key;
} absolute_limits[] = {
    { "volumes", "maxTotalVolumes", "totalVolumesUsed" },
    { "snapshots", "maxTotalSnapshots", "totalSnapshotsUsed" },
    { "gigabytes", "maxTotalVolumeGigabytes", "totalGigabytesUsed" },
    { "backups", "maxTotalBackups", "totalBackupsUsed" },
    { "backup_gigabytes", "maxTotalBackupGigabytes", "totalBackupGigabytesUsed" },
};

struct limits {
    const struct quota *quotas;
    int count;
    bool used;
};

static void put_absolute(struct request *request, const void *row) {
    const struct limits *limits = row;
    struct json_out *out = &request->out;

    out_begin_object(out);
    for (size_t i = 0; i < LENGTH(absolute_limits); i++) {
        const struct absolute_limit *absolute = &absolute_limits[i];

        for (int j = 0; j < limits->count; j++) {
            if (strcmp(limits->quotas[j].resource, absolute->resource) != 0)
                continue;
            out_key_text(out, absolute->limit_key);
            out_int(out, limits->quotas[j].limit);
            if (limits->used) {
                out_key_text(out, absolute->used_key);
                out_int(out, limits->quotas[j].in_use);
            }
        }
    }
    out_end_object(out);
}

static const struct shape_key absolute_keys[] = { SHAPE_ELSE(INT, 0), SHAPES_END };
static const struct shape absolute_shape = { NULL, absolute_keys };

static const struct shape_key limits_keys[] = {
    SHAPE_BY(shape_no_items, "rate", LIST),
    SHAPE_BY(put_absolute, "absolute", OBJECT, .of = &absolute_shape),
    SHAPES_END,
};
static const struct shape limits_shape = { NULL, limits_keys };

static int show_limits(struct request *request, struct error *err) {
    struct limits limits = { .used =
                                 request_allows(request, "limits_extension:used_limits", NULL) };
    const char *asked = request_query(request, "project_id"),
               *project = request->context.project_id;
    struct quota *quotas;

    if (!asked)
        asked = request_query(request, "tenant_id");
    if (asked && request->context.is_admin && request->minor >= MV_LIMITS_OF_PROJECTS)
        project = asked;
    limits.count =
        quota_limit_list(&request->work, &volume_type_quotas, project, false, &quotas, err);
    if (limits.count < 0)
        return -1;
    limits.quotas = quotas;
    answer_row(request, &limits, 0);
    return 0;
}

static const struct route_query set_queries[] = { { "usage", .is_boolean = true },
                                                  { .name = NULL } };
static const struct route_query limits_queries[] = {
    { "project_id", .since = MV_LIMITS_OF_PROJECTS },
    { "tenant_id", .since = MV_LIMITS_OF_PROJECTS },
    { .name = NULL }
};

/* clang-format off */
#define RULE "volume_extension:"

const struct route quota_routes[] = {
    { .method = "GET", .path = "/os-quota-sets/{id}", .queries = set_queries,
      ANSWER(QUOTA_SET, set_shape), .handler = show_quota_set, .status = 200,
      .flags = ROUTE_BROAD },
    { .method = "GET", .path = "/os-quota-sets/{id}/defaults", ANSWER(QUOTA_SET, set_shape),
      .handler = show_quota_defaults, .status = 200 },
    { .method = "PUT", .path = "/os-quota-sets/{id}", .rule = RULE "quotas:update",
      .wrapper = QUOTA_SET, BODY(limits_fields, struct limits_body), .check = check_limits,
      ANSWER(QUOTA_SET, set_shape), .handler = update_quota_set, .status = 200 },
    { .method = "DELETE", .path = "/os-quota-sets/{id}", .rule = RULE "quotas:delete",
      .handler = delete_quota_set, .status = 200 },
    ABSENT("GET", "/os-quota-sets"),
    ABSENT("POST", "/os-quota-sets"),

    { .method = "GET", .path = "/os-quota-class-sets/{id}", .rule = RULE "quota_classes:get",
      ANSWER(CLASS_SET, set_shape), .handler = show_class, .status = 200 },
    { .method = "PUT", .path = "/os-quota-class-sets/{id}", .rule = RULE "quota_classes:update",
      .wrapper = CLASS_SET, BODY(limits_fields, struct limits_body), .check = check_limits,
      ANSWER(CLASS_SET, set_shape), .handler = update_class, .status = 200 },
    ABSENT("DELETE", "/os-quota-class-sets/{id}"),
    ABSENT("GET", "/os-quota-class-sets"),
    ABSENT("POST", "/os-quota-class-sets"),

    { .method = "GET", .path = "/limits", .queries = limits_queries,
      ANSWER("limits", limits_shape), .handler = show_limits,
      .status = 200, .flags = ROUTE_BROAD },
    ABSENT("POST", "/limits"),
    ABSENT("GET", "/limits/{id}"),
    ABSENT("PUT", "/limits/{id}"),
    ABSENT("DELETE", "/limits/{id}"),
    ROUTES_END
};
/* clang-format on */
