#include "rest/route.h"
#include "tests/lib/check_main.h"
#include "tests/lib/world.h"

#include <string.h>

/* An extension, and a route that is served exactly when it is listed. */
static const struct {
    const char *alias, *method, *path, *action;
} extensions[] = {
    { "os-vol-image-meta", "POST", "/volumes/{id}/action", "os-set_image_metadata" },
    { "os-used-limits", "GET", "/limits", NULL },
    { "os-admin-actions", "POST", "/volumes/{id}/action", "os-reset_status" },
    { "os-types-extra-specs", "GET", "/types/{id}/extra_specs", NULL },
    { "encryption", "GET", "/types/{id}/encryption", NULL },
    { "os-volume-encryption-metadata", "GET", "/volumes/{id}/encryption", NULL },
    { "os-quota-sets", "GET", "/os-quota-sets/{id}", NULL },
    { "os-volume-actions", "POST", "/volumes/{id}/action", "os-attach" },
    { "os-quota-class-sets", "GET", "/os-quota-class-sets/{id}", NULL },
    { "os-availability-zone", "GET", "/os-availability-zone", NULL },
    { "os-volume-type-access", "GET", "/types/{id}/os-volume-type-access", NULL },
    { "os-services", "GET", "/os-services", NULL },
    { "os-hosts", "GET", "/os-hosts", NULL },
    { "os-types-manage", "POST", "/types", NULL },
    { "os-volume-manage", "POST", "/os-volume-manage", NULL },
    { "os-volume-unmanage", "POST", "/volumes/{id}/action", "os-unmanage" },
    { "os-snapshot-manage", "POST", "/os-snapshot-manage", NULL },
    { "os-snapshot-unmanage", "POST", "/snapshots/{id}/action", "os-unmanage" },
    { "os-snapshot-actions", "POST", "/snapshots/{id}/action", "os-update_snapshot_status" },
    { "os-extended-snapshot-attributes", "GET", "/snapshots/detail", NULL },
    { "qos-specs", "GET", "/qos-specs", NULL },
    { "scheduler-stats", "GET", "/scheduler-stats/get_pools", NULL },
    { "capabilities", "GET", "/capabilities/{id}", NULL },
    { "consistencygroups", "GET", "/consistencygroups", NULL },
    { "cgsnapshots", "GET", "/cgsnapshots", NULL },
    { "backups", "GET", "/backups", NULL },
    { "os-volume-transfer", "GET", "/os-volume-transfer", NULL },
    { "os-extend-volume-completion", "POST", "/volumes/{id}/action",
      "os-extend_volume_completion" },
    { "os-reclaim-space", "POST", "/volumes/{id}/action", "os-reclaim_space" },
    { "os-volume-policies", "GET", "/volume_policies", NULL },
};

static bool is_served(const char *method, const char *path, const char *action) {
    for (const struct route *const *routes = api_routes; *routes; routes++)
        for (const struct route *route = *routes; route->method; route++)
            if (strcmp(route->method, method) == 0 && strcmp(route->path, path) == 0 &&
                !(route->flags & ROUTE_ABSENT) && !route->action == !action &&
                (!action || strcmp(route->action, action) == 0))
                return true;
    return false;
}

START_TEST(an_extension_is_listed_exactly_when_it_is_served) {
    autoworld struct world *world = world_new(NULL);

    for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
        const char *path = arena_format(world->arena, "/extensions/%s", extensions[i].alias);
        bool served = is_served(extensions[i].method, extensions[i].path, extensions[i].action);

        ck_assert_msg(world_call(world, "GET", path, NULL) == (served ? 200 : 404), "%s",
                      extensions[i].alias);
    }
}
END_TEST

CHECK_MAIN("extensions", an_extension_is_listed_exactly_when_it_is_served)
