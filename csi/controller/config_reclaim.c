/*
 * ControllerReclaimSpace of a volume that is made from a policy and that no node has: its replicas
 * give back the zeros in their files.  What its file system knows to be free is a node's matter.
 */
#include "csi/controller/configs.private.h"

#include "common/clock.h"
#include "common/reclaim_phase.h"
#include "json/json.h"

#include <string.h>

static bool is(const struct volume_config *config, const char *key, const char *text) {
    return strcmp(config_says(config->reclaim, key), text) == 0;
}

static json_int_t figure(const struct volume_config *config, const char *key) {
    return json_int_at(config->reclaim, key);
}

/* One that goes on already is this one. */
static int begin(const struct client *api, struct arena *arena, struct volume_config *config,
                 struct error *err) {
    char request[UUID_SIZE];

    if (is(config, "phase", RECLAIM_PHASE_PENDING))
        return 0;
    return config_change(api, arena, config,
                         json_pack("{s:{s:s}, s:{s:{s:s}}}", "metadata", "resourceVersion",
                                   config->version, "spec", "reclaim", "request",
                                   clock_uuid(&clock_system, request)),
                         err);
}

static int failed(const struct volume_config *config, struct error *err) {
    enum grpc_code code = is(config, "phase", RECLAIM_PHASE_STOPPED)         ? GRPC_ABORTED
                          : is(config, "reason", RECLAIM_REASON_UNSUPPORTED) ? GRPC_UNIMPLEMENTED
                                                                             : GRPC_INTERNAL;

    return grpc_refuse(err, code, "Volume %s gave back no room: %s", config->id,
                       config_says(config->reclaim, "message"));
}

static int finish(const struct grpc_call *call, const struct client *api,
                  struct volume_config *config, struct error *err) {
    struct patience patience = patience_of(call);
    json_int_t number = figure(config, "number");
    int result = 0;

    while (result == 0 && is(config, "phase", RECLAIM_PHASE_PENDING)) {
        if (!patience_again(call, &patience))
            return grpc_refuse(err, GRPC_ABORTED, "Volume %s is still giving back room.",
                               config->id);
        result = config_read(api, call->arena, config->id, config, err);
        if (result == 0 && figure(config, "number") != number)
            return grpc_refuse(err, GRPC_ABORTED, "Volume %s was asked to once more.", config->id);
    }
    return result;
}

int config_reclaim(const struct grpc_call *call, const struct client *api, const char *id,
                   Reclaimspace__ControllerReclaimSpaceResponse *answer, struct error *err) {
    struct volume_config config;
    int result = config_read(api, call->arena, id, &config, err);

    if (result != 0 || *config.node)
        return result;
    result = begin(api, call->arena, &config, err);
    if (result == 0)
        result = finish(call, api, &config, err);
    if (result != 0)
        return result;
    if (!is(&config, "phase", RECLAIM_PHASE_DONE))
        return failed(&config, err);
    reclaim_tell(call->arena, figure(&config, "beforeBytes"), figure(&config, "afterBytes"),
                 answer);
    return 0;
}
