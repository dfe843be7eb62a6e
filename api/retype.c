#include "volume/retype.h"

#include "api/routes.h"
#include "api/volume_resource.h"

struct retype_body {
    const char *type, *policy;
};

/* Nothing is moved either way: a type that would need it is refused. */
static const char *const policies[] = { "on-demand", "never", NULL };

static const struct field fields[] = {
    FIELD_TEXT(struct retype_body, type, "new_type", FIELD_REQUIRED, 1, 255),
    FIELD_WORD(struct retype_body, policy, "migration_policy", 0, policies),
    FIELDS_END,
};

static int retype(struct request *request, struct error *err) {
    const struct retype_body *body = request->body;

    return volume_retype(&request->work, request->object, body->type, err);
}

/* clang-format off */
const struct route retype_routes[] = {
    { .method = "POST", .path = "/volumes/{id}/action", .resource = &volume_resource,
      .action = "os-retype", .rule = "volume:retype", BODY(fields, struct retype_body),
      .handler = retype, .status = 202 },
    ROUTES_END,
};
/* clang-format on */
