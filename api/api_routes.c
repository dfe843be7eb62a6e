#include "api/routes.h"

const struct route *const api_routes[] = {
    volume_routes,  volume_action_routes, attachment_routes,      type_routes,
    quota_routes,   service_routes,       type_encryption_routes, default_type_routes,
    message_routes, extension_routes,     resource_filter_routes, NULL,
};
