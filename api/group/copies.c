/*
 * Groups created from other groups, or from group snapshots.
 */
#include "api/group/resource.h"
#include "api/group/snapshot_resource.h"
#include "api/routes.h"
#include "model/group/copy.h"
#include "rest/answer.h"

struct copy_body {
    const char *group_snapshot_id, *source_group_id, *name, *description;
};

static const struct field copy_fields[] = {
    FIELD_UUID(struct copy_body, group_snapshot_id, "group_snapshot_id", 0),
    FIELD_UUID(struct copy_body, source_group_id, "source_group_id", 0),
    FIELD_NAME0(struct copy_body, name, "name", 0),
    FIELD_DESC(struct copy_body, description, "description", 0),
    FIELDS_END,
};

static const struct field consistency_fields[] = {
    FIELD_UUID(struct copy_body, group_snapshot_id, "cgsnapshot_id", FIELD_NULLABLE),
    FIELD_UUID(struct copy_body, source_group_id, "source_cgid", FIELD_NULLABLE),
    FIELD_NAME0(struct copy_body, name, "name", 0),
    FIELD_DESC(struct copy_body, description, "description", 0),
    FIELDS_END,
};

static int check_copy(struct request *request, struct error *err) {
    const struct copy_body *body = request->body;

    if (!body->group_snapshot_id != !body->source_group_id)
        return 0;
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid input: exactly one group or group snapshot is needed as the source.");
}

static int copy_of(struct request *request, const struct resource *group_snapshots,
                   const struct resource *groups, struct error *err) {
    const struct copy_body *body = request->body;
    struct group_copy wanted = { .name = body->name, .description = body->description };
    struct policy_target owner;
    struct volume_group made;

    if (body->group_snapshot_id)
        wanted.group_snapshot =
            resource_load(request, group_snapshots, body->group_snapshot_id, &owner, err);
    else
        wanted.group = resource_load(request, groups, body->source_group_id, &owner, err);
    if ((!wanted.group && !wanted.group_snapshot) ||
        group_copy(&request->work, &wanted, &made, err) < 0)
        return -1;
    answer_row(request, &made, 0);
    return 0;
}

static int create_copy(struct request *request, struct error *err) {
    return copy_of(request, &group_snapshot_resource, &group_resource, err);
}

static int copy_consistency(struct request *request, struct error *err) {
    return copy_of(request, &cgsnapshot_resource, &consistency_group_resource, err);
}

/* clang-format off */
const struct route group_copy_routes[] = {
    { .method = "POST", .path = "/groups/action", .action = "create-from-src",
      .since = MV_GROUP_SNAPSHOTS, .rule = "group:create", BODY(copy_fields, struct copy_body),
      .check = check_copy, ANSWER("group", group_short_shape), .handler = create_copy, .status = 202 },
    { .method = "POST", .path = "/consistencygroups/create_from_src", .rule = "group:create",
      .wrapper = "consistencygroup-from-src", .flags = ROUTE_OPEN,
      BODY(consistency_fields, struct copy_body), .check = check_copy,
      ANSWER("consistencygroup", group_short_shape), .handler = copy_consistency, .status = 202 },
    ROUTES_END,
};
/* clang-format on */
