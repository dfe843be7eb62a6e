#include "cmd/part.h"
#include "cmd/parts.h"
#include "identity/own_user.h"
#include "replication/node/agent.h"

#define STORAGE "storage"

int part_storage_start(struct parts *parts, struct error *err) {
    const char *node = config_text(parts->config, STORAGE, "node");
    const char *directory = config_text(parts->config, STORAGE, "run_directory");
    struct storage_agent_settings settings = {
        .config = parts->config,
        .node = node ? node : parts_node(parts->config),
        .run_directory =
            directory ? directory
                      : arena_format(parts->arena, "%s/targets", part_text(parts, "state_path")),
    };

    if (own_user_new(parts->config, "service_user", &parts->storage_user, err) < 0)
        return -1;
    settings.user = parts->storage_user;
    settings.volume_url = part_volume_url(parts, STORAGE, parts->storage_user);
    if (parts_make_directories(settings.run_directory, err) < 0)
        return error_context(err, "run_directory of [" STORAGE "], or --state-dir");
    return storage_agent_start(&settings, &parts->storage, err);
}

/* A hanging one uses its user until the process ends. */
void part_storage_stop(struct parts *parts) {
    if (storage_agent_stop(parts->storage))
        own_user_free(parts->storage_user);
}
