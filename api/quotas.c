#include "api/routes.h"
#include "common/cleanup.h"
#include "volume/type.h"

#include <string.h>

#define LIMIT_MOST 2147483647
#define OWNER_MOST 255

/* ---- answers ---- */

static void put_quotas(struct json_out *out, const struct quota *quotas, int count, bool usage) {
    for (int i = 0; i < count; i++) {
        out_key_text(out, quotas[i].resource);
        if (!usage) {
            out_int(out, quotas[i].limit);
            continue;
        }
        out_begin_object(out);
        out_put_int(out, "limit", quotas[i].limit);
        out_put_int(out, "in_use", quotas[i].in_use);
        out_put_int(out, "reserved", quotas[i].reserved);
        out_end_object(out);
    }
}

/* `id` NULL: left out, as in the answer to a change. */
static void answer_quotas(struct request *request, const char *word, const char *id,
                          const struct quota *quotas, int count, bool usage) {
    struct json_out *out = &request->out;

    out_begin_object(out);
    out_key_text(out, word);
    out_begin_object(out);
    if (id)
        out_put_text(out, "id", id);
    put_quotas(out, quotas, count, usage);
    out_end_object(out);
    out_end_object(out);
}

/* ---- quota sets of projects ---- */

#define QUOTA_SET "quota_set"

/* The rule is about the project in the path. */
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
        return error_set(err, ERROR_BAD_REQUEST, "Invalid usage: '%s' is no boolean.", asked);
    count = quota_limit_list(&request->work, &volume_type_quotas, request->id, false, &quotas, err);
    if (count < 0)
        return -1;
    answer_quotas(request, QUOTA_SET, request->id, quotas, count, usage);
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
    answer_quotas(request, QUOTA_SET, request->id, quotas, count, false);
    return 0;
}

/* ---- changes ---- */

/* An integer, or the text of one. */
static bool read_limit(const json_t *value, int64_t *ret) {
    const char *text = json_string_value(value);

    if (json_is_integer(value))
        *ret = json_integer_value(value);
    else if (text && strcmp(text, "-1") == 0)
        *ret = -1;
    else if (!text || !json_digits(text, ret))
        return false;
    return *ret >= -1 && *ret <= LIMIT_MOST;
}

static bool is_ignored_key(const char *key) {
    return strcmp(key, "tenant_id") == 0 || strcmp(key, "id") == 0;
}

typedef int set_limit(struct work *work, const char *owner, const char *resource, int64_t limit,
                      struct error *err);

/* Values are looked at before the caller's rights; which names there are is in the database. */
static int check_limits(struct request *request, struct error *err) {
    const char *key;
    json_t *value;
    int64_t limit;

    if (strlen(request->id) > OWNER_MOST)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid project or class: it has more than %d characters.", OWNER_MOST);

    if (!json_is_object(request->json) || json_object_size(request->json) == 0)
        return error_set(err, ERROR_BAD_REQUEST, "%s must be an object with at least one key.",
                         request->route->wrapper);
    json_object_foreach((json_t *)(uintptr_t)request->json, key, value) {
        if (!is_ignored_key(key) && !read_limit(value, &limit))
            return error_set(err, ERROR_BAD_REQUEST,
                             "Quota limit %s must be an integer from -1 to %d.", key, LIMIT_MOST);
    }
    return 0;
}

static int change_limit(struct request *request, set_limit *set, const char *key,
                        const json_t *value, struct error *err) {
    int known = quota_limit_known(&request->work, &volume_type_quotas, key, err);
    int64_t limit = 0;

    if (error_if_none(known, err, ERROR_BAD_REQUEST, "Bad key(s) in quota set: %s", key) < 0)
        return -1;
    read_limit(value, &limit); /* checked */
    return set(&request->work, request->id, key, limit, err);
}

static int change_limits(struct request *request, set_limit *set, struct error *err) {
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)request->json, key, value) {
        if (!is_ignored_key(key) && change_limit(request, set, key, value, err) < 0)
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
    answer_quotas(request, QUOTA_SET, NULL, quotas, count, false);
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
    answer_quotas(request, CLASS_SET, id, quotas, count, false);
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

static void put_absolute(struct json_out *out, const struct quota *quotas, int count, bool used) {
    for (size_t i = 0; i < LENGTH(absolute_limits); i++) {
        const struct absolute_limit *absolute = &absolute_limits[i];

        for (int j = 0; j < count; j++) {
            if (strcmp(quotas[j].resource, absolute->resource) != 0)
                continue;
            out_key_text(out, absolute->limit_key);
            out_int(out, quotas[j].limit);
            if (used) {
                out_key_text(out, absolute->used_key);
                out_int(out, quotas[j].in_use);
            }
        }
    }
}

static const char *limits_project(const struct request *request) {
    const char *asked = request_query(request, "project_id");

    if (!asked)
        asked = request_query(request, "tenant_id");
    if (asked && request->context.is_admin && request->minor >= MV_LIMITS_OF_PROJECTS)
        return asked;
    return request->context.project_id;
}

static int show_limits(struct request *request, struct error *err) {
    struct json_out *out = &request->out;
    struct quota *quotas;
    int count = quota_limit_list(&request->work, &volume_type_quotas, limits_project(request),
                                 false, &quotas, err);

    if (count < 0)
        return -1;
    out_begin_object(out);
    out_key(out, "limits");
    out_begin_object(out);
    out_key(out, "rate");
    out_begin_array(out);
    out_end_array(out);
    out_key(out, "absolute");
    out_begin_object(out);
    put_absolute(out, quotas, count, request_allows(request, "limits_extension:used_limits", NULL));
    out_end_object(out);
    out_end_object(out);
    out_end_object(out);
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
      .handler = show_quota_set, .status = 200 },
    { .method = "GET", .path = "/os-quota-sets/{id}/defaults", .handler = show_quota_defaults,
      .status = 200 },
    { .method = "PUT", .path = "/os-quota-sets/{id}", .rule = RULE "quotas:update",
      .wrapper = QUOTA_SET, .check = check_limits, .handler = update_quota_set, .status = 200 },
    { .method = "DELETE", .path = "/os-quota-sets/{id}", .rule = RULE "quotas:delete",
      .handler = delete_quota_set, .status = 200 },
    ABSENT("GET", "/os-quota-sets"),
    ABSENT("POST", "/os-quota-sets"),

    { .method = "GET", .path = "/os-quota-class-sets/{id}", .rule = RULE "quota_classes:get",
      .handler = show_class, .status = 200 },
    { .method = "PUT", .path = "/os-quota-class-sets/{id}", .rule = RULE "quota_classes:update",
      .wrapper = CLASS_SET, .check = check_limits, .handler = update_class, .status = 200 },
    ABSENT("DELETE", "/os-quota-class-sets/{id}"),
    ABSENT("GET", "/os-quota-class-sets"),
    ABSENT("POST", "/os-quota-class-sets"),

    { .method = "GET", .path = "/limits", .queries = limits_queries, .handler = show_limits,
      .status = 200 },
    ABSENT("POST", "/limits"),
    ABSENT("GET", "/limits/{id}"),
    ABSENT("PUT", "/limits/{id}"),
    ABSENT("DELETE", "/limits/{id}"),
    ROUTES_END
};
/* clang-format on */
