#include "cmd/part.h"
#include "identity/own_user.h"
#include "kubernetes/bridge.h"

int part_kubernetes_start(struct parts *parts, struct error *err) {
    struct bridge_settings settings = {
        .config = parts->config,
        .volume_token = config_text(parts->config, "csi", "volume_token"),
    };

    if (own_user_new(parts->config, "service_user", &parts->kubernetes_user, err) < 0)
        return -1;
    settings.user = parts->kubernetes_user;
    settings.volume_url = part_volume_url(parts, "csi", settings.user);
    return bridge_start(&settings, &parts->kubernetes, err);
}

void part_kubernetes_stop(struct parts *parts) {
    bridge_stop(parts->kubernetes);
    own_user_free(parts->kubernetes_user);
}
