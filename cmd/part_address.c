/*
 * Addresses of the parts, and settings that several of them need.
 */
#include "cmd/part.h"
#include "common/arena.h"
#include "http/server.h"
#include "identity/own_user.h"

#include <stdlib.h>
#include <string.h>

const char *part_text(const struct parts *parts, const char *key) {
    return config_text(parts->config, "DEFAULT", key);
}

bool part_knows_callers(const struct parts *parts) {
    return strcmp(part_text(parts, "auth_strategy"), "keystone") == 0;
}

const char *part_listener_url(const struct parts *parts, const char *path) {
    unsigned port = parts->http ? http_server_port(parts->http) : 0;

    return listener_url(parts->arena, parts->config, parts->listener, port, path);
}

const char *part_volume_url(const struct parts *parts, const char *section,
                            const struct own_user *user) {
    if (!config_given(parts->config, section, "volume_endpoint")) {
        if (parts->there & PART_API)
            return part_listener_url(parts, "/v3");
        if (own_user_is_known(user))
            return NULL;
    }
    return config_text(parts->config, section, "volume_endpoint");
}

const char *part_agent_url(const struct parts *parts) {
    const char *endpoint = config_text(parts->config, "compute_agent", "endpoint");

    return endpoint ? endpoint
                    : part_listener_url(
                          parts, arena_format(parts->arena, "%s/v2.1", parts->listener->agent));
}

const char *part_csi_endpoint(const struct config *config) {
    const char *endpoint = config_text(config, "csi", "endpoint");

    return endpoint ? endpoint : getenv("CSI_ENDPOINT");
}
