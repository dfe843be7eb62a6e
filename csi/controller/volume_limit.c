/*
 * The number of volumes of a node, and its limit (option max_volumes).
 *
 * All volumes are listed, with and without policy: the API has no list by host.  Two concurrent
 * calls may both find the last slot free: scoria's API refuses to complete the second attachment
 * (common/scoria_headers.h), which then is an incomplete one; Cinder accepts both.  A complete
 * attachment stays, as it may have been reported.  A volume with a policy is published, checked
 * again and perhaps taken back: of two calls at once the last check sees the other's volume, so
 * never both stay, but both may be refused.
 */
#include "csi/controller/configs.private.h"

#include "config/config.h"

#include <string.h>

struct counted {
    const char *node_id, *volume_id;
    int64_t others;
};

static int count_row(void *arg, const void *row, struct error *err) {
    const struct remote_volume *volume = row;
    struct counted *counted = arg;

    (void)err;
    counted->others += strcmp(volume->id, counted->volume_id) != 0 &&
                       controller_attached_to(volume, counted->node_id);
    return 0;
}

static int count_config(void *arg, const void *row, struct error *err) {
    const struct volume_config *config = row;
    struct counted *counted = arg;

    (void)err;
    counted->others +=
        strcmp(config->id, counted->volume_id) != 0 && strcmp(config->node, counted->node_id) == 0;
    return 0;
}

static int count(const struct client *api, struct arena *arena, struct controller_list list,
                 struct error *err) {
    char *next;

    do {
        int result = controller_collect(api, arena, &list, &next, err);

        if (result != 0)
            return result;
        list.token = next;
    } while (*next);
    return 0;
}

int64_t controller_volume_limit(const struct grpc_call *call) {
    return config_int(csi_driver_of(call)->config, "csi", "max_volumes");
}

int controller_check_volume_limit(const struct grpc_call *call, const struct client *api,
                                  const char *node_id, const char *volume_id, struct error *err) {
    int64_t most = controller_volume_limit(call);
    struct counted counted = { node_id, volume_id, 0 };
    const struct controller_list volumes = { .kind = &volume_kind,
                                             .keep = count_row,
                                             .arg = &counted };
    const struct controller_list configs = { .kind = &config_kind,
                                             .keep = count_config,
                                             .arg = &counted };
    int result = most == 0 ? 0 : count(api, call->arena, volumes, err);

    if (most != 0 && result == 0)
        result = count(api, call->arena, configs, err);
    if (most == 0 || result != 0)
        return result;
    return counted.others < most ? 0
                                 : grpc_refuse(err, GRPC_RESOURCE_EXHAUSTED,
                                               "Node %s has %jd volumes, which is its limit.",
                                               node_id, (intmax_t)counted.others);
}
