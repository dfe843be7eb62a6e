#include "model/volume/retype.h"

#include "api/routes.h"
#include "api/volume/resource.h"

struct retype_body {
    const char *type, *policy;
};

/* Nothing is migrated with either: a type that would need it is refused. */
static const char *const policies[] = { "on-demand", "never", NULL };

static const struct field fields[] = {
    FIELD_TEXT(struct retype_body, type, "new_type", FIELD_REQUIRED, 1, 255),
    FIELD_WORD(struct retype_body, policy, "migration_policy", 0, policies),
    FIELDS_END,
};

/* A type with multiattach needs the same right as for a new volume. */
static int retype(struct request *request, struct error *err) {
    const struct retype_body *body = request->body;
    const struct volume *volume = request->object;
    const struct policy_target owner = { volume->project_id, volume->user_id };
    bool multiattach;

    if (volume_retype(&request->work, volume, body->type, &multiattach, err) < 0)
        return -1;
    return multiattach && !volume->multiattach
               ? request_authorize(request, "volume:multiattach", &owner, err)
               : 0;
}

/* clang-format off */
const struct route retype_routes[] = {
    { .method = "POST", .path = "/volumes/{id}/action", .resource = &volume_resource,
      .action = "os-retype", .rule = "volume:retype", BODY(fields, struct retype_body),
      .handler = retype, .status = 202 },
    ROUTES_END,
};
/* clang-format on */
