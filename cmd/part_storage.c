#include "cmd/part.h"
#include "cmd/parts.h"
#include "identity/own_user.h"
#include "storage/agent.h"

#define STORAGE "storage"

/* What is configured, the API of this process, what the catalog says (NULL), or the usual place. */
static const char *volume_url(const struct parts *parts) {
    if (!config_given(parts->config, STORAGE, "volume_endpoint")) {
        if (parts->there & PART_API)
            return part_listener_url(parts, "/v3");
        if (own_user_is_known(parts->storage_user))
            return NULL;
    }
    return config_text(parts->config, STORAGE, "volume_endpoint");
}

static const char *run_directory(const struct parts *parts) {
    const char *path = config_text(parts->config, STORAGE, "run_directory");

    return path ? path : arena_format(parts->arena, "%s/targets", part_text(parts, "state_path"));
}

int part_storage_start(struct parts *parts, struct error *err) {
    const char *node = config_text(parts->config, STORAGE, "node");
    struct storage_agent_settings settings = {
        .config = parts->config,
        .node = node ? node : parts_node(parts->config),
        .run_directory = run_directory(parts),
    };

    if (own_user_new(parts->config, "service_user", &parts->storage_user, err) < 0)
        return -1;
    settings.user = parts->storage_user;
    settings.volume_url = volume_url(parts);
    if (parts_make_directories(settings.run_directory, err) < 0)
        return -1;
    return storage_agent_start(&settings, &parts->storage, err);
}

/* One that hangs goes on using its user until the process ends. */
void part_storage_stop(struct parts *parts) {
    if (storage_agent_stop(parts->storage))
        own_user_free(parts->storage_user);
}
