/*
 * ControllerReclaimSpace of a volume with a policy and without a node: its replicas deallocate
 * zeros in their files.  Free blocks of its file system are known to a node only.
 */
#include "csi/controller/configs.private.h"

#include "common/clock.h"
#include "common/reclaim_phase.h"
#include "json/json.h"

#include <string.h>

static Reclaimspace__StorageConsumption *usage_of(struct arena *arena, int64_t bytes) {
    Reclaimspace__StorageConsumption *usage =
        CSI_NEW(arena, Reclaimspace__StorageConsumption, reclaimspace__storage_consumption);

    usage->usage_bytes = bytes;
    return usage;
}

void reclaim_report(struct arena *arena, int64_t before_bytes, int64_t after_bytes,
                    Reclaimspace__ControllerReclaimSpaceResponse *ret) {
    ret->pre_usage = usage_of(arena, before_bytes);
    ret->post_usage = usage_of(arena, after_bytes);
}

static bool is(const struct volume_config *config, const char *key, const char *text) {
    return strcmp(config_text_of(config->reclaim, key), text) == 0;
}

static json_int_t figure(const struct volume_config *config, const char *key) {
    return json_int_at(config->reclaim, key);
}

static int finish(const struct grpc_call *call, const struct client *api,
                  struct volume_config *config, struct error *err) {
    struct poll_wait wait = poll_wait_of(call);
    json_int_t number = figure(config, "number");
    int result = 0;

    while (result == 0 && is(config, "phase", RECLAIM_PHASE_PENDING)) {
        if (!poll_again(call, &wait))
            return grpc_refuse(err, GRPC_ABORTED, "Space of volume %s is still being reclaimed.",
                               config->id);
        result = config_read(api, call->arena, config->id, config, err);
        if (result == 0 && figure(config, "number") != number)
            return grpc_refuse(err, GRPC_ABORTED,
                               "Another reclaim of volume %s has been requested.", config->id);
    }
    return result;
}

int config_reclaim(const struct grpc_call *call, const struct client *api, const char *id,
                   Reclaimspace__ControllerReclaimSpaceResponse *answer, struct error *err) {
    struct volume_config config;
    char request[UUID_SIZE];
    int result = config_read(api, call->arena, id, &config, err);

    if (result != 0 || *config.node)
        return result;
    if (!is(&config, "phase", RECLAIM_PHASE_PENDING)) /* a running reclaim is joined */
        result = config_change(api, call->arena, &config,
                               json_pack("{s:{s:s}, s:{s:{s:s}}}", "metadata", "resourceVersion",
                                         config.version, "spec", "reclaim", "request",
                                         clock_uuid(&clock_system, request)),
                               err);
    if (result == 0)
        result = finish(call, api, &config, err);
    if (result != 0)
        return result;
    if (!is(&config, "phase", RECLAIM_PHASE_DONE)) {
        enum grpc_code code = is(&config, "phase", RECLAIM_PHASE_STOPPED) ? GRPC_ABORTED
                              : is(&config, "reason", RECLAIM_REASON_UNSUPPORTED)
                                  ? GRPC_UNIMPLEMENTED
                                  : GRPC_INTERNAL;

        return grpc_refuse(err, code, "Reclaiming space of volume %s failed: %s", config.id,
                           config_text_of(config.reclaim, "message"));
    }
    reclaim_report(call->arena, figure(&config, "beforeBytes"), figure(&config, "afterBytes"),
                   answer);
    return 0;
}
